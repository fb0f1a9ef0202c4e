/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * random: one generator for everything that must repeat from a seed.
 *
 * splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
 * OOPSLA 2014). The period is 2^64, and every seed is a good one. Not for secrets.
 */
#ifndef RESEX_CORE_RANDOM_H
#define RESEX_CORE_RANDOM_H

#include <stdint.h>

/* The next number, 0 .. 2^64 - 1; *state is the seed at first. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

#endif
