// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stats: buckets, ranks and deviations for windows (src/core/window.h) and histograms
 * (src/util/hist.h).
 *
 * Integers only, so that every run agrees to the byte: a policy decides by these figures, and
 * a second implementation of it, in Python, is compared with it.
 */
#include "src/core/stats.h"

typedef unsigned __int128 wide;

uint32_t stats_bucket(uint64_t v, uint32_t bits)
{
	uint32_t shift;

	if (!(v >> bits))
		return (uint32_t)v;
	/*
	 * Keep the leading one and the next bits of v. The leading one adds 1 << bits, so that
	 * the buckets of shift 0 follow those of the small values without a gap.
	 */
	shift = 63 - (uint32_t)__builtin_clzll(v) - bits;
	return (shift << bits) + (uint32_t)(v >> shift);
}

uint64_t stats_bucket_top(uint32_t i, uint32_t bits)
{
	uint32_t shift = i >> bits;

	if (shift)
		shift--;
	return ((uint64_t)(i - (shift << bits) + 1) << shift) - 1;
}

void stats_widen(uint64_t *min, uint64_t *max, uint64_t n, uint64_t low, uint64_t high)
{
	if (!n || low < *min)
		*min = low;
	if (high > *max)
		*max = high;
}

uint64_t stats_rank(uint64_t n, uint32_t permille)
{
	uint64_t rank = (uint64_t)(((wide)n * permille + 999) / 1000);

	return rank ? rank : 1;
}

uint64_t stats_deviation(uint64_t n, uint64_t sum, uint64_t sumsq_hi, uint64_t sumsq_lo)
{
	/* n^2 x variance = n x sum of squares - sum^2: no rounding before the one division. */
	wide squares = n * ((wide)sumsq_hi << 64 | sumsq_lo), square = (wide)sum * sum;
	wide variance = squares > square ? (squares - square) / ((wide)n * n) : 0;

	return isqrt64(variance > UINT64_MAX ? UINT64_MAX : (uint64_t)variance);
}

uint64_t isqrt64(uint64_t v)
{
	uint64_t root = 0, bit = 1ull << 62;

	/* Digit by digit in base 4, as on paper: no floating point, which may differ by machine. */
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
