// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * proxy: from a request in a ring to its answer, with homes behind a fake node.
 *
 * Homes 11 and 12, fresh for 100 ms; 200 version words each. This proxy is host 20.
 */
#include "src/cached/proxy.h"

#include <event2/event.h>

#include "src/cache/place.h"
#include "tests/fakes/fake_node.h"
#include "tests/unit/cached_ring_rig.h"

enum { A = 11, B = 12, WORDS = 200, SLOTS = 64, MS = 1000000 };

struct rig {
	struct tmpdir dir;
	struct event_base *base;
	struct log log;
	struct node *node;
	struct cached_conf *conf;
	struct proxy *proxy;
	struct conf_error e;
	struct ring_dial d;
};

static void loop(struct rig *r)
{
	for (int i = 0; i < 5; i++)
		event_base_loop(r->base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
}

static void add_host(struct cluster_conf *c, uint16_t number, const char *name, uint32_t role)
{
	struct cluster_cached *h = &c->cached[c->caches++];

	h->number = number;
	strcpy(h->name, name);
	h->role = role;
}

static struct cached_conf *make_conf(struct rig *r)
{
	struct cached_conf *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	strcpy(c->ring, tmp_at(&r->dir, "ring"));
	c->ring_slots = SLOTS;
	c->ring_clients = 2;
	c->timeout_ns = 50 * MS;
	strcpy(c->cluster.cluster, "shop");
	add_host(&c->cluster, A, "app1", CLUSTER_APP);
	add_host(&c->cluster, 20, "front", CLUSTER_PROXY);
	add_host(&c->cluster, B, "app2", CLUSTER_APP);
	add_host(&c->cluster, 21, "front2", CLUSTER_PROXY);
	c->self = &c->cluster.cached[1];
	c->cluster.cache.fresh_ns = 100 * MS;
	c->cluster.cache.words = WORDS;
	c->cluster.drift = 1000;
	return c;
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->dir);
	log_init(&r->log, "test", LOG_LVL_ERROR);
	r->base = event_base_new();
	r->node = fake_node_new();
	r->conf = make_conf(r);
	if (proxy_open(&r->proxy, r->node, r->conf, r->base, &r->log, &r->e))
		fail_msg("%s", r->e.text);
	ring_dial_connect(&r->d, r->conf->ring);
	loop(r);
	assert_true(ring_dial_hello(&r->d));
	for (uint16_t h = A; h <= B; h++)
		for (uint32_t w = 0; w < WORDS; w++)
			r->node->version[h][region_cache_word_offset(w) / 8] = 1000u * h + w;
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	proxy_close(r->proxy);
	ring_dial_end(&r->d);
	fake_node_free(r->node);
	event_base_free(r->base);
	tmp_close(&r->dir);
	free(r->conf);
	free(r);
	return 0;
}

/* The home is a member: its link is up, its beat young, its clock known. */
static void joins(struct rig *r, uint16_t host)
{
	fake_node_beat(r->node, host);
	fake_node_link(r->node, host);
	fake_node_run(r->node);
}

static void ask(struct rig *r, uint32_t slot, uint64_t key, uint32_t flags)
{
	ring_dial_ask(&r->d, slot, key, flags);
	loop(r);
}

/* Why, and the slot is free again. */
static uint32_t answered(struct rig *r, uint32_t slot)
{
	assert_int_equal(ring_dial_state(&r->d, slot), CACHE_RING_ANSWERED);
	ring_dial_set(&r->d, slot, CACHE_RING_FREE);
	return r->d.slot[slot].why;
}

static uint64_t figure(json_t *o, const char *key)
{
	json_t *v = json_object_get(o, key);

	assert_true(json_is_integer(v));
	return (uint64_t)json_integer_value(v);
}

RIG_TEST(ask__no_link__there_is_no_home)
{
	struct rig *r = *state;

	ask(r, 0, 5, 0);
	assert_int_equal(answered(r, 0), CACHE_RING_NO_HOME);
	fake_node_link(r->node, A); /* nothing is known of it yet */
	ask(r, 0, 5, 0);
	assert_int_equal(answered(r, 0), CACHE_RING_NO_HOME);
}

RIG_TEST(ask__a_home_is_fresh__has_the_version_of_the_word)
{
	struct rig *r = *state;
	struct hostset a = { { 0 } };
	struct place at;

	hostset_set(&a, A, true);
	joins(r, A);
	for (uint64_t key = 0; key < 50; key++) {
		assert_true(place_find(&a, key, false, WORDS, &at));
		ask(r, 1, key, 0);
		assert_int_equal(ring_dial_state(&r->d, 1), CACHE_RING_ASKED);
		fake_node_run(r->node);
		assert_int_equal(answered(r, 1), CACHE_RING_VERIFIED);
		assert_int_equal(r->d.slot[1].home, A);
		assert_int_equal(r->d.slot[1].word, at.word);
		assert_int_equal(r->d.slot[1].version, 1000 * A + at.word);
	}
}

