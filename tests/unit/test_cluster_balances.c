// SPDX-License-Identifier: GPL-2.0-or-later
/* cluster_balances: a host balances a service by weights, which it sets in a fake HAProxy. */
#include "tests/unit/balances_rig.h"

/* --- modes --------------------------------------------------------------------------------- */

RIG_TEST(observe__decides_and_shows_and_sets_nothing)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, SOCKET));
	struct cluster_server x;

	busy[1] = 900;
	assert_true(decided(s, "none") && !seen(s).k);
	site_until(s, decided(s, "fresh") && seen(s).k == 1);
	assert_int_equal(seen(s).mode, CLUSTER_OBSERVE);
	assert_string_equal(seen(s).service->name, "web");
	assert_true(seen(s).servers == 2 && seen(s).up == 2);
	assert_string_equal(seen(s).note, "");
	x = server(s, 0);
	assert_string_equal(x.node->name, "n1");
	assert_true(x.up && x.weight == CONFIGURED && x.configured == CONFIGURED);
	site_until(s, server(s, 0).wanted == 1 && server(s, 1).wanted == 256);
	sites_pass(s, NS_PER_S);
	assert_int_equal(p->puts, 0);
	assert_true(has(p, CONFIGURED, CONFIGURED));
	assert_int_equal(balance_events(s), 0);
	/* A turn each load.scan of 50 ms. */
	assert_in_range(seen(s).age_ns, 25 * MS, 25 * MS + 130 * MS);
}

RIG_TEST(act__of_two__sets_weights_by_load_and_none_to_zero)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	busy[1] = 900;
	site_until(s, has(p, 1, 256));
	assert_true(server(s, 0).wanted == 1 && server(s, 1).wanted == 256);
	site_until(s, server(s, 0).weight == 1);
	assert_int_equal(server(s, 0).configured, CONFIGURED);
	busy[1] = 100;
	busy[2] = 900;
	site_until(s, has(p, 256, 1));
	busy[1] = 900;
	site_until(s, has(p, 256, 256));
	assert_int_equal(balance_events(s), 0);
}

/* With the service time given, loads older than 20 of it are little worth. */
RIG_TEST(act__with_a_service_time__goes_by_the_age_of_the_loads)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT ", \"service_time\": \"50ms\""));

	busy[1] = 990;
	busy[2] = 10;
	site_until(s, decided(s, "grown"));
	assert_int_equal(seen(s).service_ns, 50 * MS);
	site_until(s, p->server[0].weight > 100 && p->server[0].weight < 255);
	assert_int_equal(p->server[1].weight, 256);
}

RIG_TEST(act__k_is_given__gives_so_many_nodes_weight)
{
	struct fake_process *p = fake_haproxy_run("be", 3, CONFIGURED);
	struct sites *s = open_sites(state, 3, BALANCED(N12 ", " N(3, "s3"), ACT ", \"k\": 2"));

	busy[1] = 900;
	busy[2] = 500;
	busy[3] = 100;
	site_until(s, p->server[0].weight == 0 && p->server[1].weight == 256 &&
			      p->server[2].weight == 256);
	assert_true(decided(s, "given") && seen(s).k == 2);
	site_until(s, server(s, 0).weight == 0);
	assert_int_equal(server(s, 0).wanted, 0);
}

RIG_TEST(act__one_of_three_has_a_weight__the_others_have_the_least)
{
	struct fake_process *p = fake_haproxy_run("be", 3, CONFIGURED);
	struct sites *s = open_sites(state, 3, BALANCED(N12 ", " N(3, "s3"), ACT ", \"k\": 1"));

	busy[1] = 900;
	busy[2] = 500;
	busy[3] = 100;
	site_until(s, p->server[0].weight == 1 && p->server[1].weight == 1 &&
			      p->server[2].weight == 256);
}

RIG_TEST(equal__puts_the_configured_weights_and_holds_them)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	p->server[1].initial = 40;
	busy[1] = 900;
	site_until(s, has(p, 1, 256));
	set_mode(s, CLUSTER_EQUAL);
	site_until(s, has(p, CONFIGURED, 40));
	assert_int_equal(server(s, 1).wanted, 40);
	p->server[0].weight = 77;
	site_until(s, has(p, CONFIGURED, 40));
	set_mode(s, CLUSTER_ACT);
	site_until(s, has(p, 1, 256));
}

