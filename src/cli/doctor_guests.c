// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doctor_guests: the checks of guests: agents, rings, reports, losses, counters. Each finding is of
 * all guests that have the same fault. See doctor.h.
 */
#include <stdio.h>
#include <string.h>

#include "src/cli/doctor_priv.h"

/* Of work requests, latencies: in percent. A few are lost whenever dom0 is late once. */
#define LOST_WARNING 1.0

static const json_t *rows_of(const struct doctor_facts *f, enum doctor_reply reply)
{
	return json_object_get(f->reply[reply], "guests");
}

static unsigned long count_of(const json_t *rows)
{
	return (unsigned long)json_array_size(rows);
}

/* --- agents -------------------------------------------------------------------- */

void doctor_agents(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *rows = rows_of(f, DOCTOR_RINGS), *g;
	struct doctor_names none = { 0 }, bad = { 0 }, silent = { 0 };
	const char *fault = "";

	for (size_t i = 0; i < json_array_size(rows); i++) {
		g = json_array_get(rows, i);
		if (!doctor_b(g, "attached") && *doctor_s(g, "fault")) {
			doctor_name(&bad, doctor_s(g, "name"));
			fault = doctor_s(g, "fault");
		} else if (!doctor_b(g, "attached")) {
			doctor_name(&none, doctor_s(g, "name"));
		} else if (doctor_b(g, "agent_silent")) {
			doctor_name(&silent, doctor_s(g, "name"));
		}
	}
	if (none.n)
		doctor_say(r, DOCTOR_WARNING,
			   "start resex-agent(8) in each guest that uses RDMA: systemctl start "
			   "resex-agent",
			   "no agent is heard in %s: what is sent there is not counted",
			   doctor_names_text(&none));
	if (bad.n)
		doctor_say(r, DOCTOR_WARNING, "restart resex-agent there",
			   "what the agent of %s publishes cannot be used: %s",
			   doctor_names_text(&bad), fault);
	if (silent.n)
		doctor_say(r, DOCTOR_WARNING,
			   "see whether resex-agent still runs there, and whether the guest has "
			   "CPU time for it",
			   "the agent of %s is silent: new queues there are not seen",
			   doctor_names_text(&silent));
	if (!json_array_size(rows))
		doctor_say(r, DOCTOR_OK, "", "no guest runs here");
	else if (!none.n && !bad.n && !silent.n)
		doctor_say(r, DOCTOR_OK, "", "the agents of all %lu guests are heard",
			   count_of(rows));
}

/* --- rings ----------------------------------------------------------------------- */

/* The first ring of a guest that is not read. */
static const char *ring_fault(const json_t *g)
{
	const json_t *rings = json_object_get(g, "rings");
	const char *fault;

	for (size_t i = 0; i < json_array_size(rings); i++) {
		fault = doctor_s(json_array_get(rings, i), "fault");
		if (*fault)
			return fault;
	}
	return "";
}

/* What was not counted though every ring is good. */
static bool say_uncounted(const json_t *rows, const struct doctor_report *r)
{
	struct doctor_names missed = { 0 }, unpublished = { 0 };
	const json_t *g;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		g = json_array_get(rows, i);
		if (doctor_u(g, "missed_qps"))
			doctor_name(&missed, doctor_s(g, "name"));
		if (doctor_u(g, "unpublished_qps"))
			doctor_name(&unpublished, doctor_s(g, "name"));
	}
	if (missed.n)
		doctor_say(r, DOCTOR_WARNING,
			   "let applications keep their queue pairs, and give the agent there CPU "
			   "time; see missed_qps in resex ring-list",
			   "queue pairs of %s came and went uncounted", doctor_names_text(&missed));
	if (unpublished.n)
		doctor_say(r, DOCTOR_WARNING,
			   "use at most 256 queue pairs of at most 16 MiB in a guest",
			   "queue pairs of %s live uncounted: their agent has no room for them",
			   doctor_names_text(&unpublished));
	return missed.n || unpublished.n;
}

