// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * init: makes the tables of --schema and fills them; with --guard, sets the triggers afterwards
 * which refuse all writes that do not come through resex-cached.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/auction/auction.h"
#include "src/util/file.h"

enum { SCHEMA_MAX = 1 << 20 };

/* Numbers are parameters, which are texts: without CAST, SQLite compares 1 < '9' as types. */
static const char users[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
			    "i < CAST($1 AS integer)) "
			    "INSERT INTO users (id, name) SELECT i, 'user ' || i FROM n";
static const char categories[] =
	"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS "
	"integer)) "
	"INSERT INTO categories (id, name) "
	"SELECT i, CASE i WHEN 0 THEN 'auction' ELSE 'category ' || i END FROM n";
static const char items[] =
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < CAST($1 AS "
	"integer)) "
	"INSERT INTO items (id, seller, category, name, price) "
	"SELECT i, 1 + (i * 31) % CAST($2 AS integer), 1 + i % CAST($3 AS integer), 'item ' || i, "
	"1 + i % 100 FROM n";

static int run_file(const struct db_ops *ops, struct db *d, const char *file, struct db_error *e)
{
	char *text = NULL;
	size_t len;
	int rc = file_load(file, SCHEMA_MAX, &text, &len);
	char *whole = rc ? NULL : realloc(text, len + 1);

	if (!whole) {
		free(text);
		return db_fail(e, rc ? rc : -1, "%s: cannot be read: name the file of SQL", file);
	}
	whole[len] = 0;
	rc = ops->script(d, whole, e);
	free(whole);
	return rc;
}

static int fill(const struct db_ops *ops, struct db *d, const struct auction_options *o,
		struct db_error *e)
{
	char n[3][24];
	const char *param[] = { n[0], n[1], n[2] };
	int rc;

	snprintf(n[0], sizeof(n[0]), "%" PRIu64, o->users);
	rc = ops->run(d, users, param, 1, NULL, NULL, NULL, e);
	snprintf(n[0], sizeof(n[0]), "%" PRIu64, o->categories);
	if (!rc)
		rc = ops->run(d, categories, param, 1, NULL, NULL, NULL, e);
	snprintf(n[0], sizeof(n[0]), "%" PRIu64, o->items);
	snprintf(n[1], sizeof(n[1]), "%" PRIu64, o->users);
	snprintf(n[2], sizeof(n[2]), "%" PRIu64, o->categories);
	if (!rc)
		rc = ops->run(d, items, param, 3, NULL, NULL, NULL, e);
	return rc;
}

int auction_init(const struct auction_options *o, const struct log *log)
{
	struct db_error e = { "", "" };
	struct db *d = NULL;
	const char *where;
	const struct db_ops *ops = db_find(o->db, &where);
	int rc = ops->open(&d, where, &e);

	if (!rc)
		rc = run_file(ops, d, o->schema, &e);
	if (!rc)
		rc = ops->begin(d, true, NULL, &e);
	if (!rc) {
		rc = fill(ops, d, o, &e);
		if (rc)
			ops->abort(d);
		else
			rc = ops->commit(d, &e);
	}
	if (!rc && o->guard)
		rc = run_file(ops, d, o->guard, &e);
	if (rc)
		log_msg(log, LOG_LVL_ERROR, "--init: %s", e.text);
	ops->close(d);
	return rc ? RESEX_FAILURE : RESEX_OK;
}
