// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rxe: send queues of soft-RoCE: where a ring stands, how many, which.
 *
 * How many were completed: the consumer index is exact but masked; ssn runs
 * freely but also counts posts that were refused or aborted. Both are known
 * together at a base: the newest entry posted when the ring was last looked
 * at, or else the newest completed. The true count agrees with the index
 * and is at most what ssn says; the largest such is taken.
 *
 * Which: entries are read from the newest completed backwards, for the
 * oldest are overwritten first. An entry counts only if its ssn fits where
 * it stands and is the same before and after it was copied; so slots that
 * were wiped (RESET) and pages that were reused (the process died) add
 * nothing. Entries seen posted are noted, so that their sizes are known even
 * if they are overwritten before the next sample. What it all costs is
 * worked out in rxe_psn.c.
 *
 * Slots from the producer on may be in the making; a post that is refused
 * on a full ring scribbles over the newest completed entry, which is there.
 */
#include <errno.h>

#include "ibmon/ring/rxe_sq.h"
#include "resex/guest_abi.h"
#include "src/util/seqread.h"

enum {
	CHUNK = 16,		 /* entries copied before they are looked at */
	POSITION_TRIES = 16,	 /* against a consumer index that moves while we read */
	UNSTABLE_MAX = 100,	 /* samples in a row that found no stand */
	UNKNOWN_GAP_MAX = 65536, /* refused posts among entries of unknown base */
	JUMP_SLACK = 131072,	 /* posts or packets allowed in no time at all */
	JUMP_NS = 10,		 /* and one more each so many nanoseconds */
};

/* --- reading --------------------------------------------------------------- */

static const volatile struct ring_rxe_header *header(const struct rxe_walk *w)
{
	return (const volatile struct ring_rxe_header *)w->m->base;
}

static const volatile struct ring_rxe_wqe *wqe_at(const struct rxe_walk *w, uint32_t slot)
{
	size_t at = sizeof(struct ring_rxe_header) + (size_t)(slot & w->mask) * w->d->elem_size;

	return (const volatile struct ring_rxe_wqe *)(w->m->base + at);
}

static inline void entry_load(const struct rxe_walk *w, uint32_t slot, struct rxe_entry *e)
{
	const volatile struct ring_rxe_wqe *p = wqe_at(w, slot);

	e->ssn = p->ssn;
	e->status = p->status;
	e->state = p->state;
	e->first = p->first_psn;
	e->last = p->last_psn;
	e->length = p->length;
	e->opcode = p->opcode;
	e->flags = p->send_flags;
	e->ud_qpn = p->ud_remote_qpn;
	e->num_sge = p->num_sge;
}

/* Entries that were completed or sent have a state: only wiped ones are all zero. */
static inline bool entry_blank(const struct rxe_entry *e)
{
	return !e->state && !(e->ssn | e->status | e->first | e->last | e->length | e->opcode |
			      e->flags | e->ud_qpn | e->num_sge);
}

static bool slot_blank(const struct rxe_walk *w, uint32_t slot)
{
	struct rxe_entry e;

	entry_load(w, slot, &e);
	return entry_blank(&e);
}

bool rxe_previous_intact(const struct rxe_walk *w)
{
	struct rxe_entry e;

	entry_load(w, w->q->cons - 1, &e);
	return e.ssn == w->q->ssn && !entry_blank(&e);
}

static int fail(struct rxe_walk *w, enum ring_fault why)
{
	w->fault = why;
	return -EBADMSG;
}

/* --- where the ring stands --------------------------------------------------- */

/*
 * Read both indices and the newest completed entry so that they belong
 * together: as long as the consumer index stands still, that entry cannot be
 * posted over. False: it never stood still.
 */
static bool read_stand(struct rxe_walk *w)
{
	const struct rxe_sq *q = w->q;

	for (int i = 0; i < POSITION_TRIES; i++) {
		w->cons = header(w)->consumer;
		w->prod = header(w)->producer;
		guest_copy_barrier();
		w->raw_ssn = wqe_at(w, w->cons - 1)->ssn;
		w->idle = q->opened && w->cons == q->cons && w->prod == q->noted_to &&
			  w->raw_ssn == q->raw_ssn;
		if (!w->idle)
			entry_load(w, w->cons - 1, &w->newest);
		guest_copy_barrier();
		if (header(w)->consumer == w->cons)
			return true;
	}
	return false;
}

