/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schedule_priv: between schedule.c, schedule_draw.c and schedule_decide.c. */
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

/* --- schedule_draw.c ------------------------------------------------------------------ */

/* Sets up all of s but its world. */
void schedule_draw(struct schedule *s, uint64_t seed, const struct schedule_options *o);

#endif
