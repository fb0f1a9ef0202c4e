// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster: cluster.json -> struct cluster_conf. Keys are bound by tables; what no table can
 * say (unique names, known hosts, addresses) is checked after. See cluster.h.
 *
 * src/cluster/cluster.c opens the region and the transport with the result. The file is read
 * at the start only: hosts agree on it when a link is opened (cluster_agree.c), and a host
 * that changed its mind later would act by rules that the others do not know. At SIGHUP
 * src/engine/reload.c only compares it.
 */
#include "src/conf/cluster.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/shared/lease.h"

static const char *const membership_names[] = { "static", "corosync", NULL };

enum { CALLERS_MIN = 8, CALLERS_SECOND_MIN = 64 }; /* the defaults, with few hosts */

#define KEY(...) CONF_KEY(struct cluster_conf, __VA_ARGS__)
static const struct conf_key top_keys[] = {
	{ KEY("cluster", STRING, cluster), .min = 1, .max = TRANSPORT_NAME_MAX - 1, .required = 1 },
	{ KEY("host", STRING, host_name), .min = 1, .max = REGION_NAME - 1 },
	{ KEY("key_file", STRING, key_file), .min = 1, .max = CONFIG_PATH_MAX },
	{ KEY("membership", ENUM, membership), .names = membership_names },
	{ KEY("heartbeat", DURATION, heartbeat_ns), .min = 5 * NS_PER_MS, .max = 10 * NS_PER_S },
	{ KEY("scan", DURATION, scan_ns), .min = 10 * NS_PER_MS, .max = 60 * NS_PER_S },
	{ KEY("timeout", DURATION, timeout_ns), .min = 10 * NS_PER_MS, .max = 60 * NS_PER_S },
	{ KEY("hold", DURATION, hold_ns), .min = 10 * NS_PER_MS, .max = 60 * NS_PER_S },
	{ KEY("drift", UINT, drift), .max = 100000 },
	{ KEY("callers", UINT, callers), .min = 1, .max = REGION_HOSTS_MAX },
	{ KEY("callers_second", UINT, callers_second), .min = 1, .max = 10000 },
	{ 0 },
};
#undef KEY

#define KEY(...) CONF_KEY(struct cluster_host, __VA_ARGS__)
static const struct conf_key host_keys[] = {
	{ KEY("name", STRING, name), .min = 1, .max = REGION_NAME - 1, .required = 1 },
	{ KEY("number", UINT, number), .min = 1, .max = REGION_HOSTS_MAX, .required = 1 },
	{ KEY("address", STRING, address), .min = 1, .max = TRANSPORT_ADDRESS_MAX - 1,
	  .required = 1 },
	{ KEY("port", UINT, port), .min = 1, .max = 65535 },
	{ KEY("corosync_node", UINT, corosync_node), .min = 1, .max = UINT32_MAX },
	{ 0 },
};
#undef KEY

#define KEY(...) CONF_KEY(struct cluster_service, __VA_ARGS__)
static const struct conf_key service_keys[] = {
	{ KEY("name", STRING, name), .min = 1, .max = REGION_NAME - 1, .required = 1 },
	{ KEY("number", UINT, number), .min = 1, .max = REGION_SERVICES_MAX - 1, .required = 1 },
	{ KEY("minimum", UINT, minimum), .max = REGION_NODES_MAX * REGION_HOSTS_MAX },
	{ 0 },
};
#undef KEY

/* --- hosts ----------------------------------------------------------------- */

/* A host or a service: names and numbers must be unique among either. */
struct named {
	const char *kind, *name;
	uint64_t number;
};

/*
 * Both identify: operators type the name, and the number is the owner in a lock's word. Two hosts
 * with one number would both believe that they hold the lock.
 */
static int check_unique(const struct conf_doc *d, const char *path, const struct named *n,
			const struct named *other, struct conf_error *e)
{
	if (!strcmp(n->name, other->name))
		return conf_fail_key(d, path, "name", e,
				     "%s \"%s\" is listed twice: use each name once", n->kind,
				     n->name);
	if (n->number == other->number)
		return conf_fail_key(d, path, "number", e,
				     "number %u is already used by \"%s\": give each %s its own",
				     (unsigned)n->number, other->name, n->kind);
	return 0;
}

static int check_host(const struct cluster_conf *c, const struct conf_doc *d, const char *path,
		      const struct cluster_host *h, struct conf_error *e)
{
	const struct named n = { "host", h->name, h->number };

	for (uint32_t k = 0; k < c->hosts; k++) {
		const struct cluster_host *o = &c->host[k];
		const struct named other = { "host", o->name, o->number };

		if (check_unique(d, path, &n, &other, e))
			return -EINVAL;
		if (o->corosync_node == h->corosync_node)
			return conf_fail(
				d, path, e,
				"corosync's node %llu is \"%s\": give each host its own nodeid",
				(unsigned long long)h->corosync_node, o->name);
	}
	return 0;
}

/*
 * address:port must be unique, with a transport that has ports: else a host would reach another
 * one than the one it calls.
 */
