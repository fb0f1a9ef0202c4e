// SPDX-License-Identifier: GPL-2.0-or-later
/* move_wish: donor and node are given, not chosen; the other rules stay. */
#include <errno.h>

#include "tests/unit/move_rig.h"
#include "tests/unit/unit.h"

static void ask_with(struct rig *r, struct mover *h, uint32_t s, struct move_wish wish)
{
	struct step_event ev = rig_ask(s);

	ev.wish = &wish; /* until the step returns */
	step_mover(r, h, ev);
}

static enum move_result wished(struct rig *r, struct mover *h, uint32_t s, struct move_wish wish)
{
	for (int i = 0; i < 3 && wish.why == MOVE_FOR_LOAD; i++)
		counter_check(&h->counter[s], true);
	ask_with(r, h, s, wish);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(h->out.n, 0);
	return move_result(&h->move);
}

/* Nothing is moved or announced, and no lock is held. */
static void assert_unchanged(struct rig *r)
{
	for (uint32_t i = 0; i < NODES; i++)
		assert_true(*node_word(r, i) == r->view.node[i].word);
	for (uint32_t s = 0; s < SERVICES; s++)
		assert_int_equal(region_word_id(*lock_word(r, s)), 0);
	for (uint16_t host = 2; host <= 4; host++)
		for (uint32_t s = 0; s < SERVICES; s++)
			assert_true(*counter_word(r, host, s) == 0);
}

/* Neither the least loaded donor nor its least loaded node. */
TEST_WITH(wish__donor_and_node__are_taken_from_it, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	assert_int_equal(
		wished(r, &r->mover[2], S10,
		       (struct move_wish){ .why = MOVE_FOR_LOAD, .donor = S20, .node = N50 }),
		MOVE_MOVED);
	assert_word(*node_word(r, N50), 10, START + NODE_UP + 1);
	assert_word(*node_word(r, N51), 20, NODE_UP);
	assert_true(*counter_word(r, 4, S10) == 1);
	assert_true(*counter_word(r, 3, S20) == 1);
	assert_int_equal(
		wished(r, &r->mover[2], S10,
		       (struct move_wish){ .why = MOVE_FOR_LOAD, .donor = S30, .node = N80 }),
		MOVE_MOVED);
	assert_int_equal(region_word_id(*node_word(r, N80)), 10);
}

TEST_WITH(wish__donor_has_more_load__is_a_donor_all_the_same, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	r->view.node[N61].load = r->view.node[N80].load = 2000;
	assert_int_equal(
		wished(r, &r->mover[2], S10,
		       (struct move_wish){ .why = MOVE_FOR_LOAD, .donor = S30, .node = N61 }),
		MOVE_MOVED);
	assert_int_equal(region_word_id(*node_word(r, N61)), 10);
}

TEST_WITH(wish__donor_at_its_minimum__no_move, rig_setup, rig_teardown)
{
	static const struct move_wish wish = { .why = MOVE_FOR_ORDER, .donor = S20, .node = N50 };
	struct rig *r = *state;

	r->view.service[S20].minimum = 3;
	r->mover[2].ops = 0;
	assert_int_equal(wished(r, &r->mover[2], S10, wish), MOVE_NO_DONOR);
	assert_int_equal(r->mover[2].ops, 1); /* its own counter: no lock */
	r->view.service[S20].minimum = 2;
	/* By the words read under the locks: the scan is old. */
	*node_word(r, N60) = region_word(30, NODE_UP + 5);
	assert_int_equal(wished(r, &r->mover[2], S10, wish), MOVE_NO_DONOR);
	*node_word(r, N60) = r->view.node[N60].word;
	assert_unchanged(r);
}

TEST_WITH(wish__node_is_no_longer_the_donors__no_move, rig_setup, rig_teardown)
{
	static const struct move_wish wish = { .why = MOVE_FOR_LOAD, .donor = S20, .node = N51 };
	struct rig *r = *state;

	r->view.service[S20].minimum = 1;
	*node_word(r, N51) = r->view.node[N51].word = region_word(30, NODE_UP + 5);
	r->mover[2].ops = 0;
	assert_int_equal(wished(r, &r->mover[2], S10, wish), MOVE_NOT_WISHED);
	assert_true(r->mover[2].ops > 1); /* that was read under the locks */
	assert_unchanged(r);
	/* The load is still high: nothing was moved. */
	assert_true(counter_high_for_t(&r->mover[2].counter[S10]));
	assert_int_equal(
		wished(r, &r->mover[2], S10,
		       (struct move_wish){ .why = MOVE_FOR_LOAD, .donor = S20, .node = N50 }),
		MOVE_MOVED);
}

