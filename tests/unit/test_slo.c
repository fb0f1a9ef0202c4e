// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * slo: windows, what they say, the search for a level, members and their turns, promises that no
 * cap holds.
 *
 * The reporter in slot 3 is promised 5 % over a mean of 200 us, of which 60 us are for I/O: an
 * excess of 1 is 10 us. The sender in slot 7 has so many queues that it can have caused any harm.
 */
#include "policies/slo.h"

#include <string.h>

#include "tests/unit/policy_rig.h"
#include "tests/unit/unit.h"

enum { REP = 3, BULK = 7, OTHER = 9 };
enum {
	HOLDS,
	CAPPED,
	CLAIM,
	FLOOR,
	EXEMPT,
	UNCAPPABLE,
	PROMISED,
	REFUSED,
	OTHER_REFUSED,
	SMALL,
	UNHEARD,
	UNKNOWN,
};

#define MS NS_PER_MS

static void say(struct policy_guest *p, uint64_t n, uint64_t over_ns)
{
	p->report = (struct report){ .n = n,
				     .sum_ns = n * (200000 + over_ns),
				     .io_sum_ns = n * (60000 + over_ns) };
}

static struct policy_guest *add_reporter(struct rig *g, uint32_t slot)
{
	struct policy_guest *p = rig_guest(g, slot);

	p->sla = (struct sla){ .base_ns = 200000, .base_io_ns = 60000 };
	p->usage.mtus_sent = 237;
	say(p, 4, 0);
	return p;
}

static struct policy_guest *add_sender(struct rig *g, uint32_t slot)
{
	struct policy_guest *p = rig_guest(g, slot);

	p->usage.mtus_sent = 811;
	p->usage.queues = 1000;
	return p;
}

/* A window is an interval; caps have an effect at once. */
static void open_slo(struct rig *g)
{
	rig_open(g, &policy_slo);
	rig_param(g, "window", MS);
	rig_param(g, "min_samples", 4);
	rig_param(g, "bite", 0);
	rig_param(g, "retry", 200 * MS);
	rig_param(g, "stale", 20 * MS);
	rig_param(g, "futile", 50 * MS);
	rig_param(g, "rest", 500 * MS);
	g->in.links = 2;
	g->in.link[0] = (struct policy_link){ .bytes_s = 1u << 30, .mtu = 1024 };
	g->in.link[1] = g->in.link[0];
	g->in.now.ns = 100 * NS_PER_S;
	add_reporter(g, REP);
	add_sender(g, BULK);
}

static struct policy_guest *guest(struct rig *g, uint32_t slot)
{
	for (uint32_t i = 0; i < g->in.guests; i++)
		if (g->in.guest[i].slot == slot)
			return &g->in.guest[i];
	fail_msg("no guest in slot %u", slot);
	return NULL;
}

/* What the engine does with a plan: the cap is in force at once. */
static void obey(struct rig *g)
{
	for (uint32_t i = 0; i < g->in.guests; i++) {
		struct policy_guest *p = &g->in.guest[i];
		struct cap cap = cap_clamp(g->plan.guest[p->slot].cap, &p->bounds);

		if (cap_equal(cap, p->cap))
			continue;
		p->cap = cap;
		p->cap_time = g->in.now;
	}
}

static void tick(struct rig *g, int n)
{
	for (; n; n--) {
		g->in.now.ns += MS;
		rig_decide(g);
		obey(g);
	}
}

/* The level of the sender; 100: none. */
static uint32_t level(struct rig *g, uint32_t slot)
{
	return guest(g, slot)->cap.limited ? cap_to_percent(guest(g, slot)->cap) : 100;
}

/* An excess in tenths, for so many intervals. */
static void over(struct rig *g, uint64_t tenths, int n)
{
	say(guest(g, REP), 4, tenths * 1000);
	tick(g, n);
}

#define REASON(slot) (g->plan.guest[slot].reason)

#define SLO_TEST(name)                                                                             \
	static void name##_in(struct rig *g);                                                      \
	TEST(name)                                                                                 \
	{                                                                                          \
		static struct rig rig;                                                             \
		(void)state;                                                                       \
		open_slo(&rig);                                                                    \
		name##_in(&rig);                                                                   \
		rig_close(&rig);                                                                   \
	}                                                                                          \
	static void name##_in(struct rig *g)

/* --- windows --- */

