/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * life_abi: a word by which a process tells others of its machine that it lives, and who have its
 * memory mapped: that memory outlives it (src/transport/shm/life.h).
 *
 * It is a robust futex of the process. The kernel marks it when the process ends, in whatever way,
 * before it closes the descriptors of the process: so before another one can have its place.
 *
 * Whoever reads in such memory reads the word after it. If the process lived then, it lived when
 * the memory was read. If not, nothing was read.
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
