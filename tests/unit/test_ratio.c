// SPDX-License-Identifier: GPL-2.0-or-later
/* ratio: the paper's buffer ratios (V-B, figures 3 and 4), and how long a message counts. */
#include "tests/unit/policy_rig.h"
#include "tests/unit/unit.h"

#define MS NS_PER_MS
#define KB 1024u
#define MB (1024u * KB)

/* One guest of one VCPU in slot 5, at 10 s. */
static struct policy_guest *open_one(struct rig *g)
{
	rig_open(g, &policy_ratio);
	g->in.now.ns = 10 * NS_PER_S;
	return rig_guest(g, 5);
}

static struct cap decide_after(struct rig *g, int64_t ns, uint32_t msg_bytes)
{
	g->in.now.ns += ns;
	g->in.guest[0].usage.msg_bytes = msg_bytes;
	rig_decide(g);
	return g->plan.guest[5].cap;
}

static uint32_t cap_of(uint32_t msg_bytes)
{
	static struct rig g;
	uint32_t mpct;

	open_one(&g);
	mpct = decide_after(&g, MS, msg_bytes).mpct;
	assert_int_equal(g.plan.guest[5].cap.limited, mpct != 0);
	rig_close(&g);
	return mpct;
}

/* Figure 3: 256 KB beside 64 KB is 100 / 4; figure 4 ends at the ratio of 2 MB, 3 %. */
TEST(decide__messages_of_the_paper__cap_is_100_over_the_ratio)
{
	assert_int_equal(cap_of(128 * KB), 50000);
	assert_int_equal(cap_of(256 * KB), 25000);
	assert_int_equal(cap_of(512 * KB), 12500);
	assert_int_equal(cap_of(1 * MB), 6250);
	assert_int_equal(cap_of(2 * MB), 3125);
}

TEST(decide__no_larger_than_the_victims__no_cap)
{
	assert_int_equal(cap_of(0), 0);
	assert_int_equal(cap_of(1), 0);
	assert_int_equal(cap_of(64 * KB), 0);
	assert_int_equal(cap_of(64 * KB + 1), 99998); /* 99998.47 */
}

TEST(decide__largest_there_is__lowest_cap)
{
	assert_int_equal(cap_of(UINT32_MAX), 1000);
	assert_int_equal(cap_of(6553600), 1000);
	assert_int_equal(cap_of(6553600 / 2), 2000);
}

TEST(decide__smaller_messages_meanwhile__largest_counts_for_hold)
{
	static struct rig g;

	open_one(&g);
	assert_int_equal(decide_after(&g, MS, 2 * MB).mpct, 3125);
	assert_int_equal(decide_after(&g, MS, 0).mpct, 3125);
	assert_int_equal(decide_after(&g, 500 * MS, 128 * KB).mpct, 3125);
	assert_int_equal(decide_after(&g, 499 * MS, 128 * KB).mpct, 3125); /* since: 1 s */
	assert_int_equal(decide_after(&g, 1, 128 * KB).mpct, 50000);
	assert_int_equal(decide_after(&g, MS, 1 * MB).mpct, 6250); /* larger: at once */
	rig_close(&g);
}

TEST(decide__as_large_again__hold_begins_anew)
{
	static struct rig g;

	open_one(&g);
	for (int i = 0; i < 5; i++)
		assert_int_equal(decide_after(&g, 900 * MS, 2 * MB).mpct, 3125);
	assert_int_equal(decide_after(&g, 1000 * MS, 0).mpct, 3125);
	assert_false(decide_after(&g, 1, 0).limited); /* silent for more than hold */
	assert_false(decide_after(&g, 5 * NS_PER_S, 0).limited);
	assert_int_equal(decide_after(&g, MS, 256 * KB).mpct, 25000);
	rig_close(&g);
}

TEST(decide__hold_of_0__newest_interval_counts)
{
	static struct rig g;

	open_one(&g);
	rig_param(&g, "hold", 0);
	assert_int_equal(decide_after(&g, MS, 2 * MB).mpct, 3125);
	assert_int_equal(decide_after(&g, MS, 256 * KB).mpct, 25000);
	assert_false(decide_after(&g, MS, 0).limited);
	rig_close(&g);
}

TEST(decide__victim_bytes_given__ratio_is_to_these)
{
	static struct rig g;

	open_one(&g);
	rig_param(&g, "victim_bytes", 1000);
	assert_int_equal(decide_after(&g, MS, 3000).mpct, 33333);
	rig_param(&g, "victim_bytes", 1u << 30);
	assert_int_equal(decide_after(&g, MS, UINT32_MAX).mpct, 25000);
	rig_close(&g);
}

