// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_adopt: the file of node words of host 2 is damaged, and host 2 starts again. Hosts 1 and
 * 3 balance web, host 2 balances mail. Which of them adopts its node n2, when, and for what.
 */
#include <string.h>

#include "tests/unit/cluster_rig.h"
#include "tests/unit/unit.h"

#define NODE(n, of)    "{\"name\": \"n" #n "\", \"number\": " #n ", \"host\": \"xen" #n "\"" of "}"
#define OF(service)    ", \"service\": \"" service "\""
#define RECONF(second) /* g serves nothing */                                                      \
	SITE_TIMES                                                                                 \
	", \"nodes\": [" NODE(1, OF("web")) ", " NODE(2, OF(second)) ", " NODE(                    \
		3,                                                                                 \
		OF("mail")) ", "                                                                   \
			    "{\"name\": \"g\", \"number\": 9, \"host\": \"xen2\", \"guest\": "     \
			    "\"g\"}"                                                               \
			    "], \"reconf\": {\"S\": \"100ms\", \"T\": \"4s\", \"mode\": \"act\"}"
#define SERVICES                                                                                   \
	"{\"name\": \"web\", \"number\": 1, \"balancers\": [\"xen1\", \"xen3\"]}, "                \
	"{\"name\": \"mail\", \"number\": 255, \"balancers\": [\"xen2\"]}"

enum { N2 = 1, GUEST = 3, WEB = 0 };

#define BREAK (4 * NS_PER_S) /* hold + timeout, with some drift, and less than this */

static int setup_of(void **state, const char *more)
{
	struct sites *s = sites_new();
	char name[32], text[SITE_TEXT];

	*state = s;
	for (int i = 1; i <= SITES; i++) {
		site_text(s, i, "test", SITES, more, SERVICES, text);
		snprintf(name, sizeof(name), "c%d.json", i);
		tmp_write(&s->dir, name, text);
		site_open(s, i);
	}
	return 0;
}

static int setup(void **state)
{
	return setup_of(state, RECONF("mail"));
}

static int setup_web(void **state)
{
	return setup_of(state, RECONF("web"));
}

static int teardown(void **state)
{
	sites_free(*state);
	return 0;
}

static struct cluster_node_seen seen(struct sites *s, int host, uint32_t node)
{
	struct cluster_node_seen x;

	cluster_node_see(s->at[host].c, node, s->now, &x);
	return x;
}

static bool all_see(struct sites *s, const char *service)
{
	for (int i = 1; i <= SITES; i++) {
		struct cluster_node_seen x = seen(s, i, N2);

		if (!x.service || !x.kept || strcmp(x.service->name, service) != 0)
			return false;
	}
	return true;
}

static int order(struct sites *s, int host, uint32_t node, uint64_t *ticket)
{
	char why[CLUSTER_WHY_TEXT];

	return cluster_move(s->at[host].c, node, WEB, s->now, ticket, why);
}

static int result(struct sites *s, int host, uint64_t ticket)
{
	site_until(s, cluster_result(s->at[host].c, ticket) != -EINPROGRESS);
	return cluster_result(s->at[host].c, ticket);
}

/* n2 goes from its configured service to web, by an order. */
static void move_to_web(struct sites *s)
{
	uint64_t ticket;

	site_until(s, all_see(s, "mail"));
	site_until(s, order(s, 1, N2, NULL) == 0);
	assert_int_equal(order(s, 1, N2, &ticket), 0);
	assert_int_equal(result(s, 1, ticket), 0);
	site_until(s, all_see(s, "web"));
}

static void damage(struct sites *s)
{
	site_kill(s, 2);
	tmp_write(&s->at[2].g->dir, "nodes", "resex nodes 1\n2 1 0 1\ncrc 00000000\n");
	site_open(s, 2);
}

static bool is_lost(struct sites *s)
{
	struct cluster_node_seen x = seen(s, 1, N2);

	return x.word_known && x.lost && !x.service;
}

static const struct cluster_move *newest(struct sites *s, int host)
{
	return cluster_history(s->at[host].c, 0);
}

static bool has_adopted(struct sites *s, int host, const char *outcome)
{
	const struct cluster_move *m = newest(s, host);

	return m && !strcmp(m->why, "adopt") && !strcmp(m->outcome, outcome);
}

/* It goes on serving the service that others saw it in last, not the configured one. */
TEST_WITH(lost_node__is_adopted_by_the_service_it_was_in, setup, teardown)
{
	struct sites *s = *state;
	struct mono began;

	move_to_web(s);
	damage(s);
	site_until(s, is_lost(s));
	began = s->now;
	site_until(s, all_see(s, "web"));
	assert_in_range(mono_sub(s->now, began), 3 * NS_PER_S, BREAK + 3 * NS_PER_S);
	assert_true(has_adopted(s, 1, "moved"));
	assert_string_equal(newest(s, 1)->node, "n2");
	assert_string_equal(newest(s, 1)->donor, "");
	assert_string_equal(newest(s, 1)->taker, "web");
	assert_true(site_has_event(s, 1, "reconf",
				   "node n2 was in no service, and serves web (adopt)"));
	assert_null(newest(s, 3)); /* a balancer of web, and the second one */
	site_kill(s, 2);
	site_open(s, 2);
	site_until(s, all_see(s, "web"));
	assert_false(is_lost(s));
}

