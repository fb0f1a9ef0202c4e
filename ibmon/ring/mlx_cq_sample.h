/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx_cq_sample: entries of an mlx4 or mlx5 completion queue -> which are new, and which were lost.
 * mlx4_cq.c and mlx5_cq.c include it, and define mlx_cq_walk(): compiled with it, a sample takes as
 * long as one that is written for its layout. As calls, with those of mlx_sq.h, it took 8 % longer.
 *
 * The adapter writes entries in turn, and the owner bit of an entry, which changes with each lap,
 * says that it is new. The doorbell record counts the entries that the process has polled, modulo
 * 2^24: it says where the first sample begins, and whether entries were overwritten since the last.
 *
 * This notifies the send queues of completions; they count the work (mlx_sq.c).
 */
#ifndef RESEX_IBMON_RING_MLX_CQ_SAMPLE_H
#define RESEX_IBMON_RING_MLX_CQ_SAMPLE_H

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ibmon/ring/mlx_cq.h"
#include "src/util/seqread.h"

/*
 * Of the layout: take the entries from next on that are successes of sends of one queue pair, as
 * most are, at most max, with mlx_cq_take_run(); then read the entry after them. How many were
 * taken.
 */
static uint32_t mlx_cq_walk(const struct mlx_cq_ring *r, uint32_t max, struct mlx_cqe *after);

/* Did the adapter write this entry in the lap of n? */
static inline bool mlx_cq_is_valid(const struct ring_desc *d, const struct mlx_cqe *e, uint32_t n)
{
	return e->owner == ((n & d->entries) != 0) && e->written;
}

static inline enum ring_fault mlx_cq_take(const struct mlx_cq_ring *r, const struct mlx_cqe *e)
{
	switch (e->kind) {
	case MLX_CQE_UNKNOWN:
		return RING_FAULT_LAYOUT;
	case MLX_CQE_RESIZED:
		r->q->moved = true;
		return RING_OK;
	case MLX_CQE_BAD:
		return RING_FAULT_ENTRY;
	case MLX_CQE_SEND:
		ring_peers_completed(r->peers, r->d->provider, e->qpn, e->counter, e->error);
		break;
	default:
		break;
	}
	r->out->seen++;
	r->out->errors += e->error;
	if (e->qpn)
		*r->qpn = e->qpn;
	return RING_OK;
}

/* Take n entries. Only the newest is passed to the queue pair: it implies the others. */
static inline void mlx_cq_take_run(const struct mlx_cq_ring *r, uint32_t n, uint32_t qpn,
				   uint32_t counter)
{
	if (!n)
		return;
	ring_peers_completed(r->peers, r->d->provider, qpn, counter, false);
	r->out->seen += n;
	*r->qpn = qpn ? qpn : *r->qpn;
	r->q->next = (r->q->next + n) & MLX_CQ_INDEX_MASK;
}

/* Entries that were polled since, and more than the ring holds, are overwritten. */
static inline enum ring_fault mlx_cq_find_begin(const struct mlx_cq_ring *r, uint32_t polled)
{
	struct mlx_cq *q = r->q;
	uint32_t passed;

	if (!q->opened)
		q->next = polled;
	passed = (polled - q->next) & MLX_CQ_INDEX_MASK;
	if (passed >= MLX_CQ_BEHIND) /* the process polls later than this code reads */
		return MLX_CQ_INDEX_MASK + 1 - passed <= r->d->entries ? RING_OK : RING_FAULT_INDEX;
	if (passed > r->d->entries) {
		r->out->lost = passed - r->d->entries;
		q->next = (polled - r->d->entries) & MLX_CQ_INDEX_MASK;
	}
	return RING_OK;
}

/* An entry that was polled, and is not of its lap any more, is lost; one never written is not. */
static inline enum ring_fault mlx_cq_read_new(const struct mlx_cq_ring *r, uint32_t polled)
{
	struct mlx_cq *q = r->q;

	q->more = true;
	for (uint32_t n = 0; n < RING_WALK_MAX && !q->moved; n++) {
		enum ring_fault fault;
		struct mlx_cqe e;
		uint32_t passed;

		n += mlx_cq_walk(r, RING_WALK_MAX - 1 - n, &e);
		passed = (polled - q->next) & MLX_CQ_INDEX_MASK;
		if (mlx_cq_is_valid(r->d, &e, q->next)) {
			fault = mlx_cq_take(r, &e);
			if (fault)
				return fault;
		} else if (passed && passed < MLX_CQ_BEHIND) {
			r->out->lost += e.written;
		} else {
			memcpy(&q->tail_raw, (const uint8_t *)&e.raw + 4, sizeof(q->tail_raw));
			q->more = false;
			return RING_OK;
		}
		q->next = (q->next + 1) & MLX_CQ_INDEX_MASK;
	}
	return RING_OK;
}

/* sample() of struct ring_ops. */
static int mlx_cq_sample(const struct ring_desc *d, const struct ring_mem *m, void *state,
			 const struct ring_peers *peers, int64_t elapsed_ns, struct sample *out,
			 enum ring_fault *fault, uint32_t *qpn)
{
	const struct mlx_cq_ring r = { d, m, (struct mlx_cq *)state, peers, out, qpn };
	uint32_t raw = ring_db(m)[MLX_CQ_DB_POLLED], polled = be32toh(raw);
	struct mlx_cq *q = r.q;

	(void)elapsed_ns;
	guest_copy_barrier();
	*fault = polled > MLX_CQ_INDEX_MASK ? RING_FAULT_HEADER : RING_OK;
	if (!*fault && !q->moved)
		*fault = mlx_cq_find_begin(&r, polled);
	if (!*fault)
		*fault = mlx_cq_read_new(&r, polled);
	if (*fault)
		return -EBADMSG;
	q->polled_raw = raw;
	q->fresh = (uint32_t)out->seen;
	if (!q->opened)
		out->flags |= SAMPLE_HISTORY;
	q->opened = true;
	if (out->lost)
		out->flags |= SAMPLE_LAPPED;
	out->wrs = out->seen + out->lost;
	return 0;
}

#endif
