// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_moves: three hosts are nodes, one of web and two of mail, and host 1 balances web. First
 * it only observes: what it would move, why, and what that would have brought. Then it acts.
 */
#include <string.h>

#include "tests/unit/cluster_rig.h"
#include "tests/unit/unit.h"

#define NODE(n, of)                                                                                \
	"{\"name\": \"n" #n "\", \"number\": " #n ", \"host\": \"xen" #n "\", "                    \
	"\"service\": \"" of "\"}"
#define NODES                                                                                      \
	SITE_TIMES ", \"nodes\": [" NODE(1, "web") ", " NODE(2, "mail") ", " NODE(3, "mail") "]"
#define RECONF(keys) NODES ", \"reconf\": {\"S\": \"100ms\", \"T\": \"4s\"" keys "}"
#define SERVICES                                                                                   \
	"{\"name\": \"web\", \"number\": 1, \"balancers\": [\"xen1\"]}, "                          \
	"{\"name\": \"mail\", \"number\": 255, \"balancers\": [\"xen2\"]}"

/* Of each node, by its number, in 1/1000. -1: it cannot be sampled. */
static int load[SITES + 1];

static int sample(struct load *l, struct load_record *r)
{
	uint64_t ns = (uint64_t)r->sampled_ns / 1000;
	int busy = load[r->node] < 1000 ? load[r->node] : 1000;

	(void)l;
	if (load[r->node] < 0)
		return -EPROTO;
	r->cpus = 2;
	r->flags |= LOAD_NO_RUNNING;
	r->busy_ns = ns * 2 * (uint64_t)busy;
	r->wait_ns = ns * 2 * (uint64_t)(load[r->node] - busy);
	return 0;
}

static struct load_ops by_test;

static void write_sites(struct sites *s, const char *more, const char *services)
{
	char name[32], text[SITE_TEXT];

	for (int i = 1; i <= SITES; i++) {
		site_text(s, i, "test", SITES, more, services, text);
		snprintf(name, sizeof(name), "c%d.json", i);
		tmp_write(&s->dir, name, text);
	}
}

static void open_site(struct sites *s, int i)
{
	site_open(s, i);
	s->at[i].c->worker.load_ops = &by_test;
	s->at[i].c->worker.fill.filler = NULL;
}

static struct sites *open_sites(void **state, const char *more)
{
	struct sites *s = sites_new();

	*state = s;
	by_test = load_proc;
	by_test.sample = sample;
	write_sites(s, more, SERVICES);
	for (int i = 1; i <= SITES; i++) {
		load[i] = 300;
		open_site(s, i);
	}
	return s;
}

static int setup(void **state)
{
	*state = NULL;
	return 0;
}

static int teardown(void **state)
{
	sites_free(*state);
	return 0;
}

#define RIG_TEST(name) TEST_WITH(name, setup, teardown)

static struct cluster_service_seen seen(struct sites *s, int host, uint32_t service)
{
	struct cluster_service_seen x;

	cluster_service_see(s->at[host].c, service, &x);
	return x;
}

static bool says(struct sites *s, const char *why)
{
	return !strcmp(seen(s, 1, 0).why, why);
}

RIG_TEST(without_reconf__services_are_shown_and_nothing_is_decided)
{
	struct sites *s = open_sites(state, NODES);
	struct cluster_service_seen x;
	char text[CLUSTER_SET_TEXT];
	struct conf_error e;

	sites_pass(s, NS_PER_S);
	x = seen(s, 1, 1);
	assert_string_equal(x.conf->name, "mail");
	assert_int_equal(x.nodes, 2);
	assert_string_equal(x.why, "");
	assert_string_equal(x.note, "nodes stay where they are: cluster.json has no \"reconf\"");
	assert_null(cluster_history(s->at[1].c, 0));
	assert_string_equal(cluster_history_note(s->at[1].c), "");
	assert_ptr_equal(x.in_force, x.conf);
	assert_int_equal(cluster_node_fix(s->at[1].c, 1, true), -EOPNOTSUPP);
	assert_false(cluster_node_fixed(s->at[1].c, 1));
	assert_int_equal(cluster_service_set(s->at[1].c, 0, NULL, &e), -EOPNOTSUPP);
	cluster_service_set_text(s->at[1].c, 0, text);
	assert_string_equal(text, "");
	cluster_service_reset(s->at[1].c);
}