void doctor_rings(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *rows = rows_of(f, DOCTOR_RINGS), *g;
	struct doctor_names forged = { 0 }, unread = { 0 };
	unsigned long rings = 0, with = 0;
	const char *fault = "";
	bool uncounted;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		g = json_array_get(rows, i);
		rings += count_of(json_object_get(g, "rings"));
		with += json_array_size(json_object_get(g, "rings")) > 0;
		if (doctor_b(g, "forged")) {
			doctor_name(&forged, doctor_s(g, "name"));
		} else if (*ring_fault(g)) {
			doctor_name(&unread, doctor_s(g, "name"));
			fault = ring_fault(g);
		}
	}
	if (forged.n)
		doctor_say(r, DOCTOR_FAULT,
			   "restart resex-agent there; if it is found again, the guest hides what "
			   "it sends",
			   "%s publishes queues that cannot be read: their memory is forged, or "
			   "its agent does not follow",
			   doctor_names_text(&forged));
	if (unread.n)
		doctor_say(r, DOCTOR_WARNING, "see FAULT in resex ring-list",
			   "a queue of %s is not read: %s", doctor_names_text(&unread), fault);
	uncounted = say_uncounted(rows, r);
	if (!forged.n && !unread.n && !uncounted)
		doctor_say(r, DOCTOR_OK, "", "%lu queues of %lu guests are read, without a fault",
			   rings, with);
}

/* --- reports of latencies ------------------------------------------------------------ */

/* Whether a base was learned only the policy knows: why tells it in words. */
static bool say_bases(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *shows = f->reply[DOCTOR_SHOWS], *g;
	struct doctor_names learned = { 0 };

	for (size_t i = 0; i < json_array_size(shows); i++) {
		g = json_array_get(shows, i);
		if (!json_is_number(json_object_get(json_object_get(g, "sla"), "base_us")))
			doctor_name(&learned, doctor_s(g, "name"));
	}
	if (learned.n)
		doctor_say(r, DOCTOR_UNKNOWN,
			   "resex why GUEST says whether it is learned; or give base, base_io and "
			   "base_deviation of sla in resexd.json(5)",
			   "no latency is promised to %s: policy %s learns it while the guest is "
			   "alone on its link, and blames no other guest before",
			   doctor_names_text(&learned), doctor_s(f->reply[DOCTOR_INFO], "policy"));
	return learned.n > 0;
}

void doctor_reports(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *info = f->reply[DOCTOR_INFO], *rows = rows_of(f, DOCTOR_LIST);
	const char *policy = doctor_s(info, "policy"), *note = doctor_s(info, "policy_note");
	unsigned long reporters = 0;

	for (size_t i = 0; i < json_array_size(rows); i++)
		reporters += doctor_u(json_array_get(rows, i), "latencies_second") > 0;
	if (*note) {
		doctor_say(r, DOCTOR_WARNING,
			   "let applications there report, as resex_report(3) shows; or take a "
			   "policy that needs no reports, such as freemarket (resex-policies(7))",
			   "%s", note);
	} else if (!doctor_b(info, "needs_reports")) {
		doctor_say(r, DOCTOR_OK, "",
			   "policy %s needs no reports; %lu of %lu guests report latencies", policy,
			   reporters, count_of(rows));
	} else if (!reporters && json_array_size(rows)) {
		doctor_say(r, DOCTOR_UNKNOWN, "let its applications report: resex_report(3)",
			   "no guest has reported a latency in the last second");
	} else if (!say_bases(f, r)) {
		doctor_say(r, DOCTOR_OK, "",
			   "%lu of %lu guests report latencies to policy %s, each with a promised "
			   "one",
			   reporters, count_of(rows), policy);
	}
}

/* --- losses ---------------------------------------------------------------------------- */

/* Is this flag in one of the guest's sums? */
static bool has_flag(const json_t *g, const char *flag)
{
	const json_t *flags = json_object_get(json_object_get(g, "totals"), "flags");
	const char *s;

	for (size_t i = 0; i < json_array_size(flags); i++) {
		s = json_string_value(json_array_get(flags, i));
		if (s && !strcmp(s, flag))
			return true;
	}
	return false;
}

