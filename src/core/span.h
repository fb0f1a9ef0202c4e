/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * span: what a guest did, was given and spent in a stretch of time: the difference of two sums that
 * began at the same moment. Arithmetic only.
 */
#ifndef RESEX_CORE_SPAN_H
#define RESEX_CORE_SPAN_H

#include "src/core/usage.h"

struct span {
	int64_t ns; /* its length; 0: there is none */
	uint64_t cpu_ns, mtus_sent, mtus_recv, bytes_sent, bytes_recv;
	struct resos allocated, spent;
	int64_t capped_ns; /* of it, under a cap below the guest's own */
};

/* The sums of a guest, at ns after any fixed moment. */
static inline struct span span_sums(int64_t ns, const struct usage *u, const struct spending *s,
				    int64_t capped_ns)
{
	return (struct span){
		.ns = ns,
		.cpu_ns = u->cpu_ns,
		.mtus_sent = u->mtus_sent,
		.mtus_recv = u->mtus_recv,
		.bytes_sent = u->bytes_sent,
		.bytes_recv = u->bytes_recv,
		.allocated = s->allocated,
		.spent = s->spent,
		.capped_ns = capped_ns,
	};
}

/* What was added to from until to. */
static inline struct span span_between(const struct span *from, const struct span *to)
{
	return (struct span){
		.ns = to->ns - from->ns,
		.cpu_ns = to->cpu_ns - from->cpu_ns,
		.mtus_sent = to->mtus_sent - from->mtus_sent,
		.mtus_recv = to->mtus_recv - from->mtus_recv,
		.bytes_sent = to->bytes_sent - from->bytes_sent,
		.bytes_recv = to->bytes_recv - from->bytes_recv,
		.allocated = { to->allocated.m - from->allocated.m },
		.spent = { to->spent.m - from->spent.m },
		.capped_ns = to->capped_ns - from->capped_ns,
	};
}

/* The rate of n in this span, for each second. 0: the span has no length. */
static inline uint64_t span_rate(const struct span *s, uint64_t n)
{
	return s->ns > 0 ? sat_muldiv(n, (uint64_t)NS_PER_S, (uint64_t)s->ns) : 0;
}

/* part of whole in thousandths of a percent, to the nearest; 0 when whole is not above 0. */
static inline uint64_t span_mpct(int64_t part, int64_t whole)
{
	const unsigned __int128 mpct = 100000;

	if (part <= 0 || whole <= 0)
		return 0;
	return (uint64_t)((mpct * (uint64_t)part + (uint64_t)whole / 2) / (uint64_t)whole);
}

#endif
