// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * doctor: the table of checks, and those of resexd itself and of what it stands on. See doctor.h.
 */
#include "src/cli/doctor.h"

#include <stdio.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cli/doctor_priv.h"

/* Of ticks, in percent: beyond it, caps come late; beyond the other, charges are of long ago. */
#define LATE_WARNING 1.0
#define LATE_FAULT   10.0

/* --- resexd ----------------------------------------------------------------------- */

static void say_no_daemon(const struct doctor_facts *f, const struct doctor_report *r)
{
	const struct doctor_process *p = &f->process;
	char remedy[96];

	if (f->daemon == RESEX_PERMISSION) {
		doctor_say(r, DOCTOR_FAULT,
			   "run resex as root, or join the group that socket_group of "
			   "resexd.json(5) names",
			   "%s", f->daemon_error);
		return;
	}
	if (!p->known) {
		doctor_say(r, DOCTOR_FAULT,
			   "resexd --check says whether its configuration is good, and journalctl "
			   "-u resexd why it ended",
			   "%s", f->daemon_error);
		return;
	}
	if (p->state == 'T') {
		snprintf(remedy, sizeof(remedy), "let it go on: kill -CONT %u", p->pid);
		doctor_say(r, DOCTOR_FAULT, remedy, "resexd, process %u, is stopped by a signal",
			   p->pid);
		return;
	}
	doctor_say(r, DOCTOR_FAULT,
		   "see journalctl -u resexd; if it hangs: systemctl restart resexd, which "
		   "restores all caps",
		   "%s (process %u, state %c)", f->daemon_error, p->pid, p->state);
}

static void check_daemon(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *info = f->reply[DOCTOR_INFO];
	const char *version = doctor_s(info, "version");
	bool acts = true;

	if (!info) {
		say_no_daemon(f, r);
		return;
	}
	if (strcmp(version, f->version) != 0)
		doctor_say(r, DOCTOR_WARNING,
			   "install the same version of both, and restart resexd",
			   "resexd has version %s, and resex %s", version, f->version);
	if (doctor_b(info, "observe")) {
		acts = false;
		doctor_say(r, DOCTOR_WARNING, "start it without --observe when it shall cap",
			   "resexd only observes: it sets no cap");
	}
	if (doctor_b(info, "paused")) {
		acts = false;
		doctor_say(r, DOCTOR_WARNING, "resex resume",
			   "all guests are paused: none is "
			   "capped");
	}
	if (acts)
		doctor_say(r, DOCTOR_OK, "", "resexd %s answers: policy %s, %lld guests", version,
			   doctor_s(info, "policy"), (long long)doctor_u(info, "guests"));
}

static void check_xen(const struct doctor_facts *f, const struct doctor_report *r)
{
	if (doctor_b(f->reply[DOCTOR_INFO], "simulated")) {
		doctor_say(r, DOCTOR_OK, "",
			   "the host is simulated (resexd --hv sim): no guest here is real");
		return;
	}
	switch (f->xen) {
	case DOCTOR_XEN_DOM0:
		doctor_say(r, DOCTOR_OK, "", "this is dom0 of Xen %s", f->xen_version);
		break;
	case DOCTOR_XEN_GUEST:
		doctor_say(r, DOCTOR_FAULT, "run resexd in dom0, and resex-agent here",
			   "this is a guest of Xen, not dom0");
		break;
	case DOCTOR_NO_XEN:
		doctor_say(r, DOCTOR_FAULT,
			   "boot the machine with Xen; without it, try resexd --hv sim",
			   "Xen does not run here");
	}
}

/* --- the scheduler, and whether guests can be capped -------------------------------------- */

/* Of guests that policies may cap: why Xen or resexd does not. */
static void say_uncappable(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *rows = json_object_get(f->reply[DOCTOR_CAPS], "guests"), *g;
	struct doctor_names uncappable = { 0 }, failed = { 0 };
	const char *note = "", *error = "";

	for (size_t i = 0; i < json_array_size(rows); i++) {
		g = json_array_get(rows, i);
		if (!strcmp(doctor_s(g, "state"), "uncappable")) {
			doctor_name(&uncappable, doctor_s(g, "name"));
			note = doctor_s(g, "note");
		} else if (*doctor_s(g, "error")) {
			doctor_name(&failed, doctor_s(g, "name"));
			error = doctor_s(g, "error");
		}
	}
	if (uncappable.n)
		doctor_say(r, DOCTOR_WARNING, "see NOTE in resex cap-list, and resexd(8)",
			   "no policy can cap %s: %s", doctor_names_text(&uncappable), note);
	if (failed.n)
		doctor_say(r, DOCTOR_FAULT, "see resex events and the log of resexd",
			   "the cap of %s could not be set: %s", doctor_names_text(&failed), error);
}

