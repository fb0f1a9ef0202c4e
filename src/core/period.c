// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * period: intervals and epochs on a grid that late ticks do not shift.
 *
 * Epochs start at start + k x epoch, whenever the ticks come. The time of the
 * ticks is a high-water mark: time that the clock repeats after it went back is
 * not counted again, so elapsed times always add up to real time.
 */
#include "src/core/period.h"

#include <errno.h>
#include <string.h>

#define INTERVAL_MIN_NS (100 * NS_PER_US)
#define EPOCH_MAX_NS	(3600 * NS_PER_S)

int period_init(struct period *p, int64_t interval_ns, int64_t epoch_ns, struct mono now)
{
	if (interval_ns < INTERVAL_MIN_NS || epoch_ns < interval_ns || epoch_ns > EPOCH_MAX_NS)
		return -EINVAL;
	if (epoch_ns % interval_ns || now.ns < 0)
		return -EINVAL;

	memset(p, 0, sizeof(*p));
	p->interval_ns = interval_ns;
	p->epoch_ns = epoch_ns;
	p->last = now;
	p->epoch_start = now;
	return 0;
}

struct period_tick period_tick(struct period *p, struct mono now)
{
	struct period_tick t = { 0, 0, 0 };

	/* Counted even if the clock went back: it is the number of ticks that the sampler made. */
	p->ticks++;
	if (now.ns < p->last.ns) {
		p->back++;
		return t;
	}

	t.elapsed_ns = mono_sub(now, p->last);
	p->last = now;
	if (t.elapsed_ns > p->interval_ns)
		t.late_ns = t.elapsed_ns - p->interval_ns;
	if (t.late_ns >= p->interval_ns)
		p->late++;
	if (t.late_ns >= PERIOD_STARVED_NS)
		p->starved++;

	/* Most ticks end here: a division takes as long as the rest of this function. */
	if (mono_sub(now, p->epoch_start) < p->epoch_ns)
		return t;
	/* More than one after a suspend: epochs in between had no tick, and issue nothing. */
	t.new_epochs = (uint64_t)(mono_sub(now, p->epoch_start) / p->epoch_ns);
	p->epoch += t.new_epochs;
	p->epoch_start = mono_add(p->epoch_start, (int64_t)t.new_epochs * p->epoch_ns);
	return t;
}

int64_t period_remaining(const struct period *p, struct mono now)
{
	int64_t gone = mono_sub(now, p->epoch_start);

	if (gone <= 0)
		return p->epoch_ns;
	return gone < p->epoch_ns ? p->epoch_ns - gone : 0;
}
