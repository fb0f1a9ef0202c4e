// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares: who slows others down pays more (paper VI-C, algorithm 2).
 *
 * Guests report their latencies. When one is slower than alone by more than it
 * was promised, the guest that sends most on its link is charged at a higher
 * rate, and its cap follows from the rate: 100 % of its VCPUs over it. When
 * nobody complains any more, the rate goes back step by step.
 *
 *	reports --ioshares_window--> verdict --ioshares_rate--> rate --> cap
 *
 * This file holds the parameters, the order of a tick and the plan; ioshares.h
 * says where the rest is and what is remembered.
 */
#include "policies/ioshares.h"

#include <string.h>

enum ios_reason {
	WHY_FREE,
	WHY_TAXED,
	WHY_EMPTY,
	WHY_EXEMPT,
	WHY_NOT_CAPPABLE,
	WHY_FUTILE,
	WHY_SELF,
	WHY_HURT,
	WHY_NOBODY,
	WHY_NO_BASE,
	WHY_FADING,
	WHY_FLOOR,
};

static const char *const ios_reasons[] = {
	[WHY_FREE] = "no cap: no guest is slowed down by this one",
	[WHY_TAXED] = "cap %0m percent, charged %1d times the plain rate: guest %2g is %3p "
		      "percent slower than alone, and this one sends most",
	[WHY_EMPTY] = "lowest cap, %0m percent: all of its Resos are spent; until the next epoch",
	[WHY_EXEMPT] = "no cap: the guest is exempt",
	[WHY_NOT_CAPPABLE] = "no cap: the guest's own cap is not saved yet",
	[WHY_FUTILE] = "no cap for %3 ms yet: at its lowest cap guest %2g was no faster",
	[WHY_SELF] = "no cap; it is %3p percent slower than alone, but was capped itself or had no "
		     "CPU: no evidence against others",
	[WHY_HURT] = "no cap; it is %3p percent slower than alone, and guest %2g is charged "
		     "more for it",
	[WHY_NOBODY] = "no cap; it is %3p percent slower than alone, but no guest that may be "
		       "capped sends so much more that it is to blame",
	[WHY_NO_BASE] = "no cap; how fast it is alone is neither given nor learned yet, so nobody "
			"can be blamed",
	[WHY_FADING] = "cap %0m percent, charged %1d times the plain rate, on the way back "
		       "to no cap: the guest that was slowed down reports no more",
	[WHY_FLOOR] = "lowest cap, %0m percent, and guest %2g is still %3p percent slower than "
		      "alone: no cap recalls what this one has outstanding",
	NULL,
};

#define PARAM(member, unit, text, min, max, def)                                                   \
	{                                                                                          \
#member, unit, text, offsetof(struct ios_params, member), min, max, def            \
	}

static const struct policy_param ios_params[] = {
	PARAM(window, "ns", "Least length of a window of evidence (ours).", 1000000, 10000000000,
	      50000000),
	PARAM(min_samples, "-", "Least latencies in a window (ours).", 1, 1000000, 16),
	PARAM(tolerance, "permille",
	      "Rise over the base that is no interference, where a guest has none of its own "
	      "(paper VI-C: the SLA; the figure is ours).",
	      0, 10000, 50),
	PARAM(dev_tolerance, "permille",
	      "How much of the tolerance the deviation may rise by (ours: a few late requests "
	      "raise it twice as much as the mean; 1000 is the paper to the letter).",
	      1000, 100000, 2000),
	PARAM(blame_ratio, "permille",
	      "Who is to blame sends more than this many times as much as who is slowed (ours, for "
	      "paper VII-C: no penalty for the same amount of I/O).",
	      1000, 100000, 1500),
	PARAM(blame_floor, "permille",
	      "Who is to blame sends at least this part of what the link can (ours, for paper "
	      "VII-C: the sender of 10 requests an epoch is left alone).",
	      0, 1000, 50),
	PARAM(bite, "ns",
	      "Time after which a new cap is known to bite (ours: a refill of credit2).", 0,
	      1000000000, 10000000),
	PARAM(calm, "-",
	      "Windows without trouble in a row, from which on rates go back (ours; paper figure 8 "
	      "shows it, and gives no rule).",
	      1, 1000, 4),
	PARAM(back_off, "permille", "Part of the raise that a calm window takes back (ours).", 1,
	      1000, 100),
	PARAM(lift, "permille",
	      "Part of the full cap from which on, going back, there is no cap (ours).", 1, 1000,
	      950),
	PARAM(stale, "ns", "A guest silent for longer does not count as reporting (ours).",
	      10000000, 100000000000, 1000000000),
	PARAM(futile, "ns",
	      "Time at the lowest cap after which it must have helped; 0: any (ours: a cap cannot "
	      "hold deep queues).",
	      0, 100000000000, 2000000000),
	PARAM(futile_gain, "permille",
	      "Part by which the interference must have fallen by then (ours).", 0, 1000, 100),
	PARAM(futile_rest, "ns",
	      "Time for which a guest is then not blamed by the same reporter (ours).", 0,
	      1000000000000, 30000000000),
	PARAM(min_cap, "mpct", "Lowest cap (ours: 1 % is Xen's least).", 1000, 100000, 1000),
	PARAM(sigma_over, "-",
	      "1: the rise of the deviation is taken over the base deviation (paper VI-C to the "
	      "letter); 0: over the base mean (ours).",
	      0, 1, 0),
	PARAM(sigma_floor, "ns", "Least base deviation with sigma_over (ours).", 1, 1000000000,
	      1000),
	PARAM(learn_share, "permille",
	      "A base is learned while all others send less than this part of the link (ours).", 0,
	      1000, 50),
	PARAM(on_empty, "-",
	      "1: lowest cap while all Resos are spent (paper V-D1); 0: no such rule (paper, "
	      "algorithm 2).",
	      0, 1, 0),
	{ NULL, NULL, NULL, 0, 0, 0, 0 },
};

