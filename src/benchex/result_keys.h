/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * result_keys: the keys of a result printed as JSON, one table for each object.
 *
 * result.c writes an object by its table, and merge.c reads it back by the same
 * table: it requires each key, checks the value, and refuses keys that are not in
 * the table. The order of the rows is the order on the line.
 */
#ifndef RESEX_BENCHEX_RESULT_KEYS_H
#define RESEX_BENCHEX_RESULT_KEYS_H

#include "src/benchex/parts.h"

enum bx_key_kind {
	/* a member of the record, at offset */
	KEY_COUNT,   /* uint64_t; JSON holds up to INT64_MAX */
	KEY_U32,     /* uint32_t */
	KEY_SECONDS, /* uint64_t ns, written as seconds */
	KEY_SUM,     /* uint64_t, written as text: many JSON readers round above 2^53 */
	KEY_SUMSQ,   /* long double, written as text */

	/* figures for people, computed when written, not read back */
	KEY_US,	      /* uint64_t ns at offset, in microseconds */
	KEY_QUANTILE, /* of a struct hist, in microseconds; offset is the permille */
	KEY_MEAN,     /* of a struct hist, in microseconds */
	KEY_DEVIATION,
	KEY_CPU_PERCENT,
	KEY_REQUESTS_S,
	KEY_MB_S,

	/* objects, lists and words, each with code of its own in result.c and merge.c */
	KEY_ROLE,
	KEY_PEER,
	KEY_ENDED,
	KEY_SEED,
	KEY_LATENCY,
	KEY_HIST,
	KEY_EXACT,
	KEY_BUCKETS,
	KEY_QPS,
	KEY_COMPLETED,
	KEY_CONF,
	KEY_MERGED, /* in merged results only */
	KEY_KINDS
};

struct bx_key {
	const char *name; /* NULL ends a table */
	enum bx_key_kind kind;
	size_t offset;
};

extern const struct bx_key bx_result_keys[]; /* of struct bx_result */
extern const struct bx_key bx_qp_keys[];     /* of struct bx_qp */
extern const struct bx_key bx_hist_keys[];   /* of struct hist */
extern const struct bx_key bx_exact_keys[];  /* "exact" of struct hist */

/* The histograms of struct bx_latency that a role measures. */
const struct bx_key *bx_latency_keys(enum bx_role role);

#endif
