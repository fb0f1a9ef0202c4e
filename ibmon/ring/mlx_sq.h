/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx_sq: what send queues of mlx4 and mlx5 have in common: which requests are completed, and what
 * they cost. Private.
 *
 *	mlx4.c, mlx5.c	what was posted, in the memory of each layout
 *	mlx_sq.c	what of it is completed, and charged
 *
 * A unit is what indices count, modulo 2^16: a slot of mlx4, of which a request has one; a block of
 * mlx5, of which it has 1 to 16.
 */
#ifndef RESEX_IBMON_RING_MLX_SQ_H
#define RESEX_IBMON_RING_MLX_SQ_H

#include <assert.h>

#include "ibmon/ring/mtu.h"
#include "ibmon/ring/ops.h"

enum {
	MLX_SEGMENTS = 4,  /* of 16 bytes, in the 64 bytes that requests of one form have */
	MLX_MTU_MIN = 256, /* a message so small is one MTU of any path */
};

/* A work request, as far as it is charged. */
struct mlx_wqe {
	uint32_t bytes; /* of its message */
	uint8_t op;	/* enum sample_op */
	uint8_t units;
	bool ud : 1;	  /* one packet, whatever its size */
	bool stamped : 1; /* mlx4: its lengths were overwritten before they were read */
	bool chain : 1;	  /* mlx5.c: the requests from here on reach to the newest one */
};

/* The form of a request of 64 bytes whose data are elsewhere: most are like the one before. */
struct mlx_like {
	uint32_t control[2];	      /* first words of the control segment, but what differs */
	uint8_t first, segments;      /* of the data; segments 0: of no such form */
	uint32_t bytes[MLX_SEGMENTS]; /* of data segments, by their number */
};

/* What is remembered of a send queue from one sample to the next. */
struct mlx_sq {
	uint32_t told;	    /* completions of which completion queues told */
	uint32_t told_seen; /* at the last sample */
	union {
		uint32_t posted_raw; /* mlx5: doorbell record at the last sample, as read */
		uint32_t next_raw;   /* mlx4: head of slot posted, when it was not; as read */
	};
	uint32_t last_raw;    /* mlx4: head of the slot before it */
	uint16_t posted;      /* requests before this unit were read */
	uint16_t charged;     /* requests before this unit are charged; the rest is noted */
	uint16_t last;	      /* any: first unit of the newest request that was read */
	uint16_t done;	      /* linked: of the newest request that is completed */
	uint16_t failed_from; /* failed: of the first request that failed */
	bool any;
	bool opened; /* the history was counted */
	bool based;  /* indices are the library's; else, on mlx4, only modulo two laps */
	bool linked; /* a completion queue tells what is completed */
	bool failed;
	bool full;	   /* mlx4: each slot was used since the queue was made, or RESET */
	bool more;	   /* mlx4: slot posted was not looked at, or is posted */
	bool torn;	   /* at fault: the sample had begun to take or charge requests */
	uint8_t mtu_shift; /* log2 of the path MTU; 0: it is not known */
	uint32_t flying;   /* requests noted */
	uint32_t fresh;	   /* units that the last sample found */
	uint32_t unstable; /* mlx5: samples in a row with more posted, in which nothing fitted */
	int64_t waits_ns;  /* for how long nothing was completed, with requests noted */
	uint64_t print;	   /* mlx4: of the newest request: whether it is still there */
	uint64_t units, sent, recv; /* charged, and their MTUs */
	struct mlx_like like;	    /* of the request that was read last, and */
	struct mlx_wqe alike;	    /*   what it cost */
	struct mlx_wqe noted[];	    /* by the place of their first unit */
};

static_assert(offsetof(struct mlx_sq, noted) <= 128, "what most samples use is two lines");

/* One ring during one sample. */
struct mlx_ring {
	const struct ring_desc *d;
	const struct ring_mem *m;
	struct mlx_sq *q;
	struct sample *out;
	uint32_t mask; /* units - 1 */
	uint32_t lost; /* units overwritten unread */
};

static inline struct mlx_ring mlx_ring(const struct ring_desc *d, const struct ring_mem *m,
				       void *state, struct sample *out)
{
	return (struct mlx_ring){
		.d = d, .m = m, .q = (struct mlx_sq *)state, .out = out, .mask = d->entries - 1
	};
}

/* Charge the mean of a unit, of all that were charged, for those that were overwritten unread. */
void mlx_sq_charge_lost(const struct mlx_ring *r, int64_t elapsed_ns, bool one_unit);

/* Charge the oldest request that is noted. */
void mlx_sq_charge_oldest(struct mlx_ring *r);

/* The queue pair was RESET: what was not completed was dropped. */
void mlx_sq_begin_anew(const struct mlx_ring *r);

/* The next request was read: charge it, or note it until it is completed. */
void mlx_sq_take(struct mlx_ring *r, const struct mlx_wqe *w);

