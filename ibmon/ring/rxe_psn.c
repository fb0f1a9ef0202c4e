// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rxe_psn: send queues of soft-RoCE: what completed entries cost.
 *
 * On RC and UC each packet takes one packet sequence number (PSN), and a
 * READ as many as its response has packets: just what is charged. So the
 * PSN of the newest completed entry less that of the previous sample's is
 * the number of MTUs, exact also when entries were lost in between; only
 * their split into sent and received is then a guess, after what is seen.
 *
 * On UD a message is one packet and takes one PSN, the first of its range;
 * the rest of the range means nothing. (A message above the path MTU takes
 * one too and is reported as done, but never sent; it is charged one MTU.)
 * A connected queue pair that forges its SENDs to look like UD is charged
 * for the PSNs in between all the same.
 *
 * An entry that failed may never have been sent, its range being that of an
 * earlier lap. What failed takes the queue pair down; PSNs begin anew.
 */
#include <errno.h>

#include "ibmon/ring/mtu.h"
#include "ibmon/ring/rxe_sq.h"

#define LENGTH_MAX (1u << 31)

enum {
	MTU_MIN = 256,
	MTU_MAX = 4096,
	LARGEST_MIN = 64,  /* MTUs a message may have whatever was seen */
	LIKELY_FACTOR = 4, /* and times the largest seen */
	SURE_MSGS = 256,   /* so many of one kind and none of another: there are none */
};

static const uint8_t kinds[RING_RXE_OPCODES] = {
	[RING_RXE_WRITE] = OP_WRITE,	   [RING_RXE_WRITE_IMM] = OP_WRITE,
	[RING_RXE_SEND] = OP_SEND,	   [RING_RXE_SEND_IMM] = OP_SEND,
	[RING_RXE_SEND_INV] = OP_SEND,	   [RING_RXE_READ] = OP_READ,
	[RING_RXE_CMP_SWAP] = OP_CMP_SWAP, [RING_RXE_FETCH_ADD] = OP_FETCH_ADD,
	[RING_RXE_LOCAL_INV] = OP_LOCAL,   [RING_RXE_BIND_MW] = OP_LOCAL,
};

static int fail(struct rxe_walk *w, enum ring_fault why)
{
	w->fault = why;
	return -EBADMSG;
}

static uint32_t psn_delta(uint32_t newer, uint32_t older)
{
	return (newer - older) & RING_RXE_PSN_MASK;
}

/* The most bytes one packet of this queue pair holds. */
static uint32_t mtu_upper(const struct rxe_sq *q)
{
	return q->path_mtu ? q->path_mtu : MTU_MAX;
}

/* --- one entry ------------------------------------------------------------- */

static bool plausible(const struct rxe_walk *w, const struct rxe_entry *e)
{
	uint32_t sge_max = (w->d->elem_size - (uint32_t)sizeof(struct ring_rxe_wqe)) /
			   RING_RXE_SGE_BYTES;

	if (e->opcode >= RING_RXE_OPCODES || e->length > LENGTH_MAX)
		return false;
	return (e->flags & RING_RXE_INLINE) || e->num_sge <= sge_max;
}

/* Two packets or more tell the path MTU; a READ's range may have been cut by a retry. */
static void infer_mtu(struct rxe_sq *q, uint32_t length, uint32_t packets)
{
	if (q->path_mtu || packets < 2)
		return;
	for (uint32_t mtu = MTU_MIN; mtu <= MTU_MAX; mtu *= 2)
		if (mtu_of(length, mtu) == packets)
			q->path_mtu = mtu;
}

static uint32_t packets_most(uint32_t length)
{
	return length ? (length - 1) / MTU_MIN + 1 : 1;
}

static void add_mtus(struct rxe_walk *w, uint32_t opcode, uint32_t length, uint32_t mtus)
{
	uint32_t most = packets_most(length);

	if (opcode == RING_RXE_READ)
		w->recv += mtus;
	else
		w->sent += mtus;
	if (mtus > most)
		w->excess += mtus - most;
	if (mtus > w->q->largest)
		w->q->largest = mtus;
	w->msgs++;
	if (opcode != RING_RXE_READ && !w->q->ud)
		infer_mtu(w->q, length, mtus);
}

