// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * recovery_sim: turns at those moments at which some host has something to do. See
 * recovery_sim.h.
 */
#include "tests/bench/recovery_sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/core/random.h"
#include "src/transport/shm/faults.h"
#include "tests/bench/lock_host.h"

enum {
	HOME = 1,
	CONTENDERS_MAX = 16,
	HOSTS_MAX = HOME + CONTENDERS_MAX,
	PPM = 1000000,
	LINKING_NS = NS_PER_MS / 4, /* a turn while sockets, which have no due time, matter */
	STUCK_TURNS = 64,
};

static const struct mono NEVER = { INT64_MAX };
static const int64_t START_NS = NS_PER_S, PATIENCE_NS = 60 * NS_PER_S;

enum phase {
	JOINING,  /* until all others wait at the holder's word */
	RENEWING, /* until somebody has a fresh lease */
	HOLDING,  /* until the holder's end */
	OVER,	  /* it is dead or hangs; until another has the lock */
};

struct host {
	struct lock_host h; /* h.t NULL: dead */
	uint64_t generation;
	int64_t ppm;	   /* by so much its clock is fast */
	struct mono awake; /* in true time: nothing of it happens before */
	uint64_t fence;	   /* of its last acquisition */
};

struct sim {
	const struct recovery_conf *c;
	struct recovery_result *res;
	int64_t *took;
	char *text;
	uint64_t rng;
	struct mono now; /* true */
	enum phase phase;
	struct mono at; /* RENEWING: to renew; HOLDING: to die */
	uint16_t victim;
	struct mono end; /* the victim's */
	bool hangs;
	uint64_t fence;	     /* the newest */
	struct mono patient; /* an acquisition must have come by then */
	struct host host[HOSTS_MAX + 1];
};

static uint64_t draw(struct sim *s, uint64_t below)
{
	uint64_t z = random_next(&s->rng);

	return below ? z % below : 0;
}

static uint16_t last_host(const struct sim *s)
{
	return (uint16_t)(HOME + s->c->contenders);
}

/* --- clocks --------------------------------------------------------------------- */

static struct mono by_own(const struct host *h, struct mono t)
{
	int64_t d = t.ns - START_NS;

	return (struct mono){ t.ns + d / PPM * h->ppm + d % PPM * h->ppm / PPM };
}

/* The first moment at which that clock shows t. */
static struct mono by_true(const struct host *h, struct mono t)
{
	int64_t d = t.ns - START_NS;
	struct mono guess;

	if (t.ns == INT64_MAX) /* never */
		return t;
	guess.ns = t.ns - d / (PPM + h->ppm) * h->ppm - NS_PER_US;
	for (int64_t step = 1 << 14; step; step /= 2)
		while (by_own(h, mono_add(guess, step)).ns < t.ns)
			guess.ns += step;
	return mono_add(guess, 1);
}

static struct mono own(const struct sim *s, const struct host *h)
{
	return by_own(h, s->now);
}

/* --- hosts ---------------------------------------------------------------------- */

struct lock_conf recovery_lock_conf(const struct recovery_conf *c, uint16_t host)
{
	return (struct lock_conf){ .self = host,
				   .service = 1,
				   .hold_ns = c->hold_ns,
				   .deadline_ns = c->deadline_ns,
				   .drift_ppm = c->drift_ppm,
				   .check_ns = c->check_ns,
				   .seed = c->seed };
}

int64_t recovery_bound_ns(const struct lock_conf *c)
{
	return lock_break_ns(c) + c->check_ns + c->check_ns / 8;
}

static int start(struct sim *s, uint16_t n)
{
	struct host *h = &s->host[n];
	struct lock_host_conf c = { .dir = s->c->dir,
				    .generation = ++h->generation,
				    .lock = recovery_lock_conf(s->c, n) };
	struct shm_faults f = { .seed = draw(s, UINT64_MAX),
				.out_max_ns = s->c->way_ns,
				.back_max_ns = s->c->way_ns };
	int rc;

	if (n == HOME)
		c.peers = hostset_first(last_host(s));
	hostset_set(&c.peers, HOME, n != HOME);
	rc = lock_host_open(&h->h, &c, HOME, own(s, h), s->text);
	if (rc || n == HOME)
		return rc;
	rc = transport_shm_faults(h->h.t, &f);
	if (!rc)
		lock_host_ask(&h->h, LOCK_ACQUIRE, own(s, h));
	return rc;
}