static uint32_t backlog(const struct rxe_walk *w)
{
	return (w->prod - w->cons) & w->mask;
}

/* The oldest entry in flight: its own as long as the consumer index does not pass it. */
static bool read_head(struct rxe_walk *w)
{
	entry_load(w, w->cons, &w->head);
	guest_copy_barrier();
	w->head_valid = header(w)->consumer == w->cons;
	return w->head_valid;
}

/*
 * The newest completed entry as it was noted, if it was, before next was
 * posted behind it: not a whole lap before.
 */
static bool restore_newest(struct rxe_walk *w, uint32_t next)
{
	const struct rxe_sq *q = w->q;
	const struct rxe_noted *s = &q->noted[(w->cons - 1) & w->mask];

	if (!s->valid || !q->ssn_known || s->ssn - q->ssn - 1 >= next - q->ssn - 1)
		return false;
	if (next - s->ssn > w->mask + 1)
		return false;
	w->ssn = s->ssn;
	w->newest.ssn = s->ssn;
	w->newest.opcode = s->opcode;
	w->newest.length = s->length;
	w->newest.ud_qpn = s->ud;
	w->newest.flags = w->newest.num_sge = 0;
	w->newest.state = 1; /* a post begins by setting it to 0 */
	return true;
}

/*
 * On a full ring the oldest entry in flight, which nobody may overwrite,
 * shows whether the newest completed one was scribbled over. A refused post
 * leaves alone what the kernel wrote: how it ended, and its PSNs.
 */
static void correct_ssn(struct rxe_walk *w)
{
	w->raw_ssn = w->newest.ssn;
	w->ssn = w->raw_ssn;
	if (backlog(w) != w->mask || entry_blank(&w->newest))
		return;
	if (!read_head(w) || (int32_t)(w->raw_ssn - w->head.ssn) < 0)
		return;
	w->scribbled = true;
	w->ssn = w->head.ssn - 1;
	w->newest_gone = !restore_newest(w, w->head.ssn);
}

static int take_stand(struct rxe_walk *w)
{
	bool stable = read_stand(w);

	/* After the indices: a header that is still right was right before. */
	if (!ring_rxe_header_same(w->d, w->m))
		return fail(w, RING_FAULT_HEADER);
	if (w->cons > w->mask || w->prod > w->mask)
		return fail(w, RING_FAULT_INDEX);
	if (stable) {
		w->q->unstable = 0;
		if (!w->idle)
			correct_ssn(w);
		return 0;
	}
	if (++w->q->unstable > UNSTABLE_MAX)
		return fail(w, RING_FAULT_INDEX);
	w->idle = true; /* nothing can be said now: the next sample says it */
	return 0;
}

/* --- how many ------------------------------------------------------------------ */

/* The largest number that agrees with idx modulo the slots and is at most limit. */
static uint32_t largest(const struct rxe_walk *w, uint32_t limit, uint32_t idx)
{
	return limit - ((limit - idx) & w->mask);
}

/* False: there is no number that index and ssn could agree on. */
static bool count(struct rxe_walk *w)
{
	const struct rxe_sq *q = w->q;
	uint32_t idx = (w->cons - q->cons) & w->mask;
	uint32_t since = w->since, to_base = q->base_ssn - q->ssn;

	w->ahead = (q->base_idx - q->cons) & w->mask;
	if (!q->ssn_known || since <= to_base) {
		w->n = idx;
		return !q->ssn_known || (idx <= w->ahead && idx <= since);
	}
	w->beyond = since - to_base;
	w->beyond_idx = (w->cons - q->base_idx) & w->mask;
	if (w->beyond < w->beyond_idx)
		return false;
	w->n = w->ahead + largest(w, w->beyond, w->beyond_idx);
	return true;
}

