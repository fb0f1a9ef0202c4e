// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * decide_chain: a move over other services, when a donor's nodes may not serve the taker: A gives a
 * node to B, and B another one to C. Multi-stage reconfiguration is future work in the papers
 * (decide.h).
 *
 *	path: taker <- via[0] <- via[1] .. <- donor, a node for each arrow
 *
 * Only the donor loses capacity, so only it must have nodes to spare, and a low load. A service on
 * the way gets a node before it gives one: it keeps its minimum, but needs room below its maximum.
 */
#include "src/reconf/decide_priv.h"

/* best[a][b]: the node of a that would go to b; DECIDE_NODES_MAX: none may. */
struct edges {
	uint16_t best[DECIDE_SERVICES_MAX][DECIDE_SERVICES_MAX];
};

static uint32_t load_of(const struct decide_node *n)
{
	return n->known ? n->load : UINT32_MAX;
}

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
			    (*best == DECIDE_NODES_MAX || load_of(n) < load_of(&c->v->node[*best])))
				*best = (uint16_t)i;
		}
	}
}

static int64_t capacity_of(const struct decide_case *c, uint32_t node)
{
	return (int64_t)decide_capacity(c->d, &c->v->node[node]);
}

/* A service that gets one node and gives another: its load then; UINT32_MAX: it has no room. */
static uint32_t load_on_the_way(const struct decide_case *c, uint32_t s, uint32_t gets,
				uint32_t gives)
{
	if (c->sum[s].nodes + 1 > c->v->service[s].maximum || !c->sum[s].nodes)
		return UINT32_MAX;
	return decide_load_after(&c->sum[s], capacity_of(c, gets) - capacity_of(c, gives));
}

/* May the service give its node at the end of a chain? */
static bool is_donor(const struct decide_case *c, uint32_t s)
{
	return decide_spares(c, s) == DECIDE_MOVE && c->sum[s].known * 2 > c->sum[s].nodes &&
	       (!decide_on(c->d, DECIDE_LOW) || c->sum[s].load < c->v->service[s].low);
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

	/* What this service gives is known, and only now what it gets. */
	way = load_on_the_way(c, last, node, x->e->best[last][x->path[x->n - 2]]);
	after = decide_load_after(&c->sum[donor], -capacity_of(c, node));
	if (way < x->worst[x->n - 1])
		way = x->worst[x->n - 1];
	if (after > way)
		way = after;
	if (is_donor(c, donor) && way < x->most && decide_gains(c->d, way, c->sum[c->taker].load))
		take_chain(x, donor, way);
}

static void extend(struct search *x);

static void step_to(struct search *x, uint32_t s)
{
	uint32_t last = x->path[x->n - 1], worst = x->worst[x->n - 1], way;

	if (x->n > 1) {
		way = load_on_the_way(x->c, last, x->e->best[s][last],
				      x->e->best[last][x->path[x->n - 2]]);
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
		if (x->e->best[s][last] == DECIDE_NODES_MAX || is_on_path(x, s))
			continue;
		if (x->n > 1)
			try_donor(x, s);
		if (x->n < DECIDE_STEPS_MAX)
			step_to(x, s);
	}
}

bool decide_chain(const struct decide_case *c, uint32_t single, struct decide_plan *p)
{
	struct search x = { .c = c, .n = 1, .most = UINT32_MAX, .p = p };
	struct edges e;

	if (c->v->services < 3 || !c->sum[c->taker].nodes)
		return false;
	if (single != UINT32_MAX)
		x.most = (uint32_t)((uint64_t)single * 1000 / (1000 + c->d->conf.margin));
	find_edges(c, &e);
	x.e = &e;
	x.path[0] = c->taker;
	extend(&x);
	return x.found;
}
