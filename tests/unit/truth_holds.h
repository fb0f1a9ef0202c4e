/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * truth_holds: what must hold of the truth when `why` says a sentence; for test_why_truth.c alone.
 * A function holds_X() is called in a millisecond in which the sentence is said, then_X() at the
 * end of the run. They read the simulator's truth (truth_rig.h), never what the daemon measured.
 */
#ifndef RESEX_TESTS_TRUTH_HOLDS_H
#define RESEX_TESTS_TRUTH_HOLDS_H

#include <unistd.h>

#include "tests/unit/truth_rig.h"

/* By the numbers in resex-policies(7). */
enum { NULL_FREE };
enum { FM_FREE, FM_CUT, FM_EXHAUSTED, FM_EXEMPT, FM_UNCAPPABLE };
enum { RATIO_FREE, RATIO_CAPPED, RATIO_EXEMPT, RATIO_UNCAPPABLE, RATIO_UNSEEN };
enum {
	IOS_FREE,
	IOS_TAXED,
	IOS_EMPTY,
	IOS_EXEMPT,
	IOS_UNCAPPABLE,
	IOS_FUTILE,
	IOS_SELF,
	IOS_HURT,
	IOS_NOBODY,
	IOS_NO_BASE,
	IOS_FADING,
	IOS_FLOOR,
	IOS_UNHEARD,
	IOS_UNKNOWN,
	IOS_SPARED,
	IOS_SOON,
	IOS_HELD,
	IOS_LEAST,
};
enum {
	SLO_HOLDS,
	SLO_CAPPED,
	SLO_CLAIM,
	SLO_FLOOR,
	SLO_EXEMPT,
	SLO_UNCAPPABLE,
	SLO_PROMISED,
	SLO_REFUSED,
	SLO_OTHER_REFUSED,
	SLO_SMALL,
	SLO_UNHEARD,
	SLO_UNKNOWN,
};

enum {
	NAMES = 3,
	FIGURES = 6,
	SHORTEST = 50, /* a window of reports, ms */
	LONGEST = 1300,
	EPOCH = 1000,
	/* how a row is judged: */
	SOME = 0,
	ALWAYS = 1,  /* in all ms from .. to, but while an act is under way, no other may be said */
	OBSERVE = 2, /* resexd only observes */
	SLOW = 4,    /* a snapshot each 10 ms */
	STALE = 1000, /* a guest that reported nothing for so long is no reporter */
};

/* Of the victims here: how far mean and deviation may be above those alone, percent. */
#define TOLERANCE     5.0
#define DEV_TOLERANCE 15.0

/* A sentence as it was said. */
struct said {
	int guest;
	double f[FIGURES];
	char name[NAMES][320];
	struct rise rise; /* of the words "mean +#, deviation +#" */
	int since;	  /* when that rise was first said, ms */
};

/* --- words -------------------------------------------------------------------------- */

/* Does the text begin with the pattern? A "@" ends where the pattern goes on. */
static bool read_words(const char *text, const char *pattern, struct said *s)
{
	int figures = 0, names = 0;

	for (; *pattern; pattern++) {
		char *end = (char *)(uintptr_t)text;
		size_t n;

		if (*pattern == '#') {
			s->f[figures++] = strtod(text, &end);
			if (end == text)
				return false;
			text = end;
		} else if (*pattern == '@') {
			for (n = 0;
			     text[n] && strncmp(text + n, pattern + 1,
						pattern[1] ? strcspn(pattern + 1, "#@") : 1);)
				n++;
			if (!n || n >= sizeof(s->name[0]))
				return false;
			snprintf(s->name[names++], sizeof(s->name[0]), "%.*s", (int)n, text);
			text += n;
		} else if (*pattern == '$') {
			return !*text;
		} else if (*text++ != *pattern) {
			return false;
		}
	}
	return true;
}

/* "a, b, c" */
static uint32_t mask_of(struct truth *t, const char *list)
{
	char copy[128], *next = NULL;
	uint32_t mask = 0;

	snprintf(copy, sizeof(copy), "%s", list);
	for (char *w = strtok_r(copy, ", ", &next); w; w = strtok_r(NULL, ", ", &next)) {
		if (guest_of(t, w) < 0)
			untrue(t, "there is no guest \"%s\"", w);
		else
			mask |= 1u << guest_of(t, w);
	}
	return mask;
}

