// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares_rate: how verdicts change rates. See ioshares.h for the steps.
 *
 * A verdict raises the rates of the guests that it blames; calm windows take the
 * raises back step by step; and a guest is released when its cap did not help its
 * accuser.
 */
#include "policies/ioshares.h"

enum {
	AT_MOST = 2000,	     /* one window raises a rate to at most so much of it, permille */
	AT_MOST_HUGE = 8000, /* and for huge harm: a slow reporter has few windows */
	/* A raise above PLATEAU is doubled when the last one left ALIKE of the excess, permille. */
	PLATEAU = 1200,
	ALIKE = 970,
	TARGET = 900,	 /* a raise aims at this part of the tolerance, permille */
	LIFT = 950,	 /* from this part of the full cap on, a cap that goes back is lifted */
	EXAGGERATED = 2, /* so many times as much is claimed as is believed */
	PLACE_BITS = 8,
	CYCLE = 5, /* refills after which cap 1 lets a guest run: 500 us, the scheduler's least */

	/* Up to this excess (fixed point) all rates of a link go back at once. */
	IOS_FAR = 4 * 65536 / 10,
};

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
	s->next_rate = 0;
	s->before = 0;
	s->pinned = 0;
	s->has_accuser = 0;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		t->state[i].first_intf[slot] = 0;
}

/* A guest's cap in whole percent at this rate, as it would be written. */
static uint64_t percent_at(const struct policy_guest *g, uint64_t rate)
{
	return cap_to_percent((struct cap){ 1, (uint32_t)(ios_full(g) * IOS_ONE / rate) });
}

/* A rate above this one by so much, permille, and at least by so much that the cap changes. */
static uint64_t rate_above(const struct policy_guest *g, uint64_t rate, uint64_t permille)
{
	uint64_t percent = percent_at(g, rate), up = rate * permille / 1000, next = up;

	if (percent > 1)
		next = ios_full(g) * IOS_ONE / ((percent - 1) * 1000);
	return up > next ? up : next;
}

/* A rate below this one by so much, permille, and at least by one percent of cap. */
static uint64_t rate_below(const struct policy_guest *g, uint64_t rate, uint64_t permille)
{
	uint64_t down = rate * (1000 - permille) / 1000;
	uint64_t next = ios_full(g) * IOS_ONE / ((percent_at(g, rate) + 1) * 1000);

	return down < next ? down : next;
}

/*
 * Each guest of the set is to send less, by the factor of the reporter's rise over nine tenths of
 * its tolerance: the harm is about proportional to what they send. Of several demands in a tick
 * the largest rate counts, of equals the first.
 */
void ios_demand(struct ios_tick *t, const struct policy_guest *g, uint64_t before)
{
	struct ios_guest *r = &t->state[g->slot];
	uint64_t most = r->excess >= IOS_HUGE ? AT_MOST_HUGE : AT_MOST;
	uint64_t by = r->excess * 1000000 / (TARGET * IOS_ONE);

	/* With large messages many caps are alike: one message a refill. Such caps are skipped. */
	if (before && by > PLATEAU && r->excess * 1000 > before * ALIKE && by < AT_MOST)
		by = AT_MOST;
	if (by > most)
		by = most;
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *o = &t->in->guest[i];
		const struct ios_guest *s = &t->state[o->slot];
		uint64_t rate;

		if (!ios_in_set(&r->blamed, o->slot))
			continue;
		if (!r->first_intf[o->slot])
			r->first_intf[o->slot] = (uint32_t)r->intf;
		rate = rate_above(o, s->rate, by);
		/* The first complaint after a step back undoes that step, and no more. */
		if (s->before && r->excess < IOS_GROSS)
			rate = s->before;
		if (rate > t->raise[o->slot]) {
			t->raise[o->slot] = rate;
			t->raiser[o->slot] = g->slot;
		}
	}
}

/* A raise takes effect at its time (step 2); windows wait for the last one of a set. */
static void raise_later(struct ios_tick *t, const struct policy_guest *g, uint64_t rate, int64_t ns)
{
	struct ios_guest *s = &t->state[g->slot];
	struct mono *raised = &t->global->link[g->link].raised;

	s->next_rate = rate;
	s->next_time = mono_add(t->in->now, ns);
	if (mono_sub(s->next_time, *raised) > 0)
		*raised = s->next_time;
}