/*
 * Posts known to have been refused, between entries that were seen, cannot
 * be completed ones. Less than a lap past the base the index alone is exact;
 * more, and refused posts may hide among what was lost.
 */
static void tighten(struct rxe_walk *w)
{
	uint64_t past = w->n - w->ahead;
	uint32_t limit = w->beyond;

	if (!w->beyond || w->reset || past <= w->mask)
		return;
	if (w->skipped <= limit && limit - w->skipped >= w->beyond_idx)
		limit -= w->skipped;
	past = largest(w, limit, w->beyond_idx);
	if (past > w->mask)
		w->out->flags |= SAMPLE_WRS_BOUNDED;
	w->n = w->ahead + past;
}

/* --- which ----------------------------------------------------------------------- */

/*
 * What stands where the next post goes may be in the making. The provider
 * then changes what it was asked to do, first to last ssn; how the entry
 * before it ended, and its PSNs, are the kernel's. The rest was noted when
 * that entry was posted.
 */
static bool fits_at_producer(const struct rxe_walk *w, struct rxe_entry *e)
{
	const struct rxe_noted *s = &w->q->noted[w->prod & w->mask];

	if (!s->valid || s->ssn != e->ssn)
		return backlog(w) == w->mask; /* full: only refused posts, and see correct_ssn */
	e->opcode = s->opcode;
	e->length = s->length;
	e->ud_qpn = s->ud;
	e->flags = 0;
	e->num_sge = 0;
	e->state = 1;
	return true;
}

/* Can this be the entry completed back entries before the newest? */
static bool fits(const struct rxe_walk *w, struct rxe_entry *e, uint32_t back)
{
	uint32_t age = w->ssn - e->ssn;

	if (e->ssn != e->ssn_after || age < back + w->skipped || entry_blank(e))
		return false;
	if (w->q->ssn_known ? age >= w->since : age - back > UNKNOWN_GAP_MAX)
		return false;
	return back < w->mask - backlog(w) || fits_at_producer(w, e);
}

static void load_chunk(const struct rxe_walk *w, uint32_t back, uint32_t n, struct rxe_entry *e)
{
	for (uint32_t i = 0; i < n; i++)
		entry_load(w, w->cons - 1 - back - i, &e[i]);
	guest_copy_barrier();
	for (uint32_t i = 0; i < n; i++)
		e[i].ssn_after = wqe_at(w, w->cons - 1 - back - i)->ssn;
	if (back == 0) {
		e[0] = w->newest;
		e[0].ssn_after = e[0].ssn;
	}
}

/* One blank slot may be an entry in the making; RESET wipes them all. */
static void stopped_at(struct rxe_walk *w, const struct rxe_entry *e, uint32_t back,
		       uint32_t visible)
{
	if (entry_blank(e))
		w->reset = back + 1 >= visible || slot_blank(w, w->cons - 2 - back);
}

static int walk(struct rxe_walk *w, uint32_t visible)
{
	uint32_t take = w->n < visible ? (uint32_t)w->n : visible;
	struct rxe_entry e[CHUNK];

	for (uint32_t back = 0; back < take; back += CHUNK) {
		uint32_t n = take - back < CHUNK ? take - back : CHUNK;

		load_chunk(w, back, n, e);
		for (uint32_t i = 0; i < n; i++) {
			if (!fits(w, &e[i], back + i)) {
				stopped_at(w, &e[i], back + i, visible);
				return 0;
			}
			if (rxe_take(w, &e[i]))
				return -EBADMSG;
			w->oldest_age = w->ssn - e[i].ssn;
			w->skipped = w->oldest_age - (back + i);
		}
	}
	return 0;
}

/* How far back to look: all that is not in flight. */
static uint32_t visible(const struct rxe_walk *w)
{
	uint32_t n = w->mask - backlog(w) + 1;

	if (w->newest_gone)
		return 0;
	return n < RING_WALK_MAX ? n : RING_WALK_MAX;
}

