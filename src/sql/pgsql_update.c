// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pgsql_update: the transaction of an update; see sql.h. One round trip: all goes out at once,
 * COMMIT too. The check and the update's row are one prepared statement, which comes first. When it
 * finds a difference, it fails: the database then runs none of the statements behind it, and not
 * COMMIT. Statements that come again are prepared, too (pgsql_texts.h).
 *
 * Only an answer to COMMIT says how it ended. What is lost before counts as unknown, too: the
 * caller then asks on another connection. The server may take the transaction up as late as it
 * likes: the check is part of it, and the caller has raised the row.
 *
 * R5 d: libpq sends less than 8 KiB at once: a host that hangs has sent all of such an update, or
 * nothing. A longer one goes out in parts. A server that waits for the next part is not "idle in
 * transaction": only its transaction_timeout ends that, from PostgreSQL 17 on.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/sql/pgsql.h"

enum { BEGIN, CHECK, STATEMENTS };
enum { QUERIES = STATEMENTS + SQL_STATEMENTS_MAX * PGSQL_TEXT_QUERIES + 1, CHECK_PARAMS = 5 };

/* The transaction; COMMIT is last. A statement may need more than one query (pgsql_texts.h). */
struct queries {
	struct pgsql_query q[QUERIES];
	uint32_t n;
	uint32_t of[SQL_STATEMENTS_MAX]; /* that which runs the statement */
	bool kept[SQL_STATEMENTS_MAX];	 /* it was prepared before */
	uint32_t prepares;		 /* the last one that prepares; 0: none */
};

/*
 * R5: the epoch, then the own row, FOR SHARE until the end; and the number of this transaction for
 * the guard of cached tables. If they are not as they were, the transaction's number is NULL; if
 * the slot's row has a name that is not older, the name is. Both columns are NOT NULL: so it fails,
 * and what goes out behind it is not run.
 */
static const char check_text[] =
	"INSERT INTO resex.update AS u (member, slot, name, transaction)"
	" VALUES ($2::integer, $4::integer, $5::bigint, ("
	"SELECT pg_current_xact_id()::text::bigint FROM resex.epoch AS e, resex.member AS m"
	" WHERE e.epoch = $1::integer AND e.version = 1 AND m.number = $2::integer"
	" AND m.fence = $3::integer AND m.is_in FOR SHARE OF e, m))"
	" ON CONFLICT (member, slot) DO UPDATE"
	" SET name = CASE WHEN u.name < excluded.name THEN excluded.name END,"
	" transaction = excluded.transaction"
	" RETURNING u.transaction, set_config('resex.update', u.transaction::text, true)";

static_assert(SQL_SCHEMA == 1, "check_text has the version of the schema");

struct check {
	char text[CHECK_PARAMS][24];
	const char *param[CHECK_PARAMS];
};

static void fill_check(struct check *c, const struct sql *s, const struct sql_update *u)
{
	snprintf(c->text[0], sizeof(c->text[0]), "%u", u->epoch);
	snprintf(c->text[1], sizeof(c->text[1]), "%u", s->self);
	snprintf(c->text[2], sizeof(c->text[2]), "%u", cache_update_fence(u->name));
	snprintf(c->text[3], sizeof(c->text[3]), "%u", u->slot);
	snprintf(c->text[4], sizeof(c->text[4]), "%" PRId64, sql_name_stored(u->name));
	for (int i = 0; i < CHECK_PARAMS; i++)
		c->param[i] = c->text[i];
}

static void fill_statement(struct queries *all, struct sql *s, const struct sql_update *u,
			   uint32_t i)
{
	struct pgsql_query *q = all->q + all->n;
	uint32_t n = pgsql_texts_use(&s->texts, u->statement[i].text, q);

	all->n += n;
	all->of[i] = all->n - 1;
	all->kept[i] = n == 1 && q->name;
	if (n > 1)
		all->prepares = all->n - 2;
	q[n - 1].params = (int)u->statement[i].params;
	q[n - 1].param = u->statement[i].param;
	q[n - 1].drops = true;
}

