// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_cluster: any text through cluster_conf_parse. A refusal names a place in the
 * text; an accepted file names each host, number and service once, has this host in
 * it, and times under which no host acts under a broken lock.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/conf/cluster_change.h"
#include "tests/fuzz/fuzz.h"

/* Any rule about addresses. */
static int check(const struct transport_peer *p)
{
	return strchr(p->address, '!') ? -EINVAL : 0;
}

/* Names and addresses alone are looked at: nothing is opened here. */
static const struct transport_backend tcp = { .name = "tcp", .has_ports = true, .check = check },
				      shm = { .name = "shm", .check = check },
				      verbs = { .name = "verbs", .has_ports = true };
const struct transport_backend *const transport_backends[] = { &verbs, &tcp, &shm, NULL };

static void check_error(const struct conf_error *e, size_t len)
{
	char place[64];

	FUZZ_REQUIRE(memchr(e->text, '\0', sizeof(e->text)));
	FUZZ_REQUIRE(!strchr(e->text, '\n'));
	FUZZ_REQUIRE(e->line >= 1 && (size_t)e->line <= len + 1);
	FUZZ_REQUIRE(e->column >= 1 && (size_t)e->column <= len + 1);
	snprintf(place, sizeof(place), "f:%d:%d: ", e->line, e->column);
	FUZZ_REQUIRE(!strncmp(e->text, place, strlen(place)));
	FUZZ_REQUIRE(strlen(e->text) > strlen(place));
}

static void check_hosts(const struct cluster_conf *c)
{
	FUZZ_REQUIRE(c->hosts >= 1 && c->hosts <= REGION_HOSTS_MAX && c->self < c->hosts);
	FUZZ_REQUIRE(!strcmp(c->host[c->self].name, c->host_name));
	for (uint32_t i = 0; i < c->hosts; i++) {
		const struct cluster_host *h = &c->host[i];

		FUZZ_REQUIRE(h->number >= 1 && h->number <= REGION_HOSTS_MAX);
		FUZZ_REQUIRE(h->name[0] && memchr(h->name, 0, sizeof(h->name)));
		FUZZ_REQUIRE(strcmp(transport_backends[c->transport]->name, "tcp") ||
			     !strchr(h->address, '!'));
		FUZZ_REQUIRE(h->address[0] && memchr(h->address, 0, sizeof(h->address)));
		FUZZ_REQUIRE(h->port <= 65535);
		FUZZ_REQUIRE(cluster_host_at(c, (uint16_t)h->number) == h);
		for (uint32_t k = 0; k < i; k++)
			FUZZ_REQUIRE(strcmp(c->host[k].name, h->name) != 0 &&
				     c->host[k].corosync_node != h->corosync_node);
	}
}

/* Clients are none of the hosts, and share no name or number with them. */
static void check_clients(const struct cluster_conf *c)
{
	FUZZ_REQUIRE(c->clients <= REGION_HOSTS_MAX - c->hosts);
	for (uint32_t i = 0; i < c->clients; i++) {
		const struct cluster_client *h = &c->client[i];
		struct transport_peer p;

		FUZZ_REQUIRE(h->number >= 1 && h->number <= REGION_HOSTS_MAX);
		FUZZ_REQUIRE(h->name[0] && memchr(h->name, 0, sizeof(h->name)));
		FUZZ_REQUIRE(memchr(h->address, 0, sizeof(h->address)));
		FUZZ_REQUIRE(!(h->rights & ~(uint32_t)TRANSPORT_RIGHTS));
		FUZZ_REQUIRE(cluster_client_at(c, (uint16_t)h->number) == h);
		FUZZ_REQUIRE(!cluster_host_at(c, (uint16_t)h->number));
		for (uint32_t k = 0; k < c->hosts; k++)
			FUZZ_REQUIRE(strcmp(c->host[k].name, h->name) != 0);
		for (uint32_t k = 0; k < i; k++)
			FUZZ_REQUIRE(strcmp(c->client[k].name, h->name) != 0);
		cluster_client_peer(c, i, &p);
		FUZZ_REQUIRE(p.role == TRANSPORT_CLIENT && p.rights == h->rights);
	}
}

