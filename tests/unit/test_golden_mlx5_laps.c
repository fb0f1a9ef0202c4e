// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5: queues of libmlx5 that are lapped, mapped late, written by the interface of ibv_wr_*, or
 * forged. See test_golden_mlx5.c; what mlx4 has, too, is in mlx_laps.h.
 */
#include "tests/unit/mlx5_rig.h"
/* After the rig. */
#include "tests/unit/mlx_laps.h"

/* --- laps -------------------------------------------------------------- */

/* All alike, of one block each: the bound is exact, and so is the mean. */
TEST(golden__lapped__is_bounded_and_marked)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	pass_by(x, q, &write_3, (int)q->fake->blocks + 300, newest);
	look(x);
	assert_int_equal(q->sq.s.seen, q->fake->blocks);
	assert_int_equal(q->sq.s.lost, 300);
	assert_int_equal(q->sq.s.mtus_sent, 3 * (q->fake->blocks + 300));
	assert_int_equal(q->sq.s.bytes_sent, 3000 * q->fake->blocks);
	assert_true(q->sq.s.bytes_bound >= 300 * 3000);
	assert_int_equal(q->sq.s.flags, SAMPLE_LAPPED | SAMPLE_WRS_BOUNDED | SAMPLE_MTUS_ESTIMATED |
						SAMPLE_MTUS_GUESSED);
	pass_by(x, q, &write_3, 5, newest);
	look(x);
	assert_int_equal(q->sq.s.wrs, 5);
	assert_int_equal(q->sq.s.flags, 0);
	rig_close(x);
}

/* Of several blocks: fewer requests than the blocks that were lost. */
TEST(golden__lapped_by_long_requests__is_at_most_the_bound)
{
	static const struct wanted w = {
		IBV_WR_RDMA_WRITE, { 32, 32, 32, 32 }, 4, IBV_SEND_SIGNALED | IBV_SEND_INLINE
	};
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	pass_by(x, q, &w, 200, newest);
	look(x);
	assert_true(q->sq.s.lost > 0 && q->sq.s.seen > 80);
	assert_in_range(200, q->sq.s.seen, q->sq.s.wrs);
	assert_int_equal(q->sq.s.lost, 600 - 3 * q->sq.s.seen);
	rig_close(x);
}

/* Mapped while it is in use: its history is bounded by what is visible. */
TEST(golden__mapped_late__begins_with_history)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	pass_by(x, q, &write_3, 500, newest);
	ring_close(q->sq.r);
	copy_again(&q->sq);
	assert_int_equal(ring_open(&q->sq.r, &q->sq.desc, q->sq.mem, q->sq.len), 0);
	rig_peers(x);
	copy_sample(x, &q->sq);
	assert_true(q->sq.s.flags & SAMPLE_HISTORY);
	assert_int_equal(q->sq.s.wrs, 501);
	pass_by(x, q, &write_3, 5, newest);
	copy_sample(x, &q->sq);
	assert_int_equal(q->sq.s.wrs, 5);
	assert_int_equal(q->sq.s.flags, 0);
	rig_close(x);
}

/* --- ibv_wr_* ---------------------------------------------------------- */

TEST(golden__new_interface__is_counted_exactly)
{
	struct provider_rig *x = start(ENTRIES);
	struct rig_qp *q = add(x, IBV_QPT_RC, true);
	struct ibv_qp_ex *e = ibv_qp_to_qp_ex(q->qp);
	struct ibv_sge sge[2] = { { (uintptr_t)x->buffer, 5000, x->mr->lkey },
				  { (uintptr_t)x->buffer, 7, x->mr->lkey } };
	struct ibv_data_buf buf[2] = { { x->buffer, 50 }, { x->buffer, 40 } };

	assert_non_null(e);
	ibv_wr_start(e);
	ibv_wr_rdma_write(e, 7, 0x1000);
	ibv_wr_set_sge_list(e, 2, sge);
	rig_note(q, OP_WRITE, 5007, true);
	ibv_wr_send(e);
	ibv_wr_set_inline_data_list(e, 2, buf);
	rig_note(q, OP_SEND, 90, true);
	ibv_wr_rdma_read(e, 7, 0x1000);
	ibv_wr_set_sge(e, x->mr->lkey, (uintptr_t)x->buffer, 9000);
	rig_note(q, OP_READ, 9000, true);
	ibv_wr_atomic_fetch_add(e, 7, 0x1000, 1);
	ibv_wr_set_sge(e, x->mr->lkey, (uintptr_t)x->buffer, 8);
	rig_note(q, OP_FETCH_ADD, 8, true);
	ibv_wr_local_inv(e, 9);
	rig_note(q, OP_LOCAL, 0, true);
	copy_sample(x, &q->sq);
	assert_int_equal(q->sq.s.wrs, 0); /* nothing is posted yet */
	assert_int_equal(ibv_wr_complete(e), 0);
	for (int i = 0; i < 5; i++)
		rig_count(q, &q->post[i]);
	copy_sample(x, &q->sq);
	assert_totals(q->sq.r, &q->want);
	ibv_wr_start(e);
	ibv_wr_rdma_write(e, 7, 0x1000);
	ibv_wr_set_sge(e, x->mr->lkey, (uintptr_t)x->buffer, 4096);
	ibv_wr_abort(e); /* and what was built remains in the ring */
	copy_sample(x, &q->sq);
	assert_totals(q->sq.r, &q->want);
	ibv_wr_start(e);
	ibv_wr_send(e);
	ibv_wr_set_sge(e, x->mr->lkey, (uintptr_t)x->buffer, 10);
	assert_int_equal(ibv_wr_complete(e), 0);
	rig_count(q, &(struct post){ OP_SEND, 10, true });
	copy_sample(x, &q->sq);
	assert_totals(q->sq.r, &q->want);
	rig_close(x);
}

/* --- forged ------------------------------------------------------------ */

/* Mini entries have no counters; only the last byte says that they are there. */
TEST(golden__compressed_completions__are_refused)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];
	struct sample s;

	post_n(x, q, &write_3, 2);
	rig_execute(q, 2);
	copy_again(&x->cqc);
	x->cqc.mem[x->cqc.desc.offset + 2 * 64 - 1] |= 0x0c;
	assert_int_equal(ring_sample_among(x->cqc.r, x->peers, 1000000, &s), -EBADMSG);
	assert_int_equal(ring_fault(x->cqc.r), RING_FAULT_LAYOUT);
	copy_sample(x, &q->sq); /* the rest is charged when the queue is found silent */
	rig_close(x);
}
