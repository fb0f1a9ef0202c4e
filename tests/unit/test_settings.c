// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * settings: resexd.json. Each key, its default, both ends of its range, and
 * the sentence about a value out of it; the examples are good.
 */
#include "src/conf/settings.h"

#include "tests/unit/examples.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

#define LINK  "{\"name\": \"ib0\", \"rate\": \"10Gbit/s\"}"
#define LINKS "\"links\": [" LINK "]"

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct daemon_conf));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void take(struct daemon_conf *c, const char *text)
{
	struct conf_error e = { 0 };

	if (settings_parse(c, "f", text, strlen(text), &e))
		fail_msg("%s", e.text);
}

/* --- what is accepted ------------------------------------------------------------ */

RIG_TEST(least__one_link__the_rest_is_the_man_pages_defaults)
{
	struct daemon_conf *c = *state;

	take(c, "{" LINKS "}");
	assert_int_equal(c->interval_ns, NS_PER_MS);
	assert_int_equal(c->epoch_ns, NS_PER_S);
	assert_string_equal(c->policy, "freemarket");
	assert_string_equal(c->policy_file, "");
	assert_string_equal(c->socket_group, "");
	assert_non_null(strstr(c->socket, "/resex/resexd.sock"));
	assert_non_null(strstr(c->lock_file, "/resex/resexd.lock"));
	assert_non_null(strstr(c->state_dir, "/lib/resex"));
	assert_int_equal(c->realtime_priority, 0);
	assert_true(c->lock_memory);
	assert_int_equal(c->limits.rings, 256);
	assert_int_equal(c->limits.pages, 4096);
	assert_int_equal(c->guests, 0);
	assert_int_equal(c->guest_default.weight, 256);
	assert_int_equal(c->guest_default.min_cap, 1);
	assert_false(c->guest_default.exempt);
	assert_int_equal(c->guest_default.link, 0);
	assert_int_equal(c->guest_default.max_cap, 0);
	assert_int_equal(c->guest_default.sla.base_ns, 0);
	assert_int_equal(c->guest_default.sla.tolerance, 0);
	assert_int_equal(c->links, 1);
	assert_string_equal(c->link[0].name, "ib0");
	assert_int_equal(c->link[0].bytes_s, 1250000000);
	assert_int_equal(c->link[0].mtu, 1024);
	assert_int_equal(c->link[0].profile, PRICE_SCALED);
	assert_int_equal(c->link_counter[0].name.kind, COUNTER_NONE);
	assert_int_equal(c->guest_default.counter.name.kind, COUNTER_AUTO);
	assert_int_equal(c->guest_default.unreadable.mode, UNREADABLE_LAST_RATE);
	assert_false(c->crosscheck.off);
	assert_int_equal(c->crosscheck.window_ns, NS_PER_S);
	assert_int_equal(c->crosscheck.tolerance, 100);
	assert_int_equal(c->crosscheck.floor, 0);
}

RIG_TEST(all_keys__given__are_taken)
{
	struct daemon_conf *c = *state;

	take(c, "{\"interval\": \"2ms\", \"epoch\": \"500ms\", \"policy\": \"null\","
		" \"policy_file\": \"/p.json\", \"socket\": \"/s\", \"socket_group\": \"adm\","
		" \"state_dir\": \"/d\", \"lock_file\": \"/l\", \"realtime_priority\": 50,"
		" \"lock_memory\": false, \"limits\": {\"rings\": 3, \"pages\": 4},"
		" \"links\": [" LINK ", {\"name\": \"ib1\", \"rate\": 1073741824,"
		" \"mtu\": 4096, \"profile\": \"paper-2011\"}],"
		" \"guests\": {\"default\": {\"weight\": 7}, \"web\": {\"weight\": 8,"
		" \"exempt\": true, \"min_cap\": 100, \"max_cap\": 150, \"link\": \"ib1\","
		" \"sla\": {\"tolerance\": 30, \"base\": \"230us\", \"base_io\": \"130us\","
		" \"base_deviation\": \"900ns\"}}}}");
	assert_int_equal(c->interval_ns, 2 * NS_PER_MS);
	assert_int_equal(c->epoch_ns, 500 * NS_PER_MS);
	assert_string_equal(c->policy, "null");
	assert_string_equal(c->policy_file, "/p.json");
	assert_string_equal(c->socket, "/s");
	assert_string_equal(c->socket_group, "adm");
	assert_string_equal(c->state_dir, "/d");
	assert_string_equal(c->lock_file, "/l");
	assert_int_equal(c->realtime_priority, 50);
	assert_false(c->lock_memory);
	assert_int_equal(c->limits.rings, 3);
	assert_int_equal(c->limits.pages, 4);
	assert_int_equal(c->links, 2);
	assert_int_equal(c->link[1].bytes_s, 1u << 30);
	assert_int_equal(c->link[1].mtu, 4096);
	assert_int_equal(c->link[1].profile, PRICE_PAPER_2011);
	assert_int_equal(c->guests, 1);
	assert_string_equal(c->guest[0].name, "web");
	assert_int_equal(c->guest[0].weight, 8);
	assert_true(c->guest[0].exempt);
	assert_int_equal(c->guest[0].min_cap, 100);
	assert_int_equal(c->guest[0].link, 1);
	assert_int_equal(c->guest[0].max_cap, 150);
	assert_int_equal(c->guest[0].sla.tolerance, 30);
	assert_int_equal(c->guest[0].sla.base_ns, 230000);
	assert_int_equal(c->guest[0].sla.base_io_ns, 130000);
	assert_int_equal(c->guest[0].sla.base_dev_ns, 900);
}

