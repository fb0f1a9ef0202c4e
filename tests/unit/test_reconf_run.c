// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reconf_run: a run of nodes that move on the SIMULATED cluster, in its parts: what is served, what
 * a move puts out, what is counted. Runs are short: test_reconf_lab has the figures of long ones.
 */
#include <errno.h>

#include "src/lab/reconf.h"
#include "tests/unit/unit.h"

static struct reconf_run result;

static void plan_of(struct reconf_plan *p, uint32_t burst)
{
	reconf_plan_default(p);
	p->web.warmup_ns = NS_PER_S / 5;
	p->web.duration_ns = NS_PER_S;
	p->web.site_burst = burst;
}

static void run(const struct reconf_plan *p, enum reconf_mode mode)
{
	assert_int_equal(reconf_run(p, mode, &result), 0);
	assert_int_equal(result.web.refused, 0);
}

/* Two nodes, five nodes, and those that come. */
TEST(run__bursts__are_served_by_as_many_nodes_as_a_site_has)
{
	struct reconf_plan p;

	plan_of(&p, 2048);
	run(&p, RECONF_RIGID);
	assert_in_range(result.tps, 17300 * 1000, 19000 * 1000);
	assert_in_range(result.busy[60], 2, 4);
	assert_int_equal(result.moves.asked + result.scan_reads, 0);
	run(&p, RECONF_OVER);
	assert_in_range(result.tps, 43000 * 1000, 45000 * 1000);
	run(&p, RECONF_MOVES);
	assert_in_range(result.tps, 34000 * 1000, 43000 * 1000);
}

/* 5 CPUs of a site, on nodes of 4 and of 1, get requests by their number. */
TEST(run__nodes_of_several_sizes__are_all_busy)
{
	struct reconf_plan p;

	plan_of(&p, 2048);
	for (uint32_t i = 0; i < p.web.nodes; i++)
		p.web.node_cpus[i] = i % 2 ? 1 : 4;
	run(&p, RECONF_RIGID);
	assert_in_range(result.tps, 21700 * 1000, 24000 * 1000);
	for (uint32_t i = 0; i < p.web.nodes; i += 2)
		assert_in_range(result.web.by_node[i], result.web.by_node[i + 1] * 39 / 10,
				result.web.by_node[i + 1] * 41 / 10);
}

TEST(move__without_a_sweep__puts_out_few_operations)
{
	const struct reconf_moves *m = &result.moves;
	struct reconf_plan p;
	uint64_t clean;

	plan_of(&p, 2048);
	run(&p, RECONF_MOVES);
	clean = m->moved - m->swept;
	assert_in_range(m->moved, 40, 200);
	assert_in_range(m->swept, 1, 12);
	/* The counter twice, both locks, eight words; two locks, the node, two locks; the donor. */
	assert_int_equal(m->ops[STEP_READ], 12 * clean);
	assert_int_equal(m->ops[STEP_CAS], 5 * clean);
	assert_int_equal(m->ops[STEP_FAA], clean);
	assert_int_equal(m->ops_most[STEP_READ], 12);
	assert_int_equal(m->moved + m->result[MOVE_COUNTER_AHEAD], m->asked);
	assert_int_equal(m->home, 0);
}

static uint64_t decisions(void)
{
	uint64_t n = 0;

	for (int i = 0; i < DECIDE_WHYS; i++)
		n += result.moves.why[i];
	return n;
}

TEST(paper__asks_without_a_decision)
{
	struct reconf_plan p;

	plan_of(&p, 64);
	run(&p, RECONF_MOVES);
	assert_true(decisions() > 1000);
	assert_int_equal(result.moves.moved, 0);
	p.rules.paper = true;
	run(&p, RECONF_MOVES);
	assert_int_equal(decisions(), 0);
	assert_in_range(result.moves.moved, 200, 2000);
}

/* decide_seen() and decide_asked() are called. */
TEST(rules__of_earlier_moves__are_in_force)
{
	const struct reconf_moves *m = &result.moves;
	struct reconf_plan p;

	plan_of(&p, 512);
	run(&p, RECONF_MOVES);
	assert_int_equal(m->again, 0);
	assert_true(m->why[DECIDE_FROZEN] > 0);
	p.rules.decide.off = DECIDE_REST;
	run(&p, RECONF_MOVES);
	assert_in_range(m->again, 1, m->moved);
	plan_of(&p, 1024);
	p.rules.decide.budget = 2;
	run(&p, RECONF_MOVES);
	/* Four sites: 2, and 2 in each 300 ms. */
	assert_in_range(m->moved, 4, 4 * (2 + 8));
	assert_true(m->why[DECIDE_OVER_BUDGET] > 0 && m->why[DECIDE_BACKS_OFF] > 0);
}

