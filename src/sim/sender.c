// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: senders: messages of one size and kind over queue pairs in turn.
/*
 * Each message needs post_ns of CPU to be posted (and the one before it on
 * its queue pair reaped), and room: fewer than depth outstanding there.
 *
 * Closed loop: a message is posted wherever there is room. Open loop: bursts
 * come by themselves, evenly spaced from a moment within the first gap that
 * the seed chooses, whether the guest runs or not. They wait for room and
 * CPU; when SIM_WAITING_MAX wait already, further ones are dropped. Nothing
 * is done when one comes unless the task waits for it: they are counted when
 * it looks. In a quiet spell none comes, and a closed loop posts none.
 */
#include "src/sim/model.h"

static struct sim_timers *timers(const struct sim_task *t)
{
	return &t->dom->host->timers;
}

/* How many bursts have come by now, and when number k (from 0) comes. */
static uint64_t bursts_by(const struct sim_task *t, int64_t now)
{
	int64_t busy = sim_busy_time(t->conf, now - t->start) - t->sender.first;
	unsigned __int128 x = (unsigned __int128)busy * t->conf->rate;

	if (busy < 0)
		return 0;
	return (uint64_t)(x / ((uint64_t)NS_PER_S * t->conf->burst)) + 1;
}

/* Rounded up, as bursts_by() rounds down: at that time the burst has come. */
static int64_t time_of(const struct sim_task *t, uint64_t k)
{
	unsigned __int128 x = (unsigned __int128)k * t->conf->burst * (uint64_t)NS_PER_S;

	return t->start +
	       sim_time_of_busy(t->conf, t->sender.first + (int64_t)((x + t->conf->rate - 1) /
								     t->conf->rate));
}

void sim_sender_look(struct sim_task *t, int64_t now)
{
	struct sim_app_truth *tr = t->truth;
	uint64_t bursts;

	if (t->conf->kind != SIM_APP_SENDER || !t->conf->rate || t->state == SIM_TASK_OFF)
		return;
	bursts = bursts_by(t, now);
	tr->waiting += (bursts - t->sender.bursts) * t->conf->burst;
	t->sender.bursts = bursts;
	if (tr->waiting > SIM_WAITING_MAX) {
		tr->dropped += tr->waiting - SIM_WAITING_MAX;
		tr->waiting = SIM_WAITING_MAX;
	}
}

static void sender_begin(struct sim_task *t, int64_t now)
{
	struct sim_sender *s = &t->sender;

	(void)now;
	/* All queue pairs are empty at first. The set is one word: SIM_APP_QPS_MAX is 64. */
	s->room = UINT64_MAX >> (SIM_APP_QPS_MAX - t->qps);
	if (t->conf->rate) {
		uint64_t gap = (uint64_t)NS_PER_S * t->conf->burst / t->conf->rate;

		s->first = (int64_t)sim_rand_below(&t->dom->rand, gap);
	}
}

static void sender_poll(struct sim_task *t, int64_t now)
{
	int64_t next = t->start + sim_next_busy(t->conf, now - t->start);
	struct sim_sender *s = &t->sender;

	sim_sender_look(t, now);
	if (t->conf->rate && !t->truth->waiting)
		sim_timer_arm(timers(t), &t->come, time_of(t, s->bursts));
	else if (!t->conf->rate && next > now)
		sim_timer_arm(timers(t), &t->come, next);
	else if (s->room)
		sim_task_work(t, SIM_TASK_POST, t->conf->post_ns, now);
}

/* The burst that the task waited for has come. It is counted when the task polls. */
static void sender_come(struct sim_task *t, int64_t now)
{
	(void)t;
	(void)now;
}

/* The queue pair with room that comes first in turn; there is one. */
static struct sim_qp *next_with_room(struct sim_task *t)
{
	uint64_t ahead = t->sender.room & (UINT64_MAX << t->sender.turn);
	uint32_t i = (uint32_t)__builtin_ctzll(ahead ? ahead : t->sender.room);

	t->sender.turn = (i + 1) % t->qps;
	return &t->qp[i];
}

static void sender_post(struct sim_task *t, int64_t now)
{
	struct sim_qp *qp = next_with_room(t);

	if (t->conf->rate)
		t->truth->waiting--;
	sim_task_post(t, qp, now);
	if (qp->posted - qp->completed == t->conf->depth)
		t->sender.room &= ~(UINT64_C(1) << qp->index);
}

static void sender_completed(struct sim_task *t, const struct sim_qp *qp, int64_t now)
{
	(void)now;
	t->sender.room |= UINT64_C(1) << qp->index;
}

/* Waiting messages are lost with their process. */
static void sender_end(struct sim_task *t, int64_t now)
{
	sim_sender_look(t, now);
	t->truth->dropped += t->truth->waiting;
	t->truth->waiting = 0;
	sim_timer_disarm(timers(t), &t->come);
}

const struct sim_app_ops sim_sender_ops = {
	.begin = sender_begin,
	.poll = sender_poll,
	.post = sender_post,
	.completed = sender_completed,
	.come = sender_come,
	.end = sender_end,
};