static uint32_t own_range(const struct rxe_walk *w)
{
	return psn_delta(w->newer_last, w->newer_first) + 1;
}

/*
 * Does the newer entry begin where PSN older ended? A READ that was asked for
 * again begins within its first range.
 */
static bool follows(const struct rxe_walk *w, uint32_t older)
{
	uint32_t gap = psn_delta(w->newer_first, older + 1);
	uint32_t all = psn_delta(w->newer_last, older);

	if (gap == 0)
		return true;
	return w->newer_opcode == RING_RXE_READ && gap < all &&
	       all <= packets_most(w->newer_length);
}

static void finish_newer(struct rxe_walk *w, uint32_t mtus)
{
	add_mtus(w, w->newer_opcode, w->newer_length, mtus);
	w->newer_valid = false;
}

/* An entry that was sent: it begins where the one before it, seen next, ends. */
static int take_sent(struct rxe_walk *w, const struct rxe_entry *e, bool ud)
{
	uint32_t last = ud ? e->first : e->last;

	if (e->first > RING_RXE_PSN_MASK || last > RING_RXE_PSN_MASK)
		return fail(w, RING_FAULT_ENTRY);
	if (w->newer_valid)
		finish_newer(w, follows(w, last) ? psn_delta(w->newer_last, last) : own_range(w));
	if (!w->tail_known) {
		w->tail_known = true;
		w->newest_psn = last;
		w->failed_tail = w->out->errors != 0;
	}
	w->newer_valid = true;
	w->newer_opcode = e->opcode;
	w->newer_first = e->first;
	w->newer_last = last;
	w->newer_length = e->length;
	return 0;
}

static void take_failed(struct rxe_walk *w, const struct rxe_entry *e)
{
	w->out->errors++;
	w->oldest_flushed = e->status == RING_RXE_FLUSHED && e->state != RING_RXE_STATE_ERROR;
	if (!w->newer_valid)
		return;
	finish_newer(w, own_range(w));
	w->broken = true;
}

static void add_bytes(struct sample *out, uint32_t kind, uint32_t length)
{
	if (kind == OP_READ)
		out->bytes_recv += length;
	else
		out->bytes_sent += length;
	if (length > out->msg_bytes)
		out->msg_bytes = length;
}

/* UD can do nothing but SEND; what once did more is not UD, whatever an entry says. */
static bool is_ud(struct rxe_sq *q, uint32_t kind, bool addressed)
{
	if (kind != OP_SEND)
		q->connected = true;
	q->ud = kind == OP_SEND && addressed && !q->connected;
	return q->ud;
}

int rxe_take(struct rxe_walk *w, const struct rxe_entry *e)
{
	uint32_t kind;

	if (!plausible(w, e))
		return fail(w, RING_FAULT_ENTRY);
	kind = kinds[e->opcode];
	w->out->seen++;
	w->out->ops[kind]++;
	w->oldest_flushed = false;
	if (e->status) {
		take_failed(w, e);
		return 0;
	}
	if (!e->state) {
		/* Passed by and never taken up: a RESET under way. Its PSNs are an old lap's. */
		w->out->flags |= SAMPLE_WRS_BOUNDED;
		return 0;
	}
	if (kind == OP_LOCAL)
		return 0;
	add_bytes(w->out, kind, e->length);
	return take_sent(w, e, is_ud(w->q, kind, e->ud_qpn != 0));
}

/* --- entries that were overwritten ------------------------------------------ */

/* What notes say about entries that can no longer be read. */
struct recalled {
	uint64_t sent, recv; /* MTUs by length */
	uint64_t least;	     /* MTUs at the largest path MTU possible */
	uint64_t most;	     /* and at the smallest */
};

