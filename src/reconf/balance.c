// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * balance: see balance.h. src/lab calls it for simulated balancers, once a request.
 */
#include "src/reconf/balance.h"

#include <errno.h>
#include <stddef.h>

enum {
	UNIT = 1000,		  /* one task on each CPU */
	RATIO_MAX = 10000 * 1000, /* age / service time, 1/1000; more overflows level_of() */
	NEARLY = 7,		  /* in 1/8: weights from there to the greatest are equal */
};

/* All nodes: what counts of them. */
struct sums {
	uint32_t usable;
	uint64_t cpus, load; /* load: of the usable, each a UNIT */
	int64_t oldest;
};

static uint32_t cpus_of(const struct balance_node *node)
{
	uint32_t cpus = node->cpus < BALANCE_CPUS_MAX ? node->cpus : BALANCE_CPUS_MAX;

	return cpus ? cpus : 1;
}

static uint64_t bounded(uint64_t v, uint64_t most)
{
	return v < most ? v : most;
}

static bool counts(const struct balance_conf *c, const struct balance_node *node)
{
	return node->known && (c->plain || node->age_ns <= c->stale_ns);
}

/* A source that cannot see the run queue gives only the index, which is of all CPUs. */
static uint64_t load_of(const struct balance_node *node)
{
	uint64_t load = node->queue ? node->running / cpus_of(node) : node->index;

	return bounded(load, (uint64_t)BALANCE_LOAD_MAX * UNIT);
}

static struct sums sum_of(const struct balance_conf *c, const struct balance_node *node, uint32_t n)
{
	struct sums s = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		s.cpus += cpus_of(&node[i]);
		if (!counts(c, &node[i]))
			continue;
		s.usable++;
		s.load += load_of(&node[i]);
		if (node[i].age_ns > s.oldest)
			s.oldest = node[i].age_ns;
	}
	return s;
}

static uint64_t of_requests(const struct balance_node *node, uint32_t requests)
{
	return bounded(requests, BALANCE_LOAD_MAX) * UNIT / cpus_of(node);
}

/*
 * An index does not grow above all CPUs, whatever waits inside a guest: there the requests that do
 * not come back are what is known of the queue.
 */
static uint64_t with_own(const struct balance_node *node, uint64_t load)
{
	uint64_t under_way = of_requests(node, node->under_way);

	load += of_requests(node, node->own);
	return !node->queue && load < under_way ? under_way : load;
}

/* Above all that load_of() and requests can make. */
#define CONTRADICTED (4ull * BALANCE_LOAD_MAX * UNIT)

/* Half of the nodes at least are usable. */
static void set_loads(const struct balance_conf *c, const struct balance_node *node, uint32_t n,
		      const struct sums *s, uint64_t load[])
{
	for (uint32_t i = 0; i < n; i++) {
		load[i] = counts(c, &node[i]) ? load_of(&node[i]) : s->load / s->usable;
		if (c->plain)
			continue;
		load[i] = with_own(&node[i], load[i]);
		if (node[i].contradicted)
			load[i] = CONTRADICTED;
	}
}

/* The k-th lowest: n x n steps, and n is small. */
static uint64_t kth_load(const uint64_t load[], uint32_t n, uint32_t k)
{
	uint64_t kth = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t not_above = 0;

		for (uint32_t j = 0; j < n; j++)
			not_above += load[j] <= load[i];
		if (not_above >= k && load[i] < kth)
			kth = load[i];
	}
	return kth;
}

/* The level to which so many requests, in UNITs, fill the lowest nodes. */
static uint64_t level_of(const struct balance_node *node, const uint64_t load[], uint32_t n,
			 uint64_t came)
{
	uint64_t low = kth_load(load, n, 1), high = low + came;

	while (high - low > 1) {
		uint64_t level = low + (high - low) / 2, room = 0;

		for (uint32_t i = 0; i < n; i++)
			if (load[i] < level)
				room += (level - load[i]) * cpus_of(&node[i]);
		if (room < came)
			low = level;
		else
			high = level;
	}
	return high;
}

static uint64_t age_ratio(const struct balance_conf *c, int64_t age_ns)
{
	unsigned __int128 ratio = (unsigned __int128)(uint64_t)age_ns * UNIT;

	if (c->service_ns <= 0)
		return 0;
	ratio /= (uint64_t)c->service_ns;
	return ratio < RATIO_MAX ? (uint64_t)ratio : RATIO_MAX;
}

static uint32_t below(const uint64_t load[], uint32_t n, uint64_t level)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		k += load[i] < level;
	return k;
}