RIG_TEST(counters_and_cross_check__given__are_taken)
{
	struct daemon_conf *c = *state;

	take(c, "{\"crosscheck\": {\"off\": true, \"window\": \"5s\", \"tolerance\": 50,"
		" \"floor\": \"100kB/s\"}, \"links\": [{\"name\": \"ib0\", \"rate\": \"1GB/s\","
		" \"counter\": \"port:mlx5_0/1\"}], \"guests\": {\"default\": {\"counter\":"
		" \"none\"}, \"web\": {\"counter\": \"vf:ens1f0/3\"}, \"db\": {}}}");
	assert_true(c->crosscheck.off);
	assert_int_equal(c->crosscheck.window_ns, 5 * NS_PER_S);
	assert_int_equal(c->crosscheck.tolerance, 50);
	assert_int_equal(c->crosscheck.floor, 100000);
	assert_int_equal(c->link_counter[0].name.kind, COUNTER_PORT);
	assert_string_equal(c->link_counter[0].name.dev, "mlx5_0");
	assert_int_equal(settings_guest(c, "web", "-")->counter.name.kind, COUNTER_VF);
	assert_int_equal(settings_guest(c, "web", "-")->counter.name.number, 3);
	assert_int_equal(settings_guest(c, "db", "-")->counter.name.kind, COUNTER_NONE);
}

