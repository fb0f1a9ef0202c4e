// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * request: what the verbs have in common: check arguments, call a method of resexd, and print its
 * reply as a table or as JSON. See request.h.
 */
#include "src/cli/request.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "resex/exit.h"

int usage_error(struct cli *c, const char *what)
{
	snprintf(c->client.error, sizeof(c->client.error), "%s: see resex %s --help", what,
		 c->verb->name);
	return RESEX_USAGE;
}

int word_error(struct cli *c, const char *word, const char *form)
{
	char what[160];

	snprintf(what, sizeof(what), "\"%.80s\" is not %s", word, form);
	return usage_error(c, what);
}

int given_twice(struct cli *c, const char *key)
{
	char what[128];

	snprintf(what, sizeof(what), "\"%.80s\" is given twice: give it once", key);
	return usage_error(c, what);
}

/*
 * Text is tamed, since names and sentences of guests and other hosts go to a terminal. JSON goes
 * to a program, as it came from resexd; of the 17 digits of a double the last two are noise, such
 * as in 487315.03000000003.
 */
int request_reply(struct cli *c, const char *method, json_t *params, json_t **result)
{
	int rc = client_call(&c->client, method, params, result);

	if (rc)
		return rc;
	if (!c->options.json) {
		table_tame(*result);
		return RESEX_OK;
	}
	json_dumpf(*result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	putchar('\n');
	json_decref(*result);
	*result = NULL;
	return RESEX_OK;
}

int no_arguments(struct cli *c)
{
	char what[128];

	if (!c->argc)
		return RESEX_OK;
	snprintf(what, sizeof(what), "unexpected argument \"%.80s\"", c->argv[0]);
	return usage_error(c, what);
}

/* Two guests are refused, not the first one taken: the user means both. */
int guest_argument(struct cli *c, bool required, json_t **params)
{
	char what[64];

	if (c->argc > 1 || (required && c->argc != 1)) {
		snprintf(what, sizeof(what), "%s: %s", c->verb->name,
			 required ? "exactly one guest is required" : "at most one guest");
		return usage_error(c, what);
	}
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

int request_row(struct cli *c, const char *method, const char *what, const char *flag, bool set,
		const struct column *cols)
{
	json_t *r = NULL, *rows;
	char usage[96];
	int rc;

	if (c->argc != 1) {
		snprintf(usage, sizeof(usage), "%s: exactly one %s is required", method, what);
		return usage_error(c, usage);
	}
	rc = request_reply(c, method, json_pack("{s:s,s:b}", what, c->argv[0], flag, set), &r);
	if (!rc && r) {
		rows = json_pack("[O]", r);
		table_print(stdout, rows, cols);
		json_decref(rows);
	}
	json_decref(r);
	return rc;
}

const char *local_time(json_int_t ns, char text[static REQUEST_TIME_MAX])
{
	time_t t = (time_t)(ns / 1000000000);
	struct tm tm;

	localtime_r(&t, &tm);
	strftime(text, REQUEST_TIME_MAX, "%F %T", &tm);
	return text;
}
