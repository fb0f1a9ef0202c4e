// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * balance_turn: see balance_turn.h.
 *
 *	what happens				what operators get	limit
 *	--------------------------------------	----------------------	-----------------------
 *	HAProxy is not heard of, or again	event "balance"		4 in a row; then none
 *	loads are stale or missing, or not	event "balance", in	until there was none
 *						mode act		for 10 s
 *	another program set a weight or state	event "balance"		once in 60 s
 *	weights were restored, or were not	event "balance"		none
 */
#include "src/cluster/balance_turn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"
#include "src/reconf/act_agent.h"
#include "src/reconf/act_haproxy.h"
#include "src/reconf/role.h"

enum {
	KEEP = 16, /* a weight moves by more than this: 1/16 of the greatest */
	SPARE = 2, /* so many with a weight: the others may have none */
};

#define TURN_MAX_NS	 NS_PER_S /* no answer of HAProxy for so long: the connection is closed */
#define LOST_NS		 NS_PER_S
#define STALE_TOLD_NS	 NS_PER_S
#define FOREIGN_AGAIN_NS (60 * NS_PER_S)

static_assert((int)BALANCE_NODES_MAX == (int)HAPROXY_SERVERS_MAX, "a node is a server");
static_assert((int)BALANCE_NODES_MAX == (int)CLUSTER_SERVERS_MAX, "a node is a server");
static_assert((int)REGION_NAME == (int)HAPROXY_NAME_MAX, "one length of names");
static_assert((int)CLUSTER_SOCKET_MAX == (int)HAPROXY_SOCKET_MAX, "one length of paths");
static_assert((int)BALANCE_WEIGHT_MAX <= (int)HAPROXY_WEIGHT_MAX, "HAProxy takes each weight");

/* --- events -------------------------------------------------------------------------------- */

static void tell(const struct balancer *b, const struct balance_world *w, const char *text)
{
	guests_event(w->gs, w->wall_ns, "", "balance", "%s: %s", b->service, text);
}

static bool is_lost(const struct balancer *b, struct mono now)
{
	return mono_sub(now, b->heard) > LOST_NS;
}

static void tell_lost(struct balancer *b, const struct balance_world *w)
{
	char note[HAPROXY_NOTE_MAX], text[512];

	if (!told_is_news(&b->lost, is_lost(b, w->now), w->now))
		return;
	balancer_note(b, w->now, note, sizeof(note));
	snprintf(text, sizeof(text), "%s",
		 b->lost.is ? note : "HAProxy is heard of again, and its servers are balanced");
	tell(b, w, text);
}

/* Only where it touches requests, and not at the start, when no load can have been read yet. */
static void tell_stale(struct balancer *b, const struct balance_world *w)
{
	bool is;

	if (!b->decision.nodes || b->decision.why != BALANCE_STALE)
		b->fresh = w->now;
	is = mono_sub(w->now, b->fresh) > STALE_TOLD_NS;
	if (b->mode != CLUSTER_ACT || !told_is_news(&b->stale, is, w->now))
		return;
	tell(b, w,
	     is ? "loads are stale or missing, so all nodes get equal weights: see resex load-list"
		: "loads are fresh again, and weights follow them");
}

/* --- what is read -------------------------------------------------------------------------- */

static void forget_wanted(struct balancer *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		b->wanted[i] = -1;
		b->state[i] = ACT_KEEP;
	}
}

/* Was there a failure, or another connection? Then the weights may be those of another process. */
static void look_for_failures(struct balancer *b, const struct act_seen *h)
{
	bool same = h->connections == b->connections;

	if (same && h->failures == b->failures)
		return;
	if (!same) /* it counts from 0 again */
		memset(&b->history, 0, sizeof(b->history));
	b->connections = h->connections;
	b->failures = h->failures;
	forget_wanted(b);
}

static const char *const state_names[] = {
	[ACT_KEEP] = "unknown", [ACT_SERVE] = "ready", [ACT_DRAIN] = "drain", [ACT_OUT] = "maint"
};

/* What is set of server i, and is not what was put last, in text; false: nothing. */
static bool find_foreign(const struct balancer *b, const struct act_server *s, uint32_t i,
			 char *text, size_t size)
{
	if (s->there && b->wanted[i] >= 0 && s->weight != b->wanted[i])
		snprintf(text, size, "weight %u of %s, which resexd had set to %d", s->weight,
			 b->server[i], b->wanted[i]);
	else if (s->there && b->state[i] != ACT_KEEP && s->admin != b->state[i])
		snprintf(text, size, "state %s of %s, which resexd had set to %s",
			 state_names[s->admin], b->server[i], state_names[b->state[i]]);
	else
		return false;
	return true;
}

