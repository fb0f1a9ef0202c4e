/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx_golden: what holds of queues of libmlx5 and libmlx4 alike. Truth is what the test posted. A
 * completion is the fake adapter's, and counts as golden because the library's ibv_poll_cq() must
 * return from it what was posted. Included once a program, after mlx5_rig.h or mlx4_rig.h.
 */
#ifndef RESEX_TESTS_MLX_GOLDEN_H
#define RESEX_TESTS_MLX_GOLDEN_H

#include "tests/unit/mlx_rig.h"
#include "tests/unit/unit.h"

/* One posted, nobody reads the completion queue: it is charged at once. */
static const struct one {
	const char *name;
	enum ibv_qp_type type;
	struct wanted w;
} ones[] = {
	{ "golden__send__is_counted", IBV_QPT_RC, { IBV_WR_SEND, { 3000 }, 1, 0 } },
	{ "golden__send_of_nothing__is_one_mtu", IBV_QPT_RC, { IBV_WR_SEND, { 0 }, 0, 0 } },
	{ "golden__empty_segments__are_nothing", IBV_QPT_RC, { IBV_WR_SEND, { 0, 5, 0 }, 3, 0 } },
	{ "golden__several_segments__are_added",
	  IBV_QPT_RC,
	  { IBV_WR_RDMA_WRITE, { 1, 1023, 2, 4096 }, 4, 0 } },
	{ "golden__inline__is_its_length",
	  IBV_QPT_RC,
	  { IBV_WR_RDMA_WRITE, { 100 }, 1, IBV_SEND_INLINE } },
	{ "golden__inline_send__is_its_length",
	  IBV_QPT_RC,
	  { IBV_WR_SEND, { 44 }, 1, IBV_SEND_INLINE } },
	{ "golden__inline_of_several__is_their_sum",
	  IBV_QPT_UC,
	  { IBV_WR_SEND, { 30, 30, 30, 38 }, 4, IBV_SEND_INLINE } },
	{ "golden__read__is_received", IBV_QPT_RC, { IBV_WR_RDMA_READ, { 70000 }, 1, 0 } },
	{ "golden__write_with_immediate__is_a_write",
	  IBV_QPT_UC,
	  { IBV_WR_RDMA_WRITE_WITH_IMM, { 1024 }, 1, 0 } },
	{ "golden__compare_and_swap__is_one_mtu",
	  IBV_QPT_RC,
	  { IBV_WR_ATOMIC_CMP_AND_SWP, { 8 }, 1, 0 } },
	{ "golden__fetch_and_add__is_one_mtu",
	  IBV_QPT_RC,
	  { IBV_WR_ATOMIC_FETCH_AND_ADD, { 8 }, 1, 0 } },
	{ "golden__send_with_invalidate__is_a_send",
	  IBV_QPT_RC,
	  { IBV_WR_SEND_WITH_INV, { 2049 }, 1, 0 } },
	{ "golden__local_invalidate__is_no_mtu", IBV_QPT_RC, { IBV_WR_LOCAL_INV, { 0 }, 0, 0 } },
	{ "golden__datagram__is_one_mtu", IBV_QPT_UD, { IBV_WR_SEND, { 700 }, 1, 0 } },
	{ "golden__datagram_of_nothing__is_one_mtu", IBV_QPT_UD, { IBV_WR_SEND, { 0 }, 0, 0 } },
	{ "golden__inline_datagram__is_its_length",
	  IBV_QPT_UD,
	  { IBV_WR_SEND_WITH_IMM, { 60, 7 }, 2, IBV_SEND_INLINE } },
};

static void one_is_counted(void **state)
{
	const struct one *c = *state;

	for (int known = 0; known < 2; known++) {
		struct provider_rig *x = start(ENTRIES);
		struct rig_qp *q = add(x, c->type, known);
		struct ibv_ah *ah = address(x);

		assert_int_equal(post(x, q, &c->w, ah), 0);
		rig_count(q, &q->post[0]);
		copy_sample(x, &q->sq);
		assert_totals(q->sq.r, &q->want);
		ibv_destroy_ah(ah);
		rig_close(x);
	}
}
TEST_ROWS(ones, one_is_counted)

