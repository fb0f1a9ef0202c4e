// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vt: random schedules of the protocol (src/reconf) in virtual time.
 *
 *	vt [--seed N] [--schedules N] [--kind KIND] [--first N] [--ignore NAMES] [-v]
 *	vt --expect NAMES [--asides] ...
 *	vt --keep FILE ...
 *	vt --against FILE [--until N] ...
 *
 * Runs schedules N, N + 1, ... and stops at the first violation: prints its seed and
 * the last of its history, and exits 1. RESEX_SEED and RESEX_SCHEDULES say the same;
 * it begins at 1, so that each run of make check sees the same. --expect is for a program
 * with a broken rule (broken.sh): it exits 0 if and only if a violation of one of these
 * names was found. --asides: a READ may be answered on a link that is down.
 *
 * --keep also writes what distinguishes the history of each schedule to FILE. --against counts the
 * schedules whose histories are other ones than those that the sound program kept: in these the
 * broken rule was reached, and made a difference. Violations do not end it. --until: N such
 * schedules are enough; with fewer it exits 1.
 * --first: views and generations begin right above N; else above 0, 2^15 or 2^16 +- 8, or near
 * 2^30 - 8, as drawn.
 * -v: every record of the first schedule.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/clock.h"
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
enum { TWICE = 100 }; /* this many are run twice: the same seed must give the same history */

struct options {
	uint64_t seed, schedules;
	const char *expected; /* only violations of these names count; NULL: all */
	const char *ignored;  /* violations of these names are ignored */
	struct schedule_options how;
	const char *keep, *against; /* files of hashes; NULL: neither */
	uint64_t until;		    /* schedules that reach the rule; 0: run all */
	bool verbose;
};