/* --- what clients READ themselves --- */

RIG_TEST(share__a_home_is_fresh__clients_have_its_memory_and_its_evidence)
{
	struct rig *r = *state;
	const struct cache_ring_view *v = ring_dial_view(&r->d);
	struct cache_ring_file f;
	int64_t until;
	uint64_t word;
	int fd;

	assert_int_equal(v->words, WORDS);
	assert_int_equal(v->homes[0], 1 << (A - 1) | 1 << (B - 1));
	assert_int_equal(v->home[A].link, 0);
	joins(r, A);
	assert_true(ring_dial_file(&r->d, &f, &fd));
	assert_int_equal(f.host, A);
	assert_int_equal(f.link, node_link(r->node, A));
	assert_int_equal(pread(fd, &word, 8, region_cache_word_offset(9)), 8);
	assert_int_equal(word, 1000 * A + 9);
	close(fd);
	until = v->home[A].until_ns;
	assert_int_equal(v->home[A].link, f.link);
	assert_in_range(until, r->node->now.ns + 90 * MS, r->node->now.ns + 100 * MS);
	assert_int_equal(v->home[B].link, 0);
	/* It looks on. */
	fake_node_pass(r->node, 20 * MS);
	fake_node_beat(r->node, A);
	fake_node_pass(r->node, 20 * MS);
	fake_node_run(r->node);
	assert_in_range(v->home[A].until_ns, until + 15 * MS, until + 20 * MS);
	assert_false(ring_dial_file(&r->d, &f, &fd));
	munmap((void *)(uintptr_t)v, sizeof(*v));
}

/* Another life of the home has another memory: nothing of the life before holds for it. */
RIG_TEST(share__newer_link__begins_without_evidence_and_with_other_memory)
{
	struct rig *r = *state;
	const struct cache_ring_view *v = ring_dial_view(&r->d);
	struct cache_ring_file f[2];
	int fd;

	joins(r, A);
	joins(r, B); /* so that A's next link has a number of its own */
	for (int i = 0; i < 2; i++) {
		assert_true(ring_dial_file(&r->d, &f[i], &fd));
		close(fd);
	}
	fake_node_cut(r->node, A);
	fake_node_link(r->node, A);
	assert_true(ring_dial_file(&r->d, &f[1], &fd));
	close(fd);
	assert_int_equal(f[1].host, A);
	assert_int_equal(f[1].link, node_link(r->node, A));
	assert_true(f[1].link > f[0].link);
	assert_int_equal(v->home[A].link, f[1].link);
	assert_int_equal(v->home[A].until_ns, 0);
	fake_node_beat(r->node, A);
	fake_node_run(r->node);
	assert_true(v->home[A].until_ns > r->node->now.ns);
	munmap((void *)(uintptr_t)v, sizeof(*v));
}

RIG_TEST(share__link_is_down__there_is_no_evidence)
{
	struct rig *r = *state;
	const struct cache_ring_view *v = ring_dial_view(&r->d);

	joins(r, A);
	fake_node_pass(r->node, 20 * MS); /* a READ of the beat is outstanding */
	fake_node_cut(r->node, A);
	fake_node_run(r->node);
	assert_int_equal(v->home[A].link, 0);
	munmap((void *)(uintptr_t)v, sizeof(*v));
}

RIG_TEST(share__home_on_another_machine__has_evidence_alone)
{
	struct rig *r = *state;
	const struct cache_ring_view *v = ring_dial_view(&r->d);
	struct cache_ring_file f;
	int fd;

	r->node->far = true;
	joins(r, A);
	assert_false(ring_dial_file(&r->d, &f, &fd));
	assert_int_equal(v->home[A].link, node_link(r->node, A));
	assert_true(v->home[A].until_ns > r->node->now.ns);
	munmap((void *)(uintptr_t)v, sizeof(*v));
}

/* --- requests --- */

RIG_TEST(ask__all__is_word_0)
{
	struct rig *r = *state;

	joins(r, B);
	ask(r, 0, 77, CACHE_RING_ALL);
	fake_node_run(r->node);
	assert_int_equal(answered(r, 0), CACHE_RING_VERIFIED);
	assert_int_equal(r->d.slot[0].word, 0);
	assert_int_equal(r->d.slot[0].version, 1000 * B);
}

