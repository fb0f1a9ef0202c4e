// SPDX-License-Identifier: GPL-2.0-or-later
/* cluster_reconf: "reconf" of cluster.json, and what services and nodes say for it. */
#include "tests/unit/cluster_conf_rig.h"

#define NODE(n, more)                                                                              \
	"{\"name\": \"n" n "\", \"number\": " n ", \"host\": \"xen1\", \"guest\": \"g" n "\"" more \
	"}"
#define IN(service)	", \"service\": \"" service "\""
#define WEB_OF(more)	"{\"name\": \"web\", \"number\": 1" more "}"
#define MAIL_OF(more)	"{\"name\": \"mail\", \"number\": 2" more "}"
#define TWO(web)	BOTH ", \"services\": [" WEB_OF(web) ", " MAIL_OF("") "]"
#define N1		NODE("1", IN("web"))
#define N2		NODE("2", IN("web"))
#define N3		NODE("3", IN("mail"))
#define THREE		", \"nodes\": [" N1 ", " N2 ", " N3 "]"
#define RECONF(more)	", \"reconf\": {" more "}"
#define OF_WEB(more)	HEAD BOTH ", \"services\": [" WEB_OF(more) "]}"
#define OF_NODE(more)	HEAD TWO("") ", \"nodes\": [" NODE("1", more) "]}"
#define OF_RECONF(more) HEAD TWO("") THREE RECONF(more) "}"
#define FULL_WEB                                                                                   \
	", \"minimum\": 1, \"guarantee\": 2, \"share\": 3, \"maximum\": 4, \"priority\": 7, "      \
	"\"high\": 2000, \"low\": 1999"
#define FULL_1 ", \"kind\": \"switch\", \"capacity\": 100000, \"only\": [\"mail\", \"web\"]"
#define FULL_2 ", \"kind\": \"both\", \"capacity\": 1, \"only\": [\"mail\"]"
#define FULL_NODES                                                                                 \
	", \"nodes\": [" NODE("1", IN("web") FULL_1) ", " NODE("2", FULL_2) ", " NODE("3", "") "]"
#define FULL_RECONF                                                                                \
	"\"mode\": \"observe\", \"S\": \"60s\", \"T\": \"3600s\", \"rest\": \"0s\", "              \
	"\"freeze\": \"1s\", \"margin\": \"500%\", \"budget\": \"1000/h\", "                       \
	"\"hook\": \"/h\", \"hook_timeout\": \"3600s\", \"give_up\": \"0s\""

#define HOST_NODE                                                                                  \
	", \"nodes\": [{\"name\": \"n1\", \"number\": 1, \"host\": \"xen1\", "                     \
	"\"service\": \"web\", \"kind\": \"switch\"}, " N2 ", " N3 "]"
#define BY_AGENT                                                                                   \
	", \"balance\": [{\"service\": \"web\", \"by\": \"agent\", \"port\": 7778, "               \
	"\"service_time\": \"5ms\"}]"

RIG_TEST(defaults__of_each_key__are_the_man_pages)
{
	struct cluster_conf *c = *state;
	const struct cluster_service *web = &c->service[0], *mail = &c->service[1];

	memset(c, 0xa5, sizeof(*c));
	take(c, HEAD TWO("") THREE "}", "xen1");
	assert_true(web->minimum == 1 && web->guarantee == 1 && web->share == 2);
	assert_true(web->maximum == CLUSTER_NODES_MAX && web->priority == 0);
	assert_true(web->high == 1500 && web->low == 900);
	assert_int_equal(mail->share, 1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(c->node[i].kind, CLUSTER_NODE_BOTH);
		assert_int_equal(c->node[i].capacity, 1000);
		assert_true(c->node[i].may == UINT64_MAX);
	}
	assert_false(c->reconf.given);
	take(c, OF_RECONF(""), "xen1");
	assert_true(c->reconf.given);
	assert_int_equal(c->reconf.mode, RECONF_OBSERVE);
	assert_int_equal(c->reconf.check_ns, 100 * NS_PER_MS);
	assert_int_equal(c->reconf.high_ns, 5 * NS_PER_S);
	assert_int_equal(c->reconf.rest_ns, 30 * NS_PER_S);
	assert_int_equal(c->reconf.freeze_ns, 60 * NS_PER_S);
	assert_int_equal(c->reconf.margin, 200);
	assert_int_equal(c->reconf.budget, 6);
	assert_int_equal(c->reconf.budget_ns, 60 * NS_PER_S);
	assert_string_equal(c->reconf.hook, "");
	assert_int_equal(c->reconf.hook_timeout_ns, 30 * NS_PER_S);
	assert_int_equal(c->reconf.give_up_ns, 120 * NS_PER_S);
	take(c, OF_RECONF("\"mode\": \"act\""), "xen1");
	assert_int_equal(c->reconf.mode, RECONF_ACT);
}

