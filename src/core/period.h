/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * period: the current interval and epoch, and the time that has passed.
 *
 * Pure arithmetic on the time it is given. An interval is 1 ms and an epoch
 * 1 s by default (paper VI-A). A late tick counts the time that elapsed; a
 * tick across the end of an epoch belongs to the old one; epochs that passed
 * without a tick are skipped; epochs start at start + k * epoch. When the clock
 * goes back no time elapses until it reaches the latest time seen again: elapsed
 * times add up to that time.
 */
#ifndef RESEX_CORE_PERIOD_H
#define RESEX_CORE_PERIOD_H

#include "src/core/units.h"

/* Send queues may lap in such a time: what a guest sent is then no longer known exactly. */
#define PERIOD_STARVED_NS (50 * NS_PER_MS)

struct period {
	int64_t interval_ns;
	int64_t epoch_ns;
	struct mono last; /* latest time seen by a tick */
	struct mono epoch_start;
	uint64_t epoch; /* number of the current epoch, from 0 */
	uint64_t ticks;
	uint64_t late;	  /* ticks at least one interval behind: elapsed >= 2 intervals */
	uint64_t starved; /* of them, those PERIOD_STARVED_NS behind or more */
	uint64_t back;	  /* ticks at which the clock had gone back */
};

struct period_tick {
	int64_t elapsed_ns;  /* since the previous tick, >= 0 */
	uint64_t new_epochs; /* epochs that began; 0: same epoch */
	int64_t late_ns;     /* beyond one interval, >= 0 */
};

/*
 * Begin at now. 0, or -EINVAL unless 100 us <= interval <= epoch <= 3600 s,
 * epoch is a whole number of intervals, and now is not negative.
 */
int period_init(struct period *p, int64_t interval_ns, int64_t epoch_ns, struct mono now);

/*
 * Account for the time up to now. The caller first charges the usage of this tick
 * (to the old epoch); when new_epochs > 0, it replenishes afterwards.
 */
struct period_tick period_tick(struct period *p, struct mono now);

/* Nanoseconds of the current epoch that remain after now: 0 .. epoch_ns. */
int64_t period_remaining(const struct period *p, struct mono now);

#endif