static void fill_queries(struct queries *all, struct sql *s, const struct check *c,
			 const struct sql_update *u)
{
	all->q[BEGIN] = (struct pgsql_query){ .text = s->begin };
	all->q[CHECK] = (struct pgsql_query){
		.name = "resex_begin",
		.params = CHECK_PARAMS,
		.param = c->param,
	};
	all->n = STATEMENTS;
	for (uint32_t i = 0; i < u->statements; i++)
		fill_statement(all, s, u, i);
	all->q[all->n++] = (struct pgsql_query){ .text = "COMMIT" };
}

/* The check found a difference. Was it the name? Then no new name will help. */
static enum sql_end explain(struct sql *s, const struct sql_update *u, struct sql_error *e)
{
	char self[24], slot[24], name[24];
	const char *const param[] = { self, slot, name };
	struct pgsql_query q = { .text = "SELECT 1 FROM resex.update WHERE member = $1::integer"
					 " AND slot = $2::integer AND name >= $3::bigint",
				 .params = 3,
				 .param = param };
	bool old;

	pgsql_rollback(s);
	snprintf(self, sizeof(self), "%u", s->self);
	snprintf(slot, sizeof(slot), "%u", u->slot);
	snprintf(name, sizeof(name), "%" PRId64, sql_name_stored(u->name));
	old = s->conn && !pgsql_do(s, &q, 1, "an update", e) && PQntuples(q.result);
	pgsql_clear(&q, 1);
	if (old) {
		sql_fail(e, 0,
			 "slot %u had an update of this name, or a newer one: is there another "
			 "resex-cached with the number of this host? end it",
			 u->slot);
		return SQL_FAILED;
	}
	sql_fail(e, 0, "the epoch, or the row of host %u, is another one than at the broadcast",
		 s->self);
	return SQL_CHANGED;
}

/*
 * A statement that is prepared can be refused for what has changed since: its table has other
 * columns, or somebody has dropped it.
 */
static bool is_worn(const char *state)
{
	return !strcmp(state, "0A000") || !strcmp(state, "26000");
}

/* The check was refused. One that waited in vain, or lost to a change, is made anew. */
static enum sql_end check_refused(struct sql *s, const struct sql_update *u, const PGresult *r,
				  struct sql_error *e)
{
	int rc = pgsql_refusal(s, r, "the check of an update", e);

	if (!strcmp(pgsql_state(r), "23502"))
		return explain(s, u, e);
	if (is_worn(pgsql_state(r))) {
		pgsql_forget(s);
		return SQL_CHANGED;
	}
	pgsql_rollback(s);
	return rc == -EAGAIN || rc == -ETIMEDOUT ? SQL_CHANGED : SQL_FAILED;
}

static enum sql_end statement_refused(struct sql *s, const struct sql_update *u,
				      const struct queries *all, uint32_t bad, struct sql_error *e)
{
	const PGresult *r = all->q[bad].result;
	const char *why = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
	uint32_t i = 0;

	while (all->of[i] < bad)
		i++;
	sql_refused(e, u, i, pgsql_state(r), why ? why : "the database did not say why");
	if (!all->kept[i] || !is_worn(pgsql_state(r))) {
		pgsql_rollback(s);
		return SQL_FAILED;
	}
	pgsql_forget(s);
	return SQL_CHANGED;
}

/*
 * Once a connection; not together with BEGIN, which must be the first to need a snapshot. 0 or
 * -errno.
 */
static int prepare(struct sql *s, struct sql_error *e)
{
	struct pgsql_query q = { .name = "resex_begin", .text = check_text };
	int rc = 0;

	if (!(s->prepared & PGSQL_BEGIN))
		rc = pgsql_do(s, &q, 1, "the check of an update", e);
	pgsql_clear(&q, 1);
	if (!rc)
		s->prepared |= PGSQL_BEGIN;
	return rc;
}

