// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doctor: each finding of each check, beside the same host without that fault. A row has members of
 * replies that differ from those of a good host, and what is then found.
 */
#include <string.h>

#include "resex/exit.h"
#include "src/cli/doctor.h"
#include "tests/unit/prop.h"

/* A good host: Xen, two guests, a cluster of two. ' for ". */
static const char *const good[DOCTOR_REPLIES] = {
	[DOCTOR_INFO] = "{'version':'9','simulated':false,'observe':false,'paused':false,"
			"'policy':'ioshares','policy_note':'','needs_reports':true,'guests':2,"
			"'schedulers':['credit2'],'realtime_priority':0,'lock_memory':true,"
			"'ticks':5000,'late_ticks':10,'clock_back':0,'events_lost':0,"
			"'cluster':'c','quorate':true,'cluster_note':'','crosscheck':true,"
			"'links':[{'name':'ib0','bytes_s':1250000000,'port':'port:mlx5_0/1',"
			"'counter':{'error':'','diverges':false}}],"
			"'queues_read':['rxe','mlx5','mlx4'],'queues_note':'mlx was not yet run'}",
	[DOCTOR_LATER] = "{'ticks':6000,'late_ticks':12,'late_p99_ns':200000,"
			 "'tick_mean_ns':5000,'interval_ns':1000000}",
	[DOCTOR_LIST] = "{'guests':[{'name':'web','latencies_second':9,'latencies':100,"
			"'latencies_lost':0},{'name':'bulk','latencies_second':0,"
			"'latencies':0,'latencies_lost':0}]}",
	[DOCTOR_RINGS] =
		"{'guests':[{'name':'web','attached':true,'agent_silent':false,'fault':'',"
		"'forged':false,'missed_qps':0,'unpublished_qps':0,'counter':null,"
		"'rings':[{'fault':''}],'totals':{'wrs':1000,'lost':1,'flags':['lapped']}},"
		"{'name':'bulk','attached':true,'agent_silent':false,'fault':'',"
		"'forged':false,'missed_qps':0,'unpublished_qps':0,"
		"'counter':{'error':'','diverges':false},"
		"'rings':[{'fault':''}],'totals':{'wrs':1000,'lost':10,'flags':[]}}]}",
	[DOCTOR_CAPS] = "{'guests':[{'name':'web','state':'managed','note':'','error':''},"
			"{'name':'bulk','state':'exempt','note':'','error':''}]}",
	[DOCTOR_SHOWS] = "[{'name':'web','sla':{'base_us':209}}]",
	[DOCTOR_HOSTS] = "{'hosts':[{'name':'xen1','state':'self','version':'9','agrees':true},"
			 "{'name':'xen2','state':'up','version':'9','agrees':true,'note':'',"
			 "'figures_age_ms':500,'time_ns':999500000000}]}",
};

static const char good_ports[] = "[{'device':'mlx5_0','driver':'mlx5_core','port':1,'rate':'10 "
				 "Gb/sec (1X QDR)','rate_gbit':10.0,"
				 "'ethernet':true,'soft':false,'state':'4: ACTIVE'}]";

static json_t *parsed(const char *text)
{
	char *copy = strdup(text);
	json_t *v;

	assert_non_null(copy);
	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	v = json_loads(copy, 0, NULL);
	if (!v)
		print_message("not JSON: %s\n", copy);
	assert_non_null(v);
	free(copy);
	return v;
}

static void facts_good(struct doctor_facts *f)
{
	*f = (struct doctor_facts){
		.version = "9",
		.xen = DOCTOR_XEN_DOM0,
		.xen_version = "4.17.3",
		.clock = DOCTOR_CLOCK_SYNCHRONIZED,
		.wall_ns = 1000000000000,
		.daemon_error = "",
		.process = { .known = true, .pid = 77, .state = 'S', .locked_kib = 100 },
	};
	f->ports = parsed(good_ports);
	for (int i = 0; i < DOCTOR_REPLIES; i++)
		f->reply[i] = parsed(good[i]);
}

static void facts_free(struct doctor_facts *f)
{
	json_decref(f->ports);
	for (int i = 0; i < DOCTOR_REPLIES; i++)
		json_decref(f->reply[i]);
}

/* The check's findings; the caller frees them. */
static json_t *found(const char *check, const struct doctor_facts *f)
{
	json_t *findings = json_array();

	assert_non_null(doctor_find(check));
	doctor_run(doctor_find(check), f, findings);
	assert_true(json_array_size(findings) > 0);
	return findings;
}

