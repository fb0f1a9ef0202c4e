// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx4_wqe: one work request of an mlx4 send queue, read from guest memory. mlx4.c calls it.
 *
 * Each word is read once. The owner bit of the head says in which of two laps the request was
 * posted. When a queue pair is made ready, libmlx4 writes a NOP of a whole slot into each slot,
 * with the owner bit of the lap before the first: such a slot was not posted since.
 *
 * Few bits tell a request from other data: seven bits of the head and three beside the opcode are
 * 0; its index is 0, unless the library wrote the request into a register, too, and so is the
 * number of the queue pair.
 *
 * Bytes are the sum of the data segments, or the lengths before data that follow, of which each
 * chunk of 64 bytes has its own. Soon before a slot is used again, libmlx4 stamps the first word of
 * each of its chunks but the first: what is read after that has no length.
 */
#include "ibmon/ring/mlx4_sq.h"
#include "resex/guest_abi.h"

enum {
	OPCODE_MASK = 0x1f,
	SEGMENTS_MASK = 0x3f,
	FENCE = 0x40,
	LENGTH_MAX = 1u << 31,
	PORTS_MAX = 2,
	AV_PORT_SHIFT = 24,
	AV_PORT_MASK = 0xf,   /* other bits of this byte: of Ethernet */
	AV_GLOBAL = 0x800000, /* in its second word, whose first byte is 0 */
	AV_ZERO = 0xff000000,
	AV_GID = 16, /* offset in the address; its 16 bytes */
	LINE_SEGMENTS = RING_MLX4_CHUNK / RING_MLX4_SEGMENT,
};
#define HEAD_ZERO    0x7f0000e0u
#define PRINT_FACTOR 0x9e3779b97f4a7c15ull

/* What an operation has between control segment, address and data. */
struct kind {
	uint8_t known;
	uint8_t op;	 /* enum sample_op */
	uint8_t segment; /* 1: a remote address */
};

static const struct kind kinds[OPCODE_MASK + 1] = {
	[RING_MLX4_NOP] = { 1, OP_LOCAL, 0 },
	[RING_MLX4_SEND_INVAL] = { 1, OP_SEND, 0 },
	[RING_MLX4_WRITE] = { 1, OP_WRITE, 1 },
	[RING_MLX4_WRITE_IMM] = { 1, OP_WRITE, 1 },
	[RING_MLX4_SEND] = { 1, OP_SEND, 0 },
	[RING_MLX4_SEND_IMM] = { 1, OP_SEND, 0 },
	[RING_MLX4_READ] = { 1, OP_READ, 1 },
	[RING_MLX4_CMP_SWAP] = { 1, OP_CMP_SWAP, 1 },
	[RING_MLX4_FETCH_ADD] = { 1, OP_FETCH_ADD, 1 },
	[RING_MLX4_CMP_SWAP_MASKED] = { 1, OP_CMP_SWAP, 1 },
	[RING_MLX4_FETCH_ADD_MASKED] = { 1, OP_FETCH_ADD, 1 },
	[RING_MLX4_BIND_MW] = { 1, OP_LOCAL, 0 },
	[RING_MLX4_FMR] = { 1, OP_LOCAL, 0 },
	[RING_MLX4_LOCAL_INVAL] = { 1, OP_LOCAL, 0 },
};

static uint32_t word(const struct mlx_ring *r, uint16_t at, uint32_t offset)
{
	return ring_mlx4_read32(mlx4_slot(r, at) + offset);
}

bool mlx4_is_unused_nop(const struct mlx_ring *r, uint16_t at, uint32_t head)
{
	uint32_t whole = r->d->elem_size / RING_MLX4_SEGMENT;

	return (word(r, at, RING_MLX4_WQE_SIZE) & SEGMENTS_MASK) ==
	       (head & RING_MLX4_OWNER ? whole & SEGMENTS_MASK : 0);
}

uint16_t mlx4_index_written(uint32_t head_raw)
{
	return (uint16_t)(be32toh(head_raw) >> RING_MLX4_INDEX_SHIFT);
}

static bool is_own(const struct ring_desc *d, uint32_t head, uint32_t size)
{
	return !(head & HEAD_ZERO) && (!(size >> 8) || size >> 8 == d->number);
}

bool mlx4_is_own(const struct ring_desc *d, const volatile uint8_t *at)
{
	return is_own(d, ring_mlx4_read32(at + RING_MLX4_WQE_HEAD),
		      ring_mlx4_read32(at + RING_MLX4_WQE_SIZE));
}

/* The library adds index and queue pair after the rest. */
uint64_t mlx4_print(const struct mlx_ring *r, uint16_t at)
{
	uint64_t v = word(r, at, RING_MLX4_WQE_HEAD) & (RING_MLX4_OWNER | OPCODE_MASK);

	v = v << 32 | (word(r, at, RING_MLX4_WQE_SIZE) & SEGMENTS_MASK);
	for (uint32_t i = 8; i < RING_MLX4_CHUNK; i += 8)
		v += guest_read64(mlx4_slot(r, at) + i) * (PRINT_FACTOR + 2 * i);
	return v;
}

/*
 * Is what follows the control segment of a SEND an address? It begins with a port; as the length of
 * data, that would be 16 MB or more. Bytes that an address has as 0 are those of a second segment
 * of data, with a length and an address of a process.
 */
