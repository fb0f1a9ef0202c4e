// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares: a guest that slows others down pays more (paper VI-C, algorithm 2).
 *
 * Guests report their latencies. When one exceeds its base latency by more than
 * its tolerance, guests on its link are blamed together. Each is charged at a
 * higher rate, and its cap is 100 % of its VCPUs divided by the rate. When no
 * reporter is near its tolerance any more, the rates go back step by step.
 *
 *	reports --window--> verdict --blame--> set of guests --rate--> rates --> caps
 *
 * This file holds the parameters, the order of a tick and the plan; ioshares.h
 * lists the other files and all state.
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
	WHY_UNHEARD,
	WHY_UNKNOWN,
	WHY_SPARED,
	WHY_SOON,
	WHY_HELD,
	WHY_LEAST,
};

/* Both figures of a rise, of which either may be the one over its tolerance. */
#define RISE "mean +%1p, deviation +%3p percent of its base latency"

static const char *const ios_reasons[] = {
	[WHY_FREE] = "no cap: of the other guests on its link that report and can be judged, none "
		     "waits longer for I/O than it tolerates",
	[WHY_TAXED] = "cap %0c percent, charged %r times the plain rate: guest %2g waits longer "
		      "for I/O because of %2a: " RISE,
	[WHY_EMPTY] = "lowest cap, %0c percent: all of its Resos are spent; until the next epoch",
	[WHY_EXEMPT] = "no cap: the guest is exempt",
	[WHY_NOT_CAPPABLE] = "no cap: the guest's original cap is not saved yet",
	[WHY_FUTILE] = "no cap for another %3 ms: with a cap on it guest %2g was hardly faster",
	[WHY_SELF] = "no cap; it waits longer for I/O (" RISE "), but was capped itself or had no "
		     "CPU: no evidence against others",
	[WHY_HURT] = "no cap; it waits longer for I/O (" RISE "); charged more for it: %0a; guest "
		     "%2g sends most",
	[WHY_NOBODY] = "no cap; it waits longer for I/O (" RISE "), but the guests that may be "
		       "capped are not seen to send so much that they are to blame",
	[WHY_NO_BASE] = "no cap; its own latency when alone is neither configured nor learned yet, "
			"so it can blame no guest",
	[WHY_FADING] = "cap %0c percent, charged %r times the plain rate, on the way back "
		       "to no cap: the guest that was slowed down no longer reports",
	[WHY_FLOOR] = "lowest cap, %0c percent, and guest %2g still waits longer for I/O because "
		      "of %2a: " RISE ". A cap does not stop messages that are already posted",
	[WHY_UNHEARD] = "no cap; no other guest on its link reports its latency "
			"(resex_report(3)), so whether it slows others down is not known",
	[WHY_UNKNOWN] = "no cap; whether it slows others down is not known: of the other guests on "
			"its link that report, none has a base latency and a window without a cap "
			"of its own",
	[WHY_SPARED] = "no cap: guest %2g waits longer for I/O (" RISE "), but this one is "
		       "not seen to send so much that it is to blame",
	[WHY_SOON] = "no cap yet: guest %2g waits longer for I/O because of it: " RISE "; it is "
		     "charged more in its turn, if this lasts",
	[WHY_HELD] = "cap %0c percent, charged %r times the plain rate since guest %2g waited "
		     "longer for I/O because of %2a; now: " RISE,
	[WHY_LEAST] = "no cap: guest %2g waits longer for I/O because of it: " RISE ", but its "
		      "lowest cap is all of its CPU time",
	NULL,
};

#define PARAM(member, unit, text, min, max, def)                                                   \
	{                                                                                          \
#member, unit, text, offsetof(struct ios_params, member), min, max, def            \
	}

