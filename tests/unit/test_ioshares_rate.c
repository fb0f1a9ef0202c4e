// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares: raises, calm and back-off, futility, and who is forgotten, with
 * figures computed by hand. Windows and verdicts are in test_ioshares.c.
 */
#include "tests/unit/ioshares_rig.h"
#include "tests/unit/unit.h"

/* 811 of 1048 MTUs x 60 us of 200: what one window raises. */
#define RAISE 15213

/* Windows of one interval; the first raise has just been made. */
static void open_raised(struct rig *g)
{
	ios_open(g);
	quick(g);
	say_over(guest(g, REP), 60 * US);
	run(g, 2);
	assert_int_equal(rate(g, OFF), ONE + RAISE);
}

/* --- 7: raises ----------------------------------------------------------------------- */

TEST(raise__each_window__until_the_lowest_cap)
{
	static struct rig g;

	open_raised(&g);
	for (int i = 2; i < 100; i++) {
		run(&g, 2);
		assert_int_equal(rate(&g, OFF), ONE + i * RAISE);
	}
	say_over(guest(&g, REP), 4000 * US);
	run(&g, 20);
	assert_int_equal(rate(&g, OFF), 100 * ONE);
	assert_int_equal(g.plan.guest[OFF].cap.mpct, 1000);
	rig_close(&g);
}

/* max is all VCPUs over the lowest cap: 4 x 100 over 5, and over 8. */
TEST(raise__min_cap__of_policy_or_guest_bounds_the_rate)
{
	static struct rig g;

	open_raised(&g);
	guest(&g, OFF)->bounds.vcpus = 4;
	rig_param(&g, "min_cap", 5000);
	say_over(guest(&g, REP), 40000 * US);
	run(&g, 20);
	assert_int_equal(rate(&g, OFF), 80 * ONE);
	assert_int_equal(g.plan.guest[OFF].cap.mpct, 5000);
	guest(&g, OFF)->bounds.min_mpct = 8000; /* lowers what is in force, too */
	run(&g, 1);
	assert_int_equal(rate(&g, OFF), 50 * ONE);
	assert_int_equal(g.plan.guest[OFF].cap.mpct, 8000);
	guest(&g, OFF)->bounds.vcpus = UINT32_MAX;
	guest(&g, OFF)->bounds.min_mpct = 1000;
	rig_param(&g, "min_cap", 1000);
	run(&g, 20);
	assert_true(rate(&g, OFF) > 100 * ONE);
	guest(&g, OFF)->bounds = (struct cap_bounds){ CAP_NONE, 200000, 1 }; /* more than all */
	run(&g, 20);
	assert_int_equal(rate(&g, OFF), ONE);
	assert_false(g.plan.guest[OFF].cap.limited);
	rig_close(&g);
}

TEST(raise__operators_cap_is_lower__is_what_holds)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	guest(&g, OFF)->bounds.ceiling = CAP_PERCENT(50);
	guest(&g, OFF)->cap = CAP_PERCENT(50);
	say_over(guest(&g, REP), 60 * US);
	run(&g, 2);
	assert_int_equal(rate(&g, OFF), ONE + RAISE);
	assert_int_equal(g.plan.guest[OFF].cap.mpct, 50000);
	rig_close(&g);
}

/* Two complain of the same guest: the larger counts, of equals the first. */
TEST(raise__two_complaints_in_a_tick__the_larger_counts)
{
	static struct rig g;

	for (int i = 0; i < 3; i++) {
		uint64_t a = i == 0 ? 60 : 40, b = i == 1 ? 60 : 40;

		ios_open(&g);
		quick(&g);
		reporter(&g, 9)->usage.mtus_sent = 0;
		say_over(guest(&g, REP), a * US);
		say_over(guest(&g, 9), b * US);
		run(&g, 2);
		/* 40 us are 13107 / 65536 of 200; the share of 50715 makes 10142 of it */
		assert_int_equal(rate(&g, OFF), ONE + (i < 2 ? RAISE : 10142));
		assert_int_equal(g.plan.guest[OFF].why[2], i == 1 ? 9 : REP);
		assert_int_equal(reason(&g, REP), HURT);
		assert_int_equal(reason(&g, 9), HURT);
		rig_close(&g);
	}
}

