// SPDX-License-Identifier: GPL-2.0-or-later
/* decide: one move: each rule, each reason of no move, guarantee, priority and maximum. */
#include <errno.h>

#include "tests/unit/decide_rig.h"
#include "tests/unit/unit.h"

static void assert_figures(const struct rig *r, uint32_t taker_before, uint32_t donor_before,
			   uint32_t taker_after, uint32_t donor_after)
{
	assert_int_equal(r->p.taker_before, taker_before);
	assert_int_equal(r->p.donor_before, donor_before);
	assert_int_equal(r->p.taker_after, taker_after);
	assert_int_equal(r->p.donor_after, donor_after);
}

TEST(move__all_rules_hold__least_loaded_node_of_the_least_loaded_service)
{
	struct rig r;

	begin(&r, 0);
	assert_moves(&r, A, DECIDE_MOVE, B, 3);
	assert_figures(&r, 2000, 300, 1334, 450);
	assert_true(r.p.predicted);
	r.v.service[C].low = 700;
	r.v.node[2].load = r.v.node[3].load = r.v.node[4].load = 650;
	assert_moves(&r, A, DECIDE_MOVE, C, 5);
	r.v.node[6].known = false;
	r.v.node[5].known = true;
	r.v.node[7].load = 500;
	assert_moves(&r, A, DECIDE_MOVE, C, 7); /* what is not known comes last */
}

TEST(calm__load_not_high_for_t__no_move)
{
	struct rig r;

	begin(&r, 0);
	assert_int_equal(decide(&r.d, &r.v, A, false, r.now, &r.p), 0);
	assert_int_equal(r.p.why, DECIDE_CALM);
	assert_int_equal(r.p.steps, 0);
	assert_figures(&r, 2000, 0, 0, 0);
	assert_false(r.p.predicted);
}

TEST(arguments__out_of_range__are_refused)
{
	struct rig r;

	begin(&r, 0);
	assert_int_equal(decide(&r.d, &r.v, C + 1, true, r.now, &r.p), -EINVAL);
	r.v.services = DECIDE_SERVICES_MAX + 1;
	assert_int_equal(decide(&r.d, &r.v, A, true, r.now, &r.p), -EINVAL);
	r.v.services = 3;
	r.v.nodes = DECIDE_NODES_MAX + 1;
	assert_int_equal(decide(&r.d, &r.v, A, true, r.now, &r.p), -EINVAL);
}

/* --- each rule, and without it ---------------------------------------- */

static void case_low(struct rig *r)
{
	for (uint32_t i = 2; i <= 4; i++)
		r->v.node[i].load = 500;
}

/* B has 225 on each of two nodes: 450 on the one that is left. */
static void case_gain(struct rig *r)
{
	r->v.node[2].load = r->v.node[3].load = 225;
	r->v.node[4].alive = false;
	r->v.node[0].load = r->v.node[1].load = 539;
}

static void case_rest(struct rig *r)
{
	for (uint32_t i = 2; i <= 4; i++) {
		moves(r, i, C);
		r->v.node[i].load = 100;
	}
	r->v.service[C].low = 700;
	r->v.node[5].fixed = r->v.node[6].fixed = r->v.node[7].fixed = true;
}

static void case_budget(struct rig *r)
{
	for (int i = 0; i < 4; i++) {
		assert_int_equal(ask(r, A), DECIDE_MOVE);
		decide_asked(&r->d, A, &r->p, r->now);
	}
}

static void case_reversal(struct rig *r)
{
	reverses(r, 4);
	r->v.node[5].fixed = true;
}

static void case_home(struct rig *r)
{
	case_reversal(r);
	r->v.service[A].share = 3;
}

static void case_backoff(struct rig *r)
{
	for (uint32_t i = 2; i <= 4; i++)
		r->v.node[i].fixed = true;
	assert_int_equal(ask(r, A), DECIDE_STUCK);
	decide_asked(&r->d, A, &r->p, r->now);
	for (uint32_t i = 2; i <= 4; i++)
		r->v.node[i].fixed = false;
}

/* 9/10 of B's load are on its one large node. */
static void case_capacity(struct rig *r)
{
	r->v.node[2] = r->v.node[3];
	r->v.node[4].load = 900;
	r->v.node[4].capacity = 10000;
	r->v.service[B].low = 600;
}

/* C's nodes go to B, and B's go to A; B has none to spare before. */
static void case_chain(struct rig *r)
{
	r->v.service[B].minimum = 3;
	for (uint32_t i = 5; i <= 7; i++) {
		r->v.node[i].load = 100;
		r->v.node[i].may = 1 << B | 1 << C;
	}
}

