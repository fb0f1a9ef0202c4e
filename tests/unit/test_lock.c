// SPDX-License-Identifier: GPL-2.0-or-later
/* lock: leases on a home's word, by schedules written by hand. */
#include "tests/unit/lock_rig.h"
#include "tests/unit/unit.h"

/* --- uncontended ------------------------------------------------------------------ */

RIG_TEST(acquire_release__uncontended__two_operations_in_two_rounds)
{
	struct rig *r = *state;

	hold(r, &r->a);
	ask(r, &r->a, LOCK_RELEASE);
	r->a.ops = 0;
	for (int i = 1; i <= 10; i++) {
		hold(r, &r->a);
		ask(r, &r->a, LOCK_RELEASE);
		assert_int_equal(lock_state(&r->a.lock), LOCK_IDLE);
		assert_int_equal(r->a.ops, 2 * i); /* each waits for the one before: rounds */
	}
	assert_word(*word(r), 0, START + 12);
}

RIG_TEST(acquire__each__is_one_seq_more_than_any_before)
{
	struct rig *r = *state;
	uint64_t last = 0;

	for (int i = 0; i < 10; i++) {
		struct host *h = i % 3 ? &r->a : &r->b;

		hold(r, h);
		assert_true(lock_fence(&h->lock) > last);
		last = lock_fence(&h->lock);
		assert_word(*word(r), h->lock.conf.self, last);
		assert_false(lock_unclean(&h->lock));
		ask(r, h, LOCK_RELEASE);
	}
}

RIG_TEST(acquire__guess_is_old_and_word_free__second_operation_takes_it)
{
	struct rig *r = *state;

	hold(r, &r->a);
	ask(r, &r->a, LOCK_RELEASE);
	hold(r, &r->b);
	ask(r, &r->b, LOCK_RELEASE);
	r->a.ops = 0;
	hold(r, &r->a);
	assert_int_equal(r->a.ops, 2);
}

/* --- the lease ---------------------------------------------------------------------- */

RIG_TEST(may_act__counts_hold_from_before_the_cas)
{
	struct rig *r = *state;
	struct mono before;
	struct step_op op;

	hold(r, &r->a);
	ask(r, &r->a, LOCK_RELEASE);
	before = r->now;
	tell(r, &r->a, rig_ask(LOCK_ACQUIRE));
	op = only(&r->a);
	r->now = mono_add(r->now, 30 * MS);
	give(r, &r->a, &op, STEP_DONE, rig_execute(&r->w, &op));
	assert_true(lock_may_act(&r->a.lock, r->now, HOLD - 30 * MS));
	assert_false(lock_may_act(&r->a.lock, r->now, HOLD - 30 * MS + 1));
	assert_true(lock_may_act(&r->a.lock, mono_add(before, HOLD), 0));
	assert_false(lock_may_act(&r->a.lock, mono_add(before, HOLD + 1), 0));
	assert_true(mono_sub(lock_until(&r->a.lock), before) == HOLD);
}

RIG_TEST(break_time__outlasts_hold_deadline_and_both_drifts)
{
	struct rig *r = *state;
	struct lock_conf c = r->a.lock.conf;

	for (uint32_t ppm = 0; ppm <= 200000; ppm += 997) {
		double d, need;

		c.drift_ppm = ppm;
		d = ppm / 1e6;
		need = (double)(HOLD + DEADLINE) * (1 + d) / (1 - d); /* holder slow, waiter fast */
		assert_true((double)lock_break_ns(&c) >= need);
		assert_true((double)lock_break_ns(&c) >= HOLD * (1 + 2 * d) + DEADLINE);
		assert_true((double)lock_break_ns(&c) <= need + 2);
	}
}

RIG_TEST(wait__holder_dies__broken_after_break_time_and_unclean)
{
	struct rig *r = *state;
	int64_t brk = lock_break_ns(&r->b.lock.conf);
	struct mono seen;

	hold(r, &r->a);
	tell(r, &r->b, rig_ask(LOCK_ACQUIRE));
	run(r, &r->b);
	seen = r->now;
	tick_until(r, &r->b, mono_add(seen, brk - 1));
	assert_int_equal(lock_state(&r->b.lock), LOCK_WAITING);
	tick_until(r, &r->b, mono_add(seen, brk + CHECK));
	assert_int_equal(lock_state(&r->b.lock), LOCK_HELD);
	assert_true(lock_unclean(&r->b.lock));
	assert_word(*word(r), B, START + 3);
	assert_false(lock_may_act(&r->a.lock, mono_add(seen, brk), 0));
}

