// SPDX-License-Identifier: GPL-2.0-or-later
/* scan: from the rings of a guest, through samples, to its usage and report. See scan.h. */
#include "ibmon/scan.h"

#include "ibmon/ring/mtu.h"
#include "ibmon/registry.h"
#include "ibmon/ring/ring_priv.h"

/*
 * Rings ahead of the one that is read. What comes from memory early waits in the second-level cache
 * (see ring_prefetch_line), which has room for the lines of so many.
 */
enum { AHEAD_QUIET = 16, AHEAD_OWN = 14, AHEAD_WORK = 12, AHEAD_REST = 8 };

/*
 * Each ring has pages of its own, and a prefetch waits until the address of its page was found. A
 * CPU looks for several at a time if nothing else is between them: so lines are prefetched for so
 * many rings at once, and not as each of these is read. Busy ticks took 3 to 12 % less.
 */
enum { BURST = 8 };

/* Guests that are passed over to find the ring ahead: enough where each guest has one ring. */
enum { SKIP_GUESTS = AHEAD_QUIET };

/* How far ahead guests are that rest; a seventh of their rings is looked at. */
enum { AHEAD_GUESTS = 12, AHEAD_RESTED = 56 };

/* A guest may have too many lines to bring them all at once: so this is by rings, not by guests. */
static struct scan_place place_ahead(const struct scan_guest *g, uint32_t n)
{
	uint32_t skip = SKIP_GUESTS;

	while (g && n >= g->rings && skip--) {
		n -= g->rings;
		g = g->after;
	}
	if (!g || n >= g->rings)
		return (struct scan_place){ 0 };
	return (struct scan_place){ &g->ring[n], g, g->rings - n };
}

static inline void place_next(struct scan_place *p)
{
	const struct scan_guest *after;

	if (!p->g) /* then at is NULL, too */
		return;
	p->at++;
	if (--p->left)
		return;
	after = p->g->after;
	if (after && after->rings)
		*p = (struct scan_place){ after->ring, after, after->rings };
	else
		*p = place_ahead(after, 0);
}

static const struct scan_guest *guest_ahead(const struct scan_guest *g)
{
	uint32_t rings = 0;

	for (int i = 0; i < AHEAD_GUESTS && rings < AHEAD_RESTED && g; i++) {
		rings += g->rings;
		g = g->after;
	}
	return g;
}

/* The ring of g, of those from ring i on, at which a burst begins; g->rings or more: none of g. */
static inline uint32_t burst_from(const struct scan_guest *g, uint32_t i)
{
	return i + (g->to_end - i) % BURST;
}

void scan_before(struct scan_guest *g, const struct scan_guest *after)
{
	uint32_t first;

	g->after = after;
	g->ahead = guest_ahead(g);
	g->to_end = g->rings + (after ? after->to_end : 0);
	first = burst_from(g, 0);
	g->quiet = place_ahead(g, first + AHEAD_QUIET);
	g->own = place_ahead(g, first + AHEAD_OWN);
	g->work = place_ahead(g, first + AHEAD_WORK);
	g->rest = place_ahead(g, first + AHEAD_REST);
}

/*
 * Words and header together are all that a sample reads of an idle ring. A forged header, or an
 * index that moved where it cannot, shows in them only.
 */
static bool is_unchanged(const struct scan_ring *sr)
{
	const struct ring_quiet *q = &sr->quiet;

	if (q->at[2] && *q->at[2] != q->value[2])
		return false;
	return sr->ring->ops->header_same(&sr->ring->desc, &sr->ring->mem);
}

static inline bool is_check_due(const struct scan_ring *sr)
{
	return (sr->idle + sr->id) % SCAN_CHECK_EACH == 0;
}

static inline void prefetch_look(const struct scan_ring *sr)
{
	ring_prefetch_line(sr->quiet.at[0]);
	ring_prefetch_line(sr->quiet.at[1]);
	if (is_check_due(sr)) {
		ring_prefetch_check(sr->ring);
		ring_prefetch_line(sr->quiet.at[2]);
	}
}

