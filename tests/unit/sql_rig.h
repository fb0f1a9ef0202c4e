/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sql_rig: a database of each test's own, with the tables of etc/cache and a cached table "items";
 * handles of src/sql/sql.h, and beside them a connection that may do all ("raw").
 *
 * PostgreSQL runs once for the program (tests/cache/pg.sh), and ends with it. SQL for the raw
 * connection says resex.TABLE; SQLite's resex_TABLE is made of it.
 */
#ifndef RESEX_TESTS_SQL_RIG_H
#define RESEX_TESTS_SQL_RIG_H

#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#ifdef HAVE_POSTGRESQL
#include <libpq-fe.h>
#endif
#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "src/sql/sql.h"
#include "src/util/clock.h"
#include "tests/unit/examples.h"
#include "tests/unit/prop.h"

enum { RIG_HANDLES = 32, RIG_SELF = 3, RIG_TIMEOUT_S = 10 };

struct rig {
	const struct sql_ops *ops;
	bool pgsql;
	char name[64]; /* of the database; of SQLite its file */
	char where[SQL_WHERE_MAX];
	struct sql *handle[RIG_HANDLES]; /* for rig_close */
	uint32_t handles;
	void *raw;
	struct sql_error e; /* of what failed last */
	uint64_t rows[SQL_STATEMENTS_MAX];
	uint64_t transaction;
};

/* --- PostgreSQL, once for all tests --------------------------------------------------------- */

struct rig_server {
	char dir[64];
	char where[256]; /* up to the database's name */
	uint32_t databases, open;
	FILE *keeper; /* stops it; NULL: it does not run */
};

static struct rig_server rig_server;

/* 0, or the script's exit status. out: its last line. */
static inline int rig_script(const char *words, char *out, size_t size)
{
	char path[256], command[512];
	FILE *f;
	int rc;

	snprintf(command, sizeof(command), "sh %s %s",
		 example_path("tests/cache/pg.sh", path, sizeof(path)), words);
	f = popen(command, "r");
	assert_non_null(f);
	out[0] = '\0';
	while (fgets(out, (int)size, f))
		out[strcspn(out, "\n")] = '\0';
	rc = pclose(f);
	return WIFEXITED(rc) ? WEXITSTATUS(rc) : -1;
}

/* Starts a server. It ends with this program, however this ends. 0, or as rig_script. */
static inline int rig_start(struct rig_server *v, uint16_t port, char *out, size_t size)
{
	char words[128], command[512], path[256];
	int rc;

	snprintf(words, sizeof(words), "start %s %u", v->dir, port);
	rc = rig_script(words, out, size);
	if (rc)
		return rc;
	snprintf(command, sizeof(command), "setsid sh -c 'cat >/dev/null; exec sh %s stop %s'",
		 example_path("tests/cache/pg.sh", path, sizeof(path)), v->dir);
	/* Not of this program's group, which timeout(1) kills whole. */
	v->keeper = popen(command, "we");
	assert_non_null(v->keeper);
	return 0;
}

static inline void rig_stop(struct rig_server *v)
{
	if (v->keeper)
		pclose(v->keeper);
	v->keeper = NULL;
}

static inline void rig_end_server(void)
{
	rig_stop(&rig_server);
}

static inline void rig_begin_server(void)
{
	char out[256];
	int rc;

	if (rig_server.keeper)
		return;
	snprintf(rig_server.dir, sizeof(rig_server.dir), "/tmp/resex-sql-%d", getpid());
	rc = rig_start(&rig_server, 5432, out, sizeof(out));
	if (rc == 77)
		skip();
	if (rc)
		fail_msg("PostgreSQL does not start: %d", rc);
	*strstr(out, " user=") = '\0';
	snprintf(rig_server.where, sizeof(rig_server.where), "%s", out);
	atexit(rig_end_server);
}

/* --- the raw connection --------------------------------------------------------------------- */

static inline const char *rig_file(const char *name, char *text, size_t size)
{
	char path[256];
	FILE *f = fopen(example_path(name, path, sizeof(path)), "r");
	size_t n;

	if (!f)
		fail_msg("%s cannot be read: set srcdir to the top of the sources", path);
	n = fread(text, 1, size - 1, f);
	fclose(f);
	text[n] = '\0';
	return text;
}

