// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster: cluster.json -> struct cluster_conf. Keys are bound by tables; what no table can
 * say (unique names, known hosts, addresses) is checked after. See cluster.h.
 *
 * src/cluster/cluster.c opens the region and the transport with the result. resex cluster-reload
 * reads the file again, and at SIGHUP src/engine/reload.c only compares it (cluster_change.c).
 */
#include "src/conf/cluster_parts.h"

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
	{ KEY("key_file", PATH, key_file), .min = 1, .max = CONFIG_PATH_MAX },
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

/* An element of hosts[]: a member, a client, or a cached host. */
struct listed {
	struct cluster_host host;
	uint32_t role;	 /* index of role_names[] */
	uint32_t rights; /* index of rights_names[] */
};

static const struct listed listed_default = { .host = { .port = 7471 } };

static const char *const role_names[] = { "member", "client", "app", "proxy", NULL };
enum { ROLE_CLIENT = 1, ROLE_APP, ROLE_PROXY };
static const char *const rights_names[] = { "read", "atomics", NULL };
/* By the same index. */
static const uint32_t rights_of[] = { 0, TRANSPORT_ATOMICS };

#define KEY(...) CONF_KEY(struct listed, __VA_ARGS__)
static const struct conf_key host_keys[] = {
	{ KEY("name", STRING, host.name), .min = 1, .max = REGION_NAME - 1, .required = 1 },
	{ KEY("number", UINT, host.number), .min = 1, .max = REGION_HOSTS_MAX, .required = 1 },
	{ KEY("role", ENUM, role), .names = role_names },
	{ KEY("rights", ENUM, rights), .names = rights_names },
	{ KEY("address", STRING, host.address), .min = 1, .max = TRANSPORT_ADDRESS_MAX - 1 },
	{ KEY("port", UINT, host.port), .min = 1, .max = 65535 },
	{ KEY("corosync_node", UINT, host.corosync_node), .min = 1, .max = UINT32_MAX },
	{ 0 },
};
#undef KEY

#define KEY(...) CONF_KEY(struct cluster_service, __VA_ARGS__)
static const struct conf_key service_keys[] = {
	{ KEY("name", STRING, name), .min = 1, .max = REGION_NAME - 1, .required = 1 },
	{ KEY("number", UINT, number), .min = 1, .max = REGION_SERVICES_MAX - 1, .required = 1 },
	{ KEY("minimum", UINT, minimum), .max = REGION_NODES_MAX * REGION_HOSTS_MAX },
	/* From here on also of cluster_service_change(). */
	{ KEY("guarantee", UINT, guarantee), .max = CLUSTER_NODES_MAX },
	{ KEY("share", UINT, share), .max = CLUSTER_NODES_MAX },
	{ KEY("maximum", UINT, maximum), .min = 1, .max = CLUSTER_NODES_MAX },
	{ KEY("priority", UINT, priority), .max = CLUSTER_PRIORITY_MAX },
	{ KEY("high", UINT, high), .min = 1, .max = CLUSTER_INDEX_MAX },
	{ KEY("low", UINT, low), .max = CLUSTER_INDEX_MAX },
	{ 0 },
};
#undef KEY
enum { SERVICE_KEYS_CHANGED = 3 }; /* the first of them */

static const struct cluster_service service_default = { .minimum = 1,
							.guarantee = NOT_GIVEN,
							.share = NOT_GIVEN,
							.maximum = NOT_GIVEN,
							.high = CLUSTER_HIGH_DEFAULT,
							.low = CLUSTER_LOW_DEFAULT };

struct conf_table cluster_table(enum cluster_table t, const struct cluster_conf *c)
{
	switch (t) {
	case CLUSTER_HOST:
		return (struct conf_table){ host_keys, &listed_default };
	case CLUSTER_SERVICE:
		return (struct conf_table){ service_keys, &service_default };
	default:
		return (struct conf_table){ top_keys, c };
	}
}

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

