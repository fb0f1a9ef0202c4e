// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_sql_pgsql: what PostgreSQL alone has: connections that are lost at each point of an update,
 * and waits.
 */
#include "tests/unit/sql_pgsql_rig.h"

#ifdef HAVE_POSTGRESQL

#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static void kill_backend(struct rig *r)
{
	assert_int_equal(rig_number(r, "SELECT count(pg_terminate_backend(pid, 10000)) FROM "
				       "pg_stat_activity WHERE usename = 'cached' AND state <> "
				       "'idle' AND datname = current_database()"),
			 1);
}

static uint64_t resolved(struct rig *r, const struct rig_thread *t)
{
	uint64_t found = 77;

	rig_expect(r,
		   r->ops->resolve(rig_handle(r, RIG_SELF), 0,
				   cache_update_name(t->j.fence, t->number), &found, &r->e),
		   0);
	return found;
}

static struct rig_thread begin_update(struct rig *r, const char *text)
{
	struct sql *s = rig_handle(r, RIG_SELF);

	return (struct rig_thread){
		.r = r, .s = s, .j = rig_join(r, s), .number = 1, .text = text
	};
}

/* --- a connection that is lost -------------------------------------------------------------- */

PG_TEST(update__killed_in_a_statement__is_unknown_and_without_effect)
{
	struct rig_thread t = begin_update(r, "UPDATE items SET v = 5 WHERE id = 1");
	PGconn *c = other(r, "BEGIN; SELECT FROM items FOR UPDATE");
	struct sql_look l;

	rig_begin(&t);
	wait_for(r, WAITS("wait_event_type = 'Lock'"));
	kill_backend(r);
	rig_end(&t);
	end_other(c);
	assert_int_equal(t.end, SQL_UNKNOWN);
	assert_non_null(strstr(t.e.text, "the connection to the database is lost: terminating"));
	/* The handle is of no more use. */
	rig_expect(r, r->ops->look(t.s, &l, &r->e), -ENOTCONN);
	rig_says(r, "open another one");
	rig_ends(r, rig_update(r, t.s, &t.j, 2, "UPDATE items SET v = 6"), SQL_UNKNOWN);
	assert_int_equal(resolved(r, &t), 0);
	assert_int_equal(rig_item(r), 0);
}

/* COMMIT waits in a trigger until the lock 42 is free. */
static void hold_commit(struct rig *r)
{
	rig_run(r, "CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
		   " PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$;"
		   "CREATE CONSTRAINT TRIGGER hold AFTER UPDATE ON items DEFERRABLE INITIALLY"
		   " DEFERRED FOR EACH ROW EXECUTE FUNCTION hold();"
		   "SELECT pg_advisory_lock(42)");
}

PG_TEST(update__killed_before_its_commit__is_unknown_and_without_effect)
{
	struct rig_thread t = begin_update(r, "UPDATE items SET v = 5 WHERE id = 1");

	hold_commit(r);
	rig_begin(&t);
	wait_for(r, WAITS("query = 'COMMIT' AND wait_event = 'advisory'"));
	kill_backend(r);
	rig_end(&t);
	assert_int_equal(t.end, SQL_UNKNOWN);
	assert_int_equal(resolved(r, &t), 0);
	assert_int_equal(rig_item(r), 0);
}