RIG_TEST(service__high_for_t__would_get_the_node_that_is_least_loaded)
{
	struct sites *s = open_sites(state, RECONF(""));
	const struct cluster_move *m;
	struct cluster_service_seen x;
	struct mono began;

	site_until(s, says(s, "calm") && seen(s, 1, 0).known == 1 && seen(s, 1, 1).known == 2);
	x = seen(s, 1, 0);
	assert_true(x.here && x.nodes == 1 && !x.high_ns && !x.node);
	assert_in_range(x.load, 295, 305);
	assert_false(seen(s, 2, 0).here);
	assert_true(seen(s, 2, 1).here);
	load[1] = 1800;
	load[2] = 100;
	site_until(s, seen(s, 1, 0).high_ns);
	began = s->now;
	site_until(s, cluster_history(s->at[1].c, 0));
	assert_in_range(mono_sub(s->now, began), 3800 * MS, 4000 * MS);
	assert_true(says(s, "load"));
	x = seen(s, 1, 0);
	assert_string_equal(x.node->name, "n2");
	assert_string_equal(x.donor->name, "mail");
	m = cluster_history(s->at[1].c, 0);
	assert_string_equal(m->node, "n2");
	assert_string_equal(m->donor, "mail");
	assert_string_equal(m->taker, "web");
	assert_string_equal(m->why, "load");
	assert_string_equal(m->outcome, "observed");
	assert_int_equal(m->high_ns, 4000 * MS);
	assert_in_range(m->taker_before, 1750, 1850);
	assert_in_range(m->taker_predicted, 875, 925);
	assert_in_range(m->donor_before, 195, 205);
	assert_in_range(m->donor_predicted, 390, 410);
	assert_int_equal(m->taker_seen, -1);
	/* nothing was asked for */
	assert_true(m->told == -1 && m->held_ns == -1 && m->released_ns == -1);
	assert_true(site_has_event(s, 1, "reconf", "would move node n2 from mail to web"));
	/* 5 T later the loads are noted, whatever they are then. */
	load[1] = 600;
	site_until(s, (m = cluster_history(s->at[1].c, 0))->seen_wall_ns);
	assert_in_range(mono_sub(s->now, began), 23800 * MS, 24100 * MS);
	assert_in_range(m->taker_seen, 595, 605);
	assert_in_range(m->donor_seen, 195, 205);
	assert_null(cluster_history(s->at[1].c, 1));
	assert_null(cluster_history(s->at[2].c, 0));
}

RIG_TEST(checks__come_each_s_also_if_nothing_else_is_due)
{
	struct sites *s = open_sites(state, NODES ", \"reconf\": {\"S\": \"50ms\", \"T\": \"4s\"}");
	struct mono began;

	load[1] = 1800;
	site_until(s, seen(s, 1, 0).high_ns);
	began = s->now;
	site_until(s, cluster_history(s->at[1].c, 0));
	assert_in_range(mono_sub(s->now, began), 3900 * MS, 4000 * MS);
}

RIG_TEST(budget__counts_what_would_be_moved)
{
	struct sites *s = open_sites(state, RECONF(", \"budget\": \"2/h\""));
	struct mono began;

	load[1] = 1800;
	site_until(s, cluster_history(s->at[1].c, 0));
	began = s->now;
	site_until(s, says(s, "over-budget"));
	/* As after a move, T begins again. */
	assert_in_range(mono_sub(s->now, began), 7900 * MS, 8100 * MS);
	assert_int_equal(cluster_history(s->at[1].c, 0)->id, 2);
	assert_true(seen(s, 1, 0).wait_ns > 1700 * NS_PER_S);
	assert_string_equal(seen(s, 1, 0).wait_text, "its budget allows the next move");
	assert_true(seen(s, 1, 0).taker_predicted > 0);
	sites_pass(s, 10 * NS_PER_S);
	assert_int_equal(cluster_history(s->at[1].c, 0)->id, 2);
}

RIG_TEST(load__counts_from_its_second_record_on)
{
	struct sites *s = open_sites(state, RECONF(""));

	load[2] = -1;
	site_until(s, seen(s, 1, 0).known == 1 && seen(s, 1, 1).known == 1);
	load[2] = 300;
	while (seen(s, 1, 1).known < 2) {
		struct cluster_node_seen n;

		cluster_node_see(s->at[1].c, 1, s->now, &n);
		sites_ms(s);
		assert_true(seen(s, 1, 1).known == 1 || n.index >= 0);
	}
}

