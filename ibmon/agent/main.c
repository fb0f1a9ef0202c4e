// SPDX-License-Identifier: GPL-2.0-or-later
/* resex-agent: publishes the RDMA rings and latencies of a guest's processes to the host. */
#include "config.h"

#include <stdio.h>
#include <sys/resource.h>

#include "ibmon/agent/agent.h"
#include "src/util/file.h"

/* A failed write to stdout is a failure. */
static int flush_stdout(int rc)
{
	if (rc || (!fflush(stdout) && !ferror(stdout)))
		return rc;
	perror("resex-agent: output");
	return RESEX_FAILURE;
}

/*
 * The kernel gives a process with this 9 times the time of one with 0: the agent needs little, but
 * soon, or a guest that is loaded is taken for one without an agent.
 */
enum { NICE = -10 };

int main(int argc, char **argv)
{
	struct options o;
	struct agent *a;
	struct log log;
	int rc;

	file_keep_standard();
	rc = options_parse(&o, argc, argv, stderr);
	if (rc)
		return rc;
	if (o.help) {
		options_help(stdout);
		return flush_stdout(0);
	}
	if (o.version) {
		puts("resex-agent " PACKAGE_VERSION);
		return flush_stdout(0);
	}
	log_init(&log, "resex-agent", o.verbose ? LOG_LVL_DEBUG : LOG_LVL_INFO);
	if (o.once)
		return flush_stdout(agent_once(&o, &log));
	rc = agent_open(&a, &o, &log);
	if (rc)
		return rc;
	setpriority(PRIO_PROCESS, 0, NICE); /* if it may not: as it was started */
	rc = agent_run(a);
	agent_close(a);
	return rc;
}
