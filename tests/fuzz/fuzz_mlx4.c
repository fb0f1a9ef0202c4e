// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_mlx4: an mlx4 send queue and its completion queue in a hostile guest's memory, changed
 * between samples.
 *
 * Input: 8 bytes (struct shape), then a program for the guest, one operation a byte with its
 * arguments behind it (enum op). As long as the guest only posts, as libmlx4 does, and its adapter
 * completes, its truth is known, and every sample must tell it; once it has written anything else,
 * only the promises of the headers hold.
 */
#include <endian.h>

#include "resex/guest_abi.h"

/* The layout, from libmlx4's mlx4dv.h. */
enum {
	PROVIDER = GUEST_PROVIDER_MLX4,
	SQ_RECORD = 0,
	OP_LOCAL_X = 0x18, /* it binds a memory window */
	CQE_IS_SEND = 0x40,
	CQE_ERROR = 0x1e,
};

#include "tests/fuzz/fuzz_mlx.h"

static size_t slot(const struct guest *g, uint64_t at)
{
	return (size_t)(at & (g->sq.d.entries - 1)) * g->sq.d.elem_size;
}

static void make_ready(struct guest *g)
{
	for (uint32_t i = 0; i < g->sq.d.entries; i++) {
		put32(&g->sq, slot(g, i), 0x80000000u);
		put32(&g->sq, slot(g, i) + 4, g->sq.d.elem_size / SEGMENT);
	}
}

/* shape.sq: log2 of the slots, as 1 + sq % 8; and of their chunks, sq / 8 % 4. */
static void make_guest(struct guest *g, struct bytes *in)
{
	memset(g, 0, sizeof(*g));
	take(in, &g->s, sizeof(g->s));
	make_queue(g, &g->sq, RING_SQ, UNIT << g->s.sq / 8 % 4, 2u << g->s.sq % 8);
	make_queue(g, &g->cq, RING_CQ, g->s.more & LONG_CQES ? 64 : 32, 2u << g->s.cq % 6);
	for (uint32_t i = 0; i < g->cq.d.entries * g->cq.d.elem_size; i++)
		put(&g->cq, i, &(uint8_t){ 0xcc }, 1);
	if (!(g->s.more & BLANK))
		make_ready(g);
	g->spare = 2048 / g->sq.d.elem_size + 1;
	if (g->spare > g->sq.d.entries / 2)
		g->spare = g->sq.d.entries / 2;
	g->honest = is_honest_shape(g);
}

/* Data that follow, from an offset in the slot: each chunk has its own length. Where they end. */
static uint32_t put_inline(struct guest *g, uint32_t from, uint32_t length)
{
	while (length) {
		uint32_t room = UNIT - from % UNIT - 4, n = length < room ? length : room;

		put32(&g->sq, slot(g, g->posted) + from, 0x80000000u | n);
		from += 4 + n;
		length -= n;
	}
	return (from + SEGMENT - 1) & ~(SEGMENT - 1u);
}

static uint32_t put_data(struct guest *g, uint32_t from, uint32_t count, struct bytes *in,
			 uint32_t *bytes)
{
	uint32_t room = g->sq.d.elem_size - from, length;

	if (count == 5 && room >= 32) { /* the data follow: at most a header each 16 bytes */
		*bytes = take8(in) % (room - room / 4);
		return put_inline(g, from, *bytes);
	}
	for (uint32_t i = 0; i < count % 5 && from < g->sq.d.elem_size; i++, from += SEGMENT) {
		length = take32(in) & 0xffff;
		put32(&g->sq, slot(g, g->posted) + from, length ? length : 0x80000000u);
		put32(&g->sq, slot(g, g->posted) + from + 8, 0x7f00);
		*bytes += length;
	}
	return from;
}

/* As libmlx4 does after each request: one that is overwritten soon has no lengths any more. */
static void stamp(struct guest *g, uint64_t at)
{
	uint8_t *s = g->sq.base + slot(g, at);

	for (uint32_t i = UNIT; i < (s[7] & 0x3fu) * SEGMENT && i < g->sq.d.elem_size; i += UNIT)
		put32(&g->sq, slot(g, at) + i, 0xffffffffu);
}

/* Of a request that is written into a register, too, the library tells index and queue pair. */
static bool build(struct guest *g, struct bytes *in, struct wqe_truth *w, uint32_t more)
{
	uint32_t from = SEGMENT, owner = g->posted & g->sq.d.entries ? 0x80000000u : 0;
	bool told = more % 2;

	if (g->posted - g->freed + g->spare >= g->sq.d.entries || g->s.missing % 4u)
		return false;
	if (g->sq.d.qp_type == GUEST_QP_UD) {
		if (g->sq.d.elem_size == UNIT)
			return false;
		w->op = OP_SEND_X;
		from += 48;
	}
	from += w->op == OP_WRITE_X || w->op == OP_READ_X ? SEGMENT : 0;
	if (w->op == OP_FADD_X) {
		from += 3 * SEGMENT;
		w->bytes = 8;
	} else if (w->op == OP_LOCAL_X) {
		from += 2 * SEGMENT;
	} else {
		from = put_data(g, from, take8(in) % 6, in, &w->bytes);
	}
	put32(&g->sq, slot(g, g->posted) + 4, (told ? QPN << 8 : 0) | from / SEGMENT);
	put32(&g->sq, slot(g, g->posted),
	      owner | (told ? (uint32_t)(g->posted & 0xffff) << 8 : 0) | w->op);
	w->units = 1;
	return true;
}

/* The owner bit is all of it. */
static void ring_doorbell(struct guest *g)
{
	stamp(g, g->posted - 1 + g->spare);
}

static void put_cqe(struct guest *g, uint8_t op)
{
	size_t at = (size_t)((g->produced & (g->cq.d.entries - 1)) + 1) * g->cq.d.elem_size - 32;
	uint64_t v = htobe64((g->executed & 0xffff) << 48 | op |
			     (g->produced & g->cq.d.entries ? 0x80u : 0));

	put32(&g->cq, at, QPN);
	put(&g->cq, at + 24, &v, sizeof(v));
	g->produced++;
}

static void put_done(struct guest *g, uint8_t op)
{
	put_cqe(g, CQE_IS_SEND | op);
}

static void put_failed(struct guest *g)
{
	put_cqe(g, CQE_IS_SEND | CQE_ERROR);
}

/* A lap after what was told: that is of another time, and all is charged. */
static void note_overwritten(struct guest *g)
{
	if (g->posted - g->heard >= g->sq.d.entries)
		g->linked = false;
}

static void set_db(struct guest *g, struct bytes *in)
{
	db(&g->cq)[take8(in) % 2] = take32(in);
}

static void reset(struct guest *g)
{
	make_ready(g);
}
