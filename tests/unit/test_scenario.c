// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scenario: the reader. The defaults of the shortest file, every key, and for each kind
 * of error its place and its sentence; the examples are good.
 */
#include "src/conf/policy.h"
#include "src/lab/scenario.h"

#include <glob.h>

#include "src/core/caps.h"
#include "tests/unit/examples.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct scenario));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	scenario_free(*state);
	free(*state);
	return 0;
}

static const struct scenario *take(struct scenario *sc, const char *text)
{
	struct conf_error e = { 0 };

	scenario_free(sc);
	if (scenario_parse(sc, "f", text, strlen(text), &e))
		fail_msg("%s", e.text);
	return sc;
}

/* --- what is accepted ------------------------------------------------------------ */

RIG_TEST(least__one_guest__the_rest_is_the_man_pages_defaults)
{
	const struct scenario *sc = take(*state, "{\"guests\": [{\"name\": \"a\"}]}");
	const struct sim_guest_conf *g = &sc->sim.guest[0];

	assert_string_equal(sc->name, "");
	assert_int_equal(sc->duration_ns, 10 * NS_PER_S);
	assert_int_equal(sc->series_ns, 0);
	assert_int_equal(sc->clock, SCENARIO_SIMULATED);
	assert_int_equal(sc->sim.seed, 1);
	assert_int_equal(sc->sim.sched, SIM_CREDIT2);
	assert_int_equal(sc->sim.cap_period_ns, 10 * NS_PER_MS);
	assert_false(sc->sim.swap);
	assert_int_equal(sc->sim.links, 1);
	assert_int_equal(sc->sim.link[0].bytes_s, 1 << 30);
	assert_int_equal(sc->sim.link[0].mtu, 1024);
	assert_int_equal(sc->conf.links, 1);
	assert_string_equal(sc->conf.link[0].name, "link0");
	assert_int_equal(sc->conf.interval_ns, NS_PER_MS);
	assert_int_equal(sc->conf.epoch_ns, NS_PER_S);
	assert_string_equal(sc->policy->ops->name, "freemarket");
	assert_int_equal(sc->events, 0);
	assert_int_equal(sc->sim.guests, 1);
	assert_string_equal(g->name, "a");
	assert_int_equal(g->vcpus, 1);
	assert_int_equal(g->weight, 256);
	assert_int_equal(g->cap, 0);
	assert_int_equal(g->apps, 0);
	assert_false(g->blind || g->later);
	assert_int_equal(sc->conf.guests, 1);
	assert_string_equal(sc->conf.guest[0].name, "a");
	assert_int_equal(sc->conf.guest[0].min_cap, 1);
}

RIG_TEST(app__of_each_kind__has_the_papers_figures)
{
	const struct scenario *sc =
		take(*state, "{\"guests\": [{\"name\": \"a\", \"apps\": [{\"kind\": \"server\"},"
			     " {\"kind\": \"sender\"}, {\"kind\": \"burner\"},"
			     " {\"kind\": \"idle\"}]}]}");
	const struct sim_app *a = sc->sim.guest[0].app;

	assert_int_equal(sc->sim.guest[0].apps, 4);
	assert_int_equal(a[0].kind, SIM_APP_SERVER);
	assert_int_equal(a[0].msg_bytes, 65536);
	assert_int_equal(a[0].path_mtu, 1024);
	assert_int_equal(a[0].depth, 1);
	assert_int_equal(a[0].post_ns, 1000);
	assert_int_equal(a[0].compute_ns, 146964);
	assert_int_equal(a[0].clients, 1);
	assert_int_equal(a[0].report, 1000);
	assert_string_equal(a[0].name, "server");
	assert_int_equal(a[1].kind, SIM_APP_SENDER);
	assert_int_equal(a[1].op, OP_WRITE);
	assert_int_equal(a[1].qps, 1);
	assert_int_equal(a[1].rate, 0);
	assert_int_equal(a[2].kind, SIM_APP_BURNER);
	assert_int_equal(a[3].kind, SIM_APP_IDLE);
}

