// SPDX-License-Identifier: GPL-2.0-or-later
/* offer: is a fill worth its cost? See offer.h. */
#include "src/cache/offer.h"

/* Of offer.seen. */
static uint64_t fills_of(uint64_t seen)
{
	return seen & UINT32_MAX;
}

static uint64_t hits_of(uint64_t seen)
{
	return seen >> 32;
}

static bool are_worth(uint64_t seen)
{
	return fills_of(seen) < OFFER_FIRST || hits_of(seen) * OFFER_WORTH >= fills_of(seen);
}

/* Hits as well: what was long ago counts less and less. */
static uint64_t with_fill(uint64_t seen)
{
	uint64_t fills = fills_of(seen) + 1, hits = hits_of(seen);

	return fills < OFFER_FILLS ? hits << 32 | fills : hits / 2 << 32 | fills / 2;
}

static void count_fill(struct offer *o)
{
	uint64_t seen = __atomic_load_n(&o->seen, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(&o->seen, &seen, with_fill(seen), true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		/* seen is as it is now */
	}
}

/* Where nearly all are hits, no memory is written. */
void offer_hit(struct offer *o)
{
	if (hits_of(__atomic_load_n(&o->seen, __ATOMIC_RELAXED)) < OFFER_HITS)
		__atomic_fetch_add(&o->seen, 1ull << 32, __ATOMIC_RELAXED);
}

/* How many there were before under this version. */
static uint64_t count_miss(struct offer_home *home, uint64_t version)
{
	if (__atomic_load_n(&home->version, __ATOMIC_RELAXED) != version) {
		__atomic_store_n(&home->version, version, __ATOMIC_RELAXED);
		__atomic_store_n(&home->misses, 0, __ATOMIC_RELAXED);
	}
	return __atomic_fetch_add(&home->misses, 1, __ATOMIC_RELAXED);
}

/* One of how many is offered, behind so many misses. */
static uint64_t every(uint64_t misses)
{
	uint64_t blocks = misses / OFFER_BLOCK;

	return blocks < OFFER_BLOCKS ? OFFER_EVERY >> blocks : 1;
}

bool offer_miss(struct offer *o, uint32_t home, uint64_t version)
{
	uint64_t before = count_miss(&o->home[home], version);

	if (!are_worth(__atomic_load_n(&o->seen, __ATOMIC_RELAXED)) &&
	    __atomic_fetch_add(&o->turn, 1, __ATOMIC_RELAXED) % every(before))
		return false;
	count_fill(o);
	return true;
}