/* All of them have one range of numbers: a number says which host calls. */
static int check_listed(const struct cluster_conf *c, const struct conf_doc *d, const char *path,
			const struct cluster_host *h, struct conf_error *e)
{
	const struct named n = { "host", h->name, h->number };
	int rc = 0;

	for (uint32_t k = 0; !rc && k < c->hosts; k++)
		rc = check_unique(d, path, &n,
				  &(struct named){ "host", c->host[k].name, c->host[k].number }, e);
	for (uint32_t k = 0; !rc && k < c->clients; k++)
		rc = check_unique(d, path, &n,
				  &(struct named){ "host", c->client[k].name, c->client[k].number },
				  e);
	for (uint32_t k = 0; !rc && k < c->caches; k++)
		rc = check_unique(d, path, &n,
				  &(struct named){ "host", c->cached[k].name, c->cached[k].number },
				  e);
	return rc;
}

static int check_corosync_node(const struct cluster_conf *c, const struct conf_doc *d,
			       const char *path, const struct cluster_host *h, struct conf_error *e)
{
	for (uint32_t k = 0; k < c->hosts; k++) {
		const struct cluster_host *o = &c->host[k];

		if (o->corosync_node == h->corosync_node)
			return conf_fail(
				d, path, e,
				"corosync's node %llu is \"%s\": give each host its own nodeid",
				(unsigned long long)h->corosync_node, o->name);
	}
	return 0;
}

/* The hosts that are called: host[], then cached[]. */
static void called_peer(const struct cluster_conf *c, uint32_t i, struct transport_peer *p)
{
	if (i < c->hosts)
		cluster_peer(c, i, p);
	else
		cluster_cached_peer(c, i - c->hosts, p);
}

/*
 * address:port must be unique, with a transport that has ports: else a host would reach another
 * one than the one it calls.
 */
static int check_port_unique(const struct cluster_conf *c, const struct conf_doc *d, const char *at,
			     uint32_t i, struct conf_error *e)
{
	struct transport_peer p, other;

	called_peer(c, i, &p);
	for (uint32_t k = 0; p.port && k < i; k++) {
		called_peer(c, k, &other);
		if (!strcmp(p.address, other.address) && p.port == other.port)
			return conf_fail(
				d, at, e,
				"\"%s\" port %u is already used by \"%s\": give each host its own",
				p.address, p.port, other.name);
	}
	return 0;
}

/* The index in hosts[] of the host of this name. */
static uint32_t place_of(const struct conf_doc *d, const char *name)
{
	json_t *v;
	size_t i;

	json_array_foreach(json_object_get(d->root, "hosts"), i, v)
		if (!strcmp(json_string_value(json_object_get(v, "name")), name))
			break;
	return (uint32_t)i;
}

/* Without opening anything, so that --check can do it too. */
static int check_addresses(const struct cluster_conf *c, const struct conf_doc *d,
			   struct conf_error *e)
{
	/* b->check is NULL where any address will do. */
	const struct transport_backend *b = transport_backends[c->transport];
	struct transport_peer p;
	char at[64];

	for (uint32_t i = 0; b->check && i < c->hosts + c->caches; i++) {
		called_peer(c, i, &p);
		snprintf(at, sizeof(at), "hosts[%u].address", place_of(d, p.name));
		if (check_port_unique(c, d, at, i, e))
			return -EINVAL;
		/* Else it would depend on the folder in which each resexd was started. */
		if (!b->has_ports && p.address[0] != '/')
			return conf_fail(d, at, e,
					 "the folder \"%s\" of host \"%s\" is not a whole path: "
					 "begin it with /",
					 p.address, p.name);
		if (!b->check(&p))
			continue;
		return conf_fail(d, at, e,
				 "host \"%s\" cannot be called at \"%s\": give an IP address; for "
				 "shm, a folder",
				 p.name, p.address);
	}
	for (uint32_t i = 0; b->check && i < c->clients; i++) {
		cluster_client_peer(c, i, &p);
		strcpy(p.address, c->client[i].address);
		p.port = 1; /* any: a client has none */
		snprintf(at, sizeof(at), "hosts[%u].address", place_of(d, p.name));
		if (p.address[0] && b->check(&p))
			return conf_fail(
				d, at, e,
				"client \"%s\" cannot call from \"%s\": give an IP address "
				"of it, or none",
				p.name, p.address);
	}
	return 0;
}

