// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * methods: the table of methods, and what is checked before any of them runs: rights, names and
 * types of parameters. server.c calls method_call() with each request; a method itself checks
 * values, and combinations of parameters.
 */
#include <string.h>

#include "src/control/methods_priv.h"

/* A parameter may be left out here: each method says what is missing, with the remedy. */
static const struct method_param p_none[] = { { 0 } };
static const struct method_param p_list[] = { { "brief", JSON_TRUE }, { 0 } };
static const struct method_param p_guest[] = { { "guest", JSON_STRING }, { 0 } };
static const struct method_param p_policy[] = { { "policy", JSON_STRING }, { 0 } };
static const struct method_param p_policy_set[] = { { "policy", JSON_STRING },
						    { "file", JSON_STRING },
						    { "text", JSON_STRING },
						    { "params", JSON_OBJECT },
						    { 0 } };
static const struct method_param p_policy_check[] = { { "file", JSON_STRING },
						      { "text", JSON_STRING },
						      { 0 } };
static const struct method_param p_guest_set[] = { { "guest", JSON_STRING },
						   { "settings", JSON_OBJECT },
						   { 0 } };
static const struct method_param p_release[] = { { "guest", JSON_STRING },
						 { "undo", JSON_TRUE },
						 { 0 } };
static const struct method_param p_lock_break[] = { { "service", JSON_STRING },
						    { "force", JSON_TRUE },
						    { 0 } };
static const struct method_param p_node[] = { { "node", JSON_STRING }, { 0 } };
static const struct method_param p_balance_set[] = { { "service", JSON_STRING },
						     { "mode", JSON_STRING },
						     { 0 } };
static const struct method_param p_name[] = { { "name", JSON_STRING }, { 0 } };
static const struct method_param p_move[] = {
	{ "node", JSON_STRING }, { "service", JSON_STRING }, { "dry_run", JSON_TRUE }, { 0 }
};
static const struct method_param p_reconf_set[] = { { "mode", JSON_STRING }, { 0 } };
static const struct method_param p_node_fix[] = { { "node", JSON_STRING },
						  { "fixed", JSON_TRUE },
						  { 0 } };
static const struct method_param p_service_set[] = { { "service", JSON_STRING },
						     { "settings", JSON_OBJECT },
						     { 0 } };
static const struct method_param p_history[] = { { "service", JSON_STRING },
						 { "since_ns", JSON_INTEGER },
						 { 0 } };
static const struct method_param p_reload[] = { { "dry_run", JSON_TRUE }, { 0 } };
static const struct method_param p_file[] = { { "file", JSON_STRING }, { 0 } };
static const struct method_param p_events[] = {
	{ "since", JSON_INTEGER }, { "guest", JSON_STRING }, { "kind", JSON_STRING }, { 0 }
};

/* In the order of resex-control(7). The second column: for root alone. */
const struct method methods[] = {
	{ "list", false, cmd_list, p_list },
	{ "info", false, cmd_info, p_none },
	{ "guest-show", false, cmd_guest_show, p_guest },
	{ "guest-set", true, cmd_guest_set, p_guest_set },
	{ "ring-list", false, cmd_ring_list, p_guest },
	{ "policy-list", false, cmd_policy_list, p_none },
	{ "policy-show", false, cmd_policy_show, p_policy },
	{ "policy-set", true, cmd_policy_set, p_policy_set },
	{ "policy-check", false, cmd_policy_check, p_policy_check },
	{ "cap-list", false, cmd_cap_list, p_none },
	{ "cap-release", true, cmd_cap_release, p_release },
	{ "pause", true, cmd_pause, p_guest },
	{ "resume", true, cmd_resume, p_guest },
	{ "why", false, cmd_why, p_guest },
	{ "events", false, cmd_events, p_events },
	{ "host-list", false, cmd_host_list, p_none },
	{ "list-hosts", false, cmd_list_hosts, p_none },
	{ "lock-list", false, cmd_lock_list, p_none },
	{ "lock-break", true, cmd_lock_break, p_lock_break },
	{ "node-list", false, cmd_node_list, p_none },
	{ "load-list", false, cmd_load_list, p_none },
	{ "load-show", false, cmd_load_show, p_node },
	{ "balance-list", false, cmd_balance_list, p_none },
	{ "balance-set", true, cmd_balance_set, p_balance_set },
	{ "why-node", false, cmd_why_node, p_node },
	{ "service-list", false, cmd_service_list, p_none },
	{ "why-move", false, cmd_why_move, p_name },
	{ "move", true, cmd_move, p_move },
	{ "reconf-set", true, cmd_reconf_set, p_reconf_set },
	{ "node-fix", true, cmd_node_fix, p_node_fix },
	{ "service-set", true, cmd_service_set, p_service_set },
	{ "history", false, cmd_history, p_history },
	{ "cluster-reload", true, cmd_cluster_reload, p_reload },
	{ "trace-start", true, cmd_trace_start, p_file },
	{ "trace-stop", true, cmd_trace_stop, p_none },
	{ 0 },
};

static const char *type_text(json_type t)
{
	switch (t) {
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_OBJECT:
		return "an object";
	default:
		return "true or false";
	}
}

/* Unknown parameters are refused, not ignored: a wrongly written one would change nothing. */
static int check_params(struct call *c, const struct method *m, json_t *params)
{
	const char *key;
	json_t *v;

	json_object_foreach(params, key, v) {
		const struct method_param *p = m->params;

		while (p->name && strcmp(p->name, key) != 0)
			p++;
		/* jansson has two types for a boolean: JSON_TRUE in the table means both. */
		if (!p->name)
			call_fail(c, RESEX_USAGE, "%s takes no parameter \"%.64s\"", m->name, key);
		else if (json_typeof(v) != p->type && !(p->type == JSON_TRUE && json_is_boolean(v)))
			call_fail(c, RESEX_USAGE, "%s of %s: give %s", key, m->name,
				  type_text(p->type));
		else
			continue;
		c->error.code = PROTO_E_PARAMS; /* JSON-RPC has its own code for this */
		return RESEX_USAGE;
	}
	return 0;
}

int method_call(struct call *c, const struct request *r, json_t **result)
{
	for (const struct method *m = methods; m->name; m++) {
		int rc;

		if (strcmp(m->name, r->method) != 0)
			continue;
		if (m->modifies && !c->root)
			return call_fail(c, RESEX_PERMISSION,
					 "%s changes something: run it as root", m->name);
		rc = check_params(c, m, r->params);
		return rc ? rc : m->run(c, r->params, result);
	}
	call_fail(c, RESEX_USAGE, "there is no method \"%.64s\"", r->method);
	c->error.code = PROTO_E_METHOD;
	return RESEX_USAGE;
}