RIG_TEST(wait__whenever_begun__the_break_is_not_late_by_more_than_a_check)
{
	struct rig *r = *state;

	for (uint64_t i = 0; i < 200; i++) {
		struct mono seen, due;

		*word(r) = region_word(A, START + 100 + i);
		r->now = mono_add(r->now, 60 * 1000 * (int64_t)MS);
		ask(r, &r->b, LOCK_ACQUIRE);
		if (lock_state(&r->b.lock) == LOCK_HELD)
			fail_msg("taken at once");
		seen = r->b.lock.since;
		due = mono_add(seen, lock_break_ns(&r->b.lock.conf));
		tick_until(r, &r->b, mono_add(due, -1));
		assert_int_equal(lock_state(&r->b.lock), LOCK_WAITING);
		tick_until(r, &r->b, mono_add(due, CHECK));
		assert_int_equal(lock_state(&r->b.lock), LOCK_HELD);
		ask(r, &r->b, LOCK_RELEASE);
	}
}

RIG_TEST(wait__word_changes_hands__waits_anew)
{
	struct rig *r = *state;
	int64_t brk = lock_break_ns(&r->b.lock.conf);

	hold(r, &r->a);
	ask(r, &r->b, LOCK_ACQUIRE);
	tick_until(r, &r->b, mono_add(r->now, brk - 2 * CHECK));
	*word(r) = region_word(4, START + 9); /* a third host, just now */
	tick_until(r, &r->b, mono_add(r->now, brk - CHECK));
	assert_int_equal(lock_state(&r->b.lock), LOCK_WAITING);
	assert_word(*word(r), 4, START + 9);
}

RIG_TEST(wait__asked_again_later__goes_on_from_what_was_seen)
{
	struct rig *r = *state;
	int64_t brk = lock_break_ns(&r->b.lock.conf);

	hold(r, &r->a);
	ask(r, &r->b, LOCK_ACQUIRE);
	ask(r, &r->b, LOCK_RELEASE);
	assert_int_equal(lock_state(&r->b.lock), LOCK_IDLE);
	r->now = mono_add(r->now, brk);
	ask(r, &r->b, LOCK_ACQUIRE);
	assert_int_equal(lock_state(&r->b.lock), LOCK_HELD);
	assert_true(lock_unclean(&r->b.lock));
}

RIG_TEST(wait__at_most_one_operation_a_check)
{
	struct rig *r = *state;
	struct mono began = r->now;

	*word(r) = region_word(A, START + 2);
	ask(r, &r->b, LOCK_ACQUIRE);
	r->b.ops = 0;
	tick_until(r, &r->b, mono_add(began, HOLD));
	assert_in_range(r->b.ops, HOLD / CHECK * 3 / 4, HOLD / CHECK);
}

RIG_TEST(wait__hosts_look_at_different_times)
{
	struct rig *r = *state;
	int same = 0;

	*word(r) = region_word(4, START + 2);
	ask(r, &r->a, LOCK_ACQUIRE);
	ask(r, &r->b, LOCK_ACQUIRE);
	for (int i = 0; i < 10; i++) {
		struct mono now = r->now;

		same += lock_due(&r->a.lock).ns == lock_due(&r->b.lock).ns;
		tick_until(r, &r->a, lock_due(&r->a.lock));
		r->now = now;
		tick_until(r, &r->b, lock_due(&r->b.lock));
	}
	assert_true(same < 5);
}

RIG_TEST(wait__released_clean__next_look_takes_it_clean)
{
	struct rig *r = *state;

	hold(r, &r->a);
	ask(r, &r->b, LOCK_ACQUIRE);
	ask(r, &r->a, LOCK_RELEASE);
	r->b.ops = 0;
	tick_until(r, &r->b, mono_add(r->now, 2 * CHECK));
	assert_int_equal(lock_state(&r->b.lock), LOCK_HELD);
	assert_false(lock_unclean(&r->b.lock));
	assert_int_equal(r->b.ops, 1); /* the look was the CAS */
}

