/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_client_rig: a client of the ring, and a fake server on a thread of its own. */
#ifndef RESEX_TESTS_RING_CLIENT_RIG_H
#define RESEX_TESTS_RING_CLIENT_RIG_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "src/ring/ring_client.h"
#include "tests/fakes/fake_ringd.h"
#include "tests/unit/tmpdir.h"

enum { SLOTS = 64, PATIENCE_MS = 20000, LONG_MS = 10000, THREADS = 32, ASKS = 400 };

#define MS(n) ((n)*1000000ll)

struct rig {
	struct tmpdir dir;
	char path[128];
	struct fake_ringd *server;
	struct ring_client *client;
	struct cache_ring_slot answer; /* the same for all, when fixed */
	bool fixed;
	bool any; /* threads do not look at what is verified */
};

static struct rig rig;

/* What a page's version is, so that a mixed-up answer is seen. */
static inline uint64_t version_of(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15ull | 1;
}

static inline void answer(void *arg, struct cache_ring_slot *s)
{
	struct rig *r = arg;

	if (r->fixed) {
		*s = r->answer;
		return;
	}
	s->why = CACHE_RING_VERIFIED;
	s->home = 1 + (uint32_t)(s->key % 256);
	s->word = s->flags & CACHE_RING_ALL ? 0 : (uint32_t)(s->key % 1000000);
	s->version = version_of(s->key);
}

static inline void start_server(void)
{
	rig.server = fake_ringd_start(&(struct fake_ringd_conf){
		.path = rig.path, .slots = SLOTS, .answer = answer, .arg = &rig, .files = 2 });
}

static inline void until(bool (*holds)(void), const char *what)
{
	for (int i = 0; !holds(); i++) {
		if (i > PATIENCE_MS)
			fail_msg("not within %d ms: %s", PATIENCE_MS, what);
		poll(NULL, 0, 1);
	}
}

#define UNTIL(name) until(name, #name)

static inline bool is_connected(void)
{
	return ring_client_state(rig.client) == 0;
}

static inline bool is_apart(void)
{
	return ring_client_state(rig.client) != 0;
}

static inline bool all_free(void)
{
	return fake_ringd_slots(rig.server, CACHE_RING_FREE) == SLOTS;
}

static inline int setup(__attribute__((unused)) void **state)
{
	memset(&rig, 0, sizeof(rig));
	tmp_open(&rig.dir);
	strcpy(rig.path, tmp_at(&rig.dir, "ring.sock"));
	return 0;
}

static inline int setup_connected(void **state)
{
	setup(state);
	start_server();
	assert_int_equal(ring_client_open(&rig.client, rig.path), 0);
	UNTIL(is_connected);
	return 0;
}

static inline int teardown(__attribute__((unused)) void **state)
{
	ring_client_close(rig.client);
	if (rig.server)
		fake_ringd_stop(rig.server, false);
	tmp_close(&rig.dir);
	return 0;
}

#define CONNECTED_TEST(name) TEST_WITH(name, setup_connected, teardown)

static inline struct ring_answer ask(uint64_t key, int64_t timeout_ns)
{
	return ring_client_ask(rig.client, key, 0, timeout_ns);
}

static inline void assert_good(uint64_t key)
{
	struct ring_answer a = ask(key, MS(LONG_MS));

	assert_int_equal(a.why, CACHE_RING_VERIFIED);
	assert_int_equal(a.home, 1 + key % 256);
	assert_int_equal(a.word, key % 1000000);
	assert_int_equal(a.version, version_of(key));
}

static inline void assert_nothing(struct ring_answer a, uint32_t why)
{
	assert_int_equal(a.why, why);
	assert_int_equal(a.home, 0);
	assert_int_equal(a.word, 0);
	assert_int_equal(a.version, 0);
}

/* Open descriptors of this process: none may be left of a server that was refused. */
static inline int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static inline bool tried_thrice(void)
{
	return fake_ringd_accepted(rig.server) >= 3;
}

struct worker {
	pthread_t thread;
	uint64_t seed, verified, timeouts, wrong;
	bool *stop; /* NULL: ASKS times */
};

static inline void *work(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; w->stop ? !__atomic_load_n(w->stop, __ATOMIC_SEQ_CST) : i < ASKS; i++) {
		uint64_t key = random_next(&w->seed);
		/* Some wait so briefly that answer and end of patience meet. */
		int64_t timeout = key % 4 ? MS(LONG_MS) : (int64_t)(key % 100000);
		struct ring_answer a = ask(key, timeout);

		if (a.why == CACHE_RING_VERIFIED) {
			w->verified++;
			w->wrong += rig.any ? a.version != 5
					    : a.version != version_of(key) ||
						      a.home != 1 + key % 256 ||
						      a.word != key % 1000000;
		} else if (a.why == RING_TIMEOUT) {
			w->timeouts++;
		} else if (a.why == RING_NO_SERVER) {
			w->wrong += !w->stop;
			sched_yield();
		} else {
			w->wrong += a.why != RING_FULL;
		}
	}
	return NULL;
}

static inline void start_workers(struct worker w[THREADS], bool *stop)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .seed = prop_u64(&p), .stop = stop };
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
}

static inline uint64_t end_workers(struct worker w[THREADS])
{
	uint64_t verified = 0;

	for (int i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		assert_int_equal(w[i].wrong, 0);
		verified += w[i].verified;
	}
	return verified;
}

#endif
