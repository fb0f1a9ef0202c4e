// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: the hypervisor backend "sim", on a simulated host (src/sim).
/*
 * The argument of the three open() calls is the struct sim_host, which
 * outlives the handles. The three may be used by three threads. Guests run,
 * and write their memory, only in list(), the sampler's call.
 *
 * Guest memory is mapped as on Xen: page by page from frame numbers into one
 * run of addresses, read-only, and a mapping keeps a destroyed guest in the
 * list as dying.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resex/guest_abi.h"
#include "src/core/caps.h"
#include "src/hv/hv.h"
#include "src/hv/backends.h"
#include "src/sim/hyp.h"

enum { MAP_FRAMES_MAX = 4096 };

/* --- memory --- */

struct mapping {
	struct mapping *next;
	uint32_t domid;
	uint32_t owner; /* domain that has the memory: another one if they are swapped */
	void *addr;
	size_t n;
	uint64_t frame[];
};

struct hv_mem {
	struct sim_host *host;
	struct mapping *maps;
	uint64_t calls, pages;
};

static int mem_open(struct hv_mem **out, void *arg)
{
	struct hv_mem *m;

	if (!arg)
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->host = (struct sim_host *)arg;
	*out = m;
	return 0;
}

/* Errors are those of Xen's backend (hv.h), so that tests without Xen meet the same ones. */
static int mem_map(struct hv_mem *m, uint32_t domid, size_t n, const uint64_t *frames,
		   const volatile void **addr, size_t *bad)
{
	struct mapping *mp;
	int rc;

	if (!n || n > MAP_FRAMES_MAX)
		return -E2BIG;
	if (!domid)
		return -EPERM;
	mp = calloc(1, sizeof(*mp) + n * sizeof(mp->frame[0]));
	if (!mp)
		return -ENOMEM;
	m->calls++;
	rc = sim_hyp_map(m->host, domid, n, frames, &mp->addr, bad, &mp->owner);
	if (rc < 0) {
		free(mp);
		return rc;
	}
	mp->domid = domid;
	mp->n = n;
	memcpy(mp->frame, frames, n * sizeof(mp->frame[0]));
	mp->next = m->maps;
	m->maps = mp;
	m->pages += n;
	*addr = mp->addr;
	return 0;
}

/* Simulated guests grant no pages, so no reference is valid. */
static int mem_map_grant(struct hv_mem *m, uint32_t domid, uint32_t ref, const volatile void **addr)
{
	struct sim_hyp_dom d;

	(void)ref;
	(void)addr;
	m->calls++;
	if (sim_hyp_dom(m->host, domid, &d) || d.domid != domid || d.dying)
		return -ESRCH;
	return -EINVAL;
}

static void drop_mapping(struct hv_mem *m, struct mapping **at)
{
	struct mapping *mp = *at;

	*at = mp->next;
	m->pages -= mp->n;
	sim_hyp_unmap(m->host, mp->owner, mp->addr, mp->n);
	free(mp);
}

static void mem_unmap(struct hv_mem *m, const volatile void *addr, size_t n)
{
	for (struct mapping **at = &m->maps; *at; at = &(*at)->next)
		if ((*at)->addr == addr && (*at)->n == n) {
			drop_mapping(m, at);
			return;
		}
}

static void mem_close(struct hv_mem *m)
{
	while (m->maps)
		drop_mapping(m, &m->maps);
	free(m);
}

/* Simulated frames never move: check only that these are the frames that were mapped. */
static int mem_verify(struct hv_mem *m, uint32_t domid, size_t n, const uint64_t *frames,
		      const volatile void *addr)
{
	struct sim_hyp_memory seen;

	if (sim_hyp_memory(m->host, domid, &seen))
		return -ESRCH;
	for (const struct mapping *mp = m->maps; mp; mp = mp->next)
		if (mp->addr == addr && mp->domid == domid && mp->owner == seen.owner && mp->n == n)
			return memcmp(mp->frame, frames, n * sizeof(*frames)) ? -ESTALE : 0;
	return -ESTALE;
}

