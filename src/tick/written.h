/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * written: which caps resexd set for the guest of a slot. The actor notes each before it is set.
 *
 * The control thread maps this memory from STATE/caps.written, so that it outlives a process that
 * was killed: the next start tells caps that resexd set from caps that an operator set.
 */
#ifndef RESEX_TICK_WRITTEN_H
#define RESEX_TICK_WRITTEN_H

#include <stdatomic.h>
#include <stdint.h>

enum { WRITTEN_PERCENTS = 8192 }; /* the last bit stands for all above, too */

/* last: from in bits 16 to 31, to in bits 0 to 15 */
#define WRITTEN_ANY (1ull << 32)

/* One slot. The control thread begins it before its guest is cappable; then the actor notes. */
struct written {
	_Atomic uint32_t domid; /* 0: of no guest */
	uint32_t reserved;
	uint8_t uuid[16];
	_Atomic uint64_t last;			     /* 0: none was set */
	_Atomic uint64_t set[WRITTEN_PERCENTS / 64]; /* each percent that was ever set */
};

static inline uint32_t written_bit(uint32_t percent)
{
	return percent < WRITTEN_PERCENTS ? percent : WRITTEN_PERCENTS - 1;
}

/*
 * The cap in force is about to change. After a crash it is one of the two. Mail for a domain that
 * had the slot before is not noted.
 */
static inline void written_note(struct written *w, uint32_t domid, uint32_t percent_from,
				uint32_t percent_to)
{
	const uint32_t bit = written_bit(percent_to);

	if (atomic_load_explicit(&w->domid, memory_order_acquire) != domid)
		return;
	atomic_fetch_or_explicit(&w->set[bit / 64], 1ull << (bit % 64), memory_order_relaxed);
	atomic_store_explicit(&w->last,
			      WRITTEN_ANY | (uint64_t)(percent_from & 0xffff) << 16 |
				      (percent_to & 0xffff),
			      memory_order_release);
}

#endif
