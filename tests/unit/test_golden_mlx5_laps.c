// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5: queues of libmlx5 that are lapped, mapped late, written by the interface of ibv_wr_*, or
 * forged. See test_golden_mlx5.c.
 */
#include "tests/unit/mlx5_rig.h"
#include "tests/unit/unit.h"

/* --- laps -------------------------------------------------------------- */

/* n requests that are completed and polled, and not looked at. */
static void pass_by(struct provider_rig *x, struct rig_qp *q, const struct wanted *w, int n,
		    uint64_t *newest)
{
	for (int i = 0; i < n; i++) {
		post_n(x, q, w, 1);
		assert_int_equal(rig_execute(q, 1), 1);
		poll_all(x, newest, 1);
	}
}

TEST(golden__index_wraps__is_counted_exactly)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	for (int i = 0; i < 1200; i++) {
		pass_by(x, q, &write_3, 60, newest);
		look(x);
	}
	assert_true(q->posted > 65536 + 256);
	assert_totals(q->sq.r, &q->want);
	rig_close(x);
}

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

TEST(golden__completions_lapped__are_lost_and_known)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];

	pass_by(x, q, &write_3, 200, newest);
	look(x);
	assert_int_equal(x->cqc.s.wrs, 200);
	assert_int_equal(x->cqc.s.seen, ENTRIES + 1);
	assert_true(x->cqc.s.flags & SAMPLE_LAPPED);
	assert_totals(q->sq.r, &q->want); /* the newest completion is enough */
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
	struct provider_rig *x = start(1, ENTRIES);
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

/*
 * The ring as it was, then as it is with one byte that is another: whatever comes of it, it is
 * bounded by the ring.
 */
static void flip_each(struct provider_rig *x, struct copy *c, const uint8_t *before)
{
	static const uint8_t masks[] = { 0x01, 0x80, 0xff };
	uint8_t *now = malloc(c->len);

	memcpy(now, c->mem, c->len);
	for (size_t i = 0; i < 3 * c->len; i++) {
		size_t at = i / 3, page = (size_t)c->desc.frames * GUEST_PAGE;
		struct ring *r = NULL;
		struct sample s;
		int rc;

		if (at < page ? at < c->desc.offset || at >= c->desc.offset + c->bytes
			      : at < page + c->desc.db_offset || at >= page + c->desc.db_offset + 8)
			continue;
		memcpy(c->mem, before, c->len);
		assert_int_equal(ring_open(&r, &c->desc, c->mem, c->len), 0);
		assert_int_equal(ring_sample(r, 1000000, &s), 0);
		memcpy(c->mem, now, c->len);
		c->mem[at] ^= masks[i % 3];
		for (int again = 0; again < 2; again++) {
			rc = ring_sample_among(r, x->peers, 1000000, &s);
			assert_true(rc == 0 || rc == -EBADMSG);
			assert_true(s.seen <= 2 * (uint64_t)c->desc.entries);
			assert_true(s.lost <= 0x1000000 && s.backlog <= c->desc.entries);
			assert_true(!s.lost || (s.flags & SAMPLE_LAPPED));
			memcpy(c->mem, now, c->len);
		}
		ring_close(r);
	}
	free(now);
}

TEST(golden__any_byte_forged__is_bounded)
{
	struct provider_rig *x = start(1, ENTRIES);
	struct rig_qp *q = add(x, IBV_QPT_RC, false);
	uint64_t newest[RIG_QPS] = { 0 };
	uint8_t *before[2];
	struct prop p = { .state = 1 };

	rig_watch_cq(x, GUEST_PROVIDER_MLX5);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 30; i++) {
			struct wanted w = draw(&p, q->type);

			post(x, q, &w, NULL);
		}
		if (round == 2) {
			look(x);
			before[0] = malloc(q->sq.len);
			before[1] = malloc(x->cqc.len);
			memcpy(before[0], q->sq.mem, q->sq.len);
			memcpy(before[1], x->cqc.mem, x->cqc.len);
		}
		rig_execute(q, 25);
		poll_all(x, newest, 20);
	}
	copy_again(&q->sq);
	copy_again(&x->cqc);
	flip_each(x, &q->sq, before[0]);
	flip_each(x, &x->cqc, before[1]);
	free(before[0]);
	free(before[1]);
	rig_close(x);
}

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
