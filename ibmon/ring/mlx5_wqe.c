// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5_wqe: one work request of an mlx5 send queue, read from guest memory. mlx5.c calls it.
 *
 * Each word is read once. A control segment names its queue pair and the index of its first block,
 * so data are not taken for a request. Bytes are the sum of the data segments, or the length before
 * data that follow. Where they begin hangs on operation and transport; the agent says which
 * transport it is. If it does not, a SEND over UD is known by its address.
 */
#include "ibmon/ring/mlx5_sq.h"
#include "resex/guest_abi.h"

enum {
	SEGMENTS_MASK = 0x3f,
	AV_SEGMENTS = 3, /* of an address of 48 bytes */
	LENGTH_MAX = 1u << 31,
};

/* What an operation has between control segment, address and data. */
struct kind {
	uint8_t known;
	uint8_t op;	  /* enum sample_op */
	uint8_t segments; /* remote address, operands */
};

static const struct kind kinds[] = {
	[RING_MLX5_NOP] = { 1, OP_LOCAL, 0 },
	[RING_MLX5_SEND_INVAL] = { 1, OP_SEND, 0 },
	[RING_MLX5_WRITE] = { 1, OP_WRITE, 1 },
	[RING_MLX5_WRITE_IMM] = { 1, OP_WRITE, 1 },
	[RING_MLX5_SEND] = { 1, OP_SEND, 0 },
	[RING_MLX5_SEND_IMM] = { 1, OP_SEND, 0 },
	[RING_MLX5_READ] = { 1, OP_READ, 1 },
	[RING_MLX5_CMP_SWAP] = { 1, OP_CMP_SWAP, 2 },
	[RING_MLX5_FETCH_ADD] = { 1, OP_FETCH_ADD, 2 },
	[RING_MLX5_CMP_SWAP_MASKED] = { 1, OP_CMP_SWAP, 2 },
	[RING_MLX5_FETCH_ADD_MASKED] = { 1, OP_FETCH_ADD, 2 },
	[RING_MLX5_LOCAL_INVAL] = { 1, OP_LOCAL, 0 },
	[RING_MLX5_SET_PSV] = { 1, OP_LOCAL, 0 },
	[RING_MLX5_UMR] = { 1, OP_LOCAL, 0 },
	[RING_MLX5_MMO] = { 1, OP_LOCAL, 0 },
};

/* A word of segment n of the request at block at; the end of the ring is followed by its begin. */
static uint32_t word(const struct mlx_ring *r, uint16_t at, uint32_t n, uint32_t offset)
{
	size_t end = (size_t)(r->mask + 1) * RING_MLX5_BLOCK;
	size_t from = (size_t)(at & r->mask) * RING_MLX5_BLOCK + (size_t)n * RING_MLX5_SEGMENT;

	return ring_mlx5_read32(r->m->base + (from & (end - 1)) + offset);
}

static bool is_of(const struct mlx_ring *r, uint16_t at, uint32_t opcode, uint32_t qpn)
{
	return (uint16_t)(opcode >> 8) == at && qpn >> 8 == r->d->number;
}

static uint32_t blocks_of(uint32_t segments)
{
	return (segments * RING_MLX5_SEGMENT + RING_MLX5_BLOCK - 1) / RING_MLX5_BLOCK;
}

uint32_t mlx5_wqe_blocks(const struct mlx_ring *r, uint16_t at)
{
	uint32_t qpn = word(r, at, 0, RING_MLX5_WQE_QPN);

	if (!is_of(r, at, word(r, at, 0, RING_MLX5_WQE_OPCODE), qpn))
		return 0;
	return blocks_of(qpn & SEGMENTS_MASK);
}

/* Segments of data of so many bytes, with the word before them. */
static uint32_t inline_segments(uint32_t bytes)
{
	return (bytes + 4 + RING_MLX5_SEGMENT - 1) / RING_MLX5_SEGMENT;
}

/*
 * Is the first segment of a SEND an address? Addresses of this library are long ones; the word that
 * says so is, in a data segment, the upper half of an address of a process, which is less.
 */
static bool looks_like_ud(const struct mlx_ring *r, uint16_t at, uint32_t segments)
{
	uint32_t first;

	if (segments < 1 + AV_SEGMENTS)
		return false;
	first = word(r, at, 1, RING_MLX5_DATA_BYTES);
	if (first & RING_MLX5_INLINE)
		return segments != 1 + inline_segments(first & ~RING_MLX5_INLINE);
	return word(r, at, 1, RING_MLX5_AV_EXT) & RING_MLX5_AV_IS_LONG;
}

