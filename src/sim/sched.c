// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: a scheduler that treats caps as Xen's credit2 does.
/*
 * Every VCPU has a physical CPU of its own (the paper's set-up), so a VCPU
 * runs whenever a task wants it, unless its domain's budget is spent:
 *
 *  - the budget is cap x period, refilled each period; what is left over is
 *    not kept, an overrun is carried as debt and can cost several periods;
 *  - a VCPU takes its share of the budget, at least 500 us, and runs at least
 *    500 us once it runs at all: with small caps it overruns;
 *  - a VCPU that finds no budget is parked until a refill;
 *  - a new cap on a capped domain is the size of the next refill; the first
 *    cap acts at once, and so does taking the cap away.
 *
 * Being parked is all that a cap does: no figure of a guest's traffic is
 * computed from it.
 */
#include <errno.h>

#include "src/sim/model.h"

static struct sim_timers *timers(struct sim_dom *d)
{
	return &d->host->timers;
}

/* The tasks on it have run for equal parts. */
static void share_out(struct sim_cpu *c, uint64_t ran)
{
	for (uint32_t i = 0; i < c->dom->conf->apps; i++) {
		struct sim_task *t = &c->dom->task[i];

		if (t->cpu != c || !t->on_cpu)
			continue;
		t->ran += ran * (SIM_CPU_PARTS / c->tasks);
		t->truth->cpu_ns = t->ran / SIM_CPU_PARTS;
	}
}

void sim_cpu_settle(struct sim_cpu *c, int64_t now)
{
	int64_t ran = now - c->since;

	c->since = now;
	if (c->state != SIM_CPU_RUN || !ran)
		return;
	c->run_ns += (uint64_t)ran;
	share_out(c, (uint64_t)ran);
	if (c->dom->cap)
		c->budget -= ran;
}

/* Take budget from the domain; false when there is none. A debt is paid first. */
static bool grab(struct sim_cpu *c)
{
	struct sim_dom *d = c->dom;
	int64_t quota = d->tot_budget / d->conf->vcpus;

	if (c->budget > 0)
		return true;
	if (quota < SIM_MIN_SLICE)
		quota = SIM_MIN_SLICE;
	d->budget += c->budget;
	c->budget = 0;
	if (d->budget <= 0)
		return false;
	c->budget = d->budget < quota ? d->budget : quota;
	d->budget -= c->budget;
	return true;
}

static void arm_slice(struct sim_cpu *c, int64_t now)
{
	int64_t slice = c->budget > SIM_MIN_SLICE ? c->budget : SIM_MIN_SLICE;

	if (c->dom->cap)
		sim_timer_arm(timers(c->dom), &c->slice, now + slice);
}

static void each_task(struct sim_cpu *c, void (*fn)(struct sim_task *, int64_t), int64_t now)
{
	for (uint32_t i = 0; i < c->dom->conf->apps; i++)
		if (c->dom->task[i].cpu == c)
			fn(&c->dom->task[i], now);
}

static void halt(struct sim_cpu *c, enum sim_cpu_state state, int64_t now)
{
	sim_cpu_settle(c, now);
	sim_timer_disarm(timers(c->dom), &c->slice);
	if (c->state == SIM_CPU_RUN)
		each_task(c, sim_task_suspend, now);
	c->state = state;
}

/* Run if there is budget for it, else be parked. */
static void start(struct sim_cpu *c, int64_t now)
{
	sim_cpu_settle(c, now);
	if (c->dom->cap && !grab(c)) {
		halt(c, SIM_CPU_PARKED, now);
		return;
	}
	arm_slice(c, now);
	if (c->state == SIM_CPU_RUN)
		return;
	c->state = SIM_CPU_RUN;
	each_task(c, sim_task_resume, now);
}

static void unpark(struct sim_dom *d, int64_t now)
{
	for (uint32_t i = 0; i < d->cpus; i++)
		if (d->cpu[i].state == SIM_CPU_PARKED)
			start(&d->cpu[i], now);
}

/*
 * Tasks that share a VCPU progress at equal speed. What a task has left of a
 * step is kept in run time of the VCPU, so it changes with their number.
 */
