// SPDX-License-Identifier: GPL-2.0-or-later
/* balance: weights from loads: limits, ages, own requests, hysteresis. */
#include <errno.h>
#include <string.h>

#include "src/reconf/balance.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

#define MS INT64_C(1000000)

enum { N = 4 };

static const struct balance_conf plain_auto = { .service_ns = 10 * MS, .stale_ns = 1000 * MS };

/* Nodes of two CPUs with so many tasks. */
static void tasks(struct balance_node node[N], uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	uint32_t t[N] = { a, b, c, d };

	for (int i = 0; i < N; i++)
		node[i] = (struct balance_node){ .known = true,
						 .index = 1000,
						 .queue = true,
						 .running = t[i] * 1000,
						 .cpus = 2 };
}

static void aged(struct balance_node node[N], int64_t age_ns)
{
	for (int i = 0; i < N; i++)
		node[i].age_ns = age_ns;
}

static void gives(const struct balance *b, uint16_t w0, uint16_t w1, uint16_t w2, uint16_t w3)
{
	assert_int_equal(b->weight[0], w0);
	assert_int_equal(b->weight[1], w1);
	assert_int_equal(b->weight[2], w2);
	assert_int_equal(b->weight[3], w3);
}

TEST(decide__fresh_loads__choose_the_least_loaded)
{
	struct balance b = { .nodes = 0 };
	struct balance_node node[N];

	tasks(node, 5, 3, 4, 6);
	assert_int_equal(balance_decide(&b, &plain_auto, node, N), 0);
	gives(&b, 0, 256, 0, 0);
	assert_int_equal(b.k, 1);
	assert_int_equal(b.why, BALANCE_FRESH);
	assert_int_equal(b.age_ns, 0);
	tasks(node, 5, 3, 3, 6);
	assert_int_equal(balance_decide(&b, &plain_auto, node, N), 0);
	gives(&b, 0, 256, 256, 0);
	assert_int_equal(b.k, 2);
	assert_int_equal(b.why, BALANCE_FRESH);
}

/* 8 CPUs, half a service time: 4 requests and the own one fill 1, 3, 4, 6 to a level of 4.33. */
TEST(decide__older_loads__weigh_the_nodes_by_the_room_below_the_level)
{
	struct balance b = { .nodes = 0 };
	struct balance_node node[N];

	tasks(node, 1, 3, 4, 6);
	aged(node, 5 * MS);
	assert_int_equal(balance_decide(&b, &plain_auto, node, N), 0);
	assert_int_equal(b.weight[0], 256);
	assert_in_range(b.weight[1], 256 * 4 / 10, 256 * 4 / 10 + 2);
	assert_in_range(b.weight[2], 256 / 10, 256 / 10 + 2);
	assert_int_equal(b.weight[3], 0);
	assert_int_equal(b.k, 3);
	assert_int_equal(b.why, BALANCE_GROWN);
	assert_int_equal(b.age_ns, 5 * MS);
}

TEST(decide__growing_age__k_grows_until_all_are_equal)
{
	struct balance_node node[N];
	uint32_t k = 0;

	tasks(node, 0, 2, 4, 6);
	for (int64_t age = 0; age <= 300 * MS; age += MS) {
		struct balance b = { .nodes = 0 };

		aged(node, age);
		assert_int_equal(balance_decide(&b, &plain_auto, node, N), 0);
		assert_true(b.k >= k);
		k = b.k;
		assert_int_equal(b.why == BALANCE_FRESH, b.k == 1);
		if (age == 300 * MS) {
			gives(&b, 256, 256, 256, 256);
			assert_int_equal(b.why, BALANCE_OLD);
		}
		if (age == 20 * MS)
			assert_int_equal(b.why, BALANCE_GROWN);
	}
	assert_int_equal(k, N);
}

TEST(decide__no_service_time__age_does_not_count)
{
	struct balance_conf c = { .service_ns = 0, .stale_ns = 1000 * MS };
	struct balance b = { .nodes = 0 };
	struct balance_node node[N];

	tasks(node, 0, 2, 4, 6);
	aged(node, 1000 * MS);
	assert_int_equal(balance_decide(&b, &c, node, N), 0);
	gives(&b, 256, 0, 0, 0);
}

