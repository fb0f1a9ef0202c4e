/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pgsql_conn: a connection to PostgreSQL, and queries on it, each until a deadline. Queries go out
 * together (libpq's pipeline mode): the server runs them in order, and none behind one that failed.
 */
#ifndef RESEX_SQL_PGSQL_CONN_H
#define RESEX_SQL_PGSQL_CONN_H

#include <libpq-fe.h>

#include "src/sql/backend.h"
#include "src/sql/pgsql_texts.h"
#include "src/util/clock.h"

enum pgsql_prepared { PGSQL_LOOK = 1, PGSQL_BEGIN = 2 };

struct sql {
	PGconn *conn; /* NULL: it is lost */
	struct clock clock;
	int64_t timeout_ns;
	int64_t hang_ns;
	struct mono until; /* of the call under way */
	uint16_t self;
	unsigned prepared;	   /* bits of enum pgsql_prepared */
	bool ended;		   /* a COMMIT had no transaction to end */
	struct pgsql_texts texts;  /* statements of updates that are prepared */
	const char *begin;	   /* of an update: with the role's isolation */
	uint64_t system, database; /* identify it */
};

/* A query. It is text, or the name of a prepared one, or prepares the text by that name. */
struct pgsql_query {
	const char *name;
	const char *text;
	int params;
	const char *const *param;
	bool drops;	  /* its rows are not kept */
	PGresult *result; /* pgsql_run fills it; NULL: there is none */
};

/* 0, or -errno with e filled. */
int pgsql_connect(struct sql *s, const struct sql_conf *c, struct sql_error *e);
void pgsql_disconnect(struct sql *s);
/* Begins a call of at most conf.timeout_ns. 0, or -ENOTCONN if the connection is lost. */
int pgsql_call(struct sql *s, struct sql_error *e);
/*
 * Runs n queries. 0: each has a result, though perhaps a refusal (pgsql_bad). -ENOTCONN: the
 * connection is lost, and closed. Free the results by pgsql_clear either way.
 */
int pgsql_run(struct sql *s, struct pgsql_query *q, uint32_t n, struct sql_error *e);
void pgsql_clear(struct pgsql_query *q, uint32_t n);
/* The first query that was refused; n: none was. */
uint32_t pgsql_bad(const struct pgsql_query *q, uint32_t n);
/* Fills e from a refusal, and returns its -errno. what: what was done. */
int pgsql_refusal(const struct sql *s, const PGresult *r, const char *what, struct sql_error *e);
/* The SQLSTATE of a refusal, or "". */
const char *pgsql_state(const PGresult *r);
/* Ends the transaction, if there is one. */
void pgsql_rollback(struct sql *s);
/* So, and nothing is prepared any more. */
void pgsql_forget(struct sql *s);
/* Runs n queries that must all succeed; else the transaction is rolled back. */
int pgsql_do(struct sql *s, struct pgsql_query *q, uint32_t n, const char *what,
	     struct sql_error *e);
/* A value as text; NULL: SQL's NULL. */
const char *pgsql_cell(const PGresult *r, int row, int column);

#endif
