/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loads: what guests used of CPUs, for how long they wanted one, and what they say themselves, from
 * the sampler to the cluster's thread. It publishes that of guests that are nodes
 * (src/cluster/worker_guests.c), and only these are copied.
 *
 *	cluster's thread --slots of guests that are nodes-------> sampler
 *	sampler --these guests, each load.period, the newest----> cluster's thread
 */
#ifndef RESEX_TICK_LOADS_H
#define RESEX_TICK_LOADS_H

#include <stdbool.h>

#include "ibmon/scan.h"
#include "src/core/flow.h"
#include "src/core/spsc.h"
#include "src/core/units.h"

/* A guest of which the list of domains said it at that time. */
struct guest_load {
	struct guest_key key;
	uint32_t vcpus;	 /* online */
	uint32_t flags;	 /* enum hv_dom_flags, at that time */
	uint64_t cpu_ns; /* of all VCPUs since the domain was created */
	/*
	 * For so long one VCPU at least had a CPU or waited for one, since the sampler has the
	 * guest. Each tick looks once, and counts the time since the tick before it, but at most
	 * SAMPLER_LOOK_INTERVALS.
	 */
	uint64_t runnable_ns;
	bool claims;		     /* its agent has a load page */
	struct guest_load_page page; /* a copy, in which nothing was checked */
};

struct guest_loads {
	struct mono time; /* of the tick */
	uint32_t guests;  /* in ascending domain id */
	uint32_t reserved;
	struct guest_load guest[FLOW_GUESTS_MAX];
};

struct load_buffers {
	int64_t period_ns; /* 0: nobody reads them; written before the sampler runs */
	/*
	 * Slots of guests that are nodes, by the cluster's thread. It learns late that a slot has
	 * another guest: then one guest too many is copied, or one is missing for a period.
	 */
	_Atomic uint64_t wanted[FLOW_GUESTS_MAX / 64];
	struct guest_loads buf[SPSC_BUFFERS];
	struct spsc_latest at;
};

#endif