TEST(raise__two_offenders_of_two_reporters__both)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	reporter(&g, 9)->link = 1;
	offender(&g, 11)->link = 1;
	say_over(guest(&g, REP), 60 * US);
	say_over(guest(&g, 9), 60 * US);
	run(&g, 2);
	assert_int_equal(rate(&g, OFF), ONE + RAISE);
	assert_int_equal(rate(&g, 11), ONE + RAISE);
	assert_int_equal(g.plan.guest[11].why[2], 9);
	rig_close(&g);
}

/* Another reporter's window, half through, is not judged at the old rate's figures. */
TEST(raise__closes_all_windows_of_its_link)
{
	static struct rig g;

	ios_open(&g);
	rig_param(&g, "bite", 0);
	say_over(guest(&g, REP), 60 * US);
	run(&g, 25);
	reporter(&g, 9); /* opens at tick 26 */
	reporter(&g, 10)->link = 1;
	run(&g, 25);
	assert_true(state_of(&g, 9)->w.open);
	run(&g, 1);
	assert_int_equal(rate(&g, OFF), ONE + 13612); /* 40550 of 58562 MTUs */
	assert_false(state_of(&g, 9)->w.open);
	assert_true(state_of(&g, 10)->w.open);
	rig_close(&g);
}

TEST(raise__of_nothing__changes_nothing)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	rig_param(&g, "tolerance", 0);
	guest(&g, REP)->sla.base_ns = 1u << 30;
	say(guest(&g, REP), 4, 1u << 30, BASE_IO + 16384); /* 1 / 65536 */
	run(&g, 2);
	assert_int_equal(reason(&g, REP), HURT);
	assert_int_equal(reason(&g, OFF), FREE);
	assert_int_equal(rate(&g, OFF), ONE);
	assert_int_equal(state_of(&g, REP)->first_intf[OFF], 0);
	assert_false(state_of(&g, OFF)->has_accuser);
	rig_close(&g);
}

/* --- 8: calm ---------------------------------------------------------------------------- */

/* The raise is taken back by a tenth each calm window, from the fourth on, until lift. */
TEST(calm__four_windows__then_back_off_to_no_cap)
{
	static const uint32_t left[] = { 13691, 12321, 11088, 9979, 8981, 8082, 7273, 6545,
					 5890,	5301,  4770,  4293, 3863, 3476, 0 };
	static struct rig g;

	open_raised(&g);
	say_over(guest(&g, REP), 0);
	run(&g, 3 * 2 + 1);
	assert_int_equal(rate(&g, OFF), ONE + RAISE);
	run(&g, 1);
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		assert_int_equal(rate(&g, OFF), ONE + left[i]);
		assert_int_equal(reason(&g, OFF), left[i] ? TAXED : FREE);
		run(&g, 1);
		assert_int_equal(rate(&g, OFF), ONE + left[i]);
		run(&g, 1);
	}
	assert_false(g.plan.guest[OFF].cap.limited);
	assert_false(state_of(&g, OFF)->has_accuser);
	assert_int_equal(state_of(&g, REP)->first_intf[OFF], 0);
	rig_close(&g);
}

/* 24273 less a tenth is 21845, with which the cap is just 75 percent. */
TEST(calm__at_the_lift__no_cap)
{
	static struct rig g;

	for (uint64_t lift = 750; lift <= 751; lift++) {
		open_raised(&g);
		rig_param(&g, "lift", lift);
		say_over(guest(&g, REP), 0);
		run(&g, 7);
		state_of(&g, OFF)->rate = ONE + 24273;
		run(&g, 1);
		assert_int_equal(rate(&g, OFF), lift == 750 ? ONE : ONE + 21845);
		assert_int_equal(g.plan.guest[OFF].cap.mpct, lift == 750 ? 0 : 75000);
		rig_close(&g);
	}
}

TEST(calm__trouble_again__counts_from_the_start)
{
	static struct rig g;

	open_raised(&g);
	say_over(guest(&g, REP), 0);
	run(&g, 6);
	say_over(guest(&g, REP), 60 * US);
	run(&g, 2);
	assert_int_equal(rate(&g, OFF), ONE + 2 * RAISE);
	say_over(guest(&g, REP), 0);
	run(&g, 7);
	assert_int_equal(rate(&g, OFF), ONE + 2 * RAISE);
	run(&g, 1);
	assert_int_equal(rate(&g, OFF), ONE + 2 * RAISE - 3043); /* 30426 x 0.9, rounded down */
	rig_close(&g);
}

