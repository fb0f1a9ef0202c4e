// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5: queues that the distribution's own, unmodified libmlx5 wrote, over a device that is not
 * there (tests/fakeverbs). Truth is what the test posted. A completion is the fake adapter's, and
 * counts as golden because libmlx5's ibv_poll_cq() must return from it what was posted.
 */
#include <errno.h>
#include <infiniband/mlx5dv.h>

#include "ibmon/ring/mlx5.h"
#include "tests/unit/provider_rig.h"
#include "tests/unit/unit.h"

enum { SENDS = 64, SGES = 4, INLINE = 128, ENTRIES = 63 };

static struct provider_rig *start(uint32_t cqe_version, int entries)
{
	struct provider_rig *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	fakeverbs_set_cqe_version(cqe_version);
	rig_open(x);
	x->cq = ibv_create_cq(x->context, entries, NULL, NULL, 0);
	assert_non_null(x->cq);
	return x;
}

/* Of the interface of ibv_wr_*, which every queue pair here can use. */
static struct rig_qp *add(struct provider_rig *x, enum ibv_qp_type type, bool known)
{
	uint64_t ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	struct ibv_qp_init_attr_ex a = {
		.send_cq = x->cq,
		.recv_cq = x->cq,
		.cap = { SENDS, 16, SGES, 1, INLINE },
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = x->pd,
	};

	if (type != IBV_QPT_UD)
		ops |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
		       IBV_QP_EX_WITH_LOCAL_INV;
	if (type == IBV_QPT_RC)
		ops |= IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV;
	a.send_ops_flags = ops;
	return rig_add(x, ibv_create_qp_ex(x->context, &a), GUEST_PROVIDER_MLX5, known);
}

static struct ibv_ah *address(struct provider_rig *x)
{
	struct ibv_ah_attr a = { .dlid = 2, .port_num = 1 };
	struct ibv_ah *ah = ibv_create_ah(x->pd, &a);

	assert_non_null(ah);
	return ah;
}

/* --- posting ------------------------------------------------------------------------- */

struct wanted {
	enum ibv_wr_opcode opcode;
	uint32_t length[SGES];
	int sges;
	unsigned flags;
};

/* 0, or ENOMEM: the queue is full. */
static int post(struct provider_rig *x, struct rig_qp *q, const struct wanted *w, struct ibv_ah *ah)
{
	struct ibv_sge sge[SGES];
	struct ibv_send_wr wr = { .wr_id = (uint64_t)(q - x->qp) << 32 | q->posted,
				  .sg_list = sge,
				  .num_sge = w->sges,
				  .opcode = w->opcode,
				  .send_flags = w->flags },
			   *bad;
	uint64_t bytes = 0;
	int rc;

	for (int i = 0; i < w->sges; i++) {
		sge[i] = (struct ibv_sge){ (uintptr_t)x->buffer, w->length[i], x->mr->lkey };
		bytes += w->length[i];
	}
	if (rig_op(w->opcode) == OP_CMP_SWAP || rig_op(w->opcode) == OP_FETCH_ADD) {
		wr.wr.atomic.remote_addr = 0x10000;
		wr.wr.atomic.rkey = 7;
	} else if (q->type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = 99;
		wr.wr.ud.remote_qkey = 0x80010000; /* with the bit that marks data that follow */
	} else {
		wr.wr.rdma.remote_addr = 0x10000;
		wr.wr.rdma.rkey = 7;
	}
	rc = ibv_post_send(q->qp, &wr, &bad);
	if (!rc)
		rig_note(q, rig_op(w->opcode), bytes, w->flags & IBV_SEND_SIGNALED);
	return rc;
}

static struct wanted draw(struct prop *p, enum ibv_qp_type type)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND,	  IBV_WR_SEND_WITH_IMM,	       IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE_WITH_IMM,  IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_LOCAL_INV, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	uint64_t most = type == IBV_QPT_UD ? 1 : type == IBV_QPT_UC ? 2 : 7;
	struct wanted w = { .opcode = opcodes[prop_range(p, 0, most)] };
	enum sample_op op = rig_op(w.opcode);

	if (!prop_one_in(p, 4))
		w.flags = IBV_SEND_SIGNALED;
	if (op == OP_LOCAL)
		return w;
	if (op == OP_CMP_SWAP || op == OP_FETCH_ADD) {
		w.sges = 1;
		w.length[0] = 8;
		return w;
	}
	w.sges = (int)prop_range(p, 0, SGES);
	if (op != OP_READ && prop_one_in(p, 3))
		w.flags |= IBV_SEND_INLINE;
	for (int i = 0; i < w.sges; i++)
		w.length[i] = (uint32_t)(w.flags & IBV_SEND_INLINE ? prop_range(p, 0, INLINE / SGES)
					 : type == IBV_QPT_UD	   ? prop_range(p, 0, 256)
					 : prop_one_in(p, 4)	   ? 0
								   : prop_range(p, 1, 70000));
	return w;
}

