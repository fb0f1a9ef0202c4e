/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agree: does the CPU time that a guest says it used agree with the hypervisor's? Pure: times are
 * arguments.
 *
 * Of each window, of a second or a little more, and longer if the guest is looked at seldom:
 *
 *	off = what the guest says it used - what the hypervisor counted
 *
 * The guest disagrees when off is more than 25 % of a CPU either way, beyond what the two readings
 * were apart. It agrees again after LOAD_AGREE_GOOD windows in a row of at most 15 %: so one whose
 * figures are near the limit does not come and go. Until its first window it is not believed
 * either: a guest that lies gets no requests by being new.
 *
 * used is busy, irq and softirq. The hypervisor does not count what it gave to others, nor does a
 * guest's kernel count that as busy: it is the guest's steal, and the hypervisor's wait. A guest
 * that is capped, and hides its steal, would look as if it could do more. So it also disagrees when
 * used and steal together are so much below the hypervisor's CPU time and wait.
 */
#ifndef RESEX_LOAD_AGREE_H
#define RESEX_LOAD_AGREE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/core/units.h"

enum {
	LOAD_AGREE_PERCENT = 25, /* of a CPU: more is a disagreement */
	LOAD_AGREE_AGAIN_PERCENT = 15,
	LOAD_AGREE_GOOD = 5, /* windows */
};

#define LOAD_AGREE_WINDOW_NS NS_PER_S

/* What had been used until some time, by guest and hypervisor. */
struct load_used {
	struct mono at;
	uint64_t used_ns, steal_ns; /* the guest's; since some time that does not change */
	uint64_t cpu_ns, wait_ns;   /* the hypervisor's, likewise */
	bool wait_known;
	int64_t late_ns; /* the guest read its figures so long before, at most; < 0: unknown */
	uint32_t cpus;
};

/* Zeros: nothing was compared yet. */
struct load_agree {
	bool began;
	struct load_used from; /* the beginning of the window */
	bool proven;	       /* it agreed in some window */
	bool disagrees;	       /* it did not since */
	uint32_t good;	       /* windows in a row in which it agreed */
	/* Of the newest whole window since the last fault, in 1/1000 of a CPU. */
	bool known;
	uint32_t used_mcpu, steal_mcpu, cpu_mcpu, wait_mcpu;
};

/*
 * Take what was used until now; the guest is looked at once in period_ns. What is late by more than
 * an eighth of a window is left out. A window that became too long, or in which a figure went back,
 * says nothing.
 */
void load_agree_add(struct load_agree *a, const struct load_used *u, int64_t period_ns);
/* It said what no honest guest says: it disagrees. */
void load_agree_fault(struct load_agree *a);

/* May its figures be used? */
static inline bool load_agree_believed(const struct load_agree *a)
{
	return a->proven && !a->disagrees;
}

#endif