static void mem_stats(struct hv_mem *m, uint64_t *calls, uint64_t *pages)
{
	*calls = m->calls;
	*pages = m->pages;
}

/* --- scheduling --- */

struct hv_sched {
	struct sim_host *host;
};

static int sched_open(struct hv_sched **out, void *arg)
{
	struct hv_sched *s;

	if (!arg)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->host = (struct sim_host *)arg;
	*out = s;
	return 0;
}

static void sched_close(struct hv_sched *s)
{
	free(s);
}

static void describe_dom(struct hv_dom *out, const struct sim_hyp_dom *d)
{
	*out = (struct hv_dom){
		.domid = d->domid,
		.flags = (d->dying ? HV_DOM_DYING : 0u) | (d->running ? HV_DOM_RUNNING : 0u) |
			 (d->blocked ? HV_DOM_BLOCKED : 0u),
		.cpu_ns = d->cpu_ns,
		.vcpus = d->vcpus,
	};
	memcpy(out->uuid, d->uuid, sizeof(out->uuid));
}

/* dom0 is in the list but not simulated: it uses no CPU. */
static int sched_list(struct hv_sched *s, struct hv_dom *doms, size_t max)
{
	struct sim_hyp_dom d[64];
	uint32_t next = 1, got;
	size_t n = 0;

	sim_hyp_tick(s->host);
	if (n < max)
		doms[n++] = (struct hv_dom){ .flags = HV_DOM_PRIVILEGED | HV_DOM_BLOCKED,
					     .vcpus = 1 };
	do {
		got = sim_hyp_doms(s->host, next, d, 64);
		for (uint32_t i = 0; i < got && n < max; i++)
			describe_dom(&doms[n++], &d[i]);
		next = got ? d[got - 1].domid + 1 : next;
	} while (got == 64 && n < max);
	return (int)n;
}

static int sched_vcpu(struct hv_sched *s, uint32_t domid, uint32_t number, struct hv_vcpu *v)
{
	struct sim_hyp_vcpu c;
	int rc = sim_hyp_vcpu(s->host, domid, number, &c);

	if (!rc)
		*v = (struct hv_vcpu){ .online = true,
				       .running = c.running,
				       .blocked = c.blocked,
				       .cpu_ns = c.cpu_ns };
	return rc;
}

static int sched_get(struct hv_sched *s, uint32_t domid, struct hv_sched_params *p)
{
	struct sim_hyp_dom d = { .weight = 256 };

	if (domid && (sim_hyp_dom(s->host, domid, &d) || d.domid != domid))
		return -ESRCH;
	p->cap = cap_from_percent(d.cap);
	p->weight = d.weight;
	return 0;
}

/* Domain 0 cannot be capped, as on Xen. */
static int sched_set_cap(struct hv_sched *s, uint32_t domid, struct cap was, struct cap cap,
			 struct hv_sched_params *found)
{
	struct sim_hyp_dom d;
	int rc;

	if (!domid)
		return -EPERM;
	rc = sim_hyp_set_cap(s->host, domid, cap_to_percent(was), cap_to_percent(cap), &d);
	if (!rc || rc == -ECANCELED)
		*found = (struct hv_sched_params){ cap_from_percent(d.cap), d.weight };
	return rc;
}

static const char *sched_name(struct hv_sched *s, uint32_t domid)
{
	(void)s;
	(void)domid;
	return "sim";
}

/* --- watching --- */

struct hv_watch {
	struct sim_host *host;
	struct sim_watcher watcher;
	uint32_t nodes; /* entries of node[]: events that next() has not returned yet */
	uint32_t node[2 * SIM_GUESTS_MAX]; /* guests that live, and those that are dying */
};

static int watch_open(struct hv_watch **out, void *arg)
{
	struct hv_watch *w;
	int rc;

	if (!arg)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->host = (struct sim_host *)arg;
	rc = sim_hyp_watch(w->host, &w->watcher);
	if (rc < 0)
		free(w);
	else
		*out = w;
	return rc;
}

static void watch_close(struct hv_watch *w)
{
	sim_hyp_unwatch(w->host, &w->watcher);
	free(w);
}

