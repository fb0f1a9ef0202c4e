// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares: windows, verdicts and blame, each rule of resex-policies(7) with
 * figures computed by hand. What follows from verdicts is in
 * test_ioshares_rate.c, the closed loop and random input in
 * test_ioshares_loop.c.
 */
#include "tests/unit/ioshares_rig.h"
#include "tests/unit/unit.h"

/* --- 5: windows -------------------------------------------------------------------- */

/*
 * 50 intervals, of which the offender sends 40550 and all 52400 MTUs: a share
 * of 50715 / 65536; 60 us of 200 us are 19660 / 65536; the product is 15213.
 */
TEST(window__over__raises_the_rate_by_share_x_interference)
{
	static struct rig g;

	ios_open(&g);
	say_over(guest(&g, REP), 60 * US);
	run(&g, 50);
	assert_int_equal(rate(&g, OFF), ONE);
	assert_false(g.plan.guest[OFF].cap.limited);
	run(&g, 1);
	assert_int_equal(rate(&g, OFF), ONE + 15213);
	assert_true(g.plan.guest[OFF].cap.limited);
	assert_int_equal(g.plan.guest[OFF].cap.mpct, 81160);
	assert_why(&g, OFF, TAXED, 81160, 1232, REP, 299);
	assert_why(&g, REP, HURT, 0, 1000, OFF, 299);
	rig_close(&g);
}

/* The next window begins when the new cap bites, 10 ms after it was written. */
TEST(window__after_a_raise__begins_when_the_cap_bites)
{
	static struct rig g;

	ios_open(&g);
	say_over(guest(&g, REP), 60 * US);
	run(&g, 51 + 59);
	assert_int_equal(rate(&g, OFF), ONE + 15213);
	run(&g, 1);
	assert_int_equal(rate(&g, OFF), ONE + 2 * 15213);
	assert_int_equal(g.plan.guest[OFF].cap.mpct, 68293);
	rig_close(&g);
}

TEST(window__the_tick_that_opens_it__does_not_count)
{
	static struct rig g;

	ios_open(&g);
	say_over(guest(&g, REP), 900 * US);
	run(&g, 1);
	say_over(guest(&g, REP), 0);
	run(&g, 50);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_FINE);
	assert_int_equal(state_of(&g, REP)->intf, 0);
	rig_close(&g);
}

TEST(window__few_samples__lasts_until_there_are_enough)
{
	static struct rig g;

	ios_open(&g);
	say_over(guest(&g, REP), 60 * US);
	run(&g, 1);
	guest(&g, REP)->report.n = 0;
	run(&g, 60);
	say(guest(&g, REP), 5, BASE + 60 * US, BASE_IO + 60 * US);
	run(&g, 3);
	assert_int_equal(state_of(&g, REP)->w.n, 15);
	assert_int_equal(rate(&g, OFF), ONE);
	say(guest(&g, REP), 1, BASE + 60 * US, BASE_IO + 60 * US);
	run(&g, 1);
	assert_int_equal(rate(&g, OFF), ONE + 15213);
	rig_close(&g);
}

TEST(window__a_cap_on_the_link_changes__begins_anew)
{
	static struct rig g;

	ios_open(&g);
	rig_guest(&g, 20);
	say_over(guest(&g, REP), 60 * US);
	run(&g, 40);
	guest(&g, 20)->cap_time = g.in.now; /* somebody else's, in force now */
	run(&g, 9);
	assert_false(state_of(&g, REP)->w.open);
	run(&g, 1);
	assert_true(state_of(&g, REP)->w.open);
	run(&g, 49);
	assert_int_equal(rate(&g, OFF), ONE);
	run(&g, 1);
	assert_int_equal(rate(&g, OFF), ONE + 15213);
	rig_close(&g);
}

TEST(window__a_cap_on_another_link_changes__goes_on)
{
	static struct rig g;

	ios_open(&g);
	rig_guest(&g, 20)->link = 1;
	say_over(guest(&g, REP), 60 * US);
	run(&g, 40);
	guest(&g, 20)->cap_time = g.in.now;
	run(&g, 11);
	assert_int_equal(rate(&g, OFF), ONE + 15213);
	rig_close(&g);
}

