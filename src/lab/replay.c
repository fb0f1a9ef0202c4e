// SPDX-License-Identifier: GPL-2.0-or-later
/* replay: ticks over recorded inputs, and the comparison of what they record. See replay.h. */
#include "src/lab/replay.h"

#include <errno.h>
#include <stdlib.h>

/* What one tick records at most, and the state before the first: both fit into the ring. */
enum { RECORDS_MAX = TRACE_RING_BYTES + TRACE_BLOCK_MAX };

/* --- the script ------------------------------------------------------------------------ */

static struct replay *replay_of(struct tape_script *ts)
{
	return (struct replay *)((uint8_t *)ts - offsetof(struct replay, script));
}

static void script_scan(struct tape_script *ts, uint32_t slot, struct usage *u, struct report *rep,
			struct scan_result *res)
{
	struct replay *r = replay_of(ts);

	*res = (struct scan_result){ .found = r->in[slot].scanned && r->in[slot].found };
	*rep = (struct report){ .slot = slot };
	if (!r->in[slot].scanned)
		return;
	r->in[slot].usage.link = u->link;
	*u = r->in[slot].usage;
	*rep = r->in[slot].report;
}

/* --- comparison -------------------------------------------------------------------------- */

static size_t record_bytes(const uint8_t *record)
{
	return TRACE_RECORD_HEAD + trace_load32(record + 1);
}

static void drop(uint8_t *records, size_t *n, size_t gone)
{
	memmove(records, records + gone, *n - gone);
	*n -= gone;
}

static int compare(struct replay *r, char why[REPLAY_TEXT])
{
	size_t a = 0, b = 0;
	int rc = 0;

	while (!rc && a < r->theirs_n && b < r->mine_n) {
		const uint8_t *theirs = r->theirs + a, *mine = r->mine + b;
		size_t n = record_bytes(theirs);

		if (n != record_bytes(mine) || memcmp(theirs, mine, n) != 0) {
			replay_difference(r, theirs, mine, why);
			rc = -ECANCELED;
		}
		a += n;
		b += record_bytes(mine);
	}
	drop(r->theirs, &r->theirs_n, a);
	drop(r->mine, &r->mine_n, b);
	return rc;
}

/* The trace has a record of it. */
static bool expect(struct replay *r, enum trace_kind kind, const struct trace_in *payload)
{
	size_t n = (size_t)(payload->end - payload->at);
	uint8_t *to = r->theirs + r->theirs_n;

	if (r->other)
		return true;
	if (r->theirs_n + TRACE_RECORD_HEAD + n > RECORDS_MAX)
		return false;
	to[0] = (uint8_t)kind;
	trace_store32(to + 1, (uint32_t)n);
	memcpy(to + TRACE_RECORD_HEAD, payload->at, n);
	r->theirs_n += TRACE_RECORD_HEAD + n;
	return true;
}

/* What was recorded here. False: it was too much, which no resexd records. */
static bool drain(struct replay *r)
{
	struct trace_ring_head h;
	const uint8_t *payload;

	while (r->tape && (payload = trace_ring_oldest(&r->tape->ring, &h))) {
		uint8_t *record = r->mine + r->mine_n;
		struct trace_out o = { record + TRACE_RECORD_HEAD, record + TRACE_RECORD_MAX,
				       false };

		if (RECORDS_MAX - r->mine_n < TRACE_RECORD_MAX)
			return false;
		tape_encode(&r->tape->encoder, &h, payload, &o);
		record[0] = (uint8_t)h.kind;
		trace_store32(record + 1, (uint32_t)(o.at - record) - TRACE_RECORD_HEAD);
		r->mine_n += (size_t)(o.at - record);
		trace_ring_got(&r->tape->ring, &h);
	}
	return !r->tape || !atomic_load(&r->tape->end);
}

/* Nothing is left of what earlier ticks made here. */
static int compare_left(struct replay *r, bool theirs, char why[REPLAY_TEXT])
{
	if (!r->mine_n && (!theirs || !r->theirs_n))
		return 0;
	replay_difference(r, theirs && r->theirs_n ? r->theirs : NULL, r->mine_n ? r->mine : NULL,
			  why);
	return -ECANCELED;
}

