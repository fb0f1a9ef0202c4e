/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * policy_rig: what an engine gives a policy, for tests: inputs, zeroed state
 * blocks of the right sizes with guard bytes behind, a plan full of rubbish.
 */
#ifndef RESEX_TESTS_POLICY_RIG_H
#define RESEX_TESTS_POLICY_RIG_H

#include <string.h>

#include "policies/policies.h"
#include "src/core/caps.h"
#include "tests/unit/prop.h"

enum { RIG_PARAMS = 4096, RIG_GLOBAL = 65536, RIG_GUEST = 16384, RIG_GUARD = 64 };

struct rig {
	const struct policy_ops *ops;
	struct policy_in in;
	struct plan plan;
	uint8_t *params, *global, *guests;
};

static inline void rig_param(struct rig *g, const char *name, uint64_t value)
{
	for (const struct policy_param *p = g->ops->params; p && p->name; p++)
		if (!strcmp(p->name, name)) {
			memcpy(g->params + p->offset, &value, sizeof(value));
			return;
		}
	fail_msg("no parameter %s", name);
}

static inline uint8_t *rig_block(size_t size)
{
	uint8_t *b = calloc(1, size + RIG_GUARD);

	assert_non_null(b);
	memset(b + size, 0xa5, RIG_GUARD);
	return b;
}

static inline void rig_open(struct rig *g, const struct policy_ops *ops)
{
	memset(g, 0, sizeof(*g));
	g->ops = ops;
	g->params = rig_block(ops->params_size);
	g->global = rig_block(ops->global_size);
	g->guests = rig_block(ops->guest_size * FLOW_GUESTS_MAX);
	for (const struct policy_param *p = ops->params; p && p->name; p++)
		rig_param(g, p->name, p->def);
	g->in.epoch_ns = NS_PER_S;
	g->in.interval_ns = NS_PER_MS;
}

static inline void rig_close(struct rig *g)
{
	free(g->params);
	free(g->global);
	free(g->guests);
}

/* A guest of one VCPU that may be capped; slots must be given in ascending order. */
static inline struct policy_guest *rig_guest(struct rig *g, uint32_t slot)
{
	struct policy_guest *p = &g->in.guest[g->in.guests++];

	memset(p, 0, sizeof(*p));
	p->slot = slot;
	p->flags = POLICY_CAPPABLE;
	p->weight = 1;
	p->bounds = (struct cap_bounds){ .ceiling = CAP_NONE, .min_mpct = 1000, .vcpus = 1 };
	p->rate = RATE_ONE;
	p->usage.slot = slot;
	return p;
}

static inline bool rig_guarded(const uint8_t *b, size_t size)
{
	for (size_t i = 0; i < RIG_GUARD; i++)
		if (b[size + i] != 0xa5)
			return false;
	return true;
}

/*
 * One decision. The plan held rubbish before: what was not planned is seen.
 * Slots without a guest must stay as they were, state must stay in its blocks.
 */
static inline void rig_decide(struct rig *g)
{
	static struct policy_in before;
	size_t used = offsetof(struct policy_in, guest) + g->in.guests * sizeof(before.guest[0]);
	bool mine[FLOW_GUESTS_MAX] = { false };

	memcpy(&before, &g->in, used);
	memset(&g->plan, 0xee, sizeof(g->plan));
	g->ops->decide(&g->in, g->params, g->global, g->guests, &g->plan);
	assert_memory_equal(&g->in, &before, used);
	assert_true(rig_guarded(g->params, g->ops->params_size));
	assert_true(rig_guarded(g->global, g->ops->global_size));
	assert_true(rig_guarded(g->guests, g->ops->guest_size * FLOW_GUESTS_MAX));
	for (uint32_t i = 0; i < g->in.guests; i++)
		mine[g->in.guest[i].slot] = true;
	for (uint32_t s = 0; s < FLOW_GUESTS_MAX; s++)
		if (!mine[s])
			assert_int_equal(g->plan.guest[s].reason, 0xeeeeeeee);
}

#endif
