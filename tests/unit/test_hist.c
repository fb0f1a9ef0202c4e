// SPDX-License-Identifier: GPL-2.0-or-later
/* hist: percentiles, deviation, and that adding up histograms loses nothing. */
#include <string.h>

#include "src/util/hist.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum { VALUES = 100 };

struct fixture {
	struct hist a, b, all;
	uint64_t v[VALUES];
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void clear(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Any magnitude, sums of 100 within 64 bits. */
static uint64_t some_ns(struct prop *p)
{
	return prop_hostile(p) >> prop_range(p, 7, 40);
}

RIG_TEST(any_latencies__quantiles_are_at_most_a_256th_more)
{
	struct fixture *f = *state;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 300; i++) {
		size_t n = prop_range(&p, 1, VALUES);

		clear(f);
		for (size_t k = 0; k < n; k++) {
			f->v[k] = prop_hostile(&p) >> prop_range(&p, 0, 40);
			hist_add(&f->a, f->v[k]);
		}
		qsort(f->v, n, sizeof(f->v[0]), by_value);
		for (uint32_t permille = 0; permille <= 1000; permille += 50) {
			size_t rank = (n * permille + 999) / 1000;
			uint64_t is = f->v[rank ? rank - 1 : 0];
			uint64_t q = hist_quantile(&f->a, permille);

			prop_assert(&p, i, q >= is && q - is <= is / 256);
		}
		prop_assert(&p, i, f->a.min == f->v[0] && f->a.max == f->v[n - 1] && f->a.n == n);
		prop_assert(&p, i, hist_quantile(&f->a, 1000) == f->a.max);
	}
}

RIG_TEST(known_latencies__have_their_mean_and_deviation)
{
	static const uint64_t v[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct fixture *f = *state;

	for (size_t i = 0; i < 8; i++)
		hist_add(&f->a, v[i]);
	assert_int_equal(hist_mean(&f->a), 5);
	assert_int_equal(hist_deviation(&f->a), 2);
	assert_int_equal(hist_quantile(&f->a, 500), 4);
}

RIG_TEST(latencies__an_hour_apart__have_their_deviation)
{
	struct fixture *f = *state;

	hist_add(&f->a, 0);
	hist_add(&f->a, 3600000000000);
	assert_true(hist_deviation(&f->a) == 1800000000000);
	hist_add(&f->b, 0);
	hist_add(&f->b, UINT64_MAX - 1);
	assert_true(hist_deviation(&f->b) == UINT64_MAX / 2);
}

RIG_TEST(nothing_added__all_figures_are_zero)
{
	struct fixture *f = *state;

	assert_int_equal(hist_mean(&f->a), 0);
	assert_int_equal(hist_deviation(&f->a), 0);
	assert_int_equal(hist_quantile(&f->a, 500), 0);
	hist_merge(&f->a, &f->b);
	assert_memory_equal(&f->a, &f->all, sizeof(f->a));
}

RIG_TEST(one_latency__is_all_its_quantiles_and_does_not_deviate)
{
	struct fixture *f = *state;

	hist_add(&f->a, 231457);
	assert_int_equal(hist_mean(&f->a), 231457);
	assert_int_equal(hist_deviation(&f->a), 0);
	for (uint32_t permille = 0; permille <= 1000; permille += 100)
		assert_int_equal(hist_quantile(&f->a, permille), 231457);
}

static bool same_sumsq(const struct hist *a, const struct hist *b)
{
	return a->sumsq - b->sumsq <= b->sumsq * 1e-15L && b->sumsq - a->sumsq <= b->sumsq * 1e-15L;
}

/* Sums of squares are rounded: in another order the last digits may differ. */
RIG_TEST(merge__is_as_if_all_had_been_added_to_one)
{
	struct fixture *f = *state;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 300; i++) {
		size_t n = prop_range(&p, 0, VALUES);

		clear(f);
		for (size_t k = 0; k < n; k++) {
			uint64_t v = some_ns(&p);

			hist_add(prop_one_in(&p, 3) ? &f->a : &f->b, v);
			hist_add(&f->all, v);
		}
		hist_merge(&f->a, &f->b);
		prop_assert(&p, i, f->a.n == f->all.n && f->a.sum == f->all.sum);
		prop_assert(&p, i, f->a.min == f->all.min && f->a.max == f->all.max);
		prop_assert(&p, i, same_sumsq(&f->a, &f->all));
		prop_assert(&p, i, !memcmp(f->a.bucket, f->all.bucket, sizeof(f->a.bucket)));
	}
}

/* Squares below 2^32 in number: exact, whatever the order. */
RIG_TEST(merge__of_small_values__keeps_the_deviation_to_the_digit)
{
	struct fixture *f = *state;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 5000; i++) {
		uint64_t v = prop_range(&p, 0, 1000000);

		hist_add(i % 7 ? &f->a : &f->b, v);
		hist_add(&f->all, v);
	}
	hist_merge(&f->a, &f->b);
	assert_true(f->a.sumsq == f->all.sumsq);
	assert_int_equal(hist_deviation(&f->a), hist_deviation(&f->all));
	assert_int_equal(hist_mean(&f->a), hist_mean(&f->all));
}

RIG_TEST(top__of_each_bucket__counts_there_and_one_more_does_not)
{
	struct fixture *f = *state;

	for (uint32_t b = 0; b < HIST_BUCKETS; b++) {
		hist_add(&f->a, hist_top(b));
		assert_int_equal(f->a.bucket[b], 1);
		if (b + 1 == HIST_BUCKETS)
			break;
		assert_true(hist_top(b + 1) > hist_top(b));
		hist_add(&f->b, hist_top(b) + 1);
		assert_int_equal(f->b.bucket[b + 1], 1);
	}
	assert_true(hist_top(0) == 0);
	assert_true(hist_top(HIST_BUCKETS - 1) == UINT64_MAX);
}

RIG_TEST(quantile__of_so_many_that_a_thousandfold_wraps__is_right)
{
	struct fixture *f = *state;

	f->a = (struct hist){ .n = INT64_MAX, .min = 1, .max = 5 };
	f->a.bucket[1] = 1;
	f->a.bucket[5] = INT64_MAX - 1;
	assert_int_equal(hist_quantile(&f->a, 0), 1);
	assert_int_equal(hist_quantile(&f->a, 500), 5);
	assert_int_equal(hist_quantile(&f->a, 1000), 5);
}
