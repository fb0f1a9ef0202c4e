/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_mlx4_rig: an mlx4 send queue and its completion queue, written by a test. */
#ifndef RESEX_TESTS_RING_MLX4_RIG_H
#define RESEX_TESTS_RING_MLX4_RIG_H

#include "tests/unit/prop.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ibmon/ring/mlx4.h"
#include "ibmon/ring/ring_priv.h"
#include "resex/guest_abi.h"
#include "tests/unit/unit.h"

#define MS 1000000LL

enum { SLOTS = 64, ELEM = 64, ENTRIES = 16, QPN = 0x51, MTU = 1024, DB_AT = 192 };

struct queue {
	struct ring_desc d;
	uint8_t *mem;
	size_t len;
	struct ring *r;
	struct sample s;
};

struct rig {
	struct queue sq, cq;
	struct ring_peers *peers;
	uint32_t posted, produced;
};

/* As the library and the kernel leave them; a completion queue has a page for its record. */
static inline void queue_init(struct queue *q, uint32_t kind, uint32_t elem, uint32_t entries)
{
	size_t bytes = (size_t)elem * entries;

	q->d = (struct ring_desc){ .id = kind,
				   .kind = kind,
				   .provider = GUEST_PROVIDER_MLX4,
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
	if (kind == RING_CQ)
		memset(q->mem, 0xcc, bytes);
}

static inline int queue_open(struct queue *q)
{
	return ring_open(&q->r, &q->d, q->mem, q->len);
}

static inline void put_be32(uint8_t *at, uint32_t v)
{
	v = htobe32(v);
	memcpy(at, &v, sizeof(v));
}

/* A word of the slot of index n. */
static inline uint8_t *word(struct rig *x, uint32_t n, uint32_t segment, uint32_t offset)
{
	return x->sq.mem + (size_t)(n % x->sq.d.entries) * x->sq.d.elem_size + segment * 16 +
	       offset;
}

/* As libmlx4 does when a queue pair is made ready. */
static inline void make_ready(struct rig *x)
{
	for (uint32_t i = 0; i < x->sq.d.entries; i++) {
		put_be32(word(x, i, 0, 0), RING_MLX4_OWNER);
		put_be32(word(x, i, 0, 4), x->sq.d.elem_size / 16);
	}
	x->posted = 0;
}

static inline void set_polled(struct rig *x, uint32_t n)
{
	put_be32(x->cq.mem + x->cq.d.frames * GUEST_PAGE + DB_AT, n);
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

static inline struct rig *start_of(uint32_t type, uint32_t elem, uint32_t slots)
{
	struct rig *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	queue_init(&x->sq, RING_SQ, elem, slots);
	queue_init(&x->cq, RING_CQ, 32, ENTRIES);
	x->sq.d.qp_type = type;
	make_ready(x);
	assert_int_equal(queue_open(&x->sq), 0);
	assert_int_equal(queue_open(&x->cq), 0);
	x->peers = ring_peers_new(&x->sq.r, 1);
	assert_non_null(x->peers);
	sample(x);
	return x;
}

static inline struct rig *start(void)
{
	return start_of(GUEST_QP_RC, ELEM, SLOTS);
}

static inline void done(struct rig *x)
{
	ring_close(x->sq.r);
	ring_close(x->cq.r);
	free(x->sq.mem);
	free(x->cq.mem);
	free(x->peers);
	free(x);
}

/* What was built in the slot is posted. */
static inline void post(struct rig *x, uint32_t opcode, uint32_t segments)
{
	uint32_t owner = x->posted & x->sq.d.entries ? RING_MLX4_OWNER : 0;

	put_be32(word(x, x->posted, 0, 4), segments);
	put_be32(word(x, x->posted, 0, 0), owner | opcode);
	x->posted++;
}

static inline void post_write(struct rig *x, uint32_t bytes)
{
	put_be32(word(x, x->posted, 2, 0), bytes);
	post(x, RING_MLX4_WRITE, 3);
}

static inline void writes(struct rig *x, int n)
{
	for (int i = 0; i < n; i++)
		post_write(x, 3000);
}

static inline void put_cqe(struct rig *x, uint32_t op, uint32_t qpn, uint32_t index)
{
	uint32_t owner = x->produced & ENTRIES ? RING_MLX4_CQE_OWNER : 0;
	uint8_t *at = x->cq.mem + x->produced % ENTRIES * 32;
	uint64_t v = htobe64((uint64_t)(index & 0xffff) << 48 | op | owner);

	put_be32(at, qpn);
	memcpy(at + 24, &v, sizeof(v));
	x->produced++;
}

static inline void complete(struct rig *x, uint32_t index)
{
	put_cqe(x, RING_MLX4_CQE_IS_SEND | RING_MLX4_WRITE, QPN, index);
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

#endif