RIG_TEST(load__that_is_stale__is_no_reason)
{
	struct sites *s = open_sites(state, RECONF(""));

	load[1] = 1800;
	site_until(s, seen(s, 1, 0).high_ns >= 3000 * MS);
	load[1] = -1;
	site_until(s, !seen(s, 1, 0).known);
	assert_true(seen(s, 1, 0).load == -1 && !seen(s, 1, 0).high_ns);
	sites_pass(s, 6 * NS_PER_S);
	assert_null(cluster_history(s->at[1].c, 0));
}

RIG_TEST(host__that_was_not_read__is_why_nothing_is_decided)
{
	struct sites *s = open_sites(state, RECONF(""));

	site_kill(s, 1);
	site_kill(s, 3);
	open_site(s, 1);
	sites_pass(s, 3 * NS_PER_S);
	assert_string_equal(seen(s, 1, 0).note, "xen3 was not read yet: see resex host-list");
	open_site(s, 3);
	site_until(s, says(s, "calm"));
}

RIG_TEST(host__with_another_file__is_why_nothing_is_decided)
{
	struct sites *s = open_sites(state, RECONF(""));
	char text[SITE_TEXT];

	site_until(s, says(s, "calm"));
	site_kill(s, 3);
	site_text(s, 3, "test", SITES, RECONF(""), SITE_SERVICES, text);
	tmp_write(&s->dir, "c3.json", text);
	open_site(s, 3);
	load[1] = 1800;
	site_until(s, !strcmp(seen(s, 1, 0).note,
			      "xen3 holds another cluster.json: see resex host-list"));
	assert_string_equal(seen(s, 1, 0).why, "");
	assert_true(site_has_event(s, 1, "reconf", "xen3 holds another"));
	sites_pass(s, 6 * NS_PER_S);
	assert_null(cluster_history(s->at[1].c, 0));
	write_sites(s, RECONF(""), SERVICES);
	site_kill(s, 3);
	open_site(s, 3);
	site_until(s, cluster_history(s->at[1].c, 0));
	assert_true(site_has_event(s, 1, "reconf", "moves of nodes are decided on"));
}

RIG_TEST(history__is_there_after_a_restart)
{
	struct sites *s = open_sites(state, RECONF(""));

	load[1] = 1800;
	site_until(s, cluster_history(s->at[1].c, 0));
	load[1] = 300;
	site_until(s, cluster_history(s->at[1].c, 0)->seen_wall_ns);
	site_kill(s, 1);
	open_site(s, 1);
	assert_string_equal(cluster_history(s->at[1].c, 0)->node, "n2");
	assert_in_range(cluster_history(s->at[1].c, 0)->taker_seen, 295, 305);
}

#define YEAR_NS (365 * 24 * 3600 * NS_PER_S)

/* T, the later load and the order go by a clock that nobody sets. */
RIG_TEST(clock__set_back_a_year__changes_no_decision_and_no_order)
{
	struct sites *s = open_sites(state, RECONF(", \"rest\": \"0s\""));
	const struct cluster_move *m, *before;
	struct mono began;

	load[1] = 1800;
	site_until(s, seen(s, 1, 0).high_ns);
	began = s->now;
	sites_pass(s, 2 * NS_PER_S);
	s->wall_set = -YEAR_NS;
	site_until(s, cluster_history(s->at[1].c, 0));
	assert_in_range(mono_sub(s->now, began), 3800 * MS, 4000 * MS);
	s->wall_set = -3 * YEAR_NS;
	site_until(s, cluster_history(s->at[1].c, 1));
	assert_in_range(mono_sub(s->now, began), 7700 * MS, 8100 * MS);
	m = cluster_history(s->at[1].c, 0);
	before = cluster_history(s->at[1].c, 1);
	assert_true(m->id == 2 && m->wall_ns == WALL - 3 * YEAR_NS);
	assert_true(before->id == 1 && before->wall_ns == WALL - YEAR_NS);
	assert_true(m->at.ns > before->at.ns && before->at.ns > 0);
	load[1] = 300;
	s->wall_set = YEAR_NS;
	site_until(s, m->seen_wall_ns);
	assert_in_range(mono_sub(s->now, m->at), 19900 * MS, 20200 * MS);
	assert_true(m->seen_wall_ns == WALL + YEAR_NS);
	site_kill(s, 1);
	open_site(s, 1);
	m = cluster_history(s->at[1].c, 0);
	assert_true(m->id == 2 && m->at.ns == 0 && m->wall_ns == WALL - 3 * YEAR_NS);
	assert_int_equal(cluster_history(s->at[1].c, 1)->id, 1);
}