static const char everything[] =
	"{\"name\": \"all\", \"duration\": \"30s\", \"clock\": \"real\", \"seed\": 9,"
	" \"series\": \"100ms\", \"histogram\": true, \"swap\": [\"b\", \"a\"],"
	" \"hosts\": [{\"scheduler\": \"credit\", \"cap_period\": \"20ms\","
	"              \"interval\": \"2ms\", \"epoch\": \"500ms\","
	"              \"ignore_caps\": true}],"
	" \"links\": [{\"name\": \"x\", \"rate\": \"1MiB/s\"},"
	"             {\"name\": \"y\", \"rate\": \"10Gbit/s\", \"mtu\": 4096}],"
	" \"policy\": {\"policy\": \"freemarket\", \"params\": {\"low\": 200}},"
	" \"guests\": [{\"name\": \"a\"},"
	"  {\"name\": \"b\", \"vcpus\": 4, \"weight\": 512, \"cap\": 250, \"link\": \"y\","
	"   \"exempt\": true, \"min_cap\": 5, \"max_cap\": 300, \"blind\": true, \"later\": true,"
	"   \"sla\": {\"tolerance\": 70, \"base\": \"209us\", \"base_io\": \"62us\","
	"           \"base_deviation\": \"1us\"},"
	"   \"apps\": [{\"name\": \"s\", \"kind\": \"sender\", \"op\": \"read\","
	"              \"size\": \"2MiB\", \"depth\": 8, \"queue_pairs\": 3, \"mtu\": 2048,"
	"              \"rate\": 1000, \"burst\": 4, \"post\": \"2us\", \"start\": \"1s\","
	"              \"stop\": \"2s\"},"
	"             {\"kind\": \"server\", \"compute\": \"10us\", \"clients\": 5,"
	"              \"report\": 500, \"report_stop\": \"3s\", \"variation\": 400,"
	"              \"distribution\": \"uniform\", \"think\": \"7us\","
	"              \"think_variation\": 2000, \"busy\": \"5ms\", \"quiet\": \"6ms\"},"
	"             {\"kind\": \"server\", \"rate\": 12}]}],"
	" \"events\": [{\"at\": \"3s\", \"do\": \"destroy\", \"guest\": \"a\"},"
	"  {\"at\": \"1s\", \"do\": \"policy\", \"policy\": \"null\"},"
	"  {\"at\": \"3s\", \"do\": \"create\", \"guest\": \"b\"},"
	"  {\"at\": \"0s\", \"do\": \"cap\", \"guest\": \"b\", \"cap\": 400}]}";

RIG_TEST(everything__given__is_taken)
{
	const struct scenario *sc = take(*state, everything);
	const struct sim_guest_conf *g = &sc->sim.guest[1];
	const struct guest_conf *c = &sc->conf.guest[1];

	assert_string_equal(sc->name, "all");
	assert_int_equal(sc->duration_ns, 30 * NS_PER_S);
	assert_int_equal(sc->clock, SCENARIO_REAL);
	assert_int_equal(sc->sim.seed, 9);
	assert_int_equal(sc->series_ns, 100 * NS_PER_MS);
	assert_true(sc->histogram);
	assert_true(sc->sim.swap);
	assert_int_equal(sc->sim.swapped[0], 1);
	assert_int_equal(sc->sim.swapped[1], 0);
	assert_int_equal(sc->sim.sched, SIM_CREDIT);
	assert_int_equal(sc->sim.cap_period_ns, 20 * NS_PER_MS);
	assert_true(sc->sim.ignore_caps);
	assert_int_equal(sc->conf.interval_ns, 2 * NS_PER_MS);
	assert_int_equal(sc->conf.epoch_ns, 500 * NS_PER_MS);
	assert_int_equal(sc->sim.links, 2);
	assert_int_equal(sc->sim.link[0].bytes_s, 1 << 20);
	assert_int_equal(sc->sim.link[1].mtu, 4096);
	assert_int_equal(policy_param_get(sc->policy, &sc->policy->ops->params[0]), 200);
	assert_int_equal(g->vcpus, 4);
	assert_int_equal(g->weight, 512);
	assert_int_equal(g->cap, 250);
	assert_int_equal(g->link, 1);
	assert_true(g->blind && g->later);
	assert_int_equal(c->weight, 512);
	assert_true(c->exempt);
	assert_int_equal(c->min_cap, 5);
	assert_int_equal(c->max_cap, 300);
	assert_int_equal(c->link, 1);
	assert_int_equal(c->sla.tolerance, 70);
	assert_int_equal(c->sla.base_ns, 209000);
}

