/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmdtable: the verbs of resex. Usage, help and dispatch come from this table.
 */
#ifndef RESEX_CLI_CMDTABLE_H
#define RESEX_CLI_CMDTABLE_H

#include <stdbool.h>
#include <string.h>

#include "src/cli/client.h"

struct cli {
	struct client client;
	bool json;
	int argc; /* the verb's own words */
	char **argv;
};

/* Which of its words is the name of a file, and need not be UTF-8. */
enum verb_file { FILE_NONE, FILE_FIRST, FILE_OPTION };

struct verb {
	const char *name;
	const char *args; /* for the usage line */
	const char *text; /* one line */
	enum verb_file file;
	int (*run)(struct cli *c); /* an exit code; client.error says why */
};

static inline bool is_file_option(const char *word)
{
	return !strcmp(word, "-f") || !strcmp(word, "--file");
}

extern const struct verb verbs[]; /* ended by name NULL */

#endif
