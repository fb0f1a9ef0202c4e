// SPDX-License-Identifier: GPL-2.0-or-later
/* cmds: each verb makes a request and prints the reply as text or as JSON. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/cli/cmds_priv.h"
#include "src/util/conf.h"
#include "src/util/utf8.h"

enum { FOLLOW_MS = 300 };

int usage_error(struct cli *c, const char *what)
{
	snprintf(c->client.error, sizeof(c->client.error), "%s: see resex --help", what);
	return RESEX_USAGE;
}

static int print_json(json_t *result)
{
	json_dumpf(result, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	putchar('\n');
	json_decref(result);
	return RESEX_OK;
}

int ask(struct cli *c, const char *method, json_t *params, json_t **result)
{
	int rc = client_call(&c->client, method, params, result);

	if (!rc && !c->json)
		table_tame(*result);
	if (rc || !c->json)
		return rc;
	rc = print_json(*result);
	*result = NULL;
	return rc;
}

int no_words(struct cli *c)
{
	if (!c->argc)
		return RESEX_OK;
	snprintf(c->client.error, sizeof(c->client.error),
		 "\"%.80s\" is too much: this verb takes no argument", c->argv[0]);
	return RESEX_USAGE;
}

/* At most one word: a guest. */
static int guest_param(struct cli *c, bool required, json_t **params)
{
	if (c->argc > 1 || (required && c->argc != 1))
		return usage_error(c, required ? "give one guest" : "give one guest at most");
	*params = json_object();
	if (c->argc)
		json_object_set_new(*params, "guest", json_string(c->argv[0]));
	return RESEX_OK;
}

int print_rows(struct cli *c, const char *method, json_t *params, const char *member,
	       const struct column *cols)
{
	json_t *r = NULL;
	int rc = ask(c, method, params, &r);

	if (!rc && r)
		table_print(stdout, json_object_get(r, member), cols);
	json_decref(r);
	return rc;
}

int act_on_one(struct cli *c, const char *method, const char *flag, const char *what,
	       const struct column *cols)
{
	json_t *r = NULL, *rows;
	const char *name = NULL;
	int rc, set = 0, names = 0;
	char usage[96];

	for (int i = 0; i < c->argc; i++) {
		if (!strncmp(c->argv[i], "--", 2) && !strcmp(c->argv[i] + 2, flag)) {
			set = 1;
			continue;
		}
		if (!strncmp(c->argv[i], "--", 2)) {
			snprintf(usage, sizeof(usage), "\"%.40s\" is no option here: there is --%s",
				 c->argv[i], flag);
			return usage_error(c, usage);
		}
		name = c->argv[i];
		names++;
	}
	if (names != 1) {
		snprintf(usage, sizeof(usage), "give one %s", what);
		return usage_error(c, usage);
	}
	rc = ask(c, method, json_pack("{s:s,s:b}", what, name, flag, set), &r);
	if (!rc && r) {
		rows = json_pack("[O]", r);
		table_print(stdout, rows, cols);
		json_decref(rows);
	}
	json_decref(r);
	return rc;
}

/* --- guests ----------------------------------------------------------------- */

static int run_list(struct cli *c)
{
	static const struct column cols[] = {
		{ "NAME", "name", 1 },
		{ "ID", "domid", 0 },
		{ "VCPUS", "vcpus", 0 },
		{ "WEIGHT", "weight", 0 },
		{ "CAP", "cap", 0 },
		{ "RESOS", "allocated", 0 },
		{ "BALANCE", "balance", 0 },
		{ "MTUS-SENT", "mtus_sent", 0 },
		{ "MTUS-RECV", "mtus_recv", 0 },
		{ "LATENCY", "latency_us", 0 },
		{ "RINGS", "rings", 0 },
		{ "STATE", "state", 1 },
		{ 0 },
	};

	if (c->argc && !strcmp(c->argv[0], "--all-hosts")) {
		c->argc--;
		c->argv++;
		return no_words(c) ? RESEX_USAGE : run_list_all(c);
	}
	if (c->argc) {
		snprintf(c->client.error, sizeof(c->client.error),
			 "\"%.80s\" is too much: list takes --all-hosts or nothing", c->argv[0]);
		return RESEX_USAGE;
	}
	return print_rows(c, "list", NULL, "guests", cols);
}

