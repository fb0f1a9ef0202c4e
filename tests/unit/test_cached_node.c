// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * node: two application servers and a proxy over "shm": links, step functions that are told of
 * them, and their operations on the regions.
 */
#include <errno.h>

#include "src/reconf/put.h"
#include "src/shared/region.h"
#include "tests/unit/cached_rig.h"

enum { APP = 1, OTHER = 2, PROXY = 3 };

/* A protocol that puts out the operation of its wish, and then the next of `more`. */
struct user {
	struct node *node;
	uint32_t tag;
	uint32_t links[CACHED_HOSTS + 1];
	uint32_t results, afters, more;
	struct step_event got; /* the newest result, without its data */
	uint64_t data[STEP_READ_MAX / 8];
	struct step_op op;
	bool was_after; /* after was called since the newest result */
};

struct rig {
	struct cached_hosts *all;
	struct user user[CACHED_HOSTS + 1];
	char message[64]; /* the newest to OTHER */
	uint16_t from;
	uint32_t messages;
};

static void step(void *state, const struct step_event *ev, struct mono now, struct step_out *out)
{
	struct user *u = state;

	(void)now;
	if (ev->type == STEP_LINK) {
		u->links[ev->host]++;
	} else if (ev->type == STEP_RESULT) {
		u->got = *ev;
		u->results++;
		u->was_after = false;
		if (ev->data)
			memcpy(u->data, ev->data, 8ul * ev->words);
	} else if (ev->type == STEP_ASK) {
		struct step_op op = u->op;

		op.tag = u->tag + ev->what;
		assert_true(step_put(out, op));
	}
}

static struct mono due(const void *state)
{
	(void)state;
	return (struct mono){ INT64_MAX };
}

static void after(void *owner)
{
	struct user *u = owner;

	u->afters++;
	u->was_after = true;
	if (u->results && u->more) {
		u->more--;
		node_ask(u->node, u, 0, NULL);
	}
}

static void on_message(void *owner, const struct step_event *ev, struct mono now)
{
	struct rig *r = owner;

	assert_int_equal(ev->type, STEP_MESSAGE);
	assert_true(now.ns > 0 && ev->len <= sizeof(r->message));
	memcpy(r->message, ev->message, ev->len);
	r->from = ev->host;
	r->messages++;
}

static void add_user(struct rig *r, uint16_t n)
{
	struct user *u = &r->user[n];
	struct node_user nu = {
		.state = u, .step = step, .due = due, .after = after, .owner = u, .tags = 4
	};

	u->node = r->all->host[n]->node;
	nu.tag = u->tag = node_tags(u->node, 4);
	assert_int_equal(node_add(u->node, &nu), 0);
}

static struct node *node_of(const struct rig *r, uint16_t n)
{
	return r->all->host[n]->node;
}

static bool all_linked(const struct rig *r)
{
	for (uint16_t n = APP; n <= PROXY; n++)
		for (uint16_t k = APP; k <= OTHER; k++)
			if (!node_link(node_of(r, n), k))
				return false;
	return node_link(node_of(r, APP), PROXY) && node_link(node_of(r, OTHER), PROXY);
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct conf_error e = { 0 };

	assert_non_null(r);
	r->all = cached_hosts_new("aap");
	for (uint16_t n = APP; n <= PROXY; n++) {
		if (cached_open(r->all, n, &e))
			fail_msg("%s", e.text);
		add_user(r, n);
	}
	node_on_message(node_of(r, OTHER), on_message, r);
	CACHED_UNTIL(r->all, all_linked(r));
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	cached_hosts_free(r->all);
	free(r);
	return 0;
}

/* The result of one operation of host n. */
static struct step_event does(struct rig *r, uint16_t n, struct step_op op)
{
	struct user *u = &r->user[n];
	uint32_t before = u->results;

	u->op = op;
	node_ask(u->node, u, 1, NULL);
	CACHED_UNTIL(r->all, u->results > before && u->was_after);
	assert_int_equal(u->got.tag, u->tag + 1);
	return u->got;
}

RIG_TEST(links__of_an_application_server__are_to_all_and_itself)
{
	struct rig *r = *state;

	for (uint16_t n = APP; n <= PROXY; n++)
		assert_int_equal(r->user[APP].links[n], 1);
	assert_int_equal(r->user[PROXY].links[APP], 1);
	assert_int_equal(r->user[PROXY].links[PROXY], 0);
	assert_int_equal(node_link(node_of(r, PROXY), PROXY), 0);
}

