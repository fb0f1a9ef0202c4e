/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine: owns one of everything and runs it.
 *
 * Opened in the order of dependence, closed in reverse; the control thread's
 * loop runs in engine_run. No globals: several engines live in one process.
 */
#ifndef RESEX_ENGINE_ENGINE_H
#define RESEX_ENGINE_ENGINE_H

#include "src/conf/settings.h"
#include "src/hv/hv.h"
#include "src/util/clock.h"
#include "src/util/log.h"

struct engine;
struct guests;

/* Who leads a run, as a scenario does. */
struct engine_guide {
	/*
	 * Called by the control thread when the daemon begins, and again as
	 * many ns later as it returned; on a simulated clock after each tick.
	 * Negative: stop.
	 */
	int64_t (*turn)(void *arg, struct guests *gs, struct mono now);
	void *arg;
};

struct engine_conf {
	const struct daemon_conf *conf;
	const char *file; /* what conf was read from, to read it again; NULL: SIGHUP stops */
	const struct hv_backend *hv;
	void *hv_arg; /* for the backend's open() */
	const struct log *log;
	bool observe;			  /* count, account, decide, show; never act */
	struct policy_inst *init;	  /* the first policy, taken over; NULL: load conf's */
	const struct engine_guide *guide; /* NULL: nobody */
	/*
	 * A clock of clock_sim(), which engine_run() then moves on, tick by tick
	 * in one thread, as fast as it can: the same conf gives the same run.
	 * There is no control socket then. NULL: real time.
	 */
	struct clock *sim;
};

/*
 * On a simulated clock the actor carries out its mail in the interval in which
 * it was sent, and answers as much later; at most half an interval.
 */
#define ENGINE_ACTOR_NS (200 * NS_PER_US)

/* 0 or -errno with err filled: one sentence for people, and the exit code. */
int engine_open(struct engine **e, const struct engine_conf *c, struct conf_error *err);
/*
 * Until SIGTERM, SIGINT, or the SIGHUP of a terminal that is closed (then -EINTR
 * if there is a guide), or until the guide says so; any other SIGHUP reads the
 * configuration again. 0 or -errno.
 */
int engine_run(struct engine *e);
/* Stop the threads, restore all caps, free. How many caps could not be restored. */
int engine_close(struct engine *e);

/* Fill err for rc, what open() of the backend of this name returned. */
void hv_open_text(const char *name, int rc, struct conf_error *err);

#endif