RIG_TEST(watch__word_stands_for_break_time__acquire_breaks_it_at_once)
{
	struct rig *r = *state;
	int64_t brk = lock_break_ns(&r->b.lock.conf);

	hold(r, &r->a);
	ask(r, &r->b, LOCK_WATCH);
	r->b.ops = 0;
	tick_until(r, &r->b, mono_add(r->now, brk));
	assert_in_range(r->b.ops, brk / CHECK * 3 / 4, brk / CHECK + 1);
	assert_word(*word(r), A, START + 2); /* takes nothing */
	hold(r, &r->b);
	assert_true(lock_unclean(&r->b.lock));
}

RIG_TEST(watch__word_gets_free__is_not_taken_before_it_is_asked)
{
	struct rig *r = *state;

	hold(r, &r->a);
	ask(r, &r->b, LOCK_WATCH);
	ask(r, &r->a, LOCK_RELEASE);
	tick_until(r, &r->b, mono_add(r->now, 2 * CHECK));
	assert_word(*word(r), 0, START + 2);
	hold(r, &r->b);
	ask(r, &r->b, LOCK_RELEASE);
	ask(r, &r->b, LOCK_WATCH);
	ask(r, &r->b, LOCK_RELEASE);
	assert_int_equal(lock_state(&r->b.lock), LOCK_IDLE);
}

RIG_TEST(watch__word_changes_after_break_time__is_seen)
{
	struct rig *r = *state;
	int64_t brk = lock_break_ns(&r->b.lock.conf);

	hold(r, &r->a);
	ask(r, &r->b, LOCK_WATCH);
	tick_until(r, &r->b, mono_add(r->now, brk));
	*word(r) = region_word(4, START + 3);
	tick_until(r, &r->b, mono_add(r->now, brk + 2 * CHECK));
	hold(r, &r->b); /* at once: it has stood since */
	assert_word(*word(r), B, START + 4);
}

RIG_TEST(watch__acquire_while_a_look_is_under_way__is_not_delayed)
{
	struct rig *r = *state;
	int64_t brk = lock_break_ns(&r->b.lock.conf);
	struct step_op op;

	hold(r, &r->a);
	ask(r, &r->b, LOCK_WATCH);
	tick_until(r, &r->b, mono_add(r->now, brk));
	r->now = lock_due(&r->b.lock);
	tell(r, &r->b, (struct step_event){ .type = STEP_TICK });
	op = only(&r->b);
	tell(r, &r->b, rig_ask(LOCK_ACQUIRE));
	give(r, &r->b, &op, STEP_DONE, rig_execute(&r->w, &op));
	run(r, &r->b);
	assert_int_equal(lock_state(&r->b.lock), LOCK_HELD);
}

RIG_TEST(watch__begun_anew__looks_at_once)
{
	struct rig *r = *state;

	hold(r, &r->a);
	ask(r, &r->b, LOCK_ACQUIRE);
	ask(r, &r->b, LOCK_RELEASE);
	r->b.ops = 0;
	ask(r, &r->b, LOCK_WATCH);
	assert_int_equal(r->b.ops, 1);
}

RIG_TEST(seen__word_is_free__after_a_look)
{
	struct rig *r = *state;

	tell(r, &r->b, rig_ask(LOCK_WATCH));
	assert_false(lock_seen(&r->b.lock));
	run(r, &r->b);
	assert_true(lock_seen(&r->b.lock));
	ask(r, &r->b, LOCK_RELEASE);
	assert_false(lock_seen(&r->b.lock)); /* what was free may not be so any more */
	tell(r, &r->b, rig_ask(LOCK_WATCH));
	assert_false(lock_seen(&r->b.lock));
}

RIG_TEST(seen__word_is_anothers__after_two_looks)
{
	struct rig *r = *state;

	hold(r, &r->a);
	ask(r, &r->b, LOCK_WATCH);
	assert_false(lock_seen(&r->b.lock));
	tick_until(r, &r->b, mono_add(r->now, CHECK / 2));
	assert_false(lock_seen(&r->b.lock));
	tick_until(r, &r->b, mono_add(r->now, CHECK));
	assert_true(lock_seen(&r->b.lock));
}