/* One that works will be seen to work by its first word. */
static inline void prefetch_quiet(const struct scan_ring *sr)
{
	if (!sr || sr->idle >= SCAN_REST_AFTER)
		return;
	if (sr->idle)
		prefetch_look(sr);
	else
		ring_prefetch_line(sr->quiet.at[0]);
}

/* Of a ring whose last sample found work. */
static inline void prefetch_work(const struct scan_ring *sr, bool rest)
{
	if (sr && !sr->idle)
		ring_prefetch_work(sr->ring, rest);
}

/* What the daemon itself remembers of it: that of many rings is in no near cache. */
static inline void prefetch_own(const struct scan_ring *sr)
{
	if (sr && !sr->idle)
		ring_prefetch_own(sr->ring);
}

/* The places of what is brought into the cache while a ring is read. */
struct ahead {
	struct scan_place quiet, own, work, rest;
	bool works; /* some of the rings did lately */
};

/* Does g work, or, if it has a burst, one of the guests for which that is? */
static inline bool is_working(const struct scan_guest *g)
{
	uint32_t first = burst_from(g, 0), n = 0;

	if (first >= g->rings)
		return g->working;
	for (; g && n < first + BURST; g = g->after) {
		if (g->working)
			return true;
		n += g->rings ? g->rings : 1;
	}
	return g && g->working;
}

/* What the burst at ring i brings; works: is_working(). */
static inline struct ahead ahead_of(const struct scan_guest *g, uint32_t i, bool works)
{
	bool first = i == burst_from(g, 0);
	struct ahead a = { .works = works };

	if (i >= g->rings)
		return a;
	a.quiet = first ? g->quiet : place_ahead(g, i + AHEAD_QUIET);
	if (works) {
		a.own = first ? g->own : place_ahead(g, i + AHEAD_OWN);
		a.work = first ? g->work : place_ahead(g, i + AHEAD_WORK);
		a.rest = first ? g->rest : place_ahead(g, i + AHEAD_REST);
	}
	return a;
}

static inline void prefetch_ahead(struct ahead *a)
{
	prefetch_quiet(a->quiet.at);
	place_next(&a->quiet);
	if (!a->works)
		return;
	prefetch_own(a->own.at);
	prefetch_work(a->work.at, false);
	prefetch_work(a->rest.at, true);
	place_next(&a->own);
	place_next(&a->work);
	place_next(&a->rest);
}

static inline void prefetch_burst(struct ahead *a)
{
	for (uint32_t i = 0; i < BURST; i++)
		prefetch_ahead(a);
}

static bool is_all_rested(const struct scan_guest *g)
{
	return g->resting == g->rings;
}

static inline int64_t carry_after(const struct scan_guest *g, int64_t elapsed_ns)
{
	return g->carry_ns + (elapsed_ns < SCAN_REST_NS ? elapsed_ns : SCAN_REST_NS) * g->rings;
}

/* Of its rested rings those that are due in its next scan: the others' lines are not read. */
static inline void prefetch_rested(const struct scan_guest *g, int64_t elapsed_ns)
{
	uint32_t due = (uint32_t)(carry_after(g, elapsed_ns) / SCAN_REST_NS), i = g->next;

	for (; due > 0; due--) {
		if (g->ring[i].idle >= SCAN_REST_AFTER)
			prefetch_look(&g->ring[i]);
		i = i + 1 < g->rings ? i + 1 : 0;
	}
}

/* Its first line, and the next sample where there is likely to be one. */
static inline void prefetch_latency(const struct latency_page *l)
{
	ring_prefetch_line(l->page);
	if (l->moves)
		ring_prefetch_line(&l->page->sample[l->last % GUEST_LATENCY_SAMPLES]);
}

