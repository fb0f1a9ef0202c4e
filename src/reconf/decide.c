// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * decide: the rules of decide.h for a single move, in their order: is the load high, is there a
 * donor with nodes to spare, is its load low, may one of its nodes go, and does that gain enough?
 * If there is no move, the plan names the donor that came furthest in this order.
 */
#include <errno.h>
#include <string.h>

#include "src/reconf/decide_priv.h"

/* --- donors -------------------------------------------------------------------------------- */

/* Why the taker needs neither LOW nor GAIN against this donor; DECIDE_MOVE: it needs both. */
static enum decide_why exempt(const struct decide_case *c, uint32_t donor)
{
	const struct decide_service *taker = &c->v->service[c->taker], *s = &c->v->service[donor];

	if (c->sum[c->taker].nodes < taker->guarantee && c->sum[donor].nodes > s->guarantee)
		return DECIDE_MOVE_OWED;
	return taker->priority > s->priority ? DECIDE_MOVE_PREEMPTS : DECIDE_MOVE;
}

/* What a donor can do for the taker. */
struct offer {
	enum decide_why why; /* a move, or why not */
	uint32_t donor, node;
	uint32_t after;	 /* the donor's load */
	int64_t wait_ns; /* RESTS */
};

/*
 * The offer with its least loaded node that may go, and gains enough if it must. Nodes whose load
 * is not known come last.
 */
static struct offer best_node(const struct decide_case *c, uint32_t donor, bool gain)
{
	const struct decide_sum *s = &c->sum[donor];
	struct offer best = { DECIDE_MAY_NOT, donor, 0, 0, 0 };
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < c->v->nodes; i++) {
		const struct decide_node *n = &c->v->node[i];
		struct offer o = { DECIDE_MOVE, donor, i, 0, 0 };
		uint64_t load = decide_node_load(n);

		if (!decide_counts(n, c->v) || n->service != donor)
			continue;
		o.why = decide_goes(c, i, c->taker);
		o.wait_ns = o.why == DECIDE_RESTS ? decide_rests(c->d, i, c->now) : 0;
		o.after = decide_load_after(s, -(int64_t)decide_capacity(c->d, n));
		if (o.why == DECIDE_MOVE && gain &&
		    !decide_gains(c->d, o.after, c->sum[c->taker].load))
			o.why = DECIDE_NO_GAIN;
		if (o.why == DECIDE_MOVE && load < least) {
			least = load;
			best = o;
		} else if (best.why != DECIDE_MOVE &&
			   (decide_nearer(o.why, best.why) ||
			    (o.why == DECIDE_RESTS && best.why == DECIDE_RESTS &&
			     o.wait_ns < best.wait_ns))) {
			best = o;
		}
	}
	return best;
}

static struct offer offer_of(const struct decide_case *c, uint32_t donor)
{
	struct offer o = { decide_spares(c, donor, c->sum[donor].nodes, c->taker), donor,
			   DECIDE_NODES_MAX, 0, 0 };
	enum decide_why by;

	if (o.why != DECIDE_MOVE)
		return o;
	by = exempt(c, donor);
	if (decide_is_low(c, donor))
		o = best_node(c, donor, true);
	else
		o.why = DECIDE_NONE_LOW;
	if (o.why == DECIDE_MOVE || by == DECIDE_MOVE)
		return o;
	/* It needs neither: what still hinders is the node. */
	o = best_node(c, donor, false);
	if (o.why == DECIDE_MOVE)
		o.why = by;
	return o;
}

/*
 * Of moves the one for load comes first, then OWED, then PREEMPTS from the lowest priority; then
 * the lower load.
 */
static bool is_better(const struct decide_case *c, const struct offer *a, const struct offer *b)
{
	uint32_t load_a = c->sum[a->donor].load, load_b = c->sum[b->donor].load;
	bool moves = decide_is_move(a->why);

	if (moves != decide_is_move(b->why))
		return moves;
	if (a->why != b->why)
		return moves ? a->why < b->why : decide_nearer(a->why, b->why);
	if (a->why == DECIDE_MOVE_PREEMPTS &&
	    c->v->service[a->donor].priority != c->v->service[b->donor].priority)
		return c->v->service[a->donor].priority < c->v->service[b->donor].priority;
	if (a->wait_ns != b->wait_ns)
		return a->wait_ns < b->wait_ns;
	return load_a < load_b;
}

/* The best offer of all donors; why is DECIDE_NO_SPARE if there are none. */
static struct offer best_offer(const struct decide_case *c)
{
	struct offer best = { DECIDE_NO_SPARE, DECIDE_NO_SERVICE, DECIDE_NODES_MAX, 0, 0 };

	for (uint32_t i = 0; i < c->v->services; i++) {
		struct offer o;

		if (i == c->taker)
			continue;
		o = offer_of(c, i);
		if (best.donor == DECIDE_NO_SERVICE || is_better(c, &o, &best))
			best = o;
	}
	return best;
}

/* --- the decision ---------------------------------------------------------------------------- */

static void no_move(struct decide_plan *p, enum decide_why why, int64_t wait_ns)
{
	p->why = why;
	p->steps = 0;
	p->wait_ns = wait_ns;
}

/* Loads before and after the move of this node. */
static void set_figures(const struct decide_case *c, uint32_t donor, uint32_t node,
			struct decide_plan *p)
{
	int64_t capacity = (int64_t)decide_capacity(c->d, &c->v->node[node]);

