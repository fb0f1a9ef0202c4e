// SPDX-License-Identifier: GPL-2.0-or-later
/* move_adopt: a node in no service comes to a service: rules f, g and h of move.h. */
#include <errno.h>

#include "tests/unit/move_rig.h"
#include "tests/unit/unit.h"

#define NONE region_word(0, 1) /* as keep_begin begins it */

/* N51's host has lost its file, and h saw that a break ago. */
static struct move_wish lose_node(struct rig *r, const struct mover *h)
{
	struct move_wish wish = {
		.why = MOVE_FOR_ADOPTION, .node = N51, .since = r->now, .link = h->link
	};

	*node_word(r, N51) = r->view.node[N51].word = NONE;
	keep_words(r, 5);
	r->now = mono_add(r->now, lock_break_ns(&h->lock[0].conf));
	return wish;
}

static void ask_to_adopt(struct rig *r, struct mover *h, uint32_t s, struct move_wish wish)
{
	struct step_event ev = rig_ask(s);

	h->ops = 0;
	ev.wish = &wish; /* until the step returns */
	step_mover(r, h, ev);
}

static enum move_result adopts(struct rig *r, struct mover *h, uint32_t s, struct move_wish wish)
{
	ask_to_adopt(r, h, s, wish);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(h->out.n, 0);
	return move_result(&h->move);
}

TEST_WITH(adopt__node_in_no_service__comes_under_the_lock_of_the_service, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	uint64_t lock[] = { *lock_word(r, S10), *lock_word(r, S20), *lock_word(r, S30) };
	struct move_wish wish = lose_node(r, h);

	r->view.service[S20].minimum = 1;
	counter_check(&h->counter[S10], false);
	assert_int_equal(adopts(r, h, S10, wish), MOVE_MOVED);
	assert_int_equal(region_word_id(*node_word(r, N51)), 10);
	assert_true(region_seq_epoch(region_word_seq(*node_word(r, N51))) == 5);
	assert_true(*lock_word(r, S10) > lock[S10] && !region_word_id(*lock_word(r, S10)));
	assert_true(*lock_word(r, S20) == lock[S20] && *lock_word(r, S30) == lock[S30]);
	/* Its balancers are notified, and no others. */
	assert_true(*counter_word(r, 4, S10) == 1 && *counter_word(r, 2, S10) == 0);
	assert_true(*counter_word(r, 3, S20) == 0 && *counter_word(r, 4, S30) == 0);
}

TEST_WITH(adopt__clean_lock__sweeps_all_nodes_all_the_same, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct move_wish wish = lose_node(r, h);

	r->view.service[S20].minimum = 1;
	assert_int_equal(adopts(r, h, S10, wish), MOVE_MOVED);
	for (uint32_t i = 0; i < NODES; i++)
		if (i != N51)
			assert_true(region_word_seq(*node_word(r, i)) == START + NODE_UP + 1);
}

TEST_WITH(adopt__seen_for_less_than_a_break__ends_at_once, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct move_wish wish = lose_node(r, h);

	wish.since = mono_add(wish.since, 1);
	assert_int_equal(adopts(r, h, S10, wish), MOVE_NOT_WISHED);
	assert_int_equal(h->ops, 0);
	assert_true(*node_word(r, N51) == NONE);
}

TEST_WITH(adopt__read_on_another_link__no_adoption, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct move_wish wish = lose_node(r, h);

	r->view.service[S20].minimum = 1;
	new_links(r, h); /* its host may have restarted once more */
	assert_int_equal(adopts(r, h, S10, wish), MOVE_NOT_WISHED);
	assert_int_equal(region_word_id(*node_word(r, N51)), 0);
	wish.link = h->link;
	assert_int_equal(adopts(r, h, S10, wish), MOVE_MOVED);
}

TEST_WITH(adopt__another_service_was_first__leaves_the_node, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct move_wish wish = lose_node(r, h);

	r->view.service[S20].minimum = 1;
	ask_to_adopt(r, h, S10, wish);
	run_until(r, h, MOVE_ANNOUNCES);
	*node_word(r, N51) = region_word(20, START + 9);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_OVERTAKEN);
	assert_int_equal(adopts(r, h, S10, wish), MOVE_NOT_WISHED);
	assert_true(region_word_id(*node_word(r, N51)) == 20);
}

TEST_WITH(adopt__another_service_is_below_its_minimum__gets_the_node, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct move_wish wish = lose_node(r, h);

	r->view.service[S20].minimum = 3;
	assert_int_equal(adopts(r, h, S10, wish), MOVE_NEEDED);
	assert_int_equal(region_word_id(*node_word(r, N51)), 0);
	assert_int_equal(region_word_id(*lock_word(r, S10)), 0); /* all were swept: clean */
	wish.link = r->mover[3].link;
	assert_int_equal(adopts(r, &r->mover[3], S20, wish), MOVE_MOVED);
	assert_int_equal(region_word_id(*node_word(r, N51)), 20);
}

