// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_conf: cluster.json, the key, the generation. What is accepted, what is
 * refused and where; no message holds the key; the examples are good.
 */
#include "config.h"

#include <unistd.h>

#include "tests/unit/cluster_conf_rig.h"
#include "tests/unit/examples.h"
#include "tests/unit/tmpdir.h"

/* All digests of a file as one number. */
static uint64_t agreement_of(const char *text)
{
	struct cluster_conf *c = calloc(1, sizeof(*c));
	uint64_t v;

	assert_non_null(c);
	memset(c, 0xa5, sizeof(*c)); /* what the file does not fill does not count */
	take(c, text, "xen1");
	v = cluster_agreement(c) + 3 * cluster_hosts_digest(c) +
	    5 * cluster_services_digest(c->service, c->services) + 7 * cluster_nodes_digest(c);
	free(c);
	return v;
}

#define WEB_TWO	     "\"services\": [{\"name\": \"web\", \"number\": 2}]"
#define WEB_KEEP     "\"services\": [{\"name\": \"web\", \"number\": 1, \"minimum\": 2}]"
#define WEB_OF(more) "\"services\": [{\"name\": \"web\", \"number\": 1" more "}]"
#define WEB_2	     "\"services\": [{\"name\": \"web\", \"number\": 1, \"balancers\": [\"xen2\"]}]"
#define MAIL	     "\"services\": [{\"name\": \"mail\", \"number\": 1}]"
#define MAIL_WEB                                                                                   \
	"\"services\": [{\"name\": \"mail\", \"number\": 2}, {\"name\": \"web\", \"number\": 1}]"
#define WEBM	 "\"services\": [{\"name\": \"webm\", \"number\": 1}]"
#define HOST3	 "{\"name\": \"xen3\", \"number\": 3, \"address\": \"10.0.0.3\"}"
#define HOST1_4	 "{\"name\": \"xen1\", \"number\": 4, \"address\": \"10.0.0.1\"}"
#define HOST2_AT "{\"name\": \"xen2\", \"number\": 9, \"address\": \"10.0.0.2\"}"
#define HOST2_77                                                                                   \
	"{\"name\": \"xen2\", \"number\": 2, \"address\": \"10.0.0.2\", \"corosync_node\": 77}"
#define HOST2_02                                                                                   \
	"{\"name\": \"xen2\", \"number\": 2, \"address\": \"10.0.0.2\", \"corosync_node\": 2}"
#define CORO "\"membership\": \"corosync\", "
#define N_OF(name, number, host, more)                                                             \
	"{\"name\": \"" name "\", \"number\": " number ", \"host\": \"" host "\"" more "}"
#define GUEST_G	     ", \"guest\": \"g\""
#define OF_WEB	     ", \"service\": \"web\""
#define OF_MAIL	     ", \"service\": \"mail\""
#define S_1	     ", \"server\": \"s1\""
#define S_2	     ", \"server\": \"s2\""
#define NODES(nodes) ", \"nodes\": [" nodes "]"

