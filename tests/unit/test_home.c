// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * home: marks, what is pending, the log, acknowledgements, fills, lives of the home.
 *
 * Hosts 2 and 3 send updates to home 1. It has 8 words, room for 6 listings, and a log of 3. It is
 * open in generation 5, whose transaction was 100.
 */
#include <string.h>

#include "src/cache/home.h"
#include "tests/unit/prop.h"
#include "tests/unit/home_refusals.h"
#include "tests/unit/shared_rig.h"
#include "tests/unit/steps.h"

enum { SELF = 1, MEMBERS = 3, SLOTS = 2, WORDS = 8, LISTINGS = 6, LOG = 3, TAG = 90 };
enum { ACKS = REGION_ACKS, STRIDE = 64, CHECK = 10 * MS, TAGS_MAX = 3 };

struct rig {
	struct home h;
	void *block;
	uint64_t word[WORDS], log_word;
	struct words *words; /* of the updaters */
	struct step_out out;
	struct step_op cas; /* the newest */
	uint32_t puts;	    /* operations of the newest step */
	uint32_t room;	    /* operations that the next step may put out */
	int64_t now;
	uint32_t fence[MEMBERS + 1];
	uint64_t committed;
	uint32_t epoch;
	uint64_t version, log; /* as READ */
	bool has_snapshot;
	struct home_snapshot snapshot;
	uint64_t running;
	enum home_refusal why;
	bool opened;
};

static const struct home_conf sound = {
	.self = SELF,
	.members = MEMBERS,
	.slots = SLOTS,
	.words = WORDS,
	.listings = LISTINGS,
	.log = LOG,
	.acks = ACKS,
	.stride = STRIDE,
	.tag = TAG,
	.check_ns = CHECK,
};

static struct home_conf conf_of(struct rig *r)
{
	struct home_conf c = sound;

	c.word = r->word;
	c.log_word = &r->log_word;
	return c;
}

static void tell(struct rig *r, struct step_event ev)
{
	r->out.n = 0;
	r->out.taken = STEP_OPS_MAX - r->room;
	home_step(&r->h, &ev, (struct mono){ r->now }, &r->out);
	r->puts = r->out.n;
	if (r->out.n)
		r->cas = r->out.op[r->out.n - 1];
}

static struct rig *begin(const struct home_conf *c)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct home_conf mine;

	assert_non_null(r);
	mine = conf_of(r);
	if (c) {
		mine.listings = c->listings;
		mine.log = c->log;
	}
	r->block = malloc(home_bytes(&mine));
	r->words = calloc(1, sizeof(*r->words));
	assert_true(r->block && r->words && home_init(&r->h, &mine, r->block));
	r->room = STEP_OPS_MAX;
	r->now = 1000 * MS;
	for (uint32_t i = 1; i <= MEMBERS; i++) {
		r->fence[i] = 8;
		tell(r, rig_link((uint16_t)i, 7));
	}
	home_join(&r->h);
	assert_true(home_open(&r->h, 5, 0, 100));
	return r;
}

static void finish(struct rig *r)
{
	free(r->block);
	free(r->words);
	free(r);
}

/* --- steps --------------------------------------------------------------------- */

static void send(struct rig *r, uint16_t host, const void *m, uint32_t len)
{
	tell(r,
	     (struct step_event){ .type = STEP_MESSAGE, .host = host, .message = m, .len = len });
}

/* mark HOST SLOT NUMBER TAG [TAG]; end HOST SLOT NUMBER TRANSACTION TAG */
static void tells(struct rig *r, const struct step *s, bool is_end)
{
	struct update_message m = {
		.kind = is_end ? UPDATE_END : UPDATE_MARK,
		.slot = (uint16_t)s->n[1],
		.name = cache_update_name(r->fence[s->n[0]], s->n[2]),
		.transaction = is_end ? s->n[3] : r->committed,
		.epoch = r->epoch,
	};

	for (int i = is_end ? 4 : 3; i < s->numbers; i++)
		m.tag[m.tags++] = s->n[i];
	send(r, (uint16_t)s->n[0], &m, sizeof(m));
}

/* look HOST FENCE TRANSACTION [absent] */
static void looks(struct rig *r, const struct step *s)
{
	uint32_t fence[UPDATE_HOSTS] = { 0 };
	uint64_t raised[UPDATE_HOSTS] = { 0 };
	struct home_look look = { .fence = fence, .raised = raised };

	hostset_set(&look.rows, (uint32_t)s->n[0], !step_says(s, "absent"));
	fence[s->n[0]] = (uint32_t)s->n[1];
	raised[s->n[0]] = s->n[2];
	tell(r, (struct step_event){ .type = STEP_ASK, .what = HOME_LOOKED, .wish = &look });
}

/* fill WORD [TAG ...]: with what was READ */
static void fills(struct rig *r, const struct step *s)
{
	struct home_fill f = {
		.word = (uint32_t)s->n[0],
		.version = r->version,
		.log = r->log,
		.tags = (uint32_t)(s->numbers - 1),
		.tag = s->n + 1,
		.snapshot = r->has_snapshot ? &r->snapshot : NULL,
	};

	r->why = home_register(&r->h, &f);
}

