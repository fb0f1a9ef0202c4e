// SPDX-License-Identifier: GPL-2.0-or-later
/* place: which home and word a page has, and which pages move when a home comes or goes. */
#include "src/cache/place.h"
#include "tests/unit/prop.h"

enum { KEYS = 20000, WORDS = 1000 };

static struct hostset of(const uint16_t *host, uint32_t n)
{
	struct hostset s = { { 0 } };

	for (uint32_t i = 0; i < n; i++)
		hostset_set(&s, host[i], true);
	return s;
}

static struct place placed(const struct hostset *usable, uint64_t key)
{
	struct place p = { 0 };

	assert_true(place_find(usable, key, false, WORDS, &p));
	assert_true(hostset_has(usable, p.home));
	assert_in_range(p.word, 1, WORDS - 1);
	return p;
}

TEST(find__no_home_is_usable__is_none)
{
	const struct hostset none = { { 0 } };
	struct place p = { 7, 8 };

	assert_false(place_find(&none, 1, false, WORDS, &p));
	assert_int_equal(p.home, 7);
}

TEST(find__one_home__has_all_pages)
{
	const struct hostset one = of((const uint16_t[]){ HOSTSET_MAX }, 1);

	for (uint64_t key = 0; key < 100; key++)
		assert_int_equal(placed(&one, key).home, HOSTSET_MAX);
}

TEST(find__the_same_page__is_at_the_same_place)
{
	const struct hostset homes = of((const uint16_t[]){ 3, 5, 250 }, 3);

	for (uint64_t key = 0; key < 100; key++) {
		struct place a = placed(&homes, key), b = placed(&homes, key);

		assert_int_equal(a.home, b.home);
		assert_int_equal(a.word, b.word);
	}
}

/* Keys that differ in a few bits, also: a page's key need not be a good hash. */
TEST(find__many_pages__are_spread_over_homes_and_words)
{
	const struct hostset homes = of((const uint16_t[]){ 1, 2, 3, 4 }, 4);
	uint32_t at[5] = { 0 }, word[WORDS] = { 0 };

	for (uint64_t i = 0; i < KEYS; i++) {
		struct place p = placed(&homes, i % 2 ? i << (i % 3 * 20) : i * (WORDS - 1));

		at[p.home]++;
		word[p.word]++;
	}
	for (int h = 1; h <= 4; h++)
		assert_in_range(at[h], KEYS / 4 - KEYS / 40, KEYS / 4 + KEYS / 40);
	assert_int_equal(word[0], 0);
	for (int w = 1; w < WORDS; w++)
		assert_in_range(word[w], 1, 4 * KEYS / WORDS);
}

/* Its pages go to all others; those of the others stay where they are. */
TEST(find__a_home_is_lost__moves_its_pages_alone)
{
	const struct hostset all = of((const uint16_t[]){ 1, 2, 3, 4 }, 4),
			     less = of((const uint16_t[]){ 1, 2, 4 }, 3);
	uint32_t to[5] = { 0 };

	for (uint64_t key = 0; key < KEYS; key++) {
		struct place before = placed(&all, key), after = placed(&less, key);

		assert_int_equal(before.word, after.word);
		if (before.home != 3)
			assert_int_equal(after.home, before.home);
		else
			to[after.home]++;
	}
	for (int h = 1; h <= 4; h++)
		if (h != 3)
			assert_in_range(to[h], KEYS / 12 - KEYS / 60, KEYS / 12 + KEYS / 60);
}

TEST(find__page_without_a_list__has_word_0)
{
	const struct hostset homes = of((const uint16_t[]){ 1, 2, 3, 4 }, 4);
	uint32_t at[5] = { 0 };

	for (uint64_t key = 0; key < KEYS; key++) {
		struct place p = { 0 };

		assert_true(place_find(&homes, key, true, WORDS, &p));
		assert_int_equal(p.word, 0);
		at[p.home]++;
	}
	for (int h = 1; h <= 4; h++)
		assert_true(at[h] > KEYS / 5);
}

TEST(find__few_words__are_in_range)
{
	const struct hostset one = of((const uint16_t[]){ 9 }, 1);
	struct place p = { 0 };
	uint32_t last = 0;

	for (uint64_t key = 0; key < 100; key++) {
		assert_true(place_find(&one, key, false, 1, &p));
		assert_int_equal(p.word, 0);
		assert_true(place_find(&one, key, false, 2, &p));
		assert_int_equal(p.word, 1);
		assert_true(place_find(&one, key, false, 3, &p));
		assert_in_range(p.word, 1, 2);
		assert_int_equal(place_word(key, 3), p.word);
		last |= p.word;
	}
	assert_int_equal(last, 3);
}
