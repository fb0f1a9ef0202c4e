// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reconf: each S the loads of all nodes are gathered, and src/reconf/decide.h is asked for each
 * service that this host balances. The other thread makes the moves (worker_moves.c). See reconf.h.
 *
 * Which service a node serves is what its word says (words.c).
 */
#include "src/cluster/reconf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/adopt.h"
#include "src/cluster/balancer.h"
#include "src/cluster/cluster_priv.h"
#include "src/cluster/history.h"
#include "src/cluster/order.h"
#include "src/cluster/overrides.h"
#include "src/reconf/decide.h"
#include "src/reconf/move.h"
#include "src/reconf/role.h"

/* The load after a move is seen so many T after it. */
enum { SEEN_AFTER = 5 };

struct taker {
	uint32_t highs; /* checks in a row in which its load was high */
	bool decided;
	bool backs_off;		 /* plan is of before, and wait_ns of now */
	struct decide_plan plan; /* the newest decision */
};

/* A move in the history whose later load was not seen yet. */
struct open_move {
	struct cluster_move *move; /* NULL: a free place */
	uint64_t id;		   /* of the move; another: too many moves came since */
	uint32_t taker, donor;
	struct mono due;
};

/* The move that the other thread was asked for. */
struct asked_move {
	uint64_t ticket; /* 0: none is under way */
	bool ordered;	 /* by an operator, or to undo one */
	uint32_t taker;
	struct cluster_move *move; /* in the history, while it has this id */
	uint64_t id;
};

struct reconf {
	const struct cluster_conf *conf;
	struct exchange *x;
	struct asked_move asked;
	enum cluster_reconf_mode mode; /* of conf, or as an operator has set it */
	struct guests *gs;
	struct history *history;
	struct mono due;
	struct decide decide;
	struct decide_view view;
	struct overrides over;
	uint16_t place[REGION_SERVICES_MAX]; /* by number: index of conf->service[] */
	struct taker taker[CLUSTER_SERVICES_MAX];
	struct open_move open[HISTORY_MOVES];
	struct adopt adopt[CLUSTER_MOVED_MAX]; /* of conf->node[i] */
	/* Of kind switch: when the node was last ready, or was first seen. */
	struct mono pending[CLUSTER_MOVED_MAX];
	const struct cluster_host *unread; /* a member; the words of its nodes are; NULL: none */
	char note[192];			   /* why nothing is decided; "" */
	bool noted;			   /* an event has said so */
};

static_assert((int)DECIDE_SERVICES_MAX == (int)CLUSTER_SERVICES_MAX, "one view has all services");
static_assert((int)DECIDE_NODES_MAX == (int)CLUSTER_MOVED_MAX, "and all nodes that may move");

/* --- open ----------------------------------------------------------------------------------- */

/* Since when nodes are not ready: other settings do not change that. */
static void keep_pending(struct reconf *r, const struct cluster_conf *conf)
{
	struct mono was[CLUSTER_MOVED_MAX];

	memcpy(was, r->pending, sizeof(was));
	memset(r->pending, 0, sizeof(r->pending));
	for (uint32_t i = 0; r->conf && i < r->conf->nodes; i++) {
		const struct cluster_node *n = &r->conf->node[i];
		const struct cluster_node *m = cluster_node_find(conf, n->name);

		if (m && m->host == n->host && m->number == n->number)
			r->pending[m - conf->node] = was[i];
	}
}