static const char *member(const json_t *findings, size_t i, const char *key)
{
	return json_string_value(json_object_get(json_array_get(findings, i), key));
}

/* Exactly one finding, with this state and this text in its sentence; a fault has a remedy. */
static void assert_one(const json_t *findings, enum doctor_state state, const char *text)
{
	const char *said = member(findings, 0, "text");

	print_message("%s: %s\n", member(findings, 0, "state"), said);
	assert_int_equal(json_array_size(findings), 1);
	assert_string_equal(member(findings, 0, "state"), doctor_state_text(state));
	if (!strstr(said, text))
		print_message("lacks: %s\n", text);
	assert_non_null(strstr(said, text));
	if (state >= DOCTOR_WARNING)
		assert_true(strlen(member(findings, 0, "remedy")) > 0);
}

static void assert_finds(const char *check, const struct doctor_facts *f, enum doctor_state state,
			 const char *text)
{
	json_t *findings = found(check, f);

	assert_one(findings, state, text);
	assert_string_equal(member(findings, 0, "check"), check);
	json_decref(findings);
}

/* path: members and indices from the reply on, with dots; the last one gets the value. */
static void set_at(json_t *v, const char *path, json_t *value)
{
	char word[64];
	size_t n;

	for (;; path += n + 1) {
		n = strcspn(path, ".");
		snprintf(word, sizeof(word), "%.*s", (int)n, path);
		if (!path[n])
			break;
		v = json_is_array(v) ? json_array_get(v, (size_t)atoi(word))
				     : json_object_get(v, word);
		assert_non_null(v);
	}
	assert_int_equal(json_object_set_new(v, word, value), 0);
}

struct row {
	const char *name, *check;
	enum doctor_reply reply;
	const char *path, *value; /* NULL: the good host */
	enum doctor_state state;
	const char *text;
};

