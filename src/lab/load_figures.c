// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_figures: figures 5, 6, 8 and 9 of the paper on the SIMULATED cluster, each a file of columns
 * that gnuplot draws. main.c calls it for --figures.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/lab/load_cmd.h"

enum { POLICIES = LOAD_BY_SWAPPED, POINTS_MAX = 8 };

struct figure {
	const char *name, *x;
	uint32_t points;
	uint32_t at[POINTS_MAX];
	void (*set)(struct load_plan *p, uint32_t at);
	double unit; /* of x */
	bool gain;   /* y: over random choice, %; else requests a second */
};

static void set_alpha(struct load_plan *p, uint32_t at)
{
	p->web.alpha = at;
}

static void set_scan(struct load_plan *p, uint32_t at)
{
	p->scan = at;
}

static const struct figure figures[] = {
	{ "figure5", "alpha", 5, { 100, 250, 500, 750, 900 }, set_alpha, 1000, true },
	{ "figure6", "loaded nodes", 5, { 0, 1, 2, 4, 8 }, load_plan_nodes, 1, false },
	{ "figure9",
	  "service times between two scans",
	  7,
	  { 5, 10, 25, 50, 100, 250, 500 },
	  set_scan,
	  10,
	  true },
};

static const char script[] =
	"# SIMULATED: gnuplot figures.gp draws figure5.svg, figure6.svg, figure8.svg, figure9.svg\n"
	"set terminal svg size 720,480\n"
	"set key outside\n"
	"set style data linespoints\n"
	"set ylabel 'over random choice, % (simulated)'\n"
	"set output 'figure5.svg'\n"
	"set xlabel 'alpha'\n"
	"plot for [i=3:6] 'figure5.dat' using 1:i title columnheader(i)\n"
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
	"plot for [i=2:6] 'figure8.dat' using 1:i title columnheader(i)\n";

static FILE *begin(const struct load_options *o, const char *name, const char *ending)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/%s%s", o->figures, name, ending);
	FILE *f;

	if (n >= (int)sizeof(path))
		errno = ENAMETOOLONG;
	f = n < (int)sizeof(path) ? fopen(path, "w") : NULL;
	if (!f)
		fprintf(stderr, "resex-lab: %s%s cannot be written to \"%.200s\": %s\n", name,
			ending, o->figures, strerror(errno));
	return f;
}

static int end(FILE *f, const char *name)
{
	bool bad = ferror(f) != 0;

	if (!fclose(f) && !bad)
		return RESEX_OK;
	fprintf(stderr, "resex-lab: %s is not whole: %s\n", name, strerror(errno));
	return RESEX_FAILURE;
}

static void heads(FILE *f, const char *x)
{
	fprintf(f, "# SIMULATED: man resex-lab\n\"%s\"", x);
	for (int i = 0; i < POLICIES; i++)
		fprintf(f, " \"%s\"", load_policy_names[i]);
	fputc('\n', f);
}

static int sweep(const struct load_options *o, const struct figure *fig, struct load_sums *s)
{
	FILE *f = begin(o, fig->name, ".dat");
	int rc = f ? RESEX_OK : RESEX_FAILURE, rc_end;

	if (!f)
		return rc;
	heads(f, fig->x);
	for (uint32_t k = 0; rc == RESEX_OK && k < fig->points; k++) {
		struct load_plan p = o->plan;

		fig->set(&p, fig->at[k]);
		if (p.web.loaded_nodes > p.web.nodes)
			continue;
		rc = load_run(&p, o->seeds, POLICIES, s);
		fprintf(f, "%g", fig->at[k] / fig->unit);
		for (int i = 0; i < POLICIES; i++)
			fprintf(f, " %g",
				fig->gain ? s->policy[i].gain / 10.0
					  : (double)s->policy[i].tps / 1000);
		fputc('\n', f);
	}
	rc_end = end(f, fig->name);
	return rc == RESEX_OK ? rc_end : rc;
}

/* A line for each interval of the first seed. */
static int variance(const struct load_options *o, struct load_sums *s)
{
	FILE *f = begin(o, "figure8", ".dat");
	int rc = f ? load_run(&o->plan, 1, POLICIES, s) : RESEX_FAILURE, rc_end;

	if (!f)
		return rc;
	heads(f, "s");
	for (uint32_t k = 0; rc == RESEX_OK && k < s->policy[0].intervals; k++) {
		fprintf(f, "%g", (double)(k + 1) * (double)o->plan.web.interval_ns / NS_PER_S);
		for (int i = 0; i < POLICIES; i++)
			fprintf(f, " %u", s->policy[i].series[k]);
		fputc('\n', f);
	}
	rc_end = end(f, "figure8.dat");
	return rc == RESEX_OK ? rc_end : rc;
}

static int write_script(const struct load_options *o)
{
	FILE *f = begin(o, "figures", ".gp");

	if (!f)
		return RESEX_FAILURE;
	fputs(script, f);
	return end(f, "figures.gp");
}

int load_figures(const struct load_options *o)
{
	struct load_sums *s = malloc(sizeof(*s));
	int rc = s ? write_script(o) : RESEX_FAILURE;

	if (!s)
		fputs("resex-lab: there is no memory\n", stderr);
	for (size_t i = 0; rc == RESEX_OK && i < sizeof(figures) / sizeof(figures[0]); i++)
		rc = sweep(o, &figures[i], s);
	if (rc == RESEX_OK)
		rc = variance(o, s);
	if (rc == RESEX_OK)
		printf("SIMULATED: figures 5, 6, 8 and 9 are in %s; \"gnuplot figures.gp\" there "
		       "draws them\n",
		       o->figures);
	free(s);
	return rc;
}
