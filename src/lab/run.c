// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run: the engine on a simulated host, guided by a scenario. The engine calls turn() after
 * each tick (on the real clock: when an event is due, at least each 10 ms). turn() records
 * the newest snapshot and carries out the events that are due.
 *
 * The daemon under test is whole: it saves caps in files, and with the real clock has threads
 * and a control socket. Only the hypervisor is another. So what a scenario shows is what the
 * daemon does.
 */
#include "src/lab/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/engine/engine.h"
#include "src/guests/guests.h"
#include "src/lab/summary.h"
#include "src/util/clock.h"

#define TURN_NS	    (10 * NS_PER_MS) /* on the real clock: how often snapshots are recorded */
#define PROGRESS_NS NS_PER_S
#define PATIENCE_NS NS_PER_S /* for the last snapshot of a host that is busy */

struct run {
	struct scenario *sc;
	const struct scenario_opts *o;
	struct clock clock;
	struct sim_host *host;
	struct hv_sched *xl; /* sets caps without the daemon, as xl does */
	struct mono start;
	uint32_t next;	     /* event */
	int64_t progress_ns; /* wall clock of the last progress message */
	char dir[CONFIG_PATH_MAX + 1];
	char policy[FLOW_NAME_MAX];
	struct scenario_done done[SCENARIO_EVENTS_MAX];
	struct recorder rec;
};

/* --- events --- */

/*
 * NULL: the daemon does not know the guest yet. By domain id, as an operator can: names need not
 * be unique in Xen. A guest may have a number as its name, so the id is compared.
 */
static struct guest_entry *find_entry(struct run *r, struct guests *gs, uint32_t guest)
{
	uint32_t domid = sim_domid(r->host, guest);
	struct guest_entry *g;
	char id[16];

	snprintf(id, sizeof(id), "%u", domid);
	g = guests_find(gs, id);
	return g && guest_view(gs, g).key.domid == domid ? g : NULL;
}

/* The events that an operator would cause with resex. */
static int run_operator_event(struct run *r, struct guests *gs, const struct scenario_event *ev)
{
	struct guest_entry *g = ev->all ? NULL : find_entry(r, gs, ev->guest);
	int64_t wall_ns = clock_wall_ns();

	if (!g && !ev->all)
		return -ESRCH;
	switch (ev->what) {
	case SCENARIO_RELEASE:
	case SCENARIO_RETAKE:
		guests_release(gs, g, ev->what == SCENARIO_RELEASE, wall_ns);
		return 0;
	case SCENARIO_GUEST_SET:
		guests_configure(gs, g, &ev->conf, "by the scenario", wall_ns);
		return 0;
	default: /* g is NULL for all guests */
		return guests_pause(gs, g, ev->what == SCENARIO_PAUSE, wall_ns);
	}
}

/* The simulator's truth begins at 0 with a new life: keep that of the lives before. */
static int make_guest(struct run *r, const struct scenario_event *ev)
{
	struct record_truth before;
	int rc;

	record_truth(&r->rec, ev->guest, &before);
	rc = ev->what == SCENARIO_CREATE ? sim_create(r->host, ev->guest)
					 : sim_reboot(r->host, ev->guest);
	/* After success only: a guest that exists already goes on with the life that it has. */
	if (!rc)
		r->rec.guest[ev->guest].before = before;
	return rc;
}

static int change_policy(struct run *r, struct guests *gs, uint32_t i)
{
	struct scenario_event *ev = &r->sc->event[i];
	int rc;

	snprintf(r->done[i].policy, sizeof(r->done[i].policy), "%s", ev->policy->ops->name);
	/* Guests own the policy when this succeeds; else scenario_free() frees it. */
	rc = guests_set_policy(gs, ev->policy, clock_wall_ns());
	if (!rc)
		ev->policy = NULL;
	return rc;
}

/* The operator's own cap, set without the daemon, as xl does. */
static int set_cap(struct run *r, const struct scenario_event *ev)
{
	uint32_t domid = sim_domid(r->host, ev->guest);

	if (!domid) /* never created */
		return -ESRCH;
	return hv_put_cap(r->o->hv->sched, r->xl, domid, cap_from_percent(ev->cap));
}

