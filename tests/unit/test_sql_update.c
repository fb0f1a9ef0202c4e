// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_sql_update: the contract of src/sql/sql.h, on each backend: the transactions of updates, and
 * what a statement in them may be.
 */
#include "tests/unit/sql_rig.h"

/* --- update --------------------------------------------------------------------------------- */

CONTRACT(update__nothing_changed__commits)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	const char *params[] = { "7", "1" }, *insert[] = { "3", NULL };
	struct sql_statement st[] = {
		{ "UPDATE items SET v = v + $1 WHERE id = $2", 2, params },
		{ "SELECT id FROM items", 0, NULL },
		{ " \t\nupdate items SET v = v + 1", 0, NULL },
		{ "INSERT INTO items (id, t) VALUES ($1, $2)", 2, insert },
		{ "DELETE FROM items WHERE id = 99;", 0, NULL },
	};
	struct sql_update u = { 5, cache_update_name(j.fence, 1), j.epoch, 5, st };
	uint64_t found = 0;

	rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_COMMITTED);
	assert_true(r->transaction > j.transaction);
	assert_int_equal(r->rows[0], 1);
	assert_int_equal(r->rows[1], 0);
	assert_int_equal(r->rows[2], 2);
	assert_int_equal(r->rows[3], 1);
	assert_int_equal(r->rows[4], 0);
	assert_int_equal(rig_item(r), 8);
	assert_int_equal(rig_number(r, "SELECT count(*) FROM items WHERE t IS NULL"), 1);
	rig_expect(r, r->ops->resolve(s, 5, u.name, &found, &r->e), 0);
	assert_int_equal(found, r->transaction);
}

CONTRACT(update__again_and_again__has_rising_numbers_and_one_row)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	uint64_t before = j.transaction;

	for (uint64_t n = 1; n <= 20; n++) {
		rig_ends(r, rig_update(r, s, &j, n, "UPDATE items SET v = v + 1 WHERE id = 1"),
			 SQL_COMMITTED);
		assert_true(r->transaction > before);
		before = r->transaction;
	}
	assert_int_equal(rig_item(r), 20);
	assert_int_equal(rig_number(r, "SELECT count(*) FROM resex.update"), 1);
}

CONTRACT(update__without_statements__commits)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	rig_ends(r, rig_update(r, s, &j, 1, NULL), SQL_COMMITTED);
	assert_true(r->transaction > j.transaction);
}

CONTRACT(update__another_host_joined__is_changed)
{
	struct sql *a = rig_handle(r, 1), *b = rig_handle(r, 2);
	struct sql_joined j = rig_join(r, a);

	rig_join(r, b);
	rig_ends(r, rig_update(r, a, &j, 1, "UPDATE items SET v = 1"), SQL_CHANGED);
	assert_int_equal(rig_item(r), 0);
	assert_int_equal(rig_number(r, "SELECT count(*) FROM resex.update"), 0);
	j.epoch++;
	rig_ends(r, rig_update(r, a, &j, 1, "UPDATE items SET v = 1"), SQL_COMMITTED);
}

CONTRACT(update__own_row_was_raised__is_changed)
{
	struct sql *a = rig_handle(r, 1), *b = rig_handle(r, 2);
	struct sql_joined j = rig_join(r, a);
	uint64_t found = 1;

	rig_expect(r, r->ops->resolve(b, 0, 1, &found, &r->e), 0); /* of host 2: no row */
	rig_ends(r, rig_update(r, a, &j, 1, "UPDATE items SET v = 1"), SQL_COMMITTED);
	rig_expect(r, r->ops->resolve(a, 0, cache_update_name(j.fence, 2), &found, &r->e), 0);
	assert_int_equal(found, 0);
	rig_ends(r, rig_update(r, a, &j, 2, "UPDATE items SET v = 2"), SQL_CHANGED);
	j.fence++;
	rig_ends(r, rig_update(r, a, &j, 2, "UPDATE items SET v = 2"), SQL_COMMITTED);
	rig_expect(r, r->ops->remove(b, 1, 0, &r->e), 0);
	rig_ends(r, rig_update(r, a, &j, 3, "UPDATE items SET v = 3"), SQL_CHANGED);
	j.fence++; /* it is out all the same */
	rig_ends(r, rig_update(r, a, &j, 4, "UPDATE items SET v = 3"), SQL_CHANGED);
	assert_int_equal(rig_item(r), 2);
}

CONTRACT(update__of_a_host_without_a_row__is_changed)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = { .epoch = 0, .fence = 1 };

	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 1"), SQL_CHANGED);
	assert_int_equal(rig_item(r), 0);
}