static void begin(struct reconf *r, const struct cluster_conf *conf)
{
	const struct cluster_reconf *c = &conf->reconf;
	const struct decide_conf d = { .margin = (uint32_t)c->margin,
				       .rest_ns = c->rest_ns,
				       .freeze_ns = c->freeze_ns,
				       .check_ns = c->check_ns,
				       .budget = (uint32_t)c->budget,
				       .budget_ns = c->budget_ns };

	if (!r->conf || r->conf->reconf.mode != c->mode)
		r->mode = (enum cluster_reconf_mode)c->mode;
	overrides_begin(&r->over, r->conf, conf);
	keep_pending(r, conf);
	r->conf = conf;
	memset(r->taker, 0, sizeof(r->taker));
	memset(r->open, 0, sizeof(r->open));
	memset(r->adopt, 0, sizeof(r->adopt));
	for (uint32_t i = 0; i < conf->services; i++)
		r->place[conf->service[i].number] = (uint16_t)i;
	decide_init(&r->decide, &d);
}

int reconf_open(struct reconf **out, const struct cluster_conf *conf, struct guests *gs,
		struct exchange *x, const char *state_dir)
{
	struct reconf *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*out = r;
	r->gs = gs;
	r->x = x;
	begin(r, conf);
	return history_open(&r->history, state_dir);
}

void reconf_close(struct reconf *r)
{
	if (!r)
		return;
	history_close(r->history);
	free(r);
}

/* --- what is known -------------------------------------------------------------------------- */

/*
 * Up to 1000 the index counts, which is a mean over load.window. Above it no more than the tasks
 * that wait can say by how much a node is overloaded.
 */
static uint32_t load_of(const struct balance_node *n)
{
	uint32_t tasks = n->queue && n->cpus ? n->running / n->cpus : 0;

	return n->index < 1000 || tasks < n->index ? n->index : tasks;
}

/* Of kind switch: it was moved, and is not ready for its service yet. */
static bool is_pending(const struct cluster_node_seen *s)
{
	return s->conf->kind == CLUSTER_NODE_SWITCH && s->phase > ROLE_READY;
}

static uint16_t place_of(const struct reconf *r, const struct cluster_service *s)
{
	return s ? r->place[s->number] : DECIDE_NO_SERVICE;
}

static void look_at_node(struct reconf *r, const struct cluster *c, uint32_t i,
			 const struct hostset *members, struct mono now)
{
	const struct cluster_node *n = &r->conf->node[i];
	struct decide_node *d = &r->view.node[i];
	struct cluster_node_seen s;
	struct balance_node b;

	cluster_node_see(c, i, now, &s);
	adopt_see(&r->adopt[i], &s, now);
	b = balancer_node(s.load, *n->guest, s.index, s.age_ns, 0);
	if (hostset_has(members, n->host) && !s.word_known)
		r->unread = s.host;
	*d = (struct decide_node){ .service = place_of(r, s.service),
				   .home = n->service ? r->place[n->service] : DECIDE_NO_SERVICE,
				   .alive = hostset_has(members, n->host),
				   .fixed = r->over.fixed[i],
				   .pending = is_pending(&s),
				   .known = s.state == CLUSTER_NODE_FRESH && b.known,
				   .capacity = (uint32_t)n->capacity,
				   .may = n->may };
	if (d->known)
		d->load = load_of(&b);
	if (!is_pending(&s) || !r->pending[i].ns)
		r->pending[i] = now;
}

