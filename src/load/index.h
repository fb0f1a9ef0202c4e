/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * index: how loaded a node is, from records that its host published (resex/load_abi.h). Pure: times
 * are arguments, and all is integers.
 *
 * Of two records, of the interval between them:
 *
 *	used  = busy + irq + softirq + steal, at most cpus x interval
 *	index = 1000 x (used + wait) / (cpus x interval)
 *
 * 1000: all CPUs are busy and nothing waits; above: work waits. Time that the hypervisor took away
 * (steal) is not there for requests, so it counts as used. A time that went back counts as 0: the
 * kernel's times of idle CPUs may.
 */
#ifndef RESEX_LOAD_INDEX_H
#define RESEX_LOAD_INDEX_H

#include "resex/load_abi.h"
#include "src/core/units.h"

enum {
	LOAD_INDEX_MAX = 100000, /* higher ones are shown as this */
	LOAD_CPUS_MAX = 1024,
};

#define LOAD_INTERVAL_MAX_NS (60 * NS_PER_S)

/* CPU time that the node's own work used: the hypervisor counts it without steal, too. */
static inline uint64_t load_cpu_ns(const struct load_record *r)
{
	return r->busy_ns + r->irq_ns + r->softirq_ns;
}

/*
 * "none", "ulm", "klm", "hv" or "sim". source: below LOAD_SOURCES, as of each record that was
 * checked when it was read (src/shared/region.h).
 */
const char *load_source_name(uint32_t source);

/*
 * The index between two records of one node, older first. -EINVAL: they are of different nodes,
 * sources or numbers of CPUs, cpus is 0 or above LOAD_CPUS_MAX, the second is not newer by its time
 * and beat, or newer by more than LOAD_INTERVAL_MAX_NS.
 */
int load_index(const struct load_record *a, const struct load_record *b);

/* Records of one node, as they are read. Zeros: none yet. */
struct load_window {
	struct load_record base, next, newest; /* next: the base of the next interval */
};

/*
 * Take the newest record. One that was read before changes nothing. One that load_index() would
 * not take after the newest (the node has started again, or has another source) begins anew.
 */
void load_window_add(struct load_window *w, const struct load_record *r, int64_t window_ns);
/*
 * The index of the newest interval: it is window_ns to 2 x window_ns long, and shorter only at the
 * beginning. -EAGAIN: there are not two records yet.
 */
int load_window_index(const struct load_window *w);

#endif
