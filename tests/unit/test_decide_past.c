// SPDX-License-Identifier: GPL-2.0-or-later
/* decide_past: what was moved before: reversals and the freeze, the way home, back-off. */
#include "tests/unit/decide_rig.h"
#include "tests/unit/unit.h"

/* --- reversals ---------------------------------------- */

enum { PAIRS = 4, SERVICES = 2 * PAIRS };

/* Eight services with three nodes each; node 3 x s is the first one of service s. */
static void begin_pairs(struct rig *r)
{
	begin_empty(r, 0);
	for (uint32_t s = 0; s < SERVICES; s++) {
		put_service(r);
		put_nodes(r, s, 3, 300);
	}
	decide_seen(&r->d, &r->v, r->now);
}

/* Service 2 x pair gives a node, and takes it back after so long: one reversal. */
static void flip_after(struct rig *r, uint32_t pair, int64_t ns)
{
	moves(r, 6 * pair, 2 * pair + 1);
	pass(r, ns);
	moves(r, 6 * pair, 2 * pair);
}

static void flip(struct rig *r, uint32_t pair)
{
	flip_after(r, pair, SEC);
}

/* Four reversals of four services, the first of them 1 s from now. */
static void flip_all(struct rig *r)
{
	for (uint32_t pair = 0; pair < PAIRS; pair++)
		flip(r, pair);
}

/* For how long moves are frozen. */
static int64_t frozen_for(struct rig *r)
{
	assert_int_equal(decide(&r->d, &r->v, 0, true, r->now, &r->p), 0);
	assert_int_equal(r->p.steps, 0);
	return r->p.why == DECIDE_FROZEN ? r->p.wait_ns : 0;
}

/* Until moves are no longer frozen. */
static void thaw(struct rig *r)
{
	pass(r, frozen_for(r));
	assert_true(frozen_for(r) == 0);
}

TEST(reversals__four_of_them__freeze_moves)
{
	struct rig r;

	begin_pairs(&r);
	for (uint32_t pair = 0; pair < 3; pair++)
		flip(&r, pair);
	assert_true(frozen_for(&r) == 0);
	flip(&r, 3);
	assert_true(frozen_for(&r) == 200 * SEC);
	pass(&r, 200 * SEC - 1);
	assert_true(frozen_for(&r) == 1);
	pass(&r, 1);
	assert_true(frozen_for(&r) == 0);
}

TEST(reversals__four_of_one_service__freeze_moves)
{
	struct rig r;

	begin_pairs(&r);
	for (int i = 0; i < 4; i++) {
		assert_true(frozen_for(&r) == 0);
		flip(&r, 0);
		pass(&r, 60 * SEC + 1); /* the other service does not reverse */
	}
	assert_true(frozen_for(&r) == 140 * SEC - 1);
}

/* Nothing was before, also when the clock has just begun. */
TEST(reversals__right_after_the_clock_began__are_counted_alike)
{
	struct rig r;

	begin_pairs(&r);
	r.now.ns = 0;
	flip(&r, 0), flip(&r, 1);
	assert_true(frozen_for(&r) == 0);
	flip(&r, 2), flip(&r, 3);
	assert_true(frozen_for(&r) == 200 * SEC);
}

TEST(reversals__over_a_longer_time__do_not)
{
	struct rig r;

	begin_pairs(&r);
	flip(&r, 0);
	pass(&r, 198 * SEC); /* the fourth is 201 s after it */
	for (uint32_t pair = 1; pair < PAIRS; pair++)
		flip(&r, pair);
	assert_true(frozen_for(&r) == 0);
	pass(&r, 61 * SEC);
	flip(&r, 0); /* four within 66 s */
	assert_true(frozen_for(&r) == 200 * SEC);
}

TEST(reversal__node_comes_back_after_rest__is_none)
{
	struct rig r;

	begin_pairs(&r);
	for (uint32_t pair = 0; pair < PAIRS; pair++)
		flip_after(&r, pair, 60 * SEC + 1);
	flip(&r, 0);
	assert_true(frozen_for(&r) == 0);
	begin_pairs(&r);
	for (uint32_t pair = 0; pair < PAIRS; pair++) { /* all at once */
		moves(&r, 6 * pair, 2 * pair + 1);
	}
	pass(&r, 60 * SEC);
	for (uint32_t pair = 0; pair < PAIRS; pair++)
		moves(&r, 6 * pair, 2 * pair);
	assert_true(frozen_for(&r) == 200 * SEC);
}

