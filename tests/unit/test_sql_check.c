// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_sql_check: what PostgreSQL alone has: settings of the server and of the role, rights, the
 * guard, and standbys.
 */
#include "tests/unit/sql_pgsql_rig.h"
#include "tests/unit/tmpdir.h"

#ifdef HAVE_POSTGRESQL

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

/* --- settings ------------------------------------------------------------------------------- */

/* What the session has, as its own statement sees it. */
static void session_has(struct rig *r, const char *name, const char *value)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM shown WHERE name = '%s' AND setting = '%s'", name, value);
	if (!rig_number(r, sql))
		fail_msg("%s is not %s", name, value);
}

static void show_session_of(struct rig *r, struct sql *s)
{
	struct sql_joined j = rig_join(r, s);

	rig_run(r, "DROP TABLE IF EXISTS shown; CREATE TABLE shown (name text, setting text);"
		   "GRANT ALL ON shown TO cached");
	rig_ends(r,
		 rig_update(r, s, &j, 1, "INSERT INTO shown SELECT name, setting FROM pg_settings"),
		 SQL_COMMITTED);
}

static void show_session(struct rig *r)
{
	show_session_of(r, rig_handle(r, RIG_SELF));
}

PG_TEST(session__has_what_it_needs_whatever_the_role_has)
{
	rig_run(r, "ALTER ROLE cached RESET ALL");
	rig_run(r, "ALTER ROLE cached SET synchronous_commit = off");
	show_session(r);
	session_has(r, "synchronous_commit", "on");
	session_has(r, "idle_in_transaction_session_timeout", "10000");
	session_has(r, "statement_timeout", "7500");
	session_has(r, "lock_timeout", "5000");
	session_has(r, "client_connection_check_interval", "500");
	session_has(r, "transaction_isolation", "read committed");
}

PG_TEST(session__keeps_what_the_role_has)
{
	rig_run(r, "ALTER ROLE cached SET synchronous_commit = remote_write");
	rig_run(r, "ALTER ROLE cached SET idle_in_transaction_session_timeout = '2s'");
	rig_run(r, "ALTER ROLE cached SET default_transaction_isolation = 'serializable'");
	show_session(r);
	session_has(r, "synchronous_commit", "remote_write");
	session_has(r, "idle_in_transaction_session_timeout", "2000");
	session_has(r, "transaction_isolation", "serializable");
}

/* A role may allow less, and no more. */
PG_TEST(session__hangs_no_longer_than_it_may)
{
	rig_run(r, "ALTER ROLE cached SET idle_in_transaction_session_timeout = '5s'");
	show_session_of(r, rig_handle_that_hangs(r, 700 * NS_PER_MS));
	session_has(r, "idle_in_transaction_session_timeout", "700");
	show_session_of(r, rig_handle_that_hangs(r, 6 * NS_PER_S));
	session_has(r, "idle_in_transaction_session_timeout", "5000");
	show_session_of(r, rig_handle_that_hangs(r, 3600 * NS_PER_S));
	session_has(r, "idle_in_transaction_session_timeout", "5000");
	rig_run(r, "ALTER ROLE cached SET idle_in_transaction_session_timeout = 0");
	show_session_of(r, rig_handle_that_hangs(r, 3600 * NS_PER_S));
	session_has(r, "idle_in_transaction_session_timeout", "10000");
}

static int problems(struct rig *r, char problem[static SQL_PROBLEMS_MAX][256])
{
	struct sql_conf c = { .where = r->where, .self = RIG_SELF, .timeout_ns = 10 * NS_PER_S };
	struct sql *s;
	int n;

	rig_expect(r, r->ops->open(&s, &c, &r->e), 0);
	n = r->ops->check(s, problem, &r->e);
	if (n < 0)
		fail_msg("check: %s", r->e.text);
	r->ops->close(s);
	return n;
}

