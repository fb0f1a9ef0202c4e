/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan: read all rings and latency pages of one guest once a tick.
 *
 * Sampler thread; never blocks, never allocates, bounded work a call.
 */
#ifndef RESEX_IBMON_SCAN_H
#define RESEX_IBMON_SCAN_H

#include "ibmon/latency.h"
#include "ibmon/ring/ring.h"

struct scan_ring {
	struct ring *ring;
	uint32_t id;  /* descriptor id */
	uint32_t old; /* found by the guest's first walk: its history is not charged */
};

struct scan_guest {
	uint32_t slot;
	uint32_t rings;
	const volatile void *registry; /* NULL: not attached */
	uint32_t generation;	       /* of the walk that found the rings */
	uint32_t latencies;
	struct latency_page *latency[GUEST_LATENCIES_MAX];
	struct scan_ring ring[];
};

struct scan_result {
	bool refresh;	       /* the guest's registry generation changed */
	uint32_t faults;       /* rings at fault that scan_fault_delivered was not called for */
	uint32_t fault_id[8];  /* their ids: the first eight, then the next ones */
	uint32_t fault_why[8]; /* enum ring_fault */
	uint64_t latencies_lost;
};

enum { SCAN_LATENCIES_MAX = 256 }; /* samples read a call, the same number of each page */

/*
 * Sample every ring of g and add to *u (mtu_add). The caller sets u->slot, link
 * and cpu_ns. Rings at fault are skipped; each fault is reported until
 * scan_fault_delivered. *rep is filled from the latency pages; whole latencies
 * are also added to *whole (may be NULL).
 */
void scan_guest(const struct scan_guest *g, int64_t elapsed_ns, struct usage *u, struct report *rep,
		struct window *whole, struct scan_result *res);

/* The control thread knows the fault of this ring: do not report it again. */
void scan_fault_delivered(const struct scan_guest *g, uint32_t id);

#endif
