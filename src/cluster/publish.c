// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * publish: views of guests and the snapshot -> records of this host's region (region_abi.h). Each
 * record is zeroed first: other hosts read all its bytes, and must not read this process's memory
 * in those that no member fills.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>
#include <unistd.h>

#include "src/cluster/cluster_priv.h"

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

/* Cut to the record, always with a zero at the end: readers refuse text without one. */
static void put_text(char *to, size_t size, const char *from)
{
	size_t n = strnlen(from, size - 1);

	memcpy(to, from, n);
	memset(to + n, 0, size - n);
}

void publish_host(const struct cluster_conf *conf, const struct guests *gs,
		  const struct snapshot *sn, struct region_host *out)
{
	const struct guests_view v = guests_view(gs);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	memset(out, 0, sizeof(*out));
	out->flags = v.hv->simulated ? REGION_HOST_SIMULATED : 0;
	out->cpus = cpus > 0 ? (uint32_t)cpus : 0;
	out->links = v.conf->links;
	for (uint32_t i = 0; i < v.conf->links; i++)
		out->link_bytes_s += v.conf->link[i].bytes_s;
	out->epoch = sn->epoch;
	out->supply_m = sn->supply.m;
	put_text(out->name, sizeof(out->name), conf->host[conf->self].name);
	put_text(out->version, sizeof(out->version), PACKAGE_VERSION);
	put_text(out->policy, sizeof(out->policy), v.policy->ops->name);
}

/* One bit a reason, not one state: hosts.c picks the words for people. */
static uint32_t flags_of(const struct guest_view *v, struct cap cap)
{
	uint32_t flags = 0;

	if (cap.limited)
		flags |= REGION_GUEST_CAPPED;
	if (v->conf->exempt)
		flags |= REGION_GUEST_EXEMPT;
	if (v->released)
		flags |= REGION_GUEST_RELEASED;
	if (v->paused)
		flags |= REGION_GUEST_OBSERVED;
	if (v->stopped)
		flags |= REGION_GUEST_PAUSED;
	if (v->cappable)
		flags |= REGION_GUEST_CAPPABLE;
	if (v->check.cross->diverges)
		flags |= REGION_GUEST_DIVERGES;
	return flags;
}

static void put_guest(const struct guest_view *v, const struct snap_guest *s,
		      struct region_guest *out)
{
	/* Until the sampler has seen the guest, its own cap is in force and it has no figures. */
	struct cap cap = s ? s->applied : v->own.cap;

	memset(out, 0, sizeof(*out));
	memcpy(out->uuid, v->key.uuid, sizeof(out->uuid));
	put_text(out->name, sizeof(out->name), v->name);
	out->domid = v->key.domid;
	out->flags = flags_of(v, cap);
	out->vcpus = v->vcpus;
	out->weight = (uint32_t)v->conf->weight;
	out->cap_mpct = cap.mpct;
	if (!s)
		return;
	out->rings = s->rings;
	out->allocated_m = s->account.allocated.m;
	out->balance_m = s->account.balance.m;
	out->mtus_sent = s->total_usage.mtus_sent;
	out->mtus_recv = s->total_usage.mtus_recv;
	out->cpu_ns = s->total_usage.cpu_ns;
	out->latency_ns = s->latency.mean_ns;
}

uint32_t publish_guests(const struct guests *gs, const struct snapshot *sn,
			struct region_guest out[static REGION_GUESTS_MAX],
			uint32_t slot[static REGION_GUESTS_MAX])
{
	uint32_t n = 0;

	static_assert((int)FLOW_GUESTS_MAX <= (int)REGION_GUESTS_MAX,
		      "there is a record for each guest");
	for (const struct guest_entry *g = guests_next(gs, NULL); g; g = guests_next(gs, g)) {
		const struct guest_view v = guest_view(gs, g);

		slot[n] = v.slot;
		put_guest(&v, guests_snap(g, sn), &out[n++]);
	}
	return n;
}

/* Before the heartbeat that has their digest: at start, and when new settings come into force. */
uint32_t publish_services(const struct cluster_conf *conf,
			  struct region_service out[static CLUSTER_SERVICES_MAX])
{
	for (uint32_t i = 0; i < conf->services; i++) {
		const struct cluster_service *s = &conf->service[i];

		memset(&out[i], 0, sizeof(out[i]));
		out[i].service = (uint32_t)s->number;
		out[i].minimum = (uint32_t)s->minimum;
		memcpy(out[i].balancers, s->balancers.word, sizeof(out[i].balancers));
		out[i].more = s->more;
		put_text(out[i].name, sizeof(out[i].name), s->name);
	}
	return conf->services;
}

uint32_t publish_nodes(const struct cluster_conf *conf,
		       struct region_node out[static REGION_NODES_MAX])
{
	const struct cluster_node *own = NULL;
	uint32_t n = 0;

	memset(out, 0, REGION_NODES_MAX * sizeof(*out));
	while ((own = cluster_next_own(conf, own)) != NULL) {
		struct region_node *r = &out[own->number];

		r->node = (uint32_t)own->number;
		r->flags = *own->guest ? 0 : REGION_NODE_UP;
		put_text(r->name, sizeof(r->name), own->name);
		if (r->node >= n)
			n = r->node + 1;
	}
	return n;
}