RIG_TEST(seen__link_breaks__not_before_it_is_looked_at_again)
{
	struct rig *r = *state;
	struct step_op op;

	ask(r, &r->b, LOCK_WATCH);
	r->now = lock_due(&r->b.lock);
	tell(r, &r->b, (struct step_event){ .type = STEP_TICK });
	op = only(&r->b);
	assert_true(lock_seen(&r->b.lock));
	give(r, &r->b, &op, STEP_LOST, 0);
	assert_false(lock_seen(&r->b.lock));
	tell(r, &r->b, rig_link(HOME, ++r->b.link));
	assert_false(lock_seen(&r->b.lock));
	run(r, &r->b);
	assert_true(lock_seen(&r->b.lock));
}

/* --- releases ----------------------------------------------------------------------- */

RIG_TEST(release__after_it_was_broken__fails_harmlessly)
{
	struct rig *r = *state;

	hold(r, &r->a);
	ask(r, &r->b, LOCK_ACQUIRE);
	tick_until(r, &r->b, mono_add(r->now, lock_break_ns(&r->b.lock.conf) + CHECK));
	assert_word(*word(r), B, START + 3);
	ask(r, &r->a, LOCK_RELEASE);
	assert_int_equal(lock_state(&r->a.lock), LOCK_IDLE);
	assert_word(*word(r), B, START + 3);
	assert_int_equal(lock_state(&r->b.lock), LOCK_HELD);
}

RIG_TEST(release__unclean__next_holder_takes_it_at_once_and_is_unclean)
{
	struct rig *r = *state;

	hold(r, &r->a);
	lock_mark(&r->a.lock, true);
	ask(r, &r->a, LOCK_RELEASE);
	assert_word(*word(r), LOCK_DIRTY, START + 2);
	hold(r, &r->b);
	assert_true(lock_unclean(&r->b.lock));
	lock_mark(&r->b.lock, false); /* swept */
	ask(r, &r->b, LOCK_RELEASE);
	assert_word(*word(r), 0, START + 3);
	hold(r, &r->a);
	assert_false(lock_unclean(&r->a.lock));
}

RIG_TEST(release__unknown__same_cas_on_a_newer_link_decides)
{
	struct rig *r = *state;

	for (int executed = 0; executed < 2; executed++) {
		struct step_op op;

		hold(r, &r->a);
		tell(r, &r->a, rig_ask(LOCK_RELEASE));
		op = only(&r->a);
		if (executed)
			rig_execute(&r->w, &op);
		give(r, &r->a, &op, STEP_UNKNOWN, 0);
		assert_int_equal(r->a.out.n, 0); /* not on the old link */
		assert_int_equal(lock_state(&r->a.lock), LOCK_RELEASING);
		new_link(r, &r->a);
		run(r, &r->a);
		assert_int_equal(lock_state(&r->a.lock), LOCK_IDLE);
		assert_int_equal(region_word_id(*word(r)), 0);
	}
}

RIG_TEST(release__asked_while_the_acquire_is_under_way__released_when_it_was_had)
{
	struct rig *r = *state;
	struct step_op op;

	hold(r, &r->a);
	ask(r, &r->a, LOCK_RELEASE);
	tell(r, &r->a, rig_ask(LOCK_ACQUIRE));
	op = only(&r->a);
	tell(r, &r->a, rig_ask(LOCK_RELEASE));
	give(r, &r->a, &op, STEP_DONE, rig_execute(&r->w, &op));
	run(r, &r->a);
	assert_int_equal(lock_state(&r->a.lock), LOCK_IDLE);
	assert_word(*word(r), 0, START + 3);
}

/* --- links -------------------------------------------------------------------------- */

