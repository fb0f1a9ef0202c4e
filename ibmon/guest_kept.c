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
 *
 * A ring comes back with other frames when its pages moved. Until the agent noticed, the host read
 * the old frames, which then held anything. Its agent says that it is the same ring: by its number,
 * its process and the time at which it was found. It is counted from where it was if the newest
 * entry that was counted is in the new frames, too, and no sample of the old ones was taken in
 * part. If not, it cannot be said how much of what is visible was counted: nothing of it is, and
 * the ring is marked (SAMPLE_UNCHARGED). If nothing was counted on it before, it is a new ring.
 * So it is with a ring that was kept no longer: its pages were absent for 10 s, for example.
 */
#include <string.h>

#include "ibmon/guest_priv.h"
#include "ibmon/ring/ops.h"

static bool same_form(const struct ring_desc *a, const struct ring_desc *b)
{
	return a->kind == b->kind && a->provider == b->provider && a->elem_size == b->elem_size &&
	       a->entries == b->entries && a->offset == b->offset && a->frames == b->frames &&
	       a->db_offset == b->db_offset;
}

static bool same_layout(const struct ring_desc *a, const struct ring_desc *b)
{
	return same_form(a, b) && a->db_frame == b->db_frame;
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

/* Does its agent say that d is s, with its pages elsewhere? */
static bool moved_to(const struct ring_slot *s, const struct ring_desc *d)
{
	const struct ring_desc *was = &s->desc;

	return d->kind == RING_SQ && d->created && d->created == was->created && d->number &&
	       d->number == was->number && d->pid == was->pid && same_form(was, d);
}

/* Rings that are not in the registry any more are reaped, or are going to be. */
bool kept_soon(const struct guest_mon *g, const struct ring_desc *d)
{
	for (const struct ring_slot *s = g->leaving; s; s = s->next)
		if (may_be(g, s, d) || moved_to(s, d))
			return true;
	for (uint32_t i = 0; i < g->rings; i++) {
		const struct ring_slot *s = g->ring[i];

		if (!s->seen && s->ring && (may_be(g, s, d) || moved_to(s, d)))
			return true;
	}
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
	if (!ring_is_blank(s->ring))
		g->forgotten[g->forgotten_next++ % GUEST_RINGS_MAX] =
			(struct forgotten){ s->desc.created, s->desc.number, s->desc.pid };
	ring_slot_free(g, s);
}

/* Was it counted, and is it not known any more how far? */
static bool was_forgotten(const struct guest_mon *g, const struct ring_desc *d)
{
	for (uint32_t i = 0; d->created && d->number && i < GUEST_RINGS_MAX; i++) {
		const struct forgotten *f = &g->forgotten[i];

		if (f->created == d->created && f->number == d->number && f->pid == d->pid)
			return true;
	}
	return false;
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

/* Go on counting in the memory of s from where was ended: as ring_resume. If 1, was is freed. */
static int go_on(struct guest_mon *g, struct ring_slot *s, struct ring_slot *was, struct mono now,
		 bool surely)
{
	int rc = ring_resume(was->ring, &s->desc, s->addr, (size_t)s->frames * HV_PAGE,
			     mono_sub(now, was->left), surely);

	if (rc <= 0)
		return rc;
	ring_close(s->ring);
	s->ring = was->ring;
	was->ring = NULL;
	s->old = was->old;
	missed_again(&g->missed, s->desc.id);
	ring_slot_free(g, was);
	return rc;
}

/* With that of the doorbell record: both have the same form. */
static bool same_frames(const struct ring_slot *a, const struct ring_slot *b)
{
	return !memcmp(a->frame, b->frame, a->frames * sizeof(a->frame[0]));
}

static bool has_counted(const struct ring *r)
{
	struct ring_totals t;

	ring_totals(r, &t);
	return t.wrs;
}

/*
 * The pages of s moved: go on with the newest of the kept rings that can. An older one may not go
 * on if a newer one counted something: that would be counted twice. The others are forgotten, since
 * the pages may move back. False: no ring that is kept is s.
 */
static bool moved_resume(struct guest_mon *g, struct ring_slot *s, struct mono now)
{
	bool found = false, blank = true, on = false, last = true;

	for (uint32_t i = g->kepts; i-- > 0;) {
		struct ring_slot *was = g->kept[i];

		if (!moved_to(was, &s->desc) || same_frames(was, s))
			continue;
		kept_take(g, i);
		found = true;
		if (!on && last && go_on(g, s, was, now, true) > 0) {
			on = true;
			continue;
		}
		blank = blank && ring_is_blank(was->ring);
		last = last && !has_counted(was->ring);
		s->old |= !on && !ring_was_read(was->ring) && was->old;
		forget(g, was);
	}
	if (found && !on && !blank)
		ring_skip_history(s->ring);
	return found;
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
	if (moved_resume(g, s, now))
		return;
	while (i > 0 && !may_be(g, g->kept[i - 1], &s->desc))
		i--;
	if (!i) {
		if (was_forgotten(g, &s->desc))
			ring_skip_history(s->ring);
		return;
	}
	was = g->kept[i - 1];
	same = s->desc.number && s->desc.number == was->desc.number;
	if (same && ring_fault(was->ring)) { /* it stays: its pages may have moved */
		ring_skip_history(s->ring);
		return;
	}
	kept_take(g, i - 1);
	rc = go_on(g, s, was, now, !same);
	if (rc > 0)
		return;
	if (rc)
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
