// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pgsql: PostgreSQL: who is a member, and how that changes; see sql.h. Transactions of updates are
 * in pgsql_update.c.
 *
 * A host that raises the epoch or a row must wait until no transaction holds it FOR SHARE. Such
 * locks go along with each other, so a stream of updates may never let it in (3 s were seen with 24
 * updaters). So it waits for the row only for a while, and then for the table: those who come
 * behind it wait there.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sql/pgsql.h"

enum { TRY_PART = 8 }; /* the part of the timeout for which a row is waited for */

#define BEGIN	    "BEGIN ISOLATION LEVEL READ COMMITTED"
#define THIS_NUMBER "pg_current_xact_id()::text::bigint"
#define TIMELINE                                                                                   \
	"CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_walfile_name(pg_current_wal_lsn()) END"

/* --- open --------------------------------------------------------------------------------- */

static int pgsql_open(struct sql **out, const struct sql_conf *c, struct sql_error *e)
{
	struct sql *s;
	int rc = sql_conf_check(c, e);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return sql_fail(e, -ENOMEM, "there is no memory for a connection");
	rc = pgsql_connect(s, c, e);
	if (rc)
		free(s);
	else
		*out = s;
	return rc;
}

static void pgsql_close(struct sql *s)
{
	if (s)
		pgsql_disconnect(s);
	free(s);
}

/*
 * A number for this database in this life: system and database, the table (it may have been made
 * anew), and the timeline, which begins the names of the log's files.
 */
static int take_timeline(const struct sql *s, const char *table, const char *file,
			 uint64_t *timeline, struct sql_error *e)
{
	uint64_t part[4] = { s->system, s->database, 0, 0 };
	char text[9] = "";
	int rc = sql_number(table, 1, UINT32_MAX, "the number of resex.epoch", &part[2], e);

	if (rc)
		return rc;
	if (!file)
		return sql_fail(
			e, -EROFS,
			"the database is a standby, which lags: name the primary in sql.where");
	snprintf(text, sizeof(text), "%.8s", file);
	part[3] = strtoull(text, NULL, 16);
	if (!part[3])
		return sql_fail(e, -EPROTO, "the database's log file is %.40s: it has no timeline",
				file);
	*timeline = sql_mix(part, 4);
	return 0;
}

/* --- look --------------------------------------------------------------------------------- */

enum { LOOK_TABLE, LOOK_FILE, LOOK_EPOCH, LOOK_VERSION, LOOK_HAS, LOOK_MEMBER };

/* More than all hosts: what has more is not read whole. */
#define LOOK                                                                                       \
	"SELECT e.tableoid, " TIMELINE ", e.epoch, e.version, m.tableoid, m.number, m.generation," \
	" m.fence, m.is_in::integer, m.raised"                                                     \
	" FROM resex.epoch AS e LEFT JOIN resex.member AS m ON true LIMIT 1000"

static int take_look(const struct sql *s, const PGresult *r, struct sql_look *l,
		     struct sql_error *e)
{
	int rc, n = PQntuples(r);

	memset(l, 0, sizeof(*l));
	if (!n)
		return sql_no_epoch("resex.epoch", e);
	rc = take_timeline(s, pgsql_cell(r, 0, LOOK_TABLE), pgsql_cell(r, 0, LOOK_FILE),
			   &l->timeline, e);
	if (!rc)
		rc = sql_take_epoch(pgsql_cell(r, 0, LOOK_EPOCH), pgsql_cell(r, 0, LOOK_VERSION),
				    "resex.epoch", &l->epoch, e);
	for (int i = 0; !rc && i < n && pgsql_cell(r, i, LOOK_HAS); i++) {
		const char *cell[SQL_CELLS];
		struct sql_member m;

		for (int k = 0; k < SQL_CELLS; k++)
			cell[k] = pgsql_cell(r, i, LOOK_MEMBER + k);
		rc = sql_take_member(cell, "resex.member", &m, e);
		if (!rc)
			rc = sql_look_add(l, &m, "resex.member", e);
	}
	return rc;
}

static int pgsql_look(struct sql *s, struct sql_look *l, struct sql_error *e)
{
	struct pgsql_query q[] = { { .name = "resex_look", .text = LOOK },
				   { .name = "resex_look" } };
	uint32_t first = s->prepared & PGSQL_LOOK ? 1 : 0;
	struct sql_look found = { 0 };
	int rc = pgsql_call(s, e);

	if (!rc)
		rc = pgsql_do(s, q + first, 2 - first, "a look at the members", e);
	if (!rc) {
		s->prepared |= PGSQL_LOOK;
		rc = take_look(s, q[1].result, &found, e);
	}
	pgsql_clear(q, 2);
	if (!rc)
		*l = found;
	return rc;
}

/* --- locks -------------------------------------------------------------------------------- */

/*
 * Begins a transaction, and runs `query`, which locks a row: first for a while, then behind a lock
 * of its table. *r is the query's result, for PQclear.
 */