static const struct rule_case {
	const char *name;
	void (*set)(struct rig *r);
	uint32_t rule, needs; /* needs: another rule, which this one changes */
	enum decide_why with, without;
} rule_cases[] = {
	{ "rule__low", case_low, DECIDE_LOW, 0, DECIDE_NONE_LOW, DECIDE_MOVE },
	{ "rule__gain", case_gain, DECIDE_GAIN, 0, DECIDE_NO_GAIN, DECIDE_MOVE },
	{ "rule__rest", case_rest, DECIDE_REST, 0, DECIDE_RESTS, DECIDE_MOVE },
	{ "rule__budget", case_budget, DECIDE_BUDGET, 0, DECIDE_OVER_BUDGET, DECIDE_MOVE },
	{ "rule__reversal", case_reversal, DECIDE_REVERSAL, 0, DECIDE_FROZEN, DECIDE_MOVE },
	{ "rule__home", case_home, DECIDE_HOME, DECIDE_REVERSAL, DECIDE_MOVE_HOME, DECIDE_FROZEN },
	{ "rule__backoff", case_backoff, DECIDE_BACKOFF, 0, DECIDE_BACKS_OFF, DECIDE_MOVE },
	{ "rule__capacity", case_capacity, DECIDE_CAPACITY, DECIDE_LOW, DECIDE_NONE_LOW,
	  DECIDE_MOVE },
	{ "rule__chain", case_chain, DECIDE_CHAIN, 0, DECIDE_MOVE_CHAIN, DECIDE_MAY_NOT },
};

/* The case is made for the rule: with it one plan, without it another one, and no other matters. */
static void run_rule(void **state)
{
	const struct rule_case *c = *state;

	for (uint32_t off = 0; off <= DECIDE_RULES; off++) {
		struct rig r;

		if (off & c->needs || (off & (off - 1) && off != (DECIDE_RULES & ~c->rule)))
			continue;
		begin(&r, 0);
		c->set(&r);
		r.d.conf.off = off;
		assert_int_equal(ask(&r, A), off & c->rule ? c->without : c->with);
	}
}

TEST_ROWS(rule_cases, run_rule)

/* --- limits of the rules ---------------------------------------- */

TEST(low__load_just_below__gives)
{
	struct rig r;

	begin(&r, 0);
	case_low(&r);
	assert_none(&r, A, DECIDE_NONE_LOW, B, 0);
	assert_figures(&r, 2000, 500, 0, 0);
	r.v.node[3].load = 498;
	assert_moves(&r, A, DECIDE_MOVE, B, 3);
}

/* 450 x 1.2 is 540. */
TEST(gain__just_the_margin__is_enough)
{
	struct rig r;

	begin(&r, 0);
	case_gain(&r);
	assert_none(&r, A, DECIDE_NO_GAIN, B, 0);
	assert_figures(&r, 539, 225, 360, 450);
	r.v.node[0].load = r.v.node[1].load = 540;
	assert_moves(&r, A, DECIDE_MOVE, B, 2);
}

TEST(gain__donor_of_large_and_small_nodes__the_one_that_leaves_enough_goes)
{
	struct rig r;

	begin(&r, 0);
	case_gain(&r);
	r.v.node[2].capacity = 4000;
	r.v.node[3].load = 300;
	assert_moves(&r, A, DECIDE_MOVE, B, 3);
	r.v.node[3].fixed = true;
	assert_none(&r, A, DECIDE_NO_GAIN, B, 0);
}

TEST(gain__no_load_at_all__nothing_moves)
{
	struct rig r;

	begin(&r, 0);
	for (uint32_t i = 0; i < r.v.nodes; i++)
		r.v.node[i].load = 0;
	assert_none(&r, A, DECIDE_NO_GAIN, B, 0);
	r.d.conf.margin = 0;
	assert_none(&r, A, DECIDE_NO_GAIN, B, 0);
}

