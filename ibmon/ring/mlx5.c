// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5: send queues of ConnectX-4 and later: what was posted since the last sample. What of it is
 * completed, and charged: mlx_sq.c.
 *
 * What was posted: the doorbell record counts blocks, modulo 2^16. Only requests before it are
 * read: those after it are in the making, or were given up. Each is read once, where the one before
 * it ends, and has the index of its first block: so a queue that was not lapped is read exactly.
 *
 * A queue that was lapped is read from the oldest request from which all others follow, up to the
 * newest. Of what is lost, the number of blocks is known; a request has 1 to 16.
 *
 * A RESET begins anew at block 0, with the old requests still there. Known limit: more than 65535
 * blocks between two samples, which no adapter posts in a millisecond, show as fewer.
 */
#include <errno.h>

#include "ibmon/ring/mlx5_sq.h"
#include "resex/guest_abi.h"

enum { UNSTABLE_MAX = 100 }; /* samples in a row in which nothing fitted, and more was posted */

/* --- which are new ------------------------------------------------------------------ */

/*
 * Take the requests that have the form of the one that was read last, and are completed: most are
 * such runs. At most max; how many.
 */
static uint32_t take_alike(const struct mlx_ring *r, uint16_t end, uint32_t max)
{
	const struct mlx_sq *q = r->q;
	uint32_t n = mlx5_wqe_alike(r, q->posted, mlx_sq_most_alike(r, end, max), &q->like);

	mlx_sq_take_alike(r, n);
	return n;
}

/*
 * How many blocks before end does the oldest request begin from which requests follow one another
 * up to end? 0: there is none. Only as many blocks are looked at as a sample may read.
 */
static uint32_t find_chain(const struct mlx_ring *r, uint16_t end)
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

static bool is_posted_unchanged(const struct mlx_ring *r)
{
	guest_copy_barrier();
	return ring_db(r->m)[RING_MLX5_DB_POSTED] == r->q->posted_raw;
}

/* No request begins where the newest one that was read ended. Where does reading go on? */
static enum ring_fault find_begin(struct mlx_ring *r, uint16_t end)
{
	struct mlx_sq *q = r->q;
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
		mlx_sq_begin_anew(r);
		return RING_OK;
	}
	while (q->flying)
		mlx_sq_charge_oldest(r);
	r->lost += (uint16_t)(begin - q->posted);
	q->posted = q->charged = begin;
	return RING_OK;
}

static enum ring_fault read_new(struct mlx_ring *r, uint16_t end)
{
	struct mlx_sq *q = r->q;
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
			mlx_sq_take(r, &q->alike);
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

static enum ring_fault sample(struct mlx_ring *r, int64_t elapsed_ns)
{
	struct mlx_sq *q = r->q;
	uint32_t raw = ring_db(r->m)[RING_MLX5_DB_POSTED], posted = be32toh(raw);
	uint16_t end = (uint16_t)posted;
	enum ring_fault fault;

	guest_copy_barrier();
	if (posted > UINT16_MAX)
		return RING_FAULT_HEADER;
	q->posted_raw = raw;
	mlx_sq_begin(r, elapsed_ns);
	q->fresh = (uint16_t)(end - q->posted);
	fault = read_new(r, end);
	if (!fault)
		mlx_sq_end(r, end, elapsed_ns, false);
	return fault;
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

static int sq_open(const struct ring_desc *d, const struct ring_mem *m, void *state)
{
	mlx_sq_open(d, (struct mlx_sq *)state);
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
	const struct mlx_sq *q = (const struct mlx_sq *)state;
	const struct mlx_ring r = { .d = d, .m = m, .mask = d->entries - 1 };

	if (!q->opened || !sq_header_same(d, m))
		return false;
	if (!q->any)
		return !surely && !ring_db(m)[RING_MLX5_DB_POSTED];
	return mlx5_wqe_blocks(&r, q->last) != 0;
}

static void sq_quiet(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		     struct ring_quiet *quiet)
{
	const struct mlx_sq *q = (const struct mlx_sq *)state;

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
	const struct mlx_sq *q = (const struct mlx_sq *)state;

	mlx_sq_prefetch(d, m, q, q->fresh, rest);
}

const struct ring_ops ring_mlx5_sq = {
	.provider = GUEST_PROVIDER_MLX5,
	.kind = RING_SQ,
	.name = "mlx5 send queue",
	.db_bytes = RING_MLX5_DB_BYTES,
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
