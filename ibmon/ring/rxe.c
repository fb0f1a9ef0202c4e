// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rxe: send queues of soft-RoCE: what was completed since the last sample.
 *
 * How many: the consumer index is exact but masked; ssn runs freely but also
 * counts posts that were refused or aborted. Both are known together at a
 * base: the newest entry posted when the ring was last read, or else the
 * newest completed. The true count agrees with the index and is at most what
 * ssn says; the largest such number is used.
 *
 * Which: entries are read from the newest completed backwards, because the
 * oldest are overwritten first. An entry counts only if its ssn fits its slot
 * and is the same before and after it was copied; so slots that were wiped
 * (RESET) and pages that were reused (the process died) add nothing. Entries
 * seen posted are noted, so that their sizes are known even if they are
 * overwritten before the next sample. rxe_psn.c works out what it all costs.
 *
 * Slots from the producer on may be in the making. On a full ring that slot is
 * the newest completed entry, and a post that is refused scribbles over it.
 */
#include <errno.h>

#include "ibmon/ring/rxe_sq.h"
#include "resex/guest_abi.h"

enum {
	CHUNK = 16,		 /* entries copied before they are checked */
	POSITION_TRIES = 16,	 /* against a consumer index that moves while we read */
	UNSTABLE_MAX = 100,	 /* samples in a row in which the consumer kept moving */
	UNKNOWN_GAP_MAX = 65536, /* refused posts among entries of unknown base */
	JUMP_SLACK = 131072,	 /* posts or packets allowed in no time at all */
	FETCH = 5,		 /* entries prefetched early */
	FETCH_MAX = 32,		 /* and at all */
	JUMP_NS = 10,		 /* and one more each so many nanoseconds */
};
#define OWED_MAX_NS NS_PER_S /* entries wait so long for the PSN that tells what they cost */
/* By then the agent, which reads all mappings each second, has withdrawn a destroyed queue. */
#define ZEROED_MAX_NS (3 * NS_PER_S)

static bool slot_blank(const struct rxe_ring *r, uint32_t slot)
{
	struct rxe_entry e;

	rxe_entry_load(r, slot, &e);
	return rxe_entry_blank(&e);
}

/* --- the ring's indices ------------------------------------------------------ */

/*
 * Read both indices and the newest completed entry so that they belong
 * together: that entry cannot be posted over while the consumer index is
 * unchanged. False: the index kept moving.
 */
static bool read_indices(const struct rxe_ring *r, struct rxe_stand *s)
{
	const volatile struct ring_rxe_header *h = ring_rxe_header(r->m);
	const struct rxe_sq *q = r->q;

	for (int i = 0; i < POSITION_TRIES; i++) {
		s->cons = h->consumer;
		s->prod = h->producer;
		guest_copy_barrier();
		s->raw_ssn = rxe_wqe(r, s->cons - 1)->ssn;
		s->idle = q->opened && s->cons == q->cons && s->prod == q->noted_to &&
			  s->raw_ssn == q->raw_ssn;
		if (!s->idle)
			rxe_entry_load(r, s->cons - 1, &s->newest);
		guest_copy_barrier();
		if (h->consumer == s->cons)
			return true;
	}
	return false;
}

static uint32_t backlog(const struct rxe_ring *r, const struct rxe_stand *s)
{
	return (s->prod - s->cons) & r->mask;
}

/* The oldest entry in flight belongs to us until the consumer index passes it. */
static void read_head(const struct rxe_ring *r, struct rxe_stand *s)
{
	rxe_entry_load(r, s->cons, &s->head);
	guest_copy_barrier();
	s->head_valid = ring_rxe_header(r->m)->consumer == s->cons;
}

/*
 * The newest completed entry as it was noted, if it was noted before the entry
 * with ssn next was posted behind it, and not a whole lap before.
 */
static bool restore_newest(const struct rxe_ring *r, struct rxe_stand *s, uint32_t next)
{
	const struct rxe_sq *q = r->q;
	const struct rxe_noted *n = &q->noted[(s->cons - 1) & r->mask];

	if (!n->valid || !q->ssn_known || n->ssn - q->ssn - 1 >= next - q->ssn - 1)
		return false;
	if (next - n->ssn > r->mask + 1)
		return false;
	s->ssn = n->ssn;
	s->newest.ssn = n->ssn;
	s->newest.opcode = n->opcode;
	s->newest.length = n->length;
	s->newest.ud_qpn = n->ud;
	s->newest.flags = s->newest.num_sge = 0;
	s->newest.state = 1; /* a post begins by setting it to 0 */
	return true;
}

