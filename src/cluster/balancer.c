// SPDX-License-Identifier: GPL-2.0-or-later
/* balancer: see balancer.h. balances.c calls it, once a turn. */
#include "src/cluster/balancer.h"

#include <stddef.h>

#include "src/load/index.h"

enum { COST_REQUESTS = 100 };

#define COST_MIN_NS    NS_PER_S
#define COST_MAX_NS    (60 * NS_PER_S)
#define COST_CPU_NS    (uint64_t)(100 * NS_PER_MS) /* /proc/stat has steps of 10 ms */
#define SERVICE_MIN_NS NS_PER_US
#define SERVICE_MAX_NS (10 * NS_PER_S)

/* --- own requests -------------------------------------------------------------------- */

uint64_t *balancer_reading(struct balancer_history *h, struct mono at)
{
	uint32_t i = h->readings++ % BALANCER_READINGS;

	h->at[i] = at;
	return h->served[i];
}

/* What the server was sent until that time, within the interval between two readings. */
static uint64_t between(const struct balancer_history *h, uint32_t server, uint32_t a, uint32_t b,
			struct mono at)
{
	uint64_t from = h->served[a][server], to = h->served[b][server];
	uint64_t whole = (uint64_t)mono_sub(h->at[b], h->at[a]);
	unsigned __int128 part = (unsigned __int128)(to - from) * (uint64_t)mono_sub(at, h->at[a]);

	return to < from ? to : from + (uint64_t)(part / whole);
}

uint32_t balancer_own(const struct balancer_history *h, uint32_t server, uint32_t under_way,
		      struct mono sampled)
{
	uint32_t kept = h->readings < BALANCER_READINGS ? h->readings : BALANCER_READINGS;
	uint32_t newest = (h->readings - 1) % BALANCER_READINGS;
	uint64_t now, then;

	if (kept && mono_sub(sampled, h->at[newest]) >= 0)
		return 0; /* the reading is older than the record */
	for (uint32_t k = 1; k < kept; k++) {
		uint32_t b = (h->readings - k) % BALANCER_READINGS;
		uint32_t a = (h->readings - k - 1) % BALANCER_READINGS;

		if (mono_sub(sampled, h->at[a]) < 0)
			continue;
		now = h->served[newest][server];
		then = between(h, server, a, b, sampled);
		return now - then < under_way ? (uint32_t)(now - then) : under_way;
	}
	return under_way;
}

/* --- service time --------------------------------------------------------------------- */

static void begin_cost(struct balancer_cost *c, const struct load_record *r, uint64_t served)
{
	c->base.source = r->source;
	c->base.cpus = r->cpus;
	c->base.sampled_ns = r->sampled_ns;
	c->base.cpu_ns = load_cpu_ns(r);
	c->base.served = served;
}

void balancer_cost_add(struct balancer_cost *c, const struct load_record *r, uint64_t served)
{
	uint64_t cpu = load_cpu_ns(r) - c->base.cpu_ns, requests = served - c->base.served;
	bool few = requests < COST_REQUESTS, old;
	bool follows = r->source == c->base.source && r->cpus == c->base.cpus &&
		       c->base.sampled_ns >= 0 && r->sampled_ns >= c->base.sampled_ns &&
		       load_cpu_ns(r) >= c->base.cpu_ns && served >= c->base.served;

	old = follows && r->sampled_ns - c->base.sampled_ns >= COST_MAX_NS;
	if (!follows || (old && few)) {
		begin_cost(c, r, served);
		return;
	}
	if (few || r->sampled_ns - c->base.sampled_ns < COST_MIN_NS || (!old && cpu < COST_CPU_NS))
		return;
	cpu /= requests;
	c->ns = cpu < (uint64_t)SERVICE_MAX_NS ? (int64_t)cpu : SERVICE_MAX_NS;
	if (c->ns < SERVICE_MIN_NS)
		c->ns = SERVICE_MIN_NS;
	begin_cost(c, r, served);
}

/* How many of them are known, and below this. */
static uint32_t known_below(const struct balancer_cost *c, uint32_t n, int64_t ns)
{
	uint32_t below = 0;

	for (uint32_t i = 0; i < n; i++)
		below += c[i].ns && c[i].ns < ns;
	return below;
}

/* n x n steps, and n is small. */
int64_t balancer_service_ns(const struct balancer_cost *c, uint32_t n)
{
	uint32_t known = known_below(c, n, INT64_MAX);
	int64_t median = 0;

	/* The greatest that fewer than half are below. */
	for (uint32_t i = 0; i < n; i++)
		if (c[i].ns > median && known_below(c, n, c[i].ns) * 2 < known)
			median = c[i].ns;
	return median;
}

/* --- nodes ------------------------------------------------------------------------------ */

/*
 * Of a guest that the hypervisor contradicts, its host publishes the hypervisor's figure, which
 * does not know what waits inside; so it is the last one that is chosen. A figure of another source
 * does not count: the node counts as loaded as the others in the mean.
 */
static bool figure_counts(const struct load_record *r)
{
	return !(r->flags & LOAD_DISAGREES) || r->source == LOAD_HV;
}

struct balance_node balancer_node(const struct load_record *r, bool guest, int index,
				  int64_t age_ns, uint32_t own)
{
	struct balance_node n = { .own = own, .cpus = r ? r->cpus : 0, .age_ns = age_ns };

	if (!r || index < 0 || !figure_counts(r))
		return n;
	n.known = true;
	n.contradicted = r->flags & LOAD_DISAGREES;
	n.index = (uint32_t)index;
	n.queue = !(r->flags & LOAD_NO_RUNNING);
	n.running = r->running < BALANCE_LOAD_MAX ? r->running * 1000 : BALANCE_LOAD_MAX * 1000u;
	if (guest && n.running < n.index * n.cpus)
		n.running = n.index * n.cpus;
	return n;
}
