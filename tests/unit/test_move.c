// SPDX-License-Identifier: GPL-2.0-or-later
/* move: one reconfiguration, by schedules written by hand. */
#include "tests/unit/move_rig.h"
#include "tests/unit/unit.h"

/* --- when nobody fails --------------------------------------------------------------- */

/* Execute one operation and note its kind as a letter. */
static char letter(const struct step_op *op)
{
	if (op->kind == STEP_FAA)
		return 'a';
	if (op->offset < REGION_COUNTERS)
		return op->kind == STEP_READ ? 'l' : 'L';
	if (op->offset < REGION_NODE_WORDS)
		return 'c';
	return op->kind == STEP_READ ? 'n' : 'N';
}

TEST_WITH(move__no_fault__operations_come_in_the_order_of_the_rules, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	char said[64] = "";
	size_t n = 0;

	assert_int_equal(whole_move(r, h, S10), MOVE_MOVED); /* the locks' words are known now */
	r->view.node[N51].word = *node_word(r, N51);
	*node_word(r, N51) = region_word(20, 77ull << 16); /* and it is given back */
	r->view.node[N51].word = *node_word(r, N51);
	ask_for_move(r, h, S10);
	while (h->out.n) {
		said[n++] = letter(&h->out.op[0]);
		execute_one(r, h);
	}
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
	assert_string_equal(said, "cllLLcnnnnaaNLL");
}

TEST_WITH(move__no_fault__least_loaded_node_moves_and_all_are_notified, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	assert_int_equal(whole_move(r, &r->mover[2], S10), MOVE_MOVED);
	assert_word(*node_word(r, N51), 10, START + NODE_UP + 1);
	assert_word(*node_word(r, N50), 20, NODE_UP);
	assert_int_equal(nodes_of(r, S10), 2);
	assert_int_equal(nodes_of(r, S20), 2);
	assert_true(*counter_word(r, 4, S10) == 1);
	assert_true(*counter_word(r, 3, S20) == 1);
	assert_true(*counter_word(r, 2, S10) == 0); /* its own */
	assert_true(*counter_word(r, 4, S30) == 0); /* not a balancer of these */
	assert_word(*lock_word(r, S10), 0, START + 2);
	assert_word(*lock_word(r, S20), 0, START + 2);
	assert_true(r->mover[2].move.moves == 1);
}

TEST_WITH(move__one_event_seen_by_two__is_one_move, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	begin_move(r, &r->mover[4], S10, MOVE_LOCKS); /* at its first look nobody has moved */
	assert_int_equal(whole_move(r, &r->mover[2], S10), MOVE_MOVED);
	run_until(r, &r->mover[4], MOVE_IDLE);
	assert_int_equal(move_result(&r->mover[4].move), MOVE_COUNTER_AHEAD);
	assert_int_equal(nodes_of(r, S10), 2);
	assert_word(*lock_word(r, S10), 0, START + 3);
}

TEST_WITH(move__counter_ahead__takes_no_lock, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	*counter_word(r, 2, S10) += 1;
	h->ops = 0;
	assert_int_equal(whole_move(r, h, S10), MOVE_COUNTER_AHEAD);
	assert_int_equal(h->ops, 1);
}

/* A node's host may have restarted since, with the same words again. */
TEST_WITH(move__newer_link_since_the_count__the_cas_is_for_the_older, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	uint32_t counted_on = h->link;
	struct step_op op;

	begin_move(r, h, S10, MOVE_ANNOUNCES);
	new_links(r, h);
	run_until(r, h, MOVE_ACTS);
	op = take_op(h);
	assert_int_equal(op.kind, STEP_CAS);
	assert_int_equal(op.link, counted_on);
	give_result(r, h, &op, STEP_REFUSED, 0);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_UNREACHED);
	assert_int_equal(nodes_of(r, S20), 3);
}

TEST_WITH(move__made__the_history_starts_again, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	for (int i = 0; i < 3; i++)
		counter_check(&h->counter[S10], true);
	assert_true(counter_high_for_t(&h->counter[S10]));
	whole_move(r, h, S10);
	assert_false(counter_high_for_t(&h->counter[S10]));
}

TEST_WITH(move__donor_at_its_minimum__no_move, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	*node_word(r, N51) = region_word(30, NODE_UP + 5); /* the scan is old */
	assert_int_equal(whole_move(r, &r->mover[2], S10), MOVE_NO_DONOR);
	assert_int_equal(nodes_of(r, S20), 2);
	assert_true(*counter_word(r, 4, S10) == 0);
	assert_word(*lock_word(r, S20), 0, START + 2);
}

