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
#include "ibmon/ring/mtu.h"

enum {
	MTU_MIN = 256,	  /* a message so small is one MTU of any path */
	BYTES_A_NS = 125, /* 1 Tbit/s: faster than any port */
	FETCH = 5,	  /* units prefetched early */
	FETCH_MAX = 32,	  /* and at all */
};
#define LENGTH_MAX   (1ull << 31)
#define WAITS_MAX_NS NS_PER_S

/* --- what a request costs --------------------------------------------------------- */

/* Does a completion queue tell which of these requests are completed? */
static bool is_linked(const struct mlx_sq *q)
{
	return q->linked && q->based;
}

static bool is_done(const struct mlx_sq *q, uint16_t at)
{
	return !is_linked(q) || (int16_t)(uint16_t)(q->done - at) >= 0;
}

static bool is_failed(const struct mlx_sq *q, uint16_t at)
{
	return q->failed && (int16_t)(uint16_t)(at - q->failed_from) >= 0;
}

static uint64_t mtus_of(const struct mlx_ring *r, const struct mlx_wqe *w)
{
	if (w->ud || w->op == OP_CMP_SWAP || w->op == OP_FETCH_ADD)
		return 1;
	if (!r->d->path_mtu && w->bytes > MTU_MIN)
		r->out->flags |= SAMPLE_MTUS_ESTIMATED | SAMPLE_MTUS_GUESSED;
	if (r->q->mtu_shift && w->bytes)
		return ((uint64_t)w->bytes + r->d->path_mtu - 1) >> r->q->mtu_shift;
	return mtu_of(w->bytes, r->d->path_mtu);
}

/* n requests like w, which succeeded. */
static void charge_n(const struct mlx_ring *r, const struct mlx_wqe *w, uint64_t n)
{
	struct sample *out = r->out;
	uint64_t mtus;

	out->seen += n;
	out->ops[w->op] += n;
	r->q->units += n * w->units;
	if (w->op == OP_LOCAL)
		return;
	mtus = n * mtus_of(r, w);
	if (w->bytes > out->msg_bytes)
		out->msg_bytes = w->bytes;
	if (w->op == OP_READ) {
		out->mtus_recv += mtus;
		out->bytes_recv += n * w->bytes;
		r->q->recv += mtus;
	} else {
		out->mtus_sent += mtus;
		out->bytes_sent += n * w->bytes;
		r->q->sent += mtus;
	}
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
		charge_n(r, w, 1);
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

/* The mean of a unit, of all that were charged, for those that were overwritten unread. */
static void charge_lost(const struct mlx_ring *r, int64_t elapsed_ns, bool one_unit)
{
	const struct mlx_sq *q = r->q;
	struct sample *out = r->out;
	uint64_t units = q->units ? q->units : 1, by_length = r->lost * LENGTH_MAX;
	uint64_t by_time = (uint64_t)elapsed_ns * BYTES_A_NS + LENGTH_MAX;

	if (!r->lost)
		return;
	out->lost = r->lost;
	out->flags |= SAMPLE_LAPPED | SAMPLE_MTUS_ESTIMATED | SAMPLE_MTUS_GUESSED;
	if (!one_unit || !q->opened || !is_linked(q)) /* else the laps are known */
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
	if (!q->flying && is_done(q, at)) {
		charge(r, at, w);
		q->charged = end;
		return;
	}
	q->noted[at & r->mask] = *w;
	q->flying++;
}

uint32_t mlx_sq_most_alike(const struct mlx_ring *r, uint16_t end, uint32_t max)
{
	const struct mlx_sq *q = r->q;
	uint32_t most = (uint16_t)(end - q->posted);

	if (!q->like.segments || q->flying || q->failed || !is_done(q, q->posted) ||
	    most > r->mask + 1)
		return 0;
	if (is_linked(q) && (uint16_t)(q->done - q->posted) < most)
		most = (uint16_t)(q->done - q->posted) + 1u;
	return most < max ? most : max;
}

void mlx_sq_take_alike(const struct mlx_ring *r, uint32_t n)
{
	struct mlx_sq *q = r->q;

	if (!n)
		return;
	charge_n(r, &q->alike, n);
	q->posted = q->charged = (uint16_t)(q->posted + n);
	q->last = (uint16_t)(q->posted - 1);
	q->any = true;
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

/* Its completion queue may have been withdrawn. */
static void count_wait(struct mlx_sq *q, int64_t elapsed_ns)
{
	q->waits_ns = q->told == q->told_seen && q->flying ? q->waits_ns + elapsed_ns : 0;
	if (q->waits_ns >= WAITS_MAX_NS)
		q->linked = false;
	q->told_seen = q->told;
}

void mlx_sq_begin(struct mlx_ring *r, int64_t elapsed_ns)
{
	struct mlx_sq *q = r->q;

	count_wait(q, elapsed_ns);
	while (q->flying && is_done(q, q->charged))
		mlx_sq_charge_oldest(r);
}

static uint64_t backlog(const struct mlx_ring *r, uint16_t end)
{
	uint64_t n = (uint64_t)r->q->flying + (uint16_t)(end - r->q->posted);

	return n < r->mask + 1 ? n : r->mask + 1;
}

void mlx_sq_end(struct mlx_ring *r, uint16_t end, int64_t elapsed_ns, bool one_unit)
{
	struct mlx_sq *q = r->q;

	charge_lost(r, elapsed_ns, one_unit);
	if (!q->opened)
		r->out->flags |= SAMPLE_HISTORY;
	q->opened = true;
	r->out->wrs = r->out->seen + r->out->lost;
	r->out->backlog = backlog(r, end);
}

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
