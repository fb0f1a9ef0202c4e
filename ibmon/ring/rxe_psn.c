// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rxe_psn: send queues of soft-RoCE: what completed entries cost.
 *
 * On RC and UC each packet takes one packet sequence number (PSN), and a
 * READ as many as its response has packets: just what is charged. So the
 * PSN of the newest completed entry less that of the previous sample's is
 * the number of MTUs. This is exact even when entries were lost in between;
 * only their division into sent and received is then an estimate.
 *
 * A ring of 8 slots, RC, path MTU 1024. The previous sample ended with slot 0,
 * PSN 100. Now the consumer is at slot 5, the producer at 6:
 *
 *	slot  ssn  opcode     bytes  first..last PSN  charged
 *	0     8    SEND          64  100..100         in the previous sample
 *	1     9    WRITE       2048  101..102         2 sent
 *	2     10   READ        4096  103..106         4 received: its response
 *	3     11   LOCAL_INV      -  -                nothing: no packet
 *	4     12   SEND         100  107..107         1 sent
 *	5     13   SEND        3000  108..110         in flight: when completed
 *
 * Entries are charged from slot 4 down to 1, each from the end of the entry
 * before it: 107 - 106, 106 - 102, and, anchored at the previous sample,
 * 102 - 100. Together they are 107 - 100 = 7 MTUs.
 *
 * Were slots 1 and 2 overwritten, slot 4 would cost its own range, 1, and the
 * other 7 - 1 = 6 MTUs would be those of the unseen entries. Lengths noted when they
 * were posted divide these into 2 sent and 4 received; without notes they are
 * divided like the messages that were read.
 *
 * Were slot 3 the newest completed and slots 1 and 2 overwritten, no entry that
 * was read would have a PSN. On a full ring the oldest entry in flight, slot 4, is
 * read as well and tells that the PSN before it is 106 (psn_from_head); otherwise
 * the next sample tells (defer).
 *
 * On UD a message is one packet and takes one PSN, the first of its range;
 * the rest of the range means nothing. (A message above the path MTU takes
 * one too and is reported as done, but never sent; it is charged one MTU.)
 * A connected queue pair that forges its SENDs to look like UD is charged
 * for the PSNs in between all the same.
 *
 * An entry that failed may never have been sent; its range is then that of an
 * earlier lap. A failed entry takes the queue pair down; PSNs begin anew.
 */
#include "ibmon/ring/mtu.h"
#include "ibmon/ring/rxe_sq.h"

#define LENGTH_MAX (1u << 31)

