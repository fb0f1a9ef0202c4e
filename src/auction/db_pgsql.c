// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * db_pgsql: the auction on PostgreSQL. See db.h. A transaction that reads is REPEATABLE READ: its
 * first statement takes the one snapshot of all its statements, and that is asked for here.
 */
#include "src/auction/db_backends.h"

#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct db {
	PGconn *c;
	size_t statements;
	const char *statement[DB_STATEMENTS_MAX]; /* number i is prepared as "s<i>" */
};

static bool is_good(const PGresult *r)
{
	ExecStatusType s = PQresultStatus(r);

	return s == PGRES_COMMAND_OK || s == PGRES_TUPLES_OK;
}

/* Why r is no result. Frees it. */
static int fail(struct db *d, PGresult *r, struct db_error *e)
{
	const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
	const char *text = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	int rc = PQstatus(d->c) == CONNECTION_OK ? -EPERM : -ENOTCONN;

	snprintf(e->state, sizeof(e->state), "%s", state ? state : "");
	db_fail(e, rc, "PostgreSQL: %s", text ? text : PQerrorMessage(d->c));
	PQclear(r);
	return rc;
}

static int script(struct db *d, const char *text, struct db_error *e)
{
	PGresult *r = PQexec(d->c, text);

	if (!is_good(r))
		return fail(d, r, e);
	PQclear(r);
	return 0;
}

static void close_db(struct db *d)
{
	if (!d)
		return;
	PQfinish(d->c);
	free(d);
}

static void no_notice(void *arg, const PGresult *r)
{
	(void)arg;
	(void)r;
}

static int open_db(struct db **out, const char *where, struct db_error *e)
{
	struct db *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return db_fail(e, -ENOMEM, "there is no memory");
	d->c = PQconnectdb(where);
	if (PQstatus(d->c) != CONNECTION_OK) {
		rc = db_fail(e, -ENOTCONN, "%s", PQerrorMessage(d->c));
		close_db(d);
		return rc;
	}
	PQsetNoticeReceiver(d->c, no_notice, NULL);
	/* A statement that hangs must not hold locks for ever. */
	rc = script(
		d, "SET statement_timeout = '30s'; SET idle_in_transaction_session_timeout = '30s'",
		e);
	if (rc)
		close_db(d);
	else
		*out = d;
	return rc;
}

/* The name of the prepared statement. */
static int prepare(struct db *d, const char *text, char name[static 16], struct db_error *e)
{
	PGresult *r;
	size_t i = 0;

	while (i < d->statements && d->statement[i] != text)
		i++;
	snprintf(name, 16, "s%zu", i);
	if (i < d->statements)
		return 0;
	if (i == DB_STATEMENTS_MAX)
		return db_fail(e, -EPERM, "more than %d statements", DB_STATEMENTS_MAX);
	r = PQprepare(d->c, name, text, 0, NULL);
	if (!is_good(r))
		return fail(d, r, e);
	PQclear(r);
	d->statement[d->statements++] = text;
	return 0;
}

static int give_rows(const PGresult *r, db_row *row, void *arg)
{
	const char *column[DB_COLUMNS_MAX] = { "" };
	int columns = PQnfields(r), rc = 0;

	for (int i = 0; !rc && row && i < PQntuples(r); i++) {
		for (int k = 0; k < columns && k < DB_COLUMNS_MAX; k++)
			column[k] = PQgetvalue(r, i, k);
		rc = row(arg, column);
	}
	return rc;
}

static int run(struct db *d, const char *text, const char *const *param, size_t params, db_row *row,
	       void *arg, uint64_t *changed, struct db_error *e)
{
	char name[16];
	PGresult *r;
	int rc = prepare(d, text, name, e);

	if (rc)
		return rc;
	r = PQexecPrepared(d->c, name, (int)params, param, NULL, NULL, 0);
	if (!is_good(r))
		return fail(d, r, e);
	rc = give_rows(r, row, arg);
	if (changed)
		*changed = strtoull(PQcmdTuples(r), NULL, 10);
	PQclear(r);
	return rc;
}

static int take_snapshot(void *arg, const char *const *column)
{
	char *to = arg;

	/* One that is cut would say that transactions are visible which are not. */
	if (strlen(column[0]) >= DB_SNAPSHOT_MAX)
		return -E2BIG;
	strcpy(to, column[0]);
	return 0;
}

static int begin(struct db *d, bool write, char *snapshot, struct db_error *e)
{
	int rc = script(d, write ? "BEGIN" : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", e);

	if (rc || !snapshot)
		return rc;
	return run(d, "SELECT pg_current_snapshot()", NULL, 0, take_snapshot, snapshot, NULL, e);
}

static void abort_it(struct db *d)
{
	PQclear(PQexec(d->c, "ROLLBACK"));
}

static int commit(struct db *d, struct db_error *e)
{
	PGresult *r = PQexec(d->c, "COMMIT");
	bool rolled_back = is_good(r) && !strcmp(PQcmdStatus(r), "ROLLBACK");
	int rc = 0;

	if (!is_good(r)) {
		rc = fail(d, r, e);
		return rc == -ENOTCONN ? -EINPROGRESS : rc;
	}
	if (rolled_back)
		rc = db_fail(e, -EPERM, "PostgreSQL: the transaction had failed");
	PQclear(r);
	return rc;
}

const struct db_ops db_pgsql = {
	.name = "pgsql",
	.open = open_db,
	.close = close_db,
	.begin = begin,
	.run = run,
	.commit = commit,
	.abort = abort_it,
	.script = script,
};
