// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_nodes: "nodes" and "load" of cluster.json: what serves requests, and how its load is
 * sampled. A part of cluster.c; see cluster.h.
 */
#include <stdio.h>
#include <string.h>

#include "src/conf/cluster_parts.h"

#define STALE_NS (500 * NS_PER_MS)

static const char *const source_names[] = { "auto", "ulm", "klm", NULL };
/* As enum cluster_node_kind. */
static const char *const kind_names[] = { "both", "switch", NULL };

#define KEY(...) CONF_KEY(struct cluster_load, __VA_ARGS__)
static const struct conf_key load_keys[] = {
	{ KEY("source", ENUM, source), .names = source_names },
	{ KEY("period", DURATION, period_ns), .min = NS_PER_MS, .max = 10 * NS_PER_S },
	{ KEY("scan", DURATION, scan_ns), .min = 10 * NS_PER_MS, .max = 60 * NS_PER_S },
	{ KEY("stale", DURATION, stale_ns), .min = 10 * NS_PER_MS, .max = 120 * NS_PER_S },
	{ KEY("window", DURATION, window_ns), .min = 10 * NS_PER_MS, .max = 10 * NS_PER_S },
	{ 0 },
};
#undef KEY

static const struct cluster_load load_default = { .period_ns = 10 * NS_PER_MS,
						  .scan_ns = 50 * NS_PER_MS,
						  .window_ns = 200 * NS_PER_MS };

struct conf_table cluster_load_table(void)
{
	return (struct conf_table){ load_keys, &load_default };
}

/* An element of nodes[]. */
struct listed_node {
	struct cluster_node node;
	char host[REGION_NAME];
	char service[REGION_NAME];
};

#define KEY(...) CONF_KEY(struct listed_node, __VA_ARGS__)
static const struct conf_key node_keys[] = {
	{ KEY("name", STRING, node.name), .min = 1, .max = REGION_NAME - 1, .required = 1 },
	{ KEY("number", UINT, node.number), .max = REGION_NODES_MAX - 1, .required = 1 },
	{ KEY("host", STRING, host), .min = 1, .max = REGION_NAME - 1, .required = 1 },
	{ KEY("guest", STRING, node.guest), .min = 1, .max = REGION_NAME - 1 },
	{ KEY("service", STRING, service), .min = 1, .max = REGION_NAME - 1 },
	{ KEY("server", STRING, node.server), .min = 1, .max = REGION_NAME - 1 },
	{ KEY("kind", ENUM, node.kind), .names = kind_names },
	{ KEY("capacity", UINT, node.capacity), .min = 1, .max = CLUSTER_CAPACITY_MAX },
	{ 0 },
};
#undef KEY

static const struct listed_node node_default = { .node = { .capacity = CLUSTER_CAPACITY_DEFAULT } };

struct conf_table cluster_node_table(void)
{
	return (struct conf_table){ node_keys, &node_default };
}

/* o is another node of the same host. */
static int check_beside(const struct conf_doc *d, const char *path, const struct cluster_node *n,
			const struct cluster_node *o, struct conf_error *e)
{
	if (n->number == o->number)
		return conf_fail_key(
			d, path, "number", e,
			"number %llu is node \"%s\" of the same host: give each node of a "
			"host its own number",
			(unsigned long long)n->number, o->name);
	if (strcmp(n->guest, o->guest) != 0)
		return 0;
	if (*n->guest)
		return conf_fail_key(d, path, "guest", e,
				     "node \"%s\" is guest \"%s\" already: list a guest once",
				     o->name, n->guest);
	return conf_fail_key(d, path, "host", e,
			     "node \"%s\" is that host already: list a host once, or name a guest "
			     "of it in \"guest\"",
			     o->name);
}

/* A node has one word and one load at its host, by its number. */
static int check_node(const struct cluster_conf *c, const struct conf_doc *d, const char *path,
		      const struct cluster_node *n, struct conf_error *e)
{
	for (uint32_t i = 0; i < c->nodes; i++) {
		const struct cluster_node *o = &c->node[i];

		if (!strcmp(n->name, o->name))
			return conf_fail_key(d, path, "name", e,
					     "node \"%s\" is listed twice: use each name once",
					     n->name);
		if (n->host == o->host) {
			int rc = check_beside(d, path, n, o, e);

			if (rc)
				return rc;
		}
	}
	return 0;
}

/* A node without a service is in no balance, and no server. */
static int find_service(const struct cluster_conf *c, const struct conf_doc *d, const char *path,
			struct listed_node *l, struct conf_error *e)
{
	const struct cluster_service *s = cluster_service_find(c, l->service);

	if (l->service[0] && !s)
		return conf_fail_key(d, path, "service", e,
				     "unknown service \"%s\": use a name of services[]",
				     l->service);
	if (!s && l->node.server[0])
		return conf_fail_key(d, path, "server", e,
				     "server \"%s\" is of no service: give the node a \"service\", "
				     "too",
				     l->node.server);
	if (!s)
		return 0;
	l->node.service = (uint16_t)s->number;
	if (!l->node.server[0])
		strcpy(l->node.server, l->node.name);
	return 0;
}

static uint64_t bit_of(const struct cluster_conf *c, const struct cluster_service *s)
{
	return 1ull << (s - c->service);
}

/* Else a balancer would count it in a service to which it could never move back. */
static int check_own(const struct cluster_conf *c, const struct conf_doc *d, const char *path,
		     const struct listed_node *l, struct conf_error *e)
{
	const struct cluster_service *own = cluster_service_find(c, l->service);

	if (!own || l->node.may & bit_of(c, own))
		return 0;
	return conf_fail_key(d, path, "only", e,
			     "only is without \"%s\", the service of node \"%s\": add it, or "
			     "give the node another \"service\"",
			     l->service, l->node.name);
}