CONTRACT(update__a_statement_is_refused__takes_no_effect)
{
	static const struct {
		const char *text, *state;
	} row[] = {
		{ "UPDATE nowhere SET v = 1", NULL },
		{ "UPDATE items SET", NULL },
		{ "INSERT INTO items VALUES (1, 1, 'again')", "23505" },
		{ "INSERT INTO items VALUES (8, 1, 'two')", "23505" },
		{ "UPDATE items SET v = 2000000", "23514" },
	};
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct sql_statement st[] = { { "UPDATE items SET v = 5", 0, NULL },
					      { row[i].text, 0, NULL },
					      { "UPDATE items SET v = 6", 0, NULL } };
		struct sql_update u = { 0, cache_update_name(j.fence, i + 1), j.epoch, 3, st };

		rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_FAILED);
		rig_says(r, "statement 2 of 3");
		assert_int_equal(strlen(r->e.state), 5);
		if (row[i].state)
			assert_string_equal(r->e.state, row[i].state);
		assert_int_equal(rig_item(r), 0);
		assert_int_equal(rig_number(r, "SELECT count(*) FROM resex.update"), 0);
	}
	rig_ends(r, rig_update(r, s, &j, 9, "UPDATE items SET v = 7"), SQL_COMMITTED);
}

CONTRACT(update__a_name_that_is_not_newer__is_refused)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	rig_ends(r, rig_update(r, s, &j, 7, "UPDATE items SET v = 1"), SQL_COMMITTED);
	rig_ends(r, rig_update(r, s, &j, 7, "UPDATE items SET v = 2"), SQL_FAILED);
	rig_says(r, "slot 0");
	rig_says(r, "another resex-cached");
	rig_ends(r, rig_update(r, s, &j, 6, "UPDATE items SET v = 2"), SQL_FAILED);
	assert_int_equal(rig_item(r), 1);
	rig_ends(r, rig_update(r, s, &j, 8, "UPDATE items SET v = 2"), SQL_COMMITTED);
}

/* A fence of 2^29 sets the highest bit of a name. */
CONTRACT(update__names_around_the_sign__keep_their_order)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j;
	uint64_t found = 0;

	rig_expect(r, r->ops->join(s, 0, (1u << 29) - 2, &j, &r->e), 0);
	rig_ends(r, rig_update(r, s, &j, CACHE_COUNT_MAX, "UPDATE items SET v = 1"), SQL_COMMITTED);
	j = rig_join(r, s);
	assert_int_equal(j.fence, 1u << 29);
	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 2"), SQL_COMMITTED);
	rig_expect(r, r->ops->resolve(s, 0, cache_update_name(j.fence, 1), &found, &r->e), 0);
	assert_int_equal(found, r->transaction);
	rig_expect(r, r->ops->join(s, 0, REGION_EPOCH_MAX - 1, &j, &r->e), 0);
	rig_ends(r, rig_update(r, s, &j, CACHE_COUNT_MAX, "UPDATE items SET v = 3"), SQL_COMMITTED);
	rig_ends(r, rig_update(r, s, &j, CACHE_COUNT_MAX - 1, "UPDATE items SET v = 4"),
		 SQL_FAILED);
	assert_int_equal(rig_item(r), 3);
}

CONTRACT(update__slots_and_hosts__are_apart)
{
	struct sql *a = rig_handle(r, 1), *b = rig_handle(r, 2);
	struct sql_joined ja = rig_join(r, a), jb = rig_join(r, b);
	struct sql_update u = { 65535, cache_update_name(ja.fence, 9), jb.epoch, 0, NULL };
	uint64_t found = 1;

	rig_ends(r, r->ops->update(a, &u, &r->transaction, r->rows, &r->e), SQL_COMMITTED);
	u.name = cache_update_name(ja.fence, 2);
	u.slot = 0;
	rig_ends(r, r->ops->update(a, &u, &r->transaction, r->rows, &r->e), SQL_COMMITTED);
	u.name = cache_update_name(jb.fence, 1);
	rig_ends(r, r->ops->update(b, &u, &r->transaction, r->rows, &r->e), SQL_COMMITTED);
	rig_expect(r, r->ops->resolve(b, 65535, cache_update_name(1, 9), &found, &r->e), 0);
	assert_int_equal(found, 0);
	assert_int_equal(rig_number(r, "SELECT count(*) FROM resex.update"), 3);
}

/* --- what a statement may be ---------------------------------------------------------------- */

CONTRACT(update__what_ends_the_transaction__is_refused)
{
	static const char *const texts[] = {
		"COMMIT",
		"commit AND CHAIN",
		" ROLLBACK",
		"BEGIN",
		"END",
		"ABORT",
		"START TRANSACTION",
		"SAVEPOINT a",
		"RELEASE a",
		"PREPARE TRANSACTION 'a'",
		"SET synchronous_commit = off",
		"RESET ALL",
		"PRAGMA synchronous = OFF",
		"ATTACH 'x' AS y",
		"COPY items TO STDOUT",
		"EXPLAIN ANALYZE UPDATE items SET v = 9",
		"/* */ COMMIT",
		"-- \nCOMMIT",
		";COMMIT",
		"",
		" ",
		"\xff",
		"UPDATES items",
	};
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sql_statement st[] = { { "UPDATE items SET v = 5", 0, NULL },
					      { texts[i], 0, NULL } };
		struct sql_update u = { 0, cache_update_name(j.fence, i + 1), j.epoch, 2, st };

		rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_FAILED);
		rig_says(r, "statement 2 begins with");
		assert_int_equal(rig_item(r), 0);
	}
	rig_ends(r, rig_update(r, s, &j, 99, "UPDATE items SET v = 7"), SQL_COMMITTED);
}

