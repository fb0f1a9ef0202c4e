// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sim: the model of a host. What a cap does to a guest's CPU, and what of that
 * shows on the link; the demo's figures against the paper's arithmetic.
 *
 * sim_link and its packets are in test_sim_link.c, guest memory in
 * test_hv_sim.c.
 */
#include <errno.h>
#include <string.h>

#include "tests/unit/sim_rig.h"
#include "tests/unit/unit.h"

static struct sim_conf one_guest(enum sim_app_kind kind)
{
	struct sim_conf c;

	sim_conf_demo(&c);
	c.guests = 1;
	if (kind == SIM_APP_SENDER)
		c.guest[0].app[0] = c.guest[BULK].app[0];
	c.guest[0].app[0].kind = kind;
	return c;
}

/* --- the demo: from the model alone --- */

TEST(server__alone__answers_in_209_us)
{
	struct sim_conf c = one_guest(SIM_APP_SERVER);
	struct sim_host *h = host_open(&c);
	struct sim_truth t = did(h, SERVER, 100 * MS, 1 * S);

	assert_near(mean_latency(&t), 209000, 200);
	assert_int_equal(t.cpu_ns, 900 * MS); /* it polls */
	sim_close(h);
}

TEST(server__beside_a_bulk_sender__is_at_least_a_quarter_slower)
{
	struct sim_conf c;
	struct sim_host *h;
	struct sim_truth t;

	sim_conf_demo(&c);
	h = host_open(&c);
	t = did(h, SERVER, 100 * MS, 1 * S);
	assert_true(mean_latency(&t) >= 209000 * 5 / 4);
	assert_true(mean_latency(&t) <= 209000 * 3 / 2);
	sim_close(h);
}

/* One Reso a MTU and one for 10 us of CPU. */
static uint64_t paper_resos(const struct sim_truth *t)
{
	return t->mtus + t->cpu_ns / 10000;
}

TEST(bulk__beside_the_server__burns_911_resos_a_ms)
{
	struct sim_conf c;
	struct sim_host *h;
	struct sim_truth t;

	sim_conf_demo(&c);
	h = host_open(&c);
	t = did(h, BULK, 100 * MS, 2100 * MS);
	assert_near(paper_resos(&t), 911 * 2000, 5 * 2000);
	t = did(h, SERVER, 2100 * MS, 3100 * MS);
	assert_true(paper_resos(&t) < 624288 * 9 / 10); /* never near its last tenth */
	sim_close(h);
}

TEST(bulk__has_spent_nine_tenths_of_its_share__617_ms_into_the_epoch)
{
	uint64_t share = (100000 * 2 + 1048576) / 2;
	struct sim_conf c;
	struct sim_host *h;
	struct sim_truth t;
	int64_t now = 0;

	sim_conf_demo(&c);
	h = host_open(&c);
	do {
		run_to(h, now += MS);
		t = truth(h, BULK);
	} while (paper_resos(&t) <= share * 9 / 10 && now < S);
	assert_near((uint64_t)(now / MS), 617, 3);
	sim_close(h);
}

/* --- the link --- */

static void random_host(struct prop *r, struct sim_conf *c)
{
	sim_conf_demo(c);
	c->seed = prop_u64(r);
	c->links = (uint32_t)prop_range(r, 1, 2);
	for (uint32_t i = 0; i < c->links; i++)
		c->link[i] = (struct sim_link_conf){ prop_range(r, 1 << 24, 1ull << 34), 4096 };
	c->guests = (uint32_t)prop_range(r, 1, 5);
	for (uint32_t i = 0; i < c->guests; i++) {
		struct sim_guest_conf *g = &c->guest[i];

		snprintf(g->name, sizeof(g->name), "g%u", i);
		g->vcpus = (uint32_t)prop_range(r, 1, 4);
		g->weight = 256;
		g->link = (uint32_t)prop_range(r, 0, c->links - 1);
		g->apps = (uint32_t)prop_range(r, 0, 4);
		for (uint32_t k = 0; k < g->apps; k++)
			g->app[k] = (struct sim_app){
				.kind = (enum sim_app_kind)prop_range(r, SIM_APP_IDLE,
								      SIM_APP_BURNER),
				.op = OP_WRITE,
				.qps = 1,
				.clients = 1,
				.msg_bytes = (uint32_t)prop_range(r, 1, 1u << prop_range(r, 8, 23)),
				.depth = (uint32_t)prop_range(r, 1, 1u << prop_range(r, 1, 10)),
				.path_mtu = 256u << prop_range(r, 0, 4),
				.post_ns = (int64_t)prop_range(r, 500, 20000),
				.compute_ns = (int64_t)prop_range(r, 0, 300000),
				.start_ns = (int64_t)prop_range(r, 0, 5) * 10 * MS,
				.stop_ns = prop_one_in(r, 3) ? 100 * MS : 0,
			};
	}
}

