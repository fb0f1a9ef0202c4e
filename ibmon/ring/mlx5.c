// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5: send queues of ConnectX-4 and later: what was completed since the last sample.
 *
 * What was posted: the doorbell record counts blocks, modulo 2^16. Only requests before it are
 * read: those after it are in the making, or were given up. Each is read once, where the one before
 * it ends, and has the index of its first block: so a queue that was not lapped is read exactly.
 *
 * What is completed: a send queue does not change then. Its completion queue tells (mlx5_cq.c), the
 * newest completed request, and so all before it. Until then, what was read is noted. A queue pair
 * whose completion queue is not read, or is silent for a second, is charged when it posts.
 *
 * A queue that was lapped is read from the oldest request from which all others follow, up to the
 * newest. Of what is lost, the number of blocks is known; a request has 1 to 16.
 *
 * A RESET begins anew at block 0, with the old requests still there. Known limit: more than 65535
 * blocks between two samples, which no adapter posts in a millisecond, show as fewer.
 */
#include <errno.h>

#include "ibmon/ring/mlx5_sq.h"
#include "ibmon/ring/mtu.h"
#include "resex/guest_abi.h"

enum {
	UNSTABLE_MAX = 100, /* samples in a row in which nothing fitted, and more was posted */
	MTU_MIN = 256,	    /* a message so small is one MTU of any path */
	BYTES_A_NS = 125,   /* 1 Tbit/s: faster than any port */
	FETCH = 5,	    /* blocks prefetched early */
	FETCH_MAX = 32,	    /* and at all */
};
#define LENGTH_MAX   (1ull << 31)
#define WAITS_MAX_NS NS_PER_S

/* --- what a request costs --------------------------------------------------------- */

static bool is_done(const struct mlx5_sq *q, uint16_t at)
{
	return !q->linked || (int16_t)(uint16_t)(q->done - at) >= 0;
}

static bool is_failed(const struct mlx5_sq *q, uint16_t at)
{
	return q->failed && (int16_t)(uint16_t)(at - q->failed_from) >= 0;
}

