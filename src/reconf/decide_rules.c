// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * decide_rules: what the rules of decide.h go by: the loads of services, now and after a move, and
 * whether a service may give a node, and a node go. decide.c and decide_chain.c decide by them.
 */
#include <string.h>

#include "src/reconf/decide_priv.h"

/* --- loads --------------------------------------------------------------------------------- */

uint64_t decide_capacity(const struct decide *d, const struct decide_node *n)
{
	if (!n->capacity || !decide_on(d, DECIDE_CAPACITY))
		return 1000;
	return n->capacity < DECIDE_CAPACITY_MAX ? n->capacity : DECIDE_CAPACITY_MAX;
}

static uint64_t load_of(const struct decide_node *n)
{
	return n->load < DECIDE_LOAD_MAX ? n->load : DECIDE_LOAD_MAX;
}

uint64_t decide_node_load(const struct decide_node *n)
{
	return n->known ? load_of(n) : DECIDE_LOAD_MAX + 1;
}

void decide_sums(const struct decide *d, const struct decide_view *v,
		 struct decide_sum sum[static DECIDE_SERVICES_MAX])
{
	uint64_t of_known[DECIDE_SERVICES_MAX] = { 0 };

	memset(sum, 0, DECIDE_SERVICES_MAX * sizeof(sum[0]));
	for (uint32_t i = 0; i < v->nodes; i++) {
		const struct decide_node *n = &v->node[i];
		struct decide_sum *s = &sum[n->service < v->services ? n->service : 0];

		if (!decide_counts(n, v))
			continue;
		s->nodes++;
		s->capacity += decide_capacity(d, n);
		if (!n->known)
			continue;
		s->known++;
		s->work += load_of(n) * decide_capacity(d, n);
		of_known[n->service] += decide_capacity(d, n);
	}
	for (uint32_t i = 0; i < v->services; i++) {
		sum[i].load = of_known[i] ? (uint32_t)(sum[i].work / of_known[i]) : UINT32_MAX;
		if (sum[i].known < sum[i].nodes && of_known[i])
			sum[i].work = sum[i].load * sum[i].capacity;
	}
}

uint32_t decide_load(const struct decide *d, const struct decide_view *v, uint32_t service)
{
	struct decide_sum sum[DECIDE_SERVICES_MAX];

	decide_sums(d, v, sum);
	return service < v->services ? sum[service].load : UINT32_MAX;
}

bool decide_is_low(const struct decide_case *c, uint32_t service)
{
	const struct decide_sum *s = &c->sum[service];

	return !decide_unknown(s) &&
	       (!decide_on(c->d, DECIDE_LOW) || s->load < c->v->service[service].low);
}

bool decide_high(const struct decide *d, const struct decide_view *v, uint32_t service)
{
	struct decide_sum sum[DECIDE_SERVICES_MAX];

	decide_sums(d, v, sum);
	return service < v->services && !decide_unknown(&sum[service]) &&
	       sum[service].load >= v->service[service].high;
}

/* Rounded up: a load is never taken for lower than it is. */
uint32_t decide_load_after(const struct decide_sum *s, int64_t capacity)
{
	int64_t after = (int64_t)s->capacity + capacity;
	uint64_t load;

	if (after <= 0)
		return s->work ? UINT32_MAX : 0;
	if (s->known == 0 && s->nodes)
		return UINT32_MAX;
	load = (s->work + (uint64_t)after - 1) / (uint64_t)after;
	return load < UINT32_MAX ? (uint32_t)load : UINT32_MAX;
}

bool decide_gains(const struct decide *d, uint32_t below, uint32_t load)
{
	/* Less, also with no margin: else services without any load would give each other nodes. */
	return !decide_on(d, DECIDE_GAIN) ||
	       (below < load && (uint64_t)below * (1000ull + d->conf.margin) <= load * 1000ull);
}

/* --- donors -------------------------------------------------------------------------------- */

enum decide_why decide_spares(const struct decide_case *c, uint32_t donor, uint32_t nodes,
			      uint32_t to)
{
	const struct decide_service *s = &c->v->service[donor];

	if (nodes <= s->minimum)
		return DECIDE_NO_SPARE;
	if (nodes <= s->guarantee && c->v->service[to].priority <= s->priority)
		return DECIDE_GUARANTEED;
	return DECIDE_MOVE;
}

enum decide_why decide_goes(const struct decide_case *c, uint32_t node, uint32_t to)
{
	const struct decide_node *n = &c->v->node[node];

	if (!(n->may >> to & 1))
		return DECIDE_MAY_NOT;
	if (n->fixed || n->pending)
		return DECIDE_STUCK;
	return decide_rests(c->d, node, c->now) ? DECIDE_RESTS : DECIDE_MOVE;
}
