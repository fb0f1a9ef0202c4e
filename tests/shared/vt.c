// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vt: random schedules of the shared state's protocols in virtual time.
 *
 *	vt [--seed N] [--schedules N] [--broken RULE] [--kind KIND] [--ignore NAMES] [-v]
 *
 * Runs schedules N, N + 1, ... and stops at the first violation: prints its seed and
 * the last of its history, and exits 1. RESEX_SEED and RESEX_SCHEDULES say the same;
 * it begins at 1, so that each run of make check sees the same. With --broken one
 * rule of broken.h is broken, and a violation is what is wanted: exits 0 when one
 * was found. --broken all: each rule in turn. -v: every record of the first schedule.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/clock.h"
#include "tests/shared/hook.h"
#include "tests/shared/schedule.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOW 1
#endif
#endif

#ifdef SLOW
enum { SCHEDULES = 2000 };
#else
enum { SCHEDULES = 20000 };
#endif
enum { TWICE = 100 }; /* so many are run twice: the same seed gives the same history */

enum shared_rule shared_broken;

struct rule {
	const char *name, *text;
};

static const struct rule rules[] = { { "NONE", "nothing" },
#define RULE(name, text) { #name, text },
				     SHARED_RULES(RULE)
#undef RULE
};

/* What breaking a rule must lead to: one of these, within as many schedules as are asked for. */
static const struct {
	enum shared_rule rule;
	const char *expected;
} leads_to[] = {
	{ BROKEN_HOLD_FROM_RESULT, "lease" },
	{ BROKEN_LEASE_UNCHECKED, "lease" },
	{ BROKEN_NO_BREAK_DRIFT, "lease theft" },
	{ BROKEN_FRESH_AT_ONCE, "lease overlap stale" },
	{ BROKEN_RELEASE_BLIND, "theft" },
	{ BROKEN_RELEASE_CLEAN, "unlocked overlap stale" },
	{ BROKEN_RESOLVE_ON_OLD_LINK, "unlocked overlap stale lease" },
	{ BROKEN_SEQ_FROM_ZERO, "fence overlap stale" },
	{ BROKEN_VIEW_BEHIND, "behind overlap stale" },
	{ BROKEN_MINORITY_DECIDES, "minority" },
	{ BROKEN_HISTORY_KEPT, "twice" },
	{ BROKEN_DESCENDING_ORDER, "order" },
	{ BROKEN_ONE_LOCK, "unlocked" },
	{ BROKEN_FIRST_IN_VAIN, "delay" },
	{ BROKEN_COUNTER_UNCHECKED, "twice" },
	{ BROKEN_NO_SWEEP, "overlap stale" },
	{ BROKEN_NO_FENCE_SEQ, "fence" },
	{ BROKEN_SWEEP_OWN_PAIR, "overlap stale" },
	{ BROKEN_SWEEP_MISSED, "overlap stale" },
	{ BROKEN_SWEPT_BY_ANY, "overlap stale" },
	{ BROKEN_NO_RECOUNT, "overlap stale" },
	/* Its CAS has the locks' epoch, which is older than the word's. */
	{ BROKEN_EPOCH_IGNORED, "fence" },
	{ BROKEN_MINIMUM_IGNORED, "minimum stale" },
	{ BROKEN_ANNOUNCE_AFTER, "untold" },
	{ BROKEN_UNTOLD_MOVES, "untold" },
};

struct options {
	uint64_t seed, schedules;
	const char *expected; /* violations of other names are passed over; NULL: any counts */
	int kind;	      /* -1: all */
	const char *ignored;  /* violations of this name are not what is looked for */
	bool verbose, all;
};

struct sums {
	uint64_t kinds[SCHEDULE_KINDS], moves, acquisitions, breaks, steps, hash;
	uint64_t deaths;
	int64_t past; /* break time, the longest that a dead holder delayed others */
};

static void add_deaths(struct sums *sum, const struct schedule *s)
{
	for (uint32_t i = 1; i <= s->services; i++) {
		int64_t past = s->h.service[i].delay - schedule_break_ns(s);

		if (!s->h.service[i].delay)
			continue;
		if (!sum->deaths++ || past > sum->past)
			sum->past = past;
	}
}

static void add_up(struct sums *sum, const struct schedule *s)
{
	sum->kinds[s->kind]++;
	sum->moves += s->h.moves;
	sum->acquisitions += s->h.acquisitions;
	sum->breaks += s->h.breaks;
	sum->steps += s->w.steps;
	add_deaths(sum, s);
	sum->hash = (sum->hash ^ s->h.hash) * 0x9e3779b97f4a7c15ull;
}

static bool passed_over(const struct options *o, enum history_violation v)
{
	if (v == HISTORY_WORLD)
		return false;
	if (o->expected)
		return !strstr(o->expected, history_name(v));
	return o->ignored && strstr(o->ignored, history_name(v));
}

