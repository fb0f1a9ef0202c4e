// SPDX-License-Identifier: GPL-2.0-or-later
/* backends: the table of those that are built in. */
#include "config.h"

#include <string.h>

#include "src/sql/backend.h"

const struct sql_ops *const sql_backends[] = {
#ifdef HAVE_POSTGRESQL
	&sql_pgsql,
#endif
#ifdef HAVE_SQLITE
	&sql_sqlite,
#endif
	NULL,
};

const struct sql_ops *sql_find(const char *name)
{
	for (size_t i = 0; sql_backends[i]; i++)
		if (!strcmp(sql_backends[i]->name, name))
			return sql_backends[i];
	return NULL;
}
