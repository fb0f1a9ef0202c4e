/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state: can a built-in policy go on from a state that was read from a file, of which each byte may
 * be any? It is asked for indexes, times and what is divided by: decide() checks none of its own
 * state. Figures may be others than it ever makes. Pure; for resex-lab replay.
 */
#ifndef RESEX_POLICIES_STATE_H
#define RESEX_POLICIES_STATE_H

#include "policies/policies.h"

/* Differences of two such times do not overflow. */
static inline bool state_ns_good(int64_t ns)
{
	return ns >= 0 && ns < 1ll << 62;
}

static inline bool state_time_good(struct mono t)
{
	return state_ns_good(t.ns);
}

bool policy_state_good(const struct policy_inst *pi);

/* Those of the policies. */
bool freemarket_state_good(const void *guests);
bool ratio_state_good(const void *guests);
bool ioshares_state_good(const void *global, const void *guests);
bool slo_state_good(const void *global, const void *guests);

#endif