/* 1: a new guest is not who was in its slot before. */
static void forget_slot(struct ios_tick *t, uint32_t slot)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		struct ios_guest *s = &t->state[t->in->guest[i].slot];

		s->w.snap_w[slot] = 0;
		s->w.snap_raw[slot] = 0;
		s->rest_until[slot] = (struct mono){ 0 };
		s->first_intf[slot] = 0;
		if (s->accuser == slot)
			s->has_accuser = 0;
	}
}

static uint64_t mtus(const struct usage *u)
{
	ios_wide m = (ios_wide)u->mtus_sent + u->mtus_recv;

	return m > UINT32_MAX ? UINT32_MAX : (uint64_t)m;
}

/* 2: rates within their bounds; what everybody sent, and would have at rate 1. */
static void count(struct ios_tick *t, const struct policy_guest *g)
{
	struct ios_guest *s = &t->state[g->slot];
	uint64_t max = ios_rate_max(t->p, g), m = mtus(&g->usage);

	if (s->rate < IOS_ONE)
		s->rate = IOS_ONE;
	if (s->rate > max)
		s->rate = max;
	if (s->rate > IOS_ONE && !ios_may_cap(g))
		ios_release(t, s, g->slot);
	s->cum_raw = ios_add(s->cum_raw, m);
	s->cum_w = ios_add(s->cum_w, m * g->rate.q16 / IOS_ONE);
}

static void begin(struct ios_tick *t)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];

		t->guest[g->slot] = g;
		t->link[g->link].used = true;
		if (g->flags & POLICY_NEW)
			forget_slot(t, g->slot);
	}
	for (uint32_t i = 0; i < t->in->guests; i++)
		count(t, &t->in->guest[i]);
}

/* --- 10: the plan ------------------------------------------------------------------- */

static bool is_empty(const struct ios_params *p, const struct policy_guest *g)
{
	return p->on_empty && !g->balance.m && g->allocated.m > 0;
}

static struct cap cap_wanted(const struct ios_tick *t, const struct policy_guest *g, uint64_t rate)
{
	struct cap_bounds b = ios_bounds(t->p, g);

	if (!ios_may_cap(g))
		return CAP_NONE;
	if (is_empty(t->p, g))
		return cap_clamp((struct cap){ 1, b.min_mpct }, &b);
	if (rate == IOS_ONE)
		return CAP_NONE;
	return cap_clamp((struct cap){ 1, (uint32_t)(ios_full(g) * IOS_ONE / rate) }, &b);
}

/* Which reporters leave anybody alone for a time: seldom one, so that plans need not ask all. */
static void find_resting(struct ios_tick *t)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		uint32_t slot = t->in->guest[i].slot;

		if (t->state[slot].reports && mono_sub(t->state[slot].rest_last, t->in->now) > 0)
			t->resting[t->rests++] = slot;
	}
}

