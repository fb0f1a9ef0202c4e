// SPDX-License-Identifier: GPL-2.0-or-later
/* decide_chain: moves over other services. */
#include "tests/unit/decide_rig.h"
#include "tests/unit/unit.h"

static uint64_t bits(uint32_t a, uint32_t b)
{
	return UINT64_C(1) << a | UINT64_C(1) << b;
}

/*
 * Each service's nodes may serve it and the one before it. All but the last are at their minimum.
 *
 *	A: 0, 1: 2000	B: 2, 3: 300	C: 4, 5: 300 ..		the last: three nodes of 100
 */
static void begin_chain(struct rig *r, uint32_t services)
{
	begin_empty(r, 0);
	for (uint32_t s = 0; s < services; s++) {
		struct decide_service *x = put_service(r);

		x->minimum = x->guarantee = 2;
		put_nodes(r, s, s == services - 1 ? 3 : 2,
			  !s		      ? 2000
			  : s == services - 1 ? 100
					      : 300);
	}
	for (uint32_t i = 0; i < r->v.nodes; i++) {
		uint32_t s = r->v.node[i].service;

		r->v.node[i].may = bits(s, s ? s - 1 : 0);
	}
	decide_seen(&r->d, &r->v, r->now);
}

static void assert_chain(struct rig *r, uint32_t steps, uint32_t donor)
{
	assert_int_equal(ask(r, A), DECIDE_MOVE_CHAIN);
	assert_int_equal(r->p.steps, steps);
	assert_int_equal(r->p.donor, donor);
	assert_true(r->p.wait_ns == 0);
}

/* Makes the first step, and sees it. */
static void make_step(struct rig *r)
{
	const struct decide_step *s = &r->p.step[0];

	assert_true(r->p.steps > 0);
	decide_asked(&r->d, A, &r->p, r->now);
	moves(r, s->node, s->taker);
	pass(r, SEC);
}

TEST(chain__two_steps__the_donor_gives_first)
{
	struct rig r;

	begin_chain(&r, 3);
	r.v.node[5].load = 90;
	r.v.node[3].load = 290;
	assert_chain(&r, 2, C);
	assert_step(&r, 0, B, C, 5);
	assert_step(&r, 1, A, B, 3);
	assert_int_equal(r.p.taker_before, 2000);
	assert_int_equal(r.p.taker_after, 1334);
	assert_int_equal(r.p.donor_before, 96);
	assert_int_equal(r.p.donor_after, 145);
	make_step(&r);
	assert_moves(&r, A, DECIDE_MOVE, B, 3); /* not the one that rests, which may not either */
	make_step(&r);
	assert_none(&r, A, DECIDE_NO_SPARE, C, 0);
}

TEST(chain__three_steps__each_is_decided_anew)
{
	struct rig r;

	begin_chain(&r, 4);
	assert_chain(&r, 3, D);
	assert_step(&r, 0, C, D, 6);
	assert_step(&r, 1, B, C, 4);
	assert_step(&r, 2, A, B, 2);
	make_step(&r);
	assert_chain(&r, 2, C);
	assert_step(&r, 0, B, C, 4);
	assert_step(&r, 1, A, B, 2);
	make_step(&r);
	assert_moves(&r, A, DECIDE_MOVE, B, 2);
	make_step(&r);
	for (uint32_t s = B; s <= D; s++)
		assert_true(decide_load(&r.d, &r.v, s) < 500);
}

TEST(chain__three_steps__each_service_on_the_way_must_be_able_to)
{
	for (uint32_t s = B; s <= C; s++) {
		struct rig r;

		begin_chain(&r, 4);
		r.v.service[s].maximum = 2;
		assert_false(decide_is_move(ask(&r, A)));
		r.v.service[s].maximum = 3;
		assert_chain(&r, 3, D);
		r.v.service[s].guarantee = 3;
		assert_false(decide_is_move(ask(&r, A)));
		r.v.service[B].priority = 1; /* A's is not higher than that of s */
		assert_false(decide_is_move(ask(&r, A)));
	}
}

TEST(chain__four_steps__are_too_many)
{
	struct rig r;

	begin_chain(&r, 5);
	assert_none(&r, A, DECIDE_MAY_NOT, E, 0);
}

/* Of two chains the one whose donors have the least load after it. */
TEST(chain__two_donors__the_better_one)
{
	struct rig r;

	begin_chain(&r, 3);
	put_service(&r)->minimum = 2;
	put_nodes(&r, D, 3, 90);
	for (uint32_t i = 7; i < r.v.nodes; i++)
		r.v.node[i].may = bits(B, D);
	decide_seen(&r.d, &r.v, r.now);
	r.v.node[2].load = r.v.node[3].load = 50;
	assert_chain(&r, 2, D);
	r.v.node[7].load = 300;
	assert_chain(&r, 2, C);
}

