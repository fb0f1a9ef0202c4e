// SPDX-License-Identifier: GPL-2.0-or-later
/* move: the fencing sweep after a lock that was not released clean; epochs. */
#include "tests/unit/move_rig.h"
#include "tests/unit/unit.h"

/* The cluster as it was at first. */
static struct rig *begin_anew(void **state)
{
	rig_teardown(state);
	rig_setup(state);
	return *state;
}

TEST_WITH(sweep__holder_died__every_node_word_gets_a_new_seq, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	dies_at(r, MOVE_COUNTS);
	begin_move(r, h, S10, MOVE_ANNOUNCES);
	assert_word(*node_word(r, N70), 10, START + NODE_UP + 1);
	assert_word(*node_word(r, N50), 20, START + NODE_UP + 1);
	assert_word(*node_word(r, N51), 20, START + NODE_UP + 1);
	assert_word(*node_word(r, N60), 20, START + NODE_UP + 1);
	assert_word(*node_word(r, N61), 30, START + NODE_UP + 1); /* of any service */
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
	assert_int_equal(region_word_id(*lock_word(r, S10)), 0); /* clean again */
	assert_int_equal(region_word_id(*lock_word(r, S20)), 0);
}

TEST_WITH(sweep__late_cas_comes_after_it__fails, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];
	struct step_op late;

	dies_at(r, MOVE_ACTS);
	late = take_op(&r->mover[2]);
	assert_int_equal(late.kind, STEP_CAS);
	*counter_word(r, 4, S10) = 0;	  /* as if it had not been notified: the sweep must do */
	begin_move(r, h, S10, MOVE_ACTS); /* it has counted three */
	assert_true(rig_execute(&r->w, &late) != late.compare);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
	assert_int_equal(nodes_of(r, S20), 2);
}

TEST_WITH(sweep__late_cas_comes_at_any_moment__donor_stays_at_its_minimum, rig_setup, rig_teardown)
{
	for (uint32_t moment = 0; moment < 40; moment++) {
		struct rig *r = begin_anew(state);
		struct mover *h = &r->mover[4];
		struct step_op late;
		uint32_t n = 0;

		dies_at(r, MOVE_ACTS);
		late = take_op(&r->mover[2]);
		*counter_word(r, 4, S10) = 0;
		ask_for_move(r, h, S10);
		while (h->move.state != MOVE_IDLE) {
			if (n++ == moment)
				rig_execute(&r->w, &late);
			if (h->out.n)
				execute_one(r, h);
			else
				pass_to_due(r, h);
			assert_in_range(nodes_of(r, S20), 2, 3);
		}
		rig_execute(&r->w, &late);
		assert_in_range(nodes_of(r, S20), 2, 3);
	}
}

TEST_WITH(sweep__a_node_cannot_be_swept__locks_are_left_dirty, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	dies_at(r, MOVE_COUNTS);
	ask_for_move(r, h, S10);
	while (h->move.state != MOVE_IDLE) {
		if (!h->out.n) {
			pass_to_due(r, h);
		} else if (h->out.op[0].host == 6) { /* it is cut off from host 6 */
			struct step_op op = take_op(h);

			give_result(r, h, &op, STEP_LOST, 0);
		} else {
			execute_one(r, h);
		}
	}
	/* Two of 20 are swept: no more than its minimum. */
	assert_int_equal(move_result(&h->move), MOVE_NO_DONOR);
	assert_int_equal(region_word_id(*lock_word(r, S10)), LOCK_DIRTY);
	assert_int_equal(region_word_id(*lock_word(r, S20)), LOCK_DIRTY);
	assert_int_equal(whole_move(r, &r->mover[3], S20), MOVE_NO_DONOR);
	start(r, 2);
	begin_move(r, &r->mover[2], S10, MOVE_ANNOUNCES);
	assert_word(*node_word(r, N60), 20, START + NODE_UP + 1); /* the next one sweeps */
}

TEST_WITH(sweep__more_nodes_than_a_step_has_room_for__sweeps_all, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	for (uint16_t n = 1; n < 200; n++)
		put_node(r, 8, n, S30, 700);
	dies_at(r, MOVE_COUNTS);
	begin_move(r, h, S10, MOVE_SWEEPS);
	while (h->move.state == MOVE_SWEEPS) {
		struct step_op op[STEP_OPS_MAX];
		uint32_t n = h->out.n;

		assert_in_range(n, 1, STEP_OPS_MAX);
		memcpy(op, h->out.op, n * sizeof(op[0]));
		h->out.n = 0;
		for (uint32_t i = 0; i < n; i++)
			give_result(r, h, &op[i], STEP_DONE, rig_execute(&r->w, &op[i]));
	}
	for (uint32_t i = 0; i < r->view.nodes; i++)
		assert_true(region_word_seq(*node_word(r, i)) == START + NODE_UP + 1);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
	assert_int_equal(h->move.sweeps, 1);
}

