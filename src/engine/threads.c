// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * threads: the sampler (src/tick/sampler.h) and the actor (src/tick/actor.h) as threads
 * of their own, which end when stop of struct handover is set; and the thread of src/cluster.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "src/engine/engine_priv.h"

static void *sampler_main(void *arg)
{
	struct engine *e = arg;
	int rc = sampler_guard(&e->s);

	if (rc)
		log_msg(e->c.log, LOG_LVL_ERROR,
			"policy plug-ins cannot be guarded (%s), and are not run: see the limits "
			"of "
			"memory and of pending signals",
			strerror(-rc));
	sampler_run(&e->s);
	sampler_unguard(&e->s);
	return NULL;
}

static void *actor_main(void *arg)
{
	struct engine *e = arg;

	actor_run(&e->a);
	return NULL;
}

/* Neither is needed for a right result, so a failure is a warning. */
static void make_realtime(struct engine *e)
{
	struct sched_param p = { .sched_priority = (int)e->c.conf->realtime_priority };
	int rc;

	/*
	 * ONFAULT: pages are locked once they are used; otherwise all that is mapped, stacks
	 * included, would be filled at once.
	 */
	if (e->c.conf->lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		log_msg(e->c.log, LOG_LVL_WARNING,
			"memory is not locked (%s): ticks may be late under memory pressure; "
			"run as root, or set lock_memory to false",
			strerror(errno));
	if (!p.sched_priority)
		return;
	rc = pthread_setschedparam(e->sampler_thread, SCHED_FIFO, &p);
	if (rc)
		log_msg(e->c.log, LOG_LVL_WARNING, "no real-time priority %d: %s", p.sched_priority,
			strerror(rc));
}

/* The threads inherit a mask that blocks all signals: those are for the control thread. */
int threads_start(struct engine *e)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	/* The actor first: it answers the mail of the sampler's first tick. */
	rc = pthread_create(&e->actor_thread, NULL, actor_main, e);
	e->actor_runs = !rc;
	if (!rc) {
		rc = pthread_create(&e->sampler_thread, NULL, sampler_main, e);
		e->sampler_runs = !rc;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return -rc;
	/* Before memory is locked: then the stack of a new thread would count against the limit. */
	rc = e->cluster ? cluster_start(e->cluster) : 0;
	make_realtime(e);
	return rc;
}

void threads_stop(struct engine *e)
{
	if (e->cluster)
		cluster_stop(e->cluster);
	if (!e->handover_ok)
		return;
	/*
	 * Both have ended when this returns. So no cap is set after it, and guests_restore() has
	 * the last word.
	 */
	atomic_store_explicit(&e->ho.stop, 1, memory_order_release);
	if (e->sampler_runs)
		pthread_join(e->sampler_thread, NULL);
	handover_wake(e->ho.actor_fd);
	if (e->actor_runs)
		pthread_join(e->actor_thread, NULL);
	e->sampler_runs = e->actor_runs = false;
}