/* --- truths that many sentences share ---------------------------------------------- */

static uint32_t cap_now(struct truth *t, int guest)
{
	return moment_of(t, guest, t->ms)->cap;
}

static uint32_t own_cap(struct truth *t, int guest)
{
	return conf_of(t)->guest[guest].cap;
}

static uint64_t mtus_in(struct truth *t, int guest, int from, int to)
{
	const struct sim_truth *a = &moment_of(t, guest, from)->done;
	const struct sim_truth *b = &moment_of(t, guest, to)->done;

	return b->mtus - a->mtus;
}

static bool is_over(struct rise r)
{
	return r.mean > TOLERANCE || r.dev > DEV_TOLERANCE;
}

static bool was_capped(struct truth *t, int guest, int from, int to)
{
	for (int ms = from; ms <= to; ms++)
		if (moment_of(t, guest, ms)->cap)
			return true;
	return false;
}

/*
 * The rise that was said is the true one, in a window that ended when it was first said. Which
 * window that was is not said; but mean and deviation must be those of one and the same. Of a
 * victim that is capped, the deviation of I/O alone is not known.
 */
static bool rise_is_true(struct truth *t, const struct said *s, int victim)
{
	bool capped = was_capped(t, victim, s->since - LONGEST, s->since);
	struct rise best = { -100, -100 }, r;

	for (int to = s->since; to >= s->since - 1; to--)
		for (int from = to - SHORTEST; from >= 0 && from >= to - LONGEST; from--) {
			r = rise_in(t, victim, from, to);
			if (fabs(r.mean - s->rise.mean) <= 0.3 + r.mean / 200 &&
			    (capped || fabs(r.dev - s->rise.dev) <= 0.6))
				return true;
			if (fabs(r.mean - s->rise.mean) + fabs(r.dev - s->rise.dev) <
			    fabs(best.mean - s->rise.mean) + fabs(best.dev - s->rise.dev))
				best = r;
		}
	return untrue(t,
		      "mean +%.1f, deviation +%.1f %% since %d ms: no window has it, the nearest "
		      "%.1f, %.1f",
		      s->rise.mean, s->rise.dev, s->since, best.mean, best.dev);
}

/* Without these guests the victim would wait much less than it would with all, and no caps. */
static bool are_cause(struct truth *t, int victim, uint32_t mask)
{
	int from = t->ms > 500 ? t->ms - 500 : 0;
	struct rise with = rise_over(spread_of(without(t, 0, victim), from, t->ms),
				     alone(t, victim));
	struct rise less = rise_over(spread_of(without(t, mask, victim), from, t->ms),
				     alone(t, victim));

	if (is_over(with) && less.mean <= 0.75 * with.mean)
		return true;
	return untrue(t, "%s: mean +%.1f, deviation +%.1f %%; without them +%.1f, +%.1f",
		      conf_of(t)->guest[victim].name, with.mean, with.dev, less.mean, less.dev);
}

static bool has_cap(struct truth *t, int guest, double percent)
{
	return cap_now(t, guest) == (uint32_t)percent ||
	       untrue(t, "cap %.0f was said, the scheduler's is %u", percent, cap_now(t, guest));
}

static bool never_capped(struct truth *t, int guest, int from, int to)
{
	for (int ms = from; ms <= to; ms++)
		if (moment_of(t, guest, ms)->cap != own_cap(t, guest))
			return untrue(t, "cap %u at %d ms", moment_of(t, guest, ms)->cap, ms);
	return true;
}

/* At rate r the cap is 100 / r percent of the one VCPU. */
static bool rate_is(struct truth *t, const struct said *s, double rate)
{
	return fabs(100 / rate - cap_now(t, s->guest)) <= 0.51 || cap_now(t, s->guest) == 1 ||
	       untrue(t, "rate %.2f beside cap %u", rate, cap_now(t, s->guest));
}

/* What it really used since the epoch began, in Resos: an MTU is one here, as are 10 us. */
static double spent(struct truth *t, int guest)
{
	int began = t->ms / EPOCH * EPOCH;
	const struct sim_truth *a = &moment_of(t, guest, began)->done;
	const struct sim_truth *b = &moment_of(t, guest, t->ms)->done;

	return (double)(b->mtus - a->mtus) + (double)(b->cpu_ns - a->cpu_ns) / 10000;
}

