/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replay: run the sampler's own ticks over the inputs of a trace (src/trace/format.h), and compare
 * each record that they make with the trace's. Used by resex-lab replay.
 *
 *	FILE --replay_read--> records --replay_load--> sets, policies, state, a tick's inputs
 *	     --src/tick/tick.c--> records, compared here
 *
 * The policy decides from inputs alone: recorded decisions are only compared. With another policy
 * nothing can be compared; each cap that it sends is then in force REPLAY_ANSWER_NS later.
 *
 * FILE may be any bytes: what is read is bounded and checked. Of the state of a policy only that is
 * checked which could do harm (policies/state.h), so resex-lab runs a replay in a process of its
 * own.
 */
#ifndef RESEX_LAB_REPLAY_H
#define RESEX_LAB_REPLAY_H

#include <stdio.h>

#include "src/conf/policy.h"
#include "src/tick/sampler.h"

enum { REPLAY_TEXT = 512 };

#define REPLAY_ANSWER_NS (200 * NS_PER_US) /* as ENGINE_ACTOR_NS */

/* What became of the guest that has a slot, or had it last. */
struct replay_guest {
	uint64_t created; /* 0: the slot never had a guest */
	uint32_t domid;
	int64_t ns, capped_ns; /* seen; under a cap below its own */
	struct cap cap;	       /* in force last */
	uint32_t lowest;       /* percent; 0: it never had a cap */
	uint64_t caps;	       /* that came into force */
	struct spending spent;
};

/* Where the first difference is. */
struct replay_place {
	const char *record; /* "decision", "account" or "input" */
	const char *in;	    /* which has the record or the guest: "both", "trace" or "replay" */
	uint32_t domid;	    /* 0: of no guest */
	const char *member; /* NULL: of none */
	int64_t theirs, mine;
};

struct replay_file {
	FILE *f;
	uint32_t number;      /* of the next block */
	bool whole;	      /* END was read */
	struct trace_in left; /* records of the block */
	uint8_t block[TRACE_BLOCK_HEAD + TRACE_BLOCK_MAX];
};

struct replay {
	struct replay_file file;
	struct tape_conf conf;
	struct policy_inst *other; /* instead of the trace's; NULL: none */
	struct handover ho;
	struct sampler s;
	struct tape *tape; /* NULL: of another policy */
	struct tape_script script;
	struct policy_inst *policy, *policy_new; /* of the set in use; of the next */
	struct guest_set *set, *set_new;
	bool has_conf, began;	/* CONF was read; START was */
	bool over;		/* the last accounts were read: no tick follows */
	uint32_t slots;		/* SLOT records that are missing yet */
	uint64_t ticks, epochs; /* epochs that ended */
	struct replay_place place;
	struct mono now, first;
	struct replay_guest guest[FLOW_GUESTS_MAX];

	/* The next tick's. */
	int list_rc;
	uint64_t word[FLOW_GUESTS_MAX]; /* of domains, in the order of the set: src/tick/tape.h */
	struct {
		bool scanned, found;
		struct usage usage;
		struct report report;
	} in[FLOW_GUESTS_MAX]; /* by slot */

	/* Records that the trace has, and those made here: what is not compared yet. */
	uint8_t *theirs, *mine;
	size_t theirs_n, mine_n;
};

/* Begin: the head of the file, which is closed by the caller. other is taken over. */
int replay_open(struct replay **r, FILE *f, struct policy_inst *other, char why[REPLAY_TEXT]);
/*
 * Up to the end of the next tick. 1; 0: the trace has no more; -ECANCELED: not as recorded, and
 * why is the first difference; -EBADMSG: refused. why is one sentence.
 */
int replay_tick(struct replay *r, char why[REPLAY_TEXT]);
void replay_close(struct replay *r);

/* --- replay_read.c ------------------------------------------------------------- */

int replay_head(struct replay_file *f, FILE *from, char why[REPLAY_TEXT]);
/* As trace_next(); *whole is false where the file ends without END. */
int replay_next(struct replay_file *f, enum trace_kind *kind, struct trace_in *payload,
		char why[REPLAY_TEXT]);

/* --- replay_load.c: records of inputs. False: it is no such record. ------------------- */

bool replay_load_conf(struct replay *r, struct trace_in *in);
bool replay_load_policy(struct replay *r, struct trace_in *in, char why[REPLAY_TEXT]);
bool replay_load_block(struct replay *r, struct trace_in *in);
bool replay_load_set(struct replay *r, struct trace_in *in);
void replay_take_set(struct replay *r);
bool replay_load_start(struct replay *r, struct trace_in *in);
bool replay_load_slot(struct replay *r, struct trace_in *in);
/* The slots are complete, and the ledger's sums are right. */
bool replay_load_whole(const struct replay *r);
bool replay_load_tick(struct replay *r, struct trace_in *in);

/* --- replay_diff.c ---------------------------------------------------------------------- */

/* What differs in two records that are not the same; NULL: there is none. It is r->place, too. */
void replay_difference(struct replay *r, const uint8_t *theirs, const uint8_t *mine,
		       char why[REPLAY_TEXT]);

#endif