RIG_TEST(acquire__unknown_and_executed__read_on_a_newer_link_finds_it_ours)
{
	struct rig *r = *state;
	struct mono began;
	struct step_op op;

	hold(r, &r->a);
	ask(r, &r->a, LOCK_RELEASE);
	began = r->now;
	tell(r, &r->a, rig_ask(LOCK_ACQUIRE));
	op = only(&r->a);
	r->now = mono_add(r->now, DEADLINE);
	give(r, &r->a, &op, STEP_UNKNOWN, 0);
	tell(r, &r->a, rig_link(HOME, r->a.link)); /* the old one again */
	tell(r, &r->a, (struct step_event){ .type = STEP_TICK });
	assert_int_equal(r->a.out.n, 0);
	rig_execute(&r->w, &op); /* late */
	new_link(r, &r->a);
	op = only(&r->a);
	assert_int_equal(op.kind, STEP_READ);
	give(r, &r->a, &op, STEP_DONE, rig_execute(&r->w, &op));
	assert_int_equal(lock_state(&r->a.lock), LOCK_HELD);
	assert_true(mono_sub(lock_until(&r->a.lock), began) == HOLD);
}

RIG_TEST(acquire__unknown_and_not_executed__is_tried_again)
{
	struct rig *r = *state;
	struct step_op op;

	hold(r, &r->a);
	ask(r, &r->a, LOCK_RELEASE);
	tell(r, &r->a, rig_ask(LOCK_ACQUIRE));
	op = only(&r->a);
	give(r, &r->a, &op, STEP_UNKNOWN, 0);
	new_link(r, &r->a);
	run(r, &r->a);
	assert_int_equal(lock_state(&r->a.lock), LOCK_HELD);
	assert_word(*word(r), A, START + 3);
}

RIG_TEST(acquire__lost__nothing_is_put_out_before_a_newer_link)
{
	struct rig *r = *state;
	struct step_op op;

	tell(r, &r->a, rig_ask(LOCK_ACQUIRE));
	op = only(&r->a);
	give(r, &r->a, &op, STEP_LOST, 0);
	r->now = mono_add(r->now, 60 * 1000 * (int64_t)MS);
	tell(r, &r->a, (struct step_event){ .type = STEP_TICK });
	assert_int_equal(r->a.out.n, 0);
	assert_true(lock_due(&r->a.lock).ns == INT64_MAX);
	new_link(r, &r->a);
	run(r, &r->a);
	assert_int_equal(lock_state(&r->a.lock), LOCK_HELD);
}

RIG_TEST(acquire__refused__again_after_a_check)
{
	struct rig *r = *state;
	struct step_op op;

	tell(r, &r->a, rig_ask(LOCK_ACQUIRE));
	op = only(&r->a);
	give(r, &r->a, &op, STEP_REFUSED, 0);
	assert_int_equal(r->a.out.n, 0);
	assert_true(lock_due(&r->a.lock).ns == r->now.ns + CHECK);
	tick_until(r, &r->a, lock_due(&r->a.lock));
	assert_int_equal(lock_state(&r->a.lock), LOCK_HELD);
}

/* --- restarts, breaks, views ------------------------------------------------------------ */

RIG_TEST(restart__own_word_of_before__taken_at_once_unclean)
{
	struct rig *r = *state;

	hold(r, &r->a);
	setup_host(r, &r->a, A); /* it forgot everything */
	hold(r, &r->a);
	assert_true(lock_unclean(&r->a.lock));
	assert_word(*word(r), A, START + 3);
}

RIG_TEST(fresh_word__is_waited_for_and_then_unclean)
{
	struct rig *r = *state;
	int64_t brk = lock_break_ns(&r->a.lock.conf);

	*word(r) = region_word(0,
			       START); /* the home has just begun: earlier holders are not known */
	ask(r, &r->a, LOCK_ACQUIRE);
	tick_until(r, &r->a, mono_add(r->now, brk - 1));
	assert_int_equal(lock_state(&r->a.lock), LOCK_WAITING);
	assert_word(*word(r), 0, START);
	tick_until(r, &r->a, mono_add(r->now, 1 + CHECK));
	assert_int_equal(lock_state(&r->a.lock), LOCK_HELD);
	assert_true(lock_unclean(&r->a.lock));
	assert_word(*word(r), A, START + 1);
}

