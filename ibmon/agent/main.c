// SPDX-License-Identifier: GPL-2.0-or-later
/* resex-agent: shows the rings and latencies of a guest's processes to the host. */
#include "config.h"

#include <stdio.h>

#include "ibmon/agent/agent.h"

/* What was to be printed is not done when it could not be. */
static int printed(int rc)
{
	if (rc || (!fflush(stdout) && !ferror(stdout)))
		return rc;
	perror("resex-agent: output");
	return RESEX_FAILURE;
}

int main(int argc, char **argv)
{
	struct options o;
	struct agent *a;
	struct log log;
	int rc = options_parse(&o, argc, argv, stderr);

	if (rc)
		return rc;
	if (o.help) {
		options_help(stdout);
		return printed(0);
	}
	if (o.version) {
		puts("resex-agent " PACKAGE_VERSION);
		return printed(0);
	}
	log_init(&log, "resex-agent", o.verbose ? LOG_LVL_DEBUG : LOG_LVL_INFO);
	if (o.once)
		return printed(agent_once(&o, &log));
	rc = agent_open(&a, &o, &log);
	if (rc)
		return rc;
	rc = agent_run(a);
	agent_close(a);
	return rc;
}
