// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares: windows, verdicts and bases, each rule of resex-policies(7) with
 * figures computed by hand. Blame is in test_ioshares_blame.c, what
 * follows from verdicts in test_ioshares_rate.c, the closed loop and random
 * input in test_ioshares_loop.c.
 */
#include "tests/unit/ioshares_steps.h"

/* --- 5: windows -------------------------------------------------------------------- */

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

static const struct ios_row window_rows[] = {
	/* 60 us of 200 us are 30 %, six times the tolerance: gross, after 50 intervals. */
	{ "window__gross_harm__doubles_the_rate",
	  "defaults, over 60 us, run 50 -> rate 65536, cap 0; run 1 -> rate 131072,"
	  "cap 50000, says taxed, figures 50000 299 3 0 7, says hurt 3,"
	  "figures 3 299 7 0 3" },
	/* 10 ms after it was written. */
	{ "window__after_a_raise__begins_when_the_cap_bites",
	  "defaults, over 60 us, run 110 -> rate 131072; run 1 -> rate 262144, cap 25000" },
	{ "window__the_tick_that_opens_it__does_not_count",
	  "defaults, over 900 us, run 1, over 0 us, run 200 -> verdict fine, intf 0" },
	/* Few requests of a server that sends little: it waits for clients. */
	{ "window__few_samples__lasts_until_there_are_enough",
	  "defaults, over 60 us, sends 10 of 3, run 1, silent 3, run 60, asks 127, run 1"
	  "-> samples 127, rate 65536; asks 1, run 1 -> rate 131072" },
	{ "window__a_cap_on_the_link_changes__begins_anew",
	  "defaults, off 20, sends 0 of 20, over 60 us, run 40, changed 20, run 9"
	  "-> open 0; run 1 -> open 1; run 49 -> rate 65536; run 1 -> rate 131072" },
	{ "window__a_cap_on_another_link_changes__goes_on",
	  "defaults, off 20, sends 0 of 20, link 1 of 20, over 60 us, run 40, changed 20,"
	  "run 11 -> rate 131072" },
	{ "window__the_cap_in_force_is_the_operators__nobody_waits",
	  "defaults, ceiling 40, run 1 -> open 1; capped 0, stuck 1 -> open 0" },
	{ "window__a_guest_that_is_not_cappable_has_another_cap__nobody_waits",
	  "defaults, flags 0, capped 40, stuck 1 -> open 1" },
	{ "window__an_exempt_guest_has_another_cap__nobody_waits",
	  "defaults, flags 3, capped 40, stuck 1 -> open 1" },
	{ "window__harm_below_twice_the_tolerance__lasts_four_times_as_long",
	  "tolerance 1000, waits 200 us, over 399999 ns, run 4 -> verdict none;"
	  "run 1 -> verdict over, excess 131071" },
	{ "window__harm_of_twice_the_tolerance__ends_at_once",
	  "tolerance 1000, waits 200 us, over 400000 ns, run 2 -> verdict over,"
	  "excess 131072" },
	{ "window__gross_harm_that_is_not_believed__lasts_four_times_as_long",
	  "queues 1, sends 50 of 3, sends 167, over 60 us, run 4 -> verdict none;"
	  "run 1 -> verdict over" },
	{ "window__harm_gets_gross__ends_then",
	  "run 3 -> verdict none, open 1; over 60 us, run 1 -> verdict none;"
	  "over 6000 us, run 1 -> verdict over" },
	{ "window__few_samples_and_stale_before_its_end__lasts_as_long_as_it_must",
	  "param window 100000000, param stale 50000000, param min_samples 1000, asks 5,"
	  "over 60 us, run 100 -> verdict none; run 1 -> verdict over" },
	{ "window__an_eighth_of_the_samples__lasts_as_long_as_stale",
	  "param min_samples 128, param stale 50000000, sends 10 of 3, run 1, over 60 us,"
	  "run 4, silent 3, run 45 -> verdict none, open 1; run 1 -> verdict over" },
	{ "window__less_than_an_eighth__is_not_judged",
	  "param min_samples 129, param stale 50000000, sends 10 of 3, run 1, over 60 us,"
	  "run 4, silent 3, run 49 -> verdict none, open 1" },
	{ "window__no_request__is_not_judged",
	  "param min_samples 1, param stale 50000000, run 1, silent 3, run 50"
	  "-> verdict none, open 1; run 1 -> open 0" },
	{ "pause__of_a_taxed_guest__is_the_least_length",
	  "tax 4, run 1, sends 0, run 6, sends 811, run 1 -> pause 7000000;"
	  "over 60 us, run 4 -> verdict fine, rate 262144; run 1 -> verdict over,"
	  "rate 524288" },
	{ "pause__without_gross_harm__four_times_as_long",
	  "tax 4, run 1, sends 0, run 6, sends 811, run 26 -> calm 1;"
	  "run 1 -> calm 2" },
	{ "pause__of_a_guest_that_is_not_taxed__does_not_count",
	  "run 1, sends 0, run 6, sends 811, run 1 -> pause 7000000;"
	  "over 60 us, run 1 -> verdict fine; run 1 -> verdict over" },
	{ "pause__on_another_link__does_not_count",
	  "off 9, link 1 of 9, tax 4 of 9, run 1, sends 0 of 9, run 6, sends 811 of 9,"
	  "run 1 -> pause 7000000 of 9; over 60 us, run 2 -> verdict over" },
	{ "pause__of_two_taxed_guests__the_longer",
	  "off 9, tax 4, tax 4 of 9, run 1, sends 0, run 6, sends 811, run 1, over 60 us,"
	  "run 4 -> verdict fine; run 1 -> verdict over" },
	{ "pause__two_seconds_ago__is_forgotten",
	  "run 1, sends 0, run 6, sends 811, run 2001 -> pause 7000000;"
	  "run 1 -> pause 1000000" },
	{ "pause__as_long_again__counts_from_then_on",
	  "run 1, sends 0, run 6, sends 811, run 1000, sends 0, run 6, sends 811, run 2001"
	  "-> pause 7000000; run 1 -> pause 1000000" },
	{ "pause__longer_than_stale__counts_as_stale",
	  "run 1, sends 0, run 1500, sends 811, run 1 -> pause 1000000000" },
	{ "pause__before_the_first_message__is_none",
	  "sends 0, run 5, sends 811, run 1 -> pause 0; run 1 -> pause 1000000" },
	{ "pause__of_a_restart__is_none",
	  "run 1, sends 0, run 5, restart 7, sends 811, run 1 -> pause 0;"
	  "run 1 -> pause 1000000" },
	{ "reporter__silent_for_a_second__is_none",
	  "tolerance 1000, tax 4, over 180000 ns, judge -> holds 1, verdict fine,"
	  "excess 58982; silent 3, run 1000 -> holds 1, excess 58982;"
	  "run 1 -> holds 0, excess 0, verdict none, open 0" },
};
TEST_ROWS(window_rows, run_ios_row)

