// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * unread: what a guest is charged while a send queue that it publishes cannot be read.
 *
 *  - It is charged at least at a rate: its last one, or the one of its settings, which may be 0.
 *  - Its last rate is what was counted in the last whole second in which all its queues were
 *    read, or in the part of a second after it, if that is more.
 *  - What its other queues count meanwhile is part of that rate. Only what is missing is added,
 *    as MTUs sent, and marked as estimated. What they count beyond the rate is put against later
 *    ticks, up to the worth of one second.
 *  - The charge ends when the queue is read again or is not published any more. A guest that is
 *    paused is not charged.
 */
#include "src/tick/sampler.h"

void unread_second(struct unread *w)
{
	w->rate = (uint64_t)((unsigned __int128)w->mtus * NS_PER_S / (uint64_t)w->ns);
	w->mtus = 0;
	w->ns = 0;
}

static void begin(struct unread *w)
{
	if (w->active)
		return;
	if (w->mtus > w->rate)
		w->rate = w->mtus;
	w->active = true;
	w->mtus = w->part = w->ahead = 0;
	w->ns = 0;
}

/* Whole MTUs of the rate in this tick; the rest of one is kept. */
static uint64_t mtus_due(struct unread *w, uint64_t rate, int64_t elapsed_ns)
{
	unsigned __int128 part = (unsigned __int128)rate * (uint64_t)elapsed_ns + w->part;

	w->part = (uint64_t)(part % NS_PER_S);
	return (uint64_t)(part / NS_PER_S);
}

static void charge(struct slot *sl, struct usage *u, uint64_t counted, int64_t elapsed_ns,
		   bool runs)
{
	const struct set_guest *g = sl->guest;
	struct unread *w = &sl->unread;
	uint64_t rate, due;

	begin(w);
	if (!runs)
		return;
	rate = g->last_rate ? w->rate : g->unreadable_mtus_s;
	due = mtus_due(w, rate, elapsed_ns);
	w->ahead = sat_add(w->ahead, counted);
	if (w->ahead >= due) {
		w->ahead -= due;
		if (w->ahead > rate)
			w->ahead = rate;
		return;
	}
	due -= w->ahead;
	w->ahead = 0;
	u->mtus_sent = sat_add(u->mtus_sent, due);
	u->flags |= USAGE_ESTIMATED;
	w->total = sat_add(w->total, due);
}

void unread_charge(struct slot *sl, struct usage *u, int64_t elapsed_ns, bool runs)
{
	uint64_t counted = sat_add(u->mtus_sent, u->mtus_recv);

	if (elapsed_ns < 0)
		elapsed_ns = 0;
	if (sl->guest->unreadable)
		charge(sl, u, counted, elapsed_ns, runs);
	else
		unread_measure(&sl->unread, counted, elapsed_ns);
}
