// SPDX-License-Identifier: GPL-2.0-or-later
/* events: what the sampler tells, acted on and put into words. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/guests/guests_priv.h"

/* What happens all the time is not for the log, unless asked for. */
static bool is_routine(const char *kind)
{
	return !strcmp(kind, "cap") || !strcmp(kind, "empty") || !strcmp(kind, "late");
}

/* What other hosts cause, and strangers: as often as they like. */
static bool is_foreign(const char *kind)
{
	return !strcmp(kind, "alarm") || !strcmp(kind, "host");
}

static struct event_log *log_of(struct manager *m, const char *kind)
{
	if (is_foreign(kind))
		return &m->foreign;
	return is_routine(kind) ? &m->routine : &m->rare;
}

void manager_event(struct manager *m, int64_t wall_ns, const char *guest, const char *kind,
		   const char *fmt, ...)
{
	struct event_log *l = log_of(m, kind);
	struct event_text *e = &l->event[l->n++ % MANAGER_EVENTS];
	va_list ap;

	e->id = ++m->events;
	e->wall_ns = wall_ns;
	snprintf(e->guest, sizeof(e->guest), "%s", guest ? guest : "");
	snprintf(e->kind, sizeof(e->kind), "%s", kind);
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	log_msg(m->log, is_routine(kind) ? LOG_LVL_DEBUG : LOG_LVL_INFO, "%s%s%s: %s", e->kind,
		e->guest[0] ? " " : "", e->guest, e->text);
}

static const struct event_text *log_after(const struct event_log *l, uint64_t id)
{
	uint64_t lo = l->n > MANAGER_EVENTS ? l->n - MANAGER_EVENTS : 0, hi = l->n;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (l->event[mid % MANAGER_EVENTS].id <= id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->n ? &l->event[lo % MANAGER_EVENTS] : NULL;
}

static const struct event_text *older(const struct event_text *a, const struct event_text *b)
{
	if (!a || !b)
		return a ? a : b;
	return a->id < b->id ? a : b;
}

const struct event_text *manager_event_after(const struct manager *m, uint64_t id)
{
	return older(older(log_after(&m->rare, id), log_after(&m->routine, id)),
		     log_after(&m->foreign, id));
}

static struct managed *by_event(struct manager *m, const struct event *ev)
{
	struct managed *g = ev->slot < FLOW_GUESTS_MAX ? m->guest[ev->slot] : NULL;

	return g && g->key.created == ev->created && !g->leaving ? g : NULL;
}

static void cap_event(struct manager *m, const struct managed *g, const struct event *ev,
		      int64_t wall_ns)
{
	/* The steps in between are many, and soon all there would be to see. */
	if (!ev->a)
		manager_event(m, wall_ns, g->name, "cap", "no cap (was %lld %%)", (long long)ev->c);
	else if (!ev->c)
		manager_event(m, wall_ns, g->name, "cap", "capped at %lld %% (was not capped)",
			      (long long)ev->a);
}

static void ring_fault_event(struct manager *m, struct managed *g, const struct event *ev,
			     int64_t wall_ns)
{
	enum ring_fault why = (enum ring_fault)ev->b;

	if (guest_drop_faulty(g->mon, (uint32_t)ev->a, why) == 1) {
		/* A set published before may still be acknowledged, and holds it. */
		g->reap_serial = 0;
		m->publish_due = true;
	}
	/* A guest that makes faults must not flush everybody's events: ring-list has them all. */
	if (g->fault_told.ns && mono_sub(ev->time, g->fault_told) < FAULT_EVENTS_NS) {
		g->faults_untold++;
		return;
	}
	manager_event(m, wall_ns, g->name, "ring-fault",
		      "ring %lld is no longer read: %s (%u more since the last such event)",
		      (long long)ev->a, ring_fault_text(why), g->faults_untold);
	g->fault_told = ev->time;
	g->faults_untold = 0;
}

static void guest_event(struct manager *m, struct managed *g, const struct event *ev,
			int64_t wall_ns)
{
	switch ((enum event_type)ev->type) {
	case EVENT_RING_FAULT:
		ring_fault_event(m, g, ev, wall_ns);
		break;
	case EVENT_CAP:
		cap_event(m, g, ev, wall_ns);
		break;
	case EVENT_CAP_FAILED:
		manager_event(m, wall_ns, g->name, "cap-failed", "cap %lld was refused: %s",
			      (long long)ev->a, strerror((int)ev->b));
		break;
	case EVENT_EMPTY:
		manager_event(m, wall_ns, g->name, "empty",
			      "spent all its %lld Resos of this epoch",
			      (long long)(ev->a / RESO_MILLI));
		break;
	case EVENT_REFRESH: /* guest_due sees it */
	case EVENT_LATE:
		break;
	}
}

void events_drain(struct manager *m, int64_t wall_ns)
{
	struct event ev;

	for (int i = 0; i < EVENTS_MAX && event_get(m->sh, &ev); i++) {
		struct managed *g;

		if (ev.type == EVENT_LATE) {
			manager_event(m, wall_ns, "", "late", "a tick came %lld us late",
				      (long long)(ev.a / NS_PER_US));
			continue;
		}
		g = by_event(m, &ev);
		if (g)
			guest_event(m, g, &ev, wall_ns);
	}
}
