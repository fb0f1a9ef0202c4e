// SPDX-License-Identifier: GPL-2.0-or-later
/* hist: see hist.h. */
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
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			return hist_top(i) < h->max ? hist_top(i) : h->max;
	}
	return h->max;
}
