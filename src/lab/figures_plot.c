// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_plot: what is drawn of a figure, from the results of its cells; and as columns.
 * figures_file.c calls it. Pure.
 */
#include <math.h>
#include <string.h>

#include "src/lab/figures.h"

bool figures_has_points(enum figures_shape shape)
{
	return shape == FIGURES_BARS || shape == FIGURES_LINES || shape == FIGURES_PARTS_BARS;
}

static const struct figures_result *result_of(const struct figures_runs *r,
					      const struct figures_def *d, uint32_t s, uint32_t i,
					      uint32_t duration_ms)
{
	struct figures_cell c;

	figures_cell_of(d, s, i, duration_ms, &c);
	return figures_of(r, &c);
}

static void put_point(const struct figures_result *r, enum figures_shape shape, uint32_t s,
		      uint32_t i, struct figures_plot *p)
{
	if (shape == FIGURES_PARTS_BARS) {
		p->y[s][i] = r->part[s];
		p->error[s][i] = r->part_deviation[s];
	} else {
		p->y[s][i] = r->mean;
		p->error[s][i] = r->deviation;
	}
}

/* Points are only as many as some series has a share in. */
static void put_histogram(const struct figures_result *r, uint32_t s, struct figures_plot *p)
{
	for (uint32_t i = 0; i < FIGURES_BINS; i++) {
		p->x[i] = FIGURES_BINS_FROM_US + i * FIGURES_BIN_US;
		p->y[s][i] = r->share[i];
		if (r->share[i] > 0 && p->points < i + 2)
			p->points = i + 2 < FIGURES_BINS ? i + 2 : FIGURES_BINS;
	}
}

static void put_time(const struct figures_result *r, const struct figures_def *d, uint32_t s,
		     struct figures_plot *p)
{
	const double *resos = s ? r->balance : r->own;
	p->points = r->steps;
	for (uint32_t i = 0; i < r->steps; i++)
		p->y[s][i] = d->shape == FIGURES_RESOS ? resos[i] : r->latency[i];
}

void figures_plot(const struct figures_runs *r, const struct figures_def *d, uint32_t duration_ms,
		  struct figures_plot *p)
{
	struct figures_cell c;

	memset(p, 0, sizeof(*p));
	p->d = d;
	p->n = d->series;
	p->points = figures_has_points(d->shape) ? d->points : 0;
	figures_cell_of(d, 0, 0, duration_ms, &c);
	for (uint32_t i = 0; i < p->points; i++)
		d->point_name(i, p->point[i]);
	for (uint32_t s = 0; s < p->n; s++) {
		d->series_name(s, p->series[s]);
		for (uint32_t i = 0; i < d->points; i++)
			put_point(result_of(r, d, s, i, duration_ms), d->shape, s, i, p);
		if (d->shape == FIGURES_HISTOGRAM)
			put_histogram(result_of(r, d, s, 0, duration_ms), s, p);
		else if (!figures_has_points(d->shape))
			put_time(result_of(r, d, s, 0, duration_ms), d, s, p);
	}
	if (d->shape == FIGURES_TIME || d->shape == FIGURES_RESOS)
		for (uint32_t i = 0; i < p->points; i++)
			p->x[i] = (i + 1) * c.step_ms / 1e3;
}

static void put_number(FILE *f, double v)
{
	if (isnan(v))
		fputc(',', f);
	else
		fprintf(f, ",%.3f", v);
}

/* Means first, then deviations, so that a column has the number of its series. */
void figures_csv(FILE *f, const struct figures_plot *p)
{
	bool points = figures_has_points(p->d->shape);

	fprintf(f, "# SIMULATED: man resex-lab\n\"%s\"", p->d->x);
	for (uint32_t s = 0; s < p->n; s++)
		fprintf(f, ",\"%s\"", p->series[s]);
	for (uint32_t s = 0; points && s < p->n; s++)
		fprintf(f, ",\"deviation of %s\"", p->series[s]);
	fputc('\n', f);
	for (uint32_t i = 0; i < p->points; i++) {
		if (points)
			fprintf(f, "\"%s\"", p->point[i]);
		else
			fprintf(f, "%g", p->x[i]);
		for (uint32_t s = 0; s < p->n; s++)
			put_number(f, p->y[s][i]);
		for (uint32_t s = 0; points && s < p->n; s++)
			put_number(f, p->error[s][i]);
		fputc('\n', f);
	}
}
