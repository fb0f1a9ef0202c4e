/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * front: what the files of the transport's front share among themselves. Each calls
 * those to its right only:
 *
 *	transport.c (the user's functions) -> link.c (links and callers)
 *		-> events.c (the queue of events for the user) -> slot.c (operations)
 */
#ifndef RESEX_TRANSPORT_FRONT_FRONT_H
#define RESEX_TRANSPORT_FRONT_FRONT_H

#include <stdint.h>
#include <string.h>

#include "src/transport/backend.h"

/* --- slot.c ------------------------------------------------------- */

static inline void slot_move(struct transport_out *o, struct transport_slot *s, enum slot_state to)
{
	uint32_t bit = 1u << s->index;

	o->in_state[s->state] &= ~bit;
	o->in_state[to] |= bit;
	s->state = to;
}

/* Of the slots in the mask, the one posted first; NULL when it is empty. */
struct transport_slot *slot_first(struct transport_out *o, uint32_t mask);

/* --- events.c ----------------------------------------------------- */

int events_init(struct transport *t);
void events_fini(struct transport *t);
/*
 * Queue the slot's result. The slot is OVER then. The caller may add old, data and len to what is
 * returned, before anything else is queued or taken.
 */
struct transport_event *events_result(struct transport *t, struct transport_out *o,
				      struct transport_slot *s, enum transport_outcome outcome,
				      int why);
/* Queue LOST for a READ that was sent and is overdue. The slot is LATE then. */
void events_late(struct transport *t, struct transport_out *o, struct transport_slot *s);
/* Nothing writes to the buffer of a LATE slot any more. */
void events_late_over(struct transport_out *o, struct transport_slot *s);
/* Queue an UP or a DOWN. text may be NULL. */
void events_link(struct transport *t, struct transport_out *o, enum transport_event_type type,
		 int why, const char *text);
bool events_any(const struct transport *t);
/* At the start of a poll: take back the buffers of the events that the last one returned. */
void events_return(struct transport *t);
size_t events_take(struct transport *t, struct transport_event *ev, size_t max);

/* --- link.c ------------------------------------------------------- */

/* Do what is due: deadlines, calls to make, calls that take too long. */
void links_timers(struct transport *t, struct mono now);
/* --- for all ------------------------------------------------------ */

static inline void front_due(struct transport *t, struct mono due)
{
	if (due.ns < t->due.ns)
		t->due = due;
}

/* Does a string of a conf or a peer have at least one character, and its NUL within size? */
static inline bool front_text_fits(const char *s, size_t size)
{
	return s[0] && strnlen(s, size) < size;
}

static inline uint16_t out_host(const struct transport *t, const struct transport_out *o)
{
	return (uint16_t)(o - t->out + 1);
}

#endif