RIG_TEST(everything__its_applications__are_taken)
{
	const struct sim_app *a = take(*state, everything)->sim.guest[1].app;

	assert_string_equal(a[0].name, "s");
	assert_int_equal(a[0].op, OP_READ);
	assert_int_equal(a[0].msg_bytes, 2 << 20);
	assert_int_equal(a[0].depth, 8);
	assert_int_equal(a[0].qps, 3);
	assert_int_equal(a[0].path_mtu, 2048);
	assert_int_equal(a[0].rate, 1000);
	assert_int_equal(a[0].burst, 4);
	assert_int_equal(a[0].post_ns, 2000);
	assert_int_equal(a[0].start_ns, NS_PER_S);
	assert_int_equal(a[0].stop_ns, 2 * NS_PER_S);
	assert_int_equal(a[1].path_mtu, 4096); /* the link's */
	assert_int_equal(a[1].compute_ns, 10000);
	assert_int_equal(a[1].clients, 5);
	assert_int_equal(a[1].report, 500);
	assert_int_equal(a[1].report_stop_ns, 3 * NS_PER_S);
	assert_int_equal(a[1].vary.how, SIM_VARY_UNIFORM);
	assert_int_equal(a[1].vary.permille, 400);
	assert_int_equal(a[1].think_ns, 7000);
	assert_int_equal(a[1].think_vary.how, SIM_VARY_PHASES);
	assert_int_equal(a[1].think_vary.permille, 2000);
	assert_int_equal(a[1].busy_ns, 5 * NS_PER_MS);
	assert_int_equal(a[1].quiet_ns, 6 * NS_PER_MS);
	assert_int_equal(a[1].rate, 0);
	assert_int_equal(a[2].rate, 12);
	assert_int_equal(a[2].vary.permille, 0);
}

RIG_TEST(events__of_any_order__are_sorted_and_equals_stay_in_the_files)
{
	const struct scenario *sc = take(*state, everything);

	assert_int_equal(sc->events, 4);
	assert_int_equal(sc->event[0].what, SCENARIO_CAP);
	assert_int_equal(sc->event[0].cap, 400);
	assert_int_equal(sc->event[0].guest, 1);
	assert_int_equal(sc->event[1].what, SCENARIO_POLICY);
	assert_string_equal(sc->event[1].policy->ops->name, "null");
	assert_int_equal(sc->event[2].what, SCENARIO_DESTROY);
	assert_int_equal(sc->event[2].at_ns, 3 * NS_PER_S);
	assert_int_equal(sc->event[3].what, SCENARIO_CREATE);
	assert_int_equal(sc->event[3].guest, 1);
}

RIG_TEST(sets__of_one_life__add_up_in_the_order_of_time)
{
	const struct scenario *sc =
		take(*state, "{\"guests\": [{\"name\": \"a\", \"weight\": 300}, {\"name\": \"b\"}],"
			     " \"events\": ["
			     "{\"at\": \"4s\", \"do\": \"guest-set\", \"guest\": \"a\", \"set\": "
			     "{\"exempt\": true}},"
			     "{\"at\": \"2s\", \"do\": \"guest-set\", \"guest\": \"a\", \"set\": "
			     "{\"weight\": 9}},"
			     "{\"at\": \"1s\", \"do\": \"guest-set\", \"guest\": \"a\", \"set\": "
			     "{\"min_cap\": 7}},"
			     "{\"at\": \"2s\", \"do\": \"pause\"},"
			     "{\"at\": \"3s\", \"do\": \"reboot\", \"guest\": \"a\"}]}");
	const struct scenario_event *ev = sc->event;

	assert_int_equal(ev[0].conf.min_cap, 7);
	assert_int_equal(ev[0].conf.weight, 300);
	assert_int_equal(ev[1].conf.min_cap, 7);
	assert_int_equal(ev[1].conf.weight, 9);
	assert_true(ev[2].all);
	assert_int_equal(ev[3].what, SCENARIO_REBOOT);
	assert_true(ev[4].conf.exempt); /* of its new life */
	assert_int_equal(ev[4].conf.weight, 300);
	assert_int_equal(ev[4].conf.min_cap, 1);
}

/* --- what is refused ------------------------------------------------------------- */