/* --- 6c: interference ----------------------------------------------------------------- */

static const struct ios_row verdict_rows[] = {
	/* With a tolerance of all of the base, over is what is more than twice it. */
	{ "verdict__at_the_tolerance__is_fine_and_above_is_not",
	  "param tolerance 1000, over 200000 ns, judge -> intf 65536, verdict fine;"
	  "over 200004 ns, judge -> intf 65537, verdict over" },
	{ "verdict__at_its_own_tolerance__is_fine_and_above_is_not",
	  "param tolerance 0, tolerance 1000, over 200000 ns, judge -> intf 65536,"
	  "verdict fine; over 200004 ns, judge -> intf 65537, verdict over" },
	/* 16 us are 8 % of the base; the deviation has three times 5 %. */
	{ "verdict__only_the_deviation_rose__counts_over_the_mean",
	  "deviates 4000 ns, spread 20 us, judge -> intf 5242, verdict fine;"
	  "tolerance 26, judge -> verdict over; tolerance 27, judge -> verdict fine" },
	/* A deviation of 20 us over a mean of just as much, or 1 ns less. */
	{ "verdict__deviation_at_its_tolerance__is_fine_and_above_is_not",
	  "param tolerance 500, param dev_tolerance 2000, spread 20 us, base 20 us, judge"
	  "-> intf 65536, verdict fine; base 19999 ns, judge -> intf 65539, verdict over" },
	/* (20 - 4) / 4, 20 / 1 and 20 / 40 */
	{ "verdict__sigma_over__takes_the_deviation_over_its_own_base",
	  "param sigma_over 1, deviates 4 us, spread 20 us, run 2 -> intf 262144,"
	  "says hurt 3, figures 3 0 7 79 3;"
	  "deviates 0 us, run 4 -> intf 1310720; param sigma_floor 40000, run 4"
	  "-> intf 32768" },
	{ "verdict__without_cpu__is_no_evidence",
	  "defaults, cpu 0, over 60 us, run 51 -> rate 65536, says self 3,"
	  "figures 0 299 0 0 3, says unknown" },
	/* For one interval, in which nobody waits: it is not cappable then. */
	{ "verdict__capped_itself__is_no_evidence",
	  "defaults, over 60 us, run 30, flags 0 of 3, capped 99 of 3, stuck 1,"
	  "flags 2 of 3, capped 0 of 3, run 20 -> rate 65536, says self 3,"
	  "figures 0 299 0 0 3" },
	{ "verdict__no_cpu_in_this_window__whatever_it_had_before",
	  "sends 0, judge, over 60 us, cpu 0, judge -> says self 3" },
	/* Two wait, and nobody sends so much: each other guest is told of the first. */
	{ "verdict__nobody_to_blame__others_are_told_who_waits",
	  "rep 9, sends 10, over 60 us, over 80 us of 9, judge -> says nobody 3, says nobody 9,"
	  "says spared, figures 0 299 3 0 7;"
	  "over 0 us, judge -> says spared, figures 0 399 9 0 7, says spared 3, figures 0 399 9 0 "
	  "3;"
	  "over 0 us of 9, judge -> says free" },
	{ "verdict__under_the_operators_own_cap__is_evidence",
	  "ceiling 40 of 3, over 60 us, run 2 -> says hurt 3" },
};
TEST_ROWS(verdict_rows, run_ios_row)

