// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stat: quantiles of a figure over time, weighted by how long it had each value. See record.h.
 *
 * record.c adds caps and rates at each tick, summary.c reads quantiles at the end. Each change
 * is kept, since caps take few values; a histogram would round them.
 */
#include <errno.h>
#include <stdlib.h>

#include "src/lab/record.h"

int held_add(struct held_list *l, uint64_t v, int64_t ns)
{
	struct held *more;
	size_t size = l->size ? 2 * l->size : 64;

	if (ns <= 0)
		return 0;
	/* A cap that does not change for an hour is one entry, not 3.6 million. */
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
