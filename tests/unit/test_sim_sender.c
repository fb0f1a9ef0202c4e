// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sim/sender: queue pairs in turn, closed and open loop, READs; and what of
 * it a parked guest can still do.
 */
#include <string.h>

#include "tests/unit/sim_rig.h"
#include "tests/unit/unit.h"

static struct sim_conf one_sender(enum sample_op op, uint32_t msg_bytes)
{
	struct sim_conf c;

	sim_conf_demo(&c);
	c.guests = 1;
	c.guest[0] = c.guest[BULK];
	c.guest[0].app[0].op = op;
	c.guest[0].app[0].msg_bytes = msg_bytes;
	return c;
}

/* --- queue pairs --- */

TEST(closed_loop__of_several_queue_pairs__keeps_depth_on_each)
{
	struct sim_conf c = one_sender(OP_SEND, 16 << 20);
	struct sim_host *h;

	c.guest[0].app[0].qps = 3;
	c.guest[0].app[0].depth = 2;
	h = host_open(&c);
	/* All six are posted at once and sent in turn: each queue pair's first ends near 47 ms. */
	run_to(h, 40 * MS);
	assert_int_equal(truth(h, 0).wrs, 0);
	run_to(h, 50 * MS);
	assert_int_equal(truth(h, 0).wrs, 3);
	run_to(h, 1 * S);
	assert_near(truth(h, 0).bytes, 1u << 30, 3 * (16 << 20));
	sim_close(h);
}

TEST(sender__with_one_cpu__posts_no_faster_than_it_can)
{
	struct sim_conf c = one_sender(OP_WRITE, 1);
	struct sim_host *h;

	c.guest[0].app[0].qps = 8;
	c.guest[0].app[0].depth = 128;
	c.guest[0].app[0].post_ns = 2000;
	h = host_open(&c);
	run_to(h, 1 * S);
	assert_near(truth(h, 0).wrs, 500000, 2);
	run_to(h, 2 * S);
	assert_near(truth(h, 0).wrs, 1000000, 2);
	sim_close(h);
}

TEST(sender__of_64_queue_pairs__serves_them_all)
{
	struct sim_conf c = one_sender(OP_WRITE, 64 << 10);
	struct sim_host *h;

	c.guest[0].app[0].qps = SIM_APP_QPS_MAX;
	h = host_open(&c);
	run_to(h, 1 * S);
	assert_near(truth(h, 0).bytes, 1u << 30, 64 * (64 << 10));
	assert_true(truth(h, 0).wrs >= 255 * 64);
	sim_close(h);
}

/* --- READ --- */

TEST(read__brings_in_what_it_asks_for__at_the_links_rate)
{
	struct sim_conf c = one_sender(OP_READ, 64 << 10);
	struct sim_host *h;
	struct sim_truth t;

	c.guest[0].app[0].depth = 16;
	h = host_open(&c);
	t = did(h, 0, 100 * MS, 1100 * MS);
	assert_near(t.bytes, 1u << 30, 64 << 10);
	assert_int_equal(t.bytes_recv, t.bytes);
	assert_int_equal(t.mtus_recv, t.mtus);
	assert_int_equal(t.mtus, t.wrs * 64);
	sim_close(h);
}

TEST(read__takes_nothing_from_what_is_sent)
{
	struct sim_host *h;
	struct sim_conf c;

	sim_conf_demo(&c);
	c.guest[BULK].app[0].op = OP_READ;
	c.guest[BULK].app[0].depth = 16;
	h = host_open(&c);
	run_to(h, 1 * S);
	assert_near(truth(h, SERVER).latency_sum_ns / truth(h, SERVER).requests, 209000, 200);
	assert_near(truth(h, BULK).bytes_recv, 1u << 30, 2 << 20);
	sim_close(h);
}

TEST(readers__of_two_guests__share_what_comes_in)
{
	struct sim_conf c = one_sender(OP_READ, 64 << 10);
	struct sim_host *h;

	c.guests = 2;
	c.guest[0].app[0].depth = 16;
	c.guest[1] = c.guest[0];
	c.guest[1].app[0].msg_bytes = 1 << 20;
	h = host_open(&c);
	run_to(h, 2 * S);
	assert_near(truth(h, 0).bytes, 1u << 30, 2 << 20);
	assert_near(truth(h, 1).bytes, 1u << 30, 2 << 20);
	sim_close(h);
}

