// SPDX-License-Identifier: GPL-2.0-or-later
/* agent/qpns: queue pairs that came and went, from lists of those that live. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/agent/qpns.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

/*
 * Steps: [17 18 k19] a list, k: of the kernel; r17 its ring was published; u a ring without a
 * number was; end the device is gone.
 */
static const struct row {
	const char *name;
	bool fresh; /* the device is newer than the agent */
	const char *steps;
	uint64_t unseen;
} rows[] = {
	{ "start__queue_pairs_from_before__do_not_count", false, "[17 20] [] ", 0 },
	{ "start__first_one_after_an_empty_list__begins", false, "[] [900] r900 []", 0 },
	{ "start__first_one_gone_without_a_ring__counts", false, "[] [900] []", 1 },
	{ "start__gaps_of_the_first_list_that_has_some__count", false, "[] [900 904] r900 r904",
	  3 },
	{ "start__gaps_of_a_list_from_before__do_not_count", false, "[17 20] [17 20]", 0 },
	{ "gap__numbers_between_two_that_live__count", false, "[17] [17 21] r21 [17]", 3 },
	{ "gap__kernel_queue_pairs__do_not_count", false, "[17] [17 k18 20] r20", 1 },
	{ "gap__kernel_one_goes__does_not_count", false, "[17] [17 k18] [17]", 0 },
	{ "gap__the_last_ones__wait_for_the_next", false, "[17] [17]", 0 },
	{ "fresh__device__all_its_queue_pairs_count", true, "[20] r20", 3 },
	{ "fresh__nothing_missed__is_0", true, "[17 18] r17 r18 [19] r19", 0 },
	{ "listed__without_a_ring__counts_when_it_goes", true, "[17] [17] []", 1 },
	{ "listed__with_a_ring__does_not", true, "[17] r17 []", 0 },
	{ "ring__without_a_number__is_one_of_those_gone", true, "[17 18] u r18 []", 0 },
	{ "ring__without_a_number_lives_on__hides_one_gone_for_now", true, "[17 18] u [17]", 0 },
	{ "ring__without_a_number_ends_too__both_are_right", true, "[17 18] u [17] []", 1 },
	{ "late__number_below_the_newest__was_not_missed", false, "[17] [17 19] r19 [17 18 19] r18",
	  1 },
	{ "wrap__of_linux_6__counts_both_sides", false, "[1048570] [20 1048570] r20", 6 + 3 },
	{ "wrap__of_linux_5__counts_both_sides", false, "[131070] [18 131070] r18", 2 + 1 },
	{ "wrap__exactly_at_the_top__counts_none", false, "[1048576] [17 1048576] r17", 0 },
	{ "wrap__at_an_unknown_top__counts_the_side_that_is_known", false, "[500000] [19] r19", 2 },
	{ "wrap__old_ones_that_live__are_not_gaps", false, "[17 18 1048576] [17 18 20] r20", 1 },
	{ "wrap__old_one_goes_meanwhile__is_no_gap", false, "[17 18 1048576] [17 20] r20", 1 },
	{ "late__number__leaves_the_newest_as_it_was", false,
	  "[17] [17 19] r19 [17 18 19] r18 [18 19 21] r21", 1 },
	{ "device__ends__those_without_a_ring_count", true, "[17 18] r17 end", 1 },
	{ "device__ends__once", true, "[17 18] r17 end end", 1 },
};

static const char *read_list(const char *s, struct nldev_list *l)
{
	l->qps = l->kernel_qps = 0;
	while (*s != ']') {
		bool kernel = *s == 'k';
		char *end;
		uint32_t n = (uint32_t)strtoul(s + kernel, &end, 10);

		if (kernel)
			l->kernel_qpn[l->kernel_qps++] = n;
		else
			l->qp[l->qps++] = (struct nldev_qp){ .qpn = n };
		s = end + strspn(end, " ");
	}
	return s + 1;
}

static void run_row(void **state)
{
	const struct row *r = *state;
	struct qpns *q = malloc(sizeof(*q));
	struct nldev_list *l = calloc(1, sizeof(*l));
	uint64_t before = 0;

	assert_non_null(q);
	assert_non_null(l);
	qpns_init(q, r->fresh);
	for (const char *s = r->steps; *s;) {
		if (*s == '[') {
			s = read_list(s + 1, l);
			qpns_list(q, l);
		} else if (*s == 'r') {
			assert_true(qpns_ring(q, (uint32_t)strtoul(s + 1, NULL, 10)));
		} else if (*s == 'u') {
			qpns_ring_unnamed(q);
		} else if (*s == 'e') {
			qpns_end(q);
		}
		s += strcspn(s, " ");
		s += strspn(s, " ");
		/* A late number lowers the count before it was published: only then may it. */
		assert_true(qpns_unseen(q) >= before);
		before = q->unseen;
	}
	assert_int_equal(before, r->unseen);
	free(l);
	free(q);
}
TEST_ROWS(rows, run_row)

/* Queue pairs live and die at random, rings are published or not: the end is exact. */
TEST(lists__of_random_lives__count_all_without_a_ring)
{
	struct qpns *q = malloc(sizeof(*q));
	struct nldev_list *l = calloc(1, sizeof(*l));
	struct prop p;

	assert_non_null(q);
	assert_non_null(l);
	prop_start(&p);
	for (int run = 0; run < 200; run++) {
		uint32_t next = QPNS_FIRST, unseen = 0;

		qpns_init(q, true);
		l->qps = l->kernel_qps = 0;
		for (int k = 0; k < 30; k++) {
			uint32_t missed = (uint32_t)prop_range(&p, 0, 3);
			uint32_t live = (uint32_t)prop_range(&p, 0, 3);

			l->qps = 0;
			next += missed;
			for (uint32_t i = 0; i < live; i++)
				l->qp[l->qps++].qpn = next++;
			qpns_list(q, l);
			for (uint32_t i = 0; i < live; i++) {
				if (prop_one_in(&p, 2))
					qpns_ring(q, l->qp[i].qpn);
				else
					unseen++;
			}
			unseen += missed;
		}
		/* The last one shows what went before it. */
		l->qps = 1;
		l->qp[0].qpn = next;
		qpns_list(q, l);
		prop_assert(&p, run, qpns_unseen(q) == unseen);
	}
	free(l);
	free(q);
}
