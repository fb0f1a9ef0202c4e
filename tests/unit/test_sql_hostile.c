// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_sql_hostile: tables that hold anything, on each backend: one sentence, and no effect.
 */
#include "tests/unit/sql_rig.h"

/* --- hostile tables ------------------------------------------------------------------------- */

/* The tables as another program could have made them, without constraints. */
static void loosen(struct rig *r)
{
	if (r->pgsql)
		rig_run(r, "DROP TABLE resex.member, resex.update, resex.epoch;"
			   "CREATE TABLE resex.member (number text, generation text, fence text, "
			   "is_in "
			   "integer, raised text);"
			   "CREATE TABLE resex.epoch (one text, epoch text, version text);"
			   "CREATE TABLE resex.update (member integer, slot integer, name text, "
			   "transaction text);"
			   "GRANT ALL ON resex.member, resex.epoch, resex.update TO cached");
	else
		rig_run(r,
			"DROP TABLE resex.member; DROP TABLE resex.update; DROP TABLE resex.epoch;"
			"CREATE TABLE resex.member (number, generation, fence, is_in, raised);"
			"CREATE TABLE resex.epoch (one, epoch, version, timeline DEFAULT 5, number "
			"DEFAULT 0, updating DEFAULT 0);"
			"CREATE TABLE resex.update (member, slot, name, \"transaction\")");
}

CONTRACT(hostile__values_of_members__are_one_sentence)
{
	static const struct {
		const char *values, *says;
	} row[] = {
		{ "300, 1, 1, 1, 1", "member.number of host 300 is 300: it must be 1 .. 256" },
		{ "0, 1, 1, 1, 1", "number of host 0 is 0" },
		{ "NULL, 1, 1, 1, 1", "number of host NULL is NULL" },
		{ "-1, 1, 1, 1, 1", "is -1" },
		{ "'x', 1, 1, 1, 1", "is x" },
		{ "'', 1, 1, 1, 1", "is :" },
		{ "5, 1073741824, 1, 1, 1", "generation of host 5 is 1073741824" },
		{ "5, NULL, 1, 1, 1", "generation of host 5 is NULL" },
		{ "5, 1, 1073741824, 1, 1", "fence of host 5 is 1073741824" },
		{ "5, 1, -1, 1, 1", "fence of host 5 is -1" },
		{ "5, 1, '99999999999999999999999', 1, 1", "fence of host 5 is 9999" },
		{ "5, 1, 1, 2, 1", "is_in of host 5 is 2" },
		{ "5, 1, 1, NULL, 1", "is_in of host 5 is NULL" },
		{ "5, 1, 1, 1, 0", "raised of host 5 is 0" },
		{ "5, 1, 1, 1, NULL", "raised of host 5 is NULL" },
		{ "5, 1, 1, 1, '9223372036854775808'", "raised of host 5 is 9223372036854775808" },
		{ "5, 1, 1, 1, '1 '", "raised of host 5" },
		{ "4, 1, 1, 1, 1", "two rows of host 4" },
	};
	struct sql *s;

	loosen(r);
	rig_run(r, "INSERT INTO resex.epoch (epoch, version) VALUES (1, 1)");
	s = rig_handle(r, RIG_SELF);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct sql_look l = { .epoch = 99 };
		char sql[256];

		rig_run(r, "DELETE FROM resex.member");
		rig_run(r, "INSERT INTO resex.member VALUES ('4', '1', '1', 1, '1')");
		assert_true(rig_is_member(r, s, 4));
		snprintf(sql, sizeof(sql), "INSERT INTO resex.member VALUES (%s)", row[i].values);
		rig_run(r, sql);
		rig_expect(r, r->ops->look(s, &l, &r->e), -EPROTO);
		rig_says(r, row[i].says);
		assert_int_equal(l.epoch, 99);
	}
}

CONTRACT(hostile__values_of_the_epoch__are_one_sentence)
{
	static const struct {
		const char *values, *says;
	} row[] = {
		{ "NULL, 1", "epoch.epoch is NULL" },
		{ "'x', 1", "epoch.epoch is x" },
		{ "-1, 1", "epoch.epoch is -1" },
		{ "2147483648, 1", "epoch.epoch is 2147483648" },
		{ "1, NULL", "epoch.version is NULL" },
		{ "1, 2", "of version 2, this program is for version 1" },
	};
	struct sql *s;

	loosen(r);
	s = rig_handle(r, RIG_SELF);
	for (size_t i = 0; i <= sizeof(row) / sizeof(row[0]); i++) {
		bool none = i == sizeof(row) / sizeof(row[0]);
		struct sql_look l;
		struct sql_joined j = { .epoch = 99 };
		char sql[256];

		rig_run(r, "DELETE FROM resex.epoch");
		snprintf(sql, sizeof(sql), "INSERT INTO resex.epoch (epoch, version) VALUES (%s)",
			 none ? "1, 1" : row[i].values);
		rig_run(r, none ? "DELETE FROM resex.epoch" : sql);
		rig_expect(r, r->ops->look(s, &l, &r->e), -EPROTO);
		rig_says(r, none ? "epoch is empty" : row[i].says);
		rig_expect(r, r->ops->join(s, 0, 0, &j, &r->e), -EPROTO);
		rig_says(r, none ? "epoch is empty" : row[i].says);
		assert_int_equal(j.epoch, 99);
	}
}