/*
 * Run a move of h until it is over, or in this state. The first `losses` CASes of a sweep on this
 * node are lost, and change nothing.
 */
static void run_losing(struct rig *r, struct mover *h, uint32_t node, uint32_t losses,
		       enum move_state until)
{
	const struct move_node *n = &r->view.node[node];

	while (h->move.state != MOVE_IDLE && h->move.state != until) {
		struct step_op op = h->out.op[0];

		if (!h->out.n) {
			pass_to_due(r, h);
		} else if (losses && h->move.state == MOVE_SWEEPS && op.host == n->host &&
			   op.offset == region_node_offset(n->node)) {
			losses--;
			take_op(h);
			give_result(r, h, &op, STEP_LOST, 0);
			new_links(r, h);
		} else {
			execute_one(r, h);
		}
	}
	assert_int_equal(losses, 0);
}

/* The word has the locks' epoch already: only its change shows that it was swept. */
TEST_WITH(sweep__a_cas_is_lost__is_swept_again, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	*node_word(r, N60) = region_word(20, START + NODE_UP + 1);
	dies_at(r, MOVE_COUNTS);
	ask_for_move(r, h, S10);
	run_losing(r, h, N60, 1, MOVE_ANNOUNCES);
	assert_word(*node_word(r, N60), 20, START + NODE_UP + 2);
}

TEST_WITH(sweep__a_cas_is_lost_in_each_pass__the_node_does_not_count, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	dies_at(r, MOVE_COUNTS);
	ask_for_move(r, h, S10);
	run_losing(r, h, N60, MOVE_SWEEPS_MAX, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_NO_DONOR); /* two others: its minimum */
	assert_int_equal(region_word_id(*lock_word(r, S10)), LOCK_DIRTY);
	assert_int_equal(region_word_id(*lock_word(r, S20)), LOCK_DIRTY);
}

/* A node of another service was missed, and then the move's own CAS is resolved. */
TEST_WITH(sweep__missed_a_node__stays_dirty_after_a_resolve, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];
	struct step_op op;

	dies_at(r, MOVE_COUNTS);
	ask_for_move(r, h, S10);
	run_losing(r, h, N61, MOVE_SWEEPS_MAX, MOVE_ACTS);
	op = take_op(h);
	assert_int_equal(op.kind, STEP_CAS);
	assert_true(rig_execute(&r->w, &op) == op.compare);
	give_result(r, h, &op, STEP_UNKNOWN, 0);
	assert_int_equal(h->move.state, MOVE_RESOLVES);
	new_links(r, h);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
	assert_int_equal(region_word_id(*lock_word(r, S10)), LOCK_DIRTY);
	assert_int_equal(region_word_id(*lock_word(r, S20)), LOCK_DIRTY);
}

TEST_WITH(sweep__a_word_changes_under_it__is_recounted, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[4];

	dies_at(r, MOVE_COUNTS);
	begin_move(r, h, S10, MOVE_SWEEPS);
	*node_word(r, N50) = region_word(10, START + NODE_UP + 1); /* a late CAS */
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_NO_DONOR);
	assert_word(*node_word(r, N50), 10, START + NODE_UP + 1);
	assert_int_equal(region_word_id(*lock_word(r, S20)), 0); /* all is known: clean */
}

TEST_WITH(sweep__last_holder_had_another_pair__its_late_cas_fails_too, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *old = &r->mover[2], *h = &r->mover[3];
	struct step_op late;

	r->view.node[N61].load = r->view.node[N80].load = 10;
	begin_move(r, old, S10, MOVE_ACTS); /* from 30 to 10 */
	late = take_op(old);
	give_result(r, old, &late, STEP_UNKNOWN, 0);
	run_until(r, old, MOVE_IDLE);
	assert_int_equal(move_result(&old->move), MOVE_UNDECIDED);
	r->view.node[N70].load = 1;
	r->view.node[N50].load = r->view.node[N51].load = r->view.node[N60].load = 500;
	r->view.service[S10].minimum = 0;
	assert_int_equal(whole_move(r, h, S20), MOVE_MOVED); /* from 10 to 20 */
	assert_int_equal(region_word_id(*lock_word(r, S10)), 0);
	assert_true(rig_execute(&r->w, &late) != late.compare);
}

TEST_WITH(sweep__a_host_of_an_older_view_sweeps_too__only_the_newer_moves, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *old = &r->mover[2], *h = &r->mover[4];

	for (uint32_t s = 0; s < SERVICES; s++) /* the home of the older view is host 2 */
		*rig_word(&r->w, 2, region_lock_offset(r->view.service[s].id)) =
			region_word(LOCK_DIRTY, (6ull << REGION_COUNT_BITS) + 1);
	step_mover(r, old, rig_view(6, ALL & ~1ull, true));
	step_mover(r, h, rig_view(7, ALL, true));
	begin_move(r, h, S10, MOVE_SWEEPS);
	begin_move(r, old, S10, MOVE_COUNTS);
	while (old->move.state == MOVE_COUNTS || old->move.state == MOVE_SWEEPS)
		execute_one(r, old); /* swept all, under the feet of the newer one */
	r->view.node[N50].load = 1;  /* which chooses another node */
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
	run_until(r, old, MOVE_IDLE);
	assert_int_not_equal(move_result(&old->move), MOVE_MOVED);
	assert_int_equal(nodes_of(r, S20), 2);
}