static bool why_futile(const struct ios_tick *t, uint32_t slot, struct plan_guest *out)
{
	for (uint32_t i = 0; i < t->rests; i++) {
		const struct ios_guest *r = &t->state[t->resting[i]];
		int64_t left = mono_sub(r->rest_until[slot], t->in->now);

		if (left <= 0)
			continue;
		out->reason = WHY_FUTILE;
		out->why[2] = t->resting[i];
		out->why[3] = left / NS_PER_MS;
		return true;
	}
	return false;
}

static int64_t permille(uint64_t q16)
{
	return (int64_t)(q16 * 1000 / IOS_ONE);
}

/* Has it been at its lowest cap for long, and is still to blame? */
static bool is_beyond_caps(const struct ios_tick *t, const struct ios_guest *s, uint32_t slot)
{
	const struct ios_guest *r = &t->state[s->accuser];

	return s->at_floor && r->verdict == IOS_OVER && r->blamed == slot &&
	       mono_sub(t->in->now, s->floor_since) >= (int64_t)t->p->futile;
}

static void why_taxed(const struct ios_tick *t, const struct ios_guest *s, uint32_t slot,
		      struct plan_guest *out)
{
	const struct ios_guest *r = &t->state[s->accuser];

	out->reason = WHY_FADING;
	if (!s->has_accuser || !t->guest[s->accuser] || !r->reports)
		return;
	out->reason = is_beyond_caps(t, s, slot) ? WHY_FLOOR : WHY_TAXED;
	out->why[2] = s->accuser;
	out->why[3] = permille(r->intf);
}

static void why_free(const struct ios_guest *s, struct plan_guest *out)
{
	static const enum ios_reason of_verdict[] = {
		[IOS_NONE] = WHY_FREE, [IOS_NO_BASE] = WHY_NO_BASE, [IOS_FINE] = WHY_FREE,
		[IOS_SELF] = WHY_SELF, [IOS_NOBODY] = WHY_NOBODY,   [IOS_OVER] = WHY_HURT,
	};

	out->reason = of_verdict[s->verdict];
	if (out->reason == WHY_FREE || out->reason == WHY_NO_BASE)
		return;
	out->why[2] = out->reason == WHY_HURT ? s->blamed : 0;
	out->why[3] = permille(s->intf);
}

static struct plan_guest plan_of(const struct ios_tick *t, const struct policy_guest *g)
{
	const struct ios_guest *s = &t->state[g->slot];
	struct plan_guest out = { .cap = cap_wanted(t, g, s->rate), .rate = { (uint32_t)s->rate } };

	out.why[0] = out.cap.mpct;
	out.why[1] = permille(s->rate);
	if (g->flags & POLICY_EXEMPT)
		out.reason = WHY_EXEMPT;
	else if (!(g->flags & POLICY_CAPPABLE))
		out.reason = WHY_NOT_CAPPABLE;
	else if (is_empty(t->p, g))
		out.reason = WHY_EMPTY;
	else if (s->rate > IOS_ONE)
		why_taxed(t, s, g->slot, &out);
	else if (!why_futile(t, g->slot, &out))
		why_free(s, &out);
	return out;
}

static void ios_decide(const struct policy_in *in, const void *params, void *global, void *guests,
		       struct plan *plan)
{
	struct ios_tick t = { .in = in, .p = params, .global = global, .state = guests };

	begin(&t);	  /* 1, 2 */
	ios_hear(&t);	  /* 3 */
	ios_settle(&t);	  /* 4 */
	ios_windows(&t);  /* 5, 6 */
	ios_raises(&t);	  /* 7 */
	ios_calm(&t);	  /* 8 */
	ios_futility(&t); /* 9 */
	find_resting(&t);
	for (uint32_t i = 0; i < in->guests; i++) {
		const struct policy_guest *g = &in->guest[i];

		plan->guest[g->slot] = plan_of(&t, g);
		t.state[g->slot].wanted = plan->guest[g->slot].cap;
	}
}

const struct policy_ops policy_ioshares = {
	.abi = POLICY_ABI,
	.name = "ioshares",
	.text = "Who slows others down on its link is charged more and capped, until they are "
		"well.",
	.params_size = sizeof(struct ios_params),
	.global_size = sizeof(struct ios_global),
	.guest_size = sizeof(struct ios_guest),
	.params = ios_params,
	.reasons = ios_reasons,
	.decide = ios_decide,
};
