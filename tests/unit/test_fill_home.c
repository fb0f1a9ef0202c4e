// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fill_home: requests to a home, hostile ones too; and a fill beside updates, in any order.
 *
 * fill_rig.h has the hosts.
 */
#include <string.h>

#include "tests/unit/fill_rig.h"

/* --- hostile requests ---------------------------------------------------------- */

static void is_bad(struct rig *r, const struct home_request *q, uint32_t len)
{
	uint64_t before = r->h.refused;

	r->answer = (struct home_answer){ .version = 77 };
	assert_true(asks_home(r, SELF, q, len));
	assert_int_equal(r->answer.refusal, HOME_BAD);
	assert_true(r->answer.version == 0);
	assert_int_equal(r->answer.kind, HOME_ANSWER);
	assert_int_equal(r->answer.number, q->number);
	assert_true(r->answer.serial == q->serial);
	assert_true(r->h.refused == before + 1);
	assert_int_equal(r->h.frees, r->h.conf.listings);
}

TEST(request__that_counts_not_what_came__is_bad)
{
	struct rig *r = begin_asked();
	const struct home_request ok = r->f.request;
	const uint32_t len = home_request_bytes(2, 0);
	struct home_request q = ok;

	is_bad(r, &q, len - 8);
	is_bad(r, &q, len - 1);
	is_bad(r, &q, len + 8);
	is_bad(r, &q, sizeof(q));
	q.tags = UINT16_MAX;
	is_bad(r, &q, len);
	q.running = UINT16_MAX;
	is_bad(r, &q, sizeof(q));
	q = ok;
	q.tags = HOME_FILL_TAGS_MAX + 1;
	is_bad(r, &q, home_request_bytes(q.tags, 0));
	q = ok;
	q.tags = 0;
	is_bad(r, &q, home_request_bytes(0, 0));
	q = ok;
	q.word = WORDS;
	is_bad(r, &q, len);
	q.word = UINT32_MAX;
	is_bad(r, &q, len);
	q = ok;
	q.log++;
	is_bad(r, &q, len);
	assert_true(asks_home(r, SELF, &ok, len));
	assert_int_equal(r->answer.refusal, HOME_REGISTERED);
	assert_true(r->answer.version == r->word[1]);
	assert_int_equal(r->h.frees, r->h.conf.listings - 2);
	finish(r);
}

TEST(request__with_half_a_snapshot__is_bad)
{
	struct rig *r = begin_asked();
	const struct home_request ok = r->f.request;
	struct home_request q = ok;

	q.next = 200;
	is_bad(r, &q, home_request_bytes(2, 0));
	q = ok;
	q.running = 1;
	is_bad(r, &q, home_request_bytes(2, 1));
	q = ok;
	q.oldest = 201;
	q.next = 200;
	is_bad(r, &q, home_request_bytes(2, 0));
	finish(r);
}

TEST(request__too_short_or_long_or_of_no_host__has_no_answer)
{
	struct rig *r = begin_asked();
	struct {
		struct home_request q;
		uint64_t more;
	} x = { .q = r->f.request };
	const uint32_t len = home_request_bytes(2, 0);

	assert_false(asks_home(r, SELF, &x, sizeof(x.q) + 8));
	assert_false(asks_home(r, SELF, &x, home_request_bytes(0, 0) - 1));
	assert_false(asks_home(r, SELF, &x, sizeof(x.q.kind)));
	assert_false(asks_home(r, 0, &x, len));
	assert_false(asks_home(r, MEMBERS + 1, &x, len));
	assert_true(r->h.refused == 5);
	assert_true(asks_home(r, MEMBERS, &x, len));
	finish(r);
}

TEST(request__of_another_protocol__is_ignored)
{
	struct rig *r = begin_asked();
	struct home_request q = r->f.request;

	q.kind = HOME_ANSWER;
	assert_false(asks_home(r, SELF, &q, home_request_bytes(2, 0)));
	assert_false(asks_home(r, SELF, &r->f.request, 3));
	assert_true(r->h.refused == 0);
	finish(r);
}

/* Each is of its own size, so that a sanitizer sees a byte behind it. */
TEST(request__any_bytes__are_bounded)
{
	struct rig *r = begin_asked();
	struct prop p;
	uint32_t registered = 0;

	prop_start(&p);
	for (int i = 0; i < 20000; i++) {
		struct home_request q = r->f.request;
		uint32_t len = (uint32_t)prop_range(&p, 1, sizeof(q));
		char *bytes;

		for (int k = 0; k < 2; k++)
			((char *)&q)[prop_range(&p, 8, 127)] = (char)prop_hostile(&p);
		if (prop_one_in(&p, 2) && q.tags + q.running <= HOME_NUMBERS_MAX)
			len = home_request_bytes(q.tags, q.running);
		bytes = malloc(len);
		assert_non_null(bytes);
		memcpy(bytes, &q, len);
		if (asks_home(r, SELF, bytes, len) && r->answer.refusal == HOME_REGISTERED) {
			registered++;
			prop_assert(&p, i, len == home_request_bytes(q.tags, q.running));
		}
		free(bytes);
		home_evict(&r->h, 1);
		r->f.request.version = r->word[1];
	}
	assert_true(registered > 1000); /* or the above means little */
	finish(r);
}