/* Changes that each forbid the chain of two steps. */
static void at_maximum(struct rig *r)
{
	r->v.service[B].maximum = 2;
}

static void below_minimum(struct rig *r)
{
	r->v.service[B].minimum = 3;
}

static void below_guarantee(struct rig *r)
{
	r->v.service[B].guarantee = 3;
}

static void not_low(struct rig *r)
{
	r->v.node[2].load = r->v.node[3].load = 500;
}

static void not_known(struct rig *r)
{
	r->v.node[2].known = false;
}

static void donor_not_low(struct rig *r)
{
	r->v.service[C].low = 100;
}

static void donor_becomes_high(struct rig *r)
{
	r->v.service[C].low = 120;
	r->v.service[C].high = 150;
}

static void donor_has_none(struct rig *r)
{
	r->v.service[C].minimum = 3;
}

static void donor_guaranteed(struct rig *r)
{
	r->v.service[C].guarantee = 3;
}

/* The step is B's, though A, of higher priority, would gain in the end. */
static void donor_guaranteed_by_priority(struct rig *r)
{
	r->v.service[C].guarantee = 3;
	r->v.service[A].priority = 1;
}

static void way_guaranteed_by_priority(struct rig *r)
{
	r->v.service[C].guarantee = 3;
	r->v.service[B].priority = 1;
}

static void no_gain_for_donor(struct rig *r)
{
	r->v.node[0].load = r->v.node[1].load = 179; /* C would have 150 */
	r->v.node[2].load = r->v.node[3].load = 100;
}

static void no_gain_on_the_way(struct rig *r)
{
	r->v.node[0].load = r->v.node[1].load = 359; /* B would have 300 */
}

/* It gives a large node, and gets a small one. */
static void small_for_large(struct rig *r)
{
	r->v.node[2].capacity = r->v.node[3].capacity = 10000;
	r->v.node[0].load = r->v.node[1].load = 500;
	r->v.node[0].capacity = r->v.node[1].capacity = 10000;
}

static void first_node_fixed(struct rig *r)
{
	r->v.node[4].fixed = r->v.node[5].pending = r->v.node[6].fixed = true;
}

static void second_node_fixed(struct rig *r)
{
	r->v.node[2].fixed = r->v.node[3].pending = true;
}

static void first_node_rests(struct rig *r)
{
	for (uint32_t i = 4; i <= 6; i++)
		moves(r, i, A), moves(r, i, C);
}

static void second_node_dead(struct rig *r)
{
	r->v.node[2].alive = false;
	r->v.node[3].may = bits(B, B);
	r->v.service[B].minimum = r->v.service[B].guarantee = 1;
}

static const struct no_chain {
	const char *name;
	void (*set)(struct rig *r);
	uint32_t off; /* without this rule there is one; 0: nothing helps */
} no_chains[] = {
	{ "no_chain__over_a_service_at_its_maximum", at_maximum, 0 },
	{ "no_chain__over_a_service_below_its_minimum", below_minimum, 0 },
	{ "no_chain__over_a_service_below_its_guarantee", below_guarantee, 0 },
	{ "no_chain__over_a_service_that_is_not_low", not_low, DECIDE_LOW },
	{ "no_chain__over_a_service_that_is_not_known", not_known, 0 },
	{ "no_chain__donor_is_not_low", donor_not_low, DECIDE_LOW },
	{ "no_chain__donor_becomes_high", donor_becomes_high, 0 },
	{ "no_chain__donor_has_none_to_spare", donor_has_none, 0 },
	{ "no_chain__donor_is_guaranteed", donor_guaranteed, 0 },
	{ "no_chain__donor_is_guaranteed_against_the_way", donor_guaranteed_by_priority, 0 },
	{ "no_chain__donor_is_guaranteed_against_the_taker", way_guaranteed_by_priority, 0 },
	{ "no_chain__donor_does_not_gain", no_gain_for_donor, DECIDE_GAIN },
	{ "no_chain__the_way_does_not_gain", no_gain_on_the_way, DECIDE_GAIN },
	{ "no_chain__a_small_node_for_a_large_one", small_for_large, DECIDE_GAIN },
	{ "no_chain__first_node_is_fixed", first_node_fixed, 0 },
	{ "no_chain__second_node_is_fixed", second_node_fixed, 0 },
	{ "no_chain__first_node_rests", first_node_rests, DECIDE_REST },
	{ "no_chain__second_node_is_dead", second_node_dead, 0 },
};