RIG_TEST(reconf__comes_and_goes_with_a_reload)
{
	struct sites *s = open_sites(state, NODES);
	uint64_t ticket;

	load[1] = 1800;
	sites_pass(s, NS_PER_S);
	/* while only host 1 has it, the hosts do not agree on whether nodes move */
	for (int i = 1; i <= SITES; i++) {
		assert_int_equal(site_reload(s, i, SITES, RECONF(""), SERVICES, &ticket), 0);
		site_until(s, cluster_reload_result(s->at[i].c, ticket) == 0);
		assert_null(cluster_history(s->at[1].c, 0));
		if (i == 1)
			site_until(s, strstr(seen(s, 1, 0).note, "holds another cluster.json"));
	}
	site_until(s, cluster_history(s->at[1].c, 0));
	assert_int_equal(site_reload(s, 1, SITES, NODES, SERVICES, &ticket), 0);
	site_until(s, cluster_reload_result(s->at[1].c, ticket) == 0);
	assert_non_null(strstr(seen(s, 1, 0).note, "has no \"reconf\""));
	assert_null(cluster_history(s->at[1].c, 0));
}

RIG_TEST(settings__of_a_reload__are_decided_by)
{
	struct sites *s = open_sites(state, RECONF(""));
	uint64_t ticket;

	load[1] = 1800;
	site_until(s, seen(s, 1, 0).high_ns >= 2000 * MS);
	assert_int_equal(
		site_reload(s, 1, SITES, RECONF(", \"margin\": \"500%\""), SERVICES, &ticket), 0);
	site_until(s, cluster_reload_result(s->at[1].c, ticket) == 0);
	assert_true(seen(s, 1, 0).high_ns < 2000 * MS);
	/* 0.3 + 0.3 on one node x 6 is above 1.8. */
	site_until(s, says(s, "no-gain"));
	/* It backs off, and the reason stays. */
	sites_pass(s, 2 * NS_PER_S);
	assert_true(says(s, "no-gain") && seen(s, 1, 0).wait_ns > 0);
	assert_string_equal(seen(s, 1, 0).wait_text, "it looks for a donor again");
	assert_string_equal(seen(s, 1, 0).donor->name, "mail");
	assert_null(cluster_history(s->at[1].c, 0));
}

RIG_TEST(loads_after_a_move__that_was_not_computed__are_not_known)
{
	struct sites *s = open_sites(state, RECONF(""));
	struct cluster_service_seen x;

	site_until(s, says(s, "calm"));
	x = seen(s, 1, 0);
	assert_true(x.donor_before == -1 && x.taker_predicted == -1 && x.donor_predicted == -1);
	load[1] = 1800;
	load[2] = load[3] = 1200;
	site_until(s, says(s, "none-low"));
	x = seen(s, 1, 0);
	assert_string_equal(x.donor->name, "mail");
	assert_true(x.taker_predicted == -1 && x.donor_predicted == -1);
	assert_in_range(x.donor_before, 1195, 1205);
}

/* --- acting --------------------------------------------------------------------------- */

#define ACT RECONF(", \"mode\": \"act\"")

static const char *serves(struct sites *s, int host, uint32_t node)
{
	struct cluster_node_seen x;

	cluster_node_see(s->at[host].c, node, s->now, &x);
	return x.service && x.kept ? x.service->name : "";
}

static bool all_see(struct sites *s, uint32_t node, const char *service)
{
	for (int i = 1; i <= SITES; i++)
		if (strcmp(serves(s, i, node), service) != 0)
			return false;
	return true;
}

static bool ended(struct sites *s, const char *outcome)
{
	const struct cluster_move *m = cluster_history(s->at[1].c, 0);

	return m && !strcmp(m->outcome, outcome);
}

/* As the lock's word has it, since the newest holder released it. */
static void assert_fence(struct sites *s, uint32_t service, const char *fence)
{
	uint64_t seq;
	char text[24];

	sites_pass(s, 2 * SCAN);
	seq = region_word_seq(site_lock(s, 1, service).word);
	snprintf(text, sizeof(text), "%u.%u", region_seq_epoch(seq), region_seq_count(seq));
	assert_string_equal(fence, text);
}