TEST(gain__greatest_numbers__do_not_overflow)
{
	struct rig r;

	begin_empty(&r, 0);
	put_service(&r)->maximum = UINT32_MAX;
	put_service(&r)->low = UINT32_MAX;
	put_nodes(&r, A, 256, UINT32_MAX);
	put_nodes(&r, B, 256, UINT32_MAX);
	for (uint32_t i = 0; i < r.v.nodes; i++)
		r.v.node[i].capacity = UINT32_MAX;
	assert_int_equal(decide_load(&r.d, &r.v, A), DECIDE_LOAD_MAX);
	assert_none(&r, A, DECIDE_NO_GAIN, B, 0);
	assert_figures(&r, DECIDE_LOAD_MAX, DECIDE_LOAD_MAX, 996109, 1003922);
	for (uint32_t i = 256; i < r.v.nodes; i++)
		r.v.node[i].load = 1000;
	r.d.conf.margin = UINT32_MAX;
	assert_none(&r, A, DECIDE_NO_GAIN, B, 0);
	r.d.conf.margin = 900000;
	assert_moves(&r, A, DECIDE_MOVE, B, 256);
}

TEST(rest__ends_after_its_time)
{
	struct rig r;

	begin(&r, 0);
	case_rest(&r);
	pass(&r, 10 * SEC);
	assert_none(&r, A, DECIDE_RESTS, C, 50 * SEC);
	pass(&r, 50 * SEC - 1);
	assert_none(&r, A, DECIDE_RESTS, C, 1);
	pass(&r, 1);
	assert_moves(&r, A, DECIDE_MOVE, C, 2);
}

TEST(rest__of_the_nodes_of_two_donors__the_one_that_rests_least_is_named)
{
	struct rig r;

	begin(&r, 0);
	r.v.service[C].low = 700;
	for (uint32_t i = 5; i <= 7; i++)
		moves(&r, i, B), moves(&r, i, C);
	pass(&r, SEC);
	for (uint32_t i = 2; i <= 4; i++)
		moves(&r, i, C), moves(&r, i, B);
	r.d.conf.off = DECIDE_REVERSAL;
	assert_none(&r, A, DECIDE_RESTS, C, 59 * SEC);
}

TEST(budget__a_token_comes_each_10_s__no_more_than_4)
{
	struct rig r;

	begin(&r, 0);
	case_budget(&r);
	assert_none(&r, A, DECIDE_OVER_BUDGET, B, 10 * SEC);
	pass(&r, 10 * SEC - 1);
	assert_none(&r, A, DECIDE_OVER_BUDGET, B, 1);
	pass(&r, 1);
	assert_int_equal(ask(&r, A), DECIDE_MOVE);
	assert_int_equal(ask(&r, A), DECIDE_MOVE); /* only a plan that is carried out takes one */
	decide_asked(&r.d, A, &r.p, r.now);
	assert_none(&r, A, DECIDE_OVER_BUDGET, B, 10 * SEC);
	decide_asked(&r.d, A, &r.p, r.now);
	assert_none(&r, A, DECIDE_OVER_BUDGET, B, 10 * SEC);
	pass(&r, 1000 * SEC);
	case_budget(&r);
	assert_none(&r, A, DECIDE_OVER_BUDGET, B, 10 * SEC);
	assert_moves(&r, C, DECIDE_MOVE, B, 3); /* each service has its own */
	r.v.service[B].minimum = r.v.service[C].minimum = 3;
	assert_none(&r, A, DECIDE_NO_SPARE, B, 0); /* no token would help */
}

TEST(budget__at_first__is_full)
{
	struct rig r;

	begin(&r, 0);
	r.now.ns = 0;
	case_budget(&r);
	assert_none(&r, A, DECIDE_OVER_BUDGET, B, 10 * SEC);
}

/* --- reasons of no move ---------------------------------------- */

TEST(unknown__half_of_the_takers_loads__no_move)
{
	struct rig r;

	begin(&r, 0);
	r.v.node[0].known = false;
	assert_none(&r, A, DECIDE_UNKNOWN, DECIDE_NO_SERVICE, 0);
	assert_figures(&r, 2000, 0, 0, 0);
	put_node(&r, A, 2000);
	assert_moves(&r, A, DECIDE_MOVE, B, 3); /* one of three */
}

TEST(unknown__half_of_the_donors_loads__it_is_not_low)
{
	struct rig r;

	begin(&r, 0);
	r.v.node[2].known = r.v.node[3].known = false;
	assert_none(&r, A, DECIDE_NONE_LOW, B, 0);
	r.d.conf.off = DECIDE_LOW | DECIDE_GAIN;
	r.v.service[C].minimum = 3;
	assert_none(&r, A, DECIDE_NONE_LOW, B, 0);
	r.d.conf.off = 0;
	r.v.node[2].known = true;
	assert_moves(&r, A, DECIDE_MOVE, B, 2);
}