/* Messages under way may be counted on either side of a tick. */
#define SLACK 4500

/* Half of the pool of a second, and a VCPU. */
static bool allocation_is(struct truth *t, double n)
{
	double pool = 1048576.0 / conf_of(t)->guests;

	return fabs(n - pool - 100000) <= 1 || untrue(t, "%.0f Resos an epoch", n);
}

static bool left_is(struct truth *t, const struct said *s, double left, double of)
{
	double is = fmax(0, of - spent(t, s->guest));

	return allocation_is(t, of) &&
	       (fabs(left - is) <= SLACK || untrue(t, "%.0f left was said, it is %.0f", left, is));
}

static bool is_reporter(struct truth *t, int guest)
{
	const struct sim_guest_conf *g = &conf_of(t)->guest[guest];

	for (uint32_t a = 0; a < g->apps; a++) {
		const struct sim_app *app = &g->app[a];
		int64_t now = (t->ms - STALE) * NS_PER_MS; /* it was heard since then */

		if (app->kind == SIM_APP_SERVER && app->report &&
		    (!app->report_stop_ns || now <= app->report_stop_ns) &&
		    (!app->stop_ns || now <= app->stop_ns))
			return true;
	}
	return false;
}

/* By its configuration. */
static bool has_base(struct truth *t, int guest)
{
	return settings_guest(&t->sc->conf, conf_of(t)->guest[guest].name, "")->sla.base_ns != 0;
}

/* --- null, freemarket, ratio ---------------------------------------------------------- */

static void holds_null(struct truth *t, const struct said *s)
{
	never_capped(t, s->guest, 0, t->ms);
	left_is(t, s, s->f[0], s->f[1]);
}

static void holds_fm_free(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, 0);
	left_is(t, s, s->f[0], s->f[1]);
}

static void holds_fm_cut(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, s->f[0]);
	left_is(t, s, s->f[1], s->f[2]);
	if (fabs(s->f[3] - s->f[2] / 10) > 1)
		untrue(t, "caps are cut below a tenth of %.0f", s->f[2]);
	if (s->f[2] - spent(t, s->guest) > s->f[3] + SLACK)
		untrue(t, "%.0f left, and the cap is cut", s->f[2] - spent(t, s->guest));
}

static void holds_fm_exhausted(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, s->f[0]);
	if (s->f[0] != 1)
		untrue(t, "the lowest cap is 1");
	if (spent(t, s->guest) < s->f[1] - SLACK)
		untrue(t, "only %.0f of %.0f are spent", spent(t, s->guest), s->f[1]);
	allocation_is(t, s->f[1]);
}

/* "until the next epoch" */
static void then_lifted(struct truth *t, int guest, int first, int last)
{
	int next = first / EPOCH * EPOCH + EPOCH;

	for (int ms = first; ms < next; ms++)
		if (moment_of(t, guest, ms)->cap != 1)
			untrue(t, "cap %u at %d ms", moment_of(t, guest, ms)->cap, ms);
	if (moment_of(t, guest, next + 3)->cap)
		untrue(t, "not lifted %d ms after the epoch", 3);
	(void)last;
}

static void holds_ratio(struct truth *t, const struct said *s)
{
	const struct sim_app *a = &conf_of(t)->guest[s->guest].app[0];

	has_cap(t, s->guest, 0);
	if (s->f[0] != a->msg_bytes || s->f[1] != 65536 || a->msg_bytes > 65536)
		untrue(t, "its messages have %u bytes", a->msg_bytes);
}

static void holds_ratio_capped(struct truth *t, const struct said *s)
{
	const struct sim_app *a = &conf_of(t)->guest[s->guest].app[0];
	double cap = fmax(1, round(100.0 * 65536 / a->msg_bytes));

	has_cap(t, s->guest, s->f[0]);
	if (s->f[2] != a->msg_bytes || s->f[1] != 65536 || s->f[0] != cap)
		untrue(t, "its messages have %u bytes", a->msg_bytes);
}

static void holds_unseen(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, 0);
	if (!conf_of(t)->guest[s->guest].blind && moment_of(t, s->guest, t->ms)->done.wrs)
		untrue(t, "it sent messages in queues that can be read");
}