static const struct row rows[] = {
	{ "daemon_good", "daemon", 0, NULL, NULL, DOCTOR_OK,
	  "resexd 9 answers: policy ioshares, 2 guests" },
	{ "daemon_observe", "daemon", DOCTOR_INFO, "observe", "true", DOCTOR_WARNING,
	  "only observes" },
	{ "daemon_paused", "daemon", DOCTOR_INFO, "paused", "true", DOCTOR_WARNING,
	  "all guests are paused" },
	{ "xen_good", "xen", 0, NULL, NULL, DOCTOR_OK, "dom0 of Xen 4.17.3" },
	{ "xen_simulated", "xen", DOCTOR_INFO, "simulated", "true", DOCTOR_OK, "simulated" },
	{ "scheduler_good", "scheduler", 0, NULL, NULL, DOCTOR_OK, "the scheduler is credit2" },
	{ "scheduler_credit", "scheduler", DOCTOR_INFO, "schedulers", "['credit']", DOCTOR_OK,
	  "is credit," },
	{ "scheduler_none", "scheduler", DOCTOR_INFO, "schedulers", "['credit2','null']",
	  DOCTOR_FAULT, "scheduler null, which has no caps" },
	{ "scheduler_untold", "scheduler", DOCTOR_INFO, "schedulers", "[]", DOCTOR_UNKNOWN,
	  "does not tell" },
	{ "scheduler_uncappable", "scheduler", DOCTOR_CAPS, "guests.0.state", "'uncappable'",
	  DOCTOR_WARNING, "no policy can cap web" },
	{ "scheduler_error", "scheduler", DOCTOR_CAPS, "guests.0.error", "'no such thing'",
	  DOCTOR_FAULT, "cap of web could not be set: no such thing" },
	{ "privileges_good", "privileges", 0, NULL, NULL, DOCTOR_OK,
	  "user 0, 100 KiB of its memory locked" },
	{ "privileges_priority", "privileges", DOCTOR_INFO, "realtime_priority", "5",
	  DOCTOR_WARNING, "priority 5" },
	{ "ticks_good", "ticks", 0, NULL, NULL, DOCTOR_OK, "0.2 % of all ticks were late" },
	{ "ticks_at_limit", "ticks", DOCTOR_LATER, "late_ticks", "20", DOCTOR_OK, "0.3 % of all" },
	{ "ticks_late_now", "ticks", DOCTOR_LATER, "late_ticks", "30", DOCTOR_WARNING,
	  "2.0 % of the last 1000 ticks were late, and 0.5 % of all" },
	{ "ticks_late_before", "ticks", DOCTOR_INFO, "late_ticks", "11", DOCTOR_OK,
	  "0.2 % of all" },
	{ "ticks_very_late", "ticks", DOCTOR_LATER, "late_ticks", "130", DOCTOR_FAULT,
	  "12.0 % of the last" },
	{ "ticks_none", "ticks", DOCTOR_LATER, "ticks", "5000", DOCTOR_FAULT,
	  "no tick in the last second" },
	{ "ticks_anew", "ticks", DOCTOR_LATER, "ticks", "4000", DOCTOR_UNKNOWN, "anew" },
	{ "ticks_long", "ticks", DOCTOR_LATER, "tick_mean_ns", "600000", DOCTOR_WARNING,
	  "takes 0.600 ms of an interval of 1.000 ms" },
	{ "agents_good", "agents", 0, NULL, NULL, DOCTOR_OK, "all 2 guests" },
	{ "agents_none", "agents", DOCTOR_RINGS, "guests.1.attached", "false", DOCTOR_WARNING,
	  "no agent is heard in bulk" },
	{ "agents_silent", "agents", DOCTOR_RINGS, "guests.0.agent_silent", "true", DOCTOR_WARNING,
	  "agent of web is silent" },
	{ "agents_no_guest", "agents", DOCTOR_RINGS, "guests", "[]", DOCTOR_OK, "no guest runs" },
	{ "rings_good", "rings", 0, NULL, NULL, DOCTOR_OK, "2 queues of 2 guests" },
	{ "rings_fault", "rings", DOCTOR_RINGS, "guests.0.rings.0.fault", "'frame 5 is gone'",
	  DOCTOR_WARNING, "a queue of web is not read: frame 5 is gone" },
	{ "rings_forged", "rings", DOCTOR_RINGS, "guests.1.forged", "true", DOCTOR_FAULT,
	  "bulk publishes queues that cannot be read" },
	{ "rings_missed", "rings", DOCTOR_RINGS, "guests.1.missed_qps", "3", DOCTOR_WARNING,
	  "pairs of bulk came and went" },
	{ "rings_unpublished", "rings", DOCTOR_RINGS, "guests.0.unpublished_qps", "1",
	  DOCTOR_WARNING, "pairs of web live uncounted" },
	{ "reports_good", "reports", 0, NULL, NULL, DOCTOR_OK,
	  "1 of 2 guests report latencies to policy ioshares" },
	{ "reports_note", "reports", DOCTOR_INFO, "policy_note", "'nobody reports'", DOCTOR_WARNING,
	  "nobody reports" },
	{ "reports_unneeded", "reports", DOCTOR_INFO, "needs_reports", "false", DOCTOR_OK,
	  "needs no reports; 1 of 2" },
	{ "reports_alone", "reports", DOCTOR_LIST, "guests.0.latencies_second", "0", DOCTOR_UNKNOWN,
	  "in the last second" },
	{ "reports_no_base", "reports", DOCTOR_SHOWS, "0.sla.base_us", "null", DOCTOR_UNKNOWN,
	  "no latency is promised to web: policy ioshares learns" },
	{ "losses_good", "losses", 0, NULL, NULL, DOCTOR_OK, "of 2000 work requests" },
	{ "losses_wrs", "losses", DOCTOR_RINGS, "guests.1.totals.lost", "11", DOCTOR_WARNING,
	  "work requests of bulk" },
	{ "losses_guessed", "losses", DOCTOR_RINGS, "guests.0.totals.flags",
	  "['lapped','mtus-guessed']", DOCTOR_WARNING, "counts of web are not exact" },
	{ "losses_bounded", "losses", DOCTOR_RINGS, "guests.1.totals.flags", "['wrs-bounded']",
	  DOCTOR_WARNING, "counts of bulk are not exact" },
	{ "losses_latencies", "losses", DOCTOR_LIST, "guests.0.latencies_lost", "2", DOCTOR_WARNING,
	  "latencies that web reported" },
	{ "losses_latencies_few", "losses", DOCTOR_LIST, "guests.0.latencies_lost", "1", DOCTOR_OK,
	  "latencies" },
	{ "losses_events", "losses", DOCTOR_INFO, "events_lost", "4", DOCTOR_WARNING,
	  "4 events were dropped" },
	{ "counters_good", "counters", 0, NULL, NULL, DOCTOR_OK, "2 of 3 guests and links" },
	{ "counters_off", "counters", DOCTOR_INFO, "crosscheck", "false", DOCTOR_WARNING,
	  "cross-check is off" },
	{ "counters_diverge", "counters", DOCTOR_RINGS, "guests.1.counter.diverges", "true",
	  DOCTOR_FAULT, "more is sent by bulk" },
	{ "counters_link", "counters", DOCTOR_INFO, "links.0.counter.diverges", "true",
	  DOCTOR_FAULT, "more is sent by link ib0" },
	{ "counters_error", "counters", DOCTOR_RINGS, "guests.1.counter.error", "'no such port'",
	  DOCTOR_WARNING, "counter of bulk cannot be read: no such port" },
	{ "adapters_good", "adapters", 0, NULL, NULL, DOCTOR_UNKNOWN, "is an adapter of mlx5" },
	{ "links_good", "links", 0, NULL, NULL, DOCTOR_OK,
	  "link ib0 has the rate of mlx5_0: 1.250 GB/s" },
	{ "links_above", "links", DOCTOR_INFO, "links.0.bytes_s", "1300000000", DOCTOR_FAULT,
	  "rate of 1.300 GB/s, but mlx5_0 carries 1.250 GB/s" },
	{ "links_below", "links", DOCTOR_INFO, "links.0.bytes_s", "1000000000", DOCTOR_WARNING,
	  "rate of 1.000 GB/s, but mlx5_0 carries 1.250 GB/s" },
	{ "links_lower", "links", DOCTOR_INFO, "links.0.bytes_s", "1150000000", DOCTOR_OK,
	  "has the rate of" },
	{ "links_other_port", "links", DOCTOR_INFO, "links.0.port", "'port:mlx5_0/2'", DOCTOR_FAULT,
	  "has the port:mlx5_0/2, which is not here" },
	{ "links_no_port", "links", DOCTOR_INFO, "links.0.port", "null", DOCTOR_UNKNOWN,
	  "device of link ib0 is not known" },
	{ "links_none", "links", DOCTOR_INFO, "links.0.port", "'none'", DOCTOR_UNKNOWN,
	  "device of link ib0 is not known" },
	{ "links_simulated", "links", DOCTOR_INFO, "simulated", "true", DOCTOR_UNKNOWN,
	  "simulated" },
	{ "cluster_good", "cluster", 0, NULL, NULL, DOCTOR_OK, "all 2 hosts of cluster c are up" },
	{ "cluster_none", "cluster", DOCTOR_INFO, "cluster", "null", DOCTOR_OK, "in no cluster" },
	{ "cluster_quorum", "cluster", DOCTOR_INFO, "quorate", "false", DOCTOR_FAULT, "no quorum" },
	{ "cluster_silent", "cluster", DOCTOR_HOSTS, "hosts.1.state", "'silent'", DOCTOR_WARNING,
	  "xen2 is not up" },
	{ "cluster_down", "cluster", DOCTOR_HOSTS, "hosts.1.state", "'down'", DOCTOR_WARNING,
	  "xen2 is not up" },
	{ "cluster_differs", "cluster", DOCTOR_HOSTS, "hosts.1.agrees", "false", DOCTOR_WARNING,
	  "xen2 has another cluster.json" },
	{ "cluster_unread", "cluster", DOCTOR_HOSTS, "hosts.1.agrees", "null", DOCTOR_OK, "all 2" },
	{ "cluster_version", "cluster", DOCTOR_HOSTS, "hosts.1.version", "'8'", DOCTOR_WARNING,
	  "xen2 has another version" },
	{ "clocks_good", "clocks", 0, NULL, NULL, DOCTOR_OK, "is synchronized" },
	{ "clocks_behind", "clocks", DOCTOR_HOSTS, "hosts.1.time_ns", "990000000000",
	  DOCTOR_WARNING, "clock of host xen2 is 9.5 s behind" },
	{ "clocks_before", "clocks", DOCTOR_HOSTS, "hosts.1.time_ns", "1009500000000",
	  DOCTOR_WARNING, "clock of host xen2 is 10.0 s before" },
	{ "clocks_near", "clocks", DOCTOR_HOSTS, "hosts.1.time_ns", "998000000000", DOCTOR_OK,
	  "synchronized" },
	{ "clocks_old_figures", "clocks", DOCTOR_HOSTS, "hosts.1.figures_age_ms", "null", DOCTOR_OK,
	  "synchronized" },
	{ "clocks_back", "clocks", DOCTOR_INFO, "clock_back", "2", DOCTOR_FAULT,
	  "gone back 2 times" },
};

