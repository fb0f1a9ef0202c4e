// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_balance: "balance" of cluster.json: which services this host balances, and by what. A
 * part of cluster.c; see cluster.h.
 */
#include <string.h>

#include "src/conf/cluster_parts.h"
#include "src/reconf/act.h"

/* As enum cluster_balance_by. */
static const char *const by_names[] = { "weights", "agent", NULL };
/* equal is for resex balance-set alone. */
static const char *const mode_names[] = { "observe", "act", NULL };

/* An element of balance[]. */
struct listed_balance {
	struct cluster_balance b;
	char service[REGION_NAME];
};

#define KEY(...) CONF_KEY(struct listed_balance, __VA_ARGS__)
static const struct conf_key balance_keys[] = {
	{ KEY("service", STRING, service), .min = 1, .max = REGION_NAME - 1, .required = 1 },
	{ KEY("backend", STRING, b.backend), .min = 1, .max = REGION_NAME - 1 },
	{ KEY("by", ENUM, b.by), .names = by_names },
	{ KEY("mode", ENUM, b.mode), .names = mode_names },
	{ KEY("socket", PATH, b.socket), .min = 1, .max = CLUSTER_SOCKET_MAX - 1 },
	{ KEY("port", UINT, b.port), .min = 1, .max = UINT16_MAX },
	{ 0 },
};

/* Only if it is not "auto". */
static const struct conf_key service_time_keys[] = {
	{ KEY("service_time", DURATION, b.service_ns), .min = NS_PER_US, .max = 10 * NS_PER_S },
	{ 0 },
};
#undef KEY

static bool is_auto(const json_t *obj, const char *key)
{
	const json_t *v = json_object_get(obj, key);
	const char *s = json_string_value(v);

	return !v || (s && !strcmp(s, "auto"));
}

static int read_k(const struct conf_doc *d, const char *path, const json_t *obj,
		  struct cluster_balance *b, struct conf_error *e)
{
	const json_t *v = json_object_get(obj, "k");
	json_int_t k = json_integer_value(v);

	if (is_auto(obj, "k"))
		return 0;
	if (!json_is_integer(v) || k < 1 || k > CLUSTER_SERVERS_MAX)
		return conf_fail_key(d, path, "k", e,
				     "k is how many of the least loaded nodes get requests: write "
				     "1 to %d, or \"auto\"",
				     CLUSTER_SERVERS_MAX);
	b->k = (uint64_t)k;
	return 0;
}

static int read_service_time(const struct conf_doc *d, const char *path, const json_t *obj,
			     struct listed_balance *l, struct conf_error *e)
{
	static const char *const also[] = { "service", "backend", "by", "mode",
					    "socket",  "port",	  "k",	NULL };

	return is_auto(obj, "service_time")
		       ? 0
		       : conf_bind(d, path, obj, service_time_keys, also, l, e);
}

static int check_weights(const struct conf_doc *d, const char *path,
			 const struct cluster_balance *b, struct conf_error *e)
{
	if (b->port)
		return conf_fail_key(d, path, "port", e,
				     "port is for \"by\": \"agent\": leave it out, or write that");
	if (!b->socket[0])
		return conf_fail(
			d, path, e,
			"socket is missing: write \"socket\": \"/run/haproxy/admin.sock\", "
			"that of \"stats socket\" in haproxy.cfg");
	return 0;
}

/* An agent learns nothing of requests, so it cannot measure what they cost. */
static int check_agent(const struct conf_doc *d, const char *path, const struct cluster_balance *b,
		       struct conf_error *e)
{
	if (b->socket[0])
		return conf_fail_key(
			d, path, "socket", e,
			"socket is for \"by\": \"weights\": leave it out, or write that");
	if (!b->port)
		return conf_fail(d, path, e,
				 "port is missing: write \"port\": 9700, and that as agent-port in "
				 "haproxy.cfg");
	if (!b->service_ns)
		return conf_fail(d, path, e,
				 "by agent the service time cannot be measured: write "
				 "\"service_time\": \"5ms\", or what a request costs of a CPU");
	return 0;
}

static int check_act(const struct conf_doc *d, const char *path, const struct cluster_balance *b,
		     struct conf_error *e)
{
	if (!haproxy_name_good(b->backend))
		return conf_fail_key(d, path, "backend", e,
				     "\"%s\" cannot be a backend of HAProxy: use letters, digits "
				     "and - _ . :",
				     b->backend);
	return b->by == CLUSTER_BY_AGENT ? check_agent(d, path, b, e)
					 : check_weights(d, path, b, e);
}