	p->donor = (uint16_t)donor;
	p->predicted = true;
	p->donor_before = c->sum[donor].load;
	p->taker_after = decide_load_after(&c->sum[c->taker], capacity);
	p->donor_after = decide_load_after(&c->sum[donor], -capacity);
}

static void take_offer(const struct decide_case *c, const struct offer *o, struct decide_plan *p)
{
	p->why = o->why;
	p->wait_ns = o->wait_ns;
	p->donor = (uint16_t)o->donor;
	if (o->donor != DECIDE_NO_SERVICE)
		p->donor_before = c->sum[o->donor].load;
	if (o->node < DECIDE_NODES_MAX && o->why != DECIDE_MAY_NOT)
		set_figures(c, o->donor, o->node, p);
	if (!decide_is_move(o->why))
		return;
	p->steps = 1;
	p->step[0] = (struct decide_step){ (uint16_t)c->taker, (uint16_t)o->donor,
					   (uint16_t)o->node };
}

static void decide_by_load(const struct decide_case *c, struct decide_plan *p)
{
	const struct decide_sum *s = &c->sum[c->taker];
	int64_t wait_ns = decide_backs_off(c->d, c->taker, c->now);
	struct offer o;

	if (decide_unknown(s)) {
		no_move(p, DECIDE_UNKNOWN, 0);
	} else if (s->nodes >= c->v->service[c->taker].maximum) {
		no_move(p, DECIDE_AT_MAXIMUM, 0);
	} else if (wait_ns) {
		no_move(p, DECIDE_BACKS_OFF, wait_ns);
	} else {
		o = best_offer(c);
		take_offer(c, &o, p);
		if (decide_on(c->d, DECIDE_CHAIN))
			decide_chain(c, decide_is_move(o.why) ? o.after : UINT32_MAX, p);
	}
}

static bool is_valid(const struct decide_view *v, uint32_t service)
{
	return v->nodes <= DECIDE_NODES_MAX && v->services <= DECIDE_SERVICES_MAX &&
	       service < v->services;
}

int decide(const struct decide *d, const struct decide_view *v, uint32_t service, bool high,
	   struct mono now, struct decide_plan *p)
{
	struct decide_case c = { .d = d, .v = v, .taker = service, .now = now };
	int64_t frozen, wait_ns = 0;

	if (!is_valid(v, service))
		return -EINVAL;
	decide_sums(d, v, c.sum);
	*p = (struct decide_plan){ .why = DECIDE_CALM,
				   .donor = DECIDE_NO_SERVICE,
				   .taker_before = c.sum[service].load };
	frozen = decide_frozen(d, now);
	if (frozen && decide_home(&c, p)) {
		p->why = DECIDE_MOVE_HOME;
		set_figures(&c, p->step[0].donor, p->step[0].node, p);
	} else if (high && frozen) {
		no_move(p, DECIDE_FROZEN, frozen);
	} else if (high) {
		decide_by_load(&c, p);
	}
	if (p->steps && p->why != DECIDE_MOVE_HOME)
		wait_ns = decide_over_budget(d, service, now);
	if (wait_ns)
		no_move(p, DECIDE_OVER_BUDGET, wait_ns);
	return 0;
}

/* --- words ----------------------------------------------------------------------------------- */

const char *decide_why_text(enum decide_why why)
{
	static const char *const text[] = {
		[DECIDE_MOVE] = "its load was high for T, and the donor's is low",
		[DECIDE_MOVE_OWED] = "its load was high for T, and it has less than its guarantee",
		[DECIDE_MOVE_PREEMPTS] =
			"its load was high for T, and the donor has a lower priority",
		[DECIDE_MOVE_CHAIN] =
			"its load was high for T, and another service gives it a node and gets one",
		[DECIDE_MOVE_HOME] = "moves for load are frozen, and it has less than its share",
		[DECIDE_CALM] = "its load was not high for T",
		[DECIDE_UNKNOWN] = "the loads of half of its nodes or more are missing or stale",
		[DECIDE_FROZEN] = "moves for load are frozen: nodes went to and fro",
		[DECIDE_AT_MAXIMUM] = "it has its maximum of nodes",
		[DECIDE_OVER_BUDGET] = "it has used up its budget of moves",
		[DECIDE_BACKS_OFF] = "it found no donor a short time ago, and asks again later",
		[DECIDE_NO_SPARE] = "no other service has more nodes than its minimum",
		[DECIDE_GUARANTEED] =
			"the others have no more than their guarantee, and no lower priority",
		[DECIDE_NONE_LOW] =
			"no service that has nodes to spare is known to have a low load",
		[DECIDE_MAY_NOT] = "no node of a service with a low load may serve it",
		[DECIDE_STUCK] =
			"the nodes that may serve it are fixed, or their last move is pending",
		[DECIDE_RESTS] = "the nodes that may serve it were moved a short time ago",
		[DECIDE_NO_GAIN] = "no move would gain enough: the donor would be nearly as loaded",
	};

	return (unsigned int)why < sizeof(text) / sizeof(text[0]) ? text[why] : "not known";
}

const char *decide_wait_text(enum decide_why why)
{
	switch (why) {
	case DECIDE_FROZEN:
		return "moves for load go on";
	case DECIDE_OVER_BUDGET:
		return "its budget allows the next move";
	case DECIDE_BACKS_OFF:
		return "it looks for a donor again";
	case DECIDE_RESTS:
		return "the first of them may be moved again";
	default:
		return "";
	}
}
