// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest: follow the registry of one guest. See guest.h.
 *
 *	attach -> walk the registry -> reconcile: map new rings, release old ones -> reap
 */
#include "ibmon/guest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/guest_priv.h"

int guest_open(struct guest_mon **out, const struct hv_mem_ops *ops, struct hv_mem *m,
	       uint32_t domid, const struct registry_limits *lim)
{
	struct guest_mon *g = calloc(1, sizeof(*g));

	if (g)
		g->reg = calloc(1, sizeof(*g->reg));
	if (!g || !g->reg) {
		free(g);
		return -ENOMEM;
	}
	g->ops = ops;
	g->m = m;
	g->domid = domid;
	g->lim = *lim;
	if (g->lim.rings > GUEST_RINGS_MAX)
		g->lim.rings = GUEST_RINGS_MAX;
	budget_init(&g->walk_budget, GUEST_WALK_RATE, GUEST_WALK_BURST);
	budget_init(&g->map_budget, GUEST_MAP_RATE, GUEST_MAP_BURST);
	*out = g;
	return 0;
}

/* --- release --------------------------------------------------------------- */

/*
 * The sampler may still read it: guest_reap unmaps it. It stays mapped until a set without
 * it is acknowledged (src/guests/set.c).
 */
static void release_later(struct guest_mon *g, struct ring_slot *s)
{
	s->next = g->leaving;
	g->leaving = s;
}

static void remove_slot(struct guest_mon *g, uint32_t i)
{
	struct ring_slot *s = g->ring[i];

	g->ring[i] = g->ring[--g->rings];
	if (s->ring)
		release_later(g, s);
	else
		ring_slot_free(g, s); /* it is not mapped */
}

/*
 * Directory and frame pages are read only by walks, in the caller's thread: they are
 * unmapped at once.
 */
static void free_pages(struct guest_mon *g, bool unused_only)
{
	for (uint32_t i = 0; i < GUEST_PAGES_MAX; i++) {
		struct agent_page *p = &g->page[i];

		if (!p->addr || (unused_only && p->used))
			continue;
		unmap_page(g, p->addr);
		memset(p, 0, sizeof(*p));
	}
}

int guest_attach(struct guest_mon *g, const struct guest_ref *ref)
{
	int rc;

	/*
	 * Already attached: as long as we have the page mapped, its reference names no
	 * other page, and attaching again would count the history of its rings twice.
	 */
	if (ref && g->registry && ref->type == g->ref.type && ref->ref == g->ref.ref)
		return 0;
	rc = page_leave(g, &g->registry);
	if (!rc)
		rc = load_leave(g);
	if (rc)
		return rc;
	g->load_ref = (struct guest_ref){ 0 };
	while (g->rings)
		remove_slot(g, g->rings - 1);
	latencies_leave(g);
	missed_detach(&g->missed);
	free_pages(g, false);
	memset(g->reg, 0, sizeof(*g->reg));
	g->walked = g->more = g->rest_waits = g->torn = false;
	g->back_due.ns = 0;
	g->generation = 0;
	g->fault[0] = 0;
	if (!ref)
		return 0;
	g->ref = *ref;
	/* Attaching is rare (the caller limits it), so no budget is charged. */
	g->maps++;
	if (ref->type == GUEST_REF_GRANT && ref->ref <= UINT32_MAX)
		rc = g->ops->map_grant(g->m, g->domid, (uint32_t)ref->ref, &g->registry);
	else if (ref->type == GUEST_REF_FRAME)
		rc = g->ops->map(g->m, g->domid, 1, &ref->ref, &g->registry, NULL);
	else
		rc = -EINVAL;
	if (rc) {
		g->registry = NULL;
		snprintf(g->fault, sizeof(g->fault), "its registry page cannot be mapped: %s",
			 strerror(-rc));
		return rc;
	}
	g->pages++;
	g->more = true;
	return 0;
}

/* A ring that was withdrawn, and not released yet, may still be read. */
static void settle_missed(struct guest_mon *g)
{
	for (uint32_t i = 0; i < g->rings; i++)
		if (g->ring[i]->ring)
			missed_hold(&g->missed, g->ring[i]->desc.id);
	missed_settle(&g->missed);
}