/* Index and ssn disagree: was the queue pair RESET and used again? */
static bool look_for_reset(struct rxe_walk *w, uint32_t vis)
{
	uint32_t back = 1;

	while (back < vis && !slot_blank(w, w->cons - 1 - back))
		back++;
	w->reset = back < vis;
	w->n = back;
	return w->reset;
}

static int completions(struct rxe_walk *w)
{
	uint32_t vis = visible(w);

	w->since = w->ssn - w->q->ssn;
	if (!count(w) && !look_for_reset(w, vis))
		return fail(w, RING_FAULT_JUMP);
	if (w->q->opened && w->beyond > w->jump_max)
		return fail(w, RING_FAULT_JUMP);
	if (walk(w, vis))
		return -EBADMSG;
	tighten(w);
	if (w->reset && w->n > w->out->seen)
		w->out->flags |= SAMPLE_WRS_BOUNDED;
	if (w->n < w->out->seen)
		w->n = w->out->seen;
	w->unseen = w->n - w->out->seen;
	if (rxe_settle(w))
		return -EBADMSG;
	w->q->ssn = w->ssn;
	w->q->ssn_known = true;
	return 0;
}

/*
 * The newest completed entry is blank: the queue pair was RESET (or, at the
 * first sample, perhaps never used). All that was posted is behind the
 * consumer now, be it completed or dropped: an upper bound. Whole laps show
 * in the ssn of what was posted since, now or later.
 */
static int wiped(struct rxe_walk *w)
{
	struct rxe_sq *q = w->q;
	uint32_t idx = (w->cons - q->cons) & w->mask, since = q->base_ssn - q->ssn;

	if (!q->opened) {
		q->ssn_known = w->cons == 0;
		return 0;
	}
	if (backlog(w) && q->ssn_known && read_head(w))
		since = w->head.ssn - 1 - q->ssn;
	if (since < idx)
		since = idx;
	if (q->ssn_known && since - idx > w->jump_max + w->mask)
		return fail(w, RING_FAULT_JUMP);
	w->reset = true;
	w->since = since;
	w->ssn = q->ssn + since;
	w->n = w->unseen = largest(w, since, idx);
	if (w->n)
		w->out->flags |= SAMPLE_WRS_BOUNDED;
	if (rxe_settle(w))
		return -EBADMSG;
	q->ssn = w->ssn;
	q->psn_known = false;
	q->failed = false;
	return 0;
}

/* --- what was posted ------------------------------------------------------------- */

static void note(struct rxe_walk *w, uint32_t slot, const struct rxe_entry *e)
{
	struct rxe_noted *s = &w->q->noted[slot & w->mask];

	s->valid = e->ssn == e->ssn_after && e->opcode < RING_RXE_OPCODES;
	s->ssn = e->ssn;
	s->length = e->length;
	s->opcode = (uint8_t)e->opcode;
	s->ud = e->ud_qpn != 0;
}

/* Note entries [from, from + n). */
static void note_posted(struct rxe_walk *w, uint32_t from, uint32_t n)
{
	struct rxe_entry e[CHUNK];

	for (uint32_t at = 0; at < n; at += CHUNK) {
		uint32_t k = n - at < CHUNK ? n - at : CHUNK;

		for (uint32_t i = 0; i < k; i++)
			entry_load(w, from + at + i, &e[i]);
		guest_copy_barrier();
		for (uint32_t i = 0; i < k; i++) {
			e[i].ssn_after = wqe_at(w, from + at + i)->ssn;
			note(w, from + at + i, &e[i]);
		}
	}
}

/* Take the newest posted entry as base, if it is certain that it was in flight. */
static void set_base(struct rxe_walk *w)
{
	uint32_t last = wqe_at(w, w->prod - 1)->ssn;
	struct rxe_sq *q = w->q;
	bool stable;

	guest_copy_barrier();
	stable = header(w)->consumer == w->cons && wqe_at(w, w->cons - 1)->ssn == w->raw_ssn;
	if (w->scribbled && (int32_t)(w->raw_ssn - last) > 0)
		last = w->raw_ssn;
	if (!stable || !q->ssn_known || (int32_t)(last - q->ssn) <= 0)
		return;
	q->base_idx = w->prod;
	q->base_ssn = last;
}

