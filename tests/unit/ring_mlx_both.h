/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_mlx_both: what holds of queues of mlx4 and of mlx5. Included once a program, after its rig.
 */
#ifndef RESEX_TESTS_RING_MLX_BOTH_H
#define RESEX_TESTS_RING_MLX_BOTH_H

#include "tests/unit/ring_mlx_rig.h"

TEST(cost__path_mtu_unknown__is_a_guess_if_it_matters)
{
	struct rig *x = rig_open(GUEST_QP_RC, 0, UNIT, UNITS);

	sample(x);
	post_write(x, 256);
	sample(x);
	assert_int_equal(x->sq.s.flags, 0);
	post_write(x, 257);
	sample(x);
	assert_int_equal(x->sq.s.flags, SAMPLE_MTUS_ESTIMATED | SAMPLE_MTUS_GUESSED);
	done(x);
}

/* A copy that the library moved when it compacted the queue. */
TEST(told__an_older_completion_again__changes_nothing)
{
	struct rig *x = followed();

	writes(x, 3);
	put_cqe(x, cqe_ops.failed, QPN, 2);
	complete(x, 1);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 2);
	assert_int_equal(x->sq.s.errors, 1);
	done(x);
}

TEST(told__again_and_again_in_a_second__is_not_silent)
{
	struct rig *x = start();

	writes(x, 2);
	complete(x, 0);
	sample(x);
	for (uint32_t i = 1; i < 1500; i++) {
		writes(x, 1);
		complete(x, i);
		sample(x);
		set_polled(x, x->produced);
		assert_int_equal(x->sq.s.backlog, 1);
	}
	done(x);
}

TEST(told__nothing_for_a_second__is_charged)
{
	struct rig *x = followed();

	writes(x, 2);
	for (int i = 0; i < 1000; i++) {
		sample(x);
		assert_int_equal(x->sq.s.wrs, 0);
	}
	sample(x);
	assert_int_equal(x->sq.s.wrs, 2);
	done(x);
}

/* Indices of receives are those of another queue. */
TEST(told__of_a_receive__is_nothing)
{
	struct rig *x = start();

	put_cqe(x, cqe_ops.received, QPN, 0xffff);
	sample(x);
	assert_int_equal(x->cq.s.seen, 1);
	writes(x, 2);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 2); /* charged when posted: nothing is told */
	done(x);
}

enum { UNKNOWN_OPCODE = 0x1f };

/* It read something else than its queue, and was not confused by it. */
TEST(fault__at_the_first_new_request__goes_on_where_the_queue_is)
{
	struct rig *x = start();
	struct queue *q = &x->sq;

	writes(x, 2);
	sample(x);
	post(x, UNKNOWN_OPCODE, 3);
	assert_int_equal(look(x, q), -EBADMSG);
	assert_int_equal(ring_resume(q->r, &q->d, q->mem, q->len, 0, false), -EAGAIN);
	assert_int_equal(ring_resume(q->r, &q->d, q->mem, q->len, 0, true), 1);
	assert_int_equal(ring_fault(q->r), RING_OK);
	x->posted = 2;
	writes(x, 1);
	sample(x);
	assert_int_equal(q->s.wrs, 1);
	done(x);
}

/* What it took is not in its totals. */
TEST(fault__after_a_new_request__does_not_go_on)
{
	struct rig *x = start();
	struct queue *q = &x->sq;

	writes(x, 2);
	sample(x);
	writes(x, 1);
	post(x, UNKNOWN_OPCODE, 3);
	assert_int_equal(look(x, q), -EBADMSG);
	assert_int_not_equal(ring_resume(q->r, &q->d, q->mem, q->len, 0, true), 1);
	done(x);
}

TEST(completions__before_it_was_mapped__are_not_told)
{
	struct rig *x = rig_open(GUEST_QP_RC, MTU, UNIT, UNITS);

	for (uint32_t i = 0; i < 20; i++)
		complete(x, i);
	set_polled(x, 18);
	sample(x);
	assert_int_equal(x->cq.s.wrs, 2);
	assert_int_equal(x->cq.s.lost, 0);
	done(x);
}

/* The process polled it, and the reader comes too late. */
TEST(completions__overwritten_while_they_are_read__are_lost)
{
	struct rig *x = start();
	struct ring_totals t;

	complete(x, 0);
	complete(x, 1);
	x->cq.mem[CQE - 1] ^= cqe_ops.owner;
	set_polled(x, 2);
	assert_int_equal(look(x, &x->cq), 0);
	assert_int_equal(x->cq.s.seen, 1);
	assert_int_equal(x->cq.s.lost, 1);
	ring_totals(x->cq.r, &t);
	assert_int_equal(t.lost, 1);
	assert_int_equal(t.completions, 1);
	done(x);
}

TEST(completions__after_the_last_of_a_buffer__are_not_read)
{
	struct rig *x = start();

	put_cqe(x, cqe_ops.resized, 0, 0);
	complete(x, 0);
	for (uint32_t i = 0; i < 2; i++) {
		sample(x);
		assert_int_equal(x->cq.s.seen, 0);
		set_polled(x, 2);
	}
	done(x);
}

#endif
