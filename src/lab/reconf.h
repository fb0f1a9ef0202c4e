/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reconf: what resex-lab(1) reconf runs: a SIMULATED cluster (sim/web.h) whose nodes serve several
 * sites, in bursts, as in section 4.3 of Balaji et al., Exploiting Remote Memory Operations to
 * Design Efficient Reconfiguration (OSU-CISRC-7/04-TR44). Each site has a balancer on a host of its
 * own (reconf_balancer.h). Balancers move nodes by the code of src/reconf, in virtual time:
 *
 *	web.c: a node has sampled -> its host's memory (sim/words.h)
 *	each S: READs of all words and loads -> decide.h -> move.h -> words
 *	web.c: a request of a site -> a node that the newest scan of its balancer shows there
 */
#ifndef RESEX_LAB_RECONF_H
#define RESEX_LAB_RECONF_H

#include "src/lab/reconf_balancer.h"
#include "src/sim/web.h"
#include "src/sim/words.h"

enum reconf_mode {
	RECONF_RIGID, /* each site keeps its nodes */
	RECONF_OVER,  /* each site has `over` nodes, which others have, too */
	RECONF_MOVES,
	RECONF_MODES,
};

enum {
	RECONF_SERIES_MAX = 4096,
	RECONF_NODES_MAX = 32, /* the READs of a scan are one step's */
};

struct reconf_plan {
	/*
	 * Its nodes, sites, site_burst and node_cpus are of the plan. The capacity of a node is by
	 * its CPUs: 1000 for web.cpus of them.
	 */
	struct web_conf web;
	uint32_t share[WEB_SITES_MAX]; /* nodes of each site; their sum is web.nodes */
	uint32_t over;
	/*
	 * With site_burst 0: so many clients of each site send all its requests, before the warm-up
	 * is over, and then. The other clients have nothing to ask for.
	 */
	uint32_t calm[WEB_SITES_MAX], busy[WEB_SITES_MAX];
	int64_t tick_ns;	   /* between two samples of a node */
	int64_t there_ns, back_ns; /* as in struct words_conf */
	struct reconf_rules rules;
	/* reconf_point() calls it before each run; NULL: nothing. */
	void (*progress)(void *arg);
	void *progress_arg;
};

/* One run of one mode. */
struct reconf_run {
	struct web_result web;
	/* In 1/1000 a second: of whole rounds of bursts after the warm-up, or of the duration. */
	uint64_t tps;
	struct reconf_moves moves; /* of all balancers */
	uint64_t scan_reads;
	uint32_t nodes[WEB_SITES_MAX]; /* of each site, at the end of the last interval */
	/* Nodes that spent 9/10 of an interval's CPU time, of the first intervals. */
	uint32_t intervals;
	uint8_t busy[RECONF_SERIES_MAX];
	uint8_t has[RECONF_SERIES_MAX][WEB_SITES_MAX];	/* nodes of each site, at its end */
	struct reconf_foreseen foreseen[WEB_SITES_MAX]; /* of each balancer */
	int64_t changed_ns; /* of the last interval in which they changed: its end, from warm-up */
};

/* The plan whose numbers resex-lab(1) lists: four sites of two nodes. */
void reconf_plan_default(struct reconf_plan *p);
/* Its sites: so many, of these nodes. over: 0: what the paper has for them. */
void reconf_plan_shares(struct reconf_plan *p, const uint32_t *share, uint32_t sites);
/* S and T, and all times of the rules that follow from them. */
void reconf_plan_times(struct reconf_plan *p, int64_t scan_ns, uint32_t checks);

void reconf_moves_add(struct reconf_moves *sum, const struct reconf_moves *m);

/* 0; -EINVAL: out of range; -ENOMEM. */
int reconf_run(const struct reconf_plan *p, enum reconf_mode mode, struct reconf_run *r);

/* All modes with one length of bursts, and several seeds: from plan.web.seed on. */
struct reconf_point {
	uint32_t burst, seeds;
	uint64_t tps[RECONF_MODES];	  /* means, 1/1000 a second */
	uint32_t of_over, of_rigid;	  /* mean of reconf over these of the same seed, 1/1000 */
	uint32_t least_over, least_rigid; /* of one seed */
	struct reconf_moves moves;	  /* of all seeds */
	uint64_t scan_reads;		  /* of all seeds */
	uint64_t allowed;		  /* moves of all seeds but for those home: by the budget */
	uint32_t most_allowed;		  /* of one seed: such moves, 1/1000 of what is allowed */
	uint32_t intervals;		  /* of the first seed, which is shown */
	uint8_t busy[RECONF_MODES][RECONF_SERIES_MAX];
};

/* As reconf_run(). */
int reconf_point(const struct reconf_plan *p, uint32_t burst, uint32_t seeds,
		 struct reconf_point *s);

#endif