RIG_TEST(all_keys__given__are_taken)
{
	struct cluster_conf *c = *state;
	const struct cluster_service *web = &c->service[0];

	take(c, HEAD TWO(FULL_WEB) FULL_NODES RECONF(FULL_RECONF) "}", "xen1");
	assert_true(web->guarantee == 2 && web->share == 3 && web->maximum == 4);
	assert_true(web->priority == 7 && web->high == 2000 && web->low == 1999);
	assert_int_equal(c->node[0].kind, CLUSTER_NODE_SWITCH);
	assert_int_equal(c->node[0].capacity, 100000);
	assert_int_equal(c->node[0].may, 3);
	assert_int_equal(c->node[1].kind, CLUSTER_NODE_BOTH);
	assert_int_equal(c->node[1].capacity, 1);
	assert_int_equal(c->node[1].may, 2);
	assert_int_equal(c->reconf.check_ns, 60 * NS_PER_S);
	assert_int_equal(c->reconf.high_ns, 3600 * NS_PER_S);
	assert_int_equal(c->reconf.rest_ns, 0);
	assert_int_equal(c->reconf.freeze_ns, NS_PER_S);
	assert_int_equal(c->reconf.margin, 5000);
	assert_int_equal(c->reconf.budget, 1000);
	assert_int_equal(c->reconf.budget_ns, 3600 * NS_PER_S);
	assert_string_equal(c->reconf.hook, "/h");
	assert_int_equal(c->reconf.hook_timeout_ns, 3600 * NS_PER_S);
	assert_int_equal(c->reconf.give_up_ns, 0);
}

/* A file of a release without these keys is accepted, and the values are in order. */
RIG_TEST(defaults__beside_given_values__keep_the_order)
{
	static const struct {
		const char *web;
		uint64_t guarantee, share, maximum;
	} rows[] = {
		{ ", \"minimum\": 0", 0, 2, 1024 },
		{ ", \"minimum\": 3", 3, 3, 1024 }, /* two nodes */
		{ ", \"minimum\": 5000", 5000, 5000, 5000 },
		{ ", \"maximum\": 1", 1, 1, 1 },
		{ ", \"minimum\": 0, \"share\": 0", 0, 0, 1024 },
		{ ", \"guarantee\": 2, \"maximum\": 2", 2, 2, 2 },
		{ ", \"share\": 1024", 1, 1024, 1024 },
	};
	struct cluster_conf *c = *state;
	char text[1024];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct cluster_service *web = &c->service[0];

		snprintf(text, sizeof(text), HEAD TWO("%s") THREE "}", rows[i].web);
		take(c, text, "xen1");
		if (web->guarantee != rows[i].guarantee || web->share != rows[i].share ||
		    web->maximum != rows[i].maximum)
			fail_msg("row %zu: %llu %llu %llu", i, (unsigned long long)web->guarantee,
				 (unsigned long long)web->share, (unsigned long long)web->maximum);
	}
}