static int read_member(struct cluster_conf *c, const struct conf_doc *d, const char *path,
		       const json_t *obj, struct cluster_host *h, struct conf_error *e)
{
	int rc;

	if (!h->address[0])
		return conf_fail(d, path, e, "host \"%s\" has no \"address\": give one", h->name);
	if (json_object_get(obj, "rights"))
		return conf_fail_key(d, path, "rights", e,
				     "a member has all rights: leave \"rights\" out, or write "
				     "\"role\": \"client\"");
	/*
	 * Not a default of the key: the two numbers may differ, but in most clusters they are
	 * equal.
	 */
	if (!h->corosync_node)
		h->corosync_node = h->number;
	rc = check_corosync_node(c, d, path, h, e);
	if (!rc)
		c->host[c->hosts++] = *h;
	return rc;
}

static int read_client(struct cluster_conf *c, const struct conf_doc *d, const char *path,
		       const json_t *obj, const struct listed *l, struct conf_error *e)
{
	static const char *const of_members[] = { "port", "corosync_node", NULL };
	struct cluster_client *h = &c->client[c->clients];

	for (int i = 0; of_members[i]; i++)
		if (json_object_get(obj, of_members[i]))
			return conf_fail_key(d, path, of_members[i], e,
					     "a client serves nothing and is no member: leave "
					     "\"%s\" out",
					     of_members[i]);
	memset(h, 0, sizeof(*h));
	strcpy(h->name, l->host.name);
	strcpy(h->address, l->host.address);
	h->number = l->host.number;
	h->rights = rights_of[l->rights];
	c->clients++;
	return 0;
}

static int read_cached(struct cluster_conf *c, const struct conf_doc *d, const char *path,
		       const json_t *obj, const struct listed *l, struct conf_error *e)
{
	struct cluster_cached h = { .number = l->host.number,
				    .port = l->host.port,
				    .role = l->role == ROLE_APP ? CLUSTER_APP : CLUSTER_PROXY };

	strcpy(h.name, l->host.name);
	strcpy(h.address, l->host.address);
	return cluster_cached_add(c, d, path, obj, &h, e);
}

static int read_host(void *to, const struct conf_doc *d, const char *path, const json_t *obj,
		     struct conf_error *e)
{
	struct listed l = listed_default;
	struct cluster_conf *c = to;
	int rc = conf_bind(d, path, obj, host_keys, NULL, &l, e);

	if (!rc)
		rc = check_listed(c, d, path, &l.host, e);
	if (rc)
		return rc;
	switch (l.role) {
	case ROLE_CLIENT:
		return read_client(c, d, path, obj, &l, e);
	case ROLE_APP:
	case ROLE_PROXY:
		return read_cached(c, d, path, obj, &l, e);
	default:
		return read_member(c, d, path, obj, &l.host, e);
	}
}

const struct conf_list cluster_host_list = {
	.key = "hosts",
	.min = 1,
	.max = REGION_HOSTS_MAX,
	.what = "hosts",
	.example = "[{\"name\": \"xen1\", \"number\": 1, \"address\": \"10.0.0.1\"}]",
	.read = read_host,
};

/* Its index; c->clients: there is none. */
static uint32_t client_named(const struct cluster_conf *c, const char *name)
{
	uint32_t i = 0;

	while (i < c->clients && strcmp(c->client[i].name, name) != 0)
		i++;
	return i;
}

static int find_client(struct cluster_conf *c, const struct conf_doc *d, const char *name,
		       struct conf_error *e)
{
	c->self = client_named(c, name);
	if (c->self < c->clients)
		return 0;
	return conf_fail(d, "hosts", e,
			 "no client is called \"%.64s\": add { \"name\": \"%.64s\", \"number\": N, "
			 "\"role\": \"client\" } to hosts[] here and on the members",
			 name, name);
}