RIG_TEST(home_restarts__a_word_like_the_old_one_is_waited_for_anew)
{
	struct rig *r = *state;
	int64_t brk = lock_break_ns(&r->b.lock.conf);

	*word(r) = region_word(A, START + 1);
	ask(r, &r->b, LOCK_ACQUIRE);
	tick_until(r, &r->b, mono_add(r->now, brk - CHECK));
	new_link(r, &r->b); /* home began anew, and A took it again: the same word */
	tick_until(r, &r->b, mono_add(r->now, brk - 1));
	assert_word(*word(r), A, START + 1);
}

RIG_TEST(operator_breaks__holder_cannot_release_next_takes_it_unclean)
{
	struct rig *r = *state;

	hold(r, &r->a);
	*word(r) = lease_broken_word(*word(r));
	assert_word(*word(r), REGION_LOCK_BROKEN, START + 3);
	ask(r, &r->a, LOCK_RELEASE);
	assert_word(*word(r), REGION_LOCK_BROKEN, START + 3);
	hold(r, &r->b);
	assert_true(lock_unclean(&r->b.lock));
	assert_word(*word(r), B, START + 4);
}

RIG_TEST(view__home_is_the_lowest_member_and_seq_begins_at_the_view)
{
	struct rig *r = *state;
	uint64_t *at2 = rig_word(&r->w, 2, region_lock_offset(SERVICE));
	uint64_t before;

	tell(r, &r->b, rig_view(6, 0xf, true)); /* fresh there: its epoch is 5 */
	ask(r, &r->b, LOCK_ACQUIRE);
	tick_until(r, &r->b, mono_add(r->now, lock_break_ns(&r->b.lock.conf) + CHECK));
	assert_word(*word(r), B, (6ull << 32) + 2);
	before = lock_fence(&r->b.lock);

	*at2 = region_word(0, 3ull << 32);
	tell(r, &r->b, rig_view(8, 0xe, true));		     /* host 1 went */
	assert_int_equal(lock_state(&r->b.lock), LOCK_IDLE); /* what was held is no more */
	ask(r, &r->b, LOCK_ACQUIRE);
	tick_until(r, &r->b, mono_add(r->now, lock_break_ns(&r->b.lock.conf) + CHECK));
	assert_word(*at2, B, (8ull << 32) + (3 << 20) + 1);
	assert_true(lock_fence(&r->b.lock) > before);
	assert_true(lock_unclean(&r->b.lock));
}

RIG_TEST(view__stays_while_the_home_restarts__fences_still_grow)
{
	struct rig *r = *state;
	uint64_t before = 0;

	tell(r, &r->a, rig_view(9, 0xf, true));
	for (uint64_t generation = 6; generation < 10; generation++) {
		*word(r) = region_word(0, generation << 32);
		new_link(r, &r->a);
		ask(r, &r->a, LOCK_ACQUIRE);
		tick_until(r, &r->a, mono_add(r->now, lock_break_ns(&r->a.lock.conf) + CHECK));
		assert_int_equal(lock_state(&r->a.lock), LOCK_HELD);
		assert_int_equal(lock_epoch(lock_fence(&r->a.lock)), 9);
		assert_true(lock_fence(&r->a.lock) > before);
		before = lock_fence(&r->a.lock);
		ask(r, &r->a, LOCK_RELEASE);
	}
}

RIG_TEST(view__not_quorate__nothing_is_taken_and_nothing_may_be_done)
{
	struct rig *r = *state;

	hold(r, &r->a);
	tell(r, &r->a, rig_view(0, 0xf, false));
	assert_false(lock_may_act(&r->a.lock, r->now, 0));
	ask(r, &r->a, LOCK_RELEASE); /* that decides nothing */
	assert_word(*word(r), 0, START + 2);
	ask(r, &r->a, LOCK_ACQUIRE);
	tick_until(r, &r->a, mono_add(r->now, 10 * HOLD));
	assert_word(*word(r), 0, START + 2);
	tell(r, &r->a, rig_view(0, 0xf, true));
	run(r, &r->a);
	assert_int_equal(lock_state(&r->a.lock), LOCK_HELD);
}

RIG_TEST(view__an_older_one_comes_late__is_ignored)
{
	struct rig *r = *state;

	tell(r, &r->a, rig_view(6, 0xf, true));
	tell(r, &r->a, rig_view(5, 0xe, false));
	assert_int_equal(r->a.lock.home, HOME);
	assert_true(r->a.lock.quorate);
}