RIG_TEST(observe__after_act__puts_the_configured_weights_once)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	busy[1] = 900;
	site_until(s, has(p, 1, 256));
	set_mode(s, CLUSTER_OBSERVE);
	assert_true(seen(s).restores && server(s, 0).wanted == CONFIGURED);
	site_until(s, !seen(s).restores);
	assert_true(has(p, CONFIGURED, CONFIGURED));
	assert_true(site_has_event(s, 1, "balance", "web: resexd no longer sets weights"));
	p->server[0].weight = 77;
	sites_pass(s, NS_PER_S);
	assert_true(has(p, 77, CONFIGURED));
	/* What was never put need not be restored. */
	set_mode(s, CLUSTER_ACT);
	set_mode(s, CLUSTER_OBSERVE);
	site_until(s, !seen(s).restores);
	assert_int_equal(balance_events(s), 2);
}

/* --- what goes wrong ------------------------------------------------------------------------- */

RIG_TEST(loads__stale__all_are_equal_and_an_event_says_so)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	busy[1] = 900;
	site_until(s, has(p, 1, 256));
	busy[2] = -1;
	site_until(s, has(p, 256, 256));
	assert_true(decided(s, "stale"));
	site_until(s, site_has_event(s, 1, "balance", "web: loads are stale or missing"));
	sites_pass(s, NS_PER_S);
	assert_int_equal(balance_events(s), 1);
	busy[2] = 0;
	site_until(s, has(p, 1, 256));
	assert_true(site_has_event(s, 1, "balance", "loads are fresh again"));
}

/* Where weights do not follow loads, nobody needs to know. */
RIG_TEST(loads__stale_in_other_modes__are_no_event)
{
	struct sites *s = open_sites(state, 2, BALANCED(N12, SOCKET));

	fake_haproxy_run("be", 2, CONFIGURED);
	site_until(s, decided(s, "fresh"));
	busy[2] = -1;
	site_until(s, decided(s, "stale"));
	sites_pass(s, 2 * NS_PER_S);
	set_mode(s, CLUSTER_EQUAL);
	sites_pass(s, 2 * NS_PER_S);
	assert_int_equal(balance_events(s), 0);
}

static int64_t oldest_load(struct sites *s)
{
	struct cluster_node_seen n[2];

	for (uint32_t k = 0; k < 2; k++)
		cluster_node_see(s->at[1].c, k, s->now, &n[k]);
	return n[0].age_ns > n[1].age_ns ? n[0].age_ns : n[1].age_ns;
}

/* A turn comes each load.scan: its weights hold for half of it, in the mean. */
RIG_TEST(age__is_of_the_middle_of_the_turn)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, SOCKET));
	int turns = 0;

	site_until(s, decided(s, "fresh"));
	for (int i = 0; i < 300; i++) {
		uint32_t reads = p->reads;

		sites_ms(s);
		if (p->reads == reads)
			continue;
		turns++;
		assert_in_range(seen(s).age_ns - oldest_load(s), 23 * MS, 25 * MS);
	}
	assert_in_range(turns, 2, 7);
}

/* Of a source without a run queue: the node is busy in any case, but its requests do not end. */
RIG_TEST(act__requests_under_way__count_where_no_queue_is_seen)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	busy[1] = 100;
	busy[2] = 900;
	site_until(s, has(p, 256, 1));
	p->server[0].own = 6;
	site_until(s, has(p, 1, 256));
	assert_int_equal(server(s, 0).under_way, 6);
	p->server[0].own = 0;
	site_until(s, has(p, 256, 1));
}

RIG_TEST(haproxy__lost_and_restarted__gets_the_weights_again_and_events_say_so)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));
	struct mono began;

	busy[1] = 900;
	site_until(s, has(p, 1, 256));
	/* At once, it is no event. */
	fake_haproxy_restart(p);
	began = s->now;
	site_until(s, has(p, 1, 256));
	assert_in_range(mono_sub(s->now, began), 0, 250 * MS);
	assert_int_equal(balance_events(s), 0);
	p->away = true;
	began = s->now;
	site_until(s, balance_events(s));
	assert_in_range(mono_sub(s->now, began), 900 * MS, 1200 * MS);
	assert_true(site_has_event(s, 1, "balance", "web: nobody listens at /h"));
	assert_string_equal(seen(s).note, "nobody listens at /h");
	fake_haproxy_restart(p);
	p->away = false;
	site_until(s, has(p, 1, 256));
	assert_true(site_has_event(s, 1, "balance", "web: HAProxy is heard of again"));
	assert_int_equal(balance_events(s), 2);
	/* It comes and goes: 4 events in a row, then none. */
	for (int i = 0; i < 4; i++) {
		p->hangs = i % 2 == 0;
		sites_pass(s, 1500 * MS);
	}
	assert_int_equal(balance_events(s), 4);
	assert_true(site_has_event(s, 1, "balance", "web: HAProxy does not answer at /h"));
}

