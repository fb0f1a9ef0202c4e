/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * truth_rig: the whole daemon on a simulated host, tick by tick, and beside it what really
 * happened: the simulator's truth of each guest at the end of each millisecond, which the daemon
 * never sees. A test asks `why` as a client would, and holds the sentence against that truth.
 *
 *	scenario (JSON) --> engine, a tick --> truth is noted --> acts that are due --> look()
 *
 * without() runs the same guests without a daemon, and without some of them: what a guest's
 * latency would have been.
 */
#ifndef RESEX_TESTS_TRUTH_RIG_H
#define RESEX_TESTS_TRUTH_RIG_H

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/control/methods_priv.h"
#include "src/engine/engine.h"
#include "src/hv/backends.h"
#include "src/lab/scenario.h"
#include "src/sim/hyp.h"
#include "src/sim/model.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

enum { TRUTH_GUESTS = 8, TRUTH_MS = 20000, TRUTH_RUNS = 8, TRUTH_TEXT = 1024 };

/* Of one guest at the end of a millisecond; sums are since the host's start. */
struct moment {
	struct sim_truth done;
	double n, sum, square; /* true latencies of requests, us */
	double io;	       /* of these, the time of the link */
	uint32_t cap;	       /* of the simulated scheduler, percent; 0: none */
};

struct truth {
	struct scenario *sc;
	const char *acts; /* what is still to be done */
	struct sim_host *host;
	struct clock clock;
	struct mono start;
	struct tmpdir dir;
	struct log log;
	int ms, end;
	struct moment now[TRUTH_GUESTS];	 /* its latencies, up to now */
	struct moment *was[TRUTH_GUESTS];	 /* by millisecond */
	struct moment *other[1 << TRUTH_GUESTS]; /* without the guests of the mask: of all guests */
	/* look: called each millisecond; act_done: an act was done in this one. */
	void (*look)(struct truth *t, struct guests *gs);
	void *arg;
	struct call call; /* of an act that is not answered yet; guests NULL: none */
	json_t *reply;	  /* of the last act */
	bool act_done;
	bool slow; /* methods get a snapshot each 10 ms, as in the daemon, not each ms: sn */
	struct snapshot sn;
	char failed[2 * TRUTH_TEXT]; /* the first thing that is not true; "": none */
};

/* Within the engine no test may end: note what is wrong, and stop the run. */
__attribute__((format(printf, 2, 3))) static inline bool untrue(struct truth *t, const char *fmt,
								...)
{
	va_list ap;
	int n;

	if (t->failed[0])
		return false;
	n = snprintf(t->failed, sizeof(t->failed), "at %d ms: ", t->ms);
	va_start(ap, fmt);
	vsnprintf(t->failed + n, sizeof(t->failed) - (size_t)n, fmt, ap);
	va_end(ap);
	return false;
}

static inline const struct sim_conf *conf_of(const struct truth *t)
{
	return &t->sc->sim;
}

/* -1: no guest has this name. */
static inline int guest_of(const struct truth *t, const char *name)
{
	return scenario_find(t->sc, name);
}

static inline const struct moment *moment_of(const struct truth *t, int guest, int ms)
{
	return &t->was[guest][ms < 0 ? 0 : ms > t->ms ? t->ms : ms];
}

/* --- what happened -------------------------------------------------------------- */

static inline void truth_seen(void *arg, uint32_t guest, uint32_t app, uint64_t latency_ns)
{
	struct moment *m = (struct moment *)arg + guest;
	double us = (double)latency_ns / 1000;

	(void)app;
	m->n++;
	m->sum += us;
	m->square += us * us;
}

static inline void note(struct sim_host *h, uint32_t guest, struct moment *m)
{
	struct sim_app_truth a;
	struct sim_hyp_dom d;
	uint32_t id = sim_domid(h, guest);

	if (!id)
		return;
	sim_truth(h, guest, &m->done);
	if (!sim_app_truth(h, guest, 0, &a))
		m->io = (double)(a.wtime_ns + a.ptime_ns) / 1000;
	if (!sim_hyp_dom(h, id, &d) && d.domid == id)
		m->cap = d.cap;
}

/* Mean and deviation of a guest's true latencies in (from, to] ms, and the mean of their I/O. */
struct spread {
	double n, mean, dev, io;
};

static inline struct spread spread_of(const struct moment *m, int from, int to)
{
	const struct moment *a = &m[from < 0 ? 0 : from], *b = &m[to < 0 ? 0 : to];
	struct spread s = { .n = b->n - a->n };
	double var;

	if (s.n < 1)
		return s;
	s.mean = (b->sum - a->sum) / s.n;
	s.io = (b->io - a->io) / s.n;
	var = (b->square - a->square) / s.n - s.mean * s.mean;
	s.dev = var > 0 ? sqrt(var) : 0;
	return s;
}