TEST_WITH(wish__node_is_dead_or_was_not_read__no_move, rig_setup, rig_teardown)
{
	static const struct move_wish wish = { .why = MOVE_FOR_LOAD, .donor = S20, .node = N60 };
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	r->view.service[S20].minimum = 1;
	r->view.node[N60].alive = false;
	assert_int_equal(wished(r, h, S10, wish), MOVE_NOT_WISHED);
	r->view.node[N60].alive = true;
	ask_with(r, h, S10, wish);
	run_until(r, h, MOVE_COUNTS);
	while (h->out.n) {
		struct step_op op = take_op(h);
		bool is_read = op.host != r->view.node[N60].host;

		give_result(r, h, &op, is_read ? STEP_DONE : STEP_LOST,
			    is_read ? rig_execute(&r->w, &op) : 0);
	}
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_NOT_WISHED);
	assert_unchanged(r);
}

TEST_WITH(wish__out_of_range__ends_at_once, rig_setup, rig_teardown)
{
	static const struct move_wish wishes[] = {
		{ .why = MOVE_FOR_ORDER, .donor = SERVICES, .node = N50 },
		{ .why = MOVE_FOR_ORDER, .donor = UINT32_MAX, .node = N50 },
		{ .why = MOVE_FOR_ORDER, .donor = S20, .node = NODES },
		{ .why = MOVE_FOR_ORDER, .donor = S20, .node = UINT32_MAX },
		{ .why = MOVE_FOR_ORDER, .donor = S10, .node = N70 }, /* from itself */
	};
	struct rig *r = *state;

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		r->mover[2].ops = 0;
		assert_int_equal(wished(r, &r->mover[2], S10, wishes[i]), MOVE_NOT_WISHED);
		assert_int_equal(r->mover[2].ops, 0);
	}
	assert_unchanged(r);
}

TEST_WITH(wish__for_load__needs_a_load_that_is_high_for_t, rig_setup, rig_teardown)
{
	static const struct move_wish wish = { .why = MOVE_FOR_LOAD, .donor = S20, .node = N50 };
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	counter_check(&h->counter[S10], false);
	h->ops = 0;
	ask_with(r, h, S10, wish);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_CALM);
	assert_int_equal(h->ops, 1); /* its own counter: no lock */
	for (int i = 0; i < 3; i++)
		counter_check(&h->counter[S10], true);
	ask_with(r, h, S10, wish);
	run_until(r, h, MOVE_LOOKS_AGAIN);
	counter_check(&h->counter[S10], false); /* it fell while the move waited */
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_CALM);
	assert_unchanged(r);
}

TEST_WITH(wish__for_order__the_load_does_not_count, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	counter_check(&h->counter[S10], false);
	assert_int_equal(
		wished(r, h, S10,
		       (struct move_wish){ .why = MOVE_FOR_ORDER, .donor = S20, .node = N50 }),
		MOVE_MOVED);
	assert_int_equal(region_word_id(*node_word(r, N50)), 10);
}

TEST_WITH(wish__for_order__a_counter_that_is_ahead_ends_it, rig_setup, rig_teardown)
{
	static const struct move_wish wish = { .why = MOVE_FOR_ORDER, .donor = S20, .node = N50 };
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	*counter_word(r, 2, S10) += 1;
	assert_int_equal(wished(r, h, S10, wish), MOVE_COUNTER_AHEAD);
	ask_with(r, h, S10, wish);
	run_until(r, h, MOVE_LOCKS);
	*counter_word(r, 2, S10) += 1;
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_COUNTER_AHEAD);
	*counter_word(r, 2, S10) = 0;
	assert_unchanged(r);
}

