// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx_sq: requests of an mlx4 or mlx5 send queue -> what was completed, and what it costs.
 *
 * mlx4.c and mlx5.c find the requests that were posted. A send queue does not change when they are
 * completed. Its completion queue tells (mlx_cq.c), the newest completed request, and so all before
 * it. Until then, what was read is noted. A queue pair whose completion queue is not read, or is
 * silent for a second, is charged when it posts.
 */
#include "ibmon/ring/mlx_sq.h"

enum {
	BYTES_A_NS = 125, /* 1 Tbit/s: faster than any port */
	FETCH = 5,	  /* units prefetched early */
	FETCH_MAX = 32,	  /* and at all */
};
#define LENGTH_MAX (1ull << 31)

/* --- what a request costs --------------------------------------------------------- */

static bool is_failed(const struct mlx_sq *q, uint16_t at)
{
	return q->failed && (int16_t)(uint16_t)(at - q->failed_from) >= 0;
}

/* One that failed is counted, and no part of it: as on rxe. */
static void charge(struct mlx_ring *r, uint16_t at, const struct mlx_wqe *w)
{
	if (w->stamped) {
		r->lost++;
	} else if (is_failed(r->q, at)) {
		r->out->seen++;
		r->out->ops[w->op]++;
		r->out->errors++;
		r->q->units += w->units;
	} else {
		mlx_sq_charge_n(r, w, 1);
	}
}

void mlx_sq_charge_oldest(struct mlx_ring *r)
{
	struct mlx_sq *q = r->q;
	const struct mlx_wqe *w = &q->noted[q->charged & r->mask];

	charge(r, q->charged, w);
	q->charged = (uint16_t)(q->charged + w->units);
	q->flying--;
}

void mlx_sq_charge_lost(const struct mlx_ring *r, int64_t elapsed_ns, bool one_unit)
{
	const struct mlx_sq *q = r->q;
	struct sample *out = r->out;
	uint64_t units = q->units ? q->units : 1, by_length = r->lost * LENGTH_MAX;
	uint64_t by_time = (uint64_t)elapsed_ns * BYTES_A_NS + LENGTH_MAX;

	out->lost = r->lost;
	out->flags |= SAMPLE_LAPPED | SAMPLE_MTUS_ESTIMATED | SAMPLE_MTUS_GUESSED;
	if (!one_unit || !q->opened || !mlx_sq_is_linked(q)) /* else the laps are known */
		out->flags |= SAMPLE_WRS_BOUNDED;
	out->bytes_bound = q->opened && by_time < by_length ? by_time : by_length;
	out->mtus_sent += q->units ? (uint64_t)((unsigned __int128)q->sent * r->lost / units)
				   : r->lost;
	out->mtus_recv += (uint64_t)((unsigned __int128)q->recv * r->lost / units);
}

/* --- which are completed ---------------------------------------------------------- */

/* What was posted a whole ring before is completed: its place was used again. */
void mlx_sq_take(struct mlx_ring *r, const struct mlx_wqe *w)
{
	struct mlx_sq *q = r->q;
	uint16_t at = q->posted, end = (uint16_t)(at + w->units);

	while (q->flying && (uint16_t)(end - q->charged) > r->mask + 1)
		mlx_sq_charge_oldest(r);
	q->last = at;
	q->any = true;
	q->posted = end;
	if (!q->flying && mlx_sq_is_done(q, at)) {
		charge(r, at, w);
		q->charged = end;
		return;
	}
	q->noted[at & r->mask] = *w;
	q->flying++;
}

void mlx_sq_begin_anew(const struct mlx_ring *r)
{
	struct mlx_sq *q = r->q;

	q->posted = q->charged = 0;
	q->flying = 0;
	q->any = q->linked = q->failed = q->full = false;
	q->based = true;
	r->out->flags |= SAMPLE_WRS_BOUNDED | SAMPLE_MTUS_ESTIMATED;
}

/* --- a sample ------------------------------------------------------------------------ */

/*
 * Completion queues are compacted when a queue pair is destroyed: older completions may be seen
 * again. After a failure all others are flushed, until a RESET: a success says that there was one.
 */
void mlx_sq_completed(void *state, uint32_t counter, bool failed)
{
	struct mlx_sq *q = (struct mlx_sq *)state;
	uint16_t at = (uint16_t)counter;

	if (q->linked && (int16_t)(uint16_t)(at - q->done) <= 0)
		return;
	if (failed && !q->failed)
		q->failed_from = at;
	q->failed = failed;
	q->done = at;
	q->linked = true;
	q->told++;
}

/* --- ops ------------------------------------------------------------------------------ */

size_t mlx_sq_state_size(const struct ring_desc *d)
{
	return sizeof(struct mlx_sq) + (size_t)d->entries * sizeof(struct mlx_wqe);
}

bool mlx_sq_intact(const void *state)
{
	return !((const struct mlx_sq *)state)->torn;
}

void mlx_sq_open(const struct ring_desc *d, struct mlx_sq *q)
{
	while (d->path_mtu && 2u << q->mtu_shift <= d->path_mtu)
		q->mtu_shift++;
	if (d->path_mtu != 1u << q->mtu_shift)
		q->mtu_shift = 0; /* or none that an adapter has */
	q->based = true;
}

void mlx_sq_prefetch(const struct ring_desc *d, const struct ring_mem *m, const struct mlx_sq *q,
		     uint32_t n, bool rest)
{
	uint32_t max = rest ? FETCH_MAX : FETCH;

	for (uint32_t i = rest ? FETCH : 0; i < n && i < max; i++)
		ring_prefetch_line(m->base +
				   (size_t)((q->posted + i) & (d->entries - 1)) * d->elem_size);
}
