/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * web_priv: what the files of the SIMULATED web cluster share. web_clock.c is the clock;
 * web.c the clients and the front-ends; web_node.c the nodes; web_work.c what a request costs.
 */
#ifndef RESEX_SIM_WEB_PRIV_H
#define RESEX_SIM_WEB_PRIV_H

#include "src/sim/model.h"
#include "src/sim/web.h"

#define WEB_NOBODY UINT32_MAX

enum web_event_kind {
	WEB_NEXT,    /* of a client: its next request */
	WEB_OPEN,    /* of a front-end: the next requests of an open loop */
	WEB_ARRIVE,  /* of a job: it is at its node */
	WEB_SLICE,   /* of a node and CPU: its process has run for its time */
	WEB_ANSWER,  /* of a job: its answer is at the front-end */
	WEB_WAKE,    /* of a job: a process of the node wants a CPU again */
	WEB_TRACE,   /* of a request of the trace */
	WEB_SAMPLE,  /* of a source, on all nodes: the time of a sample */
	WEB_TIMER,   /* of the user */
	WEB_MEASURE, /* an interval of the variance is over */
};

struct web_event {
	int64_t at;
	uint64_t order; /* of two at one time, the one that was set first */
	enum web_event_kind kind;
	uint32_t a, b;
};

enum web_job_kind { WEB_REQUEST, WEB_BURNER, WEB_SAMPLER };

struct web_job {
	enum web_job_kind kind;
	uint32_t node, frontend, client, site;
	uint32_t document;
	int64_t sent_ns, left_ns;
	uint32_t next;		/* in the queue of its node, or in the free list */
	uint32_t before, after; /* under way from the same front-end */
	bool busy;		/* sampler: in the queue, or on a CPU */
};

struct web_node {
	uint32_t running[WEB_CPUS_MAX];
	int64_t since[WEB_CPUS_MAX];
	uint32_t on_cpu, queued, head, tail;
	int64_t changed_ns; /* busy and wait are up to then */
	uint64_t busy_ns, wait_ns, served;
	uint64_t measured_ns; /* busy at the last interval */
	uint32_t sampler;     /* its job */
	struct load_record page[LOAD_SOURCES];
};

struct web_cache {
	uint32_t *before, *after; /* by document; from most to least recently used */
	uint32_t newest, oldest, held;
};

struct web_work {
	uint64_t *sum;	/* by document: of the weights up to it, of its site */
	uint32_t *cost; /* by document: in 1/1024 of the mean */
	struct web_cache cache[WEB_NODES_MAX];
};

struct web {
	struct web_conf c;
	const struct web_ops *ops;
	struct web_result *res;
	struct sim_rand rand, rand_work;
	int64_t now;
	uint64_t order;
	struct web_event *heap;
	uint32_t events, room;
	struct web_job *job;
	uint32_t jobs, free;
	struct web_node node[WEB_NODES_MAX];
	uint32_t first[WEB_FRONTENDS_MAX];	    /* job under way */
	uint32_t own[WEB_SITES_MAX][WEB_NODES_MAX]; /* requests under way */
	uint64_t asked[WEB_FRONTENDS_MAX]; /* requests with bursts; those of all are the first */
	struct web_work work;
	unsigned __int128 latency_ns, demand_ns, variance;
	unsigned __int128 site_latency_ns[WEB_SITES_MAX];
	uint64_t demands, busy_ns;
	int error;
};

static inline uint32_t web_cpus(const struct web_conf *c, uint32_t node)
{
	return c->node_cpus[node] ? c->node_cpus[node] : c->cpus;
}

/* --- web_clock.c --- */
void web_at(struct web *w, int64_t at, enum web_event_kind kind, uint32_t a, uint32_t b);
struct web_event web_take(struct web *w); /* the soonest; there is one */
uint32_t web_job_new(struct web *w, enum web_job_kind kind, uint32_t node); /* WEB_NOBODY: full */

/* --- web_node.c --- */
void web_nodes_start(struct web *w);
void web_node_add(struct web *w, uint32_t job); /* it wants a CPU of its node */
void web_node_slice(struct web *w, uint32_t node, uint32_t cpu);
void web_node_advance(struct web *w, struct web_node *n); /* its times, up to now */
void web_sample_all(struct web *w, enum load_source source);
void web_publish(struct web *w, uint32_t node, enum load_source source);
void web_measure(struct web *w); /* an interval is over */

/* --- web_work.c --- */
int web_work_open(struct web *w);
void web_work_close(struct web *w);
uint32_t web_document(struct web *w, uint32_t site); /* the next one that is asked for */
/* CPU time for it on this node, whose cache now holds it. */
int64_t web_demand(struct web *w, uint32_t node, uint32_t document);

#endif