CONTRACT(update__several_statements_in_one_text__are_refused)
{
	static const char *const texts[] = {
		"UPDATE items SET v = 5; COMMIT",
		"SELECT 1; COMMIT; BEGIN",
		"UPDATE items SET v = 5; UPDATE items SET v = 6",
	};
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		rig_ends(r, rig_update(r, s, &j, i + 1, texts[i]), SQL_FAILED);
		assert_string_equal(r->e.state, "42601");
		assert_int_equal(rig_item(r), 0);
	}
	rig_ends(r, rig_update(r, s, &j, 9, "UPDATE items SET v = 7; -- that is all"),
		 SQL_COMMITTED);
}

CONTRACT(update__parameters_that_do_not_fit__are_refused)
{
	const char *params[] = { "1", "2", "3" };
	const struct sql_statement row[] = {
		{ "UPDATE items SET v = $1", 0, NULL },
		{ "UPDATE items SET v = $1", 2, params },
		{ "UPDATE items SET v = $2", 1, params },
		{ "UPDATE items SET v = 3", 1, params },
	};
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct sql_update u = { 0, cache_update_name(j.fence, i + 1), j.epoch, 1, &row[i] };

		rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_FAILED);
		rig_says(r, "statement 1 of 1");
		assert_int_equal(rig_item(r), 0);
	}
}

CONTRACT(update__at_and_beyond_the_bounds)
{
	static struct sql_statement st[SQL_STATEMENTS_MAX + 1];
	static const char *params[SQL_PARAMS_MAX + 1];
	static char text[SQL_TEXT_MAX + 2];
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);
	struct sql_update u = { 0, cache_update_name(j.fence, 1), j.epoch, SQL_STATEMENTS_MAX, st };

	for (int i = 0; i <= SQL_STATEMENTS_MAX; i++)
		st[i] = (struct sql_statement){ "UPDATE items SET v = v + 1", 0, NULL };
	rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_COMMITTED);
	assert_int_equal(rig_item(r), SQL_STATEMENTS_MAX);
	u.name++;
	u.statements++;
	rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_FAILED);
	rig_says(r, "65 statements");

	for (int i = 0; i <= SQL_PARAMS_MAX; i++)
		params[i] = "1";
	u.statements = 1;
	strcpy(text, "UPDATE items SET v = 0");
	for (int i = 1; i <= SQL_PARAMS_MAX; i++)
		snprintf(text + strlen(text), 16, " + $%d%s", i, r->pgsql ? "::int" : "");
	st[0] = (struct sql_statement){ text, SQL_PARAMS_MAX, params };
	rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_COMMITTED);
	assert_int_equal(rig_item(r), SQL_PARAMS_MAX);
	u.name++;
	st[0].params++;
	rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_FAILED);
	rig_says(r, "65 parameters");

	memset(text, 'x', SQL_TEXT_MAX + 1);
	params[0] = text;
	st[0] = (struct sql_statement){ "UPDATE items SET t = $1 WHERE id = 1", 1, params };
	rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_FAILED);
	rig_says(r, "1048576 bytes");
	text[SQL_TEXT_MAX - strlen(st[0].text)] = '\0';
	/* PostgreSQL has no index on a text so long: it answers, that is all that is asked. */
	rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e),
		 r->pgsql ? SQL_FAILED : SQL_COMMITTED);
	/* The bound is that of all statements together. */
	text[SQL_TEXT_MAX / 2] = '\0';
	st[1] = st[0];
	u.statements = 2;
	rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_FAILED);
	rig_says(r, "1048576 bytes");
	u.statements = 1;
	u.name = 0;
	rig_ends(r, r->ops->update(s, &u, &r->transaction, r->rows, &r->e), SQL_FAILED);
	rig_says(r, "is 0");
}

CONTRACT(guard__a_write_outside_of_an_update__is_refused_with_the_remedy)
{
	static const char *const writes[] = {
		"INSERT INTO items VALUES (9, 9, 'nine')",
		"UPDATE items SET v = 9",
		"DELETE FROM items",
		"TRUNCATE items",
	};
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = rig_join(r, s);

	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 5"), SQL_COMMITTED);
	for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]) - !r->pgsql; i++) {
		const char *why = "it was done";

#ifdef HAVE_POSTGRESQL
		PGresult *said = r->pgsql ? PQexec(r->raw, writes[i]) : NULL;

		if (PQresultStatus(said) == PGRES_FATAL_ERROR)
			why = PQerrorMessage(r->raw);
		PQclear(said);
#endif
#ifdef HAVE_SQLITE
		if (!r->pgsql && sqlite3_exec(r->raw, writes[i], NULL, NULL, NULL))
			why = sqlite3_errmsg(r->raw);
#endif
		if (!strstr(why, "items is cached") || !strstr(why, "POST /v1/update"))
			fail_msg("%s: %s", writes[i], why);
	}
	assert_int_equal(rig_item(r), 5);
	/* A backend's own statements are no updates either. */
	assert_int_equal(rig_number(r, "SELECT count(*) FROM items"), 2);
}