RIG_TEST(act__moves_the_node__all_hosts_see_it__and_it_stays_after_restarts)
{
	struct sites *s = open_sites(state, ACT);
	const struct cluster_move *m;

	site_until(s, all_see(s, 1, "mail"));
	load[1] = 1800;
	load[2] = 100;
	site_until(s, cluster_history(s->at[1].c, 0));
	site_until(s, ended(s, "moved"));
	m = cluster_history(s->at[1].c, 0);
	assert_string_equal(m->node, "n2");
	assert_string_equal(m->why, "load");
	assert_string_equal(m->host, "xen1");
	assert_true(m->held_ns > 0 && m->read_ns >= m->held_ns && m->told_ns >= m->read_ns);
	assert_true(m->moved_ns >= m->told_ns && m->released_ns >= m->moved_ns);
	assert_true(m->released_ns < 4 * NS_PER_S); /* no time of day */
	assert_fence(s, 0, m->taker_fence);
	assert_fence(s, 1, m->donor_fence);
	/* mail is balanced at xen2; web at this host alone */
	assert_int_equal(m->told, 1);
	assert_true(site_has_event(s, 1, "reconf", "moved node n2 from mail to web (load)"));
	load[2] = 1800;
	site_until(s, all_see(s, 1, "web"));
	site_until(s, seen(s, 1, 0).nodes == 2);
	/* T begins again: nothing is asked for before */
	sites_pass(s, 3 * NS_PER_S);
	assert_in_range(seen(s, 1, 0).high_ns, NS_PER_S, 3500 * MS);
	assert_null(cluster_history(s->at[1].c, 1));
	load[1] = load[2] = 300;
	sites_pass(s, 6 * NS_PER_S);
	assert_null(cluster_history(s->at[1].c, 1));
	for (int i = 1; i <= SITES; i++) {
		site_kill(s, i);
		sites_pass(s, NS_PER_S);
		open_site(s, i);
	}
	site_until(s, all_see(s, 1, "web") && all_see(s, 0, "web") && all_see(s, 2, "mail"));
	site_until(s, cluster_history(s->at[1].c, 0));
	assert_true(ended(s, "moved"));
}

static int order(struct sites *s, int host, uint32_t node, uint32_t service, uint64_t *ticket)
{
	char why[CLUSTER_WHY_TEXT];

	return cluster_move(s->at[host].c, node, service, s->now, ticket, why);
}

static int result(struct sites *s, int host, uint64_t ticket)
{
	site_until(s, cluster_result(s->at[host].c, ticket) != -EINPROGRESS);
	return cluster_result(s->at[host].c, ticket);
}

RIG_TEST(order__moves_a_node_whatever_the_load__by_any_host__or_says_why_not)
{
	struct sites *s = open_sites(state, RECONF(""));
	uint64_t ticket, other;
	char why[CLUSTER_WHY_TEXT];

	assert_int_equal(cluster_move(s->at[2].c, 1, 0, s->now, &ticket, why), -EPERM);
	assert_true(*why);
	for (int i = 1; i <= SITES; i++)
		site_until(s, seen(s, i, 0).known == 1 && seen(s, i, 1).known == 2);
	assert_int_equal(order(s, 2, 0, 0, &ticket), -EALREADY);
	assert_int_equal(order(s, 2, 1, 0, &ticket), 0);
	assert_int_equal(cluster_move(s->at[2].c, 2, 0, s->now, &other, why), -EBUSY);
	assert_non_null(strstr(why, "the move of n2 to web, which an operator began 0 ms ago"));
	assert_int_equal(result(s, 2, ticket), 0);
	site_until(s, all_see(s, 1, "web"));
	assert_string_equal(cluster_history(s->at[2].c, 0)->why, "order");
	assert_string_equal(cluster_history(s->at[2].c, 0)->host, "xen2");
	/* mail keeps its minimum of one node */
	assert_int_equal(cluster_move(s->at[1].c, 2, 0, s->now, NULL, why), -ENOSPC);
	assert_non_null(strstr(why, "mail keeps its minimum of 1 node, and has 1: "));
	/* and back */
	assert_int_equal(order(s, 3, 1, 1, &ticket), 0);
	assert_int_equal(result(s, 3, ticket), 0);
	site_until(s, all_see(s, 1, "mail"));
}

