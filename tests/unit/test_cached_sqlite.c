// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * app: two application servers over "shm" and a file of SQLite, with a cached table "item". What
 * the fake database (fake_sql.h) promises is here as the real one has it.
 */
#include "config.h"

#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

#include "tests/unit/app_rig.h"
#include "tests/unit/examples.h"

#ifdef HAVE_SQLITE
static const char apps[] = "aa";

/* As an operator would do it: the tables, a cached one, and its guard. */
static const char cached_table[] = "CREATE TABLE item (k INTEGER PRIMARY KEY, v INTEGER);"
				   "INSERT INTO item VALUES (5, 50), (6, 60);"
				   "CREATE TRIGGER guard BEFORE UPDATE ON item"
				   " WHEN (SELECT updating FROM resex_epoch) <> 1 BEGIN"
				   " SELECT RAISE(ABORT, 'item is cached'); END;";

static void execute(const struct rig *r, const char *text, int wanted)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(r->where, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 60000);
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != wanted)
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

static int64_t number(const struct rig *r, const char *text)
{
	sqlite3_stmt *q;
	sqlite3 *db;
	int64_t v;

	assert_int_equal(sqlite3_open(r->where, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 60000);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &q, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(q), SQLITE_ROW);
	v = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return v;
}

static int setup(void **state)
{
	struct rig *r = rig_new(apps);
	char path[256], text[8192] = "";
	FILE *f = fopen(example_path("etc/cache/schema-sqlite.sql", path, sizeof(path)), "r");

	if (!f)
		fail_msg("%s cannot be read: set srcdir to the top of the sources", path);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	r->sql = sql_find("sqlite");
	snprintf(r->where, sizeof(r->where), "%s/db", r->all->dir.path);
	execute(r, text, SQLITE_OK);
	execute(r, cached_table, SQLITE_OK);
	for (uint16_t n = 1; n <= 2; n++)
		app_start(r, n);
	CACHED_UNTIL(r->all, all_in(r, apps));
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

RIG_TEST(sqlite__a_fill_and_an_update__the_page_moves_and_the_row_changes)
{
	struct rig *r = *state;
	const char *tag = "item/5", *param[] = { "55", "5" };
	const struct sql_statement s = { .text = "UPDATE item SET v = $1 WHERE k = $2",
					 .params = 2,
					 .param = param };
	struct answer a = { 0 };

	fill_page(r, 1, 2, 5, "item/5");
	fill_page(r, 1, 2, 6, "item/6");
	app_update(r->app[1], 1, &tag, 1, &s, answered, &a);
	CACHED_UNTIL(r->all, a.times);
	assert_string_equal(a.text, "");
	assert_int_equal(a.r.end, APP_OK);
	assert_true(a.r.transaction > 0 && a.rows[0] == 1);
	assert_int_equal(number(r, "SELECT v FROM item WHERE k = 5"), 55);
	assert_int_equal(word_of(r, 2, 5), cache_word(1, 1));
	assert_int_equal(word_of(r, 2, 6), cache_word(1, 0));
	fill_page(r, 2, 2, 5, "item/5");
}

/* Without an update no home is told, and a page would be stale: the guard is of the database. */
RIG_TEST(sqlite__a_write_without_an_update__is_refused)
{
	struct rig *r = *state;

	execute(r, "UPDATE item SET v = 1", SQLITE_CONSTRAINT);
	assert_int_equal(number(r, "SELECT v FROM item WHERE k = 5"), 50);
}

RIG_TEST(sqlite__a_statement_is_refused__says_why_and_has_no_effect)
{
	struct rig *r = *state;
	struct answer a = do_update(r, 1, "item/5", "INSERT INTO item VALUES (6, 1)");

	assert_int_equal(a.r.end, APP_REFUSED);
	assert_string_equal(a.sqlstate, "23505");
	assert_true(strlen(a.text) > 10);
	CACHED_UNTIL(r->all, slots_idle(r, 1));
	fill_page(r, 1, 2, 5, "item/5");
}

RIG_TEST(sqlite__both_update_the_same__each_is_done)
{
	struct rig *r = *state;
	struct answer a[20];

	for (int i = 0; i < 20; i++)
		ask_update(r, (uint16_t)(1 + i % 2), "item/5",
			   "UPDATE item SET v = v + 1 WHERE k = 5", &a[i]);
	for (int i = 0; i < 20; i++) {
		CACHED_UNTIL(r->all, a[i].times);
		assert_int_equal(a[i].r.end, APP_OK);
	}
	assert_int_equal(number(r, "SELECT v FROM item WHERE k = 5"), 70);
}

/* One is killed: its row stays, and the other removes it when an update waits for it. */
RIG_TEST(sqlite__a_host_is_silent__is_removed)
{
	struct rig *r = *state;

	r->all->log.level = 0;
	r->all->host[2]->stopped = true;
	assert_int_equal(do_update(r, 1, "item/5", "UPDATE item SET v = 7 WHERE k = 5").r.end,
			 APP_OK);
	assert_int_equal(number(r, "SELECT is_in FROM resex_member WHERE number = 2"), 0);
	r->all->host[2]->stopped = false;
	CACHED_UNTIL(r->all, app_in(r, 2) && r->app[2]->member.joins == 2);
	assert_int_equal(word_of(r, 2, 5), cache_word(2, 0));
}

RIG_TEST(sqlite__the_file_was_restored_from_a_copy__all_is_dropped)
{
	struct rig *r = *state;
	char command[768];

	r->all->log.level = 0;
	fill_page(r, 1, 2, 5, "item/5");
	execute(r, "PRAGMA wal_checkpoint(TRUNCATE)", SQLITE_OK);
	snprintf(command, sizeof(command), "cp %s %s.copy && mv %s.copy %s", r->where, r->where,
		 r->where, r->where);
	assert_int_equal(system(command), 0);
	for (uint16_t n = 1; n <= 2; n++)
		CACHED_UNTIL(r->all, app_in(r, n) && r->app[n]->member.joins == 2);
	assert_int_equal(word_of(r, 2, 5), cache_word(2, 0));
}

RIG_TEST(sqlite__a_clean_end__its_row_is_out)
{
	struct rig *r = *state;

	app_stop(r, 2, false);
	assert_int_equal(number(r, "SELECT is_in FROM resex_member WHERE number = 2"), 0);
	assert_int_equal(number(r, "SELECT is_in FROM resex_member WHERE number = 1"), 1);
}
#else
TEST(sqlite__is_not_built__nothing_is_tested)
{
	skip();
}
#endif
