/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options: the command line of resexd (man resexd(8)), read first; modes.h acts on it. */
#ifndef RESEX_DAEMON_OPTIONS_H
#define RESEX_DAEMON_OPTIONS_H

#include <stdbool.h>

#include "src/hv/hv.h"
#include "src/util/log.h"

enum daemon_mode { MODE_RUN, MODE_CHECK, MODE_OBSERVE, MODE_RESTORE, MODE_SCHEMA };

struct options {
	const char *config;  /* as given, or the default; NULL: a scenario, or a trial (trial.h) */
	const char *hv_name; /* as given */
	const struct hv_backend *hv; /* NULL: none is called hv_name; only with MODE_CHECK */
	const char *scenario, *summary, *socket, *policy, *policy_dir,
		*schema; /* NULL: not given */
	enum daemon_mode mode;
	enum log_level level;
};

/*
 * Fill o. -1: go on; else the exit code of the process: help was printed, or the
 * error was.
 */
int options_parse(struct options *o, int argc, char **argv);

#endif
