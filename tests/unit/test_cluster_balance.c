// SPDX-License-Identifier: GPL-2.0-or-later
/* cluster_balance: "balance" of cluster.json, and what nodes say for it. */
#include "tests/unit/cluster_conf_rig.h"

#define NODE(n, more) "{\"name\": \"n" #n "\", \"number\": 1, \"host\": \"xen" #n "\"" more "}"
#define IN(service)   ", \"service\": \"" service "\""
#define AS(server)    ", \"server\": \"" server "\""
#define N1	      NODE(1, IN("web"))
#define N2	      NODE(2, IN("web"))
#define WITH_WEB(s)   HEAD BOTH ", " s ", \"nodes\": "
#define BALANCE(...)  ", \"balance\": [" __VA_ARGS__ "]}"
#define OF(more)      "{\"service\": \"web\"" more "}"
#define SOCKET	      ", \"socket\": \"/h\""
#define AGENT(port)   ", \"by\": \"agent\", \"service_time\": \"5ms\", \"port\": " #port
#define WEB_NODES     WITH_WEB(WEB) "[" N1 ", " N2 "]"

RIG_TEST(balance__least_and_all_keys__are_taken)
{
	struct cluster_conf *c = *state;
	const struct cluster_balance *b = &c->balance[0];

	take(c,
	     WITH_WEB(WEB_MAIL) "[" NODE(1, IN("web") AS("s_1.a:b-C")) ", " N2
								       "]" BALANCE(OF(SOCKET)),
	     "xen1");
	assert_int_equal(c->balances, 1);
	assert_ptr_equal(cluster_balance_of(c, 1), b);
	assert_null(cluster_balance_of(c, 2));
	assert_string_equal(b->backend, "web");
	assert_string_equal(b->socket, "/h");
	assert_true(b->by == CLUSTER_BY_WEIGHTS && b->mode == CLUSTER_OBSERVE);
	assert_true(b->k == 0 && b->service_ns == 0);
	assert_int_equal(c->node[0].service, 1);
	assert_string_equal(c->node[0].server, "s_1.a:b-C");
	assert_string_equal(c->node[1].server, "n2");
	assert_ptr_equal(cluster_node_next(c, 1, NULL), &c->node[0]);
	assert_ptr_equal(cluster_node_next(c, 1, &c->node[0]), &c->node[1]);
	assert_null(cluster_node_next(c, 1, &c->node[1]));
	assert_null(cluster_node_next(c, 2, NULL));
	take(c,
	     WEB_NODES BALANCE(OF(SOCKET ", \"by\": \"weights\""
					 ", \"backend\": \"b\", \"mode\": \"act\", "
					 "\"k\": 256, \"service_time\": \"1us\"")),
	     "xen1");
	assert_string_equal(b->backend, "b");
	assert_true(b->mode == CLUSTER_ACT);
	assert_true(b->k == 256 && b->service_ns == 1000);
	take(c, WEB_NODES BALANCE(OF(SOCKET ", \"k\": \"auto\", \"service_time\": \"auto\"")),
	     "xen1");
	assert_true(!b->k && !b->service_ns);
	take(c, WEB_NODES BALANCE(OF(AGENT(9700))), "xen1");
	assert_true(b->by == CLUSTER_BY_AGENT && b->port == 9700 && b->service_ns == 5000000);
	assert_string_equal(b->socket, "");
}

/* So that one file is right on all hosts. */
RIG_TEST(balance__of_a_service_with_balancers__is_theirs_alone)
{
	struct cluster_conf *c = *state;

	take(c, WITH_WEB(WEB_1) "[" N1 "]" BALANCE(OF(SOCKET)), "xen1");
	assert_int_equal(c->balances, 1);
	take(c, WITH_WEB(WEB_1) "[" N1 "]" BALANCE(OF(SOCKET)), "xen2");
	assert_int_equal(c->balances, 0);
}