/* An administrator's cancel may come behind the commit: what COMMIT answers then says nothing. */
PG_TEST(update__cancelled_in_commit__is_unknown)
{
	struct rig_thread t = begin_update(r, "UPDATE items SET v = 5 WHERE id = 1");

	hold_commit(r);
	rig_begin(&t);
	wait_for(r, WAITS("query = 'COMMIT' AND wait_event = 'advisory'"));
	rig_run(r, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = 'COMMIT'");
	rig_end(&t);
	assert_int_equal(t.end, SQL_UNKNOWN);
	assert_int_equal(resolved(r, &t), 0);
}

/* From now on COMMIT waits behind its effect: for a standby that is not there. */
static void name_standby(struct rig *r)
{
	PGconn *c = other(r, "CREATE TABLE probe (); SET synchronous_commit = on");
	int64_t waits = 0;

	rig_run(r, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
	rig_run(r, "SELECT pg_reload_conf()");
	/* A process of the server does it, some time later. */
	for (int i = 0; i < 1000 && !waits; i++) {
		assert_true(PQsendQuery(c, "INSERT INTO probe DEFAULT VALUES"));
		do {
			rig_sleep_ms(2);
			waits = rig_number(r, "SELECT count(*) FROM pg_stat_activity WHERE "
					      "wait_event = 'SyncRep'");
			assert_true(PQconsumeInput(c));
		} while (!waits && PQisBusy(c));
		if (!waits)
			PQclear(PQgetResult(c));
		if (!waits)
			assert_null(PQgetResult(c));
	}
	rig_run(r, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE wait_event "
		   "= 'SyncRep'");
	PQfinish(c);
}

PG_TEST(update__killed_behind_its_commit__is_unknown_and_found)
{
	struct rig_thread t = begin_update(r, "UPDATE items SET v = 5 WHERE id = 1");
	uint64_t found;

	name_standby(r);
	rig_begin(&t);
	wait_for(r, WAITS("wait_event = 'SyncRep'"));
	assert_int_equal(rig_item(r), 0); /* nobody sees it yet */
	kill_backend(r);
	rig_end(&t);
	rig_run(r, "ALTER SYSTEM RESET synchronous_standby_names");
	rig_run(r, "SELECT pg_reload_conf()");
	assert_int_equal(t.end, SQL_UNKNOWN);
	found = resolved(r, &t); /* waits until it takes effect */
	assert_int_equal(found, rig_number(r, "SELECT transaction FROM resex.update"));
	assert_int_equal(rig_item(r), 5);
	rig_ends(r, rig_update(r, rig_handle(r, RIG_SELF), &t.j, 2, "UPDATE items SET v = 6"),
		 SQL_CHANGED); /* its row was raised */
}

PG_TEST(update__a_server_that_hangs__is_unknown_in_time)
{
	struct sql *s = rig_handle_in(r, RIG_SELF, NS_PER_S), *o = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	int64_t pid = rig_number(r, "SELECT pid FROM pg_stat_activity WHERE usename = 'cached' AND "
				    "datname = current_database() ORDER BY backend_start LIMIT 1");
	int64_t began = rig_now();
	uint64_t found;

	assert_int_equal(kill((pid_t)pid, SIGSTOP), 0);
	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 5"), SQL_UNKNOWN);
	rig_says(r, "did not answer in time");
	assert_true(rig_now() - began < 20 * NS_PER_S);
	/* It takes up what was sent: the check was to be prepared, and nothing more. */
	kill((pid_t)pid, SIGCONT);
	rig_expect(r, r->ops->resolve(o, 0, cache_update_name(j.fence, 1), &found, &r->e), 0);
	assert_int_equal(found, 0);
	assert_int_equal(rig_item(r), 0);
}

/* An update has gone out to a server's process that hangs: whole, in one message. */
struct late {
	struct sql *other;
	struct sql_joined j;
	int64_t pid;
};

static struct late send_late(struct rig *r)
{
	struct sql *s = rig_handle_in(r, RIG_SELF, NS_PER_S);
	struct late l = { .j = rig_join(r, s),
			  .pid = rig_number(r, "SELECT pid FROM pg_stat_activity WHERE usename = "
					       "'cached' AND datname = current_database()") };

	l.other = rig_handle(r, RIG_SELF);
	rig_ends(r, rig_update(r, s, &l.j, 1, "UPDATE items SET v = 5"), SQL_COMMITTED);
	assert_int_equal(kill((pid_t)l.pid, SIGSTOP), 0);
	rig_ends(r, rig_update(r, s, &l.j, 2, "UPDATE items SET v = 6"), SQL_UNKNOWN);
	return l;
}

/* Until it has done what was sent, and ends. */
static void goes_on(struct rig *r, const struct late *l)
{
	char sql[128];

	kill((pid_t)l->pid, SIGCONT);
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM pg_stat_activity WHERE pid = %d",
		 (int)l->pid);
	for (int i = 0; i < 10000 && rig_number(r, sql); i++)
		rig_sleep_ms(2);
	assert_int_equal(rig_number(r, sql), 0);
}

PG_TEST(update__taken_up_late__commits_and_is_found)
{
	struct late l = send_late(r);
	uint64_t found = 0;

	goes_on(r, &l);
	assert_int_equal(rig_item(r), 6);
	rig_expect(r, r->ops->resolve(l.other, 0, cache_update_name(l.j.fence, 2), &found, &r->e),
		   0);
	assert_int_equal(found, rig_number(r, "SELECT transaction FROM resex.update"));
}

PG_TEST(update__taken_up_when_its_row_was_raised__has_no_effect)
{
	struct late l = send_late(r);
	uint64_t found = 77;

	rig_expect(r, r->ops->resolve(l.other, 0, cache_update_name(l.j.fence, 2), &found, &r->e),
		   0);
	assert_int_equal(found, 0);
	goes_on(r, &l);
	assert_int_equal(rig_item(r), 5);
}

PG_TEST(look__after_the_server_crashed__is_lost_and_another_handle_goes_on)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	uint64_t timeline = rig_look(r, s).timeline;
	char words[128], out[256];
	struct sql_look l;

	snprintf(words, sizeof(words), "restart %s", rig_server.dir);
	assert_int_equal(rig_script(words, out, sizeof(out)), 0);
	rig_expect(r, r->ops->look(s, &l, &r->e), -ENOTCONN);
	PQfinish(r->raw);
	r->raw = rig_connect("postgres", r->name);
	s = rig_handle(r, RIG_SELF);
	assert_int_equal(rig_look(r, s).timeline, timeline);
	assert_true(rig_is_member(r, s, RIG_SELF));
	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 5"), SQL_COMMITTED);
}

