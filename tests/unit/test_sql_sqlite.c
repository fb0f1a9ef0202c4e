// SPDX-License-Identifier: GPL-2.0-or-later
/* test_sql_sqlite: what SQLite alone has: files that move, a full disk, its own ways to end a
 * transaction. */
#include "tests/unit/sql_rig.h"

TEST(backends__are_found_by_name)
{
	assert_null(sql_find("nothing"));
	assert_null(sql_find(""));
	for (size_t i = 0; sql_backends[i]; i++)
		assert_ptr_equal(sql_find(sql_backends[i]->name), sql_backends[i]);
}

#ifdef HAVE_SQLITE

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int setup(void **state)
{
	static struct rig r;

	rig_open(&r, "sqlite");
	*state = &r;
	return 0;
}

static int teardown(void **state)
{
	rig_close(*state);
	return 0;
}

#define SQLITE_TEST(name)                                                                          \
	static void name(struct rig *r);                                                           \
	TEST_WITH(name##__, setup, teardown)                                                       \
	{                                                                                          \
		name(*state);                                                                      \
	}                                                                                          \
	static void name(struct rig *r)

/* Copies the database to a file of another name, whole. */
static void copy_to(struct rig *r, const char *file)
{
	char sql[256];

	unlink(file);
	snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", file);
	rig_run(r, sql);
}

SQLITE_TEST(file__that_was_replaced__is_lost_and_the_copy_is_another_timeline)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	uint64_t timeline = rig_look(r, s).timeline, found;
	char copy[96];
	struct sql_look l;

	snprintf(copy, sizeof(copy), "%s.copy", r->name);
	copy_to(r, copy);
	assert_int_equal(rename(copy, r->name), 0);
	rig_expect(r, r->ops->look(s, &l, &r->e), -ENOTCONN);
	rig_says(r, "open it again");
	rig_expect(r, r->ops->join(s, 0, 0, &j, &r->e), -ENOTCONN);
	rig_expect(r, r->ops->remove(s, 1, 0, &r->e), -ENOTCONN);
	rig_expect(r, r->ops->resolve(s, 0, 1, &found, &r->e), -ENOTCONN);
	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 5"), SQL_UNKNOWN);
	s = rig_handle(r, RIG_SELF);
	assert_int_not_equal(rig_look(r, s).timeline, timeline);
	assert_true(rig_is_member(r, s, RIG_SELF));
}

SQLITE_TEST(file__that_is_no_database__is_one_sentence)
{
	struct sql_conf c = { .where = r->name, .self = RIG_SELF, .timeout_ns = NS_PER_S };
	struct sql *s = NULL;
	FILE *f;

	sqlite3_close(r->raw);
	r->raw = NULL;
	f = fopen(r->name, "w");
	assert_non_null(f);
	for (int i = 0; i < 1000; i++)
		fputs("this is not a database\n", f);
	fclose(f);
	rig_expect(r, r->ops->open(&s, &c, &r->e), -EIO);
	rig_says(r, "file is not a database");
	assert_null(s);
}

/* The disk is full within COMMIT: perhaps all of it is there. */
SQLITE_TEST(commit__without_room__is_unknown_and_resolved)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	struct rlimit was, now;
	enum sql_end end;
	uint64_t found = 77;

	rig_run(r, "PRAGMA wal_checkpoint(TRUNCATE)");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	now = was;
	now.rlim_cur = 1;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	end = rig_update(r, s, &j, 1, "UPDATE items SET v = 5");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	rig_ends(r, end, SQL_UNKNOWN);
	s = rig_handle(r, RIG_SELF);
	rig_expect(r, r->ops->resolve(s, 0, cache_update_name(j.fence, 1), &found, &r->e), 0);
	assert_int_equal(found, 0);
	assert_int_equal(rig_item(r), 0);
	j.fence++;
	rig_ends(r, rig_update(r, s, &j, 2, "UPDATE items SET v = 6"), SQL_COMMITTED);
}

SQLITE_TEST(commit__a_constraint_that_is_checked_last__is_refused)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	rig_run(r, "CREATE TABLE child (item REFERENCES items DEFERRABLE INITIALLY DEFERRED);"
		   "CREATE TABLE strict_child (item REFERENCES items)");
	rig_ends(r, rig_update(r, s, &j, 1, "INSERT INTO child VALUES (99)"), SQL_FAILED);
	assert_string_equal(r->e.state, "23503");
	assert_int_equal(rig_number(r, "SELECT count(*) FROM child"), 0);
	rig_ends(r, rig_update(r, s, &j, 2, "INSERT INTO strict_child VALUES (99)"), SQL_FAILED);
	assert_string_equal(r->e.state, "23503");
	rig_ends(r, rig_update(r, s, &j, 3, "INSERT INTO child VALUES (1)"), SQL_COMMITTED);
	assert_int_equal(rig_number(r, "SELECT updating FROM resex.epoch"), 0);
}

