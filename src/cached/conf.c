// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conf: cached.json -> struct cached_conf. Keys are bound by tables; what depends on the host's
 * role, which is in cluster.json, is checked after. main.c calls it first. See conf.h.
 */
#include "src/cached/conf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEY(...) CONF_KEY(struct cached_conf, __VA_ARGS__)
static const struct conf_key top_keys[] = {
	{ KEY("cluster_file", PATH, cluster_file), .min = 1, .max = CONFIG_PATH_MAX },
	{ KEY("state_dir", PATH, state_dir), .min = 1, .max = CONFIG_PATH_MAX },
	{ KEY("socket", PATH, socket), .min = 1, .max = CACHED_PATH_MAX },
	{ KEY("socket_group", STRING, socket_group), .min = 1, .max = CACHED_GROUP_MAX },
	{ KEY("ring", PATH, ring), .min = 1, .max = CACHED_PATH_MAX },
	{ KEY("ring_group", STRING, ring_group), .min = 1, .max = CACHED_GROUP_MAX },
	{ KEY("ring_slots", UINT, ring_slots), .min = 64, .max = CACHE_RING_SLOTS_MAX },
	{ KEY("ring_clients", UINT, ring_clients), .min = 1, .max = 64 },
	{ KEY("timeout", DURATION, timeout_ns), .min = NS_PER_MS, .max = 10 * NS_PER_S },
	{ KEY("listings", UINT, listings), .min = 1, .max = CACHED_LISTINGS_MAX },
	{ KEY("log", UINT, log), .min = 1, .max = CACHED_LOG_MAX },
	{ KEY("fill_timeout", DURATION, fill_timeout_ns), .min = NS_PER_S, .max = 3600 * NS_PER_S },
	{ 0 },
};
#undef KEY

struct sql_keys {
	char backend[16];
	char where[SQL_WHERE_MAX];
	int64_t timeout_ns;
};

#define KEY(...) CONF_KEY(struct sql_keys, __VA_ARGS__)
static const struct conf_key sql_keys[] = {
	{ KEY("backend", STRING, backend), .min = 1, .max = 15, .required = 1 },
	{ KEY("where", STRING, where), .min = 1, .max = SQL_WHERE_MAX - 1, .required = 1 },
	{ KEY("timeout", DURATION, timeout_ns), .min = 100 * NS_PER_MS, .max = 60 * NS_PER_S },
	{ 0 },
};
#undef KEY

static void set_defaults(struct cached_conf *c)
{
	memset(c, 0, sizeof(*c));
	strcpy(c->cluster_file, RESEX_CONFDIR "/cluster.json");
	strcpy(c->state_dir, RESEX_STATEDIR "-cached");
	strcpy(c->socket, RESEX_RUNDIR "-cached/api.sock");
	strcpy(c->ring, RESEX_RUNDIR "-cached/ring.sock");
	c->ring_slots = 256;
	c->ring_clients = 16;
	c->timeout_ns = 50 * NS_PER_MS;
	c->listings = 1 << 20;
	c->log = 1 << 16;
	c->fill_timeout_ns = 60 * NS_PER_S;
	c->sql_timeout_ns = 5 * NS_PER_S;
}

static int check_paths(const struct cached_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	if (!strcmp(c->socket, c->ring))
		return conf_fail_key(d, "", json_object_get(d->root, "ring") ? "ring" : "socket", e,
				     "socket and ring are both \"%s\": give each a path of its own",
				     c->ring);
	return 0;
}

/* Slots are taken by bits of 64-bit words (cache_ring.h). */
static int check_slots(const struct cached_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	if (c->ring_slots % 64 == 0)
		return 0;
	return conf_fail_key(d, "", "ring_slots", e,
			     "ring_slots %llu is no multiple of 64: write 64, 128, ... %u",
			     (unsigned long long)c->ring_slots, (unsigned)CACHE_RING_SLOTS_MAX);
}

static int read_own(struct cached_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	static const char *const also[] = { "sql", NULL };
	int rc;

	set_defaults(c);
	rc = conf_bind(d, "", d->root, top_keys, also, c, e);
	if (!rc)
		rc = check_paths(c, d, e);
	if (!rc)
		rc = check_slots(c, d, e);
	return rc;
}