/* snapshot OLDEST NEXT [RUNNING] */
static void takes_snapshot(struct rig *r, const struct step *s)
{
	r->has_snapshot = true;
	r->running = s->n[2];
	r->snapshot = (struct home_snapshot){ s->n[0], s->n[1], s->numbers > 2, &r->running };
}

static void answers(struct rig *r, enum step_outcome outcome, bool executes)
{
	uint64_t old = executes ? rig_execute(r->words, &r->cas) : 0;

	tell(r, rig_result(&r->cas, outcome, old, r->cas.link));
}

static uint64_t *ack_word(struct rig *r, uint64_t host, uint64_t slot)
{
	uint32_t offset = ACKS + (uint32_t)slot * STRIDE + 8 * (SELF - 1);

	return rig_word(r->words, (uint16_t)host, offset);
}

static bool act_answer(struct rig *r, const struct step *s)
{
	if (step_is(s, "done"))
		answers(r, STEP_DONE, true);
	else if (step_is(s, "refused"))
		answers(r, STEP_REFUSED, false);
	else if (step_is(s, "lost"))
		answers(r, STEP_LOST, false);
	else if (step_is(s, "unknown")) /* but it was executed */
		answers(r, STEP_UNKNOWN, true);
	else if (step_is(s, "link"))
		tell(r, rig_link((uint16_t)s->n[0], (uint32_t)s->n[1]));
	else if (step_is(s, "theirs")) /* HOST SLOT NUMBER: the ack word is this */
		*ack_word(r, s->n[0], s->n[1]) = cache_update_name(r->fence[s->n[0]], s->n[2]);
	else if (step_is(s, "tick"))
		tell(r, (struct step_event){ .type = STEP_TICK });
	else if (step_is(s, "ms"))
		r->now += (int64_t)s->n[0] * MS;
	else if (step_is(s, "room"))
		r->room = (uint32_t)s->n[0];
	else
		return false;
	return true;
}

static void act(void *rig, const struct step *s)
{
	struct rig *r = rig;

	if (act_answer(r, s))
		return;
	if (step_is(s, "mark") || step_is(s, "end")) {
		tells(r, s, step_is(s, "end"));
	} else if (step_is(s, "fence")) {
		r->fence[s->n[0]] = (uint32_t)s->n[1];
	} else if (step_is(s, "epoch")) { /* of the next messages */
		r->epoch = (uint32_t)s->n[0];
	} else if (step_is(s, "committed")) {
		r->committed = s->n[0];
	} else if (step_is(s, "look")) {
		looks(r, s);
	} else if (step_is(s, "read")) {
		r->version = r->word[s->n[0]];
		r->log = r->log_word;
	} else if (step_is(s, "reread")) { /* only the version word */
		r->version = r->word[s->n[0]];
	} else if (step_is(s, "fill")) {
		fills(r, s);
	} else if (step_is(s, "snapshot")) {
		takes_snapshot(r, s);
	} else if (step_is(s, "evict")) {
		home_evict(&r->h, (uint32_t)s->n[0]);
	} else if (step_is(s, "wear")) { /* WORD: it is at its end */
		r->word[s->n[0]] = cache_word(5, CACHE_COUNT_MAX);
	} else if (step_is(s, "ahead")) {
		r->log++;
	} else if (step_is(s, "wear_log")) {
		r->h.ended = CACHE_COUNT_MAX;
		r->log_word = cache_word(5, CACHE_COUNT_MAX);
	} else if (step_is(s, "close")) {
		home_close(&r->h);
	} else if (step_is(s, "join")) {
		home_join(&r->h);
	} else if (step_is(s, "open")) {
		r->opened = home_open(&r->h, (uint32_t)s->n[0], (uint32_t)s->n[2], s->n[1]);
	} else {
		step_unknown(s);
	}
}

/* pending I MEMBER SLOT NUMBER TAGS */
static bool is_pending(const struct rig *r, const struct step *s)
{
	struct home_pending p = home_pending(&r->h, (uint32_t)s->n[0]);

	return s->n[0] < home_pendings(&r->h) && p.member == s->n[1] && p.slot == s->n[2] &&
	       p.name == cache_update_name(r->fence[s->n[1]], s->n[3]) && p.tags == s->n[4] &&
	       p.tag[0] == r->h.slot[p.member * SLOTS + p.slot].tag[0];
}

/* word WORD GENERATION COUNT; log GENERATION COUNT; acked HOST SLOT NUMBER */
static void check(void *rig, const struct step *s)
{
	struct rig *r = rig;
	const struct step_figure figures[] = {
		{ "actives", r->h.actives }, { "puts", r->puts },     { "frees", r->h.frees },
		{ "offset", r->cas.offset }, { "host", r->cas.host }, { "linked", r->cas.link },
		{ "opened", r->opened },
	};

	if (step_expect_figure(s, figures, sizeof(figures) / sizeof(figures[0])))
		return;
	if (step_is(s, "why")) {
		assert_string_equal(refusals[r->why], s->word);
	} else if (step_is(s, "word")) {
		step_holds(s, r->word[s->n[0]] == cache_word((uint32_t)s->n[1], s->n[2]));
	} else if (step_is(s, "log")) {
		step_holds(s, r->log_word == cache_word((uint32_t)s->n[0], s->n[1]));
	} else if (step_is(s, "acked")) {
		step_holds(s, *ack_word(r, s->n[0], s->n[1]) ==
				      cache_update_name(r->fence[s->n[0]], s->n[2]));
	} else if (step_is(s, "pending")) {
		step_holds(s, is_pending(r, s));
	} else if (step_is(s, "oldest")) { /* HOST MS ago */
		step_holds(s, r->now - home_pending_of(&r->h, (uint16_t)s->n[0]).ns ==
				      (int64_t)s->n[1] * MS);
	} else if (step_is(s, "none")) { /* HOST */
		step_holds(s, home_pending_of(&r->h, (uint16_t)s->n[0]).ns == INT64_MAX);
	} else if (step_is(s, "blind")) { /* the CAS compares with no earlier word */
		step_holds(s, r->cas.compare == 0);
	} else if (step_is(s, "due")) {
		step_holds(s, home_due(&r->h).ns <= r->now);
	} else if (step_is(s, "rests")) {
		step_holds(s, home_due(&r->h).ns == INT64_MAX);
	} else {
		step_unknown(s);
	}
}

