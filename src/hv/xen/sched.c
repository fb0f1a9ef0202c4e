// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sched: domains, their CPU time, and their caps. The sampler lists them on each
 * tick with a handle of its own; the actor sets caps.
 *
 * A cap is set by the scheduler of the domain's own cpupool; Xen refuses a
 * call that names another scheduler (EINVAL): then the pool was created anew
 * with another one. Weight 0 means "as it is" to credit and credit2, so
 * the weight survives even when another program changes it at the same moment. A
 * cap has no such value in credit2: 0 takes it away.
 *
 * Before a cap is set, the one in force is compared with the one expected. Setting another tells
 * what it replaced (swap.c): a cap that another program set after the comparison is set again.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/core/caps.h"
#include "src/hv/xen/xen.h"

#define LIST_MAX	4096u
#define POOLS_MAX	16u
#define GIVE_BACK_TRIES 4
/* As many as fit a page: libxenctrl keeps its buffers of that size. */
#define LIST_FIRST (HV_PAGE / sizeof(xc_domaininfo_t))

struct pool {
	bool known;
	uint32_t id;
	uint32_t scheduler;
};

struct hv_sched {
	struct hv_xen_quiet quiet;
	xc_interface *xc;
	struct hv_xen_swap swap;
	uint32_t want; /* how many domains to ask for */
	xc_domaininfo_t *info;
	struct pool pools[POOLS_MAX]; /* by id modulo POOLS_MAX */
};

static int xen_sched_open(struct hv_sched **s, void *arg)
{
	struct hv_sched *h = calloc(1, sizeof(*h));
	int ret = -ENOMEM;

	(void)arg;
	if (!h)
		return ret;
	h->want = LIST_FIRST;
	h->info = calloc(LIST_MAX, sizeof(*h->info));
	if (!h->info)
		goto out;
	hv_xen_quiet_init(&h->quiet);
	ret = hv_xen_open(&h->xc, &h->quiet);
	if (ret)
		goto out;
	ret = hv_xen_swap_open(&h->swap, &h->quiet);
	if (ret)
		goto out;
	*s = h;
	return 0;
out:
	if (h->xc)
		xc_interface_close(h->xc);
	free(h->info);
	free(h);
	return ret;
}

static void xen_sched_close(struct hv_sched *s)
{
	if (!s)
		return;
	hv_xen_swap_close(&s->swap);
	xc_interface_close(s->xc);
	free(s->info);
	free(s);
}

static uint32_t dom_flags(const xc_domaininfo_t *info)
{
	uint32_t flags = 0;

	if (info->flags & XEN_DOMINF_dying)
		flags |= HV_DOM_DYING;
	if (info->flags & XEN_DOMINF_shutdown)
		flags |= HV_DOM_SHUTDOWN;
	if (info->flags & XEN_DOMINF_paused)
		flags |= HV_DOM_PAUSED;
	if (info->flags & XEN_DOMINF_running)
		flags |= HV_DOM_RUNNING;
	if (info->flags & XEN_DOMINF_blocked)
		flags |= HV_DOM_BLOCKED;
	if (!(info->flags & XEN_DOMINF_hvm_guest))
		flags |= HV_DOM_PV;
	if (info->domain == 0)
		flags |= HV_DOM_PRIVILEGED;
	if (info->cpu_time == 0)
		flags |= HV_DOM_UNRUN;
	return flags;
}

static void describe_dom(const xc_domaininfo_t *info, struct hv_dom *d)
{
	static_assert(sizeof(info->handle) == sizeof(d->uuid), "a UUID");

	d->domid = info->domain;
	d->flags = dom_flags(info);
	memcpy(d->uuid, info->handle, sizeof(d->uuid));
	d->cpu_ns = info->cpu_time;
	d->vcpus = info->nr_online_vcpus ? info->nr_online_vcpus : 1;
	d->pool = info->cpupool;
}

/*
 * One sysctl. The library copies as many entries as are requested, so request
 * as many as last time and some more; a second, larger call is made only when
 * that was too few.
 */
