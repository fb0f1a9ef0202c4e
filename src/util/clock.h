/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock: the only place that asks what time it is. Real (CLOCK_BOOTTIME,
 * absolute sleeps) or simulated (advanced by its user; sleeping advances it).
 *
 * CLOCK_BOOTTIME never goes back, and counts the time for which the machine was
 * suspended, where CLOCK_MONOTONIC stands still: who held a lock before knows
 * that its lease is over (src/reconf/lock.h). To all others a suspend is one
 * long interval: they must do with a jump of hours. A sleep that ended meanwhile
 * ends when the machine resumes.
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

/* The wall clock in nanoseconds since 1970: for what people read, never for arithmetic. */
int64_t clock_wall_ns(void);

/* CLOCK_MONOTONIC in nanoseconds, for who asks for it by name (systemd): decide nothing by it. */
int64_t clock_monotonic_ns(void);

#endif
