/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decide: whether a service should get a node now, which one, and why. Pure: times are arguments,
 * and all is integers.
 *
 *	scan -> decide_seen() -> history -+
 *	loads, services ------------------+-> decide() -> plan -> move.h, as a wish
 *
 * The papers move a node when a service's load was high for T, and take the least loaded node of a
 * lightly loaded service (Balaji et al., Exploiting Remote Memory Operations to Design Efficient
 * Reconfiguration, OSU-CISRC-7/04-TR44, 3.1.2, 3.1.3). With that alone, equally loaded services
 * pass nodes to and fro. So a move for load needs all of these; each can be left out (decide_rule):
 *
 *	LOW		the donor's load is below its `low`
 *	GAIN		the donor's load after the move is below the taker's before, by margin:
 *				Wd / (Cd - c) x (1 + margin) <= Wt / Ct
 *			W: sum of load x capacity of a service's nodes; C: sum of their capacities;
 *			c: capacity of the node. While the work stays, this cannot hold for the
 *			move back. Nodes of unknown load have the mean of the others. A service
 *			without nodes has more load than any other; a donor gives its last node
 *			only when that has no load
 *	REST		the node was not moved within `rest`
 *	BUDGET		the taker's token bucket has a token: `budget` of them come in budget_ns,
 *			and it holds no more
 *	REVERSAL	a service that gave a node within `rest` and takes one again is a reversal.
 *			DECIDE_REVERSALS of them within `freeze` freeze moves for load, for
 *			`freeze`, then twice as long each time, at most DECIDE_FREEZE_MAX times.
 *			If the first of them came `rest` after the end of the freeze before, or
 *			later, it is `freeze` again.
 *			Nodes that change services during a freeze are no reversals
 *	HOME		while moves are frozen, nodes go home: from services above their share to
 *			services below theirs; of the one furthest above first a node whose home is
 *			the taker, then one whose home is elsewhere, too, then the least loaded. A
 *			service that has its share then takes its own nodes, the largest first,
 *			while it has nodes of other homes and other capacity, which may go to the
 *			donor in turn. Loads do not count, nor do REST and BUDGET
 *	BACKOFF		a service that found no donor asks again after 1, 2, 4 .. DECIDE_BACKOFF_MAX
 *			times check_ns. A move ends that, and so does a load that is not high
 *	CAPACITY	nodes are weighed by their capacity; without it all count as 1000
 *
 * The papers name quality of service as future work. Here a service has a priority:
 *
 *	minimum		no donor gives one of its last `minimum` nodes to anybody
 *	guarantee	a donor gives a node at or below it only to a service of higher priority.
 *			A service whose load was high for T and that has less than its guarantee
 *			needs no LOW and no GAIN: it takes from a service above its own guarantee
 *	priority	a service of higher priority needs no LOW and no GAIN against a lower one
 *			either (it preempts), but does need BUDGET and REST
 *	maximum		a taker at its maximum takes none
 *
 * The donor is the one of lowest load against which LOW and GAIN hold; if there is none, one that
 * owes the taker a node, then one of the lowest priority. It gives its least loaded free node.
 *
 * A node serves only services of its `may`. If no node of a donor may serve the taker, a chain is
 * looked for (the rule CHAIN): A gives to B, and B to C, at most DECIDE_STEPS_MAX steps, in this
 * order, so that each service keeps its minimum after each step. All rules hold for each step, LOW
 * and GAIN too, whatever C is owed and its priority is: A and B could each give to C, B when it has
 * the node that it gets. B is below its maximum, and no load becomes high. After the chain, the
 * most loaded of A and B must have less load than the donor of the best single move, by margin.
 * Only the first step is to be made: then decide() is asked again, and B is a donor like any other.
 */
#ifndef RESEX_RECONF_DECIDE_H
#define RESEX_RECONF_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/core/units.h"

enum {
	DECIDE_SERVICES_MAX = 64,
	DECIDE_NODES_MAX = 512,
	DECIDE_STEPS_MAX = 3,
	DECIDE_REVERSALS = 4,
	DECIDE_FREEZE_MAX = 16,
	DECIDE_BACKOFF_MAX = 64,
	DECIDE_PRIORITY_MAX = 7,
	DECIDE_LOAD_MAX = 1000000,    /* of one node; more counts as this */
	DECIDE_CAPACITY_MAX = 100000, /* 1/1000; 0 counts as 1000 */
	DECIDE_NO_SERVICE = 0xffff,
};

enum decide_rule {
	DECIDE_LOW = 1u << 0,
	DECIDE_GAIN = 1u << 1,
	DECIDE_REST = 1u << 2,
	DECIDE_BUDGET = 1u << 3,
	DECIDE_REVERSAL = 1u << 4,
	DECIDE_HOME = 1u << 5,
	DECIDE_BACKOFF = 1u << 6,
	DECIDE_CAPACITY = 1u << 7,
	DECIDE_CHAIN = 1u << 8,
	DECIDE_RULES = (1u << 9) - 1,
};

struct decide_node {
	uint16_t service;  /* index; DECIDE_NO_SERVICE: none, or not known */
	uint16_t home;	   /* the service that it is configured for; or DECIDE_NO_SERVICE */
	bool alive;	   /* may be counted and moved */
	bool fixed;	   /* the operator wants it to stay */
	bool pending;	   /* its last move is not carried out everywhere: it is not moved */
	bool known;	   /* there is a load that is not stale */
	uint32_t load;	   /* 1/1000: 1000: all CPUs busy, nothing waits */
	uint32_t capacity; /* 1/1000 of a usual node */
	uint64_t may;	   /* bit i: it can serve service i */
};

