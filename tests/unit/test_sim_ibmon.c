// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sim and ibmon: what IBMon counts in the rings of simulated guests, read
 * through hv.h as the daemon does, is what they really did.
 */
#include <string.h>

#include "ibmon/guest.h"
#include "ibmon/scan.h"
#include "src/hv/backends.h"
#include "tests/unit/sim_rig.h"
#include "tests/unit/unit.h"

struct fixture {
	struct sim_host *sim;
	struct hv_mem *mem;
	struct guest_mon *mon;
	struct scan_guest *set;
	struct usage sum;
	struct report heard; /* sums of all reports; n, sum_ns and io_sum_ns are used */
};

static void attach(struct fixture *f, uint32_t guest)
{
	struct registry_limits lim = { .rings = GUEST_RINGS_MAX, .pages = 32768 };
	struct hv_watch *w = NULL;
	struct guest_ref ref;
	char node[64];

	assert_int_equal(hv_sim.watch->open(&w, f->sim), 0);
	assert_true(hv_sim.watch->read(w, sim_domid(f->sim, guest), node, sizeof(node)) > 0);
	hv_sim.watch->close(w);
	assert_int_equal(registry_node_parse(node, &ref), 0);
	assert_int_equal(guest_open(&f->mon, hv_sim.mem, f->mem, sim_domid(f->sim, guest), &lim),
			 0);
	assert_int_equal(guest_attach(f->mon, &ref), 0);
}

/* Guest 0 of this host is looked at. Its rings are mapped 16 at a time. */
static void open_with(struct fixture *f, const struct sim_conf *c, uint32_t rings)
{
	int64_t now = NS_PER_S;

	memset(f, 0, sizeof(*f));
	f->sim = host_open(c);
	assert_int_equal(hv_sim.mem->open(&f->mem, f->sim), 0);
	run_to(f->sim, 1); /* the process is there and has posted nothing */
	attach(f, 0);
	f->set = calloc(1, sizeof(*f->set) + GUEST_RINGS_MAX * sizeof(f->set->ring[0]));
	assert_non_null(f->set);
	for (int i = 0; i < 100 && f->set->rings < rings; i++, now += NS_PER_S) {
		guest_refresh(f->mon, (struct mono){ now });
		f->set->rings = guest_rings(f->mon, f->set->ring, GUEST_RINGS_MAX);
	}
	assert_int_equal(f->set->rings, rings);
	guest_scan_view(f->mon, &f->set->registry, &f->set->generation);
	for (uint32_t i = 0; i < rings; i++)
		f->set->ring[i].old = 0;
	f->set->latencies = guest_latency_pages(f->mon, f->set->latency, GUEST_LATENCIES_MAX);
}

static void close_all(struct fixture *f)
{
	free(f->set);
	guest_close(f->mon);
	hv_sim.mem->close(f->mem);
	sim_close(f->sim);
}

static void scan_at(struct fixture *f, int64_t now, int64_t elapsed)
{
	struct scan_result res;
	struct report rep;

	run_to(f->sim, now);
	scan_guest(f->set, elapsed, &f->sum, &rep, NULL, &res);
	assert_int_equal(res.faults, 0);
	assert_int_equal(res.latencies_lost, 0);
	f->heard.n += rep.n;
	f->heard.sum_ns += rep.sum_ns;
	f->heard.io_sum_ns += rep.io_sum_ns;
}

static void assert_counted(struct fixture *f)
{
	struct sim_truth t = truth(f->sim, 0);

	assert_int_equal(f->sum.wrs, t.wrs);
	assert_int_equal(f->sum.mtus_recv, t.mtus_recv);
	assert_int_equal(f->sum.mtus_sent, t.mtus - t.mtus_recv);
	assert_int_equal(f->sum.bytes_recv, t.bytes_recv);
	assert_int_equal(f->sum.bytes_sent, t.bytes - t.bytes_recv);
	assert_int_equal(f->sum.lost, 0);
}

TEST(each_op__over_several_queue_pairs__is_counted_exactly)
{
	static const enum sample_op ops[] = { OP_SEND, OP_WRITE, OP_READ };

	for (int i = 0; i < 3; i++) {
		struct sim_conf c;
		struct fixture f;

		sim_conf_demo(&c);
		c.guest[0] = c.guest[BULK];
		c.guest[0].app[0].op = ops[i];
		c.guest[0].app[0].qps = 5;
		c.guest[0].app[0].depth = 20;
		c.guest[0].app[0].msg_bytes = 10000; /* the last packet is not full */
		open_with(&f, &c, 5);
		for (int64_t t = MS; t <= 500 * MS; t += MS) {
			scan_at(&f, t, MS);
			assert_counted(&f);
		}
		assert_true(f.sum.wrs > 10000);
		assert_int_equal(f.sum.mtus_recv > 0, ops[i] == OP_READ);
		close_all(&f);
	}
}