struct sums {
	uint64_t decided[DECIDE_WHYS]; /* moves that decide.h asked for */
	uint64_t kinds[SCHEDULE_KINDS], moves, adoptions, acquisitions, breaks, forced, steps, hash;
	uint64_t deaths;
	int64_t past; /* break time; the longest delay by a dead holder */
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
	sum->adoptions += s->h.adoptions;
	sum->acquisitions += s->h.acquisitions;
	sum->breaks += s->h.breaks;
	sum->forced += s->h.forced;
	sum->steps += s->w.steps;
	for (int i = 0; i < DECIDE_WHYS; i++)
		sum->decided[i] += s->decided[i];
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

/* kept: gets the hash of each history; NULL: nothing does. */
static enum history_violation run(struct schedule *s, const struct options *o, struct sums *sum,
				  FILE *kept)
{
	for (uint64_t i = 0; i < o->schedules; i++) {
		struct schedule_options how = o->how;
		bool fine;

		how.verbose = o->verbose && i == 0 ? stdout : NULL;
		fine = schedule_run(s, o->seed + i, &how);
		add_up(sum, s);
		if (kept)
			fwrite(&s->h.hash, sizeof(s->h.hash), 1, kept);
		if (fine || passed_over(o, s->h.violation))
			continue;
		if (!o->expected)
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

		schedule_run(s, o->seed + i, &o->how);
		hash = s->h.hash;
		schedule_run(s, o->seed + i, &o->how);
		if (hash == s->h.hash)
			continue;
		fprintf(stderr, "seed %llu: another history when run again\n",
			(unsigned long long)(o->seed + i));
		return false;
	}
	return true;
}

/* Of each kind, if so many schedules ran: else they try nothing of decide.h. */
static bool decides_all(const struct options *o, const struct sums *sum)
{
	static const char *const what[] = { [DECIDE_MOVE] = "by load",
					    [DECIDE_MOVE_OWED] = "owed",
					    [DECIDE_MOVE_PREEMPTS] = "by priority",
					    [DECIDE_MOVE_CHAIN] = "of chains",
					    [DECIDE_MOVE_HOME] = "home" };
	bool all = true;

	printf("decide.h asked for moves:");
	for (int i = 0; i <= DECIDE_MOVE_HOME; i++) {
		printf(" %llu %s%s", (unsigned long long)sum->decided[i], what[i],
		       i < DECIDE_MOVE_HOME ? "," : "\n");
		all &= sum->decided[i] > 0;
	}
	if (all || o->how.kind >= 0 || o->schedules < SCHEDULES)
		return true;
	fprintf(stderr, "the schedules do not try all that decide.h decides\n");
	return false;
}

static int run_sound(struct schedule *s, const struct options *o, FILE *kept)
{
	struct sums sum = { 0 };
	struct clock c;
	int64_t began, us;

	clock_real(&c);
	began = c.now(&c).ns;
	if (run(s, o, &sum, kept) || !same_again(s, o))
		return 1;
	us = (c.now(&c).ns - began) / NS_PER_US;
	printf("seeds %llu to %llu: no violation; %llu steps, %llu acquisitions, %llu breaks, "
	       "%llu by force, %llu moves, %llu adoptions; history %016llx; %lld us a schedule\n",
	       (unsigned long long)o->seed, (unsigned long long)(o->seed + o->schedules - 1),
	       (unsigned long long)sum.steps, (unsigned long long)sum.acquisitions,
	       (unsigned long long)sum.breaks, (unsigned long long)sum.forced,
	       (unsigned long long)sum.moves, (unsigned long long)sum.adoptions,
	       (unsigned long long)sum.hash,
	       (long long)us / (int64_t)(o->schedules + !o->schedules));
	if (sum.deaths)
		printf("locks of %llu dead holders were had, at the latest %lld us after the break "
		       "was due\n",
		       (unsigned long long)sum.deaths, (long long)sum.past / NS_PER_US);
	return !decides_all(o, &sum);
}

static int run_broken(struct schedule *s, const struct options *o)
{
	struct sums sum = { 0 };

	if (run(s, o, &sum, NULL) > HISTORY_FINE && s->h.violation != HISTORY_WORLD)
		return 0;
	fprintf(stderr, "no violation of the expected kind (%s) in %llu schedules from seed %llu\n",
		o->expected, (unsigned long long)o->schedules, (unsigned long long)o->seed);
	return 1;
}

static int run_keep(struct schedule *s, const struct options *o)
{
	FILE *f = fopen(o->keep, "w");
	int rc;

	if (!f) {
		perror(o->keep);
		return 1;
	}
	rc = run_sound(s, o, f);
	if (!fclose(f))
		return rc;
	perror(o->keep);
	return 1;
}

/* Prints how many schedules have other histories, and of what kinds they are. */
static int run_against(struct schedule *s, const struct options *o)
{
	uint64_t kinds[SCHEDULE_KINDS] = { 0 }, reached = 0, n = 0, hash;
	FILE *f = fopen(o->against, "r");

	if (!f) {
		perror(o->against);
		return 1;
	}
	for (; n < o->schedules && (!o->until || reached < o->until); n++) {
		if (!fread(&hash, sizeof(hash), 1, f)) {
			fprintf(stderr, "%s has fewer than %llu schedules\n", o->against,
				(unsigned long long)o->schedules);
			fclose(f);
			return 1;
		}
		schedule_run(s, o->seed + n, &o->how);
		reached += s->h.hash != hash;
		kinds[s->kind] += s->h.hash != hash;
	}
	fclose(f);
	printf("reached in %llu of %llu schedules:", (unsigned long long)reached,
	       (unsigned long long)n);
	for (int i = 0; i < SCHEDULE_KINDS; i++)
		if (kinds[i])
			printf(" %s %llu", schedule_kind_name((enum schedule_kind)i),
			       (unsigned long long)kinds[i]);
	printf("\n");
	return reached < o->until;
}

static int usage(void)
{
	fprintf(stderr, "usage: vt [--seed N] [--schedules N] [--kind KIND] [--first N]\n"
			"          [--ignore NAMES] [--asides] [-v]\n"
			"          [--expect NAMES | --keep FILE | --against FILE [--until N]]\n");
	return 2;
}

static bool set_kind(struct options *o, const char *name)
{
	for (int i = 0; i < SCHEDULE_KINDS; i++)
		if (!strcmp(name, schedule_kind_name((enum schedule_kind)i)))
			o->how.kind = i;
	return o->how.kind >= 0;
}

static bool parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "seed", 1, NULL, 's' },   { "schedules", 1, NULL, 'n' },
		{ "expect", 1, NULL, 'e' }, { "asides", 0, NULL, 'a' },
		{ "kind", 1, NULL, 'k' },   { "ignore", 1, NULL, 'i' },
		{ "keep", 1, NULL, 'K' },   { "against", 1, NULL, 'A' },
		{ "until", 1, NULL, 'u' },  { "first", 1, NULL, 'f' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "v", longs, NULL)) != -1) {
		if (c == 's')
			o->seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			o->schedules = strtoull(optarg, NULL, 0);
		else if (c == 'i')
			o->ignored = optarg;
		else if (c == 'e')
			o->expected = optarg;
		else if (c == 'a')
			o->how.asides = true;
		else if (c == 'K')
			o->keep = optarg;
		else if (c == 'A')
			o->against = optarg;
		else if (c == 'u')
			o->until = strtoull(optarg, NULL, 0);
		else if (c == 'f')
			o->how.first = strtoll(optarg, NULL, 0);
		else if (c == 'v')
			o->verbose = true;
		else if (c != 'k' || !set_kind(o, optarg))
			return false;
	}
	return optind == argc;
}

int main(int argc, char **argv)
{
	const char *seed = getenv("RESEX_SEED"), *n = getenv("RESEX_SCHEDULES");
	struct options o = { .seed = seed ? strtoull(seed, NULL, 0) : 1,
			     .schedules = n ? strtoull(n, NULL, 0) : SCHEDULES,
			     .how = { .kind = -1, .first = -1 } };
	struct schedule *s = calloc(1, sizeof(*s));
	int rc;

	if (!s || !parse(&o, argc, argv)) {
		free(s);
		return usage();
	}
	if (o.keep)
		rc = run_keep(s, &o);
	else if (o.against)
		rc = run_against(s, &o);
	else
		rc = o.expected ? run_broken(s, &o) : run_sound(s, &o, NULL);
	free(s);
	return rc;
}
