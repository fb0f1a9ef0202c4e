// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: the applications in the guests.
/*
 * All but IDLE keep their VCPU busy: as the paper's BenchEx they poll the
 * completion queue and never sleep. A step of work (computing, posting a work
 * request) needs its nanoseconds of VCPU time; a task whose VCPU is parked
 * does nothing and notices nothing, while the HCA goes on with what was
 * posted (link.c).
 *
 * SENDER: keeps `depth` messages outstanding (RDMA WRITE). Each needs post_ns
 * of CPU to be posted (and its predecessor reaped); as many are owed as were
 * completed.
 *
 * SERVER: one request at a time from a client on another host, which sends
 * the next one as soon as it has the reply; requests are small and come in at
 * no cost. Compute, post the reply (SEND of msg_bytes), poll. Computing
 * varies by +-0.5 %, so that two servers do not march in step. A request is
 * measured from its arrival to the moment its reply left:
 *
 *	arrived    noticed    computed    posted    sent = the next one arrived
 *	   | PTime    |  CTime   |  PTime   |  WTime  |
 */
#include "src/sim/model.h"

enum { OPCODE_WRITE = 0, OPCODE_SEND = 2, JITTER_PARTS = 200 };

bool sim_task_has_ring(const struct sim_app *a)
{
	return a->kind == SIM_APP_SENDER || a->kind == SIM_APP_SERVER;
}

static struct sim_host *host(const struct sim_task *t)
{
	return t->dom->host;
}

static struct sim_truth *truth(const struct sim_task *t)
{
	return &host(t)->guest[t->dom->guest].truth;
}

static struct sim_link *task_link(const struct sim_task *t)
{
	return &host(t)->link[t->dom->conf->link];
}

static bool in_step(const struct sim_task *t)
{
	return t->state == SIM_TASK_COMPUTE || t->state == SIM_TASK_POST;
}

/* The cpu runs: work ns of this task's own time, shared with the cpu's others. */
static void step_begin(struct sim_task *t, enum sim_task_state state, int64_t work, int64_t now)
{
	t->state = state;
	t->left = work * t->cpu->tasks;
	sim_timer_arm(&host(t)->timers, &t->step, now + t->left);
}

static int64_t compute_time(struct sim_task *t)
{
	int64_t spread = t->conf->compute_ns / JITTER_PARTS;

	if (!spread)
		return t->conf->compute_ns;
	return t->conf->compute_ns - spread +
	       (int64_t)sim_rand_below(&t->dom->rand, (uint64_t)(2 * spread + 1));
}

/* The server sees that its reply has left: that request is over. */
static void request_over(struct sim_task *t)
{
	struct sim_truth *tr = truth(t);

	sim_agent_latency(t, t->next_arrived);
	tr->latency_last_ns = (uint64_t)(t->next_arrived - t->arrived);
	tr->latency_sum_ns += tr->latency_last_ns;
	tr->requests++;
	if (host(t)->seen_fn)
		host(t)->seen_fn(host(t)->seen_arg, t->dom->guest, (uint32_t)(t - t->dom->task),
				 tr->latency_last_ns);
}

static void request_begins(struct sim_task *t, int64_t now)
{
	if (t->qp.posted)
		request_over(t);
	t->request = false;
	t->arrived = t->next_arrived;
	t->noticed = now;
	step_begin(t, SIM_TASK_COMPUTE, compute_time(t), now);
}

/* One look at the completion queue. The cpu runs. */
static void poll(struct sim_task *t, int64_t now)
{
	if (t->conf->kind == SIM_APP_SENDER && t->owed)
		step_begin(t, SIM_TASK_POST, t->conf->post_ns, now);
	if (t->conf->kind == SIM_APP_SERVER && t->request)
		request_begins(t, now);
}

static void post(struct sim_task *t, int64_t now)
{
	struct sim_ring_wr wr = { OPCODE_WRITE, t->qp.msg_bytes };

	if (t->conf->kind == SIM_APP_SERVER)
		wr.opcode = OPCODE_SEND;
	sim_ring_post(&t->qp.ring, t->qp.posted, &wr);
	sim_link_post(task_link(t), &t->qp, now);
}

void sim_task_step(void *arg, int64_t now)
{
	struct sim_task *t = (struct sim_task *)arg;

	t->left = 0;
	if (t->state == SIM_TASK_COMPUTE) {
		t->computed = now;
		step_begin(t, SIM_TASK_POST, t->conf->post_ns, now);
		return;
	}
	t->state = SIM_TASK_POLL;
	t->posted = now;
	if (t->owed)
		t->owed--;
	post(t, now);
	poll(t, now);
}

static void hide_when_drained(struct sim_task *t)
{
	if (t->state != SIM_TASK_OFF || !t->shown || t->qp.completed < t->qp.posted)
		return;
	t->shown = false;
	sim_agent_publish(t->dom);
}

/* The HCA has sent a message. Called by the link. */
void sim_task_completed(struct sim_task *t, int64_t now)
{
	struct sim_truth *tr = truth(t);

	tr->wrs++;
	tr->bytes += t->qp.msg_bytes;
	tr->mtus += (t->qp.msg_bytes + t->qp.mtu - 1) / t->qp.mtu;
	if (t->conf->kind == SIM_APP_SERVER) {
		t->request = true;
		t->next_arrived = now;
	} else {
		t->owed++;
	}
	if (t->state == SIM_TASK_POLL && t->cpu->state == SIM_CPU_RUN)
		poll(t, now);
	hide_when_drained(t);
}

void sim_task_resume(struct sim_task *t, int64_t now)
{
	if (in_step(t))
		sim_timer_arm(&host(t)->timers, &t->step, now + t->left);
	else if (t->state == SIM_TASK_POLL)
		poll(t, now);
}

void sim_task_suspend(struct sim_task *t, int64_t now)
{
	if (!t->step.pos)
		return;
	t->left = t->step.when - now;
	sim_timer_disarm(&host(t)->timers, &t->step);
}

void sim_task_begin(void *arg, int64_t now)
{
	struct sim_task *t = (struct sim_task *)arg;

	t->start = now;
	t->state = SIM_TASK_POLL;
	if (t->conf->kind == SIM_APP_SENDER)
		t->owed = t->conf->depth;
	t->request = true; /* the first one is there already */
	t->next_arrived = now;
	if (sim_task_has_ring(t->conf)) {
		t->shown = true;
		sim_agent_publish(t->dom);
	}
	if (t->conf->stop_ns) {
		t->life.fire = sim_task_end;
		sim_timer_arm(&host(t)->timers, &t->life, host(t)->start + t->conf->stop_ns);
	}
	sim_cpu_join(t->cpu, now);
}

/* The process posts no more; what it posted goes out, then its ring is gone. */
void sim_task_end(void *arg, int64_t now)
{
	struct sim_task *t = (struct sim_task *)arg;

	sim_task_suspend(t, now);
	t->state = SIM_TASK_OFF;
	t->left = 0;
	sim_cpu_leave(t->cpu, now);
	hide_when_drained(t);
}
