// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * worker_moves: the moves of this host's balancers, one at a time. Control decides (reconf.c), or
 * an operator does, and asks by request; src/reconf/move.h does it over the transport; its result
 * is the answer. Only with "reconf" in cluster.json.
 *
 * A move is by the services and nodes of one cluster.json: new settings wait for its end, and then
 * all begins anew, with other tags, so that results of before are nobody's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"
#include "src/reconf/move.h"

struct moves {
	struct runner *runner;
	struct move move;
	struct move_view in;
	struct lock lock[CLUSTER_SERVICES_MAX];
	struct counter counter[CLUSTER_SERVICES_MAX];
	uint64_t ticket; /* of the request that is under way; 0: none */
	struct mono asked;
	uint32_t taker;
	bool ordered;
	struct move_wish wish;
	bool waits;	   /* for the word to be kept, or for a break; then it is asked for: */
	struct mono again; /* at this time, */
	uint32_t tries;	   /* so many times more at most */
	bool looked;	   /* at all counters, once */
};

enum { TRIES_MAX = 40 }; /* 2 s with the default scan */

/* event.what of STEP_ASK: look at all counters; others are a move's. */
#define LOOKS UINT32_MAX

static_assert((int)MOVE_NODES_MAX == (int)CLUSTER_MOVED_MAX, "all nodes fit");
static_assert((int)MOVE_SERVICES_MAX >= (int)CLUSTER_SERVICES_MAX, "all services fit");

/* --- what a move sees ------------------------------------------------------------------- */

static void put_service(const struct cluster_conf *c, uint32_t i, struct move_service *to)
{
	const struct cluster_service *s = &c->service[i];

	*to = (struct move_service){ .id = (uint16_t)s->number, .minimum = (uint32_t)s->minimum };
	for (uint32_t h = 0; h < c->hosts; h++)
		if (cluster_balances(s, (uint32_t)c->host[h].number))
			hostset_set(&to->balancers, (uint32_t)c->host[h].number, true);
}

static void put_nodes(const struct worker *w, struct moves *m)
{
	for (uint32_t i = 0; i < m->in.nodes; i++) {
		const struct cluster_node *n = &w->conf->node[i];
		struct word_copy word;

		words_see(w, (uint16_t)n->host, (uint32_t)n->number, &word);
		m->in.node[i] = (struct move_node){ .host = (uint16_t)n->host,
						    .node = (uint16_t)n->number,
						    .alive = word.link != 0,
						    .word = word.word };
	}
}

/* --- open and close ---------------------------------------------------------------------- */

/*
 * Between two looks of a lock's waiter. Not S, at which loads are looked at: that may be a minute.
 * A lock must not be broken before it is unchanged for more than 3 1/4 checks (move.h, rule 3).
 */
static int64_t check_ns(const struct cluster_conf *c)
{
	int64_t scan = cluster_scan_ns(c), most = cluster_break_ns(c) / 4;

	return scan < most ? scan : most;
}

static struct move_conf conf_of(const struct worker *w)
{
	const struct cluster_conf *c = w->conf;

	return (struct move_conf){
		.self = (uint16_t)c->host[c->self].number,
		.hold_ns = c->hold_ns,
		.deadline_ns = c->timeout_ns,
		.check_ns = check_ns(c),
		.drift_ppm = (uint32_t)c->drift,
		.checks = cluster_reconf_checks(&c->reconf),
		.seed = w->region.generation << 8 | c->host[c->self].number,
	};
}

/* Links that came up before it was opened. */
static void tell_links(const struct worker *w, struct moves *m, struct mono now)
{
	for (uint32_t i = 0; i < w->conf->hosts; i++) {
		struct transport_event ev = { .type = TRANSPORT_UP,
					      .host = (uint16_t)w->conf->host[i].number };

		ev.link = transport_link(w->t, ev.host);
		if (ev.link)
			runner_event(m->runner, &ev, now);
	}
}

/*
 * The first look at a counter always finds it ahead. So it is made at the start: otherwise the
 * first move of each service would end by it, and wait for another T.
 */
