// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pgsql_conn: connects, and runs queries until a deadline; see pgsql_conn.h. A server that does not
 * answer in time counts as lost: its transaction ends when the connection is closed, or by the
 * timeouts that are set here for the session.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sql/pgsql_conn.h"

enum { VERSION_MIN = 140000 };

/* --- a loss ------------------------------------------------------------------------------- */

static int lost(struct sql *s, const char *why, struct sql_error *e)
{
	sql_fail(e, 0, "the connection to the database is lost: %s",
		 why && why[0] ? why : "it was closed");
	pgsql_disconnect(s);
	return -ENOTCONN;
}

void pgsql_disconnect(struct sql *s)
{
	PQfinish(s->conn);
	s->conn = NULL;
	s->prepared = 0;
	pgsql_texts_clear(&s->texts);
}

int pgsql_call(struct sql *s, struct sql_error *e)
{
	if (!s->conn)
		return sql_fail(e, -ENOTCONN,
				"the connection to the database is lost: open another one");
	s->until = mono_add(s->clock.now(&s->clock), s->timeout_ns);
	return 0;
}

/* --- results ------------------------------------------------------------------------------ */

/* Waits for the socket. 0, -ENOTCONN */
static int await(struct sql *s, bool writes, struct sql_error *e)
{
	struct pollfd p = { .fd = PQsocket(s->conn) };
	int64_t left = mono_sub(s->until, s->clock.now(&s->clock));
	int n;

	p.events = (short)(writes ? POLLIN | POLLOUT : POLLIN);
	if (left <= 0)
		return lost(s, "it did not answer in time", e);
	n = poll(&p, 1, (int)(left / NS_PER_MS) + 1);
	if (n < 0 && errno != EINTR)
		return lost(s, strerror(errno), e);
	return 0;
}

/* The next result; NULL: the results of a query have ended. */
static int next_result(struct sql *s, PGresult **r, struct sql_error *e)
{
	for (;;) {
		int unsent = PQflush(s->conn), rc;

		if (unsent < 0)
			return lost(s, PQerrorMessage(s->conn), e);
		if (!PQisBusy(s->conn))
			break;
		rc = await(s, unsent, e);
		if (rc)
			return rc;
		/* What has come before the end of the connection is still parsed. */
		if (!PQconsumeInput(s->conn) && PQisBusy(s->conn))
			return lost(s, PQerrorMessage(s->conn), e);
	}
	*r = PQgetResult(s->conn);
	return 0;
}

static bool is_fatal(const PGresult *r)
{
	const char *severity = PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED);

	return severity && (!strcmp(severity, "FATAL") || !strcmp(severity, "PANIC"));
}

static bool is_bad(const PGresult *r)
{
	ExecStatusType status = PQresultStatus(r);

	return status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK;
}

/* All results of one query; the last one is kept, or the first refusal. */
static int take_query(struct sql *s, struct pgsql_query *q, struct sql_error *e)
{
	if (q->drops)
		PQsetSingleRowMode(s->conn);
	for (;;) {
		PGresult *r = NULL;
		int rc = next_result(s, &r, e);

		if (rc)
			return rc;
		if (!r)
			return q->result ? 0 : lost(s, PQerrorMessage(s->conn), e);
		if (is_fatal(r) || PQstatus(s->conn) == CONNECTION_BAD) {
			const char *why = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);

			rc = lost(s, why ? why : PQerrorMessage(s->conn), e);
			PQclear(r);
			return rc;
		}
		if (PQresultStatus(r) == PGRES_SINGLE_TUPLE || (q->result && is_bad(q->result))) {
			PQclear(r);
			continue;
		}
		PQclear(q->result);
		q->result = r;
	}
}

