/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan: read all rings and latency pages of one guest once a tick; copy its load page when asked.
 *
 * Sampler thread; never blocks, never allocates, bounded work a call.
 */
#ifndef RESEX_IBMON_SCAN_H
#define RESEX_IBMON_SCAN_H

#include <assert.h>

#include "ibmon/latency.h"
#include "ibmon/ring/ring.h"

enum {
	/*
	 * Looks in a row that found a ring idle; then it is rested. A second: policies judge each
	 * interval of a guest that a low cap stops for tens of milliseconds.
	 */
	SCAN_REST_AFTER = 1024,
	SCAN_CHECK_EACH = 16, /* looks at an idle ring: one of so many is a whole sample */
};

/* A rested ring is looked at once in this time, at the first scan after it: within 8 ms. */
#define SCAN_REST_NS (7 * NS_PER_MS)

/* All that an idle ring needs is in one cache line. */
struct scan_ring {
	struct ring *ring;
	uint32_t id;  /* descriptor id */
	uint16_t old; /* found by the guest's first walk: its history is not charged */
	/* From here on the sampler's, and at first 0. */
	uint16_t idle; /* looks in a row that found it idle; counted on up to where it rests */
	int64_t looked_ns;
	struct ring_quiet quiet;
};

static_assert(sizeof(struct scan_ring) <= 64, "more than a cache line");

/* A ring, in the order of scans, which goes on with the next guests. */
struct scan_place {
	const struct scan_ring *at; /* NULL: there is none */
	const struct scan_guest *g;
	uint32_t left; /* of its rings, with this one */
};

struct scan_guest {
	/* What the scan of a guest without rings reads is one cache line. */
	const volatile void *registry;	/* NULL: not attached */
	const struct scan_guest *after; /* in the set in use, the guest scanned next; NULL: none */
	const struct scan_guest *ahead; /* one some guests after it; NULL: none */
	int64_t time_ns;		/* of all scans: the sampler's, and at first 0 */
	uint32_t slot;
	uint32_t rings;
	uint32_t generation; /* of the walk that found the rings */
	uint32_t latencies;
	/* The sampler's up to rest, and at first 0. */
	uint32_t next;	  /* the ring at which the next look at rested rings begins */
	uint32_t working; /* rings in whose last sample work was found */
	uint32_t resting; /* rings that are rested */
	int64_t carry_ns; /* time x rings that no look was spent on yet */
	uint32_t to_end;  /* rings from its first one to the last one that is scanned */
	/* Where what its first burst brings into the cache begins. */
	struct scan_place quiet, own, work, rest;
	struct latency_page *latency[GUEST_LATENCIES_MAX];
	const volatile void *load; /* NULL: none */
	struct ring_peers *peers;  /* of the rings; NULL: none is told anything */
	struct scan_ring ring[];
};

struct scan_result {
	/* Anything, beside work that is still under way; else *rep and what follows are empty. */
	bool found;
	bool refresh;	       /* the guest's registry generation changed */
	uint32_t faults;       /* rings at fault that scan_fault_delivered was not called for */
	uint32_t fault_id[8];  /* their ids: the first eight, then the next ones */
	uint32_t fault_why[8]; /* enum ring_fault */
	uint64_t latencies_lost;
};

enum { SCAN_LATENCIES_MAX = 256 }; /* samples read a call, the same number of each page */

/*
 * Sample the rings of g and add to *u (mtu_add). A ring that was idle for long is only looked at
 * once in SCAN_REST_NS: its first work is counted up to so much later. The caller sets u->slot,
 * link and cpu_ns. Rings at fault are skipped; each fault is reported until
 * scan_fault_delivered. *rep is filled from the latency pages; whole latencies
 * are also added to *whole (may be NULL).
 */
void scan_guest(struct scan_guest *g, int64_t elapsed_ns, struct usage *u, struct report *rep,
		struct window *whole, struct scan_result *res);

/*
 * Copy the load page of g, once, and nothing of it is believed: see src/load/claim.h. Called once a
 * period of loads, not in each scan. False: there is none.
 */
bool scan_load(const struct scan_guest *g, struct guest_load_page *copy);

/*
 * The rings of g may leave: look at those that are rested, and add to *u as scan_guest would. A
 * fault is not reported.
 */
void scan_rested(struct scan_guest *g, struct usage *u);

/*
 * g is scanned before this guest, or as the last one (NULL). The order is said from the last guest
 * to the first.
 */
void scan_before(struct scan_guest *g, const struct scan_guest *after);

/*
 * Bring into the cache what scan_guest will read first, when it is called with this time. Each scan
 * does so for the next rings, also of the guests after it: needed for the first guest alone.
 */
void scan_prefetch(const struct scan_guest *g, int64_t elapsed_ns);

/* The control thread knows the fault of this ring: do not report it again. */
void scan_fault_delivered(const struct scan_guest *g, uint32_t id);

#endif
