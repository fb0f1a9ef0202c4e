// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: the applications in the guests.
/*
 * All but IDLE keep their VCPU busy: as the paper's BenchEx they poll the
 * completion queue and never sleep. A step of work (computing, posting a work
 * request) needs its nanoseconds of VCPU time; a task whose VCPU is parked
 * does nothing and notices nothing, while the HCA goes on with what was
 * posted (link.c). What a SENDER and a SERVER do is in sender.c and server.c;
 * a BURNER does nothing else.
 */
#include "src/sim/model.h"

uint32_t sim_task_qps(const struct sim_app *a)
{
	if (a->kind == SIM_APP_SENDER)
		return a->qps;
	return a->kind == SIM_APP_SERVER ? 1 : 0;
}

static struct sim_timers *timers(const struct sim_task *t)
{
	return &t->dom->host->timers;
}

static bool in_step(const struct sim_task *t)
{
	return t->state == SIM_TASK_COMPUTE || t->state == SIM_TASK_POST;
}

/* work ns of this task's own time, shared with the others on its cpu. */
void sim_task_work(struct sim_task *t, enum sim_task_state state, int64_t work, int64_t now)
{
	t->state = state;
	t->left = work * t->cpu->tasks;
	sim_timer_arm(timers(t), &t->step, now + t->left);
}

struct sim_link *sim_task_link(const struct sim_qp *qp)
{
	const struct sim_dom *d = qp->task->dom;

	return &d->host->link[d->conf->link][qp->wr.opcode == SIM_RDMA_READ ? SIM_IN : SIM_OUT];
}

void sim_task_post(struct sim_task *t, struct sim_qp *qp, int64_t now)
{
	t->outstanding++;
	sim_ring_post(&qp->ring, qp->posted, &qp->wr);
	sim_link_post(sim_task_link(qp), qp, now);
}

/* One look at the completion queue. The cpu runs. */
static void poll(struct sim_task *t, int64_t now)
{
	if (t->conf->kind == SIM_APP_SENDER)
		sim_sender_poll(t, now);
	if (t->conf->kind == SIM_APP_SERVER)
		sim_server_poll(t, now);
}

void sim_task_step(void *arg, int64_t now)
{
	struct sim_task *t = (struct sim_task *)arg;

	t->left = 0;
	if (t->state == SIM_TASK_COMPUTE) {
		t->server.work.computed = now;
		sim_task_work(t, SIM_TASK_POST, t->conf->post_ns, now);
		return;
	}
	t->state = SIM_TASK_POLL;
	if (t->conf->kind == SIM_APP_SENDER)
		sim_sender_post(t, now);
	else
		sim_server_post(t, now);
	poll(t, now);
}

static void hide_when_drained(struct sim_task *t)
{
	if (t->state != SIM_TASK_OFF || !t->shown || t->outstanding)
		return;
	t->shown = false;
	sim_agent_publish(t->dom);
}

/* The HCA is done with a message. Called by the link. */
void sim_task_completed(struct sim_qp *qp, int64_t now)
{
	struct sim_task *t = qp->task;

	t->outstanding--;
	t->truth->wrs++;
	t->truth->bytes += qp->wr.bytes;
	t->truth->mtus += (qp->wr.bytes + qp->mtu - 1) / qp->mtu;
	if (t->conf->kind == SIM_APP_SENDER)
		sim_sender_completed(t, qp);
	else
		sim_server_completed(t, qp, now);
	if (t->state == SIM_TASK_POLL && t->cpu->state == SIM_CPU_RUN)
		poll(t, now);
	hide_when_drained(t);
}

void sim_task_resume(struct sim_task *t, int64_t now)
{
	if (in_step(t))
		sim_timer_arm(timers(t), &t->step, now + t->left);
	else if (t->state == SIM_TASK_POLL)
		poll(t, now);
}

void sim_task_suspend(struct sim_task *t, int64_t now)
{
	if (!t->step.pos)
		return;
	t->left = t->step.when - now;
	sim_timer_disarm(timers(t), &t->step);
}

void sim_task_begin(void *arg, int64_t now)
{
	struct sim_task *t = (struct sim_task *)arg;

	t->start = now;
	t->state = SIM_TASK_POLL;
	if (t->conf->kind == SIM_APP_SENDER)
		sim_sender_begin(t, now);
	if (t->conf->kind == SIM_APP_SERVER)
		sim_server_begin(t, now);
	if (t->qps) {
		t->shown = true;
		sim_agent_publish(t->dom);
	}
	if (t->conf->stop_ns) {
		t->life.fire = sim_task_end;
		sim_timer_arm(timers(t), &t->life, t->dom->host->start + t->conf->stop_ns);
	}
	sim_cpu_join(t, now);
}

/* The process posts no more; what it posted goes out, then its ring is gone. */
void sim_task_end(void *arg, int64_t now)
{
	struct sim_task *t = (struct sim_task *)arg;

	sim_task_suspend(t, now);
	if (t->conf->kind == SIM_APP_SENDER)
		sim_sender_end(t, now);
	t->state = SIM_TASK_OFF;
	t->left = 0;
	sim_cpu_leave(t, now);
	hide_when_drained(t);
}