RIG_TEST(services_and_nodes__that_cannot_be__are_refused_with_place_and_remedy)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{ OF_WEB(", \"minimum\": 2, \"guarantee\": 1"),
		  ": guarantee 1 of \"web\" is below its minimum, 2: write minimum <= guarantee <= "
		  "share <= maximum" },
		{ OF_WEB(", \"guarantee\": 3, \"share\": 2"),
		  ": share 2 of \"web\" is below its guarantee, 3" },
		{ OF_WEB(", \"share\": 3, \"maximum\": 2"),
		  ": maximum 2 of \"web\" is below its share, 3" },
		{ OF_WEB(", \"minimum\": 3, \"maximum\": 2"),
		  ": maximum 2 of \"web\" is below its minimum, 3" },
		{ OF_WEB(", \"guarantee\": 3, \"maximum\": 2"),
		  ": maximum 2 of \"web\" is below its guarantee, 3" },
		{ OF_WEB(", \"share\": 0"), ": share 0 of \"web\" is below its minimum, 1" },
		{ OF_WEB(", \"maximum\": 0"), "write a whole number from 1 to 1024" },
		{ OF_WEB(", \"guarantee\": 1025"), "from 0 to 1024" },
		{ OF_WEB(", \"share\": 1025"), "from 0 to 1024" },
		{ OF_WEB(", \"maximum\": 1025"), "from 1 to 1024" },
		{ OF_WEB(", \"priority\": 8"), "priority is 8: write a whole number from 0 to 7" },
		{ OF_WEB(", \"high\": 0"), "from 1 to 1000000" },
		{ OF_WEB(", \"high\": 1000001"), "from 1 to 1000000" },
		{ OF_WEB(", \"low\": 1500"),
		  "f:1:206: low 1500 of \"web\" is not below its high, 1500: write a lower low, or "
		  "a higher high" },
		{ OF_WEB(", \"high\": 900"),
		  "f:1:207: low 900 of \"web\" is not below its high, 900" },
		{ OF_NODE(", \"capacity\": 0"),
		  "capacity is 0: write a whole number from 1 to 100000" },
		{ OF_NODE(", \"capacity\": 100001"), "from 1 to 100000" },
		{ OF_NODE(", \"kind\": \"b\""), "write one of \"both\", \"switch\"" },
		{ OF_NODE(", \"only\": [\"web\", \"db\"]"),
		  "unknown service \"db\": use a name of services[]" },
		{ OF_NODE(", \"only\": [1]"), "unknown service \"?\"" },
		{ OF_NODE(", \"only\": []"),
		  "only names the services that node \"n1\" may serve: give a list" },
		{ OF_NODE(", \"only\": \"web\""), "give a list of names of services[]" },
		{ OF_NODE(IN("web") ", \"only\": [\"mail\"]"),
		  "only is without \"web\", the service of node \"n1\": add it, or give the node "
		  "another \"service\"" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refuse(*state, i, rows[i].text, "xen1", rows[i].said);
}

RIG_TEST(reconf__that_cannot_be__is_refused_with_place_and_remedy)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
		{ OF_RECONF("\"mode\": \"acts\""), "write one of \"observe\", \"act\"" },
		{ HEAD TWO(FULL_WEB) HOST_NODE RECONF("") "}",
		  "node \"n1\" is of kind \"switch\", and nothing prepares it for another service: "
		  "write \"hook\", the path of a program, or kind \"both\"" },
		{ HEAD TWO(FULL_WEB) FULL_NODES BY_AGENT RECONF("\"hook\": \"/h\"") "}",
		  "its node \"n1\" is of kind \"switch\", and with by \"agent\" nobody knows when "
		  "the "
		  "requests at it have ended: write by \"weights\"" },
		{ OF_RECONF("\"hook\": \"h\""),
		  "hook \"h\" does not begin with /: write the whole path of a program" },
		{ OF_RECONF("\"hook_timeout\": \"99ms\""), "from 100ms to 3600s" },
		{ OF_RECONF("\"hook_timeout\": \"5s\", \"give_up\": \"5s\""),
		  "give_up 5s is not above hook_timeout, 5s, so a node would be moved back while "
		  "it "
		  "is prepared: write more, or 0s for never" },
		{ OF_RECONF("\"t\": \"5s\""), "unknown key \"t\"" },
		{ OF_RECONF("\"S\": \"9999us\""), "from 10ms to 60s" },
		{ OF_RECONF("\"S\": \"49ms\""),
		  ": S 49ms is below the scan of \"load\", 50ms, and would find the same loads "
		  "again: write that, or more" },
		{ HEAD "\"load\": {\"scan\": \"200ms\"}, " TWO("") THREE RECONF("") "}",
		  ": S 100ms is below the scan of \"load\", 200ms" },
		{ OF_RECONF("\"T\": \"3s\""),
		  ": T 3s is not above the sum of hold and timeout, 3s, in which another host may "
		  "still move a node: write more than that" },
		{ HEAD "\"hold\": \"10s\", " TWO("") THREE RECONF("") "}",
		  ": T 5s is not above the sum of hold and timeout, 11s" },
		{ OF_RECONF("\"S\": \"4s\", \"T\": \"7999ms\""),
		  ": T 7999ms is below twice S, 8s, and a single high load would move a node: "
		  "write that, or more" },
		{ OF_RECONF("\"T\": \"3601s\""), "to 3600s" },
		{ OF_RECONF("\"rest\": \"3601s\""), "to 3600s" },
		{ OF_RECONF("\"freeze\": \"3601s\""), "to 3600s" },
		{ OF_RECONF("\"margin\": \"501%\""),
		  ": margin \"501%\" is no percentage: write whole percents such as \"20%\", from "
		  "0% to 500%" },
		{ OF_RECONF("\"margin\": \"%\""), "margin \"%\" is no percentage" },
		{ OF_RECONF("\"margin\": \"20\""), "margin \"20\" is no percentage" },
		{ OF_RECONF("\"margin\": \"20 %\""), "margin \"20 %\" is no percentage" },
		{ OF_RECONF("\"margin\": \"-1%\""), "margin \"-1%\" is no percentage" },
		{ OF_RECONF("\"margin\": 20"), "write whole percents" },
		{ OF_RECONF("\"budget\": \"0/min\""),
		  ": budget \"0/min\" is no number of moves in a time: write one such as "
		  "\"6/min\", with /s, /min or /h, from 1 to 1000" },
		{ OF_RECONF("\"budget\": \"1001/min\""), "budget \"1001/min\" is no" },
		{ OF_RECONF("\"budget\": \"18446744073709551617/s\""), "budget \"18446" },
		{ OF_RECONF("\"budget\": \"6/m\""), "budget \"6/m\" is no" },
		{ OF_RECONF("\"budget\": \"/min\""), "budget \"/min\" is no" },
		{ OF_RECONF("\"budget\": 6"), "write one such as \"6/min\"" },
		{ HEAD TWO("") RECONF("") "}",
		  ": reconf moves nodes, and there are none: write \"nodes\", or leave \"reconf\" "
		  "out" },
		{ HEAD TWO(", \"minimum\": 3") THREE RECONF("") "}",
		  ": the minimums of all services are 4 nodes, and \"nodes\" has 3: write a lower "
		  "minimum, or more nodes" },
		{ HEAD TWO(", \"guarantee\": 3") THREE RECONF("") "}",
		  ": the guarantees of all services are 4 nodes, and \"nodes\" has 3: write a "
		  "lower "
		  "guarantee, or more nodes" },
		{ HEAD BOTH ", \"reconf\": []}", "reconf" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refuse(*state, i, rows[i].text, "xen1", rows[i].said);
}

