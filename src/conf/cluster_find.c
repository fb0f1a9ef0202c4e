// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_find: hosts and services of a cluster.json that was read, for src/cluster and
 * src/control. Lists have at most 256 entries, so a walk is fast enough. See cluster.h.
 */
#include <string.h>

#include "src/conf/cluster.h"

const struct cluster_service *cluster_service_find(const struct cluster_conf *c, const char *name)
{
	for (uint32_t i = 0; i < c->services; i++)
		if (!strcmp(c->service[i].name, name))
			return &c->service[i];
	return NULL;
}

const struct cluster_service *cluster_service_at(const struct cluster_conf *c, uint32_t number)
{
	for (uint32_t i = 0; i < c->services; i++)
		if (c->service[i].number == number)
			return &c->service[i];
	return NULL;
}

/* All nodes. A minimum of more than there can be was always accepted. */
uint64_t cluster_maximum_default(const struct cluster_service *s)
{
	return s->guarantee > CLUSTER_NODES_MAX ? s->guarantee : CLUSTER_NODES_MAX;
}

const struct cluster_host *cluster_host_find(const struct cluster_conf *c, const char *name)
{
	for (uint32_t i = 0; i < c->hosts; i++)
		if (!strcmp(c->host[i].name, name))
			return &c->host[i];
	return NULL;
}

const struct cluster_host *cluster_host_at(const struct cluster_conf *c, uint16_t number)
{
	for (uint32_t i = 0; i < c->hosts; i++)
		if (c->host[i].number == number)
			return &c->host[i];
	return NULL;
}

uint16_t cluster_lowest_host(const struct cluster_conf *c)
{
	uint16_t lowest = (uint16_t)c->host[0].number;

	for (uint32_t i = 1; i < c->hosts; i++)
		if (c->host[i].number < lowest)
			lowest = (uint16_t)c->host[i].number;
	return lowest;
}

const struct cluster_client *cluster_client_at(const struct cluster_conf *c, uint16_t number)
{
	for (uint32_t i = 0; i < c->clients; i++)
		if (c->client[i].number == number)
			return &c->client[i];
	return NULL;
}

void cluster_client_peer(const struct cluster_conf *c, uint32_t i, struct transport_peer *p)
{
	const struct cluster_client *h = &c->client[i];

	memset(p, 0, sizeof(*p));
	p->host = (uint16_t)h->number;
	p->role = TRANSPORT_CLIENT;
	p->rights = h->rights;
	strcpy(p->name, h->name);
}

void cluster_peer(const struct cluster_conf *c, uint32_t i, struct transport_peer *p)
{
	const struct cluster_host *h = &c->host[i];

	memset(p, 0, sizeof(*p));
	p->host = (uint16_t)h->number;
	p->port = transport_backends[c->transport]->has_ports ? (uint16_t)h->port : 0;
	strcpy(p->name, h->name);
	strcpy(p->address, h->address);
}

void cluster_node_may(const struct cluster_conf *c, const struct cluster_node *n,
		      uint64_t may[static REGION_SERVICES_MAX / 64])
{
	memset(may, n->may == UINT64_MAX ? 0xff : 0, REGION_SERVICES_MAX / 8);
	for (uint32_t i = 0; i < c->services; i++)
		if (n->may >> i & 1)
			may[c->service[i].number / 64] |= 1ull << (c->service[i].number % 64);
}

bool cluster_balances(const struct cluster_service *s, uint32_t host)
{
	return hostset_empty(&s->balancers) || hostset_has(&s->balancers, host);
}

bool cluster_is_balancer(const struct cluster_conf *c, const struct cluster_service *s)
{
	return cluster_balances(s, (uint32_t)c->host[c->self].number);
}

uint32_t cluster_reconf_checks(const struct cluster_reconf *r)
{
	return (uint32_t)((r->high_ns + r->check_ns - 1) / r->check_ns);
}