/*
 * On a full ring the oldest entry in flight, which cannot be overwritten, shows
 * whether the newest completed one was scribbled over. A refused post does not
 * touch what the kernel wrote: how the entry ended, and its PSNs.
 */
static void correct_ssn(const struct rxe_ring *r, struct rxe_stand *s)
{
	s->raw_ssn = s->newest.ssn;
	s->ssn = s->raw_ssn;
	if (backlog(r, s) != r->mask || rxe_entry_blank(&s->newest))
		return;
	read_head(r, s);
	if (!s->head_valid || (int32_t)(s->raw_ssn - s->head.ssn) < 0)
		return;
	s->scribbled = true;
	s->ssn = s->head.ssn - 1;
	s->newest_gone = !restore_newest(r, s, s->head.ssn);
}

/* The entries of *s are not cleared: that costs as much as reading them. */
static void read_stand(const struct rxe_ring *r, struct rxe_stand *s)
{
	bool stable = read_indices(r, s);

	s->scribbled = s->newest_gone = s->head_valid = false;
	s->fault = RING_OK;
	/* After the indices: a header that is still right was right before. */
	if (!ring_rxe_header_same(r->d, r->m)) {
		s->fault = RING_FAULT_HEADER;
	} else if (s->cons > r->mask || s->prod > r->mask) {
		s->fault = RING_FAULT_INDEX;
	} else if (stable) {
		r->q->unstable = 0;
		if (!s->idle)
			correct_ssn(r, s);
	} else {
		s->idle = true; /* nothing is known now: the next sample counts it */
		if (++r->q->unstable > UNSTABLE_MAX)
			s->fault = RING_FAULT_INDEX;
	}
}

/* --- how many ------------------------------------------------------------------ */

/* What index and ssn say of the number of completed entries. */
struct count {
	uint64_t n;
	uint64_t to_base;    /* of these, up to the base */
	uint32_t beyond;     /* past the base, by ssn: at most so many */
	uint32_t beyond_idx; /* past the base, by index: so many modulo the slots */
	bool agree;	     /* false: no number agrees with both */
	bool less_than_lap;  /* so that the index alone is exact */
};

/* The largest number that agrees with idx modulo the slots and is at most limit. */
static uint32_t largest(const struct rxe_ring *r, uint32_t limit, uint32_t idx)
{
	return limit - ((limit - idx) & r->mask);
}

/*
 * The entry counted as newest by the previous sample still holds its slot: less than a lap was
 * posted since, whatever ssn says. A second process that posts to the ring has numbers of its own.
 */
static bool previous_intact(const struct rxe_ring *r)
{
	struct rxe_entry e;

	rxe_entry_load(r, r->q->cons - 1, &e);
	return e.ssn == r->q->ssn && !rxe_entry_blank(&e);
}

/* How many entries can be read: all that are not in flight. */
static uint32_t visible_entries(const struct rxe_ring *r, const struct rxe_stand *s)
{
	uint32_t n = r->mask - backlog(r, s) + 1;

	if (s->newest_gone)
		return 0;
	return n < RING_WALK_MAX ? n : RING_WALK_MAX;
}

/*
 * The number that the blank ring began with is not known: 0, or any after a RESET. Blank slots
 * behind what was completed since show that it was less than a lap. Otherwise the ssn is an upper
 * bound; beyond what time allows, the ring surely did not begin at 0, and is counted one lap, which
 * it did at least: marked as well, since it is not exact.
 */
static uint64_t count_from_unknown(const struct rxe_ring *r, const struct rxe_stand *s,
				   uint32_t idx)
{
	uint64_t n = (uint64_t)s->ssn + 1;

	if (idx < visible_entries(r, s) && slot_blank(r, s->cons - 1 - idx))
		return idx;
	n = n < idx || n > r->jump_max ? idx + r->mask + 1 : largest(r, (uint32_t)n, idx);
	if (n > idx)
		r->out->flags |= SAMPLE_WRS_BOUNDED;
	return n;
}

