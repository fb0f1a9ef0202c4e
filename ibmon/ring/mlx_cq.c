// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx_cq: entries of an mlx4 or mlx5 completion queue -> which are new, and which were lost.
 *
 * The adapter writes entries in turn, and the owner bit of an entry, which changes with each lap,
 * says that it is new. The doorbell record counts the entries that the process has polled, modulo
 * 2^24: it says where the first sample begins, and whether entries were overwritten since the last.
 *
 * What an entry says is in mlx4_cq.c and mlx5_cq.c. This file notifies the send queues of
 * completions; they count the work (mlx_sq.c).
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ibmon/ring/mlx_cq.h"
#include "src/util/seqread.h"

enum {
	ENTRIES_MAX = 1 << 20,
	INDEX_MASK = 0xffffff,
	BEHIND = 0x800000,
	FETCH = 5,	/* lines prefetched early */
	FETCH_MAX = 32, /* and at all */
	LINE = 64,
};

/* Did the adapter write this entry in the lap of n? */
static bool is_valid(const struct ring_desc *d, const struct mlx_cqe *e, uint32_t n)
{
	return e->owner == ((n & d->entries) != 0) && e->written;
}

static enum ring_fault take(const struct mlx_cq_ring *r, const struct mlx_cqe *e)
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

void mlx_cq_take_run(const struct mlx_cq_ring *r, uint32_t n, uint32_t qpn, uint32_t counter)
{
	if (!n)
		return;
	ring_peers_completed(r->peers, r->d->provider, qpn, counter, false);
	r->out->seen += n;
	*r->qpn = qpn ? qpn : *r->qpn;
	r->q->next = (r->q->next + n) & INDEX_MASK;
}

/* Entries that were polled since, and more than the ring holds, are overwritten. */
static enum ring_fault find_begin(const struct mlx_cq_ring *r, uint32_t polled)
{
	struct mlx_cq *q = r->q;
	uint32_t passed;

	if (!q->opened)
		q->next = polled;
	passed = (polled - q->next) & INDEX_MASK;
	if (passed >= BEHIND) /* the process polls later than this code reads */
		return INDEX_MASK + 1 - passed <= r->d->entries ? RING_OK : RING_FAULT_INDEX;
	if (passed > r->d->entries) {
		r->out->lost = passed - r->d->entries;
		q->next = (polled - r->d->entries) & INDEX_MASK;
	}
	return RING_OK;
}

/* An entry that was polled, and is not of its lap any more, is lost; one never written is not. */
static enum ring_fault read_new(const struct mlx_cq_ring *r, mlx_cq_walk_fn *walk, uint32_t polled)
{
	struct mlx_cq *q = r->q;

	q->more = true;
	for (uint32_t n = 0; n < RING_WALK_MAX && !q->moved; n++) {
		enum ring_fault fault;
		struct mlx_cqe e;
		uint32_t passed;

		n += walk(r, RING_WALK_MAX - 1 - n, &e);
		passed = (polled - q->next) & INDEX_MASK;
		if (is_valid(r->d, &e, q->next)) {
			fault = take(r, &e);
			if (fault)
				return fault;
		} else if (passed && passed < BEHIND) {
			r->out->lost += e.written;
		} else {
			memcpy(&q->tail_raw, (const uint8_t *)&e.raw + 4, sizeof(q->tail_raw));
			q->more = false;
			return RING_OK;
		}
		q->next = (q->next + 1) & INDEX_MASK;
	}
	return RING_OK;
}

int mlx_cq_sample(const struct mlx_cq_ring *r, mlx_cq_walk_fn *walk, enum ring_fault *fault)
{
	uint32_t raw = ring_db(r->m)[MLX_CQ_DB_POLLED], polled = be32toh(raw);
	struct sample *out = r->out;
	struct mlx_cq *q = r->q;

	guest_copy_barrier();
	*fault = polled > INDEX_MASK ? RING_FAULT_HEADER : RING_OK;
	if (!*fault && !q->moved)
		*fault = find_begin(r, polled);
	if (!*fault)
		*fault = read_new(r, walk, polled);
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

int mlx_cq_open(const struct ring_desc *d, const struct ring_mem *m, uint32_t bytes)
{
	if ((d->elem_size != bytes && d->elem_size != 2 * bytes) || d->entries > ENTRIES_MAX)
		return -EPROTONOSUPPORT;
	return (size_t)d->entries * d->elem_size > m->len ? -EBADMSG : 0;
}

size_t mlx_cq_state_size(const struct ring_desc *d)
{
	(void)d;
	return sizeof(struct mlx_cq);
}

/* The doorbell record has 32 bits, of which the library uses 24. */
bool mlx_cq_header_same(const struct ring_desc *d, const struct ring_mem *m)
{
	(void)d;
	return be32toh(ring_db(m)[MLX_CQ_DB_POLLED]) <= INDEX_MASK;
}

/* The entry that the adapter writes next, and what was polled, which tells of whole laps. */
void mlx_cq_quiet(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		  struct ring_quiet *quiet)
{
	const struct mlx_cq *q = (const struct mlx_cq *)state;

	if (!q->opened || (q->more && !q->moved))
		return;
	quiet->at[0] = quiet->at[1] = &ring_db(m)[MLX_CQ_DB_POLLED];
	quiet->value[0] = quiet->value[1] = q->polled_raw;
	if (q->moved)
		return;
	quiet->at[0] = (const volatile uint32_t *)(mlx_cq_tail(d, m, q->next) + 4);
	quiet->value[0] = q->tail_raw;
}

/* The lines of as many entries as were read before, and of the one after them. */
void mlx_cq_prefetch(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		     bool rest)
{
	const struct mlx_cq *q = (const struct mlx_cq *)state;
	uint32_t a_line = d->elem_size < LINE ? LINE / d->elem_size : 1;
	uint32_t max = rest ? FETCH_MAX : FETCH;

	if (!rest)
		ring_prefetch_line(&ring_db(m)[MLX_CQ_DB_POLLED]);
	for (uint32_t i = rest ? FETCH : 0; i * a_line < q->fresh + a_line && i < max; i++)
		ring_prefetch_line(mlx_cq_tail(d, m, q->next + i * a_line));
}