/* The services that it may serve; without "only" all, those that will be added, too. */
static int read_only(const struct cluster_conf *c, const struct conf_doc *d, const char *path,
		     const json_t *obj, struct listed_node *l, struct conf_error *e)
{
	const json_t *arr = json_object_get(obj, "only");
	char at[96];
	json_t *v;
	size_t i;

	l->node.may = arr ? 0 : UINT64_MAX;
	if (arr && !json_array_size(arr))
		return conf_fail_key(d, path, "only", e,
				     "only names the services that node \"%s\" may serve: give a "
				     "list of names of services[], or leave it out",
				     l->node.name);
	json_array_foreach(arr, i, v) {
		const char *name = json_string_value(v);
		const struct cluster_service *s = name ? cluster_service_find(c, name) : NULL;

		snprintf(at, sizeof(at), "%s.only[%zu]", path, i);
		if (!s)
			return conf_fail(d, at, e,
					 "unknown service \"%.64s\": use a name of services[]",
					 name ? name : "?");
		l->node.may |= bit_of(c, s);
	}
	return check_own(c, d, path, l, e);
}

static int read_node(void *to, const struct conf_doc *d, const char *path, const json_t *obj,
		     struct conf_error *e)
{
	static const char *const also[] = { "only", NULL };
	struct listed_node l = node_default;
	struct cluster_conf *c = to;
	const struct cluster_host *h;
	int rc = conf_bind(d, path, obj, node_keys, also, &l, e);

	if (rc)
		return rc;
	h = cluster_host_find(c, l.host);
	if (!h)
		return conf_fail_key(d, path, "host", e,
				     "unknown host \"%s\": use the name of a member of hosts[]",
				     l.host);
	l.node.host = (uint16_t)h->number;
	rc = check_node(c, d, path, &l.node, e);
	if (!rc)
		rc = find_service(c, d, path, &l, e);
	if (!rc)
		rc = read_only(c, d, path, obj, &l, e);
	if (!rc)
		c->node[c->nodes++] = l.node;
	return rc;
}

const struct conf_list cluster_node_list = {
	.key = "nodes",
	.max = CLUSTER_NODES_MAX,
	.what = "nodes",
	.example = "[{\"name\": \"n1\", \"number\": 1, \"host\": \"xen1\"}]",
	.read = read_node,
};

/*
 * A healthy node's load is unchanged for a period and a scan. Twice that: one may be late.
 * Without a value: that, or more.
 */
static int check_stale(struct cluster_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	int64_t least = 2 * (c->load.period_ns + c->load.scan_ns);

	if (!c->load.stale_ns)
		c->load.stale_ns = least > STALE_NS ? least : STALE_NS;
	if (c->load.stale_ns >= least)
		return 0;
	return conf_fail_key(d, "load", "stale", e,
			     "stale is below twice the sum of period and scan, and a healthy load "
			     "would be stale: write at least \"%lldms\"",
			     (long long)((least + NS_PER_MS - 1) / NS_PER_MS));
}

int cluster_nodes_read(struct cluster_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	const json_t *load = json_object_get(d->root, "load");
	int rc = 0;

	c->load = load_default;
	if (load)
		rc = conf_bind(d, "load", load, load_keys, NULL, &c->load, e);
	if (!rc)
		rc = check_stale(c, d, e);
	if (!rc)
		rc = conf_read_list(d, "", d->root, &cluster_node_list, c, e);
	return rc;
}

const struct cluster_node *cluster_own_node(const struct cluster_conf *c)
{
	for (uint32_t i = 0; i < c->nodes; i++)
		if (c->node[i].host == c->host[c->self].number && !*c->node[i].guest)
			return &c->node[i];
	return NULL;
}

const struct cluster_node *cluster_next_own(const struct cluster_conf *c,
					    const struct cluster_node *n)
{
	for (n = n ? n + 1 : c->node; n < c->node + c->nodes; n++)
		if (n->host == c->host[c->self].number)
			return n;
	return NULL;
}

const struct cluster_node *cluster_node_find(const struct cluster_conf *c, const char *name)
{
	for (uint32_t i = 0; i < c->nodes; i++)
		if (!strcmp(c->node[i].name, name))
			return &c->node[i];
	return NULL;
}

const struct cluster_node *cluster_node_next(const struct cluster_conf *c, uint32_t service,
					     const struct cluster_node *after)
{
	for (uint32_t i = after ? (uint32_t)(after - c->node) + 1 : 0; i < c->nodes; i++)
		if (c->node[i].service == service)
			return &c->node[i];
	return NULL;
}

const struct cluster_node *cluster_server_next(const struct cluster_conf *c, uint32_t service,
					       const struct cluster_node *after)
{
	const struct cluster_service *s = cluster_service_at(c, service);

	if (!c->reconf.given || !s)
		return cluster_node_next(c, service, after);
	for (uint32_t i = after ? (uint32_t)(after - c->node) + 1 : 0; i < c->nodes; i++)
		if (c->node[i].server[0] && c->node[i].may >> (s - c->service) & 1)
			return &c->node[i];
	return NULL;
}

int64_t cluster_scan_ns(const struct cluster_conf *c)
{
	return c->nodes && c->load.scan_ns < c->scan_ns ? c->load.scan_ns : c->scan_ns;
}

const char *cluster_kind_name(enum cluster_node_kind kind)
{
	return kind_names[kind];
}