RIG_TEST(ask__many_of_one_page__share_reads)
{
	struct rig *r = *state;
	uint64_t before;

	joins(r, A);
	before = r->node->reads;
	for (uint32_t i = 0; i < SLOTS; i++)
		ask(r, i, 5, 0);
	fake_node_run(r->node);
	assert_int_equal(r->node->reads - before, 2); /* the first alone, and all others */
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_int_equal(answered(r, i), CACHE_RING_VERIFIED);
}

RIG_TEST(ask__more_words_than_the_link_has_places__are_all_answered)
{
	struct rig *r = *state;

	joins(r, A);
	for (uint32_t i = 0; i < SLOTS; i++)
		ask(r, i, i * 7919, 0);
	assert_in_range(r->node->ops, 2, TRANSPORT_DEPTH - 2);
	fake_node_run(r->node);
	for (uint32_t i = 0; i < SLOTS; i++) {
		assert_int_equal(answered(r, i), CACHE_RING_VERIFIED);
		assert_int_equal(r->d.slot[i].version, 1000 * A + r->d.slot[i].word);
	}
}

RIG_TEST(ask__the_evidence_ends_before_the_read__is_stale)
{
	struct rig *r = *state;

	joins(r, A);
	ask(r, 0, 5, 0);
	r->node->now.ns += 100 * MS;
	fake_node_run(r->node);
	assert_int_equal(answered(r, 0), CACHE_RING_STALE);
	ask(r, 0, 5, 0);
	assert_int_equal(answered(r, 0), CACHE_RING_NO_HOME);
}

/* The beat goes on being read: a home that looks is usable without end. */
RIG_TEST(ask__the_home_looks_on__stays_fresh)
{
	struct rig *r = *state;

	joins(r, A);
	for (int i = 0; i < 200; i++) {
		if (i % 5 == 0)
			fake_node_beat(r->node, A);
		fake_node_pass(r->node, 5 * MS);
		fake_node_run(r->node);
		ask(r, 0, 5, 0);
		fake_node_run(r->node);
		assert_int_equal(answered(r, 0), CACHE_RING_VERIFIED);
	}
	for (int i = 0; i < 25; i++) { /* it hangs */
		fake_node_pass(r->node, 5 * MS);
		fake_node_run(r->node);
	}
	ask(r, 0, 5, 0);
	assert_int_equal(answered(r, 0), CACHE_RING_NO_HOME);
}

RIG_TEST(ask__the_word_is_closed__is_not_verified)
{
	struct rig *r = *state;

	joins(r, A);
	for (uint32_t w = 0; w < WORDS; w++)
		r->node->version[A][region_cache_word_offset(w) / 8] = 0;
	ask(r, 0, 5, 0);
	fake_node_run(r->node);
	assert_int_equal(answered(r, 0), CACHE_RING_CLOSED);
}

RIG_TEST(ask__a_home_is_cut_off__the_other_one_has_its_pages)
{
	struct rig *r = *state;
	uint32_t of[2] = { 0 };

	joins(r, A);
	joins(r, B);
	for (uint64_t key = 0; key < 200; key++) {
		ask(r, 0, key, 0);
		fake_node_run(r->node);
		assert_int_equal(answered(r, 0), CACHE_RING_VERIFIED);
		of[r->d.slot[0].home - A]++;
	}
	assert_true(of[0] > 50 && of[1] > 50);
	for (uint64_t key = 0; key < 50; key++)
		ask(r, (uint32_t)key, key, 0);
	fake_node_cut(r->node, B);
	fake_node_run(r->node);
	of[0] = of[1] = 0;
	for (uint32_t slot = 0; slot < 50; slot++) {
		uint32_t why = answered(r, slot);

		assert_true(why == CACHE_RING_VERIFIED || why == CACHE_RING_LOST);
		of[why == CACHE_RING_LOST]++;
	}
	assert_true(of[0] && of[1]);
	for (uint64_t key = 0; key < 50; key++) {
		ask(r, 0, key, 0);
		fake_node_run(r->node);
		assert_int_equal(answered(r, 0), CACHE_RING_VERIFIED);
		assert_int_equal(r->d.slot[0].home, A);
	}
}

RIG_TEST(ask__no_answer_in_time__is_lost)
{
	struct rig *r = *state;

	joins(r, A);
	ask(r, 0, 5, 0);
	fake_node_pass(r->node, 50 * MS);
	assert_int_equal(answered(r, 0), CACHE_RING_LOST);
}

RIG_TEST(ask__the_client_ends__its_answer_goes_nowhere)
{
	struct rig *r = *state;

	joins(r, A);
	ask(r, 0, 5, 0);
	ring_dial_end(&r->d);
	loop(r);
	fake_node_run(r->node);
	ring_dial_connect(&r->d, r->conf->ring);
	loop(r);
	assert_true(ring_dial_hello(&r->d));
	ask(r, 0, 5, 0);
	fake_node_run(r->node);
	assert_int_equal(answered(r, 0), CACHE_RING_VERIFIED);
}