/* The same guests without a daemon, and without those of mask, up to the end of the run. */
static inline const struct moment *without(struct truth *t, uint32_t mask, int guest)
{
	struct sim_host *h = NULL;
	struct sim_conf *c;
	struct moment now[TRUTH_GUESTS] = { 0 }, *all;

	if (!t->other[mask]) {
		c = malloc(sizeof(*c));
		all = calloc((size_t)TRUTH_GUESTS * (size_t)(t->end + 1), sizeof(*all));
		if (!c || !all)
			abort();
		*c = *conf_of(t);
		for (uint32_t i = 0; i < c->guests; i++)
			if (mask >> i & 1)
				c->guest[i].apps = 0;
		if (sim_open(&h, c, t->start))
			abort();
		sim_set_observer(h, truth_seen, now);
		for (int ms = 0; ms <= t->end; ms++) {
			sim_advance(h, mono_add(t->start, ms * NS_PER_MS));
			for (uint32_t i = 0; i < c->guests; i++) {
				note(h, i, &now[i]);
				all[i * (uint32_t)(t->end + 1) + (uint32_t)ms] = now[i];
			}
		}
		sim_close(h);
		free(c);
		t->other[mask] = all;
	}
	return t->other[mask] + guest * (t->end + 1);
}

static inline uint32_t all_but(const struct truth *t, int guest)
{
	return ((1u << conf_of(t)->guests) - 1) & ~(1u << guest);
}

/* Alone on the host, over the whole run. */
static inline struct spread alone(struct truth *t, int guest)
{
	return spread_of(without(t, all_but(t, guest), guest), 10, t->end);
}

/* How far latencies are above those alone, in percent of their mean alone. */
struct rise {
	double mean, dev;
};

static inline struct rise rise_over(struct spread s, struct spread base)
{
	double more = s.dev * s.dev - base.dev * base.dev;
	struct rise r = { 0 };

	if (s.n >= 1 && base.n >= 1) {
		r.mean = fmax(0, 100 * (s.io - base.io) / base.mean);
		r.dev = more > 0 ? 100 * sqrt(more) / base.mean : 0;
	}
	return r;
}

static inline struct rise rise_in(struct truth *t, int guest, int from, int to)
{
	return rise_over(spread_of(t->was[guest], from, to), alone(t, guest));
}

/* --- what is done to the host ----------------------------------------------------- */

static inline json_t *params_for(const char *guest, const char *key, const char *value)
{
	json_t *o = json_object();

	if (guest)
		json_object_set_new(o, "guest", json_string(guest));
	if (key && (!strcmp(value, "true") || !strcmp(value, "false")))
		json_object_set_new(o, key, json_boolean(!strcmp(value, "true")));
	else if (key)
		json_object_set_new(o, key, json_string(value));
	return o;
}

/* A method as the server calls it. CALL_LATER: it is called again in the next millisecond. */
static inline int method(struct truth *t, struct call *c, struct guests *gs, const char *name,
			 json_t *params, json_t **reply)
{
	struct request r = { .method = name, .params = params };

	c->guests = gs;
	c->sn = t->slow ? &t->sn : guests_snapshot(gs);
	c->now = (struct mono){ t->clock.sim_ns };
	c->wall_ns = t->clock.sim_ns;
	c->root = true;
	*reply = NULL;
	return method_call(c, &r, reply);
}

/* Break the headers of a guest's queues, as a guest may that forges them. */
static inline void forge(struct truth *t, int guest)
{
	struct sim_dom *d = t->host->guest[guest].dom;

	for (uint32_t i = 0; d && i < d->qps; i++)
		memset(sim_mem_page(&d->mem, d->qp[i].ring.frame[0]), 0x5a, 8);
}

/*
 * One act: "pause bulk", "resume", "cap-release bulk", "cap-release bulk undo true", "policy-set
 * null"; "guest-set bulk exempt false"; of the host: "create bulk", "destroy bulk", "late 200",
 * "forge bulk", "block" (caps are not saved from now on; those that are stay). True: it is done.
 */
static inline bool act(struct truth *t, struct guests *gs, char w[4][32])
{
	int g = w[1][0] ? guest_of(t, w[1]) : -1, rc;
	json_t *params, *set;

	t->act_done = true;
	if (!strcmp(w[0], "create"))
		return !sim_create(t->host, (uint32_t)g);
	if (!strcmp(w[0], "destroy"))
		return !sim_destroy(t->host, (uint32_t)g);
	if (!strcmp(w[0], "late")) {
		t->clock.sim_ns += atoi(w[1]) * NS_PER_MS;
		return true;
	}
	if (!strcmp(w[0], "forge")) {
		forge(t, g);
		return true;
	}
	if (!strcmp(w[0], "block"))
		return !mkdir(tmp_at(&t->dir, "caps.json.new"), 0700);
	if (!strcmp(w[0], "policy-set")) {
		params = params_for(NULL, "policy", w[1]);
	} else if (!strcmp(w[0], "guest-set")) {
		params = params_for(w[1], NULL, NULL);
		set = params_for(NULL, w[2], w[3]);
		json_object_set_new(params, "settings", set);
	} else {
		params = params_for(w[1][0] ? w[1] : NULL, w[2][0] ? w[2] : NULL, w[3]);
	}
	json_decref(t->reply);
	rc = method(t, &t->call, gs, w[0], params, &t->reply);
	json_decref(params);
	if (rc > 0)
		untrue(t, "%s: %s", w[0], t->call.error.text);
	t->act_done = rc != CALL_LATER;
	if (t->act_done)
		t->call = (struct call){ 0 };
	return t->act_done;
}

