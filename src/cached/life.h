/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * life: a word of this host's region that says whether this process lives (REGION_CACHE_LIFE,
 * cache_ring_lives() of resex/cache_ring.h). Other processes of this machine may have the region
 * mapped, and the memory outlives this one.
 *
 * The word is a robust futex that this thread owns. When the thread ends, in whatever way, the
 * kernel marks it. It does so before it closes the descriptors of the process: so the next process
 * of this host cannot listen, and cannot join, before each reader sees that this one is dead.
 */
#ifndef RESEX_CACHED_LIFE_H
#define RESEX_CACHED_LIFE_H

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>

struct life {
	struct robust_list_head head;
	struct robust_list entry;
	uint32_t *futex; /* NULL: it has not begun */
	void *old;	 /* the thread's list of before */
	size_t old_bytes;
};

/*
 * The thread that calls must not end before life_end. One a thread: meanwhile it has no robust
 * mutexes of others. 0, or -errno: without it the word stays 0, and nobody reads here by himself.
 */
int life_begin(struct life *l, uint64_t *word);
/* The word is 0 again. By the same thread; of one that has not begun it does nothing. */
void life_end(struct life *l);

#endif