struct decide_service {
	uint32_t minimum, guarantee, share, maximum; /* nodes; minimum <= guarantee <= maximum */
	uint32_t priority;			     /* 0 .. DECIDE_PRIORITY_MAX, higher is more */
	uint32_t high, low;			     /* 1/1000, low < high */
};

/* What the newest scan showed. */
struct decide_view {
	uint32_t nodes, services; /* up to the limits above */
	struct decide_node node[DECIDE_NODES_MAX];
	struct decide_service service[DECIDE_SERVICES_MAX];
};

struct decide_conf {
	uint32_t off;	 /* of enum decide_rule: left out, for ablation */
	uint32_t margin; /* 1/1000 */
	int64_t rest_ns, freeze_ns, check_ns;
	uint32_t budget; /* moves in budget_ns, > 0 */
	int64_t budget_ns;
};

/* Of one balancer host. Its owner zeroes nothing by hand: decide_init(). */
struct decide {
	struct decide_conf conf;
	struct decide_past_service {
		bool gave, back_off;
		struct mono gave_at; /* the newest node that went */
		int64_t tokens_ns;   /* budget_ns / budget of them are one token */
		struct mono filled;
		struct mono again; /* back_off: not before */
		uint32_t waits;	   /* checks of the newest back-off */
	} service[DECIDE_SERVICES_MAX];
	struct decide_past_node {
		uint16_t service;
		bool moved;
		struct mono moved_at;
	} node[DECIDE_NODES_MAX];
	struct mono reversal[DECIDE_REVERSALS]; /* the newest ones, a ring */
	uint32_t reversals;			/* since the newest freeze */
	bool frozen_once;
	struct mono frozen_until;
	uint32_t freeze; /* times freeze_ns, of the newest freeze */
};

enum decide_why {
	DECIDE_MOVE,	      /* high for T, and all rules hold */
	DECIDE_MOVE_OWED,     /* below its guarantee */
	DECIDE_MOVE_PREEMPTS, /* from a lower priority */
	DECIDE_MOVE_CHAIN,    /* the first step of several */
	DECIDE_MOVE_HOME,     /* moves are frozen: a node goes home */
	/* No move: */
	DECIDE_CALM,	   /* the load was not high for T */
	DECIDE_UNKNOWN,	   /* half of the nodes' loads or more are missing or stale */
	DECIDE_FROZEN,	   /* too many reversals */
	DECIDE_AT_MAXIMUM, /* the service has its maximum */
	DECIDE_OVER_BUDGET,
	DECIDE_BACKS_OFF, /* it found no donor a short time ago */
	/* The nearest of all donors, in this order; each of these backs off: */
	DECIDE_NO_SPARE,   /* every other service is at its minimum */
	DECIDE_GUARANTEED, /* those above it are at their guarantee, and not of lower priority */
	DECIDE_NONE_LOW,   /* no service with nodes to spare has a load that is known and low */
	DECIDE_MAY_NOT,	   /* none of their nodes may serve it, and there is no chain */
	DECIDE_STUCK,	   /* those that may are fixed, or their last move is pending */
	DECIDE_RESTS,	   /* those that could go were moved a short time ago */
	DECIDE_NO_GAIN,	   /* no node would make the donor less loaded than the taker by margin */
	DECIDE_WHYS,
};

struct decide_plan {
	enum decide_why why;
	uint32_t steps; /* 0: no move */
	struct decide_step {
		uint16_t taker, donor, node; /* indexes */
	} step[DECIDE_STEPS_MAX];
	/*
	 * Of a move: the donor of step[0], and the loads before and after all steps. Of no move:
	 * donor is the service that came nearest, DECIDE_NO_SERVICE: there is none; and after is
	 * what the move would have brought, if predicted. In 1/1000, UINT32_MAX as of
	 * decide_load().
	 */
	uint16_t donor;
	bool predicted; /* else both after are 0 */
	uint32_t taker_before, donor_before, taker_after, donor_after;
	int64_t wait_ns; /* FROZEN, OVER_BUDGET, BACKS_OFF, RESTS: for how long yet */
};

void decide_init(struct decide *d, const struct decide_conf *c);
/*
 * A scan has ended. A node that has another service than in the scan before was moved; it does not
 * matter by which host. The first scan only notes the services. Nodes and services keep their
 * indexes from scan to scan. When the configuration changes, begin anew with decide_init().
 */
void decide_seen(struct decide *d, const struct decide_view *v, struct mono now);
/*
 * Should service get a node? high: its load was high for T. 0 with *p; -EINVAL: v or service is
 * out of range. Changes nothing: call decide_asked() with the plan that is carried out. While moves
 * are frozen, ask for each service, also if its load is not high: HOME.
 */
int decide(const struct decide *d, const struct decide_view *v, uint32_t service, bool high,
	   struct mono now, struct decide_plan *p);
/*
 * p was decided for service and is carried out, or was no move: takes a token (not to go home), or
 * backs off.
 */
void decide_asked(struct decide *d, uint32_t service, const struct decide_plan *p, struct mono now);

/* Mean load of a service, 1/1000, weighed by capacity. UINT32_MAX: no nodes, or no known loads. */
uint32_t decide_load(const struct decide *d, const struct decide_view *v, uint32_t service);
/* One check: is its load known, and high? A service without nodes is. */
bool decide_high(const struct decide *d, const struct decide_view *v, uint32_t service);
/* A sentence without a full stop. */
const char *decide_why_text(enum decide_why why);
/* What comes when wait_ns is over, to be followed by "in" and that time; "": nothing does. */
const char *decide_wait_text(enum decide_why why);
static inline bool decide_is_move(enum decide_why why)
{
	return why <= DECIDE_MOVE_HOME;
}

#endif
