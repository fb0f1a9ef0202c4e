// SPDX-License-Identifier: GPL-2.0-or-later
/* window: mean, deviation and quantiles against a plain recomputation. */
#include <string.h>

#include "src/core/stats.h"
#include "src/core/window.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

typedef unsigned __int128 wide;

#define TOP 0xffffffffULL /* larger latencies count as this */

static struct window filled(const uint64_t *v, size_t n)
{
	struct window w;

	window_reset(&w);
	for (size_t i = 0; i < n; i++)
		window_add(&w, v[i]);
	return w;
}

TEST(empty__all_figures_are_0)
{
	struct window w = filled(NULL, 0);

	assert_int_equal(w.n, 0);
	assert_int_equal(window_mean(&w), 0);
	assert_int_equal(window_deviation(&w), 0);
	assert_int_equal(window_quantile(&w, 0), 0);
	assert_int_equal(window_quantile(&w, 500), 0);
	assert_int_equal(window_quantile(&w, 1000), 0);
}

TEST(one_sample__has_a_mean_and_no_deviation)
{
	static const uint64_t v[] = { 209000 };
	struct window w = filled(v, 1);

	assert_int_equal(window_mean(&w), 209000);
	assert_int_equal(window_deviation(&w), 0);
	assert_int_equal(w.min, 209000);
	assert_int_equal(w.max, 209000);
	assert_int_equal(window_quantile(&w, 500), 209000);
}

