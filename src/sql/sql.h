/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sql: the database of cached pages, behind a small ops struct: "pgsql" (libpq) and "sqlite". It is
 * the arbiter of commits and of membership: R5, R6 and R7 of src/cache/cache.h. The tables are
 * those of etc/cache/schema.sql (PostgreSQL) and etc/cache/schema-sqlite.sql.
 *
 * All functions block, each at most conf.timeout_ns if the backend can keep to it: call them in a
 * thread of their own. A handle is one connection, used by one thread at a time. Different handles
 * are independent.
 *
 * Functions return 0 or -errno with e filled. -ENOTCONN: the connection is lost, or could not be
 * made: close the handle, and open another. All other errors leave the connection usable.
 */
#ifndef RESEX_SQL_SQL_H
#define RESEX_SQL_SQL_H

#include "src/cache/update.h"

enum {
	SQL_WHERE_MAX = 1024,
	SQL_STATEMENTS_MAX = 64, /* of one update */
	SQL_PARAMS_MAX = 64,	 /* of one statement */
	SQL_TEXT_MAX = 1 << 20,	 /* bytes of all texts and parameters of an update */
	SQL_PROBLEMS_MAX = 8,
};

struct sql_error {
	char text[512]; /* one sentence for people: what, and the remedy if there is one */
	char state[6];	/* SQLSTATE of a refused statement; "": none */
};

struct sql_conf {
	const char *where; /* pgsql: a connection string of libpq; sqlite: a file */
	uint16_t self;	   /* number of this host */
	int64_t timeout_ns;
	/*
	 * A transaction that has waited so long for this host is ended: it hangs, and its rows are
	 * locked (R5 d). A role may set less. 0: timeout_ns; sqlite has none.
	 */
	int64_t hang_ns;
};

/*
 * What one transaction read: all rows of members, and the epoch. Arrays are by host, UPDATE_HOSTS
 * of each: they can be given as they are to struct update_look and struct home_look.
 */
struct sql_look {
	/*
	 * Another number after a failover, or another database: all that was cached is worth
	 * nothing. pgsql: system identifier and timeline; sqlite: drawn at random in the schema.
	 */
	uint64_t timeline;
	uint32_t epoch;
	struct hostset rows;	/* hosts that have a row */
	struct hostset members; /* of them, those that are in */
	uint32_t generation[UPDATE_HOSTS];
	uint32_t fence[UPDATE_HOSTS];
	uint64_t raised[UPDATE_HOSTS]; /* the transaction that raised the row; not 0 */
};

struct sql_joined {
	uint64_t timeline;
	uint32_t epoch, generation, fence;
	uint64_t transaction; /* its number */
};

struct sql_statement {
	/*
	 * One statement; parameters are $1, $2, ... (both backends). It begins with its verb, not
	 * with a comment, and neither ends the transaction nor outlives it: no COMMIT, no SET.
	 */
	const char *text;
	uint32_t params;
	const char *const *param; /* as text; NULL: SQL's NULL */
};

struct sql_update {
	uint16_t slot;
	uint64_t name;	/* cache.h: its fence is checked against the own row */
	uint32_t epoch; /* of the broadcast, checked */
	uint32_t statements;
	const struct sql_statement *statement;
};

enum sql_end {
	SQL_COMMITTED, /* with effect: *transaction */
	SQL_CHANGED,   /* R5 a, b: epoch or row differed, or waits; without effect. Make it anew */
	SQL_FAILED,    /* a statement was refused; without effect. e says why */
	SQL_UNKNOWN,   /* the connection was lost in COMMIT, or before its answer: R6 d */
};

struct sql;

struct sql_ops {
	const char *name;
	bool snapshots; /* a snapshot says what it sees: struct home_snapshot can be given */

	int (*open)(struct sql **s, const struct sql_conf *c, struct sql_error *e);
	void (*close)(struct sql *s); /* NULL: does nothing */
	/*
	 * Is the database safe for this? The problems, each one sentence with value and remedy:
	 * fsync or synchronous_commit off, no idle_in_transaction_session_timeout for this role, no
	 * keepalives, tables missing or of another version, a right that is missing. Returns how
	 * many, or -errno.
	 */
	int (*check)(struct sql *s, char problem[static SQL_PROBLEMS_MAX][256],
		     struct sql_error *e);
	int (*look)(struct sql *s, struct sql_look *l, struct sql_error *e);
	/*
	 * R6 a, R7 c, in one transaction: the epoch + 1; the own row, which is made if there is
	 * none: in, generation = max(generation, floor generation) + 1, fence = max(fence, floor
	 * fence) + 1. The floors are those that this host remembers: a failover may take the row
	 * back. If the end is not known (-ENOTCONN), join again.
	 */
	int (*join)(struct sql *s, uint32_t generation_floor, uint32_t fence_floor,
		    struct sql_joined *j, struct sql_error *e);
	/*
	 * R6 d and e, R7 a: the row of this host is raised: fence + 1, and it is out. Only while
	 * it still has this generation; generation 0: any. Waits for its transactions under way,
	 * which the database bounds (R5 d). 0, also if it was out already; -ESTALE: another
	 * generation.
	 */
	int (*remove)(struct sql *s, uint16_t host, uint32_t generation, struct sql_error *e);
	/*
	 * R6 d: raise the fence of the own row (it stays in), and then look for the update's row:
	 * *transaction is its number, or 0: it has not taken effect, and never will. Call it on a
	 * new handle. Repeating it is harmless.
	 */
	int (*resolve)(struct sql *s, uint16_t slot, uint64_t name, uint64_t *transaction,
		       struct sql_error *e);
	/*
	 * R5, the whole transaction: checks epoch and own row under FOR SHARE, runs the statements,
	 * writes the update's row, commits. rows[i]: rows that statement i changed.
	 */
	enum sql_end (*update)(struct sql *s, const struct sql_update *u, uint64_t *transaction,
			       uint64_t *rows, struct sql_error *e);
};

/* The backends that were built; the last element is NULL. */
extern const struct sql_ops *const sql_backends[];
const struct sql_ops *sql_find(const char *name);

#endif
