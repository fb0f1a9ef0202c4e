// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hit: requests that share READs of version words.
 *
 * Homes 1 and 2 have 8 words each, from offset 64 on. They are fresh on link 7 until 1,000 ms after
 * the start. Requests are numbered from 1 by ask, operations from 1 as they are put out.
 */
#include <string.h>

#include "src/cache/hit.h"
#include "tests/unit/shared_rig.h"
#include "tests/unit/steps.h"

enum { HOMES = 2, WORDS = 8, OFFSET = 64, TAG = 40, TIMEOUT = 50 * MS, REQUESTS = 12 };
enum { OPS_MAX = 64, IDS_MAX = 64 };

struct rig {
	struct hit h;
	void *block;
	struct fresh fresh[HOMES + 1];
	const struct fresh *evidence[HIT_HOSTS];
	struct step_out out;
	struct step_op op[OPS_MAX];
	uint32_t ops, puts; /* of all steps, of the newest */
	uint32_t room;
	bool keeps; /* answers are not taken */
	int64_t now;
	uint32_t ids;
	bool answered[IDS_MAX];
	struct hit_answer answer[IDS_MAX];
	uint32_t answers;
};

static void drain(struct rig *r)
{
	struct hit_answer a;

	while (hit_take(&r->h, &a)) {
		assert_in_range(a.id, 1, r->ids);
		assert_false(r->answered[a.id]); /* each once */
		r->answered[a.id] = true;
		r->answer[a.id] = a;
		r->answers++;
	}
}

static void tell(struct rig *r, struct step_event ev)
{
	r->out.n = 0;
	r->out.taken = STEP_OPS_MAX - r->room;
	hit_step(&r->h, &ev, (struct mono){ r->now }, &r->out);
	r->puts = r->out.n;
	for (uint32_t i = 0; i < r->out.n; i++) {
		assert_in_range(r->out.op[i].tag, TAG, TAG + HIT_TAGS - 1);
		assert_true(r->ops < OPS_MAX - 1);
		r->op[++r->ops] = r->out.op[i];
	}
	if (!r->keeps)
		drain(r);
}

static struct rig *begin(uint32_t requests)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct hit_conf c = { .tag = TAG,
			      .requests = requests,
			      .words = WORDS,
			      .offset = OFFSET,
			      .timeout_ns = TIMEOUT };

	assert_non_null(r);
	c.fresh = r->evidence;
	r->block = malloc(hit_bytes(&c));
	assert_non_null(r->block);
	assert_true(hit_init(&r->h, &c, r->block));
	r->now = 1000 * MS;
	r->room = STEP_OPS_MAX;
	for (uint16_t i = 1; i <= HOMES; i++) {
		r->evidence[i] = &r->fresh[i];
		r->fresh[i].link = 7;
		r->fresh[i].until.ns = 2000 * MS;
		tell(r, rig_link(i, 7));
	}
	return r;
}

static void finish(struct rig *r)
{
	free(r->block);
	free(r);
}

static void asks(struct rig *r, uint64_t home, uint64_t word)
{
	struct hit_wish w = { .id = ++r->ids, .home = (uint16_t)home, .word = (uint32_t)word };
	struct step_event ev = { .type = STEP_ASK, .what = HIT_ASK, .wish = &w };

	assert_true(r->ids < IDS_MAX);
	tell(r, ev);
}

static void ends(struct rig *r, const struct step *s, enum step_outcome outcome, int link)
{
	const struct step_op *op = &r->op[s->n[0]];

	assert_in_range(s->n[0], 1, r->ops);
	tell(r, rig_result(op, outcome, s->n[1], (uint32_t)step_number(s, link, op->link)));
}

static bool act_result(struct rig *r, const struct step *s)
{
	if (step_is(s, "done")) /* OP VERSION [LINK] */
		ends(r, s, STEP_DONE, 2);
	else if (step_is(s, "refused"))
		ends(r, s, STEP_REFUSED, 1);
	else if (step_is(s, "lost")) /* OP [LINK] */
		ends(r, s, STEP_LOST, 1);
	else if (step_is(s, "unknown"))
		ends(r, s, STEP_UNKNOWN, 1);
	else
		return false;
	return true;
}

