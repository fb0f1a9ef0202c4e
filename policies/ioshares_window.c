// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares_window: which guests report, in which windows, and each window's
 * verdict. See ioshares.h for the steps.
 *
 * A window holds the reports of one guest between two changes of caps on its
 * link, and what every guest sent in that time. When it has lasted long enough
 * and holds enough samples, it is judged: is the reporter slower than alone? Then
 * ioshares_blame.c finds the guests that are to blame.
 */
#include "policies/ioshares.h"

#include <string.h>

#include "src/core/stats.h"

enum { FEW = 8 }; /* this part of min_samples is enough for a slow reporter */

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
			s->holds = 0;
			s->intf = s->claimed = s->excess = 0;
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
		if (t->state[g->slot].rate > IOS_ONE && t->state[g->slot].pause > l->pause)
			l->pause = t->state[g->slot].pause;
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
	w->queues = w->active = 0;
	w->self_capped = 0;
	for (uint32_t i = 0; i < t->in->guests; i++) {
		uint32_t slot = t->in->guest[i].slot;

		w->snap_w[slot] = t->state[slot].cum_w;
		w->snap_raw[slot] = t->state[slot].cum_raw;
	}
}

static void add_report(const struct ios_tick *t, const struct policy_guest *g, struct ios_window *w)
{
	const struct report *r = &g->report;
	uint64_t n = plausible_samples(r), queues = t->link[g->link].queues - ios_queues(g);

	w->queues = ios_add(w->queues, queues);
	w->active += queues > 0;
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

/* A running mean: an eighth of the way. */
static uint64_t eighth_toward(uint64_t base, uint64_t figure)
{
	return figure >= base ? base + (figure - base) / 8 : base - (base - figure) / 8;
}

/* A window in which others were nearly silent shows the reporter's latency alone. */
static void learn_base(const struct ios_params *p, struct ios_guest *r,
		       const struct ios_latency *seen, const struct ios_sent *sent)
{
	if ((sent->all - sent->own) * 1000 >= p->learn_share * sent->capacity)
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

static struct ios_rise rise_over(const struct ios_params *p, const struct ios_latency *seen,
				 const struct ios_latency *base)
{
	uint64_t floor = base->dev > p->sigma_floor ? base->dev : p->sigma_floor;

	return (struct ios_rise){
		.mean = ios_fraction(above(seen->io, base->io), base->mean),
		.dev = ios_fraction(above(seen->dev, base->dev),
				    p->sigma_over ? floor : base->mean),
	};
}

/* The base of a reporter. False: it is not known. */
static bool find_base(const struct policy_guest *g, const struct ios_guest *r,
		      struct ios_latency *base)
{
	*base = g->sla.base_ns ? (struct ios_latency){ g->sla.base_ns, g->sla.base_io_ns,
						       g->sla.base_dev_ns }
			       : r->base;
	return g->sla.base_ns || r->has_base;
}

static void judge_window(struct ios_tick *t, const struct policy_guest *g, struct ios_guest *r)
{
	struct ios_latency seen = latency_in(&r->w), base;
	struct ios_sent sent = ios_sent_in(t, g);
	struct ios_set set = { .guests = 0 };
	uint64_t before = r->verdict == IOS_OVER ? r->excess : 0;
	struct ios_rise rise;

	t->link[g->link].complete = true;
	r->holds = 0;
	r->intf = r->claimed = r->excess = 0;
	if (!g->sla.base_ns)
		learn_base(t->p, r, &seen, &sent);
	if (!find_base(g, r, &base)) {
		r->verdict = IOS_NO_BASE;
		return;
	}
	rise = rise_over(t->p, &seen, &base);
	r->rise.mean = rise.mean;
	r->rise.dev = ios_fraction(above(seen.dev, base.dev), base.mean);
	r->intf = rise.mean > rise.dev ? rise.mean : rise.dev;
	r->claimed = ios_excess(t, g, &rise);
	rise = ios_believed(t->p, &r->w, &sent, &base, &rise);
	r->excess = ios_excess(t, g, &rise);
	r->verdict = IOS_FINE;
	if (r->excess > IOS_NEAR && !r->w.self_capped && r->w.cpu_ns)
		set = ios_blame(t, g, &sent);
	r->holds = set.guests > 0;
	if (r->claimed <= IOS_ONE)
		return;
	r->verdict = r->excess > IOS_ONE && set.guests ? IOS_OVER : IOS_NOBODY;
	if (r->w.self_capped || !r->w.cpu_ns)
		r->verdict = IOS_SELF;
	if (r->verdict == IOS_OVER) {
		r->blamed = set;
		t->link[g->link].over = true;
		ios_demand(t, g, before);
	}
}

/*
 * A window goes on for longer unless the harm is gross: near the tolerance the rate follows from
 * small differences, which chance would decide.
 */
static bool is_gross(const struct ios_tick *t, const struct policy_guest *g,
		     const struct ios_guest *r)
{
	struct ios_latency seen = latency_in(&r->w), base;
	struct ios_sent sent;
	struct ios_rise rise;

	if (!find_base(g, r, &base))
		return false;
	rise = rise_over(t->p, &seen, &base);
	if (ios_excess(t, g, &rise) < IOS_GROSS)
		return false;
	sent = ios_sent_in(t, g);
	rise = ios_believed(t->p, &r->w, &sent, &base, &rise);
	return ios_excess(t, g, &rise) >= IOS_GROSS;
}

static bool is_complete(const struct ios_tick *t, const struct policy_guest *g,
			const struct ios_guest *r)
{
	int64_t ns = mono_sub(t->in->now, r->w.start), pause = t->link[g->link].pause;
	int64_t least = pause > (int64_t)t->p->window ? pause : (int64_t)t->p->window;

	if (ns < least)
		return false;
	if (r->w.n < t->p->min_samples)
		return ns >= (int64_t)t->p->stale && r->w.n * FEW >= t->p->min_samples;
	return ns >= IOS_LONG * least || is_gross(t, g, r);
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
		add_report(t, g, &r->w);
		if (is_complete(t, g, r)) {
			judge_window(t, g, r);
			r->w.open = 0;
		}
	}
}