static void random_caps(struct prop *r, struct sim_host *h, const struct sim_conf *c)
{
	for (uint32_t i = 0; i < c->guests; i++)
		if (prop_one_in(r, 20))
			set_cap(h, i, (uint32_t)prop_range(r, 0, 100 * c->guest[i].vcpus));
}

/* Bytes on each link <= rate x time; CPU of each guest <= VCPUs x time. */
static bool conserved(struct sim_host *h, const struct sim_conf *c, int64_t now)
{
	uint64_t sent[2] = { 0, 0 };

	for (uint32_t i = 0; i < c->guests; i++) {
		struct sim_truth t = truth(h, i);

		sent[c->guest[i].link] += t.bytes;
		if (t.cpu_ns > c->guest[i].vcpus * (uint64_t)now)
			return false;
	}
	for (uint32_t i = 0; i < c->links; i++)
		if ((unsigned __int128)sent[i] * (uint64_t)S >
		    (unsigned __int128)c->link[i].bytes_s * (uint64_t)now)
			return false;
	return true;
}

TEST(any_host__any_caps__neither_link_nor_cpus_give_more_than_they_have)
{
	struct prop r;

	prop_start(&r);
	for (uint32_t round = 0; round < 40; round++) {
		struct sim_conf c;
		struct sim_host *h;

		random_host(&r, &c);
		h = host_open(&c);
		for (int64_t now = MS; now <= 200 * MS; now += MS) {
			random_caps(&r, h, &c);
			run_to(h, now);
			prop_assert(&r, round, conserved(h, &c, now));
		}
		sim_close(h);
	}
}

TEST(two_deep_senders__of_unequal_messages__share_the_link_equally)
{
	struct sim_conf c;
	struct sim_host *h;
	struct sim_truth a, b;

	sim_conf_demo(&c);
	for (uint32_t i = 0; i < 2; i++) {
		c.guest[i].app[0] = c.guest[BULK].app[0];
		c.guest[i].app[0].depth = 16;
	}
	c.guest[0].app[0].msg_bytes = 64 << 10;
	h = host_open(&c);
	run_to(h, 2 * S);
	a = truth(h, 0);
	b = truth(h, 1);
	assert_near(a.mtus, b.mtus, b.mtus / 100);
	assert_near(a.bytes + b.bytes, 2ull << 30, 36ull << 20); /* what is posted is not done */
	sim_close(h);
}

/* --- the same seed, the same run --- */

TEST(seed__same_or_other__gives_the_same_run_or_another)
{
	struct sim_truth t[3];
	struct sim_conf c;

	sim_conf_demo(&c);
	for (uint32_t i = 0; i < 3; i++) {
		struct sim_host *h;

		c.seed = i == 2 ? 8 : 7;
		h = host_open(&c);
		set_cap(h, BULK, 20);
		/* however time is cut into pieces */
		for (int64_t now = 0; now < 500 * MS; now += i ? 900001 : MS)
			run_to(h, now);
		run_to(h, 500 * MS);
		t[i] = truth(h, SERVER);
		sim_close(h);
	}
	assert_memory_equal(&t[0], &t[1], sizeof(t[0]));
	assert_int_not_equal(t[0].latency_sum_ns, t[2].latency_sum_ns);
}

/* --- what a cap does --- */

