// SPDX-License-Identifier: GPL-2.0-or-later
/* hostset: random sets, beside the same sets as arrays of bool. */
#include <string.h>

#include "src/core/hostset.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum { ROUNDS = 300, ABOVE = HOSTSET_MAX + 70 };

struct naive {
	bool has[ABOVE];
};

/* Also with numbers that no host has: they are in no set. */
static void draw(struct prop *p, struct hostset *s, struct naive *n)
{
	uint64_t hosts = prop_range(p, 0, 40);

	memset(s, 0, sizeof(*s));
	memset(n, 0, sizeof(*n));
	for (uint64_t i = 0; i < hosts; i++) {
		uint32_t h = (uint32_t)prop_range(p, 0, ABOVE - 1);
		bool is_member = !prop_one_in(p, 4);

		hostset_set(s, h, is_member);
		n->has[h] = is_member && h >= 1 && h <= HOSTSET_MAX;
	}
}

static void same(struct prop *p, const struct hostset *s, const struct naive *n)
{
	uint16_t next = hostset_next(s, 0);
	uint32_t count = 0;

	for (uint32_t h = 0; h < ABOVE; h++) {
		prop_assert(p, h, hostset_has(s, h) == n->has[h]);
		if (!n->has[h])
			continue;
		prop_assert(p, h, next == h);
		next = hostset_next(s, h);
		count++;
	}
	prop_assert(p, count, next == 0);
	prop_assert(p, count, hostset_count(s) == count && hostset_empty(s) == !count);
}

TEST(sets__random__are_those_of_the_arrays)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < ROUNDS; i++) {
		struct naive a, b, both, without;
		struct hostset x, y, z;

		draw(&p, &x, &a);
		draw(&p, &y, &b);
		for (uint32_t h = 0; h < ABOVE; h++) {
			both.has[h] = a.has[h] && b.has[h];
			without.has[h] = a.has[h] && !b.has[h];
		}
		same(&p, &x, &a);
		z = hostset_both(&x, &y);
		same(&p, &z, &both);
		z = hostset_without(&x, &y);
		same(&p, &z, &without);
		prop_assert(&p, i, hostset_equal(&x, &y) == !memcmp(&a, &b, sizeof(a)));
		z = x;
		prop_assert(&p, i, hostset_equal(&x, &z));
	}
}

/* The last of a word, the first of the next, the last of all; above it there is none. */
TEST(first__edges_of_words__are_whole)
{
	static const uint32_t edges[] = { 0, 1, 63, 64, 65, 128, 129, 255, HOSTSET_MAX };

	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		struct hostset s = hostset_first(edges[i]);

		assert_int_equal(hostset_count(&s), edges[i]);
		assert_true(!edges[i] || hostset_has(&s, edges[i]));
		assert_false(hostset_has(&s, edges[i] + 1));
		assert_int_equal(hostset_next(&s, edges[i]), 0);
		assert_int_equal(hostset_next(&s, 0), edges[i] ? 1 : 0);
	}
}

TEST(equal__one_host_more__is_another_set)
{
	for (uint32_t h = 1; h <= HOSTSET_MAX; h++) {
		struct hostset a = { { 0 } }, b = { { 0 } };

		hostset_set(&a, h, true);
		assert_false(hostset_equal(&a, &b));
		hostset_set(&b, h, true);
		assert_true(hostset_equal(&a, &b));
	}
}