/* Each of two hosts saw that mail has a node to spare: under the locks only the first finds one. */
RIG_TEST(orders__of_two_hosts__leave_the_minimum)
{
	struct sites *s = open_sites(state, RECONF(""));
	uint64_t ticket, other;

	for (int i = 1; i <= SITES; i++)
		site_until(s, seen(s, i, 0).known == 1 && seen(s, i, 1).known == 2);
	assert_int_equal(order(s, 2, 1, 0, &other), 0);
	assert_int_equal(order(s, 1, 2, 0, &ticket), 0);
	assert_int_equal(result(s, 2, other), 0);
	assert_string_equal(cluster_move_text(result(s, 1, ticket)),
			    "the service that it serves has no more than its minimum of nodes");
	site_until(s, ended(s, "no-donor"));
	assert_true(cluster_history(s->at[1].c, 0)->moved_ns == -1);
	assert_true(cluster_history(s->at[1].c, 0)->released_ns > 0);
	assert_true(site_has_event(s, 1, "reconf", "node n3 stays in mail, not web: the service"));
	assert_true(all_see(s, 2, "mail"));
}

/* n1 has four times the capacity of the others. */
#define UNEQUAL                                                                                    \
	SITE_TIMES ", \"nodes\": [{\"name\": \"n1\", \"number\": 1, \"host\": \"xen1\", "          \
		   "\"service\": \"web\", \"capacity\": 4000}, " NODE(2, "mail") ", " NODE(        \
			   3, "mail") "], \"reconf\": {\"S\": \"100ms\", \"T\": \"4s\", "          \
				      "\"mode\": \"act\"}"

/* Four reversals freeze moves. Then each service has its share again, and its own nodes. */
RIG_TEST(frozen__all_nodes_go_to_the_service_that_the_file_gives_them)
{
	static const struct {
		uint32_t node, service;
	} orders[] = { { 1, 0 }, { 1, 1 }, { 1, 0 }, { 0, 1 }, { 2, 0 } };
	struct sites *s = open_sites(state, UNEQUAL);
	uint64_t ticket;

	for (int i = 1; i <= SITES; i++)
		site_until(s, seen(s, i, 0).known == 1 && seen(s, i, 1).known == 2);
	for (uint32_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		assert_int_equal(order(s, 3, orders[i].node, orders[i].service, &ticket), 0);
		assert_int_equal(result(s, 3, ticket), 0);
		site_until(s, all_see(s, orders[i].node, orders[i].service ? "mail" : "web"));
		sites_pass(s, 300 * MS); /* a check of each host has seen it, too */
	}
	site_until(s, all_see(s, 0, "web") && all_see(s, 1, "mail") && all_see(s, 2, "mail"));
	assert_string_equal(cluster_history(s->at[1].c, 0)->why, "home");
	assert_string_equal(cluster_history(s->at[1].c, 0)->node, "n1");
}

/* As a host that dies while it holds the lock of web at host 1. */
static void hold_lock(struct sites *s, uint16_t host, uint64_t word)
{
	const struct transport_op op = { .kind = TRANSPORT_CAS64,
					 .host = 1,
					 .part = TRANSPORT_WORDS,
					 .offset = region_lock_offset(1),
					 .compare = word,
					 .value = region_word(host, region_word_seq(word) + 1),
					 .tag = UINT64_MAX,
					 .deadline = mono_add(s->now, NS_PER_S) };

	assert_int_equal(transport_post(s->at[host].c->worker.t, &op, 1, s->now, NULL), 1);
}

RIG_TEST(move__and_a_break_or_a_reload__wait_for_each_other)
{
	struct sites *s = open_sites(state, ACT);
	uint64_t ticket, other;

	site_until(s, seen(s, 1, 0).known == 1 && seen(s, 1, 1).known == 2);
	assert_int_equal(order(s, 1, 1, 0, &ticket), 0);
	assert_int_equal(cluster_break(s->at[1].c, 0, true, &other), 0);
	assert_int_equal(result(s, 1, other), -EAGAIN);
	assert_int_equal(result(s, 1, ticket), 0);
	site_until(s, all_see(s, 1, "web"));
	assert_int_equal(order(s, 1, 1, 1, &ticket), 0);
	assert_int_equal(
		site_reload(s, 1, SITES, RECONF(", \"margin\": \"500%\""), SERVICES, &other), 0);
	site_until(s, cluster_reload_result(s->at[1].c, other) == 0);
	assert_int_equal(cluster_result(s->at[1].c, ticket), 0);
	assert_true(ended(s, "moved"));
	/* after the reload moves go on, with tags of their own */
	site_until(s, all_see(s, 1, "mail") && seen(s, 1, 0).known == 1);
	assert_int_equal(order(s, 1, 1, 0, &ticket), 0);
	assert_int_equal(result(s, 1, ticket), 0);
	site_until(s, all_see(s, 1, "web"));
	hold_lock(s, 2, site_lock(s, 1, 0).word);
	site_until(s, region_word_id(site_lock(s, 1, 0).word) == 2);
	assert_int_equal(cluster_break(s->at[1].c, 0, true, &other), 0);
	assert_int_equal(order(s, 1, 1, 1, &ticket), 0);
	assert_int_equal(result(s, 1, ticket), -EAGAIN);
	site_until(s, ended(s, "not-begun"));
	assert_int_equal(result(s, 1, other), 0);
}