/* The actor does not answer: nothing is judged for `stale`, then all goes on. */
TEST(window__a_cap_is_on_its_way__none_until_it_is_in_force)
{
	static struct rig g;

	ios_open(&g);
	say_over(guest(&g, REP), 60 * US);
	run(&g, 51);
	guest(&g, OFF)->cap = CAP_NONE; /* not yet */
	guest(&g, OFF)->cap_time.ns = 0;
	for (int i = 0; i < 1001; i++) {
		g.in.now.ns += MS;
		rig_decide(&g);
		assert_false(state_of(&g, REP)->w.open);
	}
	g.in.now.ns += MS;
	rig_decide(&g);
	assert_true(state_of(&g, REP)->w.open);
	rig_close(&g);
}

TEST(window__the_cap_in_force_is_the_operators__nobody_waits)
{
	static struct rig g;

	ios_open(&g);
	guest(&g, OFF)->bounds.ceiling = CAP_PERCENT(40);
	guest(&g, OFF)->cap = CAP_PERCENT(40);
	run(&g, 1);
	assert_true(state_of(&g, REP)->w.open);
	guest(&g, OFF)->cap = CAP_NONE; /* what is wanted is 40 */
	g.in.now.ns += MS;
	rig_decide(&g);
	assert_false(state_of(&g, REP)->w.open);
	rig_close(&g);
}

TEST(window__an_exempt_guest_has_another_cap__nobody_waits)
{
	static const uint32_t flags[] = { 0, POLICY_EXEMPT | POLICY_CAPPABLE };
	static struct rig g;

	for (size_t i = 0; i < 2; i++) {
		ios_open(&g);
		guest(&g, OFF)->flags = flags[i];
		guest(&g, OFF)->cap = CAP_PERCENT(40);
		g.in.now.ns += MS;
		rig_decide(&g);
		assert_true(state_of(&g, REP)->w.open);
		rig_close(&g);
	}
}

/* --- 6c: interference ----------------------------------------------------------------- */

/* With a tolerance of all of the base, over is what is more than twice it. */
TEST(verdict__at_the_tolerance__is_fine_and_above_is_not)
{
	static struct rig g;

	for (uint64_t own = 0; own < 2; own++) {
		ios_open(&g);
		quick(&g);
		rig_param(&g, "tolerance", own ? 0 : 1000);
		guest(&g, REP)->sla.tolerance = own ? 1000 : 0;
		say_over(guest(&g, REP), BASE);
		run(&g, 2);
		assert_int_equal(state_of(&g, REP)->intf, ONE);
		assert_int_equal(state_of(&g, REP)->verdict, IOS_FINE);
		say_over(guest(&g, REP), BASE + 4);
		run(&g, 2);
		assert_int_equal(state_of(&g, REP)->intf, ONE + 1);
		assert_int_equal(state_of(&g, REP)->verdict, IOS_OVER);
		rig_close(&g);
	}
}

/* Half of the requests wait 40 us, half 80: a mean of 60 and a deviation of 20. */
static void say_uneven(struct policy_guest *p)
{
	const uint64_t low = 40000, high = 80000;

	say(p, 4, BASE, BASE_IO);
	p->report.io_sumsq_lo = 2 * low * low + 2 * high * high;
}

TEST(verdict__only_the_deviation_rose__counts_over_the_mean)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	guest(&g, REP)->sla.base_dev_ns = 4000;
	say_uneven(guest(&g, REP));
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->intf, 16000 * ONE / BASE); /* 5242, 8 % */
	assert_int_equal(state_of(&g, REP)->verdict, IOS_FINE);	       /* of twice 5 % */
	guest(&g, REP)->sla.tolerance = 39;
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_OVER);
	guest(&g, REP)->sla.tolerance = 40;
	run(&g, 4);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_FINE);
	rig_close(&g);
}