static void recall_one(struct rxe_walk *w, const struct rxe_noted *s, struct recalled *r)
{
	uint32_t kind = kinds[s->opcode];
	uint64_t mtus;

	w->out->seen++;
	w->out->ops[kind]++;
	w->out->errors += w->dead;
	if (kind == OP_LOCAL || w->dead)
		return;
	add_bytes(w->out, kind, s->length);
	if (is_ud(w->q, kind, s->ud)) {
		r->sent++;
		r->least++;
		r->most++;
		return;
	}
	mtus = mtu_of(s->length, w->q->path_mtu);
	if (kind == OP_READ)
		r->recv += mtus;
	else
		r->sent += mtus;
	r->least += mtu_of(s->length, mtu_upper(w->q));
	r->most += mtu_of(s->length, MTU_MIN);
}

/* A refused post leaves alone how the entry it overwrites had ended. */
static void recall_failed(struct rxe_walk *w, const struct rxe_noted *s)
{
	w->out->seen++;
	w->out->ops[kinds[s->opcode]]++;
	w->out->errors++;
}

/*
 * Entries noted as posted, completed by their ssn, and not among those just
 * seen. How they ended is not known: well, unless the queue pair was down
 * already, or something before the oldest seen took it down.
 */
static void recall(struct rxe_walk *w, uint64_t walked, struct recalled *r)
{
	struct rxe_sq *q = w->q;
	uint32_t n = (q->noted_to - q->cons) & w->mask, since = w->since;

	if (!q->opened || !q->ssn_known || w->unseen == 0)
		return;
	if (!w->dead && (w->oldest_flushed || (q->failed && !walked)))
		return;
	for (uint32_t i = 0; i < n && w->out->seen < w->n && w->out->seen < RING_WALK_MAX; i++) {
		const struct rxe_noted *s = &q->noted[(q->cons + i) & w->mask];
		uint32_t age = w->ssn - s->ssn;

		if (!s->valid || age >= since || s->length > LENGTH_MAX)
			continue;
		if (walked && age <= w->oldest_age)
			continue;
		if (((q->cons + i + 1) & w->mask) == w->cons && w->newest_gone && w->newest.status)
			recall_failed(w, s);
		else
			recall_one(w, s, r);
	}
}

/* --- all of it ---------------------------------------------------------------- */

/* Split MTUs of which nothing is known like those of messages that were seen. */
static void split(struct rxe_walk *w, uint64_t mtus)
{
	const struct rxe_sq *q = w->q;
	uint64_t sent = w->msgs ? w->sent : q->sent, recv = w->msgs ? w->recv : q->recv;
	bool mixed = q->recv + w->recv && q->sent + w->sent;
	uint64_t to_recv;

	if (mtus && !q->ud && (mixed || q->msgs + w->msgs < SURE_MSGS))
		w->out->flags |= SAMPLE_MTUS_ESTIMATED;
	to_recv = sent + recv ? (uint64_t)((unsigned __int128)mtus * recv / (sent + recv)) : 0;
	w->out->mtus_recv += to_recv;
	w->out->mtus_sent += mtus - to_recv;
}

/* MTUs of n messages of which nothing is known, by the mean of those that were seen. */
static uint64_t guess(struct rxe_walk *w, uint64_t n)
{
	const struct rxe_sq *q = w->q;
	uint64_t msgs = w->msgs ? w->msgs : q->msgs;
	uint64_t mtus = w->msgs ? w->sent + w->recv : q->sent + q->recv;

	if (!msgs)
		return n;
	return (uint64_t)((unsigned __int128)n * mtus / msgs);
}

/* The most bytes that n messages can hold which no packet number covers. */
static uint64_t bytes_most(const struct rxe_walk *w, uint64_t n)
{
	uint64_t by_length = n > UINT64_MAX / LENGTH_MAX ? UINT64_MAX : n * LENGTH_MAX;
	uint64_t by_time = w->jump_max * mtu_upper(w->q);

	return w->q->opened && by_time < by_length ? by_time : by_length;
}