static int run_event(struct run *r, struct guests *gs, uint32_t i)
{
	const struct scenario_event *ev = &r->sc->event[i];

	switch (ev->what) {
	case SCENARIO_DESTROY:
		return sim_destroy(r->host, ev->guest);
	case SCENARIO_CREATE:
	case SCENARIO_REBOOT:
		return make_guest(r, ev);
	case SCENARIO_POLICY:
		return change_policy(r, gs, i);
	case SCENARIO_RELEASE:
	case SCENARIO_RETAKE:
	case SCENARIO_GUEST_SET:
	case SCENARIO_PAUSE:
	case SCENARIO_RESUME:
		return run_operator_event(r, gs, ev);
	case SCENARIO_CAP:
		return set_cap(r, ev);
	}
	return -EINVAL;
}

/* Only one change of policy at a time: the sampler takes it up a tick or two later. */
static bool must_wait(const struct guests *gs, const struct scenario_event *ev)
{
	return ev->what == SCENARIO_POLICY && guests_view(gs).policy_changing;
}

static void run_due_events(struct run *r, struct guests *gs, struct mono now)
{
	int64_t at = mono_sub(now, r->start);

	/* All that are due: several may be planned for one moment, or a tick was late. */
	while (r->next < r->sc->events && r->sc->event[r->next].at_ns <= at) {
		const struct scenario_event *ev = &r->sc->event[r->next];
		struct scenario_done *d = &r->done[r->next];

		if (must_wait(gs, ev))
			return;
		d->event = ev;
		d->at_ns = at;
		d->rc = run_event(r, gs, r->next);
		if (d->rc)
			log_msg(r->o->log, LOG_LVL_WARNING, "event %u (%s): %s", r->next,
				scenario_do_names[ev->what], scenario_why(d->rc));
		r->next++;
	}
}

/* --- the engine's guide --- */

static void print_progress(struct run *r, int64_t at)
{
	int64_t wall = clock_wall_ns();

	if (!r->o->progress || wall - r->progress_ns < PROGRESS_NS)
		return;
	r->progress_ns = wall;
	fprintf(stderr, "\r%.1f of %.1f s ", (double)at / 1e9, (double)r->sc->duration_ns / 1e9);
}

/* Go on until a snapshot covers the whole duration, but no longer than PATIENCE_NS. */
static bool is_over(const struct run *r, int64_t left)
{
	return left <= 0 &&
	       (mono_sub(r->rec.last, r->start) >= r->sc->duration_ns || left < -PATIENCE_NS);
}

static int64_t guide_turn(void *arg, struct guests *gs, struct mono now)
{
	struct run *r = arg;
	int64_t at = mono_sub(now, r->start), left = r->sc->duration_ns - at;

	/* Before the events: the snapshot is of the time before them. */
	record_snapshot(&r->rec, guests_snapshot(gs));
	record_diverging(&r->rec, gs, now);
	if (r->rec.rc)
		return -1;
	/* Also in the last turn: on the real clock it may come late, and be the only one. */
	run_due_events(r, gs, now);
	if (is_over(r, left))
		return -1;
	print_progress(r, at);
	if (r->next < r->sc->events && r->sc->event[r->next].at_ns - at < left)
		left = r->sc->event[r->next].at_ns - at;
	/* At least 1 ms, an interval: calls in quick succession would find no newer snapshot. */
	return left < NS_PER_MS ? NS_PER_MS : left < TURN_NS ? left : TURN_NS;
}

/* --- the life of a run --- */

static int make_dir(struct run *r, struct conf_error *e)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(r->dir, sizeof(r->dir), "%s/resexd-scenario-XXXXXX",
			 tmp && *tmp ? tmp : "/tmp");
	/* 20: room for the names of the files in it. */
	int rc = n + 20 < (int)sizeof(r->dir) ? 0 : -ENAMETOOLONG;

	if (!rc && !mkdtemp(r->dir))
		rc = -errno;
	if (rc) {
		conf_error_set(
			e, RESEX_FAILURE,
			"no directory can be made in %s (%s): set TMPDIR to one where it can",
			tmp && *tmp ? tmp : "/tmp", strerror(-rc));
		r->dir[0] = 0;
	}
	return rc;
}

/* Remove the saved caps too: the simulated guests are gone. */
static void remove_dir(const struct run *r)
{
	/* By name: if anything else is there, the run did not make it. */
	static const char *const files[] = { "caps.json",     "caps.json.new",
					     "caps.json.bak", "caps.json.bak.new",
					     "caps.written",  "caps.written.new",
					     "sock" };
	char path[2 * CONFIG_PATH_MAX];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", r->dir, files[i]);
		unlink(path);
	}
	rmdir(r->dir);
}