RIG_TEST(reconf__at_the_edges__is_taken)
{
	static const char *const texts[] = {
		OF_RECONF("\"T\": \"3001ms\""),
		OF_RECONF("\"S\": \"4s\", \"T\": \"8s\""),
		OF_RECONF("\"S\": \"50ms\""),
		OF_RECONF("\"margin\": \"0%\", \"budget\": \"1/s\""),
		HEAD TWO(", \"guarantee\": 2") THREE RECONF("") "}",
		/* Without reconf, sums are nobody's concern. */
		HEAD TWO(", \"minimum\": 3") THREE "}",
		HEAD "\"hold\": \"10s\", " TWO("") THREE "}",
	};
	struct cluster_conf *c = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		take(c, texts[i], "xen1");
	take(c, texts[3], "xen1");
	assert_true(c->reconf.margin == 0 && c->reconf.budget_ns == NS_PER_S);
}

/* --- how many nodes ------------------------------------------------------------------ */

/* So many nodes, of three hosts. */
static char *nodes_text(int n)
{
	static const char head[] = HEAD
		"\"hosts\": [" HOST1 ", " HOST2
		", {\"name\": \"xen3\", \"number\": 3, \"address\": \"10.0.0.3\"}], " WEB
		", \"reconf\": {\"T\": \"4s\"}, \"nodes\": [";
	size_t size = sizeof(head) + 64 + (size_t)n * 96;
	char *text = malloc(size);
	int at = snprintf(text, size, "%s", head);

	for (int i = 0; i < n; i++)
		at += snprintf(text + at, size - (size_t)at,
			       "%s{\"name\": \"n%d\", \"number\": %d, \"host\": \"xen%d\", "
			       "\"guest\": \"g%d\"}",
			       i ? ", " : "", i, i / 3, 1 + i % 3, i);
	snprintf(text + at, size - (size_t)at, "]}");
	return text;
}

RIG_TEST(reconf__of_more_nodes_than_one_decision_has__is_refused)
{
	char *text = nodes_text(CLUSTER_MOVED_MAX);

	take(*state, text, "xen1");
	free(text);
	text = nodes_text(CLUSTER_MOVED_MAX + 1);
	refuse(*state, 0, text, "xen1", "reconf moves up to 512 nodes, and there are 513");
	free(text);
}