TEST_WITH(lost_node__says_so_and_why, setup, teardown)
{
	struct sites *s = *state;
	struct mono since;
	uint32_t link;

	site_until(s, all_see(s, "mail"));
	words_none(&s->at[1].c->worker, 2, 2, &since, &link);
	assert_int_equal(link, 0);
	damage(s);
	site_until(s, is_lost(s));
	words_none(&s->at[1].c->worker, 2, 2, &since, &link);
	assert_int_equal(link, transport_link(s->at[1].c->worker.t, 2));
	assert_in_range(mono_sub(s->now, since), 0, NS_PER_S);
	assert_true(site_has_event(s, 2, "reconf", "go on as before; balancers in mode act adopt"));
	sites_pass(s, NS_PER_S);
	assert_non_null(strstr(seen(s, 1, N2).note, "its host had lost which one it serves"));
	/* One that had no service has lost none. */
	assert_true(seen(s, 1, GUEST).word_known && !seen(s, 1, GUEST).lost);
}

/* Nobody has seen it in a service: the configured one, later. */
TEST_WITH(lost_node__that_nobody_has_seen__is_adopted_by_its_configured_service, setup, teardown)
{
	struct sites *s = *state;
	struct mono began;

	move_to_web(s);
	site_kill(s, 1);
	site_kill(s, 3);
	damage(s);
	sites_pass(s, NS_PER_S);
	site_open(s, 1);
	site_open(s, 3);
	site_until(s, is_lost(s));
	began = s->now;
	site_until(s, all_see(s, "mail"));
	assert_true(mono_sub(s->now, began) > 4 * 4 * NS_PER_S);
	assert_true(has_adopted(s, 2, "moved"));
}

TEST_WITH(mode_observe__notes_it_once__and_the_next_balancer_adopts, setup, teardown)
{
	struct sites *s = *state;
	struct mono began;

	move_to_web(s);
	assert_int_equal(cluster_reconf_set(s->at[1].c, RECONF_OBSERVE), 0);
	assert_int_equal(cluster_reconf_set(s->at[3].c, RECONF_PAUSE), 0);
	damage(s);
	assert_int_equal(cluster_reconf_set(s->at[2].c, RECONF_PAUSE), 0);
	site_until(s, has_adopted(s, 1, "observed"));
	assert_true(site_has_event(s, 1, "reconf", "would adopt node n2, which is in no service"));
	sites_pass(s, 20 * NS_PER_S);
	assert_true(is_lost(s));
	assert_string_equal(cluster_history(s->at[1].c, 1)->why, "order"); /* the one before */
	began = s->now;
	assert_int_equal(cluster_reconf_set(s->at[3].c, RECONF_ACT), 0);
	site_until(s, all_see(s, "web"));
	assert_true(mono_sub(s->now, began) < 3 * NS_PER_S); /* its turn had come */
	assert_true(has_adopted(s, 3, "moved"));
}

TEST_WITH(order__adopts_a_lost_node__by_any_host_in_any_mode, setup, teardown)
{
	struct sites *s = *state;
	struct mono began;
	uint64_t ticket;

	site_until(s, all_see(s, "mail"));
	for (int i = 1; i <= SITES; i++)
		assert_int_equal(cluster_reconf_set(s->at[i].c, RECONF_OBSERVE), 0);
	damage(s);
	assert_int_equal(cluster_reconf_set(s->at[2].c, RECONF_OBSERVE), 0);
	site_until(s, is_lost(s));
	began = s->now;
	site_until(s, order(s, 1, N2, NULL) == 0);
	assert_int_equal(order(s, 1, N2, &ticket), 0);
	assert_int_equal(result(s, 1, ticket), 0);
	assert_true(mono_sub(s->now, began) >= 3 * NS_PER_S - SCAN); /* a break */
	site_until(s, all_see(s, "web"));
	assert_string_equal(newest(s, 1)->why, "order");
	assert_string_equal(newest(s, 1)->donor, "");
	assert_int_equal(order(s, 1, GUEST, &ticket), -ENODATA);
}

/* mail has n3 alone, and its minimum is 1: n3 is lost, too. */
TEST_WITH(lost_node__that_another_service_may_need__waits, setup_web, teardown)
{
	struct sites *s = *state;

	site_until(s, all_see(s, "web"));
	site_kill(s, 3);
	tmp_write(&s->at[3].g->dir, "nodes", "");
	site_open(s, 3);
	damage(s);
	assert_int_equal(cluster_reconf_set(s->at[2].c, RECONF_PAUSE), 0);
	site_until(s, has_adopted(s, 1, "needed"));
	assert_true(is_lost(s));
	assert_true(
		site_has_event(s, 1, "reconf", "node n2 stays in no service, not web: another"));
	/* Then mail has its node again. */
	assert_int_equal(cluster_reconf_set(s->at[2].c, RECONF_ACT), 0);
	site_until(s, has_adopted(s, 2, "moved"));
	site_until(s, all_see(s, "web"));
}
