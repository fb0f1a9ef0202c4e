// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: what happens next, a binary heap of timers.
/*
 * Timers lie within the objects they belong to; the heap holds pointers, so
 * that a timer can be moved or taken out at any moment. The order of arming
 * breaks ties: a run is the same whenever its seed is the same.
 */
#include <assert.h>

#include "src/sim/model.h"

static bool fires_before(const struct sim_timer *a, const struct sim_timer *b)
{
	return a->when != b->when ? a->when < b->when : a->order < b->order;
}

static void place(struct sim_timers *ts, uint32_t pos, struct sim_timer *t)
{
	ts->heap[pos] = t;
	t->pos = pos;
}

static void sift_up(struct sim_timers *ts, struct sim_timer *t)
{
	uint32_t pos = t->pos;

	for (; pos > 1 && fires_before(t, ts->heap[pos / 2]); pos /= 2)
		place(ts, pos, ts->heap[pos / 2]);
	place(ts, pos, t);
}

static void sift_down(struct sim_timers *ts, struct sim_timer *t)
{
	uint32_t pos = t->pos;

	for (uint32_t child; (child = 2 * pos) <= ts->n; pos = child) {
		if (child < ts->n && fires_before(ts->heap[child + 1], ts->heap[child]))
			child++;
		if (!fires_before(ts->heap[child], t))
			break;
		place(ts, pos, ts->heap[child]);
	}
	place(ts, pos, t);
}

void sim_timer_disarm(struct sim_timers *ts, struct sim_timer *t)
{
	struct sim_timer *last;
	uint32_t pos = t->pos;

	if (!pos)
		return;
	t->pos = 0;
	last = ts->heap[ts->n--];
	if (last == t)
		return;
	place(ts, pos, last);
	/*
	 * The heap's last timer fills the gap. It may be earlier or later than what is
	 * around it: one of the two calls moves it, or none.
	 */
	sift_up(ts, last);
	sift_down(ts, last);
}

void sim_timer_arm(struct sim_timers *ts, struct sim_timer *t, int64_t when)
{
	sim_timer_disarm(ts, t);
	assert(ts->n < SIM_TIMERS_MAX);
	t->when = when;
	t->order = ts->order++;
	place(ts, ++ts->n, t);
	sift_up(ts, t);
}

struct sim_timer *sim_timer_due(struct sim_timers *ts, int64_t limit)
{
	struct sim_timer *t;

	if (!ts->n || ts->heap[1]->when > limit)
		return NULL;
	t = ts->heap[1];
	sim_timer_disarm(ts, t);
	return t;
}
