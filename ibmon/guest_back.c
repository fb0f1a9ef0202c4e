// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest_back: rings at fault come back. See guest.h.
 *
 * A ring at fault was freed by its owner, or forged. Freed memory is harmless: the agent
 * withdraws the ring. So a ring that is still published is mapped again, first after
 * GUEST_RETRY_MIN_MS, then after twice as long each time, and counted from there. What was
 * visible before is not counted again.
 *
 * A ring that is again at fault, and still published GUEST_FORGED_MS after the first fault, is
 * forged, if its agent ran meanwhile. The agent looks for destroyed queue pairs each 100 ms or
 * sooner. But a guest with a low cap may not let it run for seconds. Its heartbeat tells: between
 * two of them it has looked. A guest whose heartbeat does not move is judged after
 * GUEST_FOLLOW_MS: it is forged, or its agent does not follow. Until then, as after it, the guest
 * is charged for what cannot be read (guest_unreadable), so it gains nothing by a heartbeat that
 * it holds back.
 */
#include <string.h>

#include "ibmon/guest_priv.h"
#include "ibmon/ring/ops.h"

/* Of the other faults, the guest's memory is not the reason: only a new descriptor helps. */
static bool fault_may_pass(enum ring_fault f)
{
	return f == RING_FAULT_HEADER || f == RING_FAULT_INDEX || f == RING_FAULT_ENTRY ||
	       f == RING_FAULT_JUMP;
}

enum { BEATS = 2 };

bool back_is_forged(const struct guest_mon *g, const struct ring_slot *s, struct mono now)
{
	uint64_t beat = g->registry ? registry_heartbeat(g->registry) : s->beat;
	int64_t ns = mono_sub(now, s->since);

	if (!s->since.ns || ns < GUEST_FORGED_MS * NS_PER_MS)
		return false;
	return beat - s->beat >= BEATS || ns >= GUEST_FOLLOW_MS * NS_PER_MS;
}

void back_later(struct guest_mon *g, struct ring_slot *s, struct mono now)
{
	if (!fault_may_pass(s->fault))
		return;
	if (s->opened.ns && mono_sub(now, s->opened) >= GUEST_RETRY_MAX_MS * NS_PER_MS) {
		s->since.ns = 0; /* it was read for long: begin anew */
		s->wait_ns = 0;
	}
	s->opened.ns = 0;
	s->wait_ns = s->wait_ns ? 2 * s->wait_ns : GUEST_RETRY_MIN_MS * NS_PER_MS;
	if (s->wait_ns > GUEST_RETRY_MAX_MS * NS_PER_MS)
		s->wait_ns = GUEST_RETRY_MAX_MS * NS_PER_MS;
	s->due = mono_add(now, s->wait_ns);
	if (!s->since.ns) {
		s->since = now;
		s->beat = g->registry ? registry_heartbeat(g->registry) : 0;
	} else if (back_is_forged(g, s, now)) {
		g->forged = (struct guest_forged){
			.id = s->desc.id, .why = s->fault, .times = g->forged.times + 1, .time = now
		};
		g->forged_told = false;
	}
	back_plan(g);
}

bool back_is_due(const struct ring_slot *s, struct mono now)
{
	return s->due.ns && mono_sub(now, s->due) >= 0;
}

void back_plan(struct guest_mon *g)
{
	g->back_due.ns = 0;
	for (uint32_t i = 0; i < g->rings; i++) {
		struct mono due = g->ring[i]->due;

		if (due.ns && (!g->back_due.ns || mono_sub(due, g->back_due) < 0))
			g->back_due = due;
	}
}

int back_now(struct guest_mon *g, uint32_t i, const struct ring_desc *d, struct mono now)
{
	struct ring_slot *was = g->ring[i], *s;
	int rc = ring_slot_new(g, d, now, &s);

	if (rc < 0)
		return rc;
	s->old = true;
	s->since = was->since;
	s->beat = was->beat;
	s->wait_ns = was->wait_ns;
	g->ring[i] = s;
	ring_slot_free(g, was); /* it is not mapped */
	if (rc) {
		back_later(g, s, now);
		return 0;
	}
	s->opened = now;
	ring_skip_history(s->ring);
	kept_resume(g, s, now);
	return 1;
}

bool guest_forged_next(struct guest_mon *g, struct guest_forged *f)
{
	if (!g->forged.times || g->forged_told)
		return false;
	g->forged_told = true;
	*f = g->forged;
	return true;
}