/* This problem is found, and no other but fsync, which is off in tests. */
static void check_finds(struct rig *r, const char *says, const char *remedy)
{
	char problem[SQL_PROBLEMS_MAX][256];
	int n = problems(r, problem), found = 0;

	for (int i = 0; i < n; i++)
		if (strstr(problem[i], says) && strstr(problem[i], remedy))
			found++;
		else if (strncmp(problem[i], "fsync is off", 12) != 0)
			fail_msg("this is found, too: %s", problem[i]);
	if (found != 1)
		fail_msg("\"%s\" is found %d times", says, found);
}

static void set_server(struct rig *r, const char *name, const char *value)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "ALTER SYSTEM SET %s = %s", name, value);
	rig_run(r, sql);
	rig_run(r, "SELECT pg_reload_conf()");
	snprintf(sql, sizeof(sql),
		 "SELECT count(*) FROM pg_settings WHERE name = '%s' AND setting = '%s'", name,
		 value);
	wait_for(r, sql);
}

PG_TEST(check__a_server_that_is_safe__has_no_problem)
{
	char problem[SQL_PROBLEMS_MAX][256];

	set_server(r, "fsync", "on");
	assert_int_equal(problems(r, problem), 0);
	set_server(r, "fsync", "off");
	assert_int_equal(problems(r, problem), 1);
	assert_non_null(strstr(problem[0], "fsync is off"));
	assert_non_null(strstr(problem[0], "set fsync = on"));
}

PG_TEST(check__full_page_writes_off__is_found)
{
	set_server(r, "full_page_writes", "off");
	check_finds(r, "full_page_writes is off", "set it on");
	set_server(r, "full_page_writes", "on");
}

PG_TEST(check__settings_of_the_role__are_found)
{
	static const struct {
		const char *set, *says, *remedy;
	} row[] = {
		{ "synchronous_commit = off", "synchronous_commit is off",
		  "ALTER ROLE cached SET" },
		{ "synchronous_commit = local", NULL, NULL },
		{ "synchronous_commit = on", NULL, NULL },
		{ "idle_in_transaction_session_timeout = 0",
		  "idle_in_transaction_session_timeout is 0 ms", "ALTER ROLE cached SET" },
		{ "idle_in_transaction_session_timeout = '61s'",
		  "idle_in_transaction_session_timeout is 61000 ms", "ALTER ROLE cached SET" },
		{ "idle_in_transaction_session_timeout = '60s'", NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char problem[SQL_PROBLEMS_MAX][256], sql[128];

		snprintf(sql, sizeof(sql), "ALTER ROLE cached SET %s", row[i].set);
		rig_run(r, sql);
		if (row[i].says)
			check_finds(r, row[i].says, row[i].remedy);
		else
			assert_int_equal(problems(r, problem), 1);
	}
}

/* Also what the connection string sets. */
PG_TEST(check__settings_of_the_connection__are_found)
{
	size_t n = strlen(r->where);

	snprintf(r->where + n, sizeof(r->where) - n, " options='-c synchronous_commit=off'");
	check_finds(r, "synchronous_commit is off", "");
}

PG_TEST(check__tables_and_rights_that_are_missing__are_found)
{
	static const struct {
		const char *sql, *says, *remedy, *back;
	} row[] = {
		{ "REVOKE UPDATE ON resex.epoch FROM cached",
		  "role cached lacks rights at resex.epoch (UPDATE)", "resex.admit('cached')",
		  "SELECT resex.admit('cached')" },
		{ "REVOKE INSERT, SELECT ON resex.member FROM cached",
		  "resex.member (SELECT, INSERT)", "resex.admit", "SELECT resex.admit('cached')" },
		{ "REVOKE INSERT ON resex.update FROM cached", "resex.update (INSERT)",
		  "resex.admit", "SELECT resex.admit('cached')" },
		{ "ALTER TABLE resex.member RENAME TO elsewhere", "there is no table resex.member",
		  "install", "ALTER TABLE resex.elsewhere RENAME TO member" },
	};
	char problem[SQL_PROBLEMS_MAX][256];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		rig_run(r, row[i].sql);
		check_finds(r, row[i].says, row[i].remedy);
		rig_run(r, row[i].back);
	}
	rig_run(r, "REVOKE USAGE ON SCHEMA resex FROM cached");
	assert_int_equal(problems(r, problem), 4); /* each table, and fsync */
	assert_non_null(strstr(problem[1], "USAGE of its schema"));
	rig_run(r, "DROP SCHEMA resex CASCADE");
	assert_int_equal(problems(r, problem), 4);
	assert_non_null(strstr(problem[3], "there is no table resex.update"));
}