/* What a counter says of a guest's, or a link's, own words: one line, in bytes a second. */
static void print_counter(const json_t *counter)
{
	const char *error = json_string_value(json_object_get(counter, "error"));
	const char *source = json_string_value(json_object_get(counter, "source"));

	if (!source || !error)
		return;
	if (*error) {
		printf("  %s: %s\n", source, error);
		return;
	}
	if (!json_integer_value(json_object_get(counter, "windows"))) {
		printf("  %s: nothing is compared yet\n", source);
		return;
	}
	printf("  %s: sent %lld bytes/s, explained %lld, unexplained %lld%s\n", source,
	       (long long)json_integer_value(json_object_get(counter, "sent_bytes_s")),
	       (long long)json_integer_value(json_object_get(counter, "explained_bytes_s")),
	       (long long)json_integer_value(json_object_get(counter, "unexplained_bytes_s")),
	       json_is_true(json_object_get(counter, "diverges")) ? ": DIVERGES" : "");
}

static int run_info(struct cli *c)
{
	static const struct column fields[] = {
		{ "version", "version", 1 },
		{ "hypervisor", "hv", 1 },
		{ "observing only", "observe", 1 },
		{ "paused", "paused", 1 },
		{ "policy", "policy", 1 },
		{ "interval (ns)", "interval_ns", 1 },
		{ "epoch (ns)", "epoch_ns", 1 },
		{ "epoch now", "epoch", 1 },
		{ "supply (Resos)", "supply", 1 },
		{ "overcommit (Resos)", "overcommit", 1 },
		{ "dropped last epoch (Resos)", "dropped", 1 },
		{ "guests", "guests", 1 },
		{ "cluster", "cluster", 1 },
		{ "membership", "membership", 1 },
		{ "its view", "view", 1 },
		{ "quorum", "quorate", 1 },
		{ "what is wrong", "cluster_note", 1 },
		{ "ticks", "ticks", 1 },
		{ "late ticks", "late_ticks", 1 },
		{ "lateness, 99 % (ns)", "late_p99_ns", 1 },
		{ "longest lateness (ns)", "late_max_ns", 1 },
		{ "mean tick (ns)", "tick_mean_ns", 1 },
		{ "longest tick (ns)", "tick_max_ns", 1 },
		{ "map calls", "map_calls", 1 },
		{ "mapped pages", "mapped_pages", 1 },
		{ "cross-check", "crosscheck", 1 },
		{ "counters", "counters", 1 },
		{ 0 },
	};
	static const struct column links[] = { { "LINK", "name", 1 },
					       { "BYTES/S", "bytes_s", 0 },
					       { "MTU", "mtu", 0 },
					       { "PROFILE", "profile", 1 },
					       { 0 } };
	json_t *r = NULL, *link;
	int rc = no_words(c);
	size_t i;

	if (!rc)
		rc = ask(c, "info", NULL, &r);
	if (!rc && r) {
		table_card(stdout, r, fields);
		putchar('\n');
		table_print(stdout, json_object_get(r, "links"), links);
		json_array_foreach(json_object_get(r, "links"), i, link)
			print_counter(json_object_get(link, "counter"));
	}
	json_decref(r);
	return rc;
}

