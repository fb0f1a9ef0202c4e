// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * thread: the cluster's thread on real time: steps of the worker, and sleep between them.
 *
 * It has no real-time priority. Peers may request without end (over tcp it answers them), and a
 * real-time thread that is always busy would take a CPU of dom0 from everybody else. A nice value
 * gives it most of a CPU that others use too, and leaves them the rest.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "src/cluster/cluster_priv.h"
#include "src/util/clock.h"

enum { NICE = -10 }; /* the kernel gives it 9 times the time of a thread with nice 0 */

/* It steps at least so often, also when nothing is due: cluster_alive() shows that it does. */
#define SLEEP_MAX_NS (NS_PER_S / 4)

/* Until a step has something to do. poll(2) would round heartbeats to milliseconds. */
static void sleep_at_most(const struct worker *w, int64_t ns)
{
	int64_t most = ns < SLEEP_MAX_NS ? ns : SLEEP_MAX_NS;
	struct timespec ts = { .tv_sec = most / NS_PER_S, .tv_nsec = most % NS_PER_S };
	struct pollfd p = { .fd = w->epoll, .events = POLLIN };

	if (most > 0)
		ppoll(&p, 1, &ts, NULL);
}

static void *thread_main(void *arg)
{
	struct worker *w = arg;
	struct clock clock;

	clock_real(&clock);
	/* Of this thread alone, on Linux. Without the right it only beats later on a busy host. */
	setpriority(PRIO_PROCESS, 0, NICE);
	while (!atomic_load_explicit(&w->x->stop, memory_order_acquire)) {
		struct mono began = clock.now(&clock);
		int64_t ns = worker_step(w, began, clock_wall_ns());

		atomic_fetch_add_explicit(&w->x->alive, 1, memory_order_relaxed);
		/* The step took a part of the time until the next one is due. */
		sleep_at_most(w, ns - mono_sub(clock.now(&clock), began));
	}
	return NULL;
}

/* The thread inherits a mask that blocks all signals: those are for the control thread. */
int cluster_start(struct cluster *c)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&c->thread, NULL, thread_main, &c->worker);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	c->runs = !rc;
	return -rc;
}

void cluster_stop(struct cluster *c)
{
	if (!c->runs)
		return;
	atomic_store_explicit(&c->x->stop, 1, memory_order_release);
	exchange_wake(c->x->worker_fd);
	pthread_join(c->thread, NULL);
	c->runs = false;
}

uint32_t cluster_alive(const struct cluster *c)
{
	return atomic_load_explicit(&c->x->alive, memory_order_relaxed);
}