static bool linked(const struct sim *s)
{
	for (uint16_t n = HOME + 1; n <= last_host(s); n++)
		if (s->host[n].h.t && !transport_link(s->host[n].h.t, HOME))
			return false;
	return true;
}

/* One has the lock, all others wait at its word. */
static const struct host *all_wait(const struct sim *s)
{
	const struct host *holder = NULL;

	for (uint16_t n = HOME + 1; n <= last_host(s); n++) {
		const struct host *h = &s->host[n];

		if (!h->h.t || !transport_link(h->h.t, HOME))
			return NULL;
		if (lock_state(&h->h.lock) == LOCK_HELD && !holder)
			holder = h;
		else if (!lock_blocked(&h->h.lock))
			return NULL;
	}
	return holder;
}

/* --- what is looked at ------------------------------------------------------------- */

static void count_actors(struct sim *s)
{
	uint32_t may = 0;

	for (uint16_t n = HOME + 1; n <= last_host(s); n++)
		if (s->host[n].h.t && lock_may_act(&s->host[n].h.lock, own(s, &s->host[n]), 0))
			may++;
	s->res->overlaps += may > 1;
}

static void note_recovery(struct sim *s, const struct host *h)
{
	struct lock_conf c = recovery_lock_conf(s->c, 0);
	int64_t took = mono_sub(own(s, h), by_own(h, s->end));

	s->took[s->res->deaths++] = took;
	s->res->hangs += s->hangs;
	s->res->beyond += took > recovery_bound_ns(&c) + 6 * s->c->way_ns;
	s->res->cleans += !lock_unclean(&h->h.lock);
}

/* Some moment from now until the end of h's lease. */
static struct mono within_lease(struct sim *s, const struct host *h)
{
	int64_t left = mono_sub(by_true(h, lock_until(&h->h.lock)), s->now);

	return left > 0 ? mono_add(s->now, (int64_t)draw(s, (uint64_t)left)) : s->now;
}

static int acquired(struct sim *s, uint16_t n)
{
	struct host *h = &s->host[n];

	h->fence = lock_fence(&h->h.lock);
	s->res->fences += h->fence <= s->fence;
	s->fence = h->fence;
	s->patient = mono_add(s->now, PATIENCE_NS);
	if (s->phase == OVER) {
		note_recovery(s, h);
		s->phase = JOINING;
		s->host[s->victim].awake = s->now;
		if (!s->hangs)
			return start(s, s->victim);
	} else if (s->phase != JOINING) {
		s->phase = HOLDING;
		s->victim = n;
		s->at = within_lease(s, h);
	}
	return 0;
}

/* --- what happens ------------------------------------------------------------------ */

/* A lease that is over is made anew, by those who know; they take the nodes to be swept. */
static int step_host(struct sim *s, uint16_t n)
{
	struct host *h = &s->host[n];
	struct lock *l = &h->h.lock;
	int rc = 0;

	lock_host_turn(&h->h, own(s, h));
	if (lock_state(l) != LOCK_HELD)
		return 0;
	if (lock_fence(l) != h->fence) {
		rc = acquired(s, n);
		lock_mark(l, false);
	}
	if (s->phase == RENEWING && s->now.ns >= s->at.ns) {
		s->at = NEVER; /* once */
		lock_host_renew(&h->h, own(s, h));
	} else if (!lock_may_act(l, own(s, h), 1)) {
		lock_host_renew(&h->h, own(s, h));
	}
	return rc;
}

