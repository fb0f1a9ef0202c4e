// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_figures: figures 4 to 9 of the paper on the SIMULATED cluster, each a file of columns that
 * gnuplot draws, and a row for each number that the paper's text states of them, beside ours.
 * main.c calls it for --figures.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cli/table.h"
#include "src/lab/load_cmd.h"

enum { POLICIES = LOAD_BY_SWAPPED, POINTS_MAX = 8 };

/* What all figures share. */
struct figures {
	const struct load_options *o;
	struct load_sums *s;
	json_t *rows; /* ours beside the paper's */
};

/* A figure of one column a policy, each line with another plan. */
struct sweep {
	const char *name, *x;
	uint32_t points;
	uint32_t at[POINTS_MAX];
	void (*set)(struct load_plan *p, uint32_t at);
	double unit; /* of x */
	/* y of a policy */
	double (*y)(const struct load_sum *s);
	/* The paper's numbers of the first line. May be NULL. */
	void (*compare)(struct figures *f);
};

static void heads(FILE *file, const char *x)
{
	lab_figure_head(file, x);
	for (int i = 0; i < POLICIES; i++)
		fprintf(file, " \"%s\"", load_policy_names[i]);
	fputc('\n', file);
}

static void compare(struct figures *f, int figure, const char *what, double here, const char *paper)
{
	json_array_append_new(f->rows, json_pack("{s:i,s:s,s:f,s:s}", "figure", figure, "what",
						 what, "here", here, "paper", paper));
}

/* --- figures 5, 6 and 9 ----------------------------------------------------------- */

static void set_alpha(struct load_plan *p, uint32_t at)
{
	p->web.alpha[0] = at;
}

static void set_scan(struct load_plan *p, uint32_t at)
{
	p->scan = at;
}

/* Its processes sleep for most of the time: a kernel then lets them run first. */
static void set_loaded(struct load_plan *p, uint32_t at)
{
	load_plan_nodes(p, at);
	p->web.wake_first = true;
}

static double gain(const struct load_sum *s)
{
	return s->gain / 10.0;
}

static double served(const struct load_sum *s)
{
	return (double)s->tps / 1000;
}

static void compare5(struct figures *f)
{
	compare(f, 5, "KLM over random, alpha 0.1, %", gain(&f->s->policy[LOAD_BY_KLM]), "22");
	compare(f, 5, "ULM over random, alpha 0.1, %", gain(&f->s->policy[LOAD_BY_ULM]), "12");
}

static const struct sweep sweeps[] = {
	{ "figure5", "alpha", 5, { 100, 250, 500, 750, 900 }, set_alpha, 1000, gain, compare5 },
	{ "figure6", "loaded nodes", 5, { 0, 1, 2, 4, 8 }, set_loaded, 1, served, NULL },
	{ "figure9",
	  "service times between two scans",
	  7,
	  { 5, 10, 25, 50, 100, 250, 500 },
	  set_scan,
	  10,
	  gain,
	  NULL },
};

static int sweep(struct figures *f, const struct sweep *fig)
{
	FILE *file = lab_figure_begin(f->o->out.figures, fig->name, ".dat");
	int rc = file ? RESEX_OK : RESEX_FAILURE;

	if (!file)
		return rc;
	heads(file, fig->x);
	for (uint32_t k = 0; rc == RESEX_OK && k < fig->points; k++) {
		struct load_plan p = f->o->plan;

		fig->set(&p, fig->at[k]);
		if (p.web.loaded_nodes > p.web.nodes)
			continue;
		rc = load_run(&p, f->o->seeds, POLICIES, f->s);
		fprintf(file, "%g", fig->at[k] / fig->unit);
		for (int i = 0; i < POLICIES; i++)
			fprintf(file, " %g", fig->y(&f->s->policy[i]));
		fputc('\n', file);
		if (!k && fig->compare)
			fig->compare(f);
	}
	return lab_figure_end(file, fig->name, rc);
}

/* --- figure 4 --------------------------------------------------------------------- */

static const struct {
	enum load_source source;
	const char *name, *what, *paper;
} sources[] = {
	{ LOAD_ULM, "ULM", "mean error of ULM, 1/1000 of the node", "\"takes a while\"" },
	{ LOAD_KLM, "KLM", "mean error of KLM, 1/1000 of the node", "\"almost the same\"" },
	{ LOAD_HV, "hv", "mean error of hv, 1/1000 of the node", "-" },
};