PG_TEST(role__without_rights__is_one_sentence_with_the_remedy)
{
	struct sql *s;
	struct sql_joined j = { 0 };
	struct sql_look l;

	rig_run(r, "REVOKE USAGE ON SCHEMA resex FROM cached");
	s = rig_handle(r, RIG_SELF);
	rig_expect(r, r->ops->look(s, &l, &r->e), -EACCES);
	rig_says(r, "resex.admit");
	rig_expect(r, r->ops->join(s, 0, 0, &j, &r->e), -EACCES);
	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 5"), SQL_FAILED);
	rig_says(r, "resex.admit");
	rig_run(r, "SELECT resex.admit('cached')");
	j = rig_join(r, s);
	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 5"), SQL_COMMITTED);
}

/* Prepared statements are of the tables that were there. */
PG_TEST(tables__made_anew__are_another_timeline_for_the_same_handle)
{
	static char schema[32768];
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	uint64_t timeline = rig_look(r, s).timeline;
	struct sql_look l;

	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 5"), SQL_COMMITTED);
	rig_run(r, "DROP SCHEMA resex CASCADE");
	rig_expect(r, r->ops->look(s, &l, &r->e), -ENOENT);
	rig_ends(r, rig_update(r, s, &j, 2, "UPDATE items SET v = 6"), SQL_FAILED);
	rig_says(r, "install the tables");
	rig_run(r, rig_file("etc/cache/schema.sql", schema, sizeof(schema)));
	rig_run(r, "SELECT resex.admit('cached')");
	assert_int_not_equal(rig_look(r, s).timeline, timeline);
	j = rig_join(r, s);
	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 6"), SQL_COMMITTED);
}

/* --- a pool in between ---------------------------------------------------------------------- */

/*
 * As PgBouncer does it: a client gets a key to cancel by that is the pool's own, and has the number
 * of no process of the server.
 */
static bool change_key(char *bytes, ssize_t n)
{
	static const char head[] = { 'K', 0, 0, 0, 12 };
	char *at = memmem(bytes, (size_t)n, head, sizeof(head));

	if (at)
		at[sizeof(head) + 3] ^= 1; /* of the number, its lowest byte */
	return at;
}

static void pass_on(int from, int to, bool *changed)
{
	char bytes[8192];
	ssize_t n = recv(from, bytes, sizeof(bytes), 0);

	if (n <= 0)
		_exit(0);
	if (changed && !*changed)
		*changed = change_key(bytes, n);
	if (send(to, bytes, (size_t)n, MSG_NOSIGNAL) != n)
		_exit(1);
}

/* One connection, until it ends. */
static void be_pool(int listener, const struct sockaddr_un *server)
{
	int client = accept(listener, NULL, NULL), s = socket(AF_UNIX, SOCK_STREAM, 0);
	struct pollfd p[] = { { .fd = client, .events = POLLIN }, { .fd = s, .events = POLLIN } };
	bool changed = false;

	if (client < 0 || connect(s, (const struct sockaddr *)server, sizeof(*server)))
		_exit(1);
	while (poll(p, 2, -1) > 0) {
		if (p[0].revents)
			pass_on(client, s, NULL);
		if (p[1].revents)
			pass_on(s, client, &changed);
	}
	_exit(1);
}

static struct sockaddr_un socket_in(const char *dir)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	assert_in_range(snprintf(a.sun_path, sizeof(a.sun_path), "%s/.s.PGSQL.5432", dir), 1,
			sizeof(a.sun_path) - 1);
	return a;
}