TEST(decide__own_requests__count_as_load)
{
	struct balance b = { .nodes = 0 };
	struct balance_node node[N];

	tasks(node, 2, 3, 4, 6);
	node[0].own = 3;
	assert_int_equal(balance_decide(&b, &plain_auto, node, N), 0);
	gives(&b, 0, 256, 0, 0);
}

TEST(decide__source_without_run_queue__goes_by_the_index)
{
	struct balance b = { .nodes = 0 };
	struct balance_node node[N];

	tasks(node, 0, 0, 0, 0);
	for (int i = 0; i < N; i++)
		node[i].queue = false;
	node[1].index = 400;
	assert_int_equal(balance_decide(&b, &plain_auto, node, N), 0);
	gives(&b, 0, 256, 0, 0);
}

TEST(decide__more_cpus__get_more)
{
	struct balance b = { .nodes = 0 };
	struct balance_node node[N];

	tasks(node, 4, 8, 4, 4);
	node[1].cpus = 4; /* as loaded as the others */
	aged(node, 10 * MS);
	assert_int_equal(balance_decide(&b, &plain_auto, node, N), 0);
	gives(&b, 128, 256, 128, 128);
	aged(node, 1001 * MS);
	assert_int_equal(balance_decide(&b, &plain_auto, node, N), 0);
	gives(&b, 128, 256, 128, 128);
	assert_int_equal(b.why, BALANCE_STALE);
}

TEST(decide__stale_or_missing__all_equal_when_half_are)
{
	struct balance_conf c = plain_auto;
	struct balance b = { .nodes = 0 };
	struct balance_node node[N];

	c.keep = 200;
	tasks(node, 0, 2, 4, 6);
	aged(node, 1000 * MS);
	c.service_ns = 0;
	assert_int_equal(balance_decide(&b, &c, node, N), 0);
	gives(&b, 256, 0, 0, 0); /* at the limit */
	node[0].age_ns++;
	assert_int_equal(balance_decide(&b, &c, node, N), 0);
	assert_int_equal(b.why, BALANCE_FRESH);
	gives(&b, 0, 256, 0, 0); /* the stale one counts as 4, the mean of the others */
	node[1].known = false;
	assert_int_equal(balance_decide(&b, &c, node, N), 0);
	assert_int_equal(b.why, BALANCE_STALE);
	gives(&b, 256, 256, 256, 256);
	assert_int_equal(b.k, N);
	assert_int_equal(b.age_ns, 1000 * MS);
}

TEST(decide__equal_by_age__keeps_no_weight_of_before)
{
	static const int64_t age[] = { 300 * MS, 1001 * MS };
	static const enum balance_why why[] = { BALANCE_OLD, BALANCE_STALE };

	for (int i = 0; i < 2; i++) {
		struct balance_conf c = plain_auto;
		struct balance b = { .nodes = 0 };
		struct balance_node node[N];

		c.keep = 200;
		tasks(node, 1, 2, 3, 4);
		aged(node, 20 * MS);
		assert_int_equal(balance_decide(&b, &c, node, N), 0);
		assert_true(b.weight[1] < 256 && b.weight[1] > 56);
		aged(node, age[i]);
		assert_int_equal(balance_decide(&b, &c, node, N), 0);
		assert_int_equal(b.why, why[i]);
		gives(&b, 256, 256, 256, 256);
	}
}

TEST(decide__hysteresis__keeps_weights_that_differ_little)
{
	struct balance_conf c = plain_auto;
	struct balance b = { .nodes = 0 };
	struct balance_node node[N];
	uint16_t was;

	tasks(node, 1, 3, 4, 6);
	aged(node, 5 * MS);
	assert_int_equal(balance_decide(&b, &c, node, N), 0);
	was = b.weight[1];
	aged(node, 55 * MS / 10);
	c.keep = 40;
	assert_int_equal(balance_decide(&b, &c, node, N), 0);
	assert_int_equal(b.weight[1], was);
	c.keep = 0;
	assert_int_equal(balance_decide(&b, &c, node, N), 0);
	assert_true(b.weight[1] > was && b.weight[1] <= was + 40);
	c.keep = b.weight[1] - was; /* the limit */
	b.weight[1] = was;
	assert_int_equal(balance_decide(&b, &c, node, N), 0);
	assert_int_equal(b.weight[1], was);
	c.keep--;
	assert_int_equal(balance_decide(&b, &c, node, N), 0);
	assert_true(b.weight[1] > was);
	c.keep = 256; /* but to 0 at once, and from it */
	tasks(node, 9, 0, 9, 6);
	assert_int_equal(balance_decide(&b, &c, node, N), 0);
	assert_int_equal(b.weight[0], 0);
	assert_true(b.weight[1] > 0);
}

