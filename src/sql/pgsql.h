/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pgsql: what the files of this backend share. */
#ifndef RESEX_SQL_PGSQL_H
#define RESEX_SQL_PGSQL_H

#include "src/sql/pgsql_conn.h"

/* sql_ops.check, .update */
int pgsql_check(struct sql *s, char problem[static SQL_PROBLEMS_MAX][256], struct sql_error *e);
enum sql_end pgsql_update(struct sql *s, const struct sql_update *u, uint64_t *transaction,
			  uint64_t *rows, struct sql_error *e);

#endif
