/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan: read all rings and latency pages of one guest once. Sampler thread; never blocks,
 * never allocates, bounded work a call.
 */
#ifndef RESEX_IBMON_SCAN_H
#define RESEX_IBMON_SCAN_H

#include "ibmon/latency.h"
#include "ibmon/ring/ring.h"

struct scan_ring {
	struct ring *ring;
	uint32_t id;  /* descriptor id */
	uint32_t old; /* was there at the guest's first walk: history is not charged */
};

struct scan_guest {
	uint32_t slot;
	uint32_t rings;
	const volatile void *registry; /* NULL: not attached */
	uint32_t generation;	       /* of the walk this set comes from */
	uint32_t latencies;
	struct latency_page *latency[GUEST_LATENCIES_MAX];
	struct scan_ring ring[];
};

struct scan_result {
	bool refresh;	       /* the guest's registry generation moved */
	uint32_t faults;       /* rings at fault whose faults were not told yet */
	uint32_t fault_id[8];  /* their ids, the first eight (the rest when these are told) */
	uint32_t fault_why[8]; /* enum ring_fault */
	uint64_t latencies_lost;
};

enum { SCAN_LATENCIES_MAX = 256 }; /* samples read a call, the same number of each page */

/*
 * Sample every ring of g and add to *u (mtu_add). u->slot, link, cpu_ns are
 * the caller's. Rings at fault are skipped; each fault is reported until
 * scan_told. *rep is filled from the latency pages, whose whole latencies are
 * added to *whole too (may be NULL).
 */
void scan_guest(const struct scan_guest *g, int64_t elapsed_ns, struct usage *u, struct report *rep,
		struct window *whole, struct scan_result *res);

/* The fault of this ring has reached whoever lets it go: it need not be reported again. */
void scan_told(const struct scan_guest *g, uint32_t id);

#endif
