// SPDX-License-Identifier: GPL-2.0-or-later
/* apart: a plug-in decides, and is stopped when it misbehaves. See apart.h. */
#include "src/tick/apart.h"

#include <string.h>

static uint32_t reasons_of(const struct policy_ops *ops)
{
	uint32_t n = 0;

	while (ops->reasons[n])
		n++;
	return n;
}

/* What the plug-in did to its former input is undone: each call gets a whole copy. */
static void copy_input(const struct sampler *s, struct policy_apart *a)
{
	memcpy(a->in, &s->in,
	       offsetof(struct policy_in, guest) + s->in.guests * sizeof(s->in.guest[0]));
	for (uint32_t i = 0; i < s->in.guests; i++)
		if (!policy_stands(&s->in, i))
			a->plan->guest[s->in.guest[i].slot].reason = PLAN_UNWRITTEN;
}

static void stop(struct sampler *s, struct policy_fault f)
{
	struct policy_fault *to = &s->set->policy->apart->fault;
	uint32_t end = f.end;

	f.end = POLICY_RUNS;
	*to = f;
	__atomic_store_n(&to->end, end, __ATOMIC_RELEASE);
	/* Plans that stood are those of the plug-in: the next tick decides on all guests. */
	for (uint32_t i = 0; i < s->guests; i++)
		s->turn[i]->still = false;
	s->wake_control = true;
}

/* The whole plan is checked before any of it is taken. */
static bool take_plan(struct sampler *s, const struct policy_inst *pi, struct policy_fault *f)
{
	const uint32_t reasons = reasons_of(pi->ops);

	for (uint32_t i = 0; i < s->in.guests; i++) {
		f->slot = s->in.guest[i].slot;
		if (!policy_stands(&s->in, i))
			f->wrong = plan_check(&pi->apart->plan->guest[f->slot], reasons,
					      &f->figure);
		if (f->wrong)
			return false;
	}
	for (uint32_t i = 0; i < s->in.guests; i++)
		if (!policy_stands(&s->in, i)) {
			uint32_t slot = s->in.guest[i].slot;

			s->plan.guest[slot] = pi->apart->plan->guest[slot];
		}
	return true;
}

static void call_decide(void *arg)
{
	const struct policy_inst *pi = arg;

	pi->ops->decide(pi->apart->in, pi->params, pi->global, pi->guests, pi->apart->plan);
}

static void decide(struct sampler *s, struct policy_inst *pi)
{
	static const enum policy_end ends[] = {
		[GUARD_RETURNED] = POLICY_RUNS,
		[GUARD_FAULT] = POLICY_CRASHED,
		[GUARD_TIME] = POLICY_HUNG,
		[GUARD_MISSING] = POLICY_UNGUARDED,
	};
	struct policy_fault f = { 0 };
	struct guard_result r;

	copy_input(s, pi->apart);
	guard_call(s->guard, call_decide, pi, &r);
	f.end = ends[r.how];
	f.signal = r.signal;
	f.address = r.address;
	f.ns = r.cpu_ns;
	if (!f.end && pace_exceeded(&pi->apart->pace, r.cpu_ns, s->policy_budget_ns))
		f.end = POLICY_SLOW;
	if (!f.end && !take_plan(s, pi, &f))
		f.end = POLICY_WRONG;
	if (f.end)
		stop(s, f);
}

void sampler_decide_apart(struct sampler *s)
{
	struct policy_inst *pi = s->set->policy;

	if (!policy_ended(pi))
		decide(s, pi);
	if (policy_ended(pi))
		policy_null.decide(&s->in, NULL, NULL, NULL, &s->plan);
}
