// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * track_qpns: how many queue pairs came and went without a published ring: the kernel's lists of
 * queue pairs, compared with the rings of track.c by qpns.c. agent.c publishes the number.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "ibmon/agent/track_priv.h"

/* The counter of a device, by its index: the kernel uses an index again only after all others. */
static struct track_qpns *counter_of(struct track *t, uint32_t index, bool make)
{
	struct track_qpns *c;

	for (size_t i = 0; i < t->counters; i++)
		if (t->counter[i]->index == index)
			return t->counter[i];
	if (!make || t->counters == DEVICES_MAX)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->index = index;
	/* A device of the agent's start may have had queue pairs before. */
	qpns_init(&c->qpns, t->counted);
	t->counter[t->counters++] = c;
	return c;
}

static void counter_end(struct track *t, size_t i)
{
	struct track_qpns *c = t->counter[i];

	qpns_end(&c->qpns);
	t->unseen_ended += qpns_unseen(&c->qpns);
	free(c);
	t->counter[i] = t->counter[--t->counters];
}

static bool is_counted(const struct track_ring *r)
{
	return !r->id || r->what.kind != CLASS_SQ || r->counted;
}

/* Rings that were published and whose queue pair is in the newest list. */
static void count_named(struct track *t, struct qpns *q, uint32_t uverbs)
{
	for (size_t i = 0; i < t->rings; i++) {
		struct track_ring *r = t->ring[i];

		if (r->uverbs == uverbs && !is_counted(r))
			r->counted = qpns_ring(q, r->what.number);
	}
}

static void count_unnamed(struct track *t, struct qpns *q, uint32_t uverbs)
{
	for (size_t i = 0; i < t->rings; i++) {
		struct track_ring *r = t->ring[i];

		if (r->uverbs != uverbs || is_counted(r))
			continue;
		qpns_ring_unnamed(q);
		r->counted = true;
	}
}

void track_qpns_drop(struct track *t, struct track_ring *r)
{
	const struct device *d;
	struct track_qpns *c;

	if (is_counted(r))
		return;
	d = devices_find(&t->devices, r->uverbs);
	c = d ? counter_of(t, d->index, false) : NULL;
	if (c && !qpns_ring(&c->qpns, r->what.number))
		qpns_ring_unnamed(&c->qpns);
	r->counted = true;
}

/*
 * Before the new list, rings are found in the former one: their queue pair may be gone now. After
 * it, those of queue pairs that are new.
 */
static void count_device(struct track *t, const struct device *d)
{
	struct track_qpns *c = counter_of(t, d->index, true);

	if (!c || nldev_qps(t->devices.nl, d->index, &t->objects))
		return;
	count_named(t, &c->qpns, d->uverbs);
	qpns_list(&c->qpns, &t->objects);
	count_named(t, &c->qpns, d->uverbs);
	count_unnamed(t, &c->qpns, d->uverbs);
}

static bool has_device(const struct track *t, uint32_t index)
{
	for (uint32_t i = 0; i < t->devices.n; i++)
		if (t->devices.dev[i].known && t->devices.dev[i].index == index)
			return true;
	return false;
}

uint64_t track_unseen(struct track *t)
{
	uint64_t sum;

	devices_look(&t->devices);
	for (size_t i = t->counters; i-- > 0;)
		if (!has_device(t, t->counter[i]->index))
			counter_end(t, i);
	for (uint32_t i = 0; i < t->devices.n; i++)
		if (t->devices.dev[i].known && t->devices.dev[i].rxe)
			count_device(t, &t->devices.dev[i]);
	t->counted = true;
	sum = t->unseen_ended;
	for (size_t i = 0; i < t->counters; i++)
		sum += qpns_unseen(&t->counter[i]->qpns);
	return sum;
}

void track_qpns_close(struct track *t)
{
	while (t->counters)
		free(t->counter[--t->counters]);
}