PG_TEST(check__through_a_pool__is_found)
{
	struct sockaddr_un server = socket_in(rig_server.dir), pool;
	struct tmpdir dir;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t child;

	tmp_open(&dir);
	pool = socket_in(dir.path);
	assert_int_equal(bind(listener, (struct sockaddr *)&pool, sizeof(pool)), 0);
	assert_int_equal(listen(listener, 1), 0);
	child = fork();
	if (!child)
		be_pool(listener, &server);
	snprintf(r->where, sizeof(r->where), "host=%s user=cached dbname=%s", dir.path, r->name);
	check_finds(r, "goes through a pool", "name the server itself in sql.where");
	close(listener);
	assert_int_equal(waitpid(child, NULL, 0), child);
	tmp_close(&dir);
}

/* --- the guard ------------------------------------------------------------------------------ */

static void is_refused(PGconn *c, const char *sql)
{
	PGresult *said = PQexec(c, sql);
	const char *state;

	if (PQresultStatus(said) == PGRES_COPY_IN) {
		PQclear(said);
		PQputCopyEnd(c, NULL);
		said = PQgetResult(c);
	}
	state = PQresultErrorField(said, PG_DIAG_SQLSTATE);
	if (PQresultStatus(said) != PGRES_FATAL_ERROR || !state || strcmp(state, "RX001") != 0)
		fail_msg("%s: %s %s", sql, PQcmdStatus(said), PQerrorMessage(c));
	PQclear(said);
}

PG_TEST(guard__no_way_around_it_is_open_by_accident)
{
	PGconn *c = rig_connect("cached", r->name);
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	rig_run(r,
		"CREATE TABLE parts (id integer REFERENCES items ON DELETE CASCADE) PARTITION BY "
		"RANGE (id); CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (9);"
		"SELECT resex.protect('parts'); SELECT resex.unprotect('items');"
		"GRANT ALL ON parts, part TO cached");
	rig_ends(r, rig_update(r, s, &j, 1, "INSERT INTO part VALUES (1)"), SQL_COMMITTED);
	is_refused(c, "INSERT INTO part VALUES (2)");
	is_refused(c, "INSERT INTO parts VALUES (2)");
	is_refused(c, "TRUNCATE part");
	is_refused(c, "DELETE FROM items WHERE id = 1"); /* by the cascade */
	rig_run(r, "SELECT resex.protect('items'); SELECT resex.protect('items')");
	is_refused(c, "COPY items FROM STDIN");
	is_refused(c, "INSERT INTO items VALUES (5) ON CONFLICT DO NOTHING");
	is_refused(c, "WITH x AS (DELETE FROM items RETURNING id) SELECT * FROM x");
	/* A transaction that has a number, and one with a number of another. */
	rig_pgsql_run(c, "BEGIN; SELECT pg_current_xact_id()");
	is_refused(c, "UPDATE items SET v = 9");
	rig_pgsql_run(c, "ROLLBACK; SET resex.update = '700'");
	is_refused(c, "UPDATE items SET v = 9");
	rig_pgsql_run(c, "RESET resex.update; BEGIN; SELECT set_config('resex.update', "
			 "pg_current_xact_id()::text, true); COMMIT");
	is_refused(c, "UPDATE items SET v = 9");
	PQfinish(c);
	/* Also for one who may do all, and as a replica. */
	c = other(r, "SET session_replication_role = replica");
	is_refused(c, "UPDATE items SET v = 9");
	PQfinish(c);
	rig_run(r, "SELECT resex.unprotect('items')");
	rig_run(r, "UPDATE items SET v = 9");
}

/* An update whose check found a difference writes nothing, and says why. */
PG_TEST(guard__does_not_hide_that_a_row_has_changed)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	j.fence++;
	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 5"), SQL_CHANGED);
	rig_says(r, "is another one than at the broadcast");
}

/* --- standbys ------------------------------------------------------------------------------- */

/* A server of a test's own, since it becomes another one. */
static struct rig_server second;