/* B: 300 and 400 are known, of the third the mean. */
TEST(unknown__one_of_the_donors_loads__counts_as_the_mean)
{
	struct rig r;

	begin(&r, 0);
	r.v.node[3].known = false;
	assert_int_equal(decide_load(&r.d, &r.v, B), 350);
	assert_moves(&r, A, DECIDE_MOVE, B, 2);
	assert_figures(&r, 2000, 350, 1334, 525);
}

TEST(maximum__at_it__no_move)
{
	struct rig r;

	begin(&r, 0);
	r.v.service[A].maximum = 2;
	assert_none(&r, A, DECIDE_AT_MAXIMUM, DECIDE_NO_SERVICE, 0);
	r.v.service[A].maximum = 3;
	assert_int_equal(ask(&r, A), DECIDE_MOVE);
}

TEST(no_spare__all_others_at_their_minimum)
{
	struct rig r;

	begin(&r, 0);
	r.v.service[B].minimum = r.v.service[C].minimum = 3;
	assert_none(&r, A, DECIDE_NO_SPARE, B, 0); /* the least loaded one */
	assert_figures(&r, 2000, 300, 0, 0);
	r.v.services = 1;
	assert_none(&r, A, DECIDE_NO_SPARE, DECIDE_NO_SERVICE, 0);
	assert_false(r.p.predicted);
	r.v.services = 3;
	r.v.service[B].minimum = 2;
	assert_int_equal(ask(&r, A), DECIDE_MOVE);
	r.v.node[4].alive = false; /* dead nodes do not count */
	assert_none(&r, A, DECIDE_NO_SPARE, B, 0);
}

TEST(minimum_0__the_last_node_goes_only_without_load)
{
	struct rig r;

	begin(&r, 0);
	r.v.node[3].alive = r.v.node[4].alive = false;
	r.v.service[B].minimum = r.v.service[B].guarantee = 0;
	assert_none(&r, A, DECIDE_NO_GAIN, B, 0);
	assert_figures(&r, 2000, 300, 1334, UINT32_MAX);
	r.v.node[2].load = 0;
	assert_moves(&r, A, DECIDE_MOVE, B, 2);
	assert_figures(&r, 2000, 0, 1334, 0);
}

TEST(no_nodes__service_without_any__takes_one)
{
	struct rig r;

	begin(&r, 0);
	r.v.node[0].alive = r.v.node[1].alive = false;
	assert_int_equal(decide_load(&r.d, &r.v, A), UINT32_MAX);
	assert_true(decide_high(&r.d, &r.v, A));
	r.v.service[A].guarantee = r.v.service[A].minimum = 0;
	assert_moves(&r, A, DECIDE_MOVE, B, 3);
	/* But not the last node of another one. */
	r.v.node[3].alive = r.v.node[4].alive = false;
	r.v.service[B].minimum = r.v.service[B].guarantee = 0;
	r.v.service[C].minimum = 3;
	r.d.conf.margin = 0;
	assert_none(&r, A, DECIDE_NO_GAIN, B, 0);
}

TEST(guaranteed__others_at_their_guarantee__no_move)
{
	struct rig r;

	begin(&r, 0);
	r.v.service[B].guarantee = r.v.service[C].guarantee = 3;
	assert_none(&r, A, DECIDE_GUARANTEED, B, 0);
	assert_figures(&r, 2000, 300, 0, 0);
	r.v.service[B].guarantee = 2;
	assert_int_equal(ask(&r, A), DECIDE_MOVE);
}

TEST(stuck__fixed_or_pending__no_move)
{
	struct rig r;

	begin(&r, 0);
	r.v.node[2].fixed = r.v.node[3].pending = r.v.node[4].fixed = true;
	assert_none(&r, A, DECIDE_STUCK, B, 0);
	r.v.node[3].pending = false;
	assert_moves(&r, A, DECIDE_MOVE, B, 3);
	r.v.node[2].fixed = false;
	r.v.node[3].alive = false;
	assert_moves(&r, A, DECIDE_MOVE, B, 2);
}

TEST(may_not__no_node_may_serve_it__no_move)
{
	struct rig r;

	begin(&r, 0);
	for (uint32_t i = 2; i < r.v.nodes; i++)
		r.v.node[i].may = 1u << B | 1u << C;
	assert_none(&r, A, DECIDE_MAY_NOT, B, 0);
	r.v.node[4].may |= 1u << A;
	assert_moves(&r, A, DECIDE_MOVE, B, 4);
}

