/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hv: the hypervisor, behind three small ops structs.
 *
 * Memory, scheduling and watching are separate handles so that each thread
 * opens only what it needs, and so that they can one day live in separate
 * processes. Frames in, read-only addresses out; nothing here is named after
 * libxc. Backends: xen (src/hv/xen, the only files that know Xen) and sim.
 *
 * All functions return 0 (or a count) or -errno. A handle is used by one
 * thread at a time. A child cannot use a handle after fork.
 */
#ifndef RESEX_HV_H
#define RESEX_HV_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/core/units.h"
#include "src/hv/dom.h"

#define HV_PAGE 4096u

/* What the scheduler holds for one domain. */
struct hv_sched_params {
	struct cap cap;
	uint32_t weight;
};

/* A VCPU, as it is when it is asked for. See HV_DOM_RUNNING. */
struct hv_vcpu {
	bool online, running, blocked;
	uint64_t cpu_ns; /* running time since the domain was created */
};

struct hv_mem;
struct hv_sched;
struct hv_watch;

struct hv_mem_ops {
	/*
	 * The three opens have the same errors. -ENOSYS: another hypervisor,
	 * or none; -ENXIO: this is a guest and not dom0; -ENODEV: a driver or
	 * daemon of it is missing (xen-privcmd, xenstored); -EACCES: not
	 * permitted, root is needed; -EPROTONOSUPPORT: the hypervisor's
	 * version is not the one this program was built for.
	 */
	int (*open)(struct hv_mem **m, void *arg);
	void (*close)(struct hv_mem *m);
	/*
	 * Map n frames of a guest, as its own kernel numbers them, read-only
	 * and contiguous. PV frame numbers are translated here; the type of
	 * the very frame that is then mapped must be plain RAM of that guest.
	 * All or nothing. May take milliseconds; never call it in the 1 ms
	 * path. -EINVAL: frame invalid or not RAM; -EPERM: not that guest's
	 * (a PV guest's device memory too), or dom0; -ESRCH: no such guest, or
	 * it is dying; -EAGAIN: frame is paged out or the guest is rebuilding
	 * its table, try later; -E2BIG: n is 0 or above 4096; -EOPNOTSUPP: a
	 * 32-bit PV guest. *bad, when not NULL, gets the index of a bad frame.
	 */
	int (*map)(struct hv_mem *m, uint32_t domid, size_t n, const uint64_t *frames,
		   const volatile void **addr, size_t *bad);
	/*
	 * Map one page the guest granted to dom0, read-only. Errors as map;
	 * -ENODEV: dom0's driver for grants (xen-gntdev) is missing.
	 */
	int (*map_grant)(struct hv_mem *m, uint32_t domid, uint32_t ref,
			 const volatile void **addr);
	/* Undo map (n as given there) or map_grant (n = 1). */
	void (*unmap)(struct hv_mem *m, const volatile void *addr, size_t n);
	/*
	 * Are the guest's frames still those that were mapped? Ballooning
	 * and migration move frames. 0: yes; -ESTALE: no; others as map. On
	 * Xen a PVH or HVM guest's frame that was ballooned out and in again
	 * looks like one that stayed.
	 */
	int (*verify)(struct hv_mem *m, uint32_t domid, size_t n, const uint64_t *frames,
		      const volatile void *addr);
	/* How many map calls were made, and how many pages are mapped now. */
	void (*stats)(struct hv_mem *m, uint64_t *calls, uint64_t *pages);
};

struct hv_sched_ops {
	int (*open)(struct hv_sched **s, void *arg);
	void (*close)(struct hv_sched *s);
	/*
	 * All domains in ascending id, dom0 and dying ones included; the
	 * number written, at most max. One hypercall: fit for each tick.
	 */
	int (*list)(struct hv_sched *s, struct hv_dom *doms, size_t max);
	/*
	 * VCPUs are numbered from 0, offline ones too. -ESRCH: no such domain, or no VCPU with this
	 * number or a higher one. One hypercall a VCPU: not for each tick.
	 */
	int (*vcpu)(struct hv_sched *s, uint32_t domid, uint32_t number, struct hv_vcpu *v);
	/* By the domain's own cpupool. -ESRCH; -EOPNOTSUPP: scheduler has no caps. */
	int (*get)(struct hv_sched *s, uint32_t domid, struct hv_sched_params *p);
	/*
	 * Set the cap only if the one in force, in whole percent, is still
	 * `was`; keep the weight. 0 or -ECANCELED: *found has what was in force
	 * before. -ECANCELED: another program set another cap, and nothing was
	 * changed. A cap that the other program sets between the comparison and
	 * the setting is lost: no time in sim, on Xen see src/hv/xen/swap.c.
	 * -ESRCH; -EINVAL: out of the scheduler's range; -EPERM:
	 * domain 0; -EOPNOTSUPP.
	 */
	int (*set_cap)(struct hv_sched *s, uint32_t domid, struct cap was, struct cap cap,
		       struct hv_sched_params *found);
	/* "credit2", "credit", "sim", ... of the domain's cpupool. */
	const char *(*name)(struct hv_sched *s, uint32_t domid);
};

