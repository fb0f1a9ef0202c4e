// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * decide_home: the rule HOME of decide.h: which node goes home while moves for load are frozen.
 * First each service gets back its share of nodes, then its own nodes for those of other capacity
 * that it has instead. decide.c asks it for each service.
 */
#include "src/reconf/decide_priv.h"

/* How near a node is to its move; 0: it may not go to the taker. */
enum preference { STAYS, DONORS_OWN, FOREIGN, TAKERS_OWN };

static enum preference preference_of(const struct decide_case *c, const struct decide_node *n)
{
	if (!decide_counts(n, c->v) || n->service == c->taker || n->fixed || n->pending ||
	    !(n->may >> c->taker & 1) ||
	    decide_spares(c, n->service, c->sum[n->service].nodes, c->taker) != DECIDE_MOVE)
		return STAYS;
	return n->home == c->taker ? TAKERS_OWN : n->home == n->service ? DONORS_OWN : FOREIGN;
}

/* --- shares ----------------------------------------------------------------------- */

static uint32_t above_share(const struct decide_case *c, uint32_t service)
{
	uint32_t nodes = c->sum[service].nodes, share = c->v->service[service].share;

	return nodes > share ? nodes - share : 0;
}

/* a, b: indexes of nodes that may go. Is a the better one? */
static bool goes_before(const struct decide_case *c, uint32_t a, uint32_t b)
{
	const struct decide_node *x = &c->v->node[a], *y = &c->v->node[b];
	uint32_t above_x = above_share(c, x->service), above_y = above_share(c, y->service);
	enum preference px = preference_of(c, x), py = preference_of(c, y);

	if (above_x != above_y || x->service != y->service)
		return above_x > above_y;
	return px != py ? px > py : decide_node_load(x) < decide_node_load(y);
}

/* A node of the service that is furthest above its share; DECIDE_NODES_MAX: there is none. */
static uint32_t by_share(const struct decide_case *c)
{
	uint32_t best = DECIDE_NODES_MAX;

	for (uint32_t i = 0; i < c->v->nodes; i++)
		if (preference_of(c, &c->v->node[i]) != STAYS &&
		    above_share(c, c->v->node[i].service) &&
		    (best == DECIDE_NODES_MAX || goes_before(c, i, best)))
			best = i;
	return best;
}

/* --- own nodes -------------------------------------------------------------------- */

/*
 * Has the taker a node of other capacity instead, which may go to the donor in turn? That is one of
 * the taker's nodes that are not its own: when the donor is below its share, by_share() takes it.
 */
static bool has_other(const struct decide_case *c, const struct decide_node *own)
{
	for (uint32_t i = 0; i < c->v->nodes; i++) {
		const struct decide_node *n = &c->v->node[i];

		if (decide_counts(n, c->v) && n->service == c->taker && n->home != c->taker &&
		    !n->fixed && !n->pending && n->may >> own->service & 1 &&
		    decide_capacity(c->d, n) != decide_capacity(c->d, own))
			return true;
	}
	return false;
}

/* The taker's largest own node that is elsewhere, and would go. */
static uint32_t own_node(const struct decide_case *c)
{
	uint32_t best = DECIDE_NODES_MAX;
	uint64_t most = 0;

	for (uint32_t i = 0; i < c->v->nodes; i++) {
		const struct decide_node *n = &c->v->node[i];
		uint64_t capacity = decide_capacity(c->d, n);

		if (capacity <= most || preference_of(c, n) != TAKERS_OWN || !has_other(c, n))
			continue;
		most = capacity;
		best = i;
	}
	return best;
}

bool decide_home(const struct decide_case *c, struct decide_plan *p)
{
	const struct decide_service *taker = &c->v->service[c->taker];
	uint32_t nodes = c->sum[c->taker].nodes, node;

	if (!decide_on(c->d, DECIDE_HOME) || nodes >= taker->maximum)
		return false;
	node = nodes < taker->share ? by_share(c) : DECIDE_NODES_MAX;
	if (node == DECIDE_NODES_MAX)
		node = own_node(c);
	if (node == DECIDE_NODES_MAX)
		return false;
	p->steps = 1;
	p->step[0] = (struct decide_step){ (uint16_t)c->taker, c->v->node[node].service,
					   (uint16_t)node };
	return true;
}