/* --- open loop --- */

TEST(open_loop__that_can_be_served__keeps_its_rate)
{
	static const uint64_t rates[] = { 1, 7, 1000, 12345, 400000 };

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct sim_conf c = one_sender(OP_WRITE, 256);
		struct sim_app_truth t;
		struct sim_host *h;
		uint64_t before;

		c.guest[0].app[0].rate = rates[i];
		c.guest[0].app[0].burst = 1;
		c.guest[0].app[0].depth = 8;
		h = host_open(&c);
		run_to(h, 1 * S);
		before = truth(h, 0).wrs;
		run_to(h, 6 * S);
		t = app_truth(h, 0, 0);
		assert_near(t.wrs - before, 5 * rates[i], 1);
		assert_int_equal(t.dropped, 0);
		assert_in_range(t.waiting, 0, 1);
		assert_int_equal(truth(h, 0).cpu_ns, 6 * S); /* it polls meanwhile */
		sim_close(h);
	}
}

TEST(open_loop__in_bursts__comes_so_many_at_once)
{
	struct sim_conf c = one_sender(OP_WRITE, 256);
	uint64_t last = 0, most = 0, active = 0;
	struct sim_host *h;

	c.guest[0].app[0].rate = 10000;
	c.guest[0].app[0].burst = 100; /* each 10 ms */
	c.guest[0].app[0].depth = 128;
	h = host_open(&c);
	for (int64_t t = MS; t <= 1 * S; t += MS) {
		uint64_t now, new;

		run_to(h, t);
		now = truth(h, 0).wrs;
		new = now - last;
		last = now;
		active += new > 0;
		most = new > most ? new : most;
	}
	assert_in_range(active, 99, 200); /* a burst may fall into two of the steps */
	assert_in_range(most, 50, 100);
	assert_near(last, 10000, 100);
	sim_close(h);
}

TEST(open_loop__begins_within_its_first_gap__when_the_seed_says)
{
	int64_t first[8];
	int different = 0;

	for (uint32_t i = 0; i < 8; i++) {
		struct sim_conf c = one_sender(OP_WRITE, 1);
		struct sim_host *h;

		c.seed = 100 + i;
		c.guest[0].app[0].rate = 10;
		c.guest[0].app[0].burst = 1;
		h = host_open(&c);
		for (first[i] = 0; !truth(h, 0).wrs && first[i] < 200 * MS;)
			run_to(h, first[i] += MS);
		assert_in_range(first[i], MS, 101 * MS);
		different += i > 0 && first[i] != first[0];
		sim_close(h);
	}
	assert_true(different >= 4);
}

TEST(open_loop__beyond_the_link__waits_and_is_dropped_at_last)
{
	struct sim_conf c = one_sender(OP_WRITE, 64 << 10);
	struct sim_app_truth t;
	struct sim_host *h;

	c.guest[0].app[0].rate = 1000000; /* the link sends 16,384 a second */
	c.guest[0].app[0].burst = 1;
	c.guest[0].app[0].depth = 4;
	h = host_open(&c);
	run_to(h, 1 * S);
	t = app_truth(h, 0, 0);
	assert_near(t.bytes, 1u << 30, 4 * 65536);
	assert_near(t.waiting + t.wrs, 1000000, 5);
	assert_int_equal(t.dropped, 0);
	run_to(h, 3 * S);
	t = app_truth(h, 0, 0);
	assert_in_range(t.waiting, (1 << 20) - 1, 1 << 20);
	assert_near(t.waiting + t.wrs + t.dropped, 3000000, 5);
	sim_close(h);
}