/*
 * Set a cap whatever is in force, as an operator does. -ECANCELED: another program set one at
 * the same moment, three times.
 */
static inline int hv_put_cap(const struct hv_sched_ops *ops, struct hv_sched *s, uint32_t domid,
			     struct cap cap)
{
	struct hv_sched_params found;
	int rc = ops->get(s, domid, &found);

	if (rc)
		return rc;
	for (int i = 0; i < 3; i++) {
		rc = ops->set_cap(s, domid, found.cap, cap, &found);
		if (rc != -ECANCELED)
			break;
	}
	return rc;
}

enum hv_event_type {
	HV_EVENT_DOMAINS, /* a domain was created, destroyed or changed: list again */
	HV_EVENT_NODE,	  /* a watched guest's node may have changed */
	HV_EVENT_ANSWER,  /* a request of this domain that got -EAGAIN has its answer */
};

struct hv_event {
	enum hv_event_type type;
	uint32_t domid; /* unless HV_EVENT_DOMAINS */
};

/*
 * Only open and close may wait, and both for a bounded time. watch, read, name, want and answer
 * may return -EAGAIN: then they have made a request. HV_EVENT_ANSWER follows, and the same call
 * gives the answer: once, the next call makes a new request. A call before the answer is there
 * returns -EAGAIN and makes no second request. An answer of read() may be older than an
 * HV_EVENT_NODE that came after the request: read again then. unwatch() drops all requests and
 * answers of a domain; call it also for a domain of which only the name was asked.
 */
struct hv_watch_ops {
	/* As hv_mem_ops.open; -ETIMEDOUT: xenstored runs and does not answer. */
	int (*open)(struct hv_watch **w, void *arg);
	void (*close)(struct hv_watch *w);
	/* Readable when next() has an event; -1: there is none, so poll next(). */
	int (*fd)(struct hv_watch *w);
	/* 1 and an event, 0 when there is none now, -errno. Never blocks. */
	int (*next)(struct hv_watch *w, struct hv_event *ev);
	/* Begin and end watching a guest's GUEST_ABI_NODE. */
	int (*watch)(struct hv_watch *w, uint32_t domid);
	void (*unwatch)(struct hv_watch *w, uint32_t domid);
	/*
	 * The node's value, at most size - 1 bytes, NUL-terminated; its length.
	 * -ENOENT; -EMSGSIZE; -EBADMSG: holds a NUL; -EPERM: not owned by the
	 * guest or writable by another domain.
	 */
	int (*read)(struct hv_watch *w, uint32_t domid, char *buf, size_t size);
	/* The guest's name, as read(). */
	int (*name)(struct hv_watch *w, uint32_t domid, char *buf, size_t size);
	/*
	 * Write the guest's GUEST_ABI_WANT: shorter than GUEST_ABI_WANT_MAX, else -EMSGSIZE.
	 * Another value than that of a request under way replaces it; its answer is dropped.
	 * -ENOENT: no such guest.
	 */
	int (*want)(struct hv_watch *w, uint32_t domid, const char *value);
	/* The guest's GUEST_ABI_ANSWER, as read(). */
	int (*answer)(struct hv_watch *w, uint32_t domid, char *buf, size_t size);
};

/* Which counters count what guests send, independent of their rings. */
enum hv_counters {
	HV_COUNTERS_NONE,
	HV_COUNTERS_KERNEL, /* dom0's kernel: interfaces, virtual functions, ports */
	HV_COUNTERS_SIM,    /* the simulated host */
};

struct hv_backend {
	const char *name; /* "xen", "sim": for people and files; decide by the fields below */
	bool simulated;	  /* no guest, cap or figure is real; many may run on one machine */
	enum hv_counters counters;
	/* Which boot of the host this is, or ""; NULL: there is only one. */
	void (*boot)(char *id, size_t size);
	const struct hv_mem_ops *mem;
	const struct hv_sched_ops *sched;
	const struct hv_watch_ops *watch;
};

/* The backends built in, ended by NULL: xen only when built --with-xen. */
extern const struct hv_backend *const hv_backends[];
const struct hv_backend *hv_backend_find(const char *name);

#endif