/* Cached hosts are none of either, and "cache" is within its limits. */
static void check_cached(const struct cluster_conf *c)
{
	FUZZ_REQUIRE(c->caches <= REGION_HOSTS_MAX - c->hosts - c->clients);
	for (uint32_t i = 0; i < c->caches; i++) {
		const struct cluster_cached *h = &c->cached[i];
		struct transport_peer p;

		FUZZ_REQUIRE(h->number >= 1 && h->number <= REGION_HOSTS_MAX);
		FUZZ_REQUIRE(h->name[0] && memchr(h->name, 0, sizeof(h->name)));
		FUZZ_REQUIRE(h->address[0] && memchr(h->address, 0, sizeof(h->address)));
		FUZZ_REQUIRE(h->role <= CLUSTER_PROXY && h->port <= 65535);
		FUZZ_REQUIRE(cluster_cached_at(c, (uint16_t)h->number) == h);
		FUZZ_REQUIRE(!cluster_host_at(c, (uint16_t)h->number) &&
			     !cluster_client_at(c, (uint16_t)h->number));
		FUZZ_REQUIRE(!cluster_host_find(c, h->name));
		for (uint32_t k = 0; k < i; k++)
			FUZZ_REQUIRE(strcmp(c->cached[k].name, h->name) != 0);
		cluster_cached_peer(c, i, &p);
		FUZZ_REQUIRE(p.role == TRANSPORT_MEMBER && p.host == h->number);
		for (uint32_t k = 0; p.port && k < c->hosts; k++)
			FUZZ_REQUIRE(c->host[k].port != p.port ||
				     strcmp(c->host[k].address, p.address) != 0);
	}
	FUZZ_REQUIRE(c->cache.fresh_ns >= 10 * NS_PER_MS && c->cache.fresh_ns <= 60 * NS_PER_S);
	FUZZ_REQUIRE(c->cache.detect_ns >= 100 * NS_PER_MS && c->cache.detect_ns <= 60 * NS_PER_S);
	FUZZ_REQUIRE(c->cache.words >= 1 && c->cache.words <= REGION_CACHE_WORDS_MAX);
	FUZZ_REQUIRE(c->cache.slots >= 1 && c->cache.slots <= REGION_CACHE_SLOTS_MAX);
}

static void check_services(const struct cluster_conf *c)
{
	struct hostset known = { { 0 } };

	for (uint32_t i = 0; i < c->hosts; i++)
		hostset_set(&known, (uint32_t)c->host[i].number, true);
	FUZZ_REQUIRE(c->services <= CLUSTER_SERVICES_MAX);
	for (uint32_t i = 0; i < c->services; i++) {
		const struct cluster_service *s = &c->service[i];

		struct hostset unknown = hostset_without(&s->balancers, &known);

		FUZZ_REQUIRE(s->number < REGION_SERVICES_MAX && hostset_empty(&unknown));
		FUZZ_REQUIRE(cluster_service_find(c, s->name) == s);
		FUZZ_REQUIRE(s->minimum <= s->guarantee && s->guarantee <= s->share &&
			     s->share <= s->maximum);
		FUZZ_REQUIRE(s->priority <= CLUSTER_PRIORITY_MAX && s->low < s->high &&
			     s->high <= CLUSTER_INDEX_MAX);
		for (uint32_t k = 0; k < i; k++)
			FUZZ_REQUIRE(c->service[k].number != s->number);
	}
}

static void check_nodes(const struct cluster_conf *c)
{
	FUZZ_REQUIRE(c->nodes <= CLUSTER_NODES_MAX);
	for (uint32_t i = 0; i < c->nodes; i++) {
		const struct cluster_node *n = &c->node[i];
		const struct cluster_service *s = cluster_service_at(c, n->service);

		FUZZ_REQUIRE(n->kind <= CLUSTER_NODE_SWITCH && n->may);
		FUZZ_REQUIRE(n->capacity >= 1 && n->capacity <= CLUSTER_CAPACITY_MAX);
		FUZZ_REQUIRE(!n->service || (s && n->may >> (s - c->service) & 1));
	}
}