/* A scenario of one guest, with something more at its top, or in its guest, app or event. */
#define TOP(more)   "{\"guests\": [{\"name\": \"a\"}],\n " more "}"
#define GUEST(more) "{\"guests\": [{\"name\": \"a\",\n " more "}]}"
#define APP(more)   GUEST("\"apps\": [{" more "}]")
#define EVENT(more) TOP("\"events\": [{" more "}]")

struct wrong {
	const char *text, *place;
	const char *words[3];
};

static const struct wrong tops[] = {
	{ "", "f:1:1: ", { "not valid JSON" } },
	{ "[]", "f:1:1: ", { "write an object" } },
	{ "{}", "f:1:1: ", { "guests", "1 to 256", "\"kind\": \"server\"" } },
	{ "{\"guests\": {}}", "f:1:12: ", { "list of 1 to 256" } },
	{ "{\"guests\": []}", "f:1:12: ", { "list of 1 to 256" } },
	{ "{\"guests\": [7]}", "f:1:13: ", { "guests[0]", "7", "object" } },
	{ TOP("\"durations\": 1"), "f:2:2: ", { "unknown", "did you mean \"duration\"?" } },
	{ TOP("\"thermometer\": 1"), "f:2:2: ", { "unknown", "known here are", "\"events\"" } },
	{ TOP("\"guests\": []"), "f:2:9: ", { "has each key once" } },
	{ TOP("\"duration\": 30"), "f:2:14: ", { "30", "\"1s\"", "10ms to 3600s" } },
	{ TOP("\"duration\": \"9ms\""), "f:2:14: ", { "9ms", "10ms to 3600s" } },
	{ TOP("\"duration\": \"3601s\""), "f:2:14: ", { "3601s", "3600s" } },
	{ TOP("\"series\": \"1ms\""), "f:2:12: ", { "1ms", "10ms" } },
	{ TOP("\"series\": \"11s\""), "f:2:12: ", { "longer than the run", "10000 ms" } },
	{ TOP("\"duration\": \"200s\", \"series\": \"10ms\""),
	  "f:2:32: ",
	  { "20000 pieces", "21 ms", "10000" } },
	{ TOP("\"clock\": \"fast\""), "f:2:11: ", { "fast", "\"simulated\"", "\"real\"" } },
	{ TOP("\"seed\": -1"), "f:2:10: ", { "-1", "4294967295" } },
	{ TOP("\"name\": 7"), "f:2:10: ", { "7", "string" } },
	{ TOP("\"policy\": 7"), "f:2:12: ", { "policy's name", "params" } },
	{ TOP("\"policy\": \"dear\""), "f:2:12: ", { "\"dear\"", "null", "freemarket" } },
	{ TOP("\"policy\": {\"policy\": \"x\"}"), "f:2:23: ", { "\"x\"", "freemarket" } },
	{ TOP("\"policy\": {\"params\": {}}"), "f:2:12: ", { "\"policy\" is missing" } },
	{ TOP("\"policy\": {\"policy\": \"null\", \"low\": 1}"), "f:2:31: ", { "unknown key" } },
	{ TOP("\"policy\": {\"policy\": \"freemarket\", \"params\": {\"low\": 1001}}"),
	  "f:2:55: ",
	  { "low is 1001", "1000" } },
	{ TOP("\"swap\": \"a\""), "f:2:10: ", { "two guests" } },
	{ TOP("\"swap\": [\"a\"]"), "f:2:10: ", { "two guests" } },
	{ TOP("\"swap\": [\"a\", \"b\"]"), "f:2:16: ", { "\"b\"", "guests[]" } },
	{ TOP("\"swap\": [\"a\", \"a\"]"), "f:2:16: ", { "with itself" } },
};