static void act(void *rig, const struct step *s)
{
	struct rig *r = rig;

	if (act_result(r, s))
		return;
	if (step_is(s, "ask")) /* HOME WORD */
		asks(r, s->n[0], s->n[1]);
	else if (step_is(s, "link"))
		tell(r, rig_link((uint16_t)s->n[0], (uint32_t)s->n[1]));
	else if (step_is(s, "fresh")) /* HOME MS [LINK]: for so long from now on */
		r->fresh[s->n[0]] = (struct fresh){
			.link = (uint32_t)step_number(s, 2, 7),
			.until = { r->now + (int64_t)s->n[1] * MS },
		};
	else if (step_is(s, "tick"))
		tell(r, (struct step_event){ .type = STEP_TICK });
	else if (step_is(s, "ms"))
		r->now += (int64_t)s->n[0] * MS;
	else if (step_is(s, "room"))
		r->room = (uint32_t)s->n[0];
	else if (step_is(s, "keep"))
		r->keeps = true;
	else if (step_is(s, "take"))
		drain(r);
	else
		step_unknown(s);
}

static const char *const whys[] = {
	[CACHE_RING_VERIFIED] = "verified", [CACHE_RING_NO_HOME] = "none",
	[CACHE_RING_CLOSED] = "closed",	    [CACHE_RING_STALE] = "stale",
	[CACHE_RING_LOST] = "lost",	    [CACHE_RING_BAD] = "bad",
};

/* ID WHY [VERSION] */
static void check_answer(struct rig *r, const struct step *s)
{
	uint64_t id = s->n[0];

	assert_true(id < IDS_MAX);
	step_holds(s, r->answered[id]);
	assert_string_equal(whys[r->answer[id].why], s->word);
	step_holds(s, r->answer[id].version == step_number(s, 1, 0));
}

static void check(void *rig, const struct step *s)
{
	struct rig *r = rig;
	const struct step_figure figures[] = {
		{ "puts", r->puts },
		{ "answers", r->answers },
		{ "reads", r->h.reads },
		{ "asked", r->h.asked },
		{ "full", hit_full(&r->h) },
		{ "at", r->op[r->ops].offset },
		{ "home", r->op[r->ops].host },
		{ "on", r->op[r->ops].link },
	};

	if (step_expect_figure(s, figures, sizeof(figures) / sizeof(figures[0])))
		return;
	if (step_is(s, "got"))
		check_answer(r, s);
	else if (step_is(s, "waits")) /* ID */
		step_holds(s, !r->answered[s->n[0]]);
	else if (step_is(s, "due"))
		step_holds(s, hit_due(&r->h).ns <= r->now);
	else if (step_is(s, "due_in")) /* MS */
		step_holds(s, hit_due(&r->h).ns == r->now + (int64_t)s->n[0] * MS);
	else if (step_is(s, "rests"))
		step_holds(s, hit_due(&r->h).ns == INT64_MAX);
	else
		step_unknown(s);
}

struct row {
	const char *name, *script;
};

