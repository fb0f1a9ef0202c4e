/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * update: one slot of an updater: one update after another goes to all homes, is acknowledged by
 * all, reaches the database, and ends. R1 e, R4, R5 a and b, R6 d, and R7 a and b of cache.h.
 *
 * The step function talks to homes. Its owner talks to the database, and answers with STEP_ASK:
 *
 *	state           the owner                                   its answers
 *	--------------  ------------------------------------------  ---------------------------
 *	UPDATE_LOOKS    reads the rows of all members and the epoch UPDATE_LOOKED
 *	UPDATE_ACKS     the same once a check, or less often        UPDATE_LOOKED
 *	UPDATE_COMMITS  runs the transaction: it locks the epoch    UPDATE_COMMITTED,
 *	                and the own row FOR SHARE, and commits if   UPDATE_CHANGED (one differed),
 *	                both are those of update_epoch and -_name   UPDATE_FAILED, UPDATE_UNKNOWN
 *	UPDATE_DOUBT    raises the own row on a new connection,     UPDATE_COMMITTED,
 *	                and looks for the row of update_name        UPDATE_CHANGED: it is not there
 *	UPDATE_TELLS    tells its client; reads the rows as above   UPDATE_LOOKED
 *
 * In ACKS and TELLS, update_missing says for which homes it waits. recover.h says when one of them
 * is to be removed.
 */
#ifndef RESEX_CACHE_UPDATE_H
#define RESEX_CACHE_UPDATE_H

#include "src/cache/cache.h"
#include "src/core/hostset.h"
#include "src/reconf/step.h"

enum {
	UPDATE_TAGS_MAX = 64, /* of one update */
	UPDATE_HOSTS = REGION_HOSTS_MAX + 1,
	UPDATE_ROUNDS = 64,
	/* a slot uses the tags conf.tag .. conf.tag + UPDATE_STEP_TAGS - 1 */
	UPDATE_STEP_TAGS = UPDATE_ROUNDS * 2 * 512,
};

#define UPDATE_MARK 0x4d435852u /* "RXCM": mark, keep and acknowledge */
#define UPDATE_END  0x45435852u /* "RXCE": it has ended */

/* Little-endian, as all that hosts share. */
struct update_message {
	uint32_t kind;
	uint16_t slot;
	uint16_t tags; /* valid ones, >= 1; of END, too */
	uint64_t name; /* cache.h */
	/*
	 * END: the transaction that committed, by the database's number; 0: without effect.
	 * MARK: of the newest update of the slot that committed in this life of the member;
	 * 0: none. By it a home that got no END knows what a snapshot must see.
	 */
	uint64_t transaction;
	uint32_t epoch; /* at the broadcast */
	uint32_t zero;
	uint64_t tag[UPDATE_TAGS_MAX]; /* hashes: two of one hash only cost a miss */
};

struct update_conf {
	uint16_t self;
	uint16_t slot;
	uint32_t tag;
	uint32_t acks;	  /* offset of the ack word of host 1 in STEP_WORDS; host h: + 8 (h - 1) */
	int64_t check_ns; /* from one READ of the ack words to the next, and after REFUSED */
	int64_t wait_ns;  /* fresh_wait_ns() */
};

/* event.what of STEP_ASK */
enum update_ask {
	UPDATE_BEGIN,	  /* IDLE. wish: struct update_wish */
	UPDATE_LOOKED,	  /* wish: struct update_look */
	UPDATE_COMMITTED, /* wish: uint64_t, the transaction's number, not 0 */
	UPDATE_CHANGED,	  /* without effect: epoch or row differed, or the COMMIT did not arrive */
	UPDATE_FAILED,	  /* without effect: the statements were refused. It is not made anew */
	UPDATE_UNKNOWN,	  /* there was no answer to COMMIT, or the connection is lost */
};

struct update_wish {
	uint32_t tags; /* 1 .. UPDATE_TAGS_MAX */
	const uint64_t *tag;
};

/* What one transaction read. */
struct update_look {
	uint32_t epoch;
	uint32_t fence;	     /* of the own row */
	struct hostset rows; /* hosts that have a row: they are members, or were */
	/* This host only with the generation of its join in this life: else the row is older */
	struct hostset members;
	const uint32_t *generation; /* of each row, UPDATE_HOSTS of them, by host */
};

enum update_state {
	UPDATE_IDLE,
	UPDATE_LOOKS,
	UPDATE_ACKS,
	UPDATE_COMMITS,
	UPDATE_DOUBT,
	UPDATE_TELLS, /* the homes, how it ended */
};

enum update_result { UPDATE_NONE, UPDATE_DONE, UPDATE_REFUSED };

struct update {
	struct update_conf conf;
	enum update_state state;
	enum update_result result; /* TELLS, IDLE: of the newest */
	uint64_t number;	   /* of the newest name, in this life */
	uint64_t name;		   /* of the update under way */
	uint32_t epoch;		   /* at its broadcast */
	struct hostset told;	   /* the members at its broadcast */
	struct hostset acked;
	struct hostset todo; /* ACKS, TELLS: the message has not reached these */
	struct hostset sent; /* a SEND to these is outstanding */
	struct hostset up;   /* their link is up */
	uint32_t link[UPDATE_HOSTS];
	bool reads;		  /* a READ of the ack words is outstanding */
	bool built;		  /* message is that of this state */
	uint32_t round;		  /* of messages; part of the tags */
	struct hostset rows, out; /* by the newest look */
	struct mono out_since[UPDATE_HOSTS];
	uint32_t out_generation[UPDATE_HOSTS];
	uint64_t transaction; /* TELLS */
	uint64_t committed;   /* that of the newest update that had effect */
	struct mono next_read, next_send;
	struct update_message message; /* unchanged while a SEND is outstanding */
};

void update_init(struct update *u, const struct update_conf *c);
/* Handles one event; appends operations to *out. */
void update_step(struct update *u, const struct step_event *ev, struct mono now,
		 struct step_out *out);
/* When it needs a STEP_TICK. INT64_MAX: not before another event. */
struct mono update_due(const struct update *u);

enum update_state update_state(const struct update *u);
/* ACKS to DOUBT: what the transaction checks. */
uint64_t update_name(const struct update *u);
uint32_t update_epoch(const struct update *u);
/*
 * Homes that this slot waits for, and that are not out. ACKS: they have not acknowledged. TELLS:
 * the end has not reached them; until then the slot takes no other update.
 */
struct hostset update_missing(const struct update *u);
/* TELLS, IDLE. */
enum update_result update_result(const struct update *u);

#endif
