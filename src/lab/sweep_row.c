// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sweep_row: what a run recovers and gives up, and the frontier of fixed caps: those beside which
 * no other fixed cap of the scenario is as near to base and gives up as little. sweep_cmd.c and
 * sweep_file.c call it. Pure.
 */
#include <math.h>
#include <string.h>

#include "src/lab/sweep.h"

/* Below this part of base, interference is too small for a share of it to mean anything. */
#define LEAST_HARM 0.01

static bool is_fixed(const struct sweep_run *run)
{
	return run->kind != SWEEP_POLICY && run->kind != SWEEP_ALONE;
}

/* The reporter that is the farthest above what it has alone, of equals the first. */
static void put_worst(const struct sweep_scene *s, const struct sweep_result *alone,
		      const struct sweep_result *r, struct sweep_row *row)
{
	row->over = -HUGE_VAL;
	for (uint32_t i = 0; i < s->guests; i++) {
		double over = r->mean[i] / alone->mean[i] - 1;

		if (!s->reporter[i] || !(over > row->over))
			continue;
		row->over = over;
		row->mean = r->mean[i];
		row->deviation = r->deviation[i];
		row->p99 = r->p99[i];
	}
}

static double sent_by_neighbours(const struct sweep_scene *s, const struct sweep_result *r)
{
	double sum = 0;

	for (uint32_t i = 0; i < s->guests; i++)
		if (s->neighbour[i])
			sum += r->sent[i];
	return sum;
}

/* Is a as good as b in both, and better in one? */
static bool is_better(const struct sweep_row *a, const struct sweep_row *b)
{
	return a->over <= b->over && a->given_up <= b->given_up &&
	       (a->over < b->over || a->given_up < b->given_up);
}

static void find_frontier(const struct sweep_scene *s, struct sweep_row *row)
{
	for (uint32_t i = 1; i < s->runs; i++) {
		row[i - 1].frontier = is_fixed(&s->run[i]);
		for (uint32_t k = 1; k < s->runs; k++)
			if (is_fixed(&s->run[k]) && is_better(&row[k - 1], &row[i - 1]))
				row[i - 1].frontier = false;
	}
}

double sweep_frontier_at(const struct sweep_scene *s, const struct sweep_row *row, double over)
{
	const struct sweep_row *below = NULL, *above = NULL;

	for (uint32_t i = 0; i + 1 < s->runs; i++) {
		const struct sweep_row *r = &row[i];

		if (!r->frontier)
			continue;
		if (r->over <= over && (!below || r->over > below->over))
			below = r;
		if (r->over > over && (!above || r->over < above->over))
			above = r;
	}
	if (!below)
		return above ? above->given_up : NAN;
	if (!above)
		return below->given_up;
	return below->given_up + (above->given_up - below->given_up) * (over - below->over) /
					 (above->over - below->over);
}

void sweep_rows(const struct sweep_scene *s, const struct sweep_result *result,
		struct sweep_row *row)
{
	double all = sent_by_neighbours(s, &result[1]);

	for (uint32_t i = 1; i < s->runs; i++) {
		struct sweep_row *r = &row[i - 1];

		memset(r, 0, sizeof(*r));
		put_worst(s, &result[0], &result[i], r);
		r->sent = sent_by_neighbours(s, &result[i]);
		r->given_up = all > 0 ? 1 - r->sent / all : 0;
		r->recovered = row[0].over >= LEAST_HARM ? 1 - r->over / row[0].over : NAN;
		r->best = NAN;
	}
	find_frontier(s, row);
	for (uint32_t i = 1; i < s->runs; i++)
		if (s->run[i].kind == SWEEP_POLICY)
			row[i - 1].best = sweep_frontier_at(s, row, row[i - 1].over);
}
