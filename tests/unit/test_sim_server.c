// SPDX-License-Identifier: GPL-2.0-or-later
/* sim/server: several clients, first come, first served; what it reports. */
#include <string.h>

#include "src/hv/hv.h"
#include "src/hv/backends.h"
#include "resex/guest_abi.h"
#include "tests/unit/sim_rig.h"
#include "tests/unit/unit.h"

enum { COMPUTE = 146964, POST = 1000, WIRE = 61036 }; /* of the demo's server */

static struct sim_conf one_server(uint32_t clients, uint32_t depth)
{
	struct sim_conf c;

	sim_conf_demo(&c);
	c.guests = 1;
	c.guest[0].app[0].clients = clients;
	c.guest[0].app[0].depth = depth;
	return c;
}

static uint64_t mean(uint64_t sum, const struct sim_app_truth *t)
{
	return t->latency.n ? sum / t->latency.n : 0;
}

TEST(clients__of_a_server_that_waits_for_each_reply__queue_up)
{
	for (uint32_t clients = 1; clients <= SIM_APP_CLIENTS_MAX; clients *= 4) {
		struct sim_conf c = one_server(clients, 1);
		struct sim_host *h = host_open(&c);
		struct sim_app_truth t;
		uint64_t each = COMPUTE + POST + WIRE;

		run_to(h, 5 * S);
		t = app_truth(h, 0, 0);
		/* One at a time: as many answers as with one client, each after all others. */
		assert_near(t.latency.n, (uint64_t)(5 * S) / each, 20);
		assert_near(mean(t.ctime_ns, &t), COMPUTE, 100);
		assert_near(mean(t.wtime_ns, &t), WIRE, 1);
		assert_near(mean(t.ptime_ns, &t), POST + (clients - 1) * each,
			    1 + clients * each / 50);
		assert_near(window_mean(&t.latency), clients * each, 1 + clients * each / 50);
		sim_close(h);
	}
}

TEST(server__with_room_for_more_replies__computes_while_they_leave)
{
	struct sim_conf c = one_server(4, 4);
	struct sim_host *h = host_open(&c);
	struct sim_app_truth t;

	run_to(h, 5 * S);
	t = app_truth(h, 0, 0);
	assert_near(t.latency.n, 5 * S / (COMPUTE + POST), 40); /* the link is not in the way */
	assert_near(mean(t.wtime_ns, &t), WIRE, 1);
	sim_close(h);
}

TEST(requests__are_answered_in_the_order_they_came)
{
	struct sim_conf c = one_server(8, 2);
	struct sim_host *h = host_open(&c);
	struct sim_app_truth t;

	run_to(h, 5 * S);
	t = app_truth(h, 0, 0);
	/* Nobody overtakes anybody: whoever comes waits for the seven others, and not an eighth. */
	assert_near(window_mean(&t.latency), 8 * (COMPUTE + POST), COMPUTE / 100);
	assert_true(t.latency.max < 8 * (COMPUTE + POST) * 1005 / 1000 + WIRE);
	sim_close(h);
}

TEST(parts__of_all_requests__are_all_of_the_latency)
{
	struct sim_app_truth t;
	struct sim_conf c;
	struct sim_host *h;

	sim_conf_demo(&c);
	c.guest[SERVER].app[0].clients = 3;
	c.guest[SERVER].cap = 60;
	h = host_open(&c);
	run_to(h, 2 * S);
	t = app_truth(h, SERVER, 0);
	assert_true(t.latency.n > 1000);
	assert_int_equal(t.ctime_ns + t.wtime_ns + t.ptime_ns, t.latency.sum);
	assert_int_equal(truth(h, SERVER).latency_sum_ns, t.latency.sum);
	assert_int_equal(truth(h, SERVER).requests, t.latency.n);
	assert_int_equal(t.latency.n, t.wrs);
	sim_close(h);
}