struct row {
	const char *name, *script;
};

static const struct row rows[] = {
	/* marks: R1 b, R3 */
	{ "mark__a_listed_page_of_its_tag__moves",
	  "read 1, fill 1 11 12, mark 2 0 1 12 -> why registered, word 1 5 1, frees 6" },
	{ "mark__the_second_of_its_tags_is_listed__moves",
	  "read 1, fill 1 11, mark 2 0 1 9 11 -> word 1 5 1" },
	{ "mark__another_tag__does_not_move", "read 1, fill 1 11, mark 2 0 1 12 -> word 1 5 0" },
	{ "mark__several_pages_of_the_tag__all_move",
	  "read 1, fill 1 11, read 2, fill 2 12 11, read 3, fill 3 11 13, mark 2 0 1 11 -> "
	  "word 1 5 1, word 2 5 1, word 3 5 1, frees 6" },
	{ "mark__any__moves_word_0", "mark 2 0 1 12 -> word 0 5 1" },
	{ "mark__a_page_without_a_list__moves_it",
	  "read 0, fill 0, mark 2 0 1 12, fill 0 -> why moved" },
	{ "mark__again_after_the_list_is_forgotten__does_not_move_again",
	  "read 1, fill 1 11, mark 2 0 1 11, mark 3 0 1 11 -> word 1 5 1" },
	{ "mark__the_same_message_again__marks_once",
	  "2 x mark 2 0 1 11 -> word 0 5 1, actives 1" },
	{ "mark__a_smaller_name__is_ignored",
	  "mark 2 0 2 11, end 2 0 2 7 11, mark 2 0 1 11 -> actives 0, word 0 5 1" },
	{ "mark__the_word_is_at_its_end__it_stays_and_its_list_is_forgotten",
	  "read 1, fill 1 11, wear 1, mark 2 0 1 11 -> frees 6, word 1 5 17179869183" },
	{ "mark__the_tag_of_all__each_listed_page_moves",
	  "read 1, fill 1 11, read 2, fill 2 12 13, mark 2 0 1 9 0 -> word 1 5 1, word 2 5 1, "
	  "word 3 5 0, word 0 5 1, frees 6" },
	{ "mark__the_tag_of_a_word__moves_it_whatever_its_list",
	  "read 1, fill 1 11, read 2, fill 2 11, mark 2 0 1 18446744069414584321 -> "
	  "word 1 5 1, word 2 5 0, frees 5; mark 2 0 2 18446744069414584323 -> word 3 5 1, "
	  "word 1 5 1; mark 2 0 3 18446744069414584328 -> frees 5" },
	{ "evict__a_list__moves_first",
	  "read 1, fill 1 11, evict 1 -> word 1 5 1, frees 6; fill 1 11 -> why moved" },
	{ "evict__no_such_word__is_ignored", "evict 8 -> frees 6" },
	/* pending: R1 a, R2 b, c */
	{ "pending__no_page_was_listed__a_fill_under_way_is_refused",
	  "read 1, mark 2 0 1 11, fill 1 11 -> why pending" },
	{ "pending__another_tag__is_registered",
	  "read 1, mark 2 0 1 12, fill 1 11 -> why registered" },
	{ "pending__a_page_without_a_list__is_refused",
	  "mark 2 0 1 12, read 0, fill 0 -> why pending" },
	{ "pending__in_two_slots__each_refuses",
	  "mark 2 0 1 11, mark 2 1 2 12, mark 3 0 1 13 -> actives 3; end 2 0 1 0 11, read 1, "
	  "fill 1 12 -> why pending; fill 1 13 -> why pending; fill 1 11 -> why registered" },
	{ "pending__a_newer_name__ends_the_one_before",
	  "mark 2 0 1 11, mark 2 0 2 12 -> actives 1, log 5 1; read 1, fill 1 11 -> why "
	  "registered" },
	{ "pending__the_tag_of_all__each_fill_is_refused",
	  "mark 2 0 1 9 0, read 1, fill 1 11 -> why pending; end 2 0 1 7 0, fill 1 11 -> "
	  "why ended; read 1, fill 1 11 -> why registered" },
	{ "pending__for_others__is_told_with_its_slot",
	  "mark 2 1 1 11, mark 3 0 2 12 13 -> pending 0 2 1 1 1, pending 1 3 0 2 2" },
	{ "pending__of_a_member__since_the_oldest",
	  "mark 2 0 1 11, ms 5, mark 2 1 2 12, ms 3 -> oldest 2 8, none 3, none 4, none 0; "
	  "end 2 0 1 7 11 -> oldest 2 3; end 2 1 2 7 12 -> none 2" },
	{ "pending__of_the_last_member__is_told", "mark 3 0 1 11, ms 2 -> oldest 3 2" },
	{ "pending__the_next_of_its_slot__is_younger",
	  "mark 2 0 1 11, ms 5, mark 2 0 2 11 -> oldest 2 0" },
	{ "pending__sent_again__is_as_old", "mark 2 0 1 11, ms 5, mark 2 0 1 11 -> oldest 2 5" },
	{ "pending__the_tag_of_a_word__fills_of_that_word_are_refused",
	  "mark 2 0 1 18446744069414584321, read 1, fill 1 11 -> why pending; read 2, fill 2 11 -> "
	  "why registered" },
	/* the log: R1 c, d, R2 d, e */
	{ "ended__after_the_log_word_was_read__is_refused",
	  "read 1, mark 2 0 1 11, end 2 0 1 7 11, fill 1 11 -> why ended, actives 0" },
	{ "ended__before_the_log_word_was_read__is_registered",
	  "mark 2 0 1 11, end 2 0 1 7 11, read 1, fill 1 11 -> why registered, log 5 1" },
	{ "ended__another_tag__is_registered",
	  "read 1, mark 2 0 1 12, end 2 0 1 7 12, fill 1 11 -> why registered" },
	{ "ended__the_oldest_of_the_log__is_refused",
	  "read 1, mark 2 0 1 11, mark 2 0 2 12, mark 2 0 3 12, end 2 0 3 7 12, fill 1 11 -> "
	  "why ended, log 5 3" },
	{ "ended__more_than_the_log_keeps__is_refused",
	  "read 1, mark 2 0 1 12, mark 2 0 2 12, mark 2 0 3 12, mark 2 0 4 12, end 2 0 4 7 12, "
	  "fill 1 11 -> why short" },
	{ "ended__a_log_word_of_an_earlier_life__is_refused",
	  "read 1, close, join, open 6 200, reread 1, fill 1 11 -> why short" },
	{ "ended__a_log_word_that_was_never_there__is_bad", "read 1, ahead, fill 1 11 -> why bad" },
	{ "ended__its_mark_never_came__marks_and_ends",
	  "read 1, fill 1 11, end 2 0 1 7 11 -> word 1 5 1, actives 0, log 5 1; reread 1, "
	  "fill 1 11 -> why ended" },
	{ "ended__a_smaller_name__is_ignored",
	  "mark 2 0 2 11, end 2 0 1 7 11 -> actives 1, log 5 0" },
	{ "ended__twice__counts_once", "mark 2 0 1 11, 2 x end 2 0 1 7 11 -> log 5 1" },
	/* snapshots: R2 f to h */
	{ "snapshot__sees_the_ended_one__is_registered",
	  "mark 2 0 1 11, end 2 0 1 120 11, snapshot 120 121, read 1, fill 1 11 -> why "
	  "registered" },
	{ "snapshot__from_before_the_ended_one__is_refused",
	  "mark 2 0 1 11, end 2 0 1 120 11, snapshot 120 120, read 1, fill 1 11 -> why unseen" },
	{ "snapshot__the_ended_one_runs__is_refused",
	  "mark 2 0 1 11, end 2 0 1 120 11, snapshot 110 125 120, read 1, fill 1 11 -> why "
	  "unseen" },
	{ "snapshot__another_one_runs__is_registered",
	  "mark 2 0 1 11, end 2 0 1 120 11, snapshot 110 125 121, read 1, fill 1 11 -> "
	  "why registered" },
	{ "snapshot__the_unseen_one_touches_another_tag__is_registered",
	  "mark 2 0 1 12, end 2 0 1 120 12, snapshot 120 120, read 1, fill 1 11 -> why "
	  "registered" },
	{ "snapshot__the_unseen_one_has_ended_without_effect__is_registered",
	  "mark 2 0 1 11, end 2 0 1 0 11, snapshot 120 120, read 1, fill 1 11 -> why registered" },
	{ "snapshot__an_update_is_pending__is_refused",
	  "mark 2 0 1 11, snapshot 200 200, read 1, fill 1 11 -> why pending" },
	{ "snapshot__from_before_the_join__is_refused",
	  "snapshot 90 100, read 1, fill 1 11 -> why join; snapshot 90 110 100, fill 1 11 -> "
	  "why join; snapshot 90 110 99, fill 1 11 -> why registered" },
	{ "snapshot__what_the_log_forgot_may_run__is_refused",
	  "mark 2 0 1 12, end 2 0 1 120 12, mark 2 0 2 12, end 2 0 2 110 12, mark 2 0 3 12, "
	  "end 2 0 3 111 12, mark 2 0 4 12, end 2 0 4 112 12, mark 2 0 5 12, end 2 0 5 113 12, "
	  "read 1, snapshot 120 130, fill 1 11 -> why short; snapshot 121 130, fill 1 11 -> "
	  "why registered" },
	{ "snapshot__an_end_was_not_told__asks_for_what_the_next_mark_says",
	  "mark 2 0 1 11, committed 120, mark 2 0 2 12, read 1, snapshot 120 120, fill 1 11 -> "
	  "why unseen; snapshot 121 121, fill 1 11 -> why registered" },
	{ "snapshot__ended_by_another_fence__asks_for_the_raise",
	  "mark 2 0 1 11, fence 2 9, mark 2 0 2 12, read 1, snapshot 900 900, fill 1 11 -> "
	  "why unseen; look 2 8 100, fill 1 11 -> why unseen; look 2 9 150, fill 1 11 -> "
	  "why registered; snapshot 150 150, fill 1 11 -> why unseen" },
	{ "snapshot__such_a_one_was_forgotten__asks_for_the_raise",
	  "mark 2 0 1 12, fence 2 9, mark 2 0 2 12, mark 2 0 3 12, mark 2 0 4 12, mark 2 0 5 13, "
	  "read 1, snapshot 900 900, fill 1 11 -> why short; look 2 8 100, fill 1 11 -> why short; "
	  "look 2 9 150, fill 1 11 -> why registered; snapshot 150 160, fill 1 11 -> why short" },
	/* drops: R6 b, c, R2 h */
	{ "look__the_row_was_raised__drops_those_below",
	  "mark 2 0 1 11, mark 2 1 2 12, fence 2 9, mark 2 0 3 13, mark 3 0 1 14 -> actives 3; "
	  "look 2 9 150 -> actives 2; read 1, fill 1 12 -> why registered; fill 1 13 -> "
	  "why pending; fill 1 14 -> why pending" },
	{ "look__the_row_is_as_it_was__keeps", "mark 2 0 1 11, look 2 8 150 -> actives 1" },
	{ "look__of_another_member__keeps", "mark 2 0 1 11, look 3 9 150 -> actives 1" },
	{ "look__no_transaction__keeps", "mark 2 0 1 11, look 2 9 0 -> actives 1" },
	{ "look__a_host_without_a_row__keeps", "mark 2 0 1 11, look 2 9 150 absent -> actives 1" },
	{ "look__dropped__a_snapshot_must_see_the_raise",
	  "mark 2 0 1 11, look 2 9 150, read 1, snapshot 150 150, fill 1 11 -> why unseen; "
	  "snapshot 151 151, fill 1 11 -> why registered" },
	{ "look__dropped_after_the_log_word_was_read__is_refused",
	  "read 1, mark 2 0 1 11, look 2 9 150, fill 1 11 -> why ended, log 5 1" },
	{ "look__dropped__is_not_acknowledged",
	  "room 0, mark 2 0 1 11, look 2 9 150, room 9, tick -> puts 0, rests" },
	{ "look__dropped__is_not_acknowledged_on_a_newer_link",
	  "mark 2 0 1 11, lost, look 2 9 150, link 2 8 -> puts 0" },
	{ "look__dropped_and_sent_again__is_not_acknowledged",
	  "room 0, mark 2 0 1 11, look 2 9 150, room 9, mark 2 0 1 11 -> puts 0, actives 0" },
	/* acknowledgements: R4 b, c */
	{ "ack__a_mark__goes_to_the_word_of_its_slot",
	  "mark 3 1 1 11 -> puts 1, host 3, offset 12352, linked 7; done -> acked 3 1 1, puts 0, "
	  "rests" },
	{ "ack__an_older_name_is_there__replaces_it",
	  "theirs 2 0 3, mark 2 0 4 11, done -> puts 1; done -> acked 2 0 4, rests" },
	{ "ack__a_newer_name_is_there__leaves_it",
	  "theirs 2 0 9, mark 2 0 4 11, done -> puts 0, acked 2 0 9, rests" },
	{ "ack__the_next_update__compares_with_the_last",
	  "mark 2 0 1 11, done, mark 2 0 2 11, done -> acked 2 0 2, puts 0" },
	{ "ack__outstanding__the_next_waits_for_its_result",
	  "mark 2 0 1 11, mark 2 0 2 11 -> puts 0; done -> puts 1; done -> acked 2 0 2, rests" },
	{ "ack__unknown__again_on_a_newer_link",
	  "mark 2 0 1 11, unknown -> puts 0, rests; link 2 8 -> puts 1, linked 8; done -> "
	  "acked 2 0 1, puts 0, rests" },
	{ "ack__lost__again_on_a_newer_link",
	  "mark 2 0 1 11, lost, tick -> puts 0; link 2 8, done -> acked 2 0 1" },
	{ "ack__refused__again_after_a_check",
	  "mark 2 0 1 11, refused, ms 9, tick -> puts 0; ms 1, tick -> puts 1; done -> "
	  "acked 2 0 1" },
	{ "ack__refused_by_one_host__others_go_on",
	  "mark 2 0 1 11, refused, mark 3 0 1 11 -> puts 1, host 3" },
	{ "ack__the_message_is_sent_again__is_not_written_again",
	  "mark 2 0 1 11, done, mark 2 0 1 11 -> puts 0" },
	{ "ack__the_updater_restarts__its_new_words_are_written",
	  "mark 2 0 1 11, done, theirs 2 0 0, link 2 8 -> puts 1, blind; done -> puts 1" },
	{ "ack__the_update_has_ended__is_not_put_out",
	  "room 0, mark 2 0 1 11, end 2 0 1 7 11, room 9, tick -> puts 0" },
	{ "ack__the_update_has_ended__is_not_put_out_on_a_newer_link",
	  "mark 2 0 1 11, lost, end 2 0 1 7 11, link 2 8 -> puts 0" },
	{ "ack__its_result_is_of_an_older_link__again_on_the_newer",
	  "mark 2 0 1 11, link 2 8 -> puts 0; done -> puts 1, linked 8" },
	{ "ack__lost_on_an_older_link__again_on_the_newer",
	  "mark 2 0 1 11, link 2 8, lost -> puts 1, linked 8" },
	{ "ack__no_room__is_due_at_once",
	  "room 0, mark 2 0 1 11 -> puts 0, due; room 9, tick -> puts 1, rests" },
	{ "ack__an_older_link_is_announced__is_ignored",
	  "mark 2 0 1 11, done, link 2 7 -> puts 0" },
	/* fills: R2 i */
	{ "fill__its_version_has_moved__is_refused",
	  "read 1, evict 1, fill 1 11 -> why moved, frees 6" },
	{ "fill__no_tags__is_only_for_word_0",
	  "read 1, fill 1 -> why bad; read 0, fill 0 11 -> why bad; fill 0 -> why registered" },
	{ "fill__no_such_word__is_bad", "read 1, fill 8 11 -> why bad" },
	{ "fill__a_snapshot_that_is_none__is_bad",
	  "read 1, snapshot 0 200, fill 1 11 -> why bad; snapshot 201 200, fill 1 11 -> why bad" },
	{ "fill__the_word_is_at_its_end__is_refused", "wear 1, read 1, fill 1 11 -> why worn" },
	{ "fill__the_log_word_is_at_its_end__is_refused",
	  "wear_log, read 1, fill 1 11 -> why worn" },
	{ "fill__tags_that_are_listed_already__take_no_room",
	  "read 1, fill 1 11 12, fill 1 12 11 13 13 -> why registered, frees 3" },
	{ "fill__no_room__is_refused_and_lists_nothing",
	  "read 1, fill 1 1 2 3, read 2, fill 2 4 5, read 3, fill 3 6 7 -> why full, frees 1; "
	  "evict 1, fill 3 6 7 -> why registered" },
	{ "fill__no_room_but_nothing_new__is_registered",
	  "read 1, fill 1 1 2 3 4, fill 1 5 6, fill 1 1 2 -> why registered, frees 0" },
	/* lives: R1 d, R3 b, R7 c, d */
	{ "open__words__begin_above_those_of_the_life_before",
	  "mark 2 0 1 11, close, join, open 6 200 -> opened 1, word 1 6 0, word 0 6 0, log 6 0" },
	{ "open__the_generation_is_not_above__is_refused",
	  "close, join, open 5 200 -> opened 0, word 1 0 0" },
	{ "open__no_transaction__is_refused", "close, join, open 6 0 -> opened 0" },
	{ "open__a_generation_out_of_range__is_refused",
	  "close, join, open 1073741824 200 -> opened 0" },
	{ "open__without_a_join__is_refused", "close, open 6 200 -> opened 0" },
	{ "open__twice__is_refused", "open 6 200 -> opened 0, word 1 5 0" },
	/* epochs: R1 f. open GENERATION TRANSACTION EPOCH */
	{ "open__a_mark_of_an_epoch_before__is_dropped",
	  "close, join, epoch 39, mark 2 0 1 11, epoch 40, mark 3 0 1 12, open 6 200 40 -> actives "
	  "1, "
	  "log 6 1; read 1, fill 1 12 -> why pending; fill 1 11 -> why registered" },
	{ "open__such_a_mark_was_dropped__a_snapshot_must_see_the_join",
	  "close, join, epoch 39, mark 2 0 1 11, open 6 200 40, read 1, snapshot 200 201, fill 1 "
	  "11 "
	  "-> why registered; snapshot 201 201, fill 1 11 -> why registered; snapshot 199 200, "
	  "fill 1 11 -> why join" },
	{ "open__such_a_mark_was_dropped__is_not_acknowledged",
	  "close, join, room 0, epoch 39, mark 2 0 1 11, open 6 200 40, room 9, tick -> puts 0, "
	  "rests" },
	{ "mark__of_an_epoch_before_the_join__is_ignored",
	  "close, join, open 6 200 40, epoch 39, mark 2 0 1 11 -> actives 0, word 0 6 0, puts 0; "
	  "end 2 0 1 7 11 -> log 6 0; epoch 40, mark 2 0 1 11 -> actives 1" },
	{ "close__the_epoch_of_the_life_before__is_forgotten",
	  "close, join, open 6 200 40, close, join, epoch 39, mark 2 0 1 11 -> actives 1" },
	{ "close__all_words__are_0",
	  "read 1, fill 1 11, mark 2 0 1 12, close -> word 0 0 0, word 1 0 0, log 0 0, actives 0, "
	  "frees 6" },
	{ "close__then_a_fill__is_refused", "close, read 1, fill 1 11 -> why closed" },
	{ "close__messages__are_ignored", "close, mark 2 0 1 11 -> actives 0, puts 0" },
	{ "close__what_was_pending__is_forgotten",
	  "mark 2 0 1 11, close, join, mark 2 0 2 11 -> actives 1; open 6 200 -> log 6 0" },
	{ "close__an_acknowledgement__is_not_put_out",
	  "room 0, mark 2 0 1 11, close, room 9, tick -> puts 0" },
	{ "close__an_acknowledgement__is_not_put_out_on_a_newer_link",
	  "mark 2 0 1 11, lost, close, link 2 8 -> puts 0" },
	{ "join__not_committed__words_stay_0",
	  "close, join, mark 2 0 1 11, evict 1, end 2 0 1 7 11 -> word 0 0 0, word 1 0 0, log 0 0; "
	  "read 1, fill 1 11 -> why closed" },
	{ "join__a_mark_comes_before_the_home_knows_that_it_joined__is_kept",
	  "close, join, mark 2 0 1 11, done -> acked 2 0 1; open 6 200, read 1, fill 1 11 -> "
	  "why pending" },
};

