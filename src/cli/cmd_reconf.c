// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmd_reconf: the verbs on moves of nodes between services: service-list, why-move, move,
 * reconf, node-fix, service-set, history.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"
#include "src/util/clock.h"

static const struct column service_cols[] = {
	{ "SERVICE", "service", 1 },  { "NODES", "nodes", 0 },
	{ "KNOWN", "known", 0 },      { "LOAD", "load", 0 },
	{ "HIGH", "high_ms", AS_MS }, { "MIN", "minimum", 0 },
	{ "SHARE", "share", 0 },      { "PRIORITY", "priority", 0 },
	{ "WHY", "why", 1 },	      { "NODE", "node", 1 },
	{ "DONOR", "donor", 1 },      { "SET", "set", 1 },
	{ "NOTE", "note", 1 },	      { 0 },
};

/* "share=4(2)": what an operator has set, and in parentheses what cluster.json has. */
static void add_set(json_t *service)
{
	json_t *was, *set = json_array();
	const char *key;

	json_object_foreach(json_object_get(service, "configured"), key, was) {
		const json_t *now = json_object_get(service, key);

		if (!json_equal(now, was))
			json_array_append_new(set, json_sprintf("%s=%lld(%lld)", key,
								json_integer_value(now),
								json_integer_value(was)));
	}
	json_object_set_new(service, "set", set);
}

static void print_services(json_t *rows)
{
	json_t *s;
	size_t i;

	json_array_foreach(rows, i, s)
		add_set(s);
	table_print(stdout, rows, service_cols);
}

int run_service_list(struct cli *c)
{
	json_t *r = NULL;
	int rc = no_arguments(c) ? RESEX_USAGE : request_reply(c, "service-list", NULL, &r);

	if (!rc && r)
		print_services(json_object_get(r, "services"));
	json_decref(r);
	return rc;
}

int run_service_set(struct cli *c)
{
	json_t *r = NULL, *params = NULL, *rows;
	int rc = settings_argument(c, "service", "KEY=VALUE, such as share=4", &params);

	if (!rc)
		rc = request_reply(c, "service-set", params, &r);
	if (!rc && r) {
		rows = json_pack("[O]", r);
		print_services(rows);
		json_decref(rows);
	}
	json_decref(r);
	return rc;
}

int run_node_fix(struct cli *c)
{
	json_t *r = NULL;
	bool fixed;
	int rc;

	if (c->argc != 2)
		return usage_error(c, "node-fix: a node and on or off are required");
	fixed = !strcmp(c->argv[1], "on");
	if (!fixed && strcmp(c->argv[1], "off") != 0)
		return word_error(c, c->argv[1], "on or off");
	rc = request_reply(c, "node-fix",
			   json_pack("{s:s,s:b}", "node", c->argv[0], "fixed", fixed), &r);
	if (!rc && r)
		printf("node %s is %s\n", c->argv[0],
		       fixed ? "fixed: this host does not move it" : "not fixed on this host");
	json_decref(r);
	return rc;
}

int run_why_move(struct cli *c)
{
	json_t *r = NULL;
	int rc;

	if (c->argc != 1)
		return usage_error(c, "why-move: exactly one service or node is required");
	rc = request_reply(c, "why-move", json_pack("{s:s}", "name", c->argv[0]), &r);
	if (!rc && r)
		printf("%s: %s\n", c->argv[0], json_string_value(json_object_get(r, "text")));
	json_decref(r);
	return rc;
}

int run_move(struct cli *c)
{
	json_t *r = NULL;
	int rc;

	if (c->argc != 2)
		return usage_error(c, "move: exactly one node and one service are required");
	rc = request_reply(c, "move",
			   json_pack("{s:s,s:s,s:b}", "node", c->argv[0], "service", c->argv[1],
				     "dry_run", c->options.dry_run),
			   &r);
	if (!rc && r && c->options.dry_run)
		printf("node %s would be asked to go to %s\n", c->argv[0], c->argv[1]);
	else if (!rc && r && json_is_true(json_object_get(r, "prepared")))
		printf("node %s is moved to %s, and serves it when its host has prepared it: see "
		       "PHASE in resex node-list\n",
		       c->argv[0], c->argv[1]);
	else if (!rc && r)
		printf("node %s serves %s\n", c->argv[0], c->argv[1]);
	json_decref(r);
	return rc;
}

