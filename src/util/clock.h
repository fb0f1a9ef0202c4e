/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock: the only code that reads the time. Real (CLOCK_BOOTTIME, absolute
 * sleeps) or simulated (advanced by its user; sleeping advances it).
 *
 * CLOCK_BOOTTIME never goes back, and counts the time for which the machine was
 * suspended, in which CLOCK_MONOTONIC stops: so the holder of a lock finds after a
 * suspend that its lease has expired (src/reconf/lock.h). For all other code a
 * suspend is one long interval, a jump of perhaps hours. A sleep that should have
 * ended meanwhile ends when the machine resumes.
 */
#ifndef RESEX_UTIL_CLOCK_H
#define RESEX_UTIL_CLOCK_H

#include "src/core/units.h"

struct clock {
	struct mono (*now)(struct clock *c);
	/* Sleep until t; returns at once when t is past. 0 or -EINTR (a signal came). */
	int (*sleep_until)(struct clock *c, struct mono t);
	int64_t sim_ns; /* the simulated clock's time */
};

void clock_real(struct clock *c);
void clock_sim(struct clock *c, struct mono start);

/* The wall clock in nanoseconds since 1970: only to be shown, never for arithmetic. */
int64_t clock_wall_ns(void);

/* CLOCK_MONOTONIC in nanoseconds, only for systemd, which requires this clock. */
int64_t clock_monotonic_ns(void);

/* The CPU time of the calling thread so far, in nanoseconds. */
int64_t clock_thread_ns(void);

#endif
