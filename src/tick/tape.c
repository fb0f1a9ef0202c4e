// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tape: the sampler's stages call it while a recording is under way. A tick's records are filled in
 * the ring, and shown to the writer together, so that a recording ends with a whole tick. See
 * tape.h.
 */
#include "src/tick/tape.h"

#include "src/tick/sampler.h"

static_assert(sizeof(struct tape_tick) % 8 == 0 && sizeof(struct tape_answer) % 8 == 0 &&
		      sizeof(struct tape_scan) % 8 == 0 && sizeof(struct report) % 8 == 0 &&
		      sizeof(struct tape_plan) % 8 == 0 && sizeof(struct tape_account) % 8 == 0,
	      "what follows is aligned");
static_assert(TAPE_TICK_BYTES % 8 == 0, "room in the ring");

enum { LINE = 64 }; /* of a cache: what is brought into it ahead */

/* Without room in the ring the recording ends, and ticks go on. */
static void end_behind(struct sampler *s)
{
	atomic_store_explicit(&s->tape->end, TRACE_BEHIND, memory_order_release);
	s->tape = NULL;
}

/* --- records that are encoded here: state, sets ------------------------------------ */

static bool begin_record(struct sampler *s, struct trace_out *o)
{
	uint8_t *room = trace_ring_room(&s->tape->ring, TRACE_RECORD_MAX);

	if (!room) {
		end_behind(s);
		return false;
	}
	*o = (struct trace_out){ room + TRACE_RING_HEAD, room + TRACE_RECORD_MAX, false };
	return true;
}

static void end_record(struct sampler *s, enum trace_kind kind, struct trace_out *o)
{
	uint8_t *record = o->end - TRACE_RECORD_MAX;
	uint32_t bytes = (uint32_t)(o->at - record) - TRACE_RING_HEAD;

	if (o->full) {
		end_behind(s);
		return;
	}
	trace_ring_head_fill(record, kind, bytes);
	trace_ring_put(&s->tape->ring, trace_ring_size(bytes));
}

static void put_policy(struct sampler *s)
{
	const struct policy_inst *pi = s->set->policy;
	struct trace_out o;

	s->tape->policy = pi;
	if (!begin_record(s, &o))
		return;
	tape_put_policy(&o, pi);
	end_record(s, TRACE_POLICY, &o);
	for (uint32_t i = 0; s->tape && i < FLOW_GUESTS_MAX; i++)
		if (begin_record(s, &o) && tape_put_block(&o, pi, i))
			end_record(s, TRACE_BLOCK, &o);
}

static void put_set(struct sampler *s)
{
	struct trace_out o;

	if (!begin_record(s, &o))
		return;
	trace_put(&o, s->set->serial);
	trace_put(&o, s->set->guests);
	for (uint32_t i = 0; i < s->set->guests; i++)
		tape_put_set_guest(&o, &s->set->guest[i]);
	end_record(s, TRACE_SET, &o);
	if (s->tape)
		s->tape->odd_before = 1;
}

void tape_set(struct sampler *s)
{
	if (s->set->policy != s->tape->policy)
		put_policy(s);
	if (s->tape)
		put_set(s);
}

static void put_state(struct sampler *s)
{
	struct trace_out o;

	tape_set(s);
	if (!s->tape || !begin_record(s, &o))
		return;
	tape_put_start(&o, s);
	end_record(s, TRACE_START, &o);
	for (uint32_t i = slot_bit_next(&s->used, 0); s->tape && i < FLOW_GUESTS_MAX;
	     i = slot_bit_next(&s->used, i + 1)) {
		if (!begin_record(s, &o))
			return;
		tape_put_slot(&o, s, i);
		end_record(s, TRACE_SLOT, &o);
	}
}

/* --- records of a tick ------------------------------------------------------------- */

static bool begin_tick(struct sampler *s)
{
	struct tape *t = s->tape;

	t->room = t->at = trace_ring_room(&t->ring, TAPE_TICK_BYTES);
	if (!t->room) {
		end_behind(s);
		return false;
	}
	return true;
}

static void end_tick(struct tape *t)
{
	trace_ring_put(&t->ring, (uint64_t)(t->at - t->room));
}

/* All of a record that is filled from at on. */
static void *append(struct tape *t, size_t n)
{
	void *to = t->at;

	t->at += n;
	return to;
}

/* Also of a recording that ended by itself: its memory is not touched from here on. */
void tape_change(struct sampler *s, struct tape *t)
{
	struct tape *was = s->tape;

	if (was && begin_tick(s)) {
		tape_accounts(s);
		end_tick(was);
	}
	s->tape = s->tape_taken = t;
	if (t)
		put_state(s);
}