/* --- what depends on the role -------------------------------------------------------- */

/* A key that does nothing is a mistake: of the file, or of the host. */
static int refuse_others(const struct conf_doc *d, enum cluster_cached_role role,
			 struct conf_error *e)
{
	static const struct {
		const char *key;
		enum cluster_cached_role of;
	} keys[] = {
		{ "ring", CLUSTER_PROXY },	 { "ring_group", CLUSTER_PROXY },
		{ "ring_slots", CLUSTER_PROXY }, { "ring_clients", CLUSTER_PROXY },
		{ "timeout", CLUSTER_PROXY },	 { "listings", CLUSTER_APP },
		{ "log", CLUSTER_APP },		 { "fill_timeout", CLUSTER_APP },
		{ "sql", CLUSTER_APP },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].of != role && json_object_get(d->root, keys[i].key))
			return conf_fail_key(
				d, "", keys[i].key, e,
				"%s is a setting of %s, and this host has the role %s in "
				"cluster.json: leave it out",
				keys[i].key,
				role == CLUSTER_APP ? "proxies" : "application servers",
				role == CLUSTER_APP ? "app" : "proxy");
	return 0;
}

static int find_backend(struct cached_conf *c, const struct conf_doc *d, const char *name,
			struct conf_error *e)
{
	char names[64] = "none was built in";
	size_t n = 0;

	c->sql = sql_find(name);
	if (c->sql)
		return 0;
	for (size_t i = 0; sql_backends[i] && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i ? " or " : "write ",
				      sql_backends[i]->name);
	return conf_fail_key(d, "sql", "backend", e, "there is no database backend \"%s\" here: %s",
			     name, names);
}

static int read_sql(struct cached_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	struct sql_keys s = { .timeout_ns = c->sql_timeout_ns };
	const json_t *obj = json_object_get(d->root, "sql");
	int rc;

	if (!obj)
		return conf_fail(d, "", e,
				 "an application server needs its database: add \"sql\": "
				 "{\"backend\": \"pgsql\", \"where\": \"dbname=shop\"}");
	rc = conf_bind(d, "sql", obj, sql_keys, NULL, &s, e);
	if (!rc)
		rc = find_backend(c, d, s.backend, e);
	if (rc)
		return rc;
	if (!strcmp(s.backend, "sqlite") && s.where[0] != '/')
		return conf_fail_key(d, "sql", "where", e,
				     "the file \"%.128s\" is not a whole path: begin it with /",
				     s.where);
	strcpy(c->sql_where, s.where);
	c->sql_timeout_ns = s.timeout_ns;
	return 0;
}

static int read_role(struct cached_conf *c, const struct conf_doc *d, enum cluster_cached_role role,
		     struct conf_error *e)
{
	int rc = refuse_others(d, role, e);

	return rc || role == CLUSTER_PROXY ? rc : read_sql(c, d, e);
}

/* --- the whole ------------------------------------------------------------------------ */

int cached_conf_parse(struct cached_conf *c, const char *name, const char *text, size_t len,
		      enum cluster_cached_role role, struct conf_error *e)
{
	struct conf_doc d;
	int rc = conf_parse(&d, name, text, len, e);

	if (!rc)
		rc = read_own(c, &d, e);
	if (!rc)
		rc = read_role(c, &d, role, e);
	conf_free(&d);
	return rc;
}

int cached_conf_load(struct cached_conf *c, const char *file, const char *host,
		     const char *hostname, struct conf_error *e)
{
	struct conf_doc d;
	uint32_t self = 0;
	int rc = conf_load(&d, file, e);

	if (!rc)
		rc = read_own(c, &d, e);
	if (!rc)
		rc = cluster_cached_load(&c->cluster, c->cluster_file, host, hostname, &self, e);
	if (!rc) {
		c->self = &c->cluster.cached[self];
		rc = read_role(c, &d, (enum cluster_cached_role)c->self->role, e);
	}
	if (!rc)
		rc = cluster_key_load(&c->key, c->cluster.key_file, e);
	conf_free(&d);
	return rc;
}