void guest_reap(struct guest_mon *g)
{
	while (g->leaving) {
		struct ring_slot *s = g->leaving;

		g->leaving = s->next;
		if (ring_was_read(s->ring))
			missed_read(&g->missed, s->desc.id);
		kept_add(g, s);
	}
	settle_missed(g);
	latencies_reap(g);
	while (g->leaving_pages) {
		struct leaving_page *p = g->leaving_pages;

		g->leaving_pages = p->next;
		unmap_page(g, p->addr);
		free(p);
	}
}

bool guest_reap_pending(const struct guest_mon *g)
{
	return g->leaving || g->leaving_pages || g->leaving_latencies;
}

void guest_close(struct guest_mon *g)
{
	if (!g)
		return;
	while (g->rings)
		remove_slot(g, g->rings - 1);
	latencies_leave(g);
	guest_reap(g);
	kept_close(g);
	free_pages(g, false);
	if (g->registry)
		unmap_page(g, g->registry);
	if (g->load)
		unmap_page(g, g->load);
	free(g->reg);
	free(g);
}

/* --- the walk --------------------------------------------------------------- */

struct walk {
	struct guest_mon *g;
	struct mono now;
};

/* Pages stay mapped from walk to walk, until a walk does not name them. */
static int walk_page(void *ctx, const struct guest_ref *ref, const volatile void **page)
{
	struct walk *w = ctx;
	struct agent_page *free_page = NULL;
	int rc;

	for (uint32_t i = 0; i < GUEST_PAGES_MAX; i++) {
		struct agent_page *p = &w->g->page[i];

		if (!p->addr) {
			free_page = free_page ? free_page : p;
			continue;
		}
		if (p->ref.type == ref->type && p->ref.ref == ref->ref) {
			p->used = true;
			*page = p->addr;
			return 0;
		}
	}
	if (!free_page)
		return -ENOSPC;
	rc = map_ref(w->g, ref, w->now, &free_page->addr);
	if (rc) {
		free_page->addr = NULL;
		return rc;
	}
	free_page->ref = *ref;
	free_page->used = true;
	*page = free_page->addr;
	return 0;
}

/*
 * The frames are compared, too: after a resize or a restart of the agent the same id may
 * name other memory.
 */
static bool same_ring(const struct guest_mon *g, const struct ring_slot *s,
		      const struct ring_desc *d)
{
	return s->desc.id == d->id && same_memory(g, s, d);
}

/* Its index; g->rings when there is none. */
static uint32_t find_slot(const struct guest_mon *g, const struct ring_desc *d)
{
	uint32_t i = 0;

	while (i < g->rings && !same_ring(g, g->ring[i], d))
		i++;
	return i;
}

static bool remove_unseen_rings(struct guest_mon *g)
{
	bool changed = false;

	for (uint32_t i = g->rings; i-- > 0;) {
		if (g->ring[i]->seen)
			continue;
		changed |= g->ring[i]->ring != NULL;
		remove_slot(g, i);
	}
	return changed;
}

/* 1: the ring is read now; 0: it is known, or at fault; -errno: not now. */
static int add_ring(struct guest_mon *g, const struct ring_desc *d, struct mono now)
{
	uint32_t i = find_slot(g, d);
	int rc;

	if (i < g->rings)
		return back_is_due(g->ring[i], now) ? back_now(g, i, d, now) : 0;
	/* All are in use as long as rings that were withdrawn wait for others to be reaped. */
	if (i >= g->lim.rings || kept_soon(g, d)) {
		g->rest_waits = true;
		return 0;
	}
	/* A ring at fault takes a slot, too (rc 1): it is shown with its fault. */
	rc = ring_slot_new(g, d, now, &g->ring[i]);
	if (rc < 0)
		return rc;
	g->rings++;
	if (rc)
		back_later(g, g->ring[i], now);
	else
		kept_resume(g, g->ring[i], now);
	return !rc;
}

