// SPDX-License-Identifier: GPL-2.0-or-later
/* cmd_load: the verbs on the load of nodes: load-list, load-show. */
#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"

static const struct column source_columns[] = {
	{ "NODE", "node", 1 },	    { "SOURCE", "source", 1 },	 { "USED", "used", 1 },
	{ "LOAD", "load", 0 },	    { "RUNNING", "running", 0 }, { "CPUS", "cpus", 0 },
	{ "AGE", "age_ms", AS_MS }, { "NOTE", "note", 1 },	 { 0 },
};

/* A row for each source of a node; of one that has only one here, what is published. */
static void add_sources(json_t *rows, json_t *node)
{
	json_t *sources = json_object_get(node, "sources"), *s;
	size_t i;

	json_array_foreach(sources, i, s) {
		json_object_set(s, "node", json_object_get(node, "node"));
		json_array_append(rows, s);
	}
	if (json_array_size(sources))
		return;
	json_object_set_new(node, "used", json_true());
	json_array_append(rows, node);
}

static int list_sources(struct cli *c)
{
	json_t *r = NULL, *rows = json_array(), *node;
	int rc = request_reply(c, "load-list", NULL, &r);
	size_t i;

	json_array_foreach(json_object_get(r, "nodes"), i, node)
		add_sources(rows, node);
	if (!rc && r)
		table_print(stdout, rows, source_columns);
	json_decref(rows);
	json_decref(r);
	return rc;
}

int run_load_list(struct cli *c)
{
	static const struct column cols[] = {
		{ "NODE", "node", 1 },	   { "HOST", "host", 1 },
		{ "GUEST", "guest", 1 },   { "STATE", "state", 1 },
		{ "LOAD", "load", 0 },	   { "RUNNING", "running", 0 },
		{ "CPUS", "cpus", 0 },	   { "AVG-1", "load_avg_1", 0 },
		{ "SOURCE", "source", 1 }, { "AGE", "age_ms", AS_MS },
		{ "NOTE", "note", 1 },	   { 0 },
	};

	if (no_arguments(c))
		return RESEX_USAGE;
	return c->options.all_sources ? list_sources(c)
				      : request_rows(c, "load-list", NULL, "nodes", cols);
}

/* Of a guest of this host: both, below what is published. */
static void show_sources(json_t *node)
{
	json_t *rows = json_array();

	if (json_array_size(json_object_get(node, "sources"))) {
		putchar('\n');
		add_sources(rows, node);
		table_print(stdout, rows, source_columns);
	}
	json_decref(rows);
}

int run_load_show(struct cli *c)
{
	static const struct column fields[] = {
		{ "node", "node", 1 },
		{ "number at its host", "number", 1 },
		{ "host", "host", 1 },
		{ "guest", "guest", 1 },
		{ "state", "state", 1 },
		{ "note", "note", 1 },
		{ "load (1/1000)", "load", 1 },
		{ "age", "age_ms", LEFT | AS_MS },
		{ "source", "source", 1 },
		{ "CPUs", "cpus", 1 },
		{ "tasks that run", "running", 1 },
		{ "load average, 1 min", "load_avg_1", 1 },
		{ "  5 min", "load_avg_5", 1 },
		{ "  15 min", "load_avg_15", 1 },
		{ "samples", "beat", 1 },
		{ "a sample each", "period_ns", LEFT | AS_NS },
		{ "CPU time", "busy_ns", LEFT | AS_NS },
		{ "  interrupts", "irq_ns", LEFT | AS_NS },
		{ "  soft interrupts", "softirq_ns", LEFT | AS_NS },
		{ "  waiting for I/O", "iowait_ns", LEFT | AS_NS },
		{ "  taken by the hypervisor", "steal_ns", LEFT | AS_NS },
		{ "tasks waited", "wait_ns", LEFT | AS_NS },
		{ "requests that wait", "queued", 1 },
		{ "requests sent to it", "served", 1 },
		{ "response time", "latency_ns", LEFT | AS_NS },
		{ 0 },
	};
	json_t *r = NULL;
	int rc;

	if (c->argc != 1)
		return usage_error(c, "load-show: exactly one node is required");
	rc = request_reply(c, "load-show", json_pack("{s:s}", "node", c->argv[0]), &r);
	if (!rc && r) {
		table_card(stdout, r, fields);
		show_sources(r);
	}
	json_decref(r);
	return rc;
}
