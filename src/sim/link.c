// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: one way of a link: the HCA sends the packets of its queue pairs in turn.
/*
 * Each queue pair with something posted sends one packet of its path MTU,
 * then the next one does. That needs no guest's CPU: a posted message goes out
 * even when its guest is parked. A packet takes its bytes / rate;
 * headers, acknowledgements and the way to the peer take no time.
 *
 * A link is full duplex: the way in is a struct of its own, with the same rate.
 * It carries the responses to READs: the peers send their packets in turn,
 * without CPU of this host. The READs of one queue pair are answered one after
 * another. No other incoming traffic is simulated.
 *
 * Nothing is done per packet where arithmetic will do: whole rounds are sent
 * at once, and the end of the next message is computed. Bytes are counted
 * since the link became busy, so that no rounding adds up.
 */
#include "src/sim/model.h"

/* In 128 bits: nanoseconds times bytes a second pass 64 bits within seconds of a fast link. */
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

/* A shift in place of a division: a path MTU is a power of two, and this is called often. */
static uint32_t packets(const struct sim_qp *qp)
{
	return (qp->left + qp->mtu - 1) >> __builtin_ctz(qp->mtu);
}

static void begin_message(struct sim_qp *qp)
{
	qp->left = qp->wr.bytes;
	sim_ring_begin(&qp->ring, qp->completed, &qp->wr, packets(qp));
}

static void join_turn(struct sim_link *l, struct sim_qp *qp)
{
	if (l->last) {
		qp->next = l->last->next;
		l->last->next = qp;
	} else {
		qp->next = qp;
	}
	l->last = qp;
	l->n++;
}

/* Remove the queue pair behind `before` from the turn. */
static void leave_turn(struct sim_link *l, struct sim_qp *before)
{
	struct sim_qp *qp = before->next;

	before->next = qp->next;
	if (l->last == qp)
		l->last = before;
	if (!--l->n)
		l->last = NULL;
	qp->next = NULL;
}

/*
 * Arm for the first message to end. It is the one with the fewest packets p
 * left, the earliest in turn if there are several: until then those before
 * it send p full packets and those behind it p - 1.
 */
static void arm_next_end(struct sim_link *l)
{
	uint64_t behind = 0, before = 0, round = 0; /* MTUs of those around the first, of all */
	const struct sim_qp *first = l->last, *qp = l->last;
	uint32_t p = UINT32_MAX;

	if (!l->n) {
		sim_timer_disarm(l->timers, &l->done);
		return;
	}
	do {
		qp = qp->next;
		behind += qp->mtu;
		if (packets(qp) < p) {
			p = packets(qp);
			first = qp;
			before = round;
			behind = 0;
		}
		round += qp->mtu;
	} while (qp != l->last);
	sim_timer_arm(l->timers, &l->done,
		      time_of(l, l->sent + first->left + before * p + behind * (p - 1)));
}

/* Whole rounds in which every queue pair sends a full packet that is not its last. */
static void send_rounds(struct sim_link *l, uint64_t limit)
{
	uint64_t rounds = UINT64_MAX, round = 0;
	struct sim_qp *qp = l->last;

	do {
		uint32_t full = packets(qp) - 1;

		round += qp->mtu;
		rounds = full < rounds ? full : rounds;
		qp = qp->next;
	} while (qp != l->last);
	if (!rounds)
		return;
	if ((limit - l->sent) / round < rounds)
		rounds = (limit - l->sent) / round;
	if (!rounds)
		return;
	do {
		qp->left -= (uint32_t)rounds * qp->mtu;
		qp = qp->next;
	} while (qp != l->last);
	l->sent += rounds * round;
}

/* The queue pair in turn has sent all of a message. */
static void complete_message(struct sim_link *l, struct sim_qp *qp, int64_t now)
{
	sim_ring_complete(&qp->ring, qp->completed);
	qp->completed++;
	if (qp->completed < qp->posted) {
		begin_message(qp);
		l->last = qp;
	} else {
		leave_turn(l, l->last);
	}
	qp->done(qp, now);
}

/* Send one packet of the queue pair in turn; false when it would end after limit. */
static bool send_packet(struct sim_link *l, uint64_t limit, int64_t now)
{
	struct sim_qp *qp = l->last->next;
	uint32_t bytes = qp->left < qp->mtu ? qp->left : qp->mtu;

	if (l->sent + bytes > limit)
		return false;
	l->sent += bytes;
	qp->left -= bytes;
	if (qp->left)
		l->last = qp;
	else
		complete_message(l, qp, now);
	return true;
}

/* Send one packet of each queue pair; false when one would end after limit. */
static bool send_round(struct sim_link *l, uint64_t limit, int64_t now)
{
	for (uint32_t i = l->n; i && l->n; i--)
		if (!send_packet(l, limit, now))
			return false;
	return true;
}

/* After all whole rounds, a message's last packet or the limit is within the next round. */
static void send_until(struct sim_link *l, int64_t now)
{
	uint64_t limit = bytes_by(l, now);

	while (l->n) {
		send_rounds(l, limit);
		if (!send_round(l, limit, now))
			break;
	}
	/*
	 * Whole seconds move from sent to busy_since: the ratio is exact, and neither
	 * overflows.
	 */
	while (l->sent >= l->bytes_s) {
		l->sent -= l->bytes_s;
		l->busy_since += NS_PER_S;
	}
}

static void message_ends(void *arg, int64_t now)
{
	struct sim_link *l = (struct sim_link *)arg;

	send_until(l, now);
	arm_next_end(l);
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
		begin_message(qp);
		join_turn(l, qp);
	}
	arm_next_end(l);
}

void sim_link_remove(struct sim_link *l, struct sim_qp *qp, int64_t now)
{
	send_until(l, now);
	if (qp->next) {
		struct sim_qp *before = qp;

		while (before->next != qp)
			before = before->next;
		leave_turn(l, before);
	}
	arm_next_end(l);
}

void sim_link_show(struct sim_link *l, int64_t now)
{
	struct sim_qp *qp;

	send_until(l, now);
	qp = l->last;
	for (uint32_t i = 0; i < l->n; i++, qp = qp->next)
		sim_ring_left(&qp->ring, qp->completed, qp->left);
}
