/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * latency: from the newest samples of one latency page to a guest's report.
 *
 * Hostile input: a sample counts only if the page says, after it was copied, that
 * no newer one was begun in its entry. Sampler thread; never blocks, never
 * allocates, bounded work a call; an unchanged page costs one cache line.
 */
#ifndef RESEX_IBMON_LATENCY_H
#define RESEX_IBMON_LATENCY_H

#include "resex/guest_abi.h"
#include "src/core/flow.h"
#include "src/core/window.h"

struct latency_page {
	const volatile struct guest_latency *page;
	uint64_t last;	  /* number of the newest sample examined */
	uint64_t dropped; /* as the page said last */
	bool begun;	  /* they are valid */
	bool moves;	  /* the last reading found new samples */
};

/* Samples that are on the page at the first read are history and not reported. */
void latency_page_open(struct latency_page *l, const volatile void *page);

/*
 * Add new samples to *r, oldest first and at most max (the next call reads the
 * others, unless they were overwritten), and their whole latencies to *whole (may
 * be NULL). A page without its magic number is skipped, and starts again with its
 * history when it has it again. Returns the number of samples that were dropped in
 * the guest, or overwritten before they were read, and sets REPORT_LOST if any.
 */
uint64_t latency_page_read(struct latency_page *l, uint32_t max, struct report *r,
			   struct window *whole);

#endif