TEST_WITH(move__its_host_balances_the_donor_too__is_notified_as_well, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	r->view.service[S20].minimum = 3;
	r->view.node[N61].load = r->view.node[N80].load = 10;
	assert_int_equal(whole_move(r, &r->mover[2], S10), MOVE_MOVED); /* from 30, its own too */
	assert_true(*counter_word(r, 2, S30) == 1);
	assert_true(*counter_word(r, 4, S30) == 1);
	assert_true(*counter_word(r, 2, S10) == 0);
}

TEST_WITH(move__two_takers_of_one_donor__it_stays_at_its_minimum, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 300; i++) {
		struct mover *h[2] = { &r->mover[2], &r->mover[4] };

		whole_move(r, h[1], S30); /* look; may move */
		for (uint32_t n = N50; n <= N60; n++) {
			*node_word(r, n) = region_word(20, NODE_UP + 1000u * (uint32_t)(i + 1));
			r->view.node[n].word = *node_word(r, n);
		}
		whole_move(r, h[0], S30), whole_move(r, h[1], S10); /* note what was announced */
		for (uint32_t n = N50; n <= N60; n++)
			*node_word(r, n) = region_word(20, NODE_UP + 1000u * (uint32_t)i + 500);
		ask_for_move(r, h[0], S10);
		ask_for_move(r, h[1], S30);
		while (h[0]->move.state != MOVE_IDLE || h[1]->move.state != MOVE_IDLE) {
			struct mover *k = h[prop_u64(&p) % 2];

			if (k->out.n)
				execute_one(r, k);
			else if (k->move.state != MOVE_IDLE && !h[0]->out.n && !h[1]->out.n)
				pass_to_due(r, k);
			assert_in_range(nodes_of(r, S20), 2, 3);
		}
	}
	assert_true(r->mover[2].move.moves + r->mover[4].move.moves > 300);
}

TEST_WITH(move__each_takes_from_the_other__neither_waits_for_ever, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *a = &r->mover[2], *b = &r->mover[3];
	struct mono began = r->now;

	begin_move(r, a, S10, MOVE_LOCKS);
	b->move.state = MOVE_LOCKS; /* 20 from 10: no scan would choose so */
	b->move.service = S20;
	b->move.donor = S10;
	b->move.patience = mono_add(r->now, 10 * 1000 * (int64_t)MS);
	step_mover(r, b, (struct step_event){ .type = STEP_TICK });
	while (a->move.state != MOVE_IDLE || b->move.state != MOVE_IDLE) {
		if (a->out.n)
			execute_one(r, a);
		if (b->out.n)
			execute_one(r, b);
		if (!a->out.n && a->move.state != MOVE_IDLE)
			pass_to_due(r, a);
		if (!b->out.n && b->move.state != MOVE_IDLE)
			pass_to_due(r, b);
	}
	assert_true(mono_sub(r->now, began) < HOLD); /* no lease had to end */
	assert_int_equal(move_result(&a->move), MOVE_MOVED);
}

/* --- announcements ------------------------------------------------------------------------- */

TEST_WITH(announce__unknown__is_repeated_until_done_before_the_move, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct step_op op;

	begin_move(r, h, S10, MOVE_ANNOUNCES);
	assert_int_equal(h->out.n, 2);
	op = take_op(h);
	rig_execute(&r->w, &op); /* it was executed, but that is not known */
	give_result(r, h, &op, STEP_UNKNOWN, 0);
	execute_one(r, h);
	assert_int_equal(h->out.n, 0);
	assert_int_equal(h->move.state, MOVE_ANNOUNCES);
	new_links(r, h);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
	assert_true(*counter_word(r, 4, S10) == 2); /* twice: */
	assert_int_equal(whole_move(r, &r->mover[4], S10), MOVE_COUNTER_AHEAD);
	assert_true(counter_state(&r->mover[4].counter[S10]) == COUNTER_AHEAD);
	whole_move(r, &r->mover[4], S10); /* noted as one */
	assert_int_equal(counter_state(&r->mover[4].counter[S10]), COUNTER_EQUAL);
}