static const struct wrong hosts[] = {
	{ TOP("\"host\": []"), "f:2:10: ", { "write an object" } },
	{ TOP("\"host\": {\"cpus\": 2}"), "f:2:11: ", { "unknown", "scheduler" } },
	{ TOP("\"host\": {\"scheduler\": \"cfs\"}"), "f:2:24: ", { "cfs", "credit2" } },
	{ TOP("\"host\": {\"cap_period\": \"1us\"}"), "f:2:25: ", { "1us", "1ms to 1s" } },
	{ TOP("\"host\": {\"interval\": \"1us\"}"), "f:2:23: ", { "1us", "100us" } },
	{ TOP("\"host\": {\"epoch\": \"1ms\"}"), "f:2:20: ", { "1ms", "10ms" } },
	{ TOP("\"host\": {\"interval\": \"3ms\"}"), "f:2:23: ", { "whole number", "3000000" } },
	{ TOP("\"host\": {\"epoch\": \"10500us\"}"), "f:2:20: ", { "whole number" } },
	{ TOP("\"hosts\": []"), "f:2:11: ", { "one host", "reserved" } },
	{ TOP("\"hosts\": [{}, {}]"), "f:2:11: ", { "one host", "several are reserved" } },
	{ TOP("\"hosts\": [{}], \"host\": {}"), "f:2:11: ", { "remove one" } },
	{ TOP("\"hosts\": [{\"cpus\": 2}]"), "f:2:13: ", { "unknown" } },
	{ TOP("\"links\": []"), "f:2:11: ", { "1 to 8 links" } },
	{ TOP("\"links\": [{\"name\": \"x\"}]"), "f:2:12: ", { "\"rate\" is missing" } },
	{ TOP("\"links\": [{\"name\": \"x\", \"rate\": \"8Mbit/s\"}]"),
	  "f:2:34: ",
	  { "1000000", "1MiB/s" } },
	{ "{\"links\": [{\"name\": \"a\", \"rate\": \"1GB/s\",\n \"counter\": \"port:mlx5_0/1\"}],"
	  " \"guests\": [{\"name\": \"g\"}]}",
	  "f:2:13: ",
	  { "port:mlx5_0/1", "leave it out" } },
	{ TOP("\"links\": [{\"name\": \"x\", \"rate\": \"1GB/s\", \"mtu\": 1000}]"),
	  "f:2:50: ",
	  { "1000", "1024" } },
};

static const struct wrong guests[] = {
	{ "{\"guests\": [{}]}", "f:1:13: ", { "\"name\" is missing" } },
	{ "{\"guests\": [{\"name\": \"\"}]}", "f:1:22: ", { "1 to 63" } },
	{ "{\"guests\": [{\"name\": \"a b\"}]}", "f:1:22: ", { "\"a b\"", "letters" } },
	{ "{\"guests\": [{\"name\": \"\xc3\xa9\"}]}", "f:1:22: ", { "letters" } },
	{ "{\"guests\": [{\"name\": \"a\"},\n {\"name\": \"a\"}]}",
	  "f:2:11: ",
	  { "\"a\" is listed twice" } },
	{ GUEST("\"vcpu\": 1"), "f:2:2: ", { "did you mean \"vcpus\"?" } },
	{ GUEST("\"wieght\": 1"), "f:2:2: ", { "did you mean \"weight\"?" } },
	{ GUEST("\"application\": 1"), "f:2:2: ", { "unknown", "\"apps\"", "\"sla\"" } },
	{ GUEST("\"vcpus\": 0"), "f:2:11: ", { "0", "1 to 512" } },
	{ GUEST("\"cap\": 101"), "f:2:9: ", { "101", "at most 100", "0 for none" } },
	{ GUEST("\"weight\": 0"), "f:2:12: ", { "0", "65535" } },
	{ GUEST("\"min_cap\": 101"), "f:2:13: ", { "101", "1 to 100" } },
	{ GUEST("\"max_cap\": 3, \"min_cap\": 4"), "f:2:13: ", { "max_cap is 3" } },
	{ GUEST("\"link\": \"ib9\""), "f:2:10: ", { "\"ib9\"", "(configured: " } },
	{ GUEST("\"blind\": 1"), "f:2:11: ", { "1", "true or false" } },
	{ GUEST("\"later\": \"yes\""), "f:2:11: ", { "yes", "true or false" } },
	{ GUEST("\"sla\": {\"base\": \"1us\"}"), "f:2:9: ", { "base_io" } },
	{ GUEST("\"apps\": {}"), "f:2:10: ", { "list of at most 4", "sender" } },
	{ GUEST("\"apps\": [{\"kind\":\"idle\"},{\"kind\":\"idle\"},{\"kind\":\"idle\"},"
		"{\"kind\":\"idle\"},{\"kind\":\"idle\"}]"),
	  "f:2:10: ",
	  { "at most 4" } },
	{ GUEST("\"apps\": [\"server\"]"), "f:2:11: ", { "apps[0]", "object" } },
};

