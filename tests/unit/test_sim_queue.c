// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sim/client, draw: times that vary, clients that think, requests that come by themselves, idle
 * spells; each against the formula of queueing theory that holds for it.
 */
#include <math.h>

#include "src/sim/model.h"
#include "tests/unit/sim_rig.h"
#include "tests/unit/unit.h"

#define US NS_PER_US

enum { POST = 100, COMPUTE = 100000, DRAWS = 200000 };

static void assert_about(double got, double want, double part)
{
	if (!(fabs(got - want) <= part * want))
		fail_msg("%g is not within %g of %g", got, part, want);
}

/* --- draws --- */

static void moments(struct sim_vary v, int64_t mean, double *m, double *cv)
{
	struct sim_rand r = { .state = 4711 };
	double sum = 0, squares = 0;

	for (int i = 0; i < DRAWS; i++) {
		double x = (double)sim_draw(&r, &v, mean);

		assert_true(x >= 0);
		sum += x;
		squares += x * x;
	}
	*m = sum / DRAWS;
	*cv = sqrt(squares / DRAWS - *m * *m) / *m;
}

TEST(draws__of_each_kind__have_the_mean_and_the_coefficient_asked_for)
{
	static const struct sim_vary kinds[] = {
		{ SIM_VARY_UNIFORM, 5 },   { SIM_VARY_UNIFORM, 577 }, { SIM_VARY_PHASES, 100 },
		{ SIM_VARY_PHASES, 333 },  { SIM_VARY_PHASES, 707 },  { SIM_VARY_PHASES, 999 },
		{ SIM_VARY_PHASES, 1000 }, { SIM_VARY_PHASES, 1001 }, { SIM_VARY_PHASES, 2000 },
	};
	double m, cv;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		moments(kinds[i], 1000 * US, &m, &cv);
		assert_about(m, 1e6, 0.01);
		assert_about(cv, kinds[i].permille / 1e3, 0.02);
	}
	moments((struct sim_vary){ SIM_VARY_PHASES, 0 }, 1000 * US, &m, &cv);
	assert_true(m == 1e6);
}

/* Of an exponential time e^-1, e^-2, e^-3 of the draws are above 1, 2, 3 means. */
TEST(draws__exponential__have_its_tail)
{
	const struct sim_vary v = { SIM_VARY_PHASES, 1000 };
	struct sim_rand r = { .state = 99 };
	double above[4] = { 0 };

	for (int i = 0; i < DRAWS; i++) {
		int64_t x = sim_draw(&r, &v, US);

		for (int k = 1; k <= 3; k++)
			above[k] += x > k * US;
	}
	for (int k = 1; k <= 3; k++)
		assert_about(above[k] / DRAWS, exp(-k), 0.03);
}

/* --- queues --- */

/* A server whose replies take no time on the link. */
static struct sim_conf queue(void)
{
	struct sim_conf c;
	struct sim_app *a;

	sim_conf_demo(&c);
	c.guests = 1;
	a = &c.guest[0].app[0];
	a->msg_bytes = 1;
	a->post_ns = POST;
	a->compute_ns = COMPUTE;
	return c;
}

static struct sim_app_truth run(const struct sim_conf *c, int64_t ns)
{
	struct sim_host *h = host_open(c);
	struct sim_app_truth t;

	run_to(h, ns);
	t = app_truth(h, 0, 0);
	sim_close(h);
	return t;
}

/* Pollaczek and Khinchine: the mean wait in an M/G/1 queue, ns. */
static double mg1_wait(double rate, double mean, double cv)
{
	double used = rate * mean;

	return used / (1 - used) * mean * (1 + cv * cv) / 2;
}

TEST(requests_that_come_by_themselves__wait_as_in_an_mg1_queue)
{
	static const uint32_t permille[] = { 0, 500, 1000, 2000 };

	for (size_t i = 0; i < 4; i++) {
		double mean = COMPUTE + POST, cv = permille[i] / 1e3;
		struct sim_conf c = queue();
		struct sim_app_truth t;

		c.guest[0].app[0].rate = 5000;
		c.guest[0].app[0].vary = (struct sim_vary){ SIM_VARY_PHASES, permille[i] };
		t = run(&c, 60 * S);
		assert_about((double)t.latency.n, 300000, 0.01);
		assert_int_equal(t.dropped, 0);
		assert_about((double)t.ptime_ns / (double)t.latency.n - POST,
			     mg1_wait(5000e-9, mean, cv), 0.03);
	}
}

/* Little: mean requests in the system are rate x latency, whatever varies. */
TEST(load__grows__ptime_grows_with_it_and_ctime_does_not)
{
	double before = 0;

	for (uint64_t rate = 2000; rate <= 8000; rate += 2000) {
		struct sim_conf c = queue();
		struct sim_app_truth t;
		double ptime;

		c.guest[0].app[0].rate = rate;
		c.guest[0].app[0].vary.permille = 1000;
		t = run(&c, 20 * S);
		ptime = (double)t.ptime_ns / (double)t.latency.n;
		assert_about((double)t.ctime_ns / (double)t.latency.n, COMPUTE, 0.02);
		assert_about(ptime - POST, mg1_wait((double)rate * 1e-9, COMPUTE + POST, 1), 0.1);
		assert_true(ptime > before * 3 / 2);
		before = ptime;
	}
}

