// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fill: words are READ, then a page is computed, then its home registers it or refuses.
 *
 * fill_rig.h has the hosts. The home is a real one where a row does not give its answers.
 */
#include <string.h>

#include "tests/unit/fill_rig.h"
#include "tests/unit/home_refusals.h"
#include "tests/unit/steps.h"

/* --- steps --------------------------------------------------------------------- */

/* both VERSION LOG [WORDS]: the result of one READ */
static void reads_both(struct rig *r, const struct step *s)
{
	struct step_event ev = rig_result(&r->op[OP_WORD], STEP_DONE, 0, 7);
	uint64_t data[2] = { cache_word(5, s->n[0]), cache_word(5, s->n[1]) };
	uint64_t swapped[2] = { data[1], data[0] };

	ev.words = (uint32_t)step_number(s, 2, 2);
	ev.data = r->log_at < OFFSET ? swapped : data;
	ev.old = ev.data[0];
	tell(r, ev);
}

/* snapshot OLDEST NEXT [RUNNING] */
static void takes_snapshot(struct rig *r, const struct step *s)
{
	r->has_snapshot = true;
	r->running[0] = s->n[2];
	r->snapshot = (struct home_snapshot){ s->n[0], s->n[1], s->numbers > 2, r->running };
}

static void answers(struct rig *r, uint64_t refusal)
{
	struct home_answer a = answer_of(r, refusal);

	hears(r, HOME, &a, sizeof(a));
}

/* ask: the request comes to the home, and its answer comes back */
static void asks(struct rig *r)
{
	const struct step_op *op = &r->op[OP_REQUEST];

	assert_int_equal(op->kind, STEP_SEND);
	assert_int_equal(op->host, HOME);
	assert_true(asks_home(r, SELF, op->data, op->len));
	ends(r, OP_REQUEST, STEP_DONE, 0, 7);
	hears(r, HOME, &r->answer, sizeof(r->answer));
}

/* mark NUMBER TAG; end NUMBER TRANSACTION TAG */
static void updates(struct rig *r, const struct step *s, bool is_end)
{
	struct update_message m = {
		.kind = is_end ? UPDATE_END : UPDATE_MARK,
		.name = cache_update_name(8, s->n[0]),
		.tags = 1,
		.transaction = is_end ? s->n[1] : 0,
		.tag = { s->n[is_end ? 2 : 1] },
	};

	tell_home(r,
		  (struct step_event){
			  .type = STEP_MESSAGE, .host = UPDATER, .message = &m, .len = sizeof(m) });
}

static bool act_home(struct rig *r, const struct step *s)
{
	if (step_is(s, "reads"))
		reads_home(r);
	else if (step_is(s, "ask"))
		asks(r);
	else if (step_is(s, "mark") || step_is(s, "end"))
		updates(r, s, step_is(s, "end"));
	else if (step_is(s, "evict"))
		home_evict(&r->h, (uint32_t)s->n[0]);
	else if (step_is(s, "close"))
		home_close(&r->h);
	else if (step_is(s, "open")) {
		home_join(&r->h);
		assert_true(home_open(&r->h, (uint32_t)s->n[0], 0, s->n[1]));
	} else {
		return false;
	}
	return true;
}