static bool has_caps(const char *scheduler)
{
	static const char *const with[] = { "credit2", "credit", "sim" };

	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++)
		if (!strcmp(scheduler, with[i]))
			return true;
	return false;
}

static void check_scheduler(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *all = json_object_get(f->reply[DOCTOR_INFO], "schedulers");
	struct doctor_names with = { 0 }, without = { 0 };
	const size_t before = json_array_size(r->findings);
	const char *name;

	for (size_t i = 0; i < json_array_size(all); i++) {
		name = json_string_value(json_array_get(all, i));
		if (name)
			doctor_name(has_caps(name) ? &with : &without, name);
	}
	if (without.n)
		doctor_say(r, DOCTOR_FAULT,
			   "boot Xen with sched=credit2, or move these guests to a cpupool with "
			   "it: xl cpupool-migrate",
			   "guests run under the scheduler %s, which has no caps",
			   doctor_names_text(&without));
	say_uncappable(f, r);
	if (json_array_size(r->findings) != before)
		return;
	if (with.n)
		doctor_say(r, DOCTOR_OK, "",
			   "the scheduler is %s, which has caps; to see one limit a guest: resex "
			   "doctor --cap-test GUEST",
			   doctor_names_text(&with));
	else
		doctor_say(r, DOCTOR_UNKNOWN, "install the version of resex that resexd has",
			   "resexd does not tell the scheduler of its guests");
}

/* --- what resexd may do ------------------------------------------------------------------- */

static void check_privileges(const struct doctor_facts *f, const struct doctor_report *r)
{
	const json_t *info = f->reply[DOCTOR_INFO];
	const struct doctor_process *p = &f->process;
	const size_t before = json_array_size(r->findings);
	const uint32_t priority = (uint32_t)doctor_u(info, "realtime_priority");

	if (!p->known) {
		doctor_say(r, DOCTOR_UNKNOWN, "run resex on the host itself, not in a container",
			   "the process of resexd cannot be seen from here");
		return;
	}
	if (p->uid && !doctor_b(info, "simulated"))
		doctor_say(r, DOCTOR_FAULT, "run it as root: systemctl start resexd",
			   "resexd runs as user %u, who may neither map guests nor set caps",
			   p->uid);
	if (doctor_b(info, "lock_memory") && !p->locked_kib)
		doctor_say(r, DOCTOR_WARNING,
			   "run resexd as root, or raise its LimitMEMLOCK; or set lock_memory to "
			   "false in resexd.json(5)",
			   "the memory of resexd is not locked: ticks are late when memory is "
			   "short");
	if (p->priority < priority)
		doctor_say(r, DOCTOR_WARNING,
			   "run resexd as root, or raise its LimitRTPRIO; or set "
			   "realtime_priority to 0 in resexd.json(5)",
			   "no thread of resexd has the real-time priority %u that is configured",
			   priority);
	if (json_array_size(r->findings) == before)
		doctor_say(r, DOCTOR_OK, "",
			   "resexd runs as user %u, %llu KiB of its memory locked, its sampler %s",
			   p->uid, (unsigned long long)p->locked_kib,
			   priority ? "with real-time priority" : "without real-time priority");
}

/* --- ticks ---------------------------------------------------------------------------------- */