/* --- ticks ------------------------------------------------------------------------------------ */

/* Before the first tick: from here on it is recorded here as it was in resexd. */
static bool begin_tape(struct replay *r)
{
	if (r->other || r->tape)
		return true;
	r->tape = calloc(1, sizeof(*r->tape));
	if (!r->tape)
		return false;
	atomic_store(&r->ho.tape, r->tape);
	return true;
}

static void note_guest(struct replay *r, uint32_t slot, int64_t elapsed_ns)
{
	const struct slot *sl = &r->s.slot[slot];
	struct replay_guest *g = &r->guest[slot];
	uint32_t percent = cap_to_percent(sl->applied);

	if (g->created != sl->guest->key.created)
		*g = (struct replay_guest){ .created = sl->guest->key.created };
	g->domid = sl->guest->key.domid;
	g->ns += elapsed_ns;
	if (sl->capped)
		g->capped_ns += elapsed_ns;
	if (sl->applied.limited && (!g->lowest || percent < g->lowest))
		g->lowest = percent;
	g->cap = sl->applied;
	g->caps = sl->cap_changes;
	g->spent = sl->past;
	spending_add(&g->spent, &r->s.ledger.acc[slot]);
}

/* Every cap that another policy sends is set: nothing says which would have failed. */
static void answer_all(struct replay *r)
{
	for (uint32_t i = slot_bit_next(&r->s.used, 0); i < FLOW_GUESTS_MAX;
	     i = slot_bit_next(&r->s.used, i + 1)) {
		struct mailbox *m = &r->ho.mail[i];
		uint64_t want = atomic_load(&m->want);

		if (!r->s.slot[i].pending)
			continue;
		atomic_store(&m->answered, r->now.ns + REPLAY_ANSWER_NS);
		atomic_store(&m->answer, mail_pack(mail_serial(want), 0, mail_percent(want)));
	}
}

static void run_tick(struct replay *r)
{
	struct mono before = r->s.period.last;
	uint64_t epoch = r->s.period.epoch;
	struct event ev;

	if (r->set_new)
		atomic_store(&r->ho.next, r->set_new);
	tick(&r->s, r->now);
	if (r->set_new)
		replay_take_set(r);
	r->epochs += r->s.period.epoch - epoch;
	if (r->other)
		answer_all(r);
	while (event_get(&r->ho, &ev))
		;
	for (uint32_t i = slot_bit_next(&r->s.used, 0); i < FLOW_GUESTS_MAX;
	     i = slot_bit_next(&r->s.used, i + 1))
		note_guest(r, i, mono_sub(r->s.period.last, before));
	if (!r->ticks++)
		r->first = r->now;
}

static int do_tick(struct replay *r, struct trace_in *in, char why[REPLAY_TEXT])
{
	const struct trace_in whole = *in;
	int rc = compare_left(r, false, why);

	if (rc)
		return rc;
	if (r->over || !replay_load_whole(r) || !expect(r, TRACE_TICK, &whole) ||
	    !replay_load_tick(r, in))
		return -EBADMSG;
	if (!begin_tape(r))
		return -ENOMEM;
	run_tick(r);
	if (!drain(r))
		return -EBADMSG;
	rc = compare(r, why);
	return rc ? rc : 1;
}

/* Accounts that no tick made are those of the end of a recording. */
static bool make_last_accounts(struct replay *r)
{
	if (r->mine_n)
		return true;
	r->over = true;
	atomic_store(&r->ho.tape, NULL);
	tape_change(&r->s, NULL);
	return drain(r);
}

static int do_output(struct replay *r, enum trace_kind kind, struct trace_in *in,
		     char why[REPLAY_TEXT])
{
	int rc;

	if (!r->ticks)
		return -EBADMSG;
	if (r->other)
		return 0;
	if (!expect(r, kind, in) || (kind == TRACE_ACCOUNTS && !make_last_accounts(r)))
		return -EBADMSG;
	rc = compare(r, why);
	/* All records of the tick were made: one that is left has no match. */
	return rc || !r->theirs_n ? rc : compare_left(r, true, why);
}

