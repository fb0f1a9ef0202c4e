// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reconf_lab: what moving nodes is for, shown on the SIMULATED cluster by the protocol's own code:
 * few seeds, 100 with RESEX_DEEP=1, and relations; the figures are those of figure 10 of the paper.
 * Each rule of decide.h is left out once: then a line does not hold. test_reconf_scene has chains.
 */
#include "src/lab/reconf.h"
#include "tests/unit/deep.h"
#include "tests/unit/unit.h"

enum { ALL = 100 };

static const uint32_t three[] = { 3, 3, 2 };
static struct reconf_point point;

static void plan_of(struct reconf_plan *p, bool is_three, int64_t seconds)
{
	reconf_plan_default(p);
	if (is_three)
		reconf_plan_shares(p, three, 3);
	p->web.duration_ns = seconds * NS_PER_S;
}

static void measure(const struct reconf_plan *p, uint32_t burst, uint32_t seeds)
{
	assert_int_equal(reconf_point(p, burst, seeds, &point), 0);
}

static uint64_t tps(enum reconf_mode m)
{
	return point.tps[m] / 1000;
}

static void assert_lines_of_moves(void)
{
	const struct reconf_moves *m = &point.moves;

	assert_in_range(point.most_allowed, 0, 1000);
	assert_int_equal(m->again, 0);
	/* One balancer is told: the donor's. */
	if (m->moved - m->swept)
		assert_int_equal(m->ops[STEP_FAA], m->moved - m->swept);
	assert_in_range(m->ops_most[STEP_READ], 0, 20);
	assert_in_range(m->ops_most[STEP_CAS], 0, 7);
	assert_in_range(m->ops_most[STEP_FAA], 0, 1);
}

/* Figure 10 b: the paper has a factor of up to 2.5. */
TEST(reconf__long_bursts_of_four_sites__serves_nearly_what_over_provisioning_does)
{
	struct reconf_plan p;

	plan_of(&p, false, 8);
	measure(&p, 16384, deep(2, ALL));
	assert_in_range(tps(RECONF_RIGID), 17000, 18000);
	assert_in_range(tps(RECONF_OVER), 42500, 44500);
	assert_in_range(point.least_over, 900, 1000);
	assert_in_range(point.least_rigid, 2200, 2600);
	assert_true(point.moves.moved >= 10 * point.seeds);
	assert_lines_of_moves();
}

/* Figure 10 a: the paper has about 26,000 and 51,000. */
TEST(reconf__long_bursts_of_three_sites__serves_nearly_what_over_provisioning_does)
{
	struct reconf_plan p;

	plan_of(&p, true, 6);
	measure(&p, 16384, deep(2, ALL));
	assert_in_range(tps(RECONF_RIGID), 22000, 26000);
	assert_in_range(tps(RECONF_OVER), 50000, 53000);
	assert_in_range(point.least_over, 900, 1000);
	assert_lines_of_moves();
}

TEST(reconf__short_bursts__serves_nearly_what_a_rigid_cluster_does)
{
	static const uint32_t bursts[] = { 384, 512, 768, 1024, 1400 };
	struct reconf_plan p;

	for (uint32_t i = 0; i < 2 * sizeof(bursts) / sizeof(bursts[0]); i++) {
		plan_of(&p, i % 2, 3);
		measure(&p, bursts[i / 2], deep(1, ALL));
		assert_true(point.least_rigid >= 960);
		assert_lines_of_moves();
	}
}

TEST(reconf__equal_loads__moves_nothing)
{
	struct reconf_plan p;

	for (uint32_t burst = 1; burst <= 64; burst += 63) {
		plan_of(&p, false, 3);
		measure(&p, burst, deep(2, ALL));
		assert_true(point.least_rigid >= 960);
		assert_int_equal(point.moves.moved, 0);
	}
}

