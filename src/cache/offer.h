/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * offer: which misses a proxy offers to the application for a fill, of pages without a list
 * (Invalidate All).
 *
 * Each update drops all such pages. While updates come faster than pages are asked for again, a
 * fill costs the application two calls, and brings no hit. So the hits that a fill brought are
 * counted, over the last fills. Below one of OFFER_WORTH fills, only one of OFFER_EVERY misses is
 * offered, to see whether that has changed; the others are as without a cache.
 *
 *	a fill brings hits again	their share grows, and all misses are offered
 *	the version stays		after each OFFER_BLOCK misses under one version, twice as
 *					many are offered; after OFFER_BLOCKS of these, all.
 *					So a version that stays costs OFFER_LOST_MAX fills
 *					at most, however many pages there are
 *
 * What is not offered is not stored: this decides how often a page is found, never whether one is
 * stale. Any number of threads call it at once; nothing is lost by that but an exact count.
 */
#ifndef RESEX_CACHE_OFFER_H
#define RESEX_CACHE_OFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "resex/region_abi.h"

enum {
	OFFER_WORTH = 8,   /* a fill is worth its cost if so many of them bring a hit */
	OFFER_EVERY = 32,  /* of so many misses, one is offered when fills are not */
	OFFER_BLOCK = 256, /* misses under one version */
	OFFER_BLOCKS = 5,  /* until all are offered: OFFER_EVERY is 2 to this power */
	/* 31/32, 15/16, 7/8, 3/4 and 1/2 of a block */
	OFFER_LOST_MAX = OFFER_BLOCK * 129 / 32,
	OFFER_FIRST = 32,  /* fills that are made before it is judged */
	OFFER_FILLS = 128, /* when so many are counted, these and their hits are halved */
	OFFER_HITS = 256,  /* no more hits are counted */
};

/* The version of a home's word 0. */
struct offer_home {
	uint64_t version;
	uint64_t misses; /* under it */
};

/* All zeros is a new one. */
struct offer {
	uint64_t seen; /* fills, and in the upper half hits */
	uint64_t turn; /* misses since fills are not worth their cost */
	struct offer_home home[REGION_HOSTS_MAX + 1];
};

/* A page was found. */
void offer_hit(struct offer *o);
/*
 * A page was not found, whose home (0 .. REGION_HOSTS_MAX) has this version. true: offer it; it is
 * counted as a fill.
 */
bool offer_miss(struct offer *o, uint32_t home, uint64_t version);

#endif
