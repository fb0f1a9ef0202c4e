/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cluster_parts: what the files that read cluster.json share. For callers: cluster.h. */
#ifndef RESEX_CONF_CLUSTER_PARTS_H
#define RESEX_CONF_CLUSTER_PARTS_H

#include "src/conf/cluster.h"

/* A number of nodes that the file does not give. */
#define NOT_GIVEN UINT64_MAX

/* Tables and lists, for their schemas. c: all defaults, which the table refers to. */
enum cluster_table { CLUSTER_TOP, CLUSTER_HOST, CLUSTER_SERVICE };
struct conf_table cluster_table(enum cluster_table t, const struct cluster_conf *c);
struct conf_table cluster_cache_table(const struct cluster_conf *c);
struct conf_table cluster_load_table(void);
struct conf_table cluster_node_table(void);
struct conf_table cluster_balance_table(void);
struct conf_table cluster_service_time_table(void);
struct conf_table cluster_reconf_table(void);
extern const struct conf_list cluster_host_list, cluster_service_list, cluster_node_list,
	cluster_balance_list;

/* All defaults but those that other files set: "load" and "reconf". */
void cluster_defaults(struct cluster_conf *c);
/* "nodes" and "load"; after hosts and services. */
int cluster_nodes_read(struct cluster_conf *c, const struct conf_doc *d, struct conf_error *e);
/* "reconf", and the shares of services that give none; after the nodes. */
int cluster_reconf_read(struct cluster_conf *c, const struct conf_doc *d, struct conf_error *e);
/* Has c nodes for the minimums and guarantees of all its services, with these values? */
int cluster_sums_check(const struct cluster_conf *c, const struct cluster_service *all,
		       const struct conf_doc *d, struct conf_error *e);
/* "balance"; after the nodes. A client or a cached host checks it, and balances nothing. */
int cluster_balance_read(struct cluster_conf *c, const struct conf_doc *d, bool client,
			 struct conf_error *e);
/* An element of "hosts" that is a cached host: obj, whose name and number are unique. */
int cluster_cached_add(struct cluster_conf *c, const struct conf_doc *d, const char *path,
		       const json_t *obj, const struct cluster_cached *h, struct conf_error *e);
/* The cached host of this name, or NULL. */
const struct cluster_cached *cluster_cached_named(const struct cluster_conf *c, const char *name);
/* "cache". */
int cluster_cache_read(struct cluster_conf *c, const struct conf_doc *d, struct conf_error *e);

#endif