static void finds_its_fault(void **state)
{
	const struct row *w = *state;
	struct doctor_facts f;
	json_t *wrapped;
	char text[160];

	facts_good(&f);
	if (w->path) {
		snprintf(text, sizeof(text), "[%s]", w->value);
		wrapped = parsed(text);
		set_at(f.reply[w->reply], w->path, json_incref(json_array_get(wrapped, 0)));
		json_decref(wrapped);
	}
	assert_finds(w->check, &f, w->state, w->text);
	facts_free(&f);
}

TEST_ROWS(rows, finds_its_fault)

TEST(each_check__has_a_row_of_a_good_host_and_a_name_of_its_own)
{
	for (const struct doctor_check *c = doctor_checks; c->name; c++) {
		bool has = false;

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			has |= !rows[i].path && !strcmp(rows[i].check, c->name);
		assert_true(has);
		assert_ptr_equal(doctor_find(c->name), c);
	}
	assert_null(doctor_find("nothing"));
}

TEST(daemon__of_another_version__is_found_beside_that_it_answers)
{
	struct doctor_facts f;
	json_t *all;

	facts_good(&f);
	f.version = "10";
	all = found("daemon", &f);
	assert_int_equal(json_array_size(all), 2);
	assert_non_null(strstr(member(all, 0, "text"), "resexd has version 9, and resex 10"));
	assert_string_equal(member(all, 1, "state"), "ok");
	assert_int_equal(doctor_worst(all), DOCTOR_WARNING);
	json_decref(all);
	facts_free(&f);
}

