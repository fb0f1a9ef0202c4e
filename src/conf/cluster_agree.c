// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_agree: what of cluster.json hosts must agree on, as numbers to compare, in parts.
 *
 *	part		what is in it			while hosts run
 *	--------------	------------------------------	-----------------------------------------
 *	rules		membership, hold, timeout,	never changes
 *			drift; with static membership
 *			the lowest number of a host
 *	hosts		numbers; corosync's nodes	hosts are added; see cluster_change.h
 *	each service	number, name, minimum,		a service is added, or has other values
 *			balancers; and guarantee,	of these but number and name
 *			share, maximum, priority,
 *			high, low
 *	cache		drift, "cache"; of the cached	never changes
 *			hosts: number, role
 *	nodes		of all hosts: host, number,	of a host's own number, name and guest
 *			name, guest, service, server,	never change
 *			kind, capacity, only; and
 *			whether there is "reconf"
 *
 * Locks are safe only among hosts that agree on the home of each lock, on how long a lease lasts,
 * and on the services. The transport refuses a host with other rules (hello.h). The digests of the
 * other parts are in each host's region, and src/cluster/agree.c compares them: a host decides
 * nothing that a difference touches. Keys that hosts may set for themselves are in no part: names
 * of hosts, addresses, key file, how often a host reads others, how many callers it accepts. The
 * part "cache" is of the transport between cached hosts, and no other part is: the two kinds of
 * hosts have no agreement with each other.
 *
 * Each number is the first 8 bytes of a SHA-256, little endian; 1 in place of 0, which says "not
 * given". What is digested, all little endian:
 *	hosts		label 16; of each host, by number: number 8, corosync's node 8 (0 with
 *			static membership, which does not ask for it)
 *	a service	label 16, number 8, minimum 8, balancers 32, length of its name 8, its name;
 *			if its more is not 0: another label, the same, more 8
 *	more		label 16, guarantee 8, share 8 (2^64 - 1: not given), maximum 8, priority 8,
 *			high 8, low 8; 0 if they are the defaults: then the service has the digest
 *			that a release without these keys gives it
 *	services	label 16; of each service, by number: its digest 8
 *	nodes		label 16; of each node, by host and number: host 8, number 8, length of its
 *			name 8, its name, length of its guest 8, its guest, number of its service 8
 *			(0: none), length of its server 8, its server, kind 8, capacity 8,
 *			cluster_node_may() 32; with "reconf" another label; 0 if there are no nodes
 *	cache		label 16, drift 8, fresh 8, detect 8, words 8, slots 8; of each cached
 *			host, by number: number 8, role 8
 *	agreement	label 16, membership 8, hold 8, timeout 8, drift 8, lowest number of a host
 *			8 (0 with corosync)
 */
#include <string.h>

#include <nettle/sha2.h>

#include "src/conf/cluster.h"
#include "src/util/bytes.h"

enum { LABEL_LEN = 16 };

/*
 * If what is digested changes, the number in its label must change too: else two releases that
 * digest different keys could agree by chance.
 */
static void begin(struct sha256_ctx *ctx, const char label[static LABEL_LEN + 1])
{
	sha256_init(ctx);
	sha256_update(ctx, LABEL_LEN, (const uint8_t *)label);
}

static void add_word(struct sha256_ctx *ctx, uint64_t v)
{
	uint8_t bytes[8];

	bytes_put_le(bytes, v, sizeof(bytes));
	sha256_update(ctx, sizeof(bytes), bytes);
}

static void add_text(struct sha256_ctx *ctx, const char *s)
{
	size_t len = strlen(s);

	add_word(ctx, len);
	sha256_update(ctx, len, (const uint8_t *)s);
}

static uint64_t end(struct sha256_ctx *ctx)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	uint64_t v;

	sha256_digest(ctx, sizeof(digest), digest);
	v = bytes_get_le(digest, sizeof(v));
	return v ? v : 1;
}

/* In the order of their numbers, whatever the order of the file. */
uint64_t cluster_hosts_digest(const struct cluster_conf *c)
{
	struct sha256_ctx ctx;

	begin(&ctx, "resex: hosts 1  ");
	for (uint32_t n = 1; n <= REGION_HOSTS_MAX; n++) {
		const struct cluster_host *h = cluster_host_at(c, (uint16_t)n);

		if (!h)
			continue;
		add_word(&ctx, h->number);
		add_word(&ctx, c->membership == CLUSTER_COROSYNC ? h->corosync_node : 0);
	}
	return end(&ctx);
}