static bool add_new_rings(struct guest_mon *g, struct mono now, uint32_t kind, bool *more)
{
	bool changed = false;

	*more = false;
	for (uint32_t i = 0; i < g->reg->rings; i++) {
		int rc = g->reg->ring[i].kind == kind ? add_ring(g, &g->reg->ring[i], now) : 0;

		if (rc < 0) { /* without budget the rest waits for a later walk */
			*more = true;
			break;
		}
		changed |= rc != 0;
	}
	back_plan(g);
	return changed;
}

/*
 * Map the rings that are new in the registry and release those that are not in it. Release
 * first: that frees places for new rings.
 */
static bool reconcile_rings(struct guest_mon *g, struct mono now)
{
	uint32_t unreadable = guest_unreadable(g);
	bool changed, added;

	for (uint32_t i = 0; i < g->rings; i++)
		g->ring[i]->seen = false;
	for (uint32_t i = 0; i < g->reg->rings; i++) {
		uint32_t at = find_slot(g, &g->reg->ring[i]);

		if (at < g->rings)
			g->ring[at]->seen = true;
	}
	/* Rings that wait to be reaped are in sets still: until then none is added to them. */
	g->rest_waits = guest_reap_pending(g);
	changed = !g->rest_waits && remove_unseen_rings(g);
	/*
	 * Send queues first: they are what is charged, and they may live briefly. While new ones
	 * come, completion queues wait.
	 */
	added = add_new_rings(g, now, RING_SQ, &g->more);
	if (added || g->more)
		g->rest_waits = true;
	else if (!g->rest_waits)
		changed |= add_new_rings(g, now, RING_CQ, &g->rest_waits);
	return changed || added || unreadable != guest_unreadable(g);
}

/* Is there something to do although the registry is unchanged? */
static bool has_rest(const struct guest_mon *g)
{
	return g->more || (g->rest_waits && !guest_reap_pending(g));
}

int64_t guest_wait(const struct guest_mon *g, struct mono now)
{
	int64_t wait, budget;

	/* An agent's ids begin anew: first the rings of the one before must be gone. */
	if (!g->registry || (!g->walked && guest_reap_pending(g)))
		return INT64_MAX;
	if (has_rest(g) || registry_changed(g->registry, g->generation))
		wait = 0;
	else if (g->back_due.ns)
		wait = mono_sub(g->back_due, now);
	else
		return INT64_MAX;
	if (wait < mono_sub(g->next_walk, now))
		wait = mono_sub(g->next_walk, now);
	budget = budget_wait(&g->walk_budget, now, 1);
	if (wait < budget)
		wait = budget;
	return wait > 0 ? wait : 0;
}

bool guest_due(const struct guest_mon *g, struct mono now)
{
	return guest_wait(g, now) == 0;
}

/*
 * A registry that cannot be read is tried again, at growing intervals. A guest can keep its
 * registry broken for ever, and each walk costs time of this thread.
 */
static void back_off(struct guest_mon *g, struct mono now)
{
	g->backoff_ns = g->backoff_ns ? 2 * g->backoff_ns : GUEST_WALK_MIN_MS * NS_PER_MS;
	if (g->backoff_ns > GUEST_BACKOFF_MAX_MS * NS_PER_MS)
		g->backoff_ns = GUEST_BACKOFF_MAX_MS * NS_PER_MS;
	g->next_walk = mono_add(now, g->backoff_ns);
	g->more = true;
}

static const char *walk_fault(int rc)
{
	if (rc == -EAGAIN)
		return "its registry changes all the time, or was caught half-written";
	if (rc == -EPROTONOSUPPORT)
		return "its registry is of a version this resexd does not know: update the older";
	if (rc == -EBADMSG)
		return "its registry page holds no registry: restart its resex-agent";
	return "a page of its registry cannot be mapped";
}

/*
 * An agent that is just writing is not at fault, even if it waits for a CPU
 * meanwhile: under a low cap that takes a while.
 */
static bool is_writing(struct guest_mon *g, struct mono now, int rc)
{
	bool was = g->torn;

	g->torn = rc == -EAGAIN;
	if (!g->torn)
		return false;
	if (!was)
		g->torn_since = now;
	return mono_sub(now, g->torn_since) < GUEST_TORN_MS * NS_PER_MS;
}

