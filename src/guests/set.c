// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * set: build the immutable set of guests, publish it to the sampler, free old ones.
 *
 * A set is freed once a later one is acknowledged, or at once when the
 * sampler never used it. Its rings belong to the guests (ibmon/guest.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "src/conf/policy.h"
#include "src/guests/guests_priv.h"

static void set_free(struct guest_set *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->guests; i++) {
		if (s->guest[i].scan)
			free(s->guest[i].scan->peers);
		free(s->guest[i].scan);
	}
	free(s);
}

/* Without memory for it, send queues are charged when they post. */
static struct ring_peers *peers_new(const struct scan_guest *sg)
{
	struct ring *ring[FLOW_RINGS_MAX];

	for (uint32_t i = 0; i < sg->rings; i++)
		ring[i] = sg->ring[i].ring;
	return ring_peers_new(ring, sg->rings);
}

static struct scan_guest *scan_new(const struct guest_entry *g)
{
	struct scan_guest *sg;

	sg = calloc(1, sizeof(*sg) + FLOW_RINGS_MAX * sizeof(sg->ring[0]));
	if (!sg)
		return NULL;
	sg->slot = g->slot;
	sg->rings = guest_rings(g->mon, sg->ring, FLOW_RINGS_MAX);
	sg->peers = peers_new(sg);
	sg->latencies = guest_latency_pages(g->mon, sg->latency, GUEST_LATENCIES_MAX);
	sg->load = guest_load_page(g->mon);
	guest_scan_view(g->mon, &sg->registry, &sg->generation);
	return sg;
}

/* The highest cap that a policy may set: the lower of max_cap and its own cap. */
static struct cap ceiling_of(const struct guests *gs, const struct guest_entry *g)
{
	struct cap max = cap_from_percent((uint32_t)g->conf.max_cap);

	if (!max.limited || entry_alone(gs, g))
		return g->own.cap;
	return g->own.cap.limited && g->own.cap.mpct < max.mpct ? g->own.cap : max;
}

/* The rate that is charged for unreadable queues, in whole MTUs of its link. */
static uint64_t mtus_of_rate(const struct guests *gs, const struct guest_entry *g)
{
	uint32_t mtu = gs->conf->link[g->conf.link].mtu;

	return (g->conf.unreadable.bytes_s + mtu - 1) / mtu;
}

static int set_fill(const struct guests *gs, const struct guest_entry *g, struct set_guest *e)
{
	e->key = g->key;
	e->slot = g->slot;
	e->kept = g->kept;
	e->flags = (entry_cappable(g) ? POLICY_CAPPABLE : 0) |
		   (entry_alone(gs, g) ? POLICY_EXEMPT : 0);
	e->vcpus = g->vcpus;
	e->weight = (uint32_t)g->conf.weight;
	e->link = g->conf.link;
	e->own = gs->observe ? g->in_force : g->own.cap;
	e->own_generation = g->own_generation;
	e->bounds.ceiling = ceiling_of(gs, g);
	e->bounds.min_mpct = (uint32_t)g->conf.min_cap * 1000;
	e->bounds.vcpus = g->vcpus;
	e->sla = g->conf.sla;
	e->unreadable = guest_unreadable(g->mon);
	e->last_rate = g->conf.unreadable.mode == UNREADABLE_LAST_RATE;
	if (g->conf.unreadable.mode == UNREADABLE_RATE)
		e->unreadable_mtus_s = mtus_of_rate(gs, g);
	e->scan = scan_new(g);
	return e->scan ? 0 : -ENOMEM;
}

/*
 * The hypervisor lists domains in ascending id. The sampler walks that list and the set
 * side by side, once a tick (dom_of() in stages.c).
 */
static int by_domid(const void *a, const void *b)
{
	const struct set_guest *x = a, *y = b;

	return x->key.domid < y->key.domid ? -1 : x->key.domid > y->key.domid;
}

/*
 * A set is built anew for each change: the sampler reads the former one meanwhile, so it
 * must never change.
 */
static struct guest_set *set_build(struct guests *gs)
{
	struct guest_set *s;

	s = calloc(1, sizeof(*s) + FLOW_GUESTS_MAX * sizeof(s->guest[0]));
	if (!s)
		return NULL;
	s->serial = ++gs->serial;
	s->policy = gs->policy;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		const struct guest_entry *g = gs->guest[i];

		if (!g || g->leaving)
			continue;
		if (set_fill(gs, g, &s->guest[s->guests])) {
			set_free(s);
			return NULL;
		}
		s->guests++;
	}
	qsort(s->guest, s->guests, sizeof(s->guest[0]), by_domid);
	return s;
}

static struct guest_set **set_place(struct guests *gs, const struct guest_set *s)
{
	for (size_t i = 0; i < sizeof(gs->sets) / sizeof(gs->sets[0]); i++)
		if (gs->sets[i] == s)
			return &gs->sets[i];
	return NULL;
}

struct guest_set *guests_first_set(struct guests *gs)
{
	struct guest_set *s = set_build(gs);

	if (s)
		*set_place(gs, NULL) = s;
	return s;
}

void sets_publish(struct guests *gs)
{
	struct guest_set **place = set_place(gs, NULL), *s, *back;

	if (!place) /* the sampler is far behind: try again once it has acknowledged one */
		return;
	s = set_build(gs);
	if (!s)
		return;
	gs->publish_due = false;
	*place = s;
	back = atomic_exchange_explicit(&gs->ho->next, s, memory_order_acq_rel);
	if (back) { /* the sampler never used it */
		*set_place(gs, back) = NULL;
		set_free(back);
	}
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		struct guest_entry *g = gs->guest[i];

		/*
		 * This is the first set without those guests and rings: once it is
		 * acknowledged they can be unmapped.
		 */
		if (g && (g->leaving || guest_reap_pending(g->mon)) && !g->reap_serial)
			g->reap_serial = s->serial;
	}
	if (gs->policy_old && !gs->policy_serial)
		gs->policy_serial = s->serial;
}

/* The loop's next turn may be a second away: wake it. */
void sets_publish_soon(struct guests *gs)
{
	gs->publish_due = true;
	handover_wake(gs->ho->control_fd);
}

static void guest_acknowledged(struct guests *gs, struct guest_entry *g, uint64_t acked)
{
	if (!g->reap_serial || g->reap_serial > acked)
		return;
	g->reap_serial = 0;
	if (g->leaving)
		entry_free(gs, g);
	else
		guest_reap(g->mon);
}

void sets_acknowledged(struct guests *gs, uint64_t acked)
{
	for (size_t i = 0; i < sizeof(gs->sets) / sizeof(gs->sets[0]); i++)
		/* Not the acknowledged one: the sampler reads it. */
		if (gs->sets[i] && gs->sets[i]->serial < acked) {
			set_free(gs->sets[i]);
			gs->sets[i] = NULL;
		}
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i])
			guest_acknowledged(gs, gs->guest[i], acked);
	if (gs->policy_old && gs->policy_serial && gs->policy_serial <= acked) {
		policy_free(gs->policy_old);
		gs->policy_old = NULL;
		gs->policy_since = gs->policy_serial;
		gs->policy_serial = 0;
		gs->policy_taken_up = gs->policy_number;
	}
}

void sets_free_all(struct guests *gs)
{
	for (size_t i = 0; i < sizeof(gs->sets) / sizeof(gs->sets[0]); i++) {
		set_free(gs->sets[i]);
		gs->sets[i] = NULL;
	}
}