TEST(cap__any__is_the_share_of_cpu_a_busy_guest_gets)
{
	static const uint32_t caps[] = { 1, 2, 3, 7, 25, 50, 99, 100 };
	struct sim_conf c = one_guest(SIM_APP_BURNER);

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		struct sim_host *h = host_open(&c);
		struct sim_truth t;

		set_cap(h, 0, caps[i]);
		t = did(h, 0, 1 * S, 6 * S);
		assert_near(t.cpu_ns, 5 * S / 100 * caps[i], 10 * MS);
		sim_close(h);
	}
}

TEST(cap__of_a_guest_with_more_vcpus__is_of_all_together)
{
	struct sim_conf c = one_guest(SIM_APP_BURNER);
	struct sim_host *h;
	struct sim_truth t;

	c.guest[0].vcpus = 4;
	c.guest[0].apps = 3;
	c.guest[0].app[1] = c.guest[0].app[2] = c.guest[0].app[0];
	h = host_open(&c);
	t = did(h, 0, 0, 1 * S);
	assert_int_equal(t.cpu_ns, 3 * S); /* three tasks keep three of four busy */
	set_cap(h, 0, 150);
	t = did(h, 0, 2 * S, 7 * S);
	assert_near(t.cpu_ns, 5 * S / 2 * 3, 20 * MS);
	sim_close(h);
}

TEST(cap__first__acts_at_once)
{
	struct sim_conf c = one_guest(SIM_APP_BURNER);
	struct sim_host *h = host_open(&c);
	struct sim_truth t;

	run_to(h, 103 * MS);
	set_cap(h, 0, 20);
	t = did(h, 0, 103 * MS, 105 * MS);
	assert_int_equal(t.cpu_ns, 2 * MS);
	t = did(h, 0, 105 * MS, 113 * MS);
	assert_int_equal(t.cpu_ns, 0);
	t = did(h, 0, 113 * MS, 123 * MS);
	assert_int_equal(t.cpu_ns, 2 * MS);
	sim_close(h);
}

TEST(cap__changed__acts_at_the_next_refill)
{
	struct sim_conf c = one_guest(SIM_APP_BURNER);
	struct sim_host *h = host_open(&c);
	struct sim_truth t;

	set_cap(h, 0, 20);
	run_to(h, 104 * MS); /* refills at whole 10 ms; it is parked since 102 ms */
	set_cap(h, 0, 80);
	t = did(h, 0, 104 * MS, 110 * MS);
	assert_int_equal(t.cpu_ns, 0);
	t = did(h, 0, 110 * MS, 120 * MS);
	assert_int_equal(t.cpu_ns, 8 * MS);
	sim_close(h);
}

TEST(cap__taken_away__unparks_at_once)
{
	struct sim_conf c = one_guest(SIM_APP_BURNER);
	struct sim_host *h = host_open(&c);
	struct sim_truth t;

	set_cap(h, 0, 20);
	run_to(h, 104 * MS);
	set_cap(h, 0, 0);
	t = did(h, 0, 104 * MS, 110 * MS);
	assert_int_equal(t.cpu_ns, 6 * MS);
	sim_close(h);
}

TEST(budget__not_used__is_not_saved_up)
{
	struct sim_conf c = one_guest(SIM_APP_BURNER);
	struct sim_host *h;
	struct sim_truth t;

	c.guest[0].app[0].start_ns = 995 * MS;
	h = host_open(&c);
	set_cap(h, 0, 20);
	t = did(h, 0, 0, 1000 * MS);
	assert_int_equal(t.cpu_ns, 2 * MS);
	t = did(h, 0, 1000 * MS, 1010 * MS);
	assert_int_equal(t.cpu_ns, 2 * MS);
	sim_close(h);
}

TEST(small_cap__overruns_by_half_a_ms__and_pays_it_back)
{
	struct sim_conf c = one_guest(SIM_APP_BURNER);
	struct sim_host *h = host_open(&c);
	struct sim_truth t;

	set_cap(h, 0, 1); /* 100 us in each 10 ms, but it cannot run for less than 500 us */
	t = did(h, 0, 0, 1 * MS);
	assert_int_equal(t.cpu_ns, MS / 2);
	t = did(h, 0, 1 * MS, 49 * MS);
	assert_int_equal(t.cpu_ns, 0);
	t = did(h, 0, 49 * MS, 51 * MS);
	assert_int_equal(t.cpu_ns, MS / 2);
	sim_close(h);
}