RIG_TEST(view__a_newer_one_had_the_lock__is_not_taken_before_it_is_told)
{
	struct rig *r = *state;

	tell(r, &r->a, rig_view(7, 0xf, true));
	tell(r, &r->b, rig_view(6, 0xf, true));
	tick_until(r, &r->a, mono_add(r->now, BREAK_AT_MOST));
	*word(r) = region_word(0, (7ull << 32) + 5); /* clean to hosts of view 7 */
	ask(r, &r->b, LOCK_ACQUIRE);
	tick_until(r, &r->b, mono_add(r->now, BREAK_AT_MOST));
	*word(r) = region_word(LOCK_DIRTY, (7ull << 32) + 6);
	tick_until(r, &r->b, mono_add(r->now, BREAK_AT_MOST));
	*word(r) = region_word(A, (7ull << 32) + 7);
	tick_until(r, &r->b, mono_add(r->now, BREAK_AT_MOST));
	*word(r) = region_word(B, (7ull << 32) + 8); /* of before a restart */
	tick_until(r, &r->b, mono_add(r->now, BREAK_AT_MOST));
	assert_word(*word(r), B, (7ull << 32) + 8);
	assert_int_equal(lock_state(&r->b.lock), LOCK_WAITING);
	*word(r) = region_word(0, (7ull << 32) + 9);
	tell(r, &r->b, rig_view(7, 0xf, true));
	tick_until(r, &r->b, mono_add(r->now, 2 * CHECK));
	assert_int_equal(lock_state(&r->b.lock), LOCK_HELD);
	assert_word(*word(r), B, (7ull << 32) + 10);
	assert_false(lock_unclean(&r->b.lock));
}

RIG_TEST(view__a_newer_one_had_the_lock_unseen__a_guess_does_not_take_it)
{
	struct rig *r = *state;

	tell(r, &r->b, rig_view(6, 0xf, true));
	*word(r) = region_word(0, (6ull << 32) + 3);
	hold(r, &r->b);
	ask(r, &r->b, LOCK_RELEASE);
	*word(r) = region_word(A, (7ull << 32) + 4);
	ask(r, &r->b, LOCK_ACQUIRE);
	*word(r) = region_word(0, (7ull << 32) + 4);
	tick_until(r, &r->b, mono_add(r->now, BREAK_AT_MOST));
	assert_word(*word(r), 0, (7ull << 32) + 4);
}

RIG_TEST(view__a_restarted_homes_word__is_of_no_newer_view)
{
	struct rig *r = *state;

	tell(r, &r->b, rig_view(6, 0xf, true));
	*word(r) = region_word(0, 9ull << 32); /* of its ninth start */
	ask(r, &r->b, LOCK_ACQUIRE);
	tick_until(r, &r->b, mono_add(r->now, BREAK_AT_MOST));
	assert_int_equal(lock_state(&r->b.lock), LOCK_HELD);
	assert_int_equal(lock_epoch(lock_fence(&r->b.lock)), 6);
	assert_true(lock_unclean(&r->b.lock));
}

TEST(epochs__compare_by_difference)
{
	assert_true(lock_epoch_ahead(1, 0));
	assert_false(lock_epoch_ahead(0, 1));
	assert_false(lock_epoch_ahead(7, 7));
	assert_true(lock_epoch_ahead(0, 0xffff)); /* it wrapped */
	assert_true(lock_epoch_ahead(0x7fff, 0));
	assert_false(lock_epoch_ahead(0x8001, 0));
	assert_int_equal(lock_epoch(0x123400000005), 0x1234);
}

RIG_TEST(step__no_room__puts_it_out_when_there_is)
{
	struct rig *r = *state;

	r->a.out.n = STEP_OPS_MAX;
	tell(r, &r->a, rig_ask(LOCK_ACQUIRE));
	assert_int_equal(r->a.out.n, STEP_OPS_MAX);
	assert_true(lock_due(&r->a.lock).ns <= r->now.ns);
	r->a.out.n = 0;
	tell(r, &r->a, (struct step_event){ .type = STEP_TICK });
	run(r, &r->a);
	assert_int_equal(lock_state(&r->a.lock), LOCK_HELD);
}
