// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * clock: real time for the daemon, simulated time for tests and the lab.
 *
 * All code behind the engine gets the time as an argument; it is read here only. So a test or
 * a scenario can let an hour pass in seconds, and the same input gives the same run.
 */
#include "src/util/clock.h"

#include <errno.h>
#include <time.h>

static struct mono real_now(struct clock *c)
{
	struct timespec ts = { 0, 0 };

	(void)c;
	/* Cannot fail: CLOCK_BOOTTIME always exists and ts is ours. */
	(void)clock_gettime(CLOCK_BOOTTIME, &ts);
	return (struct mono){ (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec };
}

static int real_sleep_until(struct clock *c, struct mono t)
{
	struct timespec ts = { (time_t)(t.ns / NS_PER_S), (long)(t.ns % NS_PER_S) };

	(void)c;
	if (t.ns <= 0)
		return 0;
	/*
	 * Absolute: a tick that took long does not delay those after it. The error is returned,
	 * not put into errno.
	 */
	return -clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &ts, NULL);
}

static struct mono sim_now(struct clock *c)
{
	return (struct mono){ c->sim_ns };
}

static int sim_sleep_until(struct clock *c, struct mono t)
{
	/* As with the real clock, a time that is past is no reason to wait, and none to go back. */
	if (t.ns > c->sim_ns)
		c->sim_ns = t.ns;
	return 0;
}

void clock_real(struct clock *c)
{
	*c = (struct clock){ real_now, real_sleep_until, 0 };
}

void clock_sim(struct clock *c, struct mono start)
{
	*c = (struct clock){ sim_now, sim_sleep_until, start.ns };
}

int64_t clock_wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t clock_monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

int64_t clock_thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}