static void look_at_counters(struct moves *m, struct mono now, struct step_out *out)
{
	const struct step_event ev = { .type = STEP_ASK, .what = COUNTER_LOOK };

	for (uint32_t i = 0; i < m->in.services; i++)
		counter_step(&m->counter[i], &ev, now, out);
}

static void step_moves(void *state, const struct step_event *ev, struct mono now,
		       struct step_out *out)
{
	struct moves *m = state;

	if (ev->type == STEP_ASK && ev->what == LOOKS)
		look_at_counters(m, now, out);
	else
		move_step(&m->move, ev, now, out);
}

static struct mono due_moves(const void *state)
{
	const struct moves *m = state;

	return move_due(&m->move);
}

int worker_open_moves(struct worker *w, struct mono now)
{
	/* The lower half of the prefix tells it from the one before new settings. */
	uint32_t prefix = (uint32_t)CLUSTER_TAG_MOVES << (CLUSTER_TAG_SHIFT - 32) |
			  (w->moves_opened++ & 0xffff);
	struct runner_user u;
	struct move_conf c;
	struct moves *m;
	int rc;

	if (!w->conf->reconf.given)
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->in.nodes = w->conf->nodes;
	m->in.services = w->conf->services;
	for (uint32_t i = 0; i < m->in.services; i++)
		put_service(w->conf, i, &m->in.service[i]);
	put_nodes(w, m);
	c = conf_of(w);
	move_init(&m->move, &c, &m->in, m->lock, m->counter);
	rc = runner_open(&m->runner, w->t, c.deadline_ns, prefix);
	if (rc) {
		free(m);
		return rc;
	}
	u = (struct runner_user){ m, step_moves, due_moves, c.tag, MOVE_TAGS };
	runner_add(m->runner, &u); /* it is the only one: there is room */
	w->moves = m;
	tell_links(w, m, now);
	worker_moves_view(w, now);
	return 0;
}

void worker_close_moves(struct worker *w)
{
	if (!w->moves)
		return;
	runner_close(w->moves->runner);
	free(w->moves);
	w->moves = NULL;
}

/* --- events -------------------------------------------------------------------------------- */

void worker_moves_event(struct worker *w, const struct transport_event *ev, struct mono now)
{
	if (w->moves)
		runner_event(w->moves->runner, ev, now);
}

void worker_moves_view(struct worker *w, struct mono now)
{
	if (w->moves)
		runner_view(w->moves->runner, w->view.view, w->view.members, w->view.quorate, now);
}

struct mono worker_moves_due(const struct worker *w)
{
	const struct moves *m = w->moves;

	if (!m)
		return (struct mono){ INT64_MAX };
	return m->waits ? mono_earlier(m->again, runner_due_at(m->runner))
			: runner_due_at(m->runner);
}

bool worker_moving(const struct worker *w)
{
	return w->moves && w->moves->ticket;
}

/* --- requests ------------------------------------------------------------------------------ */

static int64_t service_index(const struct cluster_conf *c, uint32_t number)
{
	const struct cluster_service *s = cluster_service_at(c, number);

	return s ? s - c->service : -1;
}

static int64_t node_index(const struct cluster_conf *c, const struct request *r)
{
	for (uint32_t i = 0; i < c->nodes; i++)
		if (c->node[i].host == r->host && c->node[i].number == r->node)
			return i;
	return -1;
}

/* To adopt: since when the node is in no service, by the words read last. */
static void put_since(const struct worker *w, struct moves *m, struct mono now)
{
	const struct move_node *n = &m->in.node[m->wish.node];

	m->wish.since = now;
	words_none(w, n->host, n->node, &m->wish.since, &m->wish.link);
}

static enum move_for for_of(const struct request *r)
{
	if (!r->donor)
		return r->ordered ? MOVE_FOR_ADOPTION_ORDERED : MOVE_FOR_ADOPTION;
	return r->force ? MOVE_FOR_ORDER : MOVE_FOR_LOAD;
}

static bool adopts(const struct moves *m)
{
	return m->wish.why == MOVE_FOR_ADOPTION || m->wish.why == MOVE_FOR_ADOPTION_ORDERED;
}