static bool looks_like_ud(const struct mlx_ring *r, uint16_t at, uint32_t segments)
{
	uint32_t av = RING_MLX4_SEGMENT, rest = 0;
	uint32_t port, second;

	if (segments * RING_MLX4_SEGMENT < av + RING_MLX4_AV_BYTES)
		return false;
	port = word(r, at, av) >> AV_PORT_SHIFT & AV_PORT_MASK;
	second = word(r, at, av + 4);
	for (uint32_t i = 0; i < 16 && !(second & AV_GLOBAL); i += 4)
		rest |= word(r, at, av + AV_GID + i);
	return port && port <= PORTS_MAX && !(second & AV_ZERO) && !rest;
}

static bool is_ud(const struct mlx_ring *r, uint16_t at, uint32_t segments, const struct kind *k)
{
	if (r->d->qp_type != GUEST_QP_UNKNOWN)
		return r->d->qp_type == GUEST_QP_UD;
	return k->op == OP_SEND && looks_like_ud(r, at, segments);
}

/* Of the data between two offsets. False: no adapter would accept them. */
static bool sum_data(const struct mlx_ring *r, uint16_t at, uint32_t from, uint32_t end,
		     struct mlx_wqe *w)
{
	uint64_t sum = 0;

	while (from < end) {
		uint32_t length = word(r, at, from + RING_MLX4_DATA_BYTES);
		uint32_t used = RING_MLX4_SEGMENT;

		if (length == RING_MLX4_STAMP) {
			w->stamped = true;
			return true;
		}
		if (length & RING_MLX4_INLINE) {
			length &= ~RING_MLX4_INLINE;
			if (length > RING_MLX4_CHUNK - from % RING_MLX4_CHUNK - 4)
				return false;
			used = (4 + length + RING_MLX4_SEGMENT - 1) & ~(RING_MLX4_SEGMENT - 1u);
		}
		sum += length;
		from += used;
	}
	w->bytes = (uint32_t)sum;
	return from == end && sum <= LENGTH_MAX;
}

/* One chunk, with data that are elsewhere: note what must be the same in requests like it. */
static void note_form(const struct mlx_ring *r, uint16_t at, uint32_t head, uint32_t size,
		      uint32_t from, const struct mlx_wqe *w, struct mlx_like *like)
{
	uint32_t sum = 0;

	if ((size & SEGMENTS_MASK) > LINE_SEGMENTS || r->d->qp_type == GUEST_QP_UNKNOWN ||
	    r->d->qp_type > GUEST_QP_UC)
		return;
	like->control[0] = head & ~RING_MLX4_OWNER;
	like->control[1] = size & ~(uint32_t)FENCE;
	like->first = (uint8_t)(from / RING_MLX4_SEGMENT);
	for (uint32_t i = like->first; i < (size & SEGMENTS_MASK); i++) {
		like->bytes[i] = word(r, at, i * RING_MLX4_SEGMENT);
		sum += like->bytes[i];
	}
	if (sum == w->bytes) /* else with data that follow, or changed since */
		like->segments = size & SEGMENTS_MASK;
}

uint32_t mlx4_wqe_alike(const struct mlx_ring *r, uint16_t at, uint32_t max,
			const struct mlx_like *like)
{
	uint32_t n = 0;

	for (; n < max; n++) {
		uint16_t index = (uint16_t)(at + n);
		const volatile uint8_t *s = mlx4_slot(r, index);
		uint32_t lap = index & (r->mask + 1) ? RING_MLX4_OWNER : 0;
		uint32_t other = ring_mlx4_read32(s + RING_MLX4_WQE_HEAD) ^
				 (like->control[0] | lap);

		other |= (ring_mlx4_read32(s + RING_MLX4_WQE_SIZE) & ~(uint32_t)FENCE) ^
			 like->control[1];
		for (uint32_t i = like->first; i < like->segments; i++)
			other |= ring_mlx4_read32(s + i * RING_MLX4_SEGMENT) ^ like->bytes[i];
		if (other)
			break;
	}
	return n;
}

enum mlx4_fit mlx4_wqe_read(const struct mlx_ring *r, uint16_t at, struct mlx_wqe *w,
			    struct mlx_like *like)
{
	uint32_t head = word(r, at, RING_MLX4_WQE_HEAD), size = word(r, at, RING_MLX4_WQE_SIZE);
	uint32_t index = head >> RING_MLX4_INDEX_SHIFT & 0xffff, segments = size & SEGMENTS_MASK;
	const struct kind *k = &kinds[head & OPCODE_MASK];
	uint32_t from;

	like->segments = 0;
	if (!mlx4_is_of_lap(r, at, head))
		return MLX4_GONE;
	if (!is_own(r->d, head, size) || (index && (index ^ at) & (2 * r->mask + 1)))
		return MLX4_OTHER;
	if (!k->known)
		return MLX4_UNKNOWN;
	if (!segments || segments * RING_MLX4_SEGMENT > r->d->elem_size)
		return MLX4_BAD;
	*w = (struct mlx_wqe){ .op = k->op, .units = 1 };
	if (k->op == OP_LOCAL)
		return MLX4_FITS;
	if (k->op == OP_CMP_SWAP || k->op == OP_FETCH_ADD) {
		w->bytes = 8;
		return MLX4_FITS;
	}
	w->ud = is_ud(r, at, segments, k);
	from = RING_MLX4_SEGMENT * (1u + k->segment) + (w->ud ? RING_MLX4_AV_BYTES : 0u);
	if (!sum_data(r, at, from, segments * RING_MLX4_SEGMENT, w))
		return MLX4_BAD;
	if (!w->stamped && !index)
		note_form(r, at, head, size, from, w, like);
	return MLX4_FITS;
}