TEST(agreement__what_locks_are_safe_by__each_makes_another)
{
	static const char *const text[] = {
		HEAD BOTH "}",
		HEAD "\"hold\": \"2001ms\", " BOTH "}",
		HEAD "\"hold\": \"1s\", " BOTH "}", /* not timeout's 1s in its place: */
		HEAD "\"hold\": \"1s\", \"timeout\": \"2s\", " BOTH "}",
		HEAD "\"timeout\": \"999ms\", " BOTH "}",
		HEAD "\"drift\": 999, " BOTH "}",
		HEAD "\"drift\": 0, " BOTH "}",
		HEAD CORO BOTH "}",
		HEAD "\"hosts\": [" HOST1 "]}",
		HEAD "\"hosts\": [" HOST1 ", " HOST3 "]}",
		HEAD "\"hosts\": [" HOST1 ", " HOST2_AT "]}",
		HEAD "\"hosts\": [" HOST1 ", " HOST2 ", " HOST3 "]}",
		HEAD CORO "\"hosts\": [" HOST1 ", " HOST2_77 "]}",
		HEAD WEB ", " BOTH "}",
		HEAD WEB_TWO ", " BOTH "}",
		HEAD WEB_KEEP ", " BOTH "}",
		HEAD WEB_OF(", \"guarantee\": 2") ", " BOTH "}",
		HEAD WEB_OF(", \"minimum\": 2, \"guarantee\": 3") ", " BOTH "}",
		HEAD WEB_OF(", \"share\": 1") ", " BOTH "}",
		HEAD WEB_OF(", \"share\": 2") ", " BOTH "}",
		HEAD WEB_OF(", \"maximum\": 1023") ", " BOTH "}",
		HEAD WEB_OF(", \"priority\": 1") ", " BOTH "}",
		HEAD WEB_OF(", \"high\": 1501") ", " BOTH "}",
		HEAD WEB_OF(", \"low\": 901") ", " BOTH "}",
		HEAD WEB_1 ", " BOTH "}",
		HEAD WEB_2 ", " BOTH "}",
		HEAD MAIL ", " BOTH "}",
		HEAD WEBM ", " BOTH "}",
		HEAD WEB_MAIL ", " BOTH "}",
		HEAD BOTH NODES(N_OF("a", "1", "xen1", "")) "}",
		HEAD BOTH NODES(N_OF("b", "1", "xen1", "")) "}",
		HEAD BOTH NODES(N_OF("a", "2", "xen1", "")) "}",
		HEAD BOTH NODES(N_OF("a", "1", "xen2", "")) "}",
		HEAD BOTH NODES(N_OF("a", "1", "xen1", GUEST_G)) "}",
		HEAD BOTH NODES(N_OF("ag", "1", "xen1", "")) "}",
		HEAD BOTH NODES(
			N_OF("a", "1", "xen1", GUEST_G) ", " N_OF("b", "255", "xen1", "")) "}",
		HEAD WEB_MAIL ", " BOTH NODES(N_OF("a", "1", "xen1", "")) "}",
		HEAD WEB_MAIL ", " BOTH NODES(N_OF("a", "1", "xen1", OF_WEB)) "}",
		HEAD WEB_MAIL ", " BOTH NODES(N_OF("a", "1", "xen1", OF_MAIL)) "}",
		HEAD WEB_MAIL ", " BOTH NODES(N_OF("a", "1", "xen1", OF_WEB S_1)) "}",
		HEAD WEB_MAIL ", " BOTH NODES(N_OF("a", "1", "xen1", OF_WEB S_2)) "}",
		HEAD BOTH ", " WEB_MAIL NODES(N_OF("n1", "7", "xen1", "")) "}",
		HEAD BOTH
		", " WEB_MAIL NODES(N_OF("n1", "7", "xen1", ", \"kind\": \"switch\"")) "}",
		HEAD BOTH ", " WEB_MAIL NODES(N_OF("n1", "7", "xen1", ", \"capacity\": 999")) "}",
		HEAD BOTH ", " WEB_MAIL NODES(N_OF("n1", "7", "xen1", ", \"only\": [\"web\"]")) "}",
		HEAD BOTH
		", " WEB_MAIL NODES(N_OF("n1", "7", "xen1", ", \"only\": [\"mail\"]")) "}",
	};
	enum { N = sizeof(text) / sizeof(text[0]) };
	uint64_t v[N];

	for (size_t i = 0; i < N; i++) {
		v[i] = agreement_of(text[i]);
		assert_true(v[i] == agreement_of(text[i]));
		for (size_t k = 0; k < i; k++)
			if (v[i] == v[k])
				fail_msg("of one agreement:\n%s\n%s", text[i], text[k]);
	}
}

/* What may change while hosts run is not in it, but the host that has the locks is. */
TEST(agreement__of_the_rules__has_no_services_and_of_the_hosts_the_lowest)
{
	static const struct {
		const char *a, *b;
		bool same;
	} files[] = {
		{ HEAD WEB ", " BOTH "}", HEAD MAIL ", " BOTH "}", true },
		{ HEAD BOTH "}", HEAD "\"hosts\": [" HOST1 ", " HOST3 "]}", true },
		{ HEAD BOTH "}", HEAD "\"hosts\": [" HOST1 "]}", true },
		{ HEAD "\"hosts\": [" HOST1 ", " HOST3 "]}",
		  HEAD "\"hosts\": [" HOST3 ", " HOST1_4 "]}", false },
		{ HEAD CORO "\"hosts\": [" HOST1 ", " HOST3 "]}",
		  HEAD CORO "\"hosts\": [" HOST3 ", " HOST1_4 "]}", true },
	};
	struct cluster_conf *c = calloc(2, sizeof(*c));

	assert_non_null(c);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		take(&c[0], files[i].a, "xen1");
		take(&c[1], files[i].b, "xen1");
		if ((cluster_agreement(&c[0]) == cluster_agreement(&c[1])) != files[i].same)
			fail_msg("%s\n%s", files[i].a, files[i].b);
	}
	free(c);
}

