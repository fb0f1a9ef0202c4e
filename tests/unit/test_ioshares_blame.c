// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares: which guests a window blames, each rule of resex-policies(7) at its
 * bound, with figures computed by hand. The link moves 1048 MTUs an interval; the
 * reporter sends 237 and is busy all the time when its requests wait 60 us longer.
 */
#include "tests/unit/ioshares_steps.h"

static const struct ios_row together_rows[] = {
	{ "blame__as_much_or_half_as_much_again__nobody",
	  "sends 400 of 3, sends 400, over 60 us, run 2 -> verdict nobody, cap 0;"
	  "sends 600, run 2 -> verdict nobody, cap 0; sends 601, run 2 -> verdict over,"
	  "says hurt 3, cap 50000" },
	{ "blame__less_than_a_twentieth_of_the_link__nobody",
	  "queues 1, tolerance 5, sends 1 of 3, sends 52, over 60 us, run 2 -> says nobody 3, cap "
	  "0;"
	  "sends 53, run 2 -> says hurt 3, cap 50000" },
	{ "blame__nothing_sent__nobody",
	  "sends 0 of 3, sends 0, over 60 us, judge -> says nobody 3, cap 0" },
	{ "blame__just_a_twentieth_of_the_link__is_to_blame",
	  "tolerance 5, speed 1000, sends 1 of 3, sends 49, over 60 us, run 2"
	  "-> says nobody 3; sends 50, run 2 -> says hurt 3" },
	{ "blame__floor_of_0_and_nothing_sent__nobody",
	  "param blame_floor 0, tolerance 1, waits 200 us, sends 0 of 3, sends 0,"
	  "over 60 us, judge -> says nobody 3; sends 2, judge -> says hurt 3" },
	{ "blame__received_counts_as_sent",
	  "sends 0, receives 811, over 60 us, run 2 -> says hurt 3" },
	{ "blame__the_reporter_itself_sends_most__nobody",
	  "tolerance 10, sends 900 of 3, sends 100, over 60 us, run 2 -> says nobody 3,"
	  "cap 0" },
	/* 300 at rate 2 are as many as 600. */
	{ "blame__counts_what_would_be_sent_at_rate_one",
	  "sends 400 of 3, sends 300, over 60 us, charged 2, run 1, charged 2, run 1"
	  "-> says nobody 3; sends 399 of 3, charged 2, run 1, charged 2, run 1"
	  "-> says hurt 3" },
	{ "blame__another_link__is_not_looked_at",
	  "link 1, over 60 us, judge -> says nobody 3; off 9, run 2 -> says hurt 3, most 9,"
	  "rate 131072 of 9" },
	{ "blame__not_cappable__another_one",
	  "off 9, sends 900 of 9, flags 0 of 9, over 60 us, run 2 -> says hurt 3, set 1,"
	  "most 7, spares 9, says uncappable 9" },
	{ "blame__exempt__another_one",
	  "off 9, sends 900 of 9, flags 1 of 9, over 60 us, run 2 -> says hurt 3, set 1,"
	  "most 7, spares 9, says exempt 9" },
	{ "blame__exempt_and_cappable__another_one",
	  "off 9, sends 900 of 9, flags 3 of 9, over 60 us, run 2 -> says hurt 3, set 1,"
	  "most 7, spares 9, says exempt 9" },
	{ "set__equal_guests__all_are_blamed_and_the_lowest_slot_is_named",
	  "off 9, over 60 us, run 2 -> set 2, blames 7, blames 9, most 7,"
	  "figures 3 299 7 0 3, rate 131072, rate 131072 of 9" },
	/* 4 x 300 would be more. */
	{ "set__the_one_that_sent_most__is_named",
	  "off 9, sends 400 of 9, sends 300, tax 4, over 60 us, run 2 -> set 2, most 9" },
	{ "set__the_first_of_it_sent_most__is_named",
	  "off 9, sends 400, sends 300 of 9, tax 4 of 9, over 60 us, run 2 -> set 2, most 7" },
	/* 30 and 30 of messages ten times as large: none alone is a twentieth of the link. */
	{ "set__many_guests_that_send_little__are_blamed_together",
	  "tolerance 5, sends 120 of 3, size 1000 of 3, size 10000, sends 30, over 60 us,"
	  "judge -> verdict nobody; off 9, size 10000 of 9, sends 30 of 9, run 2"
	  "-> verdict over, set 2, blames 7, blames 9" },
	/* 60 x 5925 bytes are 237 x 1000 x 1.5. */
	{ "set__together_as_much_as_the_reporter__nobody",
	  "tolerance 5, size 1000 of 3, sends 60, size 5925, over 60 us, run 2"
	  "-> verdict nobody; size 5926, run 2 -> verdict over" },
	/* 60 x 11375 bytes are 455 x 1000 x 1.5. */
	{ "set__together_as_much_as_the_busy_reporter__nobody",
	  "asks 2, tolerance 5, size 1000 of 3, sends 60, size 11375, over 60 us, run 2"
	  "-> verdict nobody; size 11376, run 2 -> verdict over" },
	{ "set__smaller_messages__count_as_the_reporters",
	  "size 1000 of 3, sends 356, size 10, over 60 us, run 2 -> verdict over" },
	{ "set__another_guest_begins_in_a_slot__has_one_less",
	  "off 9, off 11, sends 10 of 11, over 60 us, run 2 -> set 2;"
	  "new 9, new 11, run 1 -> set 1, blames 7, spares 9, figures 3 299 7 0 3" },
	{ "set__it_was_blamed_before__is_no_part_of_the_next",
	  "off 9, over 60 us, run 2 -> blames 9; run 1, sends 0 of 9, run 1"
	  "-> verdict over, set 1, spares 9" },
};
TEST_ROWS(together_rows, run_ios_row)

