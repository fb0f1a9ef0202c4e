// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares_rate: how verdicts change rates. See ioshares.h for the steps.
 *
 * A verdict against a guest raises its rate; calm windows take the raise back
 * little by little; and a guest at its lowest cap is released when the cap did not
 * help its accuser.
 */
#include "policies/ioshares.h"

struct cap_bounds ios_bounds(const struct ios_params *p, const struct policy_guest *g)
{
	struct cap_bounds b = g->bounds;

	if (b.min_mpct < p->min_cap)
		b.min_mpct = (uint32_t)p->min_cap;
	return b;
}

/*
 * The rate at which the cap reaches its lowest value: a higher one would not slow the guest
 * further, and would take longer to come back.
 */
uint64_t ios_rate_max(const struct ios_params *p, const struct policy_guest *g)
{
	uint64_t max = ios_full(g) * IOS_ONE / ios_bounds(p, g).min_mpct;

	if (max > UINT32_MAX)
		max = UINT32_MAX;
	return max > IOS_ONE ? max : IOS_ONE;
}

/*
 * What reporters remember about the offender goes, too: a later verdict against it begins
 * anew.
 */
void ios_release(struct ios_tick *t, struct ios_guest *s, uint32_t slot)
{
	s->rate = IOS_ONE;
	s->at_floor = 0;
	s->has_accuser = 0;
	for (uint32_t i = 0; i < t->in->guests; i++)
		t->state[t->in->guest[i].slot].first_intf[slot] = 0;
}

void ios_raises(struct ios_tick *t)
{
	bool raised[FLOW_LINKS_MAX] = { false };

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];
		struct ios_guest *s = &t->state[g->slot];
		uint64_t max = ios_rate_max(t->p, g);

		if (!t->raise[g->slot])
			continue;
		s->rate += t->raise[g->slot];
		if (s->rate > max)
			s->rate = max;
		s->has_accuser = 1;
		s->accuser = t->raiser[g->slot];
		t->global->link[g->link].raised = t->in->now;
		raised[g->link] = true;
	}
	/* One raise a window: reports at the old rate are not evidence about the new one. */
	for (uint32_t i = 0; i < t->in->guests; i++)
		if (raised[t->in->guest[i].link])
			t->state[t->in->guest[i].slot].w.open = 0;
}

/* --- 8: calm ---------------------------------------------------------------------- */

static bool any_is_over(const struct ios_tick *t, uint32_t link)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];

		if (g->link == link && t->state[g->slot].verdict == IOS_OVER)
			return true;
	}
	return false;
}

/*
 * A part of the rest each time would never reach 1: near the full cap (lift) the guest is
 * released.
 */
static void back_off(struct ios_tick *t, const struct policy_guest *g)
{
	struct ios_guest *s = &t->state[g->slot];
	uint64_t full = ios_full(g);

	if (s->rate == IOS_ONE)
		return;
	s->rate = IOS_ONE + (s->rate - IOS_ONE) * (1000 - t->p->back_off) / 1000;
	if (full * IOS_ONE / s->rate * 1000 >= t->p->lift * full)
		ios_release(t, s, g->slot);
}

/* A link without reports is calm, too: no guest on it asks to be protected. */
static void calm_link(struct ios_tick *t, uint32_t link)
{
	const struct ios_tick_link *l = &t->link[link];
	struct ios_link *g = &t->global->link[link];
	struct mono now = t->in->now;

	if (!g->calm_time.ns)
		g->calm_time = now;
	if (l->over) {
		g->calm = 0;
		g->calm_time = now;
		return;
	}
	if (mono_sub(now, g->calm_time) < (int64_t)t->p->window || (l->reports && !l->complete) ||
	    any_is_over(t, link))
		return;
	g->calm++;
	g->calm_time = now;
	if (g->calm < t->p->calm)
		return;
	for (uint32_t i = 0; i < t->in->guests; i++)
		if (t->in->guest[i].link == link)
			back_off(t, &t->in->guest[i]);
}

void ios_calm(struct ios_tick *t)
{
	for (uint32_t l = 0; l < FLOW_LINKS_MAX; l++)
		if (t->link[l].used)
			calm_link(t, l);
}

/* --- 9: futility -------------------------------------------------------------------- */

/* Did the accuser gain too little from this guest's lowest cap? */
static bool cap_is_futile(const struct ios_tick *t, const struct ios_guest *s, uint32_t slot)
{
	const struct ios_guest *r = &t->state[s->accuser];

	if (!s->has_accuser || !t->guest[s->accuser] || r->verdict != IOS_OVER || r->blamed != slot)
		return false;
	return r->intf * 1000 > r->first_intf[slot] * (1000 - t->p->futile_gain);
}

static void release_if_futile(struct ios_tick *t, const struct policy_guest *g)
{
	struct ios_guest *s = &t->state[g->slot];
	struct ios_guest *r = &t->state[s->accuser];
	struct mono now = t->in->now;

	if (!t->p->futile || s->rate == IOS_ONE || s->rate != ios_rate_max(t->p, g)) {
		s->at_floor = 0;
		return;
	}
	if (!s->at_floor) {
		s->at_floor = 1;
		s->floor_since = now;
	}
	if (mono_sub(now, s->floor_since) < (int64_t)t->p->futile || !cap_is_futile(t, s, g->slot))
		return;
	r->rest_until[g->slot] = mono_add(now, (int64_t)t->p->futile_rest);
	if (mono_sub(r->rest_until[g->slot], r->rest_last) > 0)
		r->rest_last = r->rest_until[g->slot];
	ios_release(t, s, g->slot);
}

void ios_futility(struct ios_tick *t)
{
	for (uint32_t i = 0; i < t->in->guests; i++)
		release_if_futile(t, &t->in->guest[i]);
}