static int check_port_unique(const struct cluster_conf *c, const struct conf_doc *d, const char *at,
			     uint32_t i, struct conf_error *e)
{
	struct transport_peer p, other;

	cluster_peer(c, i, &p);
	for (uint32_t k = 0; p.port && k < i; k++) {
		cluster_peer(c, k, &other);
		if (!strcmp(p.address, other.address) && p.port == other.port)
			return conf_fail(
				d, at, e,
				"\"%s\" port %u is already used by \"%s\": give each host its own",
				p.address, p.port, other.name);
	}
	return 0;
}

/* Without opening anything, so that --check can do it too. */
static int check_addresses(const struct cluster_conf *c, const struct conf_doc *d,
			   struct conf_error *e)
{
	/* b->check is NULL where any address will do. */
	const struct transport_backend *b = transport_backends[c->transport];
	struct transport_peer p;
	char at[64];

	for (uint32_t i = 0; b->check && i < c->hosts; i++) {
		cluster_peer(c, i, &p);
		snprintf(at, sizeof(at), "hosts[%u].address", i);
		if (check_port_unique(c, d, at, i, e))
			return -EINVAL;
		if (!b->check(&p))
			continue;
		return conf_fail(d, at, e,
				 "host \"%s\" cannot be called at \"%s\": give an IP address; for "
				 "shm, a folder",
				 p.name, p.address);
	}
	return 0;
}

static int read_host(void *to, const struct conf_doc *d, const char *path, const json_t *obj,
		     struct conf_error *e)
{
	struct cluster_host h = { .port = 7471 };
	struct cluster_conf *c = to;
	int rc = conf_bind(d, path, obj, host_keys, NULL, &h, e);

	if (rc)
		return rc;
	/*
	 * Not a default of the key: the two numbers may differ, but in most clusters they are
	 * equal.
	 */
	if (!h.corosync_node)
		h.corosync_node = h.number;
	rc = check_host(c, d, path, &h, e);
	if (!rc)
		c->host[c->hosts++] = h;
	return rc;
}

static const struct conf_list host_list = {
	.key = "hosts",
	.min = 1,
	.max = REGION_HOSTS_MAX,
	.what = "hosts",
	.example = "[{\"name\": \"xen1\", \"number\": 1, \"address\": \"10.0.0.1\"}]",
	.read = read_host,
};

static int find_self(struct cluster_conf *c, const struct conf_doc *d, const char *hostname,
		     struct conf_error *e)
{
	/*
	 * Up to the first dot: hosts are called xen1 here, whether or not hostname(1) adds a
	 * domain. All of the file is the same on every host then, and can be copied.
	 */
	bool given = c->host_name[0];

	if (!given)
		snprintf(c->host_name, sizeof(c->host_name), "%.*s", (int)strcspn(hostname, "."),
			 hostname);
	for (uint32_t i = 0; i < c->hosts; i++)
		if (!strcmp(c->host[i].name, c->host_name)) {
			c->self = i;
			return 0;
		}
	if (given)
		return conf_fail(d, "host", e, "unknown host \"%s\": use a name of hosts[]",
				 c->host_name);
	return conf_fail(d, "hosts", e,
			 "this host is called \"%s\", which is not in hosts[]: add it, or give "
			 "its name there with \"host\"",
			 c->host_name);
}

/* --- services -------------------------------------------------------------- */

static int read_balancers(const struct cluster_conf *c, const struct conf_doc *d, const char *path,
			  const json_t *arr, struct cluster_service *s, struct conf_error *e)
{
	char at[96];
	json_t *v;
	size_t i;

	snprintf(at, sizeof(at), "%s.balancers", path);
	if (!json_is_array(arr))
		return conf_fail(d, at, e, "balancers: give a list of names of hosts");
	json_array_foreach(arr, i, v) {
		const char *name = json_string_value(v);
		uint32_t k = 0;

		while (name && k < c->hosts && strcmp(c->host[k].name, name) != 0)
			k++;
		if (!name || k == c->hosts) {
			snprintf(at, sizeof(at), "%s.balancers[%zu]", path, i);
			return conf_fail(d, at, e, "unknown host \"%.64s\": use a name of hosts[]",
					 name ? name : "?");
		}
		hostset_set(&s->balancers, (uint32_t)c->host[k].number, true);
	}
	return 0;
}

static int check_service(const struct cluster_conf *c, const struct conf_doc *d, const char *path,
			 const struct cluster_service *s, struct conf_error *e)
{
	const struct named n = { "service", s->name, s->number };

	for (uint32_t k = 0; k < c->services; k++) {
		const struct named other = { "service", c->service[k].name, c->service[k].number };

		if (check_unique(d, path, &n, &other, e))
			return -EINVAL;
	}
	return 0;
}

static int read_service(void *to, const struct conf_doc *d, const char *path, const json_t *obj,
			struct conf_error *e)
{
	static const char *const also[] = { "balancers", NULL };
	struct cluster_service s = { .minimum = 1 };
	const json_t *balancers = json_object_get(obj, "balancers");
	struct cluster_conf *c = to;
	int rc = conf_bind(d, path, obj, service_keys, also, &s, e);