TEST(open_loop__stopped__drops_what_waits)
{
	struct sim_conf c = one_sender(OP_WRITE, 64 << 10);
	struct sim_app_truth t, later;
	struct sim_host *h;

	c.guest[0].app[0].rate = 100000;
	c.guest[0].app[0].burst = 1;
	c.guest[0].app[0].stop_ns = 100 * MS;
	h = host_open(&c);
	run_to(h, 200 * MS);
	t = app_truth(h, 0, 0);
	assert_int_equal(t.waiting, 0);
	assert_near(t.wrs + t.dropped, 10000, 2);
	run_to(h, 300 * MS);
	later = app_truth(h, 0, 0);
	assert_memory_equal(&t, &later, sizeof(t));
	sim_close(h);
}

TEST(open_loop__of_a_destroyed_guest__drops_what_waits)
{
	struct sim_conf c = one_sender(OP_WRITE, 64 << 10);
	struct sim_app_truth t, later;
	struct sim_host *h;

	c.guest[0].app[0].rate = 100000;
	c.guest[0].app[0].burst = 1;
	h = host_open(&c);
	run_to(h, 100 * MS);
	assert_int_equal(sim_destroy(h, 0), 0);
	t = app_truth(h, 0, 0);
	assert_int_equal(t.waiting, 0);
	assert_near(t.wrs + t.dropped, 10000, 2);
	run_to(h, 200 * MS);
	later = app_truth(h, 0, 0);
	assert_memory_equal(&t, &later, sizeof(t));
	sim_close(h);
}

/* Messages come whether the guest runs or not: parked, it makes up for it when it runs. */
TEST(open_loop__of_a_capped_guest__makes_up_for_it)
{
	struct sim_conf c = one_sender(OP_WRITE, 256);
	struct sim_host *h;

	c.guest[0].app[0].rate = 10000; /* each needs 1 us: 1 % of a CPU */
	c.guest[0].app[0].burst = 1;
	c.guest[0].app[0].depth = 256;
	c.guest[0].cap = 10;
	h = host_open(&c);
	run_to(h, 10 * S);
	assert_near(truth(h, 0).wrs, 100000, 110); /* at most what comes in one period */
	assert_near(truth(h, 0).cpu_ns, 1 * S, MS);
	sim_close(h);
}

TEST(open_loop__with_too_little_cpu__is_bound_by_it)
{
	struct sim_conf c = one_sender(OP_WRITE, 256);
	struct sim_host *h;

	c.guest[0].app[0].rate = 500000; /* half a CPU */
	c.guest[0].app[0].burst = 1;
	c.guest[0].app[0].depth = 1024;
	c.guest[0].cap = 20;
	h = host_open(&c);
	run_to(h, 2 * S);
	assert_near(truth(h, 0).wrs, 400000, 2000);
	assert_near(app_truth(h, 0, 0).waiting, 600000, 2000);
	sim_close(h);
}

/* --- several applications --- */

TEST(truth__of_applications__adds_up_to_the_guests)
{
	struct sim_conf c = one_sender(OP_WRITE, 64 << 10);
	struct sim_truth all;
	uint64_t cpu = 0, wrs = 0, bytes = 0;
	struct sim_host *h;

	c.guest[0].apps = 4;
	c.guest[0].app[1] = c.guest[0].app[0];
	c.guest[0].app[1].op = OP_READ;
	c.guest[0].app[2].kind = SIM_APP_BURNER;
	c.guest[0].app[2].start_ns = 500 * MS;
	c.guest[0].app[3] = c.guest[0].app[1];
	c.guest[0].app[3].qps = 7;
	c.guest[0].app[3].start_ns = 333333333;
	h = host_open(&c);
	run_to(h, 1 * S);
	all = truth(h, 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct sim_app_truth t = app_truth(h, 0, i);

		cpu += t.cpu_ns;
		wrs += t.wrs;
		bytes += t.bytes;
	}
	assert_int_equal(all.wrs, wrs);
	assert_int_equal(all.bytes, bytes);
	assert_int_equal(all.bytes_recv, app_truth(h, 0, 1).bytes + app_truth(h, 0, 3).bytes);
	assert_near(cpu, all.cpu_ns, 4);		     /* each rounds down */
	assert_near(app_truth(h, 0, 2).cpu_ns, 125 * MS, 1); /* a quarter of half a second */
	sim_close(h);
}