/* Slow by itself, nobody to blame: that keeps no cap in force. */
TEST(calm__over_with_nobody_to_blame__is_calm)
{
	static struct rig g;

	open_raised(&g);
	guest(&g, OFF)->usage.mtus_sent = 10;
	run(&g, 8);
	assert_int_equal(reason(&g, REP), NOBODY);
	assert_int_equal(rate(&g, OFF), ONE + 13691);
	rig_close(&g);
}

TEST(calm__one_of_two_reporters_is_still_over__is_none)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	reporter(&g, 9)->usage.mtus_sent = 0;
	say_over(guest(&g, REP), 60 * US);
	say_over(guest(&g, 9), 60 * US);
	run(&g, 2);
	say_over(guest(&g, REP), 0);
	guest(&g, 9)->report.n = 0; /* says no more; its word counts for a second */
	run(&g, 900);
	assert_int_equal(rate(&g, OFF), ONE + RAISE);
	run(&g, 108);
	assert_int_equal(rate(&g, OFF), ONE + 13691);
	rig_close(&g);
}

/* Heard at tick 2; silent for more than 1000 ms at tick 1003, calm from there. */
TEST(calm__the_reporter_is_silent__rates_go_back_by_the_clock)
{
	static struct rig g;

	open_raised(&g);
	guest(&g, REP)->report.n = 0;
	run(&g, 1000);
	assert_int_equal(reason(&g, REP), HURT);
	assert_int_equal(reason(&g, OFF), TAXED);
	run(&g, 1);
	assert_int_equal(reason(&g, REP), FREE);
	assert_why(&g, OFF, FADING, 81160, 1232, 0, 0);
	run(&g, 2);
	assert_int_equal(rate(&g, OFF), ONE + RAISE);
	run(&g, 1);
	assert_int_equal(rate(&g, OFF), ONE + 13691);
	run(&g, 1);
	assert_int_equal(rate(&g, OFF), ONE + 12321);
	run(&g, 100);
	assert_int_equal(rate(&g, OFF), ONE);
	assert_false(guest(&g, OFF)->cap.limited);
	rig_close(&g);
}

/* Calm is counted once a window's time, not once a verdict. */
TEST(calm__two_reporters__is_counted_once_a_window)
{
	static struct rig g;

	ios_open(&g);
	rig_param(&g, "bite", 0);
	rig_param(&g, "min_samples", 1);
	say_over(guest(&g, REP), 60 * US);
	run(&g, 51);
	say_over(guest(&g, REP), 0);
	run(&g, 25);
	reporter(&g, 9)->usage.mtus_sent = 0;
	run(&g, 26);
	assert_int_equal(g.in.now.ns, 100 * NS_PER_S + 102 * MS);
	assert_int_equal(((struct ios_global *)(void *)g.global)->link[0].calm, 1);
	run(&g, 25); /* the newcomer's first window ends 25 ms after that */
	assert_int_equal(state_of(&g, 9)->verdict, IOS_FINE);
	assert_int_equal(((struct ios_global *)(void *)g.global)->link[0].calm, 1);
	rig_close(&g);
}

TEST(calm__another_link__is_its_own)
{
	static struct rig g;

	open_raised(&g);
	reporter(&g, 9)->link = 1; /* calm all the time */
	run(&g, 40);
	assert_int_equal(rate(&g, OFF), ONE + 21 * RAISE);
	say_over(guest(&g, REP), 0);
	offender(&g, 11)->link = 1;
	say_over(guest(&g, 9), 60 * US);
	run(&g, 10); /* trouble on the other keeps nothing in force here */
	assert_int_equal(reason(&g, 9), HURT);
	assert_true(rate(&g, OFF) < ONE + 21 * RAISE);
	assert_true(rate(&g, 11) > ONE);
	rig_close(&g);
}

/* --- 9: futility --------------------------------------------------------------------------- */

#define HUNDRED (100 * (uint64_t)BASE) /* an interference of 100: two raises end at the floor */

