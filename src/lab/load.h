/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load: what resex-lab(1) load runs: a SIMULATED cluster (sim/web.h) under several policies of
 * balancing. The balancers read records by shared/peers.h (load_read.h), and decide by
 * reconf/balance.h from the indexes of load/index.h, as those of a real cluster do.
 */
#ifndef RESEX_LAB_LOAD_H
#define RESEX_LAB_LOAD_H

#include "src/lab/load_read.h"
#include "src/reconf/balance.h"
#include "src/sim/web.h"

enum load_policy {
	LOAD_BY_RANDOM,
	LOAD_BY_ROUND_ROBIN,
	LOAD_BY_ULM,
	LOAD_BY_KLM,
	LOAD_BY_HV,
	/* Ablations. */
	LOAD_BY_SWAPPED,       /* KLM, but each record is shown as another node's */
	LOAD_BY_STALE_DEFAULT, /* ULM, scanned each stale_scan */
	LOAD_BY_STALE_PLAIN,   /* the same: the plain_k least loaded, however old the loads */
	LOAD_POLICIES,
};

extern const char *const load_policy_names[LOAD_POLICIES];

struct load_plan {
	struct web_conf web;	     /* sample_ns is set for each policy, from tick_ns */
	int64_t tick_ns;	     /* between two samples of a kernel or hypervisor */
	uint32_t scan;		     /* between two scans, in 1/10 of a service time */
	int64_t read_ns, write_ns;   /* as in struct load_read_conf */
	uint32_t stale_scan;	     /* the same, of the stale policies */
	struct balance_conf balance; /* service_ns is set */
	uint32_t plain_k;
	/* load_run_all() calls it before each run of one policy; NULL: nothing. */
	void (*progress)(uint32_t done, uint32_t runs);
};

struct load_run {
	struct web_result web;
	int64_t scan_ns;	    /* 0: the policy reads no loads */
	uint64_t why[BALANCE_WHYS]; /* decisions by their reason */
	uint64_t k_sum, decisions;
	struct load_read_stats read;
};

/* The plan whose numbers resex-lab(1) lists. */
void load_plan_default(struct load_plan *p);
/* So many of its nodes have 16 processes that exchange messages (section 5.3 of the paper). */
void load_plan_nodes(struct load_plan *p, uint32_t nodes);
/*
 * Its requests are a mix of kinds: "worldcup" or "rubis", which has clients that think. -ENOENT: it
 * has another name.
 */
int load_plan_mix(struct load_plan *p, const char *name);
/*
 * Two sites with documents of their own, and half of the clients each (section 5.4 of the paper).
 * alpha: in 1/1000.
 */
void load_plan_shared(struct load_plan *p, uint32_t alpha, uint32_t other_alpha);
/* Its documents are one file of 1, 4 or 16 KB, which all nodes have in memory. */
void load_plan_single(struct load_plan *p, uint32_t kb);

/*
 * Run one policy. service_ns: the mean CPU time of a request, as measured by a run of
 * LOAD_BY_RANDOM, which needs none. As web_run().
 */
int load_policy_run(const struct load_plan *p, enum load_policy policy, int64_t service_ns,
		    struct load_run *r);

/* All policies with several seeds: from plan.web.seed on. Figures are of all seeds together. */
struct load_sum {
	uint64_t tps;		   /* mean, 1/1000 a second */
	int32_t gain, least, most; /* over random choice of the same seed, 1/1000: mean, range */
	int32_t site_gain[WEB_SITES_MAX]; /* the same mean, of each site */
	uint64_t variance, latency_ns;	  /* means */
	uint64_t scan_ns, k;		  /* means; k in 1/10; 0: it reads no loads */
	uint64_t reads, torn;		  /* of load records, means */
	uint64_t why[BALANCE_WHYS];
	uint32_t intervals; /* of the first seed */
	uint32_t series[WEB_SERIES_MAX];
};

struct load_sums {
	uint32_t seeds;
	uint64_t writes;     /* part of the requests under random choice, 1/1000 */
	uint64_t service_ns; /* mean CPU time of a request */
	uint64_t used;	     /* part of all CPU time that random choice used, 1/1000 */
	uint64_t bound;	     /* load_bound() */
	struct load_sum policy[LOAD_POLICIES];
};

/* The first so many policies, LOAD_BY_RANDOM among them. As web_run(). */
int load_run_all(const struct load_plan *p, uint32_t seeds, int policies, struct load_sums *s);

/*
 * Figure 4 of the paper: one node whose only process runs and sleeps, and what is believed of it:
 * the index of the newest records that one front-end has, for each source. ULM samples each
 * sample_ns; all front-ends scan each interval_ns.
 */
enum { LOAD_POINTS_MAX = 400 };

struct load_accuracy {
	uint32_t points;
	uint32_t truth[LOAD_POINTS_MAX];	       /* of each interval, 1/1000 */
	uint32_t shown[LOAD_SOURCES][LOAD_POINTS_MAX]; /* at its end */
	uint32_t error[LOAD_SOURCES];		       /* mean of their differences, 1/1000 */
};

/* Of this plan: its seed, CPUs, tick and READs. As web_run(). */
int load_accuracy(const struct load_plan *p, struct load_accuracy *a);

/*
 * No policy can serve more than this where random choice serves random_tps: M CPUs that have a
 * queue each, and N clients, are busy for N / (N + M - 1) of the time under random choice (a closed
 * network of product form). CPUs of one node share a queue, so random choice wastes less.
 * UINT64_MAX: there is no bound. An open loop and clients that think have none. Loaded nodes have
 * none either, because random choice does not spare them.
 */
uint64_t load_bound(const struct load_plan *p, uint64_t random_tps);

#endif
