// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: caps as Xen's older scheduler, credit, treats them.
/*
 *  - each 30 ms (a time slice), a capped domain's VCPUs that are active are
 *    given the cap's part of that time, in equal shares, at most the whole of
 *    it; what they run is subtracted;
 *  - a VCPU whose debt is then larger than its share is parked, until such an
 *    accounting finds it without debt. Between two accountings none becomes
 *    parked: with a cap of 3 one runs for 30 ms and pauses for 970;
 *  - debts are at most a time slice when they are accounted for. A VCPU that
 *    has saved more than one keeps half and is not active until a tick (each
 *    10 ms) finds it running;
 *  - a cap, and its end, act at the next accounting.
 *
 * Ticks are at multiples of 10 ms from the host's start. Xen counts in tenths
 * of a millisecond, and VCPUs tick apart; neither is modelled.
 */
#include "src/sim/model.h"

#define TICK  (10 * NS_PER_MS)
#define SLICE (3 * TICK)

static void arm_tick(struct sim_dom *d, int64_t now)
{
	int64_t ticks = (now - d->host->start) / TICK + 1;

	sim_timer_arm(&d->host->timers, &d->tick, d->host->start + ticks * TICK);
}

static bool credit_may_run(struct sim_cpu *c, int64_t now)
{
	(void)now;
	return !c->barred;
}

static void credit_idle(struct sim_cpu *c, int64_t now)
{
	(void)c; /* what it has saved or owes stays with it */
	(void)now;
}

static void unbar(struct sim_cpu *c, int64_t now)
{
	c->barred = false;
	if (c->state == SIM_CPU_PARKED)
		sim_cpu_start(c, now);
}

/* share may be above a time slice with a cap of several VCPUs; what is given never is. */
static void account_one(struct sim_cpu *c, int64_t given, int64_t share, int64_t now)
{
	c->budget += given;
	if (c->budget >= 0) {
		unbar(c, now);
		if (c->budget > SLICE) {
			c->budget /= 2;
			c->active = false;
		}
		return;
	}
	if (c->dom->cap && c->budget < -share) {
		c->barred = true;
		if (c->state == SIM_CPU_RUN)
			sim_cpu_park(c, now);
	}
	if (c->budget < -SLICE)
		c->budget = -SLICE;
}

static void account_dom(struct sim_dom *d, int64_t now)
{
	int64_t active = 0, share = SLICE;

	for (uint32_t i = 0; i < d->cpus; i++)
		active += d->cpu[i].active;
	if (!active)
		return;
	if (d->cap)
		share = (SLICE / 100 * d->cap + active - 1) / active;
	for (uint32_t i = 0; i < d->cpus; i++)
		if (d->cpu[i].active)
			account_one(&d->cpu[i], share < SLICE ? share : SLICE, share, now);
}

static void credit_tick(void *arg, int64_t now)
{
	struct sim_dom *d = (struct sim_dom *)arg;

	for (uint32_t i = 0; i < d->cpus; i++) {
		sim_cpu_settle(&d->cpu[i], now);
		if (d->cpu[i].state == SIM_CPU_RUN)
			d->cpu[i].active = true;
	}
	if ((now - d->host->start) % SLICE == 0) {
		account_dom(d, now);
		d->metered = d->cap > 0; /* without a cap all are free by now */
	}
	if (d->metered)
		arm_tick(d, now);
}

static void credit_capped(struct sim_dom *d, uint32_t old, int64_t now)
{
	(void)old;
	if (!d->cap || d->metered)
		return;
	d->metered = true;
	for (uint32_t i = 0; i < d->cpus; i++) {
		d->cpu[i].budget = 0;
		d->cpu[i].active = d->cpu[i].state == SIM_CPU_RUN;
	}
	arm_tick(d, now);
}

const struct sim_sched sim_credit = {
	.may_run = credit_may_run,
	.idle = credit_idle,
	.capped = credit_capped,
	.tick = credit_tick,
};