/* As the paper's figure 2: a neighbour's I/O shows in WTime and PTime, not in CTime. */
TEST(interference__shows_in_waiting_and_polling_alone)
{
	struct sim_app_truth alone, beside;
	struct sim_conf c;
	struct sim_host *h;

	sim_conf_demo(&c);
	c.guest[SERVER].app[0].clients = 2;
	h = host_open(&c);
	run_to(h, 2 * S);
	beside = app_truth(h, SERVER, 0);
	sim_close(h);
	c.guests = 1;
	h = host_open(&c);
	run_to(h, 2 * S);
	alone = app_truth(h, SERVER, 0);
	sim_close(h);
	assert_near(mean(beside.ctime_ns, &beside), mean(alone.ctime_ns, &alone), 100);
	assert_true(mean(beside.wtime_ns, &beside) > mean(alone.wtime_ns, &alone) * 3 / 2);
	assert_true(mean(beside.ptime_ns, &beside) > mean(alone.ptime_ns, &alone) * 5 / 4);
}

/* --- reports --- */

static const volatile struct guest_latency *latency_page(struct hv_mem *m, struct sim_host *h)
{
	const volatile struct guest_registry *r;
	const volatile void *addr = NULL;
	struct hv_watch *w = NULL;
	char node[64];
	uint64_t frame;

	assert_int_equal(hv_sim.watch->open(&w, h), 0);
	assert_true(hv_sim.watch->read(w, sim_domid(h, 0), node, sizeof(node)) > 0);
	hv_sim.watch->close(w);
	frame = strtoull(node + strlen("2 frame "), NULL, 10);
	assert_int_equal(hv_sim.mem->map(m, sim_domid(h, 0), 1, &frame, &addr, NULL), 0);
	r = addr;
	assert_int_equal(r->latencies, 1);
	frame = r->latency[0].ref;
	assert_int_equal(hv_sim.mem->map(m, sim_domid(h, 0), 1, &frame, &addr, NULL), 0);
	return addr;
}

static uint32_t newest(const volatile struct guest_latency *l)
{
	const volatile struct guest_latency_sample *s =
		&l->sample[(l->written - 1) % GUEST_LATENCY_SAMPLES];

	return s->ctime_ns + s->wtime_ns + s->ptime_ns;
}

TEST(liar__reports_so_much_of_the_truth)
{
	static const uint32_t permille[] = { 0, 500, 1000, 3000, 1000000 };

	for (int i = 0; i < 5; i++) {
		struct sim_conf c = one_server(1, 1);
		const volatile struct guest_latency *l;
		struct sim_app_truth t;
		struct sim_host *h;
		struct hv_mem *m;
		uint64_t want;

		c.guest[0].app[0].report = permille[i];
		h = host_open(&c);
		assert_int_equal(hv_sim.mem->open(&m, h), 0);
		run_to(h, 1 * S);
		l = latency_page(m, h);
		t = app_truth(h, 0, 0);
		assert_near(window_mean(&t.latency), 209000, 200); /* lies change nothing */
		assert_int_equal(l->written, t.latency.n);
		want = t.latency_last_ns * permille[i] / 1000;
		assert_near(newest(l), want, 3);
		hv_sim.mem->close(m);
		sim_close(h);
	}
}

TEST(reports__stop_when_told_to__and_requests_do_not)
{
	struct sim_conf c = one_server(1, 1);
	const volatile struct guest_latency *l;
	struct sim_host *h;
	struct hv_mem *m;
	uint64_t written;

	c.guest[0].app[0].report_stop_ns = 500 * MS;
	h = host_open(&c);
	assert_int_equal(hv_sim.mem->open(&m, h), 0);
	run_to(h, 499 * MS);
	l = latency_page(m, h);
	written = l->written;
	assert_int_equal(written, truth(h, 0).requests);
	run_to(h, 2 * S);
	assert_in_range(l->written, written, written + 5);
	assert_true(truth(h, 0).requests > 9000);
	hv_sim.mem->close(m);
	sim_close(h);
}
