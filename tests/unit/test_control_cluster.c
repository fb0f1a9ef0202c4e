// SPDX-License-Identifier: GPL-2.0-or-later
/* control: the methods that show hosts, their guests and locks, and break locks. */
#include <errno.h>

#include "tests/unit/control_cluster_rig.h"
#include "tests/unit/unit.h"

WITH_CALL(alone__every_method__says_what_to_do)
{
	static const char *const names[] = { "host-list", "list-hosts",	  "lock-list",
					     "load-list", "load-show",	  "node-list",
					     "why-node",  "balance-list", "balance-set",
					     "why-move",  "service-list", "history" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_fails(*state, names[i], "", RESEX_NO_CLUSTER, "name a cluster_file");
	assert_fails(*state, "cluster-reload", "", RESEX_NO_CLUSTER, "this host is in no cluster");
	assert_fails(*state, "lock-break", "'service':'web'", RESEX_NO_CLUSTER,
		     "name a cluster_file");
}

WITH_CALL(info__in_a_cluster_or_alone__says_so)
{
	static const char *const names[] = { "cluster", "membership", "view", "quorate",
					     "cluster_note" };
	const json_t *r = ask(*state, "info", "");

	for (size_t i = 0; i < 5; i++)
		assert_true(json_is_null(json_object_get(r, names[i])));
	with_cluster(*state);
	r = ask(*state, "info", "");
	assert_string_equal(str(r, "cluster"), "prod");
	assert_string_equal(str(r, "membership"), "corosync");
	assert_int_equal(num(r, "view"), 12);
	assert_true(json_is_true(json_object_get(r, "quorate")));
	assert_string_equal(str(r, "cluster_note"), "");
}

WITH_CALL(without_quorum__info_and_lists__say_why)
{
	static const char *const names[] = { "info", "host-list", "list-hosts", "lock-list" };
	struct cluster *c = with_cluster(*state);

	c->quorate = false;
	c->note = "corosync is away; start corosync";
	for (size_t i = 0; i < 4; i++) {
		const json_t *r = ask(*state, names[i], "");

		assert_true(json_is_false(json_object_get(r, "quorate")));
		assert_string_equal(str(r, "cluster_note"), c->note);
	}
	c->break_rc = -EPERM;
	assert_fails(*state, "lock-break", "'service':'web'", RESEX_FAILURE,
		     "the lock of web is not broken, for lack of quorum: corosync is away; "
		     "start");
}

WITH_CALL(host_list__three_hosts__says_how_each_is_seen)
{
	const json_t *r, *h;

	with_cluster(*state);
	r = ask(*state, "host-list", "");
	assert_string_equal(str(r, "cluster"), "prod");
	assert_string_equal(str(r, "transport"), "fake");
	assert_int_equal(num(r, "view"), 12);
	assert_true(json_is_true(json_object_get(r, "quorate")));
	assert_string_equal(str(row(r, "hosts", "xen1"), "state"), "self");
	h = row(r, "hosts", "xen2");
	assert_string_equal(str(h, "state"), "up");
	assert_int_equal(num(h, "age_ms"), 300);
	assert_int_equal(num(h, "generation"), 7);
	assert_int_equal(num(h, "beat"), 4711);
	assert_true(json_is_false(json_object_get(h, "simulated")));
	assert_int_equal(num(h, "guests"), 2);
	assert_string_equal(str(h, "policy"), "ioshares");
	h = row(r, "hosts", "xen3");
	assert_string_equal(str(h, "state"), "down");
	assert_true(json_is_null(json_object_get(h, "age_ms")));
	assert_non_null(strstr(str(h, "note"), "no resexd listens"));
	assert_null(json_object_get(h, "beat"));
}

WITH_CALL(lists__of_hosts_with_another_file__say_it)
{
	struct cluster *c = with_cluster(*state);
	static const struct {
		enum cluster_agree agree;
		json_type type;
	} rows[] = { { CLUSTER_AGREE_UNREAD, JSON_NULL },
		     { CLUSTER_AGREE_SAME, JSON_TRUE },
		     { CLUSTER_AGREE_SERVICES, JSON_FALSE },
		     { CLUSTER_AGREE_HOSTS, JSON_FALSE } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const json_t *lock;

		c->seen[1].agree = c->lock[0].agree = rows[i].agree;
		c->lock[0].differs = i ? &c->conf.host[1] : NULL;
		assert_int_equal(
			json_typeof(json_object_get(
				row(ask(*state, "host-list", ""), "hosts", "xen2"), "agrees")),
			rows[i].type);
		lock = json_array_get(json_object_get(ask(*state, "lock-list", ""), "locks"), 0);
		assert_int_equal(json_typeof(json_object_get(lock, "agreed")), rows[i].type);
		if (i)
			assert_string_equal(str(lock, "differs"), "xen2");
		else
			assert_true(json_is_null(json_object_get(lock, "differs")));
	}
	c->break_rc = -EXDEV;
	assert_fails(*state, "lock-break", "'service':'web'", RESEX_FAILURE,
		     "the lock of web is not broken: xen2 has other hosts");
}

WITH_CALL(list_hosts__guests_of_all__are_shown_with_their_caps)
{
	const json_t *r, *h, *web, *bulk;

	with_cluster(*state);
	r = ask(*state, "list-hosts", "");
	h = row(r, "hosts", "xen2");
	web = row(h, "guests", "web");
	assert_int_equal(num(web, "cap"), 25);
	assert_int_equal(num(web, "mtus_sent"), 123);
	assert_true(json_real_value(json_object_get(web, "allocated")) == 624288.0);
	assert_true(json_real_value(json_object_get(web, "latency_us")) == 209.5);
	assert_string_equal(str(web, "state"), "managed");
	bulk = row(h, "guests", "bulk");
	assert_true(json_is_null(json_object_get(bulk, "cap")));
	assert_true(json_is_null(json_object_get(bulk, "latency_us")));
	assert_string_equal(str(bulk, "state"), "exempt");
	assert_int_equal(json_array_size(json_object_get(row(r, "hosts", "xen3"), "guests")), 0);
}

static const json_t *lock_of(const json_t *r, size_t i)
{
	return json_array_get(json_object_get(r, "locks"), i);
}

WITH_CALL(lock_list__held_broken_free_unknown__are_different)
{
	struct cluster *c = with_cluster(*state);
	const json_t *r = ask(*state, "lock-list", "");

	assert_string_equal(str(lock_of(r, 0), "service"), "web");
	assert_string_equal(str(lock_of(r, 0), "home"), "xen1");
	assert_string_equal(str(lock_of(r, 0), "state"), "held");
	assert_string_equal(str(lock_of(r, 0), "owner"), "xen2");
	assert_string_equal(str(lock_of(r, 0), "fence"), "0.99");
	assert_int_equal(num(lock_of(r, 0), "since_ms"), 5000);
	assert_int_equal(num(lock_of(r, 0), "age_ms"), 20);
	assert_string_equal(str(lock_of(r, 1), "state"), "unknown");
	assert_null(json_object_get(lock_of(r, 1), "owner"));
	c->lock[0].word = region_word(0, 5);
	c->lock[1].known = true;
	c->lock[1].word = region_word(LOCK_DIRTY, 6);
	c->lock[1].home = NULL;
	r = ask(*state, "lock-list", "");
	assert_string_equal(str(lock_of(r, 1), "state"), "dirty");
	c->lock[1].word = region_word(REGION_LOCK_BROKEN, 7);
	r = ask(*state, "lock-list", "");
	assert_string_equal(str(lock_of(r, 0), "state"), "free");
	assert_true(json_is_null(json_object_get(lock_of(r, 0), "owner")));
	assert_string_equal(str(lock_of(r, 1), "state"), "broken");
	assert_true(json_is_null(json_object_get(lock_of(r, 1), "home")));
}

static const json_t *node_of(const json_t *r, size_t i)
{
	return json_array_get(json_object_get(r, "nodes"), i);
}

WITH_CALL(load_list__fresh_stale_unread__are_different)
{
	const json_t *r, *n, *flags;

	with_cluster(*state);
	r = ask(*state, "load-list", "");
	assert_string_equal(str(r, "cluster"), "prod");
	assert_int_equal(json_array_size(json_object_get(r, "nodes")), 3);
	n = node_of(r, 0);
	assert_string_equal(str(n, "node"), "n1");
	assert_string_equal(str(n, "host"), "xen1");
	assert_string_equal(str(n, "state"), "fresh");
	assert_int_equal(num(n, "load"), 870);
	assert_int_equal(num(n, "age_ms"), 12);
	assert_string_equal(str(n, "source"), "ulm");
	assert_int_equal(num(n, "busy_ns"), 1234567890123);
	assert_int_equal(num(n, "wait_ns"), 5000);
	assert_true(json_is_null(json_object_get(n, "guest")));
	flags = json_object_get(n, "flags");
	assert_int_equal(json_array_size(flags), 2);
	assert_string_equal(json_string_value(json_array_get(flags, 0)), "overrun");
	assert_string_equal(json_string_value(json_array_get(flags, 1)), "disagrees");
	n = node_of(r, 1);
	assert_string_equal(str(n, "state"), "stale");
	assert_true(json_is_null(json_object_get(n, "load")));
	assert_string_equal(str(n, "note"), "old");
	n = node_of(r, 2);
	assert_string_equal(str(n, "state"), "unread");
	assert_true(json_is_null(json_object_get(n, "age_ms")));
	assert_null(json_object_get(n, "source"));
}

/* A number in their place would be read as one. */
WITH_CALL(load_list__of_a_guest__has_no_figures_that_the_hypervisor_does_not_know)
{
	struct cluster *c = with_cluster(*state);
	const json_t *n;

	strcpy(c->conf.node[0].guest, "www2");
	c->load.source = LOAD_HV;
	c->load.flags = LOAD_NO_RUNNING;
	n = node_of(ask(*state, "load-list", ""), 0);
	assert_string_equal(str(n, "guest"), "www2");
	assert_string_equal(str(n, "source"), "hv");
	assert_int_equal(num(n, "wait_ns"), 5000);
	assert_true(json_is_null(json_object_get(n, "running")));
	assert_true(json_is_null(json_object_get(n, "load_avg_1")));
	c->load.flags = LOAD_NO_WAIT;
	n = node_of(ask(*state, "load-list", ""), 0);
	assert_true(json_is_null(json_object_get(n, "wait_ns")));
	assert_int_equal(num(n, "running"), 0);
}

/* What the agent says, and why it is not used. */
static const json_t *agent_row(void **state)
{
	const json_t *r = ask(*state, "load-show", "'node':'n1'");

	r = json_object_get(r, "sources");
	assert_int_equal(json_array_size(r), 2);
	assert_string_equal(str(json_array_get(r, 1), "source"), "hv");
	assert_string_equal(str(json_array_get(r, 1), "note"), "");
	assert_true(json_boolean_value(json_object_get(json_array_get(r, 0), "used")) !=
		    json_boolean_value(json_object_get(json_array_get(r, 1), "used")));
	return json_array_get(r, 0);
}

WITH_CALL(load_show__of_a_guest__has_both_sources_and_what_disagrees)
{
	struct cluster *c = with_cluster(*state);
	struct cluster_sources *s = &c->sources;
	const json_t *r;

	assert_int_equal(json_array_size(json_object_get(ask(*state, "load-show", "'node':'n1'"),
							 "sources")),
			 0);
	s->hv = (struct cluster_source){ .load = { .source = LOAD_HV, .beat = 9 }, .index = 750 };
	s->agent.index = -EAGAIN;
	r = agent_row(state);
	assert_string_equal(str(r, "source"), "agent");
	assert_string_equal(str(r, "note"), "its agent publishes none: see resex-agent(8)");
	assert_true(json_is_null(json_object_get(r, "load")));
	assert_true(json_is_null(json_object_get(r, "age_ms")));
	s->agent = (struct cluster_source){ .load = { .source = LOAD_ULM, .beat = 9 }, .index = 5 };
	r = agent_row(state);
	assert_string_equal(str(r, "source"), "ulm");
	assert_int_equal(num(r, "load"), 5);
	assert_non_null(strstr(str(r, "note"), "it was not compared"));
	assert_true(json_is_null(json_object_get(r, "compared")));
	s->agent.load.sampled_ns = INT64_MAX; /* copied after the call began */
	assert_int_equal(num(agent_row(state), "age_ms"), 0);
	s->agree = (struct load_agree){ .known = true,
					.disagrees = true,
					.used_mcpu = 30,
					.steal_mcpu = 1200,
					.cpu_mcpu = 999,
					.wait_mcpu = 0 };
	r = agent_row(state);
	assert_string_equal(str(r, "note"), "it disagrees: it says 0.03 CPUs used and 1.20 taken; "
					    "counted are 0.99, and 0.00 waiting");
	assert_int_equal(num(json_object_get(r, "compared"), "taken"), 1200);
	s->agree.good = 1;
	assert_non_null(strstr(str(agent_row(state), "note"), "must agree for 5 seconds"));
	s->agree.good = s->agree.known = 0;
	assert_non_null(strstr(str(agent_row(state), "note"), "must agree for 5 seconds"));
	s->why = "it holds no load record";
	assert_string_equal(str(agent_row(state), "note"),
			    "its load page: it holds no load record");
	s->believed = true;
	assert_string_equal(str(agent_row(state), "note"), "");
}

WITH_CALL(load_show__one_node__is_its_row)
{
	with_cluster(*state);
	assert_string_equal(str(ask(*state, "load-show", "'node':'n2'"), "state"), "stale");
	assert_fails(*state, "load-show", "", RESEX_USAGE, "give a node's name");
	assert_fails(*state, "load-show", "'node':'web9'", RESEX_USAGE,
		     "there is no node \"web9\": see resex node-list");
}

WITH_CALL(node_list__nodes_with_and_without_a_service__say_what_they_serve)
{
	struct cluster *c = with_cluster(*state);
	const json_t *r, *n;

	c->conf.node[1].service = 0;
	r = ask(*state, "node-list", "");
	assert_string_equal(str(r, "cluster"), "prod");
	assert_int_equal(json_array_size(json_object_get(r, "nodes")), 3);
	n = node_of(r, 0);
	assert_string_equal(str(n, "node"), "n1");
	assert_int_equal(num(n, "number"), 0);
	assert_string_equal(str(n, "host"), "xen1");
	assert_string_equal(str(n, "service"), "web");
	assert_string_equal(str(n, "configured"), "web");
	assert_true(json_is_null(json_object_get(n, "kept")));
	assert_string_equal(str(n, "server"), "s1");
	assert_string_equal(str(n, "state"), "fresh");
	c->node[0].word_known = c->node[0].kept = true;
	r = ask(*state, "node-list", "");
	assert_true(json_is_true(json_object_get(node_of(r, 0), "kept")));
	n = node_of(r, 1);
	assert_true(json_is_null(json_object_get(n, "service")));
	assert_true(json_is_null(json_object_get(n, "server")));
	assert_string_equal(str(n, "note"), "old");
	assert_string_equal(str(n, "kind"), "both");
	assert_true(json_is_null(json_object_get(n, "phase")));
	c->conf.node[1].kind = CLUSTER_NODE_SWITCH;
	n = node_of(ask(*state, "node-list", ""), 1);
	assert_string_equal(str(n, "kind"), "switch");
	assert_string_equal(str(n, "phase"), "waits");
	assert_string_equal(str(n, "note"), "xen1 is waited for");
}

/* --- balance ------------------------------------------------------------------------- */

static const json_t *server_of(const json_t *b, size_t i)
{
	return json_array_get(json_object_get(b, "servers"), i);
}

WITH_CALL(balance_list__one_service__shows_its_servers)
{
	struct cluster *c = with_cluster(*state);
	const json_t *r = ask(*state, "balance-list", ""), *b, *s;

	assert_string_equal(str(r, "cluster"), "prod");
	assert_int_equal(json_array_size(json_object_get(r, "balances")), 1);
	b = json_array_get(json_object_get(r, "balances"), 0);
	assert_string_equal(str(b, "service"), "web");
	assert_string_equal(str(b, "backend"), "be");
	assert_string_equal(str(b, "by"), "weights");
	assert_string_equal(str(b, "mode"), "act");
	assert_string_equal(str(b, "why"), "grown");
	assert_true(num(b, "k") == 1 && num(b, "up") == 2 && num(b, "age_ms") == 12);
	assert_true(json_real_value(json_object_get(b, "service_time_us")) == 1500.0);
	assert_int_equal(json_array_size(json_object_get(b, "servers")), 3);
	s = server_of(b, 0);
	assert_string_equal(str(s, "server"), "s1");
	assert_string_equal(str(s, "node"), "n1");
	assert_true(json_is_true(json_object_get(s, "up")));
	assert_true(num(s, "weight") == 1 && num(s, "wanted") == 200);
	assert_true(num(s, "configured") == 10 && num(s, "own") == 2);
	assert_int_equal(num(server_of(b, 1), "served"), 77);
	s = server_of(b, 2);
	assert_true(json_is_false(json_object_get(s, "up")));
	assert_true(json_is_null(json_object_get(s, "weight")));
	assert_true(json_is_null(json_object_get(s, "wanted")));
	c->balancer.service_ns = 0;
	b = json_array_get(json_object_get(ask(*state, "balance-list", ""), "balances"), 0);
	assert_true(json_is_null(json_object_get(b, "service_time_us")));
	assert_true(json_is_null(json_object_get(b, "port")));
}

WITH_CALL(balance_list__by_agent__has_its_port)
{
	struct cluster *c = with_cluster(*state);
	const json_t *b;

	c->conf.balance[0].by = CLUSTER_BY_AGENT;
	c->conf.balance[0].port = 65535;
	b = json_array_get(json_object_get(ask(*state, "balance-list", ""), "balances"), 0);
	assert_string_equal(str(b, "by"), "agent");
	assert_int_equal(num(b, "port"), 65535);
}

WITH_CALL(balance_set__a_mode__is_in_the_reply)
{
	static const char *const modes[] = { "observe", "act", "equal" };
	struct cluster *c = with_cluster(*state);
	char params[64];

	for (size_t i = 0; i < 3; i++) {
		snprintf(params, sizeof(params), "'service':'web','mode':'%s'", modes[i]);
		assert_string_equal(str(ask(*state, "balance-set", params), "mode"), modes[i]);
		assert_int_equal(c->balancer.mode, i);
	}
	assert_int_equal(ask_as(*state, false, "balance-set", params).exit, RESEX_PERMISSION);
}

WITH_CALL(balance_set__refused__says_why)
{
	static const struct {
		const char *params;
		int exit;
		const char *says;
	} rows[] = {
		{ "'mode':'act'", RESEX_USAGE, "give a service's name" },
		{ "'service':'wbe','mode':'act'", RESEX_USAGE,
		  "there is no service \"wbe\": see resex balance-list" },
		{ "'service':'mail','mode':'act'", RESEX_USAGE,
		  "this host does not balance service \"mail\"" },
		{ "'service':'web'", RESEX_USAGE, "mode: give act, observe or equal" },
		{ "'service':'web','mode':'even'", RESEX_USAGE,
		  "mode is \"even\": give act, observe or equal" },
		{ "'service':'web','mode':'act'", RESEX_FAILURE, "could not be opened" },
	};
	struct cluster *c = with_cluster(*state);

	c->set_rc = -ENODEV;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_fails(*state, "balance-set", rows[i].params, rows[i].exit, rows[i].says);
	assert_int_equal(c->balancer.mode, CLUSTER_ACT);
}

static const char *why_of(struct guests_rig *g, const char *node)
{
	char params[64];

	snprintf(params, sizeof(params), "'node':'%s'", node);
	return str(ask(g, "why-node", params), "text");
}

WITH_CALL(why_node__by_mode_and_load__is_one_sentence)
{
	struct cluster *c = with_cluster(*state);
	const json_t *r;

	c->load.flags = 0;
	c->load.running = 3;
	assert_string_equal(why_of(*state, "n1"),
			    "weight 200 of 256: its load is 0.870 by ulm with 3 tasks on 2 CPUs, "
			    "12 ms old; 2 requests of its own HAProxy are not in it; 1 of 2 nodes "
			    "get requests: so more get requests");
	r = ask(*state, "why-node", "'node':'n1'");
	assert_string_equal(str(r, "node"), "n1");
	assert_string_equal(str(r, "host"), "xen1");
	assert_string_equal(str(r, "service"), "web");
	assert_string_equal(str(r, "mode"), "act");
	assert_string_equal(str(r, "why"), "grown");
	assert_true(num(r, "load") == 870 && num(r, "age_ms") == 12 && num(r, "k") == 1);
	assert_true(num(r, "weight") == 1 && num(r, "wanted") == 200 && num(r, "own") == 2);
	c->load.flags = LOAD_DISAGREES;
	assert_non_null(
		strstr(why_of(*state, "n1"),
		       "by ulm, 12 ms old, and does not count: the hypervisor counted another; 2"));
	c->load.source = LOAD_HV;
	c->load.flags = LOAD_DISAGREES | LOAD_NO_RUNNING;
	assert_non_null(strstr(why_of(*state, "n1"),
			       "by hv, 12 ms old, and it comes last: its guest says otherwise; 2"));
	c->load.source = LOAD_ULM;
	assert_non_null(strstr(why_of(*state, "n2"), "its load is not known before its second"));
	c->node[1].index = 5;
	c->load.flags = LOAD_NO_RUNNING;
	assert_non_null(strstr(why_of(*state, "n2"), "0.005 by ulm, 1000 ms old, which is stale"));
	c->server[2].up = true;
	c->server[2].wanted = 9;
	assert_non_null(strstr(why_of(*state, "n3"), "weight 9 of 256: its load is not known "
						     "(none)"));
	c->balancer.mode = CLUSTER_OBSERVE;
	assert_non_null(strstr(why_of(*state, "n1"), "resexd only observes, and would set weight "
						     "200 of 256: "));
	c->balancer.restores = true;
	assert_non_null(strstr(why_of(*state, "n1"), "resexd no longer sets another"));
	c->balancer.restores = false;
	c->balancer.mode = CLUSTER_EQUAL;
	assert_string_equal(why_of(*state, "n1"), "weight 200, that of HAProxy's configuration: by "
						  "resex balance-set equal");
}

/* Of a guest, tasks count as no fewer than the CPUs that it used. */
WITH_CALL(why_node__whose_tasks_decide__names_them)
{
	static const struct {
		uint32_t running, cpus, source, flags;
		int index;
		bool guest;
		const char *says;
	} rows[] = {
		{ 3, 2, LOAD_ULM, 0, 870, false, "0.870 by ulm with 3 tasks on 2 CPUs, 12 ms" },
		{ 1, 1, LOAD_KLM, 0, 870, false, "0.870 by klm with 1 task on 1 CPU, 12 ms" },
		{ 0, 2, LOAD_KLM, 0, 870, false, "0.870 by klm with 0 tasks on 2 CPUs, 12 ms" },
		{ 3, 2, LOAD_HV, LOAD_NO_RUNNING, 870, true, "0.870 by hv, 12 ms" },
		{ 3, 2, LOAD_ULM, LOAD_NO_RUNNING, 870, false, "0.870 by ulm, 12 ms" },
		{ 3, 2, LOAD_ULM, LOAD_DISAGREES, 870, true, "0.870 by ulm, 12 ms" },
		{ 3, 2, LOAD_HV, LOAD_DISAGREES, 870, true, "by hv with 3 tasks on 2 CPUs, 12" },
		{ 3, 2, LOAD_ULM, 0, 1500, true, "1.500 by ulm with 3 tasks on 2 CPUs, 12 ms" },
		{ 3, 2, LOAD_ULM, 0, 1501, true, "1.501 by ulm, 12 ms" },
		{ 3, 2, LOAD_ULM, 0, 1501, false, "1.501 by ulm with 3 tasks on 2 CPUs, 12 ms" },
	};
	struct cluster *c = with_cluster(*state);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		c->load.running = rows[i].running;
		c->load.cpus = rows[i].cpus;
		c->load.source = rows[i].source;
		c->load.flags = rows[i].flags;
		c->node[0].index = rows[i].index;
		strcpy(c->conf.node[0].guest, rows[i].guest ? "web-1" : "");
		if (!strstr(why_of(*state, "n1"), rows[i].says))
			fail_msg("row %zu: %s", i, why_of(*state, "n1"));
	}
}

