// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_lab: what balancing by load is for, shown on the SIMULATED cluster: means of SEEDS seeds,
 * and only relations. The ablations show that it is the loads that do it.
 */
#include <stdlib.h>

#include "src/lab/load.h"
#include "tests/unit/unit.h"

enum { SEEDS = 4 };

static struct load_sums sums;

static uint64_t tps(enum load_policy i)
{
	return sums.policy[i].tps;
}

static void measure(uint32_t frontends)
{
	struct load_plan p;

	load_plan_default(&p);
	p.web.frontends = frontends;
	p.web.warmup_ns = NS_PER_S;
	p.web.duration_ns = 6 * NS_PER_S;
	assert_int_equal(load_run_all(&p, SEEDS, LOAD_POLICIES, &sums), 0);
}

TEST(policies__by_load__serve_more_and_none_more_than_the_bound)
{
	measure(8);
	assert_true(tps(LOAD_BY_KLM) * 100 >= tps(LOAD_BY_RANDOM) * 115);
	assert_true(tps(LOAD_BY_ULM) > tps(LOAD_BY_ROUND_ROBIN));
	assert_true(tps(LOAD_BY_KLM) > tps(LOAD_BY_ULM));
	assert_true(tps(LOAD_BY_HV) > tps(LOAD_BY_ROUND_ROBIN));
	assert_true(tps(LOAD_BY_ROUND_ROBIN) > tps(LOAD_BY_RANDOM));
	for (int i = 0; i < LOAD_POLICIES; i++)
		assert_true(sums.policy[i].tps < sums.bound);
	/* Figure 8. */
	assert_true(sums.policy[LOAD_BY_KLM].variance * 10 <=
		    sums.policy[LOAD_BY_RANDOM].variance * 6);
	/* The loads of other nodes are worse than none. */
	assert_true(tps(LOAD_BY_SWAPPED) < tps(LOAD_BY_RANDOM));
	/* 50 service times. */
	assert_true(tps(LOAD_BY_STALE_DEFAULT) * 100 >= tps(LOAD_BY_ROUND_ROBIN) * 98);
	assert_true(tps(LOAD_BY_STALE_PLAIN) * 100 < tps(LOAD_BY_ROUND_ROBIN) * 98);
	assert_true(sums.policy[LOAD_BY_STALE_DEFAULT].why[BALANCE_OLD] > 0);
	assert_true(sums.policy[LOAD_BY_KLM].why[BALANCE_GROWN] > 0);
}

/* As many front-ends as in the paper: each sees less of what the others do. */
TEST(policies__sixteen_frontends__have_the_same_order)
{
	measure(16);
	assert_true(tps(LOAD_BY_KLM) * 100 >= tps(LOAD_BY_RANDOM) * 110);
	assert_true(tps(LOAD_BY_KLM) > tps(LOAD_BY_ULM));
	assert_true(tps(LOAD_BY_ULM) > tps(LOAD_BY_RANDOM));
	assert_true(tps(LOAD_BY_STALE_DEFAULT) * 100 >= tps(LOAD_BY_ROUND_ROBIN) * 98);
	assert_true(tps(LOAD_BY_STALE_PLAIN) < tps(LOAD_BY_RANDOM));
}

/* Random choice wastes more on such nodes than the queue of a closed loop. */
TEST(bound__of_loaded_nodes_open_loops_or_clients_that_think__is_none)
{
	struct load_plan closed, p;

	load_plan_default(&closed);
	/* 32 clients, 16 CPUs. */
	assert_int_equal(load_bound(&closed, 3200), 4700);
	p = closed;
	load_plan_nodes(&p, 1);
	assert_true(load_bound(&p, 3200) == UINT64_MAX);
	load_plan_nodes(&p, 0);
	assert_int_equal(load_bound(&p, 3200), 4700);
	p.web.think_ns = NS_PER_MS;
	assert_true(load_bound(&p, 3200) == UINT64_MAX);
	p = closed;
	p.web.clients = 0;
	assert_true(load_bound(&p, 3200) == UINT64_MAX);
	p = closed;
	p.web.arrivals = 100;
	assert_true(load_bound(&p, 3200) == UINT64_MAX);
}