/* A deviation of 20 us over a mean of just as much, or 1 ns less. */
TEST(verdict__deviation_at_its_tolerance__is_fine_and_above_is_not)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	rig_param(&g, "tolerance", 500);
	guest(&g, REP)->sla.base_ns = 20000;
	say_uneven(guest(&g, REP));
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->intf, ONE);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_FINE);
	guest(&g, REP)->sla.base_ns = 19999;
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->intf, ONE + 3);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_OVER);
	rig_close(&g);
}

TEST(verdict__sigma_over__takes_the_deviation_over_its_own_base)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	rig_param(&g, "sigma_over", 1);
	guest(&g, REP)->sla.base_dev_ns = 4000;
	say_uneven(guest(&g, REP));
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->intf, 4 * ONE); /* (20 - 4) / 4 */
	guest(&g, REP)->sla.base_dev_ns = 0;
	run(&g, 4);					     /* the raise changed the cap */
	assert_int_equal(state_of(&g, REP)->intf, 20 * ONE); /* 20 / 1 */
	rig_param(&g, "sigma_floor", 40000);
	run(&g, 4);
	assert_int_equal(state_of(&g, REP)->intf, ONE / 2);
	rig_close(&g);
}

TEST(verdict__faster_than_the_base__is_no_interference)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	guest(&g, REP)->sla.base_dev_ns = 4000;
	say(guest(&g, REP), 4, BASE - 1000, BASE_IO - 1000);
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->intf, 0);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_FINE);
	rig_close(&g);
}

TEST(verdict__capped_itself_or_without_cpu__is_no_evidence)
{
	static struct rig g;

	for (int capped = 0; capped < 2; capped++) {
		ios_open(&g);
		say_over(guest(&g, REP), 60 * US);
		guest(&g, REP)->usage.cpu_ns = capped ? 1000000 : 0;
		run(&g, 30);
		if (capped) { /* for one tick; as it is not cappable then, nobody waits */
			guest(&g, REP)->flags = 0;
			guest(&g, REP)->cap = CAP_PERCENT(99);
		}
		run(&g, 1);
		guest(&g, REP)->flags = POLICY_CAPPABLE;
		guest(&g, REP)->cap_time.ns = 0;
		run(&g, 20);
		assert_int_equal(rate(&g, OFF), ONE);
		assert_why(&g, REP, SELF, 0, 1000, 0, 299);
		rig_close(&g);
	}
}

TEST(verdict__no_cpu_in_this_window__whatever_it_had_before)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	guest(&g, OFF)->usage.mtus_sent = 0;
	run(&g, 2);
	say_over(guest(&g, REP), 60 * US);
	guest(&g, REP)->usage.cpu_ns = 0;
	run(&g, 2);
	assert_int_equal(reason(&g, REP), SELF);
	rig_close(&g);
}

TEST(verdict__under_the_operators_own_cap__is_evidence)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	guest(&g, REP)->bounds.ceiling = CAP_PERCENT(40);
	guest(&g, REP)->cap = CAP_PERCENT(40);
	say_over(guest(&g, REP), 60 * US);
	run(&g, 2);
	assert_int_equal(reason(&g, REP), HURT);
	rig_close(&g);
}

/* --- 6a, 6b: bases ---------------------------------------------------------------------- */

static struct ios_latency base_after(struct rig *g, uint64_t whole, uint64_t io)
{
	say(guest(g, REP), 4, whole, io);
	run(g, 2);
	return state_of(g, REP)->base;
}

TEST(base__alone__is_learned_and_then_followed_by_an_eighth)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	memset(&guest(&g, REP)->sla, 0, sizeof(struct sla));
	guest(&g, OFF)->usage.mtus_sent = 0;
	assert_int_equal(base_after(&g, 200007, 60000).mean, 200007);
	assert_int_equal(state_of(&g, REP)->base.io, 60000);
	assert_int_equal(state_of(&g, REP)->base.dev, 0);
	assert_int_equal(base_after(&g, 200087, 60015).mean, 200017); /* + 80 / 8 */
	assert_int_equal(state_of(&g, REP)->base.io, 60001);	      /* + 15 / 8, rounded down */
	assert_int_equal(base_after(&g, 200002, 59986).mean, 200016); /* - 15 / 8, rounded down */
	assert_int_equal(state_of(&g, REP)->base.io, 60000);	      /* - 15 / 8 */
	say_uneven(guest(&g, REP));
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->base.dev, 2500);
	rig_close(&g);
}