/* Another program, or a person, has set it. */
static void watch_foreign(struct balancer *b, const struct balance_world *w,
			  const struct act_seen *h)
{
	char what[160], text[320];
	uint32_t i = 0;

	while (i < b->n && !find_foreign(b, &h->server[i], i, what, sizeof(what)))
		i++;
	if (i == b->n || (b->foreign.ns && mono_sub(w->now, b->foreign) < FOREIGN_AGAIN_NS))
		return;
	b->foreign = w->now;
	snprintf(text, sizeof(text),
		 "%s, is another program's: set again; to keep it, resex balance-set %s observe",
		 what, b->service);
	tell(b, w, text);
}

static void take_reading(struct balancer *b, const struct act_seen *h)
{
	uint64_t *served = balancer_reading(&b->history, h->read);

	for (uint32_t i = 0; i < b->n; i++) {
		served[i] = h->server[i].served;
		b->up[i] = h->server[i].there && h->server[i].up;
	}
}

/* A server that is to serve no more drains first: its requests end. */
static enum act_want out_of(const struct act_server *h)
{
	return h->own ? ACT_DRAIN : ACT_OUT;
}

/*
 * Of a node of kind switch, whose word names the service: rule 5 of reconf/role.h. After a start,
 * or a failure, what was put last is not known: then a server is left as it is, unless the node is
 * being prepared.
 */
static enum act_want want_of_ready(const struct cluster_node_seen *s, enum act_want put,
				   const struct act_server *h)
{
	if (s->ready == s->word || put == ACT_SERVE)
		return ACT_SERVE;
	if (put == ACT_KEEP && s->phase <= ROLE_READY)
		return ACT_KEEP;
	return out_of(h);
}

/*
 * Of a node that moves between services: with "reconf" its word says which one it serves. While
 * its word is not known, or names no service, its server is left as it is.
 */
static enum act_want want_of(const struct balancer *b, const struct cluster_node_seen *s,
			     const struct act_server *h, uint32_t i)
{
	bool switches = s->conf->kind == CLUSTER_NODE_SWITCH;

	if (b->shut[i])
		return out_of(h);
	if (!s->word_known || s->lost)
		return ACT_KEEP;
	if (switches && s->word != s->kept_word) /* rule 1 */
		return b->want[i];
	if (!s->service || s->service->number != b->conf.service)
		return out_of(h);
	return switches ? want_of_ready(s, b->state[i], h) : ACT_SERVE;
}

/* --- the decision ----------------------------------------------------------------------------- */

/*
 * What each server is to do, and how many nodes have one that is up and serves. Weights hold until
 * the next turn: so loads, and the limit of their age, are dated to the middle of this time.
 */
static uint32_t gather(struct balancer *b, const struct balance_world *w, const struct act_seen *h,
		       struct balance_node node[static BALANCE_NODES_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		struct cluster_node_seen s;

		cluster_node_see(w->c, b->node[i], w->now, &s);
		b->want[i] = want_of(b, &s, &h->server[i], i);
		b->up[i] = b->up[i] && b->want[i] <= ACT_SERVE;
		b->own[i] = h->server[i].own;
		if (s.load)
			b->own[i] = balancer_own(&b->history, i, h->server[i].own,
						 mono_add(w->now, -s.age_ns));
		if (s.load && b->up[i])
			balancer_cost_add(&b->cost[i], s.load, h->server[i].served);
		if (!b->up[i])
			continue;
		node[n] = balancer_node(s.load, *s.conf->guest, s.index,
					s.age_ns + w->conf->load.scan_ns / 2, b->own[i]);
		node[n++].under_way = h->server[i].own;
	}
	return n;
}

static void decide(struct balancer *b, const struct balance_world *w, const struct act_seen *h)
{
	struct balance_node node[BALANCE_NODES_MAX];
	uint32_t n = gather(b, w, h, node);
	struct balance_conf c = { .k = (uint32_t)b->conf.k,
				  .stale_ns = w->conf->load.stale_ns + w->conf->load.scan_ns / 2,
				  .keep = KEEP };

	b->service_ns = b->conf.service_ns ? b->conf.service_ns
					   : balancer_service_ns(b->cost, b->n);
	c.service_ns = b->service_ns;
	if (!n)
		b->decision.nodes = 0;
	else
		balance_decide(&b->decision, &c, node, n);
	tell_stale(b, w);
}

/* --- what is put ------------------------------------------------------------------------------ */

static bool puts_configured(const struct balancer *b)
{
	return b->restoring || b->mode == CLUSTER_EQUAL;
}

/*
 * to[] has what each server has, or is to have if it takes no part. Two servers at least have a
 * weight, so that HAProxy has one when another fails between two turns, or resexd is killed.
 */
static void set_decided(const struct balancer *b, uint16_t to[])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		if (!b->up[i] || n >= b->decision.nodes)
			continue;
		to[i] = b->decision.weight[n];
		if (!to[i] && b->decision.k < SPARE)
			to[i] = 1;
		n++;
	}
}