static const struct row rows[] = {
	/* one request */
	{ "ask__home_is_fresh__is_verified",
	  "ask 1 3 -> puts 1, at 88, home 1, on 7, due_in 50; done 1 77 -> got 1 verified 77, "
	  "rests" },
	{ "ask__word_0__is_read_at_the_offset", "ask 2 0 -> at 64, home 2" },
	{ "ask__the_word_is_closed__is_not_verified", "ask 1 3, done 1 0 -> got 1 closed" },
	{ "ask__no_such_word__is_bad", "ask 1 8 -> puts 0, got 1 bad, rests; ask 1 7 -> puts 1" },
	{ "ask__no_such_home__is_bad",
	  "ask 3 1, ask 0 1, ask 257 1, ask 65535 1 -> got 1 bad, got 2 bad, got 3 bad, got 4 bad, "
	  "reads 0, rests" },
	{ "ask__no_link__is_lost", "ask 1 1, lost 1, ask 1 2 -> puts 0, got 2 lost, rests" },
	{ "read__refused__is_lost",
	  "ask 1 3, refused 1 -> got 1 lost; ask 1 3, done 2 5 -> got 2 verified 5" },
	{ "read__unknown__is_lost_and_waits_for_a_newer_link",
	  "ask 1 3, unknown 1 -> got 1 lost; ask 1 3 -> puts 0, got 2 lost" },
	/* shared READs */
	{ "ask__the_word_is_being_read__waits_for_the_next_read",
	  "ask 1 3, ask 1 3 -> puts 0, reads 1; done 1 77 -> got 1 verified 77, waits 2, puts 1, "
	  "at 88; done 2 78 -> got 2 verified 78, rests" },
	{ "ask__many_wait_for_a_word__share_one_read",
	  "ask 1 3, 5 x ask 1 3, done 1 77 -> answers 1, reads 2; done 2 78 -> answers 6, reads 2, "
	  "got 2 verified 78, got 6 verified 78" },
	{ "ask__while_the_next_read_is_outstanding__waits_for_the_one_after",
	  "ask 1 3, ask 1 3, done 1 77, ask 1 3, done 2 78 -> waits 3, got 2 verified 78; done 3 "
	  "79 "
	  "-> got 3 verified 79, rests" },
	{ "ask__before_the_read_found_room__shares_it",
	  "room 0, ask 1 3, ask 1 3 -> puts 0, due; room 9, tick -> puts 1; done 1 77 -> "
	  "got 1 verified 77, got 2 verified 77, rests" },
	{ "ask__another_word__is_read_beside", "ask 1 3, ask 1 4 -> puts 1, reads 2, at 96" },
	{ "ask__the_same_word_of_another_home__is_read_beside",
	  "ask 1 3, ask 2 3 -> reads 2, home 2; done 2 5 -> got 2 verified 5, waits 1" },
	{ "read__refused_with_more_waiting__reads_for_them",
	  "ask 1 3, ask 1 3, refused 1 -> got 1 lost, waits 2, puts 1; done 2 6 -> "
	  "got 2 verified 6" },
	/* places */
	{ "ask__all_places_are_taken__waits_in_order",
	  "ask 1 0, ask 1 1, ask 1 2, ask 1 3, ask 1 4, ask 1 5 -> reads 6; ask 1 7, ask 1 6 -> "
	  "reads 6, puts 0, due_in 50; done 3 9 -> puts 1, at 120, got 3 verified 9; done 1 9 -> "
	  "puts 1, at 112; done 7 9 -> got 7 verified 9" },
	{ "ask__places_of_another_home__are_free",
	  "ask 1 0, ask 1 1, ask 1 2, ask 1 3, ask 1 4, ask 1 5, ask 1 6, ask 2 0 -> reads 7, "
	  "home 2" },
	{ "ask__its_word_is_read_again__goes_behind_the_others",
	  "ask 1 0, ask 1 1, ask 1 2, ask 1 3, ask 1 4, ask 1 5, ask 1 0, ask 1 6, done 1 9 -> "
	  "puts 1, at 112; done 2 9 -> puts 1, at 64" },
	{ "step__no_room_for_a_home__it_is_the_first_in_the_next",
	  "room 0, ask 1 1, ask 2 1, room 1, tick -> puts 1, home 1; tick -> puts 1, home 2; "
	  "room 0, ask 2 2, ask 1 2, room 1, tick -> home 1; room 0, ask 1 3, room 1, tick -> "
	  "home 2" },
	{ "step__places_taken_and_no_room__is_not_due_at_once",
	  "ask 1 0, ask 1 1, ask 1 2, ask 1 3, ask 1 4, ask 1 5, room 0, ask 1 6 -> due_in 50; "
	  "done 1 9 -> due" },
	/* bounds */
	{ "ask__full__is_ignored",
	  "ask 1 0, ask 1 1, 10 x ask 1 2 -> full 1; ask 1 3 -> waits 13, asked 12; done 1 5 -> "
	  "full 0; ask 1 3 -> full 1, asked 13" },
	{ "answers__not_taken__take_room",
	  "keep, 12 x ask 1 3, done 1 7, done 2 7 -> full 1; ask 1 1 -> puts 0; take -> full 0, "
	  "answers 12" },
	/* time */
	{ "request__not_answered_in_time__is_lost",
	  "ask 1 3, ms 49, tick -> waits 1; ms 1, tick -> got 1 lost, rests; done 1 77 -> answers "
	  "1" },
	{ "request__in_the_queue_too_long__is_lost",
	  "ask 1 0, ask 1 1, ask 1 2, ask 1 3, ask 1 4, ask 1 5, ms 1, ask 1 6, ms 49, tick -> "
	  "answers 6, waits 7, due_in 1; ms 1, tick -> got 7 lost, rests; done 1 7 -> puts 0" },
	{ "request__the_first_of_two_is_late__the_second_is_read_for",
	  "ask 1 3, ms 20, ask 1 3, ms 30, tick -> got 1 lost, waits 2, due_in 20; refused 1 -> "
	  "puts 1, waits 2; done 2 8 -> got 2 verified 8" },
	{ "request__after_one_that_was_given_up__is_read_for_at_once",
	  "ask 1 3, ms 50, tick, ask 1 3 -> puts 1, reads 2; done 1 7 -> waits 2; done 2 8 -> "
	  "got 2 verified 8" },
	{ "request__the_second_of_two_that_wait_is_late__the_first_was_too",
	  "room 0, ask 1 3, ms 10, ask 1 3, ms 40, tick -> got 1 lost, waits 2; ms 10, tick -> "
	  "got 2 lost, rests; room 9, tick -> puts 0" },
	{ "request__late_in_the_middle_of_the_queue__the_others_stay",
	  "room 0, ask 1 1, ms 1, ask 1 2, ms 1, ask 1 3, ms 48, tick -> answers 1; ms 1, tick -> "
	  "answers 2; room 9, tick -> puts 1, at 88" },
	{ "request__late_behind_others_of_the_queue__the_others_stay",
	  "ask 1 0, ask 1 1, ask 1 2, ask 1 3, ask 1 4, ask 1 5, ms 1, ask 1 0, ms 1, ask 1 6, "
	  "room 0, done 1 9, ask 1 7, ms 49, tick -> got 7 lost, waits 8, waits 9; room 9, tick -> "
	  "puts 1, at 112; refused 2 -> puts 1, at 120" },
	{ "request__the_last_of_the_queue_is_late__another_comes_behind_the_first",
	  "ask 1 0, ask 1 1, ask 1 2, ask 1 3, ask 1 4, ask 1 5, ms 1, ask 1 0, ms 1, ask 1 6, "
	  "room 0, done 1 9, ms 49, tick -> got 7 lost; ask 1 7, room 9, tick -> at 112; refused 2 "
	  "-> at 120" },
	{ "request__answered_before_an_older_one__the_older_one_ends_too",
	  "ask 1 1, ask 1 2, done 2 7, ms 50, tick -> got 1 lost" },
	{ "request__the_newest_was_answered__the_next_one_ends_too",
	  "ask 1 1, ask 1 2, done 2 7, ms 1, ask 1 3, ms 50, tick -> got 1 lost, got 3 lost, "
	  "rests" },
	{ "request__one_between_was_answered__the_others_end",
	  "ask 1 1, ask 1 2, ask 1 3, done 2 7, ms 50, tick -> got 1 lost, got 3 lost, answers 3" },
	{ "request__late_while_it_is_read__the_queue_stays",
	  "ask 1 1, ms 10, room 0, ask 1 2, ms 40, tick -> got 1 lost, waits 2; room 9, tick -> "
	  "puts 1, at 80" },
	{ "request__the_first_that_a_read_covers_is_late__the_second_is_answered",
	  "room 0, ask 1 3, ms 20, ask 1 3, room 9, tick, ms 30, tick -> got 1 lost, waits 2; "
	  "done 1 7 -> got 2 verified 7" },
	{ "request__late_after_the_read_before_it__nothing_is_read",
	  "ask 1 3, ask 1 3, room 0, done 1 7, ms 50, tick -> got 2 lost, rests; room 9, tick -> "
	  "puts 0" },
	{ "read__late_result__answers_those_that_still_wait",
	  "room 0, ask 1 3, ms 20, ask 1 3, ms 10, room 9, tick, ms 20, done 1 7 -> "
	  "got 1 verified 7, got 2 verified 7" },
	/* R7 j */
	{ "read__ends_when_the_evidence_is_old__is_stale",
	  "fresh 1 10, ask 1 3, ms 10, done 1 77 -> got 1 stale" },
	{ "read__ends_while_the_evidence_is_fresh__is_verified",
	  "fresh 1 10, ask 1 3, ms 9, done 1 77 -> got 1 verified 77" },
	{ "read__evidence_came_while_it_was_outstanding__is_verified",
	  "fresh 1 0, ask 1 3, ms 9, fresh 1 10, done 1 77 -> got 1 verified 77" },
	{ "read__evidence_of_another_home__is_stale",
	  "fresh 1 0, ask 1 3, done 1 77 -> got 1 stale; ask 2 3, done 2 77 -> got 2 verified 77" },
	{ "read__closed_and_old__is_stale", "fresh 1 0, ask 1 3, done 1 0 -> got 1 stale" },
	/* R7 l */
	{ "read__done_on_the_link_before__is_stale",
	  "ask 1 3, link 1 8, fresh 1 99 8, done 1 77 7 -> got 1 stale" },
	{ "read__done_on_a_link_without_evidence__is_stale",
	  "link 1 8, ask 1 3 -> on 8; done 1 77 -> got 1 stale" },
	{ "read__done_on_the_new_link__is_verified",
	  "link 1 8, fresh 1 99 8, ask 1 3, done 1 77 -> got 1 verified 77" },
	{ "link__lost__ends_all_that_wait",
	  "ask 1 3, ask 1 3, ask 1 4, ask 2 1, lost 1 -> got 1 lost, got 2 lost, waits 3, waits 4, "
	  "puts 0; lost 2 -> got 3 lost, due_in 50; done 3 5 -> got 4 verified 5" },
	{ "link__lost__the_queue_is_ended",
	  "ask 1 0, ask 1 1, ask 1 2, ask 1 3, ask 1 4, ask 1 5, ask 1 6, ask 1 7, lost 2 -> "
	  "got 2 lost, got 7 lost, got 8 lost, answers 3, puts 0" },
	{ "link__a_new_one_after_a_loss__is_used",
	  "ask 1 3, lost 1, link 1 8, fresh 1 99 8, ask 1 3 -> puts 1, on 8; done 2 5 -> "
	  "got 2 verified 5" },
	{ "link__an_older_one__is_ignored",
	  "ask 1 3, lost 1, link 1 7, ask 1 3 -> puts 0, got 2 lost; link 1 6, ask 1 3 -> puts 0" },
	{ "link__lost_on_the_one_before__the_new_one_is_used",
	  "ask 1 3, ask 1 3, link 1 8, lost 1 7 -> got 1 lost, waits 2, puts 1, on 8" },
	{ "link__of_a_host_that_is_no_home__is_ignored",
	  "link 3 1, link 0 1, ask 3 0 -> got 1 bad" },
	/* results that are none of ours */
	{ "result__twice__counts_once", "ask 1 3, ask 1 3, done 1 7, refused 2, done 2 9, done 1 9 "
					"-> got 1 verified 7, got 2 lost, "
					"answers 2" },
	{ "result__of_one_that_has_ended__says_nothing_of_the_link",
	  "ask 1 3, done 1 7, lost 1, ask 1 3 -> puts 1" },
};