static const struct policy_param ios_params[] = {
	PARAM(window, "ns", "Least length of a window of reports (not in the paper).", 1000000,
	      10000000000, 50000000),
	PARAM(min_samples, "-",
	      "Least number of latencies in a window, or an eighth of it after the time stale "
	      "(not in the paper).",
	      1, 1000000, 128),
	PARAM(tolerance, "permille",
	      "How far latency may exceed its base before it counts as interference, for guests "
	      "without a tolerance of their own (paper VI-C: the SLA, without a figure).",
	      0, 10000, 50),
	PARAM(dev_tolerance, "permille",
	      "Tolerance of the deviation, as a multiple of the mean's (not in the paper, which "
	      "has 1000: a few late requests raise the deviation twice as much as the mean).",
	      1000, 100000, 3000),
	PARAM(blame_ratio, "permille",
	      "Guests are blamed only if they send more than this multiple of the victim's traffic "
	      "(for paper VII-C: no penalty for the same amount of I/O).",
	      1000, 100000, 1500),
	PARAM(blame_floor, "permille",
	      "Guests are blamed only if together they send at least this part of the link's "
	      "capacity (for paper VII-C: a sender of 10 requests an epoch is not blamed).",
	      0, 1000, 50),
	PARAM(bite, "ns", "Time after which a new cap has an effect (a refill of credit2).", 0,
	      1000000000, 10000000),
	PARAM(calm, "-",
	      "Windows without interference in a row after which rates go back (paper figure 8 "
	      "shows it, and gives no rule).",
	      1, 1000, 4),
	PARAM(back_off, "permille",
	      "Part of the raise that each further calm window takes back (not in the paper).", 1,
	      1000, 150),
	PARAM(stale, "ns",
	      "A guest that sent no report for longer is not a reporter (not in the paper).",
	      10000000, 100000000000, 1000000000),
	PARAM(futile, "ns",
	      "Time at the lowest cap after which the cap must have helped, 0: never (not in the "
	      "paper: a cap cannot hold deep queues).",
	      0, 100000000000, 2000000000),
	PARAM(futile_gain, "permille",
	      "Part by which the interference must have fallen by then (not in the paper).", 0,
	      1000, 100),
	PARAM(futile_rest, "ns",
	      "Time for which the same reporter then does not blame the guest (not in the paper).",
	      0, 1000000000000, 30000000000),
	PARAM(min_cap, "mpct", "Lowest cap (1 % is the least that Xen accepts).", 1000, 100000,
	      1000),
	PARAM(sigma_over, "-",
	      "Divide the rise of the deviation by the base deviation (1, as in paper VI-C) or by "
	      "the base mean (0).",
	      0, 1, 0),
	PARAM(sigma_floor, "ns", "Least base deviation with sigma_over (not in the paper).", 1,
	      1000000000, 1000),
	PARAM(learn_share, "permille",
	      "A base is learned while all others together send less than this part of the link's "
	      "capacity (not in the paper).",
	      0, 1000, 50),
	PARAM(on_empty, "-",
	      "Lowest cap while all Resos are spent (1, as in paper V-D1), or no such rule (0, as "
	      "in algorithm 2).",
	      0, 1, 0),
	{ NULL, NULL, NULL, 0, 0, 0, 0 },
};

/*
 * 1: a new guest inherits nothing from the former guest of its slot. A guest that was restarted
 * has its former block: only its window, the wait for its cap and its pause have ended. Guests that
 * are being restarted, and are not here now, forget the former guest, too.
 */
static void begin_guest(struct ios_tick *t, uint32_t slot)
{
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		struct ios_guest *s = &t->state[i];

		s->w.snap_w[slot] = t->state[slot].cum_w;
		s->w.snap_raw[slot] = t->state[slot].cum_raw;
		if (ios_in_set(&s->blamed, slot))
			s->blamed.guests--;
		s->blamed.bits[slot / 64] &= ~(1ull << slot % 64);
		s->rest_until[slot] = (struct mono){ 0 };
		s->first_intf[slot] = 0;
		if (s->accuser == slot)
			s->has_accuser = 0;
	}
	t->state[slot].w.open = 0;
	t->state[slot].waiting = 0;
	t->state[slot].sent_time = (struct mono){ 0 };
}