RIG_TEST(weight__of_another_program__is_noticed_after_a_failure_too)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	p->refuses = true;
	busy[1] = 900;
	sites_pass(s, 500 * MS);
	p->refuses = false;
	site_until(s, has(p, 1, 256));
	sites_pass(s, 200 * MS);
	p->server[0].weight = 17;
	site_until(s, has(p, 1, 256));
	assert_true(site_has_event(s, 1, "balance", "web: weight 17 of s1"));
}

RIG_TEST(weight__of_another_program__is_set_again_and_told_once_a_minute)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	busy[1] = 900;
	site_until(s, has(p, 1, 256));
	sites_pass(s, 200 * MS);
	for (int i = 0; i < 10; i++) {
		p->server[0].weight = 17;
		site_until(s, has(p, 1, 256));
	}
	assert_int_equal(balance_events(s), 1);
	assert_true(site_has_event(s, 1, "balance",
				   "web: weight 17 of s1, which resexd had set to 1, is another "
				   "program's"));
	sites_pass(s, 61 * NS_PER_S);
	p->server[0].weight = 17;
	site_until(s, balance_events(s) == 2);
	/* One that could not be set is not another program's. */
	p->refuses = true;
	busy[1] = 0;
	sites_pass(s, 61 * NS_PER_S);
	assert_int_equal(balance_events(s), 2);
	assert_string_equal(seen(s).note, "no permission to set weights");
}

RIG_TEST(server__down_or_missing__takes_no_part)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 3, BALANCED(N12 ", " N(3, "s3"), ACT));

	busy[1] = 900;
	busy[2] = 300;
	busy[3] = 0;
	site_until(s, has(p, 1, 256));
	assert_true(seen(s).servers == 3 && seen(s).up == 2);
	assert_string_equal(seen(s).note, "HAProxy's backend \"be\" has no server \"s3\": correct "
					  "\"server\", or haproxy.cfg");
	assert_true(!server(s, 2).up && server(s, 2).weight == -1 && server(s, 2).wanted == -1);
	/* The least loaded goes down: the other gets all, also in what is kept. */
	p->server[1].down = true;
	site_until(s, p->server[0].weight == 256);
	assert_int_equal(p->server[1].weight, 256);
	p->server[0].down = true;
	site_until(s, !seen(s).up);
	assert_true(decided(s, "none"));
	p->server[0].weight = 5;
	sites_pass(s, NS_PER_S);
	assert_int_equal(p->server[0].weight, 5);
	p->server[0].down = p->server[1].down = false;
	site_until(s, has(p, 1, 256));
}

RIG_TEST(own_requests__sent_since_the_record__count)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	site_until(s, has(p, 256, 256));
	/* Long ones, which the records hold: they count for a moment. */
	p->server[0].own = 50;
	p->server[0].served = 50;
	site_until(s, server(s, 0).under_way == 50);
	site_until(s, server(s, 0).own == 0 && has(p, 256, 256));
	/* 200 a second, of which 100 are under way. */
	p->server[0].own = 100;
	for (int i = 0; i < 40; i++) {
		p->server[0].served += 2;
		sites_pass(s, 10 * MS);
	}
	assert_in_range(server(s, 0).own, 2, 30); /* of the load's age: 10 to 120 ms */
	assert_true(has(p, 1, 256));
}

RIG_TEST(service_time__is_measured_by_requests_and_cpu_time)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, SOCKET));

	busy[1] = 500;
	/* n1: 1 CPU busy, 100 requests a second: 10 ms each; n2 gets none. */
	site_until(s, decided(s, "fresh"));
	for (int i = 0; i < 300; i++) {
		p->server[0].served++;
		sites_pass(s, 10 * MS);
	}
	assert_in_range(seen(s).service_ns, 9 * MS, 11 * MS);
}

/* --- requests, in the load record --------------------------------------------------------- */

/* Node k, as host 1 has read it. */
static void has_requests(struct sites *s, uint32_t k, uint32_t queued, uint64_t served, int64_t ms)
{
	struct cluster_node_seen x;

	cluster_node_see(s->at[1].c, k, s->now, &x);
	assert_int_equal(x.state, CLUSTER_NODE_FRESH);
	assert_int_equal(x.load->queued, queued);
	assert_int_equal(x.load->served, served);
	assert_int_equal(x.load->latency_ns, ms * MS);
}