/* Sites that are all served by their nodes have no high load. */
TEST(run__few_clients__have_calm_sites)
{
	struct reconf_plan p;

	plan_of(&p, 1);
	p.web.clients = 4;
	run(&p, RECONF_MOVES);
	assert_int_equal(result.moves.asked, 0);
	for (int i = 0; i < DECIDE_WHYS; i++)
		assert_true(i == DECIDE_CALM || !result.moves.why[i]);
	p.rules.paper = true;
	run(&p, RECONF_MOVES);
	assert_int_equal(result.moves.asked, 0);
}

TEST(point__several_seeds__has_means_and_the_least)
{
	static struct reconf_point point;
	struct reconf_plan p;
	uint64_t sum = 0;

	plan_of(&p, 512);
	assert_int_equal(reconf_point(&p, 700, 0, &point), -EINVAL);
	assert_int_equal(reconf_point(&p, 700, 2, &point), 0);
	assert_int_equal(point.burst, 700);
	p.web.site_burst = 700;
	for (int i = 0; i < 2; i++, p.web.seed++) {
		run(&p, RECONF_MOVES);
		sum += result.tps;
	}
	assert_int_equal(point.tps[RECONF_MOVES], sum / 2);
	assert_true(point.least_rigid <= point.of_rigid && point.least_over <= point.of_over);
	/* Of two seeds: four sites, 16 and 16 in each 900 ms / 3. */
	assert_int_equal(point.allowed, 2 * 4 * (16 + 64));
}

TEST(run__the_same_seed__is_the_same_and_keeps_all_nodes)
{
	static struct reconf_run a, b, c;
	struct reconf_plan p;
	uint32_t sum = 0;

	plan_of(&p, 2048);
	assert_int_equal(reconf_run(&p, RECONF_MOVES, &a), 0);
	assert_int_equal(reconf_run(&p, RECONF_MOVES, &b), 0);
	assert_memory_equal(&a, &b, sizeof(a));
	p.web.seed++;
	assert_int_equal(reconf_run(&p, RECONF_MOVES, &c), 0);
	assert_memory_not_equal(&a, &c, sizeof(a));
	for (uint32_t s = 0; s < 4; s++) {
		assert_in_range(a.nodes[s], 1, 5);
		sum += a.nodes[s];
	}
	assert_int_equal(sum, 8);
	assert_in_range(a.intervals, 99, 100);
	/* 16 READs a scan of each of 4 balancers, each ms of 1.2 s. */
	assert_in_range(a.scan_reads, 64 * 1190, 64 * 1200);
}

TEST(run__what_is_out_of_range__is_refused)
{
	static struct reconf_run r;
	struct reconf_plan p;

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		plan_of(&p, 2048);                                                                 \
		change;                                                                            \
		assert_int_equal(reconf_run(&p, RECONF_MOVES, &r), -EINVAL);                       \
	} while (0)
	REFUSED(p.web.sites = WEB_SITES_MAX + 1);
	REFUSED(p.share[1] = 3);
	REFUSED(p.rules.service[1].minimum = 3);
	REFUSED(p.rules.service[1].minimum = 0);
	REFUSED(p.rules.service[1].guarantee = 9);
	REFUSED((p.rules.service[1].maximum = 3, p.rules.service[1].guarantee = 4));
	REFUSED(p.rules.service[0].priority = 8);
	REFUSED(p.rules.may[2] = 1 << 0); /* it begins in site 1 */
	REFUSED(p.busy[0] = 1);
	REFUSED(p.web.site_burst = 0); /* and no clients instead */
	REFUSED((p.web.site_burst = 0, p.busy[0] = 129));
	REFUSED((p.web.site_burst = 0, p.busy[0] = 1, p.calm[0] = 129));
	REFUSED(p.web.cpus = 0);
	REFUSED(p.over = 9);
	REFUSED(p.rules.scan_ns = p.there_ns);
	REFUSED(p.rules.low = p.rules.high);
	REFUSED(p.rules.decide.budget = 0);
#undef REFUSED
}