/* --- for people -------------------------------------------------------------------- */

RIG_TEST(info__two_homes_one_fresh__says_so)
{
	struct rig *r = *state;
	json_t *o, *homes;

	joins(r, A);
	fake_node_link(r->node, B);
	o = proxy_info(r->proxy);
	assert_non_null(o);
	assert_string_equal(json_string_value(json_object_get(o, "role")), "proxy");
	assert_string_equal(json_string_value(json_object_get(o, "name")), "front");
	assert_string_equal(json_string_value(json_object_get(o, "cluster")), "shop");
	assert_int_equal(figure(o, "host"), 20);
	assert_int_equal(figure(o, "usable"), 1);
	homes = json_object_get(o, "homes");
	assert_int_equal(json_array_size(homes), 2);
	assert_int_equal(figure(json_array_get(homes, 0), "host"), A);
	assert_true(json_is_true(json_object_get(json_array_get(homes, 0), "fresh")));
	assert_in_range(figure(json_array_get(homes, 0), "fresh_ms"), 90, 100);
	assert_true(json_is_true(json_object_get(json_array_get(homes, 1), "link")));
	assert_true(json_is_false(json_object_get(json_array_get(homes, 1), "fresh")));
	assert_null(json_object_get(json_array_get(homes, 1), "fresh_ms"));
	json_decref(o);
}

RIG_TEST(cache__after_some_requests__counts_them_by_why)
{
	struct rig *r = *state;
	json_t *o, *client, *not ;

	ask(r, 0, 5, 0);
	answered(r, 0);
	joins(r, A);
	for (int i = 0; i < 3; i++) {
		ask(r, 0, 5, 0);
		fake_node_run(r->node);
		answered(r, 0);
	}
	r->d.header->hits = 9;
	r->d.header->unoffered = 8;
	r->d.header->misses = UINT64_MAX; /* whatever it says */
	o = proxy_cache(r->proxy);
	assert_non_null(o);
	assert_int_equal(figure(o, "lookups"), 4);
	assert_int_equal(figure(o, "verified"), 3);
	assert_int_equal(figure(o, "reads"), 3);
	not = json_object_get(o, "not_verified");
	assert_int_equal(figure(not, "no_home"), 1);
	assert_int_equal(figure(not, "stale"), 0);
	assert_int_equal(json_array_size(json_object_get(o, "clients")), 1);
	client = json_array_get(json_object_get(o, "clients"), 0);
	assert_int_equal(figure(client, "asked"), 4);
	assert_int_equal(figure(client, "hits"), 9);
	assert_int_equal(figure(client, "unoffered"), 8);
	assert_true(figure(client, "misses") == INT64_MAX);
	assert_int_equal(figure(client, "pid"), getpid());
	json_decref(o);
}

RIG_TEST(show__page__is_where_a_request_would_look)
{
	struct rig *r = *state;
	json_t *o = proxy_show(r->proxy, 5);

	assert_true(json_is_null(json_object_get(o, "lists")));
	assert_true(json_is_null(json_object_get(o, "all")));
	json_decref(o);
	joins(r, A);
	joins(r, B);
	o = proxy_show(r->proxy, 5);
	ask(r, 0, 5, 0);
	assert_int_equal(figure(json_object_get(o, "lists"), "home"), r->node->op[0].op.host);
	assert_int_equal(
		region_cache_word_offset((uint32_t)figure(json_object_get(o, "lists"), "word")),
		r->node->op[0].op.offset);
	assert_int_equal(figure(json_object_get(o, "all"), "word"), 0);
	assert_non_null(json_object_get(json_object_get(o, "all"), "name"));
	json_decref(o);
}

/* --- opening ------------------------------------------------------------------------- */

RIG_TEST(open__ring_is_in_use__is_refused)
{
	struct rig *r = *state;
	struct proxy *other = NULL;

	assert_int_equal(proxy_open(&other, r->node, r->conf, r->base, &r->log, &r->e),
			 -EADDRINUSE);
	assert_null(other);
	r->node->users = 0; /* those that it added are gone */
}

RIG_TEST(open__no_room_for_its_steps__is_refused)
{
	struct rig *r = *state;
	struct proxy *other = NULL;

	r->node->full = true;
	assert_int_equal(proxy_open(&other, r->node, r->conf, r->base, &r->log, &r->e), -ENOSPC);
	assert_non_null(strstr(r->e.text, "ring_slots"));
	proxy_close(NULL);
}