static int lock_row(struct sql *s, const char *table, const struct pgsql_query *query,
		    const char *what, PGresult **r, struct sql_error *e)
{
	char limit[64], lock[64];
	struct pgsql_query q[] = { { .text = BEGIN }, { .text = limit }, *query };
	int rc;

	snprintf(limit, sizeof(limit), "SET LOCAL lock_timeout = %" PRId64,
		 (int64_t)(s->timeout_ns / TRY_PART / NS_PER_MS + 1));
	rc = pgsql_do(s, q, 3, what, e);
	if (rc == -ETIMEDOUT && s->conn) {
		pgsql_clear(q, 3);
		snprintf(lock, sizeof(lock), "LOCK TABLE %s IN EXCLUSIVE MODE", table);
		q[1].text = lock;
		rc = pgsql_do(s, q, 3, what, e);
	}
	if (!rc) {
		*r = q[2].result;
		q[2].result = NULL;
	}
	pgsql_clear(q, 3);
	return rc;
}

#define MEMBER                                                                                     \
	"SELECT number, generation, fence, is_in::integer, raised"                                 \
	" FROM resex.member WHERE number = $1 FOR UPDATE"

/* The row of a result of MEMBER. 1: it is there; 0: it is not. */
static int take_member(const PGresult *r, struct sql_member *m, struct sql_error *e)
{
	const char *cell[SQL_CELLS];
	int rc;

	if (!PQntuples(r))
		return 0;
	for (int k = 0; k < SQL_CELLS; k++)
		cell[k] = pgsql_cell(r, 0, k);
	rc = sql_take_member(cell, "resex.member", m, e);
	return rc ? rc : 1;
}

/* Begins a transaction, and locks the row of a host. 1: it is there; 0: it is not. */
static int lock_member(struct sql *s, const char *host, const char *what, struct sql_member *m,
		       struct sql_error *e)
{
	const char *const param[] = { host };
	struct pgsql_query q = { .text = MEMBER, .params = 1, .param = param };
	PGresult *r = NULL;
	int rc = lock_row(s, "resex.member", &q, what, &r, e);

	if (rc)
		return rc;
	rc = take_member(r, m, e);
	PQclear(r);
	return rc;
}

/* Of COMMIT: a transaction that was broken ends by it, too, but as by ROLLBACK. */
static int took_effect(const struct pgsql_query *commit, const char *what, struct sql_error *e)
{
	return strcmp(PQcmdStatus(commit->result), "COMMIT") != 0
		       ? sql_fail(e, -EIO, "%s: the database rolled it back", what)
		       : 0;
}

static void number_text(char text[static 24], uint64_t n)
{
	snprintf(text, 24, "%" PRIu64, n);
}

/* --- join --------------------------------------------------------------------------------- */

#define JOIN "this host joins"

static int joins(struct sql *s, PGresult *epoch, uint32_t generation, uint32_t fence,
		 struct sql_joined *j, struct sql_error *e)
{
	char self[24];
	const char *const param[] = { self };
	struct pgsql_query q = { .text = MEMBER, .params = 1, .param = param };
	struct sql_member m = { 0 };
	int rc;

	if (!PQntuples(epoch))
		return sql_no_epoch("resex.epoch", e);
	rc = take_timeline(s, pgsql_cell(epoch, 0, LOOK_TABLE), pgsql_cell(epoch, 0, LOOK_FILE),
			   &j->timeline, e);
	if (!rc)
		rc = sql_take_epoch(pgsql_cell(epoch, 0, LOOK_EPOCH),
				    pgsql_cell(epoch, 0, LOOK_VERSION), "resex.epoch", &j->epoch,
				    e);
	if (!rc && j->epoch == SQL_EPOCH_MAX)
		rc = sql_fail(e, -ERANGE,
			      "resex.epoch.epoch is %u, and cannot be raised: install "
			      "the tables anew, while all hosts are down",
			      j->epoch);
	if (rc)
		return rc;
	number_text(self, s->self);
	rc = pgsql_do(s, &q, 1, JOIN, e);
	if (!rc)
		rc = take_member(q.result, &m, e);
	pgsql_clear(&q, 1);
	if (rc < 0)
		return rc;
	j->epoch++;
	rc = sql_raise(m.generation, generation, "generation", s->self, &j->generation, e);
	return rc ? rc : sql_raise(m.fence, fence, "fence", s->self, &j->fence, e);
}

static int write_join(struct sql *s, struct sql_joined *j, struct sql_error *e)
{
	char self[24], epoch[24], generation[24], fence[24];
	const char *const param[] = { self, generation, fence, epoch };
	struct pgsql_query q[] = {
		{ .text = "INSERT INTO resex.member (number, generation, fence, is_in, raised)"
			  " VALUES ($1, $2, $3, true, " THIS_NUMBER
			  ") ON CONFLICT (number) DO UPDATE"
			  " SET generation = excluded.generation, fence = excluded.fence,"
			  " is_in = true, raised = excluded.raised RETURNING raised",
		  .params = 3,
		  .param = param },
		{ .text = "UPDATE resex.epoch SET epoch = $1", .params = 1, .param = param + 3 },
		{ .text = "COMMIT" },
	};
	int rc;

	number_text(self, s->self);
	number_text(epoch, j->epoch);
	number_text(generation, j->generation);
	number_text(fence, j->fence);
	rc = pgsql_do(s, q, 3, JOIN, e);
	if (!rc)
		rc = took_effect(&q[2], JOIN, e);
	if (!rc)
		rc = sql_number(pgsql_cell(q[0].result, 0, 0), 1, INT64_MAX, "resex.member.raised",
				&j->transaction, e);
	pgsql_clear(q, 3);
	return rc;
}

