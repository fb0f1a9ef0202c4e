// SPDX-License-Identifier: GPL-2.0-or-later
/* guest_show: what is known of one guest, for sets, commands and windows. See guest.h. */
#include <errno.h>
#include <string.h>

#include "ibmon/guest_priv.h"
#include "src/util/seqread.h"

uint32_t guest_rings(const struct guest_mon *g, struct scan_ring *out, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->rings && n < max; i++) {
		if (!g->ring[i]->ring)
			continue;
		out[n].ring = g->ring[i]->ring;
		out[n].id = g->ring[i]->desc.id;
		out[n].old = g->ring[i]->old;
		n++;
	}
	return n;
}

void guest_scan_view(const struct guest_mon *g, const volatile void **registry,
		     uint32_t *generation)
{
	*registry = g->registry;
	*generation = g->generation;
}

void guest_gone(const struct guest_mon *g, struct ring_totals *t)
{
	*t = g->gone;
}

void guest_state(struct guest_mon *g, struct mono now, struct guest_state *st)
{
	memset(st, 0, sizeof(*st));
	st->attached = g->registry != NULL;
	st->generation = g->generation;
	st->agent_pid = g->reg->agent_pid;
	if (g->registry) {
		uint64_t beat = registry_heartbeat(g->registry);

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
	}
	st->faults_more = g->reg->faults_more;
	st->latencies = g->reg->latencies;
	st->pages = g->pages;
	st->walks = g->walks;
	st->maps = g->maps;
	memcpy(st->fault, g->fault, sizeof(st->fault));
}

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

/* The page of a latency reference that a walk mapped; NULL when it did not. */
static const volatile struct guest_latency *latency_page(const struct guest_mon *g, uint32_t page)
{
	if (page >= g->reg->latencies)
		return NULL;
	for (uint32_t i = 0; i < GUEST_PAGES_MAX; i++)
		if (g->page[i].addr && g->page[i].ref.type == g->reg->latency[page].type &&
		    g->page[i].ref.ref == g->reg->latency[page].ref)
			return g->page[i].addr;
	return NULL;
}

/* One sample, if it is whole and is the one that is wanted. */
static bool take_sample(const volatile struct guest_latency_sample *from, uint64_t seq,
			struct latency_report *out)
{
	struct guest_latency_sample s = { 0 };

	guest_copy(&s, from, sizeof(s));
	if (s.seq != seq || guest_read64(&from->seq) != seq)
		return false;
	out->time = s.time;
	out->ctime_ns = s.ctime_ns;
	out->wtime_ns = s.wtime_ns;
	out->ptime_ns = s.ptime_ns;
	return true;
}

uint32_t guest_latencies(struct guest_mon *g, uint32_t page, uint64_t *last,
			 struct latency_report *out, uint32_t max)
{
	const volatile struct guest_latency *p = latency_page(g, page);
	uint64_t newest;
	uint32_t n = 0;

	if (!p || guest_read32(&p->magic) != GUEST_LATENCY_MAGIC)
		return 0;
	newest = guest_read64(&p->written);
	guest_copy_barrier();
	if (newest <= *last) { /* none, or the page began anew */
		*last = newest;
		return 0;
	}
	if (newest - *last > GUEST_LATENCY_SAMPLES)
		*last = newest - GUEST_LATENCY_SAMPLES;
	while (*last < newest && n < max) {
		(*last)++;
		n += take_sample(&p->sample[(*last - 1) % GUEST_LATENCY_SAMPLES], *last, &out[n]);
	}
	return n;
}