static void put_weights(struct balancer *b, const struct act_seen *h, struct mono now)
{
	uint16_t weight[BALANCE_NODES_MAX];

	for (uint32_t i = 0; i < b->n; i++)
		weight[i] = puts_configured(b) && !b->other[i] ? h->server[i].initial
							       : h->server[i].weight;
	if (!puts_configured(b))
		set_decided(b, weight);
	if (b->ops->put(b->act, weight, b->want, now))
		return;
	b->put = true;
	for (uint32_t i = 0; i < b->n; i++) {
		b->wanted[i] = h->server[i].there && !b->other[i] ? weight[i] : -1;
		b->state[i] = b->want[i];
	}
}

static bool has_configured(const struct balancer *b, const struct act_seen *h)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (h->server[i].there && !b->other[i] &&
		    h->server[i].weight != h->server[i].initial)
			return false;
	return true;
}

static void end_restoring(struct balancer *b, const struct balance_world *w)
{
	b->restoring = false;
	forget_wanted(b);
	tell(b, w, "resexd no longer sets weights: those of HAProxy's configuration are in force");
}

static void turn(struct balancer *b, const struct balance_world *w, const struct act_seen *h)
{
	look_for_failures(b, h);
	if (b->ops->shared)
		watch_foreign(b, w, h);
	take_reading(b, h);
	if (!b->leaving)
		decide(b, w, h);
	if (b->restoring && has_configured(b, h))
		end_restoring(b, w);
	if (b->restoring || b->mode != CLUSTER_OBSERVE)
		put_weights(b, h, w->now);
}

/* --- work ------------------------------------------------------------------------------------- */

static int64_t work_on_act(struct balancer *b, const struct balance_world *w, bool due)
{
	struct act_seen h;
	int64_t ns;

	b->ops->work(b->act, w->now);
	b->ops->see(b->act, &h);
	if (h.reads != b->reads) {
		b->reads = h.reads;
		b->heard = w->now;
		turn(b, w, &h);
	}
	if (due)
		b->ops->read(b->act, w->now); /* if it cannot: at the next turn */
	ns = b->ops->work(b->act, w->now);
	b->ops->see(b->act, &h);
	return h.reads != b->reads ? 0 : ns;
}

int64_t balancer_work(struct balancer *b, const struct balance_world *w)
{
	bool due = is_due(&b->turn_due, w->conf->load.scan_ns, w->now);
	int64_t ns = mono_sub(b->turn_due, w->now);

	ns = least(ns, work_on_act(b, w, due));
	if (!b->leaving)
		tell_lost(b, w);
	return ns > 0 ? ns : 0;
}

void balancer_set_mode(struct balancer *b, enum cluster_balance_mode mode)
{
	if (mode != CLUSTER_OBSERVE)
		b->restoring = false;
	else if (b->mode != CLUSTER_OBSERVE)
		b->restoring = b->put;
	b->mode = mode;
}

static bool has_server(const struct balancer *b, const char *server)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (!strcmp(b->server[i], server))
			return true;
	return false;
}

/* Does heir set weights of the same backend in the same way? */
static bool is_heir(const struct balancer *b, const struct balancer *heir)
{
	return heir && b->conf.by == heir->conf.by &&
	       !strcmp(b->conf.backend, heir->conf.backend) &&
	       !strcmp(b->conf.socket, heir->conf.socket) && b->conf.port == heir->conf.port;
}

void balancer_leave(struct balancer *b, const struct balancer *heir, struct mono until)
{
	balancer_set_mode(b, CLUSTER_OBSERVE);
	b->leaving = true;
	memset(b->want, 0, sizeof(b->want)); /* ACT_KEEP */
	b->until = until;
	if (!is_heir(b, heir))
		return;
	for (uint32_t i = 0; i < b->n; i++)
		b->other[i] = has_server(heir, b->server[i]);
}

bool balancer_left(struct balancer *b, const struct balance_world *w)
{
	char note[HAPROXY_NOTE_MAX], text[512];

	if (b->restoring && mono_sub(w->now, b->until) < 0)
		return false;
	if (b->restoring) {
		balancer_note(b, w->now, note, sizeof(note));
		snprintf(text, sizeof(text), "the weights that resexd has set are still there: %s",
			 *note ? note : "HAProxy has not taken others in time");
		tell(b, w, text);
	}
	return true;
}

/* --- what is seen ----------------------------------------------------------------------------- */

void balancer_requests(struct balancer *b, const struct cluster_conf *conf,
		       struct node_requests to[static REGION_NODES_MAX])
{
	struct act_seen h;

