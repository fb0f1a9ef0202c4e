// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resexd: the daemon of a Xen host's dom0. Options first, then one of the modes; what
 * the daemon does each millisecond is in src/tick/tick.c.
 */
#include <stdio.h>

#include "resex/exit.h"
#include "src/daemon/modes.h"
#include "src/daemon/options.h"
#include "src/util/file.h"

/* A failed write to stdout is a failure. */
static int check_output(int rc)
{
	if (rc || (!fflush(stdout) && !ferror(stdout)))
		return rc;
	perror("resexd: output");
	return RESEX_FAILURE;
}

int main(int argc, char **argv)
{
	struct options o;
	struct log log;
	int rc;

	file_keep_standard();
	rc = options_parse(&o, argc, argv);
	if (rc >= 0)
		return check_output(rc);
	if (o.mode == MODE_SCHEMA)
		return check_output(mode_schema(&o));
	log_init(&log, "resexd", o.level);
	return check_output(o.scenario ? mode_scenario(&log, &o) : mode_configured(&log, &o));
}
