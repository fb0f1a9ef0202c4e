/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record: what a run's summary is made of, kept while it runs.
 *
 * What the daemon saw comes from its snapshots; what is marked as true comes
 * from the simulator, which the daemon never asks.
 */
#ifndef RESEX_LAB_RECORD_H
#define RESEX_LAB_RECORD_H

#include <pthread.h>

#include "src/guests/guests.h"
#include "src/lab/scenario.h"
#include "src/util/hist.h"

/* --- a figure that holds for a time --- */

struct held {
	uint64_t v;
	int64_t ns;
};

/* Values and for how long each was held; neighbours differ. */
struct held_list {
	struct held *at;
	size_t n, size;
};

int held_add(struct held_list *l, uint64_t v, int64_t ns); /* 0 or -ENOMEM */
/* For held_quantile(): the order of time is lost. */
void held_sort(struct held_list *l);
/* The least value that, with those below it, was held for permille of the time. 0 when empty. */
uint64_t held_quantile(const struct held_list *l, uint32_t permille);
int64_t held_time(const struct held_list *l);

/* --- a run --- */

/* One of the equal pieces of time of a series. */
struct record_step {
	struct cap cap; /* at its end */
	uint32_t rate_q16;
	bool present;		  /* the daemon knew the guest */
	uint64_t mtus;		  /* counted in it */
	uint64_t seen_n, seen_ns; /* latencies that the daemon saw in it, and their sum */
	uint64_t n, sum_ns;	  /* true ones of requests answered in it */
};

/* What really happened. */
struct record_truth {
	struct sim_truth all;
	struct sim_app_truth app[SIM_APPS_MAX]; /* latency is not used: see record_guest.app */
};

struct record_guest {
	uint64_t created; /* of the life it is in; 0: not seen yet */
	uint32_t lives, domid;
	struct usage usage, usage_before; /* of this life; of all before it */
	struct spending money, money_before;
	uint64_t cap_changes, cap_changes_before;
	struct window reports, reports_before; /* whole latencies, as reported */
	uint64_t reports_lost, reports_lost_before;
	struct cap cap, lowest; /* as last seen, and the lowest */
	uint32_t rate_q16;
	struct held_list caps, rates; /* percent (none: 100 x VCPUs), q16 */
	int64_t uncapped_ns;
	bool diverged;			/* was found to send what it does not claim */
	int64_t diverged_ns;		/* first, from the start on */
	struct record_truth before;	/* of lives that ended by a reboot */
	struct hist *app[SIM_APPS_MAX]; /* servers' true latencies; NULL: no server */
	uint64_t step_n, step_sum;	/* of the piece of time that runs */
	uint64_t step_mtus;		/* all up to its beginning */
	uint64_t step_seen, step_seen_ns;
	struct record_step *step;
};

struct recorder {
	pthread_mutex_t lock; /* on the real clock requests are heard of in another thread */
	const struct scenario *sc;
	struct sim_host *host;
	struct mono start, last;
	uint32_t guests, steps, steps_max;
	uint64_t ticks, late_ticks, epoch;
	int rc; /* the first error: -ENOMEM */
	struct record_guest guest[SIM_GUESTS_MAX];
};

/* 0 or -ENOMEM. A recorder is large: not on the stack. Closed also after an error. */
int record_open(struct recorder *r, const struct scenario *sc, struct sim_host *h,
		struct mono start);
void record_close(struct recorder *r);

/* A sim_request_fn; arg is the recorder. */
void record_request(void *arg, uint32_t guest, uint32_t app, uint64_t latency_ns);
/* The newest snapshot: holds since the one before it. One seen already is passed over. */
void record_snapshot(struct recorder *r, const struct snapshot *sn);
/* The guests that send now what they do not claim. */
void record_diverging(struct recorder *r, const struct guests *gs, struct mono now);
/* The truth about a guest over all its lives: its own begins anew with each of them. */
void record_truth(struct recorder *r, uint32_t guest, struct record_truth *t);

#endif