static int do_state(struct replay *r, enum trace_kind kind, struct trace_in *in,
		    char why[REPLAY_TEXT])
{
	int rc = compare_left(r, false, why);
	bool good = !rc && !r->over && expect(r, kind, in);

	if (rc)
		return rc;
	switch (kind) {
	case TRACE_POLICY:
		return good && replay_load_policy(r, in, why) ? 0 : -EBADMSG;
	case TRACE_BLOCK:
		return good && replay_load_block(r, in) ? 0 : -EBADMSG;
	case TRACE_SET:
		return good && replay_load_set(r, in) ? 0 : -EBADMSG;
	case TRACE_START:
		return good && replay_load_start(r, in) ? 0 : -EBADMSG;
	default:
		return good && replay_load_slot(r, in) ? 0 : -EBADMSG;
	}
}

static int do_end(struct replay *r, struct trace_in *in, char why[REPLAY_TEXT])
{
	uint64_t end = trace_get(in, TRACE_ENDS - 1), ticks = trace_get(in, UINT64_MAX);

	if (!trace_in_ended(in) || !end || ticks != r->ticks)
		return -EBADMSG;
	r->file.whole = true;
	/* Inputs whose tick found no room are left. */
	return compare_left(r, false, why);
}

static int do_record(struct replay *r, enum trace_kind kind, struct trace_in *in,
		     char why[REPLAY_TEXT])
{
	if (r->file.whole || r->has_conf != (kind != TRACE_CONF))
		return -EBADMSG;
	switch (kind) {
	case TRACE_CONF:
		return replay_load_conf(r, in) ? 0 : -EBADMSG;
	case TRACE_TICK:
		return do_tick(r, in, why);
	case TRACE_DECIDED:
	case TRACE_ACCOUNTS:
		return do_output(r, kind, in, why);
	case TRACE_END:
		return do_end(r, in, why);
	default:
		return do_state(r, kind, in, why);
	}
}

int replay_tick(struct replay *r, char why[REPLAY_TEXT])
{
	static const char *const names[TRACE_KINDS] = {
		"",	"CONF", "POLICY",  "BLOCK",    "SET", "START",
		"SLOT", "TICK", "DECIDED", "ACCOUNTS", "END",
	};
	enum trace_kind kind;
	struct trace_in in;
	int rc;

	why[0] = 0;
	do {
		rc = replay_next(&r->file, &kind, &in, why);
		if (rc <= 0)
			return rc;
		rc = do_record(r, kind, &in, why);
	} while (!rc);
	if (rc == -EBADMSG && !why[0])
		snprintf(why, REPLAY_TEXT,
			 "its record %s after tick %llu is not one that resexd writes: get the "
			 "file again",
			 names[kind], (unsigned long long)r->ticks);
	else if (rc == -ENOMEM)
		snprintf(why, REPLAY_TEXT, "there is no memory for a replay: free some");
	return rc;
}

int replay_open(struct replay **out, FILE *f, struct policy_inst *other, char why[REPLAY_TEXT])
{
	struct replay *r = calloc(1, sizeof(*r));
	int rc = -ENOMEM;

	snprintf(why, REPLAY_TEXT, "there is no memory for a replay: free some");
	if (!r) {
		policy_free(other);
		return rc;
	}
	r->other = other;
	r->script = (struct tape_script){ script_scan };
	r->theirs = malloc(RECORDS_MAX);
	r->mine = malloc(RECORDS_MAX);
	r->ho.actor_fd = r->ho.control_fd = -1;
	if (r->theirs && r->mine)
		rc = handover_open(&r->ho);
	if (!rc)
		rc = replay_head(&r->file, f, why);
	if (rc) {
		replay_close(r);
		return rc;
	}
	*out = r;
	return 0;
}
