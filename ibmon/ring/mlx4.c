// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx4: send queues of ConnectX-2 and ConnectX-3: what was posted since the last sample. What of it
 * is completed, and charged: mlx_sq.c.
 *
 * What was posted: no counter in memory says it. A slot is posted when its owner bit is that of the
 * lap; the first slot that is not is the end. So the end is known modulo two laps. A completion has
 * the index of its request, modulo 2^16, and is at most a lap behind the end: with it, laps between
 * two samples are counted. So they are with the index that the library writes into a request that
 * it writes into a register, too. Without both, two laps or more show as fewer.
 *
 * The library keeps some slots unused, and stamps the request in the next of them before it is
 * overwritten (mlx4_wqe.c). A request that was not read before is lost, but counted: a slot is one
 * request.
 *
 * A RESET marks all slots as unused, and begins anew at slot 0. Known limit: a RESET in the first
 * lap, with as many requests posted after it as before it, all between two samples, is not seen.
 */
#include <errno.h>

#include "ibmon/ring/mlx4_sq.h"
#include "resex/guest_abi.h"

enum { BEHIND = 0x8000 };

/* --- where the posted ones end ------------------------------------------------------ */

static bool is_posted_now(const struct mlx_ring *r, uint16_t at, uint32_t *raw)
{
	*raw = mlx4_head_raw(r, at);
	return mlx4_is_posted(r, at, *raw);
}

/*
 * The first slot from at on that is not posted: in a lap, all that are posted come before all that
 * are not.
 */
static uint16_t find_boundary(const struct mlx_ring *r, uint16_t at)
{
	uint32_t low = 0, high = r->mask + 1, raw;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (is_posted_now(r, (uint16_t)(at + middle), &raw))
			low = middle + 1;
		else
			high = middle;
	}
	return (uint16_t)(at + low);
}

/* Both words that are watched while the queue is idle. */
static void note_end(const struct mlx_ring *r, uint16_t end)
{
	r->q->last_raw = mlx4_head_raw(r, (uint16_t)(end - 1));
	r->q->more = is_posted_now(r, end, &r->q->next_raw);
}

/* Slot posted is not: is the newest request overwritten by the next lap, which passed them both? */
static bool is_passed(const struct mlx_ring *r)
{
	const struct mlx_sq *q = r->q;

	return mlx4_is_posted(r, (uint16_t)(q->posted + r->mask), q->last_raw);
}

/* Index of the first request that is not posted, modulo two laps. */
static uint16_t find_end(const struct mlx_ring *r)
{
	struct mlx_sq *q = r->q;
	uint32_t n = 0, most = r->mask + 1 < RING_WALK_MAX ? r->mask + 1 : RING_WALK_MAX;
	uint32_t raw = 0;
	uint16_t end;

	q->more = false;
	for (; n < most; n++) {
		q->last_raw = raw;
		if (!is_posted_now(r, (uint16_t)(q->posted + n), &raw))
			break;
	}
	q->next_raw = raw;
	end = (uint16_t)(q->posted + n);
	if (n == most)
		note_end(r, end);
	if (n)
		return end;
	q->last_raw = mlx4_head_raw(r, (uint16_t)(end - 1));
	if (is_passed(r)) {
		end = find_boundary(r, (uint16_t)(end + r->mask + 1));
		note_end(r, end);
	}
	return end;
}

/* Slots that were posted are unused again: the newest one, or the one after all that are posted. */
static bool is_reset(const struct mlx_ring *r, uint16_t end)
{
	const struct mlx_sq *q = r->q;

	if (end == q->posted && q->any && mlx4_is_unused(r, (uint16_t)(end - 1), q->last_raw))
		return true;
	return q->full && !q->more && mlx4_is_unused(r, end, q->next_raw);
}

/* The first sample begins with the oldest request that is in the ring. */
static uint16_t begin_history(struct mlx_ring *r)
{
	struct mlx_sq *q = r->q;
	uint32_t slots = r->mask + 1, raw = mlx4_head_raw(r, 0);
	uint16_t begin = be32toh(raw) & RING_MLX4_OWNER ? (uint16_t)slots : 0, end;

	if (mlx4_is_unused(r, 0, raw))
		begin = 0;
	end = find_boundary(r, begin);
	note_end(r, end);
	q->full = !mlx4_is_unused(r, end, q->next_raw);
	q->based = !q->full;
	/* An even lap that is not the first. */
	if (q->full && end < slots)
		end = (uint16_t)(end + 2 * slots);
	q->posted = q->charged = q->full ? (uint16_t)(end - slots) : 0;
	r->lost = q->full ? q->posted : 0;
	return end;
}

