// SPDX-License-Identifier: GPL-2.0-or-later
/* move: the two locks, when the holder of one of them lives, dies, or hangs. */
#include "tests/unit/move_rig.h"
#include "tests/unit/unit.h"

/* --- several at a time --------------------------------------------------------------- */

/* Execute everything that was put out; then advance the time, at most to upto. */
static bool turn(struct rig *r, struct mono upto)
{
	struct mono next = upto;
	bool any = false;

	for (int i = 2; i <= 4; i++) {
		struct mover *h = &r->mover[i];
		struct mono due = move_due(&h->move);

		any = any || h->out.n;
		if (h->out.n)
			execute_one(r, h);
		else if (due.ns < next.ns)
			next = due;
	}
	if (any)
		return true;
	if (next.ns > r->now.ns)
		r->now = next;
	for (int i = 2; i <= 4; i++)
		step_mover(r, &r->mover[i], (struct step_event){ .type = STEP_TICK });
	return r->now.ns < upto.ns;
}

static void all_until(struct rig *r, struct mono upto)
{
	while (turn(r, upto))
		;
}

static void all_for(struct rig *r, int64_t ns)
{
	all_until(r, mono_add(r->now, ns));
}

/* The holder of lock s, by its word. */
static uint16_t owner(struct rig *r, uint32_t s)
{
	return region_word_id(*lock_word(r, s));
}

/* Host 5, which has died, holds the lock of 20, the second of the pair. */
static void second_is_stuck(struct rig *r)
{
	*lock_word(r, S20) = region_word(5, START + 2);
}

/* Host 3 balances 10 as well. */
static void third_balancer(struct rig *r)
{
	hostset_set(&r->view.service[S10].balancers, 3, true);
	start(r, 3);
}

/* A running move of h cannot reach the home until it gives up. */
static void home_is_lost(struct rig *r, struct mover *h)
{
	while (h->move.state != MOVE_IDLE) {
		struct step_op op;

		if (!h->out.n) {
			pass_to_due(r, h);
			continue;
		}
		op = take_op(h);
		if (op.host == HOME)
			give_result(r, h, &op, STEP_LOST, 0);
		else
			give_result(r, h, &op, STEP_DONE, rig_execute(&r->w, &op));
	}
}

/* 20 was chosen, and the locks were not acquired. */
static void is_busy(struct rig *r, struct mover *h)
{
	begin_move(r, h, S10, MOVE_LOCKS);
	home_is_lost(r, h);
	assert_int_equal(move_result(&h->move), MOVE_BUSY);
	new_links(r, h);
}

/* --- a dead holder ------------------------------------------------------------------- */

TEST_WITH(locks__second_holder_is_dead__broken_in_time, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];
	struct mono dead = r->now;

	second_is_stuck(r);
	assert_int_equal(whole_move(r, h, S10), MOVE_MOVED);
	assert_true(mono_sub(r->now, dead) <= lock_break_ns(&h->lock[0].conf) + CHECK);
}

TEST_WITH(locks__one_host_died_with_both__delays_but_once, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];
	struct mono dead;

	dies_at(r, MOVE_COUNTS);
	dead = r->now;
	while (whole_move(r, h, S10) != MOVE_MOVED)
		r->now = mono_add(r->now, CHECK);
	assert_true(mono_sub(r->now, dead) < lock_break_ns(&h->lock[0].conf) + 3 * CHECK);
}

TEST_WITH(locks__donor_was_busy__goes_on_with_it_while_it_will_do, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	r->view.node[N61].load = r->view.node[N80].load = 300;
	is_busy(r, h);
	r->view.node[N61].load = r->view.node[N80].load = 10; /* another has less load now */
	begin_move(r, h, S10, MOVE_LOCKS);
	assert_int_equal(h->move.donor, S20);
	step_mover(r, h, rig_view(0, ALL, false));
	run_until(r, h, MOVE_IDLE);
	step_mover(r, h, rig_view(0, ALL, true));
	begin_move(r, h, S10, MOVE_LOCKS); /* the move did not end for the lock */
	assert_int_equal(h->move.donor, S30);
}

