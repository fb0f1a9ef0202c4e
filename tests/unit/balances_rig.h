/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * balances_rig: a host that balances a service of two or three nodes, itself one of them, for
 * tests of its HAProxy (tests/fakes/fake_haproxy.h) and of its agent.
 */
#ifndef RESEX_TESTS_BALANCES_RIG_H
#define RESEX_TESTS_BALANCES_RIG_H

#include <errno.h>
#include <string.h>

#include "src/cluster/balance_turn.h"
#include "tests/fakes/fake_haproxy.h"
#include "tests/unit/cluster_rig.h"
#include "tests/unit/unit.h"

#define N(n, server)                                                                               \
	"{\"name\": \"n" #n "\", \"number\": " #n ", \"host\": \"xen" #n "\", "                    \
	"\"service\": \"web\", \"server\": \"" server "\"}"
#define N12	    N(1, "s1") ", " N(2, "s2")
#define MORE(nodes) SITE_TIMES ", \"nodes\": [" nodes "]"
#define BALANCED(nodes, keys)                                                                      \
	MORE(nodes) ", \"balance\": [{\"service\": \"web\", \"backend\": \"be\", " keys "}]"
#define SOCKET "\"socket\": \"/h\""
#define ACT    SOCKET ", \"mode\": \"act\""

enum { CONFIGURED = 10 };

/* Of each node, by its number: how busy its 2 CPUs are, in 1/1000. -1: it cannot be sampled. */
static int busy[SITES + 1];

static inline int sample_busy(struct load *l, struct load_record *r)
{
	(void)l;
	if (busy[r->node] < 0)
		return -EPROTO;
	r->cpus = 2;
	r->flags |= LOAD_NO_RUNNING;
	r->busy_ns = (uint64_t)r->sampled_ns / 1000 * 2 * (uint64_t)busy[r->node];
	return 0;
}

static struct load_ops by_test;

/* Hosts 1 .. n are nodes, and host 1 balances them so. */
static inline struct sites *open_sites(void **state, int n, const char *first)
{
	struct sites *s = sites_new();

	*state = s;
	by_test = load_proc;
	by_test.sample = sample_busy;
	for (int i = 1; i <= n; i++) {
		site_write(s, i, "test",
			   i == 1   ? first
			   : n == 2 ? MORE(N12)
				    : MORE(N12 ", " N(3, "s3")));
		site_open(s, i);
		s->at[i].c->worker.load_ops = &by_test;
		s->at[i].c->worker.fill.filler = NULL;
		busy[i] = 300;
	}
	return s;
}

static inline int setup(void **state)
{
	(void)state;
	fake_haproxy_clear();
	return 0;
}

static inline int teardown(void **state)
{
	if (*state)
		sites_free(*state);
	assert_int_equal(fake_haproxy_open, 0);
	return 0;
}

static inline struct cluster_balancer seen(struct sites *s)
{
	struct cluster_balancer b;

	cluster_balance_see(s->at[1].c, 0, s->now, &b);
	return b;
}

static inline struct cluster_server server(struct sites *s, uint32_t k)
{
	struct cluster_server x;

	cluster_server_see(s->at[1].c, 0, k, &x);
	return x;
}

static inline bool decided(struct sites *s, const char *why)
{
	return !strcmp(seen(s).why, why);
}

static inline bool has(const struct fake_process *p, int a, int b)
{
	return p->server[0].weight == a && p->server[1].weight == b;
}

static inline void set_mode(struct sites *s, enum cluster_balance_mode mode)
{
	assert_int_equal(cluster_balance_set(s->at[1].c, 0, mode), 0);
}

static inline void reload_with(struct sites *s, const char *more, const char *services)
{
	uint64_t ticket;

	assert_int_equal(site_reload(s, 1, SITES, more, services, &ticket), 0);
	site_until(s, cluster_reload_result(s->at[1].c, ticket) == 0);
}

static inline void reload(struct sites *s, const char *more)
{
	reload_with(s, more, SITE_SERVICES);
}

static inline uint64_t balance_events(struct sites *s)
{
	return (uint64_t)rig_events(s->at[1].g, "balance");
}

static inline int work_until_left(struct sites *s)
{
	struct balances *b = s->at[1].c->balances;
	int ms = 0;

	balances_leave(b, s->now);
	while (!balances_left(b)) {
		s->now.ns += MS;
		balances_work(b, s->at[1].c, s->now, WALL);
		ms++;
	}
	return ms;
}

#endif