SLO_TEST(promise__held__no_cap)
{
	tick(g, 2);
	assert_int_equal(REASON(BULK), UNKNOWN);
	over(g, 9, 200);
	assert_int_equal(level(g, BULK), 100);
	assert_int_equal(REASON(BULK), HOLDS);
	assert_int_equal(REASON(REP), PROMISED);
	assert_int_equal(g->plan.guest[BULK].why[1], 44);
	assert_int_equal(g->plan.guest[BULK].why[3], 50);
}

SLO_TEST(gross__after_one_window__level_is_lowered_by_its_factor)
{
	over(g, 30, 2);
	assert_int_equal(level(g, BULK), 100 * 9 / 30);
	assert_int_equal(REASON(BULK), CAPPED);
	assert_int_equal(g->plan.guest[BULK].why[0], 30000);
	assert_int_equal(g->plan.guest[BULK].why[1], 149);
	assert_int_equal(g->plan.guest[BULK].why[2], REP);
}

SLO_TEST(gross__begins_at_twice_the_promise)
{
	over(g, 20, 2); /* rounded down, it is below */
	assert_int_equal(level(g, BULK), 100);
	tick(g, 3);
	assert_int_equal(level(g, BULK), 45);
	say(guest(g, REP), 4, 20010);
	tick(g, 1);
	assert_true(level(g, BULK) < 45);
}

SLO_TEST(excess_of_1_9__fails_after_four_windows)
{
	over(g, 19, 4);
	assert_int_equal(level(g, BULK), 100);
	tick(g, 1);
	assert_int_equal(level(g, BULK), 47);
}

SLO_TEST(excess_of_1_2__fails_after_sixteen_windows)
{
	over(g, 12, 16);
	assert_int_equal(level(g, BULK), 100);
	tick(g, 1);
	assert_int_equal(level(g, BULK), 75);
}

SLO_TEST(excess_of_1_05__fails_after_64_windows)
{
	say(guest(g, REP), 4, 10500);
	tick(g, 64);
	assert_int_equal(level(g, BULK), 100);
	tick(g, 1);
	assert_int_equal(level(g, BULK), 85);
}

SLO_TEST(few_samples__an_eighth_is_enough_after_sixteen_windows)
{
	rig_param(g, "min_samples", 1000);
	over(g, 30, 16);
	assert_int_equal(level(g, BULK), 100);
	rig_param(g, "min_samples", 8 * 4 * 17);
	tick(g, 1);
	assert_int_equal(level(g, BULK), 100);
	tick(g, 1);
	assert_int_equal(level(g, BULK), 30);
}

SLO_TEST(contradictory_report__does_not_count)
{
	struct policy_guest *r = guest(g, REP);

	for (int i = 0; i < 3; i++) {
		say(r, 4, 30000);
		if (i == 0)
			r->report.io_sum_ns = r->report.sum_ns + 1;
		if (i == 1)
			r->report.sum_ns = (4ull << 34) + 1;
		if (i == 2)
			r->report = (struct report){ .n = (1 << 20) + 1, .sum_ns = 1ull << 50 };
		tick(g, 3);
		assert_int_equal(level(g, BULK), 100);
		assert_int_equal(REASON(BULK), UNHEARD);
	}
}

/* --- what is believed --- */

SLO_TEST(claim__counts_as_far_as_others_traffic_can_cause_it)
{
	/* One queue that always has work: each request waits 60 us more at most, an excess of 6. */
	guest(g, BULK)->usage.queues = 1;
	over(g, 1000, 2);
	assert_int_equal(level(g, BULK), 15);
	assert_int_equal(REASON(BULK), CLAIM);
	assert_int_equal(g->plan.guest[BULK].why[1], 299);
	assert_int_equal(g->plan.guest[BULK].why[3], 5000);
}

SLO_TEST(claim__link_that_is_busy_for_a_part__is_believed_for_that_part)
{
	/* A tenth of the link, of what the reporter leaves: 105 of 1048 - 105. */
	guest(g, BULK)->usage.queues = 1;
	guest(g, BULK)->usage.mtus_sent = 105;
	over(g, 1000, 200);
	assert_int_equal(level(g, BULK), 100);
	assert_int_equal(g->plan.guest[BULK].why[1], 33);
}

SLO_TEST(claim__its_own_queues_are_none_of_others)
{
	guest(g, REP)->usage.queues = 1000;
	guest(g, BULK)->usage.queues = 1;
	over(g, 1000, 2);
	assert_int_equal(level(g, BULK), 15);
}

/* --- the search --- */

SLO_TEST(level_that_fails_again__is_halved_when_nothing_changed)
{
	over(g, 25, 2);
	assert_int_equal(level(g, BULK), 36);
	tick(g, 1);
	assert_int_equal(level(g, BULK), 12);
	over(g, 13, 5);
	assert_int_equal(level(g, BULK), 6);
}