WITH_CALL(why_node__that_gets_no_weight__says_what_is_missing)
{
	struct cluster *c = with_cluster(*state);
	const json_t *r;

	assert_non_null(strstr(why_of(*state, "n3"), "it takes no part: its server is down"));
	strcpy(c->balancer.note, "HAProxy's backend \"be\" has no server \"s3\"");
	assert_string_equal(why_of(*state, "n3"),
			    "it takes no part: HAProxy's backend \"be\" has no server \"s3\"");
	c->server[0].wanted = -1;
	c->balancer.why_text = "nothing is decided yet";
	assert_string_equal(why_of(*state, "n1"), "nothing is decided yet");
	c->conf.balances = 0;
	assert_non_null(strstr(why_of(*state, "n1"), "this host does not balance service web"));
	c->conf.node[0].service = 0;
	r = ask(*state, "why-node", "'node':'n1'");
	assert_non_null(strstr(str(r, "text"), "it serves no service: give it a \"service\""));
	assert_true(json_is_null(json_object_get(r, "service")));
	assert_null(json_object_get(r, "mode"));
	assert_fails(*state, "why-node", "", RESEX_USAGE, "give a node's name");
	assert_fails(*state, "why-node", "'node':'n9'", RESEX_USAGE, "there is no node \"n9\"");
}

