// SPDX-License-Identifier: GPL-2.0-or-later
/* caps: bounds, cuts, and what is written to Xen. */
#include "src/core/caps.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

#define NO_CAP	CAP_NONE
#define MPCT(m) ((struct cap){ 1, (uint32_t)(m) })
#define ROWS(t) (sizeof(t) / sizeof((t)[0]))

static void assert_cap(struct cap got, struct cap want)
{
	assert_int_equal(got.limited, want.limited);
	assert_int_equal(got.mpct, want.mpct);
}

TEST(full__is_the_ceiling_or_all_vcpus)
{
	struct cap_bounds b = { .ceiling = NO_CAP, .min_mpct = 1000, .vcpus = 4 };

	assert_cap(cap_full(&b), CAP_PERCENT(400));
	b.ceiling = CAP_PERCENT(150);
	assert_cap(cap_full(&b), CAP_PERCENT(150));
	b.vcpus = 1;
	b.ceiling = NO_CAP;
	assert_cap(cap_full(&b), CAP_PERCENT(100));
}

TEST(clamp__table_of_bounds)
{
	static const struct {
		struct cap c, ceiling;
		uint32_t min, vcpus;
		struct cap want;
	} rows[] = {
		{ { 1, 25000 }, { 0, 0 }, 1000, 1, { 1, 25000 } },
		{ { 1, 999 }, { 0, 0 }, 1000, 1, { 1, 1000 } },
		{ { 1, 0 }, { 0, 0 }, 1000, 1, { 1, 1000 } },
		{ { 1, 4999 }, { 0, 0 }, 5000, 1, { 1, 5000 } },
		{ { 1, 5 }, { 0, 0 }, 0, 1, { 1, 1000 } }, /* never below 1 % */
		{ { 1, 5 }, { 0, 0 }, 999, 1, { 1, 1000 } },
		{ { 1, 100001 }, { 0, 0 }, 1000, 1, { 1, 100000 } },
		{ { 1, 250000 }, { 0, 0 }, 1000, 2, { 1, 200000 } },
		{ { 1, UINT32_MAX }, { 0, 0 }, 1000, 4096, { 1, 409600000 } },
		{ { 0, 0 }, { 0, 0 }, 1000, 1, { 0, 0 } },
		{ { 0, 0 }, { 1, 30000 }, 1000, 1, { 1, 30000 } },
		{ { 1, 70000 }, { 1, 30000 }, 1000, 1, { 1, 30000 } },
		{ { 1, 20000 }, { 1, 30000 }, 1000, 1, { 1, 20000 } },
		{ { 1, 20000 }, { 1, 3000 }, 5000, 1, { 1, 3000 } }, /* ceiling wins */
		{ { 1, 1000 }, { 1, 3000 }, 5000, 1, { 1, 3000 } },
		{ { 0, 0 }, { 1, 3000 }, 5000, 1, { 1, 3000 } },
		{ { 1, 300000 }, { 1, 250000 }, 1000, 2, { 1, 200000 } },
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct cap_bounds b = { rows[i].ceiling, rows[i].min, rows[i].vcpus };

		assert_cap(cap_clamp(rows[i].c, &b), rows[i].want);
	}
}

TEST(cut__a_tenth_of_itself_rounded_down)
{
	struct cap_bounds b = { .ceiling = NO_CAP, .min_mpct = 1000, .vcpus = 1 };

	assert_cap(cap_cut(NO_CAP, 100, &b), MPCT(90000));
	assert_cap(cap_cut(MPCT(90000), 100, &b), MPCT(81000));
	assert_cap(cap_cut(MPCT(81000), 100, &b), MPCT(72900));
	assert_cap(cap_cut(MPCT(72900), 100, &b), MPCT(65610));
	assert_cap(cap_cut(MPCT(65610), 100, &b), MPCT(59049));
	assert_cap(cap_cut(MPCT(59049), 100, &b), MPCT(53144)); /* 53144.1 */
	assert_cap(cap_cut(MPCT(50000), 0, &b), MPCT(50000));
	assert_cap(cap_cut(MPCT(50000), 1000, &b), MPCT(0));
	assert_cap(cap_cut(MPCT(50000), UINT32_MAX, &b), MPCT(0));
	b.vcpus = 4;
	assert_cap(cap_cut(NO_CAP, 100, &b), MPCT(360000));
	b.ceiling = CAP_PERCENT(50);
	assert_cap(cap_cut(NO_CAP, 100, &b), MPCT(45000));
}