#ifdef HAVE_POSTGRESQL
static inline PGconn *rig_connect(const char *user, const char *database)
{
	char where[512];
	PGconn *c;

	snprintf(where, sizeof(where), "%s user=%s dbname=%s", rig_server.where, user, database);
	c = PQconnectdb(where);
	if (PQstatus(c) != CONNECTION_OK)
		fail_msg("%s: %s", where, PQerrorMessage(c));
	/* Not synchronous: it does not wait for a standby that a test has named. */
	PQclear(PQexec(c, "SET client_min_messages = error; SET synchronous_commit = off"));
	return c;
}

static inline void rig_pgsql_run(PGconn *c, const char *sql)
{
	PGresult *r = PQexec(c, sql);
	ExecStatusType status = PQresultStatus(r);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(c));
	PQclear(r);
}

static inline int64_t rig_pgsql_number(PGconn *c, const char *sql)
{
	PGresult *r = PQexec(c, sql);
	int64_t n = INT64_MIN;

	if (PQresultStatus(r) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(c));
	if (PQntuples(r) && !PQgetisnull(r, 0, 0))
		n = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
	PQclear(r);
	return n;
}

/* Makes all anew in a database that an earlier test may have had. */
static inline void rig_pgsql_clean(struct rig *r)
{
	static char schema[32768];

	rig_pgsql_run(r->raw,
		      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname ="
		      " current_database() AND pid <> pg_backend_pid();"
		      "DROP SCHEMA IF EXISTS resex CASCADE; DROP SCHEMA public CASCADE;"
		      "CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO cached;"
		      "ALTER ROLE cached RESET ALL");
	rig_pgsql_run(r->raw, rig_file("etc/cache/schema.sql", schema, sizeof(schema)));
	rig_pgsql_run(r->raw,
		      "CREATE TABLE items (id integer PRIMARY KEY, v integer CHECK (v < 1000000),"
		      " t text UNIQUE);"
		      "INSERT INTO items VALUES (1, 0, 'one'), (2, 0, 'two');"
		      "GRANT ALL ON items TO cached;"
		      "SELECT resex.protect('items'), resex.admit('cached')");
}

/* t1; t2 for a second one at the same time. */
static inline void rig_pgsql_open(struct rig *r)
{
	uint32_t place = ++rig_server.open;

	rig_begin_server();
	if (place > rig_server.databases) {
		char sql[64];
		PGconn *c = rig_connect("postgres", "postgres");

		if (!rig_server.databases) {
			/* A worker in template1 would be in the way of CREATE DATABASE. */
			rig_pgsql_run(c, "ALTER SYSTEM SET autovacuum = off");
			rig_pgsql_run(c, "SELECT pg_reload_conf()");
			rig_pgsql_run(c, "CREATE ROLE cached LOGIN");
		}
		snprintf(sql, sizeof(sql), "CREATE DATABASE t%u", ++rig_server.databases);
		rig_pgsql_run(c, sql);
		PQfinish(c);
	}
	snprintf(r->name, sizeof(r->name), "t%u", place);
	r->raw = rig_connect("postgres", r->name);
	rig_pgsql_clean(r);
	snprintf(r->where, sizeof(r->where), "%s user=cached dbname=%s", rig_server.where, r->name);
}
#endif

#ifdef HAVE_SQLITE
static inline void rig_sqlite_run(sqlite3 *db, const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why))
		fail_msg("%s: %s", sql, why);
}

static inline int64_t rig_sqlite_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *q;
	int64_t n = INT64_MIN;

	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_type(q, 0) != SQLITE_NULL)
		n = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return n;
}

static inline void rig_sqlite_guard(sqlite3 *db, const char *table, const char *what)
{
	char sql[512];

	/* As in schema-sqlite.sql. */
	snprintf(sql, sizeof(sql),
		 "CREATE TRIGGER resex_%s_%s BEFORE %s ON %s WHEN (SELECT updating FROM "
		 "resex_epoch) <> 1 BEGIN SELECT RAISE(ABORT, '%s is cached: this %s would leave "
		 "stale pages; send it to resex-cached as an update (POST /v1/update)'); END",
		 table, what, what, table, table, what);
	rig_sqlite_run(db, sql);
}