/* Acts are "MS VERB [WORD [WORD [WORD]]]; ...", in the order of their times. */
static inline void acts_due(struct truth *t, struct guests *gs)
{
	char text[128], w[4][32] = { { 0 } };
	int at, used = 0;

	t->act_done = false;
	while (t->acts && *t->acts) {
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(t->acts, ";"), t->acts);
		memset(w, 0, sizeof(w));
		sscanf(text, "%d%n %31s %31s %31s %31s", &at, &used, w[0], w[1], w[2], w[3]);
		if (at > t->ms || !act(t, gs, w))
			return;
		t->acts += strcspn(t->acts, ";");
		t->acts += strspn(t->acts, "; ");
	}
}

/* --- the run ---------------------------------------------------------------------- */

static inline int64_t truth_turn(void *arg, struct guests *gs, struct mono now)
{
	struct truth *t = arg;
	int before = t->ms;

	t->ms = (int)(mono_sub(now, t->start) / NS_PER_MS);
	if (t->ms > t->end)
		return -1;
	for (uint32_t i = 0; i < conf_of(t)->guests; i++) {
		note(t->host, i, &t->now[i]);
		for (int ms = before + 1; ms <= t->ms; ms++) /* several when the host was late */
			t->was[i][ms] = t->now[i];
	}
	if (t->ms % 10 == 0)
		t->sn = *guests_snapshot(gs);
	acts_due(t, gs);
	t->look(t, gs);
	return t->failed[0] || t->ms >= t->end ? -1 : NS_PER_MS;
}

static inline struct mono truth_now(void *arg)
{
	struct truth *t = arg;

	return (struct mono){ t->clock.sim_ns };
}

static inline void truth_open(struct truth *t, const char *scenario)
{
	struct conf_error e = { 0 };

	t->ms = -1;
	t->sc = calloc(1, sizeof(*t->sc));
	assert_non_null(t->sc);
	if (scenario_parse(t->sc, "scenario", scenario, strlen(scenario), &e))
		fail_msg("%s", e.text);
	assert_in_range(conf_of(t)->guests, 1, TRUTH_GUESTS);
	t->end = (int)(t->sc->duration_ns / NS_PER_MS);
	assert_in_range(t->end, 1, TRUTH_MS);
	for (uint32_t i = 0; i < conf_of(t)->guests; i++) {
		t->was[i] = calloc((size_t)t->end + 1, sizeof(*t->was[i]));
		assert_non_null(t->was[i]);
	}
	tmp_open(&t->dir);
	log_init(&t->log, "truth", LOG_LVL_ERROR);
	t->log.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	snprintf(t->sc->conf.state_dir, sizeof(t->sc->conf.state_dir), "%s", t->dir.path);
	clock_sim(&t->clock, (struct mono){ NS_PER_S });
	t->start = (struct mono){ t->clock.sim_ns };
	assert_int_equal(sim_open(&t->host, conf_of(t), t->start), 0);
	sim_set_clock(t->host, truth_now, t);
	sim_set_observer(t->host, truth_seen, t->now);
}

/* Run the scenario to its end; what was untrue is in t->failed. */
static inline void truth_run(struct truth *t, bool observe)
{
	const struct engine_guide guide = { truth_turn, t };
	const struct engine_conf ec = { .conf = &t->sc->conf,
					.hv = &hv_sim,
					.hv_arg = t->host,
					.log = &t->log,
					.observe = observe,
					.init = t->sc->policy,
					.guide = &guide,
					.sim = &t->clock };
	struct conf_error e = { 0 };
	struct engine *en = NULL;

	t->sc->policy = NULL;
	if (engine_open(&en, &ec, &e))
		fail_msg("%s", e.text);
	engine_run(en);
	engine_close(en);
}

static inline void truth_close(struct truth *t)
{
	sim_close(t->host);
	scenario_free(t->sc);
	free(t->sc);
	for (uint32_t i = 0; i < TRUTH_GUESTS; i++)
		free(t->was[i]);
	for (uint32_t i = 0; i < 1 << TRUTH_GUESTS; i++)
		free(t->other[i]);
	json_decref(t->reply);
	close(t->log.fd);
	tmp_empty(t->dir.path);
	rmdir(t->dir.path); /* a test may have removed it */
}

#endif
