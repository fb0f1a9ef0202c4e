// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * simulated: a run on a simulated clock. One thread does the work of all three, an
 * interval at a time, so that the same configuration gives the same run.
 *
 * The code of the threads is the real one, and so are mailboxes, sets and snapshots: only the
 * loops around it are replaced. Used by src/lab.
 */
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "src/engine/engine_priv.h"

#define SIGNALS_NS (100 * NS_PER_MS) /* of simulated time: how often signals are looked for */

/* Empty the eventfd by which one thread wakes another. True: it was written to. */
static bool was_woken(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == sizeof(n);
}

/* True when the loop on real time would run now: the sampler or the hypervisor has events. */
static bool has_news(struct engine *e)
{
	struct pollfd p = { .fd = e->c.hv->watch->fd(e->watch), .events = POLLIN };

	return was_woken(e->ho.control_fd) || p.fd < 0 || poll(&p, 1, 0) > 0;
}

static void control_simulated(struct engine *e, struct mono now)
{
	bool second = mono_sub(now, e->second_due) >= 0;

	if (second) {
		e->second_due = mono_add(e->second_due, NS_PER_S);
		guests_second(e->guests, now, now.ns);
	}
	if (mono_sub(now, e->cross_due) >= 0)
		e->cross_due = mono_add(now, guests_cross(e->guests, now, now.ns));
	/* As the loop on real time: after events, each second, and when guests asked for it. */
	if (has_news(e) || second || mono_sub(now, e->work_due) >= 0)
		e->work_due = mono_add(now, guests_work(e->guests, now, now.ns));
}

/* One interval: sampler, actor and control thread, each after what it waits for. */
static void step_simulated(struct engine *e)
{
	int64_t interval = e->c.conf->interval_ns;
	int64_t answer = ENGINE_ACTOR_NS < interval / 2 ? ENGINE_ACTOR_NS : interval / 2;
	struct mono now = mono_add(engine_now(e), interval);

	e->c.sim->sleep_until(e->c.sim, now);
	tick(&e->s, now);
	/* The real actor works beside the sampler: its answer is dated as if it took so long. */
	clock_sim(&e->a.clock, mono_add(now, answer));
	actor_once(&e->a);
	control_simulated(e, now);
}

static bool was_signalled(const sigset_t *stop)
{
	const struct timespec at_once = { 0 };

	return sigtimedwait(stop, NULL, &at_once) > 0;
}

/*
 * Look for signals by the run's own time: that takes no look at a clock, and by default each
 * 100th tick makes the system call.
 */
static bool is_stopped(struct engine *e, const sigset_t *stop, struct mono now)
{
	if (mono_sub(now, e->signals_due) < 0)
		return false;
	e->signals_due = mono_add(now, SIGNALS_NS);
	e->signalled = was_signalled(stop) ? SIGTERM : 0;
	return e->signalled != 0;
}

void run_simulated(struct engine *e)
{
	const struct engine_guide *g = e->c.guide;
	sigset_t stop, old;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	if (loop_minds_hangup())
		sigaddset(&stop, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &stop, &old);
	e->work_due = engine_now(e);
	e->second_due = mono_add(engine_now(e), NS_PER_S);
	e->cross_due = engine_now(e);
	/* One thread does all: a plug-in that cannot be guarded is stopped at its first call. */
	(void)sampler_guard(&e->s);
	control_simulated(e, engine_now(e));
	e->signals_due = engine_now(e);
	while (!is_stopped(e, &stop, engine_now(e)) &&
	       (!g || g->turn(g->arg, e->guests, engine_now(e)) >= 0))
		step_simulated(e);
	sampler_unguard(&e->s);
	/* One that came after the last look must not end the process before its summary. */
	while (was_signalled(&stop))
		;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}
