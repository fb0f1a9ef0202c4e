// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sqlite: SQLite, the database of one machine; see sql.h. BEGIN IMMEDIATE lets one writer in at a
 * time, so that what a transaction has checked stays so until its end, without locks of rows. In
 * WAL mode readers wait for nobody, and see what was committed last.
 *
 * SQLite has no numbers of transactions: each one that joins, removes, resolves or updates takes
 * the next number of a counter. It does not say what a snapshot sees.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/sql/backend.h"
#include "src/util/clock.h"

enum { OPS_PER_LOOK = 10000 }; /* instructions of SQLite from one look at the clock to the next */

struct sql {
	sqlite3 *db; /* NULL: it is lost */
	struct clock clock;
	int64_t timeout_ns;
	struct mono until; /* of the call under way */
	uint16_t self;
	char where[SQL_WHERE_MAX];
};

/* --- errors ------------------------------------------------------------------------------- */

static void disconnect(struct sql *s)
{
	sqlite3_close_v2(s->db);
	s->db = NULL;
}

/* Fills e from the newest error, and returns its -errno. */
static int refusal(struct sql *s, const char *what, struct sql_error *e)
{
	static const struct {
		int code, error;
		const char *state, *remedy;
	} row[] = {
		{ SQLITE_BUSY, ETIMEDOUT, "55P03", "; it is tried again" },
		{ SQLITE_LOCKED, ETIMEDOUT, "55P03", "; it is tried again" },
		{ SQLITE_INTERRUPT, ETIMEDOUT, "57014", "; it is tried again" },
		{ SQLITE_READONLY, EROFS, "25006", "; give this user the right to write to it" },
		{ SQLITE_FULL, ENOSPC, "53100", "; make room" },
		{ SQLITE_CANTOPEN, EIO, "58030", "; create it: schema-sqlite.sql" },
	};
	int code = sqlite3_errcode(s->db) & 0xff;
	const char *why = sqlite3_errmsg(s->db);

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (row[i].code == code) {
			sql_fail(e, 0, "%s: the database refused it: %.300s%s", what, why,
				 row[i].remedy);
			memcpy(e->state, row[i].state, sizeof(e->state));
			return -row[i].error;
		}
	if (code == SQLITE_ERROR && !strncmp(why, "no such", 7))
		return sql_fail(e, -ENOENT,
				"%s: the database refused it: %.300s; install the tables: "
				"etc/cache/schema-sqlite.sql",
				what, why);
	return sql_fail(e, -EIO, "%s: the database refused it: %.300s", what, why);
}

/* The SQLSTATE for an error of a statement, as PostgreSQL would give it. */
static const char *state_of(sqlite3 *db)
{
	switch (sqlite3_extended_errcode(db)) {
	case SQLITE_CONSTRAINT_UNIQUE:
	case SQLITE_CONSTRAINT_PRIMARYKEY:
	case SQLITE_CONSTRAINT_ROWID:
		return "23505";
	case SQLITE_CONSTRAINT_NOTNULL:
		return "23502";
	case SQLITE_CONSTRAINT_FOREIGNKEY:
		return "23503";
	case SQLITE_CONSTRAINT_CHECK:
		return "23514";
	case SQLITE_CONSTRAINT_TRIGGER:
		return "P0001";
	}
	switch (sqlite3_errcode(db) & 0xff) {
	case SQLITE_CONSTRAINT:
		return "23000";
	case SQLITE_INTERRUPT:
		return "57014";
	case SQLITE_FULL:
		return "53100";
	case SQLITE_READONLY:
		return "25006";
	case SQLITE_ERROR:
		return "42000";
	}
	return "58030";
}

/* --- statements --------------------------------------------------------------------------- */

static int out_of_time(void *arg)
{
	struct sql *s = arg;

	return mono_sub(s->until, s->clock.now(&s->clock)) <= 0;
}

/* Begins a call. A file that was replaced or deleted is another database. */
static int begin_call(struct sql *s, struct sql_error *e)
{
	int moved = 0;

	if (s->db && !sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) && moved)
		disconnect(s);
	if (!s->db)
		return sql_fail(e, -ENOTCONN,
				"the file %.300s is not the one that was opened: open it again",
				s->where);
	s->until = mono_add(s->clock.now(&s->clock), s->timeout_ns);
	return 0;
}

