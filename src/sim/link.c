// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: one link: the HCA sends the packets of its queue pairs in turn.
/*
 * Each queue pair with something posted sends one packet of its path MTU,
 * then the next one does. That needs nobody's CPU: a message that was posted
 * goes out whatever happens to its guest. A packet takes its bytes / rate;
 * headers, acknowledgements and the way to the peer take no time, and what
 * comes in does not slow what goes out.
 *
 * Nothing is done per packet where arithmetic will do: whole rounds are sent
 * at once, and the end of the next message is computed. Bytes are counted
 * since the link became busy, so that no rounding adds up.
 */
#include <string.h>

#include "src/sim/model.h"

static uint64_t bytes_by(const struct sim_link *l, int64_t now)
{
	unsigned __int128 ns = (unsigned __int128)(now - l->busy_since);

	return (uint64_t)(ns * l->bytes_s / (uint64_t)NS_PER_S);
}

/* When the link will have sent so many bytes since busy_since. */
static int64_t time_of(const struct sim_link *l, uint64_t bytes)
{
	unsigned __int128 x = (unsigned __int128)bytes * (uint64_t)NS_PER_S;

	return l->busy_since + (int64_t)((x + l->bytes_s - 1) / l->bytes_s);
}

static uint32_t packets(const struct sim_qp *qp)
{
	return (qp->left + qp->mtu - 1) / qp->mtu;
}

static void begin(struct sim_qp *qp)
{
	qp->left = qp->msg_bytes;
	sim_ring_begin(&qp->ring, qp->completed, packets(qp));
}

static void leave(struct sim_link *l, uint32_t i)
{
	l->n--;
	memmove(&l->turn[i], &l->turn[i + 1], (l->n - i) * sizeof(l->turn[0]));
}

/*
 * Arm for the first message to end. It is the one with the fewest packets p
 * left, the earliest in turn if there are several: until then those before
 * it send p full packets and those behind it p - 1.
 */
static void arm(struct sim_link *l)
{
	uint32_t first = 0, p;
	uint64_t bytes;

	if (!l->n) {
		sim_timer_disarm(l->timers, &l->done);
		return;
	}
	for (uint32_t i = 1; i < l->n; i++)
		if (packets(l->turn[i]) < packets(l->turn[first]))
			first = i;
	p = packets(l->turn[first]);
	bytes = l->turn[first]->left;
	for (uint32_t i = 0; i < l->n; i++)
		if (i != first)
			bytes += (uint64_t)l->turn[i]->mtu * (i < first ? p : p - 1);
	sim_timer_arm(l->timers, &l->done, time_of(l, l->sent + bytes));
}

/* Whole rounds in which every queue pair sends a full packet that is not its last. */
static void send_rounds(struct sim_link *l, uint64_t limit)
{
	uint64_t rounds = packets(l->turn[0]) - 1, round = l->turn[0]->mtu;

	for (uint32_t i = 1; i < l->n; i++) {
		uint32_t full = packets(l->turn[i]) - 1;

		round += l->turn[i]->mtu;
		rounds = full < rounds ? full : rounds;
	}
	if ((limit - l->sent) / round < rounds)
		rounds = (limit - l->sent) / round;
	for (uint32_t i = 0; i < l->n; i++)
		l->turn[i]->left -= (uint32_t)rounds * l->turn[i]->mtu;
	l->sent += rounds * round;
}

static void complete(struct sim_link *l, struct sim_qp *qp, int64_t now)
{
	sim_ring_complete(&qp->ring, qp->completed);
	qp->completed++;
	if (qp->completed < qp->posted)
		begin(qp);
	else
		leave(l, l->n - 1);
	sim_task_completed(qp->task, now);
}

/* One packet of the queue pair in turn; false when it is not through by limit. */
static bool send_packet(struct sim_link *l, uint64_t limit, int64_t now)
{
	struct sim_qp *qp = l->turn[0];
	uint32_t bytes = qp->left < qp->mtu ? qp->left : qp->mtu;

	if (l->sent + bytes > limit)
		return false;
	l->sent += bytes;
	qp->left -= bytes;
	memmove(&l->turn[0], &l->turn[1], (l->n - 1) * sizeof(l->turn[0]));
	l->turn[l->n - 1] = qp;
	if (!qp->left)
		complete(l, qp, now);
	return true;
}

static void send_until(struct sim_link *l, int64_t now)
{
	uint64_t limit = bytes_by(l, now);

	while (l->n) {
		send_rounds(l, limit);
		if (!send_packet(l, limit, now))
			break;
	}
	while (l->sent >= l->bytes_s) {
		l->sent -= l->bytes_s;
		l->busy_since += NS_PER_S;
	}
}

static void message_ends(void *arg, int64_t now)
{
	struct sim_link *l = (struct sim_link *)arg;

	send_until(l, now);
	arm(l);
}

void sim_link_init(struct sim_link *l, struct sim_timers *ts, uint64_t bytes_s)
{
	*l = (struct sim_link){ .timers = ts, .bytes_s = bytes_s };
	l->done.fire = message_ends;
	l->done.arg = l;
}

void sim_link_post(struct sim_link *l, struct sim_qp *qp, int64_t now)
{
	send_until(l, now);
	if (qp->posted++ == qp->completed) {
		if (!l->n) {
			l->busy_since = now;
			l->sent = 0;
		}
		begin(qp);
		l->turn[l->n++] = qp;
	}
	arm(l);
}

void sim_link_remove(struct sim_link *l, const struct sim_qp *qp, int64_t now)
{
	send_until(l, now);
	for (uint32_t i = 0; i < l->n; i++)
		if (l->turn[i] == qp)
			leave(l, i--);
	arm(l);
}

void sim_link_show(struct sim_link *l, int64_t now)
{
	send_until(l, now);
	for (uint32_t i = 0; i < l->n; i++)
		sim_ring_left(&l->turn[i]->ring, l->turn[i]->completed, l->turn[i]->left);
}
