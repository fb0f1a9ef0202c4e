// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * db_sqlite: the auction on SQLite. See db.h. In WAL mode readers and one writer do not wait for
 * each other; the snapshot of a transaction is taken by its first SELECT.
 */
#include "src/auction/db_backends.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUSY_MS = 5000 };

struct db {
	sqlite3 *c;
	size_t statements;
	struct {
		const char *text;
		sqlite3_stmt *s;
	} statement[DB_STATEMENTS_MAX];
};

static int fail(struct db *d, int rc, struct db_error *e)
{
	return db_fail(e, rc, "SQLite: %s", sqlite3_errmsg(d->c));
}

static int script(struct db *d, const char *text, struct db_error *e)
{
	return sqlite3_exec(d->c, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(d, -EPERM, e);
}

static void close_db(struct db *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->statements; i++)
		sqlite3_finalize(d->statement[i].s);
	sqlite3_close(d->c);
	free(d);
}

static int open_db(struct db **out, const char *where, struct db_error *e)
{
	struct db *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return db_fail(e, -ENOMEM, "there is no memory");
	if (sqlite3_open_v2(where, &d->c,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK) {
		rc = db_fail(e, -ENOTCONN, "%s: %s: check the file and its folder", where,
			     d->c ? sqlite3_errmsg(d->c) : "there is no memory");
		close_db(d);
		return rc;
	}
	sqlite3_busy_timeout(d->c, BUSY_MS);
	rc = script(d, "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON", e);
	if (rc)
		close_db(d);
	else
		*out = d;
	return rc;
}

static sqlite3_stmt *prepared(struct db *d, const char *text)
{
	sqlite3_stmt *s = NULL;

	for (size_t i = 0; i < d->statements; i++)
		if (d->statement[i].text == text)
			return d->statement[i].s;
	if (d->statements == DB_STATEMENTS_MAX ||
	    sqlite3_prepare_v3(d->c, text, -1, SQLITE_PREPARE_PERSISTENT, &s, NULL) != SQLITE_OK)
		return NULL;
	d->statement[d->statements].text = text;
	d->statement[d->statements++].s = s;
	return s;
}

static int bind(sqlite3_stmt *s, const char *const *param, size_t params)
{
	char name[24];

	for (size_t i = 0; i < params; i++) {
		int at, rc;

		snprintf(name, sizeof(name), "$%zu", i + 1);
		at = sqlite3_bind_parameter_index(s, name);
		rc = !at	 ? SQLITE_OK /* it is not used */
		     : !param[i] ? sqlite3_bind_null(s, at)
				 : sqlite3_bind_text(s, at, param[i], -1, SQLITE_STATIC);
		if (rc != SQLITE_OK)
			return rc;
	}
	return SQLITE_OK;
}

static int give_row(sqlite3_stmt *s, db_row *row, void *arg)
{
	const char *column[DB_COLUMNS_MAX];
	int n = sqlite3_column_count(s);

	for (int i = 0; i < n && i < DB_COLUMNS_MAX; i++) {
		column[i] = (const char *)sqlite3_column_text(s, i);
		if (!column[i])
			column[i] = "";
	}
	return row(arg, column);
}

static int run(struct db *d, const char *text, const char *const *param, size_t params, db_row *row,
	       void *arg, uint64_t *changed, struct db_error *e)
{
	sqlite3_stmt *s = prepared(d, text);
	int step = s ? bind(s, param, params) : SQLITE_ERROR, rc = 0;

	if (step != SQLITE_OK) {
		rc = fail(d, -EPERM, e);
	} else {
		while (!rc && (step = sqlite3_step(s)) == SQLITE_ROW)
			rc = row ? give_row(s, row, arg) : 0;
		if (!rc && step != SQLITE_DONE)
			rc = fail(d, step == SQLITE_IOERR ? -ENOTCONN : -EPERM, e);
		if (!rc && changed)
			*changed = sqlite3_column_count(s) ? 0 : (uint64_t)sqlite3_changes(d->c);
	}
	if (s) {
		sqlite3_reset(s);
		sqlite3_clear_bindings(s);
	}
	return rc;
}

static int begin(struct db *d, bool write, char *snapshot, struct db_error *e)
{
	if (snapshot)
		*snapshot = 0;
	return script(d, write ? "BEGIN IMMEDIATE" : "BEGIN", e);
}

static void abort_it(struct db *d)
{
	sqlite3_exec(d->c, "ROLLBACK", NULL, NULL, NULL);
}

static int commit(struct db *d, struct db_error *e)
{
	int rc = script(d, "COMMIT", e);

	if (rc)
		abort_it(d);
	return rc;
}

const struct db_ops db_sqlite = {
	.name = "sqlite",
	.open = open_db,
	.close = close_db,
	.begin = begin,
	.run = run,
	.commit = commit,
	.abort = abort_it,
	.script = script,
};
