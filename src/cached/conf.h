/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf: the settings of resex-cached: cached.json (man resex-cached(8)), and what cluster.json says
 * of cached hosts. Read at the start, and checked by resex-cached --check. Errors name file, line,
 * column, the value and the remedy (src/util/conf.h).
 */
#ifndef RESEX_CACHED_CONF_H
#define RESEX_CACHED_CONF_H

#include "resex/cache_ring.h"
#include "src/conf/cluster.h"
#include "src/sql/sql.h"

enum {
	CACHED_PATH_MAX = 107, /* of a UNIX socket */
	CACHED_GROUP_MAX = 64,
	CACHED_LISTINGS_MAX = 1 << 24,
	CACHED_LOG_MAX = 1 << 20, /* as HOME_LOG_MAX */
};

struct cached_conf {
	char cluster_file[CONFIG_PATH_MAX + 1];
	char state_dir[CONFIG_PATH_MAX + 1];
	char socket[CACHED_PATH_MAX + 1];
	char socket_group[CACHED_GROUP_MAX + 1]; /* "": this user and root alone */
	/* Of a proxy. */
	char ring[CACHED_PATH_MAX + 1];
	char ring_group[CACHED_GROUP_MAX + 1];
	uint64_t ring_slots;   /* 64 .. CACHE_RING_SLOTS_MAX, a multiple of 64 */
	uint64_t ring_clients; /* 1 .. 64 */
	int64_t timeout_ns;    /* of a READ */
	/* Of an application server. */
	uint64_t listings, log;
	int64_t fill_timeout_ns;
	const struct sql_ops *sql;
	char sql_where[SQL_WHERE_MAX];
	int64_t sql_timeout_ns;

	struct cluster_conf cluster;	   /* cluster.self: unused */
	const struct cluster_cached *self; /* of cluster.cached[] */
	struct cluster_key key;
};

/*
 * host: the name in cluster.json; NULL: its "host", or hostname up to its first dot. 0, or -errno
 * with e filled. Wipe c->key after use (explicit_bzero).
 */
int cached_conf_load(struct cached_conf *c, const char *file, const char *host,
		     const char *hostname, struct conf_error *e);

/*
 * The file's text alone, of a host with this role: c->cluster, c->self and c->key are left. 0, or
 * -errno of conf_parse with e filled.
 */
int cached_conf_parse(struct cached_conf *c, const char *name, const char *text, size_t len,
		      enum cluster_cached_role role, struct conf_error *e);

/* All that holds where the file says nothing. */
void cached_conf_defaults(struct cached_conf *c);
/* The tables of its keys, for their schema. c: all defaults, which the table refers to. */
struct conf_table cached_conf_table(const struct cached_conf *c);
struct conf_table cached_conf_sql_table(void);
/* The JSON Schema of cached.json (src/util/conf_schema.h). NULL: no memory. */
json_t *cached_schema(void);

/* state_dir/floors: of the newest life. Zeros: there is no such file. 0, or -errno with e. */
struct cached_floors {
	uint32_t generation, fence;
};
int cached_floors_load(struct cached_floors *f, const char *state_dir, struct conf_error *e);
/* On disk when it returns. 0, or -errno with e filled. */
int cached_floors_save(const struct cached_floors *f, const char *state_dir, struct conf_error *e);

#endif
