/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * apart: a plug-in decides in the place of a built-in policy.
 *
 *	input copied -> decide() under guard (util/guard.h) -> plan checked -> plan copied
 *
 * A plug-in never sees the sampler's own input and plan. When it crashes, does not return, is too
 * slow, or writes nonsense, it is stopped: the policy null decides from this very tick on, so that
 * all guests get their own caps back. Control learns it from struct policy_fault, and puts an
 * instance of null in force.
 */
#ifndef RESEX_TICK_APART_H
#define RESEX_TICK_APART_H

#include "src/tick/sampler.h"

/* A call that takes so much CPU time is left, and so is one that takes so long. */
#define APART_HANG_NS (10 * NS_PER_MS)
#define APART_WAIT_NS (200 * NS_PER_MS)

/* CPU time of one call: a quarter of the interval, and at most half of APART_HANG_NS. */
static inline int64_t apart_budget(int64_t interval_ns)
{
	const int64_t quarter = interval_ns / 4, most = APART_HANG_NS / 2;

	return quarter < most ? quarter : most;
}

/* decide() of s->set->policy, which is apart. */
void sampler_decide_apart(struct sampler *s);

#endif
