/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine: owns one of each part of the daemon and runs them.
 *
 * Parts are opened in the order of dependence and closed in reverse. The caller of
 * engine_run becomes the control thread; sampler, actor and the cluster have threads of their
 * own. There are no globals: one process can have several engines.
 */
#ifndef RESEX_ENGINE_ENGINE_H
#define RESEX_ENGINE_ENGINE_H

#include "src/conf/settings.h"
#include "src/hv/hv.h"
#include "src/util/clock.h"
#include "src/util/log.h"

struct engine;
struct guests;
struct plugins;
struct ring_layouts;

/* A caller that watches a run and ends it, as a scenario does. */
struct engine_guide {
	/*
	 * Called by the control thread at the start of the run, and again after
	 * the ns that it returned; on a simulated clock after each tick.
	 * Negative: stop.
	 */
	int64_t (*turn)(void *arg, struct guests *gs, struct mono now);
	void *arg;
};

struct engine_conf {
	const struct daemon_conf *conf;
	const char *file; /* the file of conf, read again at SIGHUP; NULL: SIGHUP stops */
	const struct hv_backend *hv;
	void *hv_arg; /* argument of the backend's open() */
	const struct log *log;
	bool observe;			    /* count, account and decide, but set no cap */
	struct policy_inst *init;	    /* the first policy, taken over; NULL: that of conf */
	struct plugins *plugins;	    /* the caller's (conf/plugin.h); NULL: none */
	const struct ring_layouts *layouts; /* the caller's (ibmon/layout.h); NULL: none */
	const struct engine_guide *guide;   /* NULL: none */
	/*
	 * A clock of clock_sim(), which engine_run() moves on tick by tick, in one
	 * thread, as fast as it can: the same conf gives the same run. There is no
	 * control socket then. NULL: real time.
	 */
	struct clock *sim;
};

/*
 * On a simulated clock the actor sets caps in the interval in which the sampler asked for
 * them, and answers this much later, at most half an interval.
 */
#define ENGINE_ACTOR_NS (200 * NS_PER_US)

/* 0 or -errno with err filled: one sentence for people, and the exit code. */
int engine_open(struct engine **e, const struct engine_conf *c, struct conf_error *err);
/*
 * Run until SIGTERM, SIGINT, SIGQUIT, the SIGHUP of a closed terminal, or until the guide stops
 * the run. Any other SIGHUP reads the configuration again. 0 or -errno; -EINTR if a
 * signal ended a run that has a guide.
 */
int engine_run(struct engine *e);
/* The signal that ended engine_run(); 0: none did. */
int engine_signal(const struct engine *e);
/* Stop the threads, restore all caps, free. The number of caps that could not be restored. */
int engine_close(struct engine *e);

/* Fill err for rc, what open() of the backend of this name returned. */
void hv_open_text(const char *name, int rc, struct conf_error *err);

#endif