static struct count count_entries(const struct rxe_ring *r, const struct rxe_stand *s,
				  uint32_t since)
{
	const struct rxe_sq *q = r->q;
	uint32_t idx = (s->cons - q->cons) & r->mask, to_base = q->base_ssn - q->ssn;
	struct count c = { .to_base = (q->base_idx - q->cons) & r->mask };

	if (!q->ssn_known) {
		c.n = count_from_unknown(r, s, idx);
		c.agree = true;
	} else if (since <= to_base) {
		c.n = idx;
		c.agree = idx <= c.to_base && idx <= since;
	} else {
		c.beyond = since - to_base;
		c.beyond_idx = (s->cons - q->base_idx) & r->mask;
		c.agree = c.beyond >= c.beyond_idx;
		if (c.agree)
			c.n = c.to_base + largest(r, c.beyond, c.beyond_idx);
	}
	if ((c.n > r->mask || !c.agree) && q->opened && previous_intact(r)) {
		c.n = idx;
		c.agree = true;
		c.less_than_lap = true;
	}
	return c;
}

/*
 * Posts known to have been refused, between entries that were read, cannot be
 * completed ones. Less than a lap past the base the index alone is exact;
 * more, and refused posts may hide among the lost entries.
 */
static uint64_t bound_count(const struct rxe_ring *r, const struct count *c,
			    const struct rxe_done *d)
{
	uint32_t limit = c->beyond, past;

	if (!c->beyond || d->reset || c->less_than_lap || d->n - c->to_base <= r->mask)
		return d->n;
	if (d->refused <= limit && limit - d->refused >= c->beyond_idx)
		limit -= d->refused;
	past = largest(r, limit, c->beyond_idx);
	if (past > r->mask)
		r->out->flags |= SAMPLE_WRS_BOUNDED;
	return c->to_base + past;
}

/* --- which ----------------------------------------------------------------------- */

/*
 * The slot of the next post may be in the making. The provider then changes
 * the request, from the first field to ssn at last; how the entry before it
 * ended, and its PSNs, are the kernel's. The request was noted when that entry
 * was posted.
 */
static bool fits_at_producer(const struct rxe_ring *r, const struct rxe_stand *s,
			     struct rxe_entry *e)
{
	const struct rxe_noted *n = &r->q->noted[s->prod & r->mask];

	if (!n->valid || n->ssn != e->ssn)
		return backlog(r, s) == r->mask; /* full: only refused posts, see correct_ssn */
	e->opcode = n->opcode;
	e->length = n->length;
	e->ud_qpn = n->ud;
	e->flags = 0;
	e->num_sge = 0;
	e->state = 1;
	return true;
}

/* Can this be the entry completed back entries before the newest, refused posts in between? */
static bool fits(const struct rxe_ring *r, const struct rxe_stand *s, struct rxe_entry *e,
		 uint32_t back, uint32_t refused)
{
	uint32_t age = s->ssn - e->ssn;

	if (e->ssn != e->ssn_after || age < back + refused || rxe_entry_blank(e))
		return false;
	if (r->q->ssn_known ? age >= s->ssn - r->q->ssn : age - back > UNKNOWN_GAP_MAX)
		return false;
	return back < r->mask - backlog(r, s) || fits_at_producer(r, s, e);
}

static void load_chunk(const struct rxe_ring *r, const struct rxe_stand *s, uint32_t back,
		       uint32_t n, struct rxe_entry *e)
{
	for (uint32_t i = 0; i < n; i++)
		rxe_entry_load(r, s->cons - 1 - back - i, &e[i]);
	guest_copy_barrier();
	for (uint32_t i = 0; i < n; i++)
		e[i].ssn_after = rxe_wqe(r, s->cons - 1 - back - i)->ssn;
}

/* Charge an entry; false: it does not fit, or *fault. See charge_visible. */
static bool charge_next(const struct rxe_ring *r, const struct rxe_stand *s, struct rxe_entry *e,
			uint32_t back, uint32_t visible, struct rxe_done *d, struct rxe_charge *c,
			enum ring_fault *fault)
{
	if (!fits(r, s, e, back, d->refused)) {
		if (rxe_entry_blank(e))
			d->reset = back + 1 >= visible || slot_blank(r, s->cons - 2 - back);
		return false;
	}
	*fault = rxe_charge_entry(r, e, c);
	if (*fault)
		return false;
	d->oldest_age = s->ssn - e->ssn;
	d->refused = d->oldest_age - back;
	return true;
}

