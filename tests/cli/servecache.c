// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * servecache: serves the region of a cached host as resex-cached does, and does nothing else. For
 * tests/cli/test_peek.sh.
 *
 *	servecache FILE NAME beats|silent|closed
 *
 * As the cached host NAME of FILE, a cluster.json, until it is killed. Of an application server
 * version word 5 has moved twice, 7 updates have ended, and of slot 1 host 11 has marked update 9.
 * closed: its words are 0. Prints "serves" when it does.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cache/cache.h"
#include "src/conf/cluster.h"
#include "src/shared/region.h"
#include "src/util/clock.h"

enum { GENERATION = 3, FENCE = 4 };

static struct mono now_of(struct clock *c)
{
	return c->now(c);
}

static void store(uint8_t *versions, uint32_t offset, uint64_t word)
{
	__atomic_store_n((uint64_t *)(void *)(versions + offset), word, __ATOMIC_RELEASE);
}

static void open_words(uint8_t *versions, const struct region_cache *c)
{
	for (uint32_t w = 0; w < c->words; w++)
		store(versions, region_cache_word_offset(w),
		      cache_word(GENERATION, w == 5 ? 2 : 0));
	store(versions, REGION_CACHE_LOG, cache_word(GENERATION, 7));
}

static struct transport *serve(const struct cluster_conf *cc, const struct cluster_cached *self,
			       const struct region_cache *c, struct clock *clock)
{
	static uint64_t words[TRANSPORT_PART_MAX / 8];
	struct transport_conf conf = { .host = (uint16_t)self->number,
				       .generation = 17,
				       .agreement = cluster_cache_agreement(cc),
				       .words = words,
				       .seed = 1 };
	struct conf_error e = { 0 };
	struct transport *t = NULL;
	struct cluster_key key;
	char text[256] = "";

	if (cluster_key_load(&key, cc->key_file, &e)) {
		fprintf(stderr, "servecache: %s\n", e.text);
		return NULL;
	}
	if (c->words)
		words[region_cache_ack_offset(1, 11) / 8] = cache_update_name(FENCE, 9);
	region_cache_bytes(c, conf.bytes);
	strcpy(conf.address, self->address);
	if (strcmp(transport_backends[cc->transport]->name, "shm") != 0)
		conf.port = (uint16_t)self->port;
	strcpy(conf.cluster, cc->cluster);
	conf.key = key.bytes;
	conf.key_len = key.len;
	if (transport_backends[cc->transport]->open(&t, &conf, now_of(clock), text))
		fprintf(stderr, "servecache: %s\n", text);
	return t;
}

static int run(struct transport *t, const struct cluster_conf *cc, bool beats, struct clock *clock)
{
	uint8_t *versions = transport_part(t, TRANSPORT_VERSIONS);
	struct transport_event ev;

	for (uint32_t i = 0; i < cc->clients; i++) {
		struct transport_peer p;

		cluster_client_peer(cc, i, &p);
		if (transport_add(t, &p, now_of(clock)))
			return 1;
	}
	puts("serves");
	fflush(stdout);
	for (;;) {
		while (transport_poll(t, now_of(clock), &ev, 1))
			;
		if (versions && beats)
			store(versions, REGION_CACHE_BEAT, (uint64_t)now_of(clock).ns);
		poll(NULL, 0, 5);
	}
}

int main(int argc, char **argv)
{
	static struct cluster_conf cc;
	struct region_cache c = { 0 };
	struct conf_error e = { 0 };
	struct transport *t;
	struct clock clock;
	uint8_t *versions;
	uint32_t self;
	bool closed;

	if (argc != 4)
		return 2;
	closed = !strcmp(argv[3], "closed");
	clock_real(&clock);
	if (cluster_cached_load(&cc, argv[1], argv[2], "", &self, &e)) {
		fprintf(stderr, "servecache: %s\n", e.text);
		return 1;
	}
	if (cc.cached[self].role == CLUSTER_APP)
		c = (struct region_cache){ (uint32_t)cc.cache.words, (uint32_t)cc.cache.slots };
	t = serve(&cc, &cc.cached[self], &c, &clock);
	if (!t)
		return 1;
	region_init_cache(transport_table(t), (uint16_t)cc.cached[self].number, 17, &c);
	versions = transport_part(t, TRANSPORT_VERSIONS);
	if (versions && !closed) {
		open_words(versions, &c);
		store(versions, REGION_CACHE_BEAT, 1);
	}
	return run(t, &cc, !strcmp(argv[3], "beats"), &clock);
}
