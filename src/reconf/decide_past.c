// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * decide_past: what decide.h keeps of earlier scans and decisions: since when a node rests, which
 * services gave nodes, how often one took a node back, tokens of the budget, back-off.
 */
#include <string.h>

#include "src/reconf/decide_priv.h"

void decide_init(struct decide *d, const struct decide_conf *c)
{
	memset(d, 0, sizeof(*d));
	d->conf = *c;
	for (uint32_t i = 0; i < DECIDE_SERVICES_MAX; i++)
		d->service[i].tokens_ns = c->budget_ns;
	for (uint32_t i = 0; i < DECIDE_NODES_MAX; i++)
		d->node[i].service = DECIDE_NO_SERVICE;
}

/* --- reversals ----------------------------------------------------------------------------- */

/* Moves are frozen from now on. */
static void freeze(struct decide *d, struct mono now)
{
	/* The newest DECIDE_REVERSALS are in the ring, from this one on. */
	struct mono first = d->reversal[d->reversals % DECIDE_REVERSALS];
	bool again = d->frozen_once && mono_sub(first, d->frozen_until) < d->conf.rest_ns;

	if (!again)
		d->freeze = 1;
	else if (d->freeze < DECIDE_FREEZE_MAX)
		d->freeze *= 2;
	d->frozen_once = true;
	d->frozen_until = mono_add(now, d->conf.freeze_ns * d->freeze);
	d->reversals = 0;
}

static void note_reversal(struct decide *d, struct mono now)
{
	d->reversal[d->reversals++ % DECIDE_REVERSALS] = now;
	if (d->reversals >= DECIDE_REVERSALS &&
	    mono_sub(now, d->reversal[d->reversals % DECIDE_REVERSALS]) <= d->conf.freeze_ns)
		freeze(d, now);
}

/* Has this node gone from a service to another one since the scan before? */
static bool has_moved(const struct decide *d, const struct decide_view *v, uint32_t i)
{
	uint16_t service = v->node[i].service, was = d->node[i].service;

	/* A node that serves nothing now is compared when it serves something again. */
	return service < DECIDE_SERVICES_MAX && was != DECIDE_NO_SERVICE && service != was;
}

static void note_move(struct decide *d, uint32_t i, struct mono now)
{
	struct decide_past_node *past = &d->node[i];

	d->service[past->service].gave = true;
	d->service[past->service].gave_at = now;
	past->moved = true;
	past->moved_at = now;
}

void decide_seen(struct decide *d, const struct decide_view *v, struct mono now)
{
	uint32_t nodes = v->nodes < DECIDE_NODES_MAX ? v->nodes : DECIDE_NODES_MAX;

	/* First who takes: of what one scan shows, it is not known what was first. */
	for (uint32_t i = 0; i < nodes; i++) {
		const struct decide_past_service *taker;

		if (!has_moved(d, v, i))
			continue;
		taker = &d->service[v->node[i].service];
		/* Nodes that go home during a freeze go back on purpose. */
		if (taker->gave && mono_sub(now, taker->gave_at) <= d->conf.rest_ns &&
		    !decide_frozen(d, now))
			note_reversal(d, now);
	}
	for (uint32_t i = 0; i < nodes; i++) {
		if (has_moved(d, v, i))
			note_move(d, i, now);
		if (v->node[i].service < DECIDE_SERVICES_MAX)
			d->node[i].service = v->node[i].service;
	}
}

/* --- times --------------------------------------------------------------------------------- */

static int64_t left(struct mono until, struct mono now)
{
	int64_t ns = mono_sub(until, now);

	return ns > 0 ? ns : 0;
}

int64_t decide_frozen(const struct decide *d, struct mono now)
{
	return decide_on(d, DECIDE_REVERSAL) && d->frozen_once ? left(d->frozen_until, now) : 0;
}

int64_t decide_rests(const struct decide *d, uint32_t node, struct mono now)
{
	const struct decide_past_node *past = &d->node[node];

	return decide_on(d, DECIDE_REST) && past->moved
		       ? left(mono_add(past->moved_at, d->conf.rest_ns), now)
		       : 0;
}

int64_t decide_backs_off(const struct decide *d, uint32_t service, struct mono now)
{
	const struct decide_past_service *past = &d->service[service];

	return decide_on(d, DECIDE_BACKOFF) && past->back_off ? left(past->again, now) : 0;
}

/* --- budget, back-off ---------------------------------------------------------------------- */

/* The bucket holds time: budget_ns is full, and a move costs token_ns(). */
static int64_t token_ns(const struct decide *d)
{
	return d->conf.budget_ns / d->conf.budget;
}

static int64_t tokens_now(const struct decide *d, const struct decide_past_service *past,
			  struct mono now)
{
	int64_t ns = past->tokens_ns + mono_sub(now, past->filled);

	return ns < d->conf.budget_ns ? ns : d->conf.budget_ns;
}

int64_t decide_over_budget(const struct decide *d, uint32_t service, struct mono now)
{
	int64_t ns = token_ns(d) - tokens_now(d, &d->service[service], now);

	return decide_on(d, DECIDE_BUDGET) && ns > 0 ? ns : 0;
}

/* There was no donor: ask later, each time twice as much. */
static void back_off(struct decide *d, struct decide_past_service *past, struct mono now)
{
	if (!past->back_off)
		past->waits = 1;
	else if (past->waits < DECIDE_BACKOFF_MAX)
		past->waits *= 2;
	past->back_off = true;
	past->again = mono_add(now, past->waits * d->conf.check_ns);
}

void decide_asked(struct decide *d, uint32_t service, const struct decide_plan *p, struct mono now)
{
	struct decide_past_service *past = &d->service[service];

	if (decide_is_move(p->why) && p->why != DECIDE_MOVE_HOME) {
		past->tokens_ns = tokens_now(d, past, now) - token_ns(d);
		past->filled = now;
	}
	if (decide_is_move(p->why) || p->why == DECIDE_CALM)
		past->back_off = false;
	else if (p->why >= DECIDE_NO_SPARE)
		back_off(d, past, now);
}
