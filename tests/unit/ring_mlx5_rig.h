/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_mlx5_rig: an mlx5 send queue and its completion queue, written by a test. */
#ifndef RESEX_TESTS_RING_MLX5_RIG_H
#define RESEX_TESTS_RING_MLX5_RIG_H

#include "ibmon/ring/mlx5.h"
#include "resex/guest_abi.h"

enum { PROVIDER = GUEST_PROVIDER_MLX5, CQE = 64 };

#include "tests/unit/ring_mlx_rig.h"

static const struct cqe_ops cqe_ops = {
	.write = RING_MLX5_CQE_REQ,
	.failed = RING_MLX5_CQE_REQ_ERR,
	.received = 2,
	.resized = RING_MLX5_CQE_RESIZED,
	.owner = 1,
};

static void queue_blank(struct queue *q)
{
	for (uint32_t i = 1; q->d.kind == RING_CQ && i <= q->d.entries; i++)
		q->mem[(size_t)i * q->d.elem_size - 1] = RING_MLX5_CQE_INVALID << 4;
}

/* Its memory stays as it was. */
static void make_ready(struct rig *x)
{
	x->posted = 0;
}

/* Opened and not sampled, with so many blocks posted before. */
static inline struct rig *start_at(uint32_t type, uint32_t mtu, uint32_t index)
{
	struct rig *x = rig_open(type, mtu, UNIT, UNITS);

	x->posted = index;
	return x;
}

/* A word of a segment of the request that is built next. */
static inline uint8_t *word(struct rig *x, uint32_t segment, uint32_t offset)
{
	return x->sq.mem + (x->posted % UNITS * UNIT + segment * 16) % (UNITS * UNIT) + offset;
}

/* So many blocks are said to be posted; what was built is one of them. */
static inline void post(struct rig *x, uint32_t opcode, uint32_t segments)
{
	put_be32(word(x, 0, 0), (x->posted & 0xffff) << 8 | opcode);
	put_be32(word(x, 0, 4), QPN << 8 | segments);
	x->posted += (segments + 3) / 4;
	set_db(&x->sq, RING_MLX5_DB_POSTED, x->posted & 0xffff);
}

static void post_write(struct rig *x, uint32_t bytes)
{
	put_be32(word(x, 2, 0), bytes);
	post(x, RING_MLX5_WRITE, 3);
}

static void put_cqe(struct rig *x, uint32_t op, uint32_t qpn, uint32_t index)
{
	uint32_t owner = (x->produced & ENTRIES) != 0;
	uint64_t v = htobe64((uint64_t)qpn << 32 | (uint64_t)(index & 0xffff) << 16 | op << 4 |
			     owner);

	memcpy(x->cq.mem + x->produced % ENTRIES * 64 + 56, &v, sizeof(v));
	x->produced++;
}

#endif