TEST(small_cap__of_two_vcpus__is_all_taken_by_the_first)
{
	struct sim_conf c = one_guest(SIM_APP_BURNER);
	struct sim_host *h;
	struct sim_truth t;

	c.guest[0].vcpus = 2;
	c.guest[0].apps = 2;
	c.guest[0].app[1] = c.guest[0].app[0];
	h = host_open(&c);
	set_cap(h, 0, 2); /* 200 us; nobody asks for less than 500 */
	t = did(h, 0, 0, 1 * MS);
	assert_int_equal(t.cpu_ns, MS / 2);
	sim_close(h);
}

/* A sender that is parked posts nothing, so with one message outstanding a cap bites. */
TEST(cap__on_a_sender_with_one_message_outstanding__cuts_what_it_sends)
{
	struct sim_conf c;
	struct sim_host *h;
	struct sim_truth uncapped, capped, server;

	sim_conf_demo(&c);
	h = host_open(&c);
	uncapped = did(h, BULK, 0, 1 * S);
	set_cap(h, BULK, 3);
	run_to(h, 2 * S);
	server = truth(h, SERVER);
	capped = did(h, BULK, 2 * S, 4 * S);
	assert_near(capped.cpu_ns, 2 * S / 100 * 3, 2 * MS);
	assert_true(capped.bytes / 2 < uncapped.bytes / 4);
	/* and the neighbour is nearly as fast as if it were alone */
	server.requests = truth(h, SERVER).requests - server.requests;
	server.latency_sum_ns = truth(h, SERVER).latency_sum_ns - server.latency_sum_ns;
	assert_true(mean_latency(&server) < 209000 * 105 / 100);
	sim_close(h);
}

/*
 * What a cap cannot do: in the half ms that it runs, a sender with a deep
 * queue posts more than the link sends until it runs again.
 */
TEST(cap__on_a_sender_with_a_deep_queue__does_not_cut_what_it_sends)
{
	struct sim_conf c;
	struct sim_host *h;
	struct sim_truth uncapped, capped;

	sim_conf_demo(&c);
	c.guest[BULK].app[0].depth = 16;
	h = host_open(&c);
	uncapped = did(h, BULK, 0, 1 * S);
	set_cap(h, BULK, 3);
	capped = did(h, BULK, 2 * S, 3 * S);
	assert_near(capped.cpu_ns, 1 * S / 100 * 3, MS);
	assert_near(capped.bytes, uncapped.bytes, uncapped.bytes / 100);
	sim_close(h);
}

TEST(parked_sender__has_its_posted_messages_sent)
{
	struct sim_conf c = one_guest(SIM_APP_SENDER);
	struct sim_host *h;
	struct sim_truth t;

	c.guest[0].app[0].depth = 4;
	h = host_open(&c);
	set_cap(h, 0, 1);
	run_to(h, 49 * MS); /* it ran in the first half ms only */
	t = truth(h, 0);
	assert_int_equal(t.cpu_ns, MS / 2);
	assert_int_equal(t.wrs, 4);
	sim_close(h);
}

/* --- applications --- */

TEST(server__requests__leave_no_time_between_them)
{
	struct sim_conf c;
	struct sim_host *h;
	struct sim_truth t;

	sim_conf_demo(&c);
	h = host_open(&c);
	set_cap(h, SERVER, 40); /* parked or not */
	run_to(h, 2 * S);
	t = truth(h, SERVER);
	assert_near(t.latency_sum_ns, 2 * S, 20 * MS); /* all but the one in work */
	assert_int_equal(t.requests, t.wrs);
	sim_close(h);
}

struct seen {
	uint64_t requests, sum_ns;
	uint32_t guest, app;
};

static void see(void *arg, uint32_t guest, uint32_t app, uint64_t latency_ns)
{
	struct seen *s = arg;

	s->requests++;
	s->sum_ns += latency_ns;
	s->guest = guest;
	s->app = app;
}