WITH_CALL(why__of_a_guest_whose_name_a_node_has__says_so)
{
	struct cluster *c = with_cluster(*state);

	assert_true(
		json_is_false(json_object_get(ask(*state, "why", "'guest':'web'"), "also_node")));
	strcpy(c->conf.node[2].name, "web");
	assert_true(
		json_is_true(json_object_get(ask(*state, "why", "'guest':'web'"), "also_node")));
	assert_true(json_is_false(json_object_get(ask(*state, "why", ""), "also_node")));
}

WITH_CALL(lock_break__answer_comes_later__is_waited_for)
{
	struct cluster *c = with_cluster(*state);
	const json_t *r;

	c->result_after = 3;
	r = ask(*state, "lock-break", "'service':'web','force':true");
	assert_true(c->forced);
	assert_int_equal(c->ticket, 1);
	assert_int_equal(c->result_after, 0);
	assert_string_equal(str(r, "service"), "web");
	assert_string_equal(str(r, "state"), "broken");
	assert_string_equal(str(r, "fence"), "0.100");
	assert_int_equal(num(r, "epoch"), 0);
	assert_int_equal(num(r, "count"), 100);
}

WITH_CALL(lock_break__refused__says_why_and_what_to_do)
{
	static const struct {
		int begin, end, exit;
		const char *says;
	} rows[] = {
		{ -EALREADY, 0, RESEX_FAILURE, "the lock of web is not held" },
		{ -EBUSY, 0, RESEX_BUSY, "--force" },
		{ -EAGAIN, 0, RESEX_BUSY, "another lock" },
		{ -EPERM, 0, RESEX_FAILURE, "for lack of quorum" },
		{ -ENOENT, 0, RESEX_FAILURE, "cannot be read" },
		{ -ENOTCONN, 0, RESEX_FAILURE, "cannot be read" },
		{ 0, -ESTALE, RESEX_FAILURE, "changed meanwhile" },
		{ 0, -ENOTCONN, RESEX_FAILURE, "cannot be read" },
		{ 0, -EIO, RESEX_FAILURE, "was lost" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cluster *c = with_cluster(*state);

		c->break_rc = rows[i].begin;
		c->result_rc = rows[i].end;
		c->result_after = 1;
		assert_refused(*state, "lock-break", "'service':'web'", rows[i].exit,
			       PROTO_E_SERVER - rows[i].exit, rows[i].says);
		assert_false(c->forced);
	}
	assert_fails(*state, "lock-break", "'service':'wbe'", RESEX_USAGE, "no service \"wbe\"");
	assert_fails(*state, "lock-break", "", RESEX_USAGE, "give a service's name");
}

/* --- cluster-reload ------------------------------------------------------------------ */

/* The file has a fourth host, another minimum of web, and a client. */
static struct cluster *with_changes(struct guests_rig *g)
{
	struct cluster *c = with_cluster(g);

	c->next = c->conf;
	c->next.host[3] = (struct cluster_host){ .name = "xen4", .number = 4 };
	c->next.hosts = 4;
	c->next.service[0].minimum = 3;
	c->next.client[0] = (struct cluster_client){ .name = "peek", .number = 9 };
	c->next.clients = 1;
	c->changes = (struct cluster_changes){ .n = 3,
					       .change = { { CLUSTER_HOST_ADDED, 4 },
							   { CLUSTER_CLIENT_CHANGED, 9 },
							   { CLUSTER_SERVICE_CHANGED, 1 } } };
	return c;
}

static void assert_names(const json_t *r, const char *key, const char *names)
{
	char text[128] = "";
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(r, key), i, v) {
		strcat(text, json_string_value(v));
		strcat(text, " ");
	}
	assert_string_equal(text, names);
}

