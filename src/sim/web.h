/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * web: a SIMULATED cluster of web servers behind front-ends, as in section 5 of Vaidyanathan et
 * al., Accurate Load Monitoring (OSU-CISRC-7/05-TR49). It knows no policy: it asks for a node for
 * each request, and the throughput follows from demands, queues and CPUs.
 *
 *	client -> front-end: choose() -> network -> node: queue, CPU -> network -> client
 *	node: a load record each sample_ns -> sampled()
 *
 * Records are sampled by a process that waits for a CPU of the node like all others (LOAD_ULM), or
 * by a tick (LOAD_KLM, LOAD_HV). How front-ends come to know them is the user's matter: he sets
 * timers for it (web_timer). All follows from the seed.
 */
#ifndef RESEX_SIM_WEB_H
#define RESEX_SIM_WEB_H

#include <stdbool.h>

#include "resex/load_abi.h"
#include "src/core/units.h"

enum {
	WEB_NODES_MAX = 64,
	WEB_CPUS_MAX = 64,
	WEB_FRONTENDS_MAX = 64,
	WEB_CLIENTS_MAX = 4096,
	WEB_DOCUMENTS_MAX = 16384,
	WEB_KINDS_MAX = 64,
	WEB_JOBS_MAX = 65536, /* under way at once; more are refused */
	WEB_SERIES_MAX = 4096,
	WEB_SITES_MAX = 8,
	WEB_ARRIVALS_MAX = 1000000,
};

#define WEB_NO_SITE UINT32_MAX

/* Times are in ns, 0 .. WEB_NS_MAX. */
#define WEB_NS_MAX (3600 * NS_PER_S)

/* A kind of request, for a mix of them instead of documents. */
struct web_kind {
	const char *name;
	uint32_t weight; /* it is asked for so often, 1 .. 1000000 */
	int64_t cpu_ns;	 /* mean CPU time, exponential, 1 .. NS_PER_S */
	bool writes;
};

/* A request of a recorded trace. */
struct web_arrival {
	int64_t at_ns;	/* 0 .. WEB_NS_MAX, not before the one before it */
	int64_t cpu_ns; /* CPU time, 1 .. WEB_NS_MAX */
};

struct web_conf {
	uint64_t seed;
	uint32_t nodes, cpus;		   /* CPUs of each node, */
	uint32_t node_cpus[WEB_NODES_MAX]; /* but of those that are not 0 here */
	uint32_t frontends;
	uint32_t clients;   /* of all front-ends, closed loop: one request each; 0: open loop */
	uint64_t rate;	    /* open loop: requests a second */
	uint32_t burst;	    /* open loop: requests that come at once */
	int64_t think_ns;   /* closed loop: mean, exponential */
	int64_t network_ns; /* one way, of a request and of its answer */
	int64_t slice_ns; /* processes of a node take turns after it; 0: first come, first served */
	int64_t warmup_ns, duration_ns; /* only the duration is measured */
	int64_t interval_ns;		/* of one figure of the variance */
	/*
	 * Documents: the i-th is asked for with a weight of 1 / i^alpha. Each site has so many of
	 * its own; of the clients of a front-end, each site has one after the other. With bursts,
	 * clients have no site: so many requests of all clients are for one site, one after the
	 * other, then as many for the next site.
	 */
	uint32_t sites;		       /* 0 counts as 1; more: closed loop alone */
	uint32_t site_burst;	       /* closed loop: requests of a burst; 0: no bursts */
	bool bursts_apart;	       /* each front-end has bursts of its own */
	uint32_t documents;	       /* of each site */
	uint32_t alpha[WEB_SITES_MAX]; /* in 1/1000 */
	uint32_t cached;	       /* in the cache of a node, least recently used go */
	int64_t miss_ns, hit_ns;       /* mean CPU time of a document */
	uint32_t spread; /* CPU time of documents: 0: the mean; 1: exponential around it */
	const struct web_kind *kind; /* a mix: documents and what follows do not count */
	uint32_t kinds;		     /* 1 .. WEB_KINDS_MAX; 0: documents */
	/* A trace: its requests, and no others. Front-ends get one after the other. */
	const struct web_arrival *arrival;
	uint32_t arrivals; /* 1 .. WEB_ARRIVALS_MAX; 0: no trace */
	/* Other processes, on the first nodes: each runs for run_ns, then sleeps for sleep_ns. */
	uint32_t loaded_nodes, burners;
	int64_t run_ns, sleep_ns;
	/* They, and the process of LOAD_ULM, wait before requests when they wake; else behind. */
	bool wake_first;
	int64_t sample_ns
		[LOAD_SOURCES]; /* between two samples of each source; 0: it is not there */
	int64_t sample_cpu_ns;	/* LOAD_ULM: CPU time of one */
};

struct web;

struct web_ops {
	void *arg;
	/* The node, below nodes, of the next request of this front-end, which is for this site. */
	uint32_t (*choose)(void *arg, const struct web *w, uint32_t frontend, uint32_t site,
			   int64_t now);
	/* The rest may be NULL. */
	/*
	 * Closed loop: the site of the next request of a client, instead of those of sites and
	 * site_burst. WEB_NO_SITE: it has none; it is asked again at *until, which is not over.
	 */
	uint32_t (*site)(void *arg, uint32_t client, int64_t now, int64_t *until);
	void (*begin)(void *arg, struct web *w); /* nothing has happened yet */
	/* A source of the node has a new record. */
	void (*sampled)(void *arg, uint32_t node, const struct load_record *r);
	/* The time of web_timer(). */
	void (*timer)(void *arg, struct web *w, uint32_t what, uint32_t of, int64_t now);
	/* An interval is over, in which each node spent this part of its CPU time, 1/1000. */
	void (*interval)(void *arg, const uint64_t *part, int64_t now);
};

struct web_result {
	uint64_t sent, served, refused, under_way; /* in all; sent is the sum of the others */
	uint64_t writes;			   /* of those sent */
	uint64_t measured;			   /* requests served in the duration */
	uint64_t tps;				   /* of these, in 1/1000 a second */
	uint64_t latency_ns;			   /* their mean */
	uint64_t demand_ns;			   /* mean CPU time of a request */
	uint64_t busy_ns, cpu_ns; /* in the duration: CPU time of all processes; that there was */
	/*
	 * Figure 8: of each interval the variance, over the nodes, of the part of its CPU time that
	 * a node spent, in 1/1000; and the mean of these.
	 */
	uint64_t variance;
	uint32_t intervals;
	uint32_t series[WEB_SERIES_MAX]; /* of the first intervals */
	uint64_t by_node[WEB_NODES_MAX]; /* requests served in the duration */
	uint64_t by_site[WEB_SITES_MAX];
	uint64_t site_latency_ns[WEB_SITES_MAX]; /* the mean of each site */
};

/* Requests of this front-end to this node that are under way, and were sent after the time. */
uint32_t web_own(const struct web *w, uint32_t frontend, uint32_t node, int64_t after_ns);
/* Requests for this site to this node that are under way. */
uint32_t web_site_own(const struct web *w, uint32_t site, uint32_t node);

/* Call timer() with what and of at this time, which is not over. */
void web_timer(struct web *w, int64_t at, uint32_t what, uint32_t of);

/*
 * Run the cluster from nothing to its end. 0; -EINVAL: c is out of range, or choose() gave a node
 * that is not there; -ENOMEM.
 */
int web_run(const struct web_conf *c, const struct web_ops *ops, struct web_result *res);

#endif
