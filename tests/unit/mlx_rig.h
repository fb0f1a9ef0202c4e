/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx_rig: queue pairs of libmlx5 or libmlx4 over the fake device, and work for them. For
 * mlx5_rig.h and mlx4_rig.h, which make them. See provider_rig.h.
 */
#ifndef RESEX_TESTS_MLX_RIG_H
#define RESEX_TESTS_MLX_RIG_H

#include <errno.h>

#include "tests/unit/provider_rig.h"

enum { SENDS = 64, SGES = 4, INLINE = 128, ENTRIES = 63 };

/* Of the provider: a device, and a completion queue of so many entries. */
static struct provider_rig *start(int entries);
static struct rig_qp *add(struct provider_rig *x, enum ibv_qp_type type, bool known);

static inline struct provider_rig *rig_start(int entries)
{
	struct provider_rig *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	rig_open(x);
	x->cq = ibv_create_cq(x->context, entries, NULL, NULL, 0);
	assert_non_null(x->cq);
	return x;
}

static inline struct ibv_ah *address(struct provider_rig *x)
{
	struct ibv_ah_attr a = { .dlid = 2, .port_num = 1 };
	struct ibv_ah *ah = ibv_create_ah(x->pd, &a);

	assert_non_null(ah);
	return ah;
}

/* --- posting ----------------------------------------------------------- */

struct wanted {
	enum ibv_wr_opcode opcode;
	uint32_t length[SGES];
	int sges;
	unsigned flags;
};

/* 0, or ENOMEM: the queue is full. */
static inline int post(struct provider_rig *x, struct rig_qp *q, const struct wanted *w,
		       struct ibv_ah *ah)
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

static inline struct wanted draw(struct prop *p, enum ibv_qp_type type)
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

/* The completions that the library finds: in order, and what was posted. */
static inline uint32_t poll_all(struct provider_rig *x, uint64_t *newest, uint32_t max)
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
	x->polled += n;
	return n;
}

/* All completed, and seen by the readers. */
static inline void finish(struct provider_rig *x, uint64_t *newest)
{
	static const struct wanted last = { .opcode = IBV_WR_LOCAL_INV,
					    .flags = IBV_SEND_SIGNALED };
	static const struct wanted last_ud = { .opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED };
	struct ibv_ah *ah = address(x);
	struct ring_totals t;

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
	copy_sample(x, &x->cqc);
	ring_totals(x->cqc.r, &t);
	assert_int_equal(t.wrs, x->polled);
	assert_int_equal(t.errors, 0);
	ibv_destroy_ah(ah);
}

/* --- completions ------------------------------------------------------- */

static const struct wanted write_3 = { IBV_WR_RDMA_WRITE, { 3000 }, 1, IBV_SEND_SIGNALED };
static const struct wanted quiet_3 = { IBV_WR_RDMA_WRITE, { 3000 }, 1, 0 };

static inline void look(struct provider_rig *x)
{
	copy_sample(x, &x->cqc);
	for (uint32_t i = 0; i < x->qps; i++)
		if (x->qp[i].qp) /* else its buffer is freed */
			copy_sample(x, &x->qp[i].sq);
}

static inline void post_n(struct provider_rig *x, struct rig_qp *q, const struct wanted *w, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(post(x, q, w, NULL), 0);
}

/* One queue pair, whose completion queue is read and has told of the first request. */
static inline struct provider_rig *followed(uint64_t *newest)
{
	struct provider_rig *x = start(ENTRIES);
	struct rig_qp *q = add(x, IBV_QPT_RC, true);

	rig_watch_cq(x, PROVIDER);
	post_n(x, q, &write_3, 1);
	rig_execute(q, 1);
	poll_all(x, newest, 1);
	look(x);
	assert_totals(q->sq.r, &q->want);
	return x;
}

/* Each test file is a program of its own. Exit 77: the library is not installed. */
static inline void rig_begin(const struct fakeverbs_conf *conf)
{
	int n = 0;

	if (fakeverbs_begin(conf))
		exit(1);
	atexit(fakeverbs_end);
	ibv_free_device_list(ibv_get_device_list(&n));
	if (!n)
		exit(77);
}

#endif