/* Count a run of entries like the newest, which was charged, at once: most are such runs. */
static uint32_t charge_alike(const struct rxe_ring *r, const struct rxe_stand *s, uint32_t todo,
			     struct rxe_done *d, struct rxe_charge *c)
{
	uint32_t packets = rxe_alike_packets(c), fit = r->mask - backlog(r, s), n;

	if (!packets || s->newest.ud_qpn || s->scribbled || d->refused)
		return 0;
	if (r->q->ssn_known && fit > d->since)
		fit = d->since;
	if (todo > fit)
		todo = fit;
	n = todo ? rxe_count_alike(r, s->cons - 2, todo - 1, &s->newest, packets) : 0;
	rxe_charge_alike(r, c, n, packets);
	d->oldest_age += n;
	return n;
}

/*
 * Charge the completed entries of the visible ones, until one does not fit. One
 * blank slot may be an entry in the making; RESET wipes them all.
 */
static enum ring_fault charge_visible(const struct rxe_ring *r, struct rxe_stand *s,
				      uint32_t visible, struct rxe_done *d, struct rxe_charge *c)
{
	uint32_t todo = d->n < visible ? (uint32_t)d->n : visible;
	enum ring_fault fault = RING_OK;
	struct rxe_entry e[CHUNK];

	if (!todo)
		return RING_OK;
	s->newest.ssn_after = s->newest.ssn;
	if (!charge_next(r, s, &s->newest, 0, visible, d, c, &fault))
		return fault;
	for (uint32_t back = 1 + charge_alike(r, s, todo, d, c); back < todo; back += CHUNK) {
		uint32_t n = todo - back < CHUNK ? todo - back : CHUNK;

		load_chunk(r, s, back, n, e);
		for (uint32_t i = 0; i < n; i++)
			if (!charge_next(r, s, &e[i], back + i, visible, d, c, &fault))
				return fault;
	}
	return RING_OK;
}

/* How many entries were completed since a RESET, which left blank slots; visible: none did. */
static uint32_t count_to_blank(const struct rxe_ring *r, const struct rxe_stand *s,
			       uint32_t visible)
{
	uint32_t back = 1;

	while (back < visible && !slot_blank(r, s->cons - 1 - back))
		back++;
	return back;
}

static struct rxe_done count_completed(const struct rxe_ring *r, struct rxe_stand *s)
{
	struct rxe_done d = { .ssn = s->ssn, .since = s->ssn - r->q->ssn };
	struct count c = count_entries(r, s, d.since);
	uint32_t visible = visible_entries(r, s);
	struct rxe_charge charge = { 0 };

	d.n = c.n;
	if (!c.agree) { /* was the queue pair RESET and used again? */
		d.n = count_to_blank(r, s, visible);
		d.reset = d.n < visible;
	}
	if ((!c.agree && !d.reset) || (r->q->opened && c.beyond > r->jump_max))
		d.fault = RING_FAULT_JUMP;
	else
		d.fault = charge_visible(r, s, visible, &d, &charge);
	if (d.fault)
		return d;
	d.n = bound_count(r, &c, &d);
	if (d.reset && d.n > r->out->seen)
		r->out->flags |= SAMPLE_WRS_BOUNDED;
	if (d.n < r->out->seen)
		d.n = r->out->seen;
	d.fault = rxe_charge_done(r, s, &d, &charge);
	r->q->ssn = d.ssn;
	r->q->ssn_known = true;
	return d;
}

/* True if all slots but those in flight and the next one are blank: RESET wipes all. */
static bool rest_is_blank(const struct rxe_ring *r, const struct rxe_stand *s)
{
	uint32_t n = r->mask - backlog(r, s);

	if (n > RING_WALK_MAX)
		n = RING_WALK_MAX;
	for (uint32_t i = 0; i < n; i++)
		if (!slot_blank(r, s->prod + 1 + i))
			return false;
	return true;
}

/* Is the consumer index at 0 again, and no slot written but those posted since? */
static bool is_at_begin(const struct rxe_ring *r, const struct rxe_stand *s)
{
	if (!r->q->opened || s->cons || !r->q->cons)
		return false;
	return r->q->zeroed_ns || rest_is_blank(r, s);
}

/*
 * Nothing was posted: a new ring, in the pages of the one that we counted on. Or RESET, which wipes
 * the slots and leaves the indices where they are, at 0 by chance. The first entry tells
 * (begins_anew).
 */