/*
 * Without "host": hostname up to the first dot. Hosts are called xen1 here, whether or not
 * hostname(1) adds a domain. All of the file is the same on every host then, and can be copied.
 * Was it given?
 */
static bool name_host(struct cluster_conf *c, const char *hostname)
{
	if (c->host_name[0])
		return true;
	snprintf(c->host_name, sizeof(c->host_name), "%.*s", (int)strcspn(hostname, "."), hostname);
	return false;
}

static int find_self(struct cluster_conf *c, const struct conf_doc *d, const char *hostname,
		     struct conf_error *e)
{
	bool given = name_host(c, hostname);

	for (uint32_t i = 0; i < c->hosts; i++)
		if (!strcmp(c->host[i].name, c->host_name)) {
			c->self = i;
			return 0;
		}
	if (client_named(c, c->host_name) < c->clients)
		return conf_fail(d, given ? "host" : "hosts", e,
				 "\"%s\" is a client, which serves nothing: run resexd on members "
				 "alone",
				 c->host_name);
	if (cluster_cached_named(c, c->host_name))
		return conf_fail(d, given ? "host" : "hosts", e,
				 "\"%s\" has the role app or proxy, and runs resex-cached: run "
				 "resexd on members alone",
				 c->host_name);
	if (given)
		return conf_fail(d, "host", e, "unknown host \"%s\": use a name of hosts[]",
				 c->host_name);
	return conf_fail(d, "hosts", e,
			 "this host is called \"%s\", which is not in hosts[]: add it, or give "
			 "its name there with \"host\"",
			 c->host_name);
}