static void end_holder(struct sim *s)
{
	struct host *v = &s->host[s->victim];

	s->at = NEVER;
	if (lock_state(&v->h.lock) != LOCK_HELD)
		return; /* it makes its lease anew: acquired() says when it is to die */
	s->hangs = draw(s, 1000) < s->c->hang_permille;
	s->phase = OVER;
	s->end = s->now;
	for (uint16_t n = HOME + 1; n <= last_host(s); n++)
		s->host[n].awake = mono_add(s->now, s->c->asleep_ns);
	v->awake = NEVER;
	if (!s->hangs)
		lock_host_close(&v->h);
}

static int turn(struct sim *s)
{
	const struct host *holder;
	int rc = 0;

	for (uint16_t n = HOME; n <= last_host(s) && !rc; n++)
		if (s->host[n].h.t && s->host[n].awake.ns <= s->now.ns)
			rc = step_host(s, n);
	count_actors(s);
	holder = s->phase == JOINING ? all_wait(s) : NULL;
	if (holder) {
		s->phase = RENEWING;
		s->at = within_lease(s, holder);
	}
	if (s->phase == HOLDING && s->now.ns >= s->at.ns)
		end_holder(s);
	return rc;
}

static void sooner(struct mono *at, struct mono t)
{
	if (t.ns < at->ns)
		*at = t;
}

static struct mono next(struct sim *s)
{
	struct mono at = NEVER;

	for (uint16_t n = HOME; n <= last_host(s); n++) {
		struct host *h = &s->host[n];

		if (!h->h.t)
			continue;
		if (h->awake.ns > s->now.ns) {
			sooner(&at, h->awake);
			continue;
		}
		sooner(&at, by_true(h, lock_host_due(&h->h, own(s, h))));
		if (lock_state(&h->h.lock) == LOCK_HELD)
			sooner(&at, by_true(h, lock_until(&h->h.lock)));
	}
	if (!linked(s))
		sooner(&at, mono_add(s->now, LINKING_NS));
	if (s->phase == RENEWING || s->phase == HOLDING)
		sooner(&at, s->at);
	return at;
}

/* Never back, and not for ever at one moment. */
static void pass_time(struct sim *s, uint32_t *stuck)
{
	struct mono at = next(s);

	if (at.ns > s->now.ns) {
		s->now = at;
		*stuck = 0;
	} else if (++*stuck == STUCK_TURNS) {
		s->now.ns += NS_PER_US;
		*stuck = 0;
	}
}

static int begin(struct sim *s)
{
	int64_t drift = s->c->drift_ppm;
	int rc = 0;

	if (s->c->contenders < 2 || s->c->contenders > CONTENDERS_MAX || drift >= PPM / 2)
		return -EINVAL;
	for (uint16_t n = HOME; n <= last_host(s) && !rc; n++) {
		s->host[n].ppm = (int64_t)draw(s, 2 * (uint64_t)drift + 1) - drift;
		rc = start(s, n);
	}
	return rc;
}

int recovery_run(const struct recovery_conf *c, int64_t *took, struct recovery_result *res,
		 char text[static 256])
{
	struct sim *s = calloc(1, sizeof(*s));
	uint32_t stuck = 0;
	int rc;

	memset(res, 0, sizeof(*res));
	snprintf(text, 256, "the simulated hosts could not be started");
	if (!s)
		return -ENOMEM;
	*s = (struct sim){ .c = c, .res = res, .took = took, .text = text, .rng = c->seed };
	s->now.ns = START_NS;
	s->patient = mono_add(s->now, PATIENCE_NS);
	rc = begin(s);
	while (!rc && res->deaths < c->deaths) {
		rc = turn(s);
		pass_time(s, &stuck);
		if (!rc && s->now.ns > s->patient.ns) {
			rc = -ETIME;
			snprintf(text, 256, "after %u deaths nobody had the lock for a minute",
				 res->deaths);
		}
	}
	res->simulated_ns = s->now.ns - START_NS;
	for (uint16_t n = HOME; n <= HOSTS_MAX; n++)
		lock_host_close(&s->host[n].h);
	free(s);
	return rc;
}