/* Also from one who raises them by hand, and locks no row before. */
PG_TEST(update__under_way__keeps_its_rows_as_they_were)
{
	static const char *const raises[] = { "UPDATE resex.epoch SET epoch = epoch + 1",
					      "UPDATE resex.member SET fence = fence + 1" };
	struct rig_thread t = begin_update(r, "UPDATE items SET v = 5 WHERE id = 1");
	PGconn *c = other(r, "SET lock_timeout = '100ms'");

	hold_commit(r);
	rig_begin(&t);
	wait_for(r, WAITS("wait_event = 'advisory'"));
	for (size_t i = 0; i < sizeof(raises) / sizeof(raises[0]); i++) {
		PGresult *said = PQexec(c, raises[i]);
		const char *state = PQresultErrorField(said, PG_DIAG_SQLSTATE);

		if (!state || strcmp(state, "55P03") != 0)
			fail_msg("%s does not wait", raises[i]);
		PQclear(said);
	}
	PQfinish(c);
	rig_run(r, "SELECT pg_advisory_unlock(42)");
	rig_end(&t);
	assert_int_equal(t.end, SQL_COMMITTED);
}

/* --- COMMIT that is refused ----------------------------------------------------------------- */

PG_TEST(commit__a_constraint_that_is_checked_last__is_refused)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	rig_run(r, "CREATE TABLE child (item integer REFERENCES items DEFERRABLE INITIALLY "
		   "DEFERRED); GRANT ALL ON child TO cached");
	rig_ends(r, rig_update(r, s, &j, 1, "INSERT INTO child VALUES (99)"), SQL_FAILED);
	assert_string_equal(r->e.state, "23503");
	assert_int_equal(rig_number(r, "SELECT count(*) FROM resex.update"), 0);
	rig_ends(r, rig_update(r, s, &j, 2, "INSERT INTO child VALUES (1)"), SQL_COMMITTED);
}