/*
 * COMMIT was refused: surely without effect if it is for what the transaction did (constraints
 * that are checked last, serialization). Anything else may have come behind the commit.
 */
static bool surely_refused(const PGresult *r)
{
	static const char *const states[] = { "23", "40001", "40P01", "P0", "RX", "22", "21" };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (!strncmp(pgsql_state(r), states[i], strlen(states[i])))
			return true;
	return false;
}

/* What COMMIT answered. */
static enum sql_end committed(struct sql *s, const struct queries *all, bool refused,
			      uint64_t *transaction, struct sql_error *e)
{
	PGresult *r = all->q[all->n - 1].result;

	if (refused) {
		pgsql_refusal(s, r, "COMMIT", e);
		if (surely_refused(r))
			return SQL_FAILED;
		pgsql_disconnect(s);
		return SQL_UNKNOWN;
	}
	if (strcmp(PQcmdStatus(r), "COMMIT") != 0) {
		sql_fail(e, 0, "the database rolled the transaction back");
		return SQL_FAILED;
	}
	if (s->ended) {
		sql_fail(e, 0, "a statement ended the transaction: leave it out");
		pgsql_disconnect(s);
		return SQL_UNKNOWN;
	}
	if (sql_number(pgsql_cell(all->q[CHECK].result, 0, 0), 1, INT64_MAX, "the transaction",
		       transaction, e)) {
		pgsql_disconnect(s);
		return SQL_UNKNOWN;
	}
	return SQL_COMMITTED;
}

/* How it ended, and what the database said. bad: the first query that was refused. */
static enum sql_end judge(struct sql *s, const struct sql_update *u, const struct queries *all,
			  uint32_t bad, uint64_t *transaction, struct sql_error *e)
{
	if (bad <= CHECK)
		return check_refused(s, u, all->q[bad].result, e);
	if (bad < all->n - 1)
		return statement_refused(s, u, all, bad, e);
	return committed(s, all, bad < all->n, transaction, e);
}

static enum sql_end run(struct sql *s, const struct sql_update *u, struct queries *all,
			uint64_t *transaction, struct sql_error *e)
{
	enum sql_end end;
	uint32_t bad;

	s->ended = false;
	if (pgsql_run(s, all->q, all->n, e))
		return SQL_UNKNOWN;
	bad = pgsql_bad(all->q, all->n);
	end = judge(s, u, all, bad, transaction, e);
	if (all->prepares && bad <= all->prepares) /* what is prepared is not known */
		pgsql_forget(s);
	return end;
}

/* What it changed; 0 of a SELECT, whose answer says how many rows it found. */
static uint64_t rows_of(PGresult *r, struct sql_error *e)
{
	static const char *const verbs[] = { "INSERT", "UPDATE", "DELETE", "MERGE" };
	const char *said = PQcmdStatus(r);
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strncmp(said, verbs[i], strlen(verbs[i])))
			(void)sql_number(PQcmdTuples(r), 0, INT64_MAX, "rows", &n, e);
	return n;
}

enum sql_end pgsql_update(struct sql *s, const struct sql_update *u, uint64_t *transaction,
			  uint64_t *rows, struct sql_error *e)
{
	struct queries all = { 0 };
	struct check c;
	uint64_t number = 0;
	enum sql_end end;
	int rc;

	if (sql_update_check(u, e))
		return SQL_FAILED;
	if (pgsql_call(s, e))
		return SQL_UNKNOWN;
	rc = prepare(s, e);
	if (rc)
		return rc == -ENOTCONN ? SQL_UNKNOWN : SQL_FAILED;
	fill_check(&c, s, u);
	fill_queries(&all, s, &c, u);
	end = run(s, u, &all, &number, e);
	if (end == SQL_COMMITTED) {
		*transaction = number;
		for (uint32_t i = 0; i < u->statements; i++)
			rows[i] = rows_of(all.q[all.of[i]].result, e);
	}
	pgsql_clear(all.q, all.n);
	return end;
}
