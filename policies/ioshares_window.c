// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares_window: which guests report, in which windows, and each window's
 * verdict. See ioshares.h for the steps.
 *
 * A window holds the reports of one guest between two changes of caps on its
 * link, and what every guest sent in that time. When it has lasted long enough
 * and holds enough samples, it is judged: is the reporter slower than alone, and
 * which guest sent so much that it is to blame?
 */
#include "policies/ioshares.h"

#include <string.h>

#include "src/core/stats.h"

static ios_wide wide128(uint64_t hi, uint64_t lo)
{
	return (ios_wide)hi << 64 | lo;
}

/* The samples of a report, 0 if its figures contradict each other. */
static uint64_t plausible_samples(const struct report *r)
{
	if (r->n > IOS_SAMPLES_MAX || r->io_sum_ns > r->sum_ns)
		return 0;
	if (r->sum_ns > r->n << IOS_SUM_BITS)
		return 0;
	if (wide128(r->io_sumsq_hi, r->io_sumsq_lo) > (ios_wide)r->n << IOS_SQUARE_BITS)
		return 0;
	return r->n;
}

void ios_collect(struct ios_tick *t)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];
		struct ios_guest *s = &t->state[g->slot];

		if (plausible_samples(&g->report) > 0) {
			s->was_heard = 1;
			s->heard = t->in->now;
		}
		s->reports = s->was_heard && mono_sub(t->in->now, s->heard) <= (int64_t)t->p->stale;
		if (s->reports) {
			t->link[g->link].reports = true;
		} else {
			s->w.open = 0;
			s->verdict = IOS_NONE;
			s->intf = 0;
		}
	}
}

/* --- 4: when caps are unchanged ---------------------------------------------- */

/*
 * A cap that is not set within stale may never be set (the scheduler refused it): waiting
 * for it must not stop the policy.
 */
static bool cap_is_awaited(const struct ios_tick *t, const struct policy_guest *g,
			   struct ios_guest *s)
{
	struct cap wanted = cap_clamp(s->wanted, &g->bounds);

	if (!ios_may_cap(g) || cap_to_percent(wanted) == cap_to_percent(g->cap)) {
		s->waiting = 0;
		return false;
	}
	if (!s->waiting) {
		s->waiting = 1;
		s->wait_since = t->in->now;
	}
	return mono_sub(t->in->now, s->wait_since) <= (int64_t)t->p->stale;
}

static struct mono later(struct mono a, struct mono b)
{
	return mono_sub(a, b) > 0 ? a : b;
}

void ios_settle(struct ios_tick *t)
{
	for (uint32_t l = 0; l < FLOW_LINKS_MAX; l++)
		t->link[l].quiet = later(t->global->link[l].raised, (struct mono){ 0 });
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];
		struct ios_tick_link *l = &t->link[g->link];

		if (g->cap_time.ns)
			l->quiet = later(l->quiet, mono_add(g->cap_time, (int64_t)t->p->bite));
		if (cap_is_awaited(t, g, &t->state[g->slot]))
			l->waits = true;
	}
}

/* --- 5: windows --------------------------------------------------------------- */

static void open_window(const struct ios_tick *t, struct ios_window *w)
{
	w->open = 1;
	w->start = t->in->now;
	w->n = w->sum = w->io_sum = w->io_sumsq_hi = w->io_sumsq_lo = w->cpu_ns = 0;
	w->self_capped = 0;
	for (uint32_t i = 0; i < t->in->guests; i++) {
		uint32_t slot = t->in->guest[i].slot;

		w->snap_w[slot] = t->state[slot].cum_w;
		w->snap_raw[slot] = t->state[slot].cum_raw;
	}
}

static void add_report(const struct policy_guest *g, struct ios_window *w)
{
	const struct report *r = &g->report;
	uint64_t n = plausible_samples(r);

	w->cpu_ns = ios_add(w->cpu_ns, g->usage.cpu_ns);
	if (g->cap.limited && cap_to_percent(g->cap) < cap_to_percent(cap_full(&g->bounds)))
		w->self_capped = 1;
	if (!n || w->n + n > IOS_SAMPLES_MAX)
		return;
	w->n += n;
	w->sum += r->sum_ns;
	w->io_sum += r->io_sum_ns;
	w->io_sumsq_lo += r->io_sumsq_lo;
	w->io_sumsq_hi += r->io_sumsq_hi + (w->io_sumsq_lo < r->io_sumsq_lo);
}

