// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx4_cq: entries of completion queues of ConnectX-2 and ConnectX-3: what they say.
 * mlx_cq_sample.h walks them.
 *
 * Of an entry, the last 8 bytes are read at once, and then the queue pair. Its byte count is not
 * valid for requests that send.
 *
 * An entry that was never written is 0, as the library leaves it, or 0xcc, as the kernel does. The
 * owner bit of zeroes is that of the first lap: such an entry has no queue pair.
 */
#include "ibmon/ring/mlx4.h"
#include "ibmon/ring/mlx_cq_sample.h"
#include "resex/guest_abi.h"
#include "src/util/seqread.h"

static_assert((int)RING_MLX4_DB_POLLED == MLX_CQ_DB_POLLED &&
		      RING_MLX4_CQE - RING_MLX4_CQE_TAIL == MLX_CQE_TAIL,
	      "mlx_cq_sample.h reads them");

enum {
	QPN_MASK = 0xffffff,
	INDEX_SHIFT = 48, /* in the tail */
	PLAIN_MASK = RING_MLX4_CQE_OWNER | RING_MLX4_CQE_IS_SEND,
	/* Operations of sends that are completed; one bit each. */
	SENDS = 1 << RING_MLX4_NOP | 1 << RING_MLX4_SEND_INVAL | 1 << RING_MLX4_WRITE |
		1 << RING_MLX4_WRITE_IMM | 1 << RING_MLX4_SEND | 1 << RING_MLX4_SEND_IMM |
		1 << RING_MLX4_LSO | 1 << RING_MLX4_READ | 1 << RING_MLX4_CMP_SWAP |
		1 << RING_MLX4_FETCH_ADD | 1 << RING_MLX4_CMP_SWAP_MASKED |
		1 << RING_MLX4_FETCH_ADD_MASKED | 1 << RING_MLX4_BIND_MW | 1 << RING_MLX4_FMR |
		1 << RING_MLX4_LOCAL_INVAL,
};
#define UNWRITTEN 0xccccccccccccccccu

/* Is the operation one of sends? The kernel's 0xcc is none. */
static bool is_send(uint64_t opcode)
{
	return SENDS >> (opcode & RING_MLX4_CQE_OPCODE) & 1;
}

static uint32_t read_qpn(const volatile uint8_t *tail)
{
	guest_copy_barrier(); /* the rest is valid if the tail is */
	return ring_mlx4_read32(tail + RING_MLX4_CQE_QPN - RING_MLX4_CQE_TAIL) & QPN_MASK;
}

static enum mlx_cqe_kind kind_of(uint32_t opcode, bool send)
{
	if (opcode == RING_MLX4_CQE_RESIZED)
		return MLX_CQE_RESIZED;
	if (opcode != RING_MLX4_CQE_ERROR &&
	    !(send ? is_send(opcode) : opcode <= RING_MLX4_CQE_RECV_SEND_INV))
		return MLX_CQE_BAD;
	return send ? MLX_CQE_SEND : MLX_CQE_OTHER;
}

static void read_entry(const volatile uint8_t *tail, struct mlx_cqe *e)
{
	uint64_t raw = guest_read64(tail), v = be64toh(raw);
	uint32_t opcode = v & RING_MLX4_CQE_OPCODE, qpn = read_qpn(tail);

	*e = (struct mlx_cqe){
		.raw = raw,
		.qpn = qpn,
		.counter = (uint16_t)(v >> INDEX_SHIFT),
		.kind = (uint8_t)kind_of(opcode, v & RING_MLX4_CQE_IS_SEND),
		.written = raw != UNWRITTEN && (qpn || opcode == RING_MLX4_CQE_RESIZED),
		.owner = v & RING_MLX4_CQE_OWNER,
		.error = opcode == RING_MLX4_CQE_ERROR,
	};
}

static uint32_t mlx_cq_walk(const struct mlx_cq_ring *r, uint32_t max, struct mlx_cqe *after)
{
	uint32_t next = r->q->next, n = 0, qpn = 0, index = 0;

	for (; n < max; n++, next++) {
		const volatile uint8_t *at = mlx_cq_tail(r->d, r->m, next);
		uint64_t v = be64toh(guest_read64(at));
		uint32_t lap = next & r->d->entries ? RING_MLX4_CQE_OWNER : 0;
		uint32_t named = read_qpn(at);

		if ((v & PLAIN_MASK) != (lap | RING_MLX4_CQE_IS_SEND) || !is_send(v) || !named ||
		    (n && named != qpn))
			break;
		qpn = named;
		index = (uint32_t)(v >> INDEX_SHIFT);
	}
	mlx_cq_take_run(r, n, qpn, index);
	read_entry(mlx_cq_tail(r->d, r->m, next), after);
	return n;
}

static int cq_open(const struct ring_desc *d, const struct ring_mem *m, void *state)
{
	(void)state;
	return mlx_cq_open(d, m, RING_MLX4_CQE);
}

const struct ring_ops ring_mlx4_cq = {
	.provider = GUEST_PROVIDER_MLX4,
	.kind = RING_CQ,
	.name = "mlx4 completion queue",
	.db_bytes = RING_MLX4_DB_BYTES,
	.state_size = mlx_cq_state_size,
	.open = cq_open,
	.header_same = mlx_cq_header_same,
	.quiet = mlx_cq_quiet,
	.prefetch = mlx_cq_prefetch,
	.sample = mlx_cq_sample,
};
