// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: which documents are asked for, and what they cost a node of the web cluster.
/*
 * The i-th document is asked for with a weight of 1 / i^alpha (Zipf; section 5 of the paper). What
 * a document costs is drawn once for it; a node that has it in its cache pays less. In a mix of
 * kinds each request costs another time; in a trace, the time that was recorded.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "src/sim/web_priv.h"

enum { COST_ONE = 1024 };

static int cache_open(struct web_cache *c, uint32_t documents)
{
	c->newest = c->oldest = WEB_NOBODY;
	c->before = calloc(documents, sizeof(*c->before));
	c->after = calloc(documents, sizeof(*c->after));
	for (uint32_t i = 0; c->before && i < documents; i++)
		c->before[i] = i; /* itself: not held */
	return c->before && c->after ? 0 : -ENOMEM;
}

static bool cache_has(const struct web_cache *c, uint32_t d)
{
	return c->before[d] != d;
}

static void cache_remove(struct web_cache *c, uint32_t d)
{
	uint32_t before = c->before[d], after = c->after[d];

	if (before == WEB_NOBODY)
		c->newest = after;
	else
		c->after[before] = after;
	if (after == WEB_NOBODY)
		c->oldest = before;
	else
		c->before[after] = before;
	c->before[d] = d;
	c->held--;
}

static void cache_put(struct web_cache *c, uint32_t d)
{
	c->before[d] = WEB_NOBODY;
	c->after[d] = c->newest;
	if (c->newest == WEB_NOBODY)
		c->oldest = d;
	else
		c->before[c->newest] = d;
	c->newest = d;
	c->held++;
}

/* Did the cache have it? Now it does. */
static bool cache_ask(struct web_cache *c, uint32_t d, uint32_t most)
{
	bool had = cache_has(c, d);

	if (!most)
		return false;
	if (had)
		cache_remove(c, d);
	else if (c->held == most)
		cache_remove(c, c->oldest);
	cache_put(c, d);
	return had;
}

/* All documents, one site after the other; or kinds. */
static uint32_t things(const struct web *w)
{
	return w->c.kinds ? w->c.kinds : w->c.documents * w->c.sites;
}

static void open_kinds(struct web *w)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < w->c.kinds; i++)
		w->work.sum[i] = sum += w->c.kind[i].weight;
}

int web_work_open(struct web *w)
{
	const struct sim_vary vary = { SIM_VARY_PHASES, w->c.spread ? 1000 : 0 };
	struct web_work *k = &w->work;
	uint64_t sum = 0;

	if (w->c.arrivals)
		return 0;
	k->sum = calloc(things(w), sizeof(*k->sum));
	k->cost = calloc(things(w), sizeof(*k->cost));
	if (!k->sum || !k->cost)
		return -ENOMEM;
	if (w->c.kinds) {
		open_kinds(w);
		return 0;
	}
	for (uint32_t i = 0; i < things(w); i++) {
		uint32_t place = i % w->c.documents, site = i / w->c.documents;

		sum = place ? sum : 0;
		sum += (uint64_t)(0x1p32 / pow(place + 1, w->c.alpha[site] / 1000.0));
		k->sum[i] = sum;
		k->cost[i] = (uint32_t)sim_draw(&w->rand_work, &vary, COST_ONE);
	}
	for (uint32_t i = 0; i < w->c.nodes; i++)
		if (cache_open(&k->cache[i], things(w)))
			return -ENOMEM;
	return 0;
}

void web_work_close(struct web *w)
{
	struct web_work *k = &w->work;

	free(k->sum);
	free(k->cost);
	for (uint32_t i = 0; i < w->c.nodes; i++) {
		free(k->cache[i].before);
		free(k->cache[i].after);
	}
}

uint32_t web_document(struct web *w, uint32_t site)
{
	const uint64_t *sum = w->work.sum;
	uint32_t low = site * w->c.documents, high = low + w->c.documents - 1;
	uint64_t x;

	if (w->c.kinds) {
		low = 0;
		high = w->c.kinds - 1;
	}
	x = sim_rand_below(&w->rand_work, sum[high]);
	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (sum[mid] > x)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

int64_t web_demand(struct web *w, uint32_t node, uint32_t document)
{
	const struct sim_vary vary = { SIM_VARY_PHASES, 1000 };
	int64_t ns;

	if (w->c.arrivals)
		ns = w->c.arrival[document].cpu_ns;
	else if (w->c.kinds)
		ns = sim_draw(&w->rand, &vary, w->c.kind[document].cpu_ns);
	else if (cache_ask(&w->work.cache[node], document, w->c.cached))
		ns = w->c.hit_ns * w->work.cost[document] / COST_ONE;
	else
		ns = w->c.miss_ns * w->work.cost[document] / COST_ONE;
	return ns ? ns : 1;
}
