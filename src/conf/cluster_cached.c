// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_cached: the cached hosts of cluster.json, and "cache". A part of cluster.c; see
 * cluster.h. resex-cached goes by them; resexd only checks them.
 */
#include <string.h>

#include "src/conf/cluster_parts.h"

#define KEY(...) CONF_KEY(struct cluster_cache, __VA_ARGS__)
static const struct conf_key cache_keys[] = {
	{ KEY("fresh", DURATION, fresh_ns), .min = 10 * NS_PER_MS, .max = 60 * NS_PER_S },
	{ KEY("detect", DURATION, detect_ns), .min = 100 * NS_PER_MS, .max = 60 * NS_PER_S },
	{ KEY("words", UINT, words), .min = 1, .max = REGION_CACHE_WORDS_MAX },
	{ KEY("slots", UINT, slots), .min = 1, .max = REGION_CACHE_SLOTS_MAX },
	{ 0 },
};
#undef KEY

struct conf_table cluster_cache_table(const struct cluster_conf *c)
{
	return (struct conf_table){ cache_keys, &c->cache };
}

int cluster_cached_add(struct cluster_conf *c, const struct conf_doc *d, const char *path,
		       const json_t *obj, const struct cluster_cached *h, struct conf_error *e)
{
	static const char *const of_others[] = { "rights", "corosync_node", NULL };

	if (!h->address[0])
		return conf_fail(d, path, e, "host \"%s\" has no \"address\": give one", h->name);
	for (int i = 0; of_others[i]; i++)
		if (json_object_get(obj, of_others[i]))
			return conf_fail_key(d, path, of_others[i], e,
					     "a host with the role app or proxy runs resex-cached, "
					     "and has no \"%s\": leave it out",
					     of_others[i]);
	c->cached[c->caches++] = *h;
	return 0;
}

int cluster_cache_read(struct cluster_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	const json_t *obj = json_object_get(d->root, "cache");

	return obj ? conf_bind(d, "cache", obj, cache_keys, NULL, &c->cache, e) : 0;
}

const struct cluster_cached *cluster_cached_named(const struct cluster_conf *c, const char *name)
{
	for (uint32_t i = 0; i < c->caches; i++)
		if (!strcmp(c->cached[i].name, name))
			return &c->cached[i];
	return NULL;
}

const struct cluster_cached *cluster_cached_at(const struct cluster_conf *c, uint16_t number)
{
	for (uint32_t i = 0; i < c->caches; i++)
		if (c->cached[i].number == number)
			return &c->cached[i];
	return NULL;
}

void cluster_cached_peer(const struct cluster_conf *c, uint32_t i, struct transport_peer *p)
{
	const struct cluster_cached *h = &c->cached[i];

	memset(p, 0, sizeof(*p));
	p->host = (uint16_t)h->number;
	p->role = TRANSPORT_MEMBER;
	p->port = transport_backends[c->transport]->has_ports ? (uint16_t)h->port : 0;
	strcpy(p->name, h->name);
	strcpy(p->address, h->address);
}