static void run_no_chain(void **state)
{
	const struct no_chain *x = *state;

	for (uint32_t rule = 1; rule <= DECIDE_RULES; rule <<= 1) {
		struct rig r;

		if (rule == DECIDE_CAPACITY)
			continue; /* makes the large and the small node equal */
		begin_chain(&r, 3);
		assert_chain(&r, 2, C);
		r.d.conf.off = DECIDE_REVERSAL; /* of the test's own moves */
		x->set(&r);
		r.d.conf.off |= rule;
		if (rule == x->off) {
			assert_chain(&r, 2, C);
			continue;
		}
		assert_false(decide_is_move(ask(&r, A)));
	}
}

TEST_ROWS(no_chains, run_no_chain)

TEST(chain__just_the_margin__is_enough)
{
	struct rig r;

	begin_chain(&r, 3);
	r.v.service[C].high = 151;
	r.v.service[C].low = 120;
	no_gain_for_donor(&r);
	r.v.node[0].load = 181;
	assert_chain(&r, 2, C);
}

/* After the chain C has 150 and B 100; D has more after a single move. */
TEST(chain__against_a_single_move__must_be_better_by_the_margin)
{
	struct rig r;

	begin_chain(&r, 3);
	r.v.node[2].load = r.v.node[3].load = 100;
	put_service(&r);
	put_nodes(&r, D, 2, 89);
	decide_seen(&r.d, &r.v, r.now);
	r.v.node[7].may = r.v.node[8].may = bits(A, D);
	assert_moves(&r, A, DECIDE_MOVE, D, 7); /* 178 */
	r.v.node[7].load = 93;			/* 182: 150 x 1.2 is 180 */
	assert_chain(&r, 2, C);
	r.d.conf.margin = 0;
	r.v.node[7].load = r.v.node[8].load = 75; /* equal: the single one */
	assert_moves(&r, A, DECIDE_MOVE, D, 7);
}

/* Against a preempted service that would be more loaded than any of the chain. */
TEST(chain__against_a_preemption__may_be_better)
{
	struct rig r;

	begin_chain(&r, 3);
	put_service(&r);
	put_nodes(&r, D, 2, 900);
	decide_seen(&r.d, &r.v, r.now);
	r.v.service[A].priority = 1;
	r.v.service[B].priority = r.v.service[C].priority = 1;
	assert_chain(&r, 2, C);
	r.v.service[D].low = 10;
	r.v.node[7].load = r.v.node[8].load = 40;
	assert_moves(&r, A, DECIDE_MOVE_PREEMPTS, D, 7);
	r.v.node[7].load = r.v.node[8].load = 900;
	r.v.service[C].minimum = 3;
	assert_moves(&r, A, DECIDE_MOVE_PREEMPTS, D, 7);
}

/* Between its steps a chain would leave a service with high load, which takes the node back. */
TEST(chain__owed_or_of_higher_priority__needs_low_and_gain_all_the_same)
{
	struct rig r;

	begin_chain(&r, 3);
	r.v.service[A].guarantee = 3;
	r.v.service[A].priority = 1;
	assert_chain(&r, 2, C);
	not_low(&r);
	assert_false(decide_is_move(ask(&r, A)));
	begin_chain(&r, 3);
	r.v.service[A].guarantee = 3;
	r.v.service[A].priority = 1;
	donor_not_low(&r);
	assert_false(decide_is_move(ask(&r, A)));
}

TEST(chain__taker_without_nodes__gets_one)
{
	struct rig r;

	begin_chain(&r, 3);
	r.v.node[0].alive = r.v.node[1].alive = false;
	r.v.service[A].minimum = r.v.service[A].guarantee = 0;
	assert_chain(&r, 2, C);
	assert_int_equal(r.p.taker_before, UINT32_MAX);
	assert_int_equal(r.p.taker_after, 0);
}

TEST(chain__without_budget__waits)
{
	struct rig r;

	begin_chain(&r, 3);
	r.d.service[A].tokens_ns = 0;
	r.d.service[A].filled = r.now;
	assert_none(&r, A, DECIDE_OVER_BUDGET, C, 10 * SEC);
}

TEST(chain__back_off_and_maximum__hold_for_it)
{
	struct rig r;

	begin_chain(&r, 3);
	r.v.service[A].maximum = 2;
	assert_int_equal(ask(&r, A), DECIDE_AT_MAXIMUM);
	r.v.service[A].maximum = 3;
	decide_asked(&r.d, A, &(struct decide_plan){ .why = DECIDE_MAY_NOT }, r.now);
	assert_int_equal(ask(&r, A), DECIDE_BACKS_OFF);
}
