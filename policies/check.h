/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check: what a plug-in may write into a plan, and how slow it may be. Pure. The sampler asks after
 * each call of decide(), src/tick/apart.c.
 */
#ifndef RESEX_POLICIES_CHECK_H
#define RESEX_POLICIES_CHECK_H

#include "resex/policy.h"

/* A plan entry before decide(): one that is left so was not written. */
#define PLAN_UNWRITTEN 0xffffffffu

enum plan_wrong {
	PLAN_RIGHT,
	PLAN_MISSING, /* nothing was written for the guest */
	PLAN_CAP,     /* neither CAP_NONE nor a limited cap: figure is limited, or mpct of no cap */
	PLAN_RATE,    /* below RATE_ONE: figure */
	PLAN_REASON,  /* not an index into the reasons: figure */
	PLAN_RESERVED, /* vf_bytes_s is not 0: figure */
};

/*
 * How a cap compares with the guest's bounds is not judged: the engine clamps it. figure: the value
 * that is wrong.
 */
enum plan_wrong plan_check(const struct plan_guest *p, uint32_t reasons, uint64_t *figure);

/* Of every PACE_CALLS calls, PACE_SLOW may be over the budget: a host has hiccups. */
enum { PACE_CALLS = 1000, PACE_SLOW = 10 };

/* Calls of decide(); zeroed at first. */
struct policy_pace {
	uint32_t calls, slow;
};

/* A call took cpu_ns. budget_ns 0: none. True: too many were over it. */
bool pace_exceeded(struct policy_pace *p, int64_t cpu_ns, int64_t budget_ns);

#endif
