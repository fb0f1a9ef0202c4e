/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * db: the auction's database, behind a small ops struct: "pgsql" (libpq) and "sqlite". Statements
 * are the same text for both, with parameters $1, $2, ... as text.
 *
 * A handle is one connection, used by one thread at a time. Functions block. They return 0 or
 * -errno with e filled; -ENOTCONN: the connection is lost: close the handle, and open another.
 */
#ifndef RESEX_AUCTION_DB_H
#define RESEX_AUCTION_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DB_SNAPSHOT_MAX = 4096,
	DB_COLUMNS_MAX = 16,
	DB_PARAMS_MAX = 8,
	DB_STATEMENTS_MAX = 48, /* different texts on one connection */
};

struct db_error {
	char text[512];
	char state[6]; /* SQLSTATE; "": none */
};

/* A row of a result; NULL is "". Not 0: no more rows, and db_ops.run returns it. */
typedef int db_row(void *arg, const char *const *column);

struct db;

struct db_ops {
	const char *name;
	int (*open)(struct db **d, const char *where, struct db_error *e);
	void (*close)(struct db *d); /* NULL: does nothing */
	/*
	 * Read alone: all that is read in it is of one snapshot, which is not taken before this
	 * call. snapshot: its text, of DB_SNAPSHOT_MAX bytes; "": the database gives none; NULL:
	 * it is not needed. Else to write.
	 */
	int (*begin)(struct db *d, bool write, char *snapshot, struct db_error *e);
	/*
	 * The text is a literal: it is prepared once. changed: rows that it changed; may be NULL.
	 * -EPERM: the statement was refused.
	 */
	int (*run)(struct db *d, const char *text, const char *const *param, size_t params,
		   db_row *row, void *arg, uint64_t *changed, struct db_error *e);
	/* -EINPROGRESS: it is not known whether it was committed. */
	int (*commit)(struct db *d, struct db_error *e);
	void (*abort)(struct db *d);
	/* Statements without parameters or results, outside of a transaction. */
	int (*script)(struct db *d, const char *text, struct db_error *e);
};

/* The backends that were built; the last element is NULL. */
extern const struct db_ops *const db_backends[];

/* "sqlite:FILE", or a connection string of libpq. NULL: not built, or none of both. */
const struct db_ops *db_find(const char *where, const char **rest);

/* Sets e. Returns rc. */
int db_fail(struct db_error *e, int rc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
