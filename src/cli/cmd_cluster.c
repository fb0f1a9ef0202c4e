// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmd_cluster: the verbs on a cluster: host-list, lock-*, list --all-hosts. All figures are what
 * this host has read of the others, so each table shows their age, and what may be wrong with
 * them is said beside it.
 */
#include <stdio.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cli/cmds.h"
#include "src/cli/request.h"

/* Guests of a simulator must not look like real ones. */
static void print_simulated(const json_t *hosts)
{
	json_t *h;
	size_t i;

	json_array_foreach(hosts, i, h)
		if (json_is_true(json_object_get(h, "simulated")))
			printf("%s: SIMULATED: none of its guests or figures is real\n",
			       json_string_value(json_object_get(h, "name")));
}

/* Whether this host may decide anything, and why not: without quorum its locks are unknown. */
static void print_cluster(const json_t *r)
{
	const char *note = json_string_value(json_object_get(r, "cluster_note"));
	bool quorate = json_is_true(json_object_get(r, "quorate"));

	printf("cluster %s over %s, view %lld%s%s%s\n",
	       json_string_value(json_object_get(r, "cluster")),
	       json_string_value(json_object_get(r, "transport")),
	       (long long)json_integer_value(json_object_get(r, "view")),
	       quorate ? "" : ": NO QUORUM, it decides nothing", note && *note ? ": " : "",
	       note ? note : "");
}

/* On a narrow terminal the notes are below the table. They are never left out. */
static void print_notes(const json_t *hosts)
{
	const char *note;
	json_t *h;
	size_t i;

	json_array_foreach(hosts, i, h) {
		note = json_string_value(json_object_get(h, "note"));
		if (note && *note)
			printf("%s: %s\n", json_string_value(json_object_get(h, "name")), note);
	}
}

static void print_hosts(const json_t *hosts)
{
	static const struct column cols[] = {
		{ "NAME", "name", 1 },
		{ "NUMBER", "number", 0 },
		{ "STATE", "state", 1 },
		{ "MEMBER", "member", 1 },
		{ "AGE", "age_ms", AS_MS },
		{ "BEAT", "beat", 0 },
		{ "GENERATION", "generation", 0 },
		{ "GUESTS", "guests", 0 },
		{ "POLICY", "policy", 1 },
		{ "ADDRESS", "address", 1 },
		{ "NOTE", "note", 1 },
		{ 0 },
	};
	static const int rank[] = { 0, 3, 0, 1, 0, 4, 3, 2, 5, 6, 7 };
	size_t width = table_width(stdout);

	table_print_fit(stdout, hosts, cols, rank, width);
	if (table_whole_width(hosts, cols) > width)
		print_notes(hosts);
}

int run_host_list(struct cli *c)
{
	json_t *r = NULL;
	int rc = no_arguments(c) ? RESEX_USAGE : request_reply(c, "host-list", NULL, &r);

	if (!rc && r) {
		/* First: a table alone would look like a cluster that works. */
		print_cluster(r);
		print_hosts(json_object_get(r, "hosts"));
		print_simulated(json_object_get(r, "hosts"));
	}
	json_decref(r);
	return rc;
}

static const struct column lock_cols[] = {
	{ "SERVICE", "service", 1 },	{ "NUMBER", "number", 0 },
	{ "HOME", "home", 1 },		{ "STATE", "state", 1 },
	{ "OWNER", "owner", 1 },	{ "FENCE", "fence", 0 },
	{ "SINCE", "since_ms", AS_MS }, { "AGE", "age_ms", AS_MS },
	{ "DIFFERS", "differs", 1 },	{ 0 },
};

int run_lock_list(struct cli *c)
{
	return no_arguments(c) ? RESEX_USAGE
			       : request_rows(c, "lock-list", NULL, "locks", lock_cols);
}

int run_lock_break(struct cli *c)
{
	return request_row(c, "lock-break", "service", "force", c->options.force, lock_cols);
}

static void print_names(const char *what, const json_t *names)
{
	json_t *h;
	size_t i;

	if (json_array_size(names))
		printf("%s:", what);
	json_array_foreach(names, i, h)
		printf("%s %s%s", i ? "," : "", json_string_value(h),
		       i + 1 == json_array_size(names) ? "\n" : "");
}

