// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vt: random schedules of the cache (src/cache) in virtual time: run.h says of what.
 *
 *	vt [--seed N] [--schedules N] [--kind KIND] [-v]
 *	vt --expect NAMES ...
 *	vt --keep FILE ...
 *	vt --against FILE [--until N] ...
 *
 * Runs schedules N, N + 1, ... and stops at the first violation: prints its seed and the last of
 * its history, and exits 1. RESEX_SEED and RESEX_SCHEDULES say the same; it begins at 1, so that
 * each run of make check sees the same. RESEX_DEEP=1: many more. --expect is for a program with a
 * broken rule (broken.sh): it exits 0 if and only if a violation of one of these names was found.
 *
 * --keep also writes what distinguishes the history of each schedule to FILE. --against counts the
 * schedules whose histories are other ones than those that the sound program kept: in these the
 * broken rule was reached, and made a difference. --until: N such schedules are enough; with fewer
 * it exits 1.
 * -v: every record of the first schedule.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/clock.h"
#include "tests/cache/vt/run.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOW 1
#endif
#endif

#ifdef SLOW
enum { SCHEDULES = 200 };
#else
enum { SCHEDULES = 2000 };
#endif
enum { DEEP = 200000, TWICE = 20 };

struct options {
	uint64_t seed, schedules;
	const char *expected; /* only violations of these names count; NULL: all */
	struct run_options how;
	const char *keep, *against; /* files of hashes; NULL: neither */
	uint64_t until;		    /* schedules that reach the rule; 0: run all */
	bool verbose;
};

struct total {
	struct run_sums sums;
	uint64_t kinds[RUN_KINDS], hash, longest;
};

static void add_up(struct total *t, const struct run *r)
{
	const uint64_t *from = (const uint64_t *)&r->sums;
	uint64_t *to = (uint64_t *)&t->sums;

	for (size_t i = 0; i < sizeof(r->sums) / sizeof(*from); i++)
		to[i] += from[i];
	if (r->sums.longest > t->longest)
		t->longest = r->sums.longest;
	t->kinds[r->kind]++;
	t->hash = (t->hash ^ r->hash) * 0x9e3779b97f4a7c15ull;
}

static enum run_violation run(struct run *r, const struct options *o, struct total *sum, FILE *kept)
{
	for (uint64_t i = 0; i < o->schedules; i++) {
		struct run_options how = o->how;
		bool fine;

		how.verbose = o->verbose && i == 0 ? stdout : NULL;
		fine = run_schedule(r, o->seed + i, &how);
		add_up(sum, r);
		if (kept)
			fwrite(&r->hash, sizeof(r->hash), 1, kept);
		if (fine || (o->expected && r->violation != RUN_WORLD &&
			     !strstr(o->expected, run_violation_name(r->violation))))
			continue;
		if (!o->expected)
			run_dump(stderr, r);
		fprintf(stderr, "seed %llu (%s): %s: %s\n", (unsigned long long)(o->seed + i),
			run_kind_name(r->kind), run_violation_name(r->violation), r->text);
		return r->violation;
	}
	return RUN_FINE;
}

static bool same_again(struct run *r, const struct options *o)
{
	for (uint64_t i = 0; i < TWICE && i < o->schedules; i++) {
		uint64_t hash;

		run_schedule(r, o->seed + i, &o->how);
		hash = r->hash;
		run_schedule(r, o->seed + i, &o->how);
		if (hash == r->hash)
			continue;
		fprintf(stderr, "seed %llu: another history when run again\n",
			(unsigned long long)(o->seed + i));
		return false;
	}
	return true;
}

/* Of each kind, if so many schedules ran: else they try little. */
static bool tries_all(const struct options *o, const struct total *t)
{
	static const char *const why[] = { "registered", "bad",		"closed", "moved",
					   "worn",	 "pending",	"ended",  "log short",
					   "unseen",	 "join unseen", "full" };
	bool all = true;

	printf("fills:");
	for (int i = 0; i <= HOME_FULL; i++) {
		printf(" %llu %s%s", (unsigned long long)t->sums.refused[i], why[i],
		       i < HOME_FULL ? "," : "\n");
		all &= t->sums.refused[i] > 0 || i == HOME_BAD || i == HOME_WORN;
	}
	if (all || o->how.kind >= 0 || o->schedules < SCHEDULES)
		return true;
	fprintf(stderr, "the schedules do not reach each reason to refuse a fill\n");
	return false;
}