TEST_WITH(announce__a_balancer_cannot_be_notified__no_move, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct step_op op;

	begin_move(r, h, S10, MOVE_ANNOUNCES);
	while (h->out.n) {
		op = take_op(h);
		give_result(r, h, &op, op.host == 4 ? STEP_LOST : STEP_DONE,
			    op.host == 4 ? 0 : rig_execute(&r->w, &op));
	}
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_NOT_NOTIFIED);
	assert_int_equal(nodes_of(r, S20), 3);
	assert_int_equal(region_word_id(*lock_word(r, S10)), 0);
}

TEST_WITH(announce__no_link_to_a_balancer__no_other_is_notified_again, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	uint64_t count;

	announce__a_balancer_cannot_be_notified__no_move(state);
	count = *counter_word(r, 3, S20);
	h->ops = 0;
	assert_int_equal(whole_move(r, h, S10), MOVE_NOT_NOTIFIED);
	assert_int_equal(h->ops, 1); /* its own counter: no lock either */
	assert_true(*counter_word(r, 3, S20) == count);
	new_links(r, h);
	assert_int_equal(whole_move(r, h, S10), MOVE_MOVED);
}

TEST_WITH(announce__refused__no_move, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct step_op op;

	begin_move(r, h, S10, MOVE_ANNOUNCES);
	op = take_op(h);
	give_result(r, h, &op, STEP_REFUSED, 0);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_NOT_NOTIFIED);
	assert_int_equal(nodes_of(r, S20), 3);
}

TEST_WITH(announce__a_balancer_was_removed__need_not_be_notified, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	step_mover(r, h, rig_view(0, ALL & ~0x08ull, true)); /* without host 4 */
	assert_int_equal(whole_move(r, h, S10), MOVE_MOVED);
	assert_true(*counter_word(r, 4, S10) == 0);
	assert_true(*counter_word(r, 3, S20) == 1);
}

/* --- the node's CAS -------------------------------------------------------------------------- */

TEST_WITH(act__unknown_but_executed__read_on_a_newer_link_says_moved, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct step_op op;

	begin_move(r, h, S10, MOVE_ACTS);
	op = take_op(h);
	give_result(r, h, &op, STEP_UNKNOWN, 0);
	assert_int_equal(h->out.n, 0);
	step_mover(r, h, rig_link(5, h->link)); /* the old link */
	assert_int_equal(h->out.n, 0);
	rig_execute(&r->w, &op); /* late */
	new_links(r, h);
	assert_int_equal(h->out.op[0].kind, STEP_READ);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
	assert_int_equal(region_word_id(*lock_word(r, S20)), 0);
}

TEST_WITH(act__unknown_and_not_executed__says_so, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct step_op op;

	begin_move(r, h, S10, MOVE_ACTS);
	op = take_op(h);
	give_result(r, h, &op, STEP_UNKNOWN, 0);
	new_links(r, h);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_UNREACHED);
	assert_int_equal(region_word_id(*lock_word(r, S20)), 0);
}

/* As when it is late, and its link goes on. */
TEST_WITH(act__unknown_and_its_read_refused__is_read_again_after_a_check, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct step_op op;
	struct mono refused;

	begin_move(r, h, S10, MOVE_ACTS);
	op = take_op(h);
	rig_execute(&r->w, &op);
	give_result(r, h, &op, STEP_UNKNOWN, 0);
	new_links(r, h);
	for (int i = 0; i < 3; i++) {
		op = take_op(h);
		assert_int_equal(op.kind, STEP_READ);
		refused = r->now;
		give_result(r, h, &op, STEP_REFUSED, 0);
		assert_int_equal(h->out.n, 0);
		pass_to_due(r, h);
		assert_int_equal(mono_sub(r->now, refused), CHECK);
	}
	op = take_op(h);
	give_result(r, h, &op, STEP_REFUSED, 0);
	new_links(r, h); /* does not wait for the check, which then puts out no second one */
	op = take_op(h);
	r->now = mono_add(r->now, CHECK);
	step_mover(r, h, (struct step_event){ .type = STEP_TICK });
	assert_int_equal(h->out.n, 0);
	give_result(r, h, &op, STEP_DONE, rig_execute(&r->w, &op));
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
	assert_int_equal(region_word_id(*lock_word(r, S10)), 0);
}

