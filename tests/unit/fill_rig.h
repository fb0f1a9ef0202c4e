/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fill_rig: a fill of host 2, and the home 1 of its page, on link 7. For test_fill, test_fill_home.
 *
 * The words of the home begin at 64, its log word is at 128: beside word 7, and beside no other.
 * The home is a real one, in generation 5, whose transaction was 100; host 3 updates.
 */
#ifndef RESEX_TESTS_FILL_RIG_H
#define RESEX_TESTS_FILL_RIG_H

#include "src/cache/fill.h"
#include "tests/unit/prop.h"
#include "tests/unit/shared_rig.h"

enum { HOME = 1, SELF = 2, UPDATER = 3, MEMBERS = 3, WORDS = 8, TAG = 40, NUMBER = 9 };
enum { OFFSET = 64, LOG_AT = 128, LOG_FIRST = 56, READ_NS = 10 * MS, ANSWER_NS = 50 * MS };
enum { OP_WORD, OP_LOG, OP_REQUEST }; /* their tags, less TAG */

static const uint64_t serials = 1000;

struct rig {
	struct fill f;
	struct home h;
	void *block;
	uint64_t word[WORDS], log_word; /* of the home */
	uint32_t log_at;
	struct step_out out;
	struct step_op op[FILL_TAGS]; /* the newest of each */
	uint32_t puts;		      /* operations of the newest step */
	uint32_t room;		      /* operations that the next step may put out */
	int64_t now;
	bool has_snapshot;
	struct home_snapshot snapshot;
	uint64_t running[HOME_NUMBERS_MAX + 1], tag[HOME_FILL_TAGS_MAX + 1];
	struct home_answer answer; /* the newest of the home */
};

static inline void tell(struct rig *r, struct step_event ev)
{
	r->out.n = 0;
	r->out.taken = STEP_OPS_MAX - r->room;
	fill_step(&r->f, &ev, (struct mono){ r->now }, &r->out);
	r->puts = r->out.n;
	for (uint32_t i = 0; i < r->out.n; i++) {
		assert_in_range(r->out.op[i].tag, TAG, TAG + FILL_TAGS - 1);
		r->op[r->out.op[i].tag - TAG] = r->out.op[i];
	}
}

static inline void tell_home(struct rig *r, struct step_event ev)
{
	r->out.n = 0;
	r->out.taken = 0;
	home_step(&r->h, &ev, (struct mono){ r->now }, &r->out);
}

static inline void begin_fill(struct rig *r, uint32_t log_at)
{
	struct fill_conf c = { .home = HOME,
			       .number = NUMBER,
			       .serial = serials,
			       .tag = TAG,
			       .words = WORDS,
			       .offset = OFFSET,
			       .log = log_at,
			       .read_ns = READ_NS,
			       .answer_ns = ANSWER_NS };

	r->log_at = log_at;
	fill_init(&r->f, &c);
	tell(r, rig_link(HOME, 7));
}

static inline struct rig *begin(void)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct home_conf c = { .self = HOME,
			       .members = MEMBERS,
			       .slots = 1,
			       .words = WORDS,
			       .listings = 200,
			       .log = 4,
			       .stride = 64,
			       .check_ns = MS };

	assert_non_null(r);
	c.word = r->word;
	c.log_word = &r->log_word;
	r->block = malloc(home_bytes(&c));
	assert_true(r->block && home_init(&r->h, &c, r->block));
	home_join(&r->h);
	assert_true(home_open(&r->h, 5, 0, 100));
	r->room = STEP_OPS_MAX;
	r->now = 1000 * MS;
	begin_fill(r, LOG_AT);
	return r;
}

static inline void finish(struct rig *r)
{
	free(r->block);
	free(r);
}

static inline void begins(struct rig *r, uint64_t word)
{
	uint32_t wish = (uint32_t)word;

	tell(r, (struct step_event){ .type = STEP_ASK, .what = FILL_BEGIN, .wish = &wish });
}

static inline void ends(struct rig *r, uint32_t op, enum step_outcome outcome, uint64_t old,
			uint64_t link)
{
	tell(r, rig_result(&r->op[op], outcome, old, (uint32_t)link));
}

static inline uint64_t at_home(const struct rig *r, uint32_t offset)
{
	return offset == r->log_at ? r->log_word : r->word[(offset - OFFSET) / 8];
}

/* reads: what the home has, of all READs of the step before */
static inline void reads_home(struct rig *r)
{
	struct step_out out = r->out;

	assert_true(out.n > 0);
	for (uint32_t i = 0; i < out.n; i++) {
		uint64_t data[2] = { 0 };
		struct step_event ev;

		assert_int_equal(out.op[i].kind, STEP_READ);
		assert_true(out.op[i].len <= sizeof(data));
		for (uint32_t k = 0; k < out.op[i].len / 8; k++)
			data[k] = at_home(r, out.op[i].offset + 8 * k);
		ev = rig_result(&out.op[i], STEP_DONE, data[0], 7);
		ev.data = data;
		ev.words = out.op[i].len / 8;
		tell(r, ev);
	}
}

static inline void computes(struct rig *r, uint64_t serial, const uint64_t *tag, uint32_t tags)
{
	struct fill_page p = { serial, tags, tag, r->has_snapshot ? &r->snapshot : NULL };

	tell(r, (struct step_event){ .type = STEP_ASK, .what = FILL_COMPUTED, .wish = &p });
}

static inline void hears(struct rig *r, uint16_t host, const void *m, uint32_t len)
{
	tell(r,
	     (struct step_event){ .type = STEP_MESSAGE, .host = host, .message = m, .len = len });
}

static inline struct home_answer answer_of(const struct rig *r, uint64_t refusal)
{
	return (struct home_answer){ .kind = HOME_ANSWER,
				     .number = NUMBER,
				     .serial = fill_serial(&r->f),
				     .version = r->f.version,
				     .refusal = (uint32_t)refusal };
}

static inline bool asks_home(struct rig *r, uint16_t host, const void *m, uint32_t len)
{
	struct step_event ev = { .type = STEP_MESSAGE, .host = host, .message = m, .len = len };

	return home_reply(&r->h, &ev, &r->answer);
}

/* A fill of word 1 has asked. */
static inline struct rig *begin_asked(void)
{
	struct rig *r = begin();

	begins(r, 1);
	reads_home(r);
	computes(r, fill_serial(&r->f), (const uint64_t[]){ 11, 12 }, 2);
	assert_int_equal(fill_state(&r->f), FILL_ASKS);
	return r;
}

#endif