/* The role's isolation holds for updates. */
PG_TEST(update__that_cannot_be_serialized__is_refused)
{
	struct rig_thread t;
	PGconn *c;

	rig_run(r, "ALTER ROLE cached SET default_transaction_isolation = 'repeatable read'");
	rig_run(r, "ALTER TABLE items DISABLE TRIGGER resex_write");
	t = begin_update(r, "UPDATE items SET v = v + 5 WHERE id = 1");
	c = other(r, "BEGIN; UPDATE items SET v = v + 1");
	rig_begin(&t);
	wait_for(r, WAITS("wait_event_type = 'Lock'"));
	rig_pgsql_run(c, "COMMIT");
	rig_end(&t);
	end_other(c);
	assert_int_equal(t.end, SQL_FAILED);
	assert_string_equal(t.e.state, "40001");
	assert_int_equal(rig_item(r), 1);
}

/* The check waits for one that raises the row: not the statement is refused, all is made anew. */
PG_TEST(update__its_row_is_raised_while_it_waits__is_changed)
{
	static const char *const isolation[] = { "read committed", "repeatable read",
						 "serializable" };

	for (size_t i = 0; i < 3; i++) {
		struct rig_thread t;
		char sql[128];
		PGconn *c;

		snprintf(sql, sizeof(sql),
			 "ALTER ROLE cached SET default_transaction_isolation = '%s'",
			 isolation[i]);
		rig_run(r, sql);
		t = begin_update(r, "UPDATE items SET v = 5");
		c = other(r, "BEGIN; UPDATE resex.member SET fence = fence + 1");
		rig_begin(&t);
		wait_for(r, WAITS("wait_event_type = 'Lock'"));
		rig_pgsql_run(c, "COMMIT");
		rig_end(&t);
		end_other(c);
		assert_int_equal(t.end, SQL_CHANGED);
		assert_int_equal(rig_item(r), 0);
	}
}

/* The own functions look at what was committed last, whatever the role's isolation. */
PG_TEST(resolve__of_a_role_that_serializes__sees_what_it_waited_for)
{
	struct rig_thread t;
	PGconn *c;
	uint64_t found = 0;

	rig_run(r, "ALTER ROLE cached SET default_transaction_isolation = 'serializable'");
	t = begin_update(r, "UPDATE items SET v = 5 WHERE id = 1");
	hold_commit(r);
	c = other(r, "SELECT 1");
	rig_begin(&t);
	wait_for(r, WAITS("wait_event = 'advisory'"));
	rig_pgsql_run(c, "SELECT pg_sleep(0)");
	rig_run(r, "SELECT pg_advisory_unlock(42)");
	found = resolved(r, &t);
	rig_end(&t);
	PQfinish(c);
	assert_int_equal(t.end, SQL_COMMITTED);
	assert_int_equal(found, t.transaction);
}

/* --- waits ---------------------------------------------------------------------------------- */

struct call {
	pthread_t thread;
	struct rig *r;
	struct sql *s;
	struct sql_joined j;
	struct sql_error e;
	int rc;
};

static void *join_in_thread(void *arg)
{
	struct call *c = arg;

	c->rc = c->r->ops->join(c->s, 0, 0, &c->j, &c->e);
	return NULL;
}

/*
 * Locks FOR SHARE go along with each other: without a place in a queue, a host that joins would
 * wait for as long as there are updates.
 */