static void open_floor(struct rig *g)
{
	ios_open(g);
	quick(g);
	say_over(guest(g, REP), HUNDRED);
	run(g, 4);
	assert_int_equal(rate(g, OFF), 100 * ONE);
	assert_int_equal(g->plan.guest[OFF].cap.mpct, 1000);
}

TEST(futile__two_seconds_at_the_lowest_cap__released_and_let_alone)
{
	static struct rig g;

	open_floor(&g);
	run(&g, 1999);
	assert_int_equal(rate(&g, OFF), 100 * ONE);
	run(&g, 1);
	assert_int_equal(rate(&g, OFF), ONE);
	assert_false(g.plan.guest[OFF].cap.limited);
	assert_why(&g, OFF, FUTILE, 0, 1000, REP, 30000);
	run(&g, 2);
	assert_int_equal(reason(&g, REP), NOBODY);
	assert_why(&g, OFF, FUTILE, 0, 1000, REP, 29998);
	g.in.now.ns += 29998 * MS - 3 * MS;
	run(&g, 2);
	assert_int_equal(reason(&g, REP), NOBODY);
	assert_why(&g, OFF, FUTILE, 0, 1000, REP, 1);
	run(&g, 2);
	assert_int_equal(reason(&g, REP), HURT);
	assert_int_equal(rate(&g, OFF), ONE + 50715 * 100);
	rig_close(&g);
}

/* Is the floor left after its time, when interference is this by then? */
static uint32_t rate_after_floor(uint64_t over_ns)
{
	static struct rig g;
	uint32_t q16;

	open_floor(&g);
	say_over(guest(&g, REP), over_ns);
	run(&g, 2100);
	q16 = rate(&g, OFF);
	rig_close(&g);
	return q16;
}

TEST(futile__interference_fell_by_a_tenth__the_cap_stays)
{
	assert_int_equal(rate_after_floor(HUNDRED / 10 * 9), 100 * ONE);
	assert_int_equal(rate_after_floor(HUNDRED / 10 * 9 + 4), ONE); /* 1 / 65536 more */
}

/* Released with a rest of 9 or 10 intervals; windows end at each even one after that. */
TEST(futile__the_rest_is_over__is_blamed_in_that_tick)
{
	static struct rig g;

	for (int rest = 9; rest <= 10; rest++) {
		open_floor(&g);
		rig_param(&g, "futile_rest", (uint64_t)(rest * MS));
		run(&g, 2000);
		assert_int_equal(rate(&g, OFF), ONE);
		run(&g, 9);
		assert_int_equal(rate(&g, OFF), ONE);
		run(&g, 1);
		assert_int_equal(rate(&g, OFF), ONE + 50715 * 100);
		rig_close(&g);
	}
}

TEST(futile__another_rests_longer__is_not_said_of_this_one)
{
	static struct rig g;

	ios_open(&g);
	run(&g, 1);
	state_of(&g, REP)->rest_until[OFF] = mono_add(g.in.now, 5 * MS);
	state_of(&g, REP)->rest_last = mono_add(g.in.now, 9 * MS);
	run(&g, 4);
	assert_why(&g, OFF, FUTILE, 0, 1000, REP, 1);
	run(&g, 1);
	assert_int_equal(reason(&g, OFF), FREE);
	rig_close(&g);
}

/* At its floor, and the accuser is over still, but has somebody else to blame. */
TEST(futile__the_accuser_blames_another__stays)
{
	static struct rig g;

	open_floor(&g);
	offender(&g, 9)->usage.mtus_sent = 1000000;
	run(&g, 2001);
	assert_int_equal(g.plan.guest[REP].why[2], 9);
	assert_int_equal(rate(&g, OFF), 100 * ONE);
	rig_close(&g);
}

/* No evidence is no proof that the cap was in vain. */
TEST(futile__the_accuser_has_no_cpu__stays)
{
	static struct rig g;

	open_floor(&g);
	rig_param(&g, "calm", 1000);
	rig_param(&g, "futile", 500 * (uint64_t)MS);
	guest(&g, REP)->usage.cpu_ns = 0;
	run(&g, 600);
	assert_int_equal(reason(&g, REP), SELF);
	assert_int_equal(rate(&g, OFF), 100 * ONE);
	rig_close(&g);
}