static void set_requests(struct fake_process *p)
{
	p->server[0].queued = 5;
	p->server[0].served = 700;
	p->server[0].latency_ns = 12 * MS;
	p->server[1].served = 900;
}

RIG_TEST(requests__of_a_node_of_this_host__are_in_its_record)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, SOCKET));

	site_until(s, decided(s, "fresh"));
	has_requests(s, 0, 0, 0, 0);
	set_requests(p);
	sites_pass(s, 120 * MS);
	has_requests(s, 0, 5, 700, 12);
	/* n2 is of a host that does not balance. */
	has_requests(s, 1, 0, 0, 0);
	fake_haproxy_restart(p);
	sites_pass(s, 300 * MS);
	has_requests(s, 0, 0, 0, 0);
	/* Of a node of the same number at another host. */
	p->server[1].served = 900;
	reload(s, BALANCED(N(1, "s1") ", {\"name\": \"n2\", \"number\": 1, \"host\": \"xen2\", "
				      "\"service\": \"web\", \"server\": \"s2\"}",
			   SOCKET));
	sites_pass(s, 300 * MS);
	assert_int_equal(seen(s).up, 2);
	has_requests(s, 0, 0, 0, 0);
}

RIG_TEST(requests__not_heard_of_for_a_while__are_no_longer_known)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, SOCKET));

	set_requests(p);
	site_until(s, decided(s, "fresh"));
	sites_pass(s, 120 * MS);
	p->hangs = true;
	sites_pass(s, 400 * MS);
	has_requests(s, 0, 5, 700, 12); /* load.stale: 500 ms */
	sites_pass(s, 220 * MS);
	has_requests(s, 0, 0, 0, 0);
	p->hangs = false;
	sites_pass(s, 200 * MS);
	has_requests(s, 0, 5, 700, 12);
	/* The control thread hangs: what it passed last grows old, too. */
	s->at[1].busy = true;
	sites_pass(s, 620 * MS);
	s->at[1].busy = false;
	has_requests(s, 0, 0, 0, 0);
	sites_pass(s, 120 * MS); /* HAProxy has no such server; the node serves nothing */
	strcpy(p->server[0].name, "other");
	sites_pass(s, 120 * MS);
	has_requests(s, 0, 0, 0, 0);
	strcpy(p->server[0].name, "s1");
	sites_pass(s, 120 * MS);
	has_requests(s, 0, 5, 700, 12);
	reload(s, BALANCED("{\"name\": \"n1\", \"number\": 1, \"host\": \"xen1\"}, " N(2, "s2"),
			   SOCKET));
	sites_pass(s, 120 * MS);
	has_requests(s, 0, 0, 0, 0);
}

/* --- the end ---------------------------------------------------------------------------------- */

RIG_TEST(end__of_act_and_equal__leaves_the_configured_weights)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	busy[1] = 900;
	site_until(s, has(p, 1, 256));
	assert_in_range(work_until_left(s), 1, 250);
	assert_true(has(p, CONFIGURED, CONFIGURED));
	assert_int_equal(fake_haproxy_open, 0);
}

RIG_TEST(end__while_haproxy_hangs__comes_after_a_second_and_says_so)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	busy[1] = 900;
	site_until(s, has(p, 1, 256));
	p->hangs = true;
	assert_in_range(work_until_left(s), 999, 1001);
	assert_true(site_has_event(
		s, 1, "balance", "web: the weights that resexd has set are still there: HAProxy"));
}

RIG_TEST(end__of_observe_or_before_anything_was_put__is_at_once)
{
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	sites_pass(s, NS_PER_S); /* no HAProxy */
	assert_int_equal(work_until_left(s), 1);
	assert_false(site_has_event(s, 1, "balance", "still there"));
}

/* --- reload ----------------------------------------------------------------------------------- */

RIG_TEST(reload__of_the_same__goes_on_with_the_operators_mode)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	busy[1] = 900;
	site_until(s, has(p, 1, 256));
	set_mode(s, CLUSTER_EQUAL);
	site_until(s, has(p, CONFIGURED, CONFIGURED));
	reload(s, BALANCED("{\"name\": \"m\", \"number\": 3, \"host\": \"xen3\"}, " N12, ACT));
	sites_pass(s, NS_PER_S);
	assert_int_equal(seen(s).mode, CLUSTER_EQUAL);
	assert_int_equal(fake_haproxy_open, 1);
	assert_string_equal(server(s, 0).node->name, "n1"); /* at another place of the list */
	set_mode(s, CLUSTER_ACT);
	site_until(s, has(p, 1, 256));
}