static uint32_t at_most(uint64_t v)
{
	return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

static void look(struct reconf *r, const struct cluster *c, const struct hostset *members,
		 struct mono now)
{
	r->view.nodes = r->conf->nodes;
	r->view.services = r->conf->services;
	r->unread = NULL;
	for (uint32_t i = 0; i < r->conf->nodes; i++)
		look_at_node(r, c, i, members, now);
	for (uint32_t i = 0; i < r->conf->services; i++) {
		const struct cluster_service *s = &r->over.service[i];

		r->view.service[i] = (struct decide_service){ .minimum = at_most(s->minimum),
							      .guarantee = at_most(s->guarantee),
							      .share = at_most(s->share),
							      .maximum = at_most(s->maximum),
							      .priority = at_most(s->priority),
							      .high = at_most(s->high),
							      .low = at_most(s->low) };
	}
	decide_seen(&r->decide, &r->view, now);
}

/* Hosts that were not read yet are no news: that passes. */
static void tell_hindrance(struct reconf *r, int64_t wall_ns)
{
	bool is = r->note[0] != 0;

	if (is == r->noted)
		return;
	r->noted = is;
	guests_event(r->gs, wall_ns, "", "reconf", "%s",
		     is ? r->note : "moves of nodes are decided on");
}

/* --- decisions ------------------------------------------------------------------------------ */

/* -1: it is not known. */
static int64_t known_load(uint32_t load)
{
	return load == UINT32_MAX ? -1 : (int64_t)load;
}

static const char *const why_names[] = {
	[DECIDE_MOVE] = "load",
	[DECIDE_MOVE_OWED] = "guarantee",
	[DECIDE_MOVE_PREEMPTS] = "priority",
	[DECIDE_MOVE_CHAIN] = "chain",
	[DECIDE_MOVE_HOME] = "home",
	[DECIDE_CALM] = "calm",
	[DECIDE_UNKNOWN] = "unknown",
	[DECIDE_FROZEN] = "frozen",
	[DECIDE_AT_MAXIMUM] = "at-maximum",
	[DECIDE_OVER_BUDGET] = "over-budget",
	[DECIDE_BACKS_OFF] = "backs-off",
	[DECIDE_NO_SPARE] = "no-spare",
	[DECIDE_GUARANTEED] = "guaranteed",
	[DECIDE_NONE_LOW] = "none-low",
	[DECIDE_NO_GAIN] = "no-gain",
	[DECIDE_RESTS] = "rests",
	[DECIDE_STUCK] = "stuck",
	[DECIDE_MAY_NOT] = "may-not",
};

static_assert(sizeof(why_names) / sizeof(why_names[0]) == DECIDE_WHYS, "each has a name");

static void watch_later(struct reconf *r, struct cluster_move *m, uint32_t taker, uint32_t donor,
			struct mono now)
{
	struct open_move *o = r->open;

	/* As many places as moves in memory: one is free, or its move is there no more. */
	while (o < r->open + HISTORY_MOVES - 1 && o->move && o->move->id == o->id)
		o++;
	*o = (struct open_move){ m, m->id, taker, donor,
				 mono_add(now, SEEN_AFTER * r->conf->reconf.high_ns) };
}

static struct cluster_move *note_move(struct reconf *r, const struct decide_plan *p, uint32_t highs,
				      const char *why, const char *outcome, struct mono now,
				      int64_t wall_ns)
{
	const struct cluster_conf *conf = r->conf;
	struct cluster_move m = { .wall_ns = wall_ns,
				  .at = now,
				  .high_ns = highs * conf->reconf.check_ns,
				  .taker_before = known_load(p->taker_before),
				  .donor_before = known_load(p->donor_before),
				  .taker_predicted = known_load(p->taker_after),
				  .donor_predicted = known_load(p->donor_after),
				  .taker_seen = -1,
				  .donor_seen = -1,
				  .told = -1,
				  .held_ns = -1,
				  .read_ns = -1,
				  .told_ns = -1,
				  .moved_ns = -1,
				  .released_ns = -1 };

	strcpy(m.host, conf->host[conf->self].name);
	strcpy(m.node, conf->node[p->step[0].node].name);
	if (p->step[0].donor != DECIDE_NO_SERVICE)
		strcpy(m.donor, conf->service[p->step[0].donor].name);
	strcpy(m.taker, conf->service[p->step[0].taker].name);
	strcpy(m.why, why);
	strcpy(m.outcome, outcome);
	return history_add(r->history, &m);
}

/* What would be moved is noted, and counts against the budget, as if it were moved. */
static void observe(struct reconf *r, const struct decide_plan *p, uint32_t highs, struct mono now,
		    int64_t wall_ns)
{
	struct cluster_move *m = note_move(r, p, highs, why_names[p->why], "observed", now,
					   wall_ns);

	watch_later(r, m, p->step[0].taker, p->step[0].donor, now);
	guests_event(r->gs, wall_ns, "", "reconf",
		     "would move node %s from %s to %s: %s; see resex why-move %s", m->node,
		     m->donor, m->taker, decide_why_text(p->why), m->taker);
}

/* --- moves ---------------------------------------------------------------------------------- */

/* By the load: the taker's must still be high under the locks. A step of a chain, or home: not. */
static bool is_for_load(const struct decide_plan *p, uint32_t service)
{
	return p->why != DECIDE_MOVE_HOME && p->step[0].taker == service;
}

/* 0, or as mail_ask. */
static int ask(struct reconf *r, const struct decide_plan *p, const char *why, bool for_load,
	       bool ordered, uint32_t highs, struct mono now, int64_t wall_ns)
{
	const struct decide_step *s = &p->step[0];
	const struct cluster_node *n = &r->conf->node[s->node];
	struct request q = { .kind = REQUEST_MOVE,
			     .service = (uint32_t)r->conf->service[s->taker].number,
			     .host = (uint32_t)n->host,
			     .node = (uint32_t)n->number,
			     .force = !for_load,
			     .ordered = ordered };
	struct asked_move *a = &r->asked;
	int rc;

	if (s->donor != DECIDE_NO_SERVICE)
		q.donor = (uint32_t)r->conf->service[s->donor].number;
	rc = mail_ask(&r->x->mail, &q, &a->ticket);
	if (rc) {
		a->ticket = 0;
		return rc;
	}
	a->ordered = ordered;
	a->taker = s->taker;
	a->move = note_move(r, p, highs, why, "asked", now, wall_ns);
	a->id = a->move->id;
	exchange_wake(r->x->worker_fd);
	return 0;
}

/* The load that was measured is of before: T begins again. */
static bool begins_t(int rc)
{
	return !rc || rc == MOVE_UNDECIDED || rc == MOVE_COUNTER_AHEAD || rc == MOVE_CALM;
}

static uint32_t index_of(const struct reconf *r, const char *service)
{
	return (uint32_t)(cluster_service_find(r->conf, service) - r->conf->service);
}

/* As resex lock-list shows it. */
static void put_fence(uint64_t seq, char text[static 24])
{
	snprintf(text, 24, "%u.%u", region_seq_epoch(seq), region_seq_count(seq));
}

static int64_t phase_ns(const struct move_copy *c, enum move_phase p)
{
	return c->trace.at[p].ns < 0 ? -1 : mono_sub(c->trace.at[p], c->asked);
}

/* A move that was refused at once has no trace. */
static void take_trace(struct reconf *r, uint64_t ticket, struct cluster_move *m)
{
	struct move_copies *all = &r->x->moved;
	const struct move_copy *c;

	spsc_latest_get(&all->at);
	c = &all->copy[all->at.front];
	if (c->ticket != ticket)
		return;
	m->held_ns = phase_ns(c, MOVE_HELD);
	m->read_ns = phase_ns(c, MOVE_READ);
	m->told_ns = phase_ns(c, MOVE_TOLD);
	m->moved_ns = phase_ns(c, MOVE_ACTED);
	m->released_ns = phase_ns(c, MOVE_ENDED);
	m->told = c->trace.told;
	if (m->held_ns < 0)
		return;
	put_fence(c->trace.fence[0], m->taker_fence);
	if (*m->donor) /* to adopt a node takes one lock */
		put_fence(c->trace.fence[1], m->donor_fence);
}

static void tell_end(struct reconf *r, const struct cluster_move *m, int rc, int64_t wall_ns)
{
	const char *text = rc < 0 ? "this host is busy with its locks, or has no quorum"
			   : strcmp(m->why, "order") ? move_result_text((enum move_result)rc)
						     : order_result_text(rc);

	if (!rc && !*m->donor)
		guests_event(r->gs, wall_ns, "", "reconf",
			     "node %s was in no service, and serves %s (%s)", m->node, m->taker,
			     m->why);
	else if (!rc)
		guests_event(r->gs, wall_ns, "", "reconf", "moved node %s from %s to %s (%s)",
			     m->node, m->donor, m->taker, m->why);
	else if (!*m->donor)
		guests_event(r->gs, wall_ns, "", "reconf",
			     "node %s stays in no service, not %s: %s", m->node, m->taker, text);
	else
		guests_event(r->gs, wall_ns, "", "reconf", "node %s stays in %s, not %s: %s",
			     m->node, m->donor, m->taker, text);
}

void reconf_answer(struct reconf *r, struct mono now, int64_t wall_ns)
{
	struct asked_move *a = &r->asked;
	int rc = a->ticket ? mail_result(&r->x->mail, a->ticket) : -EINPROGRESS;
	struct cluster_move *m = a->move;
	uint64_t ticket = a->ticket;

	if (rc == -EINPROGRESS)
		return;
	a->ticket = 0;
	if (begins_t(rc))
		r->taker[a->taker].highs = 0;
	if (m->id != a->id) /* so many moves came meanwhile */
		return;
	strcpy(m->outcome, order_outcome(rc));
	take_trace(r, ticket, m);
	history_changed(r->history, m);
	if (!rc && *m->donor)
		watch_later(r, m, a->taker, index_of(r, m->donor), now);
	tell_end(r, m, rc, wall_ns);
}

void reconf_set(struct reconf *r, enum cluster_reconf_mode mode, int64_t wall_ns)
{
	if (mode != r->mode)
		guests_event(r->gs, wall_ns, "", "reconf", "an operator has set the mode to %s",
			     cluster_reconf_mode_name(mode));
	r->mode = mode;
}

enum cluster_reconf_mode reconf_mode(const struct reconf *r)
{
	return r->mode;
}

/* The nodes of members that serve it, by the words read last. */
static uint32_t nodes_of(const struct reconf *r, const struct cluster *c,
			 const struct cluster_service *of, const struct hostset *members,
			 struct mono now)
{
	uint32_t nodes = 0;

	for (uint32_t i = 0; of && i < r->conf->nodes; i++) {
		struct cluster_node_seen s;

		cluster_node_see(c, i, now, &s);
		nodes += s.service == of && hostset_has(members, r->conf->node[i].host);
	}
	return nodes;
}

int reconf_order(struct reconf *r, const struct cluster *c, const struct hostset *members,
		 uint32_t node, uint32_t service, struct mono now, int64_t wall_ns,
		 uint64_t *ticket, char why[static CLUSTER_WHY_TEXT])
{
	const struct asked_move *a = &r->asked;
	struct decide_plan p = { .steps = 1 };
	struct cluster_node_seen s;
	struct order o = { .node = &s,
			   .taker = &r->conf->service[service],
			   .fixed = r->over.fixed[node],
			   .may = r->conf->node[node].may >> service & 1,
			   .pending_ns = mono_sub(now, r->pending[node]),
			   .under_way = a->ticket != 0 };
	int rc;

	if (a->ticket && a->move->id == a->id) {
		o.move = a->move;
		o.move_ns = mono_sub(now, a->move->at);
	}
	cluster_node_see(c, node, now, &s);
	o.nodes = nodes_of(r, c, s.service, members, now);
	rc = order_check(&o, why);
	if (rc || !ticket)
		return rc;
	p.step[0] = (struct decide_step){ .taker = (uint16_t)service,
					  .donor = place_of(r, s.service),
					  .node = (uint16_t)node };
	p.taker_before = decide_load(&r->decide, &r->view, service);
	p.taker_after = p.donor_before = p.donor_after = UINT32_MAX;
	if (s.service)
		p.donor_before = decide_load(&r->decide, &r->view, p.step[0].donor);
	rc = ask(r, &p, "order", false, true, 0, now, wall_ns);
	*ticket = r->asked.ticket;
	return rc;
}

/* --- what an operator sets ------------------------------------------------------------------ */

void reconf_fix(struct reconf *r, uint32_t node, bool fixed, int64_t wall_ns)
{
	if (r->over.fixed[node] != fixed)
		guests_event(r->gs, wall_ns, "", "reconf", "an operator has %s node %s",
			     fixed ? "fixed" : "released", r->conf->node[node].name);
	r->over.fixed[node] = fixed;
}

bool reconf_fixed(const struct reconf *r, uint32_t node)
{
	return r->over.fixed[node];
}

void reconf_set_text(const struct reconf *r, uint32_t service, char text[static CLUSTER_SET_TEXT])
{
	overrides_text(&r->over, r->conf, service, text);
}

int reconf_service_set(struct reconf *r, uint32_t service, const struct conf_doc *d,
		       int64_t wall_ns, struct conf_error *e)
{
	uint64_t high = r->over.service[service].high;
	char text[CLUSTER_SET_TEXT];
	int rc = cluster_service_change(d, r->conf, r->over.service, service, e);

	if (rc)
		return rc;
	if (r->over.service[service].high != high) /* T begins again */
		r->taker[service].highs = 0;
	reconf_set_text(r, service, text);
	guests_event(r->gs, wall_ns, "", "reconf", "an operator has set of service %s: %s",
		     r->conf->service[service].name, *text ? text : "what cluster.json says");
	return 0;
}

void reconf_service_reset(struct reconf *r, int64_t wall_ns)
{
	char text[CLUSTER_SET_TEXT];

	for (uint32_t i = 0; i < r->conf->services; i++) {
		reconf_set_text(r, i, text);
		if (!*text)
			continue;
		guests_event(r->gs, wall_ns, "", "reconf",
			     "cluster.json holds again for service %s, not: %s",
			     r->conf->service[i].name, text);
		r->over.service[i] = r->conf->service[i];
		r->taker[i].highs = 0;
	}
}

/* --- decisions, each S ---------------------------------------------------------------------- */

/* For rule 4 of a move: the load must be high for T also when its locks are held. */
static void pass_highs(struct reconf *r)
{
	struct check_copies *k = &r->x->checks;
	bool *high = k->copy[k->at.back].high;

	memset(high, 0, sizeof(k->copy[0].high));
	for (uint32_t i = 0; i < r->conf->services; i++)
		high[r->conf->service[i].number] = r->taker[i].highs > 0;
	spsc_latest_put(&k->at);
}

/* While a service backs off, the reason why it found no donor is the one to be shown. */
static void take_plan(struct taker *t, const struct decide_plan *p)
{
	t->backs_off = p->why == DECIDE_BACKS_OFF;
	if (t->backs_off && t->decided)
		t->plan.wait_ns = p->wait_ns;
	else
		t->plan = *p;
	t->decided = true;
}

static void decide_for(struct reconf *r, uint32_t i, struct mono now, int64_t wall_ns)
{
	uint32_t needed = cluster_reconf_checks(&r->conf->reconf);
	struct taker *t = &r->taker[i];
	struct decide_plan p;

	t->highs = decide_high(&r->decide, &r->view, i) ? t->highs + 1 : 0;
	/* One move at a time: what it changes is not in the view yet. */
	if (r->asked.ticket)
		return;
	if (decide(&r->decide, &r->view, i, t->highs >= needed, now, &p))
		return;
	take_plan(t, &p);
	if (p.steps && r->mode == RECONF_ACT) {
		if (ask(r, &p, why_names[p.why], is_for_load(&p, i), false, t->highs, now, wall_ns))
			return; /* the mail is full: at the next check */
	} else if (p.steps) {
		observe(r, &p, t->highs, now, wall_ns);
		t->highs = 0; /* as after a move: T begins again */
	}
	decide_asked(&r->decide, i, &p, now);
}

/* --- moves that are undone ------------------------------------------------------------------ */

/*
 * A node of kind switch that is not ready after give_up goes back to where it was: by the first
 * balancer of that service; each other one waits T longer than the one before it.
 */
static void undo(struct reconf *r, const struct cluster *c, uint32_t i,
		 const struct hostset *members, struct mono now, int64_t wall_ns)
{
	const struct cluster_service *from;
	struct cluster_node_seen s;
	struct decide_plan p = { .steps = 1, .taker_after = UINT32_MAX, .donor_after = UINT32_MAX };
	uint32_t donor = r->view.node[i].service;
	int64_t waits;

	cluster_node_see(c, i, now, &s);
	from = cluster_service_at(r->conf, s.from);
	if (!from || donor == DECIDE_NO_SERVICE || r->place[from->number] == donor ||
	    !cluster_is_balancer(r->conf, from) || r->over.fixed[i] || r->asked.ticket)
		return;
	waits = r->conf->reconf.give_up_ns +
		adopt_rank(r->conf, from, members) * r->conf->reconf.high_ns;
	if (mono_sub(now, r->pending[i]) < waits)
		return;
	p.step[0] = (struct decide_step){ .taker = r->place[from->number],
					  .donor = (uint16_t)donor,
					  .node = (uint16_t)i };
	p.taker_before = decide_load(&r->decide, &r->view, p.step[0].taker);
	p.donor_before = decide_load(&r->decide, &r->view, donor);
	if (!ask(r, &p, "undo", false, true, 0, now, wall_ns))
		r->pending[i] = now; /* if it is refused: again after give_up */
}

static void undo_pending(struct reconf *r, const struct cluster *c, const struct hostset *members,
			 struct mono now, int64_t wall_ns)
{
	for (uint32_t i = 0; r->conf->reconf.give_up_ns && i < r->view.nodes; i++)
		if (r->conf->node[i].kind == CLUSTER_NODE_SWITCH && r->mode == RECONF_ACT)
			undo(r, c, i, members, now, wall_ns);
}

/* --- nodes in no service -------------------------------------------------------------------- */

static void adopt(struct reconf *r, uint32_t i, const struct cluster_service *s, struct mono now,
		  int64_t wall_ns)
{
	uint16_t taker = place_of(r, s);
	const struct decide_plan p = {
		.steps = 1,
		.step[0] = { .taker = taker, .donor = DECIDE_NO_SERVICE, .node = (uint16_t)i },
		.taker_before = decide_load(&r->decide, &r->view, taker),
		.taker_after = UINT32_MAX,
		.donor_before = UINT32_MAX,
		.donor_after = UINT32_MAX
	};

	if (r->mode == RECONF_ACT) {
		/* Otherwise at the next check. */
		if (!r->asked.ticket && !ask(r, &p, "adopt", false, false, 0, now, wall_ns))
			adopt_asked(&r->adopt[i], r->conf, now);
	} else if (!r->adopt[i].noted) {
		r->adopt[i].noted = true;
		note_move(r, &p, 0, "adopt", "observed", now, wall_ns);
		guests_event(r->gs, wall_ns, "", "reconf",
			     "would adopt node %s, which is in no service, for %s",
			     r->conf->node[i].name, s->name);
	}
}

static void adopt_lost(struct reconf *r, const struct hostset *members, struct mono now,
		       int64_t wall_ns)
{
	for (uint32_t i = 0; i < r->conf->nodes; i++) {
		const struct cluster_service *s = adopt_service(&r->adopt[i], r->conf,
								&r->conf->node[i], members, now);

		if (s)
			adopt(r, i, s, now, wall_ns);
	}
}

/* The loads of moves that are long enough over. */
static void see_later(struct reconf *r, struct mono now, int64_t wall_ns)
{
	for (uint32_t i = 0; i < HISTORY_MOVES; i++) {
		struct open_move *o = &r->open[i];

		if (!o->move || mono_sub(now, o->due) < 0)
			continue;
		if (o->move->id != o->id) {
			o->move = NULL;
			continue;
		}
		o->move->taker_seen = known_load(decide_load(&r->decide, &r->view, o->taker));
		o->move->donor_seen = known_load(decide_load(&r->decide, &r->view, o->donor));
		o->move->seen_wall_ns = wall_ns;
		history_changed(r->history, o->move);
		o->move = NULL;
	}
}

void reconf_reload(struct reconf *r, const struct cluster_conf *conf, struct mono now,
		   int64_t wall_ns)
{
	reconf_answer(r, now, wall_ns); /* the other thread has ended the move first */
	reconf_service_reset(r, wall_ns);
	begin(r, conf);
}

int64_t reconf_due(const struct reconf *r, struct mono now)
{
	return mono_sub(r->due, now);
}

void reconf_turn(struct reconf *r, const struct cluster *c, const struct hostset *members,
		 const char *hindrance, struct mono now, int64_t wall_ns)
{
	is_due(&r->due, r->conf->reconf.check_ns, now);
	look(r, c, members, now);
	snprintf(r->note, sizeof(r->note), "%s", hindrance);
	if (!r->note[0] && r->mode == RECONF_PAUSE)
		snprintf(r->note, sizeof(r->note),
			 "an operator has paused it: resex reconf observe, or act, goes on");
	if (!r->note[0] && r->unread)
		snprintf(r->note, sizeof(r->note),
			 "the words of %s's nodes were not read yet: see resex host-list",
			 r->unread->name);
	tell_hindrance(r, wall_ns);
	see_later(r, now, wall_ns);
	if (!r->note[0]) {
		undo_pending(r, c, members, now, wall_ns);
		adopt_lost(r, members, now, wall_ns);
	}
	for (uint32_t i = 0; i < r->conf->services; i++)
		if (r->note[0])
			r->taker[i] = (struct taker){ 0 };
		else if (cluster_is_balancer(r->conf, &r->conf->service[i]))
			decide_for(r, i, now, wall_ns);
	pass_highs(r);
}

/* --- what is shown -------------------------------------------------------------------------- */

static void see_plan(const struct reconf *r, const struct taker *t, struct cluster_service_seen *s)
{
	const struct decide_plan *p = &t->plan;

	s->why = why_names[p->why];
	s->why_text = decide_why_text(p->why);
	if (p->steps)
		s->node = &r->conf->node[p->step[0].node];
	if (p->steps || p->donor != DECIDE_NO_SERVICE)
		s->donor = &r->conf->service[p->steps ? p->step[0].donor : p->donor];
	if (s->donor)
		s->donor_before = known_load(p->donor_before);
	if (p->predicted) {
		s->taker_predicted = known_load(p->taker_after);
		s->donor_predicted = known_load(p->donor_after);
	}
	s->wait_ns = p->wait_ns;
	s->wait_text = decide_wait_text(t->backs_off ? DECIDE_BACKS_OFF : p->why);
}

void reconf_see(const struct reconf *r, uint32_t service, struct cluster_service_seen *s)
{
	const struct taker *t = &r->taker[service];

	s->in_force = &r->over.service[service];
	s->here = cluster_is_balancer(r->conf, &r->conf->service[service]);
	s->load = known_load(decide_load(&r->decide, &r->view, service));
	s->high_ns = t->highs * r->conf->reconf.check_ns;
	for (uint32_t i = 0; i < r->view.nodes; i++) {
		if (r->view.node[i].service != service)
			continue;
		s->nodes++;
		s->known += r->view.node[i].known;
	}
	if (t->decided)
		see_plan(r, t, s);
	strcpy(s->note, r->note);
}

const struct cluster_move *reconf_history(const struct reconf *r, uint32_t n)
{
	return history_get(r->history, n);
}

const char *reconf_history_note(const struct reconf *r)
{
	return history_note(r->history);
}
