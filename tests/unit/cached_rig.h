/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cached_rig: cached hosts of one process over "shm", each with a loop of its own, so that a test
 * can stop one. Host n is cluster.cached[n - 1].
 */
#ifndef RESEX_TESTS_CACHED_RIG_H
#define RESEX_TESTS_CACHED_RIG_H

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/cached/node.h"
#include "src/util/clock.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

enum { CACHED_HOSTS = 3, CACHED_CLIENT = 9 };

struct cached_host {
	struct cached_conf conf;
	struct event_base *base;
	struct node *node;
	bool stopped; /* its loop does not run */
};

struct cached_hosts {
	struct tmpdir dir;
	struct log log;
	struct cached_host *host[CACHED_HOSTS + 1]; /* from 1 */
};

static inline uint32_t cached_shm(void)
{
	uint32_t i = 0;

	while (transport_backends[i] != transport_find("shm"))
		i++;
	return i;
}

/* roles: a letter a host: 'a' app, 'p' proxy. */
static inline void cached_conf_fill(struct cached_conf *c, const char *dir, const char *roles,
				    uint16_t self)
{
	struct cluster_conf *k = &c->cluster;

	memset(c, 0, sizeof(*c));
	strcpy(k->cluster, "test");
	k->transport = cached_shm();
	k->timeout_ns = NS_PER_S;
	k->drift = 1000;
	k->callers = k->callers_second = 64;
	k->cache = (struct cluster_cache){
		.fresh_ns = 100 * NS_PER_MS, .detect_ns = 200 * NS_PER_MS, .words = 32, .slots = 2
	};
	for (uint32_t i = 0; roles[i]; i++) {
		struct cluster_cached *h = &k->cached[k->caches++];

		snprintf(h->name, sizeof(h->name), "%s%u", roles[i] == 'a' ? "app" : "proxy",
			 i + 1);
		snprintf(h->address, sizeof(h->address), "%s", dir);
		h->number = i + 1;
		h->role = roles[i] == 'a' ? CLUSTER_APP : CLUSTER_PROXY;
	}
	k->client[0] = (struct cluster_client){ .name = "peek", .number = CACHED_CLIENT };
	k->clients = 1;
	c->self = &k->cached[self - 1];
	c->listings = 64;
	c->log = 16;
	c->fill_timeout_ns = 60 * NS_PER_S;
	c->sql_timeout_ns = NS_PER_S;
	snprintf(c->state_dir, sizeof(c->state_dir), "%s/state%u", dir, self);
	mkdir(c->state_dir, 0700);
	c->key.len = 32;
	memset(c->key.bytes, 'k', c->key.len);
}

static inline int cached_open(struct cached_hosts *r, uint16_t n, struct conf_error *e)
{
	struct cached_host *h = r->host[n];

	h->base = event_base_new();
	assert_non_null(h->base);
	return node_open(&h->node, &h->conf, h->base, &r->log, e);
}

static inline void cached_close(struct cached_hosts *r, uint16_t n)
{
	struct cached_host *h = r->host[n];

	if (!h)
		return;
	node_close(h->node);
	h->node = NULL;
	if (h->base)
		event_base_free(h->base);
	h->base = NULL;
}

static inline struct cached_hosts *cached_hosts_new(const char *roles)
{
	struct cached_hosts *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->dir);
	log_init(&r->log, "test", LOG_LVL_ERROR);
	for (uint16_t n = 1; n <= strlen(roles); n++) {
		r->host[n] = calloc(1, sizeof(*r->host[n]));
		assert_non_null(r->host[n]);
		cached_conf_fill(&r->host[n]->conf, r->dir.path, roles, n);
	}
	return r;
}

static inline void cached_hosts_free(struct cached_hosts *r)
{
	for (uint16_t n = 1; n <= CACHED_HOSTS; n++) {
		cached_close(r, n);
		free(r->host[n]);
	}
	tmp_close(&r->dir);
	free(r);
}

/* Each loop turns once; then other threads have time to do something. */
static inline void cached_turn(struct cached_hosts *r)
{
	struct clock c;

	for (uint16_t n = 1; n <= CACHED_HOSTS; n++) {
		struct cached_host *h = r->host[n];

		if (h && h->base && !h->stopped)
			event_base_loop(h->base, EVLOOP_NONBLOCK);
	}
	clock_real(&c);
	c.sleep_until(&c, mono_add(c.now(&c), NS_PER_MS / 5));
}

/* It is a minute at least: an absolute time that only says that it never happens. */
#define CACHED_UNTIL(r, condition)                                                                 \
	do {                                                                                       \
		for (int i_ = 0; !(condition) && i_ < 300000; i_++)                                \
			cached_turn(r);                                                            \
		if (!(condition))                                                                  \
			fail_msg("never: %s", #condition);                                         \
	} while (0)

static inline void cached_pass(struct cached_hosts *r, int64_t ns)
{
	struct clock c;
	struct mono end;

	clock_real(&c);
	for (end = mono_add(c.now(&c), ns); mono_sub(end, c.now(&c)) > 0;)
		cached_turn(r);
}

#endif
