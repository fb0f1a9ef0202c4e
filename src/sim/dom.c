// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: a guest from boot to burial.
/*
 * A destroyed guest runs no more, but it stays in the list as dying for as
 * long as somebody has its pages mapped, as on Xen.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/sim/model.h"

static void timer_init(struct sim_timer *t, void (*fire)(void *, int64_t), void *arg)
{
	*t = (struct sim_timer){ .fire = fire, .arg = arg };
}

static void boot_task(struct sim_dom *d, uint32_t i)
{
	struct sim_task *t = &d->task[i];

	t->dom = d;
	t->conf = &d->conf->app[i];
	t->pid = 1000 + (uint32_t)sim_rand_below(&d->rand, 30000);
	t->qp.task = t;
	t->qp.number = 0x11 + (uint32_t)sim_rand_below(&d->rand, 0xfffff);
	t->qp.msg_bytes = t->conf->msg_bytes;
	t->qp.mtu = t->conf->path_mtu;
	timer_init(&t->step, sim_task_step, t);
	timer_init(&t->life, sim_task_begin, t);
}

/* Tasks are dealt out to the VCPUs in turn; those beyond stay idle. */
static void boot_cpus(struct sim_dom *d)
{
	assert(d->conf->vcpus > 0); /* conf.c refuses others */
	d->cpus = d->conf->vcpus < d->conf->apps ? d->conf->vcpus : d->conf->apps;
	for (uint32_t i = 0; i < d->cpus; i++) {
		d->cpu[i].dom = d;
		d->cpu[i].since = d->boot;
		timer_init(&d->cpu[i].slice, sim_sched_slice, &d->cpu[i]);
	}
	for (uint32_t i = 0; i < d->conf->apps; i++)
		d->task[i].cpu = &d->cpu[i % d->cpus];
}

static void arm_lives(struct sim_dom *d)
{
	int64_t origin = d->host->start;

	for (uint32_t i = 0; i < d->conf->apps; i++) {
		const struct sim_app *a = &d->conf->app[i];
		int64_t at = origin + a->start_ns;

		if (a->kind == SIM_APP_IDLE || (a->stop_ns && origin + a->stop_ns <= d->boot))
			continue;
		sim_timer_arm(&d->host->timers, &d->task[i].life, at < d->boot ? d->boot : at);
	}
}

static void make_uuid(struct sim_dom *d)
{
	uint64_t half[2] = { sim_rand(&d->rand), sim_rand(&d->rand) };

	memcpy(d->uuid, half, sizeof(d->uuid));
	d->uuid[6] = (uint8_t)(0x40 | (d->uuid[6] & 0x0f)); /* version 4, random */
	d->uuid[8] = (uint8_t)(0x80 | (d->uuid[8] & 0x3f));
}

static void append(struct sim_host *h, struct sim_dom *d)
{
	struct sim_dom **end = &h->doms;

	while (*end)
		end = &(*end)->next;
	*end = d;
}

int sim_dom_boot(struct sim_host *h, uint32_t guest, int64_t now)
{
	struct sim_dom *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return -ENOMEM;
	d->host = h;
	d->conf = &h->conf.guest[guest];
	d->guest = guest;
	d->domid = h->next_domid;
	d->boot = now;
	d->rand.state = h->conf.seed * 1000003 + d->domid;
	rc = sim_mem_open(&d->mem, sim_agent_pages(d->conf), &d->rand);
	if (rc < 0) {
		free(d);
		return rc;
	}
	make_uuid(d);
	timer_init(&d->refill, sim_sched_refill, d);
	timer_init(&d->apply, sim_sched_apply, d);
	timer_init(&d->heartbeat, sim_agent_heartbeat, d);
	for (uint32_t i = 0; i < d->conf->apps; i++)
		boot_task(d, i);
	boot_cpus(d);
	d->wanted = d->conf->cap;
	sim_sched_apply(d, now);
	sim_agent_boot(d);
	arm_lives(d);
	append(h, d);
	h->next_domid++;
	h->guest[guest].dom = d;
	h->guest[guest].truth = (struct sim_truth){ 0 };
	__atomic_store_n(&h->guest[guest].domid, d->domid, __ATOMIC_RELEASE);
	return 0;
}

static void kill_tasks(struct sim_dom *d, int64_t now)
{
	struct sim_timers *ts = &d->host->timers;

	for (uint32_t i = 0; i < d->conf->apps; i++) {
		sim_link_remove(&d->host->link[d->conf->link], &d->task[i].qp, now);
		sim_timer_disarm(ts, &d->task[i].step);
		sim_timer_disarm(ts, &d->task[i].life);
		d->task[i].state = SIM_TASK_OFF;
	}
}

void sim_dom_kill(struct sim_dom *d, int64_t now)
{
	struct sim_timers *ts = &d->host->timers;
	struct sim_guest *g = &d->host->guest[d->guest];
	uint64_t cpu_ns = sim_sched_cpu_ns(d, now);

	kill_tasks(d, now);
	for (uint32_t i = 0; i < d->cpus; i++) {
		sim_timer_disarm(ts, &d->cpu[i].slice);
		d->cpu[i].state = SIM_CPU_IDLE;
		d->cpu[i].run_ns = i ? 0 : cpu_ns;
	}
	sim_timer_disarm(ts, &d->refill);
	sim_timer_disarm(ts, &d->apply);
	sim_timer_disarm(ts, &d->heartbeat);
	d->dying = true;
	g->truth.cpu_ns = cpu_ns;
	g->dom = NULL;
}

struct sim_dom *sim_dom_find(struct sim_host *h, uint32_t domid)
{
	struct sim_dom *d = h->doms;

	while (d && d->domid != domid)
		d = d->next;
	return d;
}

void sim_dom_bury(struct sim_host *h)
{
	struct sim_dom **at = &h->doms;

	while (*at) {
		struct sim_dom *d = *at;

		if (!d->dying || d->mem.mapped) {
			at = &d->next;
			continue;
		}
		*at = d->next;
		sim_mem_close(&d->mem);
		free(d);
		sim_wake_watchers(h);
	}
}
