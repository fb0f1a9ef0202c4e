// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_mlx5: an mlx5 send queue and its completion queue in a hostile guest's memory, changed
 * between samples.
 *
 * Input: 8 bytes (struct shape), then a program for the guest, one operation a byte with its
 * arguments behind it (enum op). As long as the guest only posts, as libmlx5 does, and its adapter
 * completes, its truth is known, and every sample must tell it; once it has written anything else,
 * only the promises of the headers hold.
 */
#include <endian.h>

#include "resex/guest_abi.h"

/* The layout, from libmlx5's mlx5dv.h. */
enum {
	PROVIDER = GUEST_PROVIDER_MLX5,
	SQ_RECORD = 1,
	OP_LOCAL_X = 0x25, /* UMR: it describes memory */
	CQE_ERROR = 13,
	CQE_INVALID = 15,
};

#include "tests/fuzz/fuzz_mlx.h"

/* shape.sq: log2 of the blocks, as 2 + sq % 7. */
static void make_guest(struct guest *g, struct bytes *in)
{
	uint32_t elem;

	memset(g, 0, sizeof(*g));
	take(in, &g->s, sizeof(g->s));
	elem = g->s.more & LONG_CQES ? 128 : 64;
	make_queue(g, &g->sq, RING_SQ, UNIT, 4u << g->s.sq % 7);
	make_queue(g, &g->cq, RING_CQ, elem, 2u << g->s.cq % 6);
	for (uint32_t i = 0; i < g->cq.d.entries; i++)
		put(&g->cq, (size_t)(i + 1) * elem - 1, &(uint8_t){ CQE_INVALID << 4 }, 1);
	g->honest = is_honest_shape(g);
}

/* Segment n of the request at block at; the end of the ring is followed by its begin. */
static size_t segment(uint64_t at, uint32_t n)
{
	return (size_t)at * UNIT + (size_t)n * SEGMENT;
}

static uint32_t put_data(struct guest *g, uint32_t n, uint32_t count, struct bytes *in,
			 uint32_t *bytes)
{
	uint32_t length;

	if (count == 5) { /* the data follow */
		length = take8(in) % 60;
		put32(&g->sq, segment(g->posted, n), 0x80000000u | length);
		*bytes = length;
		return n + (4 + length + SEGMENT - 1) / SEGMENT;
	}
	for (uint32_t i = 0; i < count; i++, n++) {
		length = take32(in) & 0xffff;
		put32(&g->sq, segment(g->posted, n), length);
		put32(&g->sq, segment(g->posted, n) + 8, 0x7f00);
		*bytes += length;
	}
	return n;
}

/* There must be room for the longest request: 4 blocks. */
static bool build(struct guest *g, struct bytes *in, struct wqe_truth *w, uint32_t more)
{
	uint32_t n = 1;

	(void)more;
	if (g->posted - g->freed + 4 > g->sq.d.entries)
		return false;
	if (g->sq.d.qp_type == GUEST_QP_UD) {
		w->op = OP_SEND_X;
		put32(&g->sq, segment(g->posted, n) + 8, 0x80000001u);
		n += 3;
	}
	if (w->op == OP_WRITE_X || w->op == OP_READ_X)
		n++;
	if (w->op == OP_FADD_X) {
		n += 3;
		w->bytes = 8;
	} else if (w->op == OP_LOCAL_X) {
		n += take8(in) % 12;
	} else {
		n = put_data(g, n, take8(in) % 6, in, &w->bytes);
	}
	put32(&g->sq, segment(g->posted, 0), (uint32_t)(g->posted & 0xffff) << 8 | w->op);
	put32(&g->sq, segment(g->posted, 0) + 4, QPN << 8 | n);
	w->units = (uint8_t)((n + 3) / 4);
	return true;
}

static void ring_doorbell(struct guest *g)
{
	db(&g->sq)[1] = htobe32((uint32_t)g->posted & 0xffff);
}

static void put_cqe(struct guest *g, uint8_t opcode)
{
	size_t at = (size_t)(g->produced & (g->cq.d.entries - 1)) * g->cq.d.elem_size +
		    g->cq.d.elem_size - 8;
	uint8_t owner = (g->produced & g->cq.d.entries) != 0;
	uint64_t v = htobe64((uint64_t)QPN << 32 | (g->executed & 0xffff) << 16 |
			     (uint64_t)(opcode << 4 | owner));

	put(&g->cq, at, &v, sizeof(v));
	g->produced++;
}

static void put_done(struct guest *g, uint8_t op)
{
	(void)op;
	put_cqe(g, 0);
}

static void put_failed(struct guest *g)
{
	put_cqe(g, CQE_ERROR);
}

/* And what was overwritten is completed. */
static void note_overwritten(struct guest *g)
{
	while (g->seen < g->wqes && g->posted - g->wqe[g->seen % POSTS].at > g->sq.d.entries)
		g->seen++;
}

static void set_db(struct guest *g, struct bytes *in)
{
	db(take8(in) % 2 ? &g->cq : &g->sq)[take8(in) % 2] = take32(in);
}

static void reset(struct guest *g)
{
	db(&g->sq)[1] = 0;
}
