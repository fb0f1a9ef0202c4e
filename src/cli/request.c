// SPDX-License-Identifier: GPL-2.0-or-later
/* request: call a method of resexd and print its reply as text or as JSON. */
#include "src/cli/request.h"

#include <stdio.h>
#include <string.h>

#include "resex/exit.h"

int usage_error(struct cli *c, const char *what)
{
	snprintf(c->client.error, sizeof(c->client.error), "%s: see resex --help", what);
	return RESEX_USAGE;
}

static int print_json(json_t *result)
{
	json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	putchar('\n');
	json_decref(result);
	return RESEX_OK;
}

int request_reply(struct cli *c, const char *method, json_t *params, json_t **result)
{
	int rc = client_call(&c->client, method, params, result);

	if (!rc && !c->json)
		table_tame(*result);
	if (rc || !c->json)
		return rc;
	rc = print_json(*result);
	*result = NULL;
	return rc;
}

int no_arguments(struct cli *c)
{
	if (!c->argc)
		return RESEX_OK;
	snprintf(c->client.error, sizeof(c->client.error),
		 "\"%.80s\" is too much: this verb takes no argument", c->argv[0]);
	return RESEX_USAGE;
}

/* At most one word: a guest. */
int guest_argument(struct cli *c, bool required, json_t **params)
{
	if (c->argc > 1 || (required && c->argc != 1))
		return usage_error(c, required ? "give one guest" : "give one guest at most");
	*params = json_object();
	if (c->argc)
		json_object_set_new(*params, "guest", json_string(c->argv[0]));
	return RESEX_OK;
}

int request_rows(struct cli *c, const char *method, json_t *params, const char *member,
		 const struct column *cols)
{
	json_t *r = NULL;
	int rc = request_reply(c, method, params, &r);

	if (!rc && r)
		table_print(stdout, json_object_get(r, member), cols);
	json_decref(r);
	return rc;
}

int request_row(struct cli *c, const char *method, const char *flag, const char *what,
		const struct column *cols)
{
	json_t *r = NULL, *rows;
	const char *name = NULL;
	int rc, set = 0, names = 0;
	char usage[96];

	for (int i = 0; i < c->argc; i++) {
		if (!strncmp(c->argv[i], "--", 2) && !strcmp(c->argv[i] + 2, flag)) {
			set = 1;
			continue;
		}
		if (!strncmp(c->argv[i], "--", 2)) {
			snprintf(usage, sizeof(usage), "\"%.40s\" is no option here: there is --%s",
				 c->argv[i], flag);
			return usage_error(c, usage);
		}
		name = c->argv[i];
		names++;
	}
	if (names != 1) {
		snprintf(usage, sizeof(usage), "give one %s", what);
		return usage_error(c, usage);
	}
	rc = request_reply(c, method, json_pack("{s:s,s:b}", what, name, flag, set), &r);
	if (!rc && r) {
		rows = json_pack("[O]", r);
		table_print(stdout, rows, cols);
		json_decref(rows);
	}
	json_decref(r);
	return rc;
}