/* No file lets a node be moved while another host may still move it, or below what is owed. */
static void check_reconf(const struct cluster_conf *c)
{
	const struct cluster_reconf *r = &c->reconf;
	uint64_t guarantees = 0;

	FUZZ_REQUIRE(r->mode <= RECONF_ACT && r->margin <= 5000);
	FUZZ_REQUIRE(r->budget >= 1 && r->budget <= 1000 && r->budget_ns >= NS_PER_S);
	FUZZ_REQUIRE(r->rest_ns >= 0 && r->freeze_ns >= 0);
	if (!r->given)
		return;
	for (uint32_t i = 0; i < c->services; i++)
		guarantees += c->service[i].guarantee;
	FUZZ_REQUIRE(c->nodes && guarantees <= c->nodes);
	FUZZ_REQUIRE(r->check_ns >= c->load.scan_ns && r->high_ns >= 2 * r->check_ns);
	FUZZ_REQUIRE(r->high_ns > c->hold_ns + c->timeout_ns);
}

/* Each service is balanced once, by what it needs; servers of one have names of their own. */
/* None undoes what the other does. */
static void check_other(const struct cluster_balance *b, const struct cluster_balance *o)
{
	FUZZ_REQUIRE(b->by == o->by || strcmp(b->backend, o->backend) != 0);
	if (b->by == CLUSTER_BY_AGENT)
		FUZZ_REQUIRE(b->port != o->port);
	else if (b->by == o->by)
		FUZZ_REQUIRE(strcmp(b->backend, o->backend) != 0 ||
			     strcmp(b->socket, o->socket) != 0);
}

static void check_balance(const struct cluster_conf *c)
{
	FUZZ_REQUIRE(c->balances <= CLUSTER_SERVICES_MAX);
	for (uint32_t i = 0; i < c->balances; i++) {
		const struct cluster_balance *b = &c->balance[i];
		const struct cluster_node *n = cluster_node_next(c, b->service, NULL), *o;

		FUZZ_REQUIRE(cluster_service_at(c, b->service) &&
			     cluster_balance_of(c, b->service) == b && n);
		FUZZ_REQUIRE(b->k <= 256 && b->service_ns >= 0 && b->mode <= CLUSTER_ACT);
		FUZZ_REQUIRE(memchr(b->socket, 0, sizeof(b->socket)) && b->backend[0] &&
			     memchr(b->backend, 0, sizeof(b->backend)));
		if (b->by == CLUSTER_BY_AGENT)
			FUZZ_REQUIRE(!b->socket[0] && b->port >= 1 && b->port <= UINT16_MAX &&
				     b->service_ns);
		else
			FUZZ_REQUIRE(b->socket[0] == '/' && !b->port);
		for (uint32_t k = 0; k < i; k++)
			check_other(b, &c->balance[k]);
		for (; n; n = cluster_node_next(c, b->service, n)) {
			FUZZ_REQUIRE(n->server[0] && !strpbrk(n->server, " ;/\"\\"));
			for (o = cluster_node_next(c, b->service, n); o;
			     o = cluster_node_next(c, b->service, o))
				FUZZ_REQUIRE(strcmp(n->server, o->server) != 0);
		}
	}
}

/* Any conf is the same as itself, and other than one in which a thing differs. */
static void check_change(const struct cluster_conf *c)
{
	static struct cluster_conf other;
	static struct cluster_changes ch;
	const struct hostset all = hostset_first(REGION_HOSTS_MAX);
	uint64_t agreement = cluster_agreement(c);
	struct cluster_refusal why = { 0 };

	other = *c;
	FUZZ_REQUIRE(!cluster_change(c, &other, &all, &ch, &why) && !ch.n && !ch.hosts);
	FUZZ_REQUIRE(cluster_agreement(&other) == agreement);
	other.host[other.self].port++;
	FUZZ_REQUIRE(cluster_change(c, &other, &all, &ch, &why) ==
		     (transport_backends[c->transport]->has_ports ? -EPERM : 0));
	FUZZ_REQUIRE(cluster_agreement(&other) == agreement);
	other = *c;
	other.hold_ns++;
	FUZZ_REQUIRE(cluster_change(c, &other, &all, &ch, &why) == -EPERM);
	FUZZ_REQUIRE(cluster_agreement(&other) != agreement);
	other = *c;
	other.cache.words++;
	FUZZ_REQUIRE(cluster_cache_agreement(c) != cluster_cache_agreement(&other));
	other.caches = c->caches ? c->caches - 1 : 0;
	FUZZ_REQUIRE(!cluster_change(c, &other, &all, &ch, &why) && !ch.n && !ch.hosts);
	FUZZ_REQUIRE(cluster_agreement(&other) == agreement);
	other = *c;
	other.reconf.margin++;
	FUZZ_REQUIRE(!cluster_change(c, &other, &all, &ch, &why) && ch.n == 1 && !ch.hosts);
	if (!c->services)
		return;
	other = *c;
	other.service[0].minimum++;
	FUZZ_REQUIRE(!cluster_change(c, &other, &all, &ch, &why) && ch.n == 1 && !ch.hosts);
	FUZZ_REQUIRE(cluster_agreement(&other) == agreement);
	FUZZ_REQUIRE(cluster_services_digest(other.service, other.services) !=
		     cluster_services_digest(c->service, c->services));
	other = *c;
	other.services--;
	FUZZ_REQUIRE(cluster_change(c, &other, &all, &ch, &why) == -EPERM);
	FUZZ_REQUIRE(!cluster_change(&other, c, &all, &ch, &why) && !ch.hosts &&
		     ch.change[0].kind == CLUSTER_SERVICE_ADDED);
	/* And nodes that name it as one that they may serve. */
	for (uint32_t i = 1; i < ch.n; i++)
		FUZZ_REQUIRE(ch.change[i].kind == CLUSTER_NODES_CHANGED);
}