/* name: as the program was told, or NULL. */
static int find_cached(struct cluster_conf *c, const struct conf_doc *d, const char *name,
		       const char *hostname, uint32_t *self, struct conf_error *e)
{
	bool given = name || name_host(c, hostname);
	const char *at = !name && given ? "host" : "hosts";
	const char *wanted = name ? name : c->host_name;
	const struct cluster_cached *h = cluster_cached_named(c, wanted);

	if (h) {
		strcpy(c->host_name, h->name);
		*self = (uint32_t)(h - c->cached);
		return 0;
	}
	if (cluster_host_find(c, wanted) || client_named(c, wanted) < c->clients)
		return conf_fail(d, at, e,
				 "\"%s\" is a member or a client: run resex-cached on hosts with "
				 "the role app or proxy alone",
				 wanted);
	return conf_fail(d, at, e,
			 "\"%.64s\" is no cached host: add { \"name\": \"%.64s\", \"number\": N, "
			 "\"role\": \"app\" or \"proxy\", \"address\": ... } to hosts[]%s",
			 wanted, wanted,
			 given ? "" : ", or give this host's name there with \"host\"");
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
			if (name && client_named(c, name) < c->clients)
				return conf_fail(d, at, e,
						 "\"%.64s\" is a client, and balances nothing: use "
						 "the name of a member",
						 name);
			if (name && cluster_cached_named(c, name))
				return conf_fail(d, at, e,
						 "\"%.64s\" runs resex-cached, and balances "
						 "nothing: use the name of a member",
						 name);
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

/* Those that are not given take the others' values as limits. */
static int check_order(const struct conf_doc *d, const char *path, const struct cluster_service *s,
		       struct conf_error *e)
{
	const struct {
		const char *key;
		uint64_t nodes;
	} order[] = {
		{ "minimum", s->minimum },
		{ "guarantee", s->guarantee },
		{ "share", s->share },
		{ "maximum", s->maximum },
	};
	size_t last = 0;

	for (size_t i = 1; i < sizeof(order) / sizeof(order[0]); i++) {
		if (order[i].nodes == NOT_GIVEN)
			continue;
		if (order[i].nodes < order[last].nodes)
			return conf_fail_key(d, path, order[i].key, e,
					     "%s %llu of \"%s\" is below its %s, %llu: write "
					     "minimum <= guarantee <= share <= maximum",
					     order[i].key, (unsigned long long)order[i].nodes,
					     s->name, order[last].key,
					     (unsigned long long)order[last].nodes);
		last = i;
	}
	return 0;
}

static int check_loads(const struct conf_doc *d, const char *path, const json_t *obj,
		       const struct cluster_service *s, struct conf_error *e)
{
	if (s->low < s->high)
		return 0;
	return conf_fail_key(
		d, path, json_object_get(obj, "low") ? "low" : "high", e,
		"low %llu of \"%s\" is not below its high, %llu: write a lower low, or "
		"a higher high",
		(unsigned long long)s->low, s->name, (unsigned long long)s->high);
}

/* share stays NOT_GIVEN until the nodes are known: cluster_reconf_read(). */
static int read_moves(const struct conf_doc *d, const char *path, const json_t *obj,
		      struct cluster_service *s, struct conf_error *e)
{
	int rc = check_order(d, path, s, e);

	if (!rc)
		rc = check_loads(d, path, obj, s, e);
	if (rc)
		return rc;
	if (s->guarantee == NOT_GIVEN)
		s->guarantee = s->minimum;
	if (s->maximum == NOT_GIVEN)
		s->maximum = cluster_maximum_default(s);
	s->more = cluster_service_more(s);
	return 0;
}

static int read_service(void *to, const struct conf_doc *d, const char *path, const json_t *obj,
			struct conf_error *e)
{
	static const char *const also[] = { "balancers", NULL };
	struct cluster_service s = service_default;
	const json_t *balancers = json_object_get(obj, "balancers");
	struct cluster_conf *c = to;
	int rc = conf_bind(d, path, obj, service_keys, also, &s, e);

	if (!rc)
		rc = check_service(c, d, path, &s, e);
	if (!rc && balancers)
		rc = read_balancers(c, d, path, balancers, &s, e);
	if (!rc)
		rc = read_moves(d, path, obj, &s, e);
	if (!rc)
		c->service[c->services++] = s;
	return rc;
}

/* The keys that all hosts must hold alike. */
static int refuse_common(const struct conf_doc *d, struct conf_error *e)
{
	static const char *const keys[] = { "name", "number", "minimum", "balancers" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_object_get(d->root, keys[i]))
			return conf_fail_key(d, "", keys[i], e,
					     "%s: other hosts count on it: write it into "
					     "cluster.json of all hosts, and run resex "
					     "cluster-reload",
					     keys[i]);
	return 0;
}

int cluster_service_change(const struct conf_doc *d, const struct cluster_conf *c,
			   struct cluster_service *all, uint32_t i, struct conf_error *e)
{
	const struct cluster_service old = all[i];
	struct cluster_service s = old;
	int rc = refuse_common(d, e);

	if (!rc)
		rc = conf_bind(d, "", d->root, service_keys + SERVICE_KEYS_CHANGED, NULL, &s, e);
	if (!rc)
		rc = check_order(d, "", &s, e);
	if (!rc)
		rc = check_loads(d, "", d->root, &s, e);
	if (rc)
		return rc;
	all[i] = s;
	rc = cluster_sums_check(c, all, d, e);
	if (rc)
		all[i] = old;
	return rc;
}

const struct conf_list cluster_service_list = {
	.key = "services",
	.max = CLUSTER_SERVICES_MAX,
	.what = "services",
	.example = "[{\"name\": \"shop\", \"number\": 1}]",
	.read = read_service,
};

/* --- the whole ------------------------------------------------------------- */

void cluster_defaults(struct cluster_conf *c)
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
	c->cache = (struct cluster_cache){
		.fresh_ns = NS_PER_S, .detect_ns = 2 * NS_PER_S, .words = 65536, .slots = 8
	};
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
	if (!name)
		return conf_fail(d, "transport", e,
				 "not a string: write verbs (if built with it), tcp or shm");
	return conf_fail(d, v ? "transport" : "", e,
			 "no transport \"%.64s\" here: write verbs (if built with it), tcp or shm",
			 name);
}

/*
 * Which program reads the file: resexd by its host's name or by "host"; a client by its name;
 * resex-cached by a name that it was given, or as resexd.
 */
struct reader {
	const char *hostname;
	const char *client; /* NULL: no client */
	const char *cached;
	uint32_t *cached_self; /* NULL: not resex-cached */
};