RIG_TEST(order__with_a_long_s__does_not_wait_for_it)
{
	struct sites *s = open_sites(state, NODES ", \"reconf\": {\"S\": \"30s\", \"T\": \"90s\"}");
	struct mono began;
	uint64_t ticket;

	site_until(s, all_see(s, 1, "mail") && order(s, 1, 1, 0, NULL) == 0);
	began = s->now;
	assert_int_equal(order(s, 1, 1, 0, &ticket), 0);
	assert_int_equal(result(s, 1, ticket), 0);
	/* the first holder of a view waits for those of before: hold + timeout */
	assert_true(mono_sub(s->now, began) < 2 * (2 + 1) * NS_PER_S);
}

RIG_TEST(mode__set_by_an_operator__holds_until_the_file_has_another)
{
	struct sites *s = open_sites(state, RECONF(""));
	uint64_t ticket;

	assert_int_equal(cluster_reconf_mode(s->at[1].c), RECONF_OBSERVE);
	assert_int_equal(cluster_reconf_set(s->at[1].c, RECONF_PAUSE), 0);
	load[1] = 1800;
	sites_pass(s, 8 * NS_PER_S);
	assert_non_null(strstr(seen(s, 1, 0).note, "an operator has paused it"));
	assert_null(cluster_history(s->at[1].c, 0));
	assert_int_equal(cluster_reconf_set(s->at[1].c, RECONF_ACT), 0);
	assert_true(site_has_event(s, 1, "reconf", "an operator has set the mode to act"));
	assert_int_equal(
		site_reload(s, 1, SITES, RECONF(", \"margin\": \"30%\""), SERVICES, &ticket), 0);
	site_until(s, cluster_reload_result(s->at[1].c, ticket) == 0);
	assert_int_equal(cluster_reconf_mode(s->at[1].c), RECONF_ACT);
	site_until(s, ended(s, "moved"));
	assert_int_equal(site_reload(s, 1, SITES, ACT, SERVICES, &ticket), 0);
	site_until(s, cluster_reload_result(s->at[1].c, ticket) == 0);
	assert_int_equal(site_reload(s, 1, SITES, RECONF(""), SERVICES, &ticket), 0);
	site_until(s, cluster_reload_result(s->at[1].c, ticket) == 0);
	assert_int_equal(cluster_reconf_mode(s->at[1].c), RECONF_OBSERVE);
}

RIG_TEST(node__whose_host_is_gone__is_not_moved)
{
	struct sites *s = open_sites(state, ACT);
	uint64_t ticket;

	site_until(s, seen(s, 1, 0).known == 1 && seen(s, 1, 1).known == 2);
	site_kill(s, 2);
	site_until(s, site_sees(s, 1, 2).state == CLUSTER_DOWN);
	assert_int_equal(order(s, 1, 1, 0, &ticket), -ENODATA);
}

/* --- what an operator sets ------------------------------------------------------------- */