TEST(agreement__what_each_host_sets_for_itself__changes_nothing)
{
	static const char *const text[] = {
		HEAD "\"host\": \"xen2\", ",
		HEAD "\"key_file\": \"/k\", ",
		HEAD "\"heartbeat\": \"1s\", ",
		HEAD "\"scan\": \"1s\", ",
		HEAD "\"callers\": 1, ",
		HEAD "\"callers_second\": 1, ",
		HEAD "\"hold\": \"2000ms\", \"timeout\": \"1000ms\", \"drift\": 1000, ",
		HEAD "\"membership\": \"static\", ",
		HEAD "\"load\": {\"period\": \"1s\"}, ",
		HEAD "\"balance\": [], ",
	};
	static const char *const webs[] = {
		WEB_OF(", \"guarantee\": 1, \"maximum\": 1024, \"priority\": 0"),
		WEB_OF(", \"minimum\": 1, \"high\": 1500, \"low\": 900"),
	};
	const uint64_t v = agreement_of(HEAD BOTH "}"),
		       services = agreement_of(HEAD WEB_MAIL ", " BOTH "}");
	char file[1024];

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		snprintf(file, sizeof(file), "%s%s}", text[i], BOTH);
		if (agreement_of(file) != v)
			fail_msg("another agreement: %s", file);
	}
	/* Defaults that a service gives; so a release without these keys holds the same. */
	for (size_t i = 0; i < sizeof(webs) / sizeof(webs[0]); i++) {
		snprintf(file, sizeof(file), HEAD "%s, " BOTH "}", webs[i]);
		assert_true(agreement_of(file) == agreement_of(HEAD WEB ", " BOTH "}"));
	}
	/* The transport, names, addresses and ports of hosts, in any order; nodes that static
	 * ignores. */
	assert_true(
		agreement_of("{\"cluster\": \"c\", \"transport\": \"shm\", \"hosts\": [{\"name\": "
			     "\"xen1\", \"number\": 1, \"address\": \"/s\"}, {\"name\": \"y\", "
			     "\"number\": 2, \"address\": \"/s\"}]}") == v);
	assert_true(agreement_of(HEAD "\"hosts\": [" HOST2 ", " HOST1 "]}") == v);
	assert_true(agreement_of(HEAD "\"hosts\": [" HOST1 ", " HOST2_77 "]}") == v);
	assert_true(agreement_of(HEAD "\"hosts\": [{\"name\": \"xen1\", \"number\": 1, "
				      "\"address\": \"::1\", \"port\": 9}, {\"name\": \"y\", "
				      "\"number\": 2, \"address\": \"10.0.0.7\"}]}") == v);
	assert_true(agreement_of(HEAD CORO "\"hosts\": [" HOST1 ", " HOST2_02 "]}") ==
		    agreement_of(HEAD CORO BOTH "}"));
	assert_true(agreement_of(HEAD MAIL_WEB ", " BOTH "}") == services);
}

RIG_TEST(least__cluster_and_hosts__the_rest_is_the_man_pages_defaults)
{
	struct cluster_conf *c = *state;

	take(c, HEAD BOTH "}", "xen2.example.org");
	assert_string_equal(c->cluster, "c");
	assert_string_equal(transport_backends[c->transport]->name, "tcp");
	assert_int_equal(c->membership, CLUSTER_STATIC);
	assert_int_equal(c->heartbeat_ns, 100 * NS_PER_MS);
	assert_int_equal(c->scan_ns, 500 * NS_PER_MS);
	assert_int_equal(c->timeout_ns, NS_PER_S);
	assert_int_equal(c->hold_ns, 2 * NS_PER_S);
	assert_int_equal(c->drift, 1000);
	/* (hold + timeout) x (1 + 2 x 0.001) */
	assert_true(cluster_break_ns(c) >= 3006 * NS_PER_MS);
	assert_true(cluster_break_ns(c) <= 3007 * NS_PER_MS);
	assert_int_equal(c->callers, 8);
	assert_int_equal(c->callers_second, 64);
	assert_non_null(strstr(c->key_file, "/cluster.key"));
	assert_int_equal(c->hosts, 2);
	assert_int_equal(c->self, 1);
	assert_int_equal(c->host[1].number, 2);
	assert_int_equal(c->host[1].port, 7471);
	assert_int_equal(c->host[1].corosync_node, 2);
	assert_int_equal(c->services, 0);
	assert_int_equal(c->nodes, 0);
	assert_true(cluster_nodes_digest(c) == 0);
	assert_null(cluster_own_node(c));
	assert_null(cluster_next_own(c, NULL));
	assert_int_equal(c->load.source, CLUSTER_LOAD_AUTO);
	assert_int_equal(c->load.period_ns, 10 * NS_PER_MS);
	assert_int_equal(c->load.scan_ns, 50 * NS_PER_MS);
	assert_int_equal(c->load.stale_ns, 500 * NS_PER_MS);
	assert_int_equal(c->load.window_ns, 200 * NS_PER_MS);
	assert_int_equal(cluster_scan_ns(c), 500 * NS_PER_MS); /* there are no nodes */
}