static void end_second(void)
{
	rig_stop(&second);
}

static void open_server(struct rig *r, uint16_t port)
{
	static char schema[32768];
	char out[256];

	if (!second.databases++)
		atexit(end_second);
	end_second();
	snprintf(second.dir, sizeof(second.dir), "/tmp/resex-sql-%d-%u", getpid(),
		 second.databases);
	assert_int_equal(rig_start(&second, port, out, sizeof(out)), 0);
	snprintf(r->where, sizeof(r->where), "%s", out);
	PQfinish(r->raw);
	r->raw = PQconnectdb(r->where);
	rig_run(r, rig_file("etc/cache/schema.sql", schema, sizeof(schema)));
	rig_run(r, "ALTER ROLE postgres SET idle_in_transaction_session_timeout = '5s'");
}

static void restart_server(struct rig *r)
{
	char words[128], out[256];

	snprintf(words, sizeof(words), "restart %s", second.dir);
	assert_int_equal(rig_script(words, out, sizeof(out)), 0);
	PQfinish(r->raw);
	r->raw = PQconnectdb(r->where);
}

PG_TEST(standby__is_refused_and_is_another_timeline_when_it_is_promoted)
{
	char file[128], problem[SQL_PROBLEMS_MAX][256];
	struct sql_conf c = { .where = r->where, .self = RIG_SELF, .timeout_ns = 10 * NS_PER_S };
	struct sql *s = NULL;
	uint64_t timeline;
	struct sql_joined j;
	struct sql_look l;
	FILE *f;

	open_server(r, 5432);
	timeline = rig_join(r, rig_handle(r, RIG_SELF)).timeline;
	snprintf(file, sizeof(file), "%s/data/standby.signal", second.dir);
	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(chmod(file, 0666), 0);
	restart_server(r);
	rig_expect(r, r->ops->open(&s, &c, &r->e), -ENOTCONN);
	rig_says(r, "read-only");
	/* Who asks for it gets a connection, but no answer that could be old. */
	strcat(r->where, " target_session_attrs=any");
	s = rig_handle(r, RIG_SELF);
	rig_expect(r, r->ops->look(s, &l, &r->e), -EROFS);
	rig_says(r, "standby");
	rig_expect(r, r->ops->join(s, 0, 0, &j, &r->e), -EROFS);
	rig_says(r, "name the primary");
	assert_true(r->ops->check(s, problem, &r->e) > 0);
	assert_non_null(strstr(problem[0], "is a standby"));
	rig_run(r, "SELECT pg_promote()");
	assert_true(rig_is_member(r, s, RIG_SELF));
	assert_int_not_equal(rig_look(r, s).timeline, timeline);
	rig_join(r, s);
	end_second();
}

PG_TEST(tcp__works_and_keepalives_must_not_be_off)
{
	uint16_t port = (uint16_t)(20000 + getpid() % 20000);
	char problem[SQL_PROBLEMS_MAX][256];
	struct sql_joined j;
	struct sql *s;

	open_server(r, port);
	rig_run(r, "ALTER SYSTEM SET listen_addresses = '127.0.0.1'");
	restart_server(r);
	snprintf(r->where, sizeof(r->where), "host=127.0.0.1 port=%u user=postgres dbname=postgres",
		 port);
	s = rig_handle(r, RIG_SELF);
	j = rig_join(r, s);
	rig_ends(r, rig_update(r, s, &j, 1, "SELECT 1"), SQL_COMMITTED);
	assert_int_equal(r->ops->check(s, problem, &r->e), 1); /* fsync */
	strcat(r->where, " keepalives=0");
	s = rig_handle(r, RIG_SELF);
	assert_int_equal(r->ops->check(s, problem, &r->e), 2);
	assert_non_null(strstr(problem[1], "keepalives=0"));
	end_second();
}

#else

TEST(pgsql__has_no_ops)
{
	for (size_t i = 0; sql_backends[i]; i++)
		assert_string_not_equal(sql_backends[i]->name, "pgsql");
}

#endif