static enum history_violation run(struct schedule *s, const struct options *o, struct sums *sum)
{
	for (uint64_t i = 0; i < o->schedules; i++) {
		bool fine = schedule_run(s, o->seed + i, o->verbose && i == 0 ? stdout : NULL,
					 o->kind);

		add_up(sum, s);
		if (fine || passed_over(o, s->h.violation))
			continue;
		if (!shared_broken)
			history_dump(stderr, &s->h);
		fprintf(stderr, "seed %llu (%s): %s: %s\n", (unsigned long long)(o->seed + i),
			schedule_kind_name(s->kind), history_name(s->h.violation), s->h.text);
		return s->h.violation;
	}
	return HISTORY_FINE;
}

static bool same_again(struct schedule *s, const struct options *o)
{
	for (uint64_t i = 0; i < TWICE && i < o->schedules; i++) {
		uint64_t hash;

		schedule_run(s, o->seed + i, NULL, o->kind);
		hash = s->h.hash;
		schedule_run(s, o->seed + i, NULL, o->kind);
		if (hash == s->h.hash)
			continue;
		fprintf(stderr, "seed %llu: another history when run again\n",
			(unsigned long long)(o->seed + i));
		return false;
	}
	return true;
}

static int run_sound(struct schedule *s, const struct options *o)
{
	struct sums sum = { 0 };
	struct clock c;
	int64_t began, us;

	clock_real(&c);
	began = c.now(&c).ns;
	if (run(s, o, &sum) || !same_again(s, o))
		return 1;
	us = (c.now(&c).ns - began) / NS_PER_US;
	printf("seeds %llu to %llu: no violation; %llu steps, %llu acquisitions, %llu breaks, "
	       "%llu moves; history %016llx; %lld us a schedule\n",
	       (unsigned long long)o->seed, (unsigned long long)(o->seed + o->schedules - 1),
	       (unsigned long long)sum.steps, (unsigned long long)sum.acquisitions,
	       (unsigned long long)sum.breaks, (unsigned long long)sum.moves,
	       (unsigned long long)sum.hash,
	       (long long)us / (int64_t)(o->schedules + !o->schedules));
	if (sum.deaths)
		printf("locks of %llu dead holders were had, at the latest %lld us after the break "
		       "was due\n",
		       (unsigned long long)sum.deaths, (long long)sum.past / NS_PER_US);
	return 0;
}

static int run_broken(struct schedule *s, const struct options *given, enum shared_rule rule)
{
	struct options o = *given;
	struct sums sum = { 0 };

	shared_broken = rule;
	for (size_t i = 0; i < sizeof(leads_to) / sizeof(leads_to[0]); i++) {
		if (leads_to[i].rule == rule)
			o.expected = leads_to[i].expected;
	}
	fprintf(stderr, "%s (%s): ", rules[rule].name, rules[rule].text);
	if (o.expected && run(s, &o, &sum) > HISTORY_FINE && s->h.violation != HISTORY_WORLD)
		return 0;
	fprintf(stderr, "no violation of the expected kind (%s) in %llu schedules from seed %llu\n",
		o.expected ? o.expected : "none is named", (unsigned long long)o.schedules,
		(unsigned long long)o.seed);
	return 1;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: vt [--seed N] [--schedules N] [--broken RULE|all] [--kind KIND] [-v]\n");
	return 2;
}

static bool set_broken(struct options *o, const char *name)
{
	o->all = !strcmp(name, "all");
	for (int i = 1; i < BROKEN_RULES; i++)
		if (!strcmp(name, rules[i].name))
			shared_broken = (enum shared_rule)i;
	return o->all || shared_broken;
}

static bool set_kind(struct options *o, const char *name)
{
	for (int i = 0; i < SCHEDULE_KINDS; i++)
		if (!strcmp(name, schedule_kind_name((enum schedule_kind)i)))
			o->kind = i;
	return o->kind >= 0;
}

static bool parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "seed", 1, NULL, 's' }, { "schedules", 1, NULL, 'n' }, { "broken", 1, NULL, 'b' },
		{ "kind", 1, NULL, 'k' }, { "ignore", 1, NULL, 'i' },	 { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "v", longs, NULL)) != -1) {
		if (c == 's')
			o->seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			o->schedules = strtoull(optarg, NULL, 0);
		else if (c == 'i')
			o->ignored = optarg;
		else if (c == 'v')
			o->verbose = true;
		else if (c != 'b' && c != 'k')
			return false;
		else if (c == 'b' ? !set_broken(o, optarg) : !set_kind(o, optarg))
			return false;
	}
	return optind == argc;
}

int main(int argc, char **argv)
{
	const char *seed = getenv("RESEX_SEED"), *n = getenv("RESEX_SCHEDULES");
	struct options o = { .seed = seed ? strtoull(seed, NULL, 0) : 1,
			     .schedules = n ? strtoull(n, NULL, 0) : SCHEDULES,
			     .kind = -1 };
	struct schedule *s = calloc(1, sizeof(*s));
	int rc = 0;

	if (!s || !parse(&o, argc, argv)) {
		free(s);
		return usage();
	}
	if (o.all)
		for (int i = 1; i < BROKEN_RULES; i++)
			rc |= run_broken(s, &o, (enum shared_rule)i);
	else
		rc = shared_broken ? run_broken(s, &o, shared_broken) : run_sound(s, &o);
	free(s);
	return rc;
}
