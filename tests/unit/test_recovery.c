// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * recovery: a lock's holder dies a thousand times, by a simulated time: the next has the
 * lock within break + one check, no two may act at once, and the fences grow. The tests of
 * late wake-ups and broken rules show that the others can fail: with RESEX_BROKEN=RULE the
 * program runs the test of that rule, and must be linked with the lock that breaks it
 * (tests/shared/broken.sh).
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tests/bench/recovery_sim.h"
#include "tests/unit/tmpdir.h"

/* A detector of races takes ten times as long, and each death runs the same code. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DETECTS_RACES 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define DETECTS_RACES 1
#endif
#ifdef DETECTS_RACES
enum { DEATHS = 200 };
#else
enum { DEATHS = 1000 };
#endif

struct rig {
	struct tmpdir dir;
	struct prop prop;
	struct recovery_conf c;
	struct recovery_result res;
	int64_t took[DEATHS];
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	*state = r;
	tmp_open(&r->dir);
	prop_start(&r->prop);
	r->c = (struct recovery_conf){ .dir = r->dir.path,
				       .seed = r->prop.seed,
				       .deaths = DEATHS,
				       .contenders = 2,
				       .hold_ns = 20 * NS_PER_MS,
				       .deadline_ns = 5 * NS_PER_MS,
				       .check_ns = 2 * NS_PER_MS,
				       .drift_ppm = 1000,
				       .way_ns = NS_PER_MS / 4 };
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	tmp_close(&r->dir);
	free(r);
	return 0;
}

static void run(struct rig *r)
{
	char text[256];

	if (recovery_run(&r->c, r->took, &r->res, text))
		fail_msg("%s", text);
	assert_int_equal(r->res.deaths, r->c.deaths);
}

static void assert_all_well(const struct rig *r)
{
	assert_int_equal(r->res.beyond, 0);
	assert_int_equal(r->res.overlaps, 0);
	assert_int_equal(r->res.fences, 0);
	assert_int_equal(r->res.cleans, 0);
}

static int64_t longest(const struct rig *r)
{
	int64_t max = 0;

	for (uint32_t i = 0; i < r->res.deaths; i++)
		max = r->took[i] > max ? r->took[i] : max;
	return max;
}

static void holder_dies__a_thousand_times__next_has_it_within_break_and_check(void **state)
{
	struct rig *r = *state;
	struct lock_conf c = recovery_lock_conf(&r->c, 2);

	run(r);
	assert_all_well(r);
	assert_int_equal(r->res.hangs, 0);
	/* The bound is close: the longest delays come near it. */
	assert_true(longest(r) > lock_break_ns(&c));
}

static void holder_dies_or_hangs__many_wait__one_has_it_in_time(void **state)
{
	struct rig *r = *state;

	r->c.contenders = 5;
	r->c.hang_permille = 300;
	run(r);
	assert_all_well(r);
	assert_true(r->res.hangs > 0 && r->res.hangs < DEATHS);
}

static void same_seed__same_run(void **state)
{
	struct rig *r = *state;
	int64_t took[50];

	r->c.deaths = 50;
	r->c.hang_permille = 500;
	run(r);
	memcpy(took, r->took, sizeof(took));
	run(r);
	assert_memory_equal(took, r->took, sizeof(took));
	r->c.seed++;
	run(r);
	assert_memory_not_equal(took, r->took, sizeof(took));
}

static void others_wake_too_late__is_seen_as_beyond(void **state)
{
	struct rig *r = *state;

	r->c.deaths = 50;
	r->c.asleep_ns = 40 * NS_PER_MS;
	run(r);
	assert_int_equal(r->res.beyond, 50);
}

/* Many holders hang, and clocks are far apart. Runs until two act at once, at most this often. */
static uint32_t overlaps_of_hung(struct rig *r, int runs)
{
	r->c.deaths = 100;
	r->c.hang_permille = 1000;
	r->c.drift_ppm = 20000;
	r->c.way_ns = NS_PER_MS / 50;
	/* The seed chooses the errors of the clocks: some seeds do not show it. */
	for (; runs && !r->res.overlaps; runs--, r->c.seed++)
		run(r);
	return r->res.overlaps;
}

static void all_hang__clocks_far_apart__no_two_act_at_once(void **state)
{
	assert_int_equal(overlaps_of_hung(*state, 5), 0);
}

static void break_without_drift_and_deadline__two_act_and_it_is_seen(void **state)
{
	assert_true(overlaps_of_hung(*state, 50) > 0);
}

static void released_blindly_by_a_host_that_hung__is_seen(void **state)
{
	struct rig *r = *state;

	r->c.hang_permille = 1000;
	r->c.deaths = 200;
	run(r);
	assert_true(r->res.overlaps + r->res.fences + r->res.cleans > 0);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(holder_dies__a_thousand_times__next_has_it_within_break_and_check),
		WITH(holder_dies_or_hangs__many_wait__one_has_it_in_time),
		WITH(same_seed__same_run),
		WITH(others_wake_too_late__is_seen_as_beyond),
		WITH(all_hang__clocks_far_apart__no_two_act_at_once),
	};
	const struct CMUnitTest no_break_drift[] = {
		WITH(break_without_drift_and_deadline__two_act_and_it_is_seen),
	};
	const struct CMUnitTest release_blind[] = {
		WITH(released_blindly_by_a_host_that_hung__is_seen),
	};
	const char *broken = getenv("RESEX_BROKEN");

	if (!broken)
		return cmocka_run_group_tests(tests, NULL, NULL);
	if (!strcmp(broken, "NO_BREAK_DRIFT"))
		return cmocka_run_group_tests(no_break_drift, NULL, NULL);
	if (!strcmp(broken, "RELEASE_BLIND"))
		return cmocka_run_group_tests(release_blind, NULL, NULL);
	fprintf(stderr, "RESEX_BROKEN=%s: no test is for this rule\n", broken);
	return 1;
}