static void lose_replies(struct doctor_facts *f, int rc, const char *error)
{
	f->daemon = rc;
	f->daemon_error = error;
	for (int i = 0; i < DOCTOR_REPLIES; i++) {
		json_decref(f->reply[i]);
		f->reply[i] = NULL;
	}
}

TEST(daemon__that_does_not_answer__is_a_fault_with_what_to_do)
{
	static const struct {
		int rc;
		struct doctor_process process;
		const char *text, *remedy;
	} cases[] = {
		{ RESEX_NO_DAEMON, { 0 }, "cannot reach it", "resexd --check" },
		{ RESEX_PERMISSION, { 0 }, "cannot reach it", "as root" },
		{ RESEX_NO_DAEMON,
		  { .known = true, .pid = 12, .state = 'T' },
		  "process 12, is stopped by a signal",
		  "kill -CONT 12" },
		{ RESEX_NO_DAEMON,
		  { .known = true, .pid = 12, .state = 'S' },
		  "cannot reach it (process 12, state S)",
		  "restart resexd" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct doctor_facts f;
		json_t *all;

		facts_good(&f);
		lose_replies(&f, cases[i].rc, "cannot reach it");
		f.process = cases[i].process;
		all = found("daemon", &f);
		assert_one(all, DOCTOR_FAULT, cases[i].text);
		assert_non_null(strstr(member(all, 0, "remedy"), cases[i].remedy));
		json_decref(all);
		facts_free(&f);
	}
}

TEST(without_a_daemon__what_needs_none_is_found_and_the_rest_is_unknown)
{
	for (const struct doctor_check *c = doctor_checks; c->name; c++) {
		bool alone = !strcmp(c->name, "xen") || !strcmp(c->name, "clocks");
		struct doctor_facts f;

		if (!strcmp(c->name, "daemon"))
			continue;
		facts_good(&f);
		lose_replies(&f, RESEX_NO_DAEMON, "gone");
		assert_finds(c->name, &f, alone ? DOCTOR_OK : DOCTOR_UNKNOWN,
			     alone ? "" : "resexd does not answer");
		facts_free(&f);
	}
}

TEST(one_reply_that_failed__makes_its_checks_unknown_with_the_error)
{
	struct doctor_facts f;

	facts_good(&f);
	json_decref(f.reply[DOCTOR_RINGS]);
	f.reply[DOCTOR_RINGS] = NULL;
	f.daemon_error = "the sampler does not answer";
	assert_finds("rings", &f, DOCTOR_UNKNOWN, "not known: the sampler does not answer");
	assert_finds("ticks", &f, DOCTOR_OK, "ticks");
	facts_free(&f);
}

TEST(xen__not_here_or_a_guest__is_a_fault)
{
	struct doctor_facts f;

	facts_good(&f);
	f.xen = DOCTOR_NO_XEN;
	assert_finds("xen", &f, DOCTOR_FAULT, "Xen does not run here");
	f.xen = DOCTOR_XEN_GUEST;
	assert_finds("xen", &f, DOCTOR_FAULT, "not dom0");
	facts_free(&f);
}

TEST(privileges__of_the_process__are_compared_with_what_is_configured)
{
	struct doctor_facts f;

	facts_good(&f);
	f.process.locked_kib = 0;
	assert_finds("privileges", &f, DOCTOR_WARNING, "is not locked");
	set_at(f.reply[DOCTOR_INFO], "lock_memory", json_false());
	assert_finds("privileges", &f, DOCTOR_OK, "without real-time priority");
	set_at(f.reply[DOCTOR_INFO], "realtime_priority", json_integer(5));
	f.process.priority = 4;
	assert_finds("privileges", &f, DOCTOR_WARNING, "priority 5");
	f.process.priority = 5;
	assert_finds("privileges", &f, DOCTOR_OK, "with real-time priority");
	f.process.uid = 1000;
	assert_finds("privileges", &f, DOCTOR_FAULT, "runs as user 1000");
	set_at(f.reply[DOCTOR_INFO], "simulated", json_true());
	assert_finds("privileges", &f, DOCTOR_OK, "runs as user 1000");
	f.process.known = false;
	assert_finds("privileges", &f, DOCTOR_UNKNOWN, "cannot be seen");
	facts_free(&f);
}

/* A long run before is of another time than the last second; both count. */
TEST(ticks__late_since_the_start__are_found_too)
{
	struct doctor_facts f;

	facts_good(&f);
	set_at(f.reply[DOCTOR_INFO], "late_ticks", json_integer(100));
	set_at(f.reply[DOCTOR_LATER], "late_ticks", json_integer(100));
	assert_finds("ticks", &f, DOCTOR_WARNING,
		     "0.0 % of the last 1000 ticks were late, and 1.7 %");
	facts_free(&f);
}

TEST(agents__with_a_wrong_registry__are_found_with_its_fault)
{
	struct doctor_facts f;

	facts_good(&f);
	set_at(f.reply[DOCTOR_RINGS], "guests.0.attached", json_false());
	set_at(f.reply[DOCTOR_RINGS], "guests.0.fault", json_string("wrong version"));
	assert_finds("agents", &f, DOCTOR_WARNING, "agent of web publishes cannot be used: wrong");
	facts_free(&f);
}

static void set_port(struct doctor_facts *f, const char *key, json_t *value)
{
	json_object_set_new(json_array_get(f->ports, 0), key, value);
}

/* 8 of 10 bits up to QDR, 64 of 66 from FDR on; Ethernet tells what it carries. */
TEST(links__rate_of_a_port__is_after_line_coding)
{
	static const struct {
		const char *rate;
		double gbit;
		bool ethernet;
		json_int_t bytes_s;
	} ports[] = {
		{ "40 Gb/sec (4X QDR)", 40, false, 4000000000 },
		{ "20 Gb/sec (4X DDR)", 20, false, 2000000000 },
		{ "10 Gb/sec (4X SDR)", 10, false, 1000000000 },
		{ "100 Gb/sec (4X EDR)", 100, false, 12121212121 },
		{ "100 Gb/sec (4X EDR)", 100, true, 12500000000 },
		{ "40 Gb/sec (4X QDR)", 40, true, 5000000000 },
	};

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		struct doctor_facts f;

		facts_good(&f);
		set_port(&f, "rate", json_string(ports[i].rate));
		set_port(&f, "rate_gbit", json_real(ports[i].gbit));
		set_port(&f, "ethernet", json_boolean(ports[i].ethernet));
		set_at(f.reply[DOCTOR_INFO], "links.0.bytes_s", json_integer(ports[i].bytes_s));
		assert_finds("links", &f, DOCTOR_OK, "has the rate of");
		set_at(f.reply[DOCTOR_INFO], "links.0.bytes_s",
		       json_integer(ports[i].bytes_s / 100 * 103));
		assert_finds("links", &f, DOCTOR_FAULT, "carries");
		facts_free(&f);
	}
}

