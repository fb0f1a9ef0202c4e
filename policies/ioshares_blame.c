// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares_blame: which guests are to blame together for a reporter's latency. See ioshares.h
 * for the steps.
 *
 * Guests are blamed as a set: each of six senders on a link sends no more than its victim, and
 * one sender can be split into any number of guests. Two questions are asked: does a guest belong
 * to the set, and does the set together send enough?
 */
#include "policies/ioshares.h"

#include "src/core/stats.h"

enum {
	/* A sender of larger messages belongs to the set if it has this part of the MTUs. */
	LARGE_PART = 4,
};

/* A snapshot above the sum is of a former guest of the slot. */
static uint64_t sent_since(uint64_t now, uint64_t then)
{
	return now >= then ? now - then : now;
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

static ios_wide capacity(const struct policy_link *l, int64_t ns)
{
	uint64_t mtu = l->mtu ? l->mtu : 1;
	ios_wide mtus = (ios_wide)l->bytes_s * (uint64_t)ns / ((ios_wide)mtu * NS_PER_S);

	return mtus ? mtus : 1;
}

struct ios_sent ios_sent_in(const struct ios_tick *t, const struct policy_guest *g)
{
	const struct ios_guest *r = &t->state[g->slot];
	int64_t ns = mono_sub(t->in->now, r->w.start);
	struct ios_sent sent = { .capacity = capacity(&t->in->link[g->link], ns) };

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *o = &t->in->guest[i];

		if (o->link == g->link)
			sent.all += raw_of(t, r, o);
	}
	sent.own = raw_of(t, r, g);
	return sent;
}

/*
 * What the reporter would send without pauses. A server that waits for clients half of the time
 * sends half as much as an equal server that does not wait, and must not blame it.
 */
static uint64_t busy_mtus(const struct ios_tick *t, const struct ios_window *w, uint64_t own)
{
	uint64_t ns = (uint64_t)mono_sub(t->in->now, w->start);
	ios_wide busy;

	if (!w->sum || w->sum >= ns)
		return own;
	busy = (ios_wide)own * ns / w->sum;
	return busy > UINT64_MAX ? UINT64_MAX : (uint64_t)busy; /* more than any guest sends */
}

static uint64_t size_of(const struct ios_guest *s)
{
	return s->size ? s->size : 1;
}

/*
 * Does a guest belong to the set? A taxed guest does while it sends: it is slowed down and its
 * victim is not, so what they send cannot be compared. Another guest does if it sends clearly more
 * than the reporter, or clearly larger messages and not much less: a large message delays a
 * small one by its whole length.
 */
static bool is_member(const struct ios_tick *t, const struct policy_guest *g,
		      const struct policy_guest *o, uint64_t own, uint64_t busy)
{
	const struct ios_guest *r = &t->state[g->slot], *s = &t->state[o->slot];
	uint64_t raw = raw_of(t, r, o);

	if (o == g || o->link != g->link || !ios_may_cap(o) || !raw)
		return false;
	if (mono_sub(r->rest_until[o->slot], t->in->now) > 0)
		return false;
	if (s->rate > IOS_ONE)
		return true;
	if ((ios_wide)weighted_of(t, r, o) * 1000 > (ios_wide)t->p->blame_ratio * busy)
		return true;
	return size_of(s) * 1000 > t->p->blame_ratio * size_of(r) &&
	       (ios_wide)raw * LARGE_PART >= own;
}

/*
 * When one request in n is late, the deviation rises by about the square root of
 * n times as much as the mean. So it has a tolerance of its own.
 */
uint64_t ios_excess(const struct ios_tick *t, const struct policy_guest *g,
		    const struct ios_rise *rise)
{
	uint64_t tolerance = g->sla.tolerance ? g->sla.tolerance : t->p->tolerance;
	uint64_t by_mean, by_dev;

	tolerance = tolerance ? tolerance : 1;
	by_mean = rise->mean * 1000 / tolerance;
	by_dev = rise->dev * 1000000 / (tolerance * t->p->dev_tolerance);
	return by_mean > by_dev ? by_mean : by_dev;
}

/*
 * The part of the time in which the others have requests under way, at most. The link serves these
 * then, and the reporter's: at most the part of it that it uses on average, or that they use.
 */
static uint64_t busy_part(const struct ios_sent *sent)
{
	ios_wide others = sent->all - sent->own, own = sent->own < others ? sent->own : others;

	if (others + own >= sent->capacity)
		return IOS_ONE;
	return (uint64_t)(others * IOS_ONE / (sent->capacity - own));
}

/* How long a request waits for others while they have requests under way, of its base latency. */
static uint64_t waits_while_busy(const struct ios_window *w, const struct ios_latency *base)
{
	ios_wide own = ios_fraction(base->io, base->mean);

	if (w->active)
		own = own * w->queues / w->active;
	return own > UINT32_MAX ? UINT32_MAX : (uint64_t)own;
}

/*
 * What the others' traffic can have caused at most. A link serves queue pairs in turn: beside each
 * that has work, a request waits for its own time there once more. A claim above that is not
 * evidence: it is exaggerated, or has another cause.
 */
struct ios_rise ios_believed(const struct ios_params *p, const struct ios_window *w,
			     const struct ios_sent *sent, const struct ios_latency *base,
			     const struct ios_rise *rise)
{
	uint64_t while_busy = waits_while_busy(w, base);
	uint64_t mean = while_busy * busy_part(sent) / IOS_ONE;
	/* Some requests wait so long. Their deviation over the base deviation has no bound. */
	uint64_t dev = p->sigma_over ? UINT32_MAX : isqrt64(mean * while_busy);
	struct ios_rise out = *rise;

	if (out.mean > mean)
		out.mean = mean;
	if (out.dev > dev)
		out.dev = dev;
	return out;
}

struct ios_set ios_blame(const struct ios_tick *t, const struct policy_guest *g,
			 const struct ios_sent *sent)
{
	const struct ios_guest *r = &t->state[g->slot];
	uint64_t own_size = size_of(r), busy = busy_mtus(t, &r->w, sent->own), most = 0;
	ios_wide untaxed = 0, bytes = 0; /* what they would send at rate 1, MTUs and x size */
	struct ios_set set = { .guests = 0 };
	bool taxed = false;

	for (uint32_t i = 0; i < t->in->guests; i++) {
		const struct policy_guest *o = &t->in->guest[i];
		const struct ios_guest *s = &t->state[o->slot];
		uint64_t raw = raw_of(t, r, o), w = weighted_of(t, r, o);

		if (!is_member(t, g, o, sent->own, busy))
			continue;
		set.bits[o->slot / 64] |= 1ull << o->slot % 64;
		set.guests++;
		untaxed += w;
		bytes += (ios_wide)w * (size_of(s) > own_size ? size_of(s) : own_size);
		taxed |= s->rate > IOS_ONE;
		if (raw > most) {
			most = raw;
			set.most = o->slot;
		}
	}
	/* Nobody is penalized for the same amount of I/O (paper VII-C), nor for little. */
	if (untaxed * 1000 < t->p->blame_floor * sent->capacity)
		set.guests = 0;
	if (!taxed && bytes * 1000 <= (ios_wide)t->p->blame_ratio * busy * own_size)
		set.guests = 0;
	return set;
}
