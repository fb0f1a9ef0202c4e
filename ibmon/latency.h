/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * latency: the newest samples of one latency page -> a guest's report.
 *
 * Hostile input: a sample counts only if it carries the number that is
 * expected at its place, before and after it was copied. Sampler thread;
 * never blocks, never allocates, bounded work a call; a page on which nothing
 * moved costs one cache line.
 */
#ifndef RESEX_IBMON_LATENCY_H
#define RESEX_IBMON_LATENCY_H

#include "resex/guest_abi.h"
#include "src/core/flow.h"
#include "src/core/window.h"

struct latency_page {
	const volatile struct guest_latency *page;
	uint64_t last; /* number of the newest sample that was looked at */
	bool begun;
};

/* What stands on the page when it is first read was there before us: not reported. */
void latency_page_open(struct latency_page *l, const volatile void *page);

/*
 * Add the samples that are new, oldest first and max at most (the others at the
 * next call, if they are there still), to *r and to *whole, which gets whole
 * latencies (NULL: nobody wants them). A page that stops being one is left
 * alone, and begins anew when it is one again. Returns how many samples were
 * overwritten, or torn, before they were read, and sets REPORT_LOST if any.
 */
uint64_t latency_page_read(struct latency_page *l, uint32_t max, struct report *r,
			   struct window *whole);

#endif