static int pgsql_join(struct sql *s, uint32_t generation, uint32_t fence, struct sql_joined *out,
		      struct sql_error *e)
{
	struct pgsql_query q = { .text = "SELECT tableoid, " TIMELINE ", epoch, version"
					 " FROM resex.epoch FOR UPDATE" };
	struct sql_joined j = { 0 };
	PGresult *r = NULL;
	int rc = pgsql_call(s, e);

	if (!rc)
		rc = lock_row(s, "resex.epoch", &q, JOIN, &r, e);
	if (rc)
		return rc;
	rc = joins(s, r, generation, fence, &j, e);
	PQclear(r);
	if (!rc)
		rc = write_join(s, &j, e);
	if (rc)
		pgsql_rollback(s);
	else
		*out = j;
	return rc;
}

/* --- remove, resolve ---------------------------------------------------------------------- */

/* The row's fence, and whether it is in; then `last` and COMMIT. */
static int raise_row(struct sql *s, const struct sql_member *m, bool in, struct pgsql_query *last,
		     const char *what, struct sql_error *e)
{
	char number[24], fence[24];
	const char *const param[] = { number, fence, in ? "t" : "f" };
	struct pgsql_query q[] = {
		{ .text = "UPDATE resex.member SET fence = $2, is_in = $3, raised = " THIS_NUMBER
			  " WHERE number = $1",
		  .params = 3,
		  .param = param },
		{ .text = "COMMIT" },
		{ .text = "COMMIT" },
	};
	uint32_t next = 0, n = last ? 3 : 2;
	int rc = sql_raise(m->fence, 0, "fence", m->number, &next, e);

	if (rc)
		return rc;
	if (last)
		q[1] = *last;
	number_text(number, m->number);
	number_text(fence, next);
	rc = pgsql_do(s, q, n, what, e);
	if (!rc)
		rc = took_effect(&q[n - 1], what, e);
	if (last) {
		last->result = q[1].result;
		q[1].result = NULL;
	}
	pgsql_clear(q, n);
	return rc;
}

static int pgsql_remove(struct sql *s, uint16_t host, uint32_t generation, struct sql_error *e)
{
	char number[24];
	struct sql_member m = { 0 };
	int rc = pgsql_call(s, e);

	if (rc)
		return rc;
	number_text(number, host);
	rc = lock_member(s, number, "a member is removed", &m, e);
	if (rc >= 0)
		rc = sql_removes(rc ? &m : NULL, host, generation, e);
	if (rc > 0)
		rc = raise_row(s, &m, false, NULL, "a member is removed", e);
	pgsql_rollback(s);
	return rc;
}

#define RESOLVE "the end of an update is looked for"

/* Behind the raise: its snapshot has all that was committed before. */
static int raise_and_find(struct sql *s, const struct sql_member *m, uint16_t slot, uint64_t name,
			  uint64_t *transaction, struct sql_error *e)
{
	char self[24], text[24];
	const char *const param[] = { self, text };
	struct pgsql_query q = { .text = "SELECT name, transaction FROM resex.update"
					 " WHERE member = $1 AND slot = $2",
				 .params = 2,
				 .param = param };
	int rc;

	number_text(self, s->self);
	number_text(text, slot);
	rc = m ? raise_row(s, m, m->in, &q, RESOLVE, e) : pgsql_do(s, &q, 1, RESOLVE, e);
	if (!rc && !PQntuples(q.result))
		*transaction = 0;
	else if (!rc)
		rc = sql_resolved(pgsql_cell(q.result, 0, 0), pgsql_cell(q.result, 0, 1), slot,
				  name, transaction, e);
	pgsql_clear(&q, 1);
	return rc;
}

static int pgsql_resolve(struct sql *s, uint16_t slot, uint64_t name, uint64_t *transaction,
			 struct sql_error *e)
{
	char self[24];
	struct sql_member m = { 0 };
	uint64_t found;
	int rc = pgsql_call(s, e);

	if (rc)
		return rc;
	number_text(self, s->self);
	rc = lock_member(s, self, RESOLVE, &m, e);
	/* Without a row there is none that an update could find unchanged. */
	if (rc >= 0)
		rc = raise_and_find(s, rc ? &m : NULL, slot, name, &found, e);
	pgsql_rollback(s);
	if (!rc)
		*transaction = found;
	return rc;
}

const struct sql_ops sql_pgsql = {
	.name = "pgsql",
	.snapshots = true,
	.open = pgsql_open,
	.close = pgsql_close,
	.check = pgsql_check,
	.look = pgsql_look,
	.join = pgsql_join,
	.remove = pgsql_remove,
	.resolve = pgsql_resolve,
	.update = pgsql_update,
};
