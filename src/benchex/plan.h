/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan: what is sent next, when, and what came of it. Pure.
 *
 *	random -> size, operation    pace -> when it is due    tag -> truth <- completions
 */
#ifndef RESEX_BENCHEX_PLAN_H
#define RESEX_BENCHEX_PLAN_H

#include "src/benchex/benchex.h"

/* splitmix64; any seed will do. */
struct bx_random {
	uint64_t state;
};

uint64_t bx_random(struct bx_random *r);
uint32_t bx_random_size(struct bx_random *r, struct bx_range range);
/* By weight; all 0: BX_WRITE. */
enum bx_op bx_random_op(struct bx_random *r, const uint32_t weight[static BX_OPS]);

/* When messages are due that are sent `burst` at a time, `rate` a second. */
struct bx_pace {
	uint64_t rate; /* 0: due at once, or after gaps */
	uint32_t burst;
	uint64_t n;   /* messages since base */
	int64_t base; /* ns */
};

void bx_pace_start(struct bx_pace *p, uint64_t rate, uint32_t burst, int64_t now);
int64_t bx_pace_due(const struct bx_pace *p);
/* A burst was sent; without a rate the next is due gap_ns later. */
void bx_pace_next(struct bx_pace *p, uint64_t gap_ns);

/* --- a queue pair's own truth (struct bx_qp), from posts and completions alone --- */

/* max(1, ceil(bytes / path_mtu)) */
uint64_t bx_mtus(uint64_t bytes, uint32_t path_mtu);
void bx_truth_posted(struct bx_qp *q);
void bx_truth_ended(struct bx_qp *q, enum bx_op op, uint32_t bytes, bool well);

/* --- what a work request is called --- */

/* Not an operation of ours, but of a receive. */
enum { BX_RECV = 15 };

/* What a work request carries to its completion, in the 64 bits of its name. */
struct bx_tag {
	uint32_t conn;	/* 12 bits: place of the connection in its table */
	uint32_t gen;	/* 12 bits: which connection in that place */
	uint32_t slot;	/* 11 bits */
	uint32_t op;	/* 4 bits: enum bx_op or BX_RECV */
	uint32_t bytes; /* 25 bits */
};

uint64_t bx_tag_put(struct bx_tag t);
struct bx_tag bx_tag_get(uint64_t wr_id);

#endif
