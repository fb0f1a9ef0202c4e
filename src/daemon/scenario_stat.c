// SPDX-License-Identifier: GPL-2.0-or-later
/* scenario_stat: quantiles of latencies, and of figures over time. See scenario_record.h. */
#include <errno.h>
#include <stdlib.h>

#include "src/core/window.h"
#include "src/daemon/scenario_record.h"

/* Up to 511 each value has a bucket; above, a power of two has HIST_SUB of them. */
static uint32_t bucket_of(uint64_t v)
{
	uint32_t e;

	if (v < 2 * HIST_SUB)
		return (uint32_t)v;
	e = 63 - (uint32_t)__builtin_clzll(v) - 8;
	return e * HIST_SUB + (uint32_t)(v >> e);
}

/* The highest value of a bucket. */
static uint64_t bucket_top(uint32_t b)
{
	uint32_t e;

	if (b < 2 * HIST_SUB)
		return b;
	e = b / HIST_SUB - 1;
	return ((uint64_t)(b - e * HIST_SUB + 1) << e) - 1;
}

void hist_add(struct hist *h, uint64_t ns)
{
	if (!h->n || ns < h->min)
		h->min = ns;
	if (ns > h->max)
		h->max = ns;
	h->n++;
	h->sum += ns;
	h->sumsq += (long double)ns * (long double)ns;
	h->bucket[bucket_of(ns)]++;
}

uint64_t hist_deviation(const struct hist *h)
{
	long double mean, variance;

	if (h->n < 2)
		return 0;
	mean = (long double)h->sum / (long double)h->n;
	variance = h->sumsq / (long double)h->n - mean * mean;
	return variance > 0 ? isqrt64((uint64_t)variance) : 0;
}

uint64_t hist_quantile(const struct hist *h, uint32_t permille)
{
	uint64_t rank = (h->n * permille + 999) / 1000, seen = 0;

	if (!h->n)
		return 0;
	if (rank < 1)
		rank = 1;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			return bucket_top(i) < h->max ? bucket_top(i) : h->max;
	}
	return h->max;
}

int held_add(struct held_list *l, uint64_t v, int64_t ns)
{
	struct held *more;
	size_t size = l->size ? 2 * l->size : 64;

	if (ns <= 0)
		return 0;
	if (l->n && l->at[l->n - 1].v == v) {
		l->at[l->n - 1].ns += ns;
		return 0;
	}
	if (l->n == l->size) {
		more = reallocarray(l->at, size, sizeof(*more));
		if (!more)
			return -ENOMEM;
		l->at = more;
		l->size = size;
	}
	l->at[l->n++] = (struct held){ v, ns };
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return x->v < y->v ? -1 : x->v > y->v;
}

void held_sort(struct held_list *l)
{
	if (l->n)
		qsort(l->at, l->n, sizeof(l->at[0]), by_value);
}

int64_t held_time(const struct held_list *l)
{
	int64_t ns = 0;

	for (size_t i = 0; i < l->n; i++)
		ns += l->at[i].ns;
	return ns;
}

uint64_t held_quantile(const struct held_list *l, uint32_t permille)
{
	__int128 want = (__int128)held_time(l) * permille;
	__int128 have = 0;

	for (size_t i = 0; i < l->n; i++) {
		have += (__int128)l->at[i].ns * 1000;
		if (have >= want)
			return l->at[i].v;
	}
	return l->n ? l->at[l->n - 1].v : 0;
}
