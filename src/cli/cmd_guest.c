// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmd_guest: the verbs on the daemon and its guests: list, info, guest-*, ring-list. A card (a
 * member a line) shows one thing whole, a table compares many.
 */
#include <stdio.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"

/* The element i of an array that is a member; 0: it is null, or is not there. */
static double number_at(const json_t *columns, const char *key, size_t i)
{
	return json_number_value(json_array_get(json_object_get(columns, key), i));
}

/* Both directions together: a guest pays for both. per: how many of them are one. */
static void add_both(json_t *columns, const char *key, const char *sent, const char *recv,
		     double per)
{
	json_t *both = json_array(), *known = json_object_get(columns, sent);

	for (size_t i = 0; i < json_array_size(known); i++) {
		double sum = number_at(columns, sent, i) + number_at(columns, recv, i);

		json_array_append_new(both, json_is_null(json_array_get(known, i))
						    ? json_null()
						    : json_real(sum / per));
	}
	json_object_set_new(columns, key, both);
}

/* On a narrow terminal, MTU/S goes first: MB/S tells nearly the same. */
static void print_rates(json_t *columns)
{
	static const struct column cols[] = {
		{ "NAME", "name", 1 },		{ "ID", "domid", 0 },
		{ "CPU%", "cpu_percent", 0 },	{ "MB/S", "mb_s", 0 },
		{ "MTU/S", "mtus_s", 0 },	{ "RESO%", "resos_percent", 0 },
		{ "CAP%", "cap", 0 },		{ "CAPPED%", "capped_percent", 0 },
		{ "MEAN-US", "latency_us", 0 }, { "P99-US", "latency_p99_us", 0 },
		{ "STATE", "state", 1 },	{ 0 },
	};
	static const int rank[] = { 0, 6, 0, 0, 7, 5, 0, 4, 2, 3, 1 };
	TABLE_RANKED(cols, rank);

	add_both(columns, "mb_s", "bytes_sent_s", "bytes_recv_s", 1e6);
	add_both(columns, "mtus_s", "mtus_sent_s", "mtus_recv_s", 1);
	table_print_fit(stdout, columns, cols, rank, table_width(stdout));
}

int run_list(struct cli *c)
{
	static const struct column totals[] = { LIST_COLUMNS, { 0 } };
	static const int rank[] = { 0, 0, 2, 3, 0, 4, 5, 0, 0, 6, 1, 0 };
	TABLE_RANKED(totals, rank);
	json_t *r = NULL, *guests;
	int rc;

	if (no_arguments(c))
		return RESEX_USAGE;
	if (c->options.all_hosts && c->options.totals)
		return usage_error(c, "--all-hosts shows totals: leave out --totals");
	if (c->options.all_hosts) /* another method: of this host alone, "list" shows more */
		return run_list_all(c);
	/* All is for programs. */
	rc = request_reply(c, "list", c->options.json ? NULL : json_pack("{s:b}", "brief", 1), &r);
	guests = json_object_get(r, "guests");
	if (!rc && guests && c->options.totals)
		table_print_fit(stdout, guests, totals, rank, table_width(stdout));
	else if (!rc && guests)
		print_rates(guests);
	json_decref(r);
	return rc;
}

static const char *rate_text(const json_t *counter, const char *key, char text[static 32])
{
	quantity_text(QUANTITY_RATE, json_number_value(json_object_get(counter, key)), text, 32);
	return text;
}

/*
 * The cross-check of a guest or a link with its counter: one line. Before the
 * first window is over, 0 unexplained bytes would be a claim that nothing supports.
 */
static void print_counter(const json_t *counter)
{
	const char *error = json_string_value(json_object_get(counter, "error"));
	const char *source = json_string_value(json_object_get(counter, "source"));
	char sent[32], explained[32], unexplained[32];

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
	printf("  %s: sent %s, explained %s, unexplained %s%s\n", source,
	       rate_text(counter, "sent_bytes_s", sent),
	       rate_text(counter, "explained_bytes_s", explained),
	       rate_text(counter, "unexplained_bytes_s", unexplained),
	       json_is_true(json_object_get(counter, "diverges")) ? ": DIVERGES" : "");
}

/* The newest recording in one line; none: the line is left out. */
static void add_recording(json_t *info)
{
	const json_t *t = json_object_get(info, "trace");
	const char *why = json_string_value(json_object_get(t, "ended"));

	if (json_is_object(t))
		json_object_set_new(
			info, "recording",
			json_sprintf("%s: %lld ticks%s%s",
				     json_string_value(json_object_get(t, "file")),
				     (long long)json_integer_value(json_object_get(t, "ticks")),
				     why && *why ? ", ended: " : "", why ? why : ""));
}