static void ask_move(struct worker *w, struct moves *m, struct mono now)
{
	put_nodes(w, m);
	if (adopts(m))
		put_since(w, m, now);
	runner_ask(m->runner, m, m->taker, &m->wish, now);
}

/* An order to adopt may come before the break is over. */
static bool waits_for_break(const struct worker *w, struct moves *m, struct mono now)
{
	put_since(w, m, now);
	m->again = mono_add(m->wish.since, cluster_break_ns(w->conf) + 1);
	return m->wish.link && mono_sub(m->again, now) > 0;
}

/* 0: its result comes by its ticket; or -errno. */
int worker_ask_move(struct worker *w, const struct request *r, uint64_t ticket, struct mono now)
{
	int64_t taker = service_index(w->conf, r->service), node = node_index(w->conf, r);
	int64_t donor = service_index(w->conf, r->donor);
	struct moves *m = w->moves;

	if (!m)
		return -EOPNOTSUPP;
	if (taker < 0 || (r->donor && donor < 0) || node < 0)
		return -ENOENT;
	if (!w->view.quorate)
		return -EPERM;
	/* A break changes a lock word, too: neither is made while the other is under way. */
	if (w->reloading || w->breaking || m->ticket || move_state(&m->move) != MOVE_IDLE)
		return -EAGAIN;
	m->ticket = ticket;
	m->asked = now;
	m->wish = (struct move_wish){ .why = for_of(r),
				      .donor = (uint32_t)donor,
				      .node = (uint32_t)node };
	m->taker = (uint32_t)taker;
	m->ordered = r->ordered;
	m->tries = TRIES_MAX;
	m->waits = adopts(m) && waits_for_break(w, m, now);
	if (!m->waits)
		ask_move(w, m, now);
	return 0;
}

/* By the newest check of control: is each service's load high? */
static void take_checks(struct worker *w)
{
	struct check_copies *c = &w->x->checks;

	if (!spsc_latest_get(&c->at))
		return;
	for (uint32_t i = 0; i < w->moves->in.services; i++)
		counter_check(&w->moves->counter[i],
			      c->copy[c->at.front].high[w->moves->in.service[i].id]);
}

/*
 * The first move of a view gives all words a newer epoch: until their hosts have saved them, none
 * is kept, and none counts. That takes a host's check and a disk. And an operator's order does not
 * wait for a load to be measured again after another balancer's move.
 */
static bool tries_again(struct worker *w, struct moves *m, struct mono now)
{
	enum move_result r = move_result(&m->move);

	if (!m->tries ||
	    !(r == MOVE_NOT_KEPT || (r == MOVE_COUNTER_AHEAD && (m->ordered || adopts(m)))))
		return false;
	m->tries--;
	m->waits = true;
	m->again = mono_add(now, check_ns(w->conf));
	return true;
}

/* As a result of cluster_move(). */
static int answer_of(enum move_result r)
{
	return r == MOVE_MOVED ? 0 : (int)r;
}

/* Control finds it there when it has the answer. */
static void pass_trace(struct worker *w, const struct moves *m)
{
	struct move_copies *c = &w->x->moved;

	c->copy[c->at.back] = (struct move_copy){ m->ticket, m->asked, *move_trace(&m->move) };
	spsc_latest_put(&c->at);
}

static void go_on(struct worker *w, struct moves *m, struct mono now)
{
	if (m->waits && mono_sub(now, m->again) < 0)
		return;
	if (m->waits) {
		m->waits = false;
		ask_move(w, m, now);
	}
	if (move_state(&m->move) != MOVE_IDLE || tries_again(w, m, now))
		return;
	pass_trace(w, m);
	mail_answer(&w->x->mail, m->ticket, answer_of(move_result(&m->move)));
	m->ticket = 0;
	exchange_wake(w->x->control_fd);
}

void worker_moves(struct worker *w, struct mono now)
{
	struct moves *m = w->moves;

	if (!m)
		return;
	if (!m->looked && transport_link(w->t, (uint16_t)w->conf->host[w->conf->self].number)) {
		m->looked = true;
		runner_ask(m->runner, m, LOOKS, NULL, now);
	}
	take_checks(w);
	runner_tick(m->runner, now);
	if (m->ticket)
		go_on(w, m, now);
}