RIG_TEST(all_keys__given__are_taken)
{
	struct cluster_conf *c = *state;

	take(c,
	     HEAD "\"host\": \"b\", \"key_file\": \"/k\", \"membership\": \"corosync\","
		  " \"heartbeat\": \"20ms\", \"scan\": \"30ms\", \"timeout\": \"40ms\","
		  " \"hold\": \"50ms\", \"drift\": 0, \"callers\": 3,"
		  " \"callers_second\": 4, \"hosts\": [{\"name\": \"a\", \"number\": 256,"
		  " \"address\": \"::1\", \"port\": 9, \"corosync_node\": 77},"
		  " {\"name\": \"b\", \"number\": 5, \"address\": \"10.0.0.5\"}],"
		  " \"services\": [{\"name\": \"web\", \"number\": 255, \"minimum\": 0,"
		  " \"balancers\": [\"b\", \"a\"]}, {\"name\": \"m\", \"number\": 1}],"
		  " \"nodes\": [{\"name\": \"n0\", \"number\": 255, \"host\": \"a\"},"
		  " {\"name\": \"n1\", \"number\": 255, \"host\": \"b\"}],"
		  " \"load\": {\"source\": \"ulm\", \"period\": \"1ms\", \"scan\": \"10ms\","
		  " \"stale\": \"22ms\", \"window\": \"11ms\"}}",
	     "elsewhere");
	assert_string_equal(c->key_file, "/k");
	assert_int_equal(c->membership, CLUSTER_COROSYNC);
	assert_int_equal(c->heartbeat_ns, 20 * NS_PER_MS);
	assert_int_equal(c->scan_ns, 30 * NS_PER_MS);
	assert_int_equal(c->timeout_ns, 40 * NS_PER_MS);
	assert_int_equal(c->hold_ns, 50 * NS_PER_MS);
	assert_int_equal(c->callers, 3);
	assert_int_equal(c->callers_second, 4);
	assert_int_equal(c->self, 1);
	assert_int_equal(c->host[0].corosync_node, 77);
	assert_int_equal(c->host[0].port, 9);
	assert_int_equal(c->services, 2);
	assert_int_equal(c->service[0].number, 255);
	assert_int_equal(c->service[0].minimum, 0);
	assert_true(c->service[0].balancers.word[0] == 1ull << 4 &&
		    c->service[0].balancers.word[3] == 1ull << 63);
	assert_int_equal(c->service[1].minimum, 1);
	assert_ptr_equal(cluster_service_find(c, "web"), &c->service[0]);
	assert_null(cluster_service_find(c, "we"));
	assert_ptr_equal(cluster_host_at(c, 256), &c->host[0]);
	assert_null(cluster_host_at(c, 1));
	assert_int_equal(c->nodes, 2);
	assert_ptr_equal(cluster_own_node(c), &c->node[1]);
	assert_string_equal(c->node[1].name, "n1");
	assert_int_equal(c->node[0].host, 256);
	assert_int_equal(c->node[0].number, 255);
	assert_int_equal(c->load.source, CLUSTER_LOAD_ULM);
	assert_int_equal(c->load.period_ns, NS_PER_MS);
	assert_int_equal(c->load.stale_ns, 22 * NS_PER_MS);
	assert_int_equal(c->load.window_ns, 11 * NS_PER_MS);
	assert_int_equal(cluster_scan_ns(c), 10 * NS_PER_MS);
	assert_ptr_equal(cluster_node_find(c, "n1"), &c->node[1]);
	assert_null(cluster_node_find(c, "n"));
}

