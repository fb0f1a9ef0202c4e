/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmdtable: the verbs of resex. Usage, help and dispatch come from this table.
 */
#ifndef RESEX_CLI_CMDTABLE_H
#define RESEX_CLI_CMDTABLE_H

#include "src/cli/client.h"
#include "src/cli/options.h"

/* What a verb is run with. */
struct cli {
	struct client client;
	struct options options;
	const struct verb *verb;
	int argc; /* arguments of the verb, without options */
	char **argv;
};

/* Names of files need not be UTF-8; all other arguments are sent to resexd, and must be. */
enum verb_arguments { ARGS_UTF8, ARGS_FILE };

struct verb {
	const char *name;
	const char *args;     /* for the usage line */
	const char *text;     /* one line */
	unsigned int options; /* its own, besides OPT_COMMON */
	enum verb_arguments arguments;
	/* An exit code, with client.error filled unless RESEX_OK; "": all is said already. */
	int (*run)(struct cli *c);
};

extern const struct verb verbs[]; /* ended by name NULL */

#endif
