// SPDX-License-Identifier: GPL-2.0-or-later
/* view: finds guests, and fills views of them for control and cluster. See guests.h. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/guests/guests_priv.h"

struct guests_view guests_view(const struct guests *gs)
{
	return (struct guests_view){
		.conf = gs->conf,
		.log = gs->log,
		.hv = gs->hv,
		.policy = gs->policy,
		.counters = gs->counters.ops,
		.observe = gs->observe,
		.paused = gs->paused,
		.policy_number = gs->policy_number,
		.plugins = gs->plugins,
		.layouts = gs->layouts,
		.stopped = gs->stopped.name[0] ? gs->stopped.name : NULL,
		.stopped_why = gs->stopped.name[0] ? gs->stopped.why : NULL,
		.policy_changing = gs->policy_old != NULL,
		.diverging = gs->diverging,
		.newest_event = gs->events,
		.events_lost = atomic_load(&gs->ho->events.at.overflow),
	};
}

/* The error is set only while a counter is read: "none" in resexd.json is not an error. */
static struct check_view check_view(const struct checked *k)
{
	struct check_view v = { .compared = k->ops != NULL, .error = "", .cross = &k->cross };

	if (k->ops && k->rc)
		v.error = counter_why(k->ops->kind, k->rc);
	checked_source(k, v.source, sizeof(v.source));
	return v;
}

static const char *cap_note_of(const struct guests *gs, const struct guest_entry *g)
{
	if (g->cappable && gs->lost)
		return "caps.json was removed, and cannot be written: see the log of resexd";
	return g->cappable && !g->name_known ? "its name is not known yet" : g->cap_note;
}

struct guest_view guest_view(const struct guests *gs, const struct guest_entry *g)
{
	return (struct guest_view){
		.key = g->key,
		.slot = g->slot,
		.name = g->name,
		.uuid = g->uuid,
		.vcpus = g->vcpus,
		.conf = &g->conf,
		.cap_note = cap_note_of(gs, g),
		.own = g->own,
		.mon = g->mon,
		.check = check_view(&g->check),
		.set = g->set,
		.stopped = g->dom_flags & HV_DOM_PAUSED,
		.released = g->released,
		.paused = gs->paused || g->paused,
		.alone = entry_alone(gs, g),
		.cappable = entry_cappable(g) && !gs->lost,
		.agent_silent = g->agent_silent,
		.forged = g->forged,
	};
}

static size_t add_name(const char **names, size_t n, size_t max, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return n;
	if (n < max)
		names[n++] = name;
	return n;
}

/* Asked anew: of a scheduler without caps, no name is kept with the guest's own cap. */
size_t guests_schedulers(const struct guests *gs, const char **names, size_t max)
{
	const struct hv_sched_ops *ops = gs->hv->sched;
	const struct guest_entry *g = NULL;
	size_t n = 0;

	while ((g = guests_next(gs, g)) != NULL)
		n = add_name(names, n, max, ops->name(gs->sched, g->key.domid));
	return n ? n : add_name(names, n, max, ops->name(gs->sched, 0));
}

struct check_view guests_link_check(const struct guests *gs, uint32_t i)
{
	return check_view(&gs->link[i]);
}

/*
 * Guests that are leaving are not shown: their domains are gone, only the sampler still has
 * them.
 */
const struct guest_entry *guests_next(const struct guests *gs, const struct guest_entry *g)
{
	for (uint32_t i = g ? g->slot + 1 : 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i] && !gs->guest[i]->leaving)
			return gs->guest[i];
	return NULL;
}

static struct guest_entry *find_domid(struct guests *gs, const char *word)
{
	char *end;
	unsigned long id = strtoul(word, &end, 10);

	if (*word < '0' || *word > '9' || *end) /* strtoul accepts signs and blanks */
		return NULL;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (gs->guest[i] && !gs->guest[i]->leaving && gs->guest[i]->key.domid == id)
			return gs->guest[i];
	return NULL;
}

struct guest_entry *guests_find(struct guests *gs, const char *word)
{
	struct guest_entry *found = find_domid(gs, word); /* a guest may be named "7" */

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX && !found; i++) {
		struct guest_entry *g = gs->guest[i];

		if (g && !g->leaving && (!strcmp(g->name, word) || !strcasecmp(g->uuid, word)))
			found = g;
	}
	return found;
}

const char *guests_name_at(const struct guests *gs, int64_t slot)
{
	if (slot < 0 || slot >= FLOW_GUESTS_MAX || !gs->guest[slot])
		return NULL;
	return gs->guest[slot]->name;
}

const struct snapshot *guests_snapshot(const struct guests *gs)
{
	return snap_latest(gs->ho);
}

struct hv_watch *guests_watch(const struct guests *gs)
{
	return gs->watch;
}

struct load_buffers *guests_loads(const struct guests *gs)
{
	return &gs->ho->loads;
}

void guests_mapped(const struct guests *gs, uint64_t *calls, uint64_t *pages)
{
	gs->hv->mem->stats(gs->mem, calls, pages);
}
