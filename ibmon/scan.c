// SPDX-License-Identifier: GPL-2.0-or-later
/* scan: from the rings of a guest, through samples, to its usage and report. See scan.h. */
#include "ibmon/scan.h"

#include "ibmon/ring/mtu.h"
#include "ibmon/registry.h"
#include "ibmon/ring/ops.h"

static void report_fault(const struct scan_ring *sr, struct scan_result *res)
{
	if (res->faults >= sizeof(res->fault_id) / sizeof(res->fault_id[0]))
		return;
	res->fault_id[res->faults] = sr->id;
	res->fault_why[res->faults] = ring_fault(sr->ring);
	res->faults++;
}

void scan_fault_delivered(const struct scan_guest *g, uint32_t id)
{
	for (uint32_t i = 0; i < g->rings; i++)
		if (g->ring[i].id == id)
			ring_fault_set_delivered(g->ring[i].ring);
}

static void scan_ring(const struct scan_ring *sr, int64_t elapsed_ns, struct usage *u,
		      struct scan_result *res)
{
	struct sample s;
	uint64_t backlog;

	if (ring_idle(sr->ring, &backlog)) {
		u->backlog += backlog;
		u->queues += backlog > 0;
		return;
	}
	if (ring_sample(sr->ring, elapsed_ns, &s)) {
		if (!ring_fault_delivered(sr->ring))
			report_fault(sr, res);
		return;
	}
	/* The work on a completion queue is counted on the send queues. */
	if (ring_desc(sr->ring)->kind != RING_SQ)
		return;
	s.slot = u->slot;
	s.ring = sr->id;
	if ((s.flags & SAMPLE_HISTORY) && sr->old)
		s.flags |= SAMPLE_UNCHARGED;
	mtu_add(u, &s);
}

/* Each page of a guest with many gets fewer samples, so that all guests cost the same. */
static void scan_latencies(const struct scan_guest *g, struct report *rep, struct window *whole,
			   struct scan_result *res)
{
	uint32_t each = g->latencies ? SCAN_LATENCIES_MAX / g->latencies : 0;

	for (uint32_t i = 0; i < g->latencies; i++) {
		uint64_t lost = latency_page_read(g->latency[i], each, rep, whole);

		res->latencies_lost = sat_add(res->latencies_lost, lost);
	}
}

void scan_guest(const struct scan_guest *g, int64_t elapsed_ns, struct usage *u, struct report *rep,
		struct window *whole, struct scan_result *res)
{
	*res = (struct scan_result){ 0 };
	*rep = (struct report){ .slot = u->slot };
	if (g->registry)
		res->refresh = registry_changed(g->registry, g->generation);
	for (uint32_t i = 0; i < g->rings; i++)
		scan_ring(&g->ring[i], elapsed_ns, u, res);
	scan_latencies(g, rep, whole, res);
}