static const struct ios_row member_rows[] = {
	/* 2 requests of 260 us an interval: busy for 52 %, so that 200 MTUs count as 384. */
	{ "member__the_reporter_waits_for_clients__its_busy_time_counts",
	  "asks 2, sends 200 of 3, sends 576, over 60 us, run 2 -> verdict nobody;"
	  "sends 577, run 2 -> verdict over" },
	/* Larger messages, so that together they count as more. */
	{ "member__half_as_much_again__is_none",
	  "sends 400 of 3, size 1000 of 3, size 1200, sends 600, over 60 us, run 2"
	  "-> verdict nobody; sends 601, run 2 -> verdict over" },
	{ "member__half_as_much_again_as_when_busy__is_none",
	  "asks 2, sends 200 of 3, size 1000 of 3, size 1200, sends 576, over 60 us, run 2"
	  "-> verdict nobody; sends 577, run 2 -> verdict over" },
	{ "member__the_reporter_has_many_requests_at_once__what_it_sent_counts",
	  "asks 8, sends 200 of 3, sends 300, over 60 us, run 2 -> verdict nobody;"
	  "sends 301, run 2 -> verdict over" },
	{ "member__messages_half_as_large_again__is_none",
	  "size 1000 of 3, sends 300, size 1500, over 60 us, run 2 -> verdict nobody;"
	  "size 1501, run 2 -> verdict over" },
	/* 60 are a quarter. */
	{ "member__large_messages__from_a_quarter_of_the_reporters_mtus",
	  "tolerance 5, size 1000 of 3, sends 240 of 3, sends 59, size 10000, over 60 us,"
	  "run 2 -> verdict nobody; sends 60, run 2 -> verdict over" },
	{ "member__large_messages__compare_with_what_the_reporter_sent",
	  "tolerance 5, asks 2, size 1000 of 3, sends 60, size 20000, over 60 us, run 2"
	  "-> verdict over" },
	/* 6 x 10 are a twentieth of the link, 5 x 10 are not. */
	{ "member__the_reporter_itself__is_none",
	  "tax 2 of 3, ceiling 40 of 3, tolerance 5, sends 100, over 60 us, run 2"
	  "-> verdict nobody" },
	{ "member__taxed__while_it_sends",
	  "tolerance 1, sends 10, tax 5, over 60 us, run 2 -> verdict nobody;"
	  "tax 6, run 2 -> verdict over; sends 0, judge -> verdict nobody" },
	{ "member__another_is_taxed__only_with_traffic_of_its_own",
	  "off 9, sends 355 of 9, sends 10, tax 6, over 60 us, run 2 -> verdict over,"
	  "set 1; sends 356 of 9, run 2 -> set 2" },
	{ "size__largest_of_late__counts_for_a_second",
	  "size 5000, run 1, size 1000, run 1000 -> bytes 5000;"
	  "run 1 -> bytes 1000" },
	{ "size__seen_again__counts_from_then_on",
	  "size 5000, run 500, size 1000, run 1000 -> bytes 5000;"
	  "run 1 -> bytes 1000; size 0, run 1000 -> bytes 1000;"
	  "run 1 -> bytes 0; size 7, run 1 -> bytes 7" },
};
TEST_ROWS(member_rows, run_ios_row)