static bool looks_new(const struct rxe_ring *r, const struct rxe_stand *s)
{
	return !s->prod && is_at_begin(r, s);
}

/* The ring that looked new is, or one that is in use already. After a RESET its numbers go on. */
static bool begins_anew(const struct rxe_ring *r, const struct rxe_stand *s)
{
	const struct rxe_sq *q = r->q;

	if (!q->zeroed_ns && (!q->ssn_known || !s->prod || !is_at_begin(r, s)))
		return false;
	return (int32_t)(rxe_wqe(r, 0)->ssn - q->ssn) <= 0;
}

/*
 * The newest completed entry is blank: the queue pair was RESET (or, at the
 * first sample, perhaps never used). The consumer has passed all that was
 * posted before, completed or dropped: an upper bound. Whole laps show in the
 * ssn of what was posted since, now or later.
 */
static struct rxe_done count_wiped(const struct rxe_ring *r, struct rxe_stand *s)
{
	struct rxe_sq *q = r->q;
	uint32_t idx = (s->cons - q->cons) & r->mask;
	struct rxe_charge charge = { 0 };
	struct rxe_done d = { 0 };

	if (!q->opened) {
		q->ssn_known = s->cons == 0 && !q->seen_before;
		return d;
	}
	d.reset = true;
	d.since = q->base_ssn - q->ssn;
	if (backlog(r, s) && q->ssn_known) {
		read_head(r, s);
		if (s->head_valid)
			d.since = s->head.ssn - 1 - q->ssn;
	}
	if (d.since < idx)
		d.since = idx;
	if (q->ssn_known && d.since - idx > r->jump_max + r->mask) {
		d.fault = RING_FAULT_JUMP;
		return d;
	}
	d.ssn = q->ssn + d.since;
	d.n = largest(r, d.since, idx);
	if (d.n)
		r->out->flags |= SAMPLE_WRS_BOUNDED;
	d.fault = rxe_charge_done(r, s, &d, &charge);
	q->ssn = d.ssn;
	q->psn_known = false;
	q->failed = false;
	return d;
}

/* --- what was posted ------------------------------------------------------------- */

/* Note what entries [from, from + n) ask for. */
static void note_posted(const struct rxe_ring *r, uint32_t from, uint32_t n)
{
	struct rxe_entry e[CHUNK];

	for (uint32_t at = 0; at < n; at += CHUNK) {
		uint32_t k = n - at < CHUNK ? n - at : CHUNK;

		for (uint32_t i = 0; i < k; i++)
			rxe_entry_load(r, from + at + i, &e[i]);
		guest_copy_barrier();
		for (uint32_t i = 0; i < k; i++) {
			uint32_t ssn_after = rxe_wqe(r, from + at + i)->ssn;

			r->q->noted[(from + at + i) & r->mask] = (struct rxe_noted){
				.ssn = e[i].ssn,
				.length = e[i].length,
				.valid = e[i].ssn == ssn_after && e[i].opcode < RING_RXE_OPCODES,
				.opcode = (uint8_t)e[i].opcode,
				.ud = e[i].ud_qpn != 0,
			};
		}
	}
}

/* The newest posted entry becomes the base, if it is certain that it was in flight. */
static void set_base(const struct rxe_ring *r, const struct rxe_stand *s)
{
	uint32_t last = rxe_wqe(r, s->prod - 1)->ssn;
	struct rxe_sq *q = r->q;
	bool stable;

	guest_copy_barrier();
	stable = ring_rxe_header(r->m)->consumer == s->cons &&
		 rxe_wqe(r, s->cons - 1)->ssn == s->raw_ssn;
	if (s->scribbled && (int32_t)(s->raw_ssn - last) > 0)
		last = s->raw_ssn;
	if (!stable || !q->ssn_known || (int32_t)(last - q->ssn) <= 0)
		return;
	q->base_idx = s->prod;
	q->base_ssn = last;
}