/* OUTCOME OP [LINK] */
static bool act_outcome(struct rig *r, const struct step *s)
{
	static const struct {
		const char *verb;
		enum step_outcome outcome;
	} outcomes[] = {
		{ "done", STEP_DONE },
		{ "refused", STEP_REFUSED },
		{ "lost", STEP_LOST },
		{ "unknown", STEP_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
		if (step_is(s, outcomes[i].verb)) {
			ends(r, (uint32_t)s->n[0], outcomes[i].outcome, cache_word(5, 3),
			     step_number(s, 1, 7));
			return true;
		}
	return false;
}

static bool act_fill(struct rig *r, const struct step *s)
{
	if (step_is(s, "begin"))
		begins(r, s->n[0]);
	else if (step_is(s, "version")) /* COUNT [GENERATION] */
		ends(r, OP_WORD, STEP_DONE, cache_word((uint32_t)step_number(s, 1, 5), s->n[0]), 7);
	else if (step_is(s, "log"))
		ends(r, OP_LOG, STEP_DONE, cache_word((uint32_t)step_number(s, 1, 5), s->n[0]), 7);
	else if (step_is(s, "both"))
		reads_both(r, s);
	else if (step_is(s, "page")) /* TAG ... */
		computes(r, fill_serial(&r->f), s->n, (uint32_t)s->numbers);
	else if (step_is(s, "stale")) /* a page of the fill before */
		computes(r, fill_serial(&r->f) - 1, s->n, (uint32_t)s->numbers);
	else if (step_is(s, "pages")) /* a page of so many tags */
		computes(r, fill_serial(&r->f), r->tag, (uint32_t)s->n[0]);
	else if (step_is(s, "give_up"))
		tell(r, (struct step_event){ .type = STEP_ASK, .what = FILL_GIVE_UP });
	else if (step_is(s, "answer"))
		answers(r, s->n[0]);
	else
		return false;
	return true;
}

static void act(void *rig, const struct step *s)
{
	struct rig *r = rig;

	if (act_fill(r, s) || act_outcome(r, s) || act_home(r, s))
		return;
	if (step_is(s, "snapshot"))
		takes_snapshot(r, s);
	else if (step_is(s, "running"))
		r->snapshot.n = (uint32_t)s->n[0];
	else if (step_is(s, "log_first"))
		begin_fill(r, LOG_FIRST);
	else if (step_is(s, "link"))
		tell(r, rig_link((uint16_t)s->n[0], (uint32_t)s->n[1]));
	else if (step_is(s, "tick"))
		tell(r, (struct step_event){ .type = STEP_TICK });
	else if (step_is(s, "ms"))
		r->now += (int64_t)s->n[0] * MS;
	else if (step_is(s, "room"))
		r->room = (uint32_t)s->n[0];
	else
		step_unknown(s);
}

static const char *const states[] = { "idle", "reads", "computes", "asks" };

static const char *const results[] = {
	[FILL_NONE] = "none",	    [FILL_REGISTERED] = "registered",
	[FILL_REFUSED] = "refused", [FILL_CLOSED] = "closed",
	[FILL_CUT] = "cut",	    [FILL_FAILED] = "failed",
	[FILL_LATE] = "late",	    [FILL_BAD] = "bad",
	[FILL_TOO_LARGE] = "large", [FILL_GIVEN_UP] = "given",
};

static void check(void *rig, const struct step *s)
{
	struct rig *r = rig;
	const struct step_figure figures[] = {
		{ "puts", r->puts },
		{ "ready", fill_ready(&r->f) },
		{ "frees", r->h.frees },
		{ "serial", fill_serial(&r->f) - serials },
		{ "word_at", r->op[OP_WORD].offset },
		{ "word_len", r->op[OP_WORD].len },
		{ "log_at", r->op[OP_LOG].offset },
		{ "log_len", r->op[OP_LOG].len },
		{ "sends", r->op[OP_REQUEST].len },
	};

	if (step_expect_figure(s, figures, sizeof(figures) / sizeof(figures[0])))
		return;
	if (step_is(s, "state"))
		assert_string_equal(states[fill_state(&r->f)], s->word);
	else if (step_is(s, "why"))
		assert_string_equal(results[fill_result(&r->f)], s->word);
	else if (step_is(s, "refusal"))
		assert_string_equal(refusals[fill_refusal(&r->f)], s->word);
	else if (step_is(s, "under")) /* [COUNT]: the copy may be stored under this word */
		step_holds(s, fill_version(&r->f) == (s->numbers ? cache_word(5, s->n[0]) : 0));
	else if (step_is(s, "answered")) /* COUNT: the word that the home said */
		step_holds(s, r->answer.version == cache_word(5, s->n[0]));
	else if (step_is(s, "due"))
		step_holds(s, fill_due(&r->f).ns <= r->now);
	else if (step_is(s, "due_in")) /* MS */
		step_holds(s, fill_due(&r->f).ns == r->now + (int64_t)s->n[0] * MS);
	else if (step_is(s, "rests"))
		step_holds(s, fill_due(&r->f).ns == INT64_MAX);
	else
		step_unknown(s);
}

struct row {
	const char *name, *script;
};

static const struct row rows[] = {
	/* words: R2 a */
	{ "begin__words_apart__reads_each",
	  "begin 1 -> puts 2, state reads, word_at 72, word_len 8, log_at 128, log_len 8, "
	  "due_in 10, ready 0" },
	{ "begin__words_side_by_side__reads_both_at_once",
	  "begin 7 -> puts 1, word_at 120, word_len 16; both 3 4 -> state computes; page 11, "
	  "answer 0 -> under 3" },
	{ "begin__the_log_word_first__reads_both_at_once",
	  "log_first, begin 0 -> puts 1, word_at 56, word_len 16; both 3 4 -> state computes; "
	  "page, answer 0 -> under 3" },
	{ "begin__fewer_words_came__fails", "begin 7, both 3 4 1 -> why failed, ready 1" },
	{ "begin__only_the_version_was_read__may_not_compute",
	  "begin 1, version 3 -> state reads; page 11 -> puts 0, state reads; log 4 -> "
	  "state computes, rests" },
	{ "begin__only_the_log_word_was_read__may_not_compute",
	  "begin 1, log 4 -> state reads; version 3 -> state computes" },
	{ "begin__no_such_word__is_bad", "begin 8 -> why bad, puts 0, ready 1" },
	{ "begin__while_another_is_under_way__is_ignored",
	  "begin 1, begin 2 -> puts 0, serial 1, word_at 72" },
	{ "begin__while_the_page_is_computed__is_ignored",
	  "begin 1, version 3, log 4, begin 2 -> puts 0, serial 1, state computes" },
	{ "begin__an_operation_has_not_come_back__is_ignored",
	  "begin 1, version 3, give_up, begin 2 -> ready 0, puts 0; log 4, begin 2 -> puts 2, "
	  "word_at 80, serial 2" },
	{ "begin__no_room__is_due_at_once",
	  "room 1, begin 1 -> puts 1, due; tick -> puts 1, log_at 128, due_in 10; version 3, "
	  "log 4 -> state computes" },
	{ "read__no_room_until_the_deadline__puts_out_nothing",
	  "room 0, begin 1, room 9, ms 10, tick -> puts 0, why late, rests, ready 1" },
	{ "read__the_words_are_closed__ends",
	  "begin 1, version 0 0, log 0 0 -> why closed, state idle" },
	{ "read__the_version_is_closed__ends", "begin 1, version 0 0, log 4 -> why closed" },
	{ "read__the_log_word_is_closed__ends", "begin 1, version 3, log 0 0 -> why closed" },
	{ "read__words_of_two_lives__ends", "begin 1, version 3 5, log 0 6 -> why closed" },
	{ "read__refused__fails", "begin 1, refused 0 -> why failed; log 4 -> ready 1" },
	{ "read__its_result_is_late__ends",
	  "begin 1, version 3, ms 9, tick -> state reads; ms 1, tick -> why late, ready 0; "
	  "log 4 -> why late, ready 1, rests" },
	{ "read__twice_the_same_result__counts_once", "begin 1, 2 x version 3 -> state reads" },
	/* links: R7 l */
	{ "read__lost__ends_and_waits_for_a_newer_link",
	  "begin 1, lost 0, lost 1 -> why cut; begin 1 -> puts 0, why cut, serial 2; link 1 8, "
	  "begin 1 -> puts 2, state reads" },
	{ "read__done_on_another_link__ends", "begin 1, version 3, done 1 8 -> why cut" },
	{ "read__lost_on_an_older_link__the_newer_is_used",
	  "begin 1, link 1 8 -> why cut, ready 0; lost 0, lost 1, begin 1 -> puts 2" },
	{ "link__a_newer_one_before_the_page__is_not_asked_for",
	  "begin 1, version 3, log 4, link 1 8 -> why cut; page 11 -> puts 0" },
	{ "link__a_newer_one_before_the_answer__is_not_stored",
	  "begin 1, version 3, log 4, page 11, done 2, link 1 8, answer 0 -> why cut, under" },
	{ "link__of_another_host__goes_on",
	  "begin 1, version 3, link 3 8, log 4 -> state computes" },
	{ "link__an_older_one__goes_on", "begin 1, version 3, link 1 7, log 4 -> state computes" },
	/* the page */
	{ "page__of_the_fill_before__is_ignored",
	  "begin 1, version 3, log 4, give_up, begin 1, version 3, log 4, stale 11 -> puts 0, "
	  "state computes" },
	{ "page__with_tags__is_sent_to_the_home",
	  "begin 1, version 3, log 4, page 11 12 -> puts 1, sends 72, state asks, due_in 50" },
	{ "page__with_a_snapshot__sends_what_ran",
	  "begin 1, version 3, log 4, snapshot 90 110 95, page 11 -> sends 72" },
	{ "page__no_tags__is_only_for_word_0",
	  "begin 1, version 3, log 4, page -> why bad; begin 0, version 3, log 4, page 11 -> "
	  "why bad; begin 0, version 3, log 4, page -> state asks, sends 56" },
	{ "page__as_many_tags_as_a_page_has__is_sent",
	  "begin 1, version 3, log 4, pages 64 -> sends 568" },
	{ "page__too_many_tags__is_bad", "begin 1, version 3, log 4, pages 65 -> why bad, puts 0" },
	{ "page__a_snapshot_that_is_none__is_bad",
	  "begin 1, version 3, log 4, snapshot 0 200, page 11 -> why bad; begin 1, version 3, "
	  "log 4, snapshot 201 200, page 11 -> why bad; begin 1, version 3, log 4, "
	  "snapshot 200 200, page 11 -> state asks" },
	{ "page__as_many_run_as_fit__is_sent",
	  "begin 1, version 3, log 4, snapshot 90 999, running 57, pages 64 -> sends 1024" },
	{ "page__one_more_runs_than_fits__is_too_large",
	  "begin 1, version 3, log 4, snapshot 90 999, running 58, pages 64 -> why large, puts 0, "
	  "ready 1; begin 0, version 3, log 4, running 121, pages 0 -> sends 1024" },
	{ "page__the_owner_gives_up__ends", "begin 1, version 3, log 4, give_up -> why given" },
	{ "give_up__none_is_under_way__is_ignored", "give_up -> why none" },
	/* the answer: R2 j */
	{ "answer__registered__is_stored_under_the_word_that_was_read",
	  "begin 1, version 3, log 4, page 11, done 2 -> under, state asks; answer 0 -> "
	  "why registered, under 3, state idle, ready 1, rests" },
	{ "answer__refused__is_not_stored",
	  "begin 1, version 3, log 4, page 11, done 2, answer 3 -> why refused, refusal moved, "
	  "under" },
	{ "answer__the_last_refusal__is_one",
	  "begin 1, version 3, log 4, page 11, answer 10 -> refusal full" },
	{ "answer__no_such_refusal__is_ignored",
	  "begin 1, version 3, log 4, page 11, answer 11 -> state asks" },
	{ "answer__before_the_result_of_its_request__is_taken",
	  "begin 1, version 3, log 4, page 11, answer 0 -> under 3, ready 0; done 2 -> ready 1, "
	  "under 3" },
	{ "answer__then_the_result_of_its_request_is_unknown__stays_registered",
	  "begin 1, version 3, log 4, page 11, answer 0, unknown 2 -> why registered, under 3, "
	  "ready 1" },
	{ "answer__before_the_request_was_put_out__is_ignored",
	  "begin 1, version 3, log 4, room 0, page 11, answer 0 -> state asks, due; room 9, tick "
	  "-> puts 1" },
	{ "answer__before_the_page__is_ignored",
	  "begin 1, version 3, log 4, answer 0 -> state computes, under" },
	{ "answer__late__is_not_stored",
	  "begin 1, version 3, log 4, page 11, done 2, ms 49, tick -> state asks; ms 1, tick -> "
	  "why late; answer 0 -> why late, under" },
	{ "answer__late_and_the_request_is_outstanding__is_not_ready",
	  "begin 1, version 3, log 4, page 11, ms 50, tick -> why late, ready 0; done 2 -> "
	  "ready 1" },
	{ "request__refused__is_not_stored",
	  "begin 1, version 3, log 4, page 11, refused 2 -> why failed, under; answer 0 -> under; "
	  "begin 1 -> puts 2" },
	{ "request__lost__is_not_stored_and_waits_for_a_newer_link",
	  "begin 1, version 3, log 4, page 11, lost 2 -> why cut, under; answer 0 -> under; "
	  "begin 1 -> puts 0, why cut; link 1 8, begin 1 -> puts 2" },
	{ "request__unknown__is_not_stored_and_waits_for_a_newer_link",
	  "begin 1, version 3, log 4, page 11, unknown 2, answer 0 -> why cut, under; begin 1 -> "
	  "puts 0, why cut" },
	{ "begin__after_a_copy_was_registered__nothing_is_stored_yet",
	  "begin 1, version 3, log 4, page 11, done 2, answer 0, begin 1 -> under, why none; "
	  "version 4, log 4, page 11, done 2, answer 0 -> under 4" },
	/* with the home: R2 b to g */
	{ "home__nothing_happened__registers",
	  "begin 1, reads, page 11 12, ask -> why registered, under 0, answered 0, frees 198" },
	{ "home__words_side_by_side__registers", "begin 7, reads, page 11, ask -> under 0" },
	{ "home__a_page_without_a_list__registers",
	  "log_first, begin 0, reads, page, ask -> under 0, frees 200" },
	{ "home__the_log_word_is_the_first_of_two__registers",
	  "log_first, evict 0, begin 0, reads, page, ask -> under 1" },
	{ "home__the_word_moved__refuses",
	  "begin 1, reads, evict 1, page 11, ask -> refusal moved, under, answered 1, frees 200" },
	{ "home__a_mark_moved_the_word__refuses",
	  "begin 0, reads, mark 1 11, page, ask -> refusal moved, under" },
	{ "home__an_update_is_pending__refuses",
	  "begin 1, reads, mark 1 11, page 11, ask -> refusal pending, under" },
	{ "home__it_touches_the_last_tag__refuses",
	  "begin 1, reads, mark 1 13, page 11 12 13, ask -> refusal pending" },
	{ "home__it_touches_another_tag__registers",
	  "begin 1, reads, mark 1 14, page 11 12 13, ask -> why registered" },
	{ "home__an_update_ended_after_the_read__refuses",
	  "begin 1, reads, mark 1 11, end 1 120 11, page 11, ask -> refusal ended, under" },
	{ "home__an_update_ended_before_the_read__registers",
	  "mark 1 11, end 1 120 11, begin 1, reads, page 11, ask -> why registered" },
	{ "home__the_snapshot_does_not_see_the_ended_one__refuses",
	  "mark 1 11, end 1 120 11, begin 1, reads, snapshot 110 120, page 11, ask -> "
	  "refusal unseen, under" },
	{ "home__the_ended_one_runs_in_the_snapshot__refuses",
	  "mark 1 11, end 1 120 11, begin 1, reads, snapshot 110 130 120, page 11, ask -> "
	  "refusal unseen" },
	{ "home__another_one_runs_in_the_snapshot__registers",
	  "mark 1 11, end 1 120 11, begin 1, reads, snapshot 110 130 121, page 11, ask -> "
	  "why registered" },
	{ "home__the_snapshot_sees_one_that_ended_after_the_read__registers",
	  "begin 1, reads, mark 1 11, end 1 120 11, snapshot 121 121, page 11, ask -> "
	  "why registered" },
	{ "home__the_snapshot_does_not_see_its_join__refuses",
	  "begin 1, reads, snapshot 90 100, page 11, ask -> refusal join" },
	{ "home__it_is_out__refuses",
	  "begin 1, reads, close, page 11, ask -> refusal closed, under, frees 200" },
	{ "home__it_came_back__refuses",
	  "begin 1, reads, close, open 6 200, page 11, ask -> refusal moved, under" },
	{ "home__it_is_out_before_the_read__ends", "close, begin 1, reads -> why closed" },
	{ "home__refused_once__the_next_fill_registers",
	  "begin 1, reads, mark 1 11, page 11, ask, end 1 120 11, begin 1, reads, page 11, ask -> "
	  "under 0, serial 2" },
};

static void run(void **state)
{
	static const struct steps_ops ops = { act, NULL, check };
	const struct row *row = *state;
	struct rig *r = begin();

	steps_run(row->script, &ops, r);
	finish(r);
}

TEST_ROWS(rows, run)

/* --- operations ---------------------------------------------------------------- */

TEST(fill__before_its_first_link__ends)
{
	struct fill_conf c = { .home = HOME, .tag = TAG, .words = WORDS };
	struct rig *r = begin();

	fill_init(&r->f, &c);
	begins(r, 1);
	assert_int_equal(r->puts, 0);
	assert_int_equal(fill_result(&r->f), FILL_CUT);
	finish(r);
}

TEST(fill__operations__are_of_the_link_of_the_words)
{
	struct rig *r = begin();

	begins(r, 1);
	assert_int_equal(r->op[OP_WORD].link, 7);
	assert_int_equal(r->op[OP_WORD].part, STEP_VERSIONS);
	assert_int_equal(r->op[OP_WORD].host, HOME);
	assert_true(r->op[OP_WORD].allowed_ns == READ_NS); /* it does not end the link */
	assert_int_equal(r->op[OP_LOG].link, 7);
	reads_home(r);
	computes(r, fill_serial(&r->f), (const uint64_t[]){ 11 }, 1);
	assert_int_equal(r->op[OP_REQUEST].link, 7);
	assert_true(r->op[OP_REQUEST].allowed_ns == 0);
	finish(r);
}

TEST(result__with_the_tag_of_another__is_ignored)
{
	struct rig *r = begin();
	struct step_event ev = { .type = STEP_RESULT, .outcome = STEP_LOST, .link = 7 };
	const uint32_t others[] = { TAG - 32, TAG - 1, TAG + FILL_TAGS, TAG + 32 };

	begins(r, 1);
	for (uint32_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		ev.tag = others[i];
		tell(r, ev);
	}
	ev.tag = TAG + OP_REQUEST; /* it is not outstanding */
	tell(r, ev);
	assert_int_equal(fill_state(&r->f), FILL_READS);
	ends(r, OP_WORD, STEP_REFUSED, 0, 7);
	ends(r, OP_LOG, STEP_REFUSED, 0, 7);
	begins(r, 1); /* the link is not down */
	assert_int_equal(r->puts, 2);
	finish(r);
}

/* --- hostile messages ---------------------------------------------------------- */

TEST(answer__not_one_to_this_fill__is_ignored)
{
	struct rig *r = begin_asked();
	struct home_answer ok = answer_of(r, HOME_REGISTERED), bad[6];
	enum { N = sizeof(bad) / sizeof(bad[0]) };

	for (int i = 0; i < N; i++)
		bad[i] = ok;
	bad[0].kind = HOME_REQUEST;
	bad[1].number++;
	bad[2].serial--;
	bad[3].version++;
	bad[4].refusal = UINT32_MAX;
	bad[5].serial += 1ull << 32;
	for (int i = 0; i < N; i++)
		hears(r, HOME, &bad[i], sizeof(bad[i]));
	for (uint32_t len = 1; len < sizeof(ok); len++)
		hears(r, HOME, &ok, len);
	hears(r, UPDATER, &ok, sizeof(ok));
	assert_int_equal(fill_state(&r->f), FILL_ASKS);
	assert_true(fill_version(&r->f) == 0);
	hears(r, HOME, &ok, sizeof(ok));
	assert_int_equal(fill_result(&r->f), FILL_REGISTERED);
	finish(r);
}
