// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * events: the sampler's events, drained by guests_work and acted on.
 */
#include <string.h>

#include "src/guests/guests_priv.h"

/* An event may be about the slot's former guest: created tells them apart. */
static struct guest_entry *guest_of_event(struct guests *gs, const struct event *ev)
{
	struct guest_entry *g = ev->slot < FLOW_GUESTS_MAX ? gs->guest[ev->slot] : NULL;

	return g && g->key.created == ev->created && !g->leaving ? g : NULL;
}

static void cap_event(struct guests *gs, const struct guest_entry *g, const struct event *ev,
		      int64_t wall_ns)
{
	/* Report the first and the last step only: those between would drive out other events. */
	if (!ev->a)
		guests_event(gs, wall_ns, g->name, "cap", "no cap (was %lld %%)", (long long)ev->c);
	else if (!ev->c)
		guests_event(gs, wall_ns, g->name, "cap", "capped at %lld %% (was not capped)",
			     (long long)ev->a);
}

/*
 * A ring at fault makes no event: its owner destroyed it, and the agent withdraws it. One that came
 * back at fault does.
 */
void events_forged(struct guests *gs, struct guest_entry *g, struct mono now, int64_t wall_ns)
{
	struct guest_forged f;

	if (!guest_forged_next(g->mon, &f))
		return;
	g->forged = true;
	/* Rate-limit: a faulty guest must not drive out other events. ring-list shows all. */
	if (g->fault_reported.ns && mono_sub(now, g->fault_reported) < FAULT_EVENTS_NS) {
		g->faults_unreported++;
		return;
	}
	guests_event(
		gs, wall_ns, g->name, "ring-forged",
		"ring %u is still published: %s; forged, or its agent does not follow: restart "
		"resex-agent (%u more)",
		f.id, ring_fault_text(f.why), g->faults_unreported);
	g->fault_reported = now;
	g->faults_unreported = 0;
}

static void ring_fault_event(struct guests *gs, struct guest_entry *g, const struct event *ev,
			     int64_t wall_ns)
{
	enum ring_fault why = (enum ring_fault)ev->b;

	if (guest_drop_faulty(g->mon, (uint32_t)ev->a, why, ev->time) == 1) {
		/* Wait for a set without the ring: one published before still names it. */
		g->reap_serial = 0;
		gs->publish_due = true;
	}
	events_forged(gs, g, ev->time, wall_ns);
}

static void guest_event(struct guests *gs, struct guest_entry *g, const struct event *ev,
			int64_t wall_ns)
{
	switch ((enum event_type)ev->type) {
	case EVENT_RING_FAULT:
		ring_fault_event(gs, g, ev, wall_ns);
		break;
	case EVENT_CAP:
		cap_event(gs, g, ev, wall_ns);
		break;
	case EVENT_CAP_FAILED:
		guests_event(gs, wall_ns, g->name, "cap-failed", "cap %lld was refused: %s",
			     (long long)ev->a, strerror((int)ev->b));
		if (ev->b == EOPNOTSUPP)
			operator_uncappable(gs, g, wall_ns);
		break;
	case EVENT_CAP_FOREIGN:
		operator_cap(gs, g, (uint32_t)ev->a, (uint32_t)ev->c, wall_ns);
		break;
	case EVENT_EMPTY:
		guests_event(gs, wall_ns, g->name, "empty",
			     "spent all its %lld Resos of this epoch",
			     (long long)(ev->a / RESO_MILLI));
		break;
	case EVENT_REFRESH: /* entry_work refreshes: guest_due is true */
	case EVENT_LATE:
		break;
	}
}

/* At most a full ring each turn: the sampler fills it meanwhile, and this loop must end. */
void events_drain(struct guests *gs, int64_t wall_ns)
{
	struct event ev;

	for (int i = 0; i < EVENTS_MAX && event_get(gs->ho, &ev); i++) {
		struct guest_entry *g;

		if (ev.type == EVENT_LATE) {
			guests_event(gs, wall_ns, "", "late", "a tick came %lld us late",
				     (long long)(ev.a / NS_PER_US));
			continue;
		}
		g = guest_of_event(gs, &ev);
		if (g)
			guest_event(gs, g, &ev, wall_ns);
	}
}