RIG_TEST(reload__of_settings__never_shows_haproxy_other_weights_between)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));
	uint32_t puts;

	busy[1] = 900;
	site_until(s, has(p, 1, 256));
	puts = p->puts;
	reload(s, BALANCED(N12, ACT ", \"k\": 1"));
	for (int i = 0; i < 2000; i++) {
		assert_true(has(p, 1, 256));
		sites_ms(s);
	}
	assert_true(decided(s, "given"));
	assert_int_equal(fake_haproxy_open, 1);
	/* The one before set nothing more. */
	assert_int_equal(p->puts, puts);
	/* Another mode in the file is the operator's newest word. */
	set_mode(s, CLUSTER_EQUAL);
	reload(s, BALANCED(N12, SOCKET));
	assert_int_equal(seen(s).mode, CLUSTER_OBSERVE);
	site_until(s, has(p, CONFIGURED, CONFIGURED));
}

RIG_TEST(reload__without_a_node_or_a_service__restores_its_servers)
{
	struct fake_process *p = fake_haproxy_run("be", 2, CONFIGURED),
			    *q = fake_haproxy_run("other", 2, CONFIGURED);
	struct sites *s = open_sites(state, 2, BALANCED(N12, ACT));

	busy[1] = 900;
	site_until(s, has(p, 1, 256));
	reload(s, BALANCED(N(1, "s1"), ACT));
	site_until(s, has(p, 256, CONFIGURED));
	assert_int_equal(seen(s).servers, 1);
	/* Another backend: the first one is restored. */
	reload(s, MORE(N12) ", \"balance\": [{\"service\": \"web\", \"backend\": \"other\", " ACT
			    "}]");
	site_until(s, has(p, CONFIGURED, CONFIGURED) && has(q, 1, 256));
	reload(s, MORE(N12));
	site_until(s, has(q, CONFIGURED, CONFIGURED));
	site_until(s, fake_haproxy_open == 0);
	assert_int_equal(cluster_conf(s->at[1].c)->balances, 0);
}

/* --- nodes that move ------------------------------------------------------------------------- */

#define NM(n, server)                                                                              \
	"{\"name\": \"n" #n "\", \"number\": " #n ", \"host\": \"xen" #n "\", "                    \
	"\"service\": \"mail\", \"server\": \"" server "\"}"
#define MOVED_OF(n3)                                                                               \
	MORE(N(1, "s1") ", " NM(2, "s2") ", " n3)                                                  \
	", \"reconf\": {\"S\": \"100ms\", \"T\": \"4s\"}"
#define MOVED MOVED_OF(NM(3, "s3"))
#define ONLY_MAIL                                                                                  \
	"{\"name\": \"n3\", \"number\": 3, \"host\": \"xen3\", \"service\": \"mail\", "            \
	"\"server\": \"s3\", \"only\": [\"mail\"]}"
#define BOTH_OF(moved, mode)                                                                       \
	moved ", \"balance\": [{\"service\": \"web\", \"backend\": \"be\", " mode "}, "            \
	      "{\"service\": \"mail\", \"backend\": \"mb\", " mode "}]"
#define BOTH(mode) BOTH_OF(MOVED, mode)

static struct sites *open_moved(void **state, const char *mode)
{
	struct sites *s = sites_new();

	*state = s;
	by_test = load_proc;
	by_test.sample = sample_busy;
	for (int i = 1; i <= SITES; i++) {
		site_write(s, i, "test", i == 1 ? mode : MOVED);
		site_open(s, i);
		s->at[i].c->worker.load_ops = &by_test;
		s->at[i].c->worker.fill.filler = NULL;
		busy[i] = 300;
	}
	return s;
}

/* Of s1 to s3: does it serve? */
static bool serve(const struct fake_process *p, bool s1, bool s2, bool s3)
{
	return (p->server[0].admin <= ACT_SERVE) == s1 && (p->server[1].admin <= ACT_SERVE) == s2 &&
	       (p->server[2].admin <= ACT_SERVE) == s3;
}