static uint64_t mtus(const struct usage *u)
{
	ios_wide m = (ios_wide)u->mtus_sent + u->mtus_recv;

	return m > UINT32_MAX ? UINT32_MAX : (uint64_t)m;
}

/* The largest recent message: for so long this guest can have the link to itself. */
static void note_size(const struct ios_tick *t, const struct policy_guest *g, struct ios_guest *s)
{
	if (g->usage.msg_bytes < s->size &&
	    mono_sub(t->in->now, s->size_seen) <= (int64_t)t->p->stale)
		return;
	s->size = g->usage.msg_bytes;
	s->size_seen = t->in->now;
}

/*
 * A capped guest sends in bursts, whose distance depends on the scheduler. A window must hold a
 * whole one: the longest recent pause between two intervals in which the guest sent is its length.
 */
static void note_pause(const struct ios_tick *t, struct ios_guest *s)
{
	int64_t pause = s->sent_time.ns ? mono_sub(t->in->now, s->sent_time) : 0;

	if (pause > (int64_t)t->p->stale)
		pause = (int64_t)t->p->stale;
	if (pause >= s->pause || mono_sub(t->in->now, s->pause_seen) > 2 * (int64_t)t->p->stale) {
		s->pause = pause;
		s->pause_seen = t->in->now;
	}
	s->sent_time = t->in->now;
}

/* A first raise takes effect at its time (ioshares_rate.c). */
static void begin_first(const struct ios_tick *t, struct ios_guest *s)
{
	if (!s->next_rate || mono_sub(t->in->now, s->next_time) < 0)
		return;
	s->rate = s->next_rate;
	s->next_rate = 0;
}

/* 2: rates within their bounds; what every guest sent, and would have sent at rate 1. */
static void count_sent(struct ios_tick *t, const struct policy_guest *g)
{
	struct ios_guest *s = &t->state[g->slot];
	uint64_t max = ios_rate_max(t->p, g), m = mtus(&g->usage);

	begin_first(t, s);
	if (s->rate < IOS_ONE)
		s->rate = IOS_ONE;
	if (s->rate > max)
		s->rate = max;
	/* A guest whose own cap is not saved yet keeps its rate: it may have been restarted. */
	if ((s->rate > IOS_ONE || s->next_rate) && (g->flags & POLICY_EXEMPT))
		ios_release(t, s, g->slot);
	note_size(t, g, s);
	if (m)
		note_pause(t, s);
	s->cum_raw = ios_add(s->cum_raw, m);
	s->cum_w = ios_add(s->cum_w, m * g->rate.q16 / IOS_ONE);
}

static void begin_tick(struct ios_tick *t)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];

		t->guest[g->slot] = g;
		t->link[g->link].used = true;
		t->link[g->link].queues += ios_queues(g);
		if (g->flags & POLICY_NEW)
			begin_guest(t, g->slot);
	}
	for (uint32_t i = 0; i < t->in->guests; i++)
		count_sent(t, &t->in->guest[i]);
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

/* Is this reporter over its tolerance? It may not be known which guest is to blame. */
static bool is_over(const struct ios_guest *r)
{
	return r->verdict == IOS_NOBODY || r->verdict == IOS_OVER;
}

/* Can the newest window of this reporter show that another guest slows it down, or does not? */
static bool is_evidence(const struct ios_guest *r)
{
	return r->verdict == IOS_FINE || is_over(r);
}