static void run(void **state)
{
	static const struct steps_ops ops = { act, NULL, check };
	const struct row *row = *state;
	struct rig *r = begin(NULL);

	steps_run(row->script, &ops, r);
	finish(r);
}

TEST_ROWS(rows, run)

/* --- hostile messages, and bounds ------------------------------------------------- */

static void refuses(struct rig *r, uint16_t host, const struct update_message *m, uint32_t len)
{
	uint64_t before = r->h.refused;

	send(r, host, m, len);
	assert_true(r->h.refused == before + 1);
	assert_int_equal(r->h.actives, 0);
	assert_int_equal(r->puts, 0);
	assert_true(r->word[0] == cache_word(5, 0));
}

TEST(message__not_one_of_an_updater__is_refused)
{
	const struct update_message ok = { .kind = UPDATE_MARK,
					   .tags = 1,
					   .name = cache_update_name(8, 1) };
	struct update_message bad[] = { ok, ok, ok, ok, ok, ok, ok };
	struct rig *r = begin(NULL);

	refuses(r, 2, &ok, sizeof(ok) - 1);
	refuses(r, 2, &ok, 4);
	refuses(r, 0, &ok, sizeof(ok));
	refuses(r, MEMBERS + 1, &ok, sizeof(ok));
	bad[0].slot = SLOTS;
	bad[1].tags = 0;
	bad[2].tags = UPDATE_TAGS_MAX + 1;
	bad[3].name = 0;
	bad[4].name = cache_update_name(0, 1);
	bad[5].transaction = HOME_UNKNOWN;
	bad[6].zero = 1;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refuses(r, 2, &bad[i], sizeof(bad[i]));
	send(r, 2, &ok, sizeof(ok));
	assert_int_equal(r->h.actives, 1);
	finish(r);
}

