// SPDX-License-Identifier: GPL-2.0-or-later
/* ring: one mapped ring read, whatever its layout; its totals. See ring.h. */
#include "ibmon/ring/ring_priv.h"

#include <errno.h>

static void add_totals(struct ring *r, const struct sample *s)
{
	struct ring_totals *t = &r->totals;

	t->wrs += s->wrs;
	t->seen += s->seen;
	t->mtus_sent += s->mtus_sent;
	t->mtus_recv += s->mtus_recv;
	t->bytes_sent += s->bytes_sent;
	t->bytes_recv += s->bytes_recv;
	for (int i = 0; i < OP_KINDS; i++)
		t->ops[i] += s->ops[i];
	t->flags |= s->flags;
	if (s->lost | s->errors | s->bytes_bound) {
		t->lost += s->lost;
		t->errors += s->errors;
		t->bytes_bound += s->bytes_bound;
	}
	if (s->flags & SAMPLE_LAPPED)
		t->laps++;
}

/* False: s has more than work of the kind that is held, or is too much. */
static bool hold(struct ring *r, const struct sample *s)
{
	struct ring_held *h = &r->held;
	bool recv = r->held_kind == OP_READ;
	uint64_t mtus = recv ? s->mtus_recv : s->mtus_sent;

	if (s->flags | s->lost | s->errors | s->bytes_bound | (s->ops[r->held_kind] ^ s->seen) |
	    (recv ? s->mtus_sent | s->bytes_sent : s->mtus_recv | s->bytes_recv))
		return false;
	if (s->wrs != s->seen || ((h->wrs + s->wrs) | (h->mtus + mtus)) > UINT32_MAX)
		return false;
	h->wrs += (uint32_t)s->wrs;
	h->mtus += (uint32_t)mtus;
	h->bytes += recv ? s->bytes_recv : s->bytes_sent;
	return true;
}

static void add_held(const struct ring *r, struct ring_totals *t)
{
	const struct ring_held *h = &r->held;

	t->wrs += h->wrs;
	t->seen += h->wrs;
	if (r->desc.kind == RING_CQ) {
		t->completions += h->wrs;
		t->qpn = h->qpn ? h->qpn : t->qpn;
		return;
	}
	t->ops[r->held_kind] += h->wrs;
	*(r->held_kind == OP_READ ? &t->mtus_recv : &t->mtus_sent) += h->mtus;
	*(r->held_kind == OP_READ ? &t->bytes_recv : &t->bytes_sent) += h->bytes;
}

/* The next samples are likely to be of the kind of this one. */
static void hold_kind_of(struct ring *r, const struct sample *s)
{
	uint8_t kind = 0;

	while (kind < OP_KINDS - 1 && !s->ops[kind])
		kind++;
	add_held(r, &r->totals);
	r->held = (struct ring_held){ 0 };
	r->held_kind = kind;
}

/* Of a completion queue, which has no work of its own. */
static void count_completions(struct ring *r, const struct sample *s)
{
	struct ring_totals *t = &r->totals;

	if (!(s->flags | s->errors) && r->held.wrs + s->seen <= UINT32_MAX) {
		r->held.wrs += (uint32_t)s->seen;
		return;
	}
	t->wrs += s->wrs;
	t->seen += s->seen;
	t->flags |= s->flags;
	t->completions += s->seen;
	t->errors += s->errors;
	t->lost += s->lost;
	t->laps += (s->flags & SAMPLE_LAPPED) != 0;
}

static void count(struct ring *r, const struct sample *s)
{
	if (r->desc.kind == RING_CQ) {
		count_completions(r, s);
		return;
	}
	if (hold(r, s))
		return;
	if (s->seen)
		hold_kind_of(r, s);
	add_totals(r, s);
}

/* As memset, which for this size costs as much as reading an entry when inlined. */
static void clear_sample(struct sample *s)
{
	s->slot = s->ring = s->flags = s->msg_bytes = 0;
	s->wrs = s->seen = s->lost = s->errors = 0;
	s->mtus_sent = s->mtus_recv = s->bytes_sent = s->bytes_recv = 0;
	s->bytes_bound = s->likely_sent = s->likely_recv = s->backlog = 0;
	for (int i = 0; i < OP_KINDS; i++)
		s->ops[i] = 0;
}

