// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * slot: the state of an operation: FREE, WAITS, SENT, OVER, RETURNED, FREE (backend.h); a
 * READ whose deadline passes is LATE after SENT. Bit masks of the link and of the handle find the
 * slots in a state without a search.
 */
#include "src/transport/front/front.h"

void slot_move(struct transport *t, struct transport_out *o, struct transport_slot *s,
	       enum slot_state to)
{
	uint32_t bit = 1u << s->index;
	uint32_t host = (uint32_t)(o - t->out) + 1;
	uint32_t *const mask[] = { NULL, &o->waits, &o->sent, &o->late, &o->over, &o->returned };

	if (s->state != SLOT_FREE)
		*mask[s->state] &= ~bit;
	if (to != SLOT_FREE)
		*mask[to] |= bit;
	s->state = to;
	/* A poll visits only the links in these sets: most are idle at most times. */
	hostset_set(&t->waits, host, o->waits != 0);
	hostset_set(&t->returned, host, o->returned != 0);
}

struct transport_slot *slot_first(struct transport_out *o, uint32_t mask)
{
	struct transport_slot *first = NULL;

	for (; mask; mask &= mask - 1) {
		struct transport_slot *s = &o->slot[__builtin_ctz(mask)];

		if (!first || s->order < first->order)
			first = s;
	}
	return first;
}