TEST(adapters__of_each_driver__are_read_or_not)
{
	json_t *findings, *second;
	struct doctor_facts f;

	facts_good(&f);
	assert_finds("adapters", &f, DOCTOR_UNKNOWN,
		     "mlx5_0 is an adapter of mlx5: its queues are");
	assert_finds("adapters", &f, DOCTOR_UNKNOWN, "libresex-rings(7); mlx was not yet run");
	set_port(&f, "driver", json_string("mlx4_core"));
	assert_finds("adapters", &f, DOCTOR_UNKNOWN, "an adapter of mlx4:");
	set_port(&f, "driver", json_string("bnxt_re"));
	assert_finds("adapters", &f, DOCTOR_WARNING, "driver bnxt_re, whose queues are not read");
	set_port(&f, "driver", json_string(""));
	assert_finds("adapters", &f, DOCTOR_WARNING, "the driver unknown");
	set_port(&f, "soft", json_true());
	assert_finds("adapters", &f, DOCTOR_OK, "soft-RoCE (rxe), whose queues are read");
	second = json_deep_copy(json_array_get(f.ports, 0));
	json_object_set_new(second, "port", json_integer(2));
	json_array_append(f.ports, second);
	assert_finds("adapters", &f, DOCTOR_OK, "soft-RoCE"); /* one device, one finding */
	json_object_set_new(second, "device", json_string("rxe1"));
	findings = found("adapters", &f);
	assert_int_equal(json_array_size(findings), 2);
	json_decref(findings);
	json_decref(second);
	set_at(f.reply[DOCTOR_INFO], "queues_read", json_pack("[s]", "mlx5"));
	json_array_remove(f.ports, 1);
	assert_finds("adapters", &f, DOCTOR_WARNING, "whose queues are not read");
	json_array_clear(f.ports);
	assert_finds("adapters", &f, DOCTOR_UNKNOWN, "no adapter of InfiniBand or RoCE");
	set_at(f.reply[DOCTOR_INFO], "simulated", json_true());
	assert_finds("adapters", &f, DOCTOR_UNKNOWN, "simulated");
	facts_free(&f);
}