static void print_guest(json_t *r)
{
	static const struct column fields[] = {
		{ "name", "name", 1 },
		{ "domain id", "domid", 1 },
		{ "UUID", "uuid", 1 },
		{ "state", "state", 1 },
		{ "VCPUs", "vcpus", 1 },
		{ "weight", "weight", 1 },
		{ "link", "link", 1 },
		{ "cap (%)", "cap", 1 },
		{ "own cap (%)", "old_cap", 1 },
		{ "lowest cap (%)", "min_cap", 1 },
		{ "highest cap (%)", "max_cap", 1 },
		{ "cap changes", "cap_changes", 1 },
		{ "allocated (Resos)", "allocated", 1 },
		{ "balance", "balance", 1 },
		{ "spent", "spent", 1 },
		{ "overdraft", "overdraft", 1 },
		{ "charged for I/O", "charged_io", 1 },
		{ "charged for CPU", "charged_cpu", 1 },
		{ "rate", "rate", 1 },
		{ "CPU time (ns)", "cpu_ns", 1 },
		{ "MTUs sent", "mtus_sent", 1 },
		{ "MTUs received", "mtus_recv", 1 },
		{ "bytes sent", "bytes_sent", 1 },
		{ "bytes received", "bytes_recv", 1 },
		{ "work requests", "wrs", 1 },
		{ "of these unseen", "lost", 1 },
		{ "waiting", "backlog", 1 },
		{ "rings", "rings", 1 },
		{ "latencies", "latencies", 1 },
		{ "of these missed", "latencies_lost", 1 },
		{ "in last second", "latencies_second", 1 },
		{ "  mean (us)", "latency_us", 1 },
		{ "  deviation (us)", "latency_dev_us", 1 },
		{ "  99 % (us)", "latency_p99_us", 1 },
		{ "promised (us)", "base_us", 1 },
		{ "  of it I/O", "base_io_us", 1 },
		{ "  its deviation", "base_deviation_us", 1 },
		{ "  tolerance", "tolerance", 1 },
		{ "counter", "counter", 1 },
		{ "diverges", "diverges", 1 },
		{ "note", "note", 1 },
		{ 0 },
	};

	json_object_update(r, json_object_get(r, "sla"));
	table_card(stdout, r, fields);
}

static int show_guest(struct cli *c, const char *method, json_t *params)
{
	json_t *r = NULL;
	int rc = ask(c, method, params, &r);

	if (!rc && r)
		print_guest(r);
	json_decref(r);
	return rc;
}

static int run_guest_show(struct cli *c)
{
	json_t *params = NULL;
	int rc = guest_param(c, true, &params);

	return rc ? rc : show_guest(c, "guest-show", params);
}

/* As one would write it in resexd.json: a number, true or false, or else a string. */
static json_t *setting_value(const char *word)
{
	const char *digits = "0123456789";
	size_t n = strspn(word, digits);

	if (n && n < 19 && !word[n])
		return json_integer((json_int_t)strtoll(word, NULL, 10));
	if (!strcmp(word, "true") || !strcmp(word, "false"))
		return json_boolean(word[0] == 't');
	return json_string(word);
}

/* "weight=512", and "sla.base=230us" for a member of a member. */
static int add_setting(struct cli *c, json_t *settings, char *word)
{
	char *eq = strchr(word, '='), *dot;
	json_t *in = settings, *v;

	if (!eq || eq == word || !eq[1])
		return usage_error(c, "a setting is KEY=VALUE, such as weight=512");
	*eq = 0;
	dot = strchr(word, '.');
	if (dot) {
		*dot = 0;
		in = json_object_get(settings, word);
		if (!json_is_object(in)) {
			in = json_object();
			json_object_set_new(settings, word, in);
		}
		word = dot + 1;
	}
	v = setting_value(eq + 1);
	if (!v || json_object_set_new(in, word, v))
		return usage_error(c, "a setting is of UTF-8 characters");
	return RESEX_OK;
}

static int run_guest_set(struct cli *c)
{
	json_t *params, *settings;
	int rc = RESEX_OK;

	if (c->argc < 2)
		return usage_error(c, "give a guest and at least one KEY=VALUE");
	params = json_object();
	settings = json_object();
	json_object_set_new(params, "guest", json_string(c->argv[0]));
	json_object_set_new(params, "settings", settings);
	for (int i = 1; !rc && i < c->argc; i++)
		rc = add_setting(c, settings, c->argv[i]);
	if (!rc)
		return show_guest(c, "guest-set", params);
	json_decref(params);
	return rc;
}

