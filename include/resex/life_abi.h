/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * life_abi: a word that says whether a process lives, for other processes of its machine that have
 * its memory mapped. The memory outlives the process (src/transport/shm/life.h).
 *
 * It is a robust futex of the process. The kernel marks it when the process ends, in whatever way,
 * before it closes the descriptors of the process: so before another one can have its place.
 *
 * A reader reads the memory first, and the word after that. If the word says that the process
 * lives, the process also lived when the memory was read. If not, what was read must not be used.
 */
#ifndef RESEX_LIFE_ABI_H
#define RESEX_LIFE_ABI_H

#include <stdint.h>

/* The word is the first one of a page of its own, the last one of its file. */
enum { LIFE_BYTES = 4096 };

/* 0: it has not begun, or has left in order. Bit 30: FUTEX_OWNER_DIED. Below: a thread's number. */
static inline int life_lives(uint32_t word)
{
	return (word & 0x3fffffff) != 0 && !(word & 0x40000000);
}

#endif