TEST(links__port__may_be_down_or_soft_or_found_by_the_name_of_the_link)
{
	struct doctor_facts f;

	facts_good(&f);
	set_port(&f, "state", json_string("1: DOWN"));
	assert_finds("links", &f, DOCTOR_FAULT, "port 1 of mlx5_0, which carries link ib0, is not");
	set_port(&f, "state", json_string("4: ACTIVE"));
	set_port(&f, "soft", json_true());
	assert_finds("links", &f, DOCTOR_UNKNOWN, "tells no true rate");
	set_port(&f, "soft", json_false());
	set_port(&f, "rate_gbit", json_real(0));
	assert_finds("links", &f, DOCTOR_UNKNOWN, "tells no true rate");
	set_port(&f, "rate_gbit", json_real(10));
	set_at(f.reply[DOCTOR_INFO], "links.0.port", json_null());
	set_at(f.reply[DOCTOR_INFO], "links.0.name", json_string("mlx5_0"));
	assert_finds("links", &f, DOCTOR_OK, "link mlx5_0 has the rate");
	facts_free(&f);
}

TEST(clocks__that_nothing_sets_or_that_tell_nothing__are_found)
{
	struct doctor_facts f;

	facts_good(&f);
	f.clock = DOCTOR_CLOCK_FREE;
	assert_finds("clocks", &f, DOCTOR_WARNING, "synchronized by nothing");
	f.clock = DOCTOR_CLOCK_UNKNOWN;
	assert_finds("clocks", &f, DOCTOR_UNKNOWN, "does not tell");
	facts_free(&f);
}

TEST(counters__none_at_all__are_not_known)
{
	struct doctor_facts f;

	facts_good(&f);
	set_at(f.reply[DOCTOR_INFO], "links.0.counter", json_null());
	set_at(f.reply[DOCTOR_RINGS], "guests.1.counter", json_null());
	assert_finds("counters", &f, DOCTOR_UNKNOWN, "no guest and no link has a counter");
	facts_free(&f);
}

TEST(many_guests__are_named_up_to_four)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g" };
	struct doctor_facts f;
	json_t *guests, *all;

	facts_good(&f);
	guests = json_array();
	for (size_t i = 0; i < 7; i++)
		json_array_append_new(guests, json_pack("{s:s}", "name", names[i]));
	set_at(f.reply[DOCTOR_RINGS], "guests", guests);
	assert_finds("agents", &f, DOCTOR_WARNING, "heard in a, b, c, d and 3 more:");
	json_array_remove(guests, 6);
	json_array_remove(guests, 5);
	json_array_remove(guests, 4);
	all = found("agents", &f);
	assert_non_null(strstr(member(all, 0, "text"), "heard in a, b, c, d:"));
	json_decref(all);
	facts_free(&f);
}