/*
 * Runs one of our own statements up to its first row. 1: there is one, and *row is for
 * sqlite3_finalize; 0: there is none; or -errno. Parameters are integers.
 */
static int run(struct sql *s, const char *text, const int64_t *param, int params, const char *what,
	       sqlite3_stmt **row, struct sql_error *e)
{
	sqlite3_stmt *q = NULL;
	int code = sqlite3_prepare_v2(s->db, text, -1, &q, NULL), rc = 0;

	for (int i = 0; !code && i < params; i++)
		code = sqlite3_bind_int64(q, i + 1, param[i]);
	if (!code)
		code = sqlite3_step(q);
	if (code == SQLITE_ROW && row) {
		*row = q;
		return 1;
	}
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		rc = refusal(s, what, e);
	sqlite3_finalize(q);
	return rc;
}

static int run_simple(struct sql *s, const char *text, const char *what, struct sql_error *e)
{
	return run(s, text, NULL, 0, what, NULL, e);
}

static const char *cell(sqlite3_stmt *q, int column)
{
	return (const char *)sqlite3_column_text(q, column);
}

/* Waits for other writers. */
static int begin(struct sql *s, const char *what, struct sql_error *e)
{
	int rc = begin_call(s, e);

	return rc ? rc : run_simple(s, "BEGIN IMMEDIATE", what, e);
}

static void rollback(struct sql *s)
{
	struct sql_error ignored;

	if (s->db && !sqlite3_get_autocommit(s->db))
		(void)run_simple(s, "ROLLBACK", "a transaction", &ignored);
}

/* COMMIT; it is not interrupted. */
static int commit(struct sql *s, const char *what, struct sql_error *e)
{
	int rc;

	sqlite3_progress_handler(s->db, 0, NULL, NULL);
	rc = run_simple(s, "COMMIT", what, e);
	sqlite3_progress_handler(s->db, OPS_PER_LOOK, out_of_time, s);
	return rc;
}

/* --- open --------------------------------------------------------------------------------- */

static int sqlite_open(struct sql **out, const struct sql_conf *c, struct sql_error *e)
{
	struct sql *s;
	int rc = sql_conf_check(c, e);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return sql_fail(e, -ENOMEM, "there is no memory for a connection");
	clock_real(&s->clock);
	s->timeout_ns = c->timeout_ns;
	s->self = c->self;
	s->until = mono_add(s->clock.now(&s->clock), s->timeout_ns);
	snprintf(s->where, sizeof(s->where), "%s", c->where);
	if (sqlite3_open_v2(c->where, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL)) {
		rc = sql_fail(e, -ENOTCONN,
			      "the file %.300s cannot be opened: %.100s; create it: "
			      "etc/cache/schema-sqlite.sql",
			      c->where, s->db ? sqlite3_errmsg(s->db) : "there is no memory");
		goto out;
	}
	sqlite3_busy_timeout(s->db, (int)(s->timeout_ns / NS_PER_MS));
	sqlite3_progress_handler(s->db, OPS_PER_LOOK, out_of_time, s);
	rc = run_simple(s, "PRAGMA synchronous = FULL", "the file is opened", e);
	if (!rc)
		rc = run_simple(s, "PRAGMA foreign_keys = ON", "the file is opened", e);
out:
	if (rc) {
		disconnect(s);
		free(s);
	} else {
		*out = s;
	}
	return rc;
}

static void sqlite_close(struct sql *s)
{
	if (s)
		disconnect(s);
	free(s);
}

/* --- look --------------------------------------------------------------------------------- */

static int take_epoch(struct sql *s, uint32_t *epoch, uint64_t *timeline, struct sql_error *e)
{
	struct stat st = { 0 };
	sqlite3_stmt *q = NULL;
	int rc = run(s, "SELECT epoch, version, timeline FROM resex_epoch", NULL, 0, "the epoch",
		     &q, e);
	uint64_t part[2];

	if (rc < 0)
		return rc;
	if (!rc)
		return sql_no_epoch("resex_epoch", e);
	rc = sql_take_epoch(cell(q, 0), cell(q, 1), "resex_epoch", epoch, e);
	if (!rc && sqlite3_column_type(q, 2) != SQLITE_INTEGER)
		rc = sql_fail(e, -EPROTO,
			      "resex_epoch.timeline is %.40s: UPDATE resex_epoch SET timeline = "
			      "random()",
			      cell(q, 2) ? cell(q, 2) : "NULL");
	part[0] = (uint64_t)sqlite3_column_int64(q, 2);
	/* A copy that took the file's place has another one. */
	(void)stat(s->where, &st);
	part[1] = st.st_ino;
	*timeline = sql_mix(part, 2);
	sqlite3_finalize(q);
	return rc;
}