enum { SOURCES = sizeof(sources) / sizeof(sources[0]) };

/* A line for each interval of the first seed; errors are means of all seeds. */
static int accuracy(struct figures *f)
{
	struct load_accuracy *a = malloc(sizeof(*a));
	FILE *file = lab_figure_begin(f->o->out.figures, "figure4", ".dat");
	struct load_plan p = f->o->plan;
	double error[LOAD_SOURCES] = { 0 };
	int rc = a && file ? 0 : -ENOMEM;

	for (uint32_t k = 0; !rc && k < f->o->seeds; k++, p.web.seed++) {
		rc = load_accuracy(&p, a);
		if (!rc && !k) {
			lab_figure_head(file, "s");
			fputs(" \"truth\" \"ULM\" \"KLM\" \"hv\"\n", file);
			for (uint32_t i = 0; i < a->points; i++) {
				fprintf(file, "%g %u", (i + 1) * 0.01, a->truth[i]);
				for (int j = 0; j < SOURCES; j++)
					fprintf(file, " %u", a->shown[sources[j].source][i]);
				fputc('\n', file);
			}
		}
		for (int j = 0; !rc && j < SOURCES; j++)
			error[j] += (double)a->error[sources[j].source] / f->o->seeds;
	}
	if (rc && file)
		fprintf(stderr, "resex-lab: figure 4 cannot be simulated: %s\n", strerror(-rc));
	for (int j = 0; !rc && j < SOURCES; j++)
		compare(f, 4, sources[j].what, error[j], sources[j].paper);
	free(a);
	return file ? lab_figure_end(file, "figure4", rc ? RESEX_FAILURE : RESEX_OK)
		    : RESEX_FAILURE;
}

/* --- figure 7 --------------------------------------------------------------------- */

/* Two sites: one of alpha 0.9, and one of another. A column for each policy and site. */
static int shared(struct figures *f)
{
	static const uint32_t other[] = { 100, 250, 500, 750 };
	FILE *file = lab_figure_begin(f->o->out.figures, "figure7", ".dat");
	int rc = file ? RESEX_OK : RESEX_FAILURE;

	if (!file)
		return rc;
	lab_figure_head(file, "alpha of the other site");
	for (int i = LOAD_BY_ROUND_ROBIN; i < POLICIES; i++)
		fprintf(file, " \"%s, 0.9\" \"%s, other\"", load_policy_names[i],
			load_policy_names[i]);
	fputc('\n', file);
	for (uint32_t k = 0; rc == RESEX_OK && k < sizeof(other) / sizeof(other[0]); k++) {
		const struct load_sum *t = f->s->policy;
		struct load_plan p = f->o->plan;

		load_plan_shared(&p, 900, other[k]);
		rc = load_run(&p, f->o->seeds, POLICIES, f->s);
		fprintf(file, "%g", other[k] / 1000.0);
		for (int i = LOAD_BY_ROUND_ROBIN; i < POLICIES; i++)
			fprintf(file, " %g %g", t[i].site_gain[0] / 10.0, t[i].site_gain[1] / 10.0);
		fputc('\n', file);
		if (k)
			continue;
		compare(f, 7, "KLM over random, site of alpha 0.9, %",
			t[LOAD_BY_KLM].site_gain[0] / 10.0, "25");
		compare(f, 7, "KLM over random, site of alpha 0.1, %",
			t[LOAD_BY_KLM].site_gain[1] / 10.0, "21");
		compare(f, 7, "ULM over random, site of alpha 0.9, %",
			t[LOAD_BY_ULM].site_gain[0] / 10.0, "11");
		compare(f, 7, "ULM over random, site of alpha 0.1, %",
			t[LOAD_BY_ULM].site_gain[1] / 10.0, "9");
	}
	return lab_figure_end(file, "figure7", rc);
}

/* --- figure 8 --------------------------------------------------------------------- */

