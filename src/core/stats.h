/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stats: what windows (core/window.h) and histograms (util/hist.h) share.
 *
 * Both count values in log-linear buckets: values below 2^bits have a bucket
 * each; above, each power of two has 2^bits buckets of equal width. So a bucket
 * is at most 1/2^bits of its lowest value wide.
 */
#ifndef RESEX_CORE_STATS_H
#define RESEX_CORE_STATS_H

#include <stdint.h>

/* The bucket of v. */
uint32_t stats_bucket(uint64_t v, uint32_t bits);

/* The largest value that falls into bucket i. */
uint64_t stats_bucket_top(uint32_t i, uint32_t bits);

/*
 * Add the range low .. high to min .. max, the range of n values so far (n == 0: to none, and
 * *max is 0). For one value low and high are the same.
 */
void stats_widen(uint64_t *min, uint64_t *max, uint64_t n, uint64_t low, uint64_t high);

/* The rank of a quantile among n sorted values: ceil(n * permille / 1000), at least 1. */
uint64_t stats_rank(uint64_t n, uint32_t permille);

/*
 * The population deviation, rounded down, of n values (at least 1, below 2^32)
 * from their sum and the 128-bit sum of their squares. 0 where the sums
 * contradict each other.
 */
uint64_t stats_deviation(uint64_t n, uint64_t sum, uint64_t sumsq_hi, uint64_t sumsq_lo);

/* Largest r with r * r <= v. */
uint64_t isqrt64(uint64_t v);

#endif