#define MEMBERS "SELECT number, generation, fence, is_in, raised FROM resex_member"

static int take_row(sqlite3_stmt *q, struct sql_member *m, struct sql_error *e)
{
	const char *text[SQL_CELLS];

	for (int i = 0; i < SQL_CELLS; i++)
		text[i] = cell(q, i);
	return sql_take_member(text, "resex_member", m, e);
}

static int take_members(struct sql *s, struct sql_look *l, struct sql_error *e)
{
	sqlite3_stmt *q = NULL;
	int rc = run(s, MEMBERS, NULL, 0, "a look at the members", &q, e), code = SQLITE_ROW;

	if (rc <= 0)
		return rc;
	for (rc = 0; !rc && code == SQLITE_ROW; code = rc ? code : sqlite3_step(q)) {
		struct sql_member m;

		rc = take_row(q, &m, e);
		if (!rc)
			rc = sql_look_add(l, &m, "resex_member", e);
	}
	if (!rc && code != SQLITE_DONE)
		rc = refusal(s, "a look at the members", e);
	sqlite3_finalize(q);
	return rc;
}

/* BEGIN alone: epoch and rows are of one snapshot. */
static int sqlite_look(struct sql *s, struct sql_look *l, struct sql_error *e)
{
	struct sql_look found = { 0 };
	int rc = begin_call(s, e);

	if (!rc)
		rc = run_simple(s, "BEGIN", "a look at the members", e);
	if (rc)
		return rc;
	rc = take_epoch(s, &found.epoch, &found.timeline, e);
	if (!rc)
		rc = take_members(s, &found, e);
	rollback(s);
	if (!rc)
		*l = found;
	return rc;
}

/* --- check -------------------------------------------------------------------------------- */

/* What PRAGMA says; "" if it says nothing. */
static int ask(struct sql *s, const char *text, char answer[static 32], struct sql_error *e)
{
	sqlite3_stmt *q = NULL;
	int rc = run(s, text, NULL, 0, "the check of the database", &q, e);
	const char *said = rc == 1 ? cell(q, 0) : NULL;

	snprintf(answer, 32, "%s", said ? said : "");
	sqlite3_finalize(q);
	return rc < 0 ? rc : 0;
}

/* The tables; 0, or -ENOENT or -EPROTO: it is not as it should be. */
static int check_table(struct sql *s, int i, struct sql_error *e)
{
	static const char what[] = "the check of the database";
	uint32_t epoch = 0;
	uint64_t timeline = 0;

	if (i == 0)
		return take_epoch(s, &epoch, &timeline, e);
	return run_simple(s, i == 1 ? MEMBERS : "SELECT name, \"transaction\" FROM resex_update",
			  what, e);
}

static int sqlite_check(struct sql *s, char problem[static SQL_PROBLEMS_MAX][256],
			struct sql_error *e)
{
	char journal[32] = "", synchronous[32] = "";
	int n = 0, rc = begin_call(s, e);

	if (!rc)
		rc = ask(s, "PRAGMA journal_mode", journal, e);
	if (!rc)
		rc = ask(s, "PRAGMA synchronous", synchronous, e);
	if (rc)
		return rc;
	if (strcmp(journal, "wal") != 0)
		snprintf(problem[n++], sizeof(problem[0]),
			 "journal_mode is %s: readers would wait for writers; PRAGMA journal_mode "
			 "= WAL",
			 journal);
	if (strcmp(synchronous, "2") != 0 && strcmp(synchronous, "3") != 0)
		snprintf(problem[n++], sizeof(problem[0]),
			 "synchronous is %s: a crash takes back what caches have served; use a "
			 "SQLite that can be set to FULL",
			 synchronous);
	if (sqlite3_db_readonly(s->db, "main"))
		snprintf(problem[n++], sizeof(problem[0]),
			 "%.150s cannot be written: give this user the right to it", s->where);
	for (int i = 0; i < 3; i++) {
		rc = check_table(s, i, e);
		if (rc == -ENOENT || rc == -EPROTO)
			snprintf(problem[n++], sizeof(problem[0]), "%.255s", e->text);
		else if (rc)
			return rc;
	}
	return n;
}

