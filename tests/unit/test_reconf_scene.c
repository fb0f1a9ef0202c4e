// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reconf_scene: what priorities and chains are for, on the SIMULATED cluster: each variant is
 * compared with another one that has the same requests. 100 seeds with RESEX_DEEP=1.
 */
#include <string.h>

#include "src/lab/reconf_scene.h"
#include "tests/unit/deep.h"
#include "tests/unit/unit.h"

enum { HIGH, LOW, IDLE1, IDLE2 };
enum { TAKER, BETWEEN, IDLE };

static struct reconf_staged staged;

static void stage(enum reconf_scene scene)
{
	struct reconf_plan p;

	reconf_plan_default(&p);
	assert_int_equal(reconf_stage(&p, scene, deep(2, 100), &staged), 0);
}

static const struct reconf_variant *variant(const char *name)
{
	for (uint32_t i = 0; i < staged.variants; i++)
		if (!strcmp(staged.of[i].name, name))
			return &staged.of[i];
	fail_msg("there is no variant %s", name);
	return NULL;
}

/* What the site serves, in 1/1000 of what it serves in the other variant. */
static uint64_t of(const char *name, const char *other, uint32_t site)
{
	return variant(name)->tps[site] * 1000 / variant(other)->tps[site];
}

/* In all seeds. */
static void assert_nodes(const char *name, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const uint32_t wanted[] = { a, b, c, d };

	for (uint32_t i = 0; i < staged.sites; i++)
		assert_int_equal(variant(name)->nodes[i], 1000 * wanted[i]);
}

/* No variant moves more, or longer. */
static void assert_bounded(uint32_t moves)
{
	struct reconf_plan p;

	reconf_plan_default(&p);
	for (uint32_t i = 0; i < staged.variants; i++) {
		assert_in_range(staged.of[i].most_moves, staged.of[i].least_moves, moves);
		/* Before each move the load is high for T; then it is shown, and T begins again. */
		assert_true(staged.of[i].most_changed_ns <=
			    2 * (moves + 1) * p.rules.checks * p.rules.scan_ns);
	}
}

TEST(qos__two_bursts_at_once__the_higher_priority_gets_the_nodes)
{
	stage(RECONF_QOS);
	assert_bounded(4);
	assert_nodes("rigid", 2, 2, 2, 2);
	assert_nodes("alike", 3, 3, 1, 1);
	assert_in_range(of("alike", "rigid", HIGH), 1450, 1550);
	assert_in_range(of("alike", "rigid", LOW), 1450, 1550);
	/* Low keeps its minimum, and serves as much as that can. */
	assert_nodes("priority", 5, 1, 1, 1);
	assert_in_range(of("priority", "rigid", HIGH), 2400, 2550);
	assert_in_range(of("priority", "rigid", LOW), 490, 550);
	/* It has them two moves later. */
	assert_true(variant("alike")->changed_ns > 0);
	assert_true(variant("priority")->changed_ns > variant("alike")->changed_ns);
	/* Not more than the higher one may have, or the lower one must keep. */
	assert_nodes("priority, low has minimum 2", 4, 2, 1, 1);
	assert_nodes("priority, high has maximum 4", 4, 2, 1, 1);
	assert_in_range(of("priority, low has minimum 2", "rigid", LOW), 980, 1020);
	/* Without priorities the guarantee gives it its nodes, and no more. */
	assert_nodes("high has guarantee 4", 4, 2, 1, 1);
}

/* Sites whose loads do not change lose the nodes that they do not need, and serve on. */
TEST(qos__idle_sites__serve_on)
{
	stage(RECONF_QOS);
	for (uint32_t i = 0; i < staged.variants; i++)
		for (uint32_t s = IDLE1; s <= IDLE2; s++)
			assert_true(staged.of[i].tps[s] * 100 >= variant("rigid")->tps[s] * 90);
}

TEST(chains__nodes_that_may_not_serve_the_taker__come_over_another_site)
{
	stage(RECONF_CHAINS);
	assert_bounded(5);
	assert_nodes("any site", 6, 1, 1, 0);
	assert_nodes("without chains", 4, 1, 3, 0);
	/*
	 * One of idle's nodes comes to the site between, which gives its own last one. With some
	 * seeds another one of idle's comes, too: that is better by margin than the one step left.
	 */
	assert_int_equal(variant("chains")->nodes[TAKER], 5000);
	assert_in_range(variant("chains")->nodes[BETWEEN], 1000, 2000);
	assert_in_range(of("chains", "without chains", TAKER), 1200, 1300);
	assert_in_range(of("chains", "without chains", BETWEEN), 950, 1050);
	assert_in_range(of("chains", "without chains", IDLE), 950, 1050);
	assert_true(variant("chains")->first.moves.why[DECIDE_MOVE_CHAIN] > 0);
	assert_true(!variant("without chains")->first.moves.why[DECIDE_MOVE_CHAIN]);
}
