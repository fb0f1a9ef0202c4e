// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_cmd: "resex-lab figures" from its options to its output. It collects the cells of the
 * figures that are wanted, runs them (figures_run.c), writes files (figures_file.c), and prints our
 * numbers beside the paper's. main.c calls it.
 */
#include "src/lab/figures_cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/cli/table.h"
#include "src/lab/figures_file.h"
#include "src/lab/lab_cmd.h"
#include "src/lab/load_cmd.h"
#include "src/lab/reconf_cmd.h"

enum { JOBS_MAX = 64, WANT_ALL = ((1 << FIGURES) - 1) << 1 };

struct figures_options {
	uint32_t wanted, jobs, duration_s;
	uint64_t seed;
	const char *paper; /* NULL: the one on ResEx */
	bool own;	   /* an option was given that is for the paper on ResEx alone */
	struct lab_out out;
};

/* --- options --- */

static const struct cmdline_row rows[] = {
	{ 'p', "paper", "NAME", "whose figures: resex, load or reconf (resex)" },
	{ 'o', "out", "FOLDER", "write the files there (resex-figures)" },
	{ 'd', "duration", "SECONDS", "simulated, of each run (30)" },
	{ 's', "seed", "NUMBER", "of all runs (1)" },
	{ 'J', "jobs", "NUMBER", "processes that run hosts (CPUs)" },
	{ 'j', "json", NULL, "print JSON" },
	{ 'h', "help", NULL, "print this" },
	{ 'V', "version", NULL, "print the version" },
	{ .name = NULL },
};

static const struct lab_limit limits[LAB_LETTERS] = {
	['d'] = { 4, 3600 },
	['s'] = { 1, 1000000000 },
	['J'] = { 1, JOBS_MAX },
};

static void set_number(void *arg, int letter, long v)
{
	struct figures_options *o = arg;

	o->own = o->own || letter != 's';
	if (letter == 'd')
		o->duration_s = (uint32_t)v;
	else if (letter == 's')
		o->seed = (uint64_t)v;
	else
		o->jobs = (uint32_t)v;
}

static int set_paper(void *arg, int letter, const char *value)
{
	struct figures_options *o = arg;

	(void)letter;
	o->paper = NULL;
	if (!strcmp(value, "resex"))
		return -1;
	o->paper = value;
	if (!strcmp(value, "load") || !strcmp(value, "reconf"))
		return -1;
	if (!strcmp(value, "cache"))
		return lab_refuse("paper cache: its figures are not simulated: resex-cacheload(1) "
				  "measures a whole installation");
	return lab_refuse("paper %s: give resex, load or reconf", value);
}

static int set_figure(void *arg, const char *word)
{
	struct figures_options *o = arg;
	char *end;
	long v = strtol(word, &end, 10);

	if (!*word || *end || v < 1 || v > FIGURES)
		return lab_refuse("figure %s: give numbers from 1 to %d, or none for all", word,
				  FIGURES);
	o->wanted |= 1u << v;
	o->own = true;
	return -1;
}

static int options(struct figures_options *o, int argc, char **argv)
{
	static const struct lab_cmd cmd = {
		.name = "figures",
		.does = "Figures 1 to 9 of the paper ResourceExchange, on SIMULATED hosts.",
		.more = "",
		.rows = rows,
		.limits = limits,
		.set_number = set_number,
		.set_word = set_paper,
		.operand = set_figure,
		.operands = "[NUMBER]...",
	};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int rc;

	*o = (struct figures_options){ .duration_s = 30, .seed = 1 };
	o->jobs = cpus < 1 ? 1 : cpus > JOBS_MAX ? JOBS_MAX : (uint32_t)cpus;
	o->out.figures = "resex-figures";
	rc = lab_options(&cmd, argc, argv, &o->out, o);
	if (!o->wanted)
		o->wanted = WANT_ALL;
	if (rc < 0 && o->paper && o->own)
		return lab_refuse("paper %s: all its figures are drawn, by the runs of resex-lab "
				  "%s: give only --out, --seed and --json",
				  o->paper, o->paper);
	return rc;
}

/* --- runs --- */

static uint32_t points_of(const struct figures_def *d)
{
	return figures_has_points(d->shape) ? d->points : 1;
}

static void collect(struct figures_runs *r, const struct figures_options *o)
{
	struct figures_cell c;

	for (uint32_t i = 0; i < figures_defs_n; i++) {
		const struct figures_def *d = &figures_defs[i];

		for (uint32_t s = 0; figures_wanted(o->wanted, d) && s < d->series; s++)
			for (uint32_t p = 0; p < points_of(d); p++) {
				figures_cell_of(d, s, p, o->duration_s * 1000, &c);
				figures_add(r, &c);
			}
	}
}

/* --- output --- */

static int add_row(void *arg, uint32_t figure, const char *what, double here, const char *paper,
		   const char *where)
{
	return json_array_append_new(arg, json_pack("{s:i,s:s,s:f,s:s,s:s}", "figure", (int)figure,
						    "what", what, "here", here, "paper", paper,
						    "where", where));
}

/* NULL: no memory. */
static json_t *beside(const struct figures_runs *r, const struct figures_options *o)
{
	json_t *list = json_array();
	int rc = list ? 0 : -ENOMEM;

	for (uint32_t i = 1; !rc && i <= FIGURES; i++)
		if (o->wanted >> i & 1)
			rc = figures_beside(r, i, o->duration_s * 1000, add_row, list);
	if (!rc)
		return list;
	json_decref(list);
	return NULL;
}