/* A conflict that rolls back the whole transaction. */
SQLITE_TEST(update__a_statement_that_rolls_back_all__is_refused)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	struct sql_statement st[] = { { "UPDATE items SET v = 5", 0, NULL },
				      { "INSERT OR ROLLBACK INTO items VALUES (1, 1, 'x')", 0,
					NULL },
				      { "UPDATE items SET v = 6", 0, NULL } };
	struct sql_update u = { 0, cache_update_name(j.fence, 1), j.epoch, 3, st };

	rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_FAILED);
	assert_string_equal(r->e.state, "23505");
	assert_int_equal(rig_item(r), 0);
	rig_ends(r, rig_update(r, s, &j, 2, "UPDATE items SET v = 7"), SQL_COMMITTED);
}

SQLITE_TEST(update__a_statement_without_end__is_refused_in_time)
{
	struct sql *s = rig_handle_in(r, RIG_SELF, NS_PER_S);
	struct sql_joined j = rig_join(r, s);

	rig_ends(r,
		 rig_update(r, s, &j, 1,
			    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
			    "SELECT max(i) FROM n"),
		 SQL_FAILED);
	assert_string_equal(r->e.state, "57014");
	rig_ends(r, rig_update(r, s, &j, 2, "UPDATE items SET v = 7"), SQL_COMMITTED);
}

/* The other ways to write a parameter are SQLite's alone. */
SQLITE_TEST(update__parameters_of_other_kinds__are_refused)
{
	static const char *const texts[] = { "UPDATE items SET v = ?", "UPDATE items SET v = ?1",
					     "UPDATE items SET v = :1", "UPDATE items SET v = @1",
					     "UPDATE items SET v = $01" };
	const char *params[] = { "5" };
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sql_statement st = { texts[i], 1, params };
		struct sql_update u = { 0, cache_update_name(j.fence, i + 1), j.epoch, 1, &st };

		rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_FAILED);
		rig_says(r, "lacks one of the parameters $1");
	}
	assert_int_equal(rig_item(r), 0);
}

SQLITE_TEST(check__a_journal_that_is_not_wal__is_found)
{
	char problem[SQL_PROBLEMS_MAX][256];

	assert_int_equal(r->ops->check(rig_handle(r, RIG_SELF), problem, &r->e), 0);
	r->ops->close(r->handle[--r->handles]);
	rig_run(r, "PRAGMA journal_mode = DELETE");
	assert_int_equal(r->ops->check(rig_handle(r, RIG_SELF), problem, &r->e), 1);
	assert_non_null(strstr(problem[0], "journal_mode is delete"));
	assert_non_null(strstr(problem[0], "PRAGMA journal_mode = WAL"));
}

SQLITE_TEST(check__a_file_that_may_only_be_read__is_found)
{
	char problem[SQL_PROBLEMS_MAX][256];
	struct sql_joined j = rig_join(r, rig_handle(r, RIG_SELF));
	struct sql *s;
	int rc;

	if (getuid())
		skip(); /* it may not become another user */
	assert_int_equal(chmod(r->name, 0644), 0);
	assert_int_equal(seteuid(65534), 0);
	s = rig_handle(r, RIG_SELF);
	rc = r->ops->check(s, problem, &r->e);
	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 5"), SQL_FAILED);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(rc, 1);
	assert_non_null(strstr(problem[0], "cannot be written: give this user the right to it"));
	assert_int_equal(rig_item(r), 0);
}

/* Whatever a file says: it is of each connection. */
SQLITE_TEST(session__synchronous_is_full_whatever_others_set)
{
	char problem[SQL_PROBLEMS_MAX][256];

	rig_run(r, "PRAGMA synchronous = OFF");
	assert_int_equal(r->ops->check(rig_handle(r, RIG_SELF), problem, &r->e), 0);
}

SQLITE_TEST(hostile__a_timeline_that_is_none__is_one_sentence)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_look l;

	rig_run(r, "UPDATE resex.epoch SET timeline = 'x'");
	rig_expect(r, r->ops->look(s, &l, &r->e), -EPROTO);
	rig_says(r, "resex_epoch.timeline is x");
}

SQLITE_TEST(hostile__a_counter_at_its_end__is_one_sentence)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j;

	rig_run(r, "UPDATE resex.epoch SET number = 9223372036854775806");
	rig_expect(r, r->ops->join(s, 0, 0, &j, &r->e), -EPROTO);
	rig_says(r, "resex_epoch.number");
}

#endif