PG_TEST(join__while_others_hold_the_row_in_turn__comes_first)
{
	static const char hold[] = "BEGIN; SELECT FROM resex.epoch FOR SHARE";
	struct call call = { .r = r, .s = rig_handle_in(r, RIG_SELF, 8 * NS_PER_S) };
	PGconn *a = other(r, hold), *b;

	assert_int_equal(pthread_create(&call.thread, NULL, join_in_thread, &call), 0);
	wait_for(r, "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'relation'");
	/* The next one waits behind it. */
	b = rig_connect("postgres", r->name);
	assert_true(PQsendQuery(b, hold));
	wait_for(r, "SELECT (count(*) = 2)::int FROM pg_locks WHERE NOT granted AND locktype = "
		    "'relation'");
	end_other(a);
	assert_int_equal(pthread_join(call.thread, NULL), 0);
	assert_int_equal(call.rc, 0);
	PQfinish(b);
}

/* A host that hangs in a transaction: the server ends it. */
PG_TEST(remove__a_client_that_hangs__is_waited_for_in_bounded_time)
{
	struct sql *s;
	PGconn *c;

	rig_run(r, "ALTER ROLE cached SET idle_in_transaction_session_timeout = '300ms'");
	s = rig_handle(r, RIG_SELF);
	rig_join(r, s);
	c = rig_connect("cached", r->name);
	rig_pgsql_run(c, "BEGIN; SELECT FROM resex.epoch, resex.member FOR SHARE");
	rig_expect(r, r->ops->remove(rig_handle(r, 9), RIG_SELF, 1, &r->e), 0);
	PQfinish(c);
	assert_false(rig_is_member(r, s, RIG_SELF));
}

PG_TEST(update__a_statement_without_end__is_refused_in_time)
{
	struct sql *s = rig_handle_in(r, RIG_SELF, NS_PER_S);
	struct sql_joined j = rig_join(r, s);

	rig_ends(r, rig_update(r, s, &j, 1, "SELECT pg_sleep(600)"), SQL_FAILED);
	assert_string_equal(r->e.state, "57014");
	rig_ends(r, rig_update(r, s, &j, 2, "UPDATE items SET v = 5"), SQL_COMMITTED);
}

static void *resolve_in_thread(void *arg)
{
	struct call *c = arg;
	uint64_t found;

	c->rc = c->r->ops->resolve(c->s, 0, 1, &found, &c->e);
	return NULL;
}

PG_TEST(resolve__while_another_host_raises_the_row__counts_both)
{
	struct call call = { .r = r, .s = rig_handle(r, RIG_SELF) };
	struct sql_joined j = rig_join(r, call.s);
	PGconn *c = other(r, "BEGIN; UPDATE resex.member SET fence = fence + 1");

	assert_int_equal(pthread_create(&call.thread, NULL, resolve_in_thread, &call), 0);
	wait_for(r, WAITS("wait_event_type = 'Lock'"));
	rig_pgsql_run(c, "COMMIT");
	assert_int_equal(pthread_join(call.thread, NULL), 0);
	PQfinish(c);
	assert_int_equal(call.rc, 0);
	assert_int_equal(rig_number(r, "SELECT fence FROM resex.member"), j.fence + 2);
}

/* More rows than memory should hold. */
PG_TEST(update__a_statement_with_many_rows__does_not_keep_them)
{
	struct sql *s = rig_handle_in(r, RIG_SELF, 60 * NS_PER_S);
	struct sql_joined j = rig_join(r, s);

	rig_ends(r, rig_update(r, s, &j, 1, "SELECT repeat('x', 1000), generate_series(1, 20000)"),
		 SQL_COMMITTED);
	assert_int_equal(r->rows[0], 0);
	rig_ends(r, rig_update(r, s, &j, 2, "UPDATE items SET v = 9 RETURNING t"), SQL_COMMITTED);
	assert_int_equal(r->rows[0], 2);
}

/* --- statements that are prepared ----------------------------------------------------------- */

#define PREPARED                                                                                   \
	"(SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'resex!_u%' ESCAPE '!')"
#define COUNT "UPDATE items SET v = " PREPARED " WHERE id = 1"