/* The lowest place that no other taxed guest of the link has. False: there is no other. */
static bool find_place(const struct ios_tick *t, const struct policy_guest *g, uint32_t *place)
{
	struct ios_set used = { .guests = 0 };
	bool others = false;

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *o = &t->in->guest[i];
		const struct ios_guest *s = &t->state[o->slot];

		if (o->link != g->link || o == g || (s->rate == IOS_ONE && !s->next_rate))
			continue;
		used.bits[s->place / 64] |= 1ull << s->place % 64;
		others = true;
	}
	*place = 0;
	while (used.bits[*place / 64] >> *place % 64 & 1)
		(*place)++;
	return others;
}

/* Places are far apart, however many there are: 0, 1/2, 1/4, 3/4, 1/8 ... of a cycle. */
static int64_t time_of_place(int64_t cycle, uint32_t place)
{
	uint32_t part = 0;

	for (uint32_t bit = 0; bit < PLACE_BITS; bit++)
		part |= (place >> bit & 1) << (PLACE_BITS - 1 - bit);
	return cycle * part >> PLACE_BITS;
}

/*
 * The scheduler refills a capped guest's budget at fixed times, and at cap 1 the guest runs after
 * each CYCLE refills. Guests that were capped at one moment would all send at one moment for
 * ever: so each taxed guest of a link has a place in such a cycle, at which its raises take effect.
 * Cycles are counted from the last raise of a guest that was the only one.
 */
static int64_t time_to_raise(const struct ios_tick *t, const struct policy_guest *g)
{
	struct ios_guest *s = &t->state[g->slot];
	struct ios_link *l = &t->global->link[g->link];
	int64_t cycle = (int64_t)t->p->bite * CYCLE;
	uint32_t place;
	bool others = find_place(t, g, &place);

	if (s->rate == IOS_ONE || !others)
		s->place = place;
	if (!others)
		l->cycles = t->in->now;
	if (!cycle)
		return 0;
	return (time_of_place(cycle, s->place) + cycle - mono_sub(t->in->now, l->cycles) % cycle) %
	       cycle;
}

/* False: all rates of the link stay as they are. */
static bool raise_link(struct ios_tick *t, uint32_t link)
{
	struct mono *raised = &t->global->link[link].raised;
	bool any = false;

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];
		struct ios_guest *s = &t->state[g->slot];
		uint64_t rate = t->raise[g->slot], max = ios_rate_max(t->p, g);
		int64_t after;

		if (g->link != link || !rate)
			continue;
		rate = rate < max ? rate : max;
		s->before = 0;
		s->has_accuser = 1;
		s->accuser = t->raiser[g->slot];
		if (rate == s->rate)
			continue;
		after = time_to_raise(t, g);
		any = true;
		if (mono_sub(t->in->now, *raised) > 0)
			*raised = t->in->now;
		if (after)
			raise_later(t, g, rate, after);
		else
			s->rate = rate;
	}
	return any;
}

void ios_raises(struct ios_tick *t)
{
	bool raised[FLOW_LINKS_MAX] = { false };

	for (uint32_t l = 0; l < FLOW_LINKS_MAX; l++)
		raised[l] = t->link[l].used && raise_link(t, l);
	/* One raise a window: reports at the old rate are not evidence about the new one. */
	for (uint32_t i = 0; i < t->in->guests; i++)
		if (raised[t->in->guest[i].link])
			t->state[t->in->guest[i].slot].w.open = 0;
}

/* --- 8: calm ---------------------------------------------------------------------- */

/* The largest excess of the link's reporters that are within their tolerance. */
static uint64_t nearest_excess(const struct ios_tick *t, uint32_t link)
{
	uint64_t nearest = 0;

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];
		const struct ios_guest *r = &t->state[g->slot];

		if (g->link == link && r->verdict == IOS_FINE && r->excess > nearest)
			nearest = r->excess;
	}
	return nearest;
}

/* Does a reporter want the rates of its link to stay as they are? */
static bool is_held(const struct ios_tick *t, uint32_t link)
{
	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];

		if (g->link == link && t->state[g->slot].holds)
			return true;
	}
	return false;
}

/*
 * A part of the rate each time would never reach 1: near the full cap (LIFT) the guest is
 * released.
 */
