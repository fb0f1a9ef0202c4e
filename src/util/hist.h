/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hist: a log-linear histogram of nanoseconds, for measured figures.
 *
 * benchex and src/lab report from it what was measured or simulated.
 * Fixed memory, values of all 64 bits, no loss when two are merged. Finer than
 * the window by which policies decide (src/core/window.h, 1/16).
 */
#ifndef RESEX_UTIL_HIST_H
#define RESEX_UTIL_HIST_H

#include <stdint.h>

enum { HIST_BITS = 8, HIST_BUCKETS = (64 - HIST_BITS + 1) << HIST_BITS };

/* An empty histogram is all zero. */
struct hist {
	uint64_t n, sum, min, max;
	long double sumsq;
	uint64_t bucket[HIST_BUCKETS];
};

void hist_add(struct hist *h, uint64_t ns);

/* Add all values of from, as if each had been added to to. */
void hist_merge(struct hist *to, const struct hist *from);

uint64_t hist_mean(const struct hist *h);      /* rounded down; 0 when empty */
uint64_t hist_deviation(const struct hist *h); /* population, rounded down; 0 when n < 2 */

/*
 * The value of rank ceil(n * permille / 1000), at least 1, or up to 1/256
 * more; exact for the largest. 0 when empty.
 */
uint64_t hist_quantile(const struct hist *h, uint32_t permille);

/* The highest value that falls into bucket b; hist_add() of it counts there. */
uint64_t hist_top(uint32_t b);

#endif