/* The completions that libmlx5 finds: in order, and what was posted. */
static uint32_t poll_all(struct provider_rig *x, uint64_t *newest, uint32_t max)
{
	static const enum ibv_wc_opcode opcodes[OP_KINDS] = {
		IBV_WC_SEND,	  IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
		IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD,  IBV_WC_LOCAL_INV,
	};
	struct ibv_wc wc;
	uint32_t n = 0;
	int rc = 0;

	while (n < max && (rc = ibv_poll_cq(x->cq, 1, &wc)) == 1) {
		struct rig_qp *q = &x->qp[wc.wr_id >> 32];
		const struct post *p = &q->post[(uint32_t)wc.wr_id % RIG_POSTS];

		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.qp_num, q->qp->qp_num);
		assert_true(p->signalled);
		assert_int_equal(wc.opcode, opcodes[p->op]);
		if (p->op == OP_READ)
			assert_int_equal(wc.byte_len, p->bytes);
		assert_true((uint32_t)wc.wr_id >= newest[wc.wr_id >> 32]);
		newest[wc.wr_id >> 32] = (uint32_t)wc.wr_id + 1;
		n++;
	}
	assert_true(rc >= 0);
	return n;
}

/* All completed, and seen by the readers. */
static void finish(struct provider_rig *x, uint64_t *newest)
{
	static const struct wanted last = { .opcode = IBV_WR_LOCAL_INV,
					    .flags = IBV_SEND_SIGNALED };
	static const struct wanted last_ud = { .opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED };
	struct ibv_ah *ah = address(x);

	for (uint32_t i = 0; i < x->qps; i++) {
		struct rig_qp *q = &x->qp[i];

		while (post(x, q, q->type == IBV_QPT_UD ? &last_ud : &last, ah) == ENOMEM) {
			assert_true(rig_execute(q, SENDS) + poll_all(x, newest, UINT32_MAX) > 0);
			copy_sample(x, &x->cqc);
			copy_sample(x, &q->sq);
		}
	}
	for (uint32_t i = 0; i < x->qps; i++) {
		while (x->qp[i].told < x->qp[i].posted)
			assert_true(rig_execute(&x->qp[i], SENDS) +
					    poll_all(x, newest, UINT32_MAX) >
				    0);
		copy_sample(x, &x->cqc);
		copy_sample(x, &x->qp[i].sq);
		assert_int_equal(x->qp[i].sq.s.backlog, 0);
		assert_totals(x->qp[i].sq.r, &x->qp[i].want);
	}
	ibv_destroy_ah(ah);
}

/* --- tests ----------------------------------------------------------------------------- */

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

/* --- completions ------------------------------------------------------------------------- */

static const struct wanted write_3 = { IBV_WR_RDMA_WRITE, { 3000 }, 1, IBV_SEND_SIGNALED };
static const struct wanted quiet_3 = { IBV_WR_RDMA_WRITE, { 3000 }, 1, 0 };

static void look(struct provider_rig *x)
{
	copy_sample(x, &x->cqc);
	for (uint32_t i = 0; i < x->qps; i++)
		copy_sample(x, &x->qp[i].sq);
}

static void post_n(struct provider_rig *x, struct rig_qp *q, const struct wanted *w, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(post(x, q, w, NULL), 0);
}

/* One queue pair, whose completion queue is read and has told of the first request. */
static struct provider_rig *followed(uint64_t *newest)
{
	struct provider_rig *x = start(1, ENTRIES);
	struct rig_qp *q = add(x, IBV_QPT_RC, true);

	rig_watch_cq(x, GUEST_PROVIDER_MLX5);
	post_n(x, q, &write_3, 1);
	rig_execute(q, 1);
	poll_all(x, newest, 1);
	look(x);
	assert_totals(q->sq.r, &q->want);
	return x;
}

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

/* After a failure, too: what is posted then is no error. */
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

/* --- laps ------------------------------------------------------------------------------------ */

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

/* --- ibv_wr_* ---------------------------------------------------------------------------------- */

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

/* --- forged ---------------------------------------------------------------------------------------- */

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

void unit_begin(void)
{
	static const struct fakeverbs_conf conf = { .provider = "mlx5", .cqe_version = 1 };
	int n = 0;

	if (fakeverbs_begin(&conf))
		exit(1);
	atexit(fakeverbs_end);
	ibv_free_device_list(ibv_get_device_list(&n));
	if (!n)
		exit(77); /* libmlx5 is not installed */
}
