// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * swap: set a domain's cap and learn which one it replaced. Called by sched.c.
 *
 * Xen has no call that compares and sets. Between two hypercalls, the first to read and the second
 * to set, another program may set a cap, which is lost then. A multicall carries out both domctls
 * in one hypercall and so tells which cap was replaced: when that is not the expected one, it is
 * set again (sched.c).
 *
 * What remains: a cap that is set between the two domctls of the multicall. That takes another CPU,
 * or an interrupt at that moment after which another program runs. Of 900 caps that a program set
 * against a thread that did nothing but set others, 7 were lost (hvprobe race, on an emulated CPU,
 * where a domctl takes some 20 us); with two hypercalls, 164 of 600.
 */
#include <errno.h>
#include <sched.h>

#include "src/core/caps.h"
#include "src/hv/xen/xen.h"

/* What Xen reads and writes: memory fit for hypercalls. */
struct hv_xen_swap_args {
	multicall_entry_t call[2];
	xen_domctl_t get, set;
};

int hv_xen_swap_open(struct hv_xen_swap *w, struct hv_xen_quiet *q)
{
	w->call = xencall_open(&q->logger, 0);
	if (!w->call)
		return errno ? -errno : -ENODEV;
	w->args = xencall_alloc_buffer(w->call, sizeof(*w->args));
	if (w->args)
		return 0;
	xencall_close(w->call);
	return -ENOMEM;
}

void hv_xen_swap_close(struct hv_xen_swap *w)
{
	xencall_free_buffer(w->call, w->args);
	xencall_close(w->call);
}

static xen_domctl_t scheduler_op(uint32_t domid, uint32_t scheduler, uint32_t cmd)
{
	return (xen_domctl_t){
		.cmd = XEN_DOMCTL_scheduler_op,
		.interface_version = XEN_DOMCTL_INTERFACE_VERSION,
		.domain = (domid_t)domid,
		.u.scheduler_op = { .sched_id = scheduler, .cmd = cmd },
	};
}

/* Weight 0 is "as it is". */
static int prepare(struct hv_xen_swap_args *a, uint32_t domid, uint32_t scheduler, uint16_t cap)
{
	a->get = scheduler_op(domid, scheduler, XEN_DOMCTL_SCHEDOP_getinfo);
	a->set = scheduler_op(domid, scheduler, XEN_DOMCTL_SCHEDOP_putinfo);
	switch (scheduler) {
	case XEN_SCHEDULER_CREDIT:
		a->set.u.scheduler_op.u.credit.cap = cap;
		break;
	case XEN_SCHEDULER_CREDIT2:
		a->set.u.scheduler_op.u.credit2.cap = cap;
		break;
	default:
		return -EOPNOTSUPP;
	}
	a->call[0] = (multicall_entry_t){ .op = __HYPERVISOR_domctl,
					  .args = { (xen_ulong_t)&a->get } };
	a->call[1] = (multicall_entry_t){ .op = __HYPERVISOR_domctl,
					  .args = { (xen_ulong_t)&a->set } };
	return 0;
}

struct sched_state {
	int policy; /* below 0: was not changed */
	struct sched_param param;
};

/*
 * An interrupt between the two domctls lets the kernel run another program, within the
 * hypercall. A thread under SCHED_FIFO goes on. Not permitted: it is as good as it was.
 */
static void before_others(struct sched_state *was)
{
	const struct sched_param lowest = { .sched_priority = 1 };

	was->policy = sched_getscheduler(0);
	if (was->policy == SCHED_FIFO || was->policy == SCHED_RR ||
	    sched_getparam(0, &was->param) || sched_setscheduler(0, SCHED_FIFO, &lowest))
		was->policy = -1;
}

static void as_before(const struct sched_state *was)
{
	if (was->policy >= 0)
		sched_setscheduler(0, was->policy, &was->param);
}

static struct hv_sched_params params_before(const struct xen_domctl_scheduler_op *got,
					    uint32_t scheduler)
{
	if (scheduler == XEN_SCHEDULER_CREDIT)
		return (struct hv_sched_params){ cap_from_percent(got->u.credit.cap),
						 got->u.credit.weight };
	return (struct hv_sched_params){ cap_from_percent(got->u.credit2.cap),
					 got->u.credit2.weight };
}

int hv_xen_swap_cap(struct hv_xen_swap *w, uint32_t domid, uint32_t scheduler, uint16_t cap,
		    struct hv_sched_params *before)
{
	struct hv_xen_swap_args *a = w->args;
	int ret = prepare(a, domid, scheduler, cap);
	struct sched_state now;

	if (ret)
		return ret;
	before_others(&now);
	if (xencall2(w->call, __HYPERVISOR_multicall, (uint64_t)(uintptr_t)a->call, 2) < 0)
		ret = -errno;
	as_before(&now);
	if (ret)
		return ret;
	for (int i = 0; i < 2; i++)
		if ((long)a->call[i].result < 0)
			return (int)(long)a->call[i].result;
	*before = params_before(&a->get.u.scheduler_op, scheduler);
	return 0;
}