/* A client of the list, such as resex-peek, on host n's folder. */
static struct transport *client_of(const struct rig *r, uint16_t n, uint32_t rights)
{
	const struct cached_conf *c = &r->all->host[n]->conf;
	struct transport_conf tc = { .host = CACHED_CLIENT,
				     .generation = 1,
				     .role = TRANSPORT_CLIENT,
				     .rights = rights,
				     .agreement = cluster_cache_agreement(&c->cluster),
				     .cluster = "test",
				     .key = c->key.bytes,
				     .key_len = c->key.len };
	struct transport_peer p;
	struct transport *t;
	char text[256];

	strcpy(tc.address, r->all->dir.path);
	assert_int_equal(transport_find("shm")->open(&t, &tc, node_now(node_of(r, n)), text), 0);
	cluster_cached_peer(&c->cluster, n - 1u, &p);
	assert_int_equal(transport_add(t, &p, node_now(node_of(r, n))), 0);
	return t;
}

/* What its next event is. */
static enum transport_event_type next_event(const struct rig *r, struct transport *t)
{
	struct transport_event ev = { 0 };
	size_t got = 0;

	CACHED_UNTIL(r->all,
		     got || (got = transport_poll(t, node_now(node_of(r, APP)), &ev, 1)) != 0);
	return ev.type;
}

RIG_TEST(client_of_the_list__may_read_each_host__and_no_more_than_its_rights)
{
	struct rig *r = *state;

	for (uint16_t n = APP; n <= PROXY; n++) {
		struct transport *t = client_of(r, n, 0);

		assert_int_equal(next_event(r, t), TRANSPORT_UP);
		transport_close(t);
		t = client_of(r, n, TRANSPORT_ATOMICS);
		assert_int_equal(next_event(r, t), TRANSPORT_ALARM);
		transport_close(t);
	}
}

RIG_TEST(links__a_user_is_added_when_they_are_up__is_told)
{
	struct rig *r = *state;

	memset(&r->user[APP], 0, sizeof(r->user[APP]));
	add_user(r, APP);
	for (uint16_t n = APP; n <= PROXY; n++)
		assert_int_equal(r->user[APP].links[n], 1);
}

RIG_TEST(region__versions_of_another_host__are_read)
{
	struct rig *r = *state;
	uint64_t *versions = node_part(node_of(r, OTHER), TRANSPORT_VERSIONS);
	struct step_op op = { .kind = STEP_READ, .part = STEP_VERSIONS, .host = OTHER, .len = 8 };
	struct step_event ev;

	op.offset = region_cache_word_offset(31); /* the last one */
	versions[op.offset / 8] = 0xabcd;
	ev = does(r, PROXY, op);
	assert_int_equal(ev.outcome, STEP_DONE);
	assert_true(ev.old == 0xabcd);
	op.host = APP; /* the own one, by the transport, too */
	ev = does(r, APP, op);
	assert_int_equal(ev.outcome, STEP_DONE);
	assert_true(ev.old == 0);
}

RIG_TEST(region__ack_words__are_changed_and_read)
{
	struct rig *r = *state;
	struct step_op op = { .kind = STEP_CAS,
			      .part = STEP_WORDS,
			      .host = OTHER,
			      .offset = region_cache_ack_offset(1, CACHED_HOSTS),
			      .value = 5 };
	struct step_event ev = does(r, APP, op);

	assert_int_equal(ev.outcome, STEP_DONE);
	assert_true(ev.old == 0);
	op.kind = STEP_READ;
	op.len = 8;
	ev = does(r, OTHER, op);
	assert_true(ev.outcome == STEP_DONE && ev.old == 5);
	op.offset = region_cache_ack_offset(2, 1); /* there are two slots */
	assert_int_equal(does(r, OTHER, op).outcome, STEP_REFUSED);
}

RIG_TEST(region__header__says_what_is_served)
{
	struct rig *r = *state;
	struct step_op op = { .kind = STEP_READ, .part = STEP_TABLE, .host = OTHER, .len = 4096 };
	struct region_cache c;

	assert_int_equal(does(r, APP, op).outcome, STEP_DONE);
	assert_int_equal(region_parse_cache(r->user[APP].data, OTHER,
					    node_generation(node_of(r, OTHER)), &c),
			 0);
	assert_true(c.words == 32 && c.slots == 2);
	op.host = PROXY;
	assert_int_equal(does(r, APP, op).outcome, STEP_DONE);
	assert_int_equal(region_parse_cache(r->user[APP].data, PROXY,
					    node_generation(node_of(r, PROXY)), &c),
			 0);
	assert_true(c.words == 0);
	assert_null(node_part(node_of(r, PROXY), TRANSPORT_VERSIONS));
}

