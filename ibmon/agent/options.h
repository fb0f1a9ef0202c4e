/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options: the agent's command line. */
#ifndef RESEX_AGENT_OPTIONS_H
#define RESEX_AGENT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "resex/exit.h"

struct options {
	long scan_ms;
	int64_t load_ns;    /* between two samples of load; 0: none */
	const char *file;   /* --no-xen: publish to this file */
	const char *socket; /* of latencies */
	const char *hook;   /* the program for what the host wants, an absolute path; NULL: none */
	bool no_grant, once, json, verbose, help, version;
};

/* 0, or RESEX_USAGE after a sentence on err. */
int options_parse(struct options *o, int argc, char **argv, FILE *err);
void options_help(FILE *out);

#endif