TEST_WITH(act__unknown_until_the_lease_ends__locks_are_left_dirty, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2], *other = &r->mover[4];
	struct step_op op;

	begin_move(r, h, S10, MOVE_ACTS);
	op = take_op(h);
	give_result(r, h, &op, STEP_UNKNOWN, 0);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_UNDECIDED);
	assert_int_equal(region_word_id(*lock_word(r, S10)), LOCK_DIRTY);
	assert_int_equal(region_word_id(*lock_word(r, S20)), LOCK_DIRTY);
	whole_move(r, other, S10); /* notified */
	begin_move(r, other, S10, MOVE_ACTS);
	assert_true(rig_execute(&r->w, &op) != op.compare);
	run_until(r, other, MOVE_IDLE);
	assert_int_equal(nodes_of(r, S20), 2);
}

TEST_WITH(act__lost__is_no_move, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct step_op op;

	begin_move(r, h, S10, MOVE_ACTS);
	op = take_op(h);
	give_result(r, h, &op, STEP_LOST, 0);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_UNREACHED);
	assert_int_equal(region_word_id(*lock_word(r, S20)), 0);
}

TEST_WITH(act__node_changed_meanwhile__fails, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	begin_move(r, &r->mover[2], S10, MOVE_ACTS);
	*node_word(r, N51) = region_word(20, NODE_UP + 9);
	run_until(r, &r->mover[2], MOVE_IDLE);
	assert_int_equal(move_result(&r->mover[2].move), MOVE_OVERTAKEN);
	assert_word(*node_word(r, N51), 20, NODE_UP + 9);
}

/* --- leases, views, homes ---------------------------------------------------------------- */

TEST_WITH(lease__ends__nothing_is_put_out_but_the_release, rig_setup, rig_teardown)
{
	static const enum move_state at[] = { MOVE_LOOKS_AGAIN, MOVE_COUNTS, MOVE_ANNOUNCES };

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct rig *r;
		struct mover *h;

		rig_teardown(state);
		rig_setup(state);
		r = *state;
		h = &r->mover[2];
		begin_move(r, h, S10, at[i]);
		r->now = mono_add(r->now, HOLD + 1); /* paused, then all results at once */
		while (h->out.n && h->move.state == at[i])
			execute_one(r, h);
		assert_int_equal(h->move.state, MOVE_UNLOCKS);
		run_until(r, h, MOVE_IDLE);
		assert_int_equal(nodes_of(r, S20), 3);
		assert_int_equal(region_word_id(*lock_word(r, S20)), 0);
	}
}

TEST_WITH(locks__load_fell_while_they_were_waited_for__no_move, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	begin_move(r, &r->mover[2], S10, MOVE_COUNTS);
	begin_move(r, h, S10, MOVE_LOCKS);
	r->now = mono_add(r->now, CHECK);
	step_mover(r, h, (struct step_event){ .type = STEP_TICK });
	counter_check(&h->counter[S10], false);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_CALM);
	assert_int_equal(nodes_of(r, S20), 3);
}

TEST_WITH(move__load_not_high_for_t__no_move, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	counter_check(&h->counter[S10], true);
	step_mover(r, h, rig_ask(S10));
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_CALM);
	assert_word(*lock_word(r, S10), 0, START + 1);
}

TEST_WITH(view__changes_before_the_cas__no_move, rig_setup, rig_teardown)
{
	static const enum move_state at[] = { MOVE_LOOKS, MOVE_LOCKS, MOVE_LOOKS_AGAIN, MOVE_COUNTS,
					      MOVE_ANNOUNCES };

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		struct rig *r;
		struct mover *h;

		rig_teardown(state);
		rig_setup(state);
		r = *state;
		h = &r->mover[2];
		begin_move(r, h, S10, at[i]);
		step_mover(r, h, rig_view(6, ALL & ~0x80ull, true));
		run_until(r, h, MOVE_IDLE);
		assert_int_equal(move_result(&h->move), MOVE_VIEW);
		assert_int_equal(nodes_of(r, S20), 3);
	}
}

TEST_WITH(view__not_quorate__nothing_is_decided, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	begin_move(r, h, S10, MOVE_ANNOUNCES);
	h->out.n = 0;
	step_mover(r, h, rig_view(0, ALL, false));
	run_until(r, h, MOVE_IDLE);
	h->ops = 0;
	ask_for_move(r, h, S10);
	assert_int_equal(h->ops, 0);
	assert_int_equal(h->move.state, MOVE_IDLE);
	assert_int_equal(nodes_of(r, S20), 3);
}