TEST(reversal__another_node_from_a_third_service__is_one)
{
	struct rig r;

	begin_pairs(&r);
	moves(&r, 0, 1);
	pass(&r, SEC);
	moves(&r, 6, 0);
	moves(&r, 9, 0);
	moves(&r, 12, 0);
	assert_true(frozen_for(&r) == 0);
	moves(&r, 15, 0);
	assert_true(frozen_for(&r) == 200 * SEC);
}

TEST(freeze__again_right_after_the_last__is_twice_as_long_up_to_16_times)
{
	static const int times[] = { 1, 2, 4, 8, 16, 16, 16 };
	struct rig r;

	begin_pairs(&r);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		flip_all(&r);
		assert_true(frozen_for(&r) == times[i] * 200 * SEC);
		thaw(&r);
	}
}

TEST(freeze__no_reversal_within_rest_of_its_end__the_next_is_short_again)
{
	struct rig r;

	begin_pairs(&r);
	flip_all(&r), thaw(&r);
	flip_all(&r);
	assert_true(frozen_for(&r) == 400 * SEC);
	thaw(&r);
	pass(&r, 59 * SEC);
	flip_all(&r); /* the first is just 60 s after the end */
	assert_true(frozen_for(&r) == 200 * SEC);
	thaw(&r);
	pass(&r, 59 * SEC - 1);
	flip_all(&r);
	assert_true(frozen_for(&r) == 400 * SEC);
}

TEST(freeze__moves_during_it__are_no_reversals)
{
	struct rig r;

	begin_pairs(&r);
	flip_all(&r);
	pass(&r, 10 * SEC);
	for (int i = 0; i < 3; i++)
		flip_all(&r);
	assert_true(frozen_for(&r) == 178 * SEC);
	pass(&r, 177 * SEC);
	for (uint32_t pair = 0; pair < PAIRS; pair++)
		moves(&r, 6 * pair, 2 * pair + 1); /* begun in the freeze */
	pass(&r, SEC);
	for (uint32_t pair = 0; pair < 3; pair++)
		moves(&r, 6 * pair, 2 * pair);
	assert_true(frozen_for(&r) == 0);
	moves(&r, 18, 6);
	assert_true(frozen_for(&r) == 400 * SEC);
}

TEST(freeze__also_of_what_is_owed_and_of_higher_priority)
{
	struct rig r;

	begin(&r, 0);
	reverses(&r, 4);
	r.v.service[A].guarantee = 5;
	r.v.service[A].priority = 7;
	assert_int_equal(ask(&r, A), DECIDE_FROZEN);
	assert_int_equal(decide(&r.d, &r.v, A, false, r.now, &r.p), 0);
	assert_int_equal(r.p.why, DECIDE_CALM);
}

/* --- what a scan shows ---------------------------------------- */

TEST(seen__first_scan__is_no_move)
{
	struct rig r;

	begin(&r, 0);
	for (uint32_t i = 0; i < r.v.nodes; i++)
		assert_false(r.d.node[i].moved);
	assert_moves(&r, A, DECIDE_MOVE, B, 3);
}

TEST(seen__node_is_not_known_for_a_while__has_not_moved)
{
	struct rig r;

	begin(&r, 0);
	moves(&r, 3, DECIDE_NO_SERVICE);
	moves(&r, 3, B);
	assert_moves(&r, A, DECIDE_MOVE, B, 3);
	moves(&r, 3, DECIDE_NO_SERVICE);
	moves(&r, 3, C);
	assert_true(r.d.node[3].moved);
	assert_true(r.d.service[B].gave);
	assert_false(r.d.service[C].gave);
}

TEST(seen__node_that_served_nothing_before__has_not_moved)
{
	struct rig r;

	begin(&r, 0);
	put_node(&r, DECIDE_NO_SERVICE, 100);
	decide_seen(&r.d, &r.v, r.now);
	moves(&r, 8, B);
	assert_moves(&r, A, DECIDE_MOVE, B, 8);
}

