// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rings: totals of rings, requested from the sampler. Control requests and
 * does not wait. The sampler copies all totals at its next tick; control reads
 * the copies at its next turn. The next request waits until all have read.
 */
#include <errno.h>

#include "src/guests/guests_priv.h"

/* At most this often: a copy costs the sampler about as much as reading the rings. */
#define RINGS_AGAIN_NS (10 * NS_PER_MS)
#define RINGS_WAIT_MAX (10 * NS_PER_S)

/* How long to wait for an answer: even a late sampler answers within 50 intervals. */
static int64_t answer_limit(const struct guests *gs)
{
	int64_t ns = 50 * gs->conf->interval_ns + 50 * NS_PER_MS;

	return ns < RINGS_WAIT_MAX ? ns : RINGS_WAIT_MAX;
}

static bool is_answered(const struct guests *gs)
{
	return atomic_load_explicit(&gs->ho->rings_shown, memory_order_acquire) == gs->rings.serial;
}

/*
 * The copies are read in place: the sampler must not write new ones before all readers of
 * the last answer are done.
 */
static void ask_sampler(struct guests *gs, struct mono now)
{
	struct rings_asked *q = &gs->rings;

	if (!q->next || q->readers || !is_answered(gs))
		return;
	if (q->serial && mono_sub(now, q->since) < RINGS_AGAIN_NS)
		return;
	q->readers = q->next;
	q->next = 0;
	q->since = now;
	atomic_store_explicit(&gs->ho->rings_asked, ++q->serial, memory_order_release);
}

/*
 * A new request always waits for the next answer: the one under way may be of a tick before
 * the request.
 */
int guests_rings(struct guests *gs, struct rings_ask *a, struct mono now)
{
	if (!a->serial) {
		a->serial = gs->rings.serial + 1;
		a->since = now;
		gs->rings.next++;
	}
	ask_sampler(gs, now);
	if (a->serial == gs->rings.serial && is_answered(gs))
		return 0;
	return mono_sub(now, a->since) > answer_limit(gs) ? -ETIMEDOUT : -EAGAIN;
}

void guests_rings_end(struct guests *gs, struct rings_ask *a)
{
	if (a->serial && a->serial == gs->rings.serial)
		gs->rings.readers--;
	else if (a->serial)
		gs->rings.next--;
	a->serial = 0;
}