/* The end is so many requests later than it looked: laps that nobody saw. */
static uint16_t add_laps(struct mlx_ring *r, uint16_t end, uint16_t laps)
{
	struct mlx_sq *q = r->q;

	if (q->based && laps >= BEHIND) /* it is the completions that are late */
		return end;
	if (!q->based || !q->opened) {
		q->posted = (uint16_t)(q->posted + laps);
		q->charged = (uint16_t)(q->charged + laps);
		if (!q->opened && q->full)
			r->lost = q->posted;
	}
	q->based = true;
	return (uint16_t)(end + laps);
}

/* What completions and the newest request say of the laps before the end. */
static uint16_t align_end(struct mlx_ring *r, uint16_t end)
{
	struct mlx_sq *q = r->q;
	uint32_t slots = r->mask + 1;
	uint16_t index = mlx4_index_written(q->last_raw);
	uint32_t gap = (uint16_t)(end - 1 - q->done) & (2 * slots - 1);

	if (q->more)
		return end;
	if (q->linked && gap >= slots) /* they are of another time */
		q->linked = false;
	if (q->linked && q->told != q->told_seen)
		return add_laps(r, end, (uint16_t)(q->done + 1 + gap - end));
	if (index && end != q->posted && !((uint16_t)(index + 1 - end) & (2 * slots - 1)))
		return add_laps(r, end, (uint16_t)(index + 1 - end));
	return end;
}

/* --- which are new ------------------------------------------------------------------ */

/* Those a lap before the end are overwritten, and so completed; unread ones are lost. */
static void skip_overwritten(struct mlx_ring *r, uint16_t end)
{
	struct mlx_sq *q = r->q;
	uint32_t n = (uint16_t)(end - q->posted), slots = r->mask + 1;

	if (n <= slots)
		return;
	while (q->flying)
		mlx_sq_charge_oldest(r);
	r->lost += n - slots;
	q->posted = q->charged = (uint16_t)(end - slots);
}

/* Take the requests that have the form of the one that was read last. At most max; how many. */
static uint32_t take_alike(const struct mlx_ring *r, uint16_t end, uint32_t max)
{
	const struct mlx_sq *q = r->q;
	uint32_t n = mlx4_wqe_alike(r, q->posted, mlx_sq_most_alike(r, end, max), &q->like);

	mlx_sq_take_alike(r, n);
	return n;
}

static enum ring_fault read_new(struct mlx_ring *r, uint16_t end)
{
	struct mlx_sq *q = r->q;

	for (uint32_t n = 0; n < RING_WALK_MAX; n++) {
		n += take_alike(r, end, RING_WALK_MAX - 1 - n);
		if (q->posted == end)
			return RING_OK;
		switch (mlx4_wqe_read(r, q->posted, &q->alike, &q->like)) {
		case MLX4_FITS:
			mlx_sq_take(r, &q->alike);
			break;
		case MLX4_GONE: /* it is overwritten as fast as it is read: again the next time */
			q->more = true;
			return RING_OK;
		case MLX4_BAD:
			return RING_FAULT_ENTRY;
		case MLX4_UNKNOWN:
			return RING_FAULT_LAYOUT;
		case MLX4_OTHER:
			return RING_FAULT_HEADER;
		}
	}
	q->more |= q->posted != end;
	return RING_OK;
}

/* --- a sample ------------------------------------------------------------------------ */

static uint16_t begin(struct mlx_ring *r)
{
	struct mlx_sq *q = r->q;
	uint16_t end;

	if (!q->opened)
		return begin_history(r);
	end = find_end(r);
	if (!is_reset(r, end))
		return end;
	mlx_sq_begin_anew(r);
	return find_end(r);
}

/* The newest request that was read. */
static void note_newest(const struct mlx_ring *r, uint16_t from)
{
	struct mlx_sq *q = r->q;

	if (q->posted != from || (!q->opened && q->posted)) {
		q->print = mlx4_print(r, (uint16_t)(q->posted - 1));
		q->any = true;
	}
	q->full |= (uint16_t)(q->posted - from) > r->mask || (q->posted & (r->mask + 1));
}