static int run_sound(struct run *r, const struct options *o, FILE *kept)
{
	struct total t = { 0 };
	const struct run_sums *s = &t.sums;
	struct clock c;
	int64_t began, us;

	clock_real(&c);
	began = c.now(&c).ns;
	if (run(r, o, &t, kept) || !same_again(r, o))
		return 1;
	us = (c.now(&c).ns - began) / NS_PER_US;
	printf("seeds %llu to %llu: no violation; history %016llx; %lld us a schedule\n",
	       (unsigned long long)o->seed, (unsigned long long)(o->seed + o->schedules - 1),
	       (unsigned long long)t.hash, (long long)us / (int64_t)(o->schedules + !o->schedules));
	printf("%llu steps, %llu commits, %llu hits (%llu after a commit), %llu misses, "
	       "%llu unverified, %llu fills stored, %llu crashes, %llu pauses, %llu joins, "
	       "%llu removals, %llu evictions, %llu without an answer, %llu made anew\n",
	       (unsigned long long)s->steps, (unsigned long long)s->commits,
	       (unsigned long long)s->hits, (unsigned long long)s->hits_after,
	       (unsigned long long)s->misses, (unsigned long long)s->unverified,
	       (unsigned long long)s->fills, (unsigned long long)s->crashes,
	       (unsigned long long)s->pauses, (unsigned long long)s->joins,
	       (unsigned long long)s->removals, (unsigned long long)s->evictions,
	       (unsigned long long)s->unknown, (unsigned long long)s->changed);
	if (t.longest)
		printf("when one member died or hung, a write took %llu us at most\n",
		       (unsigned long long)t.longest / NS_PER_US);
	return !tries_all(o, &t);
}

static int run_broken(struct run *r, const struct options *o)
{
	struct total t = { 0 };
	enum run_violation v = run(r, o, &t, NULL);

	if (v != RUN_FINE && v != RUN_WORLD)
		return 0;
	fprintf(stderr, "no violation of the expected kind (%s) in %llu schedules from seed %llu\n",
		o->expected, (unsigned long long)o->schedules, (unsigned long long)o->seed);
	return 1;
}

static int run_keep(struct run *r, const struct options *o)
{
	FILE *f = fopen(o->keep, "w");
	int rc;

	if (!f) {
		perror(o->keep);
		return 1;
	}
	rc = run_sound(r, o, f);
	if (!fclose(f))
		return rc;
	perror(o->keep);
	return 1;
}

/* Prints how many schedules have other histories, and of what kinds they are. */
static int run_against(struct run *r, const struct options *o)
{
	uint64_t kinds[RUN_KINDS] = { 0 }, reached = 0, n = 0, hash;
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
		run_schedule(r, o->seed + n, &o->how);
		reached += r->hash != hash;
		kinds[r->kind] += r->hash != hash;
	}
	fclose(f);
	printf("reached in %llu of %llu schedules:", (unsigned long long)reached,
	       (unsigned long long)n);
	for (int i = 0; i < RUN_KINDS; i++)
		if (kinds[i])
			printf(" %s %llu", run_kind_name((enum run_kind)i),
			       (unsigned long long)kinds[i]);
	printf("\n");
	return reached < o->until;
}

static int usage(void)
{
	fprintf(stderr, "usage: vt [--seed N] [--schedules N] [--kind KIND] [-v]\n"
			"          [--expect NAMES | --keep FILE | --against FILE [--until N]]\n");
	return 2;
}

static bool set_kind(struct options *o, const char *name)
{
	for (int i = 0; i < RUN_KINDS; i++)
		if (!strcmp(name, run_kind_name((enum run_kind)i)))
			o->how.kind = i;
	return o->how.kind >= 0;
}

static bool parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "seed", 1, NULL, 's' },   { "schedules", 1, NULL, 'n' },
		{ "expect", 1, NULL, 'e' }, { "kind", 1, NULL, 'k' },
		{ "keep", 1, NULL, 'K' },   { "against", 1, NULL, 'A' },
		{ "until", 1, NULL, 'u' },  { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "v", longs, NULL)) != -1) {
		if (c == 's')
			o->seed = strtoull(optarg, NULL, 0);
		else if (c == 'n')
			o->schedules = strtoull(optarg, NULL, 0);
		else if (c == 'e')
			o->expected = optarg;
		else if (c == 'K')
			o->keep = optarg;
		else if (c == 'A')
			o->against = optarg;
		else if (c == 'u')
			o->until = strtoull(optarg, NULL, 0);
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
	const char *deep = getenv("RESEX_DEEP");
	struct options o = { .seed = seed ? strtoull(seed, NULL, 0) : 1,
			     .schedules = n ? strtoull(n, NULL, 0)
					    : (deep && *deep ? DEEP : SCHEDULES),
			     .how = { .kind = -1 } };
	struct run *r = calloc(1, sizeof(*r));
	int rc;

	if (!r || !parse(&o, argc, argv)) {
		free(r);
		return usage();
	}
	if (o.keep)
		rc = run_keep(r, &o);
	else if (o.against)
		rc = run_against(r, &o);
	else
		rc = o.expected ? run_broken(r, &o) : run_sound(r, &o, NULL);
	free(r);
	return rc;
}