/* --- 6: what a window says ------------------------------------------------------ */

static struct ios_latency latency_in(const struct ios_window *w)
{
	return (struct ios_latency){
		.mean = w->sum / w->n,
		.io = w->io_sum / w->n,
		.dev = stats_deviation(w->n, w->io_sum, w->io_sumsq_hi, w->io_sumsq_lo),
	};
}

/* What was sent on a reporter's link in its window. */
struct sent {
	uint64_t own_w, own_raw;
	ios_wide all_raw;
	ios_wide capacity; /* MTUs the link could have moved */
	bool found;	   /* a guest other than the reporter is to blame */
	uint32_t most;	   /* slot of the one of these that sent most */
	uint64_t most_raw;
};

/* A snapshot above the sum is of a former guest of the slot. */
static uint64_t sent_since(uint64_t now, uint64_t then)
{
	return now >= then ? now - then : now;
}

static ios_wide capacity(const struct policy_link *l, int64_t ns)
{
	uint64_t mtu = l->mtu ? l->mtu : 1;
	ios_wide mtus = (ios_wide)l->bytes_s * (uint64_t)ns / ((ios_wide)mtu * NS_PER_S);

	return mtus ? mtus : 1;
}

static uint64_t raw_of(const struct ios_tick *t, const struct ios_guest *r,
		       const struct policy_guest *o)
{
	return sent_since(t->state[o->slot].cum_raw, r->w.snap_raw[o->slot]);
}

static uint64_t weighted_of(const struct ios_tick *t, const struct ios_guest *r,
			    const struct policy_guest *o)
{
	return sent_since(t->state[o->slot].cum_w, r->w.snap_w[o->slot]);
}

static bool is_to_blame(const struct ios_params *p, const struct sent *sent, uint64_t weighted)
{
	ios_wide w = (ios_wide)weighted * 1000;

	return w > (ios_wide)p->blame_ratio * sent->own_w && w >= p->blame_floor * sent->capacity;
}

/*
 * A guest may be blamed for what it would send at rate 1: a cap that works does
 * not make it innocent. Of several such guests, the one that sends most now is
 * blamed: otherwise the first one capped would go down to its floor while the
 * next one takes its place on the link.
 */
static void find_offender(const struct ios_tick *t, const struct policy_guest *g,
			  const struct ios_guest *r, struct sent *sent)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *o = &t->in->guest[i];
		uint64_t raw = raw_of(t, r, o);

		if (o == g || o->link != g->link || !ios_may_cap(o))
			continue;
		if (mono_sub(r->rest_until[o->slot], t->in->now) > 0)
			continue;
		if (!is_to_blame(t->p, sent, weighted_of(t, r, o)))
			continue;
		if (sent->found && raw <= sent->most_raw)
			continue;
		sent->found = true;
		sent->most = o->slot;
		sent->most_raw = raw;
	}
}

static struct sent sent_in(const struct ios_tick *t, const struct policy_guest *g,
			   const struct ios_guest *r)
{
	int64_t ns = mono_sub(t->in->now, r->w.start);
	struct sent sent = { .capacity = capacity(&t->in->link[g->link], ns) };

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *o = &t->in->guest[i];

		if (o->link == g->link)
			sent.all_raw += raw_of(t, r, o);
	}
	sent.own_w = weighted_of(t, r, g);
	sent.own_raw = raw_of(t, r, g);
	find_offender(t, g, r, &sent);
	return sent;
}

/* A running mean: an eighth of the way. */
static uint64_t eighth_toward(uint64_t base, uint64_t figure)
{
	return figure >= base ? base + (figure - base) / 8 : base - (base - figure) / 8;
}

/* A window in which others were nearly silent shows the reporter's latency alone. */
static void learn_base(const struct ios_params *p, struct ios_guest *r,
		       const struct ios_latency *seen, const struct sent *sent)
{
	if ((sent->all_raw - sent->own_raw) * 1000 >= p->learn_share * sent->capacity)
		return;
	if (r->w.self_capped || !r->w.cpu_ns)
		return;
	if (!r->has_base) {
		r->base = *seen;
		r->has_base = 1;
		return;
	}
	r->base.mean = eighth_toward(r->base.mean, seen->mean);
	r->base.io = eighth_toward(r->base.io, seen->io);
	r->base.dev = eighth_toward(r->base.dev, seen->dev);
}