static int xen_list(struct hv_sched *s, struct hv_dom *doms, size_t max)
{
	const uint32_t limit = max < LIST_MAX ? (uint32_t)max : LIST_MAX;
	int n;

	if (limit == 0)
		return 0;
	for (;;) {
		const uint32_t want = s->want < limit ? s->want : limit;

		n = xc_domain_getinfolist(s->xc, 0, want, s->info);
		if (n < 0)
			return -errno;
		if ((uint32_t)n < want || want == limit)
			break;
		s->want *= 2;
	}
	for (int i = 0; i < n; i++)
		describe_dom(&s->info[i], &doms[i]);
	return n;
}

/* Xen says EINVAL above the domain's highest VCPU, and ESRCH of a number in between without one. */
static int xen_vcpu(struct hv_sched *s, uint32_t domid, uint32_t number, struct hv_vcpu *v)
{
	xc_vcpuinfo_t info = { 0 };

	if (domid >= DOMID_FIRST_RESERVED)
		return -ESRCH;
	if (xc_vcpu_getinfo(s->xc, domid, number, &info))
		return errno == EINVAL ? -ESRCH : -errno;
	*v = (struct hv_vcpu){ .online = info.online,
			       .running = info.running,
			       .blocked = info.blocked,
			       .cpu_ns = info.cpu_time };
	return 0;
}

/*
 * Cached, because the answer is needed for each cap. xc_cpupool_getinfo() returns the first
 * pool with this id or a higher one.
 */
static int pool_scheduler(struct hv_sched *s, uint32_t id, uint32_t *scheduler)
{
	struct pool *p = &s->pools[id % POOLS_MAX];

	if (!p->known || p->id != id) {
		xc_cpupoolinfo_t *info;

		errno = 0;
		info = xc_cpupool_getinfo(s->xc, id);
		if (!info)
			return errno ? -errno : -ESRCH;
		*p = (struct pool){ info->cpupool_id == id, id, info->sched_id };
		xc_cpupool_infofree(s->xc, info);
		if (!p->known)
			return -ESRCH;
	}
	*scheduler = p->scheduler;
	return 0;
}

static int find_scheduler(struct hv_sched *s, uint32_t domid, xc_domaininfo_t *info,
			  uint32_t *scheduler)
{
	int ret = hv_xen_dominfo(s->xc, domid, info);

	return ret ? ret : pool_scheduler(s, info->cpupool, scheduler);
}

/* Xen counts a domain's cap in percent of one physical CPU. 0 means that there is no cap. */
static int params_get(struct hv_sched *s, uint32_t domid, uint32_t scheduler,
		      struct hv_sched_params *p)
{
	struct xen_domctl_sched_credit credit;
	struct xen_domctl_sched_credit2 credit2;
	uint16_t cap;

	switch (scheduler) {
	case XEN_SCHEDULER_CREDIT:
		if (xc_sched_credit_domain_get(s->xc, domid, &credit))
			return -errno;
		p->weight = credit.weight;
		cap = credit.cap;
		break;
	case XEN_SCHEDULER_CREDIT2:
		if (xc_sched_credit2_domain_get(s->xc, domid, &credit2))
			return -errno;
		p->weight = credit2.weight;
		cap = credit2.cap;
		break;
	default:
		return -EOPNOTSUPP;
	}
	p->cap = cap ? CAP_PERCENT(cap) : CAP_NONE;
	return 0;
}

static int get_once(struct hv_sched *s, uint32_t domid, struct hv_sched_params *p)
{
	xc_domaininfo_t info;
	uint32_t scheduler = 0;
	int ret = find_scheduler(s, domid, &info, &scheduler);

	return ret ? ret : params_get(s, domid, scheduler, p);
}