void tape_tick(struct sampler *s, struct mono now)
{
	const size_t low = s->guests * sizeof(uint32_t);
	struct tape *t = s->tape;

	if (!begin_tick(s))
		return;
	t->at += TRACE_RING_HEAD;
	t->tick = append(t, sizeof(*t->tick));
	for (size_t i = 0; i < low + LINE; i += LINE)
		__builtin_prefetch(t->at + i, 1, 2);
	t->tick->now_ns = now.ns;
	t->tick->answers = t->tick->scans = 0;
	t->tick->wide = false;
}

void tape_answer(struct tape *t, uint32_t slot, uint64_t answer, struct mono answered)
{
	struct tape_answer *a = append(t, sizeof(*a));

	*a = (struct tape_answer){ slot, answer, answered.ns };
	t->tick->answers++;
}

struct tape_words tape_listed(struct sampler *s)
{
	struct tape *t = s->tape;

	t->tick->list_rc = s->doms < 0 ? s->doms : 0;
	t->tick->words = s->doms < 0 ? 0 : (uint16_t)s->guests;
	memcpy(t->tick->again, s->again, sizeof(s->again));
	if (s->doms < 0)
		return (struct tape_words){ NULL, 0 };
	return (struct tape_words){ append(t, tape_low_bytes(t->tick->words)), 0 };
}

bool tape_is_wide(struct tape *t, const struct tape_words *w)
{
	t->tick->wide = (w->odd | t->odd_before) != 0;
	t->odd_before = w->odd;
	return t->tick->wide;
}

void tape_scan(struct tape *t, const struct usage *u, const struct report *rep, bool found)
{
	/* One by one: a load of several would wait for the stores of each before it. */
	const uint64_t v[TAPE_FIGURES] = { u->mtus_sent, u->mtus_recv, u->bytes_sent, u->bytes_recv,
					   u->wrs,	 u->lost,      u->backlog,    u->queues };
	struct tape_scan *sc = append(t, sizeof(*sc));
	uint64_t all = 0;

	__builtin_prefetch(t->at + TAPE_AHEAD_BYTES, 1, 2);
	for (uint32_t i = 0; i < TAPE_FIGURES; i++) {
		sc->figure[i] = (uint32_t)v[i];
		all |= v[i];
	}
	sc->slot = (uint16_t)u->slot;
	sc->found = found;
	sc->wide = all > UINT32_MAX;
	sc->reports = rep->n || rep->flags;
	sc->flags = u->flags;
	sc->msg_bytes = u->msg_bytes;
	if (sc->wide)
		memcpy(append(t, sizeof(v)), v, sizeof(v));
	if (sc->reports)
		memcpy(append(t, sizeof(*rep)), rep, sizeof(*rep));
	t->tick->scans++;
}

void tape_observed(struct tape *t)
{
	trace_ring_head_fill(t->room, TRACE_TICK, (uint32_t)(t->at - t->room) - TRACE_RING_HEAD);
}

/* A guest that was not decided on yet has the plan of the former guest of its slot. */
void tape_accounts(struct sampler *s)
{
	static const struct plan_guest none;
	struct tape *t = s->tape;
	uint8_t *record = append(t, TRACE_RING_HEAD);

	for (uint32_t i = slot_bit_next(&s->used, 0); i < FLOW_GUESTS_MAX;
	     i = slot_bit_next(&s->used, i + 1)) {
		struct tape_account *a = append(t, sizeof(*a));

		*a = (struct tape_account){ i, s->ledger.acc[i],
					    s->slot[i].fresh ? none : s->plan.guest[i] };
	}
	trace_ring_head_fill(record, TRACE_ACCOUNTS, (uint32_t)(t->at - record) - TRACE_RING_HEAD);
}

static uint32_t cap_number(struct cap c)
{
	return c.limited ? c.mpct + 1 : 0;
}

/* One number for what is recorded of a plan, so that a plan like the former one is told by it. */
static uint64_t plan_number(const struct plan_guest *p)
{
	return 1 + (((uint64_t)cap_number(p->cap) << 32 | p->rate.q16) ^
		    p->reason * 0x9e3779b97f4a7c15ull);
}

/* Guests that are still have the plan that they had. */
void tape_decided(struct sampler *s)
{
	struct tape *t = s->tape;
	uint8_t *record = t->at;

	for (uint32_t i = 0; i < s->dues; i++) {
		const struct slot *sl = s->due[i];
		const uint32_t slot = sl->seat->slot;
		const struct plan_guest *p = &s->plan.guest[slot];
		const uint64_t number = plan_number(p);
		struct tape_plan *to;

		if (number == t->plan[slot])
			continue;
		t->plan[slot] = number;
		if (t->at == record)
			append(t, TRACE_RING_HEAD);
		to = append(t, sizeof(*to));
		*to = (struct tape_plan){ slot,	       p->reason,  cap_number(p->cap),
					  p->rate.q16, sl->serial, sl->wanted };
	}
	if (t->at != record)
		trace_ring_head_fill(record, TRACE_DECIDED,
				     (uint32_t)(t->at - record) - TRACE_RING_HEAD);
	end_tick(t);
}