TEST(to_percent__nearest_at_least_one_and_zero_for_none)
{
	static const struct {
		struct cap c;
		uint32_t want;
	} rows[] = {
		{ { 0, 0 }, 0 },
		{ { 1, 0 }, 1 },
		{ { 1, 1 }, 1 },
		{ { 1, 1000 }, 1 },
		{ { 1, 1499 }, 1 },
		{ { 1, 1500 }, 2 },
		{ { 1, 1501 }, 2 },
		{ { 1, 25000 }, 25 },
		{ { 1, 99499 }, 99 },
		{ { 1, 99500 }, 100 },
		{ { 1, 400000 }, 400 },
		{ { 1, 409600000 }, 409600 },
		{ { 1, 4294967000u }, 4294967 },
		{ { 1, UINT32_MAX }, 4294967 },
	};

	for (size_t i = 0; i < ROWS(rows); i++)
		assert_int_equal(cap_to_percent(rows[i].c), rows[i].want);
}

TEST(from_percent__zero_is_none_and_large_does_not_wrap)
{
	assert_cap(cap_from_percent(0), NO_CAP);
	assert_cap(cap_from_percent(1), MPCT(1000));
	assert_cap(cap_from_percent(250), MPCT(250000));
	assert_cap(cap_from_percent(65535), MPCT(65535000));
	assert_int_equal(cap_from_percent(UINT32_MAX).limited, 1);
	assert_true(cap_from_percent(UINT32_MAX).mpct >= 4000000000u);
	assert_true(cap_from_percent(4294968).mpct >= 4000000000u); /* 704 when wrapped */
}

TEST(none__is_unlike_any_number)
{
	assert_true(cap_equal(NO_CAP, NO_CAP));
	assert_false(cap_equal(NO_CAP, MPCT(0)));
	assert_false(cap_equal(MPCT(1), MPCT(2)));
	assert_true(cap_equal(MPCT(2), MPCT(2)));
}

static struct cap any_cap(struct prop *r)
{
	return prop_one_in(r, 6)
		       ? NO_CAP
		       : MPCT(prop_one_in(r, 4) ? prop_hostile(r) : prop_range(r, 0, 900000));
}

static void assert_within(struct prop *r, uint64_t i, struct cap c, const struct cap_bounds *b)
{
	uint64_t floor = b->min_mpct > 1000 ? b->min_mpct : 1000;
	uint64_t top = 100000ULL * b->vcpus;

	if (b->ceiling.limited && b->ceiling.mpct < top)
		top = b->ceiling.mpct;
	if (floor > top)
		floor = top;
	prop_assert(r, i, c.limited && c.mpct >= floor && c.mpct <= top);
}

TEST(any_bounds__caps_stay_within_and_cuts_go_down)
{
	struct prop r;

	prop_start(&r);
	for (uint64_t i = 0; i < 1000000; i++) {
		struct cap_bounds b = {
			.ceiling = prop_one_in(&r, 2) ? NO_CAP : MPCT(prop_range(&r, 1000, 900000)),
			.min_mpct = (uint32_t)prop_range(&r, 1000, 150000),
			.vcpus = (uint32_t)prop_range(&r, 1, prop_one_in(&r, 9) ? 4096 : 8),
		};
		struct cap any = any_cap(&r), c = cap_clamp(any, &b), cut;
		uint32_t permille = (uint32_t)prop_range(&r, 0, 1000);
		struct cap from = c.limited ? c : cap_full(&b);

		if (any.limited) {
			assert_within(&r, i, c, &b);
			prop_assert(&r, i, cap_equal(c, cap_clamp(c, &b)));
		} else {
			prop_assert(&r, i, cap_equal(c, b.ceiling));
		}
		assert_within(&r, i, cap_clamp(cap_full(&b), &b), &b);
		cut = cap_cut(c, permille, &b);
		prop_assert(&r, i, cut.limited);
		prop_assert(&r, i, cut.mpct <= from.mpct);
		assert_within(&r, i, cap_clamp(cut, &b), &b);
		prop_assert(&r, i, cap_to_percent(cap_clamp(cut, &b)) >= 1);
	}
}

TEST(percent__there_and_back__is_the_same)
{
	for (uint32_t p = 0; p <= 409600; p++)
		assert_int_equal(cap_to_percent(cap_from_percent(p)), p);
}
