/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fresh: is a home of cached pages still a member? The proxy's side, the home's, and the wait of
 * the host that removed it: R7 f to l of cache.h, which has the timeline and the proof.
 *
 * The proxy READs the home's beat once a check, in the background, and asks for the home's clock:
 * a message, which the home answers with another. What it knows holds on one link. fresh_covers
 * says whether a READ of a version word may be used.
 */
#ifndef RESEX_CACHE_FRESH_H
#define RESEX_CACHE_FRESH_H

#include "src/reconf/step.h"

enum { FRESH_TAGS = 256 }; /* a proxy uses the tags conf.tag .. conf.tag + FRESH_TAGS - 1 */

#define FRESH_QUESTION 0x51435852u /* "RXCQ" */
#define FRESH_ANSWER   0x41435852u /* "RXCA" */

/* Little-endian, as all that hosts share. */
struct fresh_question {
	uint32_t kind;
	uint32_t serial; /* comes back in the answer */
};

struct fresh_answer {
	uint32_t kind;
	uint32_t serial;
	int64_t clock_ns; /* the home's, when it answered */
};

struct fresh_conf {
	uint16_t home;
	uint32_t tag;
	uint32_t offset;    /* of the beat, in bytes into STEP_VERSIONS */
	int64_t fresh_ns;   /* how long evidence is used; a question is asked again after that */
	int64_t check_ns;   /* from one READ to the next */
	int64_t ask_ns;	    /* from an answer to the next question; many checks */
	uint32_t drift_ppm; /* of a host's clock against true time, at most; < 1,000,000 */
};

struct fresh {
	struct fresh_conf conf;
	uint32_t link;	    /* the newest to the home; 0: none yet */
	bool cut;	    /* it is down */
	bool reads, sends;  /* an operation is outstanding */
	uint32_t tag;	    /* of the newest operation */
	uint32_t read_tag;  /* of the READ */
	uint32_t send_tag;  /* of the SEND */
	bool awaits;	    /* an answer */
	bool known;	    /* asked and answered are a pair */
	struct mono put_at; /* when the newest question was put out */
	int64_t asked;	    /* own clock before a question; */
	int64_t answered;   /* home's clock in its answer */
	int64_t stamp;	    /* the newest beat of this link; 0: none */
	struct mono until;  /* a READ that completes before may be used */
	struct mono next_read, next_ask;
	struct fresh_question question; /* until its SEND has ended */
};

void fresh_init(struct fresh *f, const struct fresh_conf *c);
/* Handles one event; appends operations to *out. */
void fresh_step(struct fresh *f, const struct step_event *ev, struct mono now,
		struct step_out *out);
/* When it needs a STEP_TICK. INT64_MAX: not before another event. */
struct mono fresh_due(const struct fresh *f);
/*
 * R7 j and l, for all that READ words: the evidence is of a link and ends at until; the READ was on
 * link and had completed before that time, by the clock of the evidence.
 */
static inline bool fresh_holds(uint32_t of_link, struct mono until, uint32_t link,
			       struct mono completed)
{
	return link != 0 && link == of_link && completed.ns < until.ns;
}

/*
 * May a READ of the home's words be used that was posted on this link? completed: the proxy's
 * clock, read after the result came.
 */
bool fresh_covers(const struct fresh *f, uint32_t link, struct mono completed);

/* How long a host that removed a home waits, by its own clock, once it knows of the removal. */
int64_t fresh_wait_ns(int64_t fresh_ns, uint32_t drift_ppm);

/* The home's side: its beat. */
struct fresh_beat {
	int64_t stamp; /* 0: it does not look */
};

/* Before a look in the database begins; also instead of one that has not ended. */
void fresh_look(struct fresh_beat *b, struct mono now);
/*
 * The look has ended. member: it found this home a member, with its generation. The word to be
 * stored as the beat; 0: store none.
 */
uint64_t fresh_found(struct fresh_beat *b, bool member);
/* Returns false if the message is not a question. now: the clock, read after the message came. */
bool fresh_reply(const void *message, uint32_t len, struct mono now, struct fresh_answer *answer);

#endif
