// SPDX-License-Identifier: GPL-2.0-or-later
/* benchex/options and profile: command lines accepted and refused, and what is printed. */
#include <errno.h>
#include <fcntl.h>

#include "resex/agent_socket.h"
#include "src/benchex/option_rows.h"
#include "tests/unit/benchex_rig.h"
#include "tests/unit/unit.h"

static char words[1024], *args[RIG_ARGS];

static int parse_quietly(struct bx_conf *c, const char *line, struct caught *out)
{
	int rc, argc;

	snprintf(words, sizeof(words), "benchex %s", line);
	argc = rig_words(words, args);
	catch_begin(out);
	rc = bx_options(c, argc, args);
	catch_end(out);
	return rc;
}

static struct bx_conf good(const char *line)
{
	struct caught out;
	struct bx_conf c;

	memset(&c, 0x5a, sizeof(c));
	if (parse_quietly(&c, line, &out) || *out.out || *out.err)
		fail_msg("%s: %s%s", line, out.out, out.err);
	caught_free(&out);
	return c;
}

static bool no_weights(const struct bx_conf *c)
{
	for (int op = 0; op < BX_OPS; op++)
		if (c->weight[op])
			return false;
	return true;
}

TEST(server__no_options__is_the_papers)
{
	struct bx_conf c = good("server");

	assert_int_equal(c.role, BX_SERVER);
	assert_null(c.host);
	assert_null(c.bind);
	assert_null(c.agent);
	assert_int_equal(c.port, 18620);
	assert_int_equal(c.depth, 1);
	assert_int_equal(c.size_max, 2 << 20);
	assert_int_equal(c.options_max, 16384);
	assert_int_equal(c.seconds, 0);
	assert_false(c.events || c.json || c.once);
	assert_int_equal(c.progress_ns, 0);
	assert_int_equal(c.seed, 1);
}

TEST(client__no_options__asks_for_64_kib_one_at_a_time_for_10_s)
{
	struct bx_conf c = good("client 10.0.0.1");

	assert_int_equal(c.role, BX_CLIENT);
	assert_string_equal(c.host, "10.0.0.1");
	assert_int_equal(c.size.min, 64 << 10);
	assert_int_equal(c.size.max, 64 << 10);
	assert_int_equal(c.depth, 1);
	assert_int_equal(c.clients, 1);
	assert_int_equal(c.options, 100);
	assert_int_equal(c.rate, 0);
	assert_int_equal(c.seconds, 10);
	assert_int_equal(c.requests, 0);
	assert_null(c.trace);
	assert_null(c.profile);
}

TEST(bulk__no_options__writes_2_mib_one_at_a_time_for_10_s)
{
	struct bx_conf c = good("bulk h");

	assert_int_equal(c.role, BX_BULK);
	assert_int_equal(c.size.min, 2 << 20);
	assert_int_equal(c.size.max, 2 << 20);
	assert_int_equal(c.depth, 1);
	assert_int_equal(c.qps, 1);
	assert_int_equal(c.burst, 1);
	assert_int_equal(c.cq_entries, 0);
	assert_int_equal(c.work_ns_per_kib, 0);
	assert_int_equal(c.control_per_s, 0);
	assert_int_equal(c.seconds, 10);
	assert_true(no_weights(&c));
}

TEST(options__long__are_taken)
{
	struct bx_conf s = good(
		"server --bind 10.0.0.2 --port 65535 --events --seconds 7 --depth 1024 "
		"--once --size-max 16M --options-max 1048576 --agent /a --seed 9 --json --progress "
		"0.5");
	struct bx_conf c = good("client h --requests 5 --size 4K-64K --rate 100 --clients 3 "
				"--options 1048576 --seed 9223372036854775807");
	struct bx_conf b = good("bulk h --qps 1024 --mix send=3,read --rate 7 --burst 2 "
				"--cq-entries 64 --work 1.5us --control 10 --progress 100ms");

	assert_true(s.port == 65535 && s.events && s.seconds == 7 && s.depth == 1024 && s.once);
	assert_int_equal(s.options_max, BX_OPTIONS_MAX);
	assert_true(s.size_max == 16 << 20 && s.seed == 9 && s.json && s.progress_ns == 500000000);
	assert_true(c.requests == 5 && c.size.min == 4096 && c.size.max == 65536 && c.rate == 100);
	assert_true(c.clients == 3 && c.options == 1 << 20 && c.seed == INT64_MAX);
	assert_true(c.seconds == 0);
	assert_true(b.qps == 1024 && b.weight[BX_SEND] == 3 && b.weight[BX_READ] == 1);
	assert_true(b.weight[BX_WRITE] == 0 && b.rate == 7 && b.burst == 2 && b.cq_entries == 64);
	assert_true(b.work_ns_per_kib == 1500 && b.control_per_s == 10);
	assert_true(b.progress_ns == 100000000);
}

