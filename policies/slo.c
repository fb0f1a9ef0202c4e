// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * slo: the mean latencies that guests are promised are held, and their neighbours keep as much of
 * their throughput as that allows. A policy of our own: it is in no paper.
 *
 *	reports --window--> excess over the promise --search--> level of the link --in turn--> caps
 *
 * This file holds the parameters, the order of a tick and the plan; slo.h says how levels are
 * searched, and lists all state.
 */
#include "policies/slo.h"

#include "policies/state.h"

enum slo_reason {
	WHY_HELD,
	WHY_CAPPED,
	WHY_CLAIM,
	WHY_FLOOR,
	WHY_EXEMPT,
	WHY_NOT_CAPPABLE,
	WHY_PROMISED,
	WHY_REFUSED,
	WHY_OTHER_REFUSED,
	WHY_SMALL,
	WHY_UNHEARD,
	WHY_UNKNOWN,
};

static const char *const slo_reasons[] = {
	[WHY_HELD] = "no cap: guest %2g is promised a mean of at most +%3p percent over its base, "
		     "and others cost it +%1p",
	[WHY_CAPPED] = "cap %0c percent, for the mean of guest %2g, which is promised to be at "
		       "most +%3p percent over its base: others cost it +%1p",
	[WHY_CLAIM] =
		"cap %0c percent: guest %2g says that others cost it +%3p percent of its base "
		"latency; their traffic can cost it +%1p at most, and that is what counts",
	[WHY_FLOOR] =
		"lowest cap, %0c percent: guest %2g is promised a mean of at most +%3p percent "
		"over its base, and others still cost it +%1p: no cap holds that",
	[WHY_EXEMPT] = "no cap: the guest is exempt",
	[WHY_NOT_CAPPABLE] = "no cap: the guest's original cap is not saved yet",
	[WHY_PROMISED] =
		"no cap: its own mean is promised, at most +%3p percent over its base, and "
		"others cost it +%1p",
	[WHY_REFUSED] =
		"no cap: it is promised a mean of at most +%3p percent over its base, which "
		"no cap holds: at the lowest ones others cost it +%1p; tried again in %2 ms",
	[WHY_OTHER_REFUSED] =
		"no cap: guest %2g is promised a mean of at most +%3p percent over its "
		"base, which no cap holds: at the lowest ones others cost it +%1p",
	[WHY_SMALL] =
		"no cap: guest %2g is promised a mean of at most +%3p percent over its base, "
		"and others cost it +%1p, but this guest sends too little to matter, or nothing",
	[WHY_UNHEARD] =
		"no cap: no guest on its link that is promised a mean (base, in sla) reports "
		"its latency",
	[WHY_UNKNOWN] =
		"no cap: guest %2g is promised a mean of at most +%3p percent over its base, "
		"and has not reported for long enough to tell what others cost it",
	NULL,
};

#define PARAM(member, unit, text, min, max, def)                                                   \
	{                                                                                          \
#member, unit, text, offsetof(struct slo_params, member), min, max, def            \
	}

static const struct policy_param slo_params[] = {
	PARAM(window, "ns", "Least length of a window of reports; near the promise 64 times that.",
	      1000000, 10000000000, 50000000),
	PARAM(min_samples, "-",
	      "Least number of latencies in a window, or an eighth of it after 16 times window.", 1,
	      1000000, 128),
	PARAM(tolerance, "permille",
	      "How far the mean may exceed its base, for guests without a tolerance of their own.",
	      0, 10000, 50),
	PARAM(spare, "permille",
	      "Guests whose traffic can cost this part of the tolerance, all together, are not "
	      "capped.",
	      0, 1000, 250),
	PARAM(bite, "ns", "Time after which a new cap has an effect (a refill of credit2).", 0,
	      1000000000, 10000000),
	PARAM(stale, "ns", "A guest that sent no report for longer is not a reporter.", 10000000,
	      100000000000, 1000000000),
	PARAM(retry, "ns",
	      "Time after which a level that failed is tried again; doubled each time it fails.",
	      100000000, 1000000000000, 5000000000),
	PARAM(futile, "ns", "Time at the lowest caps after which they must have helped, 0: never.",
	      0, 100000000000, 2000000000),
	PARAM(gain, "permille", "Part of the excess that the lowest caps must have taken away.", 0,
	      1000, 500),
	PARAM(rest, "ns", "Time for which a promise that no cap holds does not count.", 0,
	      1000000000000, 30000000000),
	PARAM(min_cap, "mpct", "Lowest cap (1 % is the least that Xen accepts).", 1000, 100000,
	      1000),
	{ NULL, NULL, NULL, 0, 0, 0, 0 },
};