static inline void rig_sqlite_open(struct rig *r)
{
	static uint32_t files;
	static char schema[32768];
	sqlite3 *db;

	snprintf(r->name, sizeof(r->name), "/tmp/resex-sql-%d-%u.db", getpid(), files++);
	snprintf(r->where, sizeof(r->where), "%s", r->name);
	assert_int_equal(sqlite3_open(r->name, &db), SQLITE_OK);
	r->raw = db;
	sqlite3_busy_timeout(db, 10000);
	rig_sqlite_run(db, rig_file("etc/cache/schema-sqlite.sql", schema, sizeof(schema)));
	rig_sqlite_run(db, "CREATE TABLE items (id INTEGER PRIMARY KEY, v INTEGER CHECK (v < "
			   "1000000), t TEXT UNIQUE)");
	rig_sqlite_run(db, "INSERT INTO items VALUES (1, 0, 'one'), (2, 0, 'two')");
	rig_sqlite_guard(db, "items", "INSERT");
	rig_sqlite_guard(db, "items", "UPDATE");
	rig_sqlite_guard(db, "items", "DELETE");
}
#endif

/* sql, with SQLite's names of tables. */
static inline const char *rig_names(const struct rig *r, const char *sql)
{
	static char text[32768];

	assert_true(strlen(sql) < sizeof(text));
	strcpy(text, sql);
	for (char *at = text; !r->pgsql && (at = strstr(at, "resex.")); at++)
		at[5] = '_';
	return text;
}

static inline void rig_run(struct rig *r, const char *sql)
{
	(void)rig_names(r, sql);
#ifdef HAVE_POSTGRESQL
	if (r->pgsql)
		rig_pgsql_run(r->raw, sql);
#endif
#ifdef HAVE_SQLITE
	if (!r->pgsql)
		rig_sqlite_run(r->raw, rig_names(r, sql));
#endif
}

/* The first value; INT64_MIN: NULL, or no row. */
static inline int64_t rig_number(struct rig *r, const char *sql)
{
	int64_t n = 0;

	(void)rig_names(r, sql);
#ifdef HAVE_POSTGRESQL
	if (r->pgsql)
		n = rig_pgsql_number(r->raw, sql);
#endif
#ifdef HAVE_SQLITE
	if (!r->pgsql)
		n = rig_sqlite_number(r->raw, rig_names(r, sql));
#endif
	return n;
}

static inline int64_t rig_item(struct rig *r)
{
	return rig_number(r, "SELECT v FROM items WHERE id = 1");
}

/* --- the rig -------------------------------------------------------------------------------- */

/* A skipped test, if the backend is not built, or cannot run here. */
static inline void rig_open(struct rig *r, const char *backend)
{
	memset(r, 0, sizeof(*r));
	r->ops = sql_find(backend);
	r->pgsql = !strcmp(backend, "pgsql");
	if (!r->ops)
		skip();
#ifdef HAVE_POSTGRESQL
	if (r->pgsql)
		rig_pgsql_open(r);
#endif
#ifdef HAVE_SQLITE
	if (!r->pgsql)
		rig_sqlite_open(r);
#endif
}

static inline void rig_close(struct rig *r)
{
	for (uint32_t i = 0; i < r->handles; i++)
		r->ops->close(r->handle[i]);
#ifdef HAVE_POSTGRESQL
	if (r->pgsql) {
		PQfinish(r->raw);
		rig_server.open--;
	}
#endif
#ifdef HAVE_SQLITE
	if (!r->pgsql) {
		char file[128];

		sqlite3_close_v2(r->raw);
		unlink(r->name);
		snprintf(file, sizeof(file), "%s-wal", r->name);
		unlink(file);
		snprintf(file, sizeof(file), "%s-shm", r->name);
		unlink(file);
	}
#endif
}

static inline struct sql *rig_handle_of(struct rig *r, const struct sql_conf *c)
{
	struct sql *s = NULL;

	if (r->ops->open(&s, c, &r->e))
		fail_msg("open: %s", r->e.text);
	assert_true(r->handles < RIG_HANDLES);
	r->handle[r->handles++] = s;
	return s;
}

static inline struct sql *rig_handle_in(struct rig *r, uint16_t self, int64_t timeout_ns)
{
	const struct sql_conf c = { .where = r->where, .self = self, .timeout_ns = timeout_ns };

	return rig_handle_of(r, &c);
}

static inline struct sql *rig_handle_that_hangs(struct rig *r, int64_t ns)
{
	const struct sql_conf c = { .where = r->where,
				    .self = RIG_SELF,
				    .timeout_ns = RIG_TIMEOUT_S * NS_PER_S,
				    .hang_ns = ns };

	return rig_handle_of(r, &c);
}

static inline struct sql *rig_handle(struct rig *r, uint16_t self)
{
	return rig_handle_in(r, self, RIG_TIMEOUT_S * NS_PER_S);
}

