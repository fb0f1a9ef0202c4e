/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * balance: to which nodes a balancer sends requests: weights from what each node carries. Pure:
 * times are arguments, and all is integers.
 *
 *	load records -> load/index.h -> balance -> weights, and why
 *
 * The k least loaded nodes get requests, so that not all balancers rush to one (section 3.1 of
 * Vaidyanathan et al., Accurate Load Monitoring, OSU-CISRC-7/05-TR49; the paper gives no k). Loads
 * are worth less the older they are (its section 5.6); loads that are many service times old are
 * worse than none. So k follows from them:
 *
 *	load  = (tasks of the record + own requests under way that it does not hold) / cpus; of a
 *		record without tasks at least all own requests under way / cpus
 *	came  = cpus of all nodes x age / service time + 1: requests since the record, at most
 *	level = where the loads are after these requests went to the lowest
 *	k     = nodes whose load is below the level; weight ~ cpus x (level - load)
 *
 * Fresh loads give k = 1 or the nodes that are equally loaded. As the age grows, the level rises, k
 * grows and weights become equal. Beyond a limit all are equal at once. "Equal" is equal for each
 * CPU.
 */
#ifndef RESEX_RECONF_BALANCE_H
#define RESEX_RECONF_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	BALANCE_NODES_MAX = 256,
	BALANCE_WEIGHT_MAX = 256, /* of HAProxy */
	BALANCE_CPUS_MAX = 1024,
	BALANCE_LOAD_MAX = 1000000, /* tasks; more count as this */
};

/* What is known of one node. All may come from a hostile record: what is out of range is cut. */
struct balance_node {
	bool known;	    /* there is a record; else only own and cpus count */
	uint32_t index;	    /* load_window_index(), 1/1000 */
	bool queue;	    /* the source sees the run queue: running counts, and not the index */
	uint32_t running;   /* tasks that run or are runnable, 1/1000 */
	uint32_t own;	    /* this balancer's requests under way that the record does not hold */
	uint32_t under_way; /* all of them: where the run queue is not seen, at least these wait */
	uint32_t cpus;	    /* 0 counts as 1 */
	bool contradicted;  /* by the hypervisor: it counts as loaded more than all others */
	int64_t age_ns;	    /* of the record; below 0 counts as 0 */
};

struct balance_conf {
	uint32_t k;	    /* 0: by age, as above; else so many, and those equal to the last */
	bool plain;	    /* ablation: own requests and stale_ns do not count; k is given */
	int64_t service_ns; /* mean CPU time of a request; 0: not known, the age does not count */
	int64_t stale_ns;   /* an older record does not count */
	uint32_t keep;	    /* hysteresis: a weight above 0 moves by more than this, or to 0 */
};

enum balance_why {
	BALANCE_GIVEN, /* k is given */
	BALANCE_FRESH, /* k is what it is for loads of age 0 */
	BALANCE_GROWN, /* k is more, because of the age */
	BALANCE_OLD,   /* the age makes all weights nearly the same: all are equal */
	BALANCE_STALE, /* half of the records or more are missing or stale: all are equal */
	BALANCE_WHYS,
};

struct balance {
	uint32_t nodes;
	/* 0 .. BALANCE_WEIGHT_MAX. The greatest is not below BALANCE_WEIGHT_MAX - keep, nor 0. */
	uint16_t weight[BALANCE_NODES_MAX];
	uint32_t k;	/* nodes with a weight */
	int64_t age_ns; /* of the oldest record that counts; 0: none counts */
	enum balance_why why;
};

/*
 * Decide the weights of n nodes, 1 .. BALANCE_NODES_MAX. b holds the decision before, for
 * hysteresis; zeros, or one of another number of nodes: there is none. A node whose record does not
 * count takes the mean of the others. -EINVAL: n is out of range; b is as before.
 */
int balance_decide(struct balance *b, const struct balance_conf *c, const struct balance_node *node,
		   uint32_t n);

/* The reason as a sentence, without a full stop. */
const char *balance_why_text(enum balance_why why);

#endif
