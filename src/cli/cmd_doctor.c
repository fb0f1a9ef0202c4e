// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmd_doctor: resex doctor. Gathers the facts for the checks of doctor.h, from resexd and from this
 * host, and prints what they find. A resexd that does not answer is itself a finding: the checks
 * that need none are still made.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* struct ucred */
#endif
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/cli/captest.h"
#include "src/cli/cmds.h"
#include "src/cli/doctor.h"
#include "src/cli/doctor_host.h"
#include "src/cli/request.h"
#include "src/util/clock.h"
#include "src/util/utf8.h"

enum {
	TIMEOUT_S = 12, /* resexd itself waits for 10 s at most, and then says so */
	INDENT = 21,	/* of a finding's text */
};

/* --- progress ------------------------------------------------------------------- */

/* On a terminal alone: scripts have the findings. */
static void show_progress(const struct cli *c, const char *text)
{
	if (!c->options.json && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s%s", text, *text ? " ..." : "");
}

/* --- resexd's replies -------------------------------------------------------------- */

struct gather {
	struct cli *c;
	struct doctor_facts *f;
	unsigned int needs;
	struct mono began; /* when info was asked for */
	char error[640];   /* of the first request that failed */
};

static void keep_error(struct gather *g)
{
	if (!g->error[0])
		snprintf(g->error, sizeof(g->error), "%s", g->c->client.error);
}

/* One that does not answer is asked no more: each time takes seconds. */
static json_t *ask(struct gather *g, const char *method, json_t *params)
{
	json_t *r = NULL;
	int rc;

	if (g->f->daemon) {
		json_decref(params);
		return NULL;
	}
	show_progress(g->c, method);
	rc = client_call(&g->c->client, method, params, &r);
	if (rc)
		keep_error(g);
	if (rc == RESEX_NO_DAEMON)
		g->f->daemon = rc;
	return r;
}

/* A method that is needed by a check that was asked for. */
static void ask_for(struct gather *g, enum doctor_reply reply, const char *method)
{
	if (g->needs >> reply & 1)
		g->f->reply[reply] = ask(g, method, NULL);
}

/* guest-show of each guest that reports latencies to a policy that needs them. */
static void ask_shows(struct gather *g)
{
	const json_t *info = g->f->reply[DOCTOR_INFO], *row;
	const json_t *rows = json_object_get(g->f->reply[DOCTOR_LIST], "guests");
	json_t *shows, *r;

	if (!(g->needs & DOCTOR_NEEDS(SHOWS)) || !info)
		return;
	shows = json_array();
	for (size_t i = 0; i < json_array_size(rows); i++) {
		row = json_array_get(rows, i);
		if (!json_is_true(json_object_get(info, "needs_reports")) ||
		    !json_integer_value(json_object_get(row, "latencies_second")))
			continue;
		r = ask(g, "guest-show", json_pack("{s:O}", "guest", json_object_get(row, "uuid")));
		if (r)
			json_array_append_new(shows, r);
	}
	g->f->reply[DOCTOR_SHOWS] = shows;
}

/* A host in no cluster has no list of hosts: an empty one stands for it. */
static void ask_hosts(struct gather *g)
{
	const json_t *info = g->f->reply[DOCTOR_INFO];

	if (!(g->needs & DOCTOR_NEEDS(HOSTS)) || !info)
		return;
	g->f->reply[DOCTOR_HOSTS] = json_is_null(json_object_get(info, "cluster"))
					    ? json_object()
					    : ask(g, "host-list", NULL);
	g->f->wall_ns = clock_wall_ns();
}

/* A second after the first info, in which the other requests were made. */
static void ask_later(struct gather *g)
{
	struct clock clock;

	if (!(g->needs & DOCTOR_NEEDS(LATER)) || g->f->daemon)
		return;
	clock_real(&clock);
	show_progress(g->c, "counting ticks for a second");
	while (clock.sleep_until(&clock, mono_add(g->began, NS_PER_S)))
		;
	g->f->reply[DOCTOR_LATER] = ask(g, "info", NULL);
}

/* Who listens at the socket; also of one that does not answer. */
static void look_at_process(struct gather *g)
{
	struct ucred peer = { .pid = 0 };
	socklen_t size = sizeof(peer);

	if (!getsockopt(g->c->client.fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		doctor_process_read(&g->f->process, (uint32_t)peer.pid);
}

static void gather_replies(struct gather *g)
{
	const char *socket = g->c->options.socket;
	struct client *cl = &g->c->client;
	struct clock clock;

	clock_real(&clock);
	cl->timeout_s = TIMEOUT_S;
	g->f->daemon = client_open(cl, socket ? socket : RESEX_RUNDIR "/resexd.sock", "resexd");
	if (g->f->daemon) {
		keep_error(g);
		return;
	}
	look_at_process(g);
	g->began = clock.now(&clock);
	ask_for(g, DOCTOR_INFO, "info");
	ask_for(g, DOCTOR_LIST, "list");
	ask_for(g, DOCTOR_RINGS, "ring-list");
	ask_for(g, DOCTOR_CAPS, "cap-list");
	ask_shows(g);
	ask_hosts(g);
	ask_later(g);
}

static void free_facts(struct doctor_facts *f)
{
	for (int i = 0; i < DOCTOR_REPLIES; i++)
		json_decref(f->reply[i]);
	json_decref(f->ports);
}

/* --- printing ------------------------------------------------------------------------ */

/* Folded between words; the first line begins at the column INDENT, and so do the others. */
static void print_folded(const char *text, size_t width)
{
	size_t at = INDENT, n;
	bool first = true;

	for (; *text; text += n + strspn(text + n, " ")) {
		n = strcspn(text, " ");
		if (!first && at + 1 + n > width) {
			printf("\n%*s", INDENT, "");
			at = INDENT;
		} else if (!first) {
			putchar(' ');
			at++;
		}
		fwrite(text, 1, n, stdout);
		at += n;
		first = false;
	}
	putchar('\n');
}

static const char *word_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void print_findings(const json_t *findings)
{
	size_t width = table_width(stdout), count[DOCTOR_STATES] = { 0 };
	char remedy[512];
	const json_t *o;

	for (size_t i = 0; i < json_array_size(findings); i++) {
		o = json_array_get(findings, i);
		count[doctor_state_of(o)]++;
		printf("%-8s %-11s ", word_of(o, "state"), word_of(o, "check"));
		print_folded(word_of(o, "text"), width);
		if (!*word_of(o, "remedy"))
			continue;
		snprintf(remedy, sizeof(remedy), "-> %s", word_of(o, "remedy"));
		printf("%*s", INDENT, "");
		print_folded(remedy, width);
	}
	printf("\n%zu ok, %zu unknown, %zu warning%s, %zu fault%s\n", count[DOCTOR_OK],
	       count[DOCTOR_UNKNOWN], count[DOCTOR_WARNING], count[DOCTOR_WARNING] == 1 ? "" : "s",
	       count[DOCTOR_FAULT], count[DOCTOR_FAULT] == 1 ? "" : "s");
}

/* Takes findings over. */
static int print_result(const struct cli *c, json_t *findings)
{
	enum doctor_state worst = doctor_worst(findings);
	json_t *result = json_pack("{s:s,s:o}", "state", doctor_state_text(worst), "findings",
				   findings);

	show_progress(c, "");
	request_print(c, &result);
	if (result)
		print_findings(json_object_get(result, "findings"));
	json_decref(result);
	return worst >= DOCTOR_WARNING ? RESEX_FAILURE : RESEX_OK;
}

static int print_checks(const struct cli *c)
{
	static const struct column cols[] = { { "CHECK", "check", 1 },
					      { "WHAT IT SHOWS", "text", 1 },
					      { 0 } };
	json_t *rows = json_array(), *result;

	for (const struct doctor_check *k = doctor_checks; k->name; k++)
		json_array_append_new(rows,
				      json_pack("{s:s,s:s}", "check", k->name, "text", k->text));
	result = json_pack("{s:o}", "checks", rows);
	request_print(c, &result);
	if (result)
		table_print(stdout, json_object_get(result, "checks"), cols);
	json_decref(result);
	return RESEX_OK;
}

/* --- the verb --------------------------------------------------------------------------- */

static bool is_wanted(const struct cli *c, const struct doctor_check *k)
{
	bool named = false;

	for (int i = 0; i < c->argc; i++)
		named |= !strcmp(c->argv[i], k->name);
	return named || (!c->argc && !c->options.cap_test);
}

static int check_words(struct cli *c)
{
	char what[160];

	if (c->options.list && (c->argc || c->options.cap_test))
		return usage_error(c,
				   "--list only shows which checks there are: give nothing else");
	for (int i = 0; i < c->argc; i++) {
		if (doctor_find(c->argv[i]))
			continue;
		snprintf(what, sizeof(what), "there is no check \"%.80s\" (resex doctor --list)",
			 c->argv[i]);
		return usage_error(c, what);
	}
	if (c->options.yes && !c->options.cap_test)
		return usage_error(c, "--yes is for --cap-test alone");
	if (c->options.cap_test && !utf8_good(c->options.cap_test))
		return usage_error(c, "the guest's name must be in UTF-8");
	return RESEX_OK;
}

/* RESEX_OK, or why resexd was not reached though a check needs it. */
static int run_checks(struct cli *c, json_t *findings)
{
	const char *sys = getenv("RESEX_SYSFS");
	struct doctor_facts f = { .version = PACKAGE_VERSION };
	struct gather g = { .c = c, .f = &f };

	f.daemon_error = g.error;
	for (const struct doctor_check *k = doctor_checks; k->name; k++)
		g.needs |= is_wanted(c, k) ? k->needs : 0;
	if (g.needs || c->options.cap_test)
		gather_replies(&g);
	doctor_host_read(&f, sys ? sys : "/sys");
	for (const struct doctor_check *k = doctor_checks; k->name; k++)
		if (is_wanted(c, k))
			doctor_run(k, &f, findings);
	free_facts(&f);
	return f.daemon;
}

int run_doctor(struct cli *c)
{
	json_t *findings;
	int rc = check_words(c), found;

	if (rc)
		return rc;
	if (c->options.list)
		return print_checks(c);
	findings = json_array();
	rc = run_checks(c, findings);
	if (rc && is_wanted(c, doctor_find("daemon")))
		c->client.error[0] = 0; /* a finding says it */
	if (!rc && c->options.cap_test)
		rc = captest_run(c, c->options.cap_test, findings, show_progress);
	show_progress(c, "");
	if (rc && !json_array_size(findings)) {
		json_decref(findings);
		return rc;
	}
	found = print_result(c, findings);
	return rc ? rc : found;
}