RIG_TEST(refused__each_says_where_what_and_what_instead)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{ "{" BOTH "}", "\"cluster\"" },
		{ HEAD "\"x\": 1, " BOTH "}", "f:1:38: unknown key \"x\"" },
		{ HEAD "\"hosts\": []}", "give a list of 1 to 256 hosts" },
		{ HEAD "\"hosts\": [" HOST1 ", " HOST1 "]}", "\"xen1\" is listed twice" },
		{ HEAD "\"hosts\": [" HOST1 ", {\"name\": \"q\", \"number\": 1,"
		       " \"address\": \"a\"}]}",
		  "number 1 is already used by \"xen1\"" },
		{ HEAD "\"hosts\": [" HOST1 ", {\"name\": \"q\", \"number\": 3,"
		       " \"address\": \"a\", \"corosync_node\": 1}]}",
		  "corosync's node 1 is \"xen1\"" },
		{ HEAD "\"hosts\": [{\"name\": \"q\", \"number\": 257, \"address\": \"a\"}]}",
		  "257" },
		{ HEAD "\"hosts\": [" HOST2 "]}", "this host is called \"xen1\"" },
		{ HEAD "\"host\": \"z\", " BOTH "}", "unknown host \"z\"" },
		{ "{\"cluster\": \"c\", \"transport\": \"pigeon\", " BOTH "}",
		  "no transport \"pigeon\"" },
		{ "{\"cluster\": \"c\", \"transport\": 1, " BOTH "}", "not a string" },
		{ HEAD BOTH ", \"break\": \"3003ms\"}", "unknown key \"break\"" },
		{ HEAD BOTH ", \"services\": {}}", "a list of at most 64 services" },
		{ HEAD BOTH ", \"services\": [{\"name\": \"w\", \"number\": 256}]}", "256" },
		{ HEAD BOTH ", \"services\": [{\"name\": \"w\", \"number\": 0}]}", "1 to 255" },
		{ HEAD BOTH ", \"services\": [{\"name\": \"w\", \"number\": 1},"
			    " {\"name\": \"w\", \"number\": 2}]}",
		  "\"w\" is listed twice" },
		{ HEAD BOTH ", \"services\": [{\"name\": \"w\", \"number\": 1},"
			    " {\"name\": \"v\", \"number\": 1}]}",
		  "number 1 is already used by \"w\"" },
		{ HEAD BOTH ", \"services\": [{\"name\": \"w\", \"number\": 1,"
			    " \"balancers\": [\"nobody\"]}]}",
		  "unknown host \"nobody\"" },
		{ HEAD BOTH ", \"services\": [{\"name\": \"w\", \"number\": 1,"
			    " \"balancers\": \"xen1\"}]}",
		  "a list of names" },
		{ HEAD BOTH ", \"membership\": \"guess\"}", "guess" },
		{ "{\"cluster\": \"c\", \"transport\": \"tcp\", \"hosts\": [" HOST1
		  ", {\"name\": \"q\", \"number\": 3, \"address\": \"10.0.0.300\"}]}",
		  "host \"q\" cannot be called at \"10.0.0.300\": give an IP address" },
		{ "{\"cluster\": \"c\", \"transport\": \"shm\", \"hosts\": [{\"name\": \"xen1\", "
		  "\"number\": 1, \"address\": \"/s\"}, {\"name\": \"q\", \"number\": 3, "
		  "\"address\": "
		  "\"s/t\"}]}",
		  "f:1:134: the folder \"s/t\" of host \"q\" is not a whole path: begin it with "
		  "/" },
		{ "{\"cluster\": \"c\", \"transport\": \"tcp\", \"hosts\": [" HOST1
		  ", {\"name\": \"q\", \"number\": 3, \"address\": \"10.0.0.1\"}]}",
		  "\"10.0.0.1\" port 7471 is already used by \"xen1\": give each host its own" },
		{ "{\"cluster\": \"c\", \"transport\": \"tcp\", \"hosts\": [" HOST1
		  ", {\"name\": \"q\", \"number\": 3, \"address\": \"10.0.0.3\", \"port\": 0}]}",
		  "from 1 to 65535" },
		{ HEAD BOTH ", \"nodes\": {}}", "a list of at most 1024 nodes" },
		{ HEAD BOTH
		  ", \"nodes\": [{\"name\": \"n\", \"number\": 256, \"host\": \"xen1\"}]}",
		  "256" },
		{ HEAD BOTH ", \"nodes\": [{\"name\": \"n\", \"number\": 1}]}", "\"host\"" },
		{ HEAD BOTH ", \"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"y\"}]}",
		  "unknown host \"y\": use the name of a member of hosts[]" },
		{ HEAD BOTH ", \"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"xen1\"},"
			    " {\"name\": \"n\", \"number\": 1, \"host\": \"xen2\"}]}",
		  "node \"n\" is listed twice" },
		{ HEAD BOTH ", \"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"xen1\"},"
			    " {\"name\": \"m\", \"number\": 2, \"host\": \"xen1\"}]}",
		  "node \"n\" is that host already: list a host once, or name a guest" },
		{ HEAD BOTH ", \"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"xen1\"},"
			    " {\"name\": \"m\", \"number\": 1, \"host\": \"xen1\","
			    " \"guest\": \"g\"}]}",
		  "number 1 is node \"n\" of the same host: give each node of a host its own" },
		{ HEAD BOTH ", \"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"xen1\","
			    " \"guest\": \"g\"}, {\"name\": \"m\", \"number\": 2,"
			    " \"host\": \"xen1\", \"guest\": \"g\"}]}",
		  "node \"n\" is guest \"g\" already: list a guest once" },
		{ HEAD BOTH ", \"nodes\": [{\"name\": \"n\", \"number\": 1, \"host\": \"xen1\","
			    " \"guest\": \"\"}]}",
		  "guest is \"\": write a string of 1 to 63 bytes" },
		{ HEAD BOTH ", \"load\": []}", "load" },
		{ HEAD BOTH ", \"load\": {\"source\": \"kernel\"}}", "kernel" },
		{ HEAD BOTH ", \"load\": {\"period\": \"999us\"}}", "1ms" },
		{ HEAD BOTH ", \"load\": {\"windows\": \"1s\"}}", "windows" },
		{ HEAD BOTH ", \"load\": {\"period\": \"1ms\", \"stale\": \"101ms\"}}",
		  "write at least \"102ms\"" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refuse(*state, i, rows[i].text, "xen1", rows[i].said);
}

RIG_TEST(hosts_256__are_taken_and_one_more_is_refused)
{
	char text[1 << 15] = HEAD "\"hosts\": [";
	struct conf_error e = { 0 };
	size_t n = strlen(text);

	for (int i = 1; i <= 256; i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			"%s{\"name\": \"h%d\", \"number\": %d, \"address\": \"10.0.%d.%d\"}",
			i == 1 ? "" : ",", i, i, i / 256, i % 256);
	strcpy(text + n, "]}");
	take(*state, text, "h256");
	assert_int_equal(((struct cluster_conf *)*state)->self, 255);
	assert_int_equal(((struct cluster_conf *)*state)->callers, 256);
	assert_int_equal(((struct cluster_conf *)*state)->callers_second, 256);
	strcpy(text + n, "," HOST1 "]}");
	assert_int_equal(cluster_conf_parse(*state, "f", text, strlen(text), "h1", &e), -EINVAL);
	assert_non_null(strstr(e.text, "1 to 256 hosts"));
}

