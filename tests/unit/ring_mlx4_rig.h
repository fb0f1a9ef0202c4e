/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_mlx4_rig: an mlx4 send queue and its completion queue, written by a test. */
#ifndef RESEX_TESTS_RING_MLX4_RIG_H
#define RESEX_TESTS_RING_MLX4_RIG_H

#include "ibmon/ring/mlx4.h"
#include "resex/guest_abi.h"

enum { PROVIDER = GUEST_PROVIDER_MLX4, CQE = 32 };

#include "tests/unit/ring_mlx_rig.h"

static const struct cqe_ops cqe_ops = {
	.write = RING_MLX4_CQE_IS_SEND | RING_MLX4_WRITE,
	.failed = RING_MLX4_CQE_IS_SEND | RING_MLX4_CQE_ERROR,
	.received = 1,
	.resized = RING_MLX4_CQE_RESIZED,
	.owner = RING_MLX4_CQE_OWNER,
};

/* As the library and the kernel leave them. */
static void queue_blank(struct queue *q)
{
	if (q->d.kind == RING_CQ)
		memset(q->mem, 0xcc, (size_t)q->d.elem_size * q->d.entries);
}

/* A word of the slot of index n. */
static inline uint8_t *word(struct rig *x, uint32_t n, uint32_t segment, uint32_t offset)
{
	return x->sq.mem + (size_t)(n % x->sq.d.entries) * x->sq.d.elem_size + segment * 16 +
	       offset;
}

/* As libmlx4 does. */
static void make_ready(struct rig *x)
{
	for (uint32_t i = 0; i < x->sq.d.entries; i++) {
		put_be32(word(x, i, 0, 0), RING_MLX4_OWNER);
		put_be32(word(x, i, 0, 4), x->sq.d.elem_size / 16);
	}
	x->posted = 0;
}

/* What was built in the slot is posted. */
static inline void post(struct rig *x, uint32_t opcode, uint32_t segments)
{
	uint32_t owner = x->posted & x->sq.d.entries ? RING_MLX4_OWNER : 0;

	put_be32(word(x, x->posted, 0, 4), segments);
	put_be32(word(x, x->posted, 0, 0), owner | opcode);
	x->posted++;
}

static void post_write(struct rig *x, uint32_t bytes)
{
	put_be32(word(x, x->posted, 2, 0), bytes);
	post(x, RING_MLX4_WRITE, 3);
}

static void put_cqe(struct rig *x, uint32_t op, uint32_t qpn, uint32_t index)
{
	uint32_t owner = x->produced & ENTRIES ? RING_MLX4_CQE_OWNER : 0;
	uint8_t *at = x->cq.mem + x->produced % ENTRIES * 32;
	uint64_t v = htobe64((uint64_t)(index & 0xffff) << 48 | op | owner);

	put_be32(at, qpn);
	memcpy(at + 24, &v, sizeof(v));
	x->produced++;
}

#endif
