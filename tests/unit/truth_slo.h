/* SPDX-License-Identifier: GPL-2.0-or-later */
/* truth_slo: what must hold of the truth when `why` says a sentence of slo: see truth_holds.h. */
#ifndef RESEX_TESTS_TRUTH_SLO_H
#define RESEX_TESTS_TRUTH_SLO_H

#include "tests/unit/truth_holds.h"

/* The longest window of reports, ms, and how far what is said may be from the truth, percent. */
#define SLO_WINDOW 3300
#define SLO_NEAR   0.6

/* "others cost it +#": so it is in some window that ended when this was first said. */
static void cost_is_true(struct truth *t, const struct said *s, int victim)
{
	double nearest = -100;

	for (int to = s->since; to >= s->since - 1; to--)
		for (int from = to - SHORTEST; from >= 0 && from >= to - SLO_WINDOW; from--) {
			double got = rise_in(t, victim, from, to).mean;

			if (fabs(got - s->rise.mean) < fabs(nearest - s->rise.mean))
				nearest = got;
		}
	if (fabs(nearest - s->rise.mean) > SLO_NEAR)
		untrue(t, "others cost %s +%.1f since %d ms: the nearest of a window is %.1f",
		       conf_of(t)->guest[victim].name, s->rise.mean, s->since, nearest);
}

static void is_promised(struct truth *t, double tolerance)
{
	if (tolerance != TOLERANCE)
		untrue(t, "+%.1f is not what is promised", tolerance);
}

/* "no cap: guest @ is promised a mean of at most +# percent over its base, and others ... +#" */
static void holds_slo_held(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, 0);
	is_promised(t, s->f[0]);
	cost_is_true(t, s, guest_of(t, s->name[0]));
	if (s->f[1] > TOLERANCE)
		untrue(t, "the promise is broken");
}

/* "cap # percent, for the mean of guest @, which is promised to be at most +# percent ...: +#" */
static void holds_slo_capped(struct truth *t, const struct said *s)
{
	int victim = guest_of(t, s->name[0]);

	has_cap(t, s->guest, s->f[0]);
	is_promised(t, s->f[1]);
	cost_is_true(t, s, victim);
	are_cause(t, victim, all_but(t, victim));
}

/* "cap # percent: guest @ says that others cost it +#...; their traffic can cost it +# at most" */
static void holds_slo_claim(struct truth *t, const struct said *s)
{
	struct rise is = rise_in(t, guest_of(t, s->name[0]), t->ms - SLO_WINDOW, t->ms);

	has_cap(t, s->guest, s->f[0]);
	if (s->f[1] < 2 * s->f[2] || s->f[1] < 2 * is.mean)
		untrue(t, "it claims %.1f, and others cost it %.1f", s->f[1], is.mean);
}

/* "lowest cap, # percent: guest @ is promised ... +#, and others still cost it +#" */
static void holds_slo_floor(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, s->f[0]);
	if (s->f[0] != 1 || s->f[2] <= TOLERANCE)
		untrue(t, "it is not the lowest cap, or the promise is held");
	cost_is_true(t, s, guest_of(t, s->name[0]));
}

/* "no cap: its own mean is promised, at most +# percent over its base, and others cost it +#" */
static void holds_slo_promised(struct truth *t, const struct said *s)
{
	never_capped(t, s->guest, 0, t->ms);
	is_promised(t, s->f[0]);
	if (s->since > SHORTEST)
		cost_is_true(t, s, s->guest);
}

/* "..., which no cap holds: at the lowest ones others cost it +#": at cap 1 it was so. */
static void floor_is_true(struct truth *t, const struct said *s, int victim, int capped)
{
	int end = s->since;

	while (end > 0 && moment_of(t, capped, end)->cap != 1)
		end--;
	is_promised(t, s->f[0]);
	if (s->f[1] <= TOLERANCE || rise_in(t, victim, end - 200, end).mean < s->f[1] - 4)
		untrue(t, "at cap 1 others cost it %.1f", rise_in(t, victim, end - 200, end).mean);
}

static void holds_slo_refused(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, 0);
	floor_is_true(t, s, s->guest, guest_of(t, "bulk"));
	if (s->f[2] > 1000)
		untrue(t, "it rests for a second, not for %.0f ms", s->f[2]);
}

static void holds_slo_other_refused(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, 0);
	floor_is_true(t, s, guest_of(t, s->name[0]), s->guest);
}

/* "...; but this guest sends too little to matter, or nothing": a quarter of the promise. */
static void holds_slo_small(struct truth *t, const struct said *s)
{
	int victim = guest_of(t, s->name[0]);
	struct rise with = rise_over(spread_of(without(t, 0, victim), 10, t->end),
				     alone(t, victim));
	struct rise less = rise_over(spread_of(without(t, 1u << s->guest, victim), 10, t->end),
				     alone(t, victim));

	has_cap(t, s->guest, 0);
	if (with.mean - less.mean > TOLERANCE / 4)
		untrue(t, "it costs %.1f", with.mean - less.mean);
}

static void holds_slo_unheard(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, 0);
	for (int i = 0; i < (int)conf_of(t)->guests; i++)
		if (i != s->guest && is_reporter(t, i) && has_base(t, i))
			untrue(t, "%s reports, and has a base", conf_of(t)->guest[i].name);
}

static void holds_slo_unknown(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, 0);
	if (t->ms > 300)
		untrue(t, "it has reported for %d ms", t->ms);
}

#endif