static void reshare(struct sim_cpu *c, uint32_t tasks)
{
	for (uint32_t i = 0; c->tasks && i < c->dom->conf->apps; i++) {
		struct sim_task *t = &c->dom->task[i];

		if (t->cpu == c)
			t->left = (t->left * tasks + c->tasks - 1) / c->tasks;
	}
	c->tasks = tasks;
}

static void set_on_cpu(struct sim_task *t, bool on, int64_t now)
{
	struct sim_cpu *c = t->cpu;
	bool runs = c->state == SIM_CPU_RUN;

	sim_cpu_settle(c, now);
	if (runs)
		each_task(c, sim_task_suspend, now);
	reshare(c, on ? c->tasks + 1 : c->tasks - 1);
	t->on_cpu = on;
	if (runs && c->tasks)
		each_task(c, sim_task_resume, now);
}

void sim_cpu_join(struct sim_task *t, int64_t now)
{
	set_on_cpu(t, true, now);
	if (t->cpu->state == SIM_CPU_IDLE)
		start(t->cpu, now);
}

void sim_cpu_leave(struct sim_task *t, int64_t now)
{
	struct sim_cpu *c = t->cpu;
	struct sim_dom *d = c->dom;

	set_on_cpu(t, false, now);
	if (c->tasks)
		return;
	halt(c, SIM_CPU_IDLE, now);
	if (!d->cap || c->budget <= 0)
		return;
	d->budget += c->budget; /* what a sleeper did not need is for the others */
	c->budget = 0;
	if (d->budget > 0)
		unpark(d, now);
}

void sim_sched_slice(void *arg, int64_t now)
{
	start((struct sim_cpu *)arg, now);
}

void sim_sched_refill(void *arg, int64_t now)
{
	struct sim_dom *d = (struct sim_dom *)arg;

	sim_timer_arm(timers(d), &d->refill, now + d->host->conf.cap_period_ns);
	d->budget += d->tot_budget;
	if (d->budget > d->tot_budget)
		d->budget = d->tot_budget;
	if (d->budget > 0)
		unpark(d, now);
}

/* The first cap: budget for one period now, and all have to ask for it. */
static void cap_begins(struct sim_dom *d, int64_t now)
{
	d->budget = d->tot_budget;
	sim_timer_arm(timers(d), &d->refill, now + d->host->conf.cap_period_ns);
	for (uint32_t i = 0; i < d->cpus; i++) {
		d->cpu[i].budget = 0;
		if (d->cpu[i].state == SIM_CPU_RUN)
			start(&d->cpu[i], now);
	}
}

static void cap_ends(struct sim_dom *d, int64_t now)
{
	sim_timer_disarm(timers(d), &d->refill);
	for (uint32_t i = 0; i < d->cpus; i++) {
		sim_timer_disarm(timers(d), &d->cpu[i].slice);
		d->cpu[i].budget = 0;
	}
	unpark(d, now);
}

void sim_sched_apply(void *arg, int64_t now)
{
	struct sim_dom *d = (struct sim_dom *)arg;
	uint32_t old = d->cap;

	for (uint32_t i = 0; i < d->cpus; i++)
		sim_cpu_settle(&d->cpu[i], now);
	d->cap = d->wanted;
	d->tot_budget = d->host->conf.cap_period_ns / 100 * d->cap;
	if (d->cap && !old)
		cap_begins(d, now);
	else if (!d->cap && old)
		cap_ends(d, now);
}

/*
 * Whoever sets a cap is not the one who lets time pass, and only the latter
 * may make guests run (and write): so the cap waits in a timer that is due.
 */
int sim_sched_set_cap(struct sim_dom *d, uint32_t percent, int64_t now)
{
	if (percent > 100 * d->conf->vcpus)
		return -EINVAL;
	d->wanted = percent;
	sim_timer_arm(timers(d), &d->apply, now);
	return 0;
}

uint64_t sim_sched_cpu_ns(const struct sim_dom *d, int64_t now)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < d->cpus; i++) {
		const struct sim_cpu *c = &d->cpu[i];

		sum += c->run_ns;
		if (c->state == SIM_CPU_RUN)
			sum += (uint64_t)(now - c->since);
	}
	return sum;
}
