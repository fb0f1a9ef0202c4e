// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * t_stats: the statistics of a handle. host_audit checks after every test that posted operations
 * and outcomes add up.
 */
#include <errno.h>
#include <string.h>

#include "tests/transport/suite.h"

static uint64_t rounds(const struct host *h)
{
	struct transport_stats s;

	transport_stats(h->t, &s);
	return s.rounds;
}

static void rounds__a_chain_of_k__is_k(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	assert_int_equal(rounds(a), 0);
	for (uint64_t k = 1; k <= 20; k++) {
		host_faa(a, 2, 0, 1);
		assert_int_equal(rounds(a), k);
	}
	assert_int_equal(rounds(b), 0);
}

static void wave(struct host *h, uint16_t hosts, size_t each)
{
	for (size_t i = 0; i < each; i++)
		for (uint16_t n = 1; n <= hosts; n++)
			host_post1(h, i % 2 ? op_faa(n, 0, 1) : op_read(n, TRANSPORT_TABLE, 0, 8));
	UNTIL(h->rig, !h->ref.n);
}

static void rounds__a_wave_to_all__is_one(void **state)
{
	struct suite *s = *state;
	struct transport_conf three = rig_conf(&s->rig, 3);
	struct host *a, *b, *c;

	rig_pair(&s->rig, &a, &b);
	c = rig_open(&s->rig, &three);
	host_meet(a, c);
	host_add(a, 1);
	UNTIL(&s->rig, both_up(a, c) && host_up(a, 1));
	wave(a, 3, TRANSPORT_DEPTH);
	assert_int_equal(rounds(a), 1);
	wave(a, 3, TRANSPORT_DEPTH);
	assert_int_equal(rounds(a), 2);
	wave(a, 1, 1);
	assert_int_equal(rounds(a), 3);
}

static void rounds__a_result_not_handed_out__has_not_been_waited_for(void **state)
{
	struct suite *s = *state;
	uint64_t first, second;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	first = host_post1(a, op_faa(2, 0, 1));
	a->paused = true;
	for (int i = 0; i < 50; i++) {
		host_poll(a, 0);
		rig_turn_for(&s->rig, NS_PER_MS / 2);
	}
	a->paused = false;
	second = host_post1(a, op_faa(2, 0, 1));
	UNTIL(&s->rig, host_result(a, first) && host_result(a, second));
	assert_int_equal(rounds(a), 1);
}

/* A is posted, then B; A's result comes, C is posted: the longest chain is A, C. */
static void rounds__an_operation_beside_a_chain__does_not_lengthen_it(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	for (uint64_t k = 1; k <= 10; k++) {
		uint64_t one = host_post1(a, op_faa(2, 0, 1));

		host_post1(a, op_read(2, TRANSPORT_TABLE, 0, RIG_TABLE));
		UNTIL(&s->rig, host_result(a, one));
		UNTIL(&s->rig, !a->ref.n);
		assert_int_equal(rounds(a), k);
	}
}

static void counts__by_kind_and_outcome__are_what_was_posted(void **state)
{
	struct suite *s = *state;
	struct transport_stats st;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	for (int i = 0; i < 2; i++)
		host_do(a, op_read(2, TRANSPORT_TABLE, 0, 8));
	for (int i = 0; i < 3; i++)
		host_do(a, op_cas(2, 0, 0, 1)); /* DONE, although some comparisons fail */
	for (int i = 0; i < 4; i++)
		host_do(a, op_faa(2, 0, 1));
	for (int i = 0; i < 5; i++)
		host_do(a, op_send(2, "x", 1));
	host_refuses(a, op_faa(2, 4, 1)); /* refused by post: not counted */
	transport_stats(a->t, &st);
	assert_int_equal(st.ops[TRANSPORT_READ], 2);
	assert_int_equal(st.ops[TRANSPORT_CAS64], 3);
	assert_int_equal(st.ops[TRANSPORT_FAA64], 4);
	assert_int_equal(st.ops[TRANSPORT_SEND], 5);
	assert_int_equal(st.outcomes[TRANSPORT_DONE], 14);
	assert_int_equal(st.links_up, 1);
	assert_int_equal(st.links_down, 0);
	assert_int_equal(st.refused_callers, 0);
	assert_int_equal(st.alarms, 0);
	transport_stats(b->t, &st);
	assert_int_equal(st.ops[TRANSPORT_READ], 0);
	assert_int_equal(st.served, s->is->one_sided ? 0 : 9); /* messages aside */
	assert_int_equal(st.alarms, 0);
}

const struct entry stats_tests[] = {
	ENTRY(rounds__a_chain_of_k__is_k, ALL),
	ENTRY(rounds__a_wave_to_all__is_one, ALL),
	ENTRY(rounds__a_result_not_handed_out__has_not_been_waited_for, ALL),
	ENTRY(rounds__an_operation_beside_a_chain__does_not_lengthen_it, ALL),
	ENTRY(counts__by_kind_and_outcome__are_what_was_posted, ALL),
	{ NULL, NULL, ALL },
};
