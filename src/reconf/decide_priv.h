/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decide_priv: what the files of decide.h share:
 *
 *	decide.c	a single move, or the reason why not
 *	decide_chain.c	a move over other services
 *	decide_home.c	a move while moves for load are frozen
 *	decide_rules.c	loads, and what each rule goes by
 *	decide_past.c	what was moved before: rest, budget, reversals, back-off
 */
#ifndef RESEX_RECONF_DECIDE_PRIV_H
#define RESEX_RECONF_DECIDE_PRIV_H

#include "src/reconf/decide.h"

/* The nodes of a service that may be counted. */
struct decide_sum {
	uint32_t nodes, known;
	uint64_t capacity; /* of all, 1/1000 */
	uint64_t work;	   /* sum of load x capacity; nodes without a known load have the mean */
	uint32_t load;	   /* work / capacity; UINT32_MAX: there are no nodes, or no known loads */
};

static inline bool decide_on(const struct decide *d, enum decide_rule rule)
{
	return !(d->conf.off & rule);
}

/* Of two reasons of no move, which comes nearer to a move? */
static inline bool decide_nearer(enum decide_why a, enum decide_why b)
{
	return a > b;
}

static inline bool decide_counts(const struct decide_node *n, const struct decide_view *v)
{
	return n->alive && n->service < v->services;
}

/* Of half of the nodes or more the load is not known. */
static inline bool decide_unknown(const struct decide_sum *s)
{
	return s->known * 2 <= s->nodes && s->nodes;
}

uint64_t decide_capacity(const struct decide *d, const struct decide_node *n);
/* For a choice among nodes: one whose load is not known comes last. */
uint64_t decide_node_load(const struct decide_node *n);
void decide_sums(const struct decide *d, const struct decide_view *v,
		 struct decide_sum sum[static DECIDE_SERVICES_MAX]);
/*
 * The load of a service that gets or gives so much capacity. UINT32_MAX: nothing is left for its
 * load, or its load is not known.
 */
uint32_t decide_load_after(const struct decide_sum *s, int64_t capacity);
/* Is a load below another one by margin, or does the rule GAIN not count? */
bool decide_gains(const struct decide *d, uint32_t below, uint32_t load);

/* What a decision is made with. */
struct decide_case {
	const struct decide *d;
	const struct decide_view *v;
	uint32_t taker;
	struct mono now;
	struct decide_sum sum[DECIDE_SERVICES_MAX];
};

/*
 * Does a donor with so many nodes have one to spare for a service: by its minimum, and by guarantee
 * and priorities? DECIDE_MOVE, or DECIDE_NO_SPARE or DECIDE_GUARANTEED.
 */
enum decide_why decide_spares(const struct decide_case *c, uint32_t donor, uint32_t nodes,
			      uint32_t to);
/* Is the load of a service known, and low, if the rule LOW counts? */
bool decide_is_low(const struct decide_case *c, uint32_t service);
/* May the node go to a service now? DECIDE_MOVE, or DECIDE_MAY_NOT, DECIDE_STUCK, DECIDE_RESTS. */
enum decide_why decide_goes(const struct decide_case *c, uint32_t node, uint32_t to);

/*
 * Find a chain of two or more steps that gives the taker a node. True with *p: it is found.
 * single: the donor's load after the best single move; UINT32_MAX: no single move is possible.
 * A chain must be better than single by margin: it is compared by the highest load that it leaves
 * to its donor and to the services on its way.
 */
bool decide_chain(const struct decide_case *c, uint32_t single, struct decide_plan *p);

/* Find a node that goes home to the taker. True with the step in *p: it is found. */
bool decide_home(const struct decide_case *c, struct decide_plan *p);

/* --- decide_past.c ------------------------------------------------------------------------- */

/* For how long yet; 0: no longer. */
int64_t decide_rests(const struct decide *d, uint32_t node, struct mono now);
int64_t decide_frozen(const struct decide *d, struct mono now);
int64_t decide_backs_off(const struct decide *d, uint32_t service, struct mono now);
int64_t decide_over_budget(const struct decide *d, uint32_t service, struct mono now);

#endif