static uint64_t at_least(uint32_t n, uint32_t least)
{
	return n > least ? n : least;
}

/* After a power cut all hosts and clients call at once. */
uint64_t cluster_callers_default(const struct cluster_conf *c)
{
	return at_least(c->hosts + c->clients, CALLERS_MIN);
}

uint64_t cluster_callers_second_default(const struct cluster_conf *c)
{
	return at_least(c->hosts + c->clients, CALLERS_SECOND_MIN);
}

static void set_callers(struct cluster_conf *c, bool cached)
{
	uint32_t all = c->caches + c->clients; /* that call a cached host */

	if (!c->callers)
		c->callers = cached ? at_least(all, CALLERS_MIN) : cluster_callers_default(c);
	if (!c->callers_second)
		c->callers_second = cached ? at_least(all, CALLERS_SECOND_MIN)
					   : cluster_callers_second_default(c);
}

/* The list of hosts has one that the reader is, or that it calls; and which one is the reader? */
static int find_reader(struct cluster_conf *c, const struct conf_doc *d, const struct reader *is,
		       struct conf_error *e)
{
	if (is->cached_self)
		return find_cached(c, d, is->cached, is->hostname, is->cached_self, e);
	if (!c->hosts && !(is->client && c->caches))
		return conf_fail(d, "hosts", e,
				 c->caches ? "there are only clients and cached hosts: give the "
					     "members, too"
					   : "there are only clients: give the members, too");
	return is->client ? find_client(c, d, is->client, e) : find_self(c, d, is->hostname, e);
}

/* Read d, unless it could not be opened (rc), and free it. */
static int read_and_free(struct cluster_conf *c, struct conf_doc *d, int rc, struct reader is,
			 struct conf_error *e)
{
	static const char *const also[] = { "hosts",   "services", "transport", "nodes", "load",
					    "balance", "reconf",   "cache",	NULL };
	bool serves = !is.client && !is.cached_self;

	if (rc)
		return rc;
	/* Services name hosts, and addresses depend on the transport: hence the order. */
	cluster_defaults(c);
	rc = conf_bind(d, "", d->root, top_keys, also, c, e);
	if (!rc)
		rc = read_transport(c, d, e);
	if (!rc)
		rc = conf_read_list(d, "", d->root, &cluster_host_list, c, e);
	if (!rc)
		rc = find_reader(c, d, &is, e);
	if (!rc) {
		set_callers(c, is.cached_self != NULL);
		rc = cluster_cache_read(c, d, e);
	}
	if (!rc)
		rc = conf_read_list(d, "", d->root, &cluster_service_list, c, e);
	if (!rc)
		rc = cluster_nodes_read(c, d, e);
	if (!rc)
		rc = cluster_reconf_read(c, d, e);
	if (!rc)
		rc = cluster_balance_read(c, d, !serves, e);
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

	return read_and_free(c, &d, rc, (struct reader){ .hostname = hostname }, e);
}

int cluster_conf_load(struct cluster_conf *c, const char *file, const char *hostname,
		      struct conf_error *e)
{
	struct conf_doc d;
	int rc = conf_load(&d, file, e);

	return read_and_free(c, &d, rc, (struct reader){ .hostname = hostname }, e);
}

int cluster_client_load(struct cluster_conf *c, const char *file, const char *name,
			struct conf_error *e)
{
	struct conf_doc d;
	int rc = conf_load(&d, file, e);

	return read_and_free(c, &d, rc, (struct reader){ .hostname = "", .client = name }, e);
}

int cluster_cached_load(struct cluster_conf *c, const char *file, const char *name,
			const char *hostname, uint32_t *self, struct conf_error *e)
{
	struct conf_doc d;
	int rc = conf_load(&d, file, e);

	return read_and_free(
		c, &d, rc,
		(struct reader){ .hostname = hostname, .cached = name, .cached_self = self }, e);
}

int64_t cluster_break_ns(const struct cluster_conf *c)
{
	return lease_break_ns(c->hold_ns, c->timeout_ns, (uint32_t)c->drift);
}