TEST(decide__plain__takes_k_and_looks_at_nothing_else)
{
	struct balance_conf c = { .k = 2, .plain = true, .service_ns = MS, .stale_ns = MS };
	struct balance b = { .nodes = 0 };
	struct balance_node node[N];

	tasks(node, 0, 3, 2, 6);
	aged(node, 1000 * MS);
	node[0].own = 100;
	assert_int_equal(balance_decide(&b, &c, node, N), 0);
	gives(&b, 256, 0, 256, 0);
	assert_int_equal(b.k, 2);
	assert_int_equal(b.why, BALANCE_GIVEN);
	c.plain = false;
	assert_int_equal(balance_decide(&b, &c, node, N), 0);
	gives(&b, 256, 256, 256, 256); /* stale */
}

TEST(decide__number_of_nodes_out_of_range__is_refused)
{
	static struct balance_node node[BALANCE_NODES_MAX + 1];
	struct balance b = { .nodes = 7 };

	assert_int_equal(balance_decide(&b, &plain_auto, node, 0), -EINVAL);
	assert_int_equal(balance_decide(&b, &plain_auto, node, BALANCE_NODES_MAX + 1), -EINVAL);
	assert_int_equal(b.nodes, 7);
	assert_int_equal(balance_decide(&b, &plain_auto, node, BALANCE_NODES_MAX), 0);
}

/* Records are hostile: whatever they say, somebody gets the requests, and weights are in range. */
TEST(decide__of_any_figures__weights_are_in_range)
{
	struct balance b = { .nodes = 0 };
	uint32_t by_why[BALANCE_WHYS] = { 0 };
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 20000; i++) {
		struct balance_node node[12] = { { .known = false } };
		uint32_t n = (uint32_t)prop_range(&p, 1, 12), most = 0, k = 0;
		struct balance_conf c = {
			.k = (uint32_t)prop_range(&p, 0, 3) ? 0 : (uint32_t)prop_range(&p, 0, 14),
			.service_ns = (int64_t)(prop_u64(&p) >> prop_range(&p, 0, 63)),
			.stale_ns = (int64_t)(prop_u64(&p) >> prop_range(&p, 1, 63)),
			.keep = (uint32_t)prop_range(&p, 0, 100),
		};

		for (uint32_t j = 0; j < n; j++) {
			node[j].known = !prop_one_in(&p, 6);
			node[j].queue = prop_one_in(&p, 2);
			node[j].index = (uint32_t)(prop_u64(&p) >> prop_range(&p, 32, 63));
			node[j].running = (uint32_t)(prop_u64(&p) >> prop_range(&p, 32, 63));
			node[j].own = (uint32_t)(prop_u64(&p) >> prop_range(&p, 32, 63));
			node[j].under_way = (uint32_t)(prop_u64(&p) >> prop_range(&p, 32, 63));
			node[j].cpus = (uint32_t)(prop_u64(&p) >> prop_range(&p, 32, 63));
			node[j].age_ns = (int64_t)(prop_u64(&p) >> prop_range(&p, 0, 63));
		}
		assert_int_equal(balance_decide(&b, &c, node, n), 0);
		for (uint32_t j = 0; j < n; j++) {
			assert_in_range(b.weight[j], 0, BALANCE_WEIGHT_MAX);
			k += b.weight[j] > 0;
			most = b.weight[j] > most ? b.weight[j] : most;
		}
		assert_true(most >= BALANCE_WEIGHT_MAX - c.keep);
		assert_int_equal(b.k, k);
		assert_in_range(b.why, 0, BALANCE_WHYS - 1);
		assert_true(b.age_ns >= 0 && b.age_ns <= c.stale_ns);
		by_why[b.why]++;
	}
	for (int i = 0; i < BALANCE_WHYS; i++)
		assert_in_range(by_why[i], 100, 20000);
}

