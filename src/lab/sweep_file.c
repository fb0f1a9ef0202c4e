// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sweep_file: the rows of a scenario as columns and as a picture: latency over throughput given up.
 * The fixed caps are lines, the policies points. sweep_cmd.c calls it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/lab/figures.h"
#include "src/lab/lab_cmd.h"
#include "src/lab/sweep.h"

static void put_number(FILE *f, double v)
{
	if (isnan(v))
		fputc(',', f);
	else
		fprintf(f, ",%.4f", v);
}

static void put_csv(FILE *f, const struct sweep_scene *s, const struct sweep_result *result,
		    const struct sweep_row *row)
{
	char name[SWEEP_NAME_MAX];
	const json_t *guest;
	size_t g;

	lab_figure_head(f, "run");
	fputs(",\"mean, us\",\"deviation, us\",\"p99, us\",\"over base\",\"recovered\",\"given "
	      "up\","
	      "\"frontier\",\"the frontier gives up\"",
	      f);
	json_array_foreach(json_object_get(s->root, "guests"), g, guest)
		if (s->neighbour[g])
			fprintf(f, ",\"%s, MB/s\"",
				json_string_value(json_object_get(guest, "name")));
	fputc('\n', f);
	for (uint32_t i = 1; i < s->runs; i++) {
		const struct sweep_row *r = &row[i - 1];
		const double v[] = { r->mean,	   r->deviation, r->p99,      r->over,
				     r->recovered, r->given_up,	 r->frontier, r->best };

		sweep_run_name(&s->run[i], name);
		fprintf(f, "\"%s\"", name);
		for (size_t k = 0; k < sizeof(v) / sizeof(v[0]); k++)
			put_number(f, v[k]);
		for (uint32_t k = 0; k < s->guests; k++)
			if (s->neighbour[k])
				put_number(f, result[i].sent[k]);
		fputc('\n', f);
	}
}

/* --- the picture --- */

static void put_point(struct figures_plot *p, uint32_t series, uint32_t *n,
		      const struct sweep_row *r)
{
	if (*n == FIGURES_STEPS || !isfinite(r->over))
		return;
	p->at[series][*n] = r->given_up * 100;
	p->y[series][*n] = r->over * 100;
	(*n)++;
	if (p->points < *n)
		p->points = *n;
}

/* The series of all runs of this kind; without caps belongs to the fixed caps. */
static void put_kind(const struct sweep_scene *s, const struct sweep_row *row, enum sweep_kind kind,
		     const char *name, struct figures_plot *p)
{
	uint32_t series = p->n, n = 0;

	for (uint32_t i = 2; i < s->runs; i++)
		if (s->run[i].kind == kind)
			put_point(p, series, &n, &row[i - 1]);
	if (!n)
		return;
	put_point(p, series, &n, &row[0]);
	snprintf(p->series[series], sizeof(p->series[series]), "%s", name);
	p->n++;
}

static int by_x(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return x[0] < y[0] ? -1 : x[0] > y[0];
}

static void put_frontier(const struct sweep_scene *s, const struct sweep_row *row,
			 struct figures_plot *p)
{
	double at[SWEEP_RUNS_MAX][2];
	uint32_t n = 0;

	for (uint32_t i = 1; i < s->runs; i++)
		if (row[i - 1].frontier && isfinite(row[i - 1].over)) {
			at[n][0] = row[i - 1].given_up * 100;
			at[n++][1] = row[i - 1].over * 100;
		}
	qsort(at, n, sizeof(at[0]), by_x);
	for (uint32_t i = 0; i < n; i++) {
		p->at[p->n][i] = at[i][0];
		p->y[p->n][i] = at[i][1];
	}
	if (p->points < n)
		p->points = n;
	snprintf(p->series[p->n++], sizeof(p->series[0]), "frontier");
}

static void plot(const struct sweep_scene *s, const struct sweep_row *row,
		 const struct figures_def *d, struct figures_plot *p)
{
	memset(p, 0, sizeof(*p));
	p->d = d;
	for (uint32_t i = 0; i < FIGURES_SERIES_MAX; i++)
		for (uint32_t k = 0; k < FIGURES_STEPS; k++)
			p->y[i][k] = NAN;
	put_kind(s, row, SWEEP_TOGETHER, "caps at one moment", p);
	put_kind(s, row, SWEEP_STAGGERED, "caps in turn", p);
	put_frontier(s, row, p);
	for (uint32_t i = 2; i < s->runs && p->n < FIGURES_SERIES_MAX; i++) {
		uint32_t n = 0;

		if (s->run[i].kind != SWEEP_POLICY)
			continue;
		put_point(p, p->n, &n, &row[i - 1]);
		sweep_run_name(&s->run[i], p->series[p->n++]);
	}
}

static int write_svg(const struct sweep_scene *s, const struct sweep_row *row, const char *folder,
		     const char *name)
{
	struct figures_plot *p = malloc(sizeof(*p));
	char title[SWEEP_NAME_MAX + 64];
	struct figures_def d = { .title = title,
				 .x = "throughput given up by the neighbours, %",
				 .y = "mean latency over base, %",
				 .shape = FIGURES_POINTS };
	FILE *f = p ? lab_figure_begin(folder, name, ".svg") : NULL;

	if (!f) {
		free(p);
		return RESEX_FAILURE;
	}
	snprintf(title, sizeof(title), "SIMULATED: %s", name);
	plot(s, row, &d, p);
	figures_svg(f, p);
	free(p);
	return lab_figure_end(f, name, RESEX_OK);
}

int sweep_write(const struct sweep_scene *s, const struct sweep_result *result,
		const struct sweep_row *row, const char *folder, const char *name)
{
	FILE *f = lab_figure_begin(folder, name, ".csv");
	int rc;

	if (!f)
		return RESEX_FAILURE;
	put_csv(f, s, result, row);
	rc = lab_figure_end(f, name, RESEX_OK);
	return rc == RESEX_OK ? write_svg(s, row, folder, name) : rc;
}