/* Another thread may ask ring_was_read() meanwhile. */
static void note_read(struct ring *r)
{
	if (!r->read)
		__atomic_store_n(&r->read, true, __ATOMIC_RELAXED);
}

bool ring_was_read(const struct ring *r)
{
	return __atomic_load_n(&r->read, __ATOMIC_RELAXED);
}

void ring_skip_history(struct ring *r)
{
	r->skip_history = true;
	ring_may_be_reset(r);
}

void ring_may_be_reset(struct ring *r)
{
	if (r->ops->seen_before)
		r->ops->seen_before(r->state);
}

static void drop_history(struct sample *s)
{
	uint64_t backlog = s->backlog;
	uint32_t ring = s->ring;

	clear_sample(s);
	s->ring = ring;
	s->backlog = backlog;
	s->flags = SAMPLE_HISTORY | SAMPLE_UNCHARGED;
}

void ring_peers_completed(const struct ring_peers *peers, uint32_t provider, uint32_t qpn,
			  uint32_t counter, bool failed)
{
	uint32_t low = 0, high = peers ? peers->n : 0;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct ring *sq = peers->peer[middle].sq;

		if (peers->peer[middle].qpn < qpn) {
			low = middle + 1;
		} else if (peers->peer[middle].qpn > qpn) {
			high = middle;
		} else {
			if (sq->desc.provider == provider && !sq->fault)
				sq->ops->completed(sq->state, counter, failed);
			return;
		}
	}
}

int ring_sample(struct ring *r, int64_t elapsed_ns, struct sample *out)
{
	return ring_sample_among(r, NULL, elapsed_ns, out);
}

int ring_sample_among(struct ring *r, const struct ring_peers *peers, int64_t elapsed_ns,
		      struct sample *out)
{
	enum ring_fault fault = RING_FAULT_ENTRY;
	int rc;

	clear_sample(out);
	if (r->fault)
		return -EBADMSG;
	out->ring = r->desc.id;
	elapsed_ns = elapsed_ns > 0 ? elapsed_ns : 0;
	if (r->gapped)
		elapsed_ns += r->gap_ns;
	r->gapped = false;
	rc = r->ops->sample(&r->desc, &r->mem, r->state, peers, elapsed_ns, out, &fault,
			    r->desc.kind == RING_CQ ? &r->held.qpn : &r->totals.qpn);
	if (rc) { /* no part of a sample at fault is trusted */
		clear_sample(out);
		r->fault = (uint8_t)fault;
		return -EBADMSG;
	}
	if ((out->flags & SAMPLE_HISTORY) && r->skip_history)
		drop_history(out);
	count(r, out);
	note_read(r);
	return 0;
}

void ring_watch(const struct ring *r, struct ring_quiet *q)
{
	*q = (struct ring_quiet){ { NULL }, { 0 }, 0 };
	if (!r->fault)
		r->ops->quiet(&r->desc, &r->mem, r->state, q);
}

enum ring_fault ring_fault(const struct ring *r)
{
	return (enum ring_fault)r->fault;
}

bool ring_fault_delivered(const struct ring *r)
{
	return r->fault_delivered;
}

void ring_fault_set_delivered(struct ring *r)
{
	r->fault_delivered = true;
}

const struct ring_desc *ring_desc(const struct ring *r)
{
	return &r->desc;
}

void ring_set_bounded(struct ring *r)
{
	__atomic_store_n(&r->bounded, true, __ATOMIC_RELAXED);
}

void ring_totals(const struct ring *r, struct ring_totals *t)
{
	*t = r->totals;
	add_held(r, t);
	if (__atomic_load_n(&r->bounded, __ATOMIC_RELAXED))
		t->flags |= SAMPLE_WRS_BOUNDED;
}

void ring_show(struct ring *r)
{
	ring_totals(r, &r->shown);
	r->is_shown = true;
}

bool ring_shown(const struct ring *r, struct ring_totals *t)
{
	if (r->is_shown)
		*t = r->shown;
	return r->is_shown;
}
