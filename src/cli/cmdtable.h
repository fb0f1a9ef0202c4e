/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmdtable: the verbs of resex. Usage, help and dispatch come from this table.
 */
#ifndef RESEX_CLI_CMDTABLE_H
#define RESEX_CLI_CMDTABLE_H

#include <stdbool.h>

#include "src/cli/client.h"

struct cli {
	struct client client;
	bool json;
	int argc; /* the verb's own words */
	char **argv;
};

struct verb {
	const char *name;
	const char *args;	   /* for the usage line */
	const char *text;	   /* one line */
	bool modifies;		   /* root only */
	int (*run)(struct cli *c); /* an exit code; client.error says why */
};

extern const struct verb verbs[]; /* ended by name NULL */

#endif
