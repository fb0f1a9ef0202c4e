// SPDX-License-Identifier: GPL-2.0-or-later
/* agent/procs: each process is looked at when it is new, and again in turn. */
#include <stdlib.h>
#include <string.h>

#include "ibmon/agent/procs.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

/*
 * Steps: [10 20] a list of processes; n20 the next new one is 20, n- there is none; a10 the next to
 * look at again; r all count as new once more.
 */
static const struct row {
	const char *name, *steps;
} rows[] = {
	{ "new__highest_number_first__each_once", "[10 20 30] n30 n20 n10 n-" },
	{ "new__in_a_later_list__only_that", "[10 20] n20 n10 [10 20 30] n30 n-" },
	{ "new__not_looked_at_in_time__is_new_still",
	  "[10 20 30] n30 [10 20 30 40] n40 n20 n10 n-" },
	{ "new__number_was_gone_in_between__is_new", "[10 20] n20 n10 [20] n- [10 20] n10 n-" },
	{ "new__in_an_empty_list__none", "n- a- [] n- a-" },
	{ "again__one_of_few_a_list__in_turn",
	  "[10 20 30] n30 n20 n10 a10 a- [10 20 30] a20 a- [10 20 30] a30 [10 20 30] a10" },
	{ "again__the_next_one_has_ended__goes_on_behind_it",
	  "[10 20 30] a10 [10 30] a30 [10 30] a10" },
	{ "again__the_last_one_has_ended__begins_anew", "[10 20] a10 [10 20] a20 [5 10] a5" },
	{ "repeat__all_are_new_once_more", "[10 20] n20 n10 n- r n20 n10 n-" },
	{ "repeat__while_some_are_new__each_is_looked_at_after_it",
	  "[10 20] n20 r n10 n20 n10 n-" },
	{ "repeat__before_the_first_list__changes_nothing_in_it", "r [10 20] n20 n10 n20 n10 n-" },
};

static const char *read_list(struct procs *p, const char *s)
{
	procs_begin(p);
	for (s++; *s != ']';) {
		char *end;

		assert_int_equal(procs_add(p, (pid_t)strtol(s, &end, 10)), 0);
		s = end + strspn(end, " ");
	}
	procs_end(p);
	return s + 1;
}

static const char *expect(struct procs *p, const char *s)
{
	bool again = *s == 'a', none = s[1] == '-';
	pid_t pid = 0;

	if (!none)
		assert_true(again ? procs_may_again(p) : procs_may_new(p));
	assert_true((again ? procs_again(p, &pid) : procs_new(p, &pid)) != none);
	if (none) {
		assert_false(again ? procs_may_again(p) : procs_may_new(p));
		return s + 2;
	}
	assert_int_equal(pid, strtol(s + 1, NULL, 10));
	return s + 1 + strspn(s + 1, "0123456789");
}

static void run_row(void **state)
{
	const struct row *r = *state;
	struct procs p = { .n = 0 };

	for (const char *s = r->steps; *s; s += strspn(s, " ")) {
		if (*s == '[')
			s = read_list(&p, s);
		else if (*s == 'r')
			procs_repeat(&p), s++;
		else
			s = expect(&p, s);
	}
	procs_close(&p);
}
TEST_ROWS(rows, run_row)

enum { NUMBERS = 2000, LISTS = 400 };

/* Processes come and go, and a look is over at any moment: none waits for ever. */
TEST(processes__that_come_and_go__are_all_looked_at_in_time)
{
	static bool runs[NUMBERS];
	static int waits[NUMBERS],
		rests[NUMBERS]; /* lists since it is new, since it was looked at */
	struct procs l = { .n = 0 };
	struct prop p;
	pid_t pid;

	prop_start(&p);
	for (int list = 0; list < LISTS; list++) {
		int most = (int)prop_range(&p, 100, 400);

		procs_begin(&l);
		for (int i = 1; i < NUMBERS; i++) {
			if (prop_one_in(&p, 100)) { /* at most 20 of them are new a list */
				runs[i] = !runs[i];
				waits[i] = rests[i] = 0;
			}
			if (!runs[i])
				continue;
			assert_int_equal(procs_add(&l, i), 0);
			/* Fewer are new than looks are taken: a backlog lasts a few lists. */
			prop_assert(&p, (uint64_t)list, waits[i]++ < 40);
			prop_assert(&p, (uint64_t)list, rests[i]++ < 3 * PROCS_AGAIN + 40);
		}
		procs_end(&l);
		while (most-- > 0 && procs_new(&l, &pid)) {
			prop_assert(&p, (uint64_t)list, runs[pid]);
			waits[pid] = -LISTS; /* once is enough */
			rests[pid] = 0;
		}
		while (procs_again(&l, &pid))
			rests[pid] = 0;
	}
	procs_close(&l);
}