CONTRACT(hostile__an_own_row_that_is_none__stops_join_remove_and_resolve)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j;
	uint64_t found = 77;

	if (r->pgsql)
		rig_run(r, "ALTER TABLE resex.member DROP CONSTRAINT member_fence_check");
	else
		rig_run(r, "PRAGMA ignore_check_constraints = ON");
	rig_run(r, "INSERT INTO resex.member VALUES (3, 1, 1073741824, '1', 1)");
	rig_expect(r, r->ops->join(s, 0, 0, &j, &r->e), -EPROTO);
	rig_says(r, "fence of host 3 is 1073741824");
	rig_expect(r, r->ops->remove(s, 3, 1, &r->e), -EPROTO);
	rig_expect(r, r->ops->resolve(s, 0, 1, &found, &r->e), -EPROTO);
	assert_int_equal(found, 77);
	assert_int_equal(rig_number(r, "SELECT fence FROM resex.member"), 1073741824);
	rig_run(r, "UPDATE resex.member SET fence = 5");
	assert_int_equal(rig_join(r, s).fence, 6); /* the handle is as it was */
}

CONTRACT(hostile__the_row_of_an_update__is_one_sentence)
{
	static const struct {
		const char *values, *says;
	} row[] = {
		{ "NULL, '1'", "is NULL" },
		{ "'x', '1'", "is x" },
		{ "'', '1'", "is ," },
		{ "'99999999999999999999', '1'", "is 9999" },
		{ "'-9223372036854775807', '0'", "transaction of the update is 0" },
		{ "'-9223372036854775807', NULL", "transaction of the update is NULL" },
		{ "'-9223372036854775807', '-4'", "transaction of the update is -4" },
	};
	struct sql *s;

	loosen(r);
	rig_run(r, "INSERT INTO resex.epoch (epoch, version) VALUES (1, 1)");
	s = rig_handle(r, RIG_SELF);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint64_t found = 77;
		char sql[256];

		rig_run(r, "DELETE FROM resex.update");
		snprintf(sql, sizeof(sql), "INSERT INTO resex.update VALUES (3, 0, %s)",
			 row[i].values);
		rig_run(r, sql);
		rig_expect(r, r->ops->resolve(s, 0, 1, &found, &r->e), -EPROTO);
		rig_says(r, row[i].says);
		assert_int_equal(found, 77);
	}
}

CONTRACT(hostile__tables_that_are_not_there__are_one_sentence_with_the_remedy)
{
	struct sql *s = rig_handle(r, RIG_SELF);
	struct sql_joined j = { 0 };
	struct sql_look l;
	uint64_t found;

	rig_run(r, "DROP TABLE resex.member");
	rig_run(r, "DROP TABLE resex.epoch");
	rig_run(r, "DROP TABLE resex.update");
	rig_expect(r, r->ops->look(s, &l, &r->e), -ENOENT);
	rig_says(r, "install the tables: etc/cache/schema");
	rig_expect(r, r->ops->join(s, 0, 0, &j, &r->e), -ENOENT);
	rig_expect(r, r->ops->remove(s, 1, 0, &r->e), -ENOENT);
	rig_expect(r, r->ops->resolve(s, 0, 1, &found, &r->e), -ENOENT);
	rig_ends(r, rig_update(r, s, &j, 1, "UPDATE items SET v = 1"), SQL_FAILED);
	rig_says(r, "install the tables");
}

/* --- check ---------------------------------------------------------------------------------- */

static void check_finds(struct rig *r, struct sql *s, const char *says)
{
	char problem[SQL_PROBLEMS_MAX][256];
	int n = r->ops->check(s, problem, &r->e);

	assert_true(n >= 0 && n <= SQL_PROBLEMS_MAX);
	for (int i = 0; i < n; i++)
		if (strstr(problem[i], says))
			return;
	for (int i = 0; i < n; i++)
		print_error("%s\n", problem[i]);
	fail_msg("\"%s\" is not found", says);
}

CONTRACT(check__tables_of_another_version__are_found)
{
	struct sql *s = rig_handle(r, RIG_SELF);

	rig_run(r, "UPDATE resex.epoch SET version = 7");
	check_finds(r, s, "of version 7, this program is for version 1");
	rig_run(r, "DELETE FROM resex.epoch");
	check_finds(r, s, r->pgsql ? "has 0 rows" : "is empty");
	rig_run(r, "DROP TABLE resex.update");
	check_finds(r, s, r->pgsql ? "no table resex.update" : "no such table: resex_update");
}
