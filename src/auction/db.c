// SPDX-License-Identifier: GPL-2.0-or-later
/* db: which backends there are, and which one a text names. See db.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "src/auction/db.h"

#include <string.h>

#include "src/auction/db_backends.h"

const struct db_ops *const db_backends[] = {
#ifdef HAVE_POSTGRESQL
	&db_pgsql,
#endif
#ifdef HAVE_SQLITE
	&db_sqlite,
#endif
	NULL,
};

const struct db_ops *db_find(const char *where, const char **rest)
{
	static const char sqlite[] = "sqlite:";
	bool file = !strncmp(where, sqlite, sizeof(sqlite) - 1);
	const char *name = file							  ? "sqlite"
			   : strchr(where, '=') || !strncmp(where, "postgres", 8) ? "pgsql"
										  : "";

	*rest = file ? where + sizeof(sqlite) - 1 : where;
	for (size_t i = 0; db_backends[i]; i++)
		if (!strcmp(db_backends[i]->name, name))
			return db_backends[i];
	return NULL;
}