/* --- a tick ------------------------------------------------------------------------- */

static struct mono later(struct mono a, struct mono b)
{
	return mono_sub(a, b) > 0 ? a : b;
}

/* A guest that is exempt or promised a mean now has no cap for another one's. */
static void leave(struct slo_guest *s)
{
	s->member = 0;
	s->level = 0;
}

/* A cap that is not set within stale may never be set: waiting for it must not stop the policy. */
static bool cap_is_awaited(const struct slo_tick *t, const struct policy_guest *g,
			   struct slo_guest *s)
{
	struct cap wanted = cap_clamp(s->wanted, &g->bounds);

	if (!slo_may_cap(g) || cap_to_percent(wanted) == cap_to_percent(g->cap)) {
		s->waiting = 0;
		return false;
	}
	if (!s->waiting) {
		s->waiting = 1;
		s->wait_since = t->in->now;
	}
	return mono_sub(t->in->now, s->wait_since) <= (int64_t)t->p->stale;
}

/* From when on all caps of a link have an effect. */
static void settle(struct slo_tick *t)
{
	for (uint32_t i = 0; i < FLOW_LINKS_MAX; i++)
		t->link[i].quiet = later(t->global->link[i].changed, (struct mono){ 0 });
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];
		struct slo_guest *s = &t->state[g->slot];
		struct slo_tick_link *l = &t->link[g->link];

		l->used = true;
		if ((g->flags & POLICY_EXEMPT) || slo_promised(g))
			leave(s);
		if (g->cap_time.ns)
			l->quiet = later(l->quiet, mono_add(g->cap_time, (int64_t)t->p->bite));
		if (cap_is_awaited(t, g, s))
			l->waits = true;
	}
}

static void take_turns(struct slo_tick *t)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];
		struct slo_guest *s = &t->state[g->slot];

		if (s->member && mono_sub(t->in->now, s->due) >= 0)
			s->level = t->global->link[g->link].level;
	}
}

/* --- the plan ----------------------------------------------------------------------- */

static struct cap cap_wanted(const struct slo_tick *t, const struct policy_guest *g)
{
	const struct slo_guest *s = &t->state[g->slot];
	struct cap_bounds b = slo_bounds(t->p, g);
	uint64_t mpct = (uint64_t)s->level * g->bounds.vcpus * 1000;

	if (!slo_may_cap(g) || !s->member || !s->level || s->level >= SLO_FREE)
		return CAP_NONE;
	if (mpct > UINT32_MAX)
		mpct = UINT32_MAX;
	return cap_clamp((struct cap){ 1, (uint32_t)mpct }, &b);
}

static int64_t permille(uint64_t q16)
{
	return (int64_t)(q16 * 1000 / SLO_ONE);
}

static uint64_t believed(const struct slo_guest *r)
{
	return r->rise < r->bound ? r->rise : r->bound;
}

static void put_promise(const struct slo_tick *t, const struct policy_guest *r, uint32_t reason,
			struct plan_guest *out)
{
	out->reason = reason;
	out->why[1] = permille(believed(&t->state[r->slot]));
	out->why[2] = r->slot;
	out->why[3] = (int64_t)slo_tolerance(t->p, r);
}

/* Of the guests of this link that are promised a mean: the one that matters most to g. */
static const struct policy_guest *find_promised(const struct slo_tick *t, uint32_t link,
						const struct policy_guest *g, bool refused)
{
	const struct slo_link *l = &t->global->link[link];
	const struct policy_guest *found = NULL;

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *r = &t->in->guest[i];

		if (r->link != link || r == g)
			continue;
		if (refused ? !slo_promised(r) ||
				      mono_sub(t->state[r->slot].refused_until, t->in->now) <= 0
			    : !slo_reports(t, r))
			continue;
		if (!found || r->slot == l->worst)
			found = r;
	}
	return found;
}

static void why_member(const struct slo_tick *t, const struct policy_guest *g,
		       const struct policy_guest *r, struct plan_guest *out)
{
	const struct slo_guest *s = &t->state[r->slot];

	put_promise(t, r, WHY_CAPPED, out);
	if (t->global->link[g->link].is_floor && s->verdict == SLO_BROKEN) {
		out->reason = WHY_FLOOR;
	} else if (s->rise > 2 * s->bound) {
		out->reason = WHY_CLAIM;
		out->why[3] = permille(s->rise);
	}
}