static void posted(struct rxe_walk *w)
{
	struct rxe_sq *q = w->q;
	uint32_t noted = (q->noted_to - q->cons) & w->mask;
	uint32_t from = q->opened && !w->reset && w->n <= noted ? q->noted_to : w->cons;
	uint32_t n = (w->prod - from) & w->mask;

	if (n > RING_WALK_MAX - w->out->seen)
		n = RING_WALK_MAX - (uint32_t)w->out->seen;
	note_posted(w, from, n);
	q->noted_to = (from + n) & w->mask;
	q->cons = w->cons;
	q->raw_ssn = w->raw_ssn;
	q->base_idx = w->cons;
	q->base_ssn = q->ssn;
	if (backlog(w) && !q->psn_known) {
		read_head(w);
		rxe_learn(w);
	}
	if (backlog(w) && q->noted_to == w->prod)
		set_base(w);
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
 * The same reads as take_stand's: an index that moves meanwhile only makes
 * the next sample the one that sees it.
 */
static bool sq_idle(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		    uint64_t *backlog)
{
	const struct rxe_sq *q = (const struct rxe_sq *)state;
	const volatile struct ring_rxe_header *h = (const volatile struct ring_rxe_header *)m->base;
	const struct rxe_walk w = { .d = d, .m = m, .mask = d->entries - 1 };

	if (!q->opened || q->unstable || h->consumer != q->cons || h->producer != q->noted_to)
		return false;
	if (wqe_at(&w, q->cons - 1)->ssn != q->raw_ssn || !ring_rxe_header_same(d, m))
		return false;
	*backlog = (q->noted_to - q->cons) & w.mask;
	return true;
}

/* Field by field: clearing all of it would cost as much as reading an entry. */
static void begin(struct rxe_walk *w, int64_t elapsed_ns)
{
	w->mask = w->d->entries - 1;
	w->jump_max = JUMP_SLACK + (uint64_t)elapsed_ns / JUMP_NS;
	w->idle = w->scribbled = w->newest_gone = w->head_valid = false;
	w->n = w->ahead = w->unseen = 0;
	w->beyond = w->beyond_idx = w->skipped = w->oldest_age = w->since = 0;
	w->reset = w->dead = w->oldest_flushed = w->newer_valid = false;
	w->tail_known = w->failed_tail = w->head_known = w->broken = false;
	w->newest_psn = 0;
	w->excess = w->msgs = w->sent = w->recv = 0;
}

static int sample_active(struct rxe_walk *w)
{
	struct rxe_sq *q = w->q;
	bool blank = entry_blank(&w->newest);
	int rc = 0;

	if (blank && (!q->blank || w->cons != q->cons))
		rc = wiped(w);
	else if (!blank && (!q->opened || w->cons != q->cons || w->raw_ssn != q->raw_ssn))
		rc = completions(w);
	if (rc)
		return rc;
	q->blank = blank;
	posted(w);
	if (!q->opened)
		w->out->flags |= SAMPLE_HISTORY;
	q->opened = true;
	return 0;
}

static int sq_sample(const struct ring_desc *d, const struct ring_mem *m, void *state,
		     int64_t elapsed_ns, struct sample *out, enum ring_fault *fault, uint32_t *qpn)
{
	struct rxe_walk w;
	int rc;

	(void)qpn; /* a send queue does not say whose it is */
	w.d = d;
	w.m = m;
	w.q = (struct rxe_sq *)state;
	w.out = out;
	begin(&w, elapsed_ns);
	rc = take_stand(&w);
	if (!rc && !w.idle)
		rc = sample_active(&w);
	if (rc) {
		*fault = w.fault;
		return rc;
	}
	out->backlog = backlog(&w);
	return 0;
}

const struct ring_ops ring_rxe_sq = {
	.provider = GUEST_PROVIDER_RXE,
	.kind = RING_SQ,
	.name = "rxe send queue",
	.state_size = sq_state_size,
	.open = sq_open,
	.idle = sq_idle,
	.sample = sq_sample,
};