/* Prefetch the lines of n units from unit posted on: as ops->prefetch. */
void mlx_sq_prefetch(const struct ring_desc *d, const struct ring_mem *m, const struct mlx_sq *q,
		     uint32_t n, bool rest);

/* --- what each sample does. As calls, with those of mlx_cq_sample.h, it took 8 % longer --- */

/* Does a completion queue tell which of these requests are completed? */
static inline bool mlx_sq_is_linked(const struct mlx_sq *q)
{
	return q->linked && q->based;
}

static inline bool mlx_sq_is_done(const struct mlx_sq *q, uint16_t at)
{
	return !mlx_sq_is_linked(q) || (int16_t)(uint16_t)(q->done - at) >= 0;
}

static inline uint64_t mlx_sq_mtus(const struct mlx_ring *r, const struct mlx_wqe *w)
{
	if (w->ud || w->op == OP_CMP_SWAP || w->op == OP_FETCH_ADD)
		return 1;
	if (!r->d->path_mtu && w->bytes > MLX_MTU_MIN)
		r->out->flags |= SAMPLE_MTUS_ESTIMATED | SAMPLE_MTUS_GUESSED;
	if (r->q->mtu_shift && w->bytes)
		return ((uint64_t)w->bytes + r->d->path_mtu - 1) >> r->q->mtu_shift;
	return mtu_of(w->bytes, r->d->path_mtu);
}

/* n requests like w, which succeeded. */
static inline void mlx_sq_charge_n(const struct mlx_ring *r, const struct mlx_wqe *w, uint64_t n)
{
	struct sample *out = r->out;
	uint64_t mtus;

	out->seen += n;
	out->ops[w->op] += n;
	r->q->units += n * w->units;
	if (w->op == OP_LOCAL)
		return;
	mtus = n * mlx_sq_mtus(r, w);
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

/*
 * Of requests of one unit, at most max, that end at unit end: how many may be taken at once, if
 * they have the form of the one that was read last? Only completed ones may.
 */
static inline uint32_t mlx_sq_most_alike(const struct mlx_ring *r, uint16_t end, uint32_t max)
{
	const struct mlx_sq *q = r->q;
	uint32_t most = (uint16_t)(end - q->posted);

	if (!q->like.segments || q->flying || q->failed || !mlx_sq_is_done(q, q->posted) ||
	    most > r->mask + 1)
		return 0;
	if (mlx_sq_is_linked(q) && (uint16_t)(q->done - q->posted) < most)
		most = (uint16_t)(q->done - q->posted) + 1u;
	return most < max ? most : max;
}

/* Take n such requests. */
static inline void mlx_sq_take_alike(const struct mlx_ring *r, uint32_t n)
{
	struct mlx_sq *q = r->q;

	if (!n)
		return;
	mlx_sq_charge_n(r, &q->alike, n);
	q->posted = q->charged = (uint16_t)(q->posted + n);
	q->last = (uint16_t)(q->posted - 1);
	q->any = true;
}

/* Its completion queue may have been withdrawn. */
static inline void mlx_sq_count_wait(struct mlx_sq *q, int64_t elapsed_ns)
{
	q->waits_ns = q->told == q->told_seen && q->flying ? q->waits_ns + elapsed_ns : 0;
	if (q->waits_ns >= NS_PER_S)
		q->linked = false;
	q->told_seen = q->told;
}

/* Begin a sample: charge what was noted, and is completed. */
static inline void mlx_sq_begin(struct mlx_ring *r, int64_t elapsed_ns)
{
	struct mlx_sq *q = r->q;

	mlx_sq_count_wait(q, elapsed_ns);
	while (q->flying && mlx_sq_is_done(q, q->charged))
		mlx_sq_charge_oldest(r);
}

static inline uint64_t mlx_sq_backlog(const struct mlx_ring *r, uint16_t end)
{
	uint64_t n = (uint64_t)r->q->flying + (uint16_t)(end - r->q->posted);

	return n < r->mask + 1 ? n : r->mask + 1;
}

/* End it, with the queue's end at this unit. one_unit: no request has more. */
static inline void mlx_sq_end(struct mlx_ring *r, uint16_t end, int64_t elapsed_ns, bool one_unit)
{
	struct mlx_sq *q = r->q;

	if (r->lost)
		mlx_sq_charge_lost(r, elapsed_ns, one_unit);
	if (!q->opened)
		r->out->flags |= SAMPLE_HISTORY;
	q->opened = true;
	r->out->wrs = r->out->seen + r->out->lost;
	r->out->backlog = mlx_sq_backlog(r, end);
}

/* --- ops ------------------------------------------------------------------------------- */

/* For struct ring_ops. */
size_t mlx_sq_state_size(const struct ring_desc *d);
void mlx_sq_completed(void *state, uint32_t counter, bool failed);
bool mlx_sq_intact(const void *state);
/* Initialize the state, whose indices are the library's. */
void mlx_sq_open(const struct ring_desc *d, struct mlx_sq *q);

#endif