static int watch_fd(struct hv_watch *w)
{
	return w->watcher.fd;
}

/* Domains come first: a node's event may be of a guest that the caller has not listed yet. */
static int watch_next(struct hv_watch *w, struct hv_event *ev)
{
	/* The fd stays readable while nodes are left behind this event. */
	if (sim_hyp_take(w->host, &w->watcher, w->nodes > 0)) {
		*ev = (struct hv_event){ .type = HV_EVENT_DOMAINS };
		return 1;
	}
	if (!w->nodes)
		return 0;
	*ev = (struct hv_event){ HV_EVENT_NODE, w->node[--w->nodes] };
	return 1;
}

/* The agent writes its node at boot and never again, so a watch fires once. */
static int watch_watch(struct hv_watch *w, uint32_t domid)
{
	const uint64_t one = 1;
	struct sim_hyp_dom d;

	if (sim_hyp_dom(w->host, domid, &d) || d.domid != domid)
		return -ESRCH;
	if (w->nodes == sizeof(w->node) / sizeof(w->node[0]))
		return -ENOSPC;
	if (write(w->watcher.fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		return -errno;
	w->node[w->nodes++] = domid;
	return 0;
}

static void watch_unwatch(struct hv_watch *w, uint32_t domid)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < w->nodes; i++)
		if (w->node[i] != domid)
			w->node[kept++] = w->node[i];
	w->nodes = kept;
}

static int copy_out(const char *text, int len, char *buf, size_t size)
{
	if ((size_t)len >= size)
		return -EMSGSIZE;
	memcpy(buf, text, (size_t)len + 1);
	return len;
}

static int watch_read(struct hv_watch *w, uint32_t domid, char *buf, size_t size)
{
	char text[GUEST_ABI_NODE_MAX];
	struct sim_hyp_memory seen;
	int len;

	if (!domid || sim_hyp_memory(w->host, domid, &seen))
		return -ENOENT;
	len = snprintf(text, sizeof(text), "%u frame %u", GUEST_ABI_VERSION, seen.registry_frame);
	return copy_out(text, len, buf, size);
}

static int watch_name(struct hv_watch *w, uint32_t domid, char *buf, size_t size)
{
	struct sim_hyp_dom d = { .name = "Domain-0" };

	if (domid && (sim_hyp_dom(w->host, domid, &d) || d.domid != domid || d.dying))
		return -ENOENT;
	return copy_out(d.name, (int)strlen(d.name), buf, size);
}

static int watch_want(struct hv_watch *w, uint32_t domid, const char *value)
{
	if (strlen(value) >= GUEST_ABI_WANT_MAX)
		return -EMSGSIZE;
	return !domid || sim_hyp_want(w->host, domid, value) ? -ENOENT : 0;
}

static int watch_answer(struct hv_watch *w, uint32_t domid, char *buf, size_t size)
{
	int len = domid ? sim_hyp_answer(w->host, domid, buf, size) : -ENOENT;

	return len == -ESRCH ? -ENOENT : len;
}

static const struct hv_mem_ops mem_ops = {
	.open = mem_open,
	.close = mem_close,
	.map = mem_map,
	.map_grant = mem_map_grant,
	.unmap = mem_unmap,
	.verify = mem_verify,
	.stats = mem_stats,
};

static const struct hv_sched_ops sched_ops = {
	.open = sched_open,
	.close = sched_close,
	.list = sched_list,
	.vcpu = sched_vcpu,
	.get = sched_get,
	.set_cap = sched_set_cap,
	.name = sched_name,
};

static const struct hv_watch_ops watch_ops = {
	.open = watch_open,
	.close = watch_close,
	.fd = watch_fd,
	.next = watch_next,
	.watch = watch_watch,
	.unwatch = watch_unwatch,
	.read = watch_read,
	.name = watch_name,
	.want = watch_want,
	.answer = watch_answer,
};

const struct hv_backend hv_sim = {
	.name = "sim",
	.simulated = true,
	.counters = HV_COUNTERS_SIM,
	.mem = &mem_ops,
	.sched = &sched_ops,
	.watch = &watch_ops,
};
