// SPDX-License-Identifier: GPL-2.0-or-later
/* test_ring_pool: users of one path share a client, and the last one closes it. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "src/ring/ring_pool.h"
#include "tests/fakes/fake_ringd.h"
#include "tests/unit/tmpdir.h"

enum { SLOTS = 64, PATIENCE_MS = 20000, RELOADS = 40, THREADS = 8, TURNS = 200 };

struct rig {
	struct tmpdir dir;
	char path[2][128];
	struct fake_ringd *server[2];
	struct ring_pool pool;
};

static void answer(void *arg, struct cache_ring_slot *s)
{
	(void)arg;
	s->why = CACHE_RING_VERIFIED;
	s->home = 1;
	s->word = 0;
	s->version = 7;
}

static int setup(void **state)
{
	static struct rig r;

	r = (struct rig){ .pool = RING_POOL_INIT };
	tmp_open(&r.dir);
	for (int i = 0; i < 2; i++) {
		strcpy(r.path[i], tmp_at(&r.dir, i ? "b.sock" : "a.sock"));
		r.server[i] = fake_ringd_start(&(struct fake_ringd_conf){
			.path = r.path[i], .slots = SLOTS, .answer = answer, .files = 2 });
	}
	*state = &r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	for (int i = 0; i < 2; i++)
		fake_ringd_stop(r->server[i], false);
	tmp_close(&r->dir);
	return 0;
}

#define POOL_TEST(name) TEST_WITH(name, setup, teardown)

static struct ring_client *get(struct rig *r, int path)
{
	struct ring_client *c = NULL;

	assert_int_equal(ring_pool_get(&r->pool, r->path[path], &c), 0);
	assert_non_null(c);
	ring_client_settle(c);
	return c;
}

/* The server sees the end of a connection a moment later. */
static void assert_alive(const struct rig *r, int path, uint32_t n)
{
	for (int i = 0; fake_ringd_alive(r->server[path]) != n; i++) {
		if (i > PATIENCE_MS)
			fail_msg("%u connections, not %u", fake_ringd_alive(r->server[path]), n);
		poll(NULL, 0, 1);
	}
}

POOL_TEST(path__got_again_and_again__is_one_connection)
{
	struct rig *r = *state;
	struct ring_client *c[RELOADS];

	for (int i = 0; i < RELOADS; i++) {
		c[i] = get(r, 0);
		assert_ptr_equal(c[i], c[0]);
	}
	assert_alive(r, 0, 1);
	for (int i = 0; i < RELOADS - 1; i++)
		ring_pool_put(&r->pool, c[i]);
	assert_int_equal(ring_client_ask(c[0], 1, 0, RING_TIMEOUT_MAX_NS).why, CACHE_RING_VERIFIED);
	ring_pool_put(&r->pool, c[0]);
	assert_alive(r, 0, 0);
	assert_null(r->pool.first);
}

POOL_TEST(path__got_after_its_end__is_a_new_connection)
{
	struct rig *r = *state;

	for (int i = 0; i < 3; i++) {
		struct ring_client *c = get(r, 0);

		assert_alive(r, 0, 1);
		ring_pool_put(&r->pool, c);
		assert_alive(r, 0, 0);
	}
}

POOL_TEST(paths__two__are_apart)
{
	struct rig *r = *state;
	struct ring_client *a = get(r, 0), *b = get(r, 1);

	assert_ptr_not_equal(a, b);
	assert_ptr_equal(get(r, 0), a);
	assert_alive(r, 0, 1);
	assert_alive(r, 1, 1);
	ring_pool_put(&r->pool, a);
	ring_pool_put(&r->pool, a);
	assert_alive(r, 0, 0);
	assert_alive(r, 1, 1);
	ring_pool_put(&r->pool, b);
	assert_alive(r, 1, 0);
}

POOL_TEST(path__is_none__leaves_nothing)
{
	struct rig *r = *state;
	struct ring_client *c = NULL;
	char text[200];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	assert_int_equal(ring_pool_get(&r->pool, "", &c), -EINVAL);
	assert_int_equal(ring_pool_get(&r->pool, text, &c), -ENAMETOOLONG);
	assert_null(c);
	assert_null(r->pool.first);
	ring_pool_put(&r->pool, NULL);
}

static void *take_turns(void *arg)
{
	struct rig *r = arg;

	for (int i = 0; i < TURNS; i++) {
		struct ring_client *c = NULL;

		if (ring_pool_get(&r->pool, r->path[i % 2], &c))
			return r;
		ring_client_count(c, RING_HITS);
		ring_pool_put(&r->pool, c);
	}
	return NULL;
}

POOL_TEST(threads__get_and_put__leave_nothing)
{
	struct rig *r = *state;
	pthread_t t[THREADS];
	void *failed;

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, take_turns, r), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(t[i], &failed), 0);
		assert_null(failed);
	}
	assert_null(r->pool.first);
}
