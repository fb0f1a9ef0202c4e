// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pgsql_check: is this PostgreSQL safe for caching? See sql_ops.check. What pgsql_conn.c sets for
 * the session is asked as it would be without: the role's own setting.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sql/pgsql.h"

enum { HANG_MAX_MS = 60000 };

struct problems {
	char (*text)[256];
	int n;
};

static __attribute__((format(printf, 2, 3))) void add(struct problems *p, const char *format, ...)
{
	char text[256];
	struct sql_error e = { 0 };
	va_list args;

	if (p->n == SQL_PROBLEMS_MAX)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sql_fail(&e, 0, "%s", text);
	snprintf(p->text[p->n++], sizeof(p->text[0]), "%.255s", e.text);
}

/* The value; a name that the server does not know has none. */
static const char *text_of(const PGresult *r, int column)
{
	const char *text = pgsql_cell(r, 0, column);

	return text ? text : "";
}

enum { FSYNC, FULL_PAGE_WRITES, SYNCHRONOUS_COMMIT, HANG, RECOVERY, PID, ROLE };

/* reset_val: what the session would have without pgsql_conn.c. */
static const char settings_text[] =
	"SELECT (SELECT setting FROM pg_settings WHERE name = 'fsync'),"
	" (SELECT setting FROM pg_settings WHERE name = 'full_page_writes'),"
	" (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),"
	" (SELECT reset_val FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'),"
	" pg_is_in_recovery()::integer, pg_backend_pid(), quote_ident(current_user)";

static void check_settings(const struct sql *s, const PGresult *r, struct problems *p)
{
	const char *hang = text_of(r, HANG), *role = text_of(r, ROLE);
	long hang_ms = strtol(hang, NULL, 10);

	if (strcmp(text_of(r, RECOVERY), "0") != 0)
		add(p, "the database is a standby: name the primary in sql.where");
	if (strcmp(text_of(r, FSYNC), "on") != 0)
		add(p, "fsync is off: a crash takes back what caches have served; set fsync = on");
	if (strcmp(text_of(r, FULL_PAGE_WRITES), "on") != 0)
		add(p, "full_page_writes is off: a crash can damage tables; set it on");
	if (!strcmp(text_of(r, SYNCHRONOUS_COMMIT), "off"))
		add(p,
		    "synchronous_commit is off: a crash takes back what caches have served; ALTER "
		    "ROLE %.80s SET synchronous_commit = on",
		    role);
	if (hang_ms <= 0 || hang_ms > HANG_MAX_MS)
		add(p,
		    "idle_in_transaction_session_timeout is %.20s ms: so long (0: for ever) a host "
		    "that hangs keeps others from writing; ALTER ROLE %.80s SET it to 1s .. %ds",
		    hang, role, HANG_MAX_MS / 1000);
	if (strtol(text_of(r, PID), NULL, 10) != PQbackendPID(s->conn))
		add(p, "the connection goes through a pool: name the server itself in sql.where");
}

/* A UNIX socket needs none. */
static void check_keepalives(const struct sql *s, struct problems *p)
{
	PQconninfoOption *all = PQconninfo(s->conn);
	const char *host = PQhost(s->conn);
	bool tcp = host && host[0] != '/';

	for (PQconninfoOption *o = all; tcp && o && o->keyword; o++)
		if (!strcmp(o->keyword, "keepalives") && o->val && !strcmp(o->val, "0"))
			add(p, "keepalives=0 in sql.where: a server that is gone is not noticed; "
			       "leave it out");
	PQconninfoFree(all);
}

enum { TABLE, EXISTS, LACKS };

/* resex.epoch has one row for ever: nobody inserts. */
static const char tables_text[] =
	"SELECT t.name, (c.oid IS NOT NULL)::integer, concat_ws(', ',"
	" CASE WHEN NOT has_schema_privilege(n.oid, 'USAGE') THEN 'USAGE of its schema' END,"
	" CASE WHEN NOT has_table_privilege(c.oid, 'SELECT') THEN 'SELECT' END,"
	" CASE WHEN NOT has_table_privilege(c.oid, 'UPDATE') THEN 'UPDATE' END,"
	" CASE WHEN NOT has_table_privilege(c.oid, 'INSERT') AND t.name <> 'epoch'"
	" THEN 'INSERT' END)"
	" FROM (VALUES (1, 'epoch'), (2, 'member'), (3, 'update')) AS t (place, name)"
	" LEFT JOIN pg_namespace AS n ON n.nspname = 'resex'"
	" LEFT JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = t.name"
	" ORDER BY t.place";

/* Can all be read, and written? */
static bool check_tables(const PGresult *r, const char *role, struct problems *p)
{
	int n = p->n;

	for (int i = 0; i < PQntuples(r); i++) {
		const char *name = PQgetvalue(r, i, TABLE), *lacks = PQgetvalue(r, i, LACKS);

		if (strcmp(PQgetvalue(r, i, EXISTS), "1") != 0)
			add(p, "there is no table resex.%.20s: install etc/cache/schema.sql", name);
		else if (lacks[0])
			add(p,
			    "role %.80s lacks rights at resex.%.20s (%.60s): as its owner, SELECT "
			    "resex.admit('%.60s')",
			    role, name, lacks, role);
	}
	return p->n == n;
}

static int check_version(struct sql *s, struct problems *p, struct sql_error *e)
{
	struct pgsql_query q = { .text = "SELECT epoch, version FROM resex.epoch" };
	struct sql_error said;
	uint32_t epoch;
	int rc = pgsql_do(s, &q, 1, "the version of the tables", e);

	if (!rc && PQntuples(q.result) != 1)
		add(p, "resex.epoch has %d rows: it must have one; install the tables anew",
		    PQntuples(q.result));
	else if (!rc && sql_take_epoch(pgsql_cell(q.result, 0, 0), pgsql_cell(q.result, 0, 1),
				       "resex.epoch", &epoch, &said))
		add(p, "%.250s", said.text);
	pgsql_clear(&q, 1);
	return rc;
}

int pgsql_check(struct sql *s, char problem[static SQL_PROBLEMS_MAX][256], struct sql_error *e)
{
	struct problems p = { .text = problem };
	struct pgsql_query q[] = { { .text = settings_text }, { .text = tables_text } };
	int rc = pgsql_call(s, e);

	if (!rc)
		rc = pgsql_do(s, q, 2, "the check of the database", e);
	if (!rc) {
		check_settings(s, q[0].result, &p);
		check_keepalives(s, &p);
		if (check_tables(q[1].result, text_of(q[0].result, ROLE), &p))
			rc = check_version(s, &p, e);
	}
	pgsql_clear(q, 2);
	return rc ? rc : p.n;
}
