// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema: the schema of cached.json: what each key does. Types, ranges and defaults are those of
 * the tables in conf.c. main.c prints it with --schema. See conf.h.
 */
#include <stdlib.h>

#include "src/cached/conf.h"
#include "src/util/conf_schema.h"

static const struct conf_says top_says[] = {
	{ "cluster_file", "The file of the cluster, see cluster.json(5)." },
	{ "state_dir", "Where this host keeps the numbers of its lives." },
	{ "socket", "Where programs and resex ask." },
	{ "socket_group", "Members of this group may ask, too." },
	{ "ring", "Of a proxy: where caches ask for versions." },
	{ "ring_group", "Of a proxy: members of this group may be such a cache." },
	{ "ring_slots", "Of a proxy: requests at a time of each client, a multiple of 64." },
	{ "ring_clients", "Of a proxy: caches at a time." },
	{ "timeout", "Of a proxy: after this time a page that cannot be verified is a miss." },
	{ "listings", "Of an application server: tags in the lists of all its pages." },
	{ "log", "Of an application server: updates that have ended and are kept." },
	{ "fill_timeout", "Of an application server: a page that takes longer is not cached." },
	{ "sql", "Of an application server: its database, which must be given." },
	{ NULL, NULL },
};

static const struct conf_says sql_says[] = {
	{ "backend", "Its kind." },
	{ "where", "pgsql: a connection string of libpq; sqlite: the whole path of a file." },
	{ "timeout", "Of one call; without it, 5s." },
	{ NULL, NULL },
};

static json_t *backends(void)
{
	json_t *all = json_array();

	for (size_t i = 0; sql_backends[i]; i++)
		json_array_append_new(all, json_string(sql_backends[i]->name));
	return json_pack("{s:o}", "enum", all);
}

static json_t *sql_schema(void)
{
	const struct conf_table t = cached_conf_sql_table();
	json_t *o = schema_object(&t, sql_says);

	return schema_put(o, "backend", backends(), sql_says);
}

json_t *cached_schema(void)
{
	struct cached_conf *c = calloc(1, sizeof(*c));
	json_t *o = NULL;
	struct conf_table t;

	if (!c)
		return NULL;
	cached_conf_defaults(c);
	t = cached_conf_table(c);
	o = schema_put(schema_object(&t, top_says), "sql", sql_schema(), top_says);
	free(c);
	return schema_top(o, "resex-cached(8): configuration of resex-cached");
}