/* B gets a node and gives another one: a chain. In which order, one scan does not show. */
TEST(seen__taken_and_given_in_one_scan__is_no_reversal)
{
	struct rig r;

	begin_pairs(&r);
	for (uint32_t k = 0; k < 4; k++) {
		r.v.node[3 * k].service = 7;
		r.v.node[9 + 3 * k].service = (uint16_t)k;
		decide_seen(&r.d, &r.v, r.now);
		pass(&r, 61 * SEC);
	}
	assert_int_equal(r.d.reversals, 0);
}

/* --- home ---------------------------------------- */

/* Moves are frozen; A has 2 nodes of 4, B 3 of 1, C 3 of 2. */
static void begin_frozen(struct rig *r)
{
	begin(r, 0);
	reverses(r, 4);
	r->v.service[A].share = 4;
	r->v.service[B].share = 1;
}

static void assert_goes_home(struct rig *r, bool high, uint32_t donor, uint32_t node)
{
	assert_int_equal(decide(&r->d, &r->v, A, high, r->now, &r->p), 0);
	assert_int_equal(r->p.why, DECIDE_MOVE_HOME);
	assert_int_equal(r->p.steps, 1);
	assert_step(r, 0, A, donor, node);
	assert_int_equal(r->p.donor, donor);
}

TEST(home__frozen__the_least_loaded_node_of_who_is_furthest_above_its_share)
{
	struct rig r;

	begin_frozen(&r);
	assert_goes_home(&r, true, B, 3);
	assert_int_equal(r.p.taker_before, 2000);
	assert_int_equal(r.p.donor_before, 300);
	assert_int_equal(r.p.taker_after, 1334);
	assert_int_equal(r.p.donor_after, 450);
	assert_goes_home(&r, false, B, 3); /* whatever the loads are */
	r.v.service[C].share = 4;	   /* it is below that itself */
	assert_goes_home(&r, false, B, 3);
	r.v.service[C].share = 2;
	r.v.node[2].load = r.v.node[3].load = r.v.node[4].load = 5000;
	assert_goes_home(&r, false, B, 2);
	r.v.service[B].share = 3;
	assert_goes_home(&r, false, C, 5); /* though it rests */
	r.v.service[A].priority = 1;
	assert_goes_home(&r, false, C, 5);
}

TEST(home__without_budget__goes_and_takes_no_token)
{
	struct rig r;

	begin_frozen(&r);
	r.d.service[A].tokens_ns = 0;
	r.d.service[A].filled = r.now;
	assert_goes_home(&r, true, B, 3);
	r.d.service[A].tokens_ns = 40 * SEC;
	decide_asked(&r.d, A, &r.p, r.now);
	assert_true(r.d.service[A].tokens_ns == 40 * SEC);
}

TEST(home__fixed_pending_dead_and_other_nodes__stay)
{
	struct rig r;

	begin_frozen(&r);
	r.v.node[3].fixed = true;
	assert_goes_home(&r, false, B, 2);
	r.v.node[2].pending = true;
	assert_goes_home(&r, false, B, 4);
	r.v.node[4].may = 1u << B;
	assert_goes_home(&r, false, C, 5);
	r.v.node[3].fixed = false;
	r.v.node[3].alive = false; /* C is as far above its share as B now */
	assert_goes_home(&r, false, C, 5);
}

TEST(home__not_below_minimum_or_guarantee_nor_above_maximum)
{
	struct rig r;

	begin_frozen(&r);
	r.v.service[B].minimum = 3;
	assert_goes_home(&r, false, C, 5);
	r.v.service[C].guarantee = 3;
	assert_none(&r, A, DECIDE_FROZEN, DECIDE_NO_SERVICE, mono_sub(r.d.frozen_until, r.now));
	r.v.service[A].priority = 1; /* only to a higher priority */
	assert_goes_home(&r, false, C, 5);
	r.v.service[A].maximum = 2;
	assert_int_equal(ask(&r, A), DECIDE_FROZEN);
	r.v.service[A].maximum = 3;
	assert_goes_home(&r, false, C, 5);
	r.v.service[A].share = 2; /* it has that */
	assert_int_equal(ask(&r, A), DECIDE_FROZEN);
}