/*
 * Host 4 hangs with a CAS on its way to host 6, in view 5. View 7 is without host 6:
 * host 3 sweeps the others' nodes and releases clean. Host 2 has not heard of it.
 */
TEST_WITH(view__a_newer_one_swept_fewer_hosts__an_older_one_does_not_trust_it, rig_setup,
	  rig_teardown)
{
	struct rig *r = *state;
	struct mover *behind = &r->mover[2], *newer = &r->mover[3], *old = &r->mover[4];
	const uint64_t fewer = ALL & ~(1ull << 5);
	struct step_op late;

	step_mover(r, behind, rig_view(5, ALL, true));
	step_mover(r, old, rig_view(5, ALL, true));
	step_mover(r, newer, rig_view(7, fewer, true));
	r->view.node[N60].load = 1;
	begin_move(r, old, S10, MOVE_ACTS);
	late = take_op(old);
	assert_int_equal(late.host, 6);
	*counter_word(r, 2, S10) = 0; /* as if it had not been notified: the locks must do */
	r->view.node[N60].load = 500;

	r->view.node[N70].load = 1;
	r->view.service[S10].minimum = 0;
	assert_int_equal(whole_move(r, newer, S20), MOVE_COUNTER_AHEAD);
	begin_move(r, newer, S20, MOVE_COUNTS);
	r->view.node[N70].alive = false; /* it goes the moment it would be chosen */
	run_until(r, newer, MOVE_IDLE);
	assert_int_equal(move_result(&newer->move), MOVE_NO_DONOR);
	r->view.node[N70].alive = true;
	assert_int_equal(region_word_id(*lock_word(r, S10)), 0);
	assert_int_equal(region_seq_epoch(region_word_seq(*lock_word(r, S10))), 7);
	assert_word(*node_word(r, N60), 20, NODE_UP); /* none of its view's */

	r->view.node[N70].load = 900;
	ask_for_move(r, behind, S10);
	for (int i = 0; i < 100 && behind->move.state != MOVE_IDLE; i++) {
		if (behind->out.n)
			execute_one(r, behind);
		else
			pass_to_due(r, behind);
	}
	assert_int_equal(rig_execute(&r->w, &late), late.compare);
	assert_in_range(nodes_of(r, S20), r->view.service[S20].minimum, 3);
	assert_int_equal(behind->move.state, MOVE_LOCKS); /* until it gets the view */
	step_mover(r, behind, rig_view(7, fewer, true));
	run_until(r, behind, MOVE_IDLE);
	assert_int_equal(move_result(&behind->move), MOVE_VIEW);
}

TEST_WITH(restart__own_locks_of_before__acquired_at_once_with_a_sweep, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mono before;

	dies_at(r, MOVE_ANNOUNCES);
	start(r, 2);
	before = r->now;
	assert_int_equal(whole_move(r, &r->mover[2], S10), MOVE_MOVED);
	assert_true(mono_sub(r->now, before) < CHECK);
	assert_word(*node_word(r, N50), 20, START + NODE_UP + 1);
}

/* Whatever the node serves: its word must not be swept back to the older epoch. */
TEST_WITH(epoch__a_newer_view_swept__an_older_one_keeps_off, rig_setup, rig_teardown)
{
	static const uint32_t nodes[] = { N60, N61, N70 };
	static const uint16_t ids[] = { 20, 30, 10 };

	for (int i = 0; i < 3; i++) {
		struct rig *r = begin_anew(state);

		*node_word(r, nodes[i]) = region_word(ids[i],
						      (6ull << REGION_COUNT_BITS) + NODE_UP + 1);
		assert_int_equal(whole_move(r, &r->mover[2], S10), MOVE_OVERTAKEN);
		assert_int_equal(nodes_of(r, S20), 3);
		assert_true(*counter_word(r, 4, S10) == 0);
	}
}

/* The home has restarted between the two: which epoch fences a node is not known. */
TEST_WITH(epoch__of_the_two_locks_differ__nothing_is_moved, rig_setup, rig_teardown)
{
	for (int i = 0; i < 2; i++) {
		struct rig *r = begin_anew(state);

		*lock_word(r, i ? S10 : S20) = region_word(0, (6ull << REGION_COUNT_BITS) + 1);
		assert_int_equal(whole_move(r, &r->mover[2], S10), MOVE_OVERTAKEN);
		assert_int_equal(nodes_of(r, S20), 3);
	}
}