enum {
	MTU_MIN = 256,
	MTU_MAX = 4096,
	MTU_USUAL = 1024,  /* while it is not known */
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

static bool plausible(const struct rxe_ring *r, const struct rxe_entry *e)
{
	uint32_t sge_max = (r->d->elem_size - (uint32_t)sizeof(struct ring_rxe_wqe)) /
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

/*
 * The newer entry, or each of n that are alike, cost so many MTUs. Inline, as is follows(): calls
 * would be 7 % of a busy ring's sample.
 */
static inline void charge_newer_n(struct rxe_sq *q, struct rxe_charge *c, uint32_t mtus, uint64_t n)
{
	uint32_t most = packets_most(c->newer.length);

	if (c->newer.opcode == RING_RXE_READ)
		c->recv += n * mtus;
	else
		c->sent += n * mtus;
	if (mtus > most)
		c->excess += n * (mtus - most);
	if (mtus > q->largest)
		q->largest = mtus;
	c->msgs += n;
	if (c->newer.opcode != RING_RXE_READ && !q->ud)
		infer_mtu(q, c->newer.length, mtus);
}

static inline void charge_newer(struct rxe_sq *q, struct rxe_charge *c, uint32_t mtus)
{
	charge_newer_n(q, c, mtus, 1);
	c->newer.valid = false;
}

static uint32_t own_range(const struct rxe_charge *c)
{
	return psn_delta(c->newer.last, c->newer.first) + 1;
}

/*
 * Does the newer entry begin where PSN older ended? A READ that was requested
 * again begins within its first range.
 */
static inline bool follows(const struct rxe_charge *c, uint32_t older)
{
	uint32_t gap = psn_delta(c->newer.first, older + 1);
	uint32_t all = psn_delta(c->newer.last, older);

	if (gap == 0)
		return true;
	return c->newer.opcode == RING_RXE_READ && gap < all &&
	       all <= packets_most(c->newer.length);
}

/* An entry that was sent: the newer one begins where this one ends. */
static enum ring_fault charge_sent(const struct rxe_ring *r, const struct rxe_entry *e, bool ud,
				   struct rxe_charge *c)
{
	uint32_t last = ud ? e->first : e->last;

	if (e->first > RING_RXE_PSN_MASK || last > RING_RXE_PSN_MASK)
		return RING_FAULT_ENTRY;
	if (c->newer.valid)
		charge_newer(r->q, c,
			     follows(c, last) ? psn_delta(c->newer.last, last) : own_range(c));
	if (c->end.from == END_UNKNOWN) {
		c->end.from = END_OF_NEWEST;
		c->end.psn = last;
		c->end.failed_after = r->out->errors != 0;
	}
	c->newer.valid = true;
	c->newer.opcode = e->opcode;
	c->newer.first = e->first;
	c->newer.last = last;
	c->newer.length = e->length;
	return RING_OK;
}

/* An entry that failed costs nothing; its range does not tell where the newer one began. */
static void charge_failed(const struct rxe_ring *r, const struct rxe_entry *e, struct rxe_charge *c)
{
	r->out->errors++;
	c->oldest_flushed = e->status == RING_RXE_FLUSHED && e->state != RING_RXE_STATE_ERROR;
	if (!c->newer.valid)
		return;
	charge_newer(r->q, c, own_range(c));
	c->broken = true;
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

/* UD can do nothing but SEND; a queue that once did more is not UD, whatever an entry says. */
static bool is_ud(struct rxe_sq *q, uint32_t kind, bool addressed)
{
	if (kind != OP_SEND)
		q->connected = true;
	q->ud = kind == OP_SEND && addressed && !q->connected;
	return q->ud;
}

enum ring_fault rxe_charge_entry(const struct rxe_ring *r, const struct rxe_entry *e,
				 struct rxe_charge *c)
{
	uint32_t kind;

	if (!plausible(r, e))
		return RING_FAULT_ENTRY;
	kind = kinds[e->opcode];
	r->out->seen++;
	r->out->ops[kind]++;
	c->oldest_flushed = false;
	if (e->status) {
		charge_failed(r, e, c);
		return RING_OK;
	}
	if (!e->state) {
		/*
		 * Passed and never processed: a RESET under way. Its PSNs are an old lap's. Of
		 * the entries before it, some may have been sent in part.
		 */
		r->out->flags |= SAMPLE_WRS_BOUNDED | SAMPLE_MTUS_ESTIMATED | SAMPLE_MTUS_GUESSED;
		return RING_OK;
	}
	if (kind == OP_LOCAL)
		return RING_OK;
	add_bytes(r->out, kind, e->length);
	return charge_sent(r, e, is_ud(r->q, kind, e->ud_qpn != 0), c);
}

uint32_t rxe_alike_packets(const struct rxe_charge *c)
{
	uint32_t packets = c->newer.valid ? own_range(c) : 0;

	return packets <= RING_RXE_PSN_MASK ? packets : 0;
}

void rxe_charge_alike(const struct rxe_ring *r, struct rxe_charge *c, uint32_t n, uint32_t packets)
{
	uint32_t kind = kinds[c->newer.opcode];

	if (!n)
		return;
	charge_newer_n(r->q, c, packets, n);
	c->newer.first = (c->newer.first - n * packets) & RING_RXE_PSN_MASK;
	c->newer.last = (c->newer.last - n * packets) & RING_RXE_PSN_MASK;
	r->out->seen += n;
	r->out->ops[kind] += n;
	if (kind == OP_READ)
		r->out->bytes_recv += (uint64_t)n * c->newer.length;
	else
		r->out->bytes_sent += (uint64_t)n * c->newer.length;
}

bool rxe_is_explained(const struct rxe_ring *r, const struct rxe_entry *e, uint32_t packets)
{
	return plausible(r, e) && !e->status && e->state && kinds[e->opcode] != OP_LOCAL &&
	       packets <= packets_most(e->length);
}

void rxe_charge_run(const struct rxe_ring *r, const struct rxe_entry *e, uint32_t n,
		    uint32_t packets)
{
	struct rxe_charge c = { .newer = { .opcode = e->opcode, .length = e->length } };
	uint32_t kind = kinds[e->opcode];
	struct sample *out = r->out;
	struct rxe_sq *q = r->q;

	charge_newer_n(q, &c, packets, n);
	q->connected |= kind != OP_SEND;
	q->msgs += c.msgs;
	q->sent += c.sent;
	q->recv += c.recv;
	out->wrs = out->seen = out->ops[kind] = n;
	out->msg_bytes = e->length;
	out->mtus_sent = c.sent;
	out->mtus_recv = c.recv;
	if (kind == OP_READ)
		out->bytes_recv = (uint64_t)n * e->length;
	else
		out->bytes_sent = (uint64_t)n * e->length;
}

/* --- entries that were overwritten ------------------------------------------ */

/* Completed entries that could not be read. */
struct unseen {
	uint64_t n;	     /* all of them, noted or not */
	bool dead;	     /* the queue pair had failed before: they all failed */
	uint64_t sent, recv; /* MTUs of the noted ones, by length */
	uint64_t least;	     /* their MTUs at the largest path MTU possible */
	uint64_t most;	     /* and at the smallest */
};

static void recall_one(const struct rxe_ring *r, const struct rxe_noted *n, struct unseen *u)
{
	uint32_t kind = kinds[n->opcode];
	uint64_t mtus;

	r->out->seen++;
	r->out->ops[kind]++;
	r->out->errors += u->dead;
	if (kind == OP_LOCAL || u->dead)
		return;
	add_bytes(r->out, kind, n->length);
	if (is_ud(r->q, kind, n->ud)) {
		u->sent++;
		u->least++;
		u->most++;
		return;
	}
	mtus = mtu_of(n->length, r->q->path_mtu);
	if (kind == OP_READ)
		u->recv += mtus;
	else
		u->sent += mtus;
	u->least += mtu_of(n->length, mtu_upper(r->q));
	u->most += mtu_of(n->length, MTU_MIN);
}

/* A refused post does not touch how the entry that it overwrites ended. */
static void recall_failed(const struct rxe_ring *r, const struct rxe_noted *n)
{
	r->out->seen++;
	r->out->ops[kinds[n->opcode]]++;
	r->out->errors++;
}

/*
 * Count entries that were noted when posted, are completed by their ssn, and are
 * not among those read. How they ended is not known: well, unless the queue
 * pair was down already, or something before the oldest entry read took it down.
 */
static void recall_noted(const struct rxe_ring *r, const struct rxe_stand *s,
			 const struct rxe_done *d, const struct rxe_charge *c, struct unseen *u)
{
	struct rxe_sq *q = r->q;
	uint32_t noted = (q->noted_to - q->cons) & r->mask;
	bool any_read = r->out->seen != 0;

	if (!q->opened || !q->ssn_known || u->n == 0)
		return;
	if (!u->dead && (c->oldest_flushed || (q->failed && !any_read)))
		return;
	for (uint32_t i = 0; i < noted && r->out->seen < d->n && r->out->seen < RING_WALK_MAX;
	     i++) {
		const struct rxe_noted *n = &q->noted[(q->cons + i) & r->mask];
		uint32_t age = d->ssn - n->ssn;

		if (!n->valid || age >= d->since || n->length > LENGTH_MAX)
			continue;
		if (any_read && age <= d->oldest_age)
			continue;
		if (((q->cons + i + 1) & r->mask) == s->cons && s->newest_gone && s->newest.status)
			recall_failed(r, n);
		else
			recall_one(r, n, u);
	}
}

/* --- MTUs that no entry explains ------------------------------------------------ */

/*
 * Bytes in so many MTUs of unseen messages: as full as those seen in the same sample, or else full.
 * A guest writes the lengths: no MTU holds more than the largest.
 */
static uint64_t likely_bytes(const struct rxe_ring *r, uint64_t mtus, uint64_t seen_bytes,
			     uint64_t seen_mtus)
{
	const uint64_t most = sat_mul(mtus, mtu_upper(r->q));
	uint64_t bytes;

	if (!seen_mtus)
		return sat_mul(mtus, r->q->path_mtu ? r->q->path_mtu : MTU_USUAL);
	bytes = sat_muldiv(mtus, seen_bytes, seen_mtus);
	return bytes < most ? bytes : most;
}

/* Divide MTUs of unknown kind like those of messages that were seen. */
static void divide_like_seen(const struct rxe_ring *r, const struct rxe_charge *c, uint64_t mtus)
{
	const struct rxe_sq *q = r->q;
	uint64_t sent = c->msgs ? c->sent : q->sent, recv = c->msgs ? c->recv : q->recv;
	bool mixed = q->recv + c->recv && q->sent + c->sent;
	struct sample *out = r->out;
	uint64_t to_recv;

	if (mtus && !q->ud && (mixed || q->msgs + c->msgs < SURE_MSGS))
		out->flags |= SAMPLE_MTUS_ESTIMATED;
	to_recv = sent + recv ? (uint64_t)((unsigned __int128)mtus * recv / (sent + recv)) : 0;
	out->likely_recv += likely_bytes(r, to_recv, out->bytes_recv, out->mtus_recv);
	out->likely_sent += likely_bytes(r, mtus - to_recv, out->bytes_sent, out->mtus_sent);
	out->mtus_recv += to_recv;
	out->mtus_sent += mtus - to_recv;
}

/* MTUs of n unknown messages, by the mean of those that were seen. */
static uint64_t mtus_like_seen(const struct rxe_ring *r, const struct rxe_charge *c, uint64_t n)
{
	const struct rxe_sq *q = r->q;
	uint64_t msgs = c->msgs ? c->msgs : q->msgs;
	uint64_t mtus = c->msgs ? c->sent + c->recv : q->sent + q->recv;

	if (!msgs)
		return n;
	return (uint64_t)((unsigned __int128)n * mtus / msgs);
}

/* The most bytes that n messages can hold which no packet number covers. */
static uint64_t bytes_most(const struct rxe_ring *r, uint64_t n)
{
	uint64_t by_length = n > UINT64_MAX / LENGTH_MAX ? UINT64_MAX : n * LENGTH_MAX;
	uint64_t by_time = r->jump_max * mtu_upper(r->q);

	return r->q->opened && by_time < by_length ? by_time : by_length;
}

/* mtus are known to be those of the unseen entries, some of which were recalled. */
static void charge_known(const struct rxe_ring *r, const struct rxe_done *d,
			 const struct rxe_charge *c, const struct unseen *u, uint64_t mtus)
{
	struct sample *out = r->out;
	uint64_t lost = d->n - out->seen + r->q->owed, recv, sent;

	if (r->q->owed) /* the MTUs of an earlier sample's entries come with this one's */
		out->flags |= SAMPLE_MTUS_ESTIMATED;
	if (lost == 0) { /* all were recalled: only rounding could differ */
		recv = u->sent == 0 ? mtus : u->recv < mtus ? u->recv : mtus;
		if (u->sent && u->recv && !r->q->path_mtu)
			out->flags |= SAMPLE_MTUS_ESTIMATED;
		out->mtus_recv += recv;
		out->mtus_sent += mtus - recv;
		return;
	}
	if (d->n > out->seen)
		out->bytes_bound += (mtus > u->least ? mtus - u->least : 0) * mtu_upper(r->q);
	mtus = mtus > r->q->guessed ? mtus - r->q->guessed : 0;
	recv = u->recv < mtus ? u->recv : mtus;
	sent = u->sent < mtus - recv ? u->sent : mtus - recv;
	out->mtus_recv += recv;
	out->mtus_sent += sent;
	divide_like_seen(r, c, mtus - recv - sent);
}

/* No PSN tells what the unseen entries cost. */
static void charge_guessed(const struct rxe_ring *r, const struct rxe_done *d,
			   const struct rxe_charge *c, const struct unseen *u)
{
	uint64_t lost = d->n - r->out->seen + r->q->owed - r->q->settled;
	uint64_t mtus = mtus_like_seen(r, c, lost);

	r->out->mtus_sent += u->sent;
	r->out->mtus_recv += u->recv;
	if (lost || d->reset || (u->most && !r->q->path_mtu))
		r->out->flags |= SAMPLE_MTUS_ESTIMATED | SAMPLE_MTUS_GUESSED;
	if (!lost)
		return;
	r->out->bytes_bound += bytes_most(r, d->n - r->out->seen);
	divide_like_seen(r, c, mtus);
}

/*
 * No PSN tells now; the next one will. MTUs known by length are charged at
 * once and deducted then.
 */
static void defer(const struct rxe_ring *r, const struct rxe_done *d, const struct unseen *u)
{
	struct rxe_sq *q = r->q;
	uint64_t lost = d->n - r->out->seen;

	r->out->bytes_bound += bytes_most(r, lost);
	if (lost || (u->most && !q->path_mtu)) {
		q->owed += (uint32_t)u->n;
		r->out->flags |= SAMPLE_MTUS_ESTIMATED;
		return;
	}
	r->out->mtus_sent += u->sent;
	r->out->mtus_recv += u->recv;
	q->advanced += u->sent + u->recv;
}

/*
 * Nothing was completed since, so no PSN covers the deferred entries: charge them by guess. The
 * next PSN corrects their sum.
 */
void rxe_settle(const struct rxe_ring *r)
{
	static const struct rxe_charge none;
	struct rxe_sq *q = r->q;
	uint64_t mtus = mtus_like_seen(r, &none, q->owed - q->settled);

	q->settled = q->owed;
	q->guessed += mtus;
	r->out->flags |= SAMPLE_MTUS_ESTIMATED | SAMPLE_MTUS_GUESSED;
	divide_like_seen(r, &none, mtus);
}

/* On UD, which has no local work requests, there are as many unseen entries as packets. */
static void count_by_packets(const struct rxe_ring *r, struct rxe_done *d, struct unseen *u,
			     uint64_t mtus)
{
	uint64_t slots = (uint64_t)r->mask + 1, over;

	if (!r->q->ud || r->q->owed || r->out->errors)
		return;
	if (mtus < u->n) {
		over = (u->n - mtus + r->mask) / slots * slots;
		if (over > d->n - r->out->seen)
			return;
		d->n -= over;
		u->n -= over;
	}
	if (u->n == mtus)
		r->out->flags &= ~(uint32_t)SAMPLE_WRS_BOUNDED;
}

/*
 * MTUs up to the end that belong to no entry that was read. False: so many for
 * so few messages, if they are like those seen on this ring, that the queue
 * pair was rather RESET and used again in between.
 */
static bool mtus_between(const struct rxe_ring *r, const struct rxe_done *d,
			 const struct rxe_charge *c, const struct unseen *u, uint64_t *mtus)
{
	const struct rxe_sq *q = r->q;
	uint64_t lost = d->n - r->out->seen + q->owed, noted = u->most + q->advanced;
	uint64_t largest = q->largest > LARGEST_MIN ? q->largest : LARGEST_MIN;

	*mtus = psn_delta(c->end.psn, q->psn + (uint32_t)(c->sent + c->recv));
	return *mtus <= noted + LIKELY_FACTOR * lost * largest && *mtus <= noted + r->jump_max;
}

static void charge_unseen(const struct rxe_ring *r, struct rxe_done *d, const struct rxe_charge *c,
			  struct unseen *u)
{
	struct rxe_sq *q = r->q;
	bool end_known = c->end.from != END_UNKNOWN;
	uint64_t mtus;

	if (u->dead && d->n == r->out->seen)
		return;
	/* After a RESET, PSNs begin anew: none will tell. */
	if (!end_known && q->psn_known && !d->reset && !r->out->errors) {
		defer(r, d, u);
		return;
	}
	if (end_known && q->psn_known && !c->broken && !d->reset &&
	    mtus_between(r, d, c, u, &mtus)) {
		mtus = mtus > q->advanced ? mtus - q->advanced : 0;
		count_by_packets(r, d, u, mtus);
		charge_known(r, d, c, u, mtus);
	} else {
		charge_guessed(r, d, c, u);
	}
	q->owed = q->settled = 0;
	q->advanced = q->guessed = 0;
}

/* --- all of it ---------------------------------------------------------------- */

/*
 * Nothing is missing: the entries read begin where the previous sample ended,
 * and together reach to the end, whatever the entries in between claim. The
 * time that passed tells whether that is too much.
 *
 * Unless there was a RESET, which wiped the entry where the previous sample ended: PSNs began
 * anew, and may be close to the former ones.
 */
static void charge_anchored(const struct rxe_ring *r, struct rxe_charge *c)
{
	uint32_t psn = r->q->psn, rest;
	struct rxe_entry previous;

	/* Its number tells most of the time, and takes one line. */
	previous.ssn = rxe_wqe(r, r->q->cons - 1)->ssn;
	if (!previous.ssn || previous.ssn != r->q->ssn) {
		rxe_entry_load(r, r->q->cons - 1, &previous);
		if (rxe_entry_blank(&previous) || (!follows(c, psn) && previous.ssn != r->q->ssn)) {
			charge_newer(r->q, c, own_range(c));
			return;
		}
	}
	charge_newer(r->q, c, psn_delta(c->newer.last, psn));
	rest = psn_delta(c->end.psn, psn + (uint32_t)(c->sent + c->recv));
	c->sent += rest;
	c->excess += rest;
}

static void charge_oldest(const struct rxe_ring *r, const struct rxe_done *d, struct rxe_charge *c,
			  uint64_t unseen)
{
	const struct rxe_sq *q = r->q;

	if (!c->newer.valid)
		return;
	if (!q->psn_known || c->broken || d->reset || unseen + q->owed + q->advanced)
		charge_newer(r->q, c, own_range(c));
	else
		charge_anchored(r, c);
}

/*
 * The PSN before the oldest entry in flight, which must have been sent. An entry
 * that is just being sent may still show a range of an earlier lap.
 */
static bool psn_before(const struct rxe_entry *head, uint32_t *psn)
{
	if (!head->state || head->status || head->opcode >= RING_RXE_OPCODES)
		return false;
	if (kinds[head->opcode] == OP_LOCAL || head->first > RING_RXE_PSN_MASK)
		return false;
	*psn = (head->first - 1) & RING_RXE_PSN_MASK;
	return true;
}

/*
 * When the newest completed entry cannot be read (an application that posts
 * until it is refused keeps it scribbled over), the oldest entry in flight
 * begins where it ended.
 */
static struct rxe_end psn_from_head(const struct rxe_ring *r, const struct rxe_stand *s,
				    const struct unseen *u)
{
	struct rxe_end end = { .from = END_UNKNOWN };
	uint32_t psn;

	if (r->out->errors || !r->q->psn_known || !s->head_valid || !psn_before(&s->head, &psn))
		return end;
	if (psn_delta(psn, r->q->psn) > r->jump_max + u->most)
		return end;
	end.from = END_BEFORE_HEAD;
	end.psn = psn;
	return end;
}

void rxe_learn_psn(struct rxe_sq *q, const struct rxe_entry *head)
{
	/* Both zero: wiped, and not sent yet after all. */
	if ((head->first | head->last) && psn_before(head, &q->psn))
		q->psn_known = true;
}

static void remember_psn(const struct rxe_ring *r, const struct rxe_done *d,
			 const struct rxe_charge *c)
{
	struct rxe_sq *q = r->q;

	q->msgs += c->msgs;
	q->sent += c->sent;
	q->recv += c->recv;
	if (c->end.from != END_UNKNOWN)
		q->psn = c->end.psn;
	if (c->end.from == END_OF_NEWEST) {
		q->psn_known = !c->end.failed_after;
		q->failed = c->end.failed_after;
	} else if (c->end.from == END_UNKNOWN && (r->out->errors || d->reset)) {
		q->psn_known = false;
		q->failed = r->out->errors != 0;
	}
}

enum ring_fault rxe_charge_done(const struct rxe_ring *r, const struct rxe_stand *s,
				struct rxe_done *d, struct rxe_charge *c)
{
	struct sample *out = r->out;
	struct unseen u = {
		.n = d->n - out->seen,
		/* A queue pair that failed stays so until it is RESET. */
		.dead = r->q->failed && c->end.from == END_UNKNOWN && (out->errors || d->reset),
	};

	charge_oldest(r, d, c, u.n);
	recall_noted(r, s, d, c, &u);
	if (c->end.from == END_UNKNOWN)
		c->end = psn_from_head(r, s, &u);
	out->mtus_sent += c->sent;
	out->mtus_recv += c->recv;
	if (u.n + r->q->owed + r->q->advanced)
		charge_unseen(r, d, c, &u);
	if (r->q->opened && c->excess > r->jump_max)
		return RING_FAULT_JUMP;
	remember_psn(r, d, c);
	out->wrs = d->n;
	out->lost = d->n - out->seen;
	if (out->lost)
		out->flags |= SAMPLE_LAPPED;
	return RING_OK;
}
