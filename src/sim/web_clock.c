// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: what comes next in the web cluster, and the places of its jobs.
#include <errno.h>
#include <stdlib.h>

#include "src/sim/web_priv.h"

static bool sooner(const struct web_event *a, const struct web_event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static bool make_room(struct web *w)
{
	uint32_t room = w->room ? 2 * w->room : 1024;
	struct web_event *heap;

	if (w->events < w->room)
		return true;
	heap = realloc(w->heap, room * sizeof(*heap));
	if (!heap)
		return false;
	w->heap = heap;
	w->room = room;
	return true;
}

void web_at(struct web *w, int64_t at, enum web_event_kind kind, uint32_t a, uint32_t b)
{
	struct web_event e = { .at = at, .order = w->order++, .kind = kind, .a = a, .b = b };
	uint32_t i = w->events;

	if (!make_room(w)) {
		w->error = -ENOMEM;
		return;
	}
	for (; i && sooner(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = e;
	w->events++;
}

struct web_event web_take(struct web *w)
{
	struct web_event first = w->heap[0], last = w->heap[--w->events];
	uint32_t i = 0, child;

	for (; (child = 2 * i + 1) < w->events; i = child) {
		if (child + 1 < w->events && sooner(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!sooner(&w->heap[child], &last))
			break;
		w->heap[i] = w->heap[child];
	}
	w->heap[i] = last;
	return first;
}

uint32_t web_job_new(struct web *w, enum web_job_kind kind, uint32_t node)
{
	uint32_t i = w->free;

	if (i != WEB_NOBODY)
		w->free = w->job[i].next;
	else if (w->jobs < WEB_JOBS_MAX)
		i = w->jobs++;
	else
		return WEB_NOBODY;
	w->job[i] = (struct web_job){ .kind = kind, .node = node };
	return i;
}
