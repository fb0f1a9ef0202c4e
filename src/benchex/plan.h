/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan: what to send next and when, and counts of what was sent. Pure.
 *
 *	random -> size, operation    pace -> due time    posts, completions -> counts of a QP
 */
#ifndef RESEX_BENCHEX_PLAN_H
#define RESEX_BENCHEX_PLAN_H

#include "src/benchex/benchex.h"

/* splitmix64 (core/random.h); every seed is a good one. */
struct bx_random {
	uint64_t state;
};

uint64_t bx_random(struct bx_random *r);
uint32_t bx_random_size(struct bx_random *r, struct bx_range range);
/* By weight; all 0: BX_WRITE. */
enum bx_op bx_random_op(struct bx_random *r, const uint32_t weight[static BX_OPS]);

/* Due times of messages that are sent `burst` at a time, `rate` a second. */
struct bx_pace {
	uint64_t rate; /* 0: due at once, or after gaps of a trace */
	uint32_t burst;
	uint64_t n;   /* messages since base */
	int64_t base; /* ns */
};

void bx_pace_start(struct bx_pace *p, uint64_t rate, uint32_t burst, int64_t now);
int64_t bx_pace_due(const struct bx_pace *p);
/* A burst was sent: move on to the next. Without a rate it is due gap_ns later. */
void bx_pace_next(struct bx_pace *p, uint64_t gap_ns);

/* --- counts of a queue pair (struct bx_qp), from its posts and completions alone --- */

/* max(1, ceil(bytes / path_mtu)) */
uint64_t bx_mtus(uint64_t bytes, uint32_t path_mtu);
void bx_truth_posted(struct bx_qp *q);
void bx_truth_ended(struct bx_qp *q, enum bx_op op, uint32_t bytes, bool well);

/* --- names of work requests --- */

/* The op of a receive, beside those of enum bx_op. */
enum { BX_RECV = 15 };

/* The 64-bit wr_id of a work request, which its completion returns. */
struct bx_tag {
	uint32_t conn;	/* 12 bits: index of the connection in its table */
	uint32_t gen;	/* 12 bits: counts the connections that had this index */
	uint32_t slot;	/* 11 bits */
	uint32_t op;	/* 4 bits: enum bx_op or BX_RECV */
	uint32_t bytes; /* 25 bits */
};

uint64_t bx_tag_put(struct bx_tag t);
struct bx_tag bx_tag_get(uint64_t wr_id);

#endif