static void why_free(const struct slo_tick *t, const struct policy_guest *g, struct plan_guest *out)
{
	const struct policy_guest *r = find_promised(t, g->link, g, true);

	if (r) {
		put_promise(t, r, WHY_OTHER_REFUSED, out);
		return;
	}
	r = find_promised(t, g->link, g, false);
	out->reason = WHY_UNHEARD;
	if (!r)
		return;
	switch ((enum slo_verdict)t->state[r->slot].verdict) {
	case SLO_NONE:
		put_promise(t, r, WHY_UNKNOWN, out);
		return;
	case SLO_HELD:
		put_promise(t, r, WHY_HELD, out);
		return;
	case SLO_BROKEN:
		put_promise(t, r, WHY_SMALL, out);
		return;
	}
}

static void why_promised(const struct slo_tick *t, const struct policy_guest *g,
			 struct plan_guest *out)
{
	int64_t left = mono_sub(t->state[g->slot].refused_until, t->in->now);

	put_promise(t, g, left > 0 ? WHY_REFUSED : WHY_PROMISED, out);
	out->why[2] = left > 0 ? left / NS_PER_MS : 0;
}

static struct plan_guest plan_of(const struct slo_tick *t, const struct policy_guest *g)
{
	struct plan_guest out = { .cap = cap_wanted(t, g), .rate = RATE_ONE };
	const struct policy_guest *r;

	if (g->flags & POLICY_EXEMPT) {
		out.reason = WHY_EXEMPT;
	} else if (!(g->flags & POLICY_CAPPABLE)) {
		out.reason = WHY_NOT_CAPPABLE;
	} else if (slo_promised(g)) {
		why_promised(t, g, &out);
	} else {
		r = out.cap.limited ? find_promised(t, g->link, g, false) : NULL;
		if (r)
			why_member(t, g, r, &out);
		else
			why_free(t, g, &out);
	}
	out.why[0] = out.cap.mpct;
	return out;
}

static void slo_decide(const struct policy_in *in, const void *params, void *global, void *guests,
		       struct plan *plan)
{
	struct slo_tick t = { .in = in, .p = params, .global = global, .state = guests };

	settle(&t);
	slo_collect(&t);
	slo_levels(&t);
	take_turns(&t);
	for (uint32_t i = 0; i < in->guests; i++) {
		const struct policy_guest *g = &in->guest[i];

		plan->guest[g->slot] = plan_of(&t, g);
		t.state[g->slot].wanted = plan->guest[g->slot].cap;
	}
}

static bool link_good(const struct slo_link *l)
{
	const struct mono time[] = { l->fail_until, l->start,	  l->changed,	l->cycles,
				     l->floor_time, l->sent_time, l->pause_seen };

	for (size_t i = 0; i < sizeof(time) / sizeof(time[0]); i++)
		if (!state_time_good(time[i]))
			return false;
	return state_ns_good(l->pause) && l->level <= SLO_FREE && l->hold <= SLO_FREE &&
	       l->fail <= SLO_FREE && l->settled <= SLO_FREE;
}

static bool guest_good(const struct slo_guest *s)
{
	return state_time_good(s->heard) && state_time_good(s->refused_until) &&
	       state_time_good(s->due) && state_time_good(s->wait_since) &&
	       s->place < FLOW_GUESTS_MAX && s->wanted.limited <= 1;
}

bool slo_state_good(const void *global, const void *guests)
{
	const struct slo_global *all = global;
	const struct slo_guest *s = guests;

	for (uint32_t i = 0; i < FLOW_LINKS_MAX; i++)
		if (!link_good(&all->link[i]))
			return false;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (!guest_good(&s[i]))
			return false;
	return true;
}

const struct policy_ops policy_slo = {
	.abi = POLICY_ABI,
	.size = sizeof(struct policy_ops),
	.name = "slo",
	.text = "The mean latencies that guests are promised are held, at the least cost to the "
		"others.",
	.needs_reports = 1,
	.params_size = sizeof(struct slo_params),
	.global_size = sizeof(struct slo_global),
	.guest_size = sizeof(struct slo_guest),
	.params = slo_params,
	.reasons = slo_reasons,
	.decide = slo_decide,
};
