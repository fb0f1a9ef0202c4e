// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: how applications begin and end, and what happens when a message was sent.
/*
 * Above the files that it calls: task.c (steps of work), cpu.c (sharing a
 * VCPU) and agent.c (the registry). The link calls it by sim_qp.done.
 */
#include "src/sim/model.h"

/*
 * A ring stays in the registry until its last message was sent, so that all its bytes can
 * be counted.
 */
static void hide_when_drained(struct sim_task *t)
{
	if (t->state != SIM_TASK_OFF || !t->shown || t->outstanding)
		return;
	t->shown = false;
	sim_agent_publish(t->dom);
}

/* The HCA is done with a message: the link calls qp->done. */
void sim_task_completed(struct sim_qp *qp, int64_t now)
{
	struct sim_task *t = qp->task;

	t->outstanding--;
	t->truth->wrs++;
	t->truth->bytes += qp->wr.bytes;
	t->truth->mtus += (qp->wr.bytes + qp->mtu - 1) / qp->mtu;
	t->ops->completed(t, qp, now);
	if (t->state == SIM_TASK_POLL && t->cpu->state == SIM_CPU_RUN)
		sim_task_poll(t, now);
	hide_when_drained(t);
}

void sim_task_begin(void *arg, int64_t now)
{
	struct sim_task *t = (struct sim_task *)arg;

	t->start = now;
	t->state = SIM_TASK_POLL;
	if (t->ops)
		t->ops->begin(t, now);
	if (t->qps) {
		t->shown = true;
		sim_agent_publish(t->dom);
	}
	if (t->conf->stop_ns) {
		t->life.fire = sim_task_end;
		sim_timer_arm(&t->dom->host->timers, &t->life,
			      t->dom->host->start + t->conf->stop_ns);
	}
	sim_cpu_join(t, now);
}

/* The process does not post again; the HCA sends what it posted, then its ring is removed. */
void sim_task_end(void *arg, int64_t now)
{
	struct sim_task *t = (struct sim_task *)arg;

	sim_task_suspend(t, now);
	if (t->ops)
		t->ops->end(t, now);
	t->state = SIM_TASK_OFF;
	t->left = 0;
	sim_cpu_leave(t, now);
	hide_when_drained(t);
}