/* A guest with a full queue has an index of 1000, as one that is just busy. */
TEST(decide__no_run_queue_seen__requests_under_way_count_at_least)
{
	static const struct {
		uint32_t index, own, under_way;
		bool queue, known;
		uint32_t load; /* of node 0, in tasks on its two CPUs */
	} rows[] = {
		{ 1000, 0, 8, false, true, 8 },	 /* they wait */
		{ 1000, 0, 1, false, true, 2 },	 /* it is the one that runs, and another task */
		{ 1000, 8, 8, false, true, 10 }, /* none is in the index yet */
		{ 1000, 0, 8, true, true, 1 },	 /* it sees its queue */
		{ 1000, 0, 8, false, false, 8 }, /* nothing else is known */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct balance b = { .nodes = 0 };
		struct balance_node node[N];

		tasks(node, 1, 4, 4, 4);
		node[0].index = rows[i].index;
		node[0].own = rows[i].own;
		node[0].under_way = rows[i].under_way;
		node[0].queue = rows[i].queue;
		node[0].known = rows[i].known;
		/* It gets requests alone below the load of the others, with them at the same. */
		for (uint32_t others = 1; others < 16; others++) {
			bool most = others > rows[i].load, same = others == rows[i].load;

			if (!rows[i].known && others != 4)
				continue;
			for (int k = 1; k < N; k++)
				node[k].running = others * 1000;
			assert_int_equal(balance_decide(&b, &plain_auto, node, N), 0);
			assert_int_equal(b.weight[0], most || same ? 256 : 0);
			assert_int_equal(b.weight[1], most ? 0 : 256);
			b.nodes = 0;
		}
	}
}

/* Whatever is known of it. */
TEST(decide__contradicted_nodes__come_last)
{
	struct balance b = { .nodes = 0 };
	struct balance_node node[N];

	for (int64_t age = 0; age <= 300 * MS; age += 50 * MS) {
		tasks(node, 0, 2, 4, 6);
		aged(node, age);
		node[0].contradicted = true;
		b.nodes = 0;
		assert_int_equal(balance_decide(&b, &plain_auto, node, N), 0);
		assert_int_equal(b.weight[0], 0);
		assert_int_equal(b.weight[1], 256);
	}
	assert_int_equal(b.k, 3);
	/* Above the greatest load that there is. */
	aged(node, 0);
	for (int i = 1; i < N; i++) {
		node[i].running = UINT32_MAX;
		node[i].own = UINT32_MAX;
		node[i].cpus = 1;
	}
	b.nodes = 0;
	assert_int_equal(balance_decide(&b, &plain_auto, node, N), 0);
	gives(&b, 0, 256, 256, 256);
	/* When all are, they are as any others that are equally loaded. */
	for (int i = 0; i < N; i++)
		node[i].contradicted = true;
	b.nodes = 0;
	assert_int_equal(balance_decide(&b, &plain_auto, node, N), 0);
	assert_int_equal(b.k, N);
}

TEST(why__each__is_a_sentence_of_its_own)
{
	for (int i = 0; i < BALANCE_WHYS; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(balance_why_text((enum balance_why)i),
						balance_why_text((enum balance_why)k));
	assert_string_equal(balance_why_text(BALANCE_WHYS), "?");
}

/* The example of resex-load(7): change both. */
TEST(decide__the_example_of_the_page__gives_its_figures)
{
	static const struct balance_conf c = { .service_ns = 20 * MS, .stale_ns = 525 * MS };
	struct balance b = { .nodes = 0 };
	struct balance_node node[N] = {
		{ .known = true, .queue = true, .running = 16000, .cpus = 2, .age_ns = 50 * MS },
		{ .known = true, .index = 500, .cpus = 2, .age_ns = 50 * MS },
		{ .known = true, .index = 250, .own = 3, .cpus = 2, .age_ns = 50 * MS },
		{ .known = true, .queue = true, .running = 4000, .cpus = 2, .age_ns = 50 * MS },
	};

	balance_decide(&b, &c, node, N);
	gives(&b, 0, 256, 184, 170);
	assert_true(b.k == 3 && b.why == BALANCE_GROWN);
	aged(node, 200 * MS);
	b.nodes = 0;
	balance_decide(&b, &c, node, N);
	gives(&b, 105, 256, 231, 226);
	assert_int_equal(b.k, 4);
	aged(node, 526 * MS);
	balance_decide(&b, &c, node, N);
	gives(&b, 256, 256, 256, 256);
	assert_int_equal(b.why, BALANCE_STALE);
}