uint64_t cluster_service_digest(const struct cluster_service *s)
{
	struct sha256_ctx ctx;

	begin(&ctx, s->more ? "resex: service 2" : "resex: service 1");
	add_word(&ctx, s->number);
	add_word(&ctx, s->minimum);
	for (uint32_t k = 0; k < HOSTSET_WORDS; k++)
		add_word(&ctx, s->balancers.word[k]);
	add_text(&ctx, s->name);
	if (s->more)
		add_word(&ctx, s->more);
	return end(&ctx);
}

/*
 * share must be as in the file: UINT64_MAX if the file does not give it. Otherwise a service would
 * change whenever a node is added: the default share is its number of nodes.
 */
uint64_t cluster_service_more(const struct cluster_service *s)
{
	struct sha256_ctx ctx;

	if (s->guarantee == s->minimum && s->share == UINT64_MAX &&
	    s->maximum == cluster_maximum_default(s) && !s->priority &&
	    s->high == CLUSTER_HIGH_DEFAULT && s->low == CLUSTER_LOW_DEFAULT)
		return 0;
	begin(&ctx, "resex: more 1   ");
	add_word(&ctx, s->guarantee);
	add_word(&ctx, s->share);
	add_word(&ctx, s->maximum);
	add_word(&ctx, s->priority);
	add_word(&ctx, s->high);
	add_word(&ctx, s->low);
	return end(&ctx);
}

uint64_t cluster_services_digest(const struct cluster_service *s, uint32_t n)
{
	struct sha256_ctx ctx;

	begin(&ctx, "resex: servs 1  ");
	for (uint32_t number = 1; number < REGION_SERVICES_MAX; number++)
		for (uint32_t i = 0; i < n; i++)
			if (s[i].number == number)
				add_word(&ctx, cluster_service_digest(&s[i]));
	return end(&ctx);
}

static void add_nodes_of(struct sha256_ctx *ctx, const struct cluster_conf *c, uint32_t host)
{
	const struct cluster_node *at[REGION_NODES_MAX] = { NULL };
	uint64_t may[REGION_SERVICES_MAX / 64];

	for (uint32_t i = 0; i < c->nodes; i++)
		if (c->node[i].host == host)
			at[c->node[i].number] = &c->node[i];
	for (uint32_t n = 0; n < REGION_NODES_MAX; n++) {
		if (!at[n])
			continue;
		add_word(ctx, host);
		add_word(ctx, n);
		add_text(ctx, at[n]->name);
		add_text(ctx, at[n]->guest);
		add_word(ctx, at[n]->service);
		add_text(ctx, at[n]->server);
		add_word(ctx, at[n]->kind);
		add_word(ctx, at[n]->capacity);
		cluster_node_may(c, at[n], may);
		for (size_t i = 0; i < sizeof(may) / sizeof(may[0]); i++)
			add_word(ctx, may[i]);
	}
}

uint64_t cluster_nodes_digest(const struct cluster_conf *c)
{
	struct sha256_ctx ctx;

	if (!c->nodes)
		return 0;
	/* Whether nodes move: otherwise each is in its configured service. */
	begin(&ctx, c->reconf.given ? "resex: nodes 3  " : "resex: nodes 2  ");
	for (uint32_t h = 1; h <= REGION_HOSTS_MAX; h++)
		add_nodes_of(&ctx, c, h);
	return end(&ctx);
}

uint64_t cluster_agreement(const struct cluster_conf *c)
{
	struct sha256_ctx ctx;

	begin(&ctx, "resex: agree 4  ");
	add_word(&ctx, c->membership);
	add_word(&ctx, (uint64_t)c->hold_ns);
	add_word(&ctx, (uint64_t)c->timeout_ns);
	add_word(&ctx, c->drift);
	add_word(&ctx, c->membership == CLUSTER_STATIC ? cluster_lowest_host(c) : 0);
	return end(&ctx);
}

uint64_t cluster_cache_agreement(const struct cluster_conf *c)
{
	struct sha256_ctx ctx;

	begin(&ctx, "resex: cache 1  ");
	add_word(&ctx, c->drift);
	add_word(&ctx, (uint64_t)c->cache.fresh_ns);
	add_word(&ctx, (uint64_t)c->cache.detect_ns);
	add_word(&ctx, c->cache.words);
	add_word(&ctx, c->cache.slots);
	for (uint32_t n = 1; n <= REGION_HOSTS_MAX; n++) {
		const struct cluster_cached *h = cluster_cached_at(c, (uint16_t)n);

		if (!h)
			continue;
		add_word(&ctx, h->number);
		add_word(&ctx, h->role);
	}
	return end(&ctx);
}
