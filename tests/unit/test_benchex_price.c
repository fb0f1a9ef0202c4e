// SPDX-License-Identifier: GPL-2.0-or-later
/* benchex/price: published prices, and properties that hold for any terms. */
#include <math.h>

#include "src/benchex/benchex.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

/* Values that bx_price_many() and people would ask for, and far beyond. */
static double somewhere(struct prop *p, double lo, double hi)
{
	return lo + (hi - lo) * (double)(prop_u64(p) >> 11) * 0x1p-53;
}

static struct bx_terms usual(struct prop *p)
{
	struct bx_terms t = {
		.spot = somewhere(p, 1, 500),
		.rate = somewhere(p, -0.02, 0.2),
		.volatility = somewhere(p, 0.01, 1.5),
		.years = somewhere(p, 0.01, 10),
	};

	t.strike = t.spot * somewhere(p, 0.3, 3);
	return t;
}

static double strike_now(const struct bx_terms *t)
{
	return t->strike * exp(-t->rate * t->years);
}

static void near(double got, double published, double tolerance)
{
	if (!(fabs(got - published) <= tolerance))
		fail_msg("%.6f, published is %.6f", got, published);
}

/* Hull, Options, Futures, and Other Derivatives: his example of the formulas. */
TEST(hull__stock_at_42__call_is_4_76_and_put_0_81)
{
	const struct bx_terms t = { 42, 40, 0.10, 0.20, 0.5 };

	near(bx_price_call(&t), 4.76, 0.005);
	near(bx_price_put(&t), 0.81, 0.005);
}

/* Haug, The Complete Guide to Option Pricing Formulas, 1.1.1. */
TEST(haug__stock_at_60__call_is_2_1334)
{
	const struct bx_terms t = { 60, 65, 0.08, 0.30, 0.25 };

	near(bx_price_call(&t), 2.1334, 0.00005);
}

/* Odegaard, Financial Numerical Recipes in C++, the library that the paper's BenchEx used. */
TEST(odegaard__at_the_money__call_is_5_45325)
{
	const struct bx_terms t = { 50, 50, 0.10, 0.30, 0.5 };

	near(bx_price_call(&t), 5.45325, 0.000005);
}

/* MathWorks, blsprice: its example. */
TEST(mathworks__stock_at_100__call_is_13_6953_and_put_6_3497)
{
	const struct bx_terms t = { 100, 95, 0.10, 0.50, 0.25 };

	near(bx_price_call(&t), 13.6953, 0.00005);
	near(bx_price_put(&t), 6.3497, 0.00005);
}

TEST(any_terms__call_and_put_are_at_parity)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 20000; i++) {
		struct bx_terms t = usual(&p);
		double left = bx_price_call(&t) - bx_price_put(&t);
		double right = t.spot - strike_now(&t);

		prop_assert(&p, i, fabs(left - right) <= 1e-12 * (t.spot + strike_now(&t)));
	}
}

TEST(any_terms__prices_are_within_their_bounds)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 20000; i++) {
		struct bx_terms t = usual(&p);
		double call = bx_price_call(&t), put = bx_price_put(&t);
		double slack = 1e-12 * (t.spot + strike_now(&t));

		prop_assert(&p, i, call >= 0 && put >= 0);
		prop_assert(&p, i, call <= t.spot && put <= strike_now(&t) + slack);
		prop_assert(&p, i, call >= t.spot - strike_now(&t) - slack);
		prop_assert(&p, i, put >= strike_now(&t) - t.spot - slack);
	}
}

/* A higher spot, a lower strike, more chance: a call gains by each, a put by the last. */
TEST(any_terms__prices_move_the_way_they_must)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 20000; i++) {
		struct bx_terms t = usual(&p), spot = t, strike = t, chance = t;
		double slack = 1e-12 * (t.spot + strike_now(&t));

		spot.spot *= 1 + somewhere(&p, 0, 0.5);
		strike.strike *= 1 - somewhere(&p, 0, 0.5);
		chance.volatility *= 1 + somewhere(&p, 0, 0.5);
		prop_assert(&p, i, bx_price_call(&spot) >= bx_price_call(&t) - slack);
		prop_assert(&p, i, bx_price_put(&spot) <= bx_price_put(&t) + slack);
		prop_assert(&p, i, bx_price_call(&strike) >= bx_price_call(&t) - slack);
		prop_assert(&p, i, bx_price_put(&strike) <= bx_price_put(&t) + slack);
		prop_assert(&p, i, bx_price_call(&chance) >= bx_price_call(&t) - slack);
		prop_assert(&p, i, bx_price_put(&chance) >= bx_price_put(&t) - slack);
	}
}

static double any_size(struct prop *p, int lowest, int highest)
{
	return pow(10, somewhere(p, lowest, highest));
}

TEST(extreme_terms__prices_are_finite_and_not_negative)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 20000; i++) {
		struct bx_terms t = {
			.spot = any_size(&p, -300, 300),
			.strike = any_size(&p, -300, 250),
			.rate = somewhere(&p, -0.1, 10),
			.volatility = any_size(&p, -300, 100),
			.years = any_size(&p, -300, 3),
		};
		double call, put;

		if (prop_one_in(&p, 4))
			t.strike = t.spot;
		if (prop_one_in(&p, 4))
			t.rate = 0;
		if (t.strike > 1e250)
			continue;
		call = bx_price_call(&t);
		put = bx_price_put(&t);
		prop_assert(&p, i, isfinite(call) && call >= 0 && call <= t.spot);
		prop_assert(&p, i, isfinite(put) && put >= 0);
	}
}

TEST(no_chance_at_all__the_price_is_what_is_certain)
{
	struct bx_terms t = { 100, 90, 0.05, 1e-300, 1e-300 };

	near(bx_price_call(&t), 10, 0);
	near(bx_price_put(&t), 0, 0);
	t.strike = 110;
	near(bx_price_call(&t), 0, 0);
	near(bx_price_put(&t), 10, 0);
	t.strike = 100;
	t.rate = 0;
	near(bx_price_call(&t), 0, 0);
	near(bx_price_put(&t), 0, 0);
}

TEST(many__same_seed__is_the_same_sum_and_another_is_not)
{
	assert_true(bx_price_many(7, 0) == 0);
	assert_true(bx_price_many(7, 100) == bx_price_many(7, 100));
	assert_true(bx_price_many(7, 100) != bx_price_many(8, 100));
}

/* Each of n is priced: the sum grows with each, and by what an option is worth. */
TEST(many__of_n__is_the_work_of_n)
{
	double before = 0;

	for (uint32_t n = 1; n <= 1000; n++) {
		double sum = bx_price_many(42, n);

		assert_true(sum > before && sum < before + 700);
		before = sum;
	}
	assert_true(before > 1000 * 5.0);
}
