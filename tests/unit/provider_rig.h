/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * provider_rig: a real provider over the fake device, the readers over copies of what it wrote, and
 * what the program posted, which is the truth.
 */
#ifndef RESEX_TESTS_PROVIDER_RIG_H
#define RESEX_TESTS_PROVIDER_RIG_H

#include <infiniband/verbs.h>
#include <string.h>

#include "ibmon/ring/ring.h"
#include "resex/guest_abi.h"
#include "tests/fakeverbs/fakeverbs.h"
#include "tests/unit/prop.h"

enum { RIG_QPS = 4, RIG_POSTS = 8192, RIG_BUFFER = 1 << 20, RIG_MTU = 1024 };

/* A copy of a ring and of its doorbell record, if it has one, as they would be mapped. */
struct copy {
	struct ring_desc desc;
	const uint8_t *from;
	const volatile uint32_t *db;
	uint8_t *mem;
	size_t len, bytes;
	struct ring *r;
	struct sample s;
};

/* A work request as it was posted. */
struct post {
	enum sample_op op;
	uint64_t bytes;
	bool signalled;
};

struct rig_qp {
	struct ibv_qp *qp;
	struct fakeverbs_qp *fake;
	struct copy sq;
	enum ibv_qp_type type;
	struct post post[RIG_POSTS];
	uint64_t posted, executed, told; /* requests; told: up to the newest with a completion */
	struct ring_totals want;	 /* of requests told */
};

struct provider_rig {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct fakeverbs_cq *fake_cq;
	struct copy cqc;
	struct rig_qp qp[RIG_QPS];
	uint32_t qps;
	uint8_t *buffer;
	struct ring_peers *peers;
	uint64_t polled; /* completions that the library found */
};

static inline enum sample_op rig_op(enum ibv_wr_opcode o)
{
	switch (o) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return OP_WRITE;
	case IBV_WR_RDMA_READ:
		return OP_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return OP_CMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return OP_FETCH_ADD;
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW:
		return OP_LOCAL;
	default:
		return OP_SEND;
	}
}

/* --- copies ------------------------------------------------------------------------ */

static inline void copy_again(struct copy *c)
{
	uint8_t *page = c->mem + (size_t)c->desc.frames * GUEST_PAGE;

	memcpy(c->mem + c->desc.offset, c->from, c->bytes);
	for (int i = 0; i < 2 && c->db; i++)
		((uint32_t *)(page + c->desc.db_offset))[i] = c->db[i];
}

static inline void copy_open(struct copy *c, const uint8_t *from, const volatile uint32_t *db)
{
	c->from = from;
	c->db = db;
	c->bytes = (size_t)c->desc.entries * c->desc.elem_size;
	c->desc.id = 1;
	c->desc.offset = (uint32_t)((uintptr_t)from % GUEST_PAGE);
	c->desc.db_offset = (uint32_t)((uintptr_t)db % GUEST_PAGE);
	c->desc.frames = (uint32_t)((c->desc.offset + c->bytes + GUEST_PAGE - 1) / GUEST_PAGE);
	c->len = ((size_t)c->desc.frames + (db != NULL)) * GUEST_PAGE;
	c->mem = aligned_alloc(GUEST_PAGE, c->len);
	assert_non_null(c->mem);
	memset(c->mem, 0xa5, c->len); /* what else is in these pages */
	copy_again(c);
	assert_int_equal(ring_open(&c->r, &c->desc, c->mem, c->len), 0);
}

static inline void copy_close(struct copy *c)
{
	if (c->r)
		ring_close(c->r);
	free(c->mem);
	memset(c, 0, sizeof(*c));
}

static inline void copy_sample(struct provider_rig *x, struct copy *c)
{
	copy_again(c);
	assert_int_equal(ring_sample_among(c->r, x->peers, 1000000, &c->s), 0);
}

/* --- the program --------------------------------------------------------------------- */