/* --- ioshares ------------------------------------------------------------------------- */

/* Of the guests that report, have a base, and were not capped themselves. */
static void holds_free(struct truth *t, const struct said *s)
{
	int judged = 0;

	has_cap(t, s->guest, 0);
	for (int i = 0; i < (int)conf_of(t)->guests; i++) {
		struct rise r = rise_in(t, i, t->ms - 200, t->ms);

		if (i == s->guest || !is_reporter(t, i) || !has_base(t, i))
			continue;
		judged++;
		if (r.mean > TOLERANCE + 0.5 || r.dev > DEV_TOLERANCE + 1)
			untrue(t, "%s waits longer: mean +%.1f, deviation +%.1f %%",
			       conf_of(t)->guest[i].name, r.mean, r.dev);
	}
	if (!judged)
		untrue(t, "no other guest can be judged");
}

/* "cap #, charged # times the plain rate: guest @ waits longer because of @: ..." */
static void holds_taxed(struct truth *t, const struct said *s)
{
	int victim = guest_of(t, s->name[0]);
	uint32_t mask = mask_of(t, s->name[1]);

	has_cap(t, s->guest, s->f[0]);
	rate_is(t, s, s->f[1]);
	if (!(mask >> s->guest & 1) || !is_over(s->rise))
		untrue(t, "it is capped, but not named, or the guest is within its tolerance");
	rise_is_true(t, s, victim);
	are_cause(t, victim, mask);
}

static void holds_held(struct truth *t, const struct said *s)
{
	int victim = guest_of(t, s->name[0]);

	has_cap(t, s->guest, s->f[0]);
	rate_is(t, s, s->f[1]);
	rise_is_true(t, s, victim);
	are_cause(t, victim, mask_of(t, s->name[1]));
}

static void holds_soon(struct truth *t, const struct said *s)
{
	int victim = guest_of(t, s->name[0]);

	has_cap(t, s->guest, 0);
	rise_is_true(t, s, victim);
	are_cause(t, victim, all_but(t, victim));
	if (mtus_in(t, s->guest, t->ms - SHORTEST, t->ms) <
	    mtus_in(t, victim, t->ms - SHORTEST, t->ms) / 4)
		untrue(t, "it sends next to nothing");
}

/* "in its turn": a cycle is five refills of the scheduler, of 10 ms. */
static void then_capped(struct truth *t, int guest, int first, int last)
{
	(void)last;
	for (int ms = first; ms <= first + 55; ms++)
		if (moment_of(t, guest, ms)->cap)
			return;
	untrue(t, "no cap within 55 ms of %d ms", first);
}

static void holds_least(struct truth *t, const struct said *s)
{
	const char *name = conf_of(t)->guest[s->guest].name;

	holds_soon(t, s);
	if (settings_guest(&t->sc->conf, name, "")->min_cap != 100)
		untrue(t, "it may be capped");
}

static void holds_floor(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, s->f[0]);
	if (s->f[0] != 1)
		untrue(t, "the lowest cap is 1");
	for (int ms = t->ms - 300; ms < t->ms; ms++)
		if (moment_of(t, s->guest, ms)->cap != 1)
			untrue(t, "cap %u at %d ms", moment_of(t, s->guest, ms)->cap, ms);
	rise_is_true(t, s, guest_of(t, s->name[0]));
	are_cause(t, guest_of(t, s->name[0]), mask_of(t, s->name[1]));
}

static void holds_empty(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, s->f[0]);
	if (s->f[0] != 1 || spent(t, s->guest) < 524288 + 100000 - SLACK)
		untrue(t, "only %.0f are spent", spent(t, s->guest));
}