static void run(void **state)
{
	static const struct steps_ops ops = { act, NULL, check };
	const struct row *row = *state;
	struct rig *r = begin(REQUESTS);

	steps_run(row->script, &ops, r);
	finish(r);
}

TEST_ROWS(rows, run)

TEST(read__operation__does_not_end_its_link_when_it_is_late)
{
	struct rig *r = begin(REQUESTS);

	asks(r, 1, 3);
	assert_int_equal(r->op[1].kind, STEP_READ);
	assert_int_equal(r->op[1].part, STEP_VERSIONS);
	assert_int_equal(r->op[1].len, 8);
	assert_true(r->op[1].allowed_ns == TIMEOUT);
	finish(r);
}

TEST(ask__before_the_first_link__is_lost)
{
	struct rig *r = begin(REQUESTS);

	r->evidence[5] = &r->fresh[1];
	asks(r, 5, 0);
	assert_int_equal(r->puts, 0);
	assert_true(r->answered[1]);
	assert_int_equal(r->answer[1].why, CACHE_RING_LOST);
	finish(r);
}

/* Few buckets, so that words share them. */
TEST(ask__words_of_two_homes_in_one_bucket__are_read_at_each)
{
	for (uint32_t word = 0; word < WORDS; word++) {
		struct rig *r = begin(2);

		asks(r, 1, word);
		asks(r, 2, word);
		assert_int_equal(r->ops, 2);
		assert_int_equal(r->op[1].host, 1);
		assert_int_equal(r->op[2].host, 2);
		finish(r);
	}
}

