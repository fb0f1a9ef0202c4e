// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * event_log: events as text, for resex events and the log. All files of src/guests and the cluster
 * add to it; the control server reads it.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/guests/guests_priv.h"

/* Of all events in the journal; the field EVENT tells their kinds apart. man resexd(8) has it. */
#define MESSAGE_ID "b81500cadc3b4728bd8dacc7e83c3d40"

/* A flood of one sort must not drive out events of another: each sort has its own log. */
enum sort {
	RARE,
	ROUTINE, /* frequent: they go to the log at level debug only */
	CAPS,	 /* as ROUTINE, but fewer than those, and what operators look for */
	FOREIGN, /* other hosts, or any program that reaches this one, can cause them at any rate */
	WARNING, /* rare; a scenario on the simulated clock logs warnings alone */
};

static const struct {
	const char *kind;
	enum sort sort;
} kinds[] = {
	{ "agent-back", RARE },	    { "agent-silent", RARE },	 { "agreement", FOREIGN },
	{ "alarm", FOREIGN },	    { "balance", RARE },	 { "cap", CAPS },
	{ "cap-failed", RARE },	    { "counter", RARE },	 { "divergence", RARE },
	{ "divergence-end", RARE }, { "empty", ROUTINE },	 { "explain", RARE },
	{ "guest-gone", RARE },	    { "guest-new", RARE },	 { "guest-set", RARE },
	{ "host", FOREIGN },	    { "host-late", RARE },	 { "late", ROUTINE },
	{ "members", RARE },	    { "missed-qps", RARE },	 { "operator-cap", RARE },
	{ "operator-pool", RARE },  { "operator-weight", RARE }, { "own-cap", RARE },
	{ "pause", RARE },	    { "policy", RARE },		 { "policy-stopped", WARNING },
	{ "reconf", RARE },	    { "registry", RARE },	 { "release", RARE },
	{ "reload", RARE },	    { "resume", RARE },		 { "ring-forged", RARE },
	{ "trace", RARE },	    { "unheard", RARE },	 { "unpublished-qps", RARE },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

const char *guests_event_kind(size_t i)
{
	return i < KINDS ? kinds[i].kind : NULL;
}

static enum sort sort_of(const char *kind)
{
	size_t i = 0;

	while (i < KINDS && strcmp(kinds[i].kind, kind) != 0)
		i++;
	assert(i < KINDS); /* "resex events --kind" knows those of the table */
	return i < KINDS ? kinds[i].sort : RARE;
}

static struct event_log *log_of(struct guests *gs, enum sort sort)
{
	if (sort == FOREIGN)
		return &gs->foreign;
	if (sort == CAPS)
		return &gs->caps;
	return sort == ROUTINE ? &gs->routine : &gs->rare;
}

static enum log_level level_of(enum sort sort)
{
	if (sort == WARNING)
		return LOG_LVL_WARNING;
	return sort == ROUTINE || sort == CAPS ? LOG_LVL_DEBUG : LOG_LVL_INFO;
}

void guests_event(struct guests *gs, int64_t wall_ns, const char *guest, const char *kind,
		  const char *fmt, ...)
{
	const enum sort sort = sort_of(kind);
	struct event_log *l = log_of(gs, sort);
	struct event_text *e = &l->event[l->n++ % GUESTS_EVENTS];
	va_list ap;

	e->id = ++gs->events;
	e->wall_ns = wall_ns;
	snprintf(e->guest, sizeof(e->guest), "%s", guest ? guest : "");
	snprintf(e->kind, sizeof(e->kind), "%s", kind);
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	log_event(gs->log, level_of(sort), &(struct log_fields){ e->kind, e->guest, MESSAGE_ID },
		  e->text);
}

/*
 * The logs share one numbering: ids ascend within a log, with gaps. So the place is
 * searched for, not computed.
 */
static const struct event_text *log_after(const struct event_log *l, uint64_t id)
{
	uint64_t lo = l->n > GUESTS_EVENTS ? l->n - GUESTS_EVENTS : 0, hi = l->n;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (l->event[mid % GUESTS_EVENTS].id <= id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < l->n ? &l->event[lo % GUESTS_EVENTS] : NULL;
}

static const struct event_text *earlier_event(const struct event_text *a,
					      const struct event_text *b)
{
	if (!a || !b)
		return a ? a : b;
	return a->id < b->id ? a : b;
}

const struct event_text *guests_event_after(const struct guests *gs, uint64_t id)
{
	return earlier_event(earlier_event(log_after(&gs->rare, id), log_after(&gs->routine, id)),
			     earlier_event(log_after(&gs->caps, id), log_after(&gs->foreign, id)));
}