/* --- join, remove, resolve ---------------------------------------------------------------- */

/* 1: the host has a row; 0: it has none. */
static int take_member(struct sql *s, uint16_t host, struct sql_member *m, struct sql_error *e)
{
	int64_t param[] = { host };
	sqlite3_stmt *q = NULL;
	int rc = run(s, MEMBERS " WHERE number = ?1", param, 1, "the row of a host", &q, e);

	if (rc != 1)
		return rc;
	rc = take_row(q, m, e);
	sqlite3_finalize(q);
	return rc ? rc : 1;
}

/* The number of this transaction. */
static int take_number(struct sql *s, bool updates, uint64_t *number, struct sql_error *e)
{
	int64_t param[] = { updates };
	sqlite3_stmt *q = NULL;
	int rc = run(s,
		     "UPDATE resex_epoch SET number = number + 1, updating = ?1 RETURNING number",
		     param, 1, "the number of a transaction", &q, e);

	if (!rc)
		return sql_no_epoch("resex_epoch", e);
	if (rc < 0)
		return rc;
	rc = sql_number(cell(q, 0), 1, INT64_MAX - 1, "resex_epoch.number", number, e);
	sqlite3_finalize(q);
	return rc;
}

static int write_member(struct sql *s, const struct sql_member *m, const char *what,
			struct sql_error *e)
{
	int64_t param[] = { m->number, m->generation, m->fence, m->in, (int64_t)m->raised };

	return run(s, "INSERT OR REPLACE INTO resex_member VALUES (?1, ?2, ?3, ?4, ?5)", param, 5,
		   what, NULL, e);
}

static int joins(struct sql *s, uint32_t generation, uint32_t fence, struct sql_joined *j,
		 struct sql_error *e)
{
	struct sql_member m = { 0 };
	int rc = take_epoch(s, &j->epoch, &j->timeline, e);

	if (!rc && j->epoch == SQL_EPOCH_MAX)
		rc = sql_fail(e, -ERANGE,
			      "resex_epoch.epoch is %u, and cannot be raised: make the "
			      "tables anew, while all hosts are down",
			      j->epoch);
	if (!rc)
		rc = take_member(s, s->self, &m, e);
	if (rc < 0)
		return rc;
	j->epoch++;
	rc = sql_raise(m.generation, generation, "generation", s->self, &j->generation, e);
	return rc ? rc : sql_raise(m.fence, fence, "fence", s->self, &j->fence, e);
}

static int write_join(struct sql *s, struct sql_joined *j, struct sql_error *e)
{
	int64_t epoch[] = { j->epoch };
	struct sql_member m = {
		.number = s->self, .in = true, .generation = j->generation, .fence = j->fence
	};
	int rc = take_number(s, false, &j->transaction, e);

	if (rc)
		return rc;
	m.raised = j->transaction;
	rc = run(s, "UPDATE resex_epoch SET epoch = ?1", epoch, 1, "this host joins", NULL, e);
	return rc ? rc : write_member(s, &m, "this host joins", e);
}

static int sqlite_join(struct sql *s, uint32_t generation, uint32_t fence, struct sql_joined *out,
		       struct sql_error *e)
{
	struct sql_joined j = { 0 };
	int rc = begin(s, "this host joins", e);

	if (!rc)
		rc = joins(s, generation, fence, &j, e);
	if (!rc)
		rc = write_join(s, &j, e);
	if (!rc)
		rc = commit(s, "this host joins", e);
	rollback(s);
	if (!rc)
		*out = j;
	return rc;
}

static int raise_row(struct sql *s, struct sql_member *m, bool in, const char *what,
		     struct sql_error *e)
{
	int rc = sql_raise(m->fence, 0, "fence", m->number, &m->fence, e);

	if (!rc)
		rc = take_number(s, false, &m->raised, e);
	m->in = in;
	return rc ? rc : write_member(s, m, what, e);
}

static int sqlite_remove(struct sql *s, uint16_t host, uint32_t generation, struct sql_error *e)
{
	struct sql_member m = { 0 };
	int rc = begin(s, "a member is removed", e);

	if (!rc)
		rc = take_member(s, host, &m, e);
	if (rc >= 0)
		rc = sql_removes(rc ? &m : NULL, host, generation, e);
	if (rc > 0) {
		rc = raise_row(s, &m, false, "a member is removed", e);
		if (!rc)
			rc = commit(s, "a member is removed", e);
	}
	rollback(s);
	return rc;
}