static enum ring_fault sample(struct mlx_ring *r, int64_t elapsed_ns)
{
	struct mlx_sq *q = r->q;
	uint16_t end = align_end(r, begin(r)), from = q->posted;
	enum ring_fault fault;

	guest_copy_barrier();
	mlx_sq_begin(r, elapsed_ns);
	skip_overwritten(r, end);
	q->fresh = (uint16_t)(end - q->posted);
	fault = read_new(r, end);
	if (fault)
		return fault;
	note_newest(r, from);
	mlx_sq_end(r, end, elapsed_ns, true);
	return RING_OK;
}

static int sq_sample(const struct ring_desc *d, const struct ring_mem *m, void *state,
		     const struct ring_peers *peers, int64_t elapsed_ns, struct sample *out,
		     enum ring_fault *fault, uint32_t *qpn)
{
	struct mlx_ring r = mlx_ring(d, m, state, out);
	uint16_t posted = r.q->posted, charged = r.q->charged;

	(void)qpn; /* the descriptor names it */
	(void)peers;
	*fault = sample(&r, elapsed_ns);
	if (!*fault)
		return 0;
	r.q->torn = r.q->posted != posted || r.q->charged != charged;
	return -EBADMSG;
}

/* --- ops ------------------------------------------------------------------------------ */

static bool sq_header_same(const struct ring_desc *d, const struct ring_mem *m)
{
	return mlx4_is_own(d, m->base);
}

static int sq_open(const struct ring_desc *d, const struct ring_mem *m, void *state)
{
	mlx_sq_open(d, (struct mlx_sq *)state);
	if (d->elem_size < RING_MLX4_CHUNK || d->entries > RING_MLX4_SQ_SLOTS_MAX ||
	    d->qp_type > GUEST_QP_XRC)
		return -EPROTONOSUPPORT;
	if ((size_t)d->entries * d->elem_size > m->len || !d->number || d->number > 0xffffff)
		return -EBADMSG;
	return sq_header_same(d, m) ? 0 : -EBADMSG;
}

/* Requests name neither queue pair nor index: the newest that was read must be there as it was. */
static bool sq_continues(const struct ring_desc *d, const struct ring_mem *m, const void *state,
			 bool surely)
{
	const struct mlx_sq *q = (const struct mlx_sq *)state;
	const struct mlx_ring r = { .d = d, .m = m, .mask = d->entries - 1 };

	if (!q->opened || !sq_header_same(d, m))
		return false;
	if (!q->any)
		return !surely && mlx4_is_unused(&r, 0, mlx4_head_raw(&r, 0));
	return mlx4_print(&r, (uint16_t)(q->posted - 1)) == q->print;
}

static const volatile uint32_t *head_at(const struct ring_desc *d, const struct ring_mem *m,
					uint32_t n)
{
	return (const volatile uint32_t *)(m->base + (size_t)(n & (d->entries - 1)) * d->elem_size);
}

/* The slot that is posted next; and the one before it, which is posted again after a lap. */
static void sq_quiet(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		     struct ring_quiet *quiet)
{
	const struct mlx_sq *q = (const struct mlx_sq *)state;

	/* With requests in flight, a sample looks what was told, and for how long nothing was. */
	if (!q->opened || q->flying || q->more)
		return;
	quiet->at[0] = head_at(d, m, q->posted);
	quiet->value[0] = q->next_raw;
	quiet->at[1] = head_at(d, m, q->posted - 1u);
	quiet->value[1] = q->last_raw;
}

/* As many slots as were posted before the last sample, and the one after them. */
static void sq_prefetch(const struct ring_desc *d, const struct ring_mem *m, const void *state,
			bool rest)
{
	const struct mlx_sq *q = (const struct mlx_sq *)state;

	mlx_sq_prefetch(d, m, q, q->fresh + 1, rest);
}

const struct ring_ops ring_mlx4_sq = {
	.provider = GUEST_PROVIDER_MLX4,
	.kind = RING_SQ,
	.name = "mlx4 send queue",
	.state_size = mlx_sq_state_size,
	.open = sq_open,
	.continues = sq_continues,
	.intact = mlx_sq_intact,
	.header_same = sq_header_same,
	.quiet = sq_quiet,
	.prefetch = sq_prefetch,
	.sample = sq_sample,
	.completed = mlx_sq_completed,
};
