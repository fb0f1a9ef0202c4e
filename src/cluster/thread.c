// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * thread: the cluster's thread on real time: steps of the worker, and sleep between them.
 *
 * It has the lowest real-time priority while it uses little, so that heartbeats come in time when
 * dom0 has more to do than CPUs. Peers may request without end (over tcp it answers them), and a
 * real-time thread that is always busy would take a CPU of dom0 from everybody else. So beyond a
 * fifth of a CPU it has a nice value instead: that gives it most of a CPU that others use too, and
 * leaves them the rest.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "src/cluster/cluster_priv.h"
#include "src/core/budget.h"
#include "src/util/clock.h"

enum {
	NICE = -10,		/* the kernel gives it 9 times the time of a thread with nice 0 */
	REAL_TIME_PERCENT = 20, /* of a CPU; a step of a host among 256 takes about 1 ms */
};

#define REAL_TIME_BURST_NS (10 * NS_PER_MS)

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

/* False: it has no right to it. Its nice value is kept. */
static bool set_real_time(bool real_time)
{
	const struct sched_param p = { .sched_priority = real_time ? 1 : 0 };

	return !pthread_setschedparam(pthread_self(), real_time ? SCHED_FIFO : SCHED_OTHER, &p);
}

static void *thread_main(void *arg)
{
	struct budget budget = { REAL_TIME_PERCENT, REAL_TIME_BURST_NS, REAL_TIME_BURST_NS, false };
	struct worker *w = arg;
	struct clock clock;
	struct mono began, before;
	bool may, real_time;
	int64_t used;

	clock_real(&clock);
	before = clock.now(&clock);
	/* Of this thread alone, on Linux. Without the right it only beats later on a busy host. */
	setpriority(PRIO_PROCESS, 0, NICE);
	may = real_time = set_real_time(true);
	used = clock_thread_ns();
	while (!atomic_load_explicit(&w->x->stop, memory_order_acquire)) {
		int64_t ns, now_used = clock_thread_ns();

		began = clock.now(&clock);
		if (budget_use(&budget, mono_sub(began, before), now_used - used) != real_time &&
		    may) {
			real_time = !real_time;
			may = set_real_time(real_time);
		}
		before = began;
		used = now_used;
		ns = worker_step(w, began, clock_wall_ns());
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

/* Until the weights that HAProxy had are seen there, or the time that balances.c gives is over. */
static void leave_balances(struct cluster *c)
{
	struct pollfd p = { .fd = balances_fd(c->balances), .events = POLLIN };
	struct clock clock;
	int64_t ns;

	clock_real(&clock);
	balances_leave(c->balances, clock.now(&clock));
	for (;;) {
		ns = balances_work(c->balances, c, clock.now(&clock), clock_wall_ns());
		if (balances_left(c->balances))
			return;
		ns = ns < SLEEP_MAX_NS ? ns : SLEEP_MAX_NS;
		poll(&p, 1, (int)((ns + NS_PER_MS - 1) / NS_PER_MS));
	}
}

void cluster_stop(struct cluster *c)
{
	if (!c->runs)
		return;
	leave_balances(c);
	atomic_store_explicit(&c->x->stop, 1, memory_order_release);
	exchange_wake(c->x->worker_fd);
	pthread_join(c->thread, NULL);
	c->runs = false;
}

uint32_t cluster_alive(const struct cluster *c)
{
	return atomic_load_explicit(&c->x->alive, memory_order_relaxed);
}
