// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: the applications in the guests: their steps of work.
/*
 * All but IDLE keep their VCPU busy: as the paper's BenchEx they poll the
 * completion queue and never sleep. A step of work (computing, posting a work
 * request) needs its nanoseconds of VCPU time; a task whose VCPU is parked
 * does nothing and notices nothing, while the HCA goes on with what was
 * posted (link.c). What a SENDER and a SERVER do is in sender.c and server.c, behind
 * sim_app_ops; a BURNER does nothing else. How a task begins and ends is in life.c.
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

/*
 * work ns of this task's own time, shared with the others on its cpu. n tasks on a VCPU
 * take turns, so a step takes n times its own time.
 */
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

void sim_task_poll(struct sim_task *t, int64_t now)
{
	if (t->ops)
		t->ops->poll(t, now);
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
	t->ops->post(t, now);
	sim_task_poll(t, now);
}

/* New work has come. A parked task sees it when it runs. */
void sim_task_come(void *arg, int64_t now)
{
	struct sim_task *t = (struct sim_task *)arg;

	t->ops->come(t, now);
	if (t->state == SIM_TASK_POLL && t->cpu->state == SIM_CPU_RUN)
		sim_task_poll(t, now);
}

void sim_task_resume(struct sim_task *t, int64_t now)
{
	if (in_step(t))
		sim_timer_arm(timers(t), &t->step, now + t->left);
	else if (t->state == SIM_TASK_POLL)
		sim_task_poll(t, now);
}

void sim_task_suspend(struct sim_task *t, int64_t now)
{
	if (!t->step.pos)
		return;
	t->left = t->step.when - now;
	sim_timer_disarm(timers(t), &t->step);
}