/* An interval of the link is 1048 MTUs: a twentieth are 52.4. */
TEST(base__others_send_a_twentieth__is_not_learned)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	memset(&guest(&g, REP)->sla, 0, sizeof(struct sla));
	guest(&g, OFF)->usage.mtus_sent = 30;
	guest(&g, OFF)->usage.mtus_recv = 23;
	run(&g, 2);
	assert_why(&g, REP, NO_BASE, 0, 1000, 0, 0);
	assert_int_equal(state_of(&g, REP)->intf, 0);
	guest(&g, OFF)->usage.mtus_recv = 22;
	run(&g, 2);
	assert_int_equal(reason(&g, REP), FREE);
	assert_int_equal(state_of(&g, REP)->base.mean, BASE);
	guest(&g, OFF)->usage.mtus_recv = 23;
	assert_int_equal(base_after(&g, 2 * BASE, BASE_IO).mean, BASE); /* stays */
	rig_close(&g);
}

TEST(base__capped_or_without_cpu__is_not_learned)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	memset(&guest(&g, REP)->sla, 0, sizeof(struct sla));
	guest(&g, OFF)->usage.mtus_sent = 0;
	guest(&g, REP)->usage.cpu_ns = 0;
	run(&g, 2);
	assert_int_equal(reason(&g, REP), NO_BASE);
	guest(&g, REP)->usage.cpu_ns = 1;
	guest(&g, REP)->flags = 0;
	for (int i = 0; i < 2; i++) {
		guest(&g, REP)->cap = CAP_PERCENT(50);
		tick(&g, MS);
	}
	assert_int_equal(state_of(&g, REP)->verdict, IOS_NO_BASE);
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_FINE);
	rig_close(&g);
}

TEST(base__given__is_not_learned)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	guest(&g, OFF)->usage.mtus_sent = 0;
	say_over(guest(&g, REP), 60 * US);
	run(&g, 2);
	assert_false(state_of(&g, REP)->has_base);
	assert_why(&g, REP, NOBODY, 0, 1000, 0, 299);
	rig_close(&g);
}

/* --- 6d: blame ----------------------------------------------------------------------------- */

/* The reporter's reason after one window in which it is over. */
static uint32_t blame(struct rig *g)
{
	say_over(guest(g, REP), 60 * US);
	run(g, 2);
	return reason(g, REP);
}

static uint32_t blame_when_sent(uint64_t own, uint64_t other)
{
	static struct rig g;
	uint32_t why;

	ios_open(&g);
	quick(&g);
	guest(&g, REP)->usage.mtus_sent = own;
	guest(&g, OFF)->usage.mtus_sent = other;
	why = blame(&g);
	assert_int_equal(g.plan.guest[OFF].cap.limited, why == HURT);
	rig_close(&g);
	return why;
}

TEST(blame__as_much_or_half_as_much_again__nobody)
{
	assert_int_equal(blame_when_sent(400, 400), NOBODY);
	assert_int_equal(blame_when_sent(400, 600), NOBODY);
	assert_int_equal(blame_when_sent(400, 601), HURT);
}

TEST(blame__less_than_a_twentieth_of_the_link__nobody)
{
	assert_int_equal(blame_when_sent(1, 52), NOBODY);
	assert_int_equal(blame_when_sent(1, 53), HURT);
	assert_int_equal(blame_when_sent(0, 0), NOBODY);
}