/* Half of the requests wait 40 us, half 80: a mean of 60 and a deviation of 20. */
static void say_uneven(struct policy_guest *p)
{
	const uint64_t low = 40000, high = 80000;

	say(p, 4, BASE, BASE_IO);
	p->report.io_sumsq_lo = 2 * low * low + 2 * high * high;
}

TEST(verdict__faster_than_the_base__is_no_interference)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	guest(&g, REP)->sla.base_dev_ns = 4000;
	say(guest(&g, REP), 4, BASE - 1000, BASE_IO - 1000);
	judge(&g);
	assert_int_equal(state_of(&g, REP)->intf, 0);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_FINE);
	rig_close(&g);
}

/* --- 6a, 6b: bases ---------------------------------------------------------------------- */

static struct ios_latency base_after(struct rig *g, uint64_t whole, uint64_t io)
{
	say(guest(g, REP), 4, whole, io);
	judge(g);
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
	judge(&g);
	assert_int_equal(state_of(&g, REP)->base.dev, 2500);
	rig_close(&g);
}

TEST(base__learned__gross_harm_ends_a_window)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	memset(&guest(&g, REP)->sla, 0, sizeof(struct sla));
	guest(&g, OFF)->usage.mtus_sent = 0;
	assert_int_equal(base_after(&g, BASE, BASE_IO).mean, BASE);
	guest(&g, OFF)->usage.mtus_sent = 811;
	say_over(guest(&g, REP), 60 * US);
	run(&g, 2);
	assert_int_equal(reason(&g, REP), HURT);
	assert_int_equal(rate(&g, OFF), 2 * ONE);
	rig_close(&g);
}

/* Four intervals of the link are 4194 MTUs, a twentieth of which are 209.7. */
TEST(base__others_send_a_twentieth__is_not_learned)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	memset(&guest(&g, REP)->sla, 0, sizeof(struct sla));
	guest(&g, OFF)->usage.mtus_sent = 30;
	guest(&g, OFF)->usage.mtus_recv = 23;
	judge(&g);
	assert_why(&g, REP, NO_BASE, 0, 0, 0, 0);
	assert_int_equal(reason(&g, OFF), UNKNOWN);
	assert_int_equal(state_of(&g, REP)->intf, 0);
	guest(&g, OFF)->usage.mtus_recv = 22;
	judge(&g);
	assert_int_equal(reason(&g, REP), UNHEARD);
	assert_int_equal(reason(&g, OFF), FREE);
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
	judge(&g);
	assert_int_equal(reason(&g, REP), NO_BASE);
	guest(&g, REP)->usage.cpu_ns = 1;
	guest(&g, REP)->flags = 0;
	for (int i = 0; i < 5; i++) {
		guest(&g, REP)->cap = CAP_PERCENT(50);
		tick(&g, MS);
		guest(&g, REP)->cap_time.ns = 0;
	}
	assert_int_equal(state_of(&g, REP)->verdict, IOS_NO_BASE);
	judge(&g);
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
	judge(&g);
	assert_false(state_of(&g, REP)->has_base);
	assert_why(&g, REP, NOBODY, 0, 299, 0, 0);
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
		assert_int_equal(reason(&g, OFF), UNHEARD);
		say_over(guest(&g, REP), 60 * US);
		rig_param(&g, "min_samples", 5);
		run(&g, 2); /* one opens, one has 4 samples */
		guest(&g, REP)->report = bad[i];
		run(&g, 5);
		assert_int_equal(state_of(&g, REP)->w.n, 4);
		assert_int_equal(state_of(&g, REP)->w.sum, 4 * (BASE + 60 * US));
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
	assert_int_equal(rate(&g, OFF), 8 * ONE);
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
	judge(&g);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_FINE);
	assert_int_equal(state_of(&g, REP)->intf, 0);
	guest(&g, REP)->report.io_sum_ns = 0;
	guest(&g, REP)->report.io_sumsq_hi = 4 << 4;
	guest(&g, REP)->report.io_sumsq_lo = 0;
	guest(&g, REP)->sla.base_ns = 1ull << 40;
	guest(&g, REP)->sla.base_io_ns = 1ull << 40;
	judge(&g); /* the root of the largest variance is 2^32 - 1 */
	assert_int_equal(state_of(&g, REP)->intf, 255);
	rig_close(&g);
}

/* Four reports, the sums of whose squares make a 66th bit: a deviation of 2^31, as the base. */
TEST(report__sum_of_squares__has_128_bits)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	rig_param(&g, "min_samples", 6);
	guest(&g, REP)->sla = (struct sla){ .base_ns = 1u << 31 };
	guest(&g, REP)->report = (struct report){ .n = 3, .io_sumsq_lo = 3ull << 62 };
	judge(&g);
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
	run(&g, 1 + 5); /* the window that is open has traffic of others */
	assert_true(state_of(&g, REP)->has_base); /* nothing is less than part of one MTU */
	rig_close(&g);
}
