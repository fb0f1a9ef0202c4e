// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rings: the totals of rings, which are the sampler's. Control asks and
 * goes on; the sampler sets all of them aside at its next tick; who asked
 * reads them at its next turn. The next question waits until all have read.
 */
#include <errno.h>

#include "src/guests/guests_priv.h"

/* Not oftener: it costs the sampler about as much as reading the rings. */
#define RINGS_AGAIN_NS (10 * NS_PER_MS)
#define RINGS_WAIT_MAX (10 * NS_PER_S)

/* A sampler that is late answers within 50 intervals. */
static int64_t patience(const struct manager *m)
{
	int64_t ns = 50 * m->conf->interval_ns + 50 * NS_PER_MS;

	return ns < RINGS_WAIT_MAX ? ns : RINGS_WAIT_MAX;
}

static bool is_answered(const struct manager *m)
{
	return atomic_load_explicit(&m->sh->rings_shown, memory_order_acquire) == m->rings.serial;
}

static void ask_sampler(struct manager *m, struct mono now)
{
	struct rings_asked *q = &m->rings;

	if (!q->next || q->readers || !is_answered(m))
		return;
	if (q->serial && mono_sub(now, q->since) < RINGS_AGAIN_NS)
		return;
	q->readers = q->next;
	q->next = 0;
	q->since = now;
	atomic_store_explicit(&m->sh->rings_asked, ++q->serial, memory_order_release);
}

int manager_rings(struct manager *m, struct rings_ask *a, struct mono now)
{
	if (!a->serial) {
		a->serial = m->rings.serial + 1;
		a->since = now;
		m->rings.next++;
	}
	ask_sampler(m, now);
	if (a->serial == m->rings.serial && is_answered(m))
		return 0;
	return mono_sub(now, a->since) > patience(m) ? -ETIMEDOUT : -EAGAIN;
}

void manager_rings_end(struct manager *m, struct rings_ask *a)
{
	if (a->serial && a->serial == m->rings.serial)
		m->rings.readers--;
	else if (a->serial)
		m->rings.next--;
	a->serial = 0;
}