int run_reconf(struct cli *c)
{
	json_t *r = NULL;
	int rc;

	if (c->argc != 1)
		return usage_error(c, "reconf: observe, act or pause is required");
	rc = request_reply(c, "reconf-set", json_pack("{s:s}", "mode", c->argv[0]), &r);
	if (!rc && r)
		printf("moves of nodes by this host: %s\n", c->argv[0]);
	json_decref(r);
	return rc;
}

/* --- history ------------------------------------------------------------------------------ */

/* "90s", "10m", "2h", "3d": seconds; -1: it is none of these. */
static long long seconds_of(const char *text)
{
	static const struct {
		char unit;
		long long seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	char *end;
	long long v = strtoll(text, &end, 10);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end > text && *text != '-' && end[0] == units[i].unit && !end[1] && v >= 0 &&
		    v <= 1000000)
			return v * units[i].seconds;
	return -1;
}

static void set_time(json_t *move)
{
	json_int_t ns = json_integer_value(json_object_get(move, "time_ns"));
	char when[REQUEST_TIME_MAX];

	json_object_set_new(move, "time", json_string(local_time(ns, when)));
}

/* One line a member: also a narrow terminal has room for all. */
static void print_move(const json_t *move)
{
	static const struct column fields[] = {
		{ "time", "time", 1 },
		{ "node", "node", 1 },
		{ "from", "from", 1 },
		{ "to", "to", 1 },
		{ "outcome", "outcome", 1 },
		{ "by", "by", 1 },
		{ "why", "why", 1 },
		{ "host that decided", "host", 1 },
		{ "load of to was high for", "high_ms", LEFT | AS_MS },
		{ "load of to, before (1/1000)", "to_before", 1 },
		{ "  predicted", "to_predicted", 1 },
		{ "  seen later", "to_seen", 1 },
		{ "load of from, before", "from_before", 1 },
		{ "  predicted", "from_predicted", 1 },
		{ "  seen later", "from_seen", 1 },
		{ "fence of to's lock", "to_fence", 1 },
		{ "fence of from's lock", "from_fence", 1 },
		{ "other balancers notified", "told", 1 },
		{ "locks held after", "held_us", LEFT | AS_US },
		{ "words read", "read_us", LEFT | AS_US },
		{ "balancers notified", "told_us", LEFT | AS_US },
		{ "word changed", "moved_us", LEFT | AS_US },
		{ "locks released", "released_us", LEFT | AS_US },
		{ 0 },
	};

	table_card(stdout, move, fields);
}

static void print_moves(const json_t *moves)
{
	static const struct column cols[] = {
		{ "TIME", "time", 1 },
		{ "NODE", "node", 1 },
		{ "FROM", "from", 1 },
		{ "TO", "to", 1 },
		{ "WHY", "why", 1 },
		{ "OUTCOME", "outcome", 1 },
		{ "TO-BEFORE", "to_before", 0 },
		{ "PREDICTED", "to_predicted", 0 },
		{ "SEEN", "to_seen", 0 },
		{ "FROM-BEFORE", "from_before", 0 },
		{ "PREDICTED", "from_predicted", 0 },
		{ "SEEN", "from_seen", 0 },
		{ 0 },
	};

	table_print(stdout, moves, cols);
}

static void print_history(json_t *r, bool verbose)
{
	json_t *moves = json_object_get(r, "moves"), *m;
	const char *note = json_string_value(json_object_get(r, "note"));
	size_t i;

	json_array_foreach(moves, i, m) {
		set_time(m);
		if (verbose && i)
			putchar('\n');
		if (verbose)
			print_move(m);
	}
	if (!verbose)
		print_moves(moves);
	if (note && *note)
		fprintf(stderr, "resex: %s\n", note);
}

int run_history(struct cli *c)
{
	long long seconds = c->options.since ? seconds_of(c->options.since) : 0;
	json_t *r = NULL, *params = NULL;
	int rc;

	if (c->argc > 1)
		return usage_error(c, "history takes at most one service");
	if (seconds < 0)
		return word_error(c, c->options.since, "90s, 10m, 2h or 3d");
	params = json_object();
	if (c->argc)
		json_object_set_new(params, "service", json_string(c->argv[0]));
	if (c->options.since)
		json_object_set_new(params, "since_ns",
				    json_integer(clock_wall_ns() - seconds * 1000000000));
	rc = request_reply(c, "history", params, &r);
	if (!rc && r)
		print_history(r, c->options.verbose);
	json_decref(r);
	return rc;
}
