/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backend: what the backends of sql.h share: sentences, what a statement may be, and the values of
 * tables, which are read as any input. Both backends get them as text, and NULL for SQL's NULL.
 */
#ifndef RESEX_SQL_BACKEND_H
#define RESEX_SQL_BACKEND_H

#include "src/sql/sql.h"

extern const struct sql_ops sql_pgsql;
extern const struct sql_ops sql_sqlite;

enum {
	SQL_SCHEMA = 1, /* of the schema: resex.epoch.version */
	SQL_EPOCH_MAX = INT32_MAX,
};

/* Fills *e, without control characters and without a SQLSTATE; returns rc. */
int sql_fail(struct sql_error *e, int rc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* 0 or -EINVAL. */
int sql_conf_check(const struct sql_conf *c, struct sql_error *e);

/*
 * Bounds, and the verb with which each statement begins: none that ends the transaction, or that
 * outlives it (SET, PREPARE, PRAGMA). 0 or -EINVAL.
 */
int sql_update_check(const struct sql_update *u, struct sql_error *e);
/* Statement i was refused: says which one of how many. */
void sql_refused(struct sql_error *e, const struct sql_update *u, uint32_t i, const char *state,
		 const char *why);

/* A value: decimal digits, min .. max. what: its table and column. 0 or -EPROTO. */
int sql_number(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *value,
	       struct sql_error *e);
/* The epoch, and that the schema is SQL_SCHEMA. table: its name. 0 or -EPROTO. */
int sql_take_epoch(const char *epoch, const char *version, const char *table, uint32_t *value,
		   struct sql_error *e);

/* It has no row. -EPROTO */
int sql_no_epoch(const char *table, struct sql_error *e);

/* A row of members. */
struct sql_member {
	uint16_t number;
	bool in;
	uint32_t generation, fence;
	uint64_t raised;
};

enum { SQL_NUMBER, SQL_GENERATION, SQL_FENCE, SQL_IN, SQL_RAISED, SQL_CELLS };

/* table: its name. 0 or -EPROTO. */
int sql_take_member(const char *const cell[static SQL_CELLS], const char *table,
		    struct sql_member *m, struct sql_error *e);
/* The row is part of the look; -EPROTO: there is another one of this number. */
int sql_look_add(struct sql_look *l, const struct sql_member *m, const char *table,
		 struct sql_error *e);
/* max(is, floor) + 1; -ERANGE: there is no such number any more. what: "generation" or "fence". */
int sql_raise(uint32_t is, uint32_t least, const char *what, uint16_t host, uint32_t *next,
	      struct sql_error *e);
/* Will the row be removed? 1: it will; 0: it is out already; -ESTALE. m NULL: there is none. */
int sql_removes(const struct sql_member *m, uint16_t host, uint32_t generation,
		struct sql_error *e);
/*
 * What the row of a slot says of the update with the wanted name: *transaction is its number, or 0.
 * -ESTALE: the slot has had a newer one.
 */
int sql_resolved(const char *name, const char *number, uint16_t slot, uint64_t wanted,
		 uint64_t *transaction, struct sql_error *e);

/* A name as it is stored: a signed number, in the same order. */
static inline int64_t sql_name_stored(uint64_t name)
{
	return (int64_t)(name ^ 1ull << 63);
}

/* A number that tells databases apart, of several that do; not 0. */
uint64_t sql_mix(const uint64_t *part, uint32_t n);

#endif
