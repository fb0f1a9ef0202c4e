// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fake_cluster: replaces src/cluster for the tests of control: three hosts and two
 * services. See fake_cluster.h.
 */
#include "tests/fakes/fake_cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void add_host(struct cluster *c, const char *name, enum cluster_state state, int64_t age)
{
	struct cluster_host *h = &c->conf.host[c->conf.hosts];
	struct cluster_seen *s = &c->seen[c->conf.hosts];

	strcpy(h->name, name);
	strcpy(h->address, "10.0.0.1");
	h->number = ++c->conf.hosts;
	*s = (struct cluster_seen){ .conf = h, .state = state, .member = true, .age_ns = age };
}

static void add_service(struct cluster *c, const char *name)
{
	struct cluster_service *s = &c->conf.service[c->conf.services];

	strcpy(s->name, name);
	s->minimum = s->guarantee = s->share = 1;
	s->maximum = 3;
	s->high = 1500;
	s->low = 900;
	s->number = c->conf.services + 1;
	c->lock[c->conf.services++] = (struct cluster_lock){ .service = s,
							     .home = &c->conf.host[0] };
}

static void add_guests(struct cluster *c)
{
	strcpy(c->host.name, "xen2");
	strcpy(c->host.policy, "ioshares");
	c->host.generation = 7;
	c->host.beat = 4711;
	c->host.guests = 2;
	c->host.supply_m = 1500;
	strcpy(c->guest[0].name, "web");
	c->guest[0].domid = 4;
	c->guest[0].flags = REGION_GUEST_CAPPED | REGION_GUEST_CAPPABLE;
	c->guest[0].cap_mpct = 25000;
	c->guest[0].mtus_sent = 123;
	c->guest[0].allocated_m = 624288000;
	c->guest[0].latency_ns = 209500;
	strcpy(c->guest[1].name, "bulk");
	c->guest[1].domid = 5;
	c->guest[1].flags = REGION_GUEST_EXEMPT;
	c->seen[1].host = &c->host;
	c->seen[1].guest = c->guest;
	c->seen[1].guests = 2;
}

static void add_nodes(struct cluster *c)
{
	static const struct cluster_node_seen seen[] = {
		{ .state = CLUSTER_NODE_FRESH, .index = 870, .age_ns = 12 * NS_PER_MS },
		{ .state = CLUSTER_NODE_STALE, .index = -1, .age_ns = NS_PER_S, .note = "old" },
		{ .state = CLUSTER_NODE_UNREAD, .index = -1, .age_ns = -1, .note = "none" },
	};

	c->load = (struct load_record){ .source = LOAD_ULM,
					.flags = LOAD_OVERRUN | LOAD_DISAGREES,
					.cpus = 2,
					.load_avg = { 1250, 0, 0 },
					.busy_ns = 1234567890123,
					.wait_ns = 5000 };
	for (uint32_t i = 0; i < 3; i++) {
		snprintf(c->conf.node[i].name, sizeof(c->conf.node[i].name), "n%u", i + 1);
		c->conf.node[i].number = i;
		c->node[i] = seen[i];
	}
	c->conf.nodes = 3;
}

static void add_balance(struct cluster *c)
{
	static const struct cluster_server server[] = {
		{ .up = true, .weight = 1, .configured = 10, .wanted = 200, .own = 2 },
		{ .up = true, .weight = 256, .configured = 10, .wanted = 256, .served = 77 },
		{ .weight = -1, .configured = -1, .wanted = -1 },
	};

	c->conf.balance[0] = (struct cluster_balance){ .service = 1,
						       .backend = "be",
						       .socket = "/run/haproxy.sock" };
	c->conf.balances = 1;
	c->balancer = (struct cluster_balancer){ .mode = CLUSTER_ACT,
						 .why = "grown",
						 .why_text = "so more get requests",
						 .servers = 3,
						 .up = 2,
						 .k = 1,
						 .age_ns = 12 * NS_PER_MS,
						 .service_ns = 1500 * NS_PER_US };
	for (uint32_t i = 0; i < 3; i++) {
		c->conf.node[i].service = 1;
		snprintf(c->conf.node[i].server, sizeof(c->conf.node[i].server), "s%u", i + 1);
		c->server[i] = server[i];
	}
}