/* Queue pairs of all kinds share a completion queue; both wrap many times. */
static void run_random(struct prop *p, struct provider_rig *x)
{
	static const enum ibv_qp_type types[RIG_QPS] = { IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_UC,
							 IBV_QPT_RC };
	uint64_t newest[RIG_QPS] = { 0 };
	struct ibv_ah *ah = address(x);

	for (int i = 0; i < RIG_QPS; i++)
		add(x, types[i], i != 1);
	rig_watch_cq(x, PROVIDER);
	assert_int_equal(x->cqc.s.wrs, 0);
	for (int step = 0; step < 3000; step++) {
		struct rig_qp *q = &x->qp[prop_range(p, 0, RIG_QPS - 1)];
		struct wanted w;

		switch (prop_range(p, 0, 5)) {
		case 0:
			rig_execute(q, (uint32_t)prop_range(p, 1, 20));
			break;
		case 1:
			poll_all(x, newest, (uint32_t)prop_range(p, 1, 40));
			break;
		case 2: /* as often as no ring is lapped */
			copy_sample(x, &x->cqc);
			for (int i = 0; i < RIG_QPS; i++)
				copy_sample(x, &x->qp[i].sq);
			break;
		default:
			w = draw(p, q->type);
			post(x, q, &w, ah);
			copy_sample(x, &q->sq);
		}
	}
	ibv_destroy_ah(ah);
	finish(x, newest);
	rig_close(x);
}

/* --- completions ------------------------------------------------------- */

TEST(golden__posted_and_not_completed__is_backlog)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	post_n(x, q, &write_3, 10);
	look(x);
	assert_int_equal(q->sq.s.wrs, 0);
	assert_int_equal(q->sq.s.backlog, 10);
	assert_int_equal(rig_execute(q, 4), 4);
	look(x);
	assert_int_equal(q->sq.s.wrs, 4);
	assert_int_equal(q->sq.s.mtus_sent, 12);
	assert_int_equal(q->sq.s.backlog, 6);
	rig_close(x);
}

/* A completion is of all requests before it, too. */
TEST(golden__unsignalled__is_completed_by_a_later_one)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	post_n(x, q, &quiet_3, 5);
	post_n(x, q, &write_3, 1);
	assert_int_equal(rig_execute(q, 5), 5);
	look(x);
	assert_int_equal(q->sq.s.wrs, 0);
	assert_int_equal(rig_execute(q, 5), 1);
	look(x);
	assert_int_equal(q->sq.s.wrs, 6);
	assert_int_equal(q->sq.s.backlog, 0);
	rig_close(x);
}

TEST(golden__completion_queue_silent_for_a_second__is_charged)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	post_n(x, q, &quiet_3, 5);
	for (int i = 0; i < 1000; i++) {
		copy_sample(x, &q->sq);
		assert_int_equal(q->sq.s.wrs, 0);
	}
	copy_sample(x, &q->sq);
	assert_int_equal(q->sq.s.wrs, 5);
	assert_int_equal(q->sq.s.mtus_sent, 15);
	post_n(x, q, &quiet_3, 1);
	copy_sample(x, &q->sq);
	assert_int_equal(q->sq.s.wrs, 1);
	rig_close(x);
}