TEST(message__of_another_protocol__is_ignored)
{
	struct update_message m = { .kind = UPDATE_MARK + 1,
				    .tags = 1,
				    .name = cache_update_name(8, 1) };
	struct rig *r = begin(NULL);

	send(r, 2, &m, sizeof(m));
	send(r, 2, &m, 3);
	assert_true(r->h.refused == 0);
	assert_int_equal(r->h.actives, 0);
	finish(r);
}

TEST(result__with_the_tag_of_another__is_ignored)
{
	struct rig *r = begin(NULL);
	struct step_event ev = { .type = STEP_RESULT, .outcome = STEP_DONE, .old = 99, .link = 7 };

	for (ev.tag = TAG - 1; ev.tag <= TAG + (MEMBERS + 1) * SLOTS; ev.tag++)
		tell(r, ev);
	for (uint32_t i = 0; i < (MEMBERS + 1) * SLOTS; i++)
		assert_true(r->h.slot[i].was == 0);
	finish(r);
}

TEST(conf__a_value_out_of_its_range__is_refused)
{
	struct rig *r = begin(NULL);
	enum { N = 13 };
	struct home_conf bad[N];

	for (int i = 0; i < N; i++)
		bad[i] = conf_of(r);
	bad[0].self = 0;
	bad[1].self = MEMBERS + 1;
	bad[2].members = REGION_HOSTS_MAX + 1;
	bad[2].stride = 8 * (REGION_HOSTS_MAX + 1);
	bad[3].slots = 0;
	bad[4].slots = HOME_SLOTS_MAX + 1;
	bad[5].words = 0;
	bad[6].listings = 0;
	bad[7].log = 0;
	bad[8].log = HOME_LOG_MAX + 1;
	bad[9].stride = 16;
	bad[10].acks = 4;
	bad[11].acks = UINT32_MAX - 7;
	bad[12].tag = UINT32_MAX;
	for (int i = 0; i < N; i++) {
		assert_int_equal(home_bytes(&bad[i]), 0);
		assert_false(home_init(&r->h, &bad[i], r->block));
	}
	finish(r);
}

