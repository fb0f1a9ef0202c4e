// SPDX-License-Identifier: GPL-2.0-or-later
/* null, and what must hold of every built-in policy. */
#include "tests/unit/policy_rig.h"
#include "tests/unit/unit.h"

TEST(find__by_name)
{
	assert_ptr_equal(policy_find("null"), &policy_null);
	assert_ptr_equal(policy_find("freemarket"), &policy_freemarket);
	assert_ptr_equal(policy_find("ratio"), &policy_ratio);
	assert_ptr_equal(policy_find("ioshares"), &policy_ioshares);
	assert_null(policy_find("nul"));
	assert_null(policy_find(""));
	assert_null(policy_find("nullx"));
}

TEST(builtin__every_policy__keeps_the_contract)
{
	assert_non_null(policies_builtin[0]);
	for (size_t i = 0; policies_builtin[i]; i++) {
		const struct policy_ops *o = policies_builtin[i];

		assert_int_equal(o->abi, POLICY_ABI);
		assert_ptr_equal(policy_find(o->name), o);
		assert_true(strlen(o->text) > 10);
		assert_true(o->params_size <= RIG_PARAMS);
		assert_true(o->global_size <= RIG_GLOBAL);
		assert_true(o->guest_size <= RIG_GUEST);
		assert_non_null(o->decide);
		assert_non_null(o->reasons[0]);
		for (const struct policy_param *p = o->params; p && p->name; p++) {
			assert_true(p->offset + sizeof(uint64_t) <= o->params_size);
			assert_int_equal(p->offset % sizeof(uint64_t), 0);
			assert_true(p->min <= p->def && p->def <= p->max);
			assert_true(strlen(p->text) > 10 && strlen(p->unit) > 0);
			for (const struct policy_param *q = o->params; q < p; q++) {
				assert_string_not_equal(p->name, q->name);
				assert_int_not_equal(p->offset, q->offset);
			}
		}
	}
}

/* Equal inputs and states give equal plans, whatever the plan held before. */
TEST(builtin__every_policy__is_deterministic)
{
	static struct rig a, b;
	struct prop r;

	prop_start(&r);
	for (size_t i = 0; policies_builtin[i]; i++) {
		rig_open(&a, policies_builtin[i]);
		rig_open(&b, policies_builtin[i]);
		for (uint32_t s = 0; s < 8; s++)
			rig_guest(&a, s * 31);
		for (int t = 0; t < 3000; t++) {
			a.in.now.ns += (int64_t)prop_range(&r, 0, 2 * NS_PER_MS);
			a.in.epoch = (uint64_t)(a.in.now.ns / NS_PER_S);
			a.in.epoch_start.ns = (int64_t)a.in.epoch * NS_PER_S;
			for (uint32_t s = 0; s < 8; s++) {
				a.in.guest[s].allocated.m = 1000000;
				a.in.guest[s].balance.m = (int64_t)prop_range(&r, 0, 1000000);
				a.in.guest[s].usage.mtus_sent = prop_hostile(&r);
				a.in.guest[s].usage.cpu_ns = prop_hostile(&r);
			}
			b.in = a.in;
			rig_decide(&a);
			memset(&b.plan, 0x11, sizeof(b.plan));
			b.ops->decide(&b.in, b.params, b.global, b.guests, &b.plan);
			for (uint32_t s = 0; s < 8; s++)
				assert_memory_equal(&a.plan.guest[s * 31], &b.plan.guest[s * 31],
						    sizeof(a.plan.guest[0]));
			assert_memory_equal(a.guests, b.guests,
					    a.ops->guest_size * FLOW_GUESTS_MAX);
		}
		rig_close(&a);
		rig_close(&b);
	}
}

TEST(builtin__every_policy__plans_only_reasons_it_names)
{
	static struct rig g;
	struct prop r;

	prop_start(&r);
	for (size_t i = 0; policies_builtin[i]; i++) {
		uint32_t reasons = 0;

		while (policies_builtin[i]->reasons[reasons])
			reasons++;
		rig_open(&g, policies_builtin[i]);
		for (uint32_t s = 0; s < FLOW_GUESTS_MAX; s++)
			rig_guest(&g, s);
		for (int t = 0; t < 100; t++) {
			g.in.now.ns += 3 * NS_PER_MS;
			for (uint32_t s = 0; s < FLOW_GUESTS_MAX; s++) {
				g.in.guest[s].flags = (uint32_t)prop_range(&r, 0, 7);
				g.in.guest[s].allocated.m = INT64_MAX;
				g.in.guest[s].balance.m = (int64_t)(prop_hostile(&r) >> 1);
			}
			rig_decide(&g);
			for (uint32_t s = 0; s < FLOW_GUESTS_MAX; s++) {
				const struct plan_guest *p = &g.plan.guest[s];

				assert_true(p->reason < reasons);
				assert_int_equal(p->vf_bytes_s, 0);
				assert_true(p->rate.q16 >= 65536);
				assert_true(p->cap.limited || p->cap.mpct == 0);
				if (!(g.in.guest[s].flags & POLICY_CAPPABLE) ||
				    (g.in.guest[s].flags & POLICY_EXEMPT))
					assert_false(p->cap.limited);
			}
		}
		rig_close(&g);
	}
}

TEST(decide__spent_or_not__no_cap_and_rate_one)
{
	static struct rig g;

	rig_open(&g, &policy_null);
	rig_guest(&g, 0)->allocated.m = 1000;
	rig_guest(&g, 3)->balance.m = 1000;
	rig_guest(&g, 255)->flags = POLICY_EXEMPT;
	g.in.guest[1].rate.q16 = 99999;
	rig_decide(&g);
	for (uint32_t i = 0; i < 3; i++) {
		const struct plan_guest *p = &g.plan.guest[g.in.guest[i].slot];

		assert_true(cap_equal(p->cap, CAP_NONE));
		assert_int_equal(p->rate.q16, 65536);
		assert_int_equal(p->reason, 0);
	}
	rig_close(&g);
}