/* The end of the pipeline: the server is ready, and says whether a transaction is under way. */
static int take_sync(struct sql *s, struct sql_error *e)
{
	PGresult *r = NULL;
	int rc = next_result(s, &r, e);

	if (rc)
		return rc;
	if (PQresultStatus(r) != PGRES_PIPELINE_SYNC) {
		PQclear(r);
		return lost(s, "it said something that was not expected", e);
	}
	PQclear(r);
	return next_result(s, &r, e); /* NULL: now the connection is idle */
}

static int send(struct sql *s, const struct pgsql_query *q)
{
	if (q->name && q->text)
		return PQsendPrepare(s->conn, q->name, q->text, 0, NULL);
	if (q->name)
		return PQsendQueryPrepared(s->conn, q->name, q->params, q->param, NULL, NULL, 0);
	return PQsendQueryParams(s->conn, q->text, q->params, NULL, q->param, NULL, NULL, 0);
}

int pgsql_run(struct sql *s, struct pgsql_query *q, uint32_t n, struct sql_error *e)
{
	for (uint32_t i = 0; i < n; i++)
		q[i].result = NULL;
	for (uint32_t i = 0; i < n; i++)
		if (!send(s, &q[i]))
			return lost(s, PQerrorMessage(s->conn), e);
	if (!PQpipelineSync(s->conn))
		return lost(s, PQerrorMessage(s->conn), e);
	for (uint32_t i = 0; i < n; i++) {
		int rc = take_query(s, &q[i], e);

		if (rc)
			return rc;
	}
	return take_sync(s, e);
}

void pgsql_clear(struct pgsql_query *q, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		PQclear(q[i].result);
		q[i].result = NULL;
	}
}

uint32_t pgsql_bad(const struct pgsql_query *q, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && !is_bad(q[i].result))
		i++;
	return i;
}

const char *pgsql_cell(const PGresult *r, int row, int column)
{
	return PQgetisnull(r, row, column) ? NULL : PQgetvalue(r, row, column);
}

/* --- refusals ----------------------------------------------------------------------------- */

const char *pgsql_state(const PGresult *r)
{
	const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);

	return state ? state : "";
}

