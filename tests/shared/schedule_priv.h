/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schedule_priv: between schedule.c, schedule_decide.c, schedule_draw.c and schedule_nodes.c. */
#ifndef RESEX_TESTS_SCHEDULE_PRIV_H
#define RESEX_TESTS_SCHEDULE_PRIV_H

#include "tests/shared/schedule.h"

enum {
	CHECK_NS = 20 * NS_PER_MS, /* S */
	CHECKS = 3,		   /* T */
	HOLD_NS = 60 * NS_PER_MS,
	DEADLINE_NS = 10 * NS_PER_MS,
	HIGH = 90,
	LOW = 20,
	MIDDLE = 50, /* never a donor of a service without high load; a worse donor than LOW */
};

enum {
	TIMER_HIGH = 0x100, /* + service's index */
	TIMER_LOW = 0x200,  /* + index + 16 * event */
	TIMER_VICTIM = 0x300,
	TIMER_TROUBLE = 0x400,
	TIMER_HEAL = 0x500,
	TIMER_DUE = 0x600,  /* the same: the high load must have made a move */
	TIMER_COME = 0x700, /* + host */
	TIMER_OPERATOR = 0x800,
	TIMER_DURABLE = 0x900, /* + host: what it saves is on disk */
	TIMER_SAVED = 0xa00,   /* + host: and it is told */
	TIMER_RESTART = 0xb00, /* + host */
};

static inline int64_t between(struct schedule *s, int64_t lo, int64_t hi)
{
	return world_between(&s->w, lo, hi);
}

static inline bool one_in(struct schedule *s, uint32_t n)
{
	return world_random(&s->w) % n == 0;
}

static inline uint16_t id_of(uint32_t service)
{
	return (uint16_t)(service + 1);
}

/* In these kinds one holder dies, and nothing else fails. */
static inline bool has_death(const struct schedule *s)
{
	return s->kind == SCHEDULE_DEATH || s->kind == SCHEDULE_NEWCOMERS;
}

/* --- schedule_decide.c: kind DECIDES ------------------------------------------------- */

/* With the nodes and services of s. */
void decide_draw(struct schedule *s);
void decide_boot(struct schedule *s, struct schedule_host *h, struct mono now);
/* A check of h, which has scanned all nodes. */
void decide_check(struct schedule *s, struct schedule_host *h, struct mono now,
		  struct step_out *out);
/* The load that now rises must make a move. */
void decide_last(struct schedule *s);

static inline void schedule_record(struct schedule *s, struct history_record r)
{
	r.t = s->w.now;
	if (r.host)
		r.boot = s->w.host[r.host].boot;
	history_add(&s->h, &r);
}

/* --- schedule_nodes.c ------------------------------------------------------------------- */

/* The words with which a host begins: those of its disk, if it has not lost them. */
void schedule_begin_words(struct schedule *s, uint16_t host);
/*
 * After each step of the host's keep: save the words that it asks for, if no save is under way.
 * Later they are durable, and keep is notified.
 */
void schedule_await_saved(struct schedule *s, uint16_t host);
void schedule_durable(struct schedule *s, uint16_t host);
void schedule_saved(struct schedule *s, uint16_t host);
/* h has read node i. */
void schedule_see_node(struct schedule *s, struct schedule_host *h, uint32_t i, struct mono now);
/* Has h begun to adopt a node? */
bool schedule_adopt(struct schedule *s, struct schedule_host *h, struct mono now,
		    struct step_out *out);

/* --- schedule_draw.c -------------------------------------------------------------------- */

/* Sets up all of s but its world. */
void schedule_draw(struct schedule *s, uint64_t seed, const struct schedule_options *o);

#endif