TEST(fill__the_list_of_a_word_is_at_its_bound__is_refused)
{
	const struct home_conf c = { .listings = HOME_LIST_MAX + 64, .log = 1 };
	struct rig *r = begin(&c);
	uint64_t tag[HOME_FILL_TAGS_MAX + 1];
	struct home_fill f = { .word = 1, .tag = tag };

	f.version = r->word[1];
	f.log = r->log_word;
	f.tags = HOME_FILL_TAGS_MAX;
	for (uint64_t k = 0; k <= HOME_LIST_MAX / HOME_FILL_TAGS_MAX; k++) {
		for (uint64_t i = 0; i < HOME_FILL_TAGS_MAX; i++)
			tag[i] = k * HOME_FILL_TAGS_MAX + i;
		assert_int_equal(home_register(&r->h, &f), k < HOME_LIST_MAX / HOME_FILL_TAGS_MAX
								   ? HOME_REGISTERED
								   : HOME_FULL);
	}
	f.tags++;
	assert_int_equal(home_register(&r->h, &f), HOME_BAD);
	finish(r);
}

/* --- a copy that may be used has seen all -------------------------------------------- */

enum { ROUNDS = 2000 };

struct copy {
	uint32_t word, tags;
	uint64_t version, tag[TAGS_MAX];
};