/* --- clients ---------------------------------------------------------------------- */

#define PEEK "{\"name\": \"peek\", \"number\": 200, \"role\": \"client\"}"
#define CACHE                                                                                      \
	"{\"name\": \"cache\", \"number\": 201, \"role\": \"client\", \"rights\": \"atomics\"}"
#define WITH(...) HEAD "\"hosts\": [" HOST1 ", " HOST2 ", " __VA_ARGS__ "]}"

RIG_TEST(client__listed_among_the_hosts__is_no_member)
{
	struct cluster_conf *c = *state;
	struct transport_peer p;

	take(c, HEAD "\"hosts\": [" PEEK ", " HOST1 ", " CACHE ", " HOST2 "]}", "xen2");
	assert_int_equal(c->hosts, 2);
	assert_int_equal(c->self, 1);
	assert_int_equal(c->clients, 2);
	assert_null(cluster_host_at(c, 200));
	assert_ptr_equal(cluster_client_at(c, 201), &c->client[1]);
	assert_null(cluster_client_at(c, 1));
	cluster_client_peer(c, 0, &p);
	assert_int_equal(p.host, 200);
	assert_int_equal(p.role, TRANSPORT_CLIENT);
	assert_int_equal(p.rights, 0);
	cluster_client_peer(c, 1, &p);
	assert_string_equal(p.name, "cache");
	assert_int_equal(p.rights, TRANSPORT_ATOMICS);
	cluster_peer(c, 0, &p);
	assert_int_equal(p.role, TRANSPORT_MEMBER);
	/* A host may say what it is. */
	take(c,
	     HEAD "\"hosts\": [{\"name\": \"xen1\", \"number\": 1, \"role\": \"member\", "
		  "\"address\": \"10.0.0.1\"}]}",
	     "xen1");
	assert_int_equal(c->clients, 0);
}

/* One node of a host at most is the host itself. Another host may have a guest of the same name. */
RIG_TEST(nodes__of_a_host_and_its_guests__are_those_of_this_host)
{
	struct cluster_conf *c = *state;

	take(c,
	     HEAD BOTH ", \"nodes\": ["
		       "{\"name\": \"a\", \"number\": 2, \"host\": \"xen1\", \"guest\": \"g\"},"
		       "{\"name\": \"b\", \"number\": 2, \"host\": \"xen2\", \"guest\": \"g\"},"
		       "{\"name\": \"c\", \"number\": 0, \"host\": \"xen1\"},"
		       "{\"name\": \"d\", \"number\": 9, \"host\": \"xen1\", \"guest\": \"h\"}]}",
	     "xen1");
	assert_int_equal(c->nodes, 4);
	assert_string_equal(c->node[1].guest, "g");
	assert_string_equal(c->node[2].guest, "");
	assert_ptr_equal(cluster_own_node(c), &c->node[2]);
	assert_ptr_equal(cluster_next_own(c, NULL), &c->node[0]);
	assert_ptr_equal(cluster_next_own(c, &c->node[0]), &c->node[2]);
	assert_ptr_equal(cluster_next_own(c, &c->node[2]), &c->node[3]);
	assert_null(cluster_next_own(c, &c->node[3]));
}

/* So that it can be added to one file after the other; a reload still sees it. */
TEST(client__added__changes_no_agreement)
{
	assert_true(agreement_of(WITH(PEEK)) == agreement_of(HEAD BOTH "}"));
	assert_true(agreement_of(WITH(CACHE)) == agreement_of(HEAD BOTH "}"));
}