static int walk_failed(struct guest_mon *g, struct mono now, int rc)
{
	/* Rings found before stay: they still exist, or their samples show a fault. */
	g->reg->faults = 0;
	if (rc == -EAGAIN && g->calls >= GUEST_MAPS_MAX) { /* not a fault: many pages to map */
		g->next_walk = mono_add(now, GUEST_WALK_MIN_MS * NS_PER_MS);
		g->more = true;
		return rc;
	}
	if (!is_writing(g, now, rc))
		snprintf(g->fault, sizeof(g->fault), "%s", walk_fault(rc));
	back_off(g, now);
	return rc;
}

/* Pages that the current walk copied. */
static uint32_t pages_used(const struct guest_mon *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < GUEST_PAGES_MAX; i++)
		n += g->page[i].addr && g->page[i].used;
	return n;
}

/* The generation is remembered only after a walk that succeeded: any other is tried again. */
int guest_refresh(struct guest_mon *g, struct mono now)
{
	struct walk w = { g, now };
	bool changed, later, may_release;
	struct registry_qps qps;
	int rc;

	g->now = now;
	if (!guest_due(g, now))
		return g->registry && has_rest(g) ? -EAGAIN : 0;
	budget_take(&g->walk_budget, now, 1);
	g->walks++;
	g->calls = 0;
	for (uint32_t i = 0; i < GUEST_PAGES_MAX; i++)
		g->page[i].used = false;
	rc = registry_walk(g->registry, &g->lim, walk_page, &w, g->reg);
	if (!rc)
		rc = registry_qps(g->registry, &qps);
	budget_spend(&g->walk_budget, now, pages_used(g) / GUEST_WALK_PAGES);
	free_pages(g, true);
	if (rc)
		return walk_failed(g, now, rc);
	g->fault[0] = 0;
	g->torn = false;
	g->backoff_ns = 0;
	g->next_walk = mono_add(now, GUEST_WALK_MIN_MS * NS_PER_MS);
	g->generation = g->reg->generation;
	missed_walk(&g->missed, g->reg, qps.unseen);
	may_release = !guest_reap_pending(g);
	changed = reconcile_rings(g, now);
	if (!guest_reap_pending(g))
		settle_missed(g);
	if (may_release) {
		/* pages that cannot be mapped are not read */
		changed |= latencies_reconcile(g, now, &later);
		changed |= load_reconcile(g, now, &later);
		g->more |= later;
	}
	if (!g->more)
		g->walked = true;
	return changed;
}

/* --- checks ------------------------------------------------------------------ */

/* One ring each call, in turn: a check of all would hold up the other guests. */
int guest_verify(struct guest_mon *g, struct mono now)
{
	struct ring_slot *s;
	uint32_t i;

	if (!g->rings)
		return 0;
	i = g->verify_next++ % g->rings;
	s = g->ring[i];
	if (!s->ring || !budget_take(&g->map_budget, now, map_tokens(s->frames)) ||
	    g->ops->verify(g->m, g->domid, s->frames, s->frame, s->addr) != -ESTALE)
		return 0;
	g->moved = s->desc.id; /* its work so far is not charged again */
	remove_slot(g, i);
	g->more = true; /* the next walk maps it where it is now */
	return 1;
}

int guest_drop_faulty(struct guest_mon *g, uint32_t ring_id, enum ring_fault why, struct mono now)
{
	for (uint32_t i = 0; i < g->rings; i++) {
		struct ring_slot *s = g->ring[i], *mark;

		if (s->desc.id != ring_id || !s->ring)
			continue;
		/* Keep its descriptor, with the fault, until it comes back. */
		mark = calloc(1, sizeof(*mark) + s->frames * sizeof(mark->frame[0]));
		if (!mark)
			return -ENOMEM;
		mark->desc = s->desc;
		mark->fault = why;
		mark->frames = s->frames;
		memcpy(mark->frame, s->frame, s->frames * sizeof(mark->frame[0]));
		mark->since = s->since;
		mark->beat = s->beat;
		mark->opened = s->opened;
		mark->wait_ns = s->wait_ns;
		g->ring[i] = mark;
		release_later(g, s);
		back_later(g, mark, now);
		return 1;
	}
	return 0;
}
