/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hostset: a set of hosts, by number. Hosts are numbered 1 .. HOSTSET_MAX.
 *
 * The words have the layout of the sets in a region (region_abi.h): host h is bit (h - 1) % 64 of
 * word (h - 1) / 64. A number outside 1 .. HOSTSET_MAX is in no set, and adding it changes nothing.
 */
#ifndef RESEX_CORE_HOSTSET_H
#define RESEX_CORE_HOSTSET_H

#include <stdbool.h>
#include <stdint.h>

enum { HOSTSET_WORDS = 4, HOSTSET_MAX = HOSTSET_WORDS * 64 };

struct hostset {
	uint64_t word[HOSTSET_WORDS];
};

static inline bool hostset_has(const struct hostset *s, uint32_t host)
{
	uint32_t i = host - 1;

	return i < HOSTSET_MAX && s->word[i / 64] >> i % 64 & 1;
}

static inline void hostset_set(struct hostset *s, uint32_t host, bool is_member)
{
	uint32_t i = host - 1;

	if (i >= HOSTSET_MAX)
		return;
	if (is_member)
		s->word[i / 64] |= 1ull << i % 64;
	else
		s->word[i / 64] &= ~(1ull << i % 64);
}

/* The lowest number in s above host, or 0. hostset_next(s, 0) is the lowest of all. */
static inline uint16_t hostset_next(const struct hostset *s, uint32_t host)
{
	for (uint32_t k = host / 64; k < HOSTSET_WORDS; k++) {
		uint64_t rest = s->word[k];

		if (k == host / 64)
			rest &= UINT64_MAX << host % 64;
		if (rest)
			return (uint16_t)(k * 64 + (uint32_t)__builtin_ctzll(rest) + 1);
	}
	return 0;
}

static inline bool hostset_empty(const struct hostset *s)
{
	uint64_t any = 0;

	for (uint32_t k = 0; k < HOSTSET_WORDS; k++)
		any |= s->word[k];
	return !any;
}

static inline uint32_t hostset_count(const struct hostset *s)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < HOSTSET_WORDS; k++)
		n += (uint32_t)__builtin_popcountll(s->word[k]);
	return n;
}

static inline bool hostset_equal(const struct hostset *a, const struct hostset *b)
{
	bool equal = true;

	for (uint32_t k = 0; k < HOSTSET_WORDS; k++)
		equal = equal && a->word[k] == b->word[k];
	return equal;
}

/* The hosts that are in a and in b. */
static inline struct hostset hostset_both(const struct hostset *a, const struct hostset *b)
{
	struct hostset s;

	for (uint32_t k = 0; k < HOSTSET_WORDS; k++)
		s.word[k] = a->word[k] & b->word[k];
	return s;
}

/* The hosts that are in a and not in b. */
static inline struct hostset hostset_without(const struct hostset *a, const struct hostset *b)
{
	struct hostset s;

	for (uint32_t k = 0; k < HOSTSET_WORDS; k++)
		s.word[k] = a->word[k] & ~b->word[k];
	return s;
}

/* The hosts 1 .. n. */
static inline struct hostset hostset_first(uint32_t n)
{
	struct hostset s = { { 0 } };

	for (uint32_t h = 1; h <= n; h++)
		hostset_set(&s, h, true);
	return s;
}

#endif
