// SPDX-License-Identifier: GPL-2.0-or-later
/* world_faults: which fault an operation meets, and the faults that strike hosts and links. */
#include "tests/shared/world_priv.h"

static bool is_cas_of_node(const struct step_op *op)
{
	return op->kind == STEP_CAS && op->offset >= region_node_offset(0) &&
	       op->offset < region_kept_offset(0);
}

/* Faults of atomics find more: READs get a quarter as many. */
static bool fault_due(struct world *w, const struct step_op *op)
{
	const struct world_conf *c = &w->conf;

	if (!c->fault_in || w->faults >= c->faults_max || w->now >= c->faults_until)
		return false;
	if (c->aimed)
		return is_cas_of_node(op) &&
		       region_word_id(op->compare) != region_word_id(op->value) &&
		       world_one_in(w, 2);
	return world_one_in(w, op->kind == STEP_READ ? 4 * c->fault_in : c->fault_in);
}

static bool is_of_sweep(const struct step_op *op)
{
	return is_cas_of_node(op) && region_word_id(op->compare) == region_word_id(op->value);
}

enum world_fault world_draw_fault(struct world *w, const struct step_op *op)
{
	const struct world_conf *c = &w->conf;
	uint64_t sum = 0, r;

	if (op->host == w->conf.unswept && is_of_sweep(op) && w->now < w->conf.faults_until &&
	    world_one_in(w, w->conf.unswept_in))
		return FAULT_REFUSE;
	if (!fault_due(w, op))
		return FAULTS;
	for (int f = 0; f < FAULTS; f++)
		sum += c->weight[f];
	if (!sum)
		return FAULTS;
	r = world_random(w) % sum;
	for (int f = 0; f < FAULTS; f++) {
		if (r < c->weight[f]) {
			w->faults++;
			return (enum world_fault)f;
		}
		r -= c->weight[f];
	}
	return FAULTS;
}

int64_t world_down_time(struct world *w)
{
	if (!w->conf.restarts)
		return -1;
	return world_between(w, w->conf.delay_max,
			     world_one_in(w, 2) ? w->conf.lease / 2 : 3 * w->conf.lease);
}

void world_pause(struct world *w, uint16_t host, int64_t ns)
{
	if (w->now + ns > w->host[host].paused_until)
		w->host[host].paused_until = w->now + ns;
	w->actor->notice(w->actor->ctx, NOTICE_PAUSE, host, (uint64_t)ns);
}

void world_cut_one(struct world *w, uint16_t a, uint16_t b, int64_t ns)
{
	if (a == b || w->link[a][b].cut_until > w->now)
		return;
	w->link[a][b].cut_until = (w->now + ns) | 1;
	w->actor->notice(w->actor->ctx, NOTICE_CUT, a, b);
}

void world_cut(struct world *w, uint16_t a, uint16_t b, int64_t ns)
{
	if (a == b || w->link[a][b].cut_until > w->now)
		return;
	/*
	 * An odd time, and executions have even ones: an operation that waits for the end of a link
	 * comes before one that does not.
	 */
	w->link[a][b].cut_until = w->link[b][a].cut_until = (w->now + ns) | 1;
	w->actor->notice(w->actor->ctx, NOTICE_CUT, a, b);
}