TEST(home__nobody_above_its_share__nothing_goes)
{
	struct rig r;

	begin_frozen(&r);
	r.v.service[B].share = r.v.service[C].share = 3;
	assert_int_equal(decide(&r.d, &r.v, A, false, r.now, &r.p), 0);
	assert_int_equal(r.p.why, DECIDE_CALM);
}

TEST(home__of_the_donors_nodes__own_ones_of_the_taker_come_first)
{
	struct rig r;

	begin_frozen(&r);
	r.v.node[2].home = A;
	assert_goes_home(&r, false, B, 2);
	r.v.node[2].home = C;
	assert_goes_home(&r, false, B, 2);
	r.v.node[4].home = DECIDE_NO_SERVICE; /* more loaded */
	assert_goes_home(&r, false, B, 2);
	r.v.node[4].home = A;
	assert_goes_home(&r, false, B, 4);
	r.v.node[5].home = A; /* C is less far above its share */
	assert_goes_home(&r, false, B, 4);
}

/* A has its share, but in B's node 1 instead of its own large node 2. */
static void begin_swapped(struct rig *r)
{
	begin_frozen(r);
	r->v.service[A].share = 2;
	r->v.service[B].share = 3;
	r->v.node[1].home = B;
	r->v.node[2].home = A;
	r->v.node[2].capacity = 4000;
}

TEST(home__share_without_its_capacity__gets_its_own_node_for_the_other)
{
	struct rig r;

	begin_swapped(&r);
	assert_goes_home(&r, false, B, 2);
	moves(&r, 2, A);
	assert_int_equal(decide(&r.d, &r.v, A, false, r.now, &r.p), 0);
	assert_int_equal(r.p.why, DECIDE_CALM);
	assert_int_equal(decide(&r.d, &r.v, B, false, r.now, &r.p), 0);
	assert_int_equal(r.p.why, DECIDE_MOVE_HOME);
	assert_step(&r, 0, B, A, 1);
	moves(&r, 1, B);
	for (uint32_t s = A; s <= C; s++) {
		assert_int_equal(decide(&r.d, &r.v, s, false, r.now, &r.p), 0);
		assert_int_equal(r.p.why, DECIDE_CALM);
	}
}

TEST(home__several_own_nodes_elsewhere__the_largest_comes)
{
	struct rig r;

	begin_swapped(&r);
	r.v.node[5].home = A;
	r.v.node[5].capacity = 3999;
	assert_goes_home(&r, false, B, 2);
	r.v.node[5].capacity = 4001;
	assert_goes_home(&r, false, C, 5);
}

static void same_capacity(struct rig *r)
{
	r->v.node[2].capacity = 1000;
}

static void capacity_left_out(struct rig *r)
{
	r->d.conf.off = DECIDE_CAPACITY;
}

static void home_left_out(struct rig *r)
{
	r->d.conf.off = DECIDE_HOME;
}

static void own_is_fixed(struct rig *r)
{
	r->v.node[2].fixed = true;
}

static void own_is_dead(struct rig *r)
{
	r->v.node[2].alive = false;
}

static void other_is_fixed(struct rig *r)
{
	r->v.node[1].fixed = true;
}

static void other_is_pending(struct rig *r)
{
	r->v.node[1].pending = true;
}

static void other_may_not_go_to_the_donor(struct rig *r)
{
	r->v.node[1].may = 1 << A | 1 << C;
}

static void other_is_own(struct rig *r)
{
	r->v.node[1].home = A;
}

static void donor_keeps_its_minimum(struct rig *r)
{
	r->v.service[B].minimum = 3;
}

static void taker_is_at_its_maximum(struct rig *r)
{
	r->v.service[A].maximum = 2;
}

static const struct no_swap {
	const char *name;
	void (*set)(struct rig *r);
} no_swaps[] = {
	{ "no_swap__same_capacity", same_capacity },
	{ "no_swap__capacity_left_out", capacity_left_out },
	{ "no_swap__home_left_out", home_left_out },
	{ "no_swap__own_is_fixed", own_is_fixed },
	{ "no_swap__own_is_dead", own_is_dead },
	{ "no_swap__other_is_fixed", other_is_fixed },
	{ "no_swap__other_is_pending", other_is_pending },
	{ "no_swap__other_may_not_go_to_the_donor", other_may_not_go_to_the_donor },
	{ "no_swap__other_is_own", other_is_own },
	{ "no_swap__donor_keeps_its_minimum", donor_keeps_its_minimum },
	{ "no_swap__taker_is_at_its_maximum", taker_is_at_its_maximum },
};

