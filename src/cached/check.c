// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check: asks the database whether it keeps what it commits, and whether this host may do there
 * what it must. The settings were checked when they were read. main.c calls it.
 */
#include "src/cached/check.h"

#include <stdio.h>
#include <string.h>

#include "resex/exit.h"

static int fail(const struct log *log, const struct cached_conf *c, int rc,
		const struct sql_error *e)
{
	log_msg(log, LOG_LVL_ERROR, "database %s: %s", c->sql->name,
		e->text[0] ? e->text : strerror(-rc));
	return RESEX_FAILURE;
}

static int check_database(const struct log *log, const struct cached_conf *c)
{
	const struct sql_conf to = { .where = c->sql_where,
				     .self = (uint16_t)c->self->number,
				     .timeout_ns = c->sql_timeout_ns };
	char problem[SQL_PROBLEMS_MAX][256];
	struct sql_error e = { 0 };
	struct sql *s = NULL;
	int n = c->sql->open(&s, &to, &e);

	if (n)
		return fail(log, c, n, &e);
	n = c->sql->check(s, problem, &e);
	c->sql->close(s);
	if (n < 0)
		return fail(log, c, n, &e);
	for (int i = 0; i < n && i < SQL_PROBLEMS_MAX; i++)
		log_msg(log, LOG_LVL_ERROR, "database %s: %s", c->sql->name, problem[i]);
	return n ? RESEX_BAD_CONFIG : RESEX_OK;
}

int cached_check(const struct log *log, const struct cached_conf *c, const char *file)
{
	int rc = c->sql ? check_database(log, c) : RESEX_OK;

	if (rc == RESEX_OK)
		printf("%s: good: host %s, %s in cluster %s%s%s\n", file, c->self->name,
		       c->self->role == CLUSTER_APP ? "application server" : "proxy",
		       c->cluster.cluster, c->sql ? ", database " : "", c->sql ? c->sql->name : "");
	return rc;
}
