// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: caps as Xen's credit2 treats them.
/*
 *  - a domain's budget is cap x period, refilled each period; what is left
 *    over is not kept, an overrun is carried as debt and can cost several
 *    periods;
 *  - a VCPU takes its share of the budget, at least 500 us, and runs at least
 *    500 us once it runs at all: with small caps it overruns;
 *  - a VCPU that finds no budget is parked until a refill;
 *  - a new cap on a capped domain is the size of the next refill; the first
 *    cap acts at once, and so does taking the cap away.
 */
#include "src/sim/model.h"

/* No VCPU ever runs for less (CSCHED2_MIN_TIMER). */
#define MIN_SLICE (500 * NS_PER_US)

static struct sim_timers *timers(struct sim_dom *d)
{
	return &d->host->timers;
}

/* Take budget from the domain; false when there is none. A debt is paid first. */
static bool grab_budget(struct sim_cpu *c)
{
	struct sim_dom *d = c->dom;
	int64_t quota = d->tot_budget / d->conf->vcpus;

	if (c->budget > 0)
		return true;
	if (quota < MIN_SLICE)
		quota = MIN_SLICE;
	d->budget += c->budget;
	c->budget = 0;
	if (d->budget <= 0)
		return false;
	c->budget = d->budget < quota ? d->budget : quota;
	d->budget -= c->budget;
	return true;
}

static bool credit2_may_run(struct sim_cpu *c, int64_t now)
{
	if (!c->dom->cap)
		return true;
	if (!grab_budget(c))
		return false;
	sim_timer_arm(timers(c->dom), &c->slice,
		      now + (c->budget > MIN_SLICE ? c->budget : MIN_SLICE));
	return true;
}

/* An idle VCPU returns its budget to the domain. */
static void credit2_idle(struct sim_cpu *c, int64_t now)
{
	struct sim_dom *d = c->dom;

	if (!d->cap || c->budget <= 0)
		return;
	d->budget += c->budget;
	c->budget = 0;
	if (d->budget > 0)
		sim_cpu_unpark(d, now);
}

/* What was left of the last period is lost, and a debt is kept: only the upper bound is cut. */
static void credit2_refill(void *arg, int64_t now)
{
	struct sim_dom *d = (struct sim_dom *)arg;

	sim_timer_arm(timers(d), &d->tick, now + d->host->conf.cap_period_ns);
	d->budget += d->tot_budget;
	if (d->budget > d->tot_budget)
		d->budget = d->tot_budget;
	if (d->budget > 0)
		sim_cpu_unpark(d, now);
}

/* The first cap: budget for one period now, which all VCPUs must draw from. */
static void cap_begins(struct sim_dom *d, int64_t now)
{
	d->metered = true;
	d->budget = d->tot_budget;
	sim_timer_arm(timers(d), &d->tick, now + d->host->conf.cap_period_ns);
	for (uint32_t i = 0; i < d->cpus; i++) {
		d->cpu[i].budget = 0;
		if (d->cpu[i].state == SIM_CPU_RUN)
			sim_cpu_start(&d->cpu[i], now);
	}
}

static void cap_ends(struct sim_dom *d, int64_t now)
{
	d->metered = false;
	sim_timer_disarm(timers(d), &d->tick);
	for (uint32_t i = 0; i < d->cpus; i++) {
		sim_timer_disarm(timers(d), &d->cpu[i].slice);
		d->cpu[i].budget = 0;
	}
	sim_cpu_unpark(d, now);
}

static void credit2_capped(struct sim_dom *d, uint32_t old, int64_t now)
{
	d->tot_budget = d->host->conf.cap_period_ns / 100 * d->cap;
	if (d->cap && !old)
		cap_begins(d, now);
	else if (!d->cap && old)
		cap_ends(d, now);
}

const struct sim_sched sim_credit2 = {
	.may_run = credit2_may_run,
	.idle = credit2_idle,
	.capped = credit2_capped,
	.tick = credit2_refill,
};