SLO_TEST(level_that_fails_again__goes_on_by_the_factor_when_less_was_sent)
{
	over(g, 25, 2);
	guest(g, BULK)->usage.mtus_sent = 300;
	over(g, 13, 5);
	assert_int_equal(level(g, BULK), 24);
}

SLO_TEST(level_that_holds__is_raised_to_the_middle_and_no_further_than_one_that_failed)
{
	over(g, 30, 2);
	assert_int_equal(level(g, BULK), 30);
	guest(g, BULK)->usage.mtus_sent = 200;
	over(g, 5, 17);
	assert_int_equal(level(g, BULK), 54);
	over(g, 30, 2);
	assert_int_equal(level(g, BULK), 30);
	over(g, 6, 17);
	assert_int_equal(level(g, BULK), 40);
	over(g, 8, 17);
	assert_int_equal(level(g, BULK), 46);
}

SLO_TEST(level_near_its_promise__stays)
{
	over(g, 30, 2);
	say(guest(g, REP), 4, 9010);
	tick(g, 300);
	assert_int_equal(level(g, BULK), 30);
}

/* After how many intervals level 5, which costs over_ns, is tried again; 4 has 0.85. */
static void find_waits(struct rig *g, uint64_t over_ns, int waits[3])
{
	int n = 0;

	rig_param(g, "retry", 300 * MS);
	over(g, 225, 2);
	assert_int_equal(level(g, BULK), 4);
	guest(g, BULK)->usage.mtus_sent = 60;
	for (int i = 0, last = 0; i < 10000 && n < 3; i++) {
		say(guest(g, REP), 4, level(g, BULK) > 4 ? over_ns : 8500);
		tick(g, 1);
		if (level(g, BULK) == 5 && i - last > 20)
			waits[n++] = i - last;
		if (level(g, BULK) == 5)
			last = i;
	}
	assert_int_equal(n, 3);
}

SLO_TEST(level_whose_next_one_is_above_by_little__the_mean_of_both_is_near_the_promise)
{
	int waits[3] = { 0 };

	/* 16 intervals at 1.2 and 40 at 0.85, which are judged each 16. */
	find_waits(g, 12000, waits);
	for (int i = 0; i < 3; i++)
		assert_in_range(waits[i], 41, 58);
}

SLO_TEST(level_whose_next_one_is_gross__is_tried_again_after_retry_and_then_later)
{
	int waits[3] = { 0 };

	find_waits(g, 25000, waits);
	assert_in_range(waits[0], 580, 640);
	assert_in_range(waits[1], 1180, 1260);
	assert_in_range(waits[2], 2380, 2460);
}

SLO_TEST(harm_is_gone__level_rises_at_once_and_caps_are_lifted)
{
	over(g, 100, 2);
	assert_int_equal(level(g, BULK), 9);
	over(g, 0, 5); /* at most twice as high in a step */
	assert_int_equal(level(g, BULK), 18);
	over(g, 0, 15);
	assert_int_equal(level(g, BULK), 100);
	assert_int_equal(REASON(BULK), HOLDS);
}

SLO_TEST(harm_is_back__gross__the_level_that_it_had_settled_at_is_taken)
{
	for (int gross = 0; gross < 2; gross++) {
		over(g, 100, 2);
		guest(g, BULK)->usage.mtus_sent = 200;
		say(guest(g, REP), 4, 9010);
		tick(g, 70);
		assert_int_equal(level(g, BULK), 9);
		guest(g, BULK)->usage.mtus_sent = 0;
		tick(g, 110);
		assert_int_equal(level(g, BULK), 100);
		guest(g, BULK)->usage.mtus_sent = 811;
		over(g, 0, 64);
		say(guest(g, REP), 4, gross ? 30000 : 19000);
		for (int i = 0; i < 70 && level(g, BULK) == 100; i++)
			tick(g, 1);
		assert_int_equal(level(g, BULK), gross ? 9 : 47);
		say(guest(g, REP), 0, 0);
		tick(g, 30);
	}
}

SLO_TEST(worst_of_several_reporters__decides)
{
	struct policy_guest *r = add_reporter(g, OTHER);

	r->sla.tolerance = 100;
	say(r, 4, 50000); /* an excess of 2.5 of its own promise */
	over(g, 21, 2);
	assert_int_equal(level(g, BULK), 36);
	assert_int_equal(g->plan.guest[BULK].why[2], OTHER);
	assert_int_equal(g->plan.guest[BULK].why[3], 100);
}

