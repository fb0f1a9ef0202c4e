// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * worker_guests: the load of guests of this host that are nodes, as the hypervisor counts it
 * (LOAD_HV) or as the guest says it (worker_claims.c), in the part "load" of its region, beside the
 * host's own (worker_load.c).
 *
 *	control --names of guests, with each publication-->  which domain and slot a node is
 *	these slots ---------------------------------------->  sampler
 *	sampler --figures of their domains, each load.period-> load record
 *
 * A node is a guest's name. A domain of that name with another id or UUID begins a new history:
 * its beat begins at 1 again, so readers do not compare it with the one before. Of a guest that
 * does not run the record stays, and its beat is unchanged; the node's record says that it is not
 * up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"

/* 0, with w->guest_node; -ENOMEM. */
int worker_open_guests(struct worker *w)
{
	const struct cluster_node *n = NULL;

	w->guest_node = calloc(REGION_NODES_MAX, sizeof(*w->guest_node));
	if (!w->guest_node)
		return -ENOMEM;
	while ((n = cluster_next_own(w->conf, n)) != NULL) {
		if (!*n->guest)
			continue;
		w->guest_node[w->guest_nodes].series.node = (uint32_t)n->number;
		strcpy(w->guest_node[w->guest_nodes++].name, n->guest);
	}
	/* The sampler does not run yet. */
	if (w->guest_nodes)
		w->loads->period_ns = w->conf->load.period_ns;
	return 0;
}

static void end_history(struct guest_node *g)
{
	if (g->load)
		load_hv.close(g->load);
	free(g->vcpu);
	g->load = NULL;
	g->vcpu = NULL;
	g->room = g->next_vcpu = 0;
	g->series.beat = g->rounds = 0;
	worker_end_claim(g);
}

void worker_close_guests(struct worker *w)
{
	for (uint32_t i = 0; i < w->guest_nodes; i++)
		end_history(&w->guest_node[i]);
	free(w->guest_node);
}

/* As control says. */
static void put_role(const struct worker *w, struct region_node *n)
{
	const struct roles_copies *r = &w->x->roles;

	n->ready = r->copy[r->at.front].node[n->node].ready;
	n->phase = r->copy[r->at.front].node[n->node].phase;
	n->from = r->copy[r->at.front].node[n->node].from;
	n->service = r->copy[r->at.front].node[n->node].service;
}

void worker_publish_nodes(struct worker *w)
{
	struct region_node v[REGION_NODES_MAX];
	uint32_t n = publish_nodes(w->conf, v);

	for (uint32_t i = 0; i < w->guest_nodes; i++)
		if (w->guest_node[i].up)
			v[w->guest_node[i].series.node].flags |= REGION_NODE_UP;
	for (uint32_t i = 0; i < n; i++)
		put_role(w, &v[i]);
	region_publish_nodes(&w->region, v, n);
}

/* --- which domain a node is ---------------------------------------------------------- */

static const struct region_guest *find_guest(const struct publication *p, const char *name)
{
	for (uint32_t i = 0; i < p->guests; i++)
		if (!strcmp(p->guest[i].name, name))
			return &p->guest[i];
	return NULL;
}

/* r: what control says of the guest of that name; NULL: there is none. */
static void name_guest(struct guest_node *g, const struct region_guest *r)
{
	if (!r) {
		g->domid = 0; /* dom0 is no guest */
		return;
	}
	if (g->domid == r->domid && !memcmp(g->uuid, r->uuid, sizeof(g->uuid)))
		return;
	end_history(g);
	g->domid = r->domid;
	memcpy(g->uuid, r->uuid, sizeof(g->uuid));
}

void worker_name_guests(struct worker *w, const struct publication *p)
{
	uint64_t wanted[FLOW_GUESTS_MAX / 64] = { 0 };

	for (uint32_t i = 0; i < w->guest_nodes; i++) {
		const struct region_guest *r = find_guest(p, w->guest_node[i].name);

		name_guest(&w->guest_node[i], r);
		if (r)
			wanted[p->slot[r - p->guest] / 64] |= 1ull << (p->slot[r - p->guest] % 64);
	}
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX / 64; i++)
		atomic_store_explicit(&w->loads->wanted[i], wanted[i], memory_order_relaxed);
}

/* --- samples ----------------------------------------------------------------------------- */

static int compare_domid(const void *key, const void *element)
{
	const struct guest_load *l = element;
	const uint32_t *domid = key;

	return *domid < l->key.domid ? -1 : *domid > l->key.domid;
}

static const struct guest_load *find_load(const struct guest_node *g, const struct guest_loads *l)
{
	const struct guest_load *of = bsearch(&g->domid, l->guest, l->guests, sizeof(l->guest[0]),
					      compare_domid);

	return of && !memcmp(of->key.uuid, g->uuid, sizeof(g->uuid)) ? of : NULL;
}

/* 0 or -errno: the next figures may do. */
static int sample(struct worker *w, struct guest_node *g, const struct guest_load *of,
		  struct mono at, struct mono now, int64_t wall_ns)
{
	struct load_record r;
	char text[128];
	int rc = 0;

	g->figures = (struct load_guest){ .cpu_ns = of->cpu_ns,
					  .runnable_ns = of->runnable_ns,
					  .vcpus = of->vcpus,
					  .look_ns = w->look_ns,
					  .simulated = w->simulated };
	g->rests = of->flags & HV_DOM_PAUSED;
	worker_vcpus_sum(g, &g->figures);
	if (!g->load)
		rc = load_hv.open(&g->load, &g->figures, text);
	if (!rc)
		rc = load_sample(&g->series, &load_hv, g->load, w->conf->load.period_ns, at, &r);
	if (rc)
		return rc;
	if (!worker_claim(w, g, of, &r, now, wall_ns))
		return 0;
	worker_put_requests(w, &r, now);
	region_publish_load(&w->region, &r);
	return 0;
}

void worker_guests(struct worker *w, struct mono now, int64_t wall_ns)
{
	const struct guest_loads *l;
	bool changed = false;

	if (!w->guest_nodes || !spsc_latest_get(&w->loads->at))
		return;
	l = &w->loads->buf[w->loads->at.front];
	for (uint32_t i = 0; i < w->guest_nodes; i++) {
		struct guest_node *g = &w->guest_node[i];
		const struct guest_load *of = g->domid ? find_load(g, l) : NULL;
		bool up = of && !sample(w, g, of, l->time, now, wall_ns);

		changed |= up != g->up;
		g->up = up;
	}
	if (changed)
		worker_publish_nodes(w);
}