/* What to do about a refusal; by SQLSTATE, or its class. */
static int errno_of(const char *state, const char **remedy)
{
	static const struct {
		const char *state;
		int error;
		const char *remedy;
	} row[] = {
		{ "42501", EACCES, "; as its owner, SELECT resex.admit('ROLE') with this role" },
		{ "42P01", ENOENT, "; install the tables: etc/cache/schema.sql" },
		{ "3F000", ENOENT, "; install the tables: etc/cache/schema.sql" },
		{ "42703", ENOENT, "; install the tables: etc/cache/schema.sql" },
		{ "25006", EROFS, "; name the primary in sql.where" },
		{ "55P03", ETIMEDOUT, "; it is tried again" },
		{ "57014", ETIMEDOUT, "; it is tried again" },
		{ "40", EAGAIN, "; it is tried again" },
		{ "53", ENOSPC, "; make room for the database" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (!strncmp(state, row[i].state, strlen(row[i].state))) {
			*remedy = row[i].remedy;
			return -row[i].error;
		}
	*remedy = "";
	return -EIO;
}

int pgsql_refusal(const struct sql *s, const PGresult *r, const char *what, struct sql_error *e)
{
	const char *why = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY), *state = pgsql_state(r);
	const char *remedy;
	int rc = errno_of(state, &remedy);

	if (!why)
		why = s->conn ? PQerrorMessage(s->conn) : "";
	sql_fail(e, rc, "%s: the database refused it: %.300s%s", what, why, remedy);
	snprintf(e->state, sizeof(e->state), "%s", state);
	return rc;
}

void pgsql_rollback(struct sql *s)
{
	struct pgsql_query q = { .text = "ROLLBACK" };
	struct sql_error ignored;

	if (!s->conn || PQtransactionStatus(s->conn) == PQTRANS_IDLE)
		return;
	(void)pgsql_run(s, &q, 1, &ignored);
	pgsql_clear(&q, 1);
}

void pgsql_forget(struct sql *s)
{
	struct pgsql_query q = { .text = "DEALLOCATE ALL" };
	struct sql_error ignored;

	pgsql_rollback(s);
	pgsql_texts_clear(&s->texts);
	s->prepared = 0;
	if (s->conn && (pgsql_run(s, &q, 1, &ignored) || pgsql_bad(&q, 1) == 0))
		pgsql_disconnect(s);
	pgsql_clear(&q, 1);
}

int pgsql_do(struct sql *s, struct pgsql_query *q, uint32_t n, const char *what,
	     struct sql_error *e)
{
	int rc = pgsql_run(s, q, n, e);
	uint32_t bad;

	if (rc)
		return rc;
	bad = pgsql_bad(q, n);
	if (bad == n)
		return 0;
	rc = pgsql_refusal(s, q[bad].result, what, e);
	pgsql_rollback(s);
	return rc;
}

/* --- a new connection --------------------------------------------------------------------- */

static int64_t at_least(int64_t n, int64_t least)
{
	return n > least ? n : least;
}

/* What sql.where says goes before what is here, but for the encoding. */
static PGconn *connect_to(const struct sql_conf *c)
{
	int64_t seconds = at_least(c->timeout_ns / NS_PER_S, 1);
	char connect[24], idle[24], interval[24], user[24];
	const char *const option[][2] = {
		{ "connect_timeout", connect },
		{ "keepalives", "1" },
		{ "keepalives_idle", idle },
		{ "keepalives_interval", interval },
		{ "keepalives_count", "2" },
		{ "tcp_user_timeout", user },
		{ "target_session_attrs", "read-write" },
		{ "fallback_application_name", "resex-cached" },
		{ "dbname", c->where },
		{ "client_encoding", "UTF8" },
	};
	enum { OPTIONS = sizeof(option) / sizeof(option[0]) };
	const char *key[OPTIONS + 1] = { NULL }, *value[OPTIONS + 1] = { NULL };

	snprintf(connect, sizeof(connect), "%" PRId64, at_least(seconds, 2));
	snprintf(idle, sizeof(idle), "%" PRId64, seconds);
	snprintf(interval, sizeof(interval), "%" PRId64, at_least(seconds / 3, 1));
	snprintf(user, sizeof(user), "%" PRId64, at_least(c->timeout_ns / NS_PER_MS, 1));
	for (int i = 0; i < OPTIONS; i++) {
		key[i] = option[i][0];
		value[i] = option[i][1];
	}
	return PQconnectdbParams(key, value, 1);
}

/* The server's messages that are no answers: libpq would print them. */
static void take_notice(void *arg, const PGresult *r)
{
	struct sql *s = arg;

	if (!strcmp(pgsql_state(r), "25P01")) /* no active SQL transaction */
		s->ended = true;
}

/* The isolation of updates is the role's; all else is READ COMMITTED. */
static const char *begin_of(const char *isolation)
{
	if (isolation && !strcmp(isolation, "serializable"))
		return "BEGIN ISOLATION LEVEL SERIALIZABLE";
	if (isolation && !strcmp(isolation, "repeatable read"))
		return "BEGIN ISOLATION LEVEL REPEATABLE READ";
	return "BEGIN ISOLATION LEVEL READ COMMITTED";
}

/*
 * For the session: how long locks and statements are waited for, so that the server says so before
 * this host gives the connection up; and how soon it notices that this host is gone or hangs, which
 * would keep the rows locked (R5 d). What the role has set already stays, if it is no longer.
 */
static int settle(struct sql *s, struct sql_error *e)
{
	char statement[24], lock[24], hang[24], idle[24], all[24];
	const char *const param[] = { statement, lock, hang, idle, all };
	struct pgsql_query q[] = {
		{ .text = "SELECT current_setting('default_transaction_isolation'),"
			  " (SELECT system_identifier FROM pg_control_system()),"
			  " (SELECT oid FROM pg_database WHERE datname = current_database())" },
		{ .text = "SELECT set_config(name, value, false) FROM (VALUES"
			  " ('default_transaction_isolation', 'read committed'),"
			  " ('statement_timeout', $1), ('lock_timeout', $2),"
			  " ('idle_in_transaction_session_timeout', $3),"
			  " ('tcp_keepalives_idle', $4), ('tcp_keepalives_interval', '1'),"
			  " ('tcp_keepalives_count', '3'), ('tcp_user_timeout', $5),"
			  " ('transaction_timeout', $5),"
			  " ('client_connection_check_interval', '500ms'),"
			  " ('synchronous_commit', 'on')) AS v (name, value)"
			  " JOIN pg_settings AS s USING (name) WHERE CASE s.name"
			  " WHEN 'synchronous_commit' THEN s.setting = 'off'"
			  " WHEN 'idle_in_transaction_session_timeout' THEN s.setting = '0'"
			  " OR s.setting::bigint > v.value::bigint"
			  " ELSE true END",
		  .params = 5,
		  .param = param },
	};
	uint64_t n;
	int rc;

	snprintf(statement, sizeof(statement), "%" PRId64,
		 at_least(s->timeout_ns * 3 / 4 / NS_PER_MS, 1));
	snprintf(lock, sizeof(lock), "%" PRId64, at_least(s->timeout_ns / 2 / NS_PER_MS, 1));
	snprintf(hang, sizeof(hang), "%" PRId64, at_least(s->hang_ns / NS_PER_MS, 1));
	snprintf(idle, sizeof(idle), "%" PRId64, at_least(s->timeout_ns / NS_PER_S, 1));
	snprintf(all, sizeof(all), "%" PRId64, at_least(s->timeout_ns / NS_PER_MS, 1));
	rc = pgsql_do(s, q, 2, "the connection is opened", e);
	if (!rc) {
		s->begin = begin_of(pgsql_cell(q[0].result, 0, 0));
		rc = sql_number(pgsql_cell(q[0].result, 0, 1), 0, UINT64_MAX, "system_identifier",
				&s->system, e);
	}
	if (!rc) {
		rc = sql_number(pgsql_cell(q[0].result, 0, 2), 1, UINT32_MAX, "pg_database.oid", &n,
				e);
		s->database = n;
	}
	pgsql_clear(q, 2);
	return rc;
}

int pgsql_connect(struct sql *s, const struct sql_conf *c, struct sql_error *e)
{
	int rc;

	clock_real(&s->clock);
	s->timeout_ns = c->timeout_ns;
	s->hang_ns = c->hang_ns && c->hang_ns < c->timeout_ns ? c->hang_ns : c->timeout_ns;
	s->self = c->self;
	s->conn = connect_to(c);
	if (!s->conn)
		return sql_fail(e, -ENOMEM, "there is no memory for a connection");
	if (PQstatus(s->conn) != CONNECTION_OK) {
		sql_fail(e, 0, "the database cannot be reached: %.400s", PQerrorMessage(s->conn));
		pgsql_disconnect(s);
		return -ENOTCONN;
	}
	if (PQserverVersion(s->conn) < VERSION_MIN) {
		sql_fail(e, 0, "the database is PostgreSQL %d: at least %d is needed",
			 PQserverVersion(s->conn) / 10000, VERSION_MIN / 10000);
		pgsql_disconnect(s);
		return -EPROTO;
	}
	PQsetNoticeReceiver(s->conn, take_notice, s);
	if (PQsetnonblocking(s->conn, 1) || !PQenterPipelineMode(s->conn))
		return lost(s, PQerrorMessage(s->conn), e);
	rc = pgsql_call(s, e);
	if (!rc)
		rc = settle(s, e);
	if (rc)
		pgsql_disconnect(s);
	return rc;
}
