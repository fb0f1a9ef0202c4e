// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmd_balance: the verbs on nodes and their weights: node-list, balance-list, balance-set, and why
 * --node.
 */
#include <stdio.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"

int run_node_list(struct cli *c)
{
	static const struct column cols[] = {
		{ "NODE", "node", 1 },
		{ "NUMBER", "number", 0 },
		{ "HOST", "host", 1 },
		{ "GUEST", "guest", 1 },
		{ "SERVICE", "service", 1 },
		{ "SERVER", "server", 1 },
		{ "STATE", "state", 1 },
		{ "PHASE", "phase", 1 },
		{ "FIXED", "fixed", 1 },
		{ "NOTE", "note", 1 },
		{ 0 },
	};

	return no_arguments(c) ? RESEX_USAGE : request_rows(c, "node-list", NULL, "nodes", cols);
}

static const struct column balance_cols[] = {
	{ "SERVICE", "service", 1 },
	{ "BACKEND", "backend", 1 },
	{ "BY", "by", 1 },
	{ "MODE", "mode", 1 },
	{ "K", "k", 0 },
	{ "UP", "up", 0 },
	{ "WHY", "why", 1 },
	{ "AGE", "age_ms", AS_MS },
	{ "NOTE", "note", 1 },
	{ 0 },
};

static void print_servers(const json_t *balance)
{
	static const struct column cols[] = {
		{ "SERVER", "server", 1 },
		{ "NODE", "node", 1 },
		{ "UP", "up", 1 },
		{ "WEIGHT", "weight", 0 },
		{ "WANTED", "wanted", 0 },
		{ "CONFIGURED", "configured", 0 },
		{ "UNDER-WAY", "under_way", 0 },
		{ "OWN", "own", 0 },
		{ "SERVED", "served", 0 },
		{ 0 },
	};

	printf("\n%s:\n", json_string_value(json_object_get(balance, "service")));
	table_print(stdout, json_object_get(balance, "servers"), cols);
}

int run_balance_list(struct cli *c)
{
	json_t *r = NULL, *b;
	size_t i;
	int rc = no_arguments(c) ? RESEX_USAGE : request_reply(c, "balance-list", NULL, &r);

	if (!rc && r) {
		table_print(stdout, json_object_get(r, "balances"), balance_cols);
		json_array_foreach(json_object_get(r, "balances"), i, b)
			if (c->options.verbose)
				print_servers(b);
	}
	json_decref(r);
	return rc;
}

int run_balance_set(struct cli *c)
{
	json_t *r = NULL, *rows;
	int rc;

	if (c->argc != 2)
		return usage_error(c, "balance-set: a service and act, observe or equal are "
				      "required");
	rc = request_reply(c, "balance-set",
			   json_pack("{s:s,s:s}", "service", c->argv[0], "mode", c->argv[1]), &r);
	if (!rc && r) {
		rows = json_pack("[O]", r);
		table_print(stdout, rows, balance_cols);
		json_decref(rows);
	}
	json_decref(r);
	return rc;
}

/* --- why, of a node -------------------------------------------------------------------- */

int run_why_node(struct cli *c)
{
	json_t *r = NULL;
	int rc;

	if (c->argc != 1)
		return usage_error(c, "why --node: exactly one node is required");
	rc = request_reply(c, "why-node", json_pack("{s:s}", "node", c->argv[0]), &r);
	if (!rc && r)
		printf("%s: %s\n", json_string_value(json_object_get(r, "node")),
		       json_string_value(json_object_get(r, "text")));
	json_decref(r);
	return rc;
}

/* There is no guest of this name. There may be a node; without one the error names both. */
int run_why_other(struct cli *c)
{
	char no_guest[sizeof(c->client.error)];
	int rc;

	memcpy(no_guest, c->client.error, sizeof(no_guest));
	rc = run_why_node(c);
	if (rc == RESEX_NO_CLUSTER || rc == RESEX_USAGE) {
		snprintf(c->client.error, sizeof(c->client.error), "%s%s", no_guest,
			 rc == RESEX_USAGE ? ", and no node of this name: see resex node-list"
					   : "");
		rc = RESEX_NO_GUEST;
	}
	return rc;
}
