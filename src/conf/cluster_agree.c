// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_agree: the keys of cluster.json that must be equal on all hosts, as one number.
 *
 * The transport refuses a host with another number (hello.h): locks are safe only among
 * hosts that agree on the home of each lock, on how long a lease lasts, and on the
 * services. Keys that hosts may set for themselves are left out: names, addresses,
 * key file, how often a host reads others, how many callers it accepts.
 *
 * The first 8 bytes of the SHA-256 of: label 16, membership 8, hold 8,
 * timeout 8, drift 8; of each host, by number: number 8, corosync's node 8 (0 with static
 * membership, which does not ask for it); 0; of each service, by number: number 8, minimum
 * 8, balancers 32, length of its name 8, its name; 0. All little endian.
 */
#include <string.h>

#include <nettle/sha2.h>

#include "src/conf/cluster.h"
#include "src/util/bytes.h"

static const char label[] = "resex: agree 2  ";

static void add_word(struct sha256_ctx *ctx, uint64_t v)
{
	uint8_t bytes[8];

	bytes_put_le(bytes, v, sizeof(bytes));
	sha256_update(ctx, sizeof(bytes), bytes);
}

/* In the order of their numbers, whatever the order of the file. */
static void add_hosts(struct sha256_ctx *ctx, const struct cluster_conf *c)
{
	for (uint32_t n = 1; n <= REGION_HOSTS_MAX; n++) {
		const struct cluster_host *h = cluster_host_at(c, (uint16_t)n);

		if (!h)
			continue;
		add_word(ctx, h->number);
		add_word(ctx, c->membership == CLUSTER_COROSYNC ? h->corosync_node : 0);
	}
	add_word(ctx, 0);
}

static void add_service(struct sha256_ctx *ctx, const struct cluster_service *s)
{
	size_t len = strlen(s->name);

	add_word(ctx, s->number);
	add_word(ctx, s->minimum);
	for (uint32_t k = 0; k < HOSTSET_WORDS; k++)
		add_word(ctx, s->balancers.word[k]);
	add_word(ctx, len);
	sha256_update(ctx, len, (const uint8_t *)s->name);
}

static void add_services(struct sha256_ctx *ctx, const struct cluster_conf *c)
{
	for (uint64_t n = 1; n < REGION_SERVICES_MAX; n++)
		for (uint32_t i = 0; i < c->services; i++)
			if (c->service[i].number == n)
				add_service(ctx, &c->service[i]);
	add_word(ctx, 0);
}

uint64_t cluster_agreement(const struct cluster_conf *c)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;
	uint64_t v = 0;

	/*
	 * If the list of keys changes, the number in the label must change too: else two releases
	 * that digest different keys could agree by chance.
	 */
	sha256_init(&ctx);
	sha256_update(&ctx, sizeof(label) - 1, (const uint8_t *)label);
	add_word(&ctx, c->membership);
	add_word(&ctx, (uint64_t)c->hold_ns);
	add_word(&ctx, (uint64_t)c->timeout_ns);
	add_word(&ctx, c->drift);
	add_hosts(&ctx, c);
	add_services(&ctx, c);
	sha256_digest(&ctx, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(v); i++)
		v |= (uint64_t)digest[i] << (8 * i);
	return v;
}