/*
 * Hosts may differ in the names and addresses of hosts, in clients, balance, values of reconf,
 * load, and in what operators set.
 */
static bool is_agreed(const json_t *change)
{
	const char *kind = json_string_value(json_object_get(change, "kind"));

	return kind && strcmp(kind, "host-changed") != 0 && strcmp(kind, "client-changed") != 0 &&
	       strcmp(kind, "balance-changed") != 0 && strcmp(kind, "reconf-changed") != 0 &&
	       strcmp(kind, "load-changed") != 0 && strcmp(kind, "service-reset") != 0;
}

/* What is left to do: a file that one host alone has stops the decisions that it touches. */
static void print_others(const json_t *r, bool dry_run)
{
	bool agreed = false;
	json_t *ch;
	size_t i;

	json_array_foreach(json_object_get(r, "changes"), i, ch)
		agreed |= is_agreed(ch);
	print_names(dry_run ? "then give these hosts the same file, and run resex cluster-reload "
			      "there"
			    : "give these hosts the same file, and run resex cluster-reload there",
		    json_object_get(r, "others"));
	print_names("then start resexd with the same file on these new hosts",
		    json_object_get(r, "new"));
	if (agreed)
		puts("until all members have it, nothing is decided that a difference touches: see "
		     "resex host-list");
}

int run_cluster_reload(struct cli *c)
{
	bool dry_run = c->options.dry_run;
	json_t *r = NULL, *ch;
	size_t i;
	int rc = no_arguments(c);

	if (!rc)
		rc = request_reply(c, "cluster-reload", json_pack("{s:b}", "dry_run", dry_run), &r);
	if (!rc && r) {
		if (!json_is_true(json_object_get(r, "changed")))
			puts("cluster.json has not changed");
		json_array_foreach(json_object_get(r, "changes"), i, ch)
			printf("%s%s\n", dry_run ? "would change: " : "in force: ",
			       json_string_value(json_object_get(ch, "text")));
		print_others(r, dry_run);
	}
	json_decref(r);
	return rc;
}

/*
 * The guests of all hosts as rows of one table: each gets the name of its host, and the age of
 * what is known of it, since two hosts are not read at the same time.
 */
static json_t *guest_rows(const json_t *hosts)
{
	json_t *rows = json_array(), *h, *g;
	size_t i, k;

	json_array_foreach(hosts, i, h) {
		json_array_foreach(json_object_get(h, "guests"), k, g) {
			json_object_set(g, "host", json_object_get(h, "name"));
			json_object_set(g, "age_ms", json_object_get(h, "age_ms"));
			json_array_append(rows, g);
		}
	}
	return rows;
}

/* A host that cannot be read, or whose figures are old, must not look like any other. */
static void print_unseen(const json_t *hosts)
{
	json_t *h;
	size_t i;

	json_array_foreach(hosts, i, h) {
		const char *state = json_string_value(json_object_get(h, "state"));
		const char *note = json_string_value(json_object_get(h, "note"));

		bool lives = !state || !strcmp(state, "self") || !strcmp(state, "up");

		if (lives && !(note && *note))
			continue;
		printf("%s: %s%s%s\n", json_string_value(json_object_get(h, "name")), state,
		       note && *note ? ": " : "", note ? note : "");
	}
}

int run_list_all(struct cli *c)
{
	static const struct column cols[] = {
		{ "HOST", "host", 1 }, LIST_COLUMNS, { "AGE", "age_ms", AS_MS }, { 0 }
	};
	/* As of list --totals. */
	static const int rank[] = { 0, 0, 0, 2, 3, 0, 4, 5, 0, 0, 6, 1, 0, 0 };
	TABLE_RANKED(cols, rank);
	json_t *r = NULL, *rows;
	int rc = request_reply(c, "list-hosts", NULL, &r);

	if (!rc && r) {
		rows = guest_rows(json_object_get(r, "hosts"));
		table_print_fit(stdout, rows, cols, rank, table_width(stdout));
		print_unseen(json_object_get(r, "hosts"));
		print_simulated(json_object_get(r, "hosts"));
		json_decref(rows);
	}
	json_decref(r);
	return rc;
}