	if (!rc)
		rc = check_service(c, d, path, &s, e);
	if (!rc && balancers)
		rc = read_balancers(c, d, path, balancers, &s, e);
	if (!rc)
		c->service[c->services++] = s;
	return rc;
}

static const struct conf_list service_list = {
	.key = "services",
	.max = CLUSTER_SERVICES_MAX,
	.what = "services",
	.example = "[{\"name\": \"shop\", \"number\": 1}]",
	.read = read_service,
};

/* --- the whole ------------------------------------------------------------- */

static void set_defaults(struct cluster_conf *c)
{
	/*
	 * Also in cluster.json(5). hold and timeout, which hosts must share, decide how long the
	 * others wait for a lock of a host that died (lease_break_ns).
	 */
	memset(c, 0, sizeof(*c));
	strcpy(c->key_file, RESEX_CONFDIR "/cluster.key");
	c->heartbeat_ns = 100 * NS_PER_MS;
	c->scan_ns = 500 * NS_PER_MS;
	c->timeout_ns = NS_PER_S;
	c->hold_ns = 2 * NS_PER_S;
	c->drift = 1000;
	c->callers = 0; /* not given: see read_and_free */
	c->callers_second = 0;
}

static int read_transport(struct cluster_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	/* Not an ENUM of a table: the names are those of the transports that were compiled in. */
	const json_t *v = json_object_get(d->root, "transport");
	const char *name = v ? json_string_value(v) : "verbs";

	for (uint32_t i = 0; name && transport_backends[i]; i++)
		if (!strcmp(transport_backends[i]->name, name)) {
			c->transport = i;
			return 0;
		}
	return conf_fail(d, v ? "transport" : "", e,
			 "no transport \"%.64s\" here: write verbs (if built with it), tcp or shm",
			 name ? name : "?");
}

/* Read d, unless it could not be opened (rc), and free it. */
static int read_and_free(struct cluster_conf *c, struct conf_doc *d, int rc, const char *hostname,
			 struct conf_error *e)
{
	static const char *const also[] = { "hosts", "services", "transport", NULL };

	if (rc)
		return rc;
	/* Services name hosts, and addresses depend on the transport: hence the order. */
	set_defaults(c);
	rc = conf_bind(d, "", d->root, top_keys, also, c, e);
	if (!rc)
		rc = read_transport(c, d, e);
	if (!rc)
		rc = conf_read_list(d, "", d->root, &host_list, c, e);
	/* After a power cut all hosts call at once. */
	if (!rc && !c->callers)
		c->callers = c->hosts > CALLERS_MIN ? c->hosts : CALLERS_MIN;
	if (!rc && !c->callers_second)
		c->callers_second = c->hosts > CALLERS_SECOND_MIN ? c->hosts : CALLERS_SECOND_MIN;
	if (!rc)
		rc = find_self(c, d, hostname, e);
	if (!rc)
		rc = conf_read_list(d, "", d->root, &service_list, c, e);
	if (!rc)
		rc = check_addresses(c, d, e);
	conf_free(d);
	return rc;
}

int cluster_conf_parse(struct cluster_conf *c, const char *name, const char *text, size_t len,
		       const char *hostname, struct conf_error *e)
{
	struct conf_doc d;
	int rc = conf_parse(&d, name, text, len, e);

	return read_and_free(c, &d, rc, hostname, e);
}

int cluster_conf_load(struct cluster_conf *c, const char *file, const char *hostname,
		      struct conf_error *e)
{
	struct conf_doc d;
	int rc = conf_load(&d, file, e);

	return read_and_free(c, &d, rc, hostname, e);
}

/* Without the number: the caller has found b by it. */
static bool same_host(const struct cluster_host *a, const struct cluster_host *b)
{
	return a && b && !strcmp(a->name, b->name) && !strcmp(a->address, b->address) &&
	       a->port == b->port && a->corosync_node == b->corosync_node;
}

/* The keys that may differ between hosts. All others are in the agreement. */
static bool same_local(const struct cluster_conf *a, const struct cluster_conf *b)
{
	return !strcmp(a->cluster, b->cluster) && !strcmp(a->host_name, b->host_name) &&
	       !strcmp(a->key_file, b->key_file) && a->transport == b->transport &&
	       a->heartbeat_ns == b->heartbeat_ns && a->scan_ns == b->scan_ns &&
	       a->callers == b->callers && a->callers_second == b->callers_second;
}

bool cluster_conf_same(const struct cluster_conf *a, const struct cluster_conf *b)
{
	bool same = a->hosts == b->hosts && same_local(a, b) &&
		    cluster_agreement(a) == cluster_agreement(b);

	/* Names and addresses are not in the agreement, so they are compared here. */
	for (uint32_t i = 0; same && i < a->hosts; i++)
		same = same_host(&a->host[i], cluster_host_at(b, (uint16_t)a->host[i].number));
	return same;
}

int64_t cluster_break_ns(const struct cluster_conf *c)
{
	return lease_break_ns(c->hold_ns, c->timeout_ns, (uint32_t)c->drift);
}