/* STEP_ASK without a wish: equal loads pass nodes to and fro. */
TEST(paper__equal_loads__serves_less_than_a_rigid_cluster)
{
	struct reconf_plan p;

	plan_of(&p, false, 3);
	p.rules.paper = true;
	measure(&p, 64, 1);
	assert_true(point.of_rigid < 800);
	assert_true(point.moves.moved > 500);
	plan_of(&p, true, 3);
	p.rules.paper = true;
	measure(&p, 512, 1);
	assert_true(point.of_rigid < 960);
	/* At long bursts it is as good. */
	plan_of(&p, true, 6);
	p.rules.paper = true;
	measure(&p, 16384, 1);
	assert_true(point.of_over >= 900);
}

/* --- rules ------------------------------------------------------------------------ */

static uint64_t in_vain(void)
{
	uint64_t n = 0;

	for (int i = DECIDE_NO_SPARE; i < DECIDE_WHYS; i++)
		n += point.moves.why[i];
	return n;
}

static bool loses(void)
{
	return point.least_rigid < 960;
}

static bool moves(void)
{
	return point.moves.moved > 0;
}

static bool moves_again(void)
{
	return point.moves.again > 0;
}

static bool is_over_budget(void)
{
	return point.most_allowed > 1000;
}

static bool looks_in_vain(void)
{
	return in_vain() > point.moves.moved * 20;
}

/* With the rule the line holds, without it the line is broken. */
static const struct ablation {
	const char *name;
	uint32_t rule, off; /* off: left out in both runs */
	bool is_three;
	uint32_t burst, budget; /* budget 0: the plan's */
	bool (*broken)(void);
	bool sizes; /* nodes of 1 and of 4 CPUs */
} ablations[] = {
	{ "low", DECIDE_LOW, 0, false, 64, 0, moves, false },
	/* One of the two is enough for equal loads. */
	{ "gain", DECIDE_GAIN, DECIDE_LOW, false, 1, 0, moves, false },
	{ "rest", DECIDE_REST, 0, false, 512, 0, moves_again, false },
	{ "budget", DECIDE_BUDGET, 0, false, 1024, 2, is_over_budget, false },
	{ "reversal", DECIDE_REVERSAL, DECIDE_LOW, false, 64, 0, loses, false },
	{ "home", DECIDE_HOME, 0, true, 64, 0, loses, false },
	{ "backoff", DECIDE_BACKOFF, 0, false, 16384, 0, looks_in_vain, false },
	/* Sites get back as many nodes, but not as many CPUs. */
	{ "capacity", DECIDE_CAPACITY, 0, false, 512, 0, loses, true },
};

TEST(rule__left_out__breaks_a_line)
{
	for (uint32_t i = 0; i < sizeof(ablations) / sizeof(ablations[0]); i++) {
		const struct ablation *a = &ablations[i];
		struct reconf_plan p;

		for (uint32_t without = 0; without < 2; without++) {
			plan_of(&p, a->is_three, 4);
			for (uint32_t n = 0; a->sizes && n < p.web.nodes; n++)
				p.web.node_cpus[n] = n % 2 ? 4 : 1;
			p.rules.decide.off = a->off | (without ? a->rule : 0);
			if (a->budget)
				p.rules.decide.budget = a->budget;
			measure(&p, a->burst, deep(1, 20));
			if (a->broken() != !!without)
				fail_msg("%s: %s", a->name,
					 without ? "no line is broken without it"
						 : "broken with it");
		}
	}
}

/* --- the experiment itself -------------------------------------------------------- */

/*
 * In the paper a rigid cluster serves about as much at all lengths. So its bursts are of all
 * front-ends together: when each has its own, they drift apart, and all nodes have work.
 */
TEST(bursts__of_each_front_end__load_a_rigid_cluster_well)
{
	struct reconf_plan p;

	plan_of(&p, false, 8);
	p.web.bursts_apart = true;
	measure(&p, 512, 1);
	assert_true(tps(RECONF_RIGID) > 35000);
}