/* Figure 6. */
TEST(policies__loaded_nodes__are_spared)
{
	struct load_plan p;

	load_plan_default(&p);
	load_plan_nodes(&p, 4);
	p.web.wake_first = true;
	p.web.duration_ns = 6 * NS_PER_S;
	assert_int_equal(load_run_all(&p, SEEDS, LOAD_BY_SWAPPED, &sums), 0);
	assert_true(tps(LOAD_BY_KLM) * 100 >= tps(LOAD_BY_ROUND_ROBIN) * 140);
	assert_true(tps(LOAD_BY_KLM) > tps(LOAD_BY_ULM));
	assert_true(tps(LOAD_BY_ULM) * 100 >= tps(LOAD_BY_ROUND_ROBIN) * 140);
}

/* Figure 7. */
TEST(policies__two_sites__both_are_served_more)
{
	struct load_plan p;

	load_plan_default(&p);
	load_plan_shared(&p, 900, 100);
	p.web.duration_ns = 6 * NS_PER_S;
	assert_int_equal(load_run_all(&p, SEEDS, LOAD_BY_SWAPPED, &sums), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sums.policy[LOAD_BY_RANDOM].site_gain[i], 0);
		assert_in_range(sums.policy[LOAD_BY_KLM].site_gain[i], 100, 400);
		assert_true(sums.policy[LOAD_BY_KLM].site_gain[i] >
			    sums.policy[LOAD_BY_ROUND_ROBIN].site_gain[i]);
	}
}

/* Figure 4. */
TEST(accuracy__klm__is_nearer_to_the_truth_than_ulm)
{
	static struct load_accuracy a;
	struct load_plan p;
	uint32_t idle = 0, busy = 0;

	load_plan_default(&p);
	assert_int_equal(load_accuracy(&p, &a), 0);
	assert_int_equal(a.points, LOAD_POINTS_MAX);
	for (uint32_t i = 0; i < a.points; i++) {
		/* One process on two CPUs, and that of ULM. */
		assert_in_range(a.truth[i], 0, 502);
		assert_in_range(a.shown[LOAD_KLM][i], 0, 503);
		idle += a.truth[i] < 10;
		busy += a.truth[i] > 490;
	}
	/* It runs for 130 of 300 ms. */
	assert_in_range(busy, a.points * 38 / 100, a.points * 44 / 100);
	assert_in_range(idle, a.points * 52 / 100, a.points * 58 / 100);
	assert_true(a.error[LOAD_KLM] * 2 <= a.error[LOAD_ULM]);
	assert_true(a.error[LOAD_KLM] > 0);
}

/* A node that is read as often as it samples shows its records half a period old, in the mean. */
TEST(policies__ulm__knows_how_old_its_records_are)
{
	struct load_plan p;

	load_plan_default(&p);
	p.web.duration_ns = 6 * NS_PER_S;
	assert_int_equal(load_run_all(&p, SEEDS, LOAD_BY_SWAPPED, &sums), 0);
	assert_true(tps(LOAD_BY_ULM) * 1000 >= tps(LOAD_BY_RANDOM) * 1115);
	assert_true(sums.policy[LOAD_BY_ULM].reads > 0);
}

TEST(all__ranges__are_of_each_seed_over_random_choice)
{
	struct load_plan p;
	static struct load_run r[2], by_random;

	load_plan_default(&p);
	p.web.duration_ns = NS_PER_S;
	assert_int_equal(load_run_all(&p, 2, LOAD_BY_SWAPPED, &sums), 0);
	for (int k = 0; k < 2; k++, p.web.seed++) {
		int64_t service_ns;

		assert_int_equal(load_policy_run(&p, LOAD_BY_RANDOM, 0, &by_random), 0);
		service_ns = (int64_t)by_random.web.demand_ns;
		assert_int_equal(load_policy_run(&p, LOAD_BY_KLM, service_ns, &r[k]), 0);
		assert_int_equal(r[k].scan_ns, service_ns * 25 / 10);
		r[k].k_sum = r[k].web.tps * 1000 / by_random.web.tps - 1000;
	}
	assert_int_equal(sums.policy[LOAD_BY_KLM].tps, (r[0].web.tps + r[1].web.tps) / 2);
	assert_true(sums.policy[LOAD_BY_KLM].least <= sums.policy[LOAD_BY_KLM].gain);
	assert_int_equal(sums.policy[LOAD_BY_KLM].least,
			 r[0].k_sum < r[1].k_sum ? r[0].k_sum : r[1].k_sum);
	assert_int_equal(sums.policy[LOAD_BY_KLM].most,
			 r[0].k_sum < r[1].k_sum ? r[1].k_sum : r[0].k_sum);
	assert_int_equal(sums.policy[LOAD_BY_RANDOM].most, 0);
	assert_int_equal(sums.policy[LOAD_BY_SWAPPED].tps, 0); /* not run */
}