static void assert_change(const json_t *r, size_t i, const char *kind, const char *text)
{
	const json_t *o = json_array_get(json_object_get(r, "changes"), i);

	assert_string_equal(str(o, "kind"), kind);
	assert_non_null(strstr(str(o, "text"), text));
}

WITH_CALL(cluster_reload__changes__are_named_once_they_are_in_force)
{
	struct cluster *c = with_changes(*state);
	const json_t *r;

	c->reload_after = 3;
	r = ask(*state, "cluster-reload", "");
	assert_int_equal(c->reload_after, 0);
	assert_int_equal(c->reloads, 1);
	assert_int_equal(c->conf.hosts, 4);
	assert_true(json_is_true(json_object_get(r, "changed")));
	assert_true(json_is_false(json_object_get(r, "dry_run")));
	assert_int_equal(json_array_size(json_object_get(r, "changes")), 3);
	assert_change(r, 0, "host-added", "host xen4 is new");
	assert_change(r, 1, "client-changed", "client peek is new");
	assert_change(r, 2, "service-changed", "minimum 3");
	/* A new host does not run yet: it reads the file when it starts. */
	assert_names(r, "others", "xen2 xen3 ");
	assert_names(r, "new", "xen4 ");
}

WITH_CALL(cluster_reload__dry_run_or_nothing_new__puts_nothing_in_force)
{
	struct cluster *c = with_changes(*state);
	const json_t *r = ask(*state, "cluster-reload", "'dry_run':true");

	assert_true(json_is_true(json_object_get(r, "dry_run")));
	assert_int_equal(json_array_size(json_object_get(r, "changes")), 3);
	c->changes.n = 0;
	r = ask(*state, "cluster-reload", "");
	assert_true(json_is_false(json_object_get(r, "changed")));
	assert_int_equal(json_array_size(json_object_get(r, "others")), 0);
	assert_int_equal(c->reloads, 0);
	/* Of clients, reconf and load the other members need not know. */
	c->conf.reconf.check_ns = NS_PER_S;
	c->next.reconf.check_ns = 2 * NS_PER_S;
	c->changes = (struct cluster_changes){ .n = 3,
					       .change = { { CLUSTER_CLIENT_CHANGED, 9 },
							   { CLUSTER_RECONF_CHANGED, 0 },
							   { CLUSTER_LOAD_CHANGED, 0 } } };
	r = ask(*state, "cluster-reload", "");
	assert_change(r, 1, "reconf-changed", "reconf: S 2s, was 1s");
	assert_int_equal(json_array_size(json_object_get(r, "others")), 0);
	assert_int_equal(c->reloads, 1);
	/* but whether there is one, they must */
	c->changes = (struct cluster_changes){
		.n = 2, .change = { { CLUSTER_RECONF_ADDED, 0 }, { CLUSTER_RECONF_REMOVED, 0 } }
	};
	r = ask(*state, "cluster-reload", "");
	assert_change(r, 0, "reconf-added", "reconf is new");
	assert_change(r, 1, "reconf-removed", "reconf is left out");
	assert_int_equal(json_array_size(json_object_get(r, "others")), 3);
}

WITH_CALL(cluster_reload__refused__says_why_and_where)
{
	static const struct {
		int read, reload, exit;
		const char *says;
	} rows[] = {
		{ -EPERM, 0, RESEX_BAD_CONFIG, "c.json:3:1: hold must be equal" },
		{ -EINVAL, 0, RESEX_BAD_CONFIG, "c.json:3:1: hold must be equal" },
		{ -EACCES, 0, RESEX_PERMISSION, "c.json:3:1" },
		{ -ENOMEM, 0, RESEX_FAILURE, "Cannot allocate memory" },
		{ 0, -EBUSY, RESEX_BUSY, "try again" },
		{ 0, -EAGAIN, RESEX_BUSY, "try again" },
		{ 0, -ENOMEM, RESEX_FAILURE, "Cannot allocate memory" },
	};
	struct cluster *c = with_changes(*state);

	c->refused = "c.json:3:1: hold must be equal on all hosts";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		c->read_rc = rows[i].read;
		c->reload_rc = rows[i].reload;
		assert_fails(*state, "cluster-reload", "", rows[i].exit, rows[i].says);
		assert_int_equal(c->reloads, 0);
	}
}
