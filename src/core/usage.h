/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage: what a guest did and what it spent, summed up over ticks and epochs. */
#ifndef RESEX_CORE_USAGE_H
#define RESEX_CORE_USAGE_H

#include "src/core/flow.h"

/* Counts are added up; what says how things are is the newer's. */
static inline void usage_add(struct usage *to, const struct usage *u)
{
	to->slot = u->slot;
	to->link = u->link;
	to->flags |= u->flags;
	if (u->msg_bytes > to->msg_bytes)
		to->msg_bytes = u->msg_bytes;
	to->cpu_ns += u->cpu_ns;
	to->mtus_sent += u->mtus_sent;
	to->mtus_recv += u->mtus_recv;
	to->bytes_sent += u->bytes_sent;
	to->bytes_recv += u->bytes_recv;
	to->wrs += u->wrs;
	to->lost += u->lost;
	to->backlog = u->backlog;
	to->queues = u->queues;
}

/* The same of a usage that has only CPU time and what is under way. */
static inline void usage_add_idle(struct usage *to, const struct usage *u)
{
	to->slot = u->slot;
	to->link = u->link;
	to->cpu_ns += u->cpu_ns;
	to->backlog = u->backlog;
	to->queues = u->queues;
}

/* What a guest was given and what it spent, over several epochs. */
struct spending {
	struct resos allocated, spent, overdraft;
};

static inline void spending_sum(struct resos *to, struct resos r)
{
	if (__builtin_add_overflow(to->m, r.m, &to->m)) /* none is negative */
		to->m = INT64_MAX;
}

/* What would be too much stays at the most. */
static inline void spending_add(struct spending *s, const struct account *a)
{
	spending_sum(&s->allocated, a->allocated);
	spending_sum(&s->spent, a->spent);
	spending_sum(&s->overdraft, a->overdraft);
}

#endif
