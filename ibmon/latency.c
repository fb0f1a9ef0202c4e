// SPDX-License-Identifier: GPL-2.0-or-later
/* latency: one latency page, read by the protocol of resex/guest_abi.h. See latency.h. */
#include "ibmon/latency.h"

#include "src/core/units.h"
#include "src/util/seqread.h"

void latency_page_open(struct latency_page *l, const volatile void *page)
{
	*l = (struct latency_page){ .page = (const volatile struct guest_latency *)page };
}

/*
 * Copy sample seq of those up to newest. False: a newer one was begun in its entry, or the page
 * was begun anew. The guest may write meanwhile, so the page says so after the copy.
 */
static bool copy_sample(const volatile struct guest_latency *page, uint64_t seq, uint64_t newest,
			struct guest_latency_sample *s)
{
	const volatile struct guest_latency_sample *from =
		&page->sample[(seq - 1) % GUEST_LATENCY_SAMPLES];
	uint64_t writing;

	s->ctime_ns = guest_read32(&from->ctime_ns);
	s->wtime_ns = guest_read32(&from->wtime_ns);
	s->ptime_ns = guest_read32(&from->ptime_ns);
	guest_copy_barrier();
	writing = guest_read64(&page->writing);
	return writing >= newest && writing - seq < GUEST_LATENCY_SAMPLES;
}

static void report_add(struct report *r, struct window *whole, const struct guest_latency_sample *s)
{
	unsigned __int128 sumsq = (unsigned __int128)r->io_sumsq_hi << 64 | r->io_sumsq_lo;
	uint64_t io = (uint64_t)s->wtime_ns + s->ptime_ns;

	r->n++;
	r->sum_ns += io + s->ctime_ns;
	r->io_sum_ns += io;
	sumsq += (unsigned __int128)io * io;
	r->io_sumsq_hi = (uint64_t)(sumsq >> 64);
	r->io_sumsq_lo = (uint64_t)sumsq;
	if (whole)
		window_add(whole, io + s->ctime_ns);
}

/* Samples that were dropped in the guest since the last reading. */
static uint64_t count_dropped(struct latency_page *l)
{
	uint64_t dropped = guest_read64(&l->page->dropped);
	uint64_t n = dropped > l->dropped ? dropped - l->dropped : 0;

	l->dropped = dropped;
	return n;
}

uint64_t latency_page_read(struct latency_page *l, uint32_t max, struct report *r,
			   struct window *whole)
{
	struct guest_latency_sample s;
	uint64_t newest, lost;

	if (guest_read32(&l->page->magic) != GUEST_LATENCY_MAGIC) {
		l->begun = false;
		return 0;
	}
	newest = guest_read64(&l->page->written);
	l->moves = newest != l->last;
	if (!l->moves && l->begun)
		return 0;
	guest_copy_barrier();
	if (newest < l->last) /* another process uses the page now */
		l->last = l->dropped = 0;
	lost = count_dropped(l);
	/*
	 * Samples from before the first reading are skipped: they are of a time that no
	 * window has.
	 */
	if (!l->begun) {
		l->last = newest;
		l->begun = true;
		return 0;
	}
	/*
	 * The page is a ring: what is older than its length was overwritten before it was
	 * read.
	 */
	if (newest - l->last > GUEST_LATENCY_SAMPLES) {
		lost = sat_add(lost, newest - l->last - GUEST_LATENCY_SAMPLES);
		l->last = newest - GUEST_LATENCY_SAMPLES;
	}
	for (uint32_t i = 0; i < max && l->last < newest; i++) {
		uint64_t seq = ++l->last;

		if (copy_sample(l->page, seq, newest, &s))
			report_add(r, whole, &s);
		else
			lost = sat_add(lost, 1);
	}
	if (lost)
		r->flags |= REPORT_LOST;
	return lost;
}
