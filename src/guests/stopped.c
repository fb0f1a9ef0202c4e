// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stopped: a plug-in that the sampler stopped. The sampler decides by null from the tick of the
 * fault on (tick/apart.h); guests.c then puts an instance of null in force, and an event says why.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <string.h>

#include "src/guests/guests_priv.h"

static void wrong_text(const struct guests *gs, const struct policy_fault *f, char *out,
		       size_t size)
{
	static const char *const what[] = {
		[PLAN_RIGHT] = "a plan that is right", /* never */
		[PLAN_MISSING] = "no plan",
		[PLAN_CAP] = "an invalid cap",
		[PLAN_RATE] = "a rate below 1",
		[PLAN_REASON] = "a reason that it does not have",
		[PLAN_RESERVED] = "a reserved figure (vf_bytes_s)",
	};
	const char *name = guests_name_at(gs, f->slot);

	snprintf(out, size, "it wrote %s for guest %.40s (%llu)", what[f->wrong],
		 name ? name : "that left", (unsigned long long)f->figure);
}

static void why_text(const struct guests *gs, const struct policy_fault *f, char *out, size_t size)
{
	switch ((enum policy_end)f->end) {
	case POLICY_CRASHED:
		snprintf(out, size, "it crashed (SIG%s at 0x%llx)", sigabbrev_np(f->signal),
			 (unsigned long long)f->address);
		break;
	case POLICY_HUNG:
		snprintf(out, size,
			 "decide() did not return: it was left after %lld ms of CPU time",
			 (long long)(f->ns / NS_PER_MS));
		break;
	case POLICY_SLOW:
		snprintf(
			out, size,
			"more than %d of %d calls were over its budget, a quarter of the interval: "
			"the last took %lld us",
			PACE_SLOW, PACE_CALLS, (long long)(f->ns / NS_PER_US));
		break;
	case POLICY_WRONG:
		wrong_text(gs, f, out, size);
		break;
	case POLICY_UNGUARDED:
	case POLICY_RUNS:
		snprintf(out, size, "resexd cannot guard it: see its log");
		break;
	}
}

bool stopped_find(const struct guests *gs, struct stopped *st)
{
	if (!policy_ended(gs->policy) || gs->policy_old)
		return false;
	snprintf(st->name, sizeof(st->name), "%s", gs->policy->ops->name);
	why_text(gs, &gs->policy->apart->fault, st->why, sizeof(st->why));
	return true;
}

void stopped_note(struct guests *gs, const struct stopped *st, int64_t wall_ns)
{
	gs->stopped = *st;
	guests_event(gs, wall_ns, NULL, "policy-stopped", "%s: %s; null is in force", st->name,
		     st->why);
}
