// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: a guest from boot until its memory is freed.
/*
 * A destroyed guest does not run, but stays in the list as dying while any of
 * its pages is mapped, as on Xen.
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

static void boot_qp(struct sim_task *t, uint32_t i)
{
	static const enum sim_opcode opcodes[] = {
		[OP_SEND] = SIM_RDMA_SEND, [OP_WRITE] = SIM_RDMA_WRITE, [OP_READ] = SIM_RDMA_READ
	};
	enum sample_op op = t->conf->kind == SIM_APP_SERVER ? OP_SEND : t->conf->op;

	t->qp[i] = (struct sim_qp){
		.task = t,
		.index = i,
		.number = 0x11 + (uint32_t)sim_rand_below(&t->dom->rand, 0xfffff),
		.wr = { opcodes[op], t->conf->msg_bytes },
		.mtu = t->conf->path_mtu,
		.done = sim_task_completed,
	};
}

static const struct sim_app_ops *app_ops(enum sim_app_kind kind)
{
	if (kind == SIM_APP_SENDER)
		return &sim_sender_ops;
	return kind == SIM_APP_SERVER ? &sim_server_ops : NULL;
}

static void boot_task(struct sim_dom *d, uint32_t i)
{
	struct sim_task *t = &d->task[i];

	t->dom = d;
	t->conf = &d->conf->app[i];
	t->ops = app_ops(t->conf->kind);
	t->truth = &d->host->guest[d->guest].app[i];
	t->pid = 1000 + (uint32_t)sim_rand_below(&d->rand, 30000);
	t->qps = sim_task_qps(t->conf);
	t->qp = d->qp + d->qps;
	d->qps += t->qps;
	for (uint32_t k = 0; k < t->qps; k++)
		boot_qp(t, k);
	timer_init(&t->step, sim_task_step, t);
	timer_init(&t->life, sim_task_begin, t);
	timer_init(&t->come, sim_task_come, t);
}

/* Tasks are assigned to VCPUs in turn; VCPUs beyond the number of tasks stay idle. */
static void boot_cpus(struct sim_dom *d)
{
	assert(d->conf->vcpus > 0); /* conf.c refuses others */
	d->cpus = d->conf->vcpus < d->conf->apps ? d->conf->vcpus : d->conf->apps;
	for (uint32_t i = 0; i < d->cpus; i++) {
		d->cpu[i].dom = d;
		d->cpu[i].since = d->boot;
		timer_init(&d->cpu[i].slice, sim_cpu_start, &d->cpu[i]);
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

/* A guest has one UUID in all its lives, as by its file in /etc/xen. */
static void set_uuid(struct sim_dom *d)
{
	struct sim_guest *g = &d->host->guest[d->guest];
	uint64_t half[2] = { sim_rand(&d->rand), sim_rand(&d->rand) };

	if (!g->uuid[6]) { /* its first life */
		memcpy(g->uuid, half, sizeof(g->uuid));
		g->uuid[6] = (uint8_t)(0x40 | (g->uuid[6] & 0x0f)); /* version 4, random */
		g->uuid[8] = (uint8_t)(0x80 | (g->uuid[8] & 0x3f));
	}
	memcpy(d->uuid, g->uuid, sizeof(d->uuid));
}

static void append_dom(struct sim_host *h, struct sim_dom *d)
{
	struct sim_dom **end = &h->doms;

	while (*end)
		end = &(*end)->next;
	*end = d;
}

static struct sim_dom *dom_new(struct sim_host *h, uint32_t guest, int64_t now)
{
	struct sim_dom *d = calloc(1, sizeof(*d));
	uint32_t qps = 0;

	if (!d)
		return NULL;
	d->host = h;
	d->conf = &h->conf.guest[guest];
	d->guest = guest;
	d->domid = h->next_domid;
	d->boot = now;
	d->rand.state = h->conf.seed * 1000003 + d->domid;
	for (uint32_t i = 0; i < d->conf->apps; i++)
		qps += sim_task_qps(&d->conf->app[i]);
	d->qp = calloc(qps + 1, sizeof(*d->qp));
	if (d->qp)
		return d;
	free(d);
	return NULL;
}

static void dom_free(struct sim_dom *d)
{
	free(d->qp);
	free(d);
}

/* The cap that its configuration has, before any task runs. */
static void boot_parts(struct sim_dom *d)
{
	memset(d->host->guest[d->guest].app, 0, sizeof(d->host->guest[d->guest].app));
	set_uuid(d);
	d->sched = d->host->conf.sched == SIM_CREDIT ? &sim_credit : &sim_credit2;
	timer_init(&d->tick, d->sched->tick, d);
	timer_init(&d->apply, sim_sched_apply, d);
	timer_init(&d->heartbeat, sim_agent_heartbeat, d);
	for (uint32_t i = 0; i < d->conf->apps; i++)
		boot_task(d, i);
	boot_cpus(d);
	d->wanted = d->conf->cap;
	sim_sched_apply(d, d->boot);
	sim_agent_boot(d);
	arm_lives(d);
}

int sim_dom_boot(struct sim_host *h, uint32_t guest, int64_t now)
{
	struct sim_dom *d = dom_new(h, guest, now);
	int rc;

	if (!d)
		return -ENOMEM;
	rc = sim_mem_open(&d->mem, sim_agent_pages(d->conf), &d->rand);
	if (rc < 0) {
		dom_free(d);
		return rc;
	}
	boot_parts(d);
	append_dom(h, d);
	h->next_domid++;
	h->guest[guest].dom = d;
	__atomic_store_n(&h->guest[guest].domid, d->domid, __ATOMIC_RELEASE);
	return 0;
}

void sim_dom_free(struct sim_dom *d)
{
	sim_mem_close(&d->mem);
	dom_free(d);
}

/* The HCA drops what a destroyed guest had posted: these messages never count as sent. */
static void kill_task(struct sim_task *t, int64_t now)
{
	struct sim_timers *ts = &t->dom->host->timers;

	for (uint32_t k = 0; k < t->qps; k++)
		sim_link_remove(sim_task_link(&t->qp[k]), &t->qp[k], now);
	if (t->ops)
		t->ops->end(t, now);
	sim_timer_disarm(ts, &t->step);
	sim_timer_disarm(ts, &t->life);
	t->state = SIM_TASK_OFF;
}

/*
 * What it really did (sim_truth) stays readable. Only the running stops here;
 * sim_dom_bury() frees the guest when none of its pages is mapped.
 */
void sim_dom_kill(struct sim_dom *d, int64_t now)
{
	struct sim_timers *ts = &d->host->timers;

	d->host->guest[d->guest].cpu_ns = sim_sched_cpu_ns(d, now);
	d->host->guest[d->guest].wait_ns = sim_sched_wait_ns(d, now);
	for (uint32_t i = 0; i < d->cpus; i++) {
		sim_cpu_settle(&d->cpu[i], now);
		sim_timer_disarm(ts, &d->cpu[i].slice);
		d->cpu[i].state = SIM_CPU_IDLE;
	}
	for (uint32_t i = 0; i < d->conf->apps; i++)
		kill_task(&d->task[i], now);
	sim_timer_disarm(ts, &d->tick);
	sim_timer_disarm(ts, &d->apply);
	sim_timer_disarm(ts, &d->heartbeat);
	d->dying = true;
	d->host->guest[d->guest].dom = NULL;
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
		sim_dom_free(d);
		sim_wake_watchers(h);
	}
}