PG_TEST(text__comes_again__is_prepared_once)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	rig_ends(r, rig_update(r, s, &j, 1, COUNT), SQL_COMMITTED);
	assert_int_equal(rig_item(r), 0);
	for (uint64_t n = 2; n <= 9; n++) {
		rig_ends(r, rig_update(r, s, &j, n, COUNT), SQL_COMMITTED);
		assert_int_equal(r->rows[0], 1);
		assert_int_equal(rig_item(r), 1);
	}
}

PG_TEST(text__several_times_in_one_update__each_has_its_parameters)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	const char *one[] = { "1", "1" }, *two[] = { "10", "1" }, *three[] = { "100", "1" };
	const char *none[] = { "1", "99" };
	static const char add[] = "UPDATE items SET v = v + $1 WHERE id = $2";
	struct sql_statement st[] = {
		{ add, 2, one },   { add, 2, two },  { "DELETE FROM items WHERE id = 77", 0, NULL },
		{ add, 2, three }, { add, 2, none },
	};
	struct sql_update u = { 5, 0, j.epoch, 5, st };

	for (uint64_t n = 1; n <= 3; n++) {
		u.name = cache_update_name(j.fence, n);
		rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_COMMITTED);
		assert_int_equal(rig_item(r), 111 * n);
		assert_int_equal(r->rows[0] + r->rows[1] + r->rows[3], 3);
		assert_int_equal(r->rows[2] + r->rows[4], 0);
	}
}

/* More texts than there are places: another one that comes twice takes a place. */
PG_TEST(text__too_many_of_them__the_newest_are_prepared)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	char text[128];

	for (uint64_t n = 1; n <= 400; n++) {
		snprintf(text, sizeof(text), "UPDATE items SET v = %d WHERE id = 1",
			 (int)(n - 1) / 2);
		rig_ends(r, rig_update(r, s, &j, n, text), SQL_COMMITTED);
		assert_int_equal(rig_item(r), (n - 1) / 2);
	}
	rig_ends(r, rig_update(r, s, &j, 401, COUNT), SQL_COMMITTED);
	assert_in_range(rig_item(r), 40, 64);
}

PG_TEST(text__that_is_refused__is_refused_each_time_and_the_next_one_is_not)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	uint64_t n = 0;

	for (int i = 0; i < 4; i++) {
		rig_ends(r, rig_update(r, s, &j, ++n, "UPDATE nowhere SET v = 1"), SQL_FAILED);
		assert_string_equal(r->e.state, "42P01");
		rig_says(r, "statement 1");
		rig_ends(r, rig_update(r, s, &j, ++n, "UPDATE items SET v = v + 1 WHERE id = 1"),
			 SQL_COMMITTED);
	}
	assert_int_equal(rig_item(r), 4);
}

/* What stands before a refusal was prepared, or not: nothing is taken for what it is not. */
PG_TEST(text__an_update_is_refused_on_the_way__is_prepared_anew)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	struct sql_statement st[] = {
		{ "UPDATE items SET v = v + 1 WHERE id = 1", 0, NULL },
		{ "UPDATE items SET v = 2000000", 0, NULL }, /* its check is violated */
		{ "UPDATE items SET v = v + 2 WHERE id = 1", 0, NULL },
	};
	struct sql_update u = { 5, 0, j.epoch, 3, st };

	for (uint64_t n = 1; n <= 4; n++) {
		u.name = cache_update_name(j.fence, n);
		rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_FAILED);
		assert_string_equal(r->e.state, "23514");
		rig_says(r, "statement 2");
	}
	st[1].text = st[2].text;
	for (uint64_t n = 5; n <= 8; n++) {
		u.name = cache_update_name(j.fence, n);
		rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_COMMITTED);
		assert_int_equal(rig_item(r), 5 * (n - 4));
	}
}

