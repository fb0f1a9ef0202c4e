/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sql_pgsql_rig: what tests of PostgreSQL alone share: other clients, and waits for them. */
#ifndef RESEX_TESTS_SQL_PGSQL_RIG_H
#define RESEX_TESTS_SQL_PGSQL_RIG_H

#include "tests/unit/sql_rig.h"

#ifdef HAVE_POSTGRESQL

static inline int setup(void **state)
{
	static struct rig r;

	rig_clear();
	rig_open(&r, "pgsql");
	rig_run(&r, "ALTER SYSTEM RESET ALL");
	rig_run(&r, "SELECT pg_reload_conf()");
	*state = &r;
	return 0;
}

static inline int teardown(void **state)
{
	rig_close(*state);
	return 0;
}

#define PG_TEST(name)                                                                              \
	static void name(struct rig *r);                                                           \
	TEST_WITH(name##__, setup, teardown)                                                       \
	{                                                                                          \
		name(*state);                                                                      \
	}                                                                                          \
	static void name(struct rig *r)

/* Until the number is not 0. */
static inline void wait_for(struct rig *r, const char *sql)
{
	for (int i = 0; i < 10000; i++) {
		if (rig_number(r, sql))
			return;
		rig_sleep_ms(2);
	}
	fail_msg("this does not come true: %s", sql);
}

#define WAITS(what)                                                                                \
	"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = "  \
	"'cached' AND " what

/* A transaction of another client. */
static inline PGconn *other(struct rig *r, const char *sql)
{
	PGconn *c = rig_connect("postgres", r->name);

	rig_pgsql_run(c, sql);
	return c;
}

static inline void end_other(PGconn *c)
{
	rig_pgsql_run(c, "ROLLBACK");
	PQfinish(c);
}

#endif
#endif