TEST(result__with_the_tag_of_another__is_ignored)
{
	struct rig *r = begin(REQUESTS);
	struct step_event ev = { .type = STEP_RESULT, .outcome = STEP_DONE, .host = 1, .link = 7 };
	const uint32_t others[] = { TAG - 1, TAG + 1, TAG + HIT_READS, TAG + HIT_TAGS, TAG + 512 };

	ev.old = 5;
	asks(r, 1, 3);
	assert_int_equal(r->op[1].tag, TAG);
	for (uint32_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		ev.tag = others[i];
		tell(r, ev);
	}
	ev.tag = TAG;
	ev.host = 2;
	tell(r, ev);
	assert_int_equal(r->answers, 0);
	ev.host = 1;
	tell(r, ev);
	assert_int_equal(r->answers, 1);
	finish(r);
}

TEST(ask__of_another_kind__is_ignored)
{
	struct rig *r = begin(REQUESTS);
	struct hit_wish w = { .id = 1, .home = 1 };
	struct step_event ev = { .type = STEP_ASK, .what = HIT_ASK + 1, .wish = &w };

	tell(r, ev);
	assert_int_equal(r->puts, 0);
	finish(r);
}

TEST(init__out_of_range__is_refused)
{
	static const struct fresh *const none[HIT_HOSTS];
	const struct hit_conf good = {
		.requests = 1, .words = 1, .timeout_ns = 1, .offset = 1u << 31, .fresh = none
	};
	struct hit_conf bad[7];
	struct hit *h = calloc(1, sizeof(*h));
	uint64_t block[32];

	assert_non_null(h);
	for (int i = 0; i < 7; i++)
		bad[i] = good;
	bad[0].requests = 0;
	bad[1].requests = HIT_REQUESTS_MAX + 1;
	bad[2].words = 0;
	bad[3].words = (1u << 28) + 1;
	bad[4].timeout_ns = 0;
	bad[5].fresh = NULL;
	bad[6].offset = (1u << 31) + 1;
	for (int i = 0; i < 7; i++) {
		assert_int_equal(hit_bytes(&bad[i]), 0);
		assert_false(hit_init(h, &bad[i], block));
	}
	assert_in_range(hit_bytes(&good), 1, sizeof(block));
	assert_true(hit_init(h, &good, block));
	free(h);
}

