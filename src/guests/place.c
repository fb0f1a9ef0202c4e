// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * place: the cpupool that a guest is in, and its scheduler. An operator can change both; its cap
 * and weight are then those that Xen gives it there.
 */
#include <stdlib.h>
#include <string.h>

#include "src/guests/guests_priv.h"

static uint32_t find_pool(struct guests *gs, const struct guest_entry *g)
{
	struct hv_dom *dom = calloc(2 * FLOW_GUESTS_MAX, sizeof(*dom));
	int n = dom ? gs->hv->sched->list(gs->sched, dom, 2 * FLOW_GUESTS_MAX) : -ENOMEM;
	uint32_t pool = g->pool;

	for (int i = 0; i < n; i++)
		if (dom[i].domid == g->key.domid)
			pool = dom[i].pool;
	free(dom);
	return pool;
}

void place_note(struct guests *gs, struct guest_entry *g)
{
	g->own_pool = g->pool;
	g->own_scheduler = gs->hv->sched->name(gs->sched, g->key.domid);
}

bool place_moved(struct guests *gs, struct guest_entry *g)
{
	uint32_t pool = g->own_pool;
	const char *scheduler = g->own_scheduler;

	g->pool = find_pool(gs, g);
	place_note(gs, g);
	return scheduler && (g->own_pool != pool || strcmp(g->own_scheduler, scheduler) != 0);
}