/* A line for each interval of the first seed, of the two sites of figure 7. */
static int variance(struct figures *f)
{
	const struct load_sum *t = f->s->policy;
	FILE *file = lab_figure_begin(f->o->out.figures, "figure8", ".dat");
	struct load_plan p = f->o->plan;
	int rc;

	if (!file)
		return RESEX_FAILURE;
	load_plan_shared(&p, 900, 100);
	rc = load_run(&p, 1, POLICIES, f->s);
	heads(file, "s");
	for (uint32_t k = 0; rc == RESEX_OK && k < t[0].intervals; k++) {
		fprintf(file, "%g", (double)(k + 1) * (double)p.web.interval_ns / NS_PER_S);
		for (int i = 0; i < POLICIES; i++)
			fprintf(file, " %u", t[i].series[k]);
		fputc('\n', file);
	}
	if (rc == RESEX_OK && t[LOAD_BY_RANDOM].variance)
		compare(f, 8, "variance of KLM, of that of random",
			(double)t[LOAD_BY_KLM].variance / (double)t[LOAD_BY_RANDOM].variance,
			"almost 0.5");
	return lab_figure_end(file, "figure8", rc);
}

/* --- all -------------------------------------------------------------------------- */

static const char script[] = "# SIMULATED: gnuplot figures.gp draws figure4.svg to figure9.svg\n"
			     "set terminal svg size 720,480\n"
			     "set key outside\n"
			     "set style data linespoints\n"
			     "set ylabel 'over random choice, % (simulated)'\n"
			     "set output 'figure5.svg'\n"
			     "set xlabel 'alpha'\n"
			     "plot for [i=3:6] 'figure5.dat' using 1:i title columnheader(i)\n"
			     "set output 'figure7.svg'\n"
			     "set xlabel 'alpha of the other site'\n"
			     "plot for [i=2:9] 'figure7.dat' using 1:i title columnheader(i)\n"
			     "set output 'figure9.svg'\n"
			     "set xlabel 'service times between two scans'\n"
			     "set logscale x\n"
			     "plot for [i=3:6] 'figure9.dat' using 1:i title columnheader(i)\n"
			     "unset logscale x\n"
			     "set output 'figure6.svg'\n"
			     "set xlabel 'loaded nodes'\n"
			     "set ylabel 'requests a second (simulated)'\n"
			     "plot for [i=2:6] 'figure6.dat' using 1:i title columnheader(i)\n"
			     "set output 'figure8.svg'\n"
			     "set style data lines\n"
			     "set xlabel 's'\n"
			     "set ylabel 'variance of CPU time over the nodes (simulated)'\n"
			     "plot for [i=2:6] 'figure8.dat' using 1:i title columnheader(i)\n"
			     "set output 'figure4.svg'\n"
			     "set style data steps\n"
			     "set xrange [0:1]\n"
			     "set ylabel 'CPU time of the node, 1/1000 (simulated)'\n"
			     "plot for [i=2:5] 'figure4.dat' using 1:i title columnheader(i)\n";

static int write_script(struct figures *f)
{
	FILE *file = lab_figure_begin(f->o->out.figures, "figures", ".gp");

	if (!file)
		return RESEX_FAILURE;
	fputs(script, file);
	return lab_figure_end(file, "figures.gp", RESEX_OK);
}

static void print(const struct figures *f)
{
	static const struct column cols[] = { { "FIGURE", "figure", 0 },
					      { "OF", "what", 1 },
					      { "HERE", "here", 0 },
					      { "PAPER", "paper", 1 },
					      { NULL, NULL, 0 } };
	json_t *all;

	if (f->o->out.json) {
		all = json_pack("{s:b,s:O}", "simulated", 1, "figures", f->rows);
		lab_print_json(all);
		json_decref(all);
		return;
	}
	printf("SIMULATED: figures 4 to 9 are in %s; \"gnuplot figures.gp\" there draws them\n\n",
	       f->o->out.figures);
	table_print(stdout, f->rows, cols);
}

int load_figures(const struct load_options *o)
{
	struct figures f = { .o = o, .s = malloc(sizeof(*f.s)), .rows = json_array() };
	int rc = f.s && f.rows ? write_script(&f) : RESEX_FAILURE;

	if (!f.s || !f.rows)
		fputs("resex-lab: there is no memory\n", stderr);
	if (rc == RESEX_OK)
		rc = accuracy(&f);
	for (size_t i = 0; rc == RESEX_OK && i < sizeof(sweeps) / sizeof(sweeps[0]); i++)
		rc = sweep(&f, &sweeps[i]);
	if (rc == RESEX_OK)
		rc = shared(&f);
	if (rc == RESEX_OK)
		rc = variance(&f);
	if (rc == RESEX_OK)
		print(&f);
	json_decref(f.rows);
	free(f.s);
	return rc;
}