/* "no cap for another # ms: with a cap on it guest @ was hardly faster" */
static void holds_futile(struct truth *t, const struct said *s)
{
	int victim = guest_of(t, s->name[0]), end = t->ms, before;
	struct rise floor, free;

	has_cap(t, s->guest, 0);
	while (end > 0 && moment_of(t, s->guest, end)->cap != 1)
		end--;
	for (before = end; before > 0 && moment_of(t, s->guest, before)->cap == 1;)
		before--;
	floor = rise_in(t, victim, end - 200, end);
	free = rise_over(spread_of(without(t, 0, victim), 100, t->end), alone(t, victim));
	if (end - before < 250 || fmax(floor.mean, floor.dev) < 0.85 * fmax(free.mean, free.dev))
		untrue(t,
		       "%d ms at its lowest cap: mean +%.1f, deviation +%.1f %%; without cap "
		       "+%.1f, +%.1f",
		       end - before, floor.mean, floor.dev, free.mean, free.dev);
	/* It counts down to the end of a second from when the cap was lifted. */
	if (fabs(s->f[0] - (end + 1 + 1000 - t->ms)) > 3)
		untrue(t, "%d ms after its lowest cap", t->ms - end);
}

/* "no cap", in all that time */
static void then_rests(struct truth *t, int guest, int first, int last)
{
	never_capped(t, guest, first, first + 990);
	(void)last;
}

static void holds_self(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, 0);
	if (!was_capped(t, s->guest, s->since - LONGEST, s->since))
		untrue(t, "it had no cap, and a CPU of its own");
	rise_is_true(t, s, s->guest);
}

/* "...; charged more for it: @; guest @ sends most" */
static void holds_hurt(struct truth *t, const struct said *s)
{
	int most = guest_of(t, s->name[1]);
	bool none = !strcmp(s->name[0], "none so far");
	uint32_t mask = none ? 0 : mask_of(t, s->name[0]);
	int accusers = 0; /* a guest may be charged for another of these */

	for (int i = 0; i < (int)conf_of(t)->guests; i++)
		accusers += is_reporter(t, i);
	has_cap(t, s->guest, 0);
	rise_is_true(t, s, s->guest);
	if (!is_over(s->rise))
		untrue(t, "it is within its tolerance");
	are_cause(t, s->guest, mask | 1u << most);
	for (int i = 0; i < (int)conf_of(t)->guests; i++) {
		if (mask >> i & 1 ? !cap_now(t, i) : cap_now(t, i) && accusers == 1)
			untrue(t, "%s has cap %u", conf_of(t)->guest[i].name, cap_now(t, i));
		if (i != s->guest &&
		    mtus_in(t, i, s->since - SHORTEST, s->since) >
			    mtus_in(t, most, s->since - SHORTEST, s->since) + SLACK)
			untrue(t, "%s sends more", conf_of(t)->guest[i].name);
	}
}

/* "mean +1.4, deviation +6.3": the mean is within its tolerance, and the deviation is not. */
static void holds_deviation(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, 0);
	rise_is_true(t, s, s->guest);
	if (s->rise.mean > TOLERANCE || s->rise.dev <= TOLERANCE)
		untrue(t, "it is the mean that rose, or neither");
}

/* As holds_hurt(), of one for which none is charged yet, or only for another guest. */
static void holds_second(struct truth *t, const struct said *s)
{
	struct said other = *s;

	strcpy(other.name[0], "none so far");
	strcpy(other.name[1], s->name[0]);
	holds_hurt(t, &other);
}

static void holds_nobody(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, 0);
	rise_is_true(t, s, s->guest);
	if (!is_over(s->rise))
		untrue(t, "it is within its tolerance");
	for (int i = 0; i < (int)conf_of(t)->guests; i++) {
		const char *name = conf_of(t)->guest[i].name;

		if (i != s->guest && !settings_guest(&t->sc->conf, name, "")->exempt &&
		    mtus_in(t, i, t->ms - 200, t->ms) >
			    mtus_in(t, s->guest, t->ms - 200, t->ms) * 3 / 2)
			untrue(t, "%s sends much, and may be capped", name);
	}
}

static void holds_spared(struct truth *t, const struct said *s)
{
	int victim = guest_of(t, s->name[0]);

	has_cap(t, s->guest, 0);
	rise_is_true(t, s, victim);
	if (!is_over(s->rise))
		untrue(t, "it is within its tolerance");
	if (mtus_in(t, s->guest, t->ms - 200, t->ms) >
	    mtus_in(t, victim, t->ms - 200, t->ms) * 3 / 2)
		untrue(t, "it sends more than the guest that waits");
}

