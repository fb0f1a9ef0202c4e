/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fill: an application server computes a page, and its home registers it. R2 a and j, and R7 l of
 * cache.h.
 *
 * The step function talks to the home. Its owner talks to the database, and answers with STEP_ASK:
 *
 *	state           the owner                                   its answers
 *	--------------  ------------------------------------------  ---------------------------
 *	FILL_IDLE       has a page to compute                       FILL_BEGIN, if fill_ready
 *	FILL_READS      waits; it may not begin its transaction
 *	FILL_COMPUTES   begins the transaction, and computes        FILL_COMPUTED, FILL_GIVE_UP
 *	FILL_ASKS       waits for the home
 *
 * Then it is IDLE again, and fill_result says how the fill ended. A copy may be stored if it is
 * FILL_REGISTERED, and only under the word fill_version. Any other page is served to its client,
 * and not stored. Nothing is tried again: the next fill of the page begins anew.
 *
 * A struct fill is of one home, and has one fill at a time.
 */
#ifndef RESEX_CACHE_FILL_H
#define RESEX_CACHE_FILL_H

#include "src/cache/home.h"
#include "src/reconf/step.h"

enum { FILL_TAGS = 3 }; /* it uses the tags conf.tag .. conf.tag + FILL_TAGS - 1 */

struct fill_conf {
	uint16_t home;
	uint32_t number; /* of this struct fill: no other one of this host has it */
	/*
	 * Serials begin behind it. It is not below any serial that a fill of this number had in
	 * an earlier life of this host: an answer may be to that one. cache_word(life, 0) will do.
	 */
	uint64_t serial;
	uint32_t tag;
	uint32_t words;	   /* version words of the home, <= 2^28 */
	uint32_t offset;   /* of word 0, in bytes into STEP_VERSIONS; <= 2^31 */
	uint32_t log;	   /* offset of the log word */
	int64_t read_ns;   /* from FILL_BEGIN to the results of the READs, at most */
	int64_t answer_ns; /* from FILL_COMPUTED to the home's answer */
};

/* event.what of STEP_ASK */
enum fill_ask {
	FILL_BEGIN,    /* wish: uint32_t, the index of the page's word */
	FILL_COMPUTED, /* wish: struct fill_page */
	FILL_GIVE_UP,  /* the page is not to be stored */
};

struct fill_page {
	uint64_t serial; /* fill_serial, as it was when the transaction began */
	uint32_t tags;	 /* as in struct home_fill */
	const uint64_t *tag;
	const struct home_snapshot *snapshot; /* NULL: the database does not say */
};

enum fill_state { FILL_IDLE, FILL_READS, FILL_COMPUTES, FILL_ASKS };

enum fill_result {
	FILL_NONE, /* it is under way, or there was none */
	FILL_REGISTERED,
	FILL_REFUSED,	/* by the home, which says why: fill_refusal */
	FILL_CLOSED,	/* the home is no member, or has just come back */
	FILL_CUT,	/* there is no link, or not the one on which the words were READ */
	FILL_FAILED,	/* a READ or the request was REFUSED */
	FILL_LATE,	/* the READs or the answer took too long */
	FILL_BAD,	/* no such word, or the page is none */
	FILL_TOO_LARGE, /* tags and running transactions do not fit into a message */
	FILL_GIVEN_UP,
};

struct fill {
	struct fill_conf conf;
	enum fill_state state;
	enum fill_result result;
	enum home_refusal refusal;   /* REFUSED */
	uint32_t link;		     /* the newest to the home; 0: none yet */
	bool cut;		     /* it is down */
	uint64_t serial;	     /* of the newest fill */
	uint32_t word;		     /* its index */
	uint32_t todo, sent, rest;   /* bits: to be put out; outstanding; READs that are missing */
	uint64_t version, log;	     /* the words, as READ */
	struct mono until;	     /* READS, ASKS */
	struct home_request request; /* until its SEND has ended */
};

void fill_init(struct fill *f, const struct fill_conf *c);
/* Handles one event; appends operations to *out. */
void fill_step(struct fill *f, const struct step_event *ev, struct mono now, struct step_out *out);
/* When it needs a STEP_TICK. INT64_MAX: not before another event. */
struct mono fill_due(const struct fill *f);

enum fill_state fill_state(const struct fill *f);
/* IDLE, and all operations have come back: it takes a FILL_BEGIN. */
bool fill_ready(const struct fill *f);
/* Of the fill under way, or of the newest. */
uint64_t fill_serial(const struct fill *f);
enum fill_result fill_result(const struct fill *f);
/* FILL_REFUSED: why. */
enum home_refusal fill_refusal(const struct fill *f);
/* The version word under which the copy may be stored. 0: it may not be (R2 j). */
uint64_t fill_version(const struct fill *f);

#endif