RIG_TEST(act__servers_follow_the_words_of_their_nodes)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_moved(state, BOTH(ACT));
	uint64_t ticket;
	char why[CLUSTER_WHY_TEXT];

	site_until(s, serve(be, true, false, false) && serve(mb, false, true, true));
	assert_true(be->server[1].admin == ACT_OUT && mb->server[0].admin == ACT_OUT);
	site_until(s, seen(s).up == 1 && seen(s).servers == 3);
	mb->server[1].own = 2; /* requests are under way at n2 */
	assert_int_equal(cluster_move(s->at[1].c, 1, 0, s->now, &ticket, why), 0);
	site_until(s, serve(be, true, true, false) && serve(mb, false, false, true));
	assert_int_equal(cluster_result(s->at[1].c, ticket), 0);
	assert_int_equal(mb->server[1].admin, ACT_DRAIN);
	mb->server[1].own = 0;
	site_until(s, mb->server[1].admin == ACT_OUT);
	/* weights are those of the nodes that serve it */
	busy[1] = 900;
	site_until(s, be->server[0].weight == 1 && be->server[1].weight == 256);
	/* an operator's state is taken back, with a word */
	be->server[1].admin = ACT_OUT;
	site_until(s, site_has_event(s, 1, "balance",
				     "web: state maint of s2, which resexd had set to ready, is "
				     "another program's: set again; to keep it, resex balance-set "
				     "web observe"));
	site_until(s, be->server[1].admin == ACT_SERVE);
	/* HAProxy begins again with all servers, and is set again */
	fake_haproxy_restart(mb);
	site_until(s, serve(mb, false, false, true));
	/* while the word of a node is not known, its server is left as it is */
	site_kill(s, 3);
	site_until(s, site_sees(s, 1, 3).state == CLUSTER_DOWN);
	be->server[2].admin = ACT_SERVE;
	mb->server[2].admin = ACT_OUT;
	sites_pass(s, NS_PER_S);
	assert_true(serve(be, true, true, true) && serve(mb, false, false, false));
}

/* Its host has lost which service it serves. */
RIG_TEST(node_in_no_service__keeps_its_server_as_it_is)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_moved(state, BOTH(ACT));
	struct cluster_node_seen n;

	site_until(s, serve(be, true, false, false) && serve(mb, false, true, true));
	site_kill(s, 3);
	tmp_write(&s->at[3].g->dir, "nodes", "");
	site_open(s, 3);
	site_until(s, (cluster_node_see(s->at[1].c, 2, s->now, &n), n.lost));
	sites_pass(s, NS_PER_S);
	assert_true(serve(be, true, false, false) && serve(mb, false, true, true));
	mb->server[2].admin = ACT_OUT; /* also what another program has set */
	sites_pass(s, NS_PER_S);
	assert_int_equal(mb->server[2].admin, ACT_OUT);
}

RIG_TEST(observe__leaves_the_servers_of_moved_nodes_as_they_are)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_moved(state, BOTH(SOCKET));

	site_until(s, seen(s).up == 1);
	sites_pass(s, NS_PER_S);
	assert_true(!be->puts && !mb->puts && serve(be, true, true, true));
	/* what act has set is left when the mode is observe again: the words hold */
	set_mode(s, CLUSTER_ACT);
	site_until(s, serve(be, true, false, false));
	set_mode(s, CLUSTER_OBSERVE);
	site_until(s, !seen(s).restores);
	assert_true(serve(be, true, false, false) && be->server[0].weight == CONFIGURED);
}

RIG_TEST(node__that_may_not_serve_a_service__is_no_server_of_it)
{
	struct fake_process *be = fake_haproxy_run("be", 3, CONFIGURED),
			    *mb = fake_haproxy_run("mb", 3, CONFIGURED);
	struct sites *s = open_moved(state, BOTH_OF(MOVED_OF(ONLY_MAIL), ACT));
	uint64_t ticket;
	char why[CLUSTER_WHY_TEXT];

	site_until(s, serve(be, true, false, true) && serve(mb, false, true, true));
	assert_int_equal(seen(s).servers, 2);
	assert_int_equal(cluster_move(s->at[1].c, 2, 0, s->now, &ticket, why), -EPERM);
	assert_non_null(strstr(why, "holds another cluster.json"));
	for (int i = 2; i <= SITES; i++) {
		site_kill(s, i);
		site_write(s, i, "test", MOVED_OF(ONLY_MAIL));
		site_open(s, i);
		s->at[i].c->worker.load_ops = &by_test;
		s->at[i].c->worker.fill.filler = NULL;
	}
	site_until(s, cluster_move(s->at[1].c, 2, 0, s->now, &ticket, why) == -EACCES);
}
