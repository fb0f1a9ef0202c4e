// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmd_policy: the verbs on policies and policy files: policy-*. A file is read and its JSON is
 * checked here; what it means is checked by resexd alone, for policy-check as for policy-set.
 */
#include <stdio.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"
#include "src/util/conf.h"
#include "src/util/utf8.h"

/* A plug-in that cannot be used: why, in the place of what it does. */
static void show_problems(json_t *policies)
{
	json_t *o;
	size_t i;

	json_array_foreach(policies, i, o) {
		json_t *problem = json_object_get(o, "problem");

		if (json_string_length(problem))
			json_object_set(o, "text", problem);
	}
}

int run_policy_list(struct cli *c)
{
	static const struct column cols[] = {
		{ "NAME", "name", 1 },
		{ "ACTIVE", "active", 1 },
		{ "FROM", "from", 1 },
		{ "WHAT", "text", 1 },
		{ 0 },
	};
	static const int rank[] = { 0, 0, 1, 0 };
	TABLE_RANKED(cols, rank);
	json_t *r = NULL;
	int rc = no_arguments(c) ? RESEX_USAGE : request_reply(c, "policy-list", NULL, &r);

	if (!rc && r) {
		show_problems(json_object_get(r, "policies"));
		table_print_fold(stdout, json_object_get(r, "policies"), cols, rank,
				 table_width(stdout));
	}
	json_decref(r);
	return rc;
}

/* Each number of a parameter, in the words that a file and policy-set take: "10ms", "5%". */
static void add_units(json_t *params)
{
	static const char *const numbers[] = { "value", "default", "min", "max" };
	json_t *p;
	size_t i;

	json_array_foreach(params, i, p) {
		const char *unit = json_string_value(json_object_get(p, "unit"));
		char text[32];

		for (size_t k = 0; unit && k < sizeof(numbers) / sizeof(numbers[0]); k++) {
			json_int_t v = json_integer_value(json_object_get(p, numbers[k]));

			conf_text(conf_type_of(unit), (uint64_t)v, text, sizeof(text));
			json_object_set_new(p, numbers[k], json_string(text));
		}
	}
}

/* A policy without parameters, such as null, gets no table: headings alone look like a fault. */
static void print_policy(const json_t *r)
{
	static const struct column cols[] = {
		{ "PARAMETER", "name", 1 },  { "VALUE", "value", 0 },
		{ "DEFAULT", "default", 0 }, { "MIN", "min", 0 },
		{ "MAX", "max", 0 },	     { "UNIT", "unit", 1 },
		{ "MEANING", "text", 1 },    { 0 },
	};
	static const int rank[] = { 0, 0, 0, 0, 0, 0, 0 };
	TABLE_RANKED(cols, rank);
	const char *text = json_string_value(json_object_get(r, "text"));
	const size_t width = table_width(stdout);
	int at = printf("%s%s: ", json_string_value(json_object_get(r, "name")),
			json_is_true(json_object_get(r, "active")) ? " (active)" : "");

	table_text(stdout, text ? text : "", at > 0 ? (size_t)at : 0, TABLE_BELOW, width);
	add_units(json_object_get(r, "params"));
	if (json_array_size(json_object_get(r, "params")))
		table_print_fold(stdout, json_object_get(r, "params"), cols, rank, width);
}

/* policy-set shows the same as policy-show: the parameters that now hold. */
static int show_policy(struct cli *c, const char *method, json_t *params)
{
	json_t *r = NULL;
	int rc = request_reply(c, method, params, &r);
	const char *note = json_string_value(json_object_get(r, "policy_note"));

	if (!rc && r)
		print_policy(r);
	if (!rc && r && note && note[0])
		fprintf(stderr, "resex: warning: %s\n", note);
	json_decref(r);
	return rc;
}

int run_policy_show(struct cli *c)
{
	json_t *params = json_object();

	if (c->argc > 1) {
		json_decref(params);
		return usage_error(c, "policy-show takes at most one policy");
	}
	if (c->argc)
		json_object_set_new(params, "policy", json_string(c->argv[0]));
	return show_policy(c, "policy-show", params);
}

/* Add "low=50" or "low=5%" to params, each parameter once. resexd knows units and ranges. */
static int add_param(struct cli *c, json_t *params, char *word)
{
	char *eq = strchr(word, '=');
	json_t *v;

	if (!eq && c->options.file) /* a policy's name, most likely */
		return word_error(c, word, "NAME=VALUE, and --file already names the policy");
	if (!eq || eq == word || !eq[1])
		return word_error(c, word, "NAME=VALUE, such as step=10ms");
	*eq = 0;
	if (json_object_get(params, word))
		return given_twice(c, word);
	v = setting_value(eq + 1);
	if (!v || json_object_set_new(params, word, v))
		return usage_error(c, "a parameter must be in UTF-8");
	return RESEX_OK;
}

/*
 * Read the file here: resexd may run in another directory, or without the right to read it, and
 * must not read it for a user that may not. conf checks that it is JSON; what it says is checked by
 * resexd, which alone knows the policies.
 */
static int add_file(struct cli *c, json_t *params, const char *file)
{
	struct conf_error e = { 0 };
	struct conf_doc d;
	char label[256];

	if (conf_load(&d, file, &e)) {
		snprintf(c->client.error, sizeof(c->client.error), "%s", e.text);
		return RESEX_BAD_CONFIG;
	}
	utf8_escape(file, label, sizeof(label)); /* for messages: it need not be UTF-8 */
	json_object_set_new(params, "file", json_string(label));
	/* The text, not its values: resexd's errors name line and column of the file. */
	json_object_set_new(params, "text", json_stringn(d.text, d.len));
	conf_free(&d);
	/* Escaped quotes and newlines make a request longer than its file: only the whole tells. */
	if (client_fits("policy-check", params))
		return RESEX_OK;
	snprintf(c->client.error, sizeof(c->client.error),
		 "%s is too long: resexd reads at most %d bytes of it, less a few for each quote "
		 "and "
		 "end of line: make it shorter",
		 label, CLIENT_REQUEST_MAX);
	return RESEX_BAD_CONFIG;
}

/* Parameters that are given beside a file override those in it: so a value is tried quickly. */
int run_policy_set(struct cli *c)
{
	json_t *params = json_object(), *set = json_object();
	int i = 0, rc = RESEX_OK;

	json_object_set_new(params, "params", set);
	if (c->options.file)
		rc = add_file(c, params, c->options.file);
	else if (c->argc)
		json_object_set_new(params, "policy", json_string(c->argv[i++]));
	else
		rc = usage_error(c, "give a policy's name, or --file FILE");
	for (; !rc && i < c->argc; i++)
		rc = add_param(c, set, c->argv[i]);
	if (!rc)
		return show_policy(c, "policy-set", params);
	json_decref(params);
	return rc;
}

int run_policy_check(struct cli *c)
{
	json_t *r = NULL, *params;
	int rc;

	if (c->argc != 1)
		return usage_error(c, "policy-check: exactly one file is required");
	params = json_object();
	rc = add_file(c, params, c->argv[0]);
	if (rc) {
		json_decref(params);
		return rc;
	}
	rc = request_reply(c, "policy-check", params, &r);
	if (!rc && r)
		printf("%s: good: policy %s\n", c->argv[0],
		       json_string_value(json_object_get(r, "name")));
	json_decref(r);
	return rc;
}