struct chaos {
	struct prop p;
	struct rig *r;
	struct copy copy[ROUNDS];
	uint32_t n;
	uint64_t number[MEMBERS + 1][SLOTS];
	struct update_message under_way[MEMBERS + 1][SLOTS];
};

static bool has_tag(const uint64_t *tag, uint32_t n, uint64_t wanted)
{
	for (uint32_t i = 0; i < n; i++)
		if (tag[i] == wanted)
			return true;
	return false;
}

static bool meets(const struct copy *c, const struct update_message *m)
{
	for (uint32_t i = 0; i < m->tags; i++)
		if (c->word == 0 || has_tag(c->tag, c->tags, m->tag[i]))
			return true;
	return false;
}

/* Of copies that were verified before, m moved the words of those that it meets, and no other. */
static void check_moved(const struct chaos *x, const uint64_t *before,
			const struct update_message *m, int step)
{
	bool met[WORDS] = { true };

	for (uint32_t i = 0; i < x->n; i++)
		if (before[x->copy[i].word] == x->copy[i].version && meets(&x->copy[i], m))
			met[x->copy[i].word] = true;
	for (uint32_t w = 0; w < WORDS; w++)
		prop_assert(&x->p, step, met[w] == (x->r->word[w] != before[w]));
}

static void chaos_mark(struct chaos *x, int step)
{
	uint16_t host = (uint16_t)prop_range(&x->p, 2, MEMBERS);
	uint16_t slot = (uint16_t)prop_range(&x->p, 0, SLOTS - 1);
	struct update_message *m = &x->under_way[host][slot];
	uint64_t before[WORDS];

	if (m->tags && prop_one_in(&x->p, 2)) {
		m->kind = UPDATE_END;
		send(x->r, host, m, sizeof(*m));
		m->tags = 0;
		return;
	}
	m->kind = UPDATE_MARK;
	m->slot = slot;
	m->name = cache_update_name(8, ++x->number[host][slot]);
	m->tags = (uint16_t)prop_range(&x->p, 1, TAGS_MAX);
	for (uint32_t i = 0; i < m->tags; i++)
		m->tag[i] = prop_range(&x->p, 1, 10) << 32;
	memcpy(before, x->r->word, sizeof(before));
	send(x->r, host, m, sizeof(*m));
	check_moved(x, before, m, step);
}

