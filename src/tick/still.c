// SPDX-License-Identifier: GPL-2.0-or-later
/* still: which guests need but a look in the next tick; what they owe. See still.h. */
#include "src/tick/still.h"

void still_charge_owed(struct sampler *s, struct slot *sl)
{
	const struct usage owed = { .cpu_ns = sl->cpu_owed };

	resos_charge(&s->ledger, sl->guest->slot, &owed);
	sl->epoch_usage.cpu_ns += owed.cpu_ns;
	sl->cpu_owed = 0;
}

/* What act() did last holds as long as the plan does. */
static bool is_acted_on(const struct sampler *s, const struct slot *sl)
{
	return sl->settled || !(sl->guest->flags & POLICY_CAPPABLE) || s->ho->observe;
}

/* When this was decided, and after it. */
static bool is_at_rate_one(const struct sampler *s, const struct policy_guest *p)
{
	return p->rate.q16 == RATE_ONE.q16 && s->ledger.acc[p->slot].rate.q16 == RATE_ONE.q16;
}

void sampler_still(struct sampler *s)
{
	for (uint32_t i = 0; i < s->dues; i++) {
		struct slot *sl = s->due[i];
		const struct policy_guest *p = sl->seat;
		const struct resos stands = s->plan.guest[p->slot].stands;

		sl->still = !sl->worked && !(p->flags & POLICY_NEW) && stands.m > 0 &&
			    p->balance.m >= stands.m && is_at_rate_one(s, p) && is_acted_on(s, sl);
		/* At most so much is charged for it, fractions carried over included. */
		if (sl->still)
			sl->cpu_left = sat_mul((uint64_t)(p->balance.m - stands.m),
					       CPU_NS_PER_MILLI);
	}
}