static const struct wrong apps[] = {
	{ APP(""), "f:2:11: ", { "\"kind\" is missing", "\"burner\"" } },
	{ APP("\"kind\": \"web\""), "f:2:20: ", { "web", "\"sender\"" } },
	{ APP("\"kind\": \"idle\", \"colour\": 1"), "f:2:28: ", { "unknown", "\"size\"" } },
	{ APP("\"kind\": \"burner\", \"rate\": 5"),
	  "f:2:38: ",
	  { "rate is for a sender", "\"burner\"", "remove" } },
	{ APP("\"kind\": \"server\", \"rate\": 5, \"clients\": 2"),
	  "f:2:38: ",
	  { "clients and think", "remove one" } },
	{ APP("\"kind\": \"server\", \"think\": \"1ms\", \"rate\": 5"),
	  "f:2:54: ",
	  { "remove one" } },
	{ APP("\"kind\": \"server\", \"variation\": 50"), "f:2:43: ", { "50", "at least 100" } },
	{ APP("\"kind\": \"server\", \"variation\": 578, \"distribution\": \"uniform\""),
	  "f:2:43: ",
	  { "578", "at most 577", "\"phases\"" } },
	{ APP("\"kind\": \"server\", \"think\": \"1s\", \"think_variation\": 99"),
	  "f:2:64: ",
	  { "99", "at least 100", "\"uniform\"" } },
	{ APP("\"kind\": \"server\", \"distribution\": \"uniform\""),
	  "f:2:46: ",
	  { "needs a variation" } },
	{ APP("\"kind\": \"server\", \"think_variation\": 500"), "f:2:49: ", { "give think" } },
	{ APP("\"kind\": \"sender\", \"busy\": \"1ms\""), "f:2:38: ", { "give both" } },
	{ APP("\"kind\": \"server\", \"quiet\": \"1ms\""), "f:2:39: ", { "give both" } },
	{ APP("\"kind\": \"sender\", \"report\": 5"), "f:2:40: ", { "report is for a server" } },
	{ APP("\"kind\": \"burner\", \"size\": 5"), "f:2:38: ", { "size is for a sender or a" } },
	{ APP("\"kind\": \"sender\", \"size\": 0"), "f:2:38: ", { "0", "64KiB", "16MiB" } },
	{ APP("\"kind\": \"sender\", \"size\": \"17MiB\""), "f:2:38: ", { "17MiB", "16MiB" } },
	{ APP("\"kind\": \"sender\", \"depth\": 1025"), "f:2:39: ", { "1025", "1 to 1024" } },
	{ APP("\"kind\": \"sender\", \"queue_pairs\": 65"), "f:2:45: ", { "65", "1 to 64" } },
	{ APP("\"kind\": \"sender\", \"mtu\": 2048"),
	  "f:2:37: ",
	  { "2048", "more than the link's", "at most 1024" } },
	{ APP("\"kind\": \"sender\", \"mtu\": 1000"), "f:2:37: ", { "1000", "512, 1024" } },
	{ APP("\"kind\": \"sender\", \"rate\": \"5/s\""), "f:2:38: ", { "5/s", "10000000" } },
	{ APP("\"kind\": \"sender\", \"burst\": 4"), "f:2:39: ", { "give a rate" } },
	{ APP("\"kind\": \"sender\", \"op\": \"cas\""), "f:2:36: ", { "cas", "\"read\"" } },
	{ APP("\"kind\": \"sender\", \"post\": \"1ns\""), "f:2:38: ", { "1ns", "100ns to 1s" } },
	{ APP("\"kind\": \"server\", \"clients\": 65"), "f:2:41: ", { "65", "1 to 64" } },
	{ APP("\"kind\": \"server\", \"compute\": \"2s\""), "f:2:41: ", { "2s", "to 1s" } },
	{ APP("\"kind\": \"server\", \"report\": 100001"), "f:2:40: ", { "100001", "100000" } },
	{ APP("\"kind\": \"burner\", \"start\": \"2s\", \"stop\": \"1s\""),
	  "f:2:53: ",
	  { "stop (1000000 us)", "after start (2000000 us)" } },
	{ "{\"guests\": [{\"name\": \"a\", \"apps\": [{\"kind\": \"sender\", \"queue_pairs\": 63,"
	  " \"depth\": 1024}, {\"kind\": \"sender\", \"queue_pairs\": 64, \"depth\": 1024},"
	  " {\"kind\": \"sender\", \"queue_pairs\": 64, \"depth\": 1024}]},\n"
	  " {\"name\": \"b\", \"apps\": [{\"kind\": \"sender\", \"queue_pairs\": 64,"
	  " \"depth\": 1024}, {\"kind\": \"sender\", \"queue_pairs\": 17}]}]}",
	  "f:2:24: ",
	  { "262208 messages", "at most 262144" } },
	/* each within its range, and too much for one guest */
	{ GUEST("\"apps\": [{\"kind\": \"sender\", \"queue_pairs\": 64, \"depth\": 1024},\n"
		"{\"kind\": \"sender\", \"queue_pairs\": 64, \"depth\": 1024},\n"
		"{\"kind\": \"sender\", \"queue_pairs\": 64, \"depth\": 1024},\n"
		"{\"kind\": \"sender\", \"queue_pairs\": 64, \"depth\": 1024}]"),
	  "f:1:13: ",
	  { "depth", "128 MiB" } },
};