SLO_TEST(other_link__is_left_alone)
{
	add_sender(g, OTHER)->link = 1;
	over(g, 30, 5);
	assert_int_equal(level(g, OTHER), 100);
	assert_int_equal(REASON(OTHER), UNHEARD);
}

SLO_TEST(reporter_of_another_link__does_not_decide)
{
	struct policy_guest *r = add_reporter(g, OTHER);

	add_sender(g, OTHER + 1)->link = 1;
	r->link = 1;
	say(r, 4, 50000);
	over(g, 9, 10);
	assert_int_equal(level(g, BULK), 100);
	assert_true(level(g, OTHER + 1) < 100);
}

/* For so many intervals the sender sends in one of `each`. */
static void bursts(struct rig *g, int each, int n)
{
	for (int i = 0; i < n; i++) {
		guest(g, BULK)->usage.mtus_sent = i % each ? 0 : 811;
		tick(g, 1);
	}
}

/* Intervals from a gross failure to the next one, beside a sender of such bursts. */
static int time_between(struct rig *g, int each)
{
	uint32_t before;
	int n = 0;

	over(g, 30, 2);
	say(guest(g, REP), 4, 9010);
	bursts(g, each, 2 * each + 1);
	say(guest(g, REP), 4, 800000);
	for (before = level(g, BULK); level(g, BULK) == before; n++)
		tick(g, 1);
	for (before = level(g, BULK), n = 0; n < 100 && level(g, BULK) == before; n++)
		bursts(g, each, 1);
	return n;
}

SLO_TEST(member_that_sends_in_bursts__a_window_has_a_whole_one)
{
	assert_in_range(time_between(g, 8), 8, 10);
}

SLO_TEST(member_that_pauses_for_longer_than_stale__a_window_is_as_long_as_stale)
{
	assert_in_range(time_between(g, 30), 20, 23);
}

/* --- members --- */

SLO_TEST(guest_that_is_promised_a_mean__is_never_capped)
{
	guest(g, BULK)->sla.base_ns = 1000;
	over(g, 30, 50);
	assert_int_equal(level(g, BULK), 100);
	assert_int_equal(REASON(BULK), PROMISED);
}

SLO_TEST(exempt_and_uncappable_guests__are_not_capped)
{
	guest(g, BULK)->flags |= POLICY_EXEMPT;
	add_sender(g, OTHER)->flags = 0;
	over(g, 30, 50);
	assert_int_equal(level(g, BULK), 100);
	assert_int_equal(REASON(BULK), EXEMPT);
	assert_int_equal(level(g, OTHER), 100);
	assert_int_equal(REASON(OTHER), UNCAPPABLE);
}

SLO_TEST(member_that_becomes_exempt__loses_its_cap)
{
	over(g, 30, 2);
	guest(g, BULK)->flags |= POLICY_EXEMPT;
	tick(g, 2);
	guest(g, BULK)->flags &= ~(uint32_t)POLICY_EXEMPT;
	say(guest(g, REP), 4, 9000);
	tick(g, 2);
	assert_int_equal(level(g, BULK), 100);
}

/* With a share s of the link a guest can cost 0.3 s: two of them a quarter of 5 %. */
SLO_TEST(guest_that_sends_little__is_spared)
{
	struct policy_guest *small = add_sender(g, OTHER);

	small->usage.mtus_sent = 21;
	over(g, 30, 2);
	assert_int_equal(level(g, OTHER), 100);
	assert_int_equal(REASON(OTHER), SMALL);
	small->usage.mtus_sent = 22;
	tick(g, 2);
	assert_true(level(g, OTHER) < 100);
}

SLO_TEST(only_guests_that_send_little__all_are_capped)
{
	guest(g, BULK)->usage.mtus_sent = 20;
	add_sender(g, OTHER)->usage.mtus_sent = 20;
	over(g, 30, 2);
	assert_int_equal(level(g, BULK), 30);
	assert_int_equal(level(g, OTHER), 30);
}

SLO_TEST(members__are_capped_in_turn)
{
	uint64_t at[3] = { 0 };
	const uint32_t slot[3] = { BULK, OTHER, OTHER + 1 };

	rig_param(g, "bite", 10 * MS);
	add_sender(g, OTHER);
	add_sender(g, OTHER + 1);
	say(guest(g, REP), 4, 30000);
	for (int i = 0; i < 60; i++) {
		tick(g, 1);
		for (int k = 0; k < 3; k++)
			if (!at[k] && level(g, slot[k]) < 100)
				at[k] = (uint64_t)g->in.now.ns;
	}
	/* In the cycle of five refills: 0, a half, a quarter. */
	assert_int_equal(at[1] - at[0], 25 * MS);
	assert_int_equal(at[2] - at[0], 13 * MS);
}

