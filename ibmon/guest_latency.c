// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest_latency: map and release a guest's latency pages. See guest.h.
 *
 * The sampler reads them, so they are released as rings are: first left out of the
 * next set, then unmapped by guest_reap. Each belongs to a process.
 */
#include <errno.h>
#include <stdlib.h>

#include "ibmon/guest_priv.h"

static struct latency_slot *find_latency(const struct guest_mon *g, const struct guest_ref *ref)
{
	for (uint32_t i = 0; i < g->latencies; i++)
		if (g->latency[i]->ref.type == ref->type && g->latency[i]->ref.ref == ref->ref)
			return g->latency[i];
	return NULL;
}

static void release_latency(struct guest_mon *g, uint32_t i)
{
	struct latency_slot *s = g->latency[i];

	g->latency[i] = g->latency[--g->latencies];
	s->next = g->leaving_latencies;
	g->leaving_latencies = s;
}

void latencies_leave(struct guest_mon *g)
{
	while (g->latencies)
		release_latency(g, g->latencies - 1);
}

void latencies_reap(struct guest_mon *g)
{
	while (g->leaving_latencies) {
		struct latency_slot *s = g->leaving_latencies;

		g->leaving_latencies = s->next;
		unmap_page(g, s->page.page);
		free(s);
	}
}

static int add_latency(struct guest_mon *g, const struct guest_ref *ref, struct mono now)
{
	struct latency_slot *s = calloc(1, sizeof(*s));
	const volatile void *page;
	int rc = s ? map_ref(g, ref, now, &page) : -ENOMEM;

	if (rc) {
		free(s);
		return rc;
	}
	s->ref = *ref;
	s->seen = true;
	latency_page_open(&s->page, page);
	g->latency[g->latencies++] = s;
	return 0;
}

bool latencies_reconcile(struct guest_mon *g, struct mono now, bool *later)
{
	bool changed = false;

	*later = false;
	for (uint32_t i = 0; i < g->latencies; i++)
		g->latency[i]->seen = false;
	for (uint32_t i = 0; i < g->reg->latencies; i++) {
		struct latency_slot *s = find_latency(g, &g->reg->latency[i]);

		if (s)
			s->seen = true;
	}
	for (uint32_t i = g->latencies; i-- > 0;)
		if (!g->latency[i]->seen) {
			release_latency(g, i);
			changed = true;
		}
	for (uint32_t i = 0; i < g->reg->latencies; i++) {
		int rc = find_latency(g, &g->reg->latency[i])
				 ? 1
				 : add_latency(g, &g->reg->latency[i], now);

		/*
		 * Other errors than these two do not pass: such a page is left out until
		 * the registry changes.
		 */
		changed |= rc == 0;
		*later |= rc == -EAGAIN || rc == -ENOMEM;
	}
	return changed;
}

uint32_t guest_latency_pages(const struct guest_mon *g, struct latency_page **out, uint32_t max)
{
	uint32_t n = 0;

	for (; n < g->latencies && n < max; n++)
		out[n] = &g->latency[n]->page;
	return n;
}