void doctor_losses(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *rows = rows_of(f, DOCTOR_RINGS), *list = rows_of(f, DOCTOR_LIST), *g, *all;
	const json_int_t events = doctor_u(f->reply[DOCTOR_INFO], "events_lost");
	struct doctor_names lost = { 0 }, guessed = { 0 }, late = { 0 };
	json_int_t wrs = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		g = json_array_get(rows, i);
		all = json_object_get(g, "totals");
		wrs += doctor_u(all, "wrs");
		if (doctor_percent(doctor_u(all, "lost"), doctor_u(all, "wrs")) > LOST_WARNING)
			doctor_name(&lost, doctor_s(g, "name"));
		if (has_flag(g, "mtus-guessed") || has_flag(g, "wrs-bounded"))
			doctor_name(&guessed, doctor_s(g, "name"));
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		g = json_array_get(list, i);
		if (doctor_percent(doctor_u(g, "latencies_lost"),
				   doctor_u(g, "latencies") + doctor_u(g, "latencies_lost")) >
		    LOST_WARNING)
			doctor_name(&late, doctor_s(g, "name"));
	}
	if (lost.n)
		doctor_say(r, DOCTOR_WARNING,
			   "see late ticks (resex doctor ticks); let applications use longer "
			   "queues, or set a shorter interval in resexd.json(5)",
			   "over %.0f %% of the work requests of %s were overwritten before they "
			   "were read",
			   LOST_WARNING, doctor_names_text(&lost));
	if (guessed.n)
		doctor_say(r, DOCTOR_WARNING, "see FLAGS in resex ring-list, and resex(1) on each",
			   "some counts of %s are not exact", doctor_names_text(&guessed));
	if (late.n)
		doctor_say(r, DOCTOR_WARNING, "see late ticks (resex doctor ticks)",
			   "over %.0f %% of the latencies that %s reported were overwritten before "
			   "they were read",
			   LOST_WARNING, doctor_names_text(&late));
	if (events)
		doctor_say(r, DOCTOR_WARNING,
			   "see late ticks (resex doctor ticks), and what resex events is full of",
			   "%lld events were dropped", (long long)events);
	if (!lost.n && !guessed.n && !late.n && !events)
		doctor_say(r, DOCTOR_OK, "",
			   "of %lld work requests and all latencies at most "
			   "%.0f %% were lost",
			   (long long)wrs, LOST_WARNING);
}

/* --- counters that no guest can forge ------------------------------------------------------ */

/* Of guests and of links. */
struct counted {
	struct doctor_names diverging, unread;
	const char *error;
	unsigned long compared, all;
};

static void count_rows(struct counted *k, const json_t *rows, const char *what)
{
	const json_t *row, *counter;
	char name[96];

	for (size_t i = 0; i < json_array_size(rows); i++) {
		row = json_array_get(rows, i);
		counter = json_object_get(row, "counter");
		snprintf(name, sizeof(name), "%s%.70s", what, doctor_s(row, "name"));
		k->all++;
		if (!json_is_object(counter))
			continue;
		k->compared++;
		if (*doctor_s(counter, "error")) {
			doctor_name(&k->unread, name);
			k->error = doctor_s(counter, "error");
		}
		if (doctor_b(counter, "diverges"))
			doctor_name(&k->diverging, name);
	}
}

void doctor_counters(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *info = f->reply[DOCTOR_INFO];
	struct counted k = { .error = "" };

	if (!doctor_b(info, "crosscheck")) {
		doctor_say(r, DOCTOR_WARNING, "remove crosscheck.off from resexd.json(5)",
			   "the cross-check is off: a guest that hides what it sends is not found");
		return;
	}
	count_rows(&k, rows_of(f, DOCTOR_RINGS), "");
	count_rows(&k, json_object_get(info, "links"), "link ");
	if (k.diverging.n)
		doctor_say(r, DOCTOR_FAULT,
			   "see resex ring-list, and The cross-check in resexd.json(5) for what it "
			   "may be",
			   "more is sent by %s than queues there claim",
			   doctor_names_text(&k.diverging));
	if (k.unread.n)
		doctor_say(r, DOCTOR_WARNING,
			   "correct counter of that guest or link in resexd.json(5)",
			   "the counter of %s cannot be read: %s", doctor_names_text(&k.unread),
			   k.error);
	if (!k.diverging.n && !k.unread.n && !k.compared)
		doctor_say(r, DOCTOR_UNKNOWN,
			   "name a counter for guests and links in resexd.json(5): of a virtual "
			   "function, or of a port",
			   "no guest and no link has a counter to compare its claims with");
	if (!k.diverging.n && !k.unread.n && k.compared)
		doctor_say(r, DOCTOR_OK, "",
			   "the counters of %lu of %lu guests and links explain what was sent",
			   k.compared, k.all);
}