/* mtus are known to be those of the unseen entries, some of which were recalled. */
static void charge_known(struct rxe_walk *w, uint64_t mtus, const struct recalled *r)
{
	struct sample *out = w->out;
	uint64_t lost = w->n - out->seen + w->q->owed, recv;

	if (w->q->owed) /* those of an earlier sample come with this one's */
		out->flags |= SAMPLE_MTUS_ESTIMATED;
	if (lost == 0) { /* all were recalled: only rounding could differ */
		recv = r->sent == 0 ? mtus : r->recv < mtus ? r->recv : mtus;
		if (r->sent && r->recv && !w->q->path_mtu)
			out->flags |= SAMPLE_MTUS_ESTIMATED;
		out->mtus_recv += recv;
		out->mtus_sent += mtus - recv;
		return;
	}
	if (w->n > out->seen)
		out->bytes_bound += (mtus > r->least ? mtus - r->least : 0) * mtu_upper(w->q);
	recv = r->recv < mtus ? r->recv : mtus;
	out->mtus_recv += recv;
	mtus -= recv;
	recv = r->sent < mtus ? r->sent : mtus;
	out->mtus_sent += recv;
	split(w, mtus - recv);
}

/* No PSN says what the unseen entries took. */
static void charge_guess(struct rxe_walk *w, uint64_t lost, const struct recalled *r)
{
	uint64_t mtus = guess(w, lost);

	w->out->mtus_sent += r->sent;
	w->out->mtus_recv += r->recv;
	if (lost || w->reset || (r->most && !w->q->path_mtu))
		w->out->flags |= SAMPLE_MTUS_ESTIMATED | SAMPLE_MTUS_GUESSED;
	if (!lost)
		return;
	w->out->bytes_bound += bytes_most(w, w->n - w->out->seen);
	split(w, mtus);
}

/*
 * Nothing is missing: the entries seen begin where the previous sample
 * ended, and together reach to the newest PSN, whatever those in between
 * claim. Too much is judged by the time it took.
 */
static void settle_anchored(struct rxe_walk *w)
{
	struct rxe_sq *q = w->q;
	uint32_t rest;

	if (!follows(w, q->psn) && !rxe_previous_intact(w)) {
		finish_newer(w, own_range(w)); /* RESET: PSNs began anew */
		return;
	}
	finish_newer(w, psn_delta(w->newer_last, q->psn));
	rest = psn_delta(w->newest_psn, q->psn + (uint32_t)(w->sent + w->recv));
	w->sent += rest;
	w->excess += rest;
}

static void settle_oldest(struct rxe_walk *w)
{
	struct rxe_sq *q = w->q;

	if (!w->newer_valid)
		return;
	if (!q->psn_known || w->broken || w->reset || w->unseen + q->owed + q->advanced)
		finish_newer(w, own_range(w));
	else
		settle_anchored(w);
}

/* On UD, which has no local work requests, there are as many as packets. */
static void count_by_packets(struct rxe_walk *w, uint64_t mtus)
{
	uint64_t slots = (uint64_t)w->mask + 1, over;

	if (!w->q->ud || w->q->owed || w->out->errors)
		return;
	if (mtus < w->unseen) {
		over = (w->unseen - mtus + w->mask) / slots * slots;
		if (over > w->n - w->out->seen)
			return;
		w->n -= over;
		w->unseen -= over;
	}
	if (w->unseen == mtus)
		w->out->flags &= ~(uint32_t)SAMPLE_WRS_BOUNDED;
}

/*
 * No PSN tells now; the next one will. What is known by length is charged at
 * once and taken off then.
 */
static void defer(struct rxe_walk *w, const struct recalled *r)
{
	struct rxe_sq *q = w->q;
	uint64_t lost = w->n - w->out->seen;

	w->out->bytes_bound += bytes_most(w, lost);
	if (lost || (r->most && !q->path_mtu)) {
		q->owed += (uint32_t)w->unseen;
		w->out->flags |= SAMPLE_MTUS_ESTIMATED;
		return;
	}
	w->out->mtus_sent += r->sent;
	w->out->mtus_recv += r->recv;
	q->advanced += r->sent + r->recv;
}

/*
 * MTUs up to the newest PSN that belong to nothing that was seen. False: so
 * many for so few messages, if they are like those seen on this ring, that
 * the queue pair was rather RESET and used again in between.
 */
