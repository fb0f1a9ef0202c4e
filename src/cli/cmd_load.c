// SPDX-License-Identifier: GPL-2.0-or-later
/* cmd_load: the verbs on the load of nodes: load-list, load-show. */
#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"

int run_load_list(struct cli *c)
{
	static const struct column cols[] = {
		{ "NODE", "node", 1 },	   { "HOST", "host", 1 },
		{ "GUEST", "guest", 1 },   { "STATE", "state", 1 },
		{ "LOAD", "load", 0 },	   { "RUNNING", "running", 0 },
		{ "CPUS", "cpus", 0 },	   { "AVG-1", "load_avg_1", 0 },
		{ "SOURCE", "source", 1 }, { "AGE-MS", "age_ms", 0 },
		{ "NOTE", "note", 1 },	   { 0 },
	};

	return no_arguments(c) ? RESEX_USAGE : request_rows(c, "load-list", NULL, "nodes", cols);
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
		{ "age (ms)", "age_ms", 1 },
		{ "source", "source", 1 },
		{ "CPUs", "cpus", 1 },
		{ "tasks that run", "running", 1 },
		{ "load average, 1 min", "load_avg_1", 1 },
		{ "  5 min", "load_avg_5", 1 },
		{ "  15 min", "load_avg_15", 1 },
		{ "samples", "beat", 1 },
		{ "a sample each (ns)", "period_ns", 1 },
		{ "CPU time (ns)", "busy_ns", 1 },
		{ "  interrupts", "irq_ns", 1 },
		{ "  soft interrupts", "softirq_ns", 1 },
		{ "  waiting for I/O", "iowait_ns", 1 },
		{ "  taken by the hypervisor", "steal_ns", 1 },
		{ "tasks waited (ns)", "wait_ns", 1 },
		{ 0 },
	};
	json_t *r = NULL;
	int rc;

	if (c->argc != 1)
		return usage_error(c, "load-show: exactly one node is required");
	rc = request_reply(c, "load-show", json_pack("{s:s}", "node", c->argv[0]), &r);
	if (!rc && r)
		table_card(stdout, r, fields);
	json_decref(r);
	return rc;
}