static int find_update(struct sql *s, uint16_t slot, uint64_t name, uint64_t *transaction,
		       struct sql_error *e)
{
	int64_t param[] = { s->self, slot };
	sqlite3_stmt *q = NULL;
	int rc = run(s,
		     "SELECT name, \"transaction\" FROM resex_update"
		     " WHERE member = ?1 AND slot = ?2",
		     param, 2, "the end of an update is looked for", &q, e);

	*transaction = 0;
	if (rc <= 0)
		return rc;
	rc = sql_resolved(cell(q, 0), cell(q, 1), slot, name, transaction, e);
	sqlite3_finalize(q);
	return rc;
}

static int sqlite_resolve(struct sql *s, uint16_t slot, uint64_t name, uint64_t *transaction,
			  struct sql_error *e)
{
	static const char what[] = "the end of an update is looked for";
	struct sql_member m = { 0 };
	uint64_t found = 0;
	int rc = begin(s, what, e);

	if (!rc)
		rc = take_member(s, s->self, &m, e);
	/* Without a row there is none that an update could find unchanged. */
	if (rc == 1)
		rc = raise_row(s, &m, m.in, what, e);
	if (!rc)
		rc = find_update(s, slot, name, &found, e);
	if (!rc)
		rc = commit(s, what, e);
	rollback(s);
	if (!rc)
		*transaction = found;
	return rc;
}

/* --- update ------------------------------------------------------------------------------- */

static enum sql_end refused(struct sql *s, const struct sql_update *u, uint32_t i,
			    const char *state, const char *why, struct sql_error *e)
{
	sql_refused(e, u, i, state, why);
	rollback(s);
	return SQL_FAILED;
}

/* Each parameter is a $1 .. $N that is in the text, and all that are in the text are given. */
static const char *bind(sqlite3_stmt *q, const struct sql_statement *st)
{
	if (sqlite3_bind_parameter_count(q) != (int)st->params)
		return "the text does not have as many parameters as are given";
	for (uint32_t i = 0; i < st->params; i++) {
		char name[12];
		int place;

		snprintf(name, sizeof(name), "$%u", i + 1);
		place = sqlite3_bind_parameter_index(q, name);
		if (!place)
			return "the text lacks one of the parameters $1, $2, ... that are given";
		if (st->param[i] &&
		    sqlite3_bind_text(q, place, st->param[i], -1, SQLITE_STATIC) != SQLITE_OK)
			return "a parameter is too long";
	}
	return NULL;
}

/* Is there another statement behind the first? */
static bool has_more(sqlite3 *db, const char *rest)
{
	sqlite3_stmt *q = NULL;
	bool more = sqlite3_prepare_v2(db, rest, -1, &q, NULL) != SQLITE_OK || q;

	sqlite3_finalize(q);
	return more;
}

/* SQL_COMMITTED: the update goes on. */
static enum sql_end run_statement(struct sql *s, const struct sql_update *u, uint32_t i,
				  uint64_t *rows, struct sql_error *e)
{
	const struct sql_statement *st = &u->statement[i];
	sqlite3_int64 before = sqlite3_total_changes64(s->db);
	sqlite3_stmt *q = NULL;
	const char *rest = NULL, *why;
	enum sql_end end;
	int code;

	if (sqlite3_prepare_v2(s->db, st->text, -1, &q, &rest))
		return refused(s, u, i, state_of(s->db), sqlite3_errmsg(s->db), e);
	why = has_more(s->db, rest) ? "the text has more than one statement" : bind(q, st);
	if (why) {
		sqlite3_finalize(q);
		return refused(s, u, i, "42601", why, e);
	}
	do
		code = sqlite3_step(q);
	while (code == SQLITE_ROW);
	end = code == SQLITE_DONE ? SQL_COMMITTED : SQL_FAILED;
	/* Before ROLLBACK, which would be the newest error. */
	if (end == SQL_FAILED)
		sql_refused(e, u, i, state_of(s->db), sqlite3_errmsg(s->db));
	*rows = sqlite3_total_changes64(s->db) == before ? 0 : (uint64_t)sqlite3_changes64(s->db);
	sqlite3_finalize(q);
	if (end == SQL_COMMITTED && sqlite3_get_autocommit(s->db)) {
		sql_fail(e, 0, "statement %u ended the transaction: leave it out", i + 1);
		disconnect(s);
		return SQL_UNKNOWN;
	}
	if (end != SQL_COMMITTED)
		rollback(s);
	return end;
}

