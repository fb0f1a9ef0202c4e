/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reconf_cmd: what the files of "resex-lab reconf" share: reconf_options.c and reconf_lists.c read
 * the command line, reconf_cmd.c runs, reconf_show.c prints, reconf_figures.c writes files.
 */
#ifndef RESEX_LAB_RECONF_CMD_H
#define RESEX_LAB_RECONF_CMD_H

#include <jansson.h>

#include "src/lab/lab_cmd.h"
#include "src/lab/reconf.h"
#include "src/lab/reconf_forecast.h"
#include "src/lab/reconf_scene.h"

enum {
	RECONF_BURSTS_MAX = 16,
	RECONF_CLUSTERS_MAX = 2,
	RECONF_EQUALS = 2,
	RECONF_FORECASTS = 20, /* of each seed */
};

struct reconf_shares {
	uint32_t sites, share[WEB_SITES_MAX];
};

struct reconf_options {
	struct reconf_plan plan; /* but for its shares */
	struct reconf_shares cluster[RECONF_CLUSTERS_MAX];
	uint32_t clusters, over; /* over 0: of the shares */
	uint32_t burst[RECONF_BURSTS_MAX], bursts;
	uint32_t seeds;
	struct lab_out out;
	const char *without; /* as given; NULL: it was not */
};

/* What was measured. */
struct reconf_all {
	struct reconf_point of[RECONF_CLUSTERS_MAX][RECONF_BURSTS_MAX];
	struct reconf_point equal[RECONF_EQUALS]; /* bursts of 1 and of 64, last cluster */
	struct reconf_staged scene[RECONF_SCENES];
	struct reconf_forecasts forecasts;
};

/* Fill o. -1: go on; else the exit code: help was printed, or the error was. */
int reconf_options(struct reconf_options *o, int argc, char **argv);
/* The plan of a cluster. */
void reconf_options_plan(const struct reconf_options *o, uint32_t cluster, struct reconf_plan *p);
/* "2:2:2:2", to be freed by nobody. */
const char *reconf_shares_text(const struct reconf_shares *s, char text[64]);

/* --- reconf_lists.c --- */
/*
 * Read a list of at most room numbers, each from least to most. The character apart is between two
 * of them. Returns the length of the list; 0: text is not a list of this form.
 */
uint32_t reconf_numbers(const char *text, char apart, long least, long most, uint32_t *list,
			uint32_t room);
/* -1: go on; else the exit code: the error was printed. name: of the option of this letter. */
int reconf_set_services(struct reconf_options *o, int letter, const char *name, const char *text);
int reconf_set_cpus(struct reconf_options *o, const char *text);
int reconf_set_only(struct reconf_options *o, const char *text);
int reconf_check_lists(const struct reconf_plan *p);

/* The experiment; its exit code. */
int reconf_cmd(int argc, char **argv);

/* All figures for -j; NULL: no memory. */
json_t *reconf_json(const struct reconf_options *o, const struct reconf_all *a);
/* The same as tables. */
void reconf_print(const struct reconf_options *o, const struct reconf_all *a, const json_t *all);

/* Write data of figures 10, 15 and 16, of the scenes, and a script for gnuplot. The exit code. */
int reconf_figures(const struct reconf_options *o, const struct reconf_all *a);

#endif
