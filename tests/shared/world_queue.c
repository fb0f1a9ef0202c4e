// SPDX-License-Identifier: GPL-2.0-or-later
/* world_queue: the world's random numbers, and its queue of events by time (a binary heap). */
#include "src/core/random.h"
#include "tests/shared/world_priv.h"

uint64_t world_random(struct world *w)
{
	return random_next(&w->rng);
}

int64_t world_between(struct world *w, int64_t lo, int64_t hi)
{
	return hi <= lo ? lo : lo + (int64_t)(world_random(w) % (uint64_t)(hi - lo + 1));
}

static bool before(const struct world_event *a, const struct world_event *b)
{
	return a->t != b->t ? a->t < b->t : a->order < b->order;
}

void world_push(struct world *w, int64_t t, uint16_t type, uint16_t a, uint32_t value,
		uint32_t more)
{
	struct world_event e = { t < w->now ? w->now : t, w->order++, type, a, value, more };
	uint32_t i = w->heap_n;

	if (i >= WORLD_EVENTS) {
		w->broken = "too many events";
		return;
	}
	w->heap_n++;
	while (i != 0) {
		uint32_t parent = (i - 1) / 2;

		if (!before(&e, &w->heap[parent]))
			break;
		w->heap[i] = w->heap[parent];
		i = parent;
	}
	w->heap[i] = e;
}

struct world_event world_pop(struct world *w)
{
	struct world_event top = w->heap[0], last = w->heap[--w->heap_n];
	uint32_t i = 0;

	for (;;) {
		uint32_t c = 2 * i + 1;

		if (c >= w->heap_n)
			break;
		if (c + 1 < w->heap_n && before(&w->heap[c + 1], &w->heap[c]))
			c++;
		if (!before(&w->heap[c], &last))
			break;
		w->heap[i] = w->heap[c];
		i = c;
	}
	w->heap[i] = last;
	return top;
}
