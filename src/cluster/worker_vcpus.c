// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * worker_vcpus: for how long the VCPUs of guests that are nodes waited for a CPU. If a guest has
 * several VCPUs, the list of domains says only whether at least one of them is runnable. So each
 * VCPU is looked at by a hypercall of its own. The cluster's thread makes these hypercalls, some
 * each load.period, for one VCPU after the other; the sampler makes none.
 */
#include <stdlib.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"
#include "src/load/index.h"

enum {
	LOOKS_ONCE = 32,
	LOOK_ROUNDS = 8, /* of which a look speaks, at most */
};

static bool has_several(const struct guest_node *g)
{
	return g->load && g->figures.vcpus > 1;
}

/* Room for VCPU n. 0 or -ENOMEM. */
static int make_room(struct guest_node *g, uint32_t n)
{
	struct guest_vcpu *more;

	if (n < g->room)
		return 0;
	more = realloc(g->vcpu, (n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + g->room, 0, (n + 1 - g->room) * sizeof(*more));
	g->vcpu = more;
	g->room = n + 1;
	return 0;
}

/*
 * A look speaks of so much time at most: of some rounds of looks at all VCPUs. When the host held
 * the thread up, a guest may have slept most of the time, and would seem to have waited for a CPU.
 */
static int64_t most_of_look(const struct worker *w)
{
	uint32_t looks = 0;

	for (uint32_t i = 0; i < w->guest_nodes; i++)
		if (has_several(&w->guest_node[i]))
			looks += w->guest_node[i].figures.vcpus + 1; /* the last one finds none */
	return w->conf->load.period_ns * LOOK_ROUNDS * (looks / LOOKS_ONCE + 1);
}

/* Look at VCPU n. False: the guest has no VCPU n, or memory is missing. */
static bool look_at(struct worker *w, struct guest_node *g, uint32_t n, struct mono now,
		    int64_t most_ns)
{
	struct guest_vcpu *c;
	struct hv_vcpu v;
	int64_t since;

	if (n >= LOAD_CPUS_MAX || w->sched_ops->vcpu(w->sched, g->domid, n, &v) || make_room(g, n))
		return false;
	c = &g->vcpu[n];
	since = mono_sub(now, c->at); /* at the first look of no meaning: it begins the times */
	c->at = now;
	if (since > most_ns)
		since = most_ns;
	/* In a paused domain, VCPUs that are not blocked do not wait either. */
	if (v.online && !v.blocked && !g->rests)
		c->runnable_ns += (uint64_t)since;
	load_wait_add(&c->wait, v.cpu_ns, c->runnable_ns, since);
	return true;
}

void worker_vcpus(struct worker *w, struct mono now)
{
	int64_t most_ns = most_of_look(w);
	uint32_t looks = 0;

	/* One round at most: no VCPU is looked at twice. */
	for (uint32_t i = 0; i < w->guest_nodes && looks < LOOKS_ONCE; i++) {
		struct guest_node *g = &w->guest_node[w->vcpus_of % w->guest_nodes];
		bool more = has_several(g);

		for (; more && looks < LOOKS_ONCE; looks++) {
			more = look_at(w, g, g->next_vcpu, now, most_ns);
			g->next_vcpu++;
		}
		if (more)
			return; /* it goes on here */
		g->rounds += has_several(g);
		g->next_vcpu = 0;
		w->vcpus_of++;
	}
}

void worker_vcpus_sum(const struct guest_node *g, struct load_guest *out)
{
	/* The first look at a VCPU only begins its times, so the first round measures nothing. */
	out->waits_known = g->rounds > 1;
	out->waits_ns = 0;
	for (uint32_t i = 0; i < g->room; i++)
		out->waits_ns += g->vcpu[i].wait.ns;
}
