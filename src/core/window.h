/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window: mean, deviation and percentiles over reported latencies.
 *
 * A tumbling window: reset it, add samples, read the figures. Integers only;
 * the deviation uses an integer square root. Fixed memory (a log-linear
 * histogram for percentiles, relative error below 1/16).
 */
#ifndef RESEX_CORE_WINDOW_H
#define RESEX_CORE_WINDOW_H

#include "src/core/units.h"

enum { WINDOW_BUCKETS = 464 };

struct window {
	uint64_t n;
	uint64_t sum; /* ns; exact: below 2^64 for 2^32-1 samples */
	uint64_t min, max;
	uint64_t sumsq_hi, sumsq_lo; /* 128-bit sum of squares */
	uint32_t bucket[WINDOW_BUCKETS];
};

void window_reset(struct window *w);

/* Add one latency of ns nanoseconds (above 2^32-1 counts as 2^32-1; at most 2^32-1 samples). */
void window_add(struct window *w, uint64_t ns);

/* Add all samples of from, or none if there were more than 2^32-1 then. */
void window_merge(struct window *to, const struct window *from);

uint64_t window_mean(const struct window *w);	   /* rounded down; 0 when empty */
uint64_t window_deviation(const struct window *w); /* population, rounded down; 0 when n < 2 */

/*
 * The sample of rank ceil(n * permille / 1000), at least 1, or up to 1/16 more;
 * exact for the smallest and the largest. 0 when empty; permille above 1000
 * counts as 1000.
 */
uint64_t window_quantile(const struct window *w, uint32_t permille);

#endif
