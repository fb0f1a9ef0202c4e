/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record: the figures of a run, kept while it runs; summary.h prints them.
 *
 * Figures that the daemon saw come from its snapshots. True figures come from the
 * simulator, which the daemon cannot read.
 */
#ifndef RESEX_LAB_RECORD_H
#define RESEX_LAB_RECORD_H

#include <pthread.h>

#include "src/guests/guests.h"
#include "src/lab/scenario.h"
#include "src/util/hist.h"

/* --- a figure over time --- */

struct held {
	uint64_t v;
	int64_t ns;
};

/* Values, and how long the figure had each; neighbours differ. */
struct held_list {
	struct held *at;
	size_t n, size;
};

int held_add(struct held_list *l, uint64_t v, int64_t ns); /* 0 or -ENOMEM */
/* Sort by value, as held_quantile() needs; the order of time is lost. */
void held_sort(struct held_list *l);
/* The least value v for which the figure was <= v for permille of the time. 0 if empty. */
uint64_t held_quantile(const struct held_list *l, uint32_t permille);
int64_t held_time(const struct held_list *l);

/* --- a run --- */

/* One step of a series. */
struct record_step {
	struct cap cap; /* at its end */
	uint32_t rate_q16;
	struct resos balance;	  /* at its end */
	bool present;		  /* the guest was in the snapshot */
	uint64_t mtus;		  /* counted in it */
	uint64_t seen_n, seen_ns; /* reported latencies that the daemon read in it, and their sum */
	uint64_t n, sum_ns;	  /* true latencies of requests answered in it */
};

/* What really happened to a guest. */
struct record_truth {
	struct sim_truth all;
	struct sim_app_truth app[SIM_APPS_MAX]; /* its latencies are in record_guest.app */
};

struct record_guest {
	uint64_t created; /* guest_key.created of this life; 0: not seen yet */
	uint32_t lives, domid;
	struct usage usage, usage_before; /* of this life, and of all earlier ones */
	struct spending money, money_before;
	uint64_t cap_changes, cap_changes_before;
	struct window reports, reports_before; /* whole latencies, as reported */
	uint64_t reports_lost, reports_lost_before;
	struct cap cap, lowest; /* in the last snapshot, and the lowest of all */
	struct resos balance;
	uint32_t rate_q16;
	struct held_list caps, rates; /* percent (none: 100 x VCPUs), q16 */
	int64_t uncapped_ns;
	bool diverged;			/* the cross-check found more sent than claimed */
	int64_t diverged_ns;		/* when it first did, from the start of the run */
	struct record_truth before;	/* of earlier lives */
	struct hist *app[SIM_APPS_MAX]; /* true latencies of servers; NULL: not a server */
	uint64_t step_n, step_sum;	/* of the step that is under way */
	uint64_t step_mtus;		/* total at the start of that step */
	uint64_t step_seen, step_seen_ns;
	struct record_step *step;
};

struct recorder {
	pthread_mutex_t lock; /* on the real clock another thread calls record_request */
	const struct scenario *sc;
	struct sim_host *host;
	struct mono start, last;
	uint32_t guests, steps, steps_max;
	uint64_t ticks, late_ticks, epoch;
	int rc; /* the first error: -ENOMEM */
	struct record_guest guest[SIM_GUESTS_MAX];
};

/* 0 or -ENOMEM. A recorder is too large for the stack. Call record_close also after an error. */
int record_open(struct recorder *r, const struct scenario *sc, struct sim_host *h,
		struct mono start);
void record_close(struct recorder *r);

/* A sim_request_fn: one request was answered. arg is the recorder. */
void record_request(void *arg, uint32_t guest, uint32_t app, uint64_t latency_ns);
/* Add a snapshot: its figures count from the one before. The same one again is ignored. */
void record_snapshot(struct recorder *r, const struct snapshot *sn);
/* Note the guests that diverge now. */
void record_diverging(struct recorder *r, const struct guests *gs, struct mono now);
/* The truth about a guest over all its lives; the simulator's begins at 0 with each life. */
void record_truth(struct recorder *r, uint32_t guest, struct record_truth *t);

#endif