TEST(requests__beyond_what_the_server_can_do__are_dropped_when_the_queue_is_full)
{
	struct sim_conf c = queue();
	struct sim_app_truth t;

	c.guest[0].app[0].rate = 20000; /* twice as many */
	t = run(&c, 5 * S);
	assert_about((double)t.latency.n, 5e9 / (COMPUTE + POST), 0.01);
	assert_about((double)(t.dropped + t.latency.n + SIM_REQUESTS_MAX), 100000, 0.02);
	assert_about((double)t.latency.max, SIM_REQUESTS_MAX * (COMPUTE + POST), 0.02);
}

/* Mean value analysis: n clients, a delay, one server; its mean response. */
static double mva(uint32_t n, double delay, double service)
{
	double q = 0, r = 0;

	for (uint32_t i = 1; i <= n; i++) {
		r = service * (1 + q);
		q = i * r / (delay + r);
	}
	return r;
}

TEST(clients_that_think__wait_as_in_a_closed_network)
{
	for (uint32_t n = 1; n <= 16; n *= 4) {
		struct sim_conf c = queue();
		struct sim_app_truth t;

		c.guest[0].app[0].clients = n;
		c.guest[0].app[0].think_ns = 250 * US;
		c.guest[0].app[0].think_vary.permille = 1000;
		c.guest[0].app[0].vary.permille = 1000;
		t = run(&c, 30 * S);
		assert_about((double)t.latency.sum / (double)t.latency.n,
			     mva(n, 250e3, COMPUTE + POST), 0.02);
	}
}

/*
 * Equal servers on one link, each with one client. The link is shared packet by packet, which is
 * processor sharing: mean value analysis is exact for it when compute times are exponential.
 */
TEST(equal_servers__whose_computing_varies__wait_for_each_other_as_they_must)
{
	const double wire = 65536e9 / (1 << 30);

	for (uint32_t n = 1; n <= 8; n++) {
		struct sim_app_truth t;
		struct sim_conf c;
		struct sim_host *h;

		sim_conf_demo(&c);
		c.guest[0].app[0].vary.permille = 1000;
		for (c.guests = 1; c.guests < n; c.guests++) {
			c.guest[c.guests] = c.guest[0];
			c.guest[c.guests].name[0] = (char)('a' + c.guests);
		}
		h = host_open(&c);
		run_to(h, 10 * S);
		t = app_truth(h, 0, 0);
		assert_about((double)t.wtime_ns / (double)t.latency.n, mva(n, 147964, wire), 0.03);
		sim_close(h);
	}
}

/* --- idle spells --- */

/* What was done from the end of each busy spell to the begin of the next, after some slack. */
static uint64_t done_in_quiet(struct sim_host *h, int64_t until, int64_t busy, int64_t quiet)
{
	uint64_t done = 0;

	for (int64_t t = 0; t < until; t += busy + quiet)
		done += did(h, 0, t + busy + 3 * MS, t + busy + quiet).wrs;
	return done;
}

static struct sim_conf spells(struct sim_conf c, int64_t busy, int64_t quiet)
{
	c.guest[0].app[0].busy_ns = busy;
	c.guest[0].app[0].quiet_ns = quiet;
	return c;
}

TEST(spells__of_a_server__have_no_request_in_quiet_ones_and_all_in_busy_ones)
{
	struct sim_conf closed = spells(queue(), 10 * MS, 40 * MS), open = closed;
	struct sim_host *h;

	h = host_open(&closed);
	assert_int_equal(done_in_quiet(h, 5 * S, 10 * MS, 40 * MS), 0);
	assert_about((double)truth(h, 0).wrs, 1e9 / (COMPUTE + POST), 0.02);
	sim_close(h);
	open.guest[0].app[0].rate = 1000;
	h = host_open(&open);
	assert_int_equal(done_in_quiet(h, 50 * S, 10 * MS, 40 * MS), 0);
	assert_about((double)truth(h, 0).wrs, 10000, 0.05);
	sim_close(h);
}

TEST(spells__of_a_sender__hold_back_its_messages)
{
	struct sim_conf c = queue();
	struct sim_app *a = &c.guest[0].app[0];
	struct sim_host *h;

	*a = (struct sim_app){ .kind = SIM_APP_SENDER,
			       .op = OP_WRITE,
			       .qps = 1,
			       .msg_bytes = 1 << 16,
			       .depth = 1,
			       .path_mtu = 1024,
			       .burst = 1,
			       .post_ns = 1000 };
	c = spells(c, 20 * MS, 30 * MS);
	for (uint64_t rate = 0; rate <= 2000; rate += 2000) {
		double all = rate ? 2e9 / (1e9 / (double)rate) : 2e9 / (65536e9 / (1 << 30) + 1000);

		c.guest[0].app[0].rate = rate;
		h = host_open(&c);
		assert_int_equal(done_in_quiet(h, 5 * S, 20 * MS, 30 * MS), 0);
		assert_about((double)truth(h, 0).wrs, all, 0.02);
		sim_close(h);
	}
}