TEST(futile__0__never)
{
	static struct rig g;

	open_floor(&g);
	rig_param(&g, "futile", 0);
	run(&g, 5000);
	assert_int_equal(rate(&g, OFF), 100 * ONE);
	rig_param(&g, "futile", 1000 * (uint64_t)MS); /* from now on */
	run(&g, 999);
	assert_int_equal(rate(&g, OFF), 100 * ONE);
	run(&g, 2);
	assert_int_equal(rate(&g, OFF), ONE);
	rig_close(&g);
}

/* Away from the floor for a moment: the time begins anew. */
TEST(futile__back_off_between__begins_anew)
{
	static struct rig g;

	open_floor(&g);
	run(&g, 1500);
	say_over(guest(&g, REP), 0);
	run(&g, 10);
	assert_true(rate(&g, OFF) < 100 * ONE);
	say_over(guest(&g, REP), HUNDRED);
	run(&g, 4);
	assert_int_equal(rate(&g, OFF), 100 * ONE);
	run(&g, 1990);
	assert_int_equal(rate(&g, OFF), 100 * ONE);
	run(&g, 20);
	assert_int_equal(rate(&g, OFF), ONE);
	rig_close(&g);
}

/* What one reporter gained is not measured by what another had lost. */
TEST(futile__another_reporter_complains__is_held_against_its_own_first)
{
	static struct rig g;

	ios_open(&g);
	quick(&g);
	reporter(&g, 9)->usage.mtus_sent = 0;
	say_over(guest(&g, REP), 60 * US); /* 0.3, then well */
	run(&g, 2);
	say_over(guest(&g, REP), 0);
	say_over(guest(&g, 9), HUNDRED);
	run(&g, 4);
	assert_int_equal(rate(&g, OFF), 100 * ONE);
	say_over(guest(&g, 9), HUNDRED / 2);
	run(&g, 3000);
	assert_int_equal(rate(&g, OFF), 100 * ONE);
	assert_int_equal(state_of(&g, REP)->first_intf[OFF], 19660);
	assert_int_equal(state_of(&g, 9)->first_intf[OFF], 100 * ONE);
	rig_close(&g);
}

/* The pair is let alone, not the guest: another reporter may still have it capped. */
TEST(futile__another_reporter__may_still_complain)
{
	static struct rig g;

	open_floor(&g);
	run(&g, 2000);
	assert_int_equal(rate(&g, OFF), ONE);
	say_over(reporter(&g, 9), 60 * US);
	run(&g, 2);
	assert_int_equal(g.plan.guest[9].reason, HURT);
	assert_int_equal(g.plan.guest[OFF].why[2], 9);
	rig_close(&g);
}

/* --- 1: new guests; 2, 10: flags and empty balances ------------------------------------------- */

static void renew(struct rig *g, uint32_t slot)
{
	memset(state_of(g, slot), 0, sizeof(struct ios_guest));
	guest(g, slot)->flags |= POLICY_NEW;
	guest(g, slot)->cap = CAP_NONE;
	guest(g, slot)->cap_time.ns = 0;
	guest(g, slot)->rate = RATE_ONE;
}

TEST(new_guest__in_a_slot_that_rests__is_blamed_like_any)
{
	static struct rig g;

	open_floor(&g);
	run(&g, 2000);
	assert_int_equal(reason(&g, OFF), FUTILE);
	renew(&g, OFF);
	run(&g, 1);
	assert_int_equal(reason(&g, OFF), FREE);
	run(&g, 2);
	assert_int_equal(reason(&g, REP), HURT);
	assert_int_equal(state_of(&g, REP)->first_intf[OFF], 100 * ONE);
	rig_close(&g);
}

TEST(new_guest__in_the_accusers_slot__accused_nobody)
{
	static struct rig g;

	open_raised(&g);
	renew(&g, REP); /* and reports at once */
	run(&g, 1);
	assert_why(&g, OFF, FADING, 81160, 1232, 0, 0);
	assert_int_equal(rate(&g, OFF), ONE + RAISE);
	rig_close(&g);
}