/* It was never alone on its link for as long as a window. */
static bool never_alone(struct truth *t, int guest)
{
	for (int to = 4 * SHORTEST; to <= t->ms; to += SHORTEST) {
		uint64_t sent = 0;

		for (int i = 0; i < (int)conf_of(t)->guests; i++)
			if (i != guest)
				sent += mtus_in(t, i, to - 4 * SHORTEST, to);
		if (sent < (1u << 20) * 4 * SHORTEST / 1000 / 20)
			return untrue(t, "it was alone at %d ms", to);
	}
	return true;
}

static void holds_no_base(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, 0);
	if (has_base(t, s->guest) || !is_reporter(t, s->guest))
		untrue(t, "its base is configured, or it reports nothing");
	never_alone(t, s->guest);
}

static void holds_fading(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, s->f[0]);
	rate_is(t, s, s->f[1]);
	for (int i = 0; i < (int)conf_of(t)->guests; i++)
		if (i != s->guest && is_reporter(t, i))
			untrue(t, "%s reports", conf_of(t)->guest[i].name);
}

/* "on the way back to no cap" */
static void then_free(struct truth *t, int guest, int first, int last)
{
	for (int ms = first + 1; ms <= last; ms++)
		if (moment_of(t, guest, ms)->cap < moment_of(t, guest, ms - 1)->cap)
			untrue(t, "lower again at %d ms", ms);
	if (moment_of(t, guest, t->end)->cap)
		untrue(t, "still capped at the end");
}

static void holds_unheard(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, 0);
	for (int i = 0; i < (int)conf_of(t)->guests; i++)
		if (i != s->guest && is_reporter(t, i))
			untrue(t, "%s reports", conf_of(t)->guest[i].name);
}

static void holds_unknown(struct truth *t, const struct said *s)
{
	int reporters = 0;

	has_cap(t, s->guest, 0);
	for (int i = 0; i < (int)conf_of(t)->guests; i++) {
		if (i == s->guest || !is_reporter(t, i))
			continue;
		reporters++;
		if (has_base(t, i))
			untrue(t, "%s has a base", conf_of(t)->guest[i].name);
		never_alone(t, i);
	}
	if (!reporters)
		untrue(t, "no guest reports");
}

/* --- the daemon's own ----------------------------------------------------------------- */

static void holds_own(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, own_cap(t, s->guest));
}

static void holds_not_sampled(struct truth *t, const struct said *s)
{
	uint64_t ran = moment_of(t, s->guest, t->ms)->done.cpu_ns;

	if (ran > 20 * (uint64_t)NS_PER_MS)
		untrue(t, "it has run for %ju ms", (uintmax_t)(ran / (uint64_t)NS_PER_MS));
}

/* Its own cap could not be saved: the file has that of the other guest alone. */
static void holds_uncappable(struct truth *t, const struct said *s)
{
	const char *first;
	char text[4096];

	holds_own(t, s);
	first = strstr(tmp_read(&t->dir, "caps.json", text, sizeof(text)), "\"domid\"");
	if (!first || strstr(first + 1, "\"domid\""))
		untrue(t, "caps.json has not one guest: %s", text);
}

/* "cap # percent, ..." is what is said first. */
static void holds_limit(struct truth *t, const struct said *s)
{
	has_cap(t, s->guest, s->f[0]);
}

static void holds_observed(struct truth *t, const struct said *s)
{
	never_capped(t, s->guest, 0, t->ms);
}

static void holds_forged(struct truth *t, const struct said *s)
{
	if (t->ms <= 1000)
		untrue(t, "nothing was forged yet");
	if (s->guest != guest_of(t, "bulk"))
		untrue(t, "it forged nothing");
}

/* "sim counts # bytes/s that its queue pairs do not explain": it hides all of them. */
static void holds_diverges(struct truth *t, const struct said *s)
{
	const struct sim_truth *a = &moment_of(t, s->guest, EPOCH)->done;
	const struct sim_truth *b = &moment_of(t, s->guest, t->ms)->done;
	double bytes = (double)(b->bytes - a->bytes) * 1000 / (t->ms - EPOCH);

	if (!conf_of(t)->guest[s->guest].blind)
		untrue(t, "it hides nothing");
	if (s->f[0] < 0.95 * bytes || s->f[0] > 1.2 * bytes) /* headers are counted, too */
		untrue(t, "%.0f bytes/s were said, it sends %.0f", s->f[0], bytes);
}

#endif