static void check_client(const struct cluster_conf *c, const char *path)
{
	static struct cluster_conf other;
	struct conf_error e;

	FUZZ_REQUIRE(!cluster_client_load(&other, path, c->client[0].name, &e));
	FUZZ_REQUIRE(!strcmp(other.client[other.self].name, c->client[0].name));
	FUZZ_REQUIRE(cluster_agreement(&other) == cluster_agreement(c));
	FUZZ_REQUIRE(cluster_client_load(&other, path, c->host_name, &e) == -EINVAL);
}

static void check_cached_host(const struct cluster_conf *c, const char *path)
{
	static struct cluster_conf other;
	struct conf_error e;
	uint32_t self;

	FUZZ_REQUIRE(!cluster_cached_load(&other, path, c->cached[0].name, "", &self, &e));
	FUZZ_REQUIRE(self == 0 && !other.balances && other.callers >= 1);
	FUZZ_REQUIRE(cluster_cache_agreement(&other) == cluster_cache_agreement(c));
	/* As this host, which is a member. */
	FUZZ_REQUIRE(cluster_cached_load(&other, path, NULL, "xen1", &self, &e) == -EINVAL);
	FUZZ_REQUIRE(cluster_cached_load(&other, path, "", "", &self, &e) == -EINVAL);
}

/* The same file, read by a client of it, and by a cached host. */
static void check_reader(const struct cluster_conf *c, const uint8_t *data, size_t size)
{
	char path[40];
	int fd;

	if (!c->clients && !c->caches)
		return;
	fd = memfd_create("cluster", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (c->clients)
		check_client(c, path);
	if (c->caches)
		check_cached_host(c, path);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cluster_conf c;
	struct conf_error e;
	char *text = malloc(size); /* exactly as long, so that reading on is seen */
	int rc;

	if (size && !text)
		abort();
	if (size)
		memcpy(text, data, size);
	memset(&c, 0x5a, sizeof(c));
	memset(&e, 0x5a, sizeof(e));
	rc = cluster_conf_parse(&c, "f", text, size, "xen1.example", &e);
	free(text);
	if (rc) {
		FUZZ_REQUIRE(rc == -EINVAL || rc == -EFBIG);
		check_error(&e, size);
		return 0;
	}
	check_hosts(&c);
	check_clients(&c);
	check_cached(&c);
	check_services(&c);
	check_nodes(&c);
	check_reconf(&c);
	check_balance(&c);
	check_change(&c);
	check_reader(&c, data, size);
	FUZZ_REQUIRE(c.transport < 3 && c.membership <= CLUSTER_COROSYNC);
	FUZZ_REQUIRE(c.hold_ns > 0 && c.timeout_ns > 0 && c.drift <= 100000);
	FUZZ_REQUIRE(cluster_break_ns(&c) > c.hold_ns + c.timeout_ns);
	FUZZ_REQUIRE(c.heartbeat_ns > 0 && c.scan_ns > 0 && c.callers >= 1);
	return 0;
}