TEST(options__short_and_behind_the_host__are_taken)
{
	struct bx_conf s, c, b;

	s = good("server -b ::1 -p 1 -e -T 0 -D 2 -1 -M 1 -O 0 -R -S 0 -j -i 1");
	assert_string_equal(s.bind, "::1");
	assert_string_equal(s.agent, AGENT_SOCKET);
	assert_true(s.port == 1 && s.events && s.depth == 2 && s.once && s.size_max == 1);
	assert_int_equal(s.options_max, 0);
	assert_true(s.progress_ns == 1000000000 && s.seed == 0 && s.json);
	c = good("client -n 5 h -s 1 -r 1 -c 3 -o 0 -T3");
	assert_string_equal(c.host, "h");
	assert_true(c.requests == 5 && c.size.max == 1 && c.options == 0 && c.seconds == 3);
	b = good("bulk -q 2 h -m cmp_swap -B2 -r5 -C 8 -w 7 -k 1 -P small -s 9");
	assert_string_equal(b.host, "h");
	assert_true(b.qps == 64 && b.work_ns_per_kib == 7 && b.size.min == 9 && b.size.max == 9);
}

TEST(options__in_each_form_of_getopt_long__are_the_same)
{
	static const char *const forms[] = {
		"client h --depth=4 --size=4K-8K --events --json --bind=::1",
		"client h --depth 4 --size 4K-8K --events --json --bind ::1",
		"client -D4 -s4K-8K -e -j -b::1 h",
		"client -D 4 -s 4K-8K -ej -b ::1 h",
		"client h -ejD4 -s4K-8K -b::1",
		"client -ejs4K-8K h --dep=4 --bi ::1",
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct bx_conf c = good(forms[i]);

		assert_string_equal(c.host, "h");
		assert_string_equal(c.bind, "::1");
		assert_int_equal(c.depth, 4);
		assert_int_equal(c.size.min, 4096);
		assert_int_equal(c.size.max, 8192);
		assert_true(c.events && c.json);
	}
}

TEST(trace_and_agent__point_into_the_command_line)
{
	struct bx_conf c = good("client h --trace t.trace -D 4 -c 2"), s;

	assert_string_equal(c.trace, "t.trace");
	s = good("server -a /run/other");
	assert_ptr_equal(s.agent, args[3]);
	assert_string_equal(s.agent, "/run/other");
}

TEST(report__goes_to_the_socket_of_the_environment)
{
	struct bx_conf s;

	setenv("RESEX_AGENT_SOCKET", "/tmp/other", 1);
	s = good("server --report");
	assert_string_equal(s.agent, "/tmp/other");
	setenv("RESEX_AGENT_SOCKET", "", 1);
	s = good("server --report");
	assert_string_equal(s.agent, AGENT_SOCKET);
	unsetenv("RESEX_AGENT_SOCKET");
}

TEST(atomics_alone__are_8_bytes)
{
	struct bx_conf c = good("bulk h -m fetch_add,cmp_swap=2"),
		       d = good("bulk h -m read,cmp_swap");

	assert_true(c.size.min == 8 && c.size.max == 8);
	assert_true(d.size.min == 2 << 20);
	good("bulk h -m fetch_add -s 8");
}

/* --- what is refused --- */