static void add_reconf(struct cluster *c)
{
	const struct cluster_move move = { .id = 7,
					   .wall_ns = 3 * NS_PER_S,
					   .node = "n2",
					   .donor = "mail",
					   .taker = "web",
					   .why = "load",
					   .outcome = "observed",
					   .high_ns = 5 * NS_PER_S,
					   .taker_before = 1800,
					   .donor_before = 200,
					   .taker_predicted = 900,
					   .donor_predicted = 400,
					   .taker_seen = 950,
					   .donor_seen = -1,
					   .seen_wall_ns = 30 * NS_PER_S,
					   .host = "xen2",
					   .taker_fence = "4.17",
					   .donor_fence = "4.9",
					   .told = 2,
					   .held_ns = 1500,
					   .read_ns = 2500,
					   .told_ns = 3000,
					   .moved_ns = 4000,
					   .released_ns = 5000 };

	c->service = (struct cluster_service_seen){ .here = true,
						    .nodes = 3,
						    .known = 2,
						    .load = 1800,
						    .high_ns = 5 * NS_PER_S,
						    .why = "load",
						    .why_text = "the donor's load is low",
						    .wait_text = "",
						    .node = &c->conf.node[1],
						    .donor = &c->conf.service[1],
						    .taker_predicted = 900,
						    .donor_before = 200,
						    .donor_predicted = 400 };
	c->move[0] = c->move[1] = move;
	memset(c->move[0].host, 0, sizeof(c->move[0].host));
	c->move[0].taker_fence[0] = c->move[0].donor_fence[0] = 0;
	c->move[0].told = c->move[0].held_ns = c->move[0].read_ns = c->move[0].told_ns = -1;
	c->move[0].moved_ns = c->move[0].released_ns = -1;
	strcpy(c->move[0].why, "order");
	c->move[0].id = 8;
	c->move[0].wall_ns = 4 * NS_PER_S;
	strcpy(c->move[0].donor, "shop");
	strcpy(c->move[0].taker, "mail");
	c->move[0].seen_wall_ns = 0;
	c->moves = 2;
	c->history_note = "";
}

void fake_cluster_open(struct cluster *c)
{
	memset(c, 0, sizeof(*c));
	c->quorate = true;
	c->note = "";
	strcpy(c->conf.cluster, "prod");
	add_host(c, "xen1", CLUSTER_SELF, 0);
	add_host(c, "xen2", CLUSTER_UP, 300 * NS_PER_MS);
	add_host(c, "xen3", CLUSTER_DOWN, -1);
	strcpy(c->seen[2].note, "no resexd listens at 10.0.0.1");
	add_guests(c);
	add_service(c, "web");
	add_service(c, "mail");
	add_nodes(c);
	add_balance(c);
	add_reconf(c);
	c->lock[0].known = true;
	c->lock[0].word = region_word(2, 99);
	c->lock[0].since_ns = 5 * NS_PER_S;
	c->lock[0].age_ns = 20 * NS_PER_MS;
}

const struct cluster_conf *cluster_conf(const struct cluster *c)
{
	return &c->conf;
}

const char *cluster_transport(const struct cluster *c)
{
	(void)c;
	return "fake";
}

void cluster_members(const struct cluster *c, uint64_t *view, struct hostset *members,
		     bool *quorate)
{
	*view = 12;
	*members = hostset_first(3);
	*quorate = c->quorate;
}

const char *cluster_membership(const struct cluster *c)
{
	(void)c;
	return "corosync";
}

const char *cluster_note(const struct cluster *c)
{
	return c->note;
}

uint64_t cluster_changes(const struct cluster *c)
{
	return c->ticket;
}

void cluster_see(const struct cluster *c, uint32_t i, struct mono now, struct cluster_seen *s)
{
	(void)now;
	*s = c->seen[i];
}

void cluster_lock_see(const struct cluster *c, uint32_t i, struct mono now, struct cluster_lock *l)
{
	(void)now;
	*l = c->lock[i];
}

void cluster_node_see(const struct cluster *c, uint32_t i, struct mono now,
		      struct cluster_node_seen *s)
{
	(void)now;
	*s = c->node[i];
	s->conf = &c->conf.node[i];
	s->host = &c->conf.host[0];
	s->phase_name = s->conf->kind == CLUSTER_NODE_SWITCH ? "waits" : "";
	s->load = s->state == CLUSTER_NODE_UNREAD ? NULL : &c->load;
	s->service = cluster_service_at(&c->conf, (uint32_t)s->conf->service);
}

const struct cluster_sources *cluster_sources_see(const struct cluster *c, uint32_t i)
{
	return i || !c->sources.hv.load.beat ? NULL : &c->sources;
}

void cluster_balance_see(const struct cluster *c, uint32_t i, struct mono now,
			 struct cluster_balancer *b)
{
	(void)now;
	*b = c->balancer;
	b->conf = &c->conf.balance[i];
	b->service = cluster_service_at(&c->conf, b->conf->service);
}

void cluster_server_see(const struct cluster *c, uint32_t i, uint32_t k, struct cluster_server *s)
{
	(void)i;
	*s = c->server[k];
	s->node = &c->conf.node[k];
}

int cluster_balance_set(struct cluster *c, uint32_t i, enum cluster_balance_mode mode)
{
	(void)i;
	if (!c->set_rc)
		c->balancer.mode = mode;
	return c->set_rc;
}