TEST_WITH(home__dead__move_ends_busy_and_puts_nothing_more_out, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	ask_for_move(r, h, S10);
	while (h->move.state != MOVE_IDLE) {
		if (!h->out.n) {
			pass_to_due(r, h);
		} else if (h->out.op[0].host == HOME) {
			struct step_op op = take_op(h);

			give_result(r, h, &op, STEP_LOST, 0);
		} else {
			execute_one(r, h);
		}
	}
	assert_int_equal(move_result(&h->move), MOVE_BUSY);
	assert_true(move_due(&h->move).ns == INT64_MAX);
	new_links(r, h); /* it comes back */
	assert_int_equal(whole_move(r, h, S10), MOVE_MOVED);
}

TEST_WITH(home__restarts_under_a_holder__which_keeps_off_once_others_swept, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *old = &r->mover[2], *h = &r->mover[4];

	begin_move(r, old, S10, MOVE_COUNTS); /* holds, has read nothing yet */
	for (uint32_t s = 0; s < SERVICES; s++)
		*lock_word(r, s) = region_word(0, 6ull << REGION_COUNT_BITS);
	new_links(r, h);
	begin_move(r, h, S10, MOVE_ACTS); /* fresh words: it waits */
	r->now.ns = 1000 * (int64_t)MS;	  /* the old holder's clock stood still */
	while (old->move.state == MOVE_COUNTS)
		execute_one(r, old);
	assert_int_equal(old->move.state, MOVE_UNLOCKS);
	assert_int_equal(move_result(&old->move), MOVE_OVERTAKEN);
}

TEST_WITH(results__of_what_was_given_up__are_ignored, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct step_op old[8];
	uint32_t n = 0;

	begin_move(r, h, S10, MOVE_COUNTS);
	while (h->out.n)
		old[n++] = take_op(h);
	assert_int_equal(n, NODE_HOSTS);
	step_mover(r, h, rig_view(6, ALL & ~0x80ull, true));
	run_until(r, h, MOVE_IDLE);
	step_mover(r, h, rig_view(7, ALL, true));
	r->now = mono_add(r->now, HOLD);
	ask_for_move(r, h, S10);
	run_until(r, h, MOVE_COUNTS);
	for (uint32_t i = 0; i < n; i++)
		give_result(r, h, &old[i], STEP_DONE, region_word(20, 1));
	assert_int_equal(h->move.state, MOVE_COUNTS);
	assert_int_equal(h->move.waited, NODE_HOSTS);
}

/* --- the count ----------------------------------------------------------------------------- */

TEST_WITH(count__one_read_a_host__is_of_all_its_nodes, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	put_node(r, 5, 9, S20, 1);
	put_node(r, 8, REGION_NODES_MAX - 1, S30, 800);
	begin_move(r, h, S10, MOVE_COUNTS);
	assert_int_equal(h->out.n, NODE_HOSTS);
	for (uint32_t i = 0; i < h->out.n; i++) {
		const struct step_op *op = &h->out.op[i];
		uint32_t words = op->host == 5 ? 10 : op->host == 8 ? REGION_NODES_MAX : 0;

		assert_int_equal(op->kind, STEP_READ);
		assert_true(!words || op->offset == region_node_offset(0));
		/* The words, and up to the same kept word. */
		assert_true(!words || op->len == 8 * (REGION_NODES_MAX + words));
	}
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
	assert_word(*rig_word(&r->w, 5, region_node_offset(9)), 10, START + NODE_UP + 1);
}

TEST_WITH(count__nodes_begin_above_0__the_read_begins_there, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	put_node(r, 4, 7, S20, 1);
	put_node(r, 4, 6, S20, 2);
	begin_move(r, h, S10, MOVE_COUNTS);
	for (uint32_t i = 0; i < h->out.n; i++)
		assert_true(h->out.op[i].host != 4 ||
			    (h->out.op[i].offset == region_node_offset(6) &&
			     h->out.op[i].len == 8 * REGION_NODES_MAX + 16));
	run_until(r, h, MOVE_IDLE);
	assert_word(*rig_word(&r->w, 4, region_node_offset(7)), 10, START + NODE_UP + 1);
	assert_word(*rig_word(&r->w, 4, region_node_offset(6)), 20, NODE_UP);
}