/*
 * In a window of four intervals a link of 4194 MTUs serves o of others and n of the reporter, whose
 * requests wait for 30 % of their time there. Others are active for o / (4194 - n) of the time, or
 * o / (4194 - o) when they send less, and each of their queues can add up to 30 % then.
 */
static const struct ios_row credible_rows[] = {
	/* 664 / 3994 x 0.3 = 4.99 % */
	{ "claim__others_can_not_have_caused_it__nobody",
	  "queues 1, sends 50 of 3, sends 166, over 60 us, judge -> verdict nobody, excess 65360;"
	  "over 60000 us, judge -> verdict nobody, excess 65360;"
	  "sends 167, judge -> verdict over, excess 65740, rate 73007" },
	/* 796 / 3994 = 19.9 % */
	{ "claim__the_part_that_waits__bounds_it",
	  "queues 1, waits 200 us, tolerance 200, sends 50 of 3, sends 199, over 120 us, judge"
	  "-> verdict nobody, excess 65305; sends 200, judge -> verdict over, excess 65630" },
	{ "claim__beside_several_queues__times_their_number",
	  "sends 50 of 3, sends 166, over 6000 us, queues 0, judge -> excess 65360;"
	  "queues 1, judge -> excess 65360; queues 2, judge -> excess 130720;"
	  "queues 3, judge -> excess 196180; queues 65535, judge -> excess 39321600;"
	  "queues 18446744073709551615, judge -> excess 39321600" },
	{ "claim__queues_that_count__are_65536_of_a_guest_at_most",
	  "waits 4 ns, sends 50 of 3, sends 166, over 60000 us, queues 32768, judge"
	  "-> excess 108940; queues 65536, judge -> excess 218000; queues 65537, judge"
	  "-> excess 218000; queues 18446744073709551615, judge -> excess 218000" },
	{ "claim__queues__count_in_the_mean_of_intervals_with_some",
	  "sends 50 of 3, sends 166, over 6000 us, queues 2, run 3, queues 0, judge -> excess "
	  "130720" },
	{ "claim__own_queues_and_those_of_another_link__do_not_count",
	  "queues 1, sends 50 of 3, sends 166, off 9, link 1 of 9, queues 3 of 3, queues 3 of 9,"
	  "over 6000 us, judge -> excess 65360" },
	{ "claim__queues_of_another_guest__count_too",
	  "queues 1, sends 50 of 3, sends 166, off 9, sends 0 of 9, queues 1 of 9,"
	  "over 6000 us, judge -> excess 130720" },
	/* 440 / (4194 - 440), beside an own part of 1920 */
	{ "claim__others_send_less__are_slowed_by_as_much_of_its_own",
	  "queues 1, sends 480 of 3, sends 110, size 4096, over 60 us, judge -> excess 46080" },
	{ "claim__others_and_as_much_of_its_own_fill_the_link__are_always_active",
	  "queues 1, sends 524 of 3, sends 525, over 6000 us, judge -> excess 393200;"
	  "sends 5000, judge -> excess 393200; sends 2000 of 3, judge -> excess 393200" },
	/* The root of (836 / 4074 x 0.3) x 0.3 is 13.6 %, of 1012 / 4074 15 %. */
	{ "claim__of_the_deviation__is_bounded_by_its_root",
	  "queues 1, sends 30 of 3, sends 254, spread 90 us, judge -> verdict nobody, excess 65440;"
	  "sends 255, judge -> verdict over, excess 65573" },
	{ "claim__of_the_deviation__beside_the_most_queues__is_not_cut",
	  "waits 200 us, off 9, queues 65536, queues 65536 of 9, spread 90 us, judge"
	  "-> verdict over" },
	{ "claim__of_the_deviation_over_its_own__has_no_bound",
	  "queues 1, param sigma_over 1, sends 30 of 3, sends 60, spread 90 us, run 2"
	  "-> verdict over" },
	{ "claim__another_guest_of_the_link__counts_too",
	  "queues 1, sends 51 of 3, sends 136, over 60 us, judge -> verdict nobody, excess 53600;"
	  "off 9, queues 0 of 9, sends 31 of 9, judge -> verdict over, set 1, excess 65820" },
	{ "claim__the_link_has_no_speed_and_nobody_sends__nobody",
	  "speed 0, sends 0, sends 0 of 3, over 60 us, judge -> verdict nobody, excess 0" },
	{ "claim__a_guest_of_another_link__does_not_count",
	  "queues 1, sends 50 of 3, sends 166, off 9, link 1 of 9, over 60 us, judge"
	  "-> verdict nobody, excess 65360" },
	{ "claim__beside_a_taxed_guest__is_bounded_too",
	  "queues 1, sends 20, tax 4, over 60 us, judge -> verdict nobody, excess 7640" },
};
TEST_ROWS(credible_rows, run_ios_row)