/* Each service is a little nearer to a move than the one before. */
TEST(nearest__reasons_of_several_services__the_last_in_order_is_said)
{
	struct rig r;

	begin_empty(&r, 0);
	for (int i = 0; i < 8; i++)
		put_service(&r);
	put_nodes(&r, 0, 1, 2000);
	for (uint32_t i = 1; i < 8; i++)
		put_nodes(&r, i, 2, 400);
	decide_seen(&r.d, &r.v, r.now);
	for (uint32_t i = 1; i < r.v.nodes; i++)
		if (i > 10 && i <= 12)
			moves(&r, i, 7), moves(&r, i, 6);
	for (uint32_t i = 1; i < r.v.nodes; i++) {
		if (i > 6 && i <= 8)
			r.v.node[i].may = 1u << 4;
		if (i > 8 && i <= 10)
			r.v.node[i].fixed = true;
		if (i > 12)
			r.v.node[i].load = 499, r.v.service[7].low = 1000;
	}
	r.v.node[13].load = r.v.node[14].load = 900;
	r.v.service[1].minimum = r.v.service[1].guarantee = 2;
	r.v.service[2].guarantee = 2;
	r.v.service[3].low = 300;
	r.d.conf.off = DECIDE_REVERSAL;
	assert_none(&r, 0, DECIDE_NO_GAIN, 7, 0);
	r.v.service[7].minimum = 2;
	assert_none(&r, 0, DECIDE_RESTS, 6, 60 * SEC);
	r.v.service[6].minimum = 2;
	assert_none(&r, 0, DECIDE_STUCK, 5, 0);
	r.v.service[5].minimum = 2;
	assert_none(&r, 0, DECIDE_MAY_NOT, 4, 0);
	r.v.service[4].minimum = 2;
	assert_none(&r, 0, DECIDE_NONE_LOW, 3, 0);
	r.v.service[3].minimum = 2;
	assert_none(&r, 0, DECIDE_GUARANTEED, 2, 0);
	r.v.service[2].minimum = 2;
	assert_none(&r, 0, DECIDE_NO_SPARE, 1, 0);
}

/* --- guarantee and priority ---------------------------------------- */

TEST(owed__below_its_guarantee__needs_no_low_and_no_gain)
{
	struct rig r;

	begin(&r, 0);
	r.v.node[0].load = r.v.node[1].load = 950;
	for (uint32_t i = 2; i < r.v.nodes; i++)
		r.v.node[i].load = 900;
	assert_none(&r, A, DECIDE_NONE_LOW, B, 0);
	r.v.service[A].guarantee = 3;
	assert_moves(&r, A, DECIDE_MOVE_OWED, B, 2);
	r.v.service[B].guarantee = 3; /* at its own */
	assert_moves(&r, A, DECIDE_MOVE_OWED, C, 5);
	r.v.service[C].priority = 5; /* it is above its guarantee: priority does not help it */
	assert_moves(&r, A, DECIDE_MOVE_OWED, C, 5);
	r.v.service[C].guarantee = 3;
	assert_none(&r, A, DECIDE_GUARANTEED, B, 0);
	assert_int_equal(decide(&r.d, &r.v, A, false, r.now, &r.p), 0);
	assert_int_equal(r.p.why, DECIDE_CALM); /* what is not used is not owed */
}

TEST(owed__also_needs_budget_and_rest)
{
	struct rig r;

	begin(&r, 0);
	for (uint32_t i = 2; i < r.v.nodes; i++)
		r.v.node[i].load = 900;
	r.v.service[A].guarantee = 3;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(ask(&r, A), DECIDE_MOVE_OWED);
		decide_asked(&r.d, A, &r.p, r.now);
	}
	assert_none(&r, A, DECIDE_OVER_BUDGET, B, 10 * SEC);
	pass(&r, 10 * SEC);
	r.d.conf.off = DECIDE_REVERSAL;
	for (uint32_t i = 2; i <= 4; i++)
		moves(&r, i, C), moves(&r, i, B);
	r.v.service[C].minimum = 3;
	assert_none(&r, A, DECIDE_RESTS, B, 60 * SEC);
}

TEST(owed__a_low_donor_is_there_too__it_gives)
{
	struct rig r;

	begin(&r, 0);
	r.v.service[A].guarantee = 3;
	r.v.service[C].priority = r.v.service[A].priority = 1;
	r.v.service[B].priority = 2;
	assert_moves(&r, A, DECIDE_MOVE, B, 3);
}

