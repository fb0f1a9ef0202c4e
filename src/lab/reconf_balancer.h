/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reconf_balancer: the balancer of one service of a SIMULATED cluster, on a host of its own: a step
 * function (reconf/step.h) around those of src/reconf.
 *
 *	each S: READs of the node words and load records of all nodes
 *	all are there: decide_seen(), decide_high() -> counter_check(), decide() -> STEP_ASK
 *
 * It knows of nodes what its scans show, and nothing else.
 */
#ifndef RESEX_LAB_RECONF_BALANCER_H
#define RESEX_LAB_RECONF_BALANCER_H

#include "resex/load_abi.h"
#include "src/load/index.h"
#include "src/reconf/decide.h"
#include "src/reconf/move.h"

enum {
	RECONF_BALANCER_NODES_MAX = 32, /* each on a host of its own: node i on host i + 1 */
	RECONF_BALANCER_SERVICES_MAX = 8,
	RECONF_RESULTS = MOVE_VIEW + 1,
};

/* Of each service. */
struct reconf_service {
	uint32_t minimum, guarantee; /* nodes; a guarantee below the minimum counts as that */
	uint32_t maximum;	     /* 0: all nodes */
	uint32_t priority;
};

/* Of all balancers. */
struct reconf_rules {
	int64_t scan_ns; /* S */
	uint32_t checks; /* T */
	int64_t hold_ns, deadline_ns, check_ns;
	struct decide_conf decide;
	uint32_t high, low; /* of each service */
	struct reconf_service service[RECONF_BALANCER_SERVICES_MAX];
	uint64_t may[RECONF_BALANCER_NODES_MAX]; /* bit i: service i can be served; 0: all can */
	/*
	 * A load is of an interval that is so long, and of tasks only above 1000, as resexd(8) has
	 * it; 0: it is of the tasks of the newest record.
	 */
	int64_t window_ns;
	uint64_t observe; /* bit i: the balancer of service i asks for no move: mode observe */
	bool paper;	  /* ask without a wish: decide() has no say */
};

struct reconf_moves {
	uint64_t asked, moved, home; /* home: of these, nodes that went home */
	uint64_t result[RECONF_RESULTS], why[DECIDE_WHYS];
	/* Of those that moved a node, and made no fencing sweep: operations, by kind: sum, most. */
	uint64_t ops[STEP_FAA + 1], ops_most[STEP_FAA + 1];
	uint64_t swept; /* of moved: those with a sweep */
	uint64_t again; /* of moved: the node had come within rest_ns, and did not go home */
};

/*
 * The first move for load that a balancer made, or would make in mode observe, and the loads 5 T
 * later.
 */
struct reconf_foreseen {
	bool decided, made, seen;
	struct decide_step step;
	uint32_t taker_before, donor_before, taker_after, donor_after; /* as predicted */
	struct mono at;			 /* it was decided then; or the move had ended */
	uint32_t taker_seen, donor_seen; /* as decide_load() */
};

struct reconf_balancer {
	const struct reconf_rules *rules;
	uint32_t service, nodes, services;
	struct mono next;     /* scan */
	bool shown;	      /* a scan is over */
	uint32_t scan, waits; /* its number; READs without a result */
	uint64_t word[RECONF_BALANCER_NODES_MAX];
	struct load_record load[RECONF_BALANCER_NODES_MAX];
	bool serves[RECONF_BALANCER_NODES_MAX]; /* its service, by the newest scan */
	struct decide decide;
	struct decide_view view;
	struct move move;
	struct move_view in;
	struct lock lock[RECONF_BALANCER_SERVICES_MAX];
	struct counter counter[RECONF_BALANCER_SERVICES_MAX];
	enum decide_why asked_why;
	struct mono asked_at;
	struct mono came[RECONF_BALANCER_NODES_MAX]; /* when a scan showed its newest move */
	uint64_t ops[STEP_FAA + 1];		     /* of the current move */
	uint64_t scan_reads;
	struct load_window window[RECONF_BALANCER_NODES_MAX];
	struct reconf_foreseen foreseen;
	struct reconf_moves moves;
};

/* What is configured: share[i] nodes of service i, one service after the other. */
struct reconf_balancer_conf {
	const struct reconf_rules *rules; /* lives as long as the balancer */
	uint32_t service, nodes, services;
	const uint32_t *share, *capacity; /* of each service; of each node */
	uint16_t host, first; /* its own host, and that of the first service's balancer */
	int64_t begin_ns;     /* of the first scan */
	uint64_t seed;
};

void reconf_balancer_init(struct reconf_balancer *b, const struct reconf_balancer_conf *c);
void reconf_balancer_step(struct reconf_balancer *b, const struct step_event *ev, struct mono now,
			  struct step_out *out);
struct mono reconf_balancer_due(const struct reconf_balancer *b);

#endif
