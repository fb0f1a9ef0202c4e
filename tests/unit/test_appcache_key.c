// SPDX-License-Identifier: GPL-2.0-or-later
/* test_appcache_key: the key by which a proxy names a page; ring_client.c computes the same. */
#include "resex/cache.h"
#include "tests/unit/unit.h"

TEST(key__of_texts__differs)
{
	assert_true(resex_cache_key("a", 1) != resex_cache_key("b", 1));
	assert_true(resex_cache_key("", 0) != resex_cache_key("", 1));
	assert_true(resex_cache_key("/item/5", 7) == resex_cache_key("/item/5?", 7));
	assert_int_equal(resex_cache_key("/item/5", 7), 0x7d29ba41847736c6u);
}
