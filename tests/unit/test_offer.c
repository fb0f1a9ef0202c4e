// SPDX-License-Identifier: GPL-2.0-or-later
/* offer: which misses are offered for a fill while updates are frequent, and when they are rare. */
#include <pthread.h>

#include "src/cache/offer.h"
#include "tests/unit/prop.h"

enum { HOME = 3, THREADS = 4 };

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct offer));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* How many of n misses under this version are offered. */
static uint64_t offered(struct offer *o, uint64_t version, uint64_t n)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < n; i++)
		count += offer_miss(o, HOME, version);
	return count;
}

/* n misses, each under a version of its own, beginning with this one. */
static uint64_t offered_anew(struct offer *o, uint64_t version, uint64_t n)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < n; i++)
		count += offer_miss(o, HOME, version + i);
	return count;
}

static void hits(struct offer *o, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		offer_hit(o);
}

/* Until fills are not worth their cost, also if there were many hits. */
static void give_up(struct offer *o)
{
	offered_anew(o, 1000, 10000);
	assert_int_equal(offered_anew(o, 20000, 10 * OFFER_EVERY), 10);
}

RIG_TEST(miss__of_the_first__all_are_offered)
{
	assert_int_equal(offered_anew(*state, 1, OFFER_FIRST), OFFER_FIRST);
}

RIG_TEST(miss__fills_bring_no_hits__few_are_offered)
{
	offered_anew(*state, 1, OFFER_FIRST);
	assert_int_equal(offered_anew(*state, 100, 100 * OFFER_EVERY), 100);
}

RIG_TEST(miss__one_of_eight_fills_brings_a_hit__all_are_offered)
{
	for (uint64_t i = 0; i < 1000; i++) {
		offer_hit(*state);
		assert_int_equal(offered_anew(*state, 1 + i * OFFER_WORTH, OFFER_WORTH),
				 OFFER_WORTH);
	}
}

RIG_TEST(miss__exactly_one_of_eight__is_enough)
{
	hits(*state, OFFER_FIRST / OFFER_WORTH);
	offered_anew(*state, 1, OFFER_FIRST);
	/* One by this, and then the first of OFFER_EVERY. */
	assert_int_equal(offered_anew(*state, 100, 2), 2);
	assert_int_equal(offered_anew(*state, 200, OFFER_EVERY - 1), 0);
}

RIG_TEST(miss__one_of_nine_fills_brings_a_hit__few_are_offered)
{
	uint64_t fills = 0, n = 0;

	for (; fills < 9000; n++) {
		if (!offer_miss(*state, HOME, n))
			continue;
		if (++fills % 9 == 0)
			offer_hit(*state);
	}
	assert_true(n > 2 * fills);
}

RIG_TEST(miss__hits_of_long_ago__do_not_count)
{
	const uint64_t worth = OFFER_FILLS + 4 * OFFER_FILLS / 2 + 1;

	/* OFFER_HITS are counted. They are halved 5 times, to 8, which are too few for 65 fills. */
	hits(*state, 1000000);
	assert_int_equal(offered_anew(*state, 1, worth), worth);
	assert_int_equal(offered_anew(*state, 1000, 100 * OFFER_EVERY), 100);
}

RIG_TEST(miss__the_version_stays__more_are_offered_by_and_by)
{
	static const uint64_t want[] = { 8, 16, 32, 64, 128, 256, 256 };
	uint64_t lost = 0;

	give_up(*state);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(offered(*state, 7, OFFER_BLOCK), want[i]);
		lost += OFFER_BLOCK - want[i];
	}
	assert_int_equal(lost, OFFER_LOST_MAX);
}

RIG_TEST(miss__the_version_moves_again__few_are_offered_again)
{
	give_up(*state);
	offered(*state, 7, 10 * OFFER_BLOCK);
	assert_int_equal(offered(*state, 8, OFFER_BLOCK), OFFER_BLOCK / OFFER_EVERY);
}

RIG_TEST(miss__homes__have_versions_of_their_own)
{
	uint64_t count = 0;

	give_up(*state);
	for (int i = 0; i < OFFER_BLOCKS * OFFER_BLOCK; i++) {
		offer_miss(*state, HOME, 7);
		offer_miss(*state, REGION_HOSTS_MAX, 8);
	}
	for (int i = 0; i < 100; i++)
		count += (uint64_t)offer_miss(*state, HOME, 7) +
			 offer_miss(*state, REGION_HOSTS_MAX, 8);
	assert_int_equal(count, 200);
}

RIG_TEST(miss__fills_bring_hits_again__all_are_offered)
{
	uint64_t misses = 0, fills = 0;

	give_up(*state);
	/* Each brings two: 16 are enough for the 128 without any. */
	while (fills < OFFER_FILLS / OFFER_WORTH) {
		if (offer_miss(*state, HOME, 30000 + misses++)) {
			hits(*state, 2);
			fills++;
		}
	}
	assert_true(misses <= OFFER_EVERY * (fills + 1));
	assert_int_equal(offered_anew(*state, 60000, OFFER_EVERY), OFFER_EVERY);
}

/*
 * Pages that are drawn at random, one update after so many requests: hits are lost by what is not
 * offered only while updates are frequent, and never by more than the bound.
 */
struct world {
	struct offer *o; /* NULL: all are offered */
	uint64_t *stored;
	uint64_t pages, version, fills, hits;
};

static void request(struct world *w, struct prop *p)
{
	uint64_t page = prop_range(p, 0, w->pages - 1);

	if (w->stored[page] == w->version) {
		w->hits++;
		if (w->o)
			offer_hit(w->o);
	} else if (!w->o || offer_miss(w->o, HOME, w->version)) {
		w->fills++;
		w->stored[page] = w->version;
	}
}

static void run(struct world *w, struct prop *p, uint64_t requests, uint64_t period)
{
	w->fills = w->hits = 0;
	for (uint64_t i = 0; i < requests; i++) {
		w->version += i % period == 0;
		request(w, p);
	}
}

RIG_TEST(miss__random_pages_and_updates__fills_are_few_or_hits_are_as_many)
{
	struct prop p;

	prop_start(&p);
	for (int turn = 0; turn < 20; turn++) {
		struct world with = { *state, NULL, prop_range(&p, 200, 3000), 0, 0, 0 }, without;

		with.stored = calloc(with.pages, sizeof(uint64_t));
		assert_non_null(with.stored);
		/* An update after each 10 requests: nearly no hits. */
		run(&with, &p, 40000, 10);
		assert_true(with.fills < 40000 / 4);
		/* None any more: as if all had been offered, but for what is lost at most. */
		run(&with, &p, 40000, UINT64_MAX);
		without = with;
		without.o = NULL;
		run(&without, &p, 40000, UINT64_MAX);
		assert_true(with.hits + OFFER_LOST_MAX + with.pages / 2 >= without.hits);
		free(with.stored);
	}
}

static void *uses(void *arg)
{
	struct offer *o = arg;

	for (uint64_t i = 0; i < 20000; i++) {
		if (offer_miss(o, HOME, i / 50) && i % 3)
			offer_hit(o);
	}
	return NULL;
}

/* Counts are not exact then; but they stay in their ranges. */
RIG_TEST(threads__use_it_at_once__it_still_decides)
{
	struct offer *o = *state;
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, uses, o), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_true((o->seen & UINT32_MAX) < OFFER_FILLS);
	assert_true(o->seen >> 32 < OFFER_HITS + THREADS);
	give_up(o);
}