/* The nearest whole percent, and never 0, which to Xen is "no cap". */
static int percent_of(struct cap c, const xc_domaininfo_t *info, uint16_t *percent)
{
	const uint64_t most = 100ull * (info->max_vcpu_id + 1ull);
	uint64_t p = ((uint64_t)c.mpct + 500) / 1000;

	if (!c.limited) {
		*percent = 0;
		return 0;
	}
	if (c.mpct == 0 || info->max_vcpu_id == XEN_INVALID_MAX_VCPU_ID || p > most ||
	    p >= UINT16_MAX)
		return -EINVAL;
	*percent = p ? (uint16_t)p : 1;
	return 0;
}

/*
 * Another program set a cap between params_get() and the swap: set it again. When the swap finds
 * that the program set one more meanwhile, that one is the newest. The program may have set a
 * weight with it.
 */
static int give_back(struct hv_sched *s, uint32_t domid, uint32_t scheduler, uint16_t ours,
		     struct hv_sched_params *found)
{
	for (int i = 0; i < GIVE_BACK_TRIES; i++) {
		uint16_t theirs = (uint16_t)cap_to_percent(found->cap);
		struct hv_sched_params before;
		int ret = hv_xen_swap_cap(&s->swap, domid, scheduler, theirs, &before);

		if (ret)
			return ret;
		found->weight = before.weight;
		if (cap_to_percent(before.cap) == ours)
			break;
		ours = theirs;
		found->cap = before.cap;
	}
	return -ECANCELED;
}

static int set_once(struct hv_sched *s, uint32_t domid, struct cap was, struct cap cap,
		    struct hv_sched_params *found)
{
	xc_domaininfo_t info;
	uint32_t scheduler = 0;
	uint16_t percent;
	int ret = find_scheduler(s, domid, &info, &scheduler);

	if (!ret)
		ret = percent_of(cap, &info, &percent);
	if (!ret)
		ret = params_get(s, domid, scheduler, found);
	if (ret)
		return ret;
	if (cap_to_percent(found->cap) != cap_to_percent(was))
		return -ECANCELED;
	ret = hv_xen_swap_cap(&s->swap, domid, scheduler, percent, found);
	if (ret || cap_to_percent(found->cap) == cap_to_percent(was))
		return ret;
	return give_back(s, domid, scheduler, percent, found);
}

/*
 * EINVAL: the cached scheduler of the pool may be an old one. Forget all pools and try once
 * more.
 */
static int xen_get(struct hv_sched *s, uint32_t domid, struct hv_sched_params *p)
{
	int ret = get_once(s, domid, p);

	if (ret != -EINVAL)
		return ret;
	memset(s->pools, 0, sizeof(s->pools));
	return get_once(s, domid, p);
}

static int xen_set_cap(struct hv_sched *s, uint32_t domid, struct cap was, struct cap cap,
		       struct hv_sched_params *found)
{
	int ret;

	if (domid == 0)
		return -EPERM;
	ret = set_once(s, domid, was, cap, found);
	if (ret != -EINVAL)
		return ret;
	memset(s->pools, 0, sizeof(s->pools));
	return set_once(s, domid, was, cap, found);
}

static const char *xen_sched_name(struct hv_sched *s, uint32_t domid)
{
	xc_domaininfo_t info;
	uint32_t scheduler;

	memset(s->pools, 0, sizeof(s->pools));
	if (find_scheduler(s, domid, &info, &scheduler))
		return "unknown";
	switch (scheduler) {
	case XEN_SCHEDULER_CREDIT:
		return "credit";
	case XEN_SCHEDULER_CREDIT2:
		return "credit2";
	case XEN_SCHEDULER_ARINC653:
		return "arinc653";
	case XEN_SCHEDULER_RTDS:
		return "rtds";
	case XEN_SCHEDULER_NULL:
		return "null";
	default:
		return "unknown";
	}
}

const struct hv_sched_ops hv_xen_sched = {
	.open = xen_sched_open,
	.close = xen_sched_close,
	.list = xen_list,
	.vcpu = xen_vcpu,
	.get = xen_get,
	.set_cap = xen_set_cap,
	.name = xen_sched_name,
};