static void back_off(struct ios_tick *t, const struct policy_guest *g)
{
	struct ios_guest *s = &t->state[g->slot];
	uint64_t full = ios_full(g), rate = rate_below(g, s->rate, t->p->back_off);

	if (s->rate == IOS_ONE)
		return;
	s->before = s->rate;
	s->rate = rate > IOS_ONE ? rate : IOS_ONE;
	if (full * IOS_ONE / s->rate * 1000 >= LIFT * full)
		ios_release(t, s, g->slot);
}

/* Of a link's guests the one with the highest rate, of equals the lowest slot. */
static const struct policy_guest *slowest(const struct ios_tick *t, uint32_t link)
{
	const struct policy_guest *found = NULL;
	uint64_t highest = IOS_ONE;

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *g = &t->in->guest[i];

		if (g->link == link && t->state[g->slot].rate > highest) {
			highest = t->state[g->slot].rate;
			found = g;
		}
	}
	return found;
}

/*
 * Far below the tolerance all rates go back, nearer one at a time: with low caps a step of all
 * at once is too large (two guests from cap 1 to cap 2 send twice as much).
 */
static void back_off_link(struct ios_tick *t, uint32_t link)
{
	const struct policy_guest *one;

	if (nearest_excess(t, link) > IOS_FAR) {
		one = slowest(t, link);
		if (one)
			back_off(t, one);
		return;
	}
	for (uint32_t i = 0; i < t->in->guests; i++)
		if (t->in->guest[i].link == link)
			back_off(t, &t->in->guest[i]);
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
	    is_held(t, link))
		return;
	g->calm++;
	g->calm_time = now;
	if (g->calm < t->p->calm)
		return;
	back_off_link(t, link);
}

void ios_calm(struct ios_tick *t)
{
	for (uint32_t l = 0; l < FLOW_LINKS_MAX; l++)
		if (t->link[l].used)
			calm_link(t, l);
}

/* --- 9: futility -------------------------------------------------------------------- */

/* The reporter that complained last about this guest, if it still does; NULL: none. */
static const struct ios_guest *accuser_of(const struct ios_tick *t, const struct ios_guest *s,
					  uint32_t slot)
{
	const struct ios_guest *r = &t->state[s->accuser];

	if (!s->has_accuser || !t->guest[s->accuser] || !ios_in_set(&r->blamed, slot))
		return NULL;
	return r->verdict == IOS_OVER || r->verdict == IOS_NOBODY ? r : NULL;
}

/*
 * A guest is pinned at its lowest cap, and where its accuser claims far more than the traffic
 * that is left can cause: no higher rate follows from such claims.
 */
static bool is_pinned(const struct ios_tick *t, const struct policy_guest *g,
		      const struct ios_guest *r)
{
	return t->state[g->slot].rate == ios_rate_max(t->p, g) ||
	       (r && r->excess < IOS_GROSS && r->claimed >= EXAGGERATED * r->excess);
}

static void release_if_futile(struct ios_tick *t, const struct policy_guest *g)
{
	struct ios_guest *s = &t->state[g->slot];
	const struct ios_guest *r = accuser_of(t, s, g->slot);
	struct ios_guest *accuser = &t->state[s->accuser];
	struct mono now = t->in->now;

	if (!t->p->futile || s->rate == IOS_ONE || !is_pinned(t, g, r)) {
		s->pinned = 0;
		return;
	}
	if (!s->pinned) {
		s->pinned = 1;
		s->pinned_since = now;
	}
	if (!r || mono_sub(now, s->pinned_since) < (int64_t)t->p->futile)
		return;
	/* Has the accuser gained enough? */
	if (r->intf * 1000 <= r->first_intf[g->slot] * (1000 - t->p->futile_gain))
		return;
	accuser->rest_until[g->slot] = mono_add(now, (int64_t)t->p->futile_rest);
	if (mono_sub(accuser->rest_until[g->slot], accuser->rest_last) > 0)
		accuser->rest_last = accuser->rest_until[g->slot];
	ios_release(t, s, g->slot);
}

void ios_futility(struct ios_tick *t)
{
	for (uint32_t i = 0; i < t->in->guests; i++)
		release_if_futile(t, &t->in->guest[i]);
}
