// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reconf_forecast: what mode observe predicts of a move is near to what mode act brings, on
 * SIMULATED clusters that are drawn: 30 of them, 1000 with RESEX_DEEP=1.
 */
#include "src/lab/reconf_forecast.h"
#include "tests/unit/deep.h"
#include "tests/unit/unit.h"

static void plan_of(struct reconf_plan *p, uint64_t seed)
{
	reconf_plan_default(p);
	p->web.seed = seed;
}

TEST(forecast__many_clusters__nine_of_ten_are_within_a_fifth)
{
	struct reconf_forecasts all;
	struct reconf_plan p;

	plan_of(&p, 1);
	assert_int_equal(reconf_forecast_all(&p, deep(30, 1000), &all), 0);
	assert_int_equal(all.n, deep(30, 1000));
	/* Most clusters decide, and both modes the same. */
	assert_in_range(all.drawn, all.n, all.n * 5 / 4);
	assert_true(all.taker.near >= 900 && all.donor.near >= 900);
	assert_true(all.taker.half <= 100 && all.donor.half <= 30);
	/* The taker's others are no promises: less load comes than was predicted. */
	assert_true(all.taker.near == 1000 || all.taker.above >= 900);
}

/* Without the move the loads are not what was predicted of it: the comparison can fail. */
TEST(forecast__of_a_move_that_is_not_made__is_far_off)
{
	static struct reconf_forecast f[10];
	uint32_t n, drawn, far = 0;
	struct reconf_plan p;

	plan_of(&p, 100);
	assert_int_equal(reconf_forecasts(&p, 10, f, &n, &drawn), 0);
	assert_int_equal(n, 10);
	for (uint32_t i = 0; i < 10; i++) {
		const struct reconf_foreseen *o = &f[i].observe;

		assert_true(o->decided && !o->made && o->seen);
		assert_true(f[i].act.made && f[i].act.seen);
		assert_true(o->taker_after < o->taker_before && o->donor_after > o->donor_before);
		far += o->taker_seen * 100 > o->taker_after * 120;
	}
	assert_in_range(far, 6, 10);
}

TEST(forecast__no_high_load__ends_without_one)
{
	struct reconf_forecasts all;
	struct reconf_plan p;

	plan_of(&p, 1);
	p.rules.high = 1000000;
	p.rules.may[0] = p.rules.may[7] = 1 << 1; /* it is not of the clusters that are drawn */
	assert_int_equal(reconf_forecast_all(&p, 3, &all), 0);
	assert_int_equal(all.n, 0);
	assert_int_equal(all.drawn, 6);
}