TEST(member__the_reporter_was_busy_for_no_time__what_it_sent_counts)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	rig_param(&g, "sigma_over", 1);
	guest(&g, REP)->report = (struct report){ .n = 4, .io_sumsq_lo = 4ull * US * US };
	guest(&g, OFF)->usage.mtus_sent = 355;
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_NOBODY);
	guest(&g, OFF)->usage.mtus_sent = 356;
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_OVER);
	rig_close(&g);
}

TEST(claim__a_configured_base_of_49_bits__is_not_cut)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	guest(&g, REP)->sla.base_io_ns = 1ull << 48;
	say(guest(&g, REP), 4, BASE, BASE_IO);
	guest(&g, REP)->report.io_sumsq_lo += 4 * (90 * US) * (90 * US);
	run(&g, 2);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_OVER);
	rig_close(&g);
}

/*
 * One request of 2 ns in 17 s, in which 2^31 MTUs were sent: busy it would have sent 2^64. The
 * other one sends as many, half of what the link moves.
 */
TEST(member__the_reporter_would_send_more_than_64_bits_count__nobody)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	g.in.link[0].bytes_s = 1ull << 38;
	guest(&g, REP)->sla = (struct sla){ .base_ns = 1, .base_io_ns = 1 };
	guest(&g, REP)->usage.mtus_sent = guest(&g, OFF)->usage.mtus_sent = 1ull << 31;
	say(guest(&g, REP), 1, 2, 2);
	tick(&g, MS);
	tick(&g, 1ll << 34);
	assert_int_equal(state_of(&g, REP)->verdict, IOS_NOBODY);
	assert_int_equal(rate(&g, OFF), ONE);
	rig_close(&g);
}
