// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5: queues that the distribution's own, unmodified libmlx5 wrote, over a device that is not
 * there (tests/fakeverbs). Truth is what the test posted. A completion is the fake adapter's, and
 * counts as golden because libmlx5's ibv_poll_cq() must return from it what was posted.
 */
#include <infiniband/mlx5dv.h>

#include "ibmon/ring/mlx5.h"
#include "tests/unit/mlx5_rig.h"
#include "tests/unit/unit.h"

/* --- tests ------------------------------------------------------------- */

#define SAME(ours, theirs, field) assert_int_equal(ours, offsetof(theirs, field))

TEST(layout__each_offset__is_where_libmlx5_has_it)
{
	SAME(RING_MLX5_WQE_OPCODE, struct mlx5_wqe_ctrl_seg, opmod_idx_opcode);
	SAME(RING_MLX5_WQE_QPN, struct mlx5_wqe_ctrl_seg, qpn_ds);
	SAME(RING_MLX5_DATA_BYTES, struct mlx5_wqe_data_seg, byte_count);
	SAME(RING_MLX5_DATA_BYTES, struct mlx5_wqe_inl_data_seg, byte_count);
	SAME(RING_MLX5_AV_EXT, struct mlx5_wqe_datagram_seg, av.dqp_dct);
	assert_int_equal(sizeof(struct mlx5_wqe_ctrl_seg), RING_MLX5_SEGMENT);
	assert_int_equal(sizeof(struct mlx5_wqe_raddr_seg), RING_MLX5_SEGMENT);
	assert_int_equal(sizeof(struct mlx5_wqe_atomic_seg), RING_MLX5_SEGMENT);
	assert_int_equal(sizeof(struct mlx5_wqe_data_seg), RING_MLX5_SEGMENT);
	assert_int_equal(sizeof(struct mlx5_wqe_datagram_seg), 3 * RING_MLX5_SEGMENT);
	assert_int_equal(MLX5_SEND_WQE_BB, RING_MLX5_BLOCK);
	assert_int_equal(MLX5_INLINE_SEG, RING_MLX5_INLINE);
	assert_int_equal(MLX5_EXTENDED_UD_AV, RING_MLX5_AV_IS_LONG);
	assert_int_equal(MLX5_SND_DBR, RING_MLX5_DB_POSTED);
	SAME(64 - RING_MLX5_CQE_TAIL, struct mlx5_cqe64, sop_drop_qpn);
	SAME(64 - RING_MLX5_CQE_TAIL + 4, struct mlx5_cqe64, wqe_counter);
	SAME(64 - RING_MLX5_CQE_TAIL, struct mlx5_err_cqe, s_wqe_opcode_qpn);
	SAME(64 - RING_MLX5_CQE_TAIL + 4, struct mlx5_err_cqe, wqe_counter);
	SAME(63, struct mlx5_cqe64, op_own);
}

