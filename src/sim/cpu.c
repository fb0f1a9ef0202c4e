// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: VCPUs, and the tasks that share one.
/*
 * Every VCPU has a physical CPU of its own (the paper's set-up), so a VCPU
 * runs whenever a task wants it, unless the scheduler has parked it because
 * its domain is over its cap (credit2.c, credit.c). Being parked is all that
 * a cap does: no figure of a guest's traffic is computed from it.
 */
#include <errno.h>

#include "src/sim/hyp.h"
#include "src/sim/model.h"

static struct sim_timers *timers(const struct sim_cpu *c)
{
	return &c->dom->host->timers;
}

/* The tasks on a VCPU share its time equally. */
static void add_task_time(struct sim_cpu *c, uint64_t ran)
{
	for (uint32_t i = 0; i < c->dom->conf->apps; i++) {
		struct sim_task *t = &c->dom->task[i];

		if (t->cpu != c || !t->on_cpu)
			continue;
		/*
		 * In parts of a nanosecond that 1, 2, 3 or 4 tasks share without a rest:
		 * nothing is lost by rounding.
		 */
		t->ran += ran * (SIM_CPU_PARTS / c->tasks);
		t->truth->cpu_ns = t->ran / SIM_CPU_PARTS;
	}
}

void sim_cpu_settle(struct sim_cpu *c, int64_t now)
{
	int64_t ran = now - c->since;

	c->since = now;
	if (c->state == SIM_CPU_PARKED)
		c->wait_ns += (uint64_t)ran;
	if (c->state != SIM_CPU_RUN || !ran)
		return;
	c->run_ns += (uint64_t)ran;
	add_task_time(c, (uint64_t)ran);
	if (c->dom->metered)
		c->budget -= ran;
}

static void each_task(struct sim_cpu *c, void (*fn)(struct sim_task *, int64_t), int64_t now)
{
	for (uint32_t i = 0; i < c->dom->conf->apps; i++)
		if (c->dom->task[i].cpu == c)
			fn(&c->dom->task[i], now);
}

static void halt_cpu(struct sim_cpu *c, enum sim_cpu_state state, int64_t now)
{
	sim_cpu_settle(c, now);
	sim_timer_disarm(timers(c), &c->slice);
	if (c->state == SIM_CPU_RUN)
		each_task(c, sim_task_suspend, now);
	c->state = state;
}

void sim_cpu_park(struct sim_cpu *c, int64_t now)
{
	halt_cpu(c, SIM_CPU_PARKED, now);
}

void sim_cpu_start(void *arg, int64_t now)
{
	struct sim_cpu *c = (struct sim_cpu *)arg;

	sim_cpu_settle(c, now);
	if (!c->dom->sched->may_run(c, now)) {
		sim_cpu_park(c, now);
		return;
	}
	if (c->state == SIM_CPU_RUN)
		return;
	c->state = SIM_CPU_RUN;
	each_task(c, sim_task_resume, now);
}

void sim_cpu_unpark(struct sim_dom *d, int64_t now)
{
	for (uint32_t i = 0; i < d->cpus; i++)
		if (d->cpu[i].state == SIM_CPU_PARKED)
			sim_cpu_start(&d->cpu[i], now);
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
		sim_cpu_start(t->cpu, now);
}

void sim_cpu_leave(struct sim_task *t, int64_t now)
{
	set_on_cpu(t, false, now);
	if (t->cpu->tasks)
		return;
	halt_cpu(t->cpu, SIM_CPU_IDLE, now);
	t->dom->sched->idle(t->cpu, now);
}

void sim_sched_apply(void *arg, int64_t now)
{
	struct sim_dom *d = (struct sim_dom *)arg;
	uint32_t old = d->cap;

	if (d->host->conf.ignore_caps)
		return;
	for (uint32_t i = 0; i < d->cpus; i++)
		sim_cpu_settle(&d->cpu[i], now);
	d->cap = d->wanted;
	d->sched->capped(d, old, now);
}

/*
 * Only the thread that advances time may make guests run (and write), and
 * another thread sets caps: so a cap waits in a timer that is due at once.
 */
int sim_sched_set_cap(struct sim_dom *d, uint32_t percent, int64_t now)
{
	if (percent > 100 * d->conf->vcpus)
		return -EINVAL;
	d->wanted = percent;
	sim_timer_arm(&d->host->timers, &d->apply, now);
	return 0;
}

static uint64_t time_in(const struct sim_cpu *c, enum sim_cpu_state state, uint64_t before,
			int64_t now)
{
	return before + (c->state == state ? (uint64_t)(now - c->since) : 0);
}

uint64_t sim_sched_cpu_ns(const struct sim_dom *d, int64_t now)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < d->cpus; i++)
		sum += time_in(&d->cpu[i], SIM_CPU_RUN, d->cpu[i].run_ns, now);
	return sum;
}

uint64_t sim_sched_wait_ns(const struct sim_dom *d, int64_t now)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < d->cpus; i++)
		sum += time_in(&d->cpu[i], SIM_CPU_PARKED, d->cpu[i].wait_ns, now);
	return sum;
}

void sim_cpu_see(const struct sim_cpu *c, int64_t now, struct sim_hyp_vcpu *out)
{
	out->running = c->state == SIM_CPU_RUN;
	out->blocked = c->state == SIM_CPU_IDLE;
	out->cpu_ns = time_in(c, SIM_CPU_RUN, c->run_ns, now);
}

bool sim_sched_any(const struct sim_dom *d, enum sim_cpu_state state)
{
	for (uint32_t i = 0; i < d->cpus; i++)
		if (d->cpu[i].state == state)
			return true;
	return false;
}
