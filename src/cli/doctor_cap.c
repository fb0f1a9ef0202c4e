// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doctor_cap: does a cap limit a guest? Which cap to try, and what the CPU time under it says.
 * captest.c measures. See doctor.h.
 */
#include "src/cli/doctor_priv.h"

/* In percent of one CPU. Below it, a cap would say nothing, and its overruns everything. */
#define USED_LEAST 10.0
/* A cap as high as this part of the use cannot be told from chance. */
#define CAP_MOST 0.75
/* Under a cap: a scheduler gives time in pieces, and takes back what is too much. */
#define KEPT_MOST(cap)	(1.15 * (cap) + 2)
#define KEPT_LEAST(cap) (0.5 * (cap))
/* Of the use before: with this much left, the cap did nothing. */
#define IGNORED_LEAST 0.85

static const char check_name[] = "cap";

/* With three decimals, as all numbers of replies. */
static json_t *value_3(double v)
{
	return json_real((double)(int64_t)(1000 * v + 0.5) / 1000);
}

uint32_t doctor_cap_choose(const char *guest, double before, uint32_t min_cap, uint32_t capped,
			   json_t *findings)
{
	const struct doctor_report r = { check_name, findings };
	uint32_t cap = (uint32_t)(before / 2 + 0.5);

	if (before < USED_LEAST && capped) {
		doctor_say(
			&r, DOCTOR_UNKNOWN,
			"let policies wait, and try again: resex policy-set null",
			"guest %s uses %.1f percent of a CPU under its cap of %u: too little for a "
			"lower cap to show",
			guest, before, capped);
		return 0;
	}
	if (before < USED_LEAST) {
		doctor_say(&r, DOCTOR_UNKNOWN, "try again while the guest computes or polls",
			   "guest %s uses %.1f percent of a CPU: too little for a cap to show",
			   guest, before);
		return 0;
	}
	cap = cap < min_cap ? min_cap : cap;
	if (cap > CAP_MOST * before) {
		doctor_say(&r, DOCTOR_UNKNOWN,
			   "try again while the guest uses more, or with a lower min_cap: resex "
			   "guest-set",
			   "guest %s uses %.1f percent of a CPU, and its lowest cap is %u: too "
			   "near for a cap to show",
			   guest, before, min_cap);
		return 0;
	}
	return cap;
}

void doctor_cap_judge(const struct doctor_cap *t, json_t *findings)
{
	const struct doctor_report r = { check_name, findings };
	json_t *last;

	if (t->during > KEPT_MOST(t->cap) && t->during > IGNORED_LEAST * t->before)
		doctor_say(&r, DOCTOR_FAULT,
			   "see the scheduler of its cpupool (xl cpupool-list), and whether Xen "
			   "knows the cap: xl sched-credit2",
			   "a cap of %u percent does nothing: guest %s used %.1f percent of a CPU "
			   "under it, and %.1f before",
			   t->cap, t->guest, t->during, t->before);
	else if (t->during > KEPT_MOST(t->cap))
		doctor_say(&r, DOCTOR_WARNING,
			   "try again; if it stays so, see late ticks and the scheduler's "
			   "parameters: xl sched-credit2",
			   "a cap of %u percent limits guest %s only in part: it used %.1f percent "
			   "of a CPU under it, and %.1f before",
			   t->cap, t->guest, t->during, t->before);
	else if (t->during < KEPT_LEAST(t->cap))
		doctor_say(&r, DOCTOR_UNKNOWN, "try again while the guest computes or polls",
			   "guest %s used %.1f percent of a CPU under a cap of %u, and %.1f "
			   "before: it wanted less than the cap",
			   t->guest, t->during, t->cap, t->before);
	else
		doctor_say(&r, DOCTOR_OK, "",
			   "a cap of %u percent limits guest %s: it used %.1f percent of a CPU "
			   "under it, and %.1f before",
			   t->cap, t->guest, t->during, t->before);
	last = json_array_get(findings, json_array_size(findings) - 1);
	json_object_set_new(last, "guest", json_string(t->guest));
	json_object_set_new(last, "cap", json_integer(t->cap));
	json_object_set_new(last, "before_percent", value_3(t->before));
	json_object_set_new(last, "during_percent", value_3(t->during));
}
