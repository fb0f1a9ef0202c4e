// SPDX-License-Identifier: GPL-2.0-or-later
/* scan: rings of a guest -> samples -> its usage of one interval; its report. See scan.h. */
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

void scan_told(const struct scan_guest *g, uint32_t id)
{
	for (uint32_t i = 0; i < g->rings; i++)
		if (g->ring[i].id == id)
			ring_fault_tell(g->ring[i].ring);
}

static void scan_one(const struct scan_ring *sr, int64_t elapsed_ns, struct usage *u,
		     struct scan_result *res)
{
	struct sample s;
	uint64_t backlog;

	if (ring_idle(sr->ring, &backlog)) {
		u->backlog += backlog;
		return;
	}
	if (ring_sample(sr->ring, elapsed_ns, &s)) {
		if (!ring_fault_told(sr->ring))
			report_fault(sr, res);
		return;
	}
	/* A completion queue repeats what the send queues say. */
	if (ring_desc(sr->ring)->kind != RING_SQ)
		return;
	s.slot = u->slot;
	s.ring = sr->id;
	if ((s.flags & SAMPLE_HISTORY) && sr->old)
		s.flags |= SAMPLE_UNCHARGED;
	mtu_add(u, &s);
}

/* A guest with many pages gets no more time than one with few. */
static void scan_latencies(const struct scan_guest *g, struct report *rep, struct window *whole,
			   struct scan_result *res)
{
	uint32_t each = g->latencies ? SCAN_LATENCIES_MAX / g->latencies : 0;

	for (uint32_t i = 0; i < g->latencies; i++) {
		uint64_t lost = latency_page_read(g->latency[i], each, rep, whole);

		res->latencies_lost += lost < UINT64_MAX - res->latencies_lost
					       ? lost
					       : UINT64_MAX - res->latencies_lost;
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
		scan_one(&g->ring[i], elapsed_ns, u, res);
	scan_latencies(g, rep, whole, res);
}