TEST(decide__bounds__of_operator_and_parameter_hold)
{
	static struct rig g;
	struct policy_guest *p;

	p = open_one(&g);
	p->bounds.vcpus = 4;
	assert_int_equal(decide_after(&g, MS, 2 * MB).mpct, 12500);
	p->bounds.ceiling = CAP_PERCENT(10);
	assert_int_equal(decide_after(&g, MS, 2 * MB).mpct, 10000);
	p->bounds = (struct cap_bounds){ CAP_NONE, 7000, 1 };
	assert_int_equal(decide_after(&g, MS, 2 * MB).mpct, 7000);
	rig_param(&g, "min_cap", 8000);
	assert_int_equal(decide_after(&g, MS, 2 * MB).mpct, 8000);
	p->bounds.min_mpct = 9000;
	assert_int_equal(decide_after(&g, MS, 2 * MB).mpct, 9000);
	p->bounds = (struct cap_bounds){ CAP_NONE, 1000, UINT32_MAX };
	rig_param(&g, "min_cap", 1000);
	assert_int_equal(decide_after(&g, MS, 128 * KB).mpct, UINT32_MAX / 32);
	rig_close(&g);
}

TEST(decide__exempt_or_not_cappable__never)
{
	static const uint32_t flags[] = { POLICY_EXEMPT, POLICY_EXEMPT | POLICY_CAPPABLE, 0 };
	static const uint32_t reason[] = { 2, 2, 3 };
	static struct rig g;

	for (size_t i = 0; i < 3; i++) {
		open_one(&g)->flags = flags[i];
		assert_false(decide_after(&g, MS, 2 * MB).limited);
		assert_int_equal(g.plan.guest[5].reason, reason[i]);
		assert_int_equal(g.plan.guest[5].why[1], 2 * MB);
		g.in.guest[0].flags = POLICY_CAPPABLE; /* what was seen before counts */
		assert_int_equal(decide_after(&g, MS, 0).mpct, 3125);
		rig_close(&g);
	}
}

TEST(decide__two_guests__each_by_its_own_messages)
{
	static struct rig g;

	open_one(&g);
	rig_guest(&g, 9)->usage.msg_bytes = 64 * KB;
	assert_int_equal(decide_after(&g, MS, 2 * MB).mpct, 3125);
	assert_false(g.plan.guest[9].cap.limited);
	assert_int_equal(g.plan.guest[5].rate.q16, 65536);
	rig_close(&g);
}

TEST(why__says_cap_and_both_sizes)
{
	static struct rig g;
	const struct plan_guest *p = &g.plan.guest[5];

	open_one(&g);
	decide_after(&g, MS, 64 * KB);
	assert_int_equal(p->reason, 0);
	assert_int_equal(p->why[0], 0);
	assert_int_equal(p->why[1], 65536);
	assert_int_equal(p->why[2], 65536);
	decide_after(&g, MS, 256 * KB);
	assert_int_equal(p->reason, 1);
	assert_int_equal(p->why[0], 25000);
	assert_int_equal(p->why[1], 262144);
	assert_int_equal(p->why[2], 65536);
	assert_int_equal(p->why[3], 0);
	assert_non_null(strstr(g.ops->reasons[1], "%0c percent"));
	rig_close(&g);
}

/*
 * In other words: the cap follows the largest message, this interval's or an
 * earlier one's that no later one reached and that is not older than hold.
 */
TEST(any_messages__agree_with_the_rule_restated)
{
	static struct rig g;
	struct prop r;

	prop_start(&r);
	for (int run = 0; run < 60; run++) {
		uint64_t victim = prop_range(&r, 1, 1u << prop_range(&r, 0, 30));
		uint64_t hold = prop_range(&r, 0, 50) * (uint64_t)MS, best = 0;
		uint32_t least = (uint32_t)prop_range(&r, 1, 100) * 1000;
		int64_t at = 0;

		open_one(&g)->bounds.vcpus = (uint32_t)prop_range(&r, 1, 8);
		rig_param(&g, "victim_bytes", victim);
		rig_param(&g, "hold", hold);
		rig_param(&g, "min_cap", least);
		for (uint64_t i = 0; i < 300; i++) {
			uint32_t now = prop_one_in(&r, 3) ? 0 : (uint32_t)prop_hostile(&r);
			uint64_t full = 100000ull * g.in.guest[0].bounds.vcpus, want;
			struct cap got = decide_after(&g, (int64_t)prop_range(&r, 1, 9) * MS, now);

			if (now >= best || g.in.now.ns > at + (int64_t)hold) {
				if (now || best)
					at = g.in.now.ns;
				best = now;
			}
			want = best ? full * victim / best : full;
			prop_assert(&r, i, got.limited == (best > victim));
			prop_assert(&r, i,
				    !got.limited || got.mpct == (want < least ? least : want));
			prop_assert(&r, i, g.plan.guest[5].rate.q16 == 65536);
		}
		rig_close(&g);
	}
}
