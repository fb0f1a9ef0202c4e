// SPDX-License-Identifier: GPL-2.0-or-later
/* latency: one latency page, read by the protocol of resex/guest_abi.h. See latency.h. */
#include "ibmon/latency.h"

#include "src/util/seqread.h"

void latency_page_open(struct latency_page *l, const volatile void *page)
{
	*l = (struct latency_page){ .page = (const volatile struct guest_latency *)page };
}

/*
 * Copy the sample with sequence number seq; false: overwritten or torn. The sequence number
 * is read before and after the copy: the guest may write meanwhile.
 */
static bool copy_sample(const volatile struct guest_latency_sample *from, uint64_t seq,
			struct guest_latency_sample *s)
{
	if (guest_read64(&from->seq) != seq)
		return false;
	guest_copy_barrier();
	guest_copy(s, from, sizeof(*s));
	return guest_read64(&from->seq) == seq;
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

uint64_t latency_page_read(struct latency_page *l, uint32_t max, struct report *r,
			   struct window *whole)
{
	struct guest_latency_sample s;
	uint64_t newest, lost = 0;

	if (guest_read32(&l->page->magic) != GUEST_LATENCY_MAGIC) {
		l->begun = false;
		return 0;
	}
	newest = guest_read64(&l->page->written);
	if (newest == l->last && l->begun)
		return 0;
	guest_copy_barrier();
	/*
	 * Samples from before the first reading are skipped: they are of a time that no
	 * window has.
	 */
	if (!l->begun) {
		l->last = newest;
		l->begun = true;
		return 0;
	}
	if (newest < l->last) /* another process uses the page now */
		l->last = 0;
	/*
	 * The page is a ring: what is older than its length was overwritten before it was
	 * read.
	 */
	if (newest - l->last > GUEST_LATENCY_SAMPLES) {
		lost = newest - l->last - GUEST_LATENCY_SAMPLES;
		l->last = newest - GUEST_LATENCY_SAMPLES;
	}
	for (uint32_t i = 0; i < max && l->last < newest; i++) {
		uint64_t seq = ++l->last;

		if (copy_sample(&l->page->sample[(seq - 1) % GUEST_LATENCY_SAMPLES], seq, &s))
			report_add(r, whole, &s);
		else
			lost++;
	}
	if (lost)
		r->flags |= REPORT_LOST;
	return lost;
}
