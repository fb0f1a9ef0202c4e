/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dom: a domain as the hypervisor lists it. It is not in hv.h, so that the 1 ms
 * path can read a list and cannot call the hypervisor.
 */
#ifndef RESEX_HV_DOM_H
#define RESEX_HV_DOM_H

#include <stdint.h>

enum hv_dom_flags {
	HV_DOM_DYING = 1u << 0,
	HV_DOM_SHUTDOWN = 1u << 1,
	HV_DOM_PAUSED = 1u << 2,
	HV_DOM_PV = 1u << 3,	     /* frames need translation */
	HV_DOM_PRIVILEGED = 1u << 4, /* dom0: never capped, never mapped */
	/* It has not run yet: the toolstack may still build it, and set its cap later. */
	HV_DOM_UNRUN = 1u << 5,
	/*
	 * As they are when the list is made. The caller runs on a CPU then, so a guest that shares
	 * this CPU with it is never seen running. Both at once: the last VCPU that ran has begun to
	 * wait for an event, and has its CPU until the scheduler runs.
	 */
	HV_DOM_RUNNING = 1u << 6, /* one of its VCPUs at least has a CPU */
	HV_DOM_BLOCKED = 1u << 7, /* all its VCPUs wait for an event, or are offline */
};

/* Flags of a domain of which no VCPU has a CPU or waits for one. */
#define HV_DOM_RESTS (HV_DOM_BLOCKED | HV_DOM_PAUSED | HV_DOM_SHUTDOWN | HV_DOM_DYING)

struct hv_dom {
	uint32_t domid;
	uint32_t flags; /* enum hv_dom_flags */
	uint8_t uuid[16];
	uint64_t cpu_ns; /* running time of all VCPUs since it was created */
	uint32_t vcpus;	 /* online, >= 1 for a live domain */
	uint32_t pool;	 /* cpupool */
};

#endif