RIG_TEST(client__that_cannot_be__is_refused_with_place_and_remedy)
{
	static const struct {
		const char *text, *host, *said;
	} rows[] = {
		{ WITH("{\"name\": \"p\", \"number\": 1, \"role\": \"client\"}"), "xen1",
		  "number 1 is already used by \"xen1\"" },
		{ WITH(PEEK ", {\"name\": \"p\", \"number\": 200, \"role\": \"client\"}"), "xen1",
		  "number 200 is already used by \"peek\"" },
		{ HEAD "\"hosts\": [" PEEK ", {\"name\": \"peek\", \"number\": 1, \"address\": "
		       "\"10.0.0.1\"}]}",
		  "peek", "\"peek\" is listed twice" },
		{ WITH("{\"name\": \"p\", \"number\": 9, \"role\": \"client\", \"port\": 1}"),
		  "xen1", "leave \"port\" out" },
		{ WITH("{\"name\": \"p\", \"number\": 9, \"role\": \"client\", "
		       "\"corosync_node\": 1}"),
		  "xen1", "leave \"corosync_node\" out" },
		{ WITH("{\"name\": \"p\", \"number\": 9, \"role\": \"guest\"}"), "xen1", "guest" },
		{ WITH("{\"name\": \"p\", \"number\": 9, \"role\": \"client\", \"rights\": "
		       "\"write\"}"),
		  "xen1", "write" },
		{ WITH("{\"name\": \"p\", \"number\": 9, \"role\": \"client\", \"address\": "
		       "\"10.0.0.300\"}"),
		  "xen1", "cannot call from \"10.0.0.300\"" },
		{ WITH("{\"name\": \"p\", \"number\": 9, \"address\": \"10.0.0.3\", "
		       "\"rights\": \"read\"}"),
		  "xen1", "a member has all rights" },
		{ WITH("{\"name\": \"p\", \"number\": 9}"), "xen1",
		  "host \"p\" has no \"address\"" },
		{ HEAD "\"hosts\": [" PEEK "]}", "peek", "only clients" },
		{ WITH(PEEK), "peek.example.org", "\"peek\" is a client, which serves nothing" },
		{ HEAD "\"host\": \"peek\", \"hosts\": [" HOST1 ", " PEEK "]}", "xen1",
		  "\"peek\" is a client, which serves nothing" },
		{ HEAD "\"hosts\": [" HOST1 ", " PEEK "], \"services\": [{\"name\": \"w\", "
		       "\"number\": 1, \"balancers\": [\"peek\"]}]}",
		  "xen1", "\"peek\" is a client, and balances nothing" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refuse(*state, i, rows[i].text, rows[i].host, rows[i].said);
}

RIG_TEST(client__reads_the_file__by_its_own_name)
{
	struct cluster_conf *c = *state;
	struct conf_error e = { 0 };
	struct tmpdir d;

	tmp_open(&d);
	/* "host" is of the member whose file it is. */
	tmp_write(&d, "f",
		  HEAD "\"host\": \"xen2\", \"hosts\": [" HOST1 ", " HOST2 ", " PEEK ", " CACHE
		       "]}");
	assert_int_equal(cluster_client_load(c, tmp_at(&d, "f"), "cache", &e), 0);
	assert_string_equal(c->client[c->self].name, "cache");
	assert_int_equal(cluster_client_load(c, tmp_at(&d, "f"), "xen1", &e), -EINVAL);
	assert_non_null(strstr(e.text, "no client is called \"xen1\": add"));
	assert_int_equal(cluster_client_load(c, tmp_at(&d, "none"), "cache", &e), -ENOENT);
	tmp_close(&d);
}

/* --- the key ---------------------------------------------------------------------- */

TEST(key__of_the_owner_alone__is_taken_without_its_newline)
{
	struct cluster_key k = { 0 };
	struct conf_error e = { 0 };
	struct tmpdir d;

	tmp_open(&d);
	tmp_write(&d, "k", "0123456789abcdef\r\n\n");
	assert_int_equal(chmod(tmp_at(&d, "k"), 0600), 0);
	if (cluster_key_load(&k, tmp_at(&d, "k"), &e))
		fail_msg("%s", e.text);
	assert_int_equal(k.len, 16);
	assert_memory_equal(k.bytes, "0123456789abcdef", 16);
	tmp_close(&d);
}

TEST(key__not_as_it_must_be__is_refused_and_not_told)
{
	static const struct {
		const char *text;
		mode_t mode;
		const char *said;
	} rows[] = {
		{ "0123456789abcdef", 0640, "other users may read the key: chmod 600" },
		{ "0123456789abcdef", 0604, "other users may read the key" },
		{ "0123456789abcde\n", 0600, "16 to 256 bytes" },
		{ "", 0600, "16 to 256 bytes" },
		{ "0000000000000000000000000000000000", 0600, "easy to guess" },
		{ "1234123412341234", 0600, "easy to guess" },
	};
	struct cluster_key k = { 0 };
	struct conf_error e;
	struct tmpdir d;
	char big[258];

	tmp_open(&d);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&e, 0, sizeof(e));
		tmp_write(&d, "k", rows[i].text);
		assert_int_equal(chmod(tmp_at(&d, "k"), rows[i].mode), 0);
		assert_int_equal(cluster_key_load(&k, tmp_at(&d, "k"), &e), -EINVAL);
		assert_non_null(strstr(e.text, rows[i].said));
		assert_null(strstr(e.text, "0123456789"));
	}
	memset(big, 'x', 257);
	big[257] = 0;
	tmp_write(&d, "k", big);
	assert_int_equal(chmod(tmp_at(&d, "k"), 0600), 0);
	assert_int_equal(cluster_key_load(&k, tmp_at(&d, "k"), &e), -EINVAL);
	big[256] = 0;
	memcpy(big, "0123456789", 10);
	tmp_write(&d, "k", big);
	assert_int_equal(cluster_key_load(&k, tmp_at(&d, "k"), &e), 0);
	assert_int_equal(cluster_key_load(&k, d.path, &e), -EINVAL);
	assert_non_null(strstr(e.text, "regular file"));
	assert_int_equal(unlink(tmp_at(&d, "k")), 0);
	assert_int_equal(mkfifo(tmp_at(&d, "k"), 0600), 0);
	assert_int_equal(cluster_key_load(&k, tmp_at(&d, "k"), &e), -EINVAL); /* nor waits */
	assert_int_equal(cluster_key_load(&k, tmp_at(&d, "none"), &e), -ENOENT);
	assert_non_null(strstr(e.text, "openssl rand"));
	tmp_close(&d);
}