/* A sender that is short of CPU would else serve the first alone. */
TEST(queue_pairs__of_a_sender__are_served_in_turn)
{
	struct sim_conf c;
	struct fixture f;

	sim_conf_demo(&c);
	c.guests = 1;
	c.guest[0] = c.guest[BULK];
	c.guest[0].app[0].qps = 4;
	c.guest[0].app[0].depth = 50;
	c.guest[0].app[0].msg_bytes = 10;
	c.guest[0].app[0].post_ns = 50000;
	open_with(&f, &c, 4);
	f.set->rings = 1;
	for (int64_t t = MS; t <= 500 * MS; t += MS)
		scan_at(&f, t, MS);
	assert_near(truth(f.sim, 0).wrs, 10000, 2);
	assert_near(f.sum.wrs, 2500, 1);
	close_all(&f);
}

/* Rings of 64 slots go round within a sample: how many and how much stay exact. */
TEST(reads__lapped_between_samples__are_charged_exactly)
{
	struct sim_conf c;
	struct sim_truth t;
	struct fixture f;

	sim_conf_demo(&c);
	c.guests = 1;
	c.guest[0] = c.guest[BULK];
	c.guest[0].app[0].op = OP_READ;
	c.guest[0].app[0].depth = 20;
	c.guest[0].app[0].msg_bytes = 3000;
	open_with(&f, &c, 1);
	for (int64_t at = MS; at <= 500 * MS; at += MS) {
		scan_at(&f, at, MS);
		t = truth(f.sim, 0);
		assert_int_equal(f.sum.wrs, t.wrs);
		assert_int_equal(f.sum.mtus_recv + f.sum.mtus_sent, t.mtus);
		assert_int_equal(f.sum.bytes_recv + f.sum.bytes_sent, t.bytes);
	}
	assert_true(f.sum.lost > 1000);
	assert_int_equal(f.sum.mtus_sent, 0);
	close_all(&f);
}

TEST(latencies__of_two_servers__are_heard_as_they_were)
{
	struct sim_truth before, t;
	uint64_t io = 0;
	struct sim_conf c;
	struct fixture f;

	sim_conf_demo(&c);
	c.guest[0].apps = 2;
	c.guest[0].vcpus = 2;
	c.guest[0].app[1] = c.guest[0].app[0];
	c.guest[0].app[1].clients = 5;
	c.guest[0].app[1].depth = 3;
	open_with(&f, &c, 2);
	scan_at(&f, MS, MS); /* what is there at first sight is history */
	before = truth(f.sim, 0);
	f.heard = (struct report){ 0 };
	for (int64_t at = 2 * MS; at <= 1000 * MS; at += MS)
		scan_at(&f, at, MS);
	assert_counted(&f);
	t = truth(f.sim, 0);
	t.requests -= before.requests;
	t.latency_sum_ns -= before.latency_sum_ns;
	for (uint32_t i = 0; i < 2; i++)
		io += app_truth(f.sim, 0, i).wtime_ns + app_truth(f.sim, 0, i).ptime_ns;
	/* The second server notices that a reply left only when it has computed the next. */
	assert_near(f.heard.n, t.requests, 3);
	assert_near(f.heard.sum_ns / f.heard.n, t.latency_sum_ns / t.requests, 500);
	assert_near(f.heard.io_sum_ns / f.heard.n, io / truth(f.sim, 0).requests, 2000);
	close_all(&f);
}

TEST(guest__with_256_queue_pairs__shows_them_all)
{
	struct sim_conf c;
	struct fixture f;

	sim_conf_demo(&c);
	c.guests = 1;
	c.guest[0] = c.guest[BULK];
	c.guest[0].app[0].qps = SIM_APP_QPS_MAX;
	c.guest[0].app[0].msg_bytes = 20000;
	c.guest[0].apps = SIM_APPS_MAX;
	for (uint32_t i = 1; i < SIM_APPS_MAX; i++)
		c.guest[0].app[i] = c.guest[0].app[0];
	c.guest[0].app[2].op = OP_READ;
	c.guest[0].app[3].op = OP_SEND;
	open_with(&f, &c, 256);
	for (int64_t t = MS; t <= 100 * MS; t += MS)
		scan_at(&f, t, MS);
	assert_counted(&f);
	assert_true(f.sum.wrs > 5000 && f.sum.bytes_recv > 0);
	close_all(&f);
}