/* Segments of the address that follows the control segment. */
static uint32_t address_segments(const struct mlx_ring *r, uint16_t at, uint32_t segments,
				 const struct kind *k, struct mlx_wqe *w)
{
	w->ud = r->d->qp_type == GUEST_QP_UD ||
		(r->d->qp_type == GUEST_QP_UNKNOWN && k->op == OP_SEND &&
		 looks_like_ud(r, at, segments));
	if (r->d->qp_type == GUEST_QP_XRC)
		return 1;
	if (!w->ud && r->d->qp_type != GUEST_QP_DC)
		return 0;
	return word(r, at, 1, RING_MLX5_AV_EXT) & RING_MLX5_AV_IS_LONG ? AV_SEGMENTS : 1;
}

static bool sum_data(const struct mlx_ring *r, uint16_t at, uint32_t n, uint32_t segments,
		     uint32_t *bytes)
{
	uint64_t sum = 0;

	if (n > segments)
		return false;
	while (n < segments) {
		uint32_t length = word(r, at, n, RING_MLX5_DATA_BYTES), used = 1;

		if (length & RING_MLX5_INLINE) {
			length &= ~RING_MLX5_INLINE;
			used = inline_segments(length);
			if (used > segments - n)
				return false;
		}
		sum += length;
		n += used;
	}
	*bytes = (uint32_t)sum;
	return sum <= LENGTH_MAX;
}

/* One block, with data that are elsewhere: note what must be the same in requests like it. */
static void note_form(const struct mlx_ring *r, uint16_t at, uint32_t bytes, struct mlx_like *like)
{
	uint32_t sum = 0;

	if (like->segments > RING_MLX5_BLOCK / RING_MLX5_SEGMENT ||
	    r->d->qp_type == GUEST_QP_UNKNOWN || r->d->qp_type > GUEST_QP_UC) {
		like->segments = 0;
		return;
	}
	for (uint32_t i = like->first; i < like->segments; i++) {
		like->bytes[i] = word(r, at, i, RING_MLX5_DATA_BYTES);
		sum += like->bytes[i];
	}
	if (sum != bytes) /* with data that follow, or changed since */
		like->segments = 0;
}

uint32_t mlx5_wqe_alike(const struct mlx_ring *r, uint16_t at, uint32_t max,
			const struct mlx_like *like)
{
	uint32_t n = 0;

	for (; n < max; n++) {
		uint16_t index = (uint16_t)(at + n);
		const volatile uint8_t *block = r->m->base +
						(size_t)(index & r->mask) * RING_MLX5_BLOCK;
		uint32_t other = ring_mlx5_read32(block + RING_MLX5_WQE_QPN) ^ like->control[1];

		other |= ring_mlx5_read32(block + RING_MLX5_WQE_OPCODE) ^
			 (like->control[0] | (uint32_t)index << 8);
		for (uint32_t i = like->first; i < like->segments; i++)
			other |= ring_mlx5_read32(block + i * RING_MLX5_SEGMENT) ^ like->bytes[i];
		if (other)
			break;
	}
	return n;
}

enum mlx5_fit mlx5_wqe_read(const struct mlx_ring *r, uint16_t at, uint32_t most, struct mlx_wqe *w,
			    struct mlx_like *like)
{
	uint32_t head = word(r, at, 0, RING_MLX5_WQE_OPCODE);
	uint32_t qpn = word(r, at, 0, RING_MLX5_WQE_QPN);
	uint32_t opcode = head & 0xff, segments = qpn & SEGMENTS_MASK;
	const struct kind *k;
	uint32_t data;

	like->segments = 0;
	if (!is_of(r, at, head, qpn))
		return MLX5_OTHER;
	if (opcode >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[opcode].known)
		return MLX5_UNKNOWN;
	k = &kinds[opcode];
	if (!segments || blocks_of(segments) > most)
		return MLX5_BAD;
	*w = (struct mlx_wqe){ .op = k->op, .units = (uint8_t)blocks_of(segments) };
	if (k->op == OP_LOCAL)
		return MLX5_FITS;
	if (k->op == OP_CMP_SWAP || k->op == OP_FETCH_ADD) {
		w->bytes = 8;
		return MLX5_FITS;
	}
	data = 1 + address_segments(r, at, segments, k, w) + k->segments;
	if (!sum_data(r, at, data, segments, &w->bytes))
		return MLX5_BAD;
	like->control[0] = head & 0xff0000ff;
	like->control[1] = qpn;
	like->first = (uint8_t)data;
	like->segments = (uint8_t)segments;
	note_form(r, at, w->bytes, like);
	return MLX5_FITS;
}