/* A link of 1000 MTUs an interval, of which 50 are just a twentieth. */
TEST(blame__just_a_twentieth_of_the_link__is_to_blame)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	g.in.link[0].bytes_s = 1024 * 1000000;
	guest(&g, REP)->usage.mtus_sent = 1;
	guest(&g, OFF)->usage.mtus_sent = 49;
	assert_int_equal(blame(&g), NOBODY);
	guest(&g, OFF)->usage.mtus_sent = 50;
	assert_int_equal(blame(&g), HURT);
	rig_close(&g);
}

TEST(blame__floor_of_0_and_nothing_sent__nobody)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	rig_param(&g, "blame_floor", 0);
	guest(&g, REP)->usage.mtus_sent = 0;
	guest(&g, OFF)->usage.mtus_sent = 0;
	assert_int_equal(blame(&g), NOBODY);
	guest(&g, OFF)->usage.mtus_sent = 1;
	assert_int_equal(blame(&g), HURT);
	rig_close(&g);
}

TEST(blame__received_counts_as_sent)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	guest(&g, OFF)->usage.mtus_sent = 0;
	guest(&g, OFF)->usage.mtus_recv = 811;
	assert_int_equal(blame(&g), HURT);
	rig_close(&g);
}

/* 300 at rate 2 is as much as 600: more than 1.5 x 399. */
TEST(blame__counts_what_would_be_sent_at_rate_one)
{
	static struct rig g;

	for (uint64_t own = 399; own <= 400; own++) {
		ios_open(&g);
		quick(&g);
		guest(&g, REP)->usage.mtus_sent = own;
		guest(&g, OFF)->usage.mtus_sent = 300;
		say_over(guest(&g, REP), 60 * US);
		for (int i = 0; i < 2; i++) {
			guest(&g, OFF)->rate.q16 = 2 * ONE;
			tick(&g, MS);
		}
		assert_int_equal(reason(&g, REP), own == 399 ? HURT : NOBODY);
		rig_close(&g);
	}
}

TEST(blame__the_reporter_itself_sends_most__nobody)
{
	assert_int_equal(blame_when_sent(900, 100), NOBODY);
}

TEST(blame__equal_offenders__the_lowest_slot)
{
	static struct rig g;

	ios_open_empty(&g);
	quick(&g);
	offender(&g, 2);
	reporter(&g, REP);
	offender(&g, OFF);
	assert_int_equal(blame(&g), HURT);
	assert_int_equal(g.plan.guest[REP].why[2], 2);
	assert_int_equal(rate(&g, OFF), ONE);
	rig_close(&g);
}

TEST(blame__exempt_or_not_cappable__the_next_one)
{
	static const uint32_t flags[] = { 0, POLICY_EXEMPT, POLICY_EXEMPT | POLICY_CAPPABLE };
	static struct rig g;

	for (size_t i = 0; i < 3; i++) {
		ios_open(&g);
		quick(&g);
		offender(&g, 9)->usage.mtus_sent = 900;
		guest(&g, 9)->flags = flags[i];
		assert_int_equal(blame(&g), HURT);
		assert_int_equal(g.plan.guest[REP].why[2], OFF);
		assert_int_equal(reason(&g, 9), i ? EXEMPT : NOT_CAPPABLE);
		rig_close(&g);
	}
}

TEST(blame__another_link__is_not_looked_at)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	guest(&g, OFF)->link = 1;
	assert_int_equal(blame(&g), NOBODY);
	offender(&g, 9);
	run(&g, 2);
	assert_int_equal(g.plan.guest[REP].why[2], 9);
	/* 811 of 1048 on its own link, 299 permille: as in the first test but for 1 ms */
	assert_int_equal(rate(&g, 9), ONE + 15213);
	rig_close(&g);
}

/* --- 3: reports ------------------------------------------------------------------------------ */

