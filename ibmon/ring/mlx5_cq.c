// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5_cq: entries of completion queues of ConnectX-4 and later: what they say.
 * mlx_cq_sample.h walks them.
 *
 * All that is needed of an entry is in its last 8 bytes, which are read at once: queue pair, index
 * of the request, opcode and owner. Its byte count is not valid for requests that send.
 *
 * Entries in a compressed form have no counters: a queue with such entries is refused.
 */
#include "ibmon/ring/mlx5.h"
#include "ibmon/ring/mlx_cq_sample.h"
#include "resex/guest_abi.h"
#include "src/util/seqread.h"

static_assert((int)RING_MLX5_DB_POLLED == MLX_CQ_DB_POLLED &&
		      (int)RING_MLX5_CQE_TAIL == MLX_CQE_TAIL,
	      "mlx_cq_sample.h reads them");

enum {
	QPN_MASK = 0xffffff,
	PLAIN_MASK = 0xfd, /* opcode, format and owner: of a success, owner alone */
};

static enum mlx_cqe_kind kind_of(const struct ring_mlx5_tail *t)
{
	if (t->format == RING_MLX5_CQE_COMPRESSED)
		return MLX_CQE_UNKNOWN;
	if (t->opcode == RING_MLX5_CQE_RESIZED)
		return MLX_CQE_RESIZED;
	if (t->opcode > RING_MLX5_CQE_NO_PACKET && t->opcode < RING_MLX5_CQE_SIG_ERR)
		return MLX_CQE_BAD;
	if (t->opcode == RING_MLX5_CQE_REQ || t->opcode == RING_MLX5_CQE_REQ_ERR)
		return MLX_CQE_SEND;
	return MLX_CQE_OTHER;
}

static void read_entry(const volatile uint8_t *tail, struct mlx_cqe *e)
{
	uint64_t raw = guest_read64(tail);
	struct ring_mlx5_tail t = ring_mlx5_tail(raw);

	*e = (struct mlx_cqe){
		.raw = raw,
		.qpn = t.qpn,
		.counter = t.counter,
		.kind = (uint8_t)kind_of(&t),
		.written = t.opcode != RING_MLX5_CQE_INVALID,
		.owner = t.owner,
		.error = t.opcode >= RING_MLX5_CQE_SIG_ERR,
	};
}

static uint32_t mlx_cq_walk(const struct mlx_cq_ring *r, uint32_t max, struct mlx_cqe *after)
{
	uint32_t next = r->q->next, n = 0, qpn = 0, counter = 0;

	for (; n < max; n++, next++) {
		uint64_t v = be64toh(guest_read64(mlx_cq_tail(r->d, r->m, next)));
		uint32_t named = (uint32_t)(v >> 32) & QPN_MASK;

		if ((v & PLAIN_MASK) != ((next & r->d->entries) != 0) || (n && named != qpn))
			break;
		qpn = named;
		counter = (uint32_t)(v >> 16) & 0xffff;
	}
	mlx_cq_take_run(r, n, qpn, counter);
	read_entry(mlx_cq_tail(r->d, r->m, next), after);
	return n;
}

static int cq_open(const struct ring_desc *d, const struct ring_mem *m, void *state)
{
	(void)state;
	return mlx_cq_open(d, m, RING_MLX5_CQE);
}

const struct ring_ops ring_mlx5_cq = {
	.provider = GUEST_PROVIDER_MLX5,
	.kind = RING_CQ,
	.name = "mlx5 completion queue",
	.db_bytes = RING_MLX5_DB_BYTES,
	.state_size = mlx_cq_state_size,
	.open = cq_open,
	.header_same = mlx_cq_header_same,
	.quiet = mlx_cq_quiet,
	.prefetch = mlx_cq_prefetch,
	.sample = mlx_cq_sample,
};