static const struct wrong events[] = {
	{ TOP("\"events\": {}"), "f:2:12: ", { "at most 256", "destroy" } },
	{ EVENT(""), "f:2:13: ", { "\"at\" is missing" } },
	{ EVENT("\"at\": \"1s\""), "f:2:13: ", { "\"do\" is missing", "\"reboot\"" } },
	{ EVENT("\"at\": 1, \"do\": \"destroy\""), "f:2:20: ", { "1", "\"1s\"" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"die\""), "f:2:32: ", { "die", "\"destroy\"" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"destroy\""), "f:2:13: ", { "\"guest\" is missing" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"policy\""), "f:2:13: ", { "\"policy\" is missing" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"cap\", \"guest\": \"a\""),
	  "f:2:13: ",
	  { "\"cap\" is missing" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"destroy\", \"guest\": \"b\""),
	  "f:2:52: ",
	  { "\"b\"", "guests[]" } },
	{ EVENT("\"at\": \"11s\", \"do\": \"destroy\", \"guest\": \"a\""),
	  "f:2:20: ",
	  { "11000 ms", "10000 ms" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"cap\", \"guest\": \"a\", \"cap\": 101"),
	  "f:2:60: ",
	  { "101", "at most 100" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"destroy\", \"guest\": \"a\", \"cap\": 1"),
	  "f:2:64: ",
	  { "cap does nothing in \"destroy\"" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"policy\", \"policy\": \"dear\""),
	  "f:2:52: ",
	  { "\"dear\"", "freemarket" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"guest-set\", \"guest\": \"a\""),
	  "f:2:13: ",
	  { "\"set\" is missing" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"guest-set\", \"guest\": \"a\", \"set\": {\"weight\": "
		"0}"),
	  "f:2:77: ",
	  { "weight is 0", "65535" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"guest-set\", \"guest\": \"a\", \"set\": {\"link\": "
		"\"x\"}"),
	  "f:2:75: ",
	  { "stays on its link", "remove" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"guest-set\", \"guest\": \"a\", \"set\": {\"cap\": 5}"),
	  "f:2:67: ",
	  { "unknown key \"cap\"" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"pause\", \"guest\": \"b\""),
	  "f:2:50: ",
	  { "\"b\"", "guests[]" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"pause\", \"guest\": \"\""),
	  "f:2:50: ",
	  { "guest", "1 to 63" } },
	{ EVENT("\"at\": \"1s\", \"do\": \"pause\", \"set\": {}"),
	  "f:2:48: ",
	  { "set does nothing in \"pause\"" } },
	{ EVENT("\"at\": \"1s\", \"when\": 1"), "f:2:26: ", { "unknown", "\"at\"" } },
};

static void assert_refused(struct scenario *sc, const struct wrong *w)
{
	struct conf_error e = { 0 };
	int rc = scenario_parse(sc, "f", w->text, strlen(w->text), &e);

	if (rc != -EINVAL)
		fail_msg("%s: %d, not refused", w->text, rc);
	if (strncmp(e.text, w->place, strlen(w->place)) != 0)
		fail_msg("%s: said '%s', not at %s", w->text, e.text, w->place);
	for (size_t i = 0; i < 3 && w->words[i]; i++)
		if (!strstr(e.text, w->words[i]))
			fail_msg("%s: said '%s', without '%s'", w->text, e.text, w->words[i]);
	assert_null(sc->policy);
}