static inline void rig_modify(struct rig_qp *q, enum ibv_qp_state state)
{
	static const int masks[] = {
		[IBV_QPS_RESET] = 0,
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT,
		[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN,
	};
	struct ibv_qp_attr a = { .qp_state = state, .port_num = 1, .path_mtu = IBV_MTU_1024 };

	assert_int_equal(ibv_modify_qp(q->qp, &a, IBV_QP_STATE | masks[state]), 0);
}

static inline void rig_ready(struct rig_qp *q)
{
	rig_modify(q, IBV_QPS_INIT);
	rig_modify(q, IBV_QPS_RTR);
	rig_modify(q, IBV_QPS_RTS);
}

static inline void rig_open(struct provider_rig *x)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	assert_non_null(list);
	assert_non_null(list[0]);
	x->context = ibv_open_device(list[0]);
	assert_non_null(x->context);
	ibv_free_device_list(list);
	x->pd = ibv_alloc_pd(x->context);
	assert_non_null(x->pd);
	x->buffer = calloc(1, RIG_BUFFER);
	x->mr = ibv_reg_mr(x->pd, x->buffer, RIG_BUFFER, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(x->mr);
}

static inline void rig_peers(struct provider_rig *x)
{
	struct ring *ring[RIG_QPS];

	free(x->peers);
	for (uint32_t i = 0; i < x->qps; i++)
		ring[i] = x->qp[i].sq.r;
	x->peers = ring_peers_new(ring, x->qps);
}

static inline enum guest_qp_type rig_type(enum ibv_qp_type t)
{
	return t == IBV_QPT_RC ? GUEST_QP_RC : t == IBV_QPT_UC ? GUEST_QP_UC : GUEST_QP_UD;
}

/* known: the agent says what the queue pair is. Its history is none. */
static inline struct rig_qp *rig_add(struct provider_rig *x, struct ibv_qp *qp, uint32_t provider,
				     bool known)
{
	struct rig_qp *q = &x->qp[x->qps++];

	assert_non_null(qp);
	memset(q, 0, sizeof(*q));
	q->qp = qp;
	q->type = qp->qp_type;
	rig_ready(q);
	q->fake = fakeverbs_qp(qp->qp_num);
	assert_non_null(q->fake);
	if (!x->fake_cq)
		x->fake_cq = q->fake->send_cq;
	q->sq.desc = (struct ring_desc){ .kind = RING_SQ,
					 .provider = provider,
					 .number = qp->qp_num,
					 .elem_size = q->fake->block_bytes,
					 .entries = q->fake->blocks,
					 .qp_type = known ? rig_type(q->type) : GUEST_QP_UNKNOWN,
					 .path_mtu = RIG_MTU };
	copy_open(&q->sq, q->fake->sq, q->fake->db);
	copy_sample(x, &q->sq);
	rig_peers(x);
	return q;
}

static inline void rig_watch_cq(struct provider_rig *x, uint32_t provider)
{
	x->cqc.desc = (struct ring_desc){ .kind = RING_CQ,
					  .provider = provider,
					  .number = x->fake_cq->number,
					  .elem_size = x->fake_cq->entry_bytes,
					  .entries = x->fake_cq->entries };
	copy_open(&x->cqc, x->fake_cq->buf, x->fake_cq->db);
	copy_sample(x, &x->cqc);
}

static inline void rig_close(struct provider_rig *x)
{
	copy_close(&x->cqc);
	for (uint32_t i = 0; i < x->qps; i++) {
		copy_close(&x->qp[i].sq);
		if (x->qp[i].qp)
			assert_int_equal(ibv_destroy_qp(x->qp[i].qp), 0);
	}
	free(x->peers);
	assert_int_equal(ibv_destroy_cq(x->cq), 0);
	assert_int_equal(ibv_dereg_mr(x->mr), 0);
	assert_int_equal(ibv_dealloc_pd(x->pd), 0);
	assert_int_equal(ibv_close_device(x->context), 0);
	free(x->buffer);
	free(x);
}

/* --- the truth ------------------------------------------------------------------------ */

static inline void rig_note(struct rig_qp *q, enum sample_op op, uint64_t bytes, bool signalled)
{
	q->post[q->posted++ % RIG_POSTS] = (struct post){ op, bytes, signalled };
}

static inline void rig_count(struct rig_qp *q, const struct post *p)
{
	struct ring_totals *t = &q->want;
	uint64_t mtus = p->bytes ? (p->bytes + RIG_MTU - 1) / RIG_MTU : 1;

	t->wrs++;
	t->ops[p->op]++;
	if (p->op == OP_LOCAL)
		return;
	if (q->type == IBV_QPT_UD)
		mtus = 1;
	*(p->op == OP_READ ? &t->mtus_recv : &t->mtus_sent) += mtus;
	*(p->op == OP_READ ? &t->bytes_recv : &t->bytes_sent) += p->bytes;
}

/* The adapter executes up to n; what has a completion, and all before it, is completed. */
static inline uint32_t rig_execute(struct rig_qp *q, uint32_t n)
{
	uint32_t done = fakeverbs_complete(q->fake, n);

	for (uint32_t i = 0; i < done; i++)
		if (q->post[q->executed++ % RIG_POSTS].signalled)
			while (q->told < q->executed)
				rig_count(q, &q->post[q->told++ % RIG_POSTS]);
	return done;
}

static inline void assert_totals(const struct ring *r, const struct ring_totals *want)
{
	struct ring_totals t;

	ring_totals(r, &t);
	assert_int_equal(t.wrs, want->wrs);
	assert_int_equal(t.lost, 0);
	assert_int_equal(t.errors, want->errors);
	assert_int_equal(t.mtus_sent, want->mtus_sent);
	assert_int_equal(t.mtus_recv, want->mtus_recv);
	assert_int_equal(t.bytes_sent, want->bytes_sent);
	assert_int_equal(t.bytes_recv, want->bytes_recv);
	assert_memory_equal(t.ops, want->ops, sizeof(t.ops));
	assert_int_equal(t.flags & ~(uint32_t)SAMPLE_HISTORY, want->flags);
}

#endif