RIG_TEST(node__that_is_fixed__is_not_moved_until_it_is_released)
{
	struct sites *s = open_sites(state, ACT);
	uint64_t ticket;

	site_until(s, seen(s, 1, 0).known == 1 && seen(s, 1, 1).known == 2);
	for (uint32_t i = 1; i < 3; i++) {
		assert_false(cluster_node_fixed(s->at[1].c, i));
		assert_int_equal(cluster_node_fix(s->at[1].c, i, true), 0);
		assert_int_equal(cluster_node_fix(s->at[1].c, i, true), 0);
	}
	assert_true(cluster_node_fixed(s->at[1].c, 1) && !cluster_node_fixed(s->at[2].c, 1));
	assert_true(site_has_event(s, 1, "reconf", "an operator has fixed node n2"));
	assert_int_equal(order(s, 1, 1, 0, &ticket), -ECANCELED);
	assert_int_equal(order(s, 1, 1, 0, NULL), -ECANCELED);
	load[1] = 1800;
	site_until(s, says(s, "stuck"));
	/* cluster.json says nothing of it */
	assert_int_equal(site_reload(s, 1, SITES,
				     RECONF(", \"mode\": \"act\", \"margin\": \"30%\""), SERVICES,
				     &ticket),
			 0);
	site_until(s, cluster_reload_result(s->at[1].c, ticket) == 0);
	site_until(s, says(s, "stuck"));
	assert_null(cluster_history(s->at[1].c, 0));
	assert_int_equal(cluster_node_fix(s->at[1].c, 2, false), 0);
	assert_true(site_has_event(s, 1, "reconf", "an operator has released node n3"));
	site_until(s, ended(s, "moved"));
	assert_string_equal(cluster_history(s->at[1].c, 0)->node, "n3");
}

static int set(struct sites *s, uint32_t service, const char *text)
{
	struct conf_error e = { 0 };
	struct conf_doc d = { 0 };
	int rc;

	assert_int_equal(conf_parse(&d, "f", text, strlen(text), &e), 0);
	rc = cluster_service_set(s->at[1].c, service, &d, &e);
	conf_free(&d);
	return rc;
}

RIG_TEST(service__set_by_an_operator__is_decided_by_until_a_reload_or_a_restart)
{
	struct sites *s = open_sites(state, RECONF(""));
	char text[CLUSTER_SET_TEXT];
	uint64_t ticket;

	load[1] = 1000;
	site_until(s, says(s, "calm") && seen(s, 1, 0).known == 1 && seen(s, 1, 1).known == 2);
	assert_int_equal(set(s, 0, "{\"high\": 950, \"maximum\": 1}"), 0);
	assert_int_equal(set(s, 0, "{\"low\": 950}"), -EINVAL);
	assert_int_equal(set(s, 0, "{\"minimum\": 0}"), -EINVAL);
	/* mail has one, too, and there are three nodes */
	assert_int_equal(set(s, 0, "{\"guarantee\": 3, \"share\": 3, \"maximum\": 3}"), -EINVAL);
	assert_int_equal(seen(s, 1, 0).in_force->guarantee, 1);
	assert_true(seen(s, 1, 0).in_force->high == 950 && seen(s, 1, 0).conf->high == 1500);
	assert_int_equal(seen(s, 1, 0).in_force->low, 900);
	cluster_service_set_text(s->at[1].c, 0, text);
	assert_string_equal(text, "maximum 1, high 950");
	assert_true(site_has_event(s, 1, "reconf",
				   "an operator has set of service web: maximum 1, high 950"));
	site_until(s, says(s, "at-maximum"));
	assert_int_equal(set(s, 0, "{\"maximum\": 3}"), 0);
	site_until(s, cluster_history(s->at[1].c, 0));
	/* T begins again with another high. */
	site_until(s, seen(s, 1, 0).high_ns >= 2000 * MS);
	assert_int_equal(set(s, 0, "{\"share\": 2}"), 0);
	assert_true(seen(s, 1, 0).high_ns >= 2000 * MS);
	assert_int_equal(set(s, 0, "{\"high\": 960}"), 0);
	assert_int_equal(seen(s, 1, 0).high_ns, 0);
	assert_int_equal(
		site_reload(s, 1, SITES, RECONF(", \"margin\": \"30%\""), SERVICES, &ticket), 0);
	site_until(s, cluster_reload_result(s->at[1].c, ticket) == 0);
	assert_int_equal(seen(s, 1, 0).in_force->high, 1500);
	assert_true(site_has_event(s, 1, "reconf",
				   "cluster.json holds again for service web, not: "
				   "share 2, maximum 3, high 960"));
	assert_int_equal(set(s, 0, "{\"high\": 950}"), 0);
	cluster_service_reset(s->at[1].c);
	cluster_service_set_text(s->at[1].c, 0, text);
	assert_string_equal(text, "");
	assert_int_equal(set(s, 0, "{\"high\": 950}"), 0);
	site_kill(s, 1);
	open_site(s, 1);
	assert_int_equal(seen(s, 1, 0).in_force->high, 1500);
	sites_pass(s, 6 * NS_PER_S);
	assert_true(says(s, "calm"));
}
