// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest_kept: send queues that left are kept in mind, unmapped, in case they come back. guest.c and
 * guest_map.c call it. See guest.h.
 *
 * A ring comes back under another id when its agent withdraws it and finds it again in a child
 * process, or starts again. It is the same ring if its frames are the same, its queue pair is not
 * known to be another, and its memory is not behind what was counted (ring_resume). It is then
 * counted from there: opened as a new ring, its history would be counted twice. Without a number,
 * the newest entry that was counted must still be there, too.
 */
#include <string.h>

#include "ibmon/guest_priv.h"
#include "ibmon/ring/ops.h"

static bool same_layout(const struct ring_desc *a, const struct ring_desc *b)
{
	return a->kind == b->kind && a->provider == b->provider && a->elem_size == b->elem_size &&
	       a->entries == b->entries && a->offset == b->offset && a->frames == b->frames &&
	       a->db_frame == b->db_frame && a->db_offset == b->db_offset;
}

bool same_memory(const struct guest_mon *g, const struct ring_slot *s, const struct ring_desc *d)
{
	return same_layout(&s->desc, d) &&
	       !memcmp(s->frame, &g->reg->frame[d->first_frame], d->frames * sizeof(s->frame[0]));
}

/*
 * An idle queue pair is destroyed, and the next one gets its memory and works there. Until its ring
 * is withdrawn, this work is counted as its own; then as the history of the next one.
 */
static void doubt_counted_twice(const struct ring_slot *was, const struct ring_slot *s)
{
	if (!s->ring || !s->addr || was->desc.number == s->desc.number ||
	    !same_layout(&was->desc, &s->desc) ||
	    memcmp(was->frame, s->frame, s->frames * sizeof(s->frame[0])) != 0)
		return;
	if (ring_counted_here(was->ring, s->addr, (size_t)s->frames * HV_PAGE))
		ring_set_bounded(s->ring);
}

/* The kernel deals numbers of queue pairs in turn: another number is another ring. */
static bool may_be(const struct guest_mon *g, const struct ring_slot *s, const struct ring_desc *d)
{
	if (s->desc.number && d->number && s->desc.number != d->number)
		return false;
	return d->kind == RING_SQ && same_memory(g, s, d);
}

bool kept_soon(const struct guest_mon *g, const struct ring_desc *d)
{
	for (const struct ring_slot *s = g->leaving; s; s = s->next)
		if (may_be(g, s, d))
			return true;
	return false;
}

/* Take the i-th out. Its totals outlive it, or the guest's sums would fall. */
static struct ring_slot *kept_take(struct guest_mon *g, uint32_t i)
{
	struct ring_slot *s = g->kept[i];

	g->kepts--;
	memmove(&g->kept[i], &g->kept[i + 1], (g->kepts - i) * sizeof(g->kept[0]));
	g->kept_frames -= s->desc.frames;
	return s;
}

static void forget(struct guest_mon *g, struct ring_slot *s)
{
	struct ring_totals t;

	ring_totals(s->ring, &t);
	ring_totals_add(&g->gone, &t);
	ring_slot_free(g, s);
}

static void forget_old(struct guest_mon *g)
{
	while (g->kepts && mono_sub(g->now, g->kept[0]->left) >= GUEST_KEPT_S * NS_PER_S)
		forget(g, kept_take(g, 0));
}

/* What is kept of a ring is smaller than the ring: together they are not larger than one ring. */
void kept_add(struct guest_mon *g, struct ring_slot *s)
{
	ring_slot_unmap(g, s);
	if (s->desc.kind != RING_SQ) { /* only send queues are charged */
		ring_slot_free(g, s);
		return;
	}
	for (uint32_t i = 0; i < g->rings; i++)
		doubt_counted_twice(s, g->ring[i]);
	forget_old(g);
	while (g->kepts == GUEST_RINGS_MAX ||
	       (g->kepts && g->kept_frames + s->desc.frames > GUEST_RING_FRAMES_MAX))
		forget(g, kept_take(g, 0));
	s->left = g->now;
	g->kept[g->kepts++] = s;
	g->kept_frames += s->desc.frames;
}

/*
 * What is visible was counted, or never is: of a ring at fault whose number is the same, and of one
 * without a number that may be the former one or another.
 */
void kept_resume(struct guest_mon *g, struct ring_slot *s, struct mono now)
{
	struct ring_slot *was;
	uint32_t i;
	bool same;
	int rc;

	g->now = now;
	forget_old(g);
	for (i = 0; i < g->kepts; i++)
		doubt_counted_twice(g->kept[i], s);
	while (i > 0 && !may_be(g, g->kept[i - 1], &s->desc))
		i--;
	if (!i)
		return;
	was = kept_take(g, i - 1);
	same = s->desc.number && s->desc.number == was->desc.number;
	rc = ring_resume(was->ring, &s->desc, s->addr, (size_t)s->frames * HV_PAGE,
			 mono_sub(now, was->left), !same);
	if (rc > 0) {
		ring_close(s->ring);
		s->ring = was->ring;
		was->ring = NULL;
		s->old = was->old;
		missed_again(&g->missed, s->desc.id);
		ring_slot_free(g, was);
		return;
	}
	if (rc || (same && ring_fault(was->ring)))
		ring_skip_history(s->ring);
	else
		ring_may_be_reset(s->ring);
	forget(g, was);
}

void kept_close(struct guest_mon *g)
{
	while (g->kepts)
		forget(g, kept_take(g, 0));
}