/* Note what was posted since, and remember the indices of the ring. */
static void remember_stand(const struct rxe_ring *r, struct rxe_stand *s, const struct rxe_done *d)
{
	struct rxe_sq *q = r->q;
	uint32_t noted = (q->noted_to - q->cons) & r->mask;
	uint32_t from = q->opened && !d->reset && d->n <= noted ? q->noted_to : s->cons;
	uint32_t n = (s->prod - from) & r->mask;

	if (n > RING_WALK_MAX - r->out->seen)
		n = RING_WALK_MAX - (uint32_t)r->out->seen;
	note_posted(r, from, n);
	q->posted = (s->prod - q->noted_to) & r->mask;
	q->noted_to = (from + n) & r->mask;
	q->cons = s->cons;
	q->raw_ssn = s->raw_ssn;
	q->base_idx = s->cons;
	q->base_ssn = q->ssn;
	if (!backlog(r, s))
		return;
	if (!q->psn_known) {
		read_head(r, s);
		if (s->head_valid)
			rxe_learn_psn(q, &s->head);
	}
	if (q->noted_to == s->prod)
		set_base(r, s);
}

/* --- ops --------------------------------------------------------------------------- */

static size_t sq_state_size(const struct ring_desc *d)
{
	return sizeof(struct rxe_sq) + (size_t)d->entries * sizeof(struct rxe_noted);
}

static int sq_open(const struct ring_desc *d, const struct ring_mem *m, void *state)
{
	struct rxe_sq *q = (struct rxe_sq *)state;

	q->ssn = q->base_ssn = UINT32_MAX; /* the first will be 0 */
	q->ssn_known = true;
	q->path_mtu = d->path_mtu;
	return ring_rxe_open(d, m, RING_RXE_SQ_ELEM_MIN);
}

/*
 * A ring that begins anew in the same memory is blank, or behind in ssn. When it may have
 * overtaken the former one, only an entry that both have tells.
 */
static bool sq_continues(const struct ring_desc *d, const struct ring_mem *m, const void *state,
			 bool surely)
{
	const struct rxe_sq *q = (const struct rxe_sq *)state;
	const volatile struct ring_rxe_header *h = ring_rxe_header(m);
	const struct rxe_ring r = { .d = d, .m = m, .mask = d->entries - 1 };
	uint32_t cons = h->consumer;
	struct rxe_entry newest;

	if (!q->opened || !ring_rxe_header_same(d, m) || cons > r.mask || h->producer > r.mask)
		return false;
	if (surely) {
		rxe_entry_load(&r, q->cons - 1, &newest);
		return q->psn_known && newest.ssn == q->ssn &&
		       (newest.last == q->psn || newest.first == q->psn);
	}
	rxe_entry_load(&r, cons - 1, &newest);
	if (rxe_entry_blank(&newest)) /* RESET leaves the indices */
		return q->blank || cons || !q->cons;
	return (int32_t)(newest.ssn - q->ssn) >= 0;
}

/*
 * The producer, and the newest completed entry, which tells of whole laps. The consumer cannot
 * move where nothing is in flight.
 */
static void sq_quiet(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		     struct ring_quiet *quiet)
{
	const struct rxe_sq *q = (const struct rxe_sq *)state;
	const volatile struct ring_rxe_header *h = ring_rxe_header(m);
	const struct rxe_ring r = { .d = d, .m = m, .mask = d->entries - 1 };

	if (!q->opened || q->unstable || q->zeroed_ns || q->partly_ns || q->owed != q->settled)
		return;
	quiet->at[0] = &h->producer;
	quiet->value[0] = q->noted_to;
	quiet->at[1] = &rxe_wqe(&r, q->cons - 1)->ssn;
	quiet->value[1] = q->raw_ssn;
	quiet->at[2] = &h->consumer;
	quiet->value[2] = q->cons;
	quiet->backlog = (q->noted_to - q->cons) & r.mask;
}

/* What is in flight, and as many posts after it as the last sample found. */
static void sq_prefetch(const struct ring_desc *d, const struct ring_mem *m, const void *state,
			bool rest)
{
	const struct rxe_sq *q = (const struct rxe_sq *)state;
	const struct rxe_ring r = { .d = d, .m = m, .mask = d->entries - 1 };
	uint32_t n = ((q->noted_to - q->cons) & r.mask) + q->posted, max = rest ? FETCH_MAX : FETCH;

	if (!rest) {
		ring_prefetch_line(&ring_rxe_header(m)->log2_elem_size);
		ring_prefetch_line(&ring_rxe_header(m)->consumer);
		if (q->noted_to != q->cons)
			ring_prefetch_line(&rxe_wqe(&r, q->cons - 1)->ssn);
	}
	for (uint32_t i = rest ? FETCH : 0; i < n && i < max; i++) {
		const volatile struct ring_rxe_wqe *w = rxe_wqe(&r, q->cons + i);

		ring_prefetch_line(&w->opcode);
		ring_prefetch_line(&w->ssn);
		ring_prefetch_line(&w->num_sge);
	}
}

