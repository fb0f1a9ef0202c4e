/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load_cmd: what the files of "resex-lab load" share: load_options.c reads the command line,
 * load_run.c runs, load_show.c prints; or load_figures.c prints.
 */
#ifndef RESEX_LAB_LOAD_CMD_H
#define RESEX_LAB_LOAD_CMD_H

#include <jansson.h>

#include "src/lab/lab_cmd.h"
#include "src/lab/load.h"
#include "src/lab/load_log.h"

struct load_options {
	struct load_plan plan;
	uint32_t seeds;
	struct lab_out out;
	const char *workload;	 /* as given; NULL: it was not */
	bool given[LAB_LETTERS]; /* options that are numbers, by letter */
	struct load_log log;	 /* of a workload "log:FILE"; n 0: it is another */
};

/*
 * Fill o. -1: go on, and load_log_free() its log at the end; else the exit code: help was printed,
 * or the error was.
 */
int load_options(struct load_options *o, int argc, char **argv);

/* The experiment; its exit code. */
int load_cmd(int argc, char **argv);

/* load_run_all() with progress and errors on stderr. The exit code. */
int load_run(const struct load_plan *p, uint32_t seeds, int policies, struct load_sums *s);

/*
 * Run what figures 4 to 9 of the paper show, and write their data and a script for gnuplot
 * to the folder. The exit code; an error was printed.
 */
int load_figures(const struct load_options *o);

/* All figures for -j; NULL: no memory. */
json_t *load_json(const struct load_options *o, const struct load_sums *s);
/* The same as a table, and figure 8 as text. */
void load_print(const struct load_options *o, const struct load_sums *s, const json_t *all);

#endif