static void set_paths(struct run *r)
{
	struct daemon_conf *c = &r->sc->conf;

	snprintf(c->state_dir, sizeof(c->state_dir), "%s", r->dir);
	snprintf(c->lock_file, sizeof(c->lock_file), "%.90s/lock", r->dir);
	if (r->o->socket)
		snprintf(c->socket, sizeof(c->socket), "%s", r->o->socket);
	else
		snprintf(c->socket, sizeof(c->socket), "%.90s/sock", r->dir);
}

static struct mono now_of(void *arg)
{
	struct run *r = arg;

	return r->clock.now(&r->clock);
}

static int open_host(struct run *r, struct conf_error *e)
{
	int rc;

	/*
	 * Simulated time does not begin at 0, which means "never" in some times (resex/policy.h).
	 */
	if (r->sc->clock == SCENARIO_REAL)
		clock_real(&r->clock);
	else
		clock_sim(&r->clock, (struct mono){ NS_PER_S });
	r->start = now_of(r);
	rc = sim_open(&r->host, &r->sc->sim, r->start);
	if (!rc)
		rc = record_open(&r->rec, r->sc, r->host, r->start);
	if (!rc)
		rc = r->o->hv->sched->open(&r->xl, r->host);
	if (rc) {
		conf_error_set(e, RESEX_FAILURE, "the simulated host: %s", strerror(-rc));
		return rc;
	}
	sim_set_clock(r->host, now_of, r);
	sim_set_observer(r->host, record_request, &r->rec);
	return 0;
}

/* Run the daemon from start to end. *complete: no signal ended it. */
static int run_engine(struct run *r, bool *complete, struct conf_error *e)
{
	const struct engine_guide guide = { guide_turn, r };
	const struct engine_conf ec = {
		.conf = &r->sc->conf,
		.hv = r->o->hv,
		.hv_arg = r->host,
		.log = r->o->log,
		.observe = r->o->observe,
		.init = r->sc->policy,
		.plugins = r->sc->plugins,
		.guide = &guide,
		.sim = r->sc->clock == SCENARIO_SIMULATED ? &r->clock : NULL,
	};
	struct engine *en;
	int rc;

	/* The engine takes the policy over, also when it fails. */
	r->sc->policy = NULL;
	rc = engine_open(&en, &ec, e);
	if (rc)
		return rc;
	if (r->sc->clock == SCENARIO_REAL)
		log_msg(r->o->log, LOG_LVL_INFO, "simulated host: resex -s %s list",
			r->sc->conf.socket);
	rc = engine_run(en);
	if (engine_close(en) && !rc)
		rc = -EIO;
	*complete = rc != -EINTR;
	/* A signal is not an error: the summary of what ran so far is printed, and says so. */
	if (rc == -EINTR)
		rc = r->rec.rc;
	if (rc)
		conf_error_set(e, RESEX_FAILURE, "the run failed: %s", strerror(-rc));
	return rc;
}

static int run_all(struct run *r, json_t **summary, struct conf_error *e)
{
	struct scenario_outcome out = { .rec = &r->rec, .done = r->done, .observe = r->o->observe };
	int rc;

	/* Copied: the engine frees policies before the summary is made. */
	snprintf(out.policy, sizeof(out.policy), "%s", r->sc->policy->ops->name);
	rc = run_engine(r, &out.complete, e);
	if (r->progress_ns && r->o->progress)
		fprintf(stderr, "\r%20s\r", "");
	if (rc)
		return rc;
	out.dones = r->next;
	*summary = scenario_summary(&out);
	if (*summary)
		return 0;
	conf_error_set(e, RESEX_FAILURE, "no memory for the summary: free some");
	return -ENOMEM;
}

int scenario_run(struct scenario *sc, const struct scenario_opts *o, json_t **summary,
		 struct conf_error *e)
{
	struct run *r = calloc(1, sizeof(*r));
	int rc;

	if (!r) {
		conf_error_set(e, RESEX_FAILURE, "no memory for the run: free some");
		return -ENOMEM;
	}
	r->sc = sc;
	r->o = o;
	r->progress_ns = clock_wall_ns() + PROGRESS_NS; /* none in a short run */
	rc = make_dir(r, e);
	if (!rc) {
		set_paths(r);
		rc = open_host(r, e);
	}
	if (!rc)
		rc = run_all(r, summary, e);
	if (r->rec.sc)
		record_close(&r->rec);
	if (r->xl)
		r->o->hv->sched->close(r->xl);
	if (r->host)
		sim_close(r->host);
	if (r->dir[0])
		remove_dir(r);
	free(r);
	return rc;
}