static uint64_t above(uint64_t figure, uint64_t base)
{
	return figure > base ? figure - base : 0;
}

static uint64_t fraction(uint64_t part, uint64_t whole)
{
	uint64_t f = part * IOS_ONE / (whole ? whole : 1); /* part is below 2^35 */

	return f > UINT32_MAX ? UINT32_MAX : f;
}

/* How far a reporter is above its base: fractions, each at most 2^32 - 1. */
struct rise {
	uint64_t mean, dev;
};

static struct rise rise_over(const struct ios_params *p, const struct ios_latency *seen,
			     const struct ios_latency *base)
{
	uint64_t floor = base->dev > p->sigma_floor ? base->dev : p->sigma_floor;

	return (struct rise){
		.mean = fraction(above(seen->io, base->io), base->mean),
		.dev = fraction(above(seen->dev, base->dev), p->sigma_over ? floor : base->mean),
	};
}

/*
 * When one request in n is late, the deviation rises by about the square root of
 * n times as much as the mean. So it has a tolerance of its own.
 */
static bool is_over(const struct ios_params *p, const struct sla *sla, const struct rise *rise)
{
	uint64_t tolerance = sla->tolerance ? sla->tolerance : p->tolerance;

	return rise->mean * 1000 > tolerance * IOS_ONE ||
	       rise->dev * 1000000 > (ios_wide)tolerance * p->dev_tolerance * IOS_ONE;
}

/* Keep the largest raise that any reporter demands of the offender in this tick. */
static void demand_raise(struct ios_tick *t, uint32_t reporter, const struct sent *sent)
{
	struct ios_guest *r = &t->state[reporter];
	ios_wide all = sent->all_raw ? sent->all_raw : 1;
	uint64_t share = (uint64_t)((ios_wide)sent->most_raw * IOS_ONE / all);
	uint64_t raise = share * r->intf / IOS_ONE;

	r->blamed = sent->most;
	if (raise && !r->first_intf[sent->most])
		r->first_intf[sent->most] = (uint32_t)r->intf;
	if (raise > t->raise[sent->most]) {
		t->raise[sent->most] = raise;
		t->raiser[sent->most] = reporter;
	}
}

static enum ios_verdict verdict(const struct ios_tick *t, const struct policy_guest *g,
				const struct rise *rise, const struct sent *sent)
{
	const struct ios_window *w = &t->state[g->slot].w;

	if (!is_over(t->p, &g->sla, rise))
		return IOS_FINE;
	if (w->self_capped || !w->cpu_ns)
		return IOS_SELF;
	return sent->found ? IOS_OVER : IOS_NOBODY;
}

static void judge_window(struct ios_tick *t, const struct policy_guest *g, struct ios_guest *r)
{
	struct ios_latency base = { g->sla.base_ns, g->sla.base_io_ns, g->sla.base_dev_ns };
	struct ios_latency seen = latency_in(&r->w);
	struct sent sent = sent_in(t, g, r);
	struct rise rise;

	t->link[g->link].complete = true;
	if (!g->sla.base_ns) {
		learn_base(t->p, r, &seen, &sent);
		base = r->base;
		if (!r->has_base) {
			r->verdict = IOS_NO_BASE;
			r->intf = 0;
			return;
		}
	}
	rise = rise_over(t->p, &seen, &base);
	r->intf = rise.mean > rise.dev ? rise.mean : rise.dev;
	r->verdict = verdict(t, g, &rise, &sent);
	if (r->verdict == IOS_OVER) {
		t->link[g->link].over = true;
		demand_raise(t, g->slot, &sent);
	}
}

static bool is_complete(const struct ios_tick *t, const struct ios_window *w)
{
	return mono_sub(t->in->now, w->start) >= (int64_t)t->p->window && w->n >= t->p->min_samples;
}

void ios_windows(struct ios_tick *t)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];
		const struct ios_tick_link *l = &t->link[g->link];
		struct ios_guest *r = &t->state[g->slot];

		if (l->waits || mono_sub(r->w.start, l->quiet) < 0)
			r->w.open = 0;
		if (!r->reports || l->waits)
			continue;
		if (!r->w.open) {
			if (mono_sub(t->in->now, l->quiet) >= 0)
				open_window(t, &r->w);
			continue;
		}
		add_report(g, &r->w);
		if (is_complete(t, &r->w)) {
			judge_window(t, g, r);
			r->w.open = 0;
		}
	}
}