RIG_TEST(ask__within_after__is_done_too)
{
	struct rig *r = *state;
	struct user *u = &r->user[APP];
	uint32_t before = u->results;

	u->op = (struct step_op){
		.kind = STEP_READ, .part = STEP_VERSIONS, .host = OTHER, .len = 8
	};
	u->more = 20;
	node_ask(u->node, u, 0, NULL);
	CACHED_UNTIL(r->all, u->results == before + 21);
	assert_int_equal(u->more, 0);
}

RIG_TEST(send__a_message__arrives_with_its_sender)
{
	struct rig *r = *state;

	node_send(node_of(r, PROXY), OTHER, "hello", 6);
	CACHED_UNTIL(r->all, r->messages == 1);
	assert_int_equal(r->from, PROXY);
	assert_string_equal(r->message, "hello");
	node_send(node_of(r, OTHER), OTHER, "self", 5);
	CACHED_UNTIL(r->all, r->messages == 2);
	assert_int_equal(r->from, OTHER);
}

/* More than a link takes at once: they wait, and none is lost. */
RIG_TEST(send__many_at_once__all_arrive)
{
	struct rig *r = *state;

	for (int i = 0; i < 100; i++)
		node_send(node_of(r, APP), OTHER, "x", 2);
	CACHED_UNTIL(r->all, r->messages == 100);
}

RIG_TEST(send__no_link_or_too_long__is_dropped)
{
	struct rig *r = *state;
	char longest[NODE_SEND_MAX + 1] = "x";

	node_send(node_of(r, APP), 77, "x", 2);
	node_send(node_of(r, APP), OTHER, longest, sizeof(longest));
	node_send(node_of(r, APP), OTHER, "x", 0);
	node_send(node_of(r, APP), OTHER, longest, NODE_SEND_MAX);
	CACHED_UNTIL(r->all, r->messages == 1);
	cached_pass(r->all, 5 * NS_PER_MS);
	assert_int_equal(r->messages, 1);
}

RIG_TEST(start__again__is_another_generation_and_another_link)
{
	struct rig *r = *state;
	uint64_t before = node_generation(node_of(r, OTHER));
	struct conf_error e = { 0 };

	assert_true(before > 0);
	cached_close(r->all, OTHER);
	CACHED_UNTIL(r->all, !node_link(node_of(r, APP), OTHER));
	assert_int_equal(cached_open(r->all, OTHER, &e), 0);
	assert_true(node_generation(node_of(r, OTHER)) > before);
	CACHED_UNTIL(r->all, node_link(node_of(r, APP), OTHER));
	assert_int_equal(node_link(node_of(r, APP), OTHER), 2);
	assert_int_equal(r->user[APP].links[OTHER], 2);
}

RIG_TEST(start__its_address_is_taken__is_refused_and_counts_no_generation)
{
	struct rig *r = *state;
	uint64_t before = node_generation(node_of(r, OTHER));
	struct cached_host *h = r->all->host[OTHER];
	struct conf_error e = { 0 };
	struct node *second = NULL;

	assert_true(node_open(&second, &h->conf, h->base, &r->all->log, &e) < 0);
	assert_true(e.text[0] && e.exit != RESEX_OK);
	cached_close(r->all, OTHER);
	assert_int_equal(cached_open(r->all, OTHER, &e), 0);
	assert_true(node_generation(node_of(r, OTHER)) == before + 1);
}

/* A host with another "cache" would wait too short, or write behind the ack words. */
RIG_TEST(start__with_other_settings__gets_no_link)
{
	struct rig *r = *state;
	struct conf_error e = { 0 };

	cached_close(r->all, OTHER);
	CACHED_UNTIL(r->all, !node_link(node_of(r, APP), OTHER));
	r->all->host[OTHER]->conf.cluster.cache.fresh_ns *= 2;
	r->all->log.level = 0; /* it says so */
	assert_int_equal(cached_open(r->all, OTHER, &e), 0);
	cached_pass(r->all, 50 * NS_PER_MS);
	assert_int_equal(node_link(node_of(r, APP), OTHER), 0);
}

RIG_TEST(tags__are_of_one_user_alone)
{
	struct rig *r = *state;
	struct node *n = node_of(r, APP);
	uint32_t first = node_tags(n, 10), second = node_tags(n, 1);

	assert_true(first > 0 && second >= first + 10);
	assert_int_equal(node_tags(n, 0), 0);
	assert_int_equal(node_tags(n, UINT32_MAX), 0);
	assert_true(node_tags(n, 1) == second + 1);
}