/* --- the generation --------------------------------------------------------------- */

TEST(generation__each_start_that_is_counted__is_one_more)
{
	struct conf_error e = { 0 };
	uint64_t g = 0;
	struct tmpdir d;
	char buf[32];

	tmp_open(&d);
	for (uint64_t i = 1; i <= 3; i++) {
		for (int tries = 0; tries < 3; tries++) {
			assert_int_equal(cluster_generation_next(d.path, &g, &e), 0);
			assert_int_equal(g, i);
		}
		assert_int_equal(cluster_generation_count(d.path, g, &e), 0);
		assert_int_equal(atoi(tmp_read(&d, "generation", buf, sizeof(buf))), i);
	}
	tmp_write(&d, "generation", "41");
	assert_int_equal(cluster_generation_next(d.path, &g, &e), 0);
	assert_int_equal(g, 42);
	tmp_close(&d);
}

TEST(generation__not_a_number__is_refused_and_left_alone)
{
	static const char *const texts[] = { "",      "x\n",	      "-1\n",
					     "1 2\n", "1073741824\n", "10737418230\n",
					     " 1" };
	struct conf_error e;
	uint64_t g = 7;
	struct tmpdir d;
	char buf[32];

	tmp_open(&d);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		tmp_write(&d, "generation", texts[i]);
		if (cluster_generation_next(d.path, &g, &e) != -EINVAL)
			fail_msg("\"%s\" was accepted", texts[i]);
		assert_non_null(strstr(e.text, "0 to 1073741822"));
		assert_string_equal(tmp_read(&d, "generation", buf, sizeof(buf)), texts[i]);
		assert_int_equal(g, 7);
	}
	assert_int_equal(cluster_generation_count("/nowhere/at/all", 1, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/generation: this start could not be counted (No "));
	assert_non_null(strstr(e.text, "make room in the folder, and let resexd write"));
	tmp_close(&d);
}

/* Without the file, a host begins anew: the others must have forgotten it. */
TEST(generation__the_last_one_is_used_up__is_refused_with_the_way_out)
{
	struct conf_error e;
	struct tmpdir d;
	uint64_t g = 7;

	tmp_open(&d);
	tmp_write(&d, "generation", "1073741822\n");
	assert_int_equal(cluster_generation_next(d.path, &g, &e), 0);
	assert_int_equal(g, REGION_EPOCH_MAX);
	assert_int_equal(cluster_generation_count(d.path, g, &e), 0);
	assert_int_equal(cluster_generation_next(d.path, &g, &e), -EINVAL);
	assert_non_null(strstr(e.text, "used up: stop resexd on all hosts of the cluster, remove"));
	tmp_close(&d);
}

/* --- examples --------------------------------------------------------------------- */

RIG_TEST(example_file__is_good)
{
	struct cluster_conf *c = *state;
	struct conf_error e = { 0 };
	char path[256];

	if (cluster_conf_load(c, example_path("etc/cluster.json", path, sizeof(path)), "xen2", &e))
		fail_msg("%s", e.text);
	assert_int_equal(c->services, 1);
}

/* On the host with the HAProxy, and on one that has none. */
RIG_TEST(example_file__with_nodes_and_balance__is_good)
{
	struct cluster_conf *c = *state;
	struct conf_error e = { 0 };
	char path[256];

	example_path("etc/cluster-web.json", path, sizeof(path));
	for (int balances = 2; balances >= 0; balances -= 2) {
		if (cluster_conf_load(c, path, balances ? "xen1" : "xen3", &e))
			fail_msg("%s", e.text);
		assert_int_equal(c->services, 2);
		assert_int_equal(c->nodes, 5);
		assert_int_equal(c->balances, balances);
	}
	assert_string_equal(cluster_own_node(c)->name, "w3");
}

RIG_TEST(man_page__its_examples_are_good)
{
	struct cluster_conf *c = *state;
	struct examples ex;

	examples_open(&ex, "man/cluster.json.5");
	assert_int_equal(ex.n, 6);
#ifdef HAVE_VERBS
	take(c, ex.text[0], "xen2");
	assert_string_equal(transport_backends[c->transport]->name, "verbs");
#endif
	take(c, ex.text[1], "xen3");
	assert_int_equal(c->host[2].corosync_node, 13);
	assert_int_equal(c->service[0].balancers.word[0], 3);
	take(c, ex.text[2], "xen1");
	assert_string_equal(c->balance[0].backend, "be_web");
	take(c, ex.text[3], "xen2");
	assert_int_equal(c->clients, 2);
	assert_int_equal(c->client[1].rights, TRANSPORT_ATOMICS);
	take(c, ex.text[4], "xen1");
	assert_true(c->reconf.given && c->service[0].guarantee == 2);
	take(c, ex.text[5], "xen1");
	assert_int_equal(c->caches, 3);
	assert_int_equal(c->cached[2].role, CLUSTER_PROXY);
}