/* A long name is cut, and a character in two would make no JSON. */
TEST(guest__with_a_long_name_of_other_letters__is_found)
{
	char name[] = "x\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
		      "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
		      "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
		      "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9";
	struct doctor_facts f;

	facts_good(&f);
	set_at(f.reply[DOCTOR_RINGS], "guests.0.name", json_string(name));
	set_at(f.reply[DOCTOR_RINGS], "guests.0.attached", json_false());
	assert_finds("agents", &f, DOCTOR_WARNING, "is not counted");
	facts_free(&f);
}

/* A reply of another program, or of another version: nothing is believed, and nothing breaks. */
TEST(replies__of_other_types__break_no_check)
{
	static const char *const odd[] = { "[]",
					   "{}",
					   "{'guests':{}}",
					   "'a'",
					   "{'guests':[1,null,'x',[]]}",
					   "[null]",
					   "{'hosts':[5],'links':[5],'schedulers':[5]}" };

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		for (const struct doctor_check *c = doctor_checks; c->name; c++) {
			struct doctor_facts f = { .version = "9", .daemon_error = "" };
			json_t *findings = json_array();
			char text[80];

			snprintf(text, sizeof(text), "[%s]", odd[i]);
			for (int k = 0; k < DOCTOR_REPLIES; k++) {
				json_t *wrapped = parsed(text);

				f.reply[k] = json_incref(json_array_get(wrapped, 0));
				json_decref(wrapped);
			}
			doctor_run(c, &f, findings);
			facts_free(&f);
			json_decref(findings);
		}
}

/* --- the cap test -------------------------------------------------------------- */

TEST(cap__to_try__is_half_of_the_use_and_not_below_the_lowest)
{
	json_t *none = json_array();

	assert_int_equal(doctor_cap_choose("g", 100, 1, 0, none), 50);
	assert_int_equal(doctor_cap_choose("g", 10, 1, 0, none), 5);
	assert_int_equal(doctor_cap_choose("g", 380.5, 1, 0, none), 190);
	assert_int_equal(doctor_cap_choose("g", 99.9, 1, 0, none), 50);
	assert_int_equal(doctor_cap_choose("g", 100, 75, 0, none), 75);
	assert_int_equal(json_array_size(none), 0);
	assert_int_equal(doctor_cap_choose("g", 9.9, 1, 0, none), 0);
	assert_one(none, DOCTOR_UNKNOWN, "guest g uses 9.9 percent");
	json_array_clear(none);
	assert_int_equal(doctor_cap_choose("g", 3, 1, 3, none), 0);
	assert_one(none, DOCTOR_UNKNOWN, "under its cap of 3");
	json_array_clear(none);
	assert_int_equal(doctor_cap_choose("g", 40, 1, 50, none), 20);
	assert_int_equal(doctor_cap_choose("g", 100, 76, 0, none), 0);
	assert_one(none, DOCTOR_UNKNOWN, "its lowest cap is 76");
	json_decref(none);
}

TEST(cap__is_judged_by_what_was_used_under_it)
{
	static const struct {
		double before, during;
		enum doctor_state state;
		const char *text;
	} cases[] = {
		{ 100, 50, DOCTOR_OK, "a cap of 50 percent limits guest g: it used 50.0" },
		{ 100, 59, DOCTOR_OK, "limits guest g" },
		{ 100, 25, DOCTOR_OK, "limits guest g" },
		{ 100, 24.9, DOCTOR_UNKNOWN, "wanted less than the cap" },
		{ 100, 60, DOCTOR_WARNING, "only in part" },
		{ 100, 84, DOCTOR_WARNING, "only in part" },
		{ 100, 86, DOCTOR_FAULT, "does nothing: guest g used 86.0" },
		{ 100, 130, DOCTOR_FAULT, "does nothing" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct doctor_cap t = { "g", 50, cases[i].before, cases[i].during };
		json_t *findings = json_array();

		doctor_cap_judge(&t, findings);
		assert_one(findings, cases[i].state, cases[i].text);
		assert_string_equal(member(findings, 0, "check"), "cap");
		assert_string_equal(member(findings, 0, "guest"), "g");
		assert_true(json_number_value(json_object_get(json_array_get(findings, 0),
							      "during_percent")) ==
			    cases[i].during);
		json_decref(findings);
	}
}
