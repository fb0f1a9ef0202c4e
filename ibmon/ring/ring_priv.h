/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_priv: private to open.c, ring.c, and the loop of scan.c. For callers: ring.h. */
#ifndef RESEX_IBMON_RING_PRIV_H
#define RESEX_IBMON_RING_PRIV_H

#include <assert.h>
#include <stddef.h>

#include "ibmon/ring/ops.h"
#include "ibmon/ring/ring.h"

enum { RING_LINE = 64 };

/*
 * What samples of one kind of operation added, and the totals do not have yet: one line is written
 * instead of two more.
 */
struct ring_held {
	uint64_t bytes;
	uint32_t wrs;
	union {
		uint32_t mtus;
		uint32_t qpn; /* of a completion queue: that the newest entry named */
	};
};

/* A busy ring needs one line of this, and those of its layout's state, which follow: keep it so. */
struct ring {
	struct ring_totals totals; /* without held: ring_totals() adds it */
	struct ring_totals shown;  /* a copy of totals for another thread */
	bool is_shown;
	bool skip_history;
	bool fault_delivered;
	int64_t gap_ns; /* not read for so long, when it was resumed */
	_Alignas(RING_LINE) const struct ring_ops *ops;
	struct ring_mem mem;
	struct ring_held held;
	uint8_t held_kind; /* enum sample_op */
	uint8_t fault;	   /* enum ring_fault */
	bool read;	   /* at least once without a fault; atomic */
	bool bounded;	   /* part of wrs may be counted by another ring, too; atomic */
	bool gapped;	   /* gap_ns is part of the next interval */
	struct ring_desc desc;
	_Alignas(RING_LINE) uint64_t state[]; /* the layout's */
};

/* Are the words unchanged since the last sample? False for a ring at fault. */
static inline bool ring_is_quiet(const struct ring_quiet *q)
{
	if (!q->at[0] || *q->at[0] != q->value[0] || *q->at[1] != q->value[1])
		return false;
	return !q->backlog || *q->at[2] == q->value[2];
}

/* What a sample reads of a ring that is idle, beside the words that are watched. */
static inline void ring_prefetch_check(const struct ring *r)
{
	ring_prefetch_line(r->mem.base);
}

static_assert(offsetof(struct ring, desc.entries) / RING_LINE ==
		      offsetof(struct ring, ops) / RING_LINE,
	      "what a sample uses is one line");

/* What a sample uses of the ring itself, and the first lines of its layout's state. */
static inline void ring_prefetch_own(const struct ring *r)
{
	ring_prefetch_line(&r->ops);
	for (size_t i = 0; i < 2; i++)
		ring_prefetch_line((const uint8_t *)r->state + i * RING_LINE);
}

static inline void ring_prefetch_work(const struct ring *r, bool rest)
{
	r->ops->prefetch(&r->desc, &r->mem, r->state, rest);
}

#endif
