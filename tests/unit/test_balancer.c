// SPDX-License-Identifier: GPL-2.0-or-later
/* balancer: what records and readings of HAProxy say of nodes. */
#include "src/cluster/balancer.h"

#include <stdlib.h>

#include "tests/unit/unit.h"

#define MS     NS_PER_MS
#define AT(ms) ((struct mono){ 1000 * NS_PER_S + (ms)*MS })

/* --- own requests that the record does not hold ------------------------------------------- */

static void read_at(struct balancer_history *h, int64_t ms, uint64_t served)
{
	uint64_t *s = balancer_reading(h, AT(ms));

	s[0] = 1; /* another server */
	s[3] = served;
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct balancer_history));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

RIG_TEST(own__of_a_record_before_and_between_readings__is_what_was_sent_since)
{
	struct balancer_history *h = *state;

	assert_int_equal(balancer_own(h, 3, 9, AT(0)), 9);
	read_at(h, 0, 100);
	/* How many were sent before the first reading is not known; after the newest, none. */
	assert_int_equal(balancer_own(h, 3, 9, AT(-1)), 9);
	assert_int_equal(balancer_own(h, 3, 9, AT(0)), 0);
	assert_int_equal(balancer_own(h, 3, 9, AT(7)), 0);
	read_at(h, 50, 110);
	read_at(h, 100, 130);
	assert_int_equal(balancer_own(h, 3, 99, AT(-1)), 99);
	assert_int_equal(balancer_own(h, 3, 99, AT(0)), 30);
	assert_int_equal(balancer_own(h, 3, 99, AT(25)), 25);
	assert_int_equal(balancer_own(h, 3, 99, AT(49)), 21); /* 109.8: rounded down */
	assert_int_equal(balancer_own(h, 3, 99, AT(50)), 20);
	assert_int_equal(balancer_own(h, 3, 99, AT(75)), 10);
	assert_int_equal(balancer_own(h, 3, 99, AT(100)), 0);
	assert_int_equal(balancer_own(h, 0, 99, AT(25)), 0);
}

RIG_TEST(own__never_more_than_are_under_way)
{
	struct balancer_history *h = *state;

	read_at(h, 0, 0);
	read_at(h, 50, UINT64_MAX / 2);
	read_at(h, 100, UINT64_MAX);
	assert_int_equal(balancer_own(h, 3, 4, AT(10)), 4);
	assert_int_equal(balancer_own(h, 3, 0, AT(10)), 0);
	/* A count that goes back says nothing. */
	read_at(h, 150, 5);
	assert_int_equal(balancer_own(h, 3, 4, AT(120)), 0);
	assert_int_equal(balancer_own(h, 3, 4, AT(60)), 4);
}

RIG_TEST(own__of_more_readings_than_are_kept__goes_by_the_newest)
{
	struct balancer_history *h = *state;

	for (int i = 0; i <= 100; i++)
		read_at(h, 10 * i, (uint64_t)i * 7);
	assert_int_equal(balancer_own(h, 3, 999, AT(1000)), 0);
	assert_int_equal(balancer_own(h, 3, 999, AT(990)), 7);
	assert_int_equal(balancer_own(h, 3, 999, AT(850)), 105); /* 15 intervals are kept */
	assert_int_equal(balancer_own(h, 3, 999, AT(849)), 999);
}

/* --- service time ----------------------------------------------------------------------------- */

static struct load_record record(int64_t ms, uint64_t cpu_ms)
{
	return (struct load_record){ .source = LOAD_ULM,
				     .cpus = 2,
				     .sampled_ns = 5 * NS_PER_S + ms * MS,
				     .busy_ns = cpu_ms * NS_PER_MS / 2,
				     .irq_ns = cpu_ms * NS_PER_MS / 4,
				     .softirq_ns = cpu_ms * NS_PER_MS / 4,
				     .steal_ns = 77 * cpu_ms * NS_PER_MS };
}

static void add(struct balancer_cost *c, int64_t ms, uint64_t cpu_ms, uint64_t served)
{
	const struct load_record r = record(ms, cpu_ms);

	balancer_cost_add(c, &r, served);
}

TEST(service_time__of_a_second_and_a_hundred_requests__is_cpu_time_each)
{
	struct balancer_cost c = { .ns = 0 };

	add(&c, 0, 400, 50);
	add(&c, 999, 800, 1050);
	assert_int_equal(balancer_service_ns(&c, 1), 0);
	add(&c, 1000, 800, 149);
	assert_int_equal(c.ns, 0);
	add(&c, 1000, 800, 150);
	assert_int_equal(balancer_service_ns(&c, 1), 4 * MS);
	/* The next interval begins there. */
	add(&c, 2000, 1000, 350);
	assert_int_equal(c.ns, MS);
	add(&c, 3000, 1000, 350);
	assert_int_equal(c.ns, MS);
}

