// SPDX-License-Identifier: GPL-2.0-or-later
/* check: plans and pace of plug-ins. See check.h. */
#include "policies/check.h"

enum plan_wrong plan_check(const struct plan_guest *p, uint32_t reasons, uint64_t *figure)
{
	if (p->reason == PLAN_UNWRITTEN)
		return PLAN_MISSING;
	*figure = p->reason;
	if (p->reason >= reasons)
		return PLAN_REASON;
	*figure = p->rate.q16;
	if (p->rate.q16 < RATE_ONE.q16)
		return PLAN_RATE;
	*figure = p->vf_bytes_s;
	if (p->vf_bytes_s)
		return PLAN_RESERVED;
	*figure = p->cap.limited ? p->cap.limited : p->cap.mpct;
	if (p->cap.limited > 1 || (!p->cap.limited && p->cap.mpct))
		return PLAN_CAP;
	return PLAN_RIGHT;
}

bool pace_exceeded(struct policy_pace *p, int64_t cpu_ns, int64_t budget_ns)
{
	bool over;

	p->calls++;
	p->slow += budget_ns && cpu_ns > budget_ns;
	over = p->slow > PACE_SLOW;
	if (p->calls == PACE_CALLS)
		*p = (struct policy_pace){ 0 };
	return over;
}