static void print_rings(const json_t *g)
{
	static const struct column cols[] = {
		{ "ID", "id", 0 },
		{ "KIND", "kind", 1 },
		{ "QPN", "qpn", 0 },
		{ "PID", "pid", 0 },
		{ "COMM", "comm", 1 },
		{ "WRS", "wrs", 0 },
		{ "LOST", "lost", 0 },
		{ "ERRORS", "errors", 0 },
		{ "MTUS-SENT", "mtus_sent", 0 },
		{ "MTUS-RECV", "mtus_recv", 0 },
		{ "STATE", "state", 1 },
		{ "FLAGS", "flags", 1 },
		{ "FAULT", "fault", 1 },
		{ 0 },
	};
	const char *fault = json_string_value(json_object_get(g, "fault"));
	const char *agent = "no agent";

	if (json_is_true(json_object_get(g, "attached")))
		agent = json_is_true(json_object_get(g, "agent_silent")) ? "attached, agent silent"
									 : "attached";
	printf("%s (domain %lld): %s%s%s\n", json_string_value(json_object_get(g, "name")),
	       (long long)json_integer_value(json_object_get(g, "domid")), agent,
	       fault && *fault ? ": " : "", fault ? fault : "");
	print_counter(json_object_get(g, "counter"));
	if (json_array_size(json_object_get(g, "rings")))
		table_print(stdout, json_object_get(g, "rings"), cols);
}

static int run_ring_list(struct cli *c)
{
	json_t *r = NULL, *params = NULL, *g;
	size_t i;
	int rc = guest_param(c, false, &params);

	if (!rc)
		rc = ask(c, "ring-list", params, &r);
	if (!rc && r)
		json_array_foreach(json_object_get(r, "guests"), i, g)
			print_rings(g);
	json_decref(r);
	return rc;
}

/* --- policies ---------------------------------------------------------------- */

static int run_policy_list(struct cli *c)
{
	static const struct column cols[] = {
		{ "NAME", "name", 1 }, { "ACTIVE", "active", 1 }, { "WHAT", "text", 1 }, { 0 }
	};

	return no_words(c) ? RESEX_USAGE : print_rows(c, "policy-list", NULL, "policies", cols);
}

static void print_policy(const json_t *r)
{
	static const struct column cols[] = {
		{ "PARAMETER", "name", 1 },  { "VALUE", "value", 0 },
		{ "DEFAULT", "default", 0 }, { "MIN", "min", 0 },
		{ "MAX", "max", 0 },	     { "UNIT", "unit", 1 },
		{ "MEANING", "text", 1 },    { 0 },
	};

	printf("%s%s: %s\n", json_string_value(json_object_get(r, "name")),
	       json_is_true(json_object_get(r, "active")) ? " (active)" : "",
	       json_string_value(json_object_get(r, "text")));
	if (json_array_size(json_object_get(r, "params")))
		table_print(stdout, json_object_get(r, "params"), cols);
}

static int show_policy(struct cli *c, const char *method, json_t *params)
{
	json_t *r = NULL;
	int rc = ask(c, method, params, &r);

	if (!rc && r)
		print_policy(r);
	json_decref(r);
	return rc;
}

static int run_policy_show(struct cli *c)
{
	json_t *params = json_object();

	if (c->argc > 1) {
		json_decref(params);
		return usage_error(c, "give one policy at most");
	}
	if (c->argc)
		json_object_set_new(params, "policy", json_string(c->argv[0]));
	return show_policy(c, "policy-show", params);
}

/* "low=50" into params; whole non-negative numbers only. */
static int add_param(struct cli *c, json_t *params, char *word)
{
	char *eq = strchr(word, '='), *end;
	unsigned long long v;

	if (!eq || eq == word || eq[1] < '0' || eq[1] > '9')
		return usage_error(c, "a parameter is NAME=NUMBER");
	v = strtoull(eq + 1, &end, 10);
	if (*end || v > LLONG_MAX) {
		snprintf(c->client.error, sizeof(c->client.error),
			 *end ? "\"%.80s\" is no NAME=NUMBER: give a whole number"
			      : "\"%.80s\": the number is out of range",
			 word);
		return *end ? RESEX_USAGE : RESEX_RANGE;
	}
	*eq = 0;
	json_object_set_new(params, word, json_integer((json_int_t)v));
	return RESEX_OK;
}

/* Read here: resexd may see other files, or none, where we see this one. */
static int add_file(struct cli *c, json_t *params, const char *file)
{
	struct conf_error e = { 0 };
	struct conf_doc d;
	char label[256];

	if (conf_load(&d, file, &e)) {
		snprintf(c->client.error, sizeof(c->client.error), "%s", e.text);
		return RESEX_BAD_CONFIG;
	}
	utf8_escape(file, label, sizeof(label)); /* for messages: it need not be UTF-8 */
	json_object_set_new(params, "file", json_string(label));
	json_object_set_new(params, "text", json_stringn(d.text, d.len));
	conf_free(&d);
	if (client_fits("policy-check", params))
		return RESEX_OK;
	snprintf(c->client.error, sizeof(c->client.error),
		 "%s is too long: what resexd is sent of it may have %d bytes, less a few for each "
		 "quote and end of line: make it shorter",
		 label, CLIENT_REQUEST_MAX);
	return RESEX_BAD_CONFIG;
}