TEST_WITH(locks__donor_was_busy_and_will_not_do__another_is_chosen, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	is_busy(r, h);
	r->view.service[S20].minimum = 3;
	begin_move(r, h, S10, MOVE_LOCKS);
	assert_int_equal(h->move.donor, S30);
}

TEST_WITH(locks__one_releases_both__second_is_looked_at_at_once, rig_setup, rig_teardown)
{
	for (int64_t after = 0; after < CHECK; after += MS) {
		struct rig *r;
		struct mover *h;
		struct mono had;

		rig_teardown(state);
		rig_setup(state);
		r = *state;
		h = &r->mover[4];
		*lock_word(r, S10) = *lock_word(r, S20) = region_word(5, START + 2);
		ask_for_move(r, h, S10);
		all_for(r, 3 * CHECK + after);
		*lock_word(r, S10) = *lock_word(r, S20) = region_word(0, START + 2);
		while (owner(r, S10) != 4)
			turn(r, mono_add(r->now, CHECK));
		had = r->now;
		run_until(r, h, MOVE_IDLE);
		assert_int_equal(move_result(&h->move), MOVE_MOVED);
		assert_true(r->now.ns == had.ns);
		assert_word(*lock_word(r, S10), 0, START + 3); /* not released meanwhile */
	}
}

/* --- waiting for the second in vain --------------------------------------------------- */

TEST_WITH(yield__second_is_anothers__first_is_not_asked_for, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	second_is_stuck(r);
	ask_for_move(r, h, S10);
	all_for(r, 10 * CHECK);
	assert_int_equal(h->move.state, MOVE_LOCKS);
	assert_word(*lock_word(r, S10), 0, START + 1);
	assert_in_range(h->ops, 18, 24); /* both are read, each once a check */
}

/* Both were free when they were read; another host holds the second when it is requested. */
static void second_goes_meanwhile(struct rig *r, struct mover *h)
{
	ask_for_move(r, h, S10);
	while (owner(r, S10) != 4)
		turn(r, mono_add(r->now, CHECK));
	second_is_stuck(r);
}

TEST_WITH(yield__second_goes_meanwhile__first_is_given_back_clean_after_a_look, rig_setup,
	  rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	second_goes_meanwhile(r, h);
	all_for(r, CHECK / 2);
	assert_int_equal(owner(r, S10), 4); /* its holder may be about to release it */
	all_for(r, CHECK);
	assert_word(*lock_word(r, S10), 0, START + 2);
	assert_int_equal(h->move.state, MOVE_LOCKS);
	h->ops = 0;
	all_for(r, 10 * CHECK);
	assert_word(*lock_word(r, S10), 0, START + 2); /* not requested again */
	assert_in_range(h->ops, 10, 24);	       /* but read, each once a check */
}

TEST_WITH(yield__second_is_released_within_a_check__first_is_kept, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	second_goes_meanwhile(r, h);
	all_for(r, CHECK / 2);
	*lock_word(r, S20) = region_word(0, START + 2);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
	assert_word(*lock_word(r, S10), 0, START + 2); /* taken but once */
}

TEST_WITH(yield__second_is_released_later__both_are_had_at_the_next_look, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];
	struct mono freed;

	second_is_stuck(r);
	ask_for_move(r, h, S10);
	all_for(r, 5 * CHECK);
	*lock_word(r, S20) = region_word(0, START + 2);
	freed = r->now;
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
	assert_true(mono_sub(r->now, freed) <= CHECK + CHECK / 8 + 1);
	assert_word(*lock_word(r, S10), 0, START + 2); /* taken but once */
}