static inline void prefetch_guests(const struct scan_guest *g, const struct scan_guest *end,
				   int64_t elapsed_ns)
{
	for (; g && g != end; g = g->after) {
		ring_prefetch_line(g->registry);
		/* The lines of pages without news come while the first is read. */
		for (uint32_t i = 0; i < g->latencies; i++)
			if (!i || g->latency[i]->moves)
				prefetch_latency(g->latency[i]);
		if (g->resting)
			prefetch_rested(g, elapsed_ns);
	}
}

/* Of the first rings of g, and those after them: what no burst of g brings. */
static void prefetch_first(const struct scan_guest *g)
{
	struct scan_place p = place_ahead(g, 0); /* g may have no ring */
	uint32_t first = burst_from(g, 0);

	for (uint32_t i = 0; i < first + AHEAD_QUIET; i++) {
		prefetch_quiet(p.at);
		if (i < first + AHEAD_WORK)
			prefetch_work(p.at, false);
		if (i < first + AHEAD_REST)
			prefetch_work(p.at, true);
		place_next(&p);
	}
}

void scan_prefetch(const struct scan_guest *g, int64_t elapsed_ns)
{
	prefetch_first(g);
	prefetch_guests(g, g->ahead, elapsed_ns > 0 ? elapsed_ns : 0);
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
static inline void note_idle(const struct scan_guest *g, struct scan_ring *sr)
{
	if (++sr->idle < SCAN_REST_AFTER)
		return;
	sr->looked_ns = g->time_ns;
	if (sr->idle == SCAN_REST_AFTER && sr->quiet.backlog)
		sr->idle = SCAN_REST_AFTER - SCAN_CHECK_EACH;
	if (sr->idle == SCAN_REST_AFTER + SCAN_CHECK_EACH)
		sr->idle = SCAN_REST_AFTER;
}

static void sample_ring(struct scan_guest *g, struct scan_ring *sr, int64_t elapsed_ns, bool quiet,
			struct usage *u, struct scan_result *res)
{
	struct sample s;
	int rc;

	res->found = true;
	if (sr->idle >= SCAN_REST_AFTER)
		elapsed_ns = g->time_ns - sr->looked_ns;
	rc = ring_sample_among(sr->ring, g->peers, elapsed_ns, &s);
	ring_watch(sr->ring, &sr->quiet);
	if (quiet && !rc) {
		note_idle(g, sr);
	} else {
		sr->idle = 0;
		g->working++;
	}
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

static inline void scan_ring(struct scan_guest *g, struct scan_ring *sr, int64_t elapsed_ns,
			     struct usage *u, struct scan_result *res)
{
	bool quiet = ring_is_quiet(&sr->quiet);

	if (!quiet || (is_check_due(sr) && !is_unchanged(sr))) {
		sample_ring(g, sr, elapsed_ns, quiet, u, res);
		return;
	}
	if (sr->quiet.backlog) {
		u->backlog += sr->quiet.backlog;
		u->queues++;
	}
	note_idle(g, sr);
}

/*
 * How many rested rings have their turn now, of all at most: by the time that passed, not the
 * number of scans.
 */
static uint32_t rested_due(struct scan_guest *g, int64_t elapsed_ns)
{
	uint32_t due;

	g->carry_ns = carry_after(g, elapsed_ns);
	due = (uint32_t)(g->carry_ns / SCAN_REST_NS);
	g->carry_ns -= due * SCAN_REST_NS;
	return due;
}

/* All rings of g rest: look at those that are due, and at no others. */
static void scan_due(struct scan_guest *g, uint32_t due, int64_t elapsed_ns, struct usage *u,
		     struct scan_result *res)
{
	uint32_t i = g->next;

	if (g->after && !is_all_rested(g->after))
		prefetch_first(g->after);
	g->working = 0;
	for (uint32_t k = 0; k < due; k++) {
		scan_ring(g, &g->ring[i], elapsed_ns, u, res);
		g->resting -= g->ring[i].idle < SCAN_REST_AFTER;
		i = i + 1 < g->rings ? i + 1 : 0;
	}
}

/* Is this rested ring among the due ones from g->next on? */
static bool is_due(const struct scan_guest *g, uint32_t i, uint32_t due)
{
	return (i >= g->next ? i - g->next : i + g->rings - g->next) < due;
}

/*
 * No ring of g works or rests: as scan_all(), as long as rings are idle. The first ring that is
 * not; g->rings: all are.
 */
static uint32_t scan_idle(struct scan_guest *g)
{
	uint32_t i = 0, burst = burst_from(g, 0);
	struct ahead ahead = ahead_of(g, burst, false);

	for (; i < g->rings; i++) {
		struct scan_ring *sr = &g->ring[i];

		if (i == burst) {
			prefetch_burst(&ahead);
			burst += BURST;
		}
		if (!ring_is_quiet(&sr->quiet) || sr->quiet.backlog)
			break;
		if (sr->idle + 1 >= SCAN_REST_AFTER || (is_check_due(sr) && !is_unchanged(sr)))
			break;
		sr->idle++;
	}
	return i;
}

/* Some rings of g do not rest. */
static void scan_all(struct scan_guest *g, uint32_t due, int64_t elapsed_ns, struct usage *u,
		     struct scan_result *res)
{
	bool works = is_working(g);
	uint32_t resting = 0, from = works || g->resting ? 0 : scan_idle(g), burst;
	struct ahead ahead;

	if (from == g->rings)
		return;
	burst = burst_from(g, from);
	ahead = ahead_of(g, burst, works);
	g->working = 0;
	for (uint32_t i = from; i < g->rings; i++) {
		struct scan_ring *sr = &g->ring[i];

		if (i == burst) {
			prefetch_burst(&ahead);
			burst += BURST;
		}
		if (sr->idle < SCAN_REST_AFTER || is_due(g, i, due))
			scan_ring(g, sr, elapsed_ns, u, res);
		resting += sr->idle >= SCAN_REST_AFTER;
	}
	g->resting = resting;
}

static void scan_rings(struct scan_guest *g, int64_t elapsed_ns, struct usage *u,
		       struct scan_result *res)
{
	uint32_t due = rested_due(g, elapsed_ns);

	if (is_all_rested(g))
		scan_due(g, due, elapsed_ns, u, res);
	else
		scan_all(g, due, elapsed_ns, u, res);
	g->next = g->next + due < g->rings ? g->next + due : g->next + due - g->rings;
}

void scan_rested(struct scan_guest *g, struct usage *u)
{
	struct scan_result res = { 0 };

	for (uint32_t i = 0; i < g->rings; i++)
		if (g->ring[i].idle >= SCAN_REST_AFTER && !ring_is_quiet(&g->ring[i].quiet))
			scan_ring(g, &g->ring[i], 0, u, &res);
	g->resting = 0; /* the next scan counts them */
}

/* Each page of a guest with many gets fewer samples, so that all guests cost the same. */
static void scan_latencies(const struct scan_guest *g, struct report *rep, struct window *whole,
			   struct scan_result *res)
{
	uint32_t each = SCAN_LATENCIES_MAX / g->latencies;

	for (uint32_t i = 0; i < g->latencies; i++) {
		uint64_t lost = latency_page_read(g->latency[i], each, rep, whole);

		res->latencies_lost = sat_add(res->latencies_lost, lost);
	}
	res->found |= rep->n | rep->flags | res->latencies_lost;
}

void scan_guest(struct scan_guest *g, int64_t elapsed_ns, struct usage *u, struct report *rep,
		struct window *whole, struct scan_result *res)
{
	*res = (struct scan_result){ 0 };
	*rep = (struct report){ .slot = u->slot };
	elapsed_ns = elapsed_ns > 0 ? elapsed_ns : 0;
	if (g->after)
		prefetch_guests(g->ahead, g->after->ahead, elapsed_ns);
	if (g->registry)
		res->found = res->refresh = registry_changed(g->registry, g->generation);
	g->time_ns += elapsed_ns;
	if (g->rings)
		scan_rings(g, elapsed_ns, u, res);
	if (g->latencies)
		scan_latencies(g, rep, whole, res);
}
