// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * operator: what other programs change in a guest's scheduling while resexd runs: its cap, its
 * weight, its cpupool. None of it is undone.
 */
#include <errno.h>
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

void operator_place(struct guests *gs, struct guest_entry *g)
{
	g->own_pool = g->pool;
	g->own_scheduler = gs->hv->sched->name(gs->sched, g->key.domid);
}

bool operator_moved(struct guests *gs, struct guest_entry *g)
{
	uint32_t pool = g->own_pool;
	const char *scheduler = g->own_scheduler;

	g->pool = find_pool(gs, g);
	operator_place(gs, g);
	return scheduler && (g->own_pool != pool || strcmp(g->own_scheduler, scheduler) != 0);
}

void operator_cap(struct guests *gs, struct guest_entry *g, uint32_t percent, uint32_t generation,
		  int64_t wall_ns)
{
	struct cap found = cap_from_percent(percent);
	bool known = g->own_checked && cap_equal(g->own.cap, found);
	struct hv_sched_params p;

	g->own_generation = generation;
	g->own_checked = false;
	gs->publish_due = true;
	if (known || !g->cappable) /* own_check() was first */
		return;
	if (gs->hv->sched->get(gs->sched, g->key.domid, &p))
		p = g->own;
	p.cap = found; /* a lower one of ours may be in force by now */
	own_taken(gs, g, &p, wall_ns);
	owns_save(gs); /* before a policy may use it as the ceiling */
}

/*
 * Xen drops a domain's cap when it leaves its pool. So the saved one is not given back: the cap
 * that the next pool has for it is its own.
 */
void operator_uncappable(struct guests *gs, struct guest_entry *g, int64_t wall_ns)
{
	if (!g->cappable)
		return;
	g->cappable = false;
	g->uncappable_pool = true;
	gs->publish_due = true;
	operator_moved(gs, g);
	if (!gs->observe) {
		restore_drop(&gs->restore, g->key.domid, g->key.uuid);
		gs->save_due = true;
	}
	guests_event(gs, wall_ns, g->name, "operator-pool",
		     "its cpupool has the scheduler %s, which has no caps: it is not capped until "
		     "it is in another cpupool",
		     g->own_scheduler);
	own_learn(gs, g, wall_ns); /* notes the reason */
}