static void chaos_fill(struct chaos *x, int step)
{
	struct copy *c = &x->copy[x->n];
	struct home_fill f;

	c->word = (uint32_t)prop_range(&x->p, 0, WORDS - 1);
	c->version = x->r->word[c->word];
	c->tags = c->word ? (uint32_t)prop_range(&x->p, 1, TAGS_MAX) : 0;
	for (uint32_t i = 0; i < c->tags; i++)
		c->tag[i] = prop_range(&x->p, 1, 10) << 32;
	f = (struct home_fill){ .word = c->word,
				.version = c->version,
				.log = x->r->log_word,
				.tags = c->tags,
				.tag = c->tag };
	if (home_register(&x->r->h, &f) != HOME_REGISTERED)
		return;
	for (uint32_t h = 2; h <= MEMBERS; h++)
		for (uint32_t s = 0; s < SLOTS; s++)
			prop_assert(&x->p, step, !meets(c, &x->under_way[h][s]));
	x->n++;
}

static void check_index(const struct chaos *x, int step)
{
	const struct home *h = &x->r->h;
	uint32_t listed = 0, chained = 0;

	for (uint32_t w = 0; w < WORDS; w++)
		for (uint32_t i = h->list[w]; i; i = h->listing[i - 1].more)
			listed++;
	for (uint32_t b = 0; b < h->buckets; b++)
		for (uint32_t i = h->bucket[b]; i; i = h->listing[i - 1].next)
			chained++;
	prop_assert(&x->p, step, listed == chained && listed + h->frees == h->conf.listings);
}

TEST(copy__any_marks_ends_and_evictions__none_stale_has_its_word)
{
	const struct home_conf c = { .listings = 8, .log = 4 }; /* tags share buckets */
	struct chaos *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	prop_start(&x->p);
	x->r = begin(&c);
	for (int i = 0; i < ROUNDS; i++) {
		if (prop_one_in(&x->p, 3))
			chaos_mark(x, i);
		else if (prop_one_in(&x->p, 10))
			home_evict(&x->r->h, (uint32_t)prop_range(&x->p, 0, WORDS - 1));
		else
			chaos_fill(x, i);
		check_index(x, i);
	}
	assert_true(x->n > 0);
	finish(x->r);
	free(x);
}