/* --- any schedule --------------------------------------------------------------- */

enum { CHANGES = 4000, ASKED_MAX = 24 };

/* The word of a page, as it was from which moment on. Versions only grow. */
struct history {
	int64_t since[CHANGES];
	uint32_t n; /* version n holds since since[n - 1] */
};

struct asked {
	uint64_t id; /* 0: none */
	int64_t at;
};

struct outstanding {
	struct step_op op;
	bool is, executed;
	uint64_t read;
};

struct world {
	struct rig *r;
	struct prop *p;
	struct history word[WORDS];
	struct asked asked[ASKED_MAX];
	uint32_t asked_word[ASKED_MAX];
	struct outstanding op[HIT_READS];
	uint64_t ids, verified, shared;
};

static void world_step(struct world *w, struct step_event ev)
{
	struct rig *r = w->r;
	struct hit_answer a;

	r->out.n = 0;
	r->out.taken = prop_one_in(w->p, 3) ? STEP_OPS_MAX - 1 : 0;
	hit_step(&r->h, &ev, (struct mono){ r->now }, &r->out);
	for (uint32_t i = 0; i < r->out.n; i++) {
		struct outstanding *o = w->op;

		while (o->is)
			o++;
		*o = (struct outstanding){ .op = r->out.op[i], .is = true };
	}
	while (hit_take(&r->h, &a)) {
		uint32_t i = 0;

		while (w->asked[i].id != a.id)
			i++;
		assert_int_equal(a.word, w->asked_word[i]);
		if (a.why == CACHE_RING_VERIFIED) {
			const struct history *h = &w->word[a.word];

			w->verified++;
			/* it held at a moment between question and answer */
			prop_assert(w->p, a.id, h->since[a.version - 1] <= r->now);
			prop_assert(w->p, a.id,
				    a.version == h->n || h->since[a.version] >= w->asked[i].at);
		}
		w->asked[i].id = 0;
	}
}

