// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * window: figures of a tumbling window of reported latencies. ibmon/latency.c fills
 * one for each guest from what its applications report; src/tick keeps in another how late
 * ticks were. Latencies come from guests, so neither a figure nor their number is trusted.
 *
 * Latencies are below 2^32 ns and a window holds fewer than 2^32 of them, so the
 * sum, the sum of squares and n x sum of squares are exact in 64, 128 and 128
 * bits.
 */
#include "src/core/window.h"

#include <string.h>

#include "src/core/stats.h"

enum { SUB_BITS = 4, SUB = 1 << SUB_BITS, OCTAVES = 32 - SUB_BITS };
_Static_assert(SUB + OCTAVES * SUB == WINDOW_BUCKETS, "buckets cover 0 .. 2^32-1");

#define LATENCY_MAX UINT32_MAX
#define SAMPLES_MAX UINT32_MAX

void window_reset(struct window *w)
{
	memset(w, 0, sizeof(*w));
}

void window_add(struct window *w, uint64_t ns)
{
	uint32_t v = ns > LATENCY_MAX ? LATENCY_MAX : (uint32_t)ns;
	uint64_t square = (uint64_t)v * v;

	/* A further one would break the bounds at the top of this file. */
	if (w->n == SAMPLES_MAX)
		return;
	stats_widen(&w->min, &w->max, w->n, v, v);
	w->n++;
	w->sum += v;
	w->sumsq_lo += square;
	/* The carry: an unsigned sum that is less than a part of it has wrapped. */
	w->sumsq_hi += w->sumsq_lo < square;
	w->bucket[stats_bucket(v, SUB_BITS)]++;
}

void window_merge(struct window *to, const struct window *from)
{
	/* All or nothing: a part of the samples would shift mean and quantiles. */
	if (!from->n || from->n > SAMPLES_MAX - to->n)
		return;
	stats_widen(&to->min, &to->max, to->n, from->min, from->max);
	to->n += from->n;
	to->sum += from->sum;
	to->sumsq_lo += from->sumsq_lo;
	to->sumsq_hi += from->sumsq_hi + (to->sumsq_lo < from->sumsq_lo);
	for (uint32_t i = 0; i < WINDOW_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

uint64_t window_mean(const struct window *w)
{
	return w->n ? w->sum / w->n : 0;
}

uint64_t window_deviation(const struct window *w)
{
	return w->n < 2 ? 0 : stats_deviation(w->n, w->sum, w->sumsq_hi, w->sumsq_lo);
}

uint64_t window_quantile(const struct window *w, uint32_t permille)
{
	uint64_t rank = stats_rank(w->n, permille < 1000 ? permille : 1000), below = 0, top;
	uint32_t i = 0;

	if (!w->n)
		return 0;
	if (rank == 1)
		return w->min;
	while (i < WINDOW_BUCKETS - 1 && below + w->bucket[i] < rank)
		below += w->bucket[i++];
	top = stats_bucket_top(i, SUB_BITS);
	return top < w->max ? top : w->max;
}