/* This reporter waits longer than it tolerates: the reasons of others on its link say so. */
static void note_over(struct ios_tick *t, const struct policy_guest *g, const struct ios_guest *r)
{
	struct ios_tick_link *l = &t->link[g->link];

	if (!l->overs++)
		l->over_slot = g->slot;
	for (uint32_t i = 0; r->verdict == IOS_OVER && i < IOS_SET_WORDS; i++) {
		uint64_t added = r->blamed.bits[i] & ~l->blamed[i];

		l->blamed[i] |= added;
		for (; added; added &= added - 1) {
			uint32_t slot = 64 * i + (uint32_t)__builtin_ctzll(added);

			/* The slot may have gone to a guest of another link since that window. */
			if (t->guest[slot] && t->guest[slot]->link == g->link)
				t->blamer[slot] = g->slot;
		}
	}
}

/*
 * What plans need of the reporters: how many a link has, which is over its tolerance, and a
 * list of those with a guest that they may not blame now. Seldom there is one, so plans stay cheap.
 */
static void find_reporters(struct ios_tick *t)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];
		const struct ios_guest *r = &t->state[g->slot];

		if (!r->reports) /* it has no verdict either */
			continue;
		t->link[g->link].reporters++;
		t->link[g->link].evidence += is_evidence(r);
		if (is_over(r))
			note_over(t, g, r);
		if (mono_sub(r->rest_last, t->in->now) > 0)
			t->resting[t->rests++] = g->slot;
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

/* Has the guest, which is to blame, been at its lowest cap for long? */
static bool is_beyond_caps(const struct ios_tick *t, const struct policy_guest *g,
			   const struct ios_guest *s)
{
	return s->pinned && s->rate == ios_rate_max(t->p, g) &&
	       mono_sub(t->in->now, s->pinned_since) >= (int64_t)t->p->futile;
}

/* Does the newest window of this reporter blame the guest in that slot? */
static bool is_blamed_by(const struct ios_guest *r, uint32_t slot)
{
	return r->verdict == IOS_OVER && ios_in_set(&r->blamed, slot);
}

static void put_rise(const struct ios_guest *r, struct plan_guest *out)
{
	out->why[1] = permille(r->rise.mean);
	out->why[3] = permille(r->rise.dev);
}

static void why_because(const struct ios_guest *r, uint32_t slot, enum ios_reason reason,
			struct plan_guest *out)
{
	out->reason = reason;
	out->why[2] = slot;
	put_rise(r, out);
}

static void why_taxed(const struct ios_tick *t, const struct policy_guest *g,
		      const struct ios_guest *s, struct plan_guest *out)
{
	const struct ios_guest *r = &t->state[s->accuser];

	out->reason = WHY_FADING;
	if (!s->has_accuser || !t->guest[s->accuser] || !r->reports)
		return;
	why_because(r, s->accuser, WHY_HELD, out);
	if (is_blamed_by(r, g->slot))
		out->reason = is_beyond_caps(t, g, s) ? WHY_FLOOR : WHY_TAXED;
}

/* Its first raise has been demanded, and takes effect at its turn. */
static bool why_soon(const struct ios_tick *t, const struct ios_guest *s, struct plan_guest *out)
{
	const struct ios_guest *r = &t->state[s->accuser];

	if (!s->next_rate || !s->has_accuser || !t->guest[s->accuser] || !r->reports)
		return false;
	why_because(r, s->accuser, WHY_SOON, out);
	return true;
}

/*
 * A reporter blames it, but its rate stays: its lowest cap is all. Or it was not subject to caps
 * after that window, and is now.
 */
static bool why_blamed(const struct ios_tick *t, const struct policy_guest *g,
		       struct plan_guest *out)
{
	bool least = ios_rate_max(t->p, g) == IOS_ONE;
	uint32_t blamer = t->blamer[g->slot];

	if (!(t->link[g->link].blamed[g->slot / 64] >> g->slot % 64 & 1))
		return false;
	why_because(&t->state[blamer], blamer, least ? WHY_LEAST : WHY_SOON, out);
	return true;
}

