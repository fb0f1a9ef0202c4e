/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine_priv: what the files of the engine share, and no other file.
 *
 *	engine.c	opens and closes all parts
 *	threads.c	sampler, actor and the cluster's work as threads
 *	loop.c		the control thread's loop on real time (libevent)
 *	reload.c	SIGHUP: the configuration is read again
 *	simulated.c	all threads in one, on a simulated clock
 */
#ifndef RESEX_ENGINE_ENGINE_PRIV_H
#define RESEX_ENGINE_ENGINE_PRIV_H

#include <event2/event.h>
#include <pthread.h>

#include "src/cluster/cluster.h"
#include "src/control/server.h"
#include "src/engine/engine.h"
#include "src/guests/guests.h"
#include "src/tick/actor.h"
#include "src/tick/sampler.h"

/* Counters of the other threads' work. */
struct threads_alive {
	uint32_t sampler, cluster;
};

struct engine {
	struct engine_conf c;
	struct handover ho;
	struct guests *guests;
	struct hv_mem *mem;
	struct hv_sched *sched, *cluster_sched; /* control's; of the thread of the cluster */
	struct hv_watch *watch;
	struct cluster *cluster; /* NULL: this host is alone */
	struct sampler s;
	struct actor a;
	struct clock clock;
	struct control *control;
	struct event_base *base;
	struct event *ev_work, *ev_handover, *ev_watch, *ev_second, *ev_term, *ev_int, *ev_hup;
	struct event *ev_quit, *ev_usr1, *ev_usr2, *ev_guide, *ev_cross;
	struct event *ev_cluster, *ev_cluster_due; /* NULL: this host is alone */
	pthread_t sampler_thread, actor_thread;
	struct daemon_conf *conf; /* what a reload read; NULL: c.conf is the caller's */
	struct policy_ask reload; /* a reload that waits for a policy to be in force */
	bool terminal;		  /* the process had one when the loop began */
	bool handover_ok, sampler_runs, actor_runs;
	struct threads_alive alive_seen; /* at the last look for the watchdog */
	uint64_t watchdog_us;
	int signalled;				     /* the signal that ended the run; 0: none */
	struct mono work_due, second_due, cross_due; /* on a simulated clock */
	struct mono signals_due;		     /* the same */
};

static inline struct mono engine_now(struct engine *e)
{
	struct clock *c = e->c.sim ? e->c.sim : &e->clock;

	return c->now(c);
}

/* Start all other threads. 0 or -errno; threads_stop() also after an error. */
int threads_start(struct engine *e);
void threads_stop(struct engine *e);

/* Make the events of the loop; nothing runs yet. 0 or -ENOMEM. */
int loop_open(struct engine *e);
/* The events of e->cluster, which was opened after the loop. 0 or -ENOMEM. */
int loop_add_cluster(struct engine *e);
/* Have all threads worked since the last call? now becomes *seen. */
bool threads_lived(struct threads_alive *seen, struct threads_alive now, bool has_cluster);
/* From now on signals go to the loop: libevent gives them to one loop of a process. */
void loop_add_signals(struct engine *e);
/* Run until a signal or the guide ends it; the threads run. 0 or -EIO. */
int loop_run(struct engine *e);
void loop_close(struct engine *e);
/* False where SIGHUP was ignored when the process began, as nohup(1) leaves it. */
bool loop_minds_hangup(void);

/* Read the configuration again and put it in force, whole or not at all; log and notify. */
void reload_settings(struct engine *e);

/* Run on the clock e->c.sim until a signal or the guide ends it. */
void run_simulated(struct engine *e);

#endif