TEST(wrong_usage__is_one_sentence_with_value_and_remedy)
{
	static const struct {
		const char *line, *says;
	} wrong[] = {
		{ "", "a command is missing: give server, client HOST, bulk HOST" },
		{ "srever", "unknown command \"srever\": give server" },
		{ "-p 3 server", "unknown command \"-p\": give server" },
		{ "client", "client: the server is missing: give benchex client HOST" },
		{ "bulk -j", "bulk: the server is missing" },
		{ "client a b", "unexpected argument \"b\": see benchex client --help" },
		{ "server a", "unexpected argument \"a\": see benchex server --help" },
		{ "client a --depth 0", "--depth 0: give a whole number from 1 to 1024" },
		{ "client a -D 1025", "--depth 1025: give a whole number from 1 to 1024" },
		{ "client a -D 1x", "--depth 1x: give" },
		{ "client a -D -1", "--depth -1: give" },
		{ "client a -D +1", "--depth +1: give" },
		{ "client a -n 18446744073709551617", "--requests 18446744073709551617: give" },
		{ "server -p 65536", "--port 65536: give a whole number from 1 to 65535" },
		{ "client a -s 0", "--size 0: give bytes from 1 to 16M, as 64K or 4K-64K" },
		{ "client a -s 17M", "--size 17M: give bytes" },
		{ "client a -s 64K-4K", "--size 64K-4K: give bytes" },
		{ "client a -s 4K-", "--size 4K-: give bytes" },
		{ "client a -s 1G", "--size 1G: give bytes" },
		{ "client a -s 18446744073709551615M", "give bytes" },
		{ "client a -s 17592186044417M", "give bytes" }, /* 1M and 2^64 */
		{ "server -M 4K-8K", "--size-max 4K-8K: give bytes from 1 to 16M, as 64K" },
		{ "server -O 1048577",
		  "--options-max 1048577: give a whole number from 0 to 1048576" },
		{ "client a -O 1", "--options-max is for server, not for client" },
		{ "server -i 5m", "--progress 5m: give a time from 0.01s to 86400s" },
		{ "server -i 1.0000000001", "--progress 1.0000000001: give a time" },
		{ "server -i inf", "--progress inf: give a time" },
		{ "bulk a -w 0", "--work 0: give a time from 1ns to 1s" },
		{ "bulk a -w 0.5", "--work 0.5: give a time" },
		{ "bulk a -m raed", "--mix raed: give operations" },
		{ "bulk a -m read,read", "--mix read,read: give operations, each once" },
		{ "bulk a -m read=0", "--mix read=0: give" },
		{ "bulk a -m read,", "--mix read,: give" },
		{ "bulk a -m =3", "--mix =3: give" },
		{ "bulk a -P smalls",
		  "--profile smalls: there is no such profile: see benchex profiles" },
		{ "bulk a -P small -P control",
		  "--profile control: a profile was given before: leave out one" },
		{ "server --qps 3",
		  "--qps is for bulk, not for server: see benchex server --help" },
		{ "server -n 3", "--requests is for client and bulk, not for server" },
		{ "server -P small", "--profile is for client and bulk" },
		{ "bulk a -t f", "--trace is for client, not for bulk" },
		{ "client a --once", "--once is for server, not for client" },
		{ "client a -Z", "unknown option \"-Z\": see benchex client --help" },
		{ "client a -jZ", "unknown option \"-Z\": see benchex client --help" },
		{ "client a --frob", "unknown option \"--frob\": see benchex client --help" },
		{ "client a --json=3", "--json takes no value: see benchex client --help" },
		{ "client a -p", "-p needs a value: see benchex client --help" },
		{ "client a --trace", "--trace needs a value: see benchex client --help" },
		{ "client a -t f -r 3", "--rate: the trace says it: leave out" },
		{ "client a -s 8 -t f", "--size: the trace says it: leave out" },
		{ "client a -o 8 -t f", "--options: the trace says it: leave out" },
		{ "client a -t f -K 1ms", "--think: the trace says it: leave out" },
		{ "client a -r 5 -K 1ms", "--think: with --rate requests do not wait" },
		{ "client a -K 0", "--think 0: give a time from 1ns to 10s" },
		{ "bulk a -K 1ms", "--think is for client, not for bulk" },
		{ "client a -t f -P small", "--profile: the trace says it: leave out" },
		{ "client a -P control", "--profile control: it makes no requests" },
		{ "bulk a -B 2", "--burst: without --rate" },
		{ "bulk a -r 9 -B 5 -D 2 -q 2",
		  "--burst: 5 messages together, but only 4 may be under way: give" },
		{ "bulk a -m cmp_swap -s 16",
		  "--size: atomics move 8 bytes each: leave out --size" },
		{ "server -R -a /s", "--report: --agent says this, too: leave out --report" },
		{ "profiles all", "unexpected argument \"all\": see benchex profiles --help" },
		{ "profiles -j all", "unexpected argument \"all\": see benchex profiles --help" },
		{ "profiles --jsn", "unknown option \"--jsn\": see benchex profiles --help" },
		{ "profiles -jx", "unknown option \"-x\": see benchex profiles --help" },
		{ "client a -ejx", "unknown option \"-x\": see benchex client --help" },
		{ "client a --depht=4", "unknown option \"--depht=4\": see benchex client --help" },
		{ "client a -ejp", "-p needs a value: see benchex client --help" },
		{ "merge --json=3 f", "--json takes no value: see benchex merge --help" },
		{ "merge -jx f", "unknown option \"-x\": see benchex merge --help" },
		{ "merge", "merge: a file is missing" },
		{ "merge -x f", "unknown option \"-x\": see benchex merge --help" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct caught out;
		struct bx_conf c, before;

		memset(&c, 0x5a, sizeof(c));
		before = c;
		if (parse_quietly(&c, wrong[i].line, &out) != RESEX_USAGE || *out.out ||
		    !one_sentence(out.err) || !strstr(out.err, wrong[i].says))
			fail_msg("%s: said \"%s%s\"", wrong[i].line, out.out, out.err);
		assert_memory_equal(&c, &before, sizeof(c));
		caught_free(&out);
	}
}

TEST(words_that_are_no_text__are_escaped)
{
	struct caught out;
	struct bx_conf c;

	assert_int_equal(parse_quietly(&c, "cli\xff\x1b[2Jent", &out), RESEX_USAGE);
	assert_non_null(strstr(out.err, "cli\\xff\\x1b[2Jent"));
	caught_free(&out);
}

TEST(empty_words__name_nothing)
{
	static char program[] = "benchex", client[] = "client", none[] = "", trace[] = "--trace";
	char *no_host[] = { program, client, none, NULL };
	char *no_trace[] = { program, client, program, trace, none, NULL };
	struct caught out;
	struct bx_conf c;

	catch_begin(&out);
	assert_int_equal(bx_options(&c, 3, no_host), RESEX_USAGE);
	assert_int_equal(bx_options(&c, 5, no_trace), RESEX_USAGE);
	assert_int_equal(bx_options(&c, 0, no_host + 3), RESEX_USAGE);
	catch_end(&out);
	assert_non_null(strstr(out.err, "the server is missing"));
	assert_non_null(strstr(out.err, " needs a value: see benchex"));
	caught_free(&out);
}

/* Random words: accepted, or refused with one sentence. */
TEST(any_words__are_taken_or_refused)
{
	static const char *const pieces[] = {
		"server", "client", "bulk", "h",       "-p",	  "7",	       "-s",	"4K-64K",
		"-D",	  "-j",	    "-e",   "--mix",   "write=3", "--profile", "small", "-r",
		"100",	  "-T",	    "0",    "--burst", "2",	  "--trace",   "f",	"--",
		"-i",	  "0.5",    "",	    "--qps",   "-1",	  "--bind",    "::1",	"-n",
	};
	struct prop p;
	unsigned taken = 0;

	prop_start(&p);
	for (int i = 0; i < 3000; i++) {
		size_t n = prop_range(&p, 1, 8);
		struct caught out;
		struct bx_conf c;
		char line[256] = "";
		int rc;

		for (size_t k = 0; k < n; k++) {
			size_t at = k ? prop_range(&p, 0, 31) : prop_range(&p, 0, 2);

			strcat(line, pieces[at]);
			strcat(line, " ");
		}
		rc = parse_quietly(&c, line, &out);
		prop_assert(&p, i, rc == 0 || rc == RESEX_USAGE);
		prop_assert(&p, i, rc ? one_sentence(out.err) : !*out.err);
		taken += !rc;
		caught_free(&out);
	}
	assert_true(taken > 0);
}

/* --- what is printed --- */

TEST(help__of_a_role__names_its_options_and_no_others)
{
	for (int role = 0; role < BX_ROLES; role++) {
		char line[32], name[40];
		struct caught out;
		struct bx_conf c;

		snprintf(line, sizeof(line), "%s --help", bx_role_names[role]);
		assert_int_equal(parse_quietly(&c, line, &out), -1);
		assert_string_equal(out.err, "");
		for (size_t i = 0; i < ROWS; i++) {
			bool its = bx_rows[i].roles & (1u << role);

			snprintf(name, sizeof(name), " -%c, --%s ", bx_rows[i].letter,
				 bx_rows[i].name);
			if (!!strstr(out.out, name) != its)
				fail_msg("%s: %s", line, name);
		}
		caught_free(&out);
	}
}

TEST(rows__have_letters_and_names_of_their_own)
{
	for (size_t i = 0; i < ROWS; i++)
		for (size_t k = 0; k < i; k++) {
			assert_true(bx_rows[i].letter != bx_rows[k].letter);
			assert_string_not_equal(bx_rows[i].name, bx_rows[k].name);
		}
}

TEST(help_and_version__are_printed)
{
	static const char *const lines[] = { "-h",	    "--help",		"-V",
					     "--version",   "client --version", "profiles",
					     "merge --help" };
	static const char *const says[] = { "benchex profiles",	   "benchex merge", "benchex 0.",
					    "benchex 0.",	   "benchex 0.",    "many-qp",
					    "Usage: benchex merge" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct caught out;
		struct bx_conf c;

		assert_int_equal(parse_quietly(&c, lines[i], &out), -1);
		if (!strstr(out.out, says[i]) || *out.err)
			fail_msg("%s: %s%s", lines[i], out.out, out.err);
		caught_free(&out);
	}
}

TEST(output__that_does_not_arrive__is_a_failure)
{
	static const char *const lines[] = { "--help", "--version", "client --help", "profiles",
					     "profiles -j" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		int full = open("/dev/full", O_WRONLY | O_CLOEXEC), rc, argc;
		struct caught out;
		struct bx_conf c;

		assert_true(full >= 0);
		snprintf(words, sizeof(words), "benchex %s", lines[i]);
		argc = rig_words(words, args);
		catch_begin(&out);
		assert_true(dup2(full, 1) >= 0);
		rc = bx_options(&c, argc, args);
		catch_end(&out);
		close(full);
		assert_int_equal(rc, RESEX_FAILURE);
		assert_string_equal(out.err, "benchex: output: No space left on device\n");
		caught_free(&out);
	}
}

/* --- profiles --- */

TEST(profiles__of_bulk__attack_by_husky_s_classes)
{
	struct bx_conf bw = good("bulk h -P bandwidth"), small = good("bulk h -P small"),
		       many = good("bulk h -P many-qp"), control = good("bulk h -P control");

	assert_true(bw.size.min == 1 << 20 && bw.size.max == 1 << 20 && bw.qps == 16);
	assert_true(small.size.max == 8 && small.qps == 64 && small.depth == 8);
	assert_true(many.size.max == 512 && many.qps == 512 && many.depth == 1);
	assert_true(control.control_per_s && control.rate && control.qps == 1);
	assert_string_equal(bw.profile, "bandwidth");
	assert_true(bw.weight[BX_WRITE] && !bw.weight[BX_READ]);
}

TEST(profiles__of_a_client__are_victims_of_the_same_classes)
{
	struct bx_conf bw = good("client h -P bandwidth"), small = good("client h -P small"),
		       many = good("client h -P many-qp");

	assert_true(bw.size.max == 64 << 10 && bw.depth == 16 && bw.clients == 1);
	assert_true(small.size.max == 8 && small.clients == 16);
	assert_true(many.size.max == 512 && many.clients == 96 && many.depth == 1);
	assert_true(!bw.options && !small.options && !many.options);
}

TEST(options__behind_a_profile__change_it_and_those_before_do_not)
{
	struct bx_conf c = good("bulk h -P small -q 2 -m read"), d = good("bulk h -q 2 -P small");

	assert_true(c.qps == 2 && c.size.max == 8 && c.weight[BX_READ] && !c.weight[BX_WRITE]);
	assert_true(d.qps == 64);
}

TEST(profiles__are_found_by_their_names)
{
	const struct bx_profile *p;
	size_t n = 0;

	while ((p = bx_profile_at(n))) {
		assert_ptr_equal(bx_profile_find(p->name), p);
		n++;
	}
	assert_true(n >= 4);
	assert_null(bx_profile_find("none"));
	assert_null(bx_profile_at(SIZE_MAX));
}

TEST(profiles__as_json__say_what_the_options_would)
{
	struct caught out;
	struct bx_conf c;
	json_t *all, *p;
	size_t i;

	assert_int_equal(parse_quietly(&c, "profiles --json", &out), -1);
	assert_int_equal(out.out[strlen(out.out) - 1], '\n');
	all = json_loads(out.out, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(all);
	json_array_foreach(all, i, p) {
		const json_t *bulk = json_object_get(p, "bulk");
		char line[64];

		snprintf(line, sizeof(line), "bulk h -P %s",
			 json_string_value(json_object_get(p, "name")));
		c = good(line);
		assert_int_equal(json_integer_value(json_object_get(bulk, "qps")), c.qps);
		assert_int_equal(json_integer_value(json_object_get(bulk, "size")), c.size.max);
		assert_int_equal(json_integer_value(json_object_get(bulk, "depth")), c.depth);
		assert_int_equal(json_integer_value(json_object_get(bulk, "control")),
				 c.control_per_s);
	}
	assert_int_equal(i, 4);
	json_decref(all);
	caught_free(&out);
}

/* --- as JSON, and numbers --- */

TEST(conf__as_json__has_what_was_asked_in_plain_units)
{
	struct bx_conf c =
		good("bulk h\xe4 -s 4K-64K -m read=3,write -w 2us -i 0.5 -C 64 -P control");
	json_t *o = bx_conf_json(&c);
	char *s = json_dumps(o, JSON_COMPACT);

	assert_string_equal(s,
			    "{\"host\":\"h\\\\xe4\",\"bind\":null,\"port\":18620,\"events\":false,"
			    "\"seconds\":10,\"requests\":0,\"depth\":1,\"size\":[8,8],\"rate\":1,"
			    "\"qps\":1,\"mix\":{\"write\":1},\"burst\":1,\"cq_entries\":64,"
			    "\"work_ns_per_kib\":2000,\"control\":1000,\"profile\":\"control\","
			    "\"progress_ns\":500000000}");
	free(s);
	json_decref(o);
}

TEST(conf__of_each_role__has_its_options_alone)
{
	struct bx_conf slow = good("client h --think 5ms");
	struct bx_conf s = good("server -R"), c = good("client h -t f");
	json_t *so = bx_conf_json(&s), *co = bx_conf_json(&c), *slow_o = bx_conf_json(&slow);

	assert_int_equal(json_integer_value(json_object_get(slow_o, "think_ns")), 5000000);
	assert_int_equal(json_integer_value(json_object_get(co, "think_ns")), 0);
	json_decref(slow_o);
	assert_string_equal(json_string_value(json_object_get(so, "agent")), AGENT_SOCKET);
	assert_null(json_object_get(so, "qps"));
	assert_null(json_object_get(so, "host"));
	assert_string_equal(json_string_value(json_object_get(co, "trace")), "f");
	assert_null(json_object_get(co, "mix"));
	assert_true(json_is_null(json_object_get(co, "profile")));
	json_decref(so);
	json_decref(co);
}

TEST(sizes__shown_and_read__are_the_same)
{
	const struct bx_bounds any = { 0, UINT64_MAX };
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 20000; i++) {
		uint64_t v = prop_hostile(&p) & ~((1ull << prop_range(&p, 0, 22)) - 1), got;
		char buf[24];

		bx_size_show(v, buf);
		prop_assert(&p, i, !bx_size(buf, strlen(buf), any, &got) && got == v);
	}
}

TEST(times__in_any_unit__are_nanoseconds)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} times[] = {
		{ "1", 1000 },	      { "1.5", 1500 },	 { "0.001", 1 },
		{ "2ns", 2 },	      { "2.5us", 2500 }, { "20ms", 20000000 },
		{ "3s", 3000000000 }, { "0", 0 },	 { "18446744073s", 18446744073000000000u }
	};
	static const char *const wrong[] = { "",    "1 s",	    "s",     "0.0001",	    "1.",
					     "1.s", "1min",	    "-1",    "1,5",	    "0x1",
					     "1e3", "18446744074s", "0.5ns", "1.0000000000" };
	uint64_t ns;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		assert_int_equal(bx_time(times[i].text, strlen(times[i].text), 1000,
					 (struct bx_bounds){ 0, UINT64_MAX }, &ns),
				 0);
		assert_true(ns == times[i].ns);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (bx_time(wrong[i], strlen(wrong[i]), 1000, (struct bx_bounds){ 0, UINT64_MAX },
			    &ns) != -EINVAL)
			fail_msg("\"%s\" was taken", wrong[i]);
}