TEST(golden__failed_and_flushed__are_errors)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];
	struct ibv_wc wc;

	post_n(x, q, &quiet_3, 2);
	post_n(x, q, &write_3, 3);
	assert_int_equal(rig_execute(q, 2), 2);
	assert_true(fakeverbs_fail(q->fake));
	assert_int_equal(fakeverbs_complete(q->fake, 9), 2);
	look(x);
	assert_int_equal(ibv_poll_cq(x->cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ibv_poll_cq(x->cq, 1, &wc), 1);
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(x->cqc.s.errors, 3);
	assert_int_equal(q->sq.s.wrs, 5);
	assert_int_equal(q->sq.s.errors, 3);
	assert_int_equal(q->sq.s.mtus_sent, 6); /* of the two before, which succeeded */
	assert_int_equal(q->sq.s.bytes_sent, 6000);
	rig_close(x);
}

/* Also after a failure: work that is posted after RESET counts as no error. */
TEST(golden__reset__begins_anew)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	post_n(x, q, &write_3, 5);
	look(x);
	assert_true(fakeverbs_fail(q->fake));
	look(x);
	assert_int_equal(q->sq.s.errors, 1);
	rig_modify(q, IBV_QPS_RESET);
	rig_ready(q);
	look(x);
	assert_int_equal(q->sq.s.wrs, 0);
	assert_int_equal(q->sq.s.backlog, 0); /* the four were dropped */
	assert_true(q->sq.s.flags & SAMPLE_WRS_BOUNDED);
	post_n(x, q, &write_3, 3);
	assert_int_equal(fakeverbs_complete(q->fake, 3), 3);
	look(x);
	assert_int_equal(q->sq.s.wrs, 3);
	assert_int_equal(q->sq.s.errors, 0);
	assert_int_equal(q->sq.s.mtus_sent, 9);
	assert_int_equal(q->sq.s.flags, 0);
	rig_close(x);
}

/* Posted to after the RESET, and before it is looked at. */
TEST(golden__reset_and_used__counts_what_was_posted_since)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	for (int i = 0; i < 20; i++) {
		post_n(x, q, &write_3, 20);
		assert_int_equal(rig_execute(q, 20), 20);
		assert_int_equal(poll_all(x, newest, 20), 20);
		look(x);
	}
	rig_modify(q, IBV_QPS_RESET);
	rig_ready(q);
	post_n(x, q, &write_3, 7);
	look(x);
	assert_int_equal(q->sq.s.wrs, 7);
	assert_int_equal(q->sq.s.lost, 0);
	assert_int_equal(q->sq.s.mtus_sent, 21);
	rig_close(x);
}

TEST(golden__resized_queue__tells_on)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	post_n(x, q, &write_3, 9);
	rig_execute(q, 3);
	look(x);
	assert_int_equal(q->sq.s.wrs, 3);
	assert_int_equal(ibv_resize_cq(x->cq, 200), 0);
	copy_close(&x->cqc); /* its buffer is freed */
	rig_watch_cq(x, PROVIDER);
	assert_int_equal(x->cqc.desc.entries, 256);
	look(x);
	assert_int_equal(q->sq.s.wrs, 0);
	rig_execute(q, 6);
	look(x);
	poll_all(x, newest, UINT32_MAX);
	look(x);
	assert_int_equal(q->sq.s.backlog, 0);
	assert_totals(q->sq.r, &q->want);
	rig_close(x);
}

/* The library removes the completions of a queue pair that is destroyed: later ones move. */
TEST(golden__compacted_queue__tells_nothing_twice)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *a = &x->qp[0], *b = add(x, IBV_QPT_RC, true);

	for (int i = 0; i < 8; i++) {
		post_n(x, a, &write_3, 1);
		post_n(x, b, &write_3, 1);
		rig_execute(a, 1);
		rig_execute(b, 1);
		if (i == 3)
			look(x);
	}
	assert_int_equal(ibv_destroy_qp(b->qp), 0);
	b->qp = NULL;
	look(x);
	assert_totals(a->sq.r, &a->want);
	post_n(x, a, &write_3, 5);
	rig_execute(a, 5);
	look(x);
	assert_totals(a->sq.r, &a->want);
	assert_int_equal(poll_all(x, newest, UINT32_MAX), 13);
	rig_close(x);
}

#endif