static void run_no_swap(void **state)
{
	const struct no_swap *x = *state;
	struct rig r;

	begin_swapped(&r);
	x->set(&r);
	assert_int_equal(decide(&r.d, &r.v, A, false, r.now, &r.p), 0);
	assert_int_equal(r.p.why, DECIDE_CALM);
}

TEST_ROWS(no_swaps, run_no_swap)

TEST(home__no_freeze__nothing_goes)
{
	struct rig r;

	begin_frozen(&r);
	pass(&r, 3200 * SEC);
	assert_int_equal(decide(&r.d, &r.v, A, false, r.now, &r.p), 0);
	assert_int_equal(r.p.why, DECIDE_CALM);
}

/* --- back-off ---------------------------------------- */

static void begin_without_donor(struct rig *r)
{
	begin(r, 0);
	r->v.service[B].minimum = r->v.service[C].minimum = 3;
}

/* A finds no donor, and then backs off for so many checks. */
static void backs_off_for(struct rig *r, int checks)
{
	assert_int_equal(ask(r, A), DECIDE_NO_SPARE);
	decide_asked(&r->d, A, &r->p, r->now);
	assert_none(r, A, DECIDE_BACKS_OFF, DECIDE_NO_SERVICE, checks * SEC);
	decide_asked(&r->d, A, &r->p, r->now); /* which is no new reason */
	pass(r, checks * SEC - 1);
	assert_none(r, A, DECIDE_BACKS_OFF, DECIDE_NO_SERVICE, 1);
	pass(r, 1);
}

TEST(backoff__no_donor__1_2_4_up_to_64_checks)
{
	static const int checks[] = { 1, 2, 4, 8, 16, 32, 64, 64 };
	struct rig r;

	begin_without_donor(&r);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		backs_off_for(&r, checks[i]);
	assert_int_equal(ask(&r, A), DECIDE_NO_SPARE);
}

TEST(backoff__after_a_move__begins_anew)
{
	struct rig r;

	begin_without_donor(&r);
	backs_off_for(&r, 1);
	backs_off_for(&r, 2);
	r.v.service[B].minimum = 1;
	assert_int_equal(ask(&r, A), DECIDE_MOVE);
	decide_asked(&r.d, A, &r.p, r.now);
	r.v.service[B].minimum = 3;
	backs_off_for(&r, 1);
}

TEST(backoff__load_is_not_high_any_more__begins_anew)
{
	struct rig r;

	begin_without_donor(&r);
	assert_int_equal(ask(&r, A), DECIDE_NO_SPARE);
	decide_asked(&r.d, A, &r.p, r.now);
	assert_int_equal(decide(&r.d, &r.v, A, false, r.now, &r.p), 0);
	decide_asked(&r.d, A, &r.p, r.now);
	backs_off_for(&r, 1);
	assert_int_equal(ask(&r, A), DECIDE_NO_SPARE);
	decide_asked(&r.d, A, &r.p, r.now);
	assert_int_equal(ask(&r, C), DECIDE_NONE_LOW); /* each service by itself */
}

TEST(backoff__reasons_that_are_not_about_donors__do_not_begin_it)
{
	static const enum decide_why whys[] = { DECIDE_UNKNOWN, DECIDE_FROZEN, DECIDE_AT_MAXIMUM,
						DECIDE_OVER_BUDGET };
	struct rig r;

	begin(&r, 0);
	for (size_t i = 0; i < sizeof(whys) / sizeof(whys[0]); i++) {
		struct decide_plan p = { .why = whys[i] };

		decide_asked(&r.d, A, &p, r.now);
		assert_int_equal(ask(&r, A), DECIDE_MOVE);
	}
	for (enum decide_why why = DECIDE_NO_SPARE; why < DECIDE_WHYS; why++) {
		struct decide_plan p = { .why = why };

		begin(&r, 0);
		decide_asked(&r.d, A, &p, r.now);
		assert_int_equal(ask(&r, A), DECIDE_BACKS_OFF);
	}
}