/* Two that set the weights of one backend would undo each other. */
static int check_other(const struct conf_doc *d, const char *path, const struct cluster_balance *b,
		       const struct cluster_balance *o, const char *service, struct conf_error *e)
{
	if (b->service == o->service)
		return conf_fail_key(d, path, "service", e,
				     "service \"%s\" is listed twice: balance each service once",
				     service);
	if (b->by != o->by && !strcmp(b->backend, o->backend))
		return conf_fail(d, path, e,
				 "backend \"%s\" is balanced in another way by an element before, "
				 "and an agent's answer overrides a weight: use one way for both",
				 b->backend);
	if (b->port && b->port == o->port)
		return conf_fail_key(d, path, "port", e,
				     "port %llu is that of an element before: give each its own",
				     (unsigned long long)b->port);
	if (!b->port && !strcmp(b->backend, o->backend) && !strcmp(b->socket, o->socket))
		return conf_fail(d, path, e,
				 "backend \"%s\" is balanced already, by the element before: give "
				 "each backend of a HAProxy once",
				 b->backend);
	return 0;
}

/* Servers of one backend: each has a name that HAProxy takes, of its own. */
static int check_servers(const struct cluster_conf *c, const struct conf_doc *d, const char *path,
			 const struct cluster_balance *b, const char *service, struct conf_error *e)
{
	const struct cluster_node *first = cluster_node_next(c, b->service, NULL), *n, *o;
	uint32_t many = 0;

	if (!first)
		return conf_fail_key(d, path, "service", e,
				     "service \"%s\" has no nodes: write \"service\": \"%s\" at "
				     "those in nodes[]",
				     service, service);
	for (n = cluster_server_next(c, b->service, NULL); n;
	     n = cluster_server_next(c, b->service, n)) {
		if (++many > CLUSTER_SERVERS_MAX)
			return conf_fail_key(d, path, "service", e,
					     "service \"%s\" has more than %d nodes: balance no "
					     "more, and give the others no \"service\"",
					     service, CLUSTER_SERVERS_MAX);
		if (n->kind == CLUSTER_NODE_SWITCH && b->by == CLUSTER_BY_AGENT)
			return conf_fail_key(d, path, "by", e,
					     "its node \"%s\" is of kind \"switch\", and with by "
					     "\"agent\" nobody knows when the requests at it have "
					     "ended: write by \"weights\"",
					     n->name);
		if (!haproxy_name_good(n->server))
			return conf_fail_key(d, path, "service", e,
					     "its node \"%s\" is server \"%s\", which HAProxy does "
					     "not take: give the node a \"server\" of letters, "
					     "digits and - _ . :",
					     n->name, n->server);
		for (o = cluster_server_next(c, b->service, NULL); o != n;
		     o = cluster_server_next(c, b->service, o))
			if (!strcmp(n->server, o->server))
				return conf_fail_key(d, path, "service", e,
						     "its nodes \"%s\" and \"%s\" are both server "
						     "\"%s\": give each its own \"server\"",
						     o->name, n->name, n->server);
	}
	return 0;
}

static int read_balance(void *to, const struct conf_doc *d, const char *path, const json_t *obj,
			struct conf_error *e)
{
	static const char *const also[] = { "k", "service_time", NULL };
	struct listed_balance l = { .b = { .k = 0 } };
	const struct cluster_service *s;
	struct cluster_conf *c = to;
	int rc = conf_bind(d, path, obj, balance_keys, also, &l, e);

	if (!rc)
		rc = read_k(d, path, obj, &l.b, e);
	if (!rc)
		rc = read_service_time(d, path, obj, &l, e);
	if (rc)
		return rc;
	s = cluster_service_find(c, l.service);
	if (!s)
		return conf_fail_key(d, path, "service", e,
				     "unknown service \"%s\": use a name of services[]", l.service);
	l.b.service = (uint32_t)s->number;
	if (!l.b.backend[0])
		strcpy(l.b.backend, s->name);
	rc = check_act(d, path, &l.b, e);
	for (uint32_t i = 0; !rc && i < c->balances; i++)
		rc = check_other(d, path, &l.b, &c->balance[i], s->name, e);
	if (!rc)
		rc = check_servers(c, d, path, &l.b, s->name, e);
	if (!rc)
		c->balance[c->balances++] = l.b;
	return rc;
}

static const struct conf_list balance_list = {
	.key = "balance",
	.max = CLUSTER_SERVICES_MAX,
	.what = "services",
	.example = "[{\"service\": \"web\", \"socket\": \"/run/haproxy/admin.sock\"}]",
	.read = read_balance,
};

/* All are checked, also those of other hosts: the file may be the same on all. */
int cluster_balance_read(struct cluster_conf *c, const struct conf_doc *d, bool client,
			 struct conf_error *e)
{
	int rc = conf_read_list(d, "", d->root, &balance_list, c, e);
	uint32_t n = 0;

	for (uint32_t i = 0; !rc && i < c->balances; i++)
		if (!client && cluster_is_balancer(c, cluster_service_at(c, c->balance[i].service)))
			c->balance[n++] = c->balance[i];
	if (!rc)
		c->balances = n;
	return rc;
}

const struct cluster_balance *cluster_balance_of(const struct cluster_conf *c, uint32_t service)
{
	for (uint32_t i = 0; i < c->balances; i++)
		if (c->balance[i].service == service)
			return &c->balance[i];
	return NULL;
}
