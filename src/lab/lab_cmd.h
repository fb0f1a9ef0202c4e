/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab_cmd: what the experiments of resex-lab have in common from the command line to the output:
 * options of a table, what goes to stdout, files of columns for gnuplot. All errors are printed.
 */
#ifndef RESEX_LAB_LAB_CMD_H
#define RESEX_LAB_LAB_CMD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "src/util/cmdline.h"

enum { LAB_LETTERS = 128 };

struct lab_limit {
	long least, most; /* most 0: the option is no number */
};

/* An experiment's command line: getopt_long's list and the help are made of it. */
struct lab_cmd {
	const char *name; /* "load" */
	const char *does; /* a sentence of the help */
	const char *more; /* lines of the help after the options */
	const struct cmdline_row *rows;
	const struct lab_limit *limits; /* LAB_LETTERS of them, by letter */
	/* arg: of lab_options(). */
	void (*set_number)(void *arg, int letter, long v);
	/* value NULL: the option has none. -1: go on; else the exit code. */
	int (*set_word)(void *arg, int letter, const char *value);
	/* A word that is not an option; as set_word. NULL: there is none. */
	int (*operand)(void *arg, const char *word);
	const char *operands; /* their name in the help; NULL: none */
};

/* What all experiments have as options, besides --help and --version. */
struct lab_out {
	bool json;
	const char *figures; /* a folder; NULL: none */
};

/* Read all options. -1: go on; else the exit code: help, the version or the error was printed. */
int lab_options(const struct lab_cmd *cmd, int argc, char **argv, struct lab_out *out, void *arg);

/* Print an error. RESEX_USAGE. */
int lab_refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void lab_print_json(const json_t *all);
/* all was printed, and is released; NULL: there was no memory for it. The exit code. */
int lab_printed(json_t *all);

/* Make the folder for files of figures; it may be there. The exit code. */
int lab_make_folder(const char *folder);
/* A file of this folder, to be written. NULL: it cannot be. */
FILE *lab_figure_begin(const char *folder, const char *name, const char *ending);
/* Close it. The exit code, if that of what was written before is rc. */
int lab_figure_end(FILE *file, const char *name, int rc);
/* That it is a simulation, and the first head of the line of heads. */
void lab_figure_head(FILE *file, const char *x);

#endif