static uint64_t mtus_of(const struct mlx5_ring *r, const struct mlx5_wqe *w)
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
static void charge_n(const struct mlx5_ring *r, const struct mlx5_wqe *w, uint64_t n)
{
	struct sample *out = r->out;
	uint64_t mtus;

	out->seen += n;
	out->ops[w->op] += n;
	r->q->blocks += n * w->blocks;
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
static void charge(const struct mlx5_ring *r, uint16_t at, const struct mlx5_wqe *w)
{
	if (!is_failed(r->q, at)) {
		charge_n(r, w, 1);
		return;
	}
	r->out->seen++;
	r->out->ops[w->op]++;
	r->out->errors++;
	r->q->blocks += w->blocks;
}

static void charge_oldest(const struct mlx5_ring *r)
{
	struct mlx5_sq *q = r->q;
	const struct mlx5_wqe *w = &q->noted[q->charged & r->mask];

	charge(r, q->charged, w);
	q->charged = (uint16_t)(q->charged + w->blocks);
	q->flying--;
}

/* The mean of a block, of all that were charged, for those that were overwritten unread. */
static void charge_lost(const struct mlx5_ring *r, int64_t elapsed_ns)
{
	const struct mlx5_sq *q = r->q;
	struct sample *out = r->out;
	uint64_t blocks = q->blocks ? q->blocks : 1, by_length = r->lost * LENGTH_MAX;
	uint64_t by_time = (uint64_t)elapsed_ns * BYTES_A_NS + LENGTH_MAX;

	if (!r->lost)
		return;
	out->lost = r->lost;
	out->flags |= SAMPLE_LAPPED | SAMPLE_WRS_BOUNDED | SAMPLE_MTUS_ESTIMATED |
		      SAMPLE_MTUS_GUESSED;
	out->bytes_bound = q->opened && by_time < by_length ? by_time : by_length;
	out->mtus_sent += q->blocks ? (uint64_t)((unsigned __int128)q->sent * r->lost / blocks)
				    : r->lost;
	out->mtus_recv += (uint64_t)((unsigned __int128)q->recv * r->lost / blocks);
}

/* --- which are new ------------------------------------------------------------------ */

/* What was posted a whole ring before is completed: its place was used again. */
static void take(const struct mlx5_ring *r, uint16_t at, const struct mlx5_wqe *w)
{
	struct mlx5_sq *q = r->q;
	uint16_t end = (uint16_t)(at + w->blocks);

	while (q->flying && (uint16_t)(end - q->charged) > r->mask + 1)
		charge_oldest(r);
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

/*
 * Take the requests that have the form of the one that was read last, and are completed: most are
 * such runs. At most max; how many.
 */
static uint32_t take_alike(const struct mlx5_ring *r, uint16_t end, uint32_t max)
{
	struct mlx5_sq *q = r->q;
	uint32_t most = (uint16_t)(end - q->posted), n;

	if (!q->like.segments || q->flying || q->failed || !is_done(q, q->posted) ||
	    most > r->mask + 1)
		return 0;
	if (q->linked && (uint16_t)(q->done - q->posted) < most)
		most = (uint16_t)(q->done - q->posted) + 1u;
	n = mlx5_wqe_alike(r, q->posted, most < max ? most : max, &q->like);
	if (!n)
		return 0;
	charge_n(r, &q->alike, n);
	q->posted = q->charged = (uint16_t)(q->posted + n);
	q->last = (uint16_t)(q->posted - 1);
	q->any = true;
	return n;
}

/*
 * How many blocks before end does the oldest request begin from which requests follow one another
 * up to end? 0: there is none. Only as many blocks are looked at as a sample may read.
 */
static uint32_t find_chain(const struct mlx5_ring *r, uint16_t end)
{
	uint32_t most = r->mask + 1 < RING_WALK_MAX ? r->mask + 1 : RING_WALK_MAX, found = 0;

	for (uint32_t back = 1; back <= most; back++) {
		uint16_t at = (uint16_t)(end - back);
		uint32_t blocks = mlx5_wqe_blocks(r, at);
		bool chain = blocks && blocks <= back &&
			     (blocks == back || r->q->noted[(at + blocks) & r->mask].chain);

		r->q->noted[at & r->mask].chain = chain;
		if (chain)
			found = back;
	}
	return found;
}

/* The queue pair was RESET: what was not completed was dropped, and how much was done before? */
static void begin_anew(const struct mlx5_ring *r)
{
	struct mlx5_sq *q = r->q;

	q->posted = q->charged = 0;
	q->flying = 0;
	q->any = q->linked = q->failed = false;
	r->out->flags |= SAMPLE_WRS_BOUNDED | SAMPLE_MTUS_ESTIMATED;
}

static bool is_posted_unchanged(const struct mlx5_ring *r)
{
	guest_copy_barrier();
	return ring_db(r->m)[RING_MLX5_DB_POSTED] == r->q->posted_raw;
}

/* No request begins where the newest one that was read ended. Where does reading go on? */
static enum ring_fault find_begin(struct mlx5_ring *r, uint16_t end)
{
	struct mlx5_sq *q = r->q;
	uint32_t back = find_chain(r, end);
	uint16_t begin = (uint16_t)(end - back);

	if (!back && end) { /* memory of something else; unless more was posted meanwhile */
		if (is_posted_unchanged(r) || ++q->unstable > UNSTABLE_MAX)
			return RING_FAULT_HEADER;
		return RING_OK;
	}
	q->unstable = 0;
	/* A queue that was lapped has requests before block 0, too. */
	if (!begin && back <= r->mask && q->opened) {
		begin_anew(r);
		return RING_OK;
	}
	while (q->flying)
		charge_oldest(r);
	r->lost += (uint16_t)(begin - q->posted);
	q->posted = q->charged = begin;
	return RING_OK;
}

static enum ring_fault read_new(struct mlx5_ring *r, uint16_t end)
{
	struct mlx5_sq *q = r->q;
	enum ring_fault fault = RING_OK;
	bool found = false;

	for (uint32_t n = 0; n < RING_WALK_MAX; n++) {
		enum mlx5_fit fit = MLX5_OTHER;
		uint32_t most;

		n += take_alike(r, end, RING_WALK_MAX - 1 - n);
		most = (uint16_t)(end - q->posted);
		if (!most)
			break;
		if (most <= r->mask + 1)
			fit = mlx5_wqe_read(r, q->posted, most, &q->alike, &q->like);
		if (fit == MLX5_FITS) {
			take(r, q->posted, &q->alike);
			continue;
		}
		if (fit != MLX5_OTHER)
			return fit == MLX5_BAD ? RING_FAULT_ENTRY : RING_FAULT_LAYOUT;
		if (found)
			break; /* it is overwritten as fast as it is read: again the next time */
		fault = find_begin(r, end);
		if (fault || q->unstable)
			break;
		found = true;
	}
	return fault;
}

/* --- a sample ------------------------------------------------------------------------ */

/* Its completion queue may have been withdrawn. */
static void count_wait(struct mlx5_sq *q, int64_t elapsed_ns)
{
	q->waits_ns = q->told == q->told_seen && q->flying ? q->waits_ns + elapsed_ns : 0;
	if (q->waits_ns >= WAITS_MAX_NS)
		q->linked = false;
	q->told_seen = q->told;
}

static uint64_t backlog(const struct mlx5_ring *r, uint16_t end)
{
	uint64_t n = (uint64_t)r->q->flying + (uint16_t)(end - r->q->posted);

	return n < r->mask + 1 ? n : r->mask + 1;
}

static enum ring_fault sample(struct mlx5_ring *r, int64_t elapsed_ns)
{
	struct mlx5_sq *q = r->q;
	uint32_t raw = ring_db(r->m)[RING_MLX5_DB_POSTED], posted = be32toh(raw);
	uint16_t end = (uint16_t)posted;
	enum ring_fault fault;

	guest_copy_barrier();
	if (posted > UINT16_MAX)
		return RING_FAULT_HEADER;
	q->posted_raw = raw;
	count_wait(q, elapsed_ns);
	while (q->flying && is_done(q, q->charged))
		charge_oldest(r);
	q->fresh = (uint16_t)(end - q->posted);
	fault = read_new(r, end);
	if (fault)
		return fault;
	charge_lost(r, elapsed_ns);
	if (!q->opened)
		r->out->flags |= SAMPLE_HISTORY;
	q->opened = true;
	r->out->wrs = r->out->seen + r->out->lost;
	r->out->backlog = backlog(r, end);
	return RING_OK;
}

static int sq_sample(const struct ring_desc *d, const struct ring_mem *m, void *state,
		     const struct ring_peers *peers, int64_t elapsed_ns, struct sample *out,
		     enum ring_fault *fault, uint32_t *qpn)
{
	struct mlx5_ring r = {
		.d = d, .m = m, .q = (struct mlx5_sq *)state, .out = out, .mask = d->entries - 1
	};

	(void)qpn; /* the descriptor names it */
	(void)peers;
	*fault = sample(&r, elapsed_ns);
	return *fault ? -EBADMSG : 0;
}

/*
 * Completion queues are compacted when a queue pair is destroyed: older completions may be seen
 * again. After a failure all others are flushed, until a RESET: a success says that there was one.
 */
static void sq_completed(void *state, uint32_t counter, bool failed)
{
	struct mlx5_sq *q = (struct mlx5_sq *)state;
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

static size_t sq_state_size(const struct ring_desc *d)
{
	return sizeof(struct mlx5_sq) + (size_t)d->entries * sizeof(struct mlx5_wqe);
}

static int sq_open(const struct ring_desc *d, const struct ring_mem *m, void *state)
{
	struct mlx5_sq *q = (struct mlx5_sq *)state;

	while (d->path_mtu && 2u << q->mtu_shift <= d->path_mtu)
		q->mtu_shift++;
	if (d->path_mtu != 1u << q->mtu_shift)
		q->mtu_shift = 0; /* or none that an adapter has */
	if (d->elem_size != RING_MLX5_BLOCK || d->entries > RING_MLX5_SQ_BLOCKS_MAX ||
	    d->qp_type > GUEST_QP_DC)
		return -EPROTONOSUPPORT;
	if ((size_t)d->entries * RING_MLX5_BLOCK > m->len || !d->number || d->number > 0xffffff)
		return -EBADMSG;
	return 0;
}

/* The doorbell record has 32 bits, of which the library uses 16. */
static bool sq_header_same(const struct ring_desc *d, const struct ring_mem *m)
{
	(void)d;
	return be32toh(ring_db(m)[RING_MLX5_DB_POSTED]) <= UINT16_MAX;
}

/* The newest request that was read names queue pair and index: it tells whether it is there. */
static bool sq_continues(const struct ring_desc *d, const struct ring_mem *m, const void *state,
			 bool surely)
{
	const struct mlx5_sq *q = (const struct mlx5_sq *)state;
	const struct mlx5_ring r = { .d = d, .m = m, .mask = d->entries - 1 };

	if (!q->opened || !sq_header_same(d, m))
		return false;
	if (!q->any)
		return !surely && !ring_db(m)[RING_MLX5_DB_POSTED];
	return mlx5_wqe_blocks(&r, q->last) != 0;
}

static void sq_quiet(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		     struct ring_quiet *quiet)
{
	const struct mlx5_sq *q = (const struct mlx5_sq *)state;

	(void)d;
	/* With requests in flight, a sample looks what was told, and for how long nothing was. */
	if (!q->opened || q->flying || q->posted != be32toh(q->posted_raw))
		return;
	quiet->at[0] = quiet->at[1] = &ring_db(m)[RING_MLX5_DB_POSTED];
	quiet->value[0] = quiet->value[1] = q->posted_raw;
}

/* As many blocks as were posted before the last sample. */
static void sq_prefetch(const struct ring_desc *d, const struct ring_mem *m, const void *state,
			bool rest)
{
	const struct mlx5_sq *q = (const struct mlx5_sq *)state;
	uint32_t max = rest ? FETCH_MAX : FETCH;

	for (uint32_t i = rest ? FETCH : 0; i < q->fresh && i < max; i++)
		ring_prefetch_line(m->base +
				   (size_t)((q->posted + i) & (d->entries - 1)) * RING_MLX5_BLOCK);
}

const struct ring_ops ring_mlx5_sq = {
	.provider = GUEST_PROVIDER_MLX5,
	.kind = RING_SQ,
	.name = "mlx5 send queue",
	.db_bytes = RING_MLX5_DB_BYTES,
	.state_size = sq_state_size,
	.open = sq_open,
	.continues = sq_continues,
	.header_same = sq_header_same,
	.quiet = sq_quiet,
	.prefetch = sq_prefetch,
	.sample = sq_sample,
	.completed = sq_completed,
};