	b->passed = b->reads;
	b->ops->see(b->act, &h);
	for (uint32_t i = 0; h.reads && i < b->n; i++) {
		const struct cluster_node *n = &conf->node[b->node[i]];
		const struct act_server *s = &h.server[i];

		if (n->host != conf->host[conf->self].number)
			continue;
		to[n->number] = (struct node_requests){ .read = h.read,
							.queued = s->queued,
							.served = s->served,
							.latency_ns = s->latency_ns };
	}
}

/* A put may have followed the reading, or an operator's change may: so both must say it. */
static bool is_out(const struct balancer *b, const struct act_server *s, uint32_t k)
{
	bool put = b->state[k] == ACT_OUT || (b->mode == CLUSTER_OBSERVE && !b->restoring);

	return !s->there || (put && s->admin == ACT_OUT && !s->own);
}

bool balancer_sends_none(const struct balancer *b, uint32_t node)
{
	struct act_seen h;

	b->ops->see(b->act, &h);
	if (!h.reads || h.state == ACT_DOWN || h.connections != b->connections ||
	    h.failures != b->failures)
		return false;
	for (uint32_t k = 0; k < b->n; k++)
		if (b->node[k] == node)
			return is_out(b, &h.server[k], k);
	return true;
}

void balancer_shut(struct balancer *b, uint32_t node)
{
	for (uint32_t k = 0; k < b->n; k++)
		if (b->node[k] == node)
			b->shut[k] = true;
}

void balancer_note(const struct balancer *b, struct mono now, char *text, size_t size)
{
	struct act_seen h;

	b->ops->see(b->act, &h);
	snprintf(text, size, "%s", h.note);
	if (!*text && is_lost(b, now))
		snprintf(text, size, "HAProxy does not answer at %s: see whether it runs",
			 b->conf.socket);
}

void balancer_see_server(const struct balancer *b, uint32_t k, struct cluster_server *s)
{
	struct act_seen h = { .reads = 0 };
	uint16_t decided[BALANCE_NODES_MAX];

	memset(decided, 0xff, sizeof(decided));
	b->ops->see(b->act, &h);
	s->up = b->up[k];
	s->own = b->own[k];
	s->weight = s->configured = s->wanted = -1;
	if (h.reads && h.server[k].there) {
		s->weight = h.server[k].weight;
		s->configured = h.server[k].initial;
		s->under_way = h.server[k].own;
		s->served = h.server[k].served;
	}
	set_decided(b, decided);
	if (puts_configured(b))
		s->wanted = s->configured;
	else if (decided[k] <= BALANCE_WEIGHT_MAX)
		s->wanted = decided[k];
}

/* --- open and close --------------------------------------------------------------------------- */

/* So long an agent answers what was put: two turns, and the time that one may take. */
static int64_t hold_ns(const struct cluster_conf *conf)
{
	return 2 * conf->load.scan_ns + TURN_MAX_NS;
}

static int open_act(struct balancer *b, const struct cluster_conf *conf)
{
	struct act_conf *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	strcpy(c->socket, b->conf.socket);
	strcpy(c->backend, b->conf.backend);
	memcpy(c->server, b->server, sizeof(b->server));
	c->servers = b->n;
	c->port = (uint16_t)b->conf.port;
	c->timeout_ns = TURN_MAX_NS;
	c->hold_ns = hold_ns(conf);
	rc = b->ops->open(&b->act, c);
	free(c);
	return rc;
}

static void find_nodes(struct balancer *b, const struct cluster_conf *conf)
{
	const struct cluster_node *n = NULL;

	b->n = 0;
	while ((n = cluster_server_next(conf, b->conf.service, n)) != NULL) {
		strcpy(b->server[b->n], n->server);
		b->node[b->n++] = (uint32_t)(n - conf->node);
	}
}

void balancer_reload(struct balancer *b, const struct cluster_conf *conf)
{
	find_nodes(b, conf);
	if (b->ops->hold)
		b->ops->hold(b->act, hold_ns(conf));
}

int balancer_open(struct balancer **out, const struct cluster_conf *conf, uint32_t i,
		  struct mono now)
{
	struct balancer *b = calloc(1, sizeof(*b));
	int rc;

	if (!b)
		return -ENOMEM;
	b->conf = conf->balance[i];
	b->mode = (enum cluster_balance_mode)b->conf.mode;
	strcpy(b->service, cluster_service_at(conf, b->conf.service)->name);
	find_nodes(b, conf);
	b->turn_due = b->heard = b->fresh = now;
	forget_wanted(b);
	b->ops = b->conf.by == CLUSTER_BY_AGENT ? &act_agent : &act_haproxy;
	rc = open_act(b, conf);
	if (rc)
		balancer_close(b);
	else
		*out = b;
	return rc;
}

void balancer_close(struct balancer *b)
{
	if (b->act)
		b->ops->close(b->act);
	free(b);
}