static bool mtus_between(const struct rxe_walk *w, const struct recalled *r, uint64_t *mtus)
{
	const struct rxe_sq *q = w->q;
	uint64_t lost = w->n - w->out->seen + q->owed, noted = r->most + q->advanced;
	uint64_t largest = q->largest > LARGEST_MIN ? q->largest : LARGEST_MIN;

	*mtus = psn_delta(w->newest_psn, q->psn + (uint32_t)(w->sent + w->recv));
	return *mtus <= noted + LIKELY_FACTOR * lost * largest && *mtus <= noted + w->jump_max;
}

static void settle_unseen(struct rxe_walk *w, const struct recalled *r)
{
	struct rxe_sq *q = w->q;
	bool known = (w->tail_known || w->head_known) && q->psn_known && !w->broken && !w->reset;
	uint64_t mtus;

	if (w->dead && w->n == w->out->seen)
		return;
	if (!w->tail_known && !w->head_known && q->psn_known && !w->out->errors) {
		defer(w, r);
		return;
	}
	if (known && mtus_between(w, r, &mtus)) {
		mtus = mtus > q->advanced ? mtus - q->advanced : 0;
		count_by_packets(w, mtus);
		charge_known(w, mtus, r);
	} else {
		charge_guess(w, w->n - w->out->seen + q->owed, r);
	}
	q->owed = 0;
	q->advanced = 0;
}

static void remember(struct rxe_walk *w)
{
	struct rxe_sq *q = w->q;

	q->msgs += w->msgs;
	q->sent += w->sent;
	q->recv += w->recv;
	if (w->tail_known) {
		q->psn = w->newest_psn;
		q->psn_known = !w->failed_tail;
		q->failed = w->failed_tail;
	} else if (w->head_known) {
		q->psn = w->newest_psn;
	} else if (w->out->errors || w->reset) {
		q->psn_known = false;
		q->failed = w->out->errors != 0;
	}
}

/*
 * The PSN before the oldest entry in flight, which has to have been sent. One
 * that is just being sent may still show a range of an earlier lap.
 */
static bool head_psn(const struct rxe_walk *w, uint32_t *psn)
{
	const struct rxe_entry *e = &w->head;

	if (!w->head_valid || !e->state || e->status || e->opcode >= RING_RXE_OPCODES)
		return false;
	if (kinds[e->opcode] == OP_LOCAL || e->first > RING_RXE_PSN_MASK)
		return false;
	*psn = (e->first - 1) & RING_RXE_PSN_MASK;
	return true;
}

/*
 * When the newest completed entry cannot be read (an application that posts
 * until it is refused keeps it scribbled over), the oldest one in flight
 * begins where it ended.
 */
static void look_ahead(struct rxe_walk *w, const struct recalled *r)
{
	uint32_t psn;

	if (w->tail_known || w->out->errors || !w->q->psn_known || !head_psn(w, &psn))
		return;
	if (psn_delta(psn, w->q->psn) > w->jump_max + r->most)
		return;
	w->head_known = true;
	w->newest_psn = psn;
}

void rxe_learn(struct rxe_walk *w)
{
	/* Both zero: wiped, and not sent yet after all. */
	if (!(w->head.first | w->head.last) || !head_psn(w, &w->q->psn))
		return;
	w->q->psn_known = true;
}

int rxe_settle(struct rxe_walk *w)
{
	struct recalled r = { 0 };

	/* A queue pair that failed stays so until it is RESET. */
	w->dead = w->q->failed && !w->tail_known && (w->out->errors || w->reset);
	settle_oldest(w);
	recall(w, w->out->seen, &r);
	look_ahead(w, &r);
	w->out->mtus_sent += w->sent;
	w->out->mtus_recv += w->recv;
	if (w->unseen + w->q->owed + w->q->advanced)
		settle_unseen(w, &r);
	if (w->q->opened && w->excess > w->jump_max)
		return fail(w, RING_FAULT_JUMP);
	remember(w);
	w->out->wrs = w->n;
	w->out->lost = w->n - w->out->seen;
	if (w->out->lost)
		w->out->flags |= SAMPLE_LAPPED;
	return 0;
}