/* Weights as the room below the level; the greatest is BALANCE_WEIGHT_MAX. */
static void weights_of(const struct balance_node *node, const uint64_t load[], uint32_t n,
		       uint64_t level, uint16_t weight[])
{
	uint64_t most = 1;

	for (uint32_t i = 0; i < n; i++)
		if (load[i] < level && (level - load[i]) * cpus_of(&node[i]) > most)
			most = (level - load[i]) * cpus_of(&node[i]);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t room = load[i] < level ? (level - load[i]) * cpus_of(&node[i]) : 0;

		weight[i] = (uint16_t)((room * BALANCE_WEIGHT_MAX + most - 1) / most);
	}
}

/* As CPUs: of those that are loaded so much at most; load NULL: of all nodes. */
static void weights_equal(const struct balance_node *node, uint32_t n, const uint64_t load[],
			  uint64_t most, uint16_t weight[])
{
	uint32_t cpus = 1;

	for (uint32_t i = 0; i < n; i++)
		if ((!load || load[i] <= most) && cpus_of(&node[i]) > cpus)
			cpus = cpus_of(&node[i]);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t w = BALANCE_WEIGHT_MAX * cpus_of(&node[i]) / cpus;

		weight[i] = load && load[i] > most ? 0 : (uint16_t)(w ? w : 1);
	}
}

/* The level is high above all loads. (CPUs may still make weights differ.) */
static bool nearly_equal(const uint64_t load[], uint32_t n, uint64_t level)
{
	uint64_t least = level - kth_load(load, n, 1), most = kth_load(load, n, n);

	return most < level && (level - most) * 8 >= least * NEARLY;
}

static enum balance_why by_age(const struct balance_conf *c, const struct balance_node *node,
			       const struct sums *s, uint32_t n, const uint64_t load[],
			       uint16_t weight[])
{
	uint64_t came = s->cpus * age_ratio(c, s->oldest) + UNIT;
	uint64_t level = level_of(node, load, n, came);

	if (came > 2 * s->cpus * UNIT && nearly_equal(load, n, level)) {
		weights_equal(node, n, NULL, 0, weight);
		return BALANCE_OLD;
	}
	weights_of(node, load, n, level, weight);
	return below(load, n, level) > below(load, n, level_of(node, load, n, UNIT))
		       ? BALANCE_GROWN
		       : BALANCE_FRESH;
}

static void keep_or_take(struct balance *b, const struct balance_conf *c, const uint16_t weight[],
			 uint32_t n)
{
	bool had = b->nodes == n && !c->plain;

	b->k = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t was = b->weight[i], is = weight[i];
		uint32_t moved = was < is ? is - was : was - is;

		if (!had || !was || !is || moved > c->keep)
			b->weight[i] = weight[i];
		b->k += b->weight[i] > 0;
	}
	b->nodes = n;
}

int balance_decide(struct balance *b, const struct balance_conf *c, const struct balance_node *node,
		   uint32_t n)
{
	uint64_t load[BALANCE_NODES_MAX];
	uint16_t weight[BALANCE_NODES_MAX];
	struct sums s;

	if (!n || n > BALANCE_NODES_MAX)
		return -EINVAL;
	s = sum_of(c, node, n);
	if (s.usable * 2 <= n) {
		weights_equal(node, n, NULL, 0, weight);
		b->why = BALANCE_STALE;
	} else {
		set_loads(c, node, n, &s, load);
		b->why = BALANCE_GIVEN;
		if (c->k)
			weights_equal(node, n, load, kth_load(load, n, c->k), weight);
		else
			b->why = by_age(c, node, &s, n, load, weight);
	}
	if (b->why == BALANCE_STALE || b->why == BALANCE_OLD)
		b->nodes = 0; /* nothing is kept: equal, to the digit */
	keep_or_take(b, c, weight, n);
	b->age_ns = s.oldest;
	return 0;
}

const char *balance_why_text(enum balance_why why)
{
	static const char *const text[BALANCE_WHYS] = {
		[BALANCE_GIVEN] = "k is given, so as many of the least loaded get the requests",
		[BALANCE_FRESH] = "the loads are fresh, so the least loaded get the requests",
		[BALANCE_GROWN] = "the loads are older, so more nodes get requests",
		[BALANCE_OLD] = "the loads are many service times old, so all nodes are equal",
		[BALANCE_STALE] = "the loads are stale or missing, so all nodes are equal",
	};

	return (uint32_t)why < BALANCE_WHYS ? text[why] : "?";
}