static int run_policy_set(struct cli *c)
{
	json_t *params = json_object(), *set = json_object();
	int i = 0, rc = RESEX_OK;

	json_object_set_new(params, "params", set);
	if (c->argc >= 2 && is_file_option(c->argv[0])) {
		rc = add_file(c, params, c->argv[1]);
		i = 2;
	} else if (c->argc >= 1 && c->argv[0][0] != '-') {
		json_object_set_new(params, "policy", json_string(c->argv[0]));
		i = 1;
	} else {
		rc = usage_error(c, "give a policy's name, or --file FILE");
	}
	for (; !rc && i < c->argc; i++)
		rc = add_param(c, set, c->argv[i]);
	if (!rc)
		return show_policy(c, "policy-set", params);
	json_decref(params);
	return rc;
}

static int run_policy_check(struct cli *c)
{
	json_t *r = NULL, *params;
	int rc;

	if (c->argc != 1)
		return usage_error(c, "give one policy file");
	params = json_object();
	rc = add_file(c, params, c->argv[0]);
	if (rc) {
		json_decref(params);
		return rc;
	}
	rc = ask(c, "policy-check", params, &r);
	if (!rc && r)
		printf("%s: good: policy %s\n", c->argv[0],
		       json_string_value(json_object_get(r, "name")));
	json_decref(r);
	return rc;
}

/* --- caps --------------------------------------------------------------------- */

static const struct column cap_cols[] = {
	{ "NAME", "name", 1 },	     { "ID", "domid", 0 },
	{ "CAP", "cap", 0 },	     { "WANTED", "wanted", 0 },
	{ "OWN-CAP", "old_cap", 0 }, { "CHANGES", "changes", 0 },
	{ "STATE", "state", 1 },     { "ERROR", "error", 1 },
	{ "NOTE", "note", 1 },	     { 0 },
};

static int run_cap_list(struct cli *c)
{
	return no_words(c) ? RESEX_USAGE : print_rows(c, "cap-list", NULL, "guests", cap_cols);
}

static int run_cap_release(struct cli *c)
{
	return act_on_one(c, "cap-release", "undo", "guest", cap_cols);
}

static int pause_or_resume(struct cli *c, const char *method)
{
	json_t *params = NULL;
	int rc = guest_param(c, false, &params);

	return rc ? rc : print_rows(c, method, params, "guests", cap_cols);
}

static int run_pause(struct cli *c)
{
	return pause_or_resume(c, "pause");
}

static int run_resume(struct cli *c)
{
	return pause_or_resume(c, "resume");
}

static int run_why(struct cli *c)
{
	json_t *r = NULL, *params = NULL, *g;
	size_t i;
	int rc = guest_param(c, false, &params);

	if (!rc)
		rc = ask(c, "why", params, &r);
	if (!rc && r)
		json_array_foreach(json_object_get(r, "guests"), i, g)
			printf("%s: %s\n", json_string_value(json_object_get(g, "name")),
			       json_string_value(json_object_get(g, "text")));
	json_decref(r);
	return rc;
}

/* --- events --------------------------------------------------------------------- */

struct events_opt {
	const char *guest;
	long last; /* show at most so many; -1: all there are */
	bool follow;
};

static int events_options(struct cli *c, struct events_opt *o)
{
	char *end;

	for (int i = 0; i < c->argc; i++) {
		const char *w = c->argv[i];

		if (!strcmp(w, "-f") || !strcmp(w, "--follow")) {
			o->follow = true;
		} else if (!strcmp(w, "-n") || !strcmp(w, "--lines")) {
			if (++i == c->argc)
				return usage_error(c, "-n takes a number");
			errno = 0;
			o->last = strtol(c->argv[i], &end, 10);
			if (end == c->argv[i] || *end || o->last < 0 || errno)
				return usage_error(c, "-n takes a number, such as 10");
		} else if (w[0] == '-' || o->guest) {
			return usage_error(c, "events takes -f, -n NUMBER and one guest");
		} else {
			o->guest = w;
		}
	}
	return RESEX_OK;
}

