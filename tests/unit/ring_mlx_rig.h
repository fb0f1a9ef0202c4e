/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_mlx_rig: a send queue of mlx4 or mlx5 and its completion queue, written by a test. For
 * ring_mlx4_rig.h and ring_mlx5_rig.h, which write their entries, and define before it:
 *
 *	PROVIDER	enum guest_ring_provider
 *	CQE		bytes of an entry of the completion queue
 */
#ifndef RESEX_TESTS_RING_MLX_RIG_H
#define RESEX_TESTS_RING_MLX_RIG_H

#include "tests/unit/prop.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ibmon/ring/ring_priv.h"
#include "resex/guest_abi.h"
#include "tests/unit/unit.h"

#define MS 1000000LL

enum { UNITS = 64, UNIT = 64, ENTRIES = 16, QPN = 0x51, MTU = 1024, DB_AT = 192 };

struct queue {
	struct ring_desc d;
	uint8_t *mem; /* the ring, and a page of its doorbell record */
	size_t len;
	struct ring *r;
	struct sample s;
};

struct rig {
	struct queue sq, cq;
	struct ring_peers *peers;
	uint32_t posted; /* units */
	uint32_t produced;
};

/* --- what each layout has ---------------------------------------------------------- */

/* The entries of a queue that was made. */
static void queue_blank(struct queue *q);
/* The send queue of a queue pair that was made ready. */
static void make_ready(struct rig *x);
static void post_write(struct rig *x, uint32_t bytes);
/* A completion of this operation of the layout. */
static void put_cqe(struct rig *x, uint32_t op, uint32_t qpn, uint32_t index);

/* Operations of completions: of a write, a request that failed, a receive, a resize. */
struct cqe_ops {
	uint32_t write, failed, received, resized;
	uint8_t owner; /* the bit in the last byte */
};
static const struct cqe_ops cqe_ops;

/* --- queues ------------------------------------------------------------------------- */

static inline void queue_init(struct queue *q, uint32_t kind, uint32_t elem, uint32_t entries)
{
	size_t bytes = (size_t)elem * entries;

	q->d = (struct ring_desc){ .id = kind,
				   .kind = kind,
				   .provider = PROVIDER,
				   .number = QPN,
				   .elem_size = elem,
				   .entries = entries,
				   .path_mtu = MTU,
				   .qp_type = GUEST_QP_RC,
				   .db_offset = DB_AT };
	q->d.frames = (uint32_t)((bytes + GUEST_PAGE - 1) / GUEST_PAGE);
	q->len = ((size_t)q->d.frames + 1) * GUEST_PAGE;
	q->mem = aligned_alloc(GUEST_PAGE, q->len);
	assert_non_null(q->mem);
	memset(q->mem, 0, q->len);
	queue_blank(q);
}

static inline int queue_open(struct queue *q)
{
	return ring_open(&q->r, &q->d, q->mem, q->len);
}

static inline void queue_free(struct queue *q)
{
	if (q->r)
		ring_close(q->r);
	free(q->mem);
}

static inline void put_be32(uint8_t *at, uint32_t v)
{
	v = htobe32(v);
	memcpy(at, &v, sizeof(v));
}

static inline void set_db(struct queue *q, uint32_t word, uint32_t v)
{
	put_be32(q->mem + q->d.frames * GUEST_PAGE + DB_AT + 4 * word, v);
}

static inline void set_polled(struct rig *x, uint32_t n)
{
	set_db(&x->cq, 0, n);
}

static inline int look(struct rig *x, struct queue *q)
{
	return ring_sample_among(q->r, x->peers, MS, &q->s);
}

static inline void sample(struct rig *x)
{
	assert_int_equal(look(x, &x->cq), 0);
	assert_int_equal(look(x, &x->sq), 0);
}

/* --- a queue pair ------------------------------------------------------------------- */

/* Opened, with nothing sampled. */
static inline struct rig *rig_open(uint32_t type, uint32_t mtu, uint32_t elem, uint32_t units)
{
	struct rig *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	queue_init(&x->sq, RING_SQ, elem, units);
	queue_init(&x->cq, RING_CQ, CQE, ENTRIES);
	x->sq.d.qp_type = type;
	x->sq.d.path_mtu = mtu;
	make_ready(x);
	assert_int_equal(queue_open(&x->sq), 0);
	assert_int_equal(queue_open(&x->cq), 0);
	x->peers = ring_peers_new(&x->sq.r, 1);
	assert_non_null(x->peers);
	return x;
}

static inline struct rig *start_of(uint32_t type, uint32_t elem, uint32_t units)
{
	struct rig *x = rig_open(type, MTU, elem, units);

	sample(x);
	return x;
}

static inline struct rig *start(void)
{
	return start_of(GUEST_QP_RC, UNIT, UNITS);
}

static inline void done(struct rig *x)
{
	queue_free(&x->sq);
	queue_free(&x->cq);
	free(x->peers);
	free(x);
}

static inline void writes(struct rig *x, int n)
{
	for (int i = 0; i < n; i++)
		post_write(x, 3000);
}

static inline void complete(struct rig *x, uint32_t index)
{
	put_cqe(x, cqe_ops.write, QPN, index);
}

static inline void assert_fault(struct rig *x, struct queue *q, enum ring_fault why)
{
	assert_int_equal(look(x, q), -EBADMSG);
	assert_int_equal(ring_fault(q->r), why);
	done(x);
}

/* One request is completed, and its completion told. */
static inline struct rig *followed(void)
{
	struct rig *x = start();

	writes(x, 1);
	complete(x, 0);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 1);
	return x;
}

/* --- tables -------------------------------------------------------------------------- */

/* What is not such a queue: first, word 0 of its memory. */
struct open_row {
	uint32_t kind, elem, entries, type, number, db_offset, first, frames;
	int rc;
};

static inline void assert_opens(const struct open_row *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct queue q = { .r = NULL };

		queue_init(&q, row[i].kind, row[i].elem, row[i].entries);
		put_be32(q.mem, row[i].first);
		q.d.qp_type = row[i].type;
		q.d.number = row[i].number;
		q.d.db_offset = row[i].db_offset;
		q.d.frames = row[i].frames;
		q.len = 2 * GUEST_PAGE;
		assert_int_equal(queue_open(&q), row[i].rc);
		queue_free(&q);
	}
}

struct forged_cqe {
	uint32_t op, polled;
	enum ring_fault why;
};

static inline void assert_forged_cqes(const struct forged_cqe *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct rig *x = start();

		put_cqe(x, row[i].op, QPN, 0);
		set_polled(x, row[i].polled);
		assert_fault(x, &x->cq, row[i].why);
	}
}

#endif
