// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run: the sampler's loop. It sleeps until the next interval begins, on an
 * absolute clock, and calls tick(). See sampler.h.
 */
#include "src/tick/sampler.h"

/*
 * A tick that begins less than an interval late is the usual jitter of a timer: it is
 * counted. From a whole interval on it is an event, at most one a second.
 */
static void count_lateness(struct sampler *s, struct mono now, struct mono due)
{
	int64_t late = mono_sub(now, due);

	if (s->late.n >= SAMPLER_LATE_MAX)
		window_reset(&s->late);
	window_add(&s->late, late > 0 ? (uint64_t)late : 0);
	if (late > s->late_max_ns)
		s->late_max_ns = late;
	if (late < s->period.interval_ns || mono_sub(now, s->late_reported) < NS_PER_S)
		return;
	s->late_reported = now;
	sampler_event(s, EVENT_LATE, NULL, now, late, 0, 0);
}

void sampler_run(struct sampler *s)
{
	struct mono due = s->clock.now(&s->clock);

	while (!atomic_load_explicit(&s->ho->stop, memory_order_acquire)) {
		struct mono now, end;
		int64_t spent;

		/*
		 * The next due time follows from the last one, not from now: lateness of
		 * one tick does not delay those after it.
		 */
		due = mono_add(due, s->period.interval_ns);
		if (s->clock.sleep_until(&s->clock, due))
			continue;
		now = s->clock.now(&s->clock);
		count_lateness(s, now, due);
		tick(s, now);
		end = s->clock.now(&s->clock);
		spent = mono_sub(end, now);
		s->tick_ns_sum += spent;
		if (spent > s->tick_ns_max)
			s->tick_ns_max = spent;
		/* Intervals that passed during this tick become one longer interval. */
		if (mono_sub(end, due) > s->period.interval_ns)
			due = mono_add(due, (mono_sub(end, due) / s->period.interval_ns) *
						    s->period.interval_ns);
	}
}