/* rc is wanted, and a failure has a sentence. */
static inline void rig_expect(struct rig *r, int rc, int wanted)
{
	if (rc != wanted)
		print_error("%d instead of %d: %s\n", rc, wanted, rc ? r->e.text : "");
	assert_int_equal(rc, wanted);
}

static inline void rig_says(struct rig *r, const char *part)
{
	if (!strstr(r->e.text, part))
		fail_msg("\"%s\" does not say \"%s\"", r->e.text, part);
}

static inline struct sql_look rig_look(struct rig *r, struct sql *s)
{
	struct sql_look l;

	memset(&l, 0xa5, sizeof(l));
	rig_expect(r, r->ops->look(s, &l, &r->e), 0);
	return l;
}

static inline bool rig_is_member(struct rig *r, struct sql *s, uint16_t host)
{
	struct sql_look l = rig_look(r, s);

	return hostset_has(&l.members, host);
}

static inline struct sql_joined rig_join(struct rig *r, struct sql *s)
{
	struct sql_joined j = { 0 };

	rig_expect(r, r->ops->join(s, 0, 0, &j, &r->e), 0);
	return j;
}

/* An update of slot 0 with one statement. */
static inline enum sql_end rig_update(struct rig *r, struct sql *s, const struct sql_joined *j,
				      uint64_t number, const char *text)
{
	struct sql_statement st = { .text = text };
	struct sql_update u = {
		.name = cache_update_name(j->fence, number),
		.epoch = j->epoch,
		.statements = text ? 1 : 0,
		.statement = &st,
	};

	return r->ops->update(s, &u, &r->transaction, r->rows, &r->e);
}

static inline void rig_ends(struct rig *r, enum sql_end end, enum sql_end wanted)
{
	if (end != wanted)
		print_error("the update ended as %d instead of %d: %s\n", (int)end, (int)wanted,
			    end == SQL_COMMITTED ? "" : r->e.text);
	assert_int_equal(end, wanted);
}

/* An update that another thread runs. */
struct rig_thread {
	pthread_t thread;
	struct rig *r;
	const struct sql_ops *ops;
	struct sql *s;
	struct sql_joined j;
	uint64_t number;
	const char *text;
	uint64_t transaction;
	enum sql_end end;
	struct sql_error e;
};

/* The thread's own: a test that fails does not wait for it, and its stack is then another's. */
static struct rig_thread rig_running;
static bool rig_runs;

static inline void *rig_thread_run(void *arg)
{
	struct rig_thread *t = arg;
	struct sql_statement st = { .text = t->text };
	struct sql_update u = {
		.name = cache_update_name(t->j.fence, t->number),
		.epoch = t->j.epoch,
		.statements = 1,
		.statement = &st,
	};
	uint64_t rows[1];

	t->end = t->ops->update(t->s, &u, &t->transaction, rows, &t->e);
	return NULL;
}

static inline void rig_begin(const struct rig_thread *t)
{
	assert_false(rig_runs);
	rig_running = *t;
	rig_running.ops = t->r->ops;
	assert_int_equal(pthread_create(&rig_running.thread, NULL, rig_thread_run, &rig_running),
			 0);
	rig_runs = true;
}

static inline void rig_end(struct rig_thread *t)
{
	rig_runs = false;
	assert_int_equal(pthread_join(rig_running.thread, NULL), 0);
	*t = rig_running;
}

/* What a test that failed has left. */
static inline void rig_clear(void)
{
	struct rig_thread ended;

	if (rig_runs)
		rig_end(&ended);
	rig_server.open = 0;
}

/* Each backend runs it with a database of its own. */
static inline void rig_on(const char *backend, void (*run)(struct rig *r))
{
	struct rig r;

	rig_clear();
	rig_open(&r, backend);
	run(&r);
	rig_close(&r);
}

#define CONTRACT(name)                                                                             \
	static void name(struct rig *r);                                                           \
	TEST(pgsql__##name)                                                                        \
	{                                                                                          \
		rig_on("pgsql", name);                                                             \
	}                                                                                          \
	TEST(sqlite__##name)                                                                       \
	{                                                                                          \
		rig_on("sqlite", name);                                                            \
	}                                                                                          \
	static void name(struct rig *r)

static inline int64_t rig_now(void)
{
	struct clock c;

	clock_real(&c);
	return c.now(&c).ns;
}

static inline void rig_sleep_ms(int64_t ms)
{
	struct clock c;

	clock_real(&c);
	c.sleep_until(&c, mono_add(c.now(&c), ms * NS_PER_MS));
}

#endif
