/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SIMULATOR: the simulated hypervisor, for src/hv/sim.c alone. */
/*
 * Each call takes the host's lock; all may be used by several threads. Domain
 * ids are never used twice, so an id identifies a domain. 0 or -errno;
 * -ESRCH: no such domain, or (map, set_cap) it is dying.
 */
#ifndef RESEX_SIM_HYP_H
#define RESEX_SIM_HYP_H

#include "src/sim/sim.h"

struct sim_hyp_dom {
	uint32_t domid, vcpus, weight;
	uint32_t cap; /* percent as last set; 0: none */
	bool dying;
	bool running, blocked; /* one VCPU at least has a CPU; no VCPU wants one */
	uint8_t uuid[16];
	uint64_t cpu_ns;
	char name[FLOW_NAME_MAX];
};

/* Let time pass up to the clock's, if there is one: the only call that makes guests run. */
void sim_hyp_tick(struct sim_host *h);

/* The domain with the smallest id that is not below domid. */
int sim_hyp_dom(struct sim_host *h, uint32_t domid, struct sim_hyp_dom *out);
/* It and those after it, at most max: their number. */
uint32_t sim_hyp_doms(struct sim_host *h, uint32_t domid, struct sim_hyp_dom *out, uint32_t max);

struct sim_hyp_vcpu {
	bool running, blocked; /* neither: it wants a CPU */
	uint64_t cpu_ns;
};

/* By the last tick. -ESRCH: also without a VCPU of this number. */
int sim_hyp_vcpu(struct sim_host *h, uint32_t domid, uint32_t number, struct sim_hyp_vcpu *out);

/*
 * From the next tick's beginning, if the cap last set is `was`, or `was` is SIM_CAP_ANY.
 * -ECANCELED: it is another, see *found. -EINVAL: above 100 a VCPU. found may be NULL; filled
 * when the domain is there and alive.
 */
#define SIM_CAP_ANY UINT32_MAX
int sim_hyp_set_cap(struct sim_host *h, uint32_t domid, uint32_t was, uint32_t percent,
		    struct sim_hyp_dom *found);

/*
 * What the HCA has moved for a domain, independent of its rings: data only,
 * without headers. Of messages under way, what was sent by the last tick.
 */
struct sim_hyp_moved {
	uint64_t bytes_sent, bytes_recv;
	uint64_t packets_sent, packets_recv;
};

int sim_hyp_moved(struct sim_host *h, uint32_t domid, struct sim_hyp_moved *m);

/* The domain whose memory and node are seen as those of domid: itself, unless swapped. */
struct sim_hyp_memory {
	uint32_t owner;
	uint32_t registry_frame; /* what the owner's agent wrote into its node */
};

int sim_hyp_memory(struct sim_host *h, uint32_t domid, struct sim_hyp_memory *m);

/*
 * What is wanted of a program in the domain, as the agent reads it, and the agent's answer
 * (resex/guest_abi.h). The program has always done it at once. -ENOENT: nothing was wanted.
 */
int sim_hyp_want(struct sim_host *h, uint32_t domid, const char *value);
int sim_hyp_answer(struct sim_host *h, uint32_t domid, char *buf, size_t size);

/*
 * n frames in one run of addresses, read-only, and whose they are. -EINVAL:
 * frame *bad (when not NULL) is not one of the owner's. An owner that is
 * mapped does not go away.
 */
int sim_hyp_map(struct sim_host *h, uint32_t domid, size_t n, const uint64_t *frames, void **addr,
		size_t *bad, uint32_t *owner);
void sim_hyp_unmap(struct sim_host *h, uint32_t owner, void *addr, size_t n);

/* A watcher of domains that are created and destroyed. */
struct sim_watcher {
	struct sim_watcher *next;
	bool domains; /* one was created or destroyed; true at first, as with xenstore */
	int fd;	      /* an eventfd, written when domains is set */
};

int sim_hyp_watch(struct sim_host *h, struct sim_watcher *w); /* makes fd, readable */
void sim_hyp_unwatch(struct sim_host *h, struct sim_watcher *w);

/* Return and clear w->domains; unless `more`, fd is not readable afterwards. */
bool sim_hyp_take(struct sim_host *h, struct sim_watcher *w, bool more);

#endif