/* A wish is of one move. */
TEST_WITH(wish__next_move_without_one__chooses_by_itself, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	assert_int_equal(
		wished(r, h, S10,
		       (struct move_wish){ .why = MOVE_FOR_ORDER, .donor = S30, .node = N61 }),
		MOVE_MOVED);
	counter_check(&h->counter[S10], false);
	step_mover(r, h, rig_ask(S10));
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_CALM);
	assert_int_equal(whole_move(r, h, S10), MOVE_MOVED);
	assert_int_equal(region_word_id(*node_word(r, N51)), 10);
}

TEST_WITH(choose_wished__table, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint64_t word[NODES];
	bool ok[NODES];

	for (uint32_t i = 0; i < NODES; i++) {
		word[i] = *node_word(r, i);
		ok[i] = true;
	}
	assert_int_equal(move_choose_wished(&r->view, ok, word, S20, N60), 0);
	assert_int_equal(move_choose_wished(&r->view, ok, word, S20, N61), -ESTALE);
	assert_int_equal(move_choose_wished(&r->view, ok, word, S10, N70), -ENOSPC);
	ok[N60] = false;
	assert_int_equal(move_choose_wished(&r->view, ok, word, S20, N60), -ESTALE);
	assert_int_equal(move_choose_wished(&r->view, ok, word, S20, N50), -ENOSPC); /* two left */
	r->view.service[S20].minimum = 0;
	ok[N51] = false;
	assert_int_equal(move_choose_wished(&r->view, ok, word, S20, N50), 0);
}

/* --- when the phases of a move are reached ------------------------------------------------ */

/* As wished(), a millisecond before each result. */
static const struct move_trace *traced(struct rig *r, struct mover *h, struct move_wish wish)
{
	ask_with(r, h, S10, wish);
	while (move_state(&h->move) != MOVE_IDLE) {
		r->now.ns += MS;
		if (h->out.n)
			execute_one(r, h);
		else
			pass_to_due(r, h);
	}
	return move_trace(&h->move);
}

TEST_WITH(trace__of_a_move__has_each_phase_both_fences_and_who_was_told, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mono asked = r->now;
	const struct move_trace *t;

	*lock_word(r, S20) = region_word(0, START + 5);
	t = traced(r, &r->mover[2],
		   (struct move_wish){ .why = MOVE_FOR_ORDER, .donor = S20, .node = N50 });
	assert_true(t->at[0].ns > asked.ns);
	for (int i = 1; i < MOVE_PHASES; i++)
		assert_true(t->at[i].ns > t->at[i - 1].ns);
	assert_true(t->at[MOVE_ENDED].ns == r->now.ns);
	assert_true(t->fence[0] == region_word_seq(*lock_word(r, S10)));
	assert_true(t->fence[1] == region_word_seq(*lock_word(r, S20)));
	assert_true(t->fence[0] == START + 2 && t->fence[1] == START + 6);
	/* 4 balances 10, too, and 3 balances 20. */
	assert_int_equal(t->told, 2);
}

TEST_WITH(trace__of_no_move__ends_with_the_last_phase_that_was_reached, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	const struct move_trace *t;

	traced(r, &r->mover[2],
	       (struct move_wish){ .why = MOVE_FOR_ORDER, .donor = S20, .node = N50 });
	/* N50 is not the donor's any more. */
	r->view.service[S20].minimum = 1;
	t = traced(r, &r->mover[2],
		   (struct move_wish){ .why = MOVE_FOR_ORDER, .donor = S20, .node = N50 });
	assert_int_equal(move_result(&r->mover[2].move), MOVE_NOT_WISHED);
	assert_true(t->at[MOVE_HELD].ns > 0 && t->at[MOVE_ENDED].ns > t->at[MOVE_HELD].ns);
	assert_true(t->at[MOVE_READ].ns == -1 && t->at[MOVE_TOLD].ns == -1);
	assert_true(t->at[MOVE_ACTED].ns == -1);
	assert_int_equal(t->told, 0);
	/* At once, without locks. */
	t = traced(r, &r->mover[2],
		   (struct move_wish){ .why = MOVE_FOR_ORDER, .donor = S10, .node = N70 });
	assert_true(t->at[MOVE_HELD].ns == -1 && t->at[MOVE_ENDED].ns == r->now.ns);
}