TEST_WITH(adopt__by_order__other_services_do_not_count, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct move_wish wish = lose_node(r, h);

	r->view.service[S20].minimum = 3;
	wish.why = MOVE_FOR_ADOPTION_ORDERED;
	assert_int_equal(adopts(r, h, S10, wish), MOVE_MOVED);
	assert_int_equal(region_word_id(*node_word(r, N51)), 10);
}

TEST_WITH(adopt__nodes_of_another_service_are_not_kept__is_not_kept, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct move_wish wish = lose_node(r, h);

	r->unkept = 6; /* of 20 and 30, after the sweep */
	assert_int_equal(adopts(r, h, S10, wish), MOVE_NOT_KEPT);
	r->unkept = 0;
	assert_int_equal(adopts(r, h, S10, wish), MOVE_MOVED);
}

/* Host 2 counted N51 in 20 before it was lost, and then moves another one, late. */
TEST_WITH(adopt__late_cas_of_a_holder_that_counted_the_node__fails, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *old = &r->mover[2], *h = &r->mover[4];
	struct step_op late;
	struct move_wish wish;

	r->view.node[N60].load = 1;
	begin_move(r, old, S10, MOVE_ACTS);
	late = take_op(old);
	assert_int_equal(late.host, 6);
	wish = lose_node(r, h);
	assert_int_equal(adopts(r, h, S30, wish), MOVE_MOVED);
	assert_true(rig_execute(&r->w, &late) != late.compare);
	assert_int_equal(nodes_of(r, S20), 2);
}

TEST_WITH(adopt__lock_is_held__waits_until_it_is_released, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct move_wish wish = lose_node(r, h);

	r->view.service[S20].minimum = 1;
	*lock_word(r, S10) = region_word(4, START + 9);
	ask_to_adopt(r, h, S10, wish);
	for (int i = 0; i < 20; i++) {
		if (h->out.n)
			execute_one(r, h);
		else
			pass_to_due(r, h);
	}
	assert_int_equal(h->move.state, MOVE_LOCKS);
	*lock_word(r, S10) = region_word(0, START + 9);
	run_until(r, h, MOVE_IDLE);
	assert_int_equal(move_result(&h->move), MOVE_MOVED);
}

TEST_WITH(adopt__holder_is_dead__breaks_its_lock, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct move_wish wish = lose_node(r, h);

	r->view.service[S20].minimum = 1;
	*lock_word(r, S10) = region_word(4, START + 9);
	assert_int_equal(adopts(r, h, S10, wish), MOVE_MOVED);
	assert_true(region_seq_count(region_word_seq(*lock_word(r, S10))) == 10);
}

/* What an adoption leaves does not change the move after it. */
TEST_WITH(adopt__then_a_move__has_both_locks_again, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mover *h = &r->mover[2];
	struct move_wish wish = lose_node(r, h);
	uint64_t lock;

	assert_int_equal(adopts(r, h, S10, wish), MOVE_MOVED);
	r->view.node[N51].word = *node_word(r, N51);
	r->view.service[S20].minimum = 1;
	lock = *lock_word(r, S20);
	assert_int_equal(whole_move(r, h, S10), MOVE_MOVED);
	assert_true(*lock_word(r, S20) > lock);
	assert_int_equal(nodes_of(r, S20), 1);
}

TEST_WITH(choose_adopted__table, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint64_t word[NODES];
	bool read[NODES], ok[NODES];

	for (uint32_t i = 0; i < NODES; i++) {
		word[i] = *node_word(r, i);
		read[i] = ok[i] = true;
	}
	assert_int_equal(move_choose_adopted(&r->view, read, ok, word, S10, N51), -ESTALE);
	word[N51] = NONE;
	assert_int_equal(move_choose_adopted(&r->view, read, ok, word, S10, N51), 0);
	ok[N51] = false; /* it counts in no service */
	assert_int_equal(move_choose_adopted(&r->view, read, ok, word, S10, N51), 0);
	ok[N60] = false; /* one of 20 is left */
	assert_int_equal(move_choose_adopted(&r->view, read, ok, word, S10, N51), -ENOSPC);
	assert_int_equal(move_choose_adopted(&r->view, read, ok, word, S20, N51), 0);
	word[N70] = region_word(20, NODE_UP); /* 10 has none */
	assert_int_equal(move_choose_adopted(&r->view, read, ok, word, S10, N51), 0);
	read[N60] = false; /* it may be of 10 */
	assert_int_equal(move_choose_adopted(&r->view, read, ok, word, S30, N51), -ENOSPC);
	ok[N61] = ok[N80] = false;
	assert_int_equal(move_choose_adopted(&r->view, read, ok, word, S10, N51), -ENOSPC);
	read[N51] = false;
	assert_int_equal(move_choose_adopted(&r->view, read, ok, word, S10, N51), -ESTALE);
}
