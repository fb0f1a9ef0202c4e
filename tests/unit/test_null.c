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
	assert_ptr_equal(policy_find("slo"), &policy_slo);
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

/* --- how long plans stand ----------------------------------------------------- */

enum { STANDING = 12 };

static void random_tick(struct prop *r, struct policy_in *in)
{
	in->now.ns += (int64_t)prop_range(r, 0, 30 * NS_PER_MS);
	in->epoch = (uint64_t)(in->now.ns / NS_PER_S);
	in->epoch_start.ns = (int64_t)in->epoch * NS_PER_S;
	for (uint32_t i = 0; i < STANDING; i++) {
		struct policy_guest *p = &in->guest[i];

		p->flags = prop_one_in(r, 8) ? (uint32_t)prop_range(r, 0, 7) : POLICY_CAPPABLE;
		p->allocated.m = prop_one_in(r, 9) ? INT64_MAX : (int64_t)prop_range(r, 0, 1000000);
		p->balance.m = (int64_t)prop_range(r, 0, (uint64_t)p->allocated.m);
		p->usage.backlog = prop_range(r, 0, 1);
		p->usage.mtus_sent = p->usage.msg_bytes = (uint32_t)prop_range(r, 0, 1) * 9;
	}
}

static bool stands(const struct rig *g, uint32_t i)
{
	const struct policy_guest *p = &g->in.guest[i];
	int64_t to = g->plan.guest[p->slot].stands.m;

	return to > 0 && p->balance.m >= to && !p->usage.mtus_sent && !(p->flags & POLICY_NEW);
}

/* The same epoch goes on; CPU time is used, and the balance falls no lower than the plan stands. */
static void go_on(struct prop *r, struct rig *g, const bool *standing)
{
	int64_t left = g->in.epoch_start.ns + g->in.epoch_ns - 1 - g->in.now.ns;

	g->in.now.ns += (int64_t)prop_range(r, 0, (uint64_t)left);
	for (uint32_t i = 0; i < STANDING; i++) {
		struct policy_guest *p = &g->in.guest[i];

		if (!standing[i])
			continue;
		p->usage.cpu_ns = prop_hostile(r);
		p->balance.m = (int64_t)prop_range(r, (uint64_t)g->plan.guest[p->slot].stands.m,
						   (uint64_t)p->balance.m);
	}
}

static void assert_same_plan(struct plan_guest a, struct plan_guest b)
{
	memcpy(a.why, b.why, sizeof(a.why));
	assert_memory_equal(&a, &b, sizeof(a));
}

/* How many plans stood. */
static uint32_t check_standing(struct prop *r, struct rig *g, struct rig *other)
{
	static struct plan before;
	bool standing[STANDING];
	size_t size = g->ops->guest_size;
	uint32_t n = 0;

	random_tick(r, &g->in);
	rig_decide(g);
	before = g->plan;
	memcpy(other->guests, g->guests, size * FLOW_GUESTS_MAX);
	memcpy(other->global, g->global, g->ops->global_size);
	for (uint32_t i = 0; i < STANDING; i++)
		n += standing[i] = stands(g, i);
	go_on(r, g, standing);
	other->in = g->in;
	rig_decide(g);
	for (uint32_t i = 0; i < STANDING; i++) {
		uint32_t slot = g->in.guest[i].slot;

		if (!standing[i])
			continue;
		assert_same_plan(g->plan.guest[slot], before.guest[slot]);
		assert_memory_equal(g->guests + slot * size, other->guests + slot * size, size);
		other->in.still[i / 64] |= 1ull << (i % 64);
		memset(&other->in.guest[i].usage, 0xee, sizeof(other->in.guest[i].usage));
	}
	rig_decide(other);
	for (uint32_t i = 0; i < STANDING; i++)
		if (!standing[i])
			assert_memory_equal(&g->plan.guest[g->in.guest[i].slot],
					    &other->plan.guest[g->in.guest[i].slot],
					    sizeof(g->plan.guest[0]));
		else
			assert_int_equal(other->plan.guest[g->in.guest[i].slot].reason, 0xeeeeeeee);
	assert_memory_equal(g->guests, other->guests, size * FLOW_GUESTS_MAX);
	return n;
}

/* What an engine relies on when it does not ask (policy.h). */
TEST(builtin__every_policy__plans_stand_as_long_as_it_says)
{
	static const struct policy_ops *const say[] = { &policy_null, &policy_freemarket };
	static struct rig g, other;
	struct prop r;

	prop_start(&r);
	for (size_t i = 0; policies_builtin[i]; i++) {
		uint32_t n = 0;

		rig_open(&g, policies_builtin[i]);
		rig_open(&other, policies_builtin[i]);
		for (uint32_t s = 0; s < STANDING; s++)
			rig_guest(&g, s * 23);
		for (int t = 0; t < 2000; t++)
			n += check_standing(&r, &g, &other);
		for (size_t k = 0; k < sizeof(say) / sizeof(say[0]); k++)
			assert_true(policies_builtin[i] != say[k] || n > 2000);
		rig_close(&g);
		rig_close(&other);
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
