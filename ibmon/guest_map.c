// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest_map: maps the pages and rings of one guest, within budgets of calls and pages.
 * guest.c calls it for each walk. See guest.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/guest_priv.h"

/*
 * A token bucket, full at first. Tokens are kept as nanoseconds, so that no fraction is
 * lost between two calls.
 */
void budget_init(struct budget *b, uint32_t rate, uint32_t burst)
{
	b->rate = rate;
	b->burst = burst;
	b->tokens_ns = (int64_t)burst * (NS_PER_S / rate);
	b->filled = (struct mono){ 0 };
}

static int64_t budget_at(const struct budget *b, struct mono now)
{
	int64_t full = (int64_t)b->burst * (NS_PER_S / b->rate);
	int64_t passed = mono_sub(now, b->filled);

	if (passed < 0)
		passed = 0;
	return passed >= full - b->tokens_ns ? full : b->tokens_ns + passed;
}

bool budget_has(const struct budget *b, struct mono now, uint32_t tokens)
{
	return budget_at(b, now) >= (int64_t)tokens * (NS_PER_S / b->rate);
}

int64_t budget_wait(const struct budget *b, struct mono now, uint32_t tokens)
{
	int64_t lacks = (int64_t)tokens * (NS_PER_S / b->rate) - budget_at(b, now);

	return lacks > 0 ? lacks : 0;
}

void budget_spend(struct budget *b, struct mono now, uint32_t tokens)
{
	b->tokens_ns = budget_at(b, now) - (int64_t)tokens * (NS_PER_S / b->rate);
	if (mono_sub(now, b->filled) > 0)
		b->filled = now;
}

bool budget_take(struct budget *b, struct mono now, uint32_t tokens)
{
	if (!budget_has(b, now, tokens))
		return false;
	budget_spend(b, now, tokens);
	return true;
}

/* Frames of a PV guest are translated by its own table, which costs some pages a frame. */
uint32_t map_tokens(uint32_t frames)
{
	return 1 + frames / GUEST_MAP_FRAMES;
}

int map_ref(struct guest_mon *g, const struct guest_ref *ref, struct mono now,
	    const volatile void **addr)
{
	int rc;

	if (ref->type != GUEST_REF_GRANT && ref->type != GUEST_REF_FRAME)
		return -EINVAL;
	if (ref->type == GUEST_REF_GRANT && ref->ref > UINT32_MAX)
		return -EINVAL;
	if (g->pages >= g->lim.pages)
		return -ENOSPC;
	/*
	 * A map call takes time in the hypervisor: one guest must not hold up the others'
	 * turn.
	 */
	if (g->calls >= GUEST_MAPS_MAX || !budget_take(&g->map_budget, now, 1))
		return -EAGAIN;
	g->calls++;
	g->maps++;
	if (ref->type == GUEST_REF_GRANT)
		rc = g->ops->map_grant(g->m, g->domid, (uint32_t)ref->ref, addr);
	else
		rc = g->ops->map(g->m, g->domid, 1, &ref->ref, addr, NULL);
	if (!rc)
		g->pages++;
	return rc;
}

void unmap_page(struct guest_mon *g, const volatile void *addr)
{
	g->ops->unmap(g->m, addr, 1);
	g->pages--;
}

/* The sampler reads these pages too, so they are released like rings. */
int page_leave(struct guest_mon *g, const volatile void **page)
{
	struct leaving_page *p;

	if (!*page)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->addr = *page;
	p->next = g->leaving_pages;
	g->leaving_pages = p;
	*page = NULL;
	return 0;
}

/* ring_open() checks the header that the guest wrote; what it refuses is unmapped at once. */
static enum ring_fault map_and_open(struct guest_mon *g, struct ring_slot *s)
{
	const struct ring_desc *d = &s->desc;
	int rc;

	rc = g->ops->map(g->m, g->domid, s->frames, s->frame, &s->addr, NULL);
	if (rc)
		return RING_FAULT_MAP;
	rc = ring_open_among(&s->ring, g->lim.layouts, d, s->addr, (size_t)s->frames * HV_PAGE);
	if (!rc) {
		g->pages += s->frames;
		return RING_OK;
	}
	g->ops->unmap(g->m, s->addr, s->frames);
	s->addr = NULL;
	s->ring = NULL;
	if (rc == -EBADMSG)
		return RING_FAULT_HEADER;
	return rc == -ENOMEM ? RING_FAULT_LIMIT : RING_FAULT_LAYOUT;
}

int ring_slot_new(struct guest_mon *g, const struct ring_desc *d, struct mono now,
		  struct ring_slot **out)
{
	uint32_t frames = ring_frames(g->lim.layouts, d);
	struct ring_slot *s;

	if (g->calls >= GUEST_MAPS_MAX || !budget_has(&g->map_budget, now, map_tokens(frames)))
		return -EAGAIN;
	s = calloc(1, sizeof(*s) + frames * sizeof(s->frame[0]));
	if (!s)
		return -ENOMEM;
	s->desc = *d;
	s->frames = frames;
	s->seen = true;
	/*
	 * Rings of the first walk were there before us: what they sent until now is not
	 * charged.
	 */
	s->old = !g->walked || d->id == g->moved;
	if (d->id == g->moved)
		g->moved = 0;
	memcpy(s->frame, &g->reg->frame[d->first_frame], d->frames * sizeof(s->frame[0]));
	if (frames > d->frames)
		s->frame[d->frames] = d->db_frame;
	if (g->pages + frames > g->lim.pages) {
		s->fault = RING_FAULT_LIMIT;
	} else {
		budget_take(&g->map_budget, now, map_tokens(frames));
		g->calls++;
		g->maps++;
		s->fault = map_and_open(g, s);
	}
	*out = s;
	return s->fault ? 1 : 0;
}

void ring_slot_unmap(struct guest_mon *g, struct ring_slot *s)
{
	if (!s->addr)
		return;
	g->ops->unmap(g->m, s->addr, s->frames);
	g->pages -= s->frames;
	s->addr = NULL;
}

void ring_slot_free(struct guest_mon *g, struct ring_slot *s)
{
	if (s->ring)
		ring_close(s->ring);
	ring_slot_unmap(g, s);
	free(s);
}