TEST(service_time__of_something_else__begins_anew)
{
	static const struct {
		const char *what;
		struct load_record r;
		uint64_t served;
	} rows[] = {
		{ "another source",
		  { .source = LOAD_KLM,
		    .cpus = 2,
		    .sampled_ns = 6 * NS_PER_S,
		    .busy_ns = NS_PER_S },
		  0 },
		{ "more CPUs",
		  { .source = LOAD_ULM,
		    .cpus = 4,
		    .sampled_ns = 6 * NS_PER_S,
		    .busy_ns = NS_PER_S },
		  0 },
		{ "an older time", { .source = LOAD_ULM, .cpus = 2, .sampled_ns = -1 }, 0 },
		{ "less CPU time",
		  { .source = LOAD_ULM, .cpus = 2, .sampled_ns = 6 * NS_PER_S, .busy_ns = 9 },
		  0 },
		{ "fewer requests",
		  { .source = LOAD_ULM,
		    .cpus = 2,
		    .sampled_ns = 6 * NS_PER_S,
		    .busy_ns = NS_PER_S },
		  0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct balancer_cost c = { .ns = 0 };
		struct load_record r = rows[i].r;

		add(&c, 0, 400, 50);
		balancer_cost_add(&c, &r, i == 4 ? 49 : 500);
		if (c.ns)
			fail_msg("%s: %lld", rows[i].what, (long long)c.ns);
		/* From there on. */
		r.sampled_ns = r.sampled_ns < 0 ? NS_PER_S : r.sampled_ns + NS_PER_S;
		r.busy_ns += NS_PER_S;
		balancer_cost_add(&c, &r, 900);
		if (!c.ns && rows[i].r.sampled_ns >= 0)
			fail_msg("%s: it does not go on", rows[i].what);
	}
}

/* 10 ticks of the kernel's clock, or a minute. */
TEST(service_time__of_little_cpu_time__is_taken_later)
{
	struct balancer_cost c = { .ns = 0 };

	add(&c, 0, 0, 0);
	add(&c, 50000, 99, 990);
	assert_int_equal(c.ns, 0);
	add(&c, 50010, 100, 1000);
	assert_int_equal(c.ns, MS / 10);
	add(&c, 110009, 160, 1600);
	assert_int_equal(c.ns, MS / 10);
	add(&c, 110010, 160, 1800);
	assert_int_equal(c.ns, 60 * MS / 800);
	/* With few requests it begins anew. */
	add(&c, 170010, 9999, 1899);
	add(&c, 171010, 10199, 1999);
	assert_int_equal(c.ns, 2 * MS);
}

TEST(service_time__of_many_nodes__is_the_median_that_is_known_within_bounds)
{
	struct balancer_cost c[5] = { { .ns = 5 * MS }, { .ns = 0 }, { .ns = 3 * MS } };

	assert_int_equal(balancer_service_ns(c, 3), 3 * MS);
	assert_int_equal(balancer_service_ns(c, 2), 5 * MS);
	assert_int_equal(balancer_service_ns(&c[1], 1), 0);
	c[3].ns = 100 * MS;
	assert_int_equal(balancer_service_ns(c, 4), 5 * MS);
	c[4].ns = 100 * MS;
	assert_int_equal(balancer_service_ns(c, 5), 5 * MS);
	c[2].ns = 100 * MS;
	assert_int_equal(balancer_service_ns(c, 5), 100 * MS);
	add(&c[1], 0, 0, 0);
	add(&c[1], 60000, 0, 100);
	assert_int_equal(c[1].ns, NS_PER_US);
	add(&c[1], 61000, 4000000, 200);
	assert_int_equal(c[1].ns, 10 * NS_PER_S);
}

/* --- nodes ------------------------------------------------------------------------------------ */

TEST(node__by_its_record__counts_the_run_queue_only_where_it_is_seen)
{
	static const struct {
		bool there;
		uint32_t source, flags;
		int index;
		bool known, queue;
	} rows[] = {
		{ true, LOAD_ULM, 0, 500, true, true },
		{ true, LOAD_KLM, 0, 500, true, true },
		{ true, LOAD_KLM, LOAD_NO_RUNNING, 500, true, false },
		{ true, LOAD_HV, LOAD_NO_RUNNING, 0, true, false },
		{ true, LOAD_KLM, 0, -1, false, false },
		{ true, LOAD_ULM, LOAD_DISAGREES, 500, false, false },
		{ true, LOAD_HV, LOAD_NO_RUNNING | LOAD_DISAGREES, 500, true, false },
		{ false, 0, 0, 500, false, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct load_record r = {
			.source = rows[i].source, .flags = rows[i].flags, .cpus = 3, .running = 7
		};
		const struct balance_node n = balancer_node(rows[i].there ? &r : NULL, false,
							    rows[i].index, 5 * MS, 11);

		if (n.known != rows[i].known || n.queue != rows[i].queue)
			fail_msg("row %zu", i);
		assert_int_equal(n.own, 11);
		assert_int_equal(n.age_ns, 5 * MS);
		assert_int_equal(n.cpus, rows[i].there ? 3 : 0);
		assert_int_equal(n.contradicted, n.known && rows[i].flags & LOAD_DISAGREES);
		if (!n.known)
			continue;
		assert_int_equal(n.index, rows[i].index);
		assert_int_equal(n.running, 7000);
	}
}

TEST(node__with_a_run_queue_that_no_node_has__is_cut)
{
	const struct load_record r = { .source = LOAD_KLM, .cpus = 1, .running = UINT32_MAX };

	assert_int_equal(balancer_node(&r, false, 0, 0, 0).running, 1000000000);
}

TEST(node__guest_that_hides_its_tasks__has_as_many_as_it_used_cpus)
{
	struct load_record r = { .source = LOAD_ULM, .cpus = 2, .running = 1 };

	assert_int_equal(balancer_node(&r, true, 900, 0, 0).running, 1800);
	assert_int_equal(balancer_node(&r, false, 900, 0, 0).running, 1000);
	r.running = 5;
	assert_int_equal(balancer_node(&r, true, 900, 0, 0).running, 5000);
}
