/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counter: the dual update counters of one balancer, and its history T.
 *
 * The balancer of service s on host h has a *shared* counter, a word of h's own
 * region that others raise by FAA when they moved a node into or out of s (move.h:
 * announcement), and a *local* one: the shared one as it was last noted. Different
 * (not "more": 64 bits may wrap): somebody moved. Then the load that was seen is
 * of before that move: the shared one is copied and the history starts again. So
 * one high-load event makes one move.
 *
 * An announcement may be made twice or not at all, without harm: two raises are
 * noted as one or delay the balancer twice by T; none at all happens only where no
 * move is made either, for all are awaited before the move. So an FAA whose
 * outcome is UNKNOWN is repeated on a newer link until one is DONE: no reading
 * back, which could not tell who added.
 *
 * T must outlast a lease and an operation (hold + deadline, lock.h): else one who
 * was told, and began T again, could be high once more before the move that it was
 * told of is made, and would move for the same event.
 *
 * The word is read through the transport like any other (host == self): the CPU
 * never touches it.
 */
#ifndef RESEX_RECONF_COUNTER_H
#define RESEX_RECONF_COUNTER_H

#include "resex/region_abi.h"
#include "src/reconf/step.h"

enum { COUNTER_TAGS = 256 }; /* tags conf.tag .. conf.tag + COUNTER_TAGS - 1 are its own */

struct counter_conf {
	uint16_t self;
	uint32_t service;
	uint32_t tag;
	uint32_t checks; /* high loads in a row that make T, which outlasts a lease */
};

/* event.what of STEP_ASK */
enum counter_ask { COUNTER_LOOK };

enum counter_state {
	COUNTER_NONE,	 /* not looked yet, or REFUSED */
	COUNTER_LOOKING, /* a READ is under way, or waits for a link */
	COUNTER_EQUAL,	 /* nobody moved since it was last noted */
	COUNTER_AHEAD,	 /* somebody did (or: first look): copied, the history starts again */
};

struct counter {
	struct counter_conf conf;
	enum counter_state state;
	uint64_t local;
	bool known;	/* local was read */
	uint32_t highs; /* in a row */
	bool out;	/* a READ is outstanding */
	uint32_t tag;	/* its */
	bool cut;	/* wait for a link to self newer than */
	uint32_t link;
};

void counter_init(struct counter *c, const struct counter_conf *conf);
/* Appends to *out. */
void counter_step(struct counter *c, const struct step_event *ev, struct mono now,
		  struct step_out *out);
enum counter_state counter_state(const struct counter *c);

/* The load of one check. */
void counter_check(struct counter *c, bool high);
/* It was high for T. */
bool counter_high_for_t(const struct counter *c);
/* Own move made: the history starts again. */
void counter_moved(struct counter *c);

#endif