SLO_TEST(windows__wait_for_the_last_turn_and_its_effect)
{
	rig_param(g, "bite", 10 * MS);
	add_sender(g, OTHER);
	over(g, 30, 2);
	assert_int_equal(level(g, BULK), 30);
	/* The second is capped 25 ms later, which has its effect 10 ms after that. */
	over(g, 30, 35);
	assert_int_equal(level(g, BULK), 30);
	assert_int_equal(level(g, OTHER), 30);
	/* Its own turn is at the beginning of a cycle of 50 ms. */
	over(g, 30, 14);
	assert_int_equal(level(g, BULK), 30);
	over(g, 30, 1);
	assert_int_equal(level(g, BULK), 9);
}

SLO_TEST(cap_that_is_not_set__is_awaited_for_stale)
{
	over(g, 30, 1);
	for (int i = 0; i < 15; i++) {
		g->in.now.ns += MS;
		rig_decide(g); /* and not obeyed */
		assert_int_equal(g->plan.guest[BULK].cap.mpct, 30000);
	}
	for (int i = 0; i < 15; i++) {
		g->in.now.ns += MS;
		rig_decide(g);
	}
	assert_true(g->plan.guest[BULK].cap.mpct < 30000);
}

SLO_TEST(several_vcpus__level_is_of_all_of_them)
{
	guest(g, BULK)->bounds.vcpus = 4;
	over(g, 30, 2);
	assert_int_equal(level(g, BULK), 120);
}

SLO_TEST(members_that_are_silent__have_their_caps_lifted)
{
	over(g, 30, 2);
	guest(g, BULK)->usage.mtus_sent = 0;
	over(g, 0, 95);
	assert_int_equal(level(g, BULK), 30);
	tick(g, 10);
	assert_int_equal(level(g, BULK), 100);
}

SLO_TEST(reporter_that_is_silent__all_caps_are_lifted)
{
	over(g, 30, 2);
	say(guest(g, REP), 0, 0);
	tick(g, 20);
	assert_int_equal(level(g, BULK), 30);
	tick(g, 2);
	assert_int_equal(level(g, BULK), 100);
	assert_int_equal(REASON(BULK), UNHEARD);
}

/* --- promises that no cap holds --- */

/* To level 1, at which the harm is still there. */
static void to_floor(struct rig *g)
{
	over(g, 900, 3);
	assert_int_equal(level(g, BULK), 1);
}

SLO_TEST(lowest_level_does_not_help__refused_and_lifted_and_left_alone_for_rest)
{
	to_floor(g);
	over(g, 500, 40);
	assert_int_equal(level(g, BULK), 1);
	assert_int_equal(REASON(BULK), FLOOR);
	tick(g, 15);
	assert_int_equal(level(g, BULK), 100);
	assert_int_equal(REASON(REP), REFUSED);
	assert_int_equal(REASON(BULK), OTHER_REFUSED);
	assert_int_equal(g->plan.guest[REP].why[1], 2500);
	tick(g, 440);
	assert_int_equal(level(g, BULK), 100);
	tick(g, 60);
	assert_true(level(g, BULK) < 100);
}

SLO_TEST(lowest_level_takes_half_away__is_kept)
{
	to_floor(g);
	over(g, 450, 200);
	assert_int_equal(level(g, BULK), 1);
	assert_int_equal(REASON(BULK), FLOOR);
}

SLO_TEST(lowest_level__futile_0__is_kept)
{
	rig_param(g, "futile", 0);
	to_floor(g);
	over(g, 900, 200);
	assert_int_equal(level(g, BULK), 1);
}

SLO_TEST(promise_that_is_refused__does_not_hide_another)
{
	to_floor(g);
	over(g, 900, 60);
	assert_int_equal(REASON(REP), REFUSED);
	say(add_reporter(g, OTHER), 4, 30000);
	tick(g, 2);
	assert_int_equal(level(g, BULK), 30);
	assert_int_equal(REASON(BULK), CAPPED);
	assert_int_equal(g->plan.guest[BULK].why[2], OTHER);
}

SLO_TEST(lowest_cap_of_a_guest__is_the_lowest_level)
{
	guest(g, BULK)->bounds.min_mpct = 20000;
	over(g, 900, 3);
	assert_int_equal(level(g, BULK), 20);
	over(g, 900, 60);
	assert_int_equal(REASON(REP), REFUSED);
}