static void world_asks(struct world *w)
{
	struct hit_wish wish = { .home = 1, .word = (uint32_t)prop_range(w->p, 0, WORDS - 1) };

	for (uint32_t i = 0; i < ASKED_MAX; i++)
		if (!w->asked[i].id) {
			wish.id = ++w->ids;
			w->asked[i] = (struct asked){ wish.id, w->r->now };
			w->asked_word[i] = wish.word;
			world_step(w, (struct step_event){ .type = STEP_ASK, .wish = &wish });
			return;
		}
}

static void world_reads(struct world *w)
{
	struct outstanding *o = &w->op[prop_range(w->p, 0, HIT_READS - 1)];

	if (o->is && !o->executed) {
		o->executed = true;
		o->read = w->word[(o->op.offset - OFFSET) / 8].n;
	} else if (o->is) {
		o->is = false;
		world_step(w, rig_result(&o->op, prop_one_in(w->p, 30) ? STEP_REFUSED : STEP_DONE,
					 o->read, 7));
	}
}

TEST(answer__any_schedule__is_a_word_of_a_moment_within_its_request)
{
	struct prop p;
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	prop_start(&p);
	w->p = &p;
	w->r = begin(ASKED_MAX);
	w->r->fresh[1].until.ns = INT64_MAX;
	for (int i = 0; i < WORDS; i++)
		w->word[i].n = 1;
	for (int i = 0; i < 200000; i++) {
		struct history *h = &w->word[prop_range(&p, 0, WORDS - 1)];

		w->r->now += (int64_t)prop_range(&p, 0, MS / 10);
		switch (prop_range(&p, 0, 5)) {
		case 0:
		case 1:
			world_asks(w);
			break;
		case 2:
		case 3:
			world_reads(w);
			break;
		case 4:
			if (h->n < CHANGES && prop_one_in(&p, 2))
				h->since[h->n++] = w->r->now;
			break;
		default:
			world_step(w, (struct step_event){ .type = STEP_TICK });
		}
	}
	print_message("asked %ju, verified %ju by %ju READs\n", (uintmax_t)w->ids,
		      (uintmax_t)w->verified, (uintmax_t)w->r->h.reads);
	assert_true(w->verified > 10000); /* or the above means little */
	assert_true(w->r->h.reads < w->verified);
	finish(w->r);
	free(w);
}