static void add_run(json_t *list, const struct figures_def *d, uint32_t s, uint32_t p,
		    const struct figures_result *r)
{
	char series[FIGURES_NAME_MAX] = "", point[FIGURES_NAME_MAX] = "";
	json_t *run;

	d->series_name(s, series);
	if (figures_has_points(d->shape))
		d->point_name(p, point);
	run = json_pack("{s:s,s:s,s:s,s:f,s:f,s:f,s:f}", "name", d->name, "series", series, "point",
			point, "mean_us", r->mean, "deviation_us", r->deviation, "min_us", r->least,
			"p99_us", r->p99);
	json_object_update_new(
		run, json_pack("{s:f,s:f,s:f,s:f,s:f,s:i}", "ctime_us", r->part[FIGURES_CTIME],
			       "wtime_us", r->part[FIGURES_WTIME], "ptime_us",
			       r->part[FIGURES_PTIME], "neighbour_mb_s", r->sent, "lowest_cap",
			       r->lowest, "cap_changes", (int)r->changes));
	json_array_append_new(list, run);
}

static json_t *runs_json(const struct figures_runs *r, const struct figures_options *o)
{
	json_t *list = json_array();
	struct figures_cell c;

	for (uint32_t i = 0; i < figures_defs_n; i++) {
		const struct figures_def *d = &figures_defs[i];

		for (uint32_t s = 0; figures_wanted(o->wanted, d) && s < d->series; s++)
			for (uint32_t p = 0; p < points_of(d); p++) {
				figures_cell_of(d, s, p, o->duration_s * 1000, &c);
				add_run(list, d, s, p, figures_of(r, &c));
			}
	}
	return list;
}

static int print(const struct figures_runs *r, const struct figures_options *o, json_t *numbers,
		 bool png)
{
	static const struct column cols[] = {
		{ "FIGURE", "figure", 0 },  { "OF", "what", LEFT },	  { "HERE", "here", 0 },
		{ "PAPER", "paper", LEFT }, { "SECTION", "where", LEFT }, { NULL, NULL, 0 }
	};
	json_t *all = json_pack("{s:b,s:I,s:i,s:O,s:o}", "simulated", 1, "seed",
				(json_int_t)o->seed, "duration_s", (int)o->duration_s, "figures",
				numbers, "runs", runs_json(r, o));

	if (all && o->out.json) {
		lab_print_json(all);
	} else if (all) {
		printf("SIMULATED: open %s/report.html\n", o->out.figures);
		if (!png)
			puts("There are no PNGs: gnuplot drew none. Install gnuplot-nox, and run "
			     "\"gnuplot figures.gp\" there.");
		putchar('\n');
		table_print(stdout, numbers, cols);
	}
	return lab_printed(all);
}

static int write_and_print(const struct figures_runs *r, const struct figures_options *o)
{
	struct figures_out out = { o->out.figures, o->wanted, o->duration_s * 1000, r, NULL };
	json_t *numbers = beside(r, o);
	int rc;

	if (!numbers)
		return lab_printed(NULL);
	out.beside = numbers;
	rc = figures_write(&out);
	if (rc == RESEX_OK)
		rc = print(r, o, numbers, figures_draw(out.folder, "figures.gp"));
	json_decref(numbers);
	return rc;
}

/* Figures of another experiment, with its defaults. */
static int other_paper(const struct figures_options *o)
{
	bool load = !strcmp(o->paper, "load");
	char seed[24], folder[] = "--figures", json[] = "-j", name[16], seeds[] = "--seed";
	char *argv[] = { name,	folder, (char *)o->out.figures,
			 seeds, seed,	o->out.json ? json : NULL,
			 NULL };
	int argc = o->out.json ? 6 : 5, rc;
	bool drawn;

	snprintf(name, sizeof(name), "%s", o->paper);
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)o->seed);
	rc = load ? load_cmd(argc, argv) : reconf_cmd(argc, argv);
	if (rc == RESEX_OK)
		rc = figures_other(o->out.figures, load ? "figures.gp" : "reconf.gp",
				   load ? "Figures 4 to 9 of the paper on balancing, simulated"
					: "Figures of the paper on nodes that move, simulated",
				   &drawn);
	if (rc == RESEX_OK && !o->out.json)
		printf("\n%s/report.html has all %s\n", o->out.figures,
		       drawn ? "pictures and columns"
			     : "columns. There are no pictures: gnuplot drew none; on Debian: "
			       "apt-get install gnuplot-nox");
	return rc;
}

static int run_hosts(const struct figures_options *o)
{
	struct figures_runs *r = calloc(1, sizeof(*r));
	int rc;

	if (!r) {
		fputs("resex-lab: there is no memory\n", stderr);
		return RESEX_FAILURE;
	}
	r->seed = o->seed;
	collect(r, o);
	rc = figures_run(r, o->jobs);
	if (rc == RESEX_OK)
		rc = write_and_print(r, o);
	figures_free(r);
	free(r);
	return rc;
}

int figures_cmd(int argc, char **argv)
{
	struct figures_options o;
	int rc = options(&o, argc, argv);

	if (rc >= 0)
		return rc;
	/* Before the runs, which take long. */
	rc = lab_make_folder(o.out.figures);
	if (rc == RESEX_OK)
		rc = o.paper ? other_paper(&o) : run_hosts(&o);
	return rc;
}