RIG_TEST(balance__that_cannot_be__is_refused_with_place_and_remedy)
{
#define ONE(more) WEB_NODES BALANCE(OF(more))
#define TWO(a, b)                                                                                  \
	WITH_WEB(WEB_MAIL)                                                                         \
	"[" N1 ", " NODE(2, IN("mail")) "]" BALANCE("{\"service\": \"web\"" a                      \
						    "}, {\"service\": \"mail\"" b "}")
	static const struct {
		const char *text, *said;
	} rows[] = {
		{ HEAD BOTH ", \"nodes\": [" N1 "]}", "unknown service \"web\"" },
		{ HEAD BOTH ", \"nodes\": [" NODE(1, AS("s")) "]}",
		  "server \"s\" is of no service: give the node a \"service\"" },
		{ HEAD BOTH ", \"balance\": {}}", "a list of at most 64 services" },
		{ WEB_NODES BALANCE("{\"socket\": \"/h\"}"), "\"service\"" },
		{ WEB_NODES BALANCE("{\"service\": \"wbe\", \"socket\": \"/h\"}"),
		  "unknown service \"wbe\": use a name of services[]" },
		{ ONE(""), "\"socket\"" },
		{ ONE(SOCKET ", \"port\": 5"), "port is for \"by\": \"agent\"" },
		{ ONE(AGENT(0)), "65535" },
		{ ONE(AGENT(65536)), "65535" },
		{ ONE(AGENT(9) SOCKET), "socket is for \"by\": \"weights\"" },
		{ ONE(", \"by\": \"agent\", \"service_time\": \"5ms\""), "port is missing" },
		{ ONE(", \"by\": \"agent\", \"port\": 9"), "write \"service_time\"" },
		{ ONE(", \"by\": \"agent\", \"port\": 9, \"service_time\": \"auto\""),
		  "cannot be measured" },
		{ ONE(AGENT(9) ", \"backend\": \"b c\""), "cannot be a backend" },
		{ TWO(SOCKET, AGENT(9) ", \"backend\": \"web\""),
		  "\"web\" is balanced in another way" },
		{ TWO(AGENT(9), AGENT(9)), "port 9 is that of an element before" },
		{ ONE(", \"by\": \"magic\""), "magic" },
		{ ONE(SOCKET ", \"mode\": \"equal\""), "equal" },
		{ ONE(", \"socket\": \"h\""), "socket is \"h\": write a whole path" },
		{ ONE(SOCKET ", \"backend\": \"b;c\""), "\"b;c\" cannot be a backend" },
		{ ONE(SOCKET ", \"k\": 0"), "write 1 to 256, or \"auto\"" },
		{ ONE(SOCKET ", \"k\": 257"), "write 1 to 256" },
		{ ONE(SOCKET ", \"k\": \"all\""), "write 1 to 256" },
		{ ONE(SOCKET ", \"service_time\": \"999ns\""), "1us" },
		{ ONE(SOCKET ", \"service_time\": \"11s\""), "10s" },
		{ ONE(SOCKET ", \"frequency\": 1"), "frequency" },
		{ WEB_NODES BALANCE(OF(SOCKET) ", " OF(SOCKET ", \"backend\": \"b\"")),
		  "\"web\" is listed twice" },
		{ TWO(SOCKET, SOCKET ", \"backend\": \"web\""),
		  "backend \"web\" is balanced already" },
		{ WITH_WEB(WEB) "[]" BALANCE(OF(SOCKET)), "service \"web\" has no nodes: write" },
		{ WITH_WEB(WEB) "[" NODE(1, IN("web") AS("a b")) "]" BALANCE(OF(SOCKET)),
		  "node \"n1\" is server \"a b\", which HAProxy does not take" },
		{ WITH_WEB(WEB) "[" N1 ", " NODE(2, IN("web") AS("n1")) "]" BALANCE(OF(SOCKET)),
		  "nodes \"n1\" and \"n2\" are both server \"n1\"" },
	};
	struct conf_error e;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		e = refuse(*state, i, rows[i].text, "xen2", rows[i].said);
		assert_true(e.line == 1 && e.column > 1);
	}
	/* What may be: another socket is another HAProxy; and so is another backend. */
	take(*state, TWO(SOCKET, ", \"socket\": \"/i\", \"backend\": \"web\""), "xen1");
	take(*state, TWO(SOCKET, SOCKET), "xen1");
	take(*state, TWO(SOCKET, AGENT(9)), "xen1");
	take(*state, TWO(AGENT(9), AGENT(10) ", \"backend\": \"web\""), "xen1");
}
