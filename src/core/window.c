// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * window: what a tumbling window of reported latencies looks like.
 *
 * Latencies are below 2^32 ns and a window holds below 2^32 of them, so that
 * the sum, the sum of squares and n x sum of squares are exact in 64, 128 and
 * 128 bits.
 */
#include "src/core/window.h"

#include <string.h>

/*
 * Buckets: 0 .. 15 one value each, then 16 of equal width for each power of
 * two. A bucket is 1/16 of its lowest value wide, or narrower.
 */
enum { SUB_BITS = 4, SUB = 1 << SUB_BITS, OCTAVES = 32 - SUB_BITS };
_Static_assert(SUB + OCTAVES * SUB == WINDOW_BUCKETS, "buckets cover 0 .. 2^32-1");

#define LATENCY_MAX UINT32_MAX
#define SAMPLES_MAX UINT32_MAX

static uint32_t bucket_of(uint32_t v)
{
	uint32_t shift;

	if (v < SUB)
		return v;
	shift = 31u - (uint32_t)__builtin_clz(v) - SUB_BITS;
	return shift * SUB + (v >> shift);
}

/* The largest value that falls into bucket i. */
static uint64_t bucket_last(uint32_t i)
{
	uint32_t shift;

	if (i < 2 * SUB)
		return i;
	shift = i / SUB - 1;
	return (((uint64_t)(i % SUB) + SUB + 1) << shift) - 1;
}

void window_reset(struct window *w, struct mono now)
{
	memset(w, 0, sizeof(*w));
	w->start = now;
}

void window_add(struct window *w, uint64_t ns)
{
	uint32_t v = ns > LATENCY_MAX ? LATENCY_MAX : (uint32_t)ns;
	uint64_t square = (uint64_t)v * v;

	if (w->n == SAMPLES_MAX)
		return;
	if (!w->n || v < w->min)
		w->min = v;
	if (v > w->max)
		w->max = v;
	w->n++;
	w->sum += v;
	w->sumsq_lo += square;
	w->sumsq_hi += w->sumsq_lo < square;
	w->bucket[bucket_of(v)]++;
}

void window_merge(struct window *to, const struct window *from)
{
	if (!from->n || from->n > SAMPLES_MAX - to->n)
		return;
	if (!to->n || from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
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
	unsigned __int128 sumsq = (unsigned __int128)w->sumsq_hi << 64 | w->sumsq_lo;
	unsigned __int128 n = w->n, variance;

	if (w->n < 2)
		return 0;
	variance = (n * sumsq - (unsigned __int128)w->sum * w->sum) / (n * n);
	return isqrt64((uint64_t)variance);
}

uint64_t window_quantile(const struct window *w, uint32_t permille)
{
	uint64_t rank, below = 0, last;
	uint32_t i = 0;

	if (!w->n)
		return 0;
	if (permille > 1000)
		permille = 1000;
	rank = (w->n * permille + 999) / 1000;
	if (rank <= 1)
		return w->min;

	while (i < WINDOW_BUCKETS - 1 && below + w->bucket[i] < rank)
		below += w->bucket[i++];
	last = bucket_last(i);
	return last < w->max ? last : w->max;
}

uint64_t isqrt64(uint64_t v)
{
	uint64_t root = 0, bit = 1ull << 62;

	while (bit > v)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (v >= root + bit) {
			v -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return root;
}