TEST(observer__of_requests__hears_of_each_with_its_true_latency)
{
	struct seen s = { .guest = 99 };
	struct sim_conf c;
	struct sim_host *h;

	sim_conf_demo(&c);
	c.guest[SERVER].apps = 2;
	c.guest[SERVER].app[1] = c.guest[SERVER].app[0];
	c.guest[SERVER].app[0].kind = SIM_APP_IDLE;
	h = host_open(&c);
	sim_set_observer(h, see, &s);
	run_to(h, 1 * S);
	assert_true(s.requests > 1000);
	assert_int_equal(s.requests, truth(h, SERVER).requests);
	assert_int_equal(s.sum_ns, truth(h, SERVER).latency_sum_ns);
	assert_int_equal(s.guest, SERVER);
	assert_int_equal(s.app, 1);
	sim_close(h);
}

TEST(tasks__on_one_vcpu__run_at_half_speed)
{
	struct sim_conf c = one_guest(SIM_APP_SERVER);
	struct sim_host *h;
	struct sim_truth t;

	c.guest[0].apps = 2;
	c.guest[0].app[1] =
		(struct sim_app){ .kind = SIM_APP_BURNER, .start_ns = 1 * S, .stop_ns = 2 * S };
	h = host_open(&c);
	t = did(h, 0, 0, 1 * S);
	assert_near(mean_latency(&t), 209000, 200);
	t = did(h, 0, 1100 * MS, 1900 * MS);
	assert_near(mean_latency(&t), 2 * (209000 - 61036) + 61036, 300);
	assert_int_equal(t.cpu_ns, 800 * MS);
	t = did(h, 0, 2100 * MS, 3 * S);
	assert_near(mean_latency(&t), 209000, 200);
	sim_close(h);
}

TEST(task__joined_by_another_in_mid_step__slows_down_from_there)
{
	struct sim_conf c = one_guest(SIM_APP_SERVER);
	struct sim_host *h;

	c.guest[0].apps = 2;
	c.guest[0].app[1] =
		(struct sim_app){ .kind = SIM_APP_BURNER, .start_ns = 50000, .stop_ns = 250000 };
	h = host_open(&c);
	run_to(h, 400000);
	/* of 147,964 ns of work 50,000 are done alone, the others at half speed */
	assert_int_equal(truth(h, 0).requests, 1);
	assert_near(app_truth(h, 0, 0).latency_last_ns, 50000 + 2 * 97964 + 61036, 2 * 735);
	run_to(h, S);
	assert_near(app_truth(h, 0, 0).latency_last_ns, 209000, 735);
	sim_close(h);
}

TEST(sender__with_a_start_and_a_stop__sends_only_between)
{
	struct sim_conf c = one_guest(SIM_APP_SENDER);
	struct sim_host *h;

	c.guest[0].app[0].start_ns = 100 * MS;
	c.guest[0].app[0].stop_ns = 200 * MS;
	h = host_open(&c);
	run_to(h, 100 * MS);
	assert_int_equal(truth(h, 0).wrs, 0);
	run_to(h, 300 * MS);
	assert_near(truth(h, 0).bytes, (1ull << 30) / 10, 4 << 20);
	assert_int_equal(truth(h, 0).cpu_ns, 100 * MS);
	sim_close(h);
}

/* --- guests come and go --- */

TEST(guest__destroyed_and_rebooted__begins_anew_with_a_new_id)
{
	struct sim_truth before, after;
	struct sim_conf c;
	struct sim_host *h;

	sim_conf_demo(&c);
	h = host_open(&c);
	assert_int_equal(sim_domid(h, BULK), 2);
	run_to(h, 100 * MS);
	assert_int_equal(sim_destroy(h, BULK), 0);
	assert_int_equal(sim_destroy(h, BULK), -ENOENT);
	before = truth(h, BULK);
	assert_int_equal(before.cpu_ns, 100 * MS);
	run_to(h, 200 * MS);
	after = truth(h, BULK);
	assert_memory_equal(&before, &after, sizeof(before));

	assert_int_equal(sim_reboot(h, BULK), 0);
	assert_int_equal(sim_domid(h, BULK), 3);
	assert_int_equal(truth(h, BULK).wrs, 0);
	run_to(h, 300 * MS);
	assert_int_equal(truth(h, BULK).cpu_ns, 100 * MS);
	assert_near(truth(h, BULK).wrs, before.wrs, 2);
	assert_int_equal(sim_reboot(h, 2), -ENOENT);
	sim_close(h);
}