void cluster_service_see(const struct cluster *c, uint32_t i, struct cluster_service_seen *s)
{
	*s = c->service;
	s->conf = &c->conf.service[i];
	s->in_force = c->set[i].number ? &c->set[i] : s->conf;
}

const struct cluster_move *cluster_history(const struct cluster *c, uint32_t n)
{
	return n < c->moves ? &c->move[n] : NULL;
}

const char *cluster_history_note(const struct cluster *c)
{
	return c->history_note;
}

int cluster_break(struct cluster *c, uint32_t i, bool force, uint64_t *ticket)
{
	(void)i;
	c->forced = force;
	if (!c->break_rc)
		*ticket = ++c->ticket;
	return c->break_rc;
}

int cluster_result(const struct cluster *c, uint64_t ticket)
{
	struct cluster *mine = (struct cluster *)c; /* the test's own */

	if (ticket != c->ticket)
		return -ESRCH;
	if (c->result_after) {
		mine->result_after--;
		return -EINPROGRESS;
	}
	if (!c->result_rc)
		mine->lock[0].word = region_word(REGION_LOCK_BROKEN, 100);
	return c->result_rc;
}

int cluster_read_again(const struct cluster *c, struct mono now, struct cluster_conf **conf,
		       struct cluster_changes *ch, struct conf_error *e)
{
	(void)now;
	if (c->read_rc) {
		conf_error_set(e, conf_exit(c->read_rc), "%s", c->refused);
		return c->read_rc;
	}
	*conf = malloc(sizeof(**conf));
	if (!*conf)
		return -ENOMEM;
	**conf = c->next;
	*ch = c->changes;
	return 0;
}

int cluster_reload(struct cluster *c, struct cluster_conf *conf, uint64_t *ticket)
{
	if (!c->reload_rc) {
		c->conf = *conf;
		*ticket = ++c->reloads;
	}
	free(conf);
	return c->reload_rc;
}

int cluster_reload_result(struct cluster *c, uint64_t ticket)
{
	if (ticket != c->reloads)
		return -ESRCH;
	if (!c->reload_after)
		return 0;
	c->reload_after--;
	return -EINPROGRESS;
}

/* The answers are those of cluster_break. */
int cluster_move(struct cluster *c, uint32_t node, uint32_t service, struct mono now,
		 uint64_t *ticket, char why[static CLUSTER_WHY_TEXT])
{
	(void)now;
	c->ordered[0] = node;
	c->ordered[1] = service;
	strcpy(why, c->break_rc == -EPERM	  ? "xen2 was not read yet"
		    : c->break_rc == -EINPROGRESS ? "its move is not done"
						  : "");
	if (!c->break_rc && ticket)
		*ticket = ++c->ticket;
	return c->break_rc;
}

const char *cluster_move_text(int rc)
{
	return rc == 2 ? "its locks are held" : "?";
}

int cluster_reconf_set(struct cluster *c, enum cluster_reconf_mode mode)
{
	if (!c->break_rc)
		c->reconf_mode = mode;
	return c->break_rc;
}

const char *cluster_role_note(const struct cluster *c, uint32_t i)
{
	return c->conf.node[i].kind == CLUSTER_NODE_SWITCH ? "xen1 is waited for" : "";
}

enum cluster_reconf_mode cluster_reconf_mode(const struct cluster *c)
{
	return c->reconf_mode;
}

int cluster_node_fix(struct cluster *c, uint32_t i, bool fixed)
{
	if (!c->break_rc)
		c->fixed[i] = fixed;
	return c->break_rc;
}

bool cluster_node_fixed(const struct cluster *c, uint32_t i)
{
	return c->fixed[i];
}

/* The ranges are those of a file. */
int cluster_service_set(struct cluster *c, uint32_t i, const struct conf_doc *d,
			struct conf_error *e)
{
	struct cluster_service all[CLUSTER_SERVICES_MAX];
	int rc = c->break_rc;

	if (rc)
		conf_error_set(e, conf_exit(rc), "refused");
	memcpy(all, c->conf.service, sizeof(all));
	for (uint32_t k = 0; k < 4; k++)
		if (c->set[k].number)
			all[k] = c->set[k];
	if (!rc)
		rc = cluster_service_change(d, &c->conf, all, i, e);
	if (!rc)
		c->set[i] = all[i];
	return rc;
}

void cluster_service_set_text(const struct cluster *c, uint32_t i,
			      char text[static CLUSTER_SET_TEXT])
{
	text[0] = 0;
	if (c->set[i].number)
		snprintf(text, CLUSTER_SET_TEXT, "high %llu", (unsigned long long)c->set[i].high);
}

void cluster_service_reset(struct cluster *c)
{
	memset(c->set, 0, sizeof(c->set));
}