static void print_event(const json_t *e)
{
	json_int_t ns = json_integer_value(json_object_get(e, "time_ns"));
	time_t t = (time_t)(ns / 1000000000);
	struct tm tm;
	char when[32];

	localtime_r(&t, &tm);
	strftime(when, sizeof(when), "%F %T", &tm);
	printf("%s.%03d  %-16s %-12s %s\n", when, (int)(ns / 1000000 % 1000),
	       json_string_value(json_object_get(e, "guest")),
	       json_string_value(json_object_get(e, "kind")),
	       json_string_value(json_object_get(e, "text")));
}

static void print_events(const struct cli *c, const json_t *events, long last)
{
	size_t n = json_array_size(events), i = 0;

	if (last >= 0 && n > (size_t)last)
		i = n - (size_t)last;
	for (; i < n; i++) {
		const json_t *e = json_array_get(events, i);

		if (!c->json) {
			print_event(e);
			continue;
		}
		json_dumpf(e, stdout, JSON_COMPACT); /* one event a line */
		putchar('\n');
	}
	fflush(stdout);
}

static int run_events(struct cli *c)
{
	struct events_opt o = { .last = -1 };
	json_int_t since = 0;
	int rc = events_options(c, &o);

	while (!rc) {
		json_t *r = NULL, *params = json_pack("{s:I}", "since", since);

		if (o.guest)
			json_object_set_new(params, "guest", json_string(o.guest));
		rc = client_call(&c->client, "events", params, &r);
		if (!rc) {
			since = json_integer_value(json_object_get(r, "newest"));
			if (!c->json)
				table_tame(r);
			print_events(c, json_object_get(r, "events"), o.last);
		}
		json_decref(r);
		if (!o.follow || ferror(stdout))
			break;
		o.last = -1;
		poll(NULL, 0, FOLLOW_MS);
	}
	return rc;
}

/* --- the table -------------------------------------------------------------------- */

const struct verb verbs[] = {
	{ "list", "[--all-hosts]", "guests with caps, Resos and MTUs", FILE_NONE, run_list },
	{ "info", "", "the daemon: policy, supply, ticks, links", FILE_NONE, run_info },
	{ "guest-show", "GUEST", "all that is known of one guest", FILE_NONE, run_guest_show },
	{ "guest-set", "GUEST KEY=VALUE...", "other settings for a guest, while it runs", FILE_NONE,
	  run_guest_set },
	{ "ring-list", "[GUEST]", "queues read in guests' memory, and faults", FILE_NONE,
	  run_ring_list },
	{ "policy-list", "", "pricing policies", FILE_NONE, run_policy_list },
	{ "policy-show", "[POLICY]", "a policy's parameters", FILE_NONE, run_policy_show },
	{ "policy-set", "POLICY|--file FILE [PARAMETER=NUMBER]...", "put a policy in force",
	  FILE_OPTION, run_policy_set },
	{ "policy-check", "FILE", "is this policy file good?", FILE_FIRST, run_policy_check },
	{ "cap-list", "", "caps in force, wanted, and before resexd came", FILE_NONE,
	  run_cap_list },
	{ "cap-release", "[--undo] GUEST", "give a guest its own cap back and leave it alone",
	  FILE_NONE, run_cap_release },
	{ "pause", "[GUEST]", "no policy caps this guest, or any, until resume", FILE_NONE,
	  run_pause },
	{ "resume", "[GUEST]", "policies cap it, or all, again", FILE_NONE, run_resume },
	{ "why", "[GUEST]", "why a guest is capped, or is not", FILE_NONE, run_why },
	{ "host-list", "", "hosts of the cluster", FILE_NONE, run_host_list },
	{ "lock-list", "", "locks of services", FILE_NONE, run_lock_list },
	{ "lock-break", "[--force] SERVICE", "take a lock away from who holds it", FILE_NONE,
	  run_lock_break },
	{ "events", "[-f] [-n NUMBER] [GUEST]", "what happened", FILE_NONE, run_events },
	{ 0 },
};