/* R5: is all as it was at the broadcast? 1: it is; 0: it is not. */
static int unchanged(struct sql *s, const struct sql_update *u, struct sql_error *e)
{
	struct sql_member m = { 0 };
	uint32_t epoch = 0;
	uint64_t timeline = 0;
	int rc = take_epoch(s, &epoch, &timeline, e);

	if (!rc)
		rc = take_member(s, s->self, &m, e);
	if (rc < 0)
		return rc;
	if (rc == 1 && m.in && m.fence == cache_update_fence(u->name) && epoch == u->epoch)
		return 1;
	return sql_fail(e, 0,
			"the epoch, or the row of host %u, is another one than at the broadcast",
			s->self);
}

/* The update's row, and the guards open. 0 or -errno. */
static int write_row(struct sql *s, const struct sql_update *u, uint64_t *number,
		     struct sql_error *e)
{
	int rc = take_number(s, true, number, e);
	int64_t param[] = { s->self, u->slot, sql_name_stored(u->name), (int64_t)*number };

	if (!rc)
		rc = run(s,
			 "INSERT INTO resex_update VALUES (?1, ?2, ?3, ?4)"
			 " ON CONFLICT (member, slot) DO UPDATE SET name = excluded.name,"
			 " \"transaction\" = excluded.\"transaction\" WHERE name < excluded.name",
			 param, 4, "the row of an update", NULL, e);
	if (!rc && !sqlite3_changes64(s->db))
		rc = sql_fail(
			e, -EEXIST,
			"slot %u had an update of this name, or a newer one: is there another "
			"resex-cached with the number of this host? end it",
			u->slot);
	return rc;
}

/* SQL_COMMITTED: the update goes on. */
static enum sql_end begin_update(struct sql *s, const struct sql_update *u, uint64_t *number,
				 struct sql_error *e)
{
	int rc = begin(s, "an update", e);

	if (rc == -ENOTCONN)
		return SQL_UNKNOWN;
	if (rc == -ETIMEDOUT)
		return SQL_CHANGED;
	if (!rc)
		rc = unchanged(s, u, e);
	if (rc == 1)
		rc = write_row(s, u, number, e);
	else if (!rc)
		return SQL_CHANGED;
	return rc ? SQL_FAILED : SQL_COMMITTED;
}

/* The guards close; COMMIT. */
static enum sql_end end_update(struct sql *s, struct sql_error *e)
{
	if (run_simple(s, "UPDATE resex_epoch SET updating = 0", "the end of an update", e))
		return SQL_FAILED;
	if (!commit(s, "COMMIT", e))
		return SQL_COMMITTED;
	/* A constraint that is checked last leaves the transaction open. */
	if ((sqlite3_errcode(s->db) & 0xff) == SQLITE_CONSTRAINT) {
		snprintf(e->state, sizeof(e->state), "%s", state_of(s->db));
		return SQL_FAILED;
	}
	disconnect(s);
	return SQL_UNKNOWN;
}

static enum sql_end sqlite_update(struct sql *s, const struct sql_update *u, uint64_t *transaction,
				  uint64_t *rows, struct sql_error *e)
{
	uint64_t number = 0, changed[SQL_STATEMENTS_MAX] = { 0 };
	enum sql_end end;

	if (sql_update_check(u, e))
		return SQL_FAILED;
	end = begin_update(s, u, &number, e);
	for (uint32_t i = 0; end == SQL_COMMITTED && i < u->statements; i++)
		end = run_statement(s, u, i, &changed[i], e);
	if (end == SQL_COMMITTED)
		end = end_update(s, e);
	rollback(s);
	if (end == SQL_COMMITTED) {
		*transaction = number;
		for (uint32_t i = 0; i < u->statements; i++)
			rows[i] = changed[i];
	}
	return end;
}

const struct sql_ops sql_sqlite = {
	.name = "sqlite",
	.snapshots = false,
	.open = sqlite_open,
	.close = sqlite_close,
	.check = sqlite_check,
	.look = sqlite_look,
	.join = sqlite_join,
	.remove = sqlite_remove,
	.resolve = sqlite_resolve,
	.update = sqlite_update,
};
