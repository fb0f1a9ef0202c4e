// SPDX-License-Identifier: GPL-2.0-or-later
/* scan: from the rings of a guest, through samples, to its usage and report. See scan.h. */
#include "ibmon/scan.h"

#include "ibmon/ring/mtu.h"
#include "ibmon/registry.h"
#include "ibmon/ring/ring_priv.h"

/* Rings ahead of the one that is read: a line comes from memory in about the time of so many. */
enum { AHEAD_QUIET = 8, AHEAD_OWN = 6, AHEAD_WORK = 3, AHEAD_REST = 2 };

/*
 * The ring n after ring i of g, in the order of scans, which goes on with the next guests: a CPU
 * keeps only so many lines on their way, and those of a whole guest at once are too many. NULL:
 * there is none, or it is some guests away.
 */
static inline const struct scan_ring *ring_ahead(const struct scan_guest *g, uint32_t i, uint32_t n)
{
	uint32_t guests = n;

	for (i += n; i >= g->rings; guests--) {
		i -= g->rings;
		g = g->after;
		if (!g || !guests)
			return NULL;
	}
	return &g->ring[i];
}

/* A forged header, or an index that moved where it cannot, shows in a sample only. */
static bool is_check_due(const struct scan_ring *sr)
{
	return (sr->idle + sr->id) % SCAN_CHECK_EACH == 0;
}

static void prefetch_look(const struct scan_ring *sr)
{
	ring_prefetch_quiet(sr->ring);
	if (is_check_due(sr))
		ring_prefetch_check(sr->ring);
}

static void prefetch_quiet(const struct scan_ring *sr)
{
	if (sr && sr->idle < SCAN_REST_AFTER)
		prefetch_look(sr);
}

/* Of a ring whose last sample found work. */
static void prefetch_work(const struct scan_ring *sr, bool rest)
{
	if (sr && !sr->idle)
		ring_prefetch_work(sr->ring, rest);
}

/* What the daemon itself remembers of it: that of many rings is in no near cache. */
static void prefetch_own(const struct scan_ring *sr)
{
	if (sr && !sr->idle)
		ring_prefetch_own(sr->ring);
}

/* Of the rings after ring i of g. works: some of them did lately. */
static void prefetch_ahead(const struct scan_guest *g, uint32_t i, bool works)
{
	prefetch_quiet(ring_ahead(g, i, AHEAD_QUIET));
	if (!works)
		return;
	prefetch_own(ring_ahead(g, i, AHEAD_OWN));
	prefetch_work(ring_ahead(g, i, AHEAD_WORK), false);
	prefetch_work(ring_ahead(g, i, AHEAD_REST), true);
}

/* The rested rings that are due are about these. */
static void prefetch_rested(const struct scan_guest *g)
{
	for (uint32_t i = 0; i <= g->rings / 7 && g->next + i < g->rings; i++)
		if (g->ring[g->next + i].idle >= SCAN_REST_AFTER)
			prefetch_look(&g->ring[g->next + i]);
}

void scan_prefetch(const struct scan_guest *g)
{
	ring_prefetch_line(g->registry);
	for (uint32_t i = 0; i < AHEAD_QUIET; i++)
		prefetch_quiet(ring_ahead(g, 0, i));
	for (uint32_t i = 0; i < AHEAD_WORK; i++)
		prefetch_work(ring_ahead(g, 0, i), false);
	prefetch_work(ring_ahead(g, 0, 0), true);
	prefetch_rested(g);
}

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

/* A ring with work in flight never rests: its backlog is counted in each scan. */
static void note_idle(const struct scan_guest *g, struct scan_ring *sr)
{
	sr->idle++;
	if (sr->idle == SCAN_REST_AFTER && sr->ring->quiet.backlog)
		sr->idle = SCAN_REST_AFTER - SCAN_CHECK_EACH;
	if (sr->idle == SCAN_REST_AFTER + SCAN_CHECK_EACH)
		sr->idle = SCAN_REST_AFTER;
	sr->looked_ns = g->time_ns;
}

static void scan_ring(const struct scan_guest *g, struct scan_ring *sr, int64_t elapsed_ns,
		      struct usage *u, struct scan_result *res)
{
	bool quiet = ring_is_quiet(sr->ring);
	struct sample s;
	int rc;

	if (quiet && !is_check_due(sr)) {
		u->backlog += sr->ring->quiet.backlog;
		u->queues += sr->ring->quiet.backlog > 0;
		note_idle(g, sr);
		return;
	}
	if (sr->idle >= SCAN_REST_AFTER)
		elapsed_ns = g->time_ns - sr->looked_ns;
	rc = ring_sample(sr->ring, elapsed_ns, &s);
	if (quiet && !rc)
		note_idle(g, sr);
	else
		sr->idle = 0;
	if (rc) {
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

/*
 * Rested rings have their turn by the time that passed, not by the number of scans: a late scan
 * looks at more of them.
 */
static void scan_rings(struct scan_guest *g, int64_t elapsed_ns, struct usage *u,
		       struct scan_result *res)
{
	bool works = g->working || (g->after && g->after->working);
	uint32_t from = g->next, due;

	g->carry_ns += (elapsed_ns < SCAN_REST_NS ? elapsed_ns : SCAN_REST_NS) * g->rings;
	due = (uint32_t)(g->carry_ns / SCAN_REST_NS);
	g->carry_ns -= due * SCAN_REST_NS;
	g->working = 0;
	for (uint32_t i = 0; i < g->rings; i++) {
		uint32_t turn = i >= from ? i - from : i + g->rings - from;

		prefetch_ahead(g, i, works);
		if (g->ring[i].idle < SCAN_REST_AFTER || turn < due)
			scan_ring(g, &g->ring[i], elapsed_ns, u, res);
		g->working += !g->ring[i].idle;
	}
	if (g->rings)
		g->next = (from + due) % g->rings;
}

void scan_rested(struct scan_guest *g, struct usage *u)
{
	struct scan_result res = { 0 };

	for (uint32_t i = 0; i < g->rings; i++)
		if (g->ring[i].idle >= SCAN_REST_AFTER && !ring_is_quiet(g->ring[i].ring))
			scan_ring(g, &g->ring[i], 0, u, &res);
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

void scan_guest(struct scan_guest *g, int64_t elapsed_ns, struct usage *u, struct report *rep,
		struct window *whole, struct scan_result *res)
{
	*res = (struct scan_result){ 0 };
	*rep = (struct report){ .slot = u->slot };
	if (g->after) {
		ring_prefetch_line(g->after->registry);
		prefetch_rested(g->after);
	}
	if (g->registry)
		res->refresh = registry_changed(g->registry, g->generation);
	elapsed_ns = elapsed_ns > 0 ? elapsed_ns : 0;
	g->time_ns += elapsed_ns;
	scan_rings(g, elapsed_ns, u, res);
	scan_latencies(g, rep, whole, res);
}