/* --- a copy whose word has not moved has seen all --------------------------------- */

enum { RUNS = 300, STEPS = 400, FIRST_TAG = 11, TAGS = 3, COPIES = 64, JOINED = 100 };

struct copy {
	uint64_t version, tag, seen;
};

/* One updater, one fill, and a database: `commits` is the number of the newest commit. */
struct world {
	struct prop p;
	struct rig *r;
	struct update_message update;
	uint64_t commits, changed[TAGS]; /* the newest commit of each tag */
	bool marked, committed;
	bool executed[FILL_TAGS]; /* the operation; its result has not come */
	uint64_t value[2];
	bool has_seen, tells; /* it has a snapshot, which the database tells */
	uint64_t seen;	      /* commits in the snapshot */
	uint64_t tag;
	struct copy copy[COPIES];
	uint32_t copies, stored, hits_after;
};

static void world_update(struct world *w)
{
	struct update_message *m = &w->update;

	if (!w->marked) {
		*m = (struct update_message){ .kind = UPDATE_MARK, .tags = 1 };
		m->tag[0] = prop_range(&w->p, FIRST_TAG, FIRST_TAG + TAGS - 1);
		m->name = cache_update_name(8, w->commits + 1);
		w->marked = true;
	} else if (!w->committed) {
		w->changed[m->tag[0] - FIRST_TAG] = ++w->commits;
		w->committed = true;
		return;
	} else {
		m->kind = UPDATE_END;
		m->transaction = JOINED + w->commits;
		w->marked = false;
		w->committed = false;
	}
	tell_home(w->r,
		  (struct step_event){
			  .type = STEP_MESSAGE, .host = UPDATER, .message = m, .len = sizeof(*m) });
}

static void world_begin(struct world *w)
{
	w->tag = prop_range(&w->p, FIRST_TAG, FIRST_TAG + TAGS - 1);
	w->tells = prop_one_in(&w->p, 2);
	w->has_seen = w->tells && prop_one_in(&w->p, 2); /* R2 f: it is older than the READs */
	w->seen = w->commits;
	begins(w->r, 1);
}

static void world_read(struct world *w)
{
	uint32_t op = (uint32_t)prop_range(&w->p, OP_WORD, OP_LOG);

	if (!(w->r->f.sent >> op & 1))
		return;
	if (!w->executed[op])
		w->value[op] = at_home(w->r, w->r->op[op].offset);
	else
		ends(w->r, op, STEP_DONE, w->value[op], 7);
	w->executed[op] = !w->executed[op];
}

static void world_compute(struct world *w)
{
	struct rig *r = w->r;

	if (!w->has_seen) {
		w->has_seen = true;
		w->seen = w->commits;
		return;
	}
	r->has_snapshot = w->tells;
	r->snapshot = (struct home_snapshot){ .oldest = JOINED + w->seen + 1,
					      .next = JOINED + w->seen + 1 };
	computes(r, fill_serial(&r->f), &w->tag, 1);
}

static void world_ask(struct world *w)
{
	struct rig *r = w->r;
	const struct step_op *op = &r->op[OP_REQUEST];

	if (!w->executed[OP_REQUEST]) {
		w->executed[OP_REQUEST] = true;
		assert_true(asks_home(r, SELF, op->data, op->len));
		return;
	}
	w->executed[OP_REQUEST] = false;
	ends(r, OP_REQUEST, STEP_DONE, 0, 7);
	hears(r, HOME, &r->answer, sizeof(r->answer));
	if (fill_version(&r->f) == 0)
		return;
	w->stored++;
	w->copy[w->copies++ % COPIES] = (struct copy){ fill_version(&r->f), w->tag, w->seen };
}

static void world_fill(struct world *w)
{
	enum fill_state state = fill_state(&w->r->f);

	if (state == FILL_IDLE)
		world_begin(w);
	else if (state == FILL_READS)
		world_read(w);
	else if (state == FILL_COMPUTES)
		world_compute(w);
	else
		world_ask(w);
}

static void world_check(struct world *w, int step)
{
	for (uint32_t i = 0; i < w->copies && i < COPIES; i++) {
		const struct copy *c = &w->copy[i];

		if (c->version != w->r->word[1])
			continue;
		prop_assert(&w->p, step, c->seen >= w->changed[c->tag - FIRST_TAG]);
		w->hits_after += w->commits > 0;
	}
}

TEST(copy__any_schedule_of_a_fill_and_updates__none_stale_has_its_word)
{
	struct world w = { 0 };

	prop_start(&w.p);
	for (int run = 0; run < RUNS; run++) {
		uint64_t updates_rate = prop_range(&w.p, 2, 12);

		w = (struct world){
			.p = w.p, .r = begin(), .stored = w.stored, .hits_after = w.hits_after
		};
		for (int i = 0; i < STEPS; i++) {
			if (prop_one_in(&w.p, updates_rate))
				world_update(&w);
			else
				world_fill(&w);
			world_check(&w, i);
		}
		finish(w.r);
	}
	print_message("stored %u, hits after a commit %u\n", w.stored, w.hits_after);
	assert_true(w.stored > 1000 && w.hits_after > 1000); /* or the above means little */
}