/* Have both indices gone back to 0? */
static bool has_first_index(const struct rxe_stand *s, const struct rxe_sq *q)
{
	return !s->prod && !s->cons && q->cons;
}

/*
 * A blank newest entry, with others that are written: RESET goes on, or the process posts while its
 * ring is read. Or some of the pages became another ring, and others something else; that may be a
 * new ring only with indices of 0.
 */
static enum ring_fault sample_active(const struct rxe_ring *r, struct rxe_stand *s,
				     int64_t elapsed_ns)
{
	struct rxe_sq *q = r->q;
	bool blank = rxe_entry_blank(&s->newest);
	bool partly = blank && q->opened && !rest_is_blank(r, s);
	struct rxe_done d = { 0 };

	if (partly || (blank && looks_new(r, s))) {
		int64_t *ns = partly && !has_first_index(s, q) ? &q->partly_ns : &q->zeroed_ns;

		*ns += elapsed_ns + 1;
		if (*ns <= ZEROED_MAX_NS)
			return RING_OK; /* nothing was done since, or it is to be counted later */
		if (partly)
			return RING_FAULT_HEADER;
	} else if (begins_anew(r, s)) {
		return RING_FAULT_HEADER;
	}
	q->zeroed_ns = q->partly_ns = 0;
	if (blank && (!q->blank || s->cons != q->cons))
		d = count_wiped(r, s);
	else if (!blank && (!q->opened || s->cons != q->cons || s->raw_ssn != q->raw_ssn))
		d = count_completed(r, s);
	if (d.fault)
		return d.fault;
	q->blank = blank;
	q->owed_ns = 0;
	remember_stand(r, s, &d);
	if (!q->opened)
		r->out->flags |= SAMPLE_HISTORY;
	q->opened = true;
	return RING_OK;
}

/* Nothing was completed: do deferred entries wait too long for their PSN? */
static void sample_idle(const struct rxe_ring *r, int64_t elapsed_ns)
{
	struct rxe_sq *q = r->q;

	if (q->owed == q->settled)
		return;
	q->owed_ns += elapsed_ns;
	if (q->owed_ns >= OWED_MAX_NS)
		rxe_settle(r);
}

enum ring_fault rxe_sample_any(const struct rxe_ring *r, int64_t elapsed_ns)
{
	enum ring_fault fault;
	struct rxe_stand s;

	read_stand(r, &s);
	fault = s.fault;
	if (!fault && s.idle)
		sample_idle(r, elapsed_ns);
	else if (!fault)
		fault = sample_active(r, &s, elapsed_ns);
	if (!fault)
		r->out->backlog = backlog(r, &s);
	return fault;
}

static int sq_sample(const struct ring_desc *d, const struct ring_mem *m, void *state,
		     const struct ring_peers *peers, int64_t elapsed_ns, struct sample *out,
		     enum ring_fault *fault, uint32_t *qpn)
{
	const struct rxe_ring r = {
		.d = d,
		.m = m,
		.q = (struct rxe_sq *)state,
		.out = out,
		.mask = d->entries - 1,
		.jump_max = JUMP_SLACK + (uint64_t)elapsed_ns / JUMP_NS,
	};

	(void)qpn; /* a send queue does not name its queue pair */
	(void)peers;
	if (rxe_sample_run(&r))
		return 0;
	*fault = rxe_sample_any(&r, elapsed_ns);
	return *fault ? -EBADMSG : 0;
}

static void sq_seen_before(void *state)
{
	((struct rxe_sq *)state)->seen_before = true;
}

const struct ring_ops ring_rxe_sq = {
	.provider = GUEST_PROVIDER_RXE,
	.kind = RING_SQ,
	.name = "rxe send queue",
	.state_size = sq_state_size,
	.open = sq_open,
	.continues = sq_continues,
	.header_same = ring_rxe_header_same,
	.seen_before = sq_seen_before,
	.quiet = sq_quiet,
	.prefetch = sq_prefetch,
	.sample = sq_sample,
};