static void check_ticks(const struct doctor_facts *f, const struct doctor_report *r)
{
	static const char remedy[] =
		"give dom0 CPUs of its own (dom0_max_vcpus and dom0_vcpus_pin of Xen), or set "
		"realtime_priority or a longer interval in resexd.json(5)";
	const json_t *then = f->reply[DOCTOR_INFO], *now = f->reply[DOCTOR_LATER];
	const json_int_t ticks = doctor_u(now, "ticks") - doctor_u(then, "ticks");
	const json_int_t late = doctor_u(now, "late_ticks") - doctor_u(then, "late_ticks");
	const double of_new = doctor_percent(late, ticks);
	const double of_all = doctor_percent(doctor_u(now, "late_ticks"), doctor_u(now, "ticks"));
	const double p99_ms = doctor_f(now, "late_p99_ns") / 1e6;
	const double mean_ms = doctor_f(now, "tick_mean_ns") / 1e6;
	const double interval_ms = doctor_f(now, "interval_ns") / 1e6;

	if (ticks < 0) {
		doctor_say(r, DOCTOR_UNKNOWN, "try again", "resexd was started anew meanwhile");
		return;
	}
	if (!ticks) {
		doctor_say(r, DOCTOR_FAULT,
			   "see journalctl -u resexd; if it hangs: systemctl restart resexd",
			   "there was no tick in the last second: nothing is counted, and no cap "
			   "is changed");
		return;
	}
	if (of_new > LATE_FAULT)
		doctor_say(r, DOCTOR_FAULT, remedy, "%.1f %% of the last %lld ticks were late",
			   of_new, (long long)ticks);
	else if (of_new > LATE_WARNING || of_all > LATE_WARNING)
		doctor_say(r, DOCTOR_WARNING, remedy,
			   "%.1f %% of the last %lld ticks were late, and %.1f %% of all", of_new,
			   (long long)ticks, of_all);
	else if (2 * mean_ms > interval_ms)
		doctor_say(r, DOCTOR_WARNING, "set a longer interval in resexd.json(5)",
			   "a tick takes %.3f ms of an interval of %.3f ms", mean_ms, interval_ms);
	else
		doctor_say(r, DOCTOR_OK, "",
			   "%.1f %% of all ticks were late; 99 %% came within %.3f ms of their "
			   "time, and one takes %.3f ms of an interval of %.3f ms",
			   of_all, p99_ms, mean_ms, interval_ms);
}

/* --- the table -------------------------------------------------------------------------------- */

/* In the order in which an expert asks. resex(1) lists them too. */
/* clang-format off */
const struct doctor_check doctor_checks[] = {
	{ "daemon", "resexd answers, and may cap",
	  DOCTOR_NEEDS(INFO), true, check_daemon },
	{ "xen", "this is dom0 of Xen",
	  DOCTOR_NEEDS(INFO), true, check_xen },
	{ "scheduler", "the scheduler has caps, and guests can be capped",
	  DOCTOR_NEEDS(INFO) | DOCTOR_NEEDS(CAPS), false, check_scheduler },
	{ "privileges", "resexd has the rights that its configuration needs",
	  DOCTOR_NEEDS(INFO), false, check_privileges },
	{ "ticks", "ticks come in time (takes a second)",
	  DOCTOR_NEEDS(INFO) | DOCTOR_NEEDS(LATER), false, check_ticks },
	{ "links", "the rate of each link is that of its device",
	  DOCTOR_NEEDS(INFO), false, doctor_links },
	{ "adapters", "the queues of this host's adapters can be read",
	  DOCTOR_NEEDS(INFO), false, doctor_adapters },
	{ "agents", "resex-agent is heard in each guest",
	  DOCTOR_NEEDS(RINGS), false, doctor_agents },
	{ "rings", "the queues that guests publish can be read",
	  DOCTOR_NEEDS(RINGS), false, doctor_rings },
	{ "reports", "guests report the latencies that the policy needs",
	  DOCTOR_NEEDS(INFO) | DOCTOR_NEEDS(LIST) | DOCTOR_NEEDS(SHOWS), false, doctor_reports },
	{ "losses", "nothing was overwritten before it was read",
	  DOCTOR_NEEDS(INFO) | DOCTOR_NEEDS(LIST) | DOCTOR_NEEDS(RINGS), false, doctor_losses },
	{ "counters", "counters agree with what guests' queues claim",
	  DOCTOR_NEEDS(INFO) | DOCTOR_NEEDS(RINGS), false, doctor_counters },
	{ "cluster", "the other hosts are up, and agree",
	  DOCTOR_NEEDS(INFO) | DOCTOR_NEEDS(HOSTS), false, doctor_cluster },
	{ "clocks", "clocks are synchronized",
	  DOCTOR_NEEDS(INFO) | DOCTOR_NEEDS(HOSTS), true, doctor_clocks },
	{ 0 },
};
/* clang-format on */

const struct doctor_check *doctor_find(const char *name)
{
	for (const struct doctor_check *c = doctor_checks; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static bool lacks_reply(const struct doctor_check *c, const struct doctor_facts *f)
{
	for (int i = 0; i < DOCTOR_REPLIES; i++)
		if ((c->needs >> i & 1) && !f->reply[i])
			return true;
	return false;
}

void doctor_run(const struct doctor_check *c, const struct doctor_facts *f, json_t *findings)
{
	const struct doctor_report r = { c->name, findings };

	if (c->anyhow || !lacks_reply(c, f))
		c->run(f, &r);
	else if (f->daemon)
		doctor_say(&r, DOCTOR_UNKNOWN, "", "not known, since resexd does not answer");
	else
		doctor_say(&r, DOCTOR_UNKNOWN, "see journalctl -u resexd", "not known: %s",
			   f->daemon_error);
}