RIG_TEST(ends_of_ranges__are_taken)
{
	static const char *const good[] = {
		"{\"interval\": \"100us\", " LINKS "}",
		"{\"interval\": \"1s\", " LINKS "}",
		"{\"interval\": \"500us\", \"epoch\": \"10ms\", " LINKS "}",
		"{\"epoch\": \"3600s\", " LINKS "}",
		"{\"interval\": \"1s\", \"epoch\": \"1s\", " LINKS "}",
		"{\"realtime_priority\": 0, " LINKS "}",
		"{\"realtime_priority\": 99, " LINKS "}",
		"{\"limits\": {\"rings\": 1, \"pages\": 1}, " LINKS "}",
		"{\"limits\": {\"rings\": 256, \"pages\": 32768}, " LINKS "}",
		"{\"limits\": {}, \"guests\": {}, " LINKS "}",
		"{\"guests\": {\"a\": {\"weight\": 1, \"min_cap\": 1}}, " LINKS "}",
		"{\"guests\": {\"a\": {\"weight\": 65535, \"min_cap\": 100}}, " LINKS "}",
		"{\"guests\": {\"a\": {\"max_cap\": 0}}, " LINKS "}",
		"{\"crosscheck\": {}, " LINKS "}",
		"{\"crosscheck\": {\"window\": \"100ms\", \"tolerance\": 0}, " LINKS "}",
		"{\"crosscheck\": {\"window\": \"60s\", \"tolerance\": 1000}, " LINKS "}",
		"{\"crosscheck\": {\"floor\": 0}, " LINKS "}",
		"{\"crosscheck\": {\"floor\": \"1TiB/s\"}, " LINKS "}",
		"{\"guests\": {\"a\": {\"max_cap\": 1}}, " LINKS "}",
		"{\"guests\": {\"a\": {\"max_cap\": 51200, \"min_cap\": 100}}, " LINKS "}",
		"{\"guests\": {\"a\": {\"sla\": {}}}, " LINKS "}",
		"{\"guests\": {\"a\": {\"sla\": {\"tolerance\": 10000}}}, " LINKS "}",
		"{\"guests\": {\"a\": {\"sla\": {\"base\": \"0ns\", \"base_io\": \"0ns\","
		" \"base_deviation\": \"0ns\"}}}, " LINKS "}",
		"{\"guests\": {\"a\": {\"sla\": {\"base\": \"10s\", \"base_io\": \"10s\","
		" \"base_deviation\": \"10s\"}}}, " LINKS "}",
		"{\"links\": [{\"name\": \"a\", \"rate\": \"1MB/s\", \"mtu\": 256}]}",
		"{\"links\": [{\"name\": \"a\", \"rate\": \"1TiB/s\", \"mtu\": 4096}]}",
		"{\"links\": [{\"name\": \"a\", \"rate\": 1000000, \"mtu\": 512}]}",
		"{\"links\": [{\"name\": \"a\", \"rate\": \"8Mbit/s\", \"mtu\": 2048}]}",
		"{\"socket_group\": \"\", \"policy_file\": \"\", " LINKS "}",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		take(*state, good[i]);
}

RIG_TEST(eight_links__are_taken_and_a_ninth_is_refused)
{
	struct conf_error e = { 0 };
	char text[1024];
	size_t n;

	for (int links = 8; links <= 9; links++) {
		n = (size_t)snprintf(text, sizeof(text), "{\"links\": [");
		for (int i = 0; i < links; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
					      "%s{\"name\": \"ib%d\", \"rate\": \"1GB/s\"}",
					      i ? "," : "", i);
		snprintf(text + n, sizeof(text) - n, "]}");
		if (links == 8)
			take(*state, text);
		else
			assert_int_equal(settings_parse(*state, "f", text, strlen(text), &e),
					 -EINVAL);
	}
	assert_non_null(strstr(e.text, "1 to 8"));
}

RIG_TEST(guests_256__are_taken_and_one_more_is_refused)
{
	struct conf_error e = { 0 };
	static char text[16384];
	size_t n;

	for (int guests = 256; guests <= 257; guests++) {
		n = (size_t)snprintf(text, sizeof(text),
				     "{" LINKS ", \"guests\": {\"default\": {}");
		for (int i = 0; i < guests; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, ", \"g%d\": {}", i);
		snprintf(text + n, sizeof(text) - n, "}}");
		if (guests == 256)
			take(*state, text);
		else
			assert_int_equal(settings_parse(*state, "f", text, strlen(text), &e),
					 -EINVAL);
	}
	assert_non_null(strstr(e.text, "256"));
}

/* --- guests ---------------------------------------------------------------------- */

RIG_TEST(guest__leaves_things_out__takes_them_from_default_wherever_that_stands)
{
	struct daemon_conf *c = *state;
	const struct guest_conf *g;

	take(c, "{\"links\": [" LINK ", {\"name\": \"ib1\", \"rate\": \"1GB/s\"}],"
		" \"guests\": {\"web\": {\"min_cap\": 9}, \"db\": {\"link\": \"ib0\"},"
		" \"default\": {\"weight\": 3, \"exempt\": true, \"link\": \"ib1\"}}}");
	g = settings_guest(c, "web", "-");
	assert_int_equal(g->weight, 3);
	assert_int_equal(g->min_cap, 9);
	assert_true(g->exempt);
	assert_int_equal(g->link, 1);
	assert_int_equal(settings_guest(c, "db", "-")->link, 0);
}

RIG_TEST(unreadable__a_word_or_a_rate__is_taken)
{
	struct daemon_conf *c = *state;

	take(c, "{\"links\": [" LINK "], \"guests\": {\"a\": {\"unreadable\": \"100MB/s\"},"
		" \"b\": {\"unreadable\": 5000}, \"c\": {\"unreadable\": \"last-rate\"},"
		" \"d\": {}, \"default\": {\"unreadable\": \"nothing\"}}}");
	assert_int_equal(settings_guest(c, "a", "-")->unreadable.mode, UNREADABLE_RATE);
	assert_int_equal(settings_guest(c, "a", "-")->unreadable.bytes_s, 100000000);
	assert_int_equal(settings_guest(c, "b", "-")->unreadable.bytes_s, 5000);
	assert_int_equal(settings_guest(c, "c", "-")->unreadable.mode, UNREADABLE_LAST_RATE);
	assert_int_equal(settings_guest(c, "d", "-")->unreadable.mode, UNREADABLE_NOTHING);
}

RIG_TEST(guest__leaves_out_part_of_its_promise__takes_it_from_default)
{
	struct daemon_conf *c = *state;
	const struct guest_conf *g;

	take(c, "{" LINKS ", \"guests\": {\"web\": {\"sla\": {\"tolerance\": 9}},"
		" \"default\": {\"max_cap\": 50, \"sla\": {\"base\": \"5us\","
		" \"base_io\": \"4us\", \"base_deviation\": \"3us\"}}}}");
	g = settings_guest(c, "web", "-");
	assert_int_equal(g->sla.tolerance, 9);
	assert_int_equal(g->sla.base_ns, 5000);
	assert_int_equal(g->sla.base_dev_ns, 3000);
	assert_int_equal(g->max_cap, 50);
}

/* Objects that hold more than settings, such as a guest of a scenario. */
RIG_TEST(bind_guest__further_keys__are_left_to_the_caller)
{
	static const char *const also[] = { "apps", NULL };
	static const char text[] = "{\"apps\": [], \"weight\": 7, \"sla\": {\"tolerance\": 1}}";
	struct conf_error e = { 0 };
	struct guest_conf g;
	struct conf_doc d;

	assert_int_equal(conf_parse(&d, "f", text, strlen(text), &e), 0);
	settings_guest_default(&g);
	assert_int_equal(settings_bind_guest(&d, "", d.root, NULL, &g, &e), -EINVAL);
	assert_int_equal(g.weight, 256); /* untouched */
	assert_non_null(strstr(e.text, "apps"));
	assert_int_equal(settings_bind_guest(&d, "", d.root, also, &g, &e), 0);
	assert_int_equal(g.weight, 7);
	assert_int_equal(g.sla.tolerance, 1);
	conf_free(&d);
}

RIG_TEST(guest__found_by_name_or_uuid_and_default_otherwise)
{
	static const char uuid[] = "0a1b2c3d-0000-1111-2222-333344445555";
	struct daemon_conf *c = *state;

	take(c, "{" LINKS ", \"guests\": {\"web\": {\"weight\": 1},"
		" \"0A1B2C3D-0000-1111-2222-333344445555\": {\"weight\": 2}}}");
	assert_int_equal(settings_guest(c, "web", "x")->weight, 1);
	assert_int_equal(settings_guest(c, "any", uuid)->weight, 2); /* however it is written */
	assert_int_equal(settings_guest(c, "WEB", "x")->weight, 256);
	assert_ptr_equal(settings_guest(c, "any", "x"), &c->guest_default);
}

/* --- what is refused --------------------------------------------------------------- */

static const struct refusal {
	const char *text;
	const char *place;  /* the error begins with it */
	const char *value;  /* what is wrong, by name or value */
	const char *remedy; /* what to write instead */
} refusals[] = {
	/* the document */
	{ "", "f:1:1: ", "JSON", "correct" },
	{ "[]", "f:1:1: ", "object", "write" },
	{ "{}", "f:1:1: ", "links", "give a list" },
	{ "{" LINKS ",\n \"colour\": 1}", "f:2:2: ", "colour", "known here are" },
	{ "{" LINKS ",\n \"epoc\": \"1s\"}", "f:2:2: ", "epoc", "epoch" },
	{ "{" LINKS ",\n \"links\": []}", "f:2:", "links", "remove" },
	/* durations */
	{ "{" LINKS ",\n \"interval\": \"99us\"}", "f:2:14: ", "99us", "100us" },
	{ "{" LINKS ",\n \"interval\": \"1001ms\"}", "f:2:14: ", "1001ms", "1s" },
	{ "{" LINKS ",\n \"interval\": 1}", "f:2:14: ", "1", "duration" },
	{ "{" LINKS ",\n \"interval\": \"1 ms\"}", "f:2:14: ", "1 ms", "100us" },
	{ "{" LINKS ",\n \"interval\": \"-1ms\"}", "f:2:14: ", "-1ms", "100us" },
	{ "{" LINKS ",\n \"epoch\": \"9ms\"}", "f:2:11: ", "9ms", "10ms" },
	{ "{" LINKS ",\n \"epoch\": \"3601s\"}", "f:2:11: ", "3601s", "3600s" },
	{ "{" LINKS ",\n \"epoch\": null}", "f:2:11: ", "null", "duration" },
	{ "{" LINKS ",\n \"interval\": \"300us\"}", "f:2:14: ", "300000 ns", "whole number" },
	{ "{" LINKS ",\n \"epoch\": \"15ms\", \"interval\": \"2ms\"}", "f:2:11: ", "15000000 ns",
	  "whole number" },
	{ "{" LINKS ",\n \"epoch\": \"10ms\", \"interval\": \"1s\"}", "f:2:11: ", "10000000 ns",
	  "whole number" },
	/* strings and paths */
	{ "{" LINKS ",\n \"policy\": \"\"}", "f:2:12: ", "policy", "1 to 63" },
	{ "{" LINKS ",\n \"policy\": 5}", "f:2:12: ", "5", "string" },
	{ "{" LINKS ",\n \"policy\": \"a\\nb\"}", "f:2:12: ", "policy", "control" },
	{ "{" LINKS ",\n \"policy_file\": true}", "f:2:17: ", "true", "whole path" },
	{ "{" LINKS ",\n \"socket\": \"\"}", "f:2:12: ", "socket", "at most 107" },
	{ "{" LINKS ",\n \"socket\": \"s\"}", "f:2:12: ", "socket is \"s\"", "begins with /" },
	{ "{" LINKS ",\n \"state_dir\": \"./d\"}", "f:2:15: ", "\"./d\"", "begins with /" },
	{ "{" LINKS ",\n \"lock_file\": \"l\"}", "f:2:15: ", "\"l\"", "begins with /" },
	{ "{" LINKS ",\n \"policy_file\": \"p\"}", "f:2:17: ", "\"p\"", "begins with /" },
	{ "{" LINKS ",\n \"cluster_file\": \"c\"}", "f:2:18: ", "\"c\"", "begins with /" },
	{ "{" LINKS ",\n \"policy\": \"magic\"}", "f:2:12: ", "\"magic\"", "freemarket" },
	{ "{" LINKS ",\n \"socket_group\": []}", "f:2:18: ", "socket_group", "string" },
	{ "{" LINKS ",\n \"state_dir\": \"\"}", "f:2:15: ", "state_dir", "at most 107" },
	{ "{" LINKS ",\n \"lock_file\": 1.5}", "f:2:15: ", "1.5", "whole path" },
	/* numbers and booleans */
	{ "{" LINKS ",\n \"realtime_priority\": 100}", "f:2:23: ", "100", "0 to 99" },
	{ "{" LINKS ",\n \"realtime_priority\": -1}", "f:2:23: ", "-1", "0 to 99" },
	{ "{" LINKS ",\n \"lock_memory\": \"yes\"}", "f:2:17: ", "yes", "true or false" },
	/* links */
	{ "{\"links\": []}", "f:1:11: ", "links", "1 to 8" },
	{ "{\"links\": {}}", "f:1:11: ", "links", "1 to 8" },
	{ "{\"links\": [5]}", "f:1:12: ", "5", "object" },
	{ "{\"links\": [{\"rate\": \"1GB/s\"}]}", "f:1:12: ", "name", "add" },
	{ "{\"links\": [{\"name\": \"a\"}]}", "f:1:12: ", "rate", "add" },
	{ "{\"links\": [{\"name\": \"\", \"rate\": \"1GB/s\"}]}", "f:1:21: ", "name", "1 to 63" },
	{ "{\"links\": [{\"name\": \"a\", \"rate\": \"1GB\"}]}", "f:1:34: ", "1GB", "/s" },
	{ "{\"links\": [{\"name\": \"a\", \"rate\": \"999kB/s\"}]}", "f:1:34: ", "999kB/s",
	  "1MB/s" },
	{ "{\"links\": [{\"name\": \"a\", \"rate\": \"2TiB/s\"}]}", "f:1:34: ", "2TiB/s",
	  "1TiB/s" },
	{ "{\"links\": [{\"name\": \"a\", \"rate\": 0}]}", "f:1:34: ", "0", "1MB/s" },
	{ "{\"links\": [{\"name\": \"a\", \"rate\": \"1GB/s\",\n\"mtu\": 1500}]}",
	  "f:2:8: ", "1500", "1024" },
	{ "{\"links\": [{\"name\": \"a\", \"rate\": \"1GB/s\",\n\"mtu\": 128}]}", "f:2:8: ", "128",
	  "256" },
	{ "{\"links\": [{\"name\": \"a\", \"rate\": \"1GB/s\",\n\"mtu\": 8192}]}",
	  "f:2:8: ", "8192", "4096" },
	{ "{\"links\": [{\"name\": \"a\", \"rate\": \"1GB/s\",\n\"profile\": \"dear\"}]}",
	  "f:2:12: ", "dear", "paper-2011" },
	{ "{\"links\": [{\"name\": \"a\", \"rate\": \"1GB/s\",\n\"lid\": 3}]}", "f:2:1: ", "lid",
	  "known here are" },
	{ "{\"links\": [" LINK ",\n {\"name\": \"ib0\", \"rate\": \"1GB/s\"}]}", "f:2:11: ", "ib0",
	  "each name once" },
	{ "{\"links\": [{\"name\": \"a\", \"rate\": \"1GB/s\",\n\"counter\": \"vif\"}]}",
	  "f:2:12: ", "vif", "port:mlx5_0/1" },
	/* the cross-check */
	{ "{" LINKS ",\n \"crosscheck\": 1}", "f:2:16: ", "1", "object" },
	{ "{" LINKS ",\n \"crosscheck\": {\"window\": \"99ms\"}}", "f:2:27: ", "99ms", "100ms" },
	{ "{" LINKS ",\n \"crosscheck\": {\"window\": \"61s\"}}", "f:2:27: ", "61s", "60s" },
	{ "{" LINKS ",\n \"crosscheck\": {\"tolerance\": 1001}}", "f:2:30: ", "1001", "0 to 1000" },
	{ "{" LINKS ",\n \"crosscheck\": {\"floor\": \"5\"}}", "f:2:26: ", "5", "/s" },
	{ "{" LINKS ",\n \"crosscheck\": {\"on\": true}}", "f:2:17: ", "on", "known here are" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"counter\": \"port:a/1\"}}}",
	  "f:2:32: ", "port:a/1", "vf:ens1f0/3" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"counter\": \"\"}}}", "f:2:32: ", "counter",
	  "1 to 79" },
	/* guests */
	{ "{" LINKS ",\n \"guests\": []}", "f:2:12: ", "guests", "object" },
	{ "{" LINKS ",\n \"guests\": {\"web\": 5}}", "f:2:20: ", "5", "object" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"weight\": 0}}}", "f:2:31: ", "0", "1 to 65535" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"weight\": 65536}}}", "f:2:31: ", "65536",
	  "1 to 65535" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"min_cap\": 0}}}", "f:2:32: ", "0", "1 to 100" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"min_cap\": 101}}}", "f:2:32: ", "101",
	  "1 to 100" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"exempt\": 1}}}", "f:2:31: ", "1",
	  "true or false" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"link\": \"ib9\"}}}", "f:2:29: ", "ib9",
	  "(configured: " },
	{ "{" LINKS ",\n \"guests\": {\"default\": {\"link\": \"ib9\"}}}", "f:2:33: ", "ib9",
	  "(configured: " },
	{ "{" LINKS ",\n \"guests\": {\"a.b\": {\"weight\": 0}}}", "f:2:31: ", "0", "1 to 65535" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"cap\": 5}}}", "f:2:21: ", "cap",
	  "known here are" },
	{ "{" LINKS
	  ",\n \"guests\": {\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	  "aaaa\": {}}}",
	  "f:2:12: ", "aaaa", "63 bytes" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"max_cap\": 51201}}}", "f:2:32: ", "51201",
	  "0 to 51200" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"max_cap\": 4, \"min_cap\": 5}}}",
	  "f:2:32: ", "min_cap 5", "at least" },
	{ "{" LINKS ",\n \"guests\": {\"default\": {\"max_cap\": 4},\n"
	  "\"web\": {\"min_cap\": 5}}}",
	  "f:3:8: ", "max_cap is 4", "at least" },
	{ "{\"guests\": {\"a\":\n {\"unreadable\": \"some\"}}, " LINKS "}",
	  "f:2:17: ", "unreadable is \"some\"", "last-rate" },
	{ "{\"guests\": {\"a\":\n {\"unreadable\": [1]}}, " LINKS "}",
	  "f:2:17: ", "unreadable is not a rate", "last-rate" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"sla\": 5}}}", "f:2:28: ", "5", "object" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"sla\": {\"tolerance\": 10001}}}}",
	  "f:2:42: ", "10001", "0 to 10000" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"sla\": {\"base\": 230}}}}", "f:2:37: ", "230",
	  "duration" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"sla\": {\"base\": \"11s\"}}}}", "f:2:37: ", "11s",
	  "10s" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"sla\": {\"base\": \"1us\"}}}}",
	  "f:2:28: ", "base_io", "learned" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"sla\": {\"base_deviation\": \"1us\"}}}}",
	  "f:2:28: ", "\"base\"", "learned" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"sla\": {\"base\": \"1us\","
	  " \"base_io\": \"2us\",\n\"base_deviation\": \"0ns\"}}}}",
	  "f:2:55: ", "2000 ns", "1000 ns" },
	{ "{" LINKS ",\n \"guests\": {\"web\": {\"sla\": {\"bas\": \"1us\"}}}}", "f:2:29: ", "bas",
	  "base" },
	/* limits */
	{ "{" LINKS ",\n \"limits\": 5}", "f:2:12: ", "5", "object" },
	{ "{" LINKS ",\n \"limits\": {\"rings\": 0}}", "f:2:22: ", "0", "1 to 256" },
	{ "{" LINKS ",\n \"limits\": {\"rings\": 257}}", "f:2:22: ", "257", "1 to 256" },
	{ "{" LINKS ",\n \"limits\": {\"pages\": 0}}", "f:2:22: ", "0", "1 to 32768" },
	{ "{" LINKS ",\n \"limits\": {\"pages\": 32769}}", "f:2:22: ", "32769", "1 to 32768" },
	{ "{" LINKS ",\n \"limits\": {\"heap\": 1}}", "f:2:13: ", "heap", "\"pages\"" },
};

RIG_TEST(refused__each_says_where_what_and_what_instead)
{
	int wrong = 0;

	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		const struct refusal *r = &refusals[i];
		struct conf_error e = { 0 };
		int rc = settings_parse(*state, "f", r->text, strlen(r->text), &e);

		if (rc != -EINVAL || strncmp(e.text, r->place, strlen(r->place)) ||
		    !strstr(e.text + strlen(r->place), r->value) ||
		    !strstr(e.text + strlen(r->place), r->remedy) || strchr(e.text, '\n')) {
			print_error("%s\n  gave %d: %s\n  expected %s... %s ... %s\n", r->text, rc,
				    e.text, r->place, r->value, r->remedy);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

RIG_TEST(paths_as_long_as_a_socket_may_be__are_taken_and_no_longer_ones)
{
	static const char *const keys[] = { "socket", "lock_file", "state_dir", "policy_file" };
	struct daemon_conf *c = *state;
	struct conf_error e;
	char path[CONFIG_PATH_MAX + 2], text[512];

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	for (size_t i = 0; i < 4; i++) {
		path[CONFIG_PATH_MAX] = 0;
		snprintf(text, sizeof(text), "{" LINKS ", \"%s\": \"%s\"}", keys[i], path);
		take(c, text);
		path[CONFIG_PATH_MAX] = 'x';
		path[CONFIG_PATH_MAX + 1] = 0;
		snprintf(text, sizeof(text), "{" LINKS ",\n\"%s\": \"%s\"}", keys[i], path);
		assert_int_equal(settings_parse(c, "f", text, strlen(text), &e), -EINVAL);
		assert_non_null(strstr(e.text, "107"));
		assert_int_equal(e.line, 2);
	}
}

/* --- files ------------------------------------------------------------------------------ */

RIG_TEST(file__missing__is_said_by_name)
{
	struct conf_error e = { 0 };

	assert_int_equal(settings_load(*state, "/nowhere/resexd.json", &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nowhere/resexd.json: "));
}

RIG_TEST(file__malformed__is_said_with_its_name_line_and_column)
{
	struct conf_error e = { 0 };
	struct tmpdir d;
	char want[192];

	tmp_open(&d);
	tmp_write(&d, "c.json", "{" LINKS ",\n \"epoch\": 5 }\n");
	assert_int_equal(settings_load(*state, tmp_at(&d, "c.json"), &e), -EINVAL);
	snprintf(want, sizeof(want), "%s:2:11: ", tmp_at(&d, "c.json"));
	assert_memory_equal(e.text, want, strlen(want));
	tmp_close(&d);
}

/* --- read again ------------------------------------------------------------------------ */

static int reload(const struct daemon_conf *was, struct tmpdir *d, const char *text,
		  struct daemon_conf *conf, struct conf_error *e)
{
	tmp_write(d, "c.json", text);
	return settings_reload(conf, was, tmp_at(d, "c.json"), e);
}

RIG_TEST(reload__what_may_change__is_taken)
{
	struct daemon_conf *was = *state, *conf = calloc(1, sizeof(*conf));
	struct conf_error e = { 0 };
	struct tmpdir d;

	assert_non_null(conf);
	tmp_open(&d);
	take(was, "{" LINKS "}");
	assert_int_equal(reload(was, &d,
				"{" LINKS ", \"policy\": \"null\", \"policy_file\": \"/p.json\","
				" \"epoch\": \"1000ms\", \"crosscheck\": {\"off\": true}, "
				"\"guests\": {\"web\": {\"weight\": 3}}}",
				conf, &e),
			 0);
	assert_string_equal(conf->policy, "null");
	assert_true(conf->crosscheck.off);
	assert_string_equal(conf->policy_file, "/p.json");
	assert_int_equal(settings_guest(conf, "web", "-")->weight, 3);
	assert_int_equal(reload(was, &d, "{" LINKS ",\n\"epoch\": 5}", conf, &e), -EINVAL);
	assert_non_null(strstr(e.text, "c.json:2:10: epoch is 5")); /* as at the start */
	tmp_close(&d);
	free(conf);
}

RIG_TEST(reload__what_may_not__is_refused_by_its_name)
{
	static const char *const rows[][2] = {
		{ "interval", "{" LINKS ",\n\"interval\": \"2ms\"}" },
		{ "epoch", "{" LINKS ",\n\"epoch\": \"2s\"}" },
		{ "socket", "{" LINKS ",\n\"socket\": \"/s\"}" },
		{ "socket_group", "{" LINKS ",\n\"socket_group\": \"adm\"}" },
		{ "state_dir", "{" LINKS ",\n\"state_dir\": \"/s\"}" },
		{ "lock_file", "{" LINKS ",\n\"lock_file\": \"/l\"}" },
		{ "realtime_priority", "{" LINKS ",\n\"realtime_priority\": 5}" },
		{ "lock_memory", "{" LINKS ",\n\"lock_memory\": false}" },
		{ "limits", "{" LINKS ",\n\"limits\": {\"rings\": 5}}" },
		{ "limits", "{" LINKS ",\n\"limits\": {\"pages\": 5}}" },
		{ "links", "{\n\"links\": [" LINK ", {\"name\": \"ib1\", \"rate\": \"1GB/s\"}]}" },
		{ "links", "{\n\"links\": [{\"name\": \"ib1\", \"rate\": \"10Gbit/s\"}]}" },
		{ "links", "{\n\"links\": [{\"name\": \"ib0\", \"rate\": \"11Gbit/s\"}]}" },
		{ "links", "{\n\"links\": [{\"name\": \"ib0\", \"rate\": \"10Gbit/s\","
			   " \"mtu\": 2048}]}" },
		{ "links", "{\n\"links\": [{\"name\": \"ib0\", \"rate\": \"10Gbit/s\","
			   " \"profile\": \"paper-2011\"}]}" },
		{ "links", "{\n\"links\": [{\"name\": \"ib0\", \"rate\": \"10Gbit/s\","
			   " \"counter\": \"port:mlx5_0/1\"}]}" },
	};
	struct daemon_conf *was = *state, *conf = calloc(1, sizeof(*conf));
	struct tmpdir d;
	char says[128];

	assert_non_null(conf);
	tmp_open(&d);
	take(was, "{" LINKS "}");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct conf_error e = { 0 };

		assert_int_equal(reload(was, &d, rows[i][1], conf, &e), -EINVAL);
		snprintf(says, sizeof(says), ": %s cannot change while resexd runs", rows[i][0]);
		if (!strstr(e.text, says) || e.line != 2)
			fail_msg("%s: %s", rows[i][0], e.text);
	}
	tmp_close(&d);
	free(conf);
}

/* "none" may be written or left out; a port's number may begin with 0. */
RIG_TEST(reload__links_counter_in_other_words__is_taken)
{
	static const char *const rows[][2] = {
		{ "", ", \"counter\": \"none\"" },
		{ ", \"counter\": \"none\"", "" },
		{ ", \"counter\": \"port:mlx5_0/1\"", ", \"counter\": \"port:mlx5_0/01\"" },
	};
	static const char link[] = "{\"links\": [{\"name\": \"ib0\", \"rate\": \"1GB/s\"%s}]}";
	struct daemon_conf *was = *state, *conf = calloc(1, sizeof(*conf));
	struct tmpdir d;
	char text[160];

	assert_non_null(conf);
	tmp_open(&d);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct conf_error e = { 0 };

		snprintf(text, sizeof(text), link, rows[i][0]);
		take(was, text);
		snprintf(text, sizeof(text), link, rows[i][1]);
		if (reload(was, &d, text, conf, &e))
			fail_msg("row %zu: %s", i, e.text);
	}
	tmp_close(&d);
	free(conf);
}

RIG_TEST(reload__key_left_out_that_was_there__is_refused_too)
{
	struct daemon_conf *was = *state, *conf = calloc(1, sizeof(*conf));
	struct conf_error e = { 0 };
	struct tmpdir d;

	assert_non_null(conf);
	tmp_open(&d);
	take(was, "{" LINKS ", \"interval\": \"2ms\"}");
	assert_int_equal(reload(was, &d, "{" LINKS "}", conf, &e), -EINVAL);
	assert_non_null(strstr(e.text, "c.json:1:1: interval cannot change"));
	tmp_close(&d);
	free(conf);
}

RIG_TEST(example_files__are_good)
{
	static const char *const files[] = { "etc/resexd.json" };
	struct conf_error e = { 0 };
	char path[256];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (settings_load(*state, example_path(files[i], path, sizeof(path)), &e))
			fail_msg("%s", e.text);
}

RIG_TEST(man_page__its_examples_are_good)
{
	struct daemon_conf *c = *state;
	struct examples ex;

	examples_open(&ex, "man/resexd.json.5");
	assert_int_equal(ex.n, 3);
	take(c, ex.text[2]);
	assert_int_equal(settings_guest(c, "storage", "-")->counter.name.kind, COUNTER_NONE);
	take(c, ex.text[0]);
	assert_int_equal(c->link[0].bytes_s, 1250000000);
	take(c, ex.text[1]);
	assert_string_equal(c->policy_file, "/usr/share/resex/policies/freemarket.json");
	assert_int_equal(settings_guest(c, "trading", "-")->weight, 512);
	assert_int_equal(settings_guest(c, "trading", "-")->min_cap, 5);
	assert_int_equal(settings_guest(c, "trading", "-")->link, 1);
	assert_int_equal(settings_guest(c, "trading", "-")->sla.base_io_ns, 130000);
	assert_int_equal(settings_guest(c, "backup", "-")->max_cap, 0);
	assert_true(settings_guest(c, "backup", "-")->exempt);
}
