// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hist: adds measured nanoseconds to a histogram, and reads mean, deviation and quantiles.
 *
 * benchex fills one for each kind of latency, src/lab/record.c one for each simulated server.
 * Policies never see it, so floating point is allowed here: values have all 64 bits, and no
 * integer of the machine holds a sum of their squares.
 */
#include "src/util/hist.h"

#include <math.h>

#include "src/core/stats.h"

uint64_t hist_top(uint32_t b)
{
	return stats_bucket_top(b, HIST_BITS);
}

void hist_add(struct hist *h, uint64_t ns)
{
	stats_widen(&h->min, &h->max, h->n, ns, ns);
	h->n++;
	h->sum += ns;
	h->sumsq += (long double)ns * (long double)ns;
	h->bucket[stats_bucket(ns, HIST_BITS)]++;
}

void hist_merge(struct hist *to, const struct hist *from)
{
	/* Without values from->min is 0, which would become the least of all. */
	if (!from->n)
		return;
	stats_widen(&to->min, &to->max, to->n, from->min, from->max);
	to->n += from->n;
	to->sum += from->sum;
	to->sumsq += from->sumsq;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

uint64_t hist_mean(const struct hist *h)
{
	return h->n ? h->sum / h->n : 0;
}

uint64_t hist_deviation(const struct hist *h)
{
	long double mean, variance;

	if (h->n < 2)
		return 0;
	mean = (long double)h->sum / (long double)h->n;
	/* Rounding can make it a little less than 0 when all values are alike. */
	variance = h->sumsq / (long double)h->n - mean * mean;
	if (variance >= 0x1p64L) /* a deviation of over 4.2 s */
		return (uint64_t)sqrtl(variance);
	return variance > 0 ? isqrt64((uint64_t)variance) : 0;
}

uint64_t hist_quantile(const struct hist *h, uint32_t permille)
{
	uint64_t rank = stats_rank(h->n, permille), seen = 0;

	if (!h->n)
		return 0;
	/* The bucket of the largest value reaches beyond it: hence the comparison with max. */
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			return hist_top(i) < h->max ? hist_top(i) : h->max;
	}
	return h->max;
}
