/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counter: the two update counters of one balancer, and its history T.
 *
 * The balancer of service s on host h has a *shared* counter and a *local* counter. The
 * shared one is a word of h's own region. Other balancers add 1 to it by FAA before they
 * move a node into or out of s (move.h: announcement). The local one is the shared one as
 * last read. If they differ (not "greater": 64 bits may wrap), another balancer has moved a
 * node. The load that this balancer measured is then from before that move: it copies the
 * shared counter, and its history starts again. So one high-load event makes one move.
 *
 * An announcement may be made twice or not at all, without harm. Two are read as one, or
 * delay the balancer by T twice. None at all: then no move is made either, since a move
 * awaits all its announcements. So an FAA with outcome UNKNOWN is repeated on a newer link
 * until one is DONE. Reading the counter back would not help: it does not show which host added.
 *
 * T must be longer than a lease and an operation (hold + deadline, lock.h). Otherwise a
 * balancer that was notified, and began T again, could be high again before the announced move
 * is made, and would move for the same event.
 *
 * The counter is read through the transport, as every word (host == self): the CPU never
 * reads it directly.
 */
#ifndef RESEX_RECONF_COUNTER_H
#define RESEX_RECONF_COUNTER_H

#include "resex/region_abi.h"
#include "src/reconf/step.h"

enum { COUNTER_TAGS = 256 }; /* a counter uses tags conf.tag .. conf.tag + COUNTER_TAGS - 1 */

struct counter_conf {
	uint16_t self;
	uint32_t service;
	uint32_t tag;
	uint32_t checks; /* T: so many high loads in a row; longer than a lease */
};

/* event.what of STEP_ASK */
enum counter_ask { COUNTER_LOOK };

enum counter_state {
	COUNTER_UNREAD,	 /* not read yet, or REFUSED */
	COUNTER_LOOKING, /* a READ is outstanding, or waits for a link */
	COUNTER_EQUAL,	 /* unchanged since the last read: no other balancer moved a node */
	COUNTER_AHEAD,	 /* changed, or the first read: copied, the history starts again */
};

struct counter {
	struct counter_conf conf;
	enum counter_state state;
	uint64_t local;
	bool known;	/* local was read */
	uint32_t highs; /* high loads in a row */
	bool out;	/* a READ is outstanding */
	uint32_t tag;	/* of that READ */
	bool cut;	/* wait for a link to self that is newer than link */
	uint32_t link;
};

void counter_init(struct counter *c, const struct counter_conf *conf);
/* Appends to *out. */
void counter_step(struct counter *c, const struct step_event *ev, struct mono now,
		  struct step_out *out);
enum counter_state counter_state(const struct counter *c);

/* The result of one load check. */
void counter_check(struct counter *c, bool high);
/* Was the load high for T? */
bool counter_high_for_t(const struct counter *c);
/* This balancer has moved a node: the history starts again. */
void counter_moved(struct counter *c);

#endif