/* Another reporter of its link that is over its tolerance, and does not blame this guest. */
static bool why_spared(const struct ios_tick *t, const struct policy_guest *g,
		       struct plan_guest *out)
{
	const struct ios_tick_link *l = &t->link[g->link];

	if (!l->overs)
		return false;
	why_because(&t->state[l->over_slot], l->over_slot, WHY_SPARED, out);
	return true;
}

/* No reporter says that this guest slows it down: because none could? */
static void why_not_blamed(const struct ios_tick *t, const struct policy_guest *g,
			   const struct ios_guest *s, struct plan_guest *out)
{
	const struct ios_tick_link *l = &t->link[g->link];

	if (why_blamed(t, g, out) || why_spared(t, g, out))
		return;
	if (l->evidence > is_evidence(s))
		out->reason = WHY_FREE;
	else
		out->reason = l->reporters > s->reports ? WHY_UNKNOWN : WHY_UNHEARD;
}

static void why_free(const struct ios_tick *t, const struct policy_guest *g,
		     const struct ios_guest *s, struct plan_guest *out)
{
	static const enum ios_reason of_verdict[] = {
		[IOS_NO_BASE] = WHY_NO_BASE,
		[IOS_SELF] = WHY_SELF,
		[IOS_NOBODY] = WHY_NOBODY,
		[IOS_OVER] = WHY_HURT,
	};

	if (s->verdict == IOS_NONE || s->verdict == IOS_FINE) {
		why_not_blamed(t, g, s, out);
		return;
	}
	out->reason = of_verdict[s->verdict];
	if (out->reason == WHY_NO_BASE)
		return;
	put_rise(s, out);
	if (out->reason != WHY_HURT)
		return;
	out->why[0] = g->slot;
	out->why[2] = s->blamed.most;
}

static struct plan_guest plan_of(const struct ios_tick *t, const struct policy_guest *g)
{
	const struct ios_guest *s = &t->state[g->slot];
	struct plan_guest out = { .cap = cap_wanted(t, g, s->rate), .rate = { (uint32_t)s->rate } };

	out.why[0] = out.cap.mpct;
	if (g->flags & POLICY_EXEMPT)
		out.reason = WHY_EXEMPT;
	else if (!(g->flags & POLICY_CAPPABLE))
		out.reason = WHY_NOT_CAPPABLE;
	else if (is_empty(t->p, g))
		out.reason = WHY_EMPTY;
	else if (s->rate > IOS_ONE)
		why_taxed(t, g, s, &out);
	else if (!why_soon(t, s, &out) && !why_futile(t, g->slot, &out))
		why_free(t, g, s, &out);
	return out;
}

static void ios_decide(const struct policy_in *in, const void *params, void *global, void *guests,
		       struct plan *plan)
{
	struct ios_tick t = { .in = in, .p = params, .global = global, .state = guests };

	begin_tick(&t);	  /* 1, 2 */
	ios_collect(&t);  /* 3 */
	ios_settle(&t);	  /* 4 */
	ios_windows(&t);  /* 5, 6 */
	ios_raises(&t);	  /* 7 */
	ios_calm(&t);	  /* 8 */
	ios_futility(&t); /* 9 */
	find_reporters(&t);
	for (uint32_t i = 0; i < in->guests; i++) {
		const struct policy_guest *g = &in->guest[i];

		plan->guest[g->slot] = plan_of(&t, g);
		t.state[g->slot].wanted = plan->guest[g->slot].cap;
	}
}

const struct policy_ops policy_ioshares = {
	.abi = POLICY_ABI,
	.size = sizeof(struct policy_ops),
	.name = "ioshares",
	.text = "A guest that slows others on its link is charged more and capped, until they "
		"recover.",
	.needs_reports = 1,
	.params_size = sizeof(struct ios_params),
	.global_size = sizeof(struct ios_global),
	.guest_size = sizeof(struct ios_guest),
	.params = ios_params,
	.reasons = ios_reasons,
	.decide = ios_decide,
};