int run_info(struct cli *c)
{
	static const struct column fields[] = {
		{ "version", "version", 1 },
		{ "hypervisor", "hv", 1 },
		{ "observing only", "observe", 1 },
		{ "paused", "paused", 1 },
		{ "policy", "policy", 1 },
		{ "policy problem", "policy_note", 1 },
		{ "interval", "interval_ns", LEFT | AS_NS },
		{ "epoch", "epoch_ns", LEFT | AS_NS },
		{ "epoch now", "epoch", 1 },
		{ "supply (Resos)", "supply", 1 },
		{ "overcommit (Resos)", "overcommit", 1 },
		{ "dropped last epoch (Resos)", "dropped", 1 },
		{ "guests", "guests", 1 },
		{ "cluster", "cluster", 1 },
		{ "membership", "membership", 1 },
		{ "membership view", "view", 1 },
		{ "quorum", "quorate", 1 },
		{ "cluster problem", "cluster_note", 1 },
		{ "ticks", "ticks", 1 },
		{ "late ticks", "late_ticks", 1 },
		{ "lateness, 99 %", "late_p99_ns", LEFT | AS_NS },
		{ "longest lateness", "late_max_ns", LEFT | AS_NS },
		{ "mean tick", "tick_mean_ns", LEFT | AS_NS },
		{ "longest tick", "tick_max_ns", LEFT | AS_NS },
		{ "map calls", "map_calls", 1 },
		{ "mapped pages", "mapped_pages", 1 },
		{ "queues read", "queues_read", 1 },
		{ "note on queues", "queues_note", 1 },
		{ "cross-check", "crosscheck", 1 },
		{ "counters", "counters", 1 },
		{ "recording", "recording", 1 },
		{ 0 },
	};
	static const struct column links[] = { { "LINK", "name", 1 },
					       { "RATE", "bytes_s", AS_RATE },
					       { "MTU", "mtu", 0 },
					       { "PROFILE", "profile", 1 },
					       { 0 } };
	json_t *r = NULL, *link;
	int rc = no_arguments(c);
	size_t i;

	if (!rc)
		rc = request_reply(c, "info", NULL, &r);
	if (!rc && r) {
		add_recording(r);
		table_card(stdout, r, fields);
		putchar('\n');
		table_print(stdout, json_object_get(r, "links"), links);
		json_array_foreach(json_object_get(r, "links"), i, link)
			print_counter(json_object_get(link, "counter"));
	}
	json_decref(r);
	return rc;
}

/*
 * In the order in which an operator looks: which guest it is, its caps, its account of this epoch,
 * what it did since it was first seen, its latencies, and what a counter says of all that.
 */
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
		{ "cap", "cap", LEFT | AS_PERCENT },
		{ "own cap", "old_cap", LEFT | AS_PERCENT },
		{ "lowest cap", "min_cap", LEFT | AS_PERCENT },
		{ "highest cap", "max_cap", LEFT | AS_PERCENT },
		{ "cap changes", "cap_changes", 1 },
		{ "allocated (Resos)", "allocated", 1 },
		{ "balance", "balance", 1 },
		{ "spent", "spent", 1 },
		{ "overdraft", "overdraft", 1 },
		{ "charged for I/O", "charged_io", 1 },
		{ "charged for CPU", "charged_cpu", 1 },
		{ "rate", "rate", 1 },
		{ "CPU time", "cpu_ns", LEFT | AS_NS },
		{ "MTUs sent", "mtus_sent", 1 },
		{ "MTUs received", "mtus_recv", 1 },
		{ "MTUs not read", "mtus_unread", 1 },
		{ "bytes sent", "bytes_sent", LEFT | AS_BYTES },
		{ "bytes received", "bytes_recv", LEFT | AS_BYTES },
		{ "work requests", "wrs", 1 },
		{ "of these unseen", "lost", 1 },
		{ "waiting", "backlog", 1 },
		{ "rings", "rings", 1 },
		{ "latencies", "latencies", 1 },
		{ "of these missed", "latencies_lost", 1 },
		{ "in last second", "latencies_second", 1 },
		{ "  mean", "latency_us", LEFT | AS_US },
		{ "  deviation", "latency_dev_us", LEFT | AS_US },
		{ "  99 %", "latency_p99_us", LEFT | AS_US },
		{ "promised", "base_us", LEFT | AS_US },
		{ "  of it I/O", "base_io_us", LEFT | AS_US },
		{ "  its deviation", "base_deviation_us", LEFT | AS_US },
		{ "  tolerance", "tolerance", LEFT | AS_PERMILLE },
		{ "counter", "counter", 1 },
		{ "diverges", "diverges", 1 },
		{ "note", "note", 1 },
		{ 0 },
	};

	json_int_t vcpus = json_integer_value(json_object_get(r, "vcpus"));
	json_int_t max_cap = json_integer_value(json_object_get(r, "max_cap"));

	/* The card takes members of one object: bring those of "sla" up to the guest's. */
	json_object_update(r, json_object_get(r, "sla"));
	table_card(stdout, r, fields);
	/* It is not refused: the guest may get more VCPUs while it runs. */
	if (max_cap > 100 * vcpus)
		printf("\nmax_cap=%lld%% limits nothing now: %lld%% is all that the guest's "
		       "VCPUs can use\n",
		       (long long)max_cap, 100 * (long long)vcpus);
}