TEST(layout__each_value__is_libmlx5s)
{
	assert_int_equal(MLX5_OPCODE_NOP, RING_MLX5_NOP);
	assert_int_equal(MLX5_OPCODE_SEND_INVAL, RING_MLX5_SEND_INVAL);
	assert_int_equal(MLX5_OPCODE_RDMA_WRITE, RING_MLX5_WRITE);
	assert_int_equal(MLX5_OPCODE_RDMA_WRITE_IMM, RING_MLX5_WRITE_IMM);
	assert_int_equal(MLX5_OPCODE_SEND, RING_MLX5_SEND);
	assert_int_equal(MLX5_OPCODE_SEND_IMM, RING_MLX5_SEND_IMM);
	assert_int_equal(MLX5_OPCODE_TSO, RING_MLX5_TSO);
	assert_int_equal(MLX5_OPCODE_RDMA_READ, RING_MLX5_READ);
	assert_int_equal(MLX5_OPCODE_ATOMIC_CS, RING_MLX5_CMP_SWAP);
	assert_int_equal(MLX5_OPCODE_ATOMIC_FA, RING_MLX5_FETCH_ADD);
	assert_int_equal(MLX5_OPCODE_ATOMIC_MASKED_CS, RING_MLX5_CMP_SWAP_MASKED);
	assert_int_equal(MLX5_OPCODE_ATOMIC_MASKED_FA, RING_MLX5_FETCH_ADD_MASKED);
	assert_int_equal(MLX5_OPCODE_LOCAL_INVAL, RING_MLX5_LOCAL_INVAL);
	assert_int_equal(MLX5_OPCODE_SET_PSV, RING_MLX5_SET_PSV);
	assert_int_equal(MLX5_OPCODE_UMR, RING_MLX5_UMR);
	assert_int_equal(MLX5_OPCODE_MMO, RING_MLX5_MMO);
	assert_int_equal(MLX5_CQE_REQ, RING_MLX5_CQE_REQ);
	assert_int_equal(MLX5_CQE_RESP_WR_IMM, RING_MLX5_CQE_RESP_WRITE_IMM);
	assert_int_equal(MLX5_CQE_RESP_SEND_INV, RING_MLX5_CQE_RESP_SEND_INV);
	assert_int_equal(MLX5_CQE_RESIZE_CQ, RING_MLX5_CQE_RESIZED);
	assert_int_equal(MLX5_CQE_NO_PACKET, RING_MLX5_CQE_NO_PACKET);
	assert_int_equal(MLX5_CQE_SIG_ERR, RING_MLX5_CQE_SIG_ERR);
	assert_int_equal(MLX5_CQE_REQ_ERR, RING_MLX5_CQE_REQ_ERR);
	assert_int_equal(MLX5_CQE_RESP_ERR, RING_MLX5_CQE_RESP_ERR);
	assert_int_equal(MLX5_CQE_INVALID, RING_MLX5_CQE_INVALID);
}

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
		struct provider_rig *x = start(1, ENTRIES);
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
static void run_random(struct prop *p, uint32_t version, int entry_bytes)
{
	static const enum ibv_qp_type types[RIG_QPS] = { IBV_QPT_RC, IBV_QPT_UD, IBV_QPT_UC,
							 IBV_QPT_RC };
	struct provider_rig *x;
	uint64_t newest[RIG_QPS] = { 0 };
	struct ibv_ah *ah;

	if (entry_bytes == 128)
		setenv("MLX5_CQE_SIZE", "128", 1);
	x = start(version, ENTRIES);
	unsetenv("MLX5_CQE_SIZE");
	ah = address(x);
	for (int i = 0; i < RIG_QPS; i++)
		add(x, types[i], i != 1);
	rig_watch_cq(x, GUEST_PROVIDER_MLX5);
	assert_int_equal(x->cqc.desc.elem_size, entry_bytes);
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

TEST(golden__random_work__is_counted_exactly)
{
	struct prop p;

	prop_start(&p);
	run_random(&p, 1, 64);
	run_random(&p, 0, 64);
	run_random(&p, 1, 128);
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
	rig_watch_cq(x, GUEST_PROVIDER_MLX5);
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

/* libmlx5 removes the completions of a queue pair that is destroyed: later ones move. */
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

/* Small data of a receive are in its completion, over the fields that are not read. */
TEST(golden__receives__are_completions_and_no_work)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct ibv_sge sge = { (uintptr_t)x->buffer, 64, x->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	uint8_t data[32];
	struct ibv_wc wc;

	memset(data, 0xff, sizeof(data));
	for (int i = 0; i < 2; i++)
		assert_int_equal(ibv_post_recv(x->qp[0].qp, &wr, &bad), 0);
	assert_true(fakeverbs_receive(x->qp[0].fake, sizeof(data), data));
	assert_true(fakeverbs_receive(x->qp[0].fake, 48, NULL));
	look(x);
	assert_int_equal(x->cqc.s.seen, 2);
	assert_int_equal(x->cqc.s.errors, 0);
	assert_int_equal(x->qp[0].sq.s.wrs, 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(ibv_poll_cq(x->cq, 1, &wc), 1);
		assert_int_equal(wc.opcode, IBV_WC_RECV);
		assert_int_equal(wc.byte_len, i ? 48 : sizeof(data));
	}
	assert_memory_equal(x->buffer, data, sizeof(data));
	rig_close(x);
}