/* One of 20 is left that was read. */
TEST_WITH(count__a_read_fails__none_of_its_nodes_counts, rig_setup, rig_teardown)
{
	static const enum step_outcome outcomes[] = { STEP_LOST, STEP_REFUSED };

	for (int i = 0; i < 2; i++) {
		struct rig *r;
		struct mover *h;

		rig_teardown(state);
		rig_setup(state);
		r = *state;
		h = &r->mover[2];
		begin_move(r, h, S10, MOVE_COUNTS);
		while (h->move.state == MOVE_COUNTS) {
			struct step_op op = take_op(h);
			bool lost = op.host == 5;

			give_result(r, h, &op, lost ? outcomes[i] : STEP_DONE,
				    lost ? 0 : rig_execute(&r->w, &op));
		}
		run_until(r, h, MOVE_IDLE);
		assert_int_equal(move_result(&h->move), MOVE_NO_DONOR);
		assert_int_equal(nodes_of(r, S20), 3);
	}
}

/* 20 has three nodes, and a minimum of two. */
TEST_WITH(count__kept_word_is_another__counts_by_service_and_epoch, rig_setup, rig_teardown)
{
	static const struct {
		uint16_t service;
		uint32_t epoch, count;
		enum move_result result;
	} rows[] = {
		{ 20, 0, NODE_UP, MOVE_MOVED },
		{ 20, 0, NODE_UP - 1, MOVE_MOVED },    /* of before a sweep */
		{ 20, 0, NODE_UP + 1, MOVE_MOVED },    /* the kept word was read later */
		{ 20, 1, NODE_UP, MOVE_NOT_KEPT },     /* of another view */
		{ 30, 0, NODE_UP - 1, MOVE_NOT_KEPT }, /* it was moved since */
		{ 0, 0, 1, MOVE_NOT_KEPT },	       /* its host is of an older release */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig *r;

		rig_teardown(state);
		rig_setup(state);
		r = *state;
		keep_words(r, 5);
		r->unkept = 5;
		*rig_word(&r->w, 5, region_kept_offset(0)) =
			region_word(rows[i].service, region_seq(rows[i].epoch, rows[i].count));
		assert_int_equal(whole_move(r, &r->mover[2], S10), rows[i].result);
		assert_int_equal(nodes_of(r, S20), rows[i].result == MOVE_MOVED ? 2 : 3);
		/* It released both locks: the next one may come. */
		assert_int_equal(region_word_id(*lock_word(r, S10)), 0);
		assert_int_equal(region_word_id(*lock_word(r, S20)), 0);
	}
}

TEST_WITH(count__the_least_loaded_is_not_kept__another_is_chosen, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	put_node(r, 4, 0, S20, 1);
	r->unkept = 4;
	assert_int_equal(whole_move(r, &r->mover[2], S10), MOVE_MOVED);
	assert_int_equal(region_word_id(*node_word(r, N51)), 10);
}

TEST_WITH(count__too_few_even_with_those_that_are_not_kept__no_donor, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	begin_move(r, &r->mover[2], S10, MOVE_COUNTS);
	r->unkept = 5;
	*node_word(r, N60) = region_word(30, NODE_UP + 1);
	run_until(r, &r->mover[2], MOVE_IDLE);
	assert_int_equal(move_result(&r->mover[2].move), MOVE_NO_DONOR);
}

/* The sweep brings a newer epoch only if the view is a newer one. */
TEST_WITH(count__swept_in_the_same_epoch__counts_before_it_is_saved, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	for (uint32_t i = 0; i < NODES; i++)
		*node_word(r, i) = region_word(region_word_id(*node_word(r, i)), START + 7);
	for (uint16_t host = 5; host <= 8; host++)
		keep_words(r, host);
	dies_at(r, MOVE_COUNTS);
	begin_move(r, &r->mover[4], S10, MOVE_SWEEPS);
	r->unkept = 5;
	*rig_word(&r->w, 5, region_kept_offset(0)) = region_word(20, START + 7);
	*rig_word(&r->w, 5, region_kept_offset(1)) = region_word(20, START + 7);
	run_until(r, &r->mover[4], MOVE_IDLE);
	assert_int_equal(move_result(&r->mover[4].move), MOVE_MOVED);
}

TEST_WITH(count__a_step_has_room_for_one__reads_all, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];

	h->out.taken = STEP_OPS_MAX - 1;
	begin_move(r, h, S10, MOVE_COUNTS);
	h->ops = 0;
	while (h->move.state == MOVE_COUNTS) {
		assert_int_equal(h->out.n, 1);
		execute_one(r, h);
		if (!h->out.n)
			pass_to_due(r, h);
	}
	assert_int_equal(h->ops, NODE_HOSTS); /* the first was out; and an announcement */
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
}
