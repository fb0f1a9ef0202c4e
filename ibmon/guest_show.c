// SPDX-License-Identifier: GPL-2.0-or-later
/* guest_show: the rings and state of one guest, for scan sets and commands. See guest.h. */
#include <string.h>

#include "ibmon/guest_priv.h"

static uint32_t add_rings(const struct guest_mon *g, uint32_t kind, struct scan_ring *out,
			  uint32_t n, uint32_t max)
{
	for (uint32_t i = 0; i < g->rings && n < max; i++) {
		if (!g->ring[i]->ring || g->ring[i]->desc.kind != kind)
			continue;
		out[n++] = (struct scan_ring){ .ring = g->ring[i]->ring,
					       .id = g->ring[i]->desc.id,
					       .old = g->ring[i]->old };
	}
	return n;
}

/* Completion queues first: a scan then charges at once what they tell the send queues. */
uint32_t guest_rings(const struct guest_mon *g, struct scan_ring *out, uint32_t max)
{
	return add_rings(g, RING_SQ, out, add_rings(g, RING_CQ, out, 0, max), max);
}

uint32_t guest_unreadable(const struct guest_mon *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->rings; i++)
		n += !g->ring[i]->ring && g->ring[i]->desc.kind == RING_SQ;
	return n;
}

void guest_scan_view(const struct guest_mon *g, const volatile void **registry,
		     uint32_t *generation)
{
	*registry = g->registry;
	*generation = g->generation;
}

/*
 * Rings that are released and not reaped yet are in neither sum: their last shown totals
 * are added.
 */
void guest_gone(const struct guest_mon *g, struct ring_totals *t)
{
	struct ring_totals left;

	*t = g->gone;
	for (uint32_t i = 0; i < g->kepts; i++) {
		ring_totals(g->kept[i]->ring, &left);
		ring_totals_add(t, &left);
	}
	for (const struct ring_slot *s = g->leaving; s; s = s->next)
		if (s->desc.kind == RING_SQ && ring_shown(s->ring, &left))
			ring_totals_add(t, &left);
}

void guest_state(struct guest_mon *g, struct mono now, struct guest_state *st)
{
	struct registry_qps qps;

	memset(st, 0, sizeof(*st));
	g->now = now;
	st->attached = g->registry != NULL;
	st->generation = g->generation;
	st->agent_pid = g->reg->agent_pid;
	if (g->registry) {
		uint64_t beat = registry_heartbeat(g->registry);

		/*
		 * Only a change of the number counts, timed by our clock: the guest's clock
		 * proves nothing.
		 */
		if (beat != g->heartbeat || !g->heartbeat_time.ns) {
			g->heartbeat = beat;
			g->heartbeat_time = now;
		}
	}
	st->heartbeat = g->heartbeat;
	st->heartbeat_time = g->heartbeat_time;
	st->faults = g->reg->faults;
	for (uint32_t i = 0; i < g->rings; i++) {
		st->rings += g->ring[i]->ring != NULL;
		st->faults += g->ring[i]->ring == NULL;
		st->forged |= !g->ring[i]->ring && back_is_forged(g, g->ring[i], now);
	}
	st->unreadable = guest_unreadable(g);
	st->forged_times = g->forged.times;
	st->forged |= g->forged.times && mono_sub(now, g->forged.time) < GUEST_FORGED_S * NS_PER_S;
	st->forged &= g->forged.times != 0;
	for (uint32_t i = 0; i < g->rings; i++)
		if (g->ring[i]->ring && ring_was_read(g->ring[i]->ring))
			missed_read(&g->missed, g->ring[i]->desc.id);
	if (g->registry && !registry_qps(g->registry, &qps)) {
		missed_unseen(&g->missed, qps.unseen);
		st->unpublished = qps.unpublished;
	}
	st->qps_read = missed_count_read(&g->missed);
	st->qps_missed = g->missed.missed;
	st->qps_resumed = missed_count_resumed(&g->missed);
	st->faults_more = g->reg->faults_more;
	st->latencies = g->latencies;
	st->pages = g->pages;
	st->walks = g->walks;
	st->maps = g->maps;
	memcpy(st->fault, g->fault, sizeof(st->fault));
}

/* After the rings come the descriptors that the walk refused, so that an operator sees all. */
bool guest_ring_info(const struct guest_mon *g, uint32_t i, struct guest_ring_info *info)
{
	memset(info, 0, sizeof(*info));
	if (i < g->rings) {
		info->desc = g->ring[i]->desc;
		info->fault = g->ring[i]->fault;
		info->active = g->ring[i]->ring != NULL;
		return true;
	}
	i -= g->rings;
	if (i >= g->reg->faults)
		return false;
	info->desc.id = g->reg->fault[i].id;
	info->fault = g->reg->fault[i].fault;
	return true;
}

bool guest_ring_shown(const struct guest_mon *g, uint32_t i, struct ring_totals *t)
{
	return i < g->rings && g->ring[i]->ring && ring_shown(g->ring[i]->ring, t);
}