TEST(preempts__higher_priority__needs_no_low_and_no_gain_and_takes_guaranteed_nodes)
{
	struct rig r;

	begin(&r, 0);
	for (uint32_t i = 2; i < r.v.nodes; i++)
		r.v.node[i].load = 2000;
	r.v.service[B].guarantee = r.v.service[C].guarantee = 3;
	r.v.service[A].priority = 2;
	r.v.service[B].priority = 2;
	r.v.service[C].priority = 1;
	assert_moves(&r, A, DECIDE_MOVE_PREEMPTS, C, 5);
	r.v.service[A].guarantee = 3; /* C has no more than its own */
	assert_moves(&r, A, DECIDE_MOVE_PREEMPTS, C, 5);
	r.v.service[A].guarantee = 1;
	r.v.service[C].priority = 0; /* the lowest first */
	r.v.service[B].priority = 1;
	assert_moves(&r, A, DECIDE_MOVE_PREEMPTS, C, 5);
	r.v.service[C].priority = 1;
	r.v.service[B].priority = 0;
	assert_moves(&r, A, DECIDE_MOVE_PREEMPTS, B, 2);
	r.v.service[B].minimum = r.v.service[C].minimum = 3;
	assert_none(&r, A, DECIDE_NO_SPARE, B, 0);
	r.v.service[B].minimum = r.v.service[C].minimum = 1;
	r.v.service[A].guarantee = 2;
	assert_none(&r, B, DECIDE_GUARANTEED, A, 0); /* not upwards */
}

TEST(preempts__also_needs_budget)
{
	struct rig r;

	begin(&r, 0);
	r.v.service[A].priority = 1;
	for (uint32_t i = 2; i < r.v.nodes; i++)
		r.v.node[i].load = 2000;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(ask(&r, A), DECIDE_MOVE_PREEMPTS);
		decide_asked(&r.d, A, &r.p, r.now);
	}
	assert_none(&r, A, DECIDE_OVER_BUDGET, B, 10 * SEC);
}

/* --- the rest ---------------------------------------- */

TEST(load__is_weighed_by_capacity)
{
	struct rig r;

	begin(&r, 0);
	r.v.node[2].capacity = 0; /* 1000 */
	r.v.node[3].capacity = 2000;
	r.v.node[4].capacity = 1000;
	assert_int_equal(decide_load(&r.d, &r.v, B), 275);
	r.v.node[4].alive = false;
	assert_int_equal(decide_load(&r.d, &r.v, B), 233);
	r.d.conf.off = DECIDE_CAPACITY;
	assert_int_equal(decide_load(&r.d, &r.v, B), 250);
	r.d.conf.off = 0;
	r.v.node[2].capacity = 200000; /* 100000 */
	r.v.node[3].capacity = 100000;
	assert_int_equal(decide_load(&r.d, &r.v, B), 250);
	r.v.node[2].known = r.v.node[3].known = false;
	assert_int_equal(decide_load(&r.d, &r.v, B), UINT32_MAX);
	assert_int_equal(decide_load(&r.d, &r.v, C + 1), UINT32_MAX);
	r.v.node[5].service = DECIDE_NO_SERVICE;
	assert_int_equal(decide_load(&r.d, &r.v, C), 600);
}

TEST(high__at_the_mark__only_of_known_loads)
{
	struct rig r;

	begin(&r, 0);
	r.v.node[0].load = r.v.node[1].load = 900;
	assert_true(decide_high(&r.d, &r.v, A));
	r.v.node[0].known = false;
	assert_false(decide_high(&r.d, &r.v, A));
	r.v.node[0].known = true;
	r.v.node[0].load = 898;
	assert_false(decide_high(&r.d, &r.v, A));
	assert_false(decide_high(&r.d, &r.v, C + 1));
}

TEST(text__each_reason__is_said_in_words_of_its_own)
{
	for (int a = 0; a <= DECIDE_WHYS; a++)
		for (int b = a + 1; b <= DECIDE_WHYS; b++)
			assert_string_not_equal(decide_why_text((enum decide_why)a),
						decide_why_text((enum decide_why)b));
}

TEST(waits__are_said__and_only_those_that_have_a_time)
{
	for (int i = 0; i < DECIDE_WHYS; i++) {
		bool waits = i == DECIDE_FROZEN || i == DECIDE_OVER_BUDGET ||
			     i == DECIDE_BACKS_OFF || i == DECIDE_RESTS;

		assert_int_equal(*decide_wait_text((enum decide_why)i) != 0, waits);
	}
}
