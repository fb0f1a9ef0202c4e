/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rdmaodd: RDMA traffic of unusual kinds whose truth is known.
 *
 * Other than rdmaload (load.h), all ends post, queues are shared between queue
 * pairs and between processes, and some programs do what they may not. All
 * state is in memory that forked children share.
 *
 * The device, the random numbers and the truth are those of load.h.
 */
#ifndef RESEX_TESTS_RDMAODD_H
#define RESEX_TESTS_RDMAODD_H

#include "tests/system/src/load.h"

enum {
	ODD_QPS_MAX = 400,
	ODD_CQS_MAX = 400,
	ODD_DEPTH_MAX = 63,
	ODD_SGE_MAX = 4,
	ODD_BATCH_MAX = 8,
	ODD_TRUTHS_MAX = 8192,
};

/* A work request until it is complete. */
struct odd_wr {
	enum load_op op;
	uint32_t bytes;
	bool signalled;
};

struct odd_srq {
	struct ibv_srq *srq;
	uint32_t recvs, kept; /* receives waiting, and how many there shall be */
};

struct odd_qp {
	struct odd *o;
	struct ibv_qp *qp;
	struct odd_qp *to;   /* RC, UC: the other end; UD: an end of the same group */
	struct odd_srq *srq; /* NULL: it has a receive queue of its own */
	struct ibv_ah *ah;   /* UD */
	struct load_truth *truth;
	enum load_type type;
	uint32_t mtu, depth, max_inline;
	uint32_t unsignalled;	  /* percent */
	uint32_t unsignalled_run; /* since the newest signalled one */
	uint32_t recvs, kept;
	uint64_t posted, done, target;
	struct odd_wr sent[ODD_DEPTH_MAX + 1];
	bool broken;   /* it completed something in error */
	bool starved;  /* give it no receives */
	bool bad_rkey; /* the next work request names memory that is not there */
	uint8_t rnr_retry;
};

struct odd {
	struct load_opts opts;
	struct load_ctx ctx;
	uint64_t seed;
	uint32_t count;	   /* work requests of each queue pair, about */
	uint32_t pace_us;  /* between posts; 0: full speed */
	const char *kinds; /* what the subcommand is to do, a list */
	struct ibv_cq *cq[ODD_CQS_MAX];
	uint32_t cqs;
	struct odd_srq srq[4];
	uint32_t srqs;
	struct odd_qp qp[ODD_QPS_MAX];
	uint32_t qps;
	struct load_truth truth[ODD_TRUTHS_MAX];
	uint32_t truths;
	uint32_t turn; /* of processes that share this */
	int resized;   /* the completion queue that is resized; -1: none */
};

/* What a queue pair is made of. */
struct odd_shape {
	enum load_type type;
	uint32_t send_cq, recv_cq; /* indices of odd.cq */
	struct odd_srq *srq;
	uint32_t depth; /* 0: random */
	uint32_t mtu;	/* 0: random; ignored for UD */
};

uint32_t odd_below(struct odd *o, uint32_t n);
bool odd_percent(struct odd *o, uint32_t percent);
int64_t odd_now_ns(void);

/* These end the process when the device refuses: a test cannot go on. */
_Noreturn void odd_die(const char *what, int err);
uint32_t odd_cq(struct odd *o, uint32_t entries);
struct odd_srq *odd_srq(struct odd *o, uint32_t entries);
struct odd_qp *odd_qp(struct odd *o, const struct odd_shape *s);
void odd_connect(struct odd_qp *a, struct odd_qp *b);
void odd_reset(struct odd_qp *q); /* RESET; what it drops goes to truth.unknown */
void odd_destroy(struct odd_qp *q);

/* Post up to n work requests of random kinds; how many were posted. */
uint32_t odd_post(struct odd_qp *q, uint32_t n);
/* Poll all completion queues, account, and give receives. How many send completions. */
uint32_t odd_poll(struct odd *o);
/* One work request of each queue pair, until it is complete. */
void odd_first(struct odd *o);
/* Post until each queue pair has reached its target, and wait until all is complete. */
void odd_work(struct odd *o);
void odd_drain(struct odd *o);

static inline uint32_t odd_waiting(const struct odd_qp *q)
{
	return (uint32_t)(q->posted - q->done);
}

/* A subcommand: prepare runs before READY, run after "go". */
struct odd_case {
	const char *name, *text;
	void (*prepare)(struct odd *o);
	void (*run)(struct odd *o);
};

extern const struct odd_case odd_cases[];
extern const uint32_t odd_cases_n;

/* rdmaodd_bad.c */
void odd_prepare_pairs(struct odd *o);
void odd_prepare_many(struct odd *o);
void odd_prepare_none(struct odd *o);
void odd_run_reset(struct odd *o);
void odd_run_errors(struct odd *o);
void odd_run_short(struct odd *o);
void odd_run_forge(struct odd *o);
void odd_run_writer(struct odd *o);

/* rdmaodd.c: say DONE, hold all until "end", tell the truth, and end the process. */
_Noreturn void odd_finish(struct odd *o);

#endif