/* The reply of guest-set is that of guest-show: the user sees what holds now. */
static int show_guest(struct cli *c, const char *method, json_t *params)
{
	json_t *r = NULL;
	int rc = request_reply(c, method, params, &r);

	if (!rc && r)
		print_guest(r);
	json_decref(r);
	return rc;
}

int run_guest_show(struct cli *c)
{
	json_t *params = NULL;
	int rc = guest_argument(c, true, &params);

	return rc ? rc : show_guest(c, "guest-show", params);
}

int run_guest_set(struct cli *c)
{
	json_t *params = NULL;
	int rc = settings_argument(c, "guest", "KEY=VALUE, such as weight=512", &params);

	return rc ? rc : show_guest(c, "guest-set", params);
}

/* clang-format off */
#define RING_COLUMNS \
	{ "ID", "id", 0 }, { "KIND", "kind", 1 }, { "QPN", "qpn", 0 }, { "PID", "pid", 0 }, \
	{ "COMM", "comm", 1 }, { "WRS", "wrs", 0 }, { "LOST", "lost", 0 }, \
	{ "ERRORS", "errors", 0 }, { "MTUS-SENT", "mtus_sent", 0 }, \
	{ "MTUS-RECV", "mtus_recv", 0 }, { "STATE", "state", 1 }, { "FLAGS", "flags", 1 }
/* clang-format on */

/* Without room for FAULT, faults stand below the table, as the notes of host-list do. */
static void print_ring_table(const json_t *rings)
{
	static const struct column all[] = { RING_COLUMNS, { "FAULT", "fault", 1 }, { 0 } };
	static const struct column cols[] = { RING_COLUMNS, { 0 } };
	static const int rank[] = { 0, 0, 2, 6, 5, 0, 1, 4, 0, 3, 0, 0 };
	TABLE_RANKED(cols, rank);
	const size_t width = table_width(stdout);
	const char *fault;
	json_t *r;
	size_t i;

	if (table_whole_width(rings, all) <= width) {
		table_print(stdout, rings, all);
		return;
	}
	table_print_fold(stdout, rings, cols, rank, width);
	json_array_foreach(rings, i, r) {
		fault = json_string_value(json_object_get(r, "fault"));
		if (fault && *fault)
			printf("ring %lld: %s\n",
			       (long long)json_integer_value(json_object_get(r, "id")), fault);
	}
}

/*
 * One guest: a line on its agent, one on the cross-check, then its rings. Without an agent resexd
 * knows no ring of a guest, whatever the guest sends.
 */
static void print_rings(const json_t *g)
{
	/* A guest without rings needs its reason: no agent, a silent one, or a bad registry. */
	const char *fault = json_string_value(json_object_get(g, "fault"));
	const char *agent = "no agent";
	long long missed = (long long)json_integer_value(json_object_get(g, "missed_qps"));
	long long unpublished =
		(long long)json_integer_value(json_object_get(g, "unpublished_qps"));

	if (json_is_true(json_object_get(g, "attached")))
		agent = json_is_true(json_object_get(g, "agent_silent")) ? "attached, agent silent"
									 : "attached";
	printf("%s (domain %lld): %s%s%s\n", json_string_value(json_object_get(g, "name")),
	       (long long)json_integer_value(json_object_get(g, "domid")), agent,
	       fault && *fault ? ": " : "", fault ? fault : "");
	if (missed)
		printf("  missed_qps %lld: queue pairs that came and went uncounted; "
		       "%lld were read\n",
		       missed, (long long)json_integer_value(json_object_get(g, "qps_read")));
	if (unpublished)
		printf("  unpublished_qps %lld: queue pairs that live and are not counted: its "
		       "agent "
		       "has no room for them\n",
		       unpublished);
	if (json_is_true(json_object_get(g, "forged")))
		printf("  FORGED %lld times: queues that cannot be read are still published: their "
		       "memory is forged, or the agent does not follow: restart resex-agent "
		       "there\n",
		       (long long)json_integer_value(json_object_get(g, "forged_times")));
	print_counter(json_object_get(g, "counter"));
	if (json_array_size(json_object_get(g, "rings")))
		print_ring_table(json_object_get(g, "rings"));
}

int run_ring_list(struct cli *c)
{
	json_t *r = NULL, *params = NULL, *g;
	size_t i;
	int rc = guest_argument(c, false, &params);

	if (!rc)
		rc = request_reply(c, "ring-list", params, &r);
	if (!rc && r)
		json_array_foreach(json_object_get(r, "guests"), i, g)
			print_rings(g);
	json_decref(r);
	return rc;
}