#define REFUSED(sc, rows)                                                                          \
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)                                \
	assert_refused(sc, &rows[i])

RIG_TEST(refused__each_says_where_what_and_what_instead)
{
	REFUSED(*state, tops);
	REFUSED(*state, hosts);
	REFUSED(*state, guests);
	REFUSED(*state, apps);
	REFUSED(*state, events);
}

RIG_TEST(too_many__guests_or_events__are_refused_and_the_most_taken)
{
	struct conf_error e = { 0 };
	size_t size = 1 << 16;
	char *text = malloc(size);

	assert_non_null(text);
	for (int over = 0; over < 2; over++) {
		size_t n = (size_t)snprintf(text, size, "{\"guests\": [");

		for (int i = 0; i < SIM_GUESTS_MAX + over; i++)
			n += (size_t)snprintf(text + n, size - n, "%s{\"name\": \"g%d\"}",
					      i ? "," : "", i);
		n += (size_t)snprintf(text + n, size - n, "], \"events\": [");
		for (int i = 0; i < SCENARIO_EVENTS_MAX; i++)
			n += (size_t)snprintf(text + n, size - n,
					      "%s{\"at\": \"%dms\", \"do\": \"reboot\", \"guest\":"
					      " \"g0\"}",
					      i ? "," : "", 1000 - i);
		snprintf(text + n, size - n, "]}");
		if (over) {
			scenario_free(*state);
			assert_int_equal(scenario_parse(*state, "f", text, strlen(text), &e),
					 -EINVAL);
			assert_non_null(strstr(e.text, "1 to 256 guests"));
		} else {
			assert_int_equal(take(*state, text)->sim.guests, SIM_GUESTS_MAX);
		}
	}
	free(text);
}

RIG_TEST(series__of_many_guests__has_fewer_steps)
{
	struct conf_error e = { 0 };
	size_t size = 1 << 14;
	char *text = malloc(size);

	assert_non_null(text);
	for (int over = 0; over < 2; over++) {
		size_t n = (size_t)snprintf(
			text, size,
			"{\"duration\": \"%dms\",\n \"series\": \"10ms\", \"guests\": [",
			50000 + 10 * over);

		for (int i = 0; i < 128; i++)
			n += (size_t)snprintf(text + n, size - n, "%s{\"name\": \"g%d\"}",
					      i ? "," : "", i);
		snprintf(text + n, size - n, "]}");
		if (!over) {
			assert_int_equal(take(*state, text)->sim.guests, 128);
			continue;
		}
		scenario_free(*state);
		assert_int_equal(scenario_parse(*state, "f", text, strlen(text), &e), -EINVAL);
		assert_non_null(strstr(e.text, "f:2:12: "));
		assert_non_null(strstr(e.text, "5001 pieces of the run for each of 128 guests"));
		assert_non_null(strstr(e.text, "11 ms or more for at most 5000"));
	}
	free(text);
}

RIG_TEST(file__missing_or_wrong__is_said_by_its_name)
{
	struct conf_error e = { 0 };
	struct tmpdir dir;

	assert_int_equal(scenario_load(*state, NULL, "/nowhere/s.json", &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nowhere/s.json: "));
	tmp_open(&dir);
	tmp_write(&dir, "s.json", "{\"guests\":\n [{}]}");
	assert_int_equal(scenario_load(*state, NULL, tmp_at(&dir, "s.json"), &e), -EINVAL);
	assert_non_null(strstr(e.text, "/s.json:2:3: "));
	tmp_close(&dir);
}

/* --- the examples ----------------------------------------------------------------- */

RIG_TEST(man_page__its_examples_are_good)
{
	struct examples *ex = calloc(1, sizeof(*ex));

	assert_non_null(ex);
	examples_open(ex, "man/resex-scenario.5");
	assert_true(ex->n >= 2);
	for (uint32_t i = 0; i < ex->n; i++)
		take(*state, ex->text[i]);
	free(ex);
}

RIG_TEST(example_files__are_good)
{
	struct conf_error e = { 0 };
	char path[256];
	glob_t g;

	example_path("etc/scenarios/*.json", path, sizeof(path));
	assert_int_equal(glob(path, 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		if (scenario_load(*state, NULL, g.gl_pathv[i], &e))
			fail_msg("%s", e.text);
		scenario_free(*state);
	}
	globfree(&g);
}
