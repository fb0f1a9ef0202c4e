/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shared_rig: words of a few hosts, and the hand that executes operations on them
 * when the test says so. For test_lock, test_counter, test_move.
 */
#ifndef RESEX_TESTS_SHARED_RIG_H
#define RESEX_TESTS_SHARED_RIG_H

#include <string.h>

#include "resex/region_abi.h"
#include "src/reconf/step.h"
#include "tests/unit/prop.h"

enum { RIG_HOSTS = 8, MS = 1000000 };

struct words {
	uint64_t at[RIG_HOSTS + 1][REGION_WORDS_BYTES / 8]; /* by host */
};

static inline uint64_t *rig_word(struct words *w, uint16_t host, uint32_t offset)
{
	assert_true(host >= 1 && host <= RIG_HOSTS && offset < REGION_WORDS_BYTES);
	return &w->at[host][offset / 8];
}

/* What the HCA of op's host does; the word before. */
static inline uint64_t rig_execute(struct words *w, const struct step_op *op)
{
	uint64_t *word = rig_word(w, op->host, op->offset), old = *word;

	if (op->kind == STEP_FAA)
		*word += op->value;
	else if (op->kind == STEP_CAS && old == op->compare)
		*word = op->value;
	return old;
}

static inline struct step_event rig_result(const struct step_op *op, enum step_outcome outcome,
					   uint64_t old, uint32_t link)
{
	return (struct step_event){
		.type = STEP_RESULT,
		.host = op->host,
		.link = link,
		.tag = op->tag,
		.outcome = outcome,
		.old = outcome == STEP_DONE ? old : 0,
	};
}

static inline struct step_event rig_link(uint16_t host, uint32_t link)
{
	return (struct step_event){ .type = STEP_LINK, .host = host, .link = link };
}

static inline struct step_event rig_view(uint64_t view, uint64_t members, bool quorate)
{
	return (struct step_event){
		.type = STEP_VIEW, .view = view, .members = { { members } }, .quorate = quorate
	};
}

static inline struct step_event rig_ask(uint32_t what)
{
	return (struct step_event){ .type = STEP_ASK, .what = what };
}

static inline void assert_word(uint64_t word, uint16_t id, uint64_t seq)
{
	assert_int_equal(region_word_id(word), id);
	assert_true(region_word_seq(word) == seq);
}

#endif
