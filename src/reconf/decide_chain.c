// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * decide_chain: a move over other services, when a donor's nodes may not serve the taker: A gives a
 * node to B, and B another one to C. Multi-stage reconfiguration is future work in the papers
 * (decide.h).
 *
 *	path: taker <- via[0] <- via[1] .. <- donor, a node for each arrow
 *
 * Only the donor loses capacity, so only it must have a node to spare. A service on the way gets a
 * node before it gives one: then it must have one to spare, and before that room below its maximum.
 * LOW and GAIN hold for all of them: when the first step is made, the next one is a move like any
 * other. No load becomes high: else a service would take its node back before the next step.
 */
#include "src/reconf/decide_priv.h"

/* best[a][b]: the node of a that would go to b; DECIDE_NODES_MAX: none may. */
struct edges {
	uint16_t best[DECIDE_SERVICES_MAX][DECIDE_SERVICES_MAX];
};

static void find_edges(const struct decide_case *c, struct edges *e)
{
	for (uint32_t a = 0; a < c->v->services; a++)
		for (uint32_t b = 0; b < c->v->services; b++)
			e->best[a][b] = DECIDE_NODES_MAX;
	for (uint32_t i = 0; i < c->v->nodes; i++) {
		const struct decide_node *n = &c->v->node[i];

		for (uint32_t to = 0;
		     n->alive && n->service < c->v->services && to < c->v->services; to++) {
			uint16_t *best = &e->best[n->service][to];

			if (to != n->service && decide_goes(c, i, to) == DECIDE_MOVE &&
			    (*best == DECIDE_NODES_MAX ||
			     decide_node_load(n) < decide_node_load(&c->v->node[*best])))
				*best = (uint16_t)i;
		}
	}
}

static int64_t capacity_of(const struct decide_case *c, uint32_t node)
{
	return (int64_t)decide_capacity(c->d, &c->v->node[node]);
}

/*
 * May a service that has so many nodes, and so much load after it, give one to the service `to`,
 * for the taker?
 */
static bool gives(const struct decide_case *c, uint32_t s, uint32_t nodes, uint32_t after,
		  uint32_t to)
{
	return after < c->v->service[s].high && decide_gains(c->d, after, c->sum[c->taker].load) &&
	       decide_spares(c, s, nodes, to) == DECIDE_MOVE &&
	       decide_spares(c, s, nodes, c->taker) == DECIDE_MOVE;
}

/* The chain that is tried, from the taker on, and the best one. */
struct search {
	const struct decide_case *c;
	const struct edges *e;
	uint32_t n;			  /* services of the path, with the taker */
	uint32_t path[DECIDE_STEPS_MAX];  /* without the donor */
	uint32_t worst[DECIDE_STEPS_MAX]; /* highest load of the services on the way so far */
	uint32_t most;			  /* a chain must have less than this */
	struct decide_plan *p;
	bool found;
};

/*
 * The last service of the path gives its node when it has got another one: its load then.
 * UINT32_MAX: it may not.
 */
static uint32_t load_on_the_way(const struct search *x, uint32_t gets)
{
	uint32_t s = x->path[x->n - 1], to = x->path[x->n - 2], nodes = x->c->sum[s].nodes;
	int64_t more = capacity_of(x->c, gets) - capacity_of(x->c, x->e->best[s][to]);
	uint32_t after = decide_load_after(&x->c->sum[s], more);

	if (nodes >= x->c->v->service[s].maximum || !gives(x->c, s, nodes + 1, after, to))
		return UINT32_MAX;
	return after;
}

static bool is_on_path(const struct search *x, uint32_t s)
{
	uint32_t i = 0;

	while (i < x->n && x->path[i] != s)
		i++;
	return i < x->n;
}

static void take_chain(struct search *x, uint32_t donor, uint32_t worst)
{
	const struct decide_case *c = x->c;
	uint32_t from = donor, last = x->e->best[x->path[1]][x->path[0]];

	*x->p = (struct decide_plan){ .why = DECIDE_MOVE_CHAIN,
				      .steps = x->n,
				      .donor = (uint16_t)donor,
				      .predicted = true,
				      .taker_before = c->sum[c->taker].load,
				      .donor_before = c->sum[donor].load };
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t to = x->path[x->n - 1 - i];

		x->p->step[i] = (struct decide_step){ (uint16_t)to, (uint16_t)from,
						      x->e->best[from][to] };
		from = to;
	}
	x->p->taker_after = decide_load_after(&c->sum[c->taker], capacity_of(c, last));
	x->p->donor_after = decide_load_after(&c->sum[donor], -capacity_of(c, x->p->step[0].node));
	x->most = worst;
	x->found = true;
}

/* The donor gives its node to the last service of the path. */
static void try_donor(struct search *x, uint32_t donor)
{
	const struct decide_case *c = x->c;
	uint32_t last = x->path[x->n - 1], node = x->e->best[donor][last], way, after;

	way = load_on_the_way(x, node);
	after = decide_load_after(&c->sum[donor], -capacity_of(c, node));
	if (way < x->worst[x->n - 1])
		way = x->worst[x->n - 1];
	if (after > way)
		way = after;
	if (way < x->most && gives(c, donor, c->sum[donor].nodes, after, last))
		take_chain(x, donor, way);
}

static void extend(struct search *x);

static void step_to(struct search *x, uint32_t s)
{
	uint32_t last = x->path[x->n - 1], worst = x->worst[x->n - 1], way;

	if (x->n > 1) {
		way = load_on_the_way(x, x->e->best[s][last]);
		worst = way > worst ? way : worst;
	}
	x->path[x->n] = s;
	x->worst[x->n] = worst;
	x->n++;
	extend(x);
	x->n--;
}

/* Not deeper than DECIDE_STEPS_MAX. */
static void extend(struct search *x)
{
	uint32_t last = x->path[x->n - 1];

	for (uint32_t s = 0; s < x->c->v->services; s++) {
		if (x->e->best[s][last] == DECIDE_NODES_MAX || is_on_path(x, s) ||
		    !decide_is_low(x->c, s))
			continue;
		/* One that can give to the taker itself needs no chain. */
		if (x->n > 1 && x->e->best[s][x->c->taker] == DECIDE_NODES_MAX)
			try_donor(x, s);
		if (x->n < DECIDE_STEPS_MAX)
			step_to(x, s);
	}
}

/* Is there one that has a node to spare, which cannot go to the taker itself? */
static bool any_donor(const struct decide_case *c, const struct edges *e)
{
	for (uint32_t s = 0; s < c->v->services; s++)
		if (s != c->taker && e->best[s][c->taker] == DECIDE_NODES_MAX &&
		    decide_spares(c, s, c->sum[s].nodes, c->taker) == DECIDE_MOVE)
			return true;
	return false;
}

bool decide_chain(const struct decide_case *c, uint32_t single, struct decide_plan *p)
{
	struct search x = { .c = c, .n = 1, .most = UINT32_MAX, .p = p };
	struct edges e;

	if (single != UINT32_MAX)
		x.most = (uint32_t)((uint64_t)single * 1000 / (1000ull + c->d->conf.margin));
	find_edges(c, &e);
	if (!any_donor(c, &e))
		return false;
	x.e = &e;
	x.path[0] = c->taker;
	extend(&x);
	return x.found;
}
