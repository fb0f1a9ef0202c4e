// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * slot: the state of an operation: FREE, WAITS, SENT, OVER, RETURNED, FREE (backend.h); a
 * READ whose deadline passes is LATE after SENT. Bit masks of the link find the slots in a state
 * without a search. slot_move (front.h) changes the state.
 */
#include "src/transport/front/front.h"

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