TEST(known_samples__mean_and_population_deviation)
{
	static const uint64_t v[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct window w = filled(v, 8);

	assert_int_equal(window_mean(&w), 5);
	assert_int_equal(window_deviation(&w), 2);
	assert_int_equal(w.min, 2);
	assert_int_equal(w.max, 9);
}

TEST(reset__forgets_everything)
{
	static const uint64_t v[] = { 1, 1000, 1000000 };
	struct window w = filled(v, 3), fresh;

	window_reset(&w);
	memset(&fresh, 0, sizeof(fresh));
	window_reset(&fresh);
	window_add(&w, 5);
	window_add(&fresh, 5);
	assert_int_equal(w.n, 1);
	assert_int_equal(window_mean(&w), 5);
	assert_int_equal(w.min, 5);
	assert_int_equal(w.max, 5);
	assert_int_equal(window_quantile(&w, 1000), window_quantile(&fresh, 1000));
	assert_memory_equal(w.bucket, fresh.bucket, sizeof(w.bucket));
}

TEST(add__above_32_bits__counts_as_the_largest)
{
	static const uint64_t v[] = { UINT64_MAX, TOP + 1, TOP };
	struct window w = filled(v, 3);

	assert_int_equal(window_mean(&w), TOP);
	assert_int_equal(window_deviation(&w), 0);
	assert_int_equal(w.max, TOP);
	assert_int_equal(w.min, TOP);
	assert_int_equal(window_quantile(&w, 500), TOP);
}

TEST(isqrt__edges)
{
	assert_int_equal(isqrt64(0), 0);
	assert_int_equal(isqrt64(1), 1);
	assert_int_equal(isqrt64(3), 1);
	assert_int_equal(isqrt64(4), 2);
	assert_int_equal(isqrt64(UINT64_MAX), 4294967295u);
	assert_int_equal(isqrt64(4294967295ULL * 4294967295ULL), 4294967295u);
	assert_int_equal(isqrt64(4294967295ULL * 4294967295ULL - 1), 4294967294u);
}

TEST(isqrt__any_number__is_the_largest_root)
{
	struct prop r;

	prop_start(&r);
	for (uint64_t i = 0; i < 1000000; i++) {
		uint64_t v = prop_hostile(&r), root = isqrt64(v);

		if (prop_one_in(&r, 3)) { /* about a square */
			v = (v >> 33) * (v >> 33) + prop_range(&r, 0, 2) - 1;
			root = isqrt64(v);
		}
		prop_assert(&r, i, (wide)root * root <= v);
		prop_assert(&r, i, (wide)(root + 1) * (root + 1) > v);
	}
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The sample of rank ceil(n * permille / 1000), or up to a sixteenth more. */
static void check_quantile(struct prop *r, uint64_t step, const struct window *w, const uint64_t *v,
			   size_t n)
{
	uint64_t last = 0;

	for (uint32_t p = 0; p <= 1000; p += 25) {
		uint64_t q = window_quantile(w, p);
		size_t rank = (n * p + 999) / 1000;

		rank += rank == 0;
		prop_assert(r, step, q >= v[rank - 1]);
		prop_assert(r, step, q - v[rank - 1] <= v[rank - 1] / 16);
		prop_assert(r, step, q >= last);
		prop_assert(r, step, (rank > 1 && rank < n) || q == v[rank - 1]);
		last = q;
	}
	prop_assert(r, step, window_quantile(w, UINT32_MAX) == v[n - 1]);
}

TEST(any_samples__agree_with_a_plain_recomputation)
{
	enum { MOST = 200 };
	uint64_t v[MOST];
	struct prop r;

	prop_start(&r);
	for (uint64_t i = 0; i < 8000; i++) {
		size_t n = (size_t)prop_range(&r, 1, MOST);
		uint64_t base = prop_hostile(&r) & TOP, spread = prop_hostile(&r) & TOP;
		wide sum = 0, squares = 0;
		struct window w;

		for (size_t k = 0; k < n; k++)
			v[k] = prop_one_in(&r, 20) ? prop_hostile(&r)
						   : base + prop_range(&r, 0, spread);
		w = filled(v, n);
		for (size_t k = 0; k < n; k++) {
			v[k] = v[k] > TOP ? TOP : v[k];
			sum += v[k];
			squares += (wide)v[k] * v[k];
		}
		qsort(v, n, sizeof(v[0]), by_size);
		prop_assert(&r, i, w.n == n && w.sum == sum);
		prop_assert(&r, i, w.min == v[0] && w.max == v[n - 1]);
		prop_assert(&r, i, window_mean(&w) == sum / n);
		{
			wide d = window_deviation(&w), nn = (wide)n * n;
			wide var = squares * n - sum * sum; /* times n^2 */

			prop_assert(&r, i, d * d * nn <= var);
			prop_assert(&r, i, (d + 1) * (d + 1) * nn > var);
		}
		check_quantile(&r, i, &w, v, n);
	}
}

/* Every bucket's width is below 1/16 of its values, over the whole range. */
TEST(quantile__between_two_others__is_at_most_a_sixteenth_more)
{
	struct prop r;

	prop_start(&r);
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t x = i < 4096 ? i : prop_u64(&r) >> prop_range(&r, 32, 63);
		uint64_t v[3] = { 0, x, TOP }, q;
		struct window w = filled(v, 3);

		q = window_quantile(&w, 500);
		prop_assert(&r, i, q >= x && q - x <= x / 16);
	}
}

TEST(merge__of_any_two__is_as_if_all_were_added_to_one)
{
	struct prop r;

	prop_start(&r);
	for (int i = 0; i < 200; i++) {
		struct window a, b, all;

		window_reset(&a);
		window_reset(&b);
		window_reset(&all);
		for (uint64_t n = prop_range(&r, 0, 50); n; n--) {
			uint64_t v = prop_hostile(&r);

			window_add(prop_one_in(&r, 2) ? &a : &b, v);
			window_add(&all, v);
		}
		window_merge(&a, &b);
		prop_assert(&r, i, !memcmp(&a, &all, sizeof(a)));
	}
}

TEST(merge__beyond_2_to_the_32__changes_nothing)
{
	struct window a, b, before;

	window_reset(&a);
	window_add(&a, 5);
	b = a;
	b.n = TOP;
	before = a;
	window_merge(&a, &b);
	assert_memory_equal(&a, &before, sizeof(a));
}
