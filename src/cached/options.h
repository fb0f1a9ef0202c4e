/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options: the command line of resex-cached (man resex-cached(8)), read first by main.c. */
#ifndef RESEX_CACHED_OPTIONS_H
#define RESEX_CACHED_OPTIONS_H

#include <stdbool.h>

#include "src/util/log.h"

struct cached_options {
	const char *config; /* the file */
	const char *host;   /* this host's name in cluster.json; NULL: not given */
	bool check;	    /* check all, and exit */
	bool schema;	    /* print the schema of the file, and exit; not with check */
	enum log_level level;
};

/* Fill o. -1: go on; else the exit code: help was printed, or the error was. */
int cached_options(struct cached_options *o, int argc, char **argv);

#endif