/* A plan that no longer fits must not make an update fail: nothing is wrong with it. */
PG_TEST(text__its_table_has_changed__is_made_anew)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	static const char text[] = "UPDATE items SET v = v + 1 WHERE id = 1 RETURNING *";

	for (uint64_t n = 1; n <= 3; n++)
		rig_ends(r, rig_update(r, s, &j, n, text), SQL_COMMITTED);
	rig_run(r, "ALTER TABLE items ADD COLUMN more integer");
	rig_ends(r, rig_update(r, s, &j, 4, text), SQL_CHANGED);
	for (uint64_t n = 5; n <= 7; n++)
		rig_ends(r, rig_update(r, s, &j, n, text), SQL_COMMITTED);
	assert_int_equal(rig_item(r), 6);
}

PG_TEST(text__a_statement_drops_all_that_is_prepared__is_made_anew)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 1"), SQL_COMMITTED);
	rig_ends(r, rig_update(r, s, &j, 2, "DO 'BEGIN EXECUTE ''DEALLOCATE ALL''; END'"),
		 SQL_COMMITTED);
	rig_ends(r, rig_update(r, s, &j, 3, "UPDATE items SET v = 2"), SQL_CHANGED);
	rig_ends(r, rig_update(r, s, &j, 4, "UPDATE items SET v = 2"), SQL_COMMITTED);
	assert_int_equal(rig_item(r), 2);
}

/* --- a full disk ---------------------------------------------------------------------------- */

static char small[sizeof(rig_server.dir) + 8];

static void unmount_small(void)
{
	umount2(small, MNT_DETACH);
}

/* A file system of 2 MiB, of the user that runs the server. Without the right to mount: skipped. */
static void mount_small(void)
{
	char how[64];
	struct stat st;

	assert_int_equal(stat(rig_server.dir, &st), 0);
	snprintf(small, sizeof(small), "%s/small", rig_server.dir);
	snprintf(how, sizeof(how), "size=2m,mode=700,uid=%u", st.st_uid);
	assert_int_equal(mkdir(small, 0700), 0);
	if (mount("none", small, "tmpfs", 0, how)) {
		print_message("no file system can be mounted here\n");
		rmdir(small);
		skip();
	}
	atexit(unmount_small); /* before the server's folder is removed */
}

PG_TEST(update__the_disk_is_full__is_refused_until_there_is_room)
{
	static const char fills[] =
		"INSERT INTO big SELECT n, md5(n::text) FROM generate_series(1, "
		"50000) AS n";
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	uint64_t found = 77;
	char sql[256];

	mount_small();
	snprintf(sql, sizeof(sql), "CREATE TABLESPACE small LOCATION '%s'", small);
	rig_run(r, sql);
	rig_run(r, "CREATE TABLE big (n integer, t text) TABLESPACE small; GRANT ALL ON big TO "
		   "cached");
	for (uint64_t n = 1; n <= 2; n++) {
		rig_ends(r, rig_update(r, s, &j, n, fills), SQL_FAILED);
		assert_string_equal(r->e.state, "53100");
		rig_says(r, "No space left on device");
	}
	assert_int_equal(rig_number(r, "SELECT count(*) FROM big"), 0);
	/* The handle goes on: other tables have room. */
	rig_ends(r, rig_update(r, s, &j, 3, "UPDATE items SET v = 5"), SQL_COMMITTED);
	assert_int_equal(mount("none", small, NULL, MS_REMOUNT, "size=32m"), 0);
	rig_ends(r, rig_update(r, s, &j, 4, fills), SQL_COMMITTED);
	assert_int_equal(rig_number(r, "SELECT count(*) FROM big"), 50000);
	/* What was refused has left nothing that a look could take for committed. */
	rig_expect(r, r->ops->resolve(s, 0, cache_update_name(j.fence, 4), &found, &r->e), 0);
	assert_int_equal(found, r->transaction);
	rig_run(r, "DROP TABLE big");
	rig_run(r, "DROP TABLESPACE small");
	unmount_small();
	rmdir(small);
}

#else

TEST(pgsql__is_not_built)
{
	assert_null(sql_find("pgsql"));
}

#endif
