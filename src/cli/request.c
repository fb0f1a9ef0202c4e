// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * request: what the verbs have in common: check arguments, call a method of resexd, and print its
 * reply as a table or as JSON. See request.h.
 */
#include "src/cli/request.h"

#include <stdio.h>
#include <stdlib.h>
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
int request_print(const struct cli *c, json_t **result)
{
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

int request_reply(struct cli *c, const char *method, json_t *params, json_t **result)
{
	int rc = client_call(&c->client, method, params, result);

	return rc ? rc : request_print(c, result);
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

/*
 * Keys and ranges are known to resexd alone. 19 digits may be above what JSON integers of jansson
 * hold: as a string, resexd refuses them and shows them as they were written.
 */
json_t *setting_value(const char *word)
{
	const char *digits = "0123456789";
	size_t n = strspn(word, digits);

	if (n && n < 19 && !word[n])
		return json_integer((json_int_t)strtoll(word, NULL, 10));
	if (!strcmp(word, "true") || !strcmp(word, "false"))
		return json_boolean(word[0] == 't');
	return json_string(word);
}

/*
 * "weight=512", and "sla.base=230us" for a member of a member. word is changed: '=' and '.' end its
 * parts.
 */
static int add_setting(struct cli *c, json_t *settings, char *word, const char *form)
{
	char *eq = strchr(word, '='), *dot;
	json_t *in = settings, *v;
	char name[80];

	if (!eq || eq == word || !eq[1])
		return word_error(c, word, form);
	*eq = 0;
	snprintf(name, sizeof(name), "%s", word);
	dot = strchr(word, '.');
	if (dot) { /* one level suffices: of a guest's settings, only sla has members */
		*dot = 0;
		in = json_object_get(settings, word);
		if (!in) {
			in = json_object();
			json_object_set_new(settings, word, in);
		}
		word = dot + 1;
	}
	/* The last of two would hold without a word: which one the user meant is unknown. */
	if (!json_is_object(in) || json_object_get(in, word))
		return given_twice(c, name);
	v = setting_value(eq + 1);
	if (!v || json_object_set_new(in, word, v))
		return usage_error(c, "a setting must be in UTF-8");
	return RESEX_OK;
}

int settings_argument(struct cli *c, const char *what, const char *form, json_t **params)
{
	json_t *settings;
	char usage[96];
	int rc = RESEX_OK;

	if (c->argc < 2) {
		snprintf(usage, sizeof(usage), "%s: a %s and at least one KEY=VALUE are required",
			 c->verb->name, what);
		return usage_error(c, usage);
	}
	settings = json_object();
	*params = json_pack("{s:s,s:o}", what, c->argv[0], "settings", settings);
	for (int i = 1; !rc && i < c->argc; i++)
		rc = add_setting(c, settings, c->argv[i], form);
	if (rc)
		json_decref(*params);
	return rc;
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

const char *event_time(json_int_t ns, char text[static REQUEST_TIME_MAX])
{
	time_t t = (time_t)(ns / 1000000000);
	size_t n = strlen(local_time(ns, text));
	char zone[8]; /* "+0100" */
	struct tm tm;

	localtime_r(&t, &tm);
	strftime(zone, sizeof(zone), "%z", &tm);
	snprintf(text + n, REQUEST_TIME_MAX - n, ".%03d%.3s:%.2s", (int)(ns / 1000000 % 1000), zone,
		 zone + 3);
	return text;
}
