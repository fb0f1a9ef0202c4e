// SPDX-License-Identifier: GPL-2.0-or-later
/* cache: version words and names of updates. */
#include "src/cache/cache.h"
#include "tests/unit/unit.h"

TEST(word__generation_and_count__come_back)
{
	uint64_t word = cache_word(REGION_EPOCH_MAX, CACHE_COUNT_MAX - 1);

	assert_int_equal(cache_word_generation(word), REGION_EPOCH_MAX);
	assert_true(cache_word_count(word) == CACHE_COUNT_MAX - 1);
}

TEST(word__closed__is_zero)
{
	assert_true(cache_word(0, 0) == 0);
	assert_true(cache_word(1, 0) != 0);
}

TEST(word__next__moves_the_count_alone)
{
	uint64_t next = cache_word_next(cache_word(7, 41));

	assert_int_equal(cache_word_generation(next), 7);
	assert_true(cache_word_count(next) == 42);
}

TEST(word__last_of_a_generation__stays)
{
	uint64_t last = cache_word(7, CACHE_COUNT_MAX);

	assert_true(cache_word_next(last) == last);
}

TEST(word__later_generation__is_above_all_of_the_earlier)
{
	assert_true(cache_word(8, 0) > cache_word(7, CACHE_COUNT_MAX));
}

TEST(update__later_fence__is_above_all_of_the_earlier)
{
	assert_true(cache_update_name(8, 1) > cache_update_name(7, CACHE_COUNT_MAX));
	assert_int_equal(cache_update_fence(cache_update_name(8, 1)), 8);
}