TEST_WITH(yield__second_goes_to_another__is_waited_for_a_check_again, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	second_is_stuck(r);
	ask_for_move(r, h, S10);
	all_for(r, 5 * CHECK);
	*lock_word(r, S20) = region_word(6, START + 3);
	all_for(r, CHECK + CHECK / 4);
	assert_int_equal(owner(r, S10), 4);
	all_for(r, CHECK + CHECK / 4);
	assert_word(*lock_word(r, S10), 0, START + 2);
}

/* The second, of a dead host, is met now. The first is acquired `early` before it can be broken. */
static void first_is_had_early(struct rig *r, struct mover *h, int64_t early)
{
	struct mono breaks = mono_add(r->now, lock_break_ns(&h->lock[0].conf));

	second_is_stuck(r);
	ask_for_move(r, h, S10);
	all_until(r, mono_add(breaks, -early - 1));
	assert_int_equal(owner(r, S10), 0);
	all_until(r, mono_add(breaks, -early + 1));
	assert_int_equal(owner(r, S10), 4);
	all_until(r, mono_add(breaks, -1));
	assert_word(*lock_word(r, S10), 4, START + 2); /* the same lease */
	assert_int_equal(owner(r, S20), 5);
	all_until(r, mono_add(breaks, CHECK));
	assert_int_equal(h->move.state, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
}

TEST_WITH(yield__break_is_a_check_away__first_is_acquired_and_kept, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	first_is_had_early(r, &r->mover[4], CHECK);
}

/* A check is longer than half a lease here: what is left of the lease must do for the move. */
TEST_WITH(yield__break_is_half_a_lease_away__first_is_acquired_and_kept, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	r->mover[4].move.conf.check_ns = HOLD;
	first_is_had_early(r, &r->mover[4], HOLD / 2);
}

TEST_WITH(yield__view_changes__nothing_is_held_or_looked_at_any_more, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	second_is_stuck(r);
	ask_for_move(r, h, S10);
	all_for(r, 5 * CHECK);
	step_mover(r, h, rig_view(6, ALL & ~0x80ull, true));
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_VIEW);
	assert_int_equal(owner(r, S10), 0);
	assert_true(move_due(&h->move).ns == INT64_MAX);
}

TEST_WITH(yield__home_does_not_answer__ends_busy, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	second_is_stuck(r);
	ask_for_move(r, h, S10);
	all_for(r, 5 * CHECK);
	home_is_lost(r, h);
	assert_int_equal(move_result(&h->move), MOVE_BUSY);
}

/*
 * One host begins to wait while another holds the first lock; a newcomer begins when that lease
 * ends.
 */
TEST_WITH(yield__one_sits_and_a_newcomer_follows__second_is_broken_in_time, rig_setup, rig_teardown)
{
	for (int64_t comes = 0; comes < HOLD + DEADLINE; comes += 3 * (int64_t)MS) {
		struct rig *r;
		struct mono met;
		int64_t brk;

		rig_teardown(state);
		rig_setup(state);
		r = *state;
		third_balancer(r);
		second_is_stuck(r);
		met = r->now;
		brk = lock_break_ns(&r->mover[2].lock[0].conf);
		ask_for_move(r, &r->mover[2], S10);
		all_for(r, MS);
		ask_for_move(r, &r->mover[4],
			     S10); /* its break would be due after the lease of host 2 */
		if (comes > MS)
			all_until(r, mono_add(met, comes));
		ask_for_move(r, &r->mover[3], S10);
		while (owner(r, S20) == 5 && mono_sub(r->now, met) < 3 * brk)
			turn(r, mono_add(r->now, CHECK));
		assert_true(mono_sub(r->now, met) <= brk + CHECK + CHECK / 8);
		all_for(r, brk);
		assert_int_equal(nodes_of(r, S20), 2); /* one moved, the others were notified */
		for (int i = 2; i <= 4; i++)
			assert_int_equal(r->mover[i].move.state, MOVE_IDLE);
	}
}