TEST(report__figures_that_cannot_be__is_as_none)
{
	static const struct report bad[] = {
		{ .n = (1u << 20) + 1, .sum_ns = 1, .io_sum_ns = 1 },
		{ .n = UINT64_MAX, .sum_ns = 1, .io_sum_ns = 1 },
		{ .n = 2, .sum_ns = (2ull << 34) + 1, .io_sum_ns = 1 },
		{ .n = 2, .sum_ns = 5, .io_sum_ns = 6 },
		{ .n = 2, .sum_ns = 9, .io_sum_ns = 9, .io_sumsq_hi = 2 << 4, .io_sumsq_lo = 1 },
		{ .n = 0, .sum_ns = 9, .io_sum_ns = 9, .io_sumsq_lo = 81 },
	};
	static struct rig g;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ios_open(&g);
		quick(&g);
		guest(&g, REP)->report = bad[i];
		run(&g, 3);
		assert_false(state_of(&g, REP)->was_heard);
		assert_int_equal(reason(&g, REP), FREE);
		say_over(guest(&g, REP), 60 * US);
		rig_param(&g, "min_samples", 5);
		run(&g, 2); /* one opens, one has 4 samples */
		guest(&g, REP)->report = bad[i];
		run(&g, 5);
		assert_int_equal(state_of(&g, REP)->w.n, 4);
		rig_close(&g);
	}
}

TEST(report__largest_there_can_be__is_counted)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	guest(&g, REP)->report = (struct report){ .n = 1u << 20,
						  .sum_ns = 1ull << 54,
						  .io_sum_ns = 1ull << 54,
						  .io_sumsq_hi = 1ull << 24 };
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->intf, UINT32_MAX);
	assert_int_equal(rate(&g, OFF), 100 * ONE);
	rig_close(&g);
}

TEST(report__beyond_a_million_samples__is_left_out_whole)
{
	static struct rig g;

	ios_open(&g);
	say(guest(&g, REP), 1u << 19, BASE, BASE_IO);
	run(&g, 3);
	assert_int_equal(state_of(&g, REP)->w.n, 1 << 20);
	run(&g, 47);
	assert_int_equal(state_of(&g, REP)->w.n, 1 << 20);
	assert_true(state_of(&g, REP)->w.sum == (uint64_t)BASE << 20);
	rig_close(&g);
}

/* A variance that is not one: the sum of squares is smaller than it can be, or far too large. */
TEST(report__squares_that_lie__give_some_deviation)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	guest(&g, REP)->report.io_sumsq_lo = 1;
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->intf, 0);
	guest(&g, REP)->report.io_sum_ns = 0;
	guest(&g, REP)->report.io_sumsq_hi = 4 << 4;
	guest(&g, REP)->report.io_sumsq_lo = 0;
	guest(&g, REP)->sla.base_ns = 1ull << 40;
	guest(&g, REP)->sla.base_io_ns = 1ull << 40;
	run(&g, 2); /* the root of the largest variance is 2^32 - 1 */
	assert_int_equal(state_of(&g, REP)->intf, 255);
	rig_close(&g);
}

/* Two reports, the sums of whose squares make a 65th bit: a deviation of 2^31 over a base of it. */
TEST(report__sum_of_squares__has_128_bits)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	rig_param(&g, "min_samples", 6);
	guest(&g, REP)->sla = (struct sla){ .base_ns = 1u << 31 };
	guest(&g, REP)->report = (struct report){ .n = 3, .io_sumsq_lo = 3ull << 62 };
	run(&g, 3);
	assert_int_equal(state_of(&g, REP)->intf, ONE);
	rig_close(&g);
}

TEST(link__without_speed_or_mtu__nothing_is_divided_by_0)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	memset(g.in.link, 0, sizeof(g.in.link));
	guest(&g, REP)->sla.base_ns = 1;
	guest(&g, REP)->usage.mtus_sent = UINT64_MAX;
	guest(&g, REP)->usage.mtus_recv = UINT64_MAX;
	run(&g, 4);
	assert_int_equal(state_of(&g, REP)->cum_raw, 4ull * UINT32_MAX);
	guest(&g, OFF)->usage.mtus_sent = 0;
	memset(&g.in.guest[0].sla, 0, sizeof(struct sla));
	run(&g, 2);
	assert_true(state_of(&g, REP)->has_base); /* nothing is less than part of one MTU */
	rig_close(&g);
}