/* Its counters begin at 0, below the snapshot of who was there before. */
TEST(new_guest__within_a_window__counts_from_its_begin)
{
	static struct rig g;

	ios_open(&g);
	say_over(guest(&g, REP), 60 * US);
	run(&g, 200); /* high counters: nothing is compared with them */
	say_over(guest(&g, REP), 0);
	run(&g, 60);
	g.in.now.ns += 5 * NS_PER_S;
	run(&g, 1);
	g.in.guests = 1; /* gone */
	say_over(guest(&g, REP), 60 * US);
	run(&g, 20);
	assert_true(state_of(&g, REP)->w.open);
	g.in.guests = 2;
	renew(&g, OFF);
	run(&g, 1);
	assert_int_equal(state_of(&g, REP)->w.snap_raw[OFF], 0);
	assert_int_equal(state_of(&g, OFF)->cum_raw, 811);
	rig_close(&g);
}

/* The same, had the engine not said so. */
TEST(counters__fall__count_from_0)
{
	static struct rig g;

	ios_open(&g);
	run(&g, 60); /* the second window began at 52 */
	say_over(guest(&g, REP), 60 * US);
	run(&g, 17);
	memset(state_of(&g, OFF), 0, sizeof(struct ios_guest));
	run(&g, 25);
	/* 25 x 811 of 25 x 811 + 50 x 237; 42 of 50 samples over by 60 us */
	assert_int_equal(rate(&g, OFF), ONE + 10422);
	rig_close(&g);
}

TEST(gone__the_accuser__is_not_asked)
{
	static struct rig g;

	ios_open_empty(&g);
	quick(&g);
	offender(&g, 2);
	reporter(&g, REP);
	say_over(guest(&g, REP), HUNDRED);
	run(&g, 4);
	g.in.guests = 1;
	run(&g, 1);
	assert_why(&g, 2, FADING, 1000, 100000, 0, 0);
	rig_param(&g, "calm", 1000);
	rig_param(&g, "futile", 500 * (uint64_t)MS);
	run(&g, 600); /* its last word was that this guest hurts it, and is not taken */
	assert_int_equal(rate(&g, 2), 100 * ONE);
	run(&g, 3000);
	assert_int_equal(rate(&g, 2), ONE);
	assert_int_equal(reason(&g, 2), FREE); /* by back-off, not as futile */
	rig_close(&g);
}

TEST(flags__exempt_meanwhile__is_free_and_forgotten)
{
	static struct rig g;

	open_raised(&g);
	guest(&g, OFF)->flags |= POLICY_EXEMPT;
	run(&g, 1);
	assert_why(&g, OFF, EXEMPT, 0, 1000, 0, 0);
	assert_int_equal(rate(&g, OFF), ONE);
	assert_false(g.plan.guest[OFF].cap.limited);
	assert_int_equal(state_of(&g, REP)->first_intf[OFF], 0);
	guest(&g, OFF)->flags = 0;
	run(&g, 1);
	assert_why(&g, OFF, NOT_CAPPABLE, 0, 1000, 0, 0);
	rig_close(&g);
}

TEST(empty__on_empty__lowest_cap_while_nothing_is_left)
{
	static struct rig g;

	ios_open(&g);
	guest(&g, OFF)->allocated.m = 1000;
	run(&g, 1);
	assert_false(g.plan.guest[OFF].cap.limited); /* off by default */
	rig_param(&g, "on_empty", 1);
	run(&g, 1);
	assert_why(&g, OFF, EMPTY, 1000, 1000, 0, 0);
	assert_int_equal(g.plan.guest[OFF].cap.mpct, 1000);
	assert_int_equal(rate(&g, OFF), ONE);
	guest(&g, OFF)->bounds.min_mpct = 7000;
	run(&g, 1);
	assert_int_equal(g.plan.guest[OFF].cap.mpct, 7000);
	assert_false(g.plan.guest[REP].cap.limited); /* nothing was issued to it */
	guest(&g, OFF)->flags = POLICY_EXEMPT;
	run(&g, 1);
	assert_int_equal(reason(&g, OFF), EXEMPT);
	assert_false(g.plan.guest[OFF].cap.limited);
	guest(&g, OFF)->flags = POLICY_CAPPABLE;
	guest(&g, OFF)->balance.m = 1;
	run(&g, 1);
	assert_int_equal(reason(&g, OFF), FREE);
	assert_false(g.plan.guest[OFF].cap.limited);
	rig_close(&g);
}
