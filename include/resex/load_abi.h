/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load_abi: what a node carries, as its host publishes it in the part "load" of its region (man
 * resex-region(7)).
 *
 * Times are cumulative. A reader differences two records over an interval of its own, so no history
 * is lost between two READs, and a record that was not read does no harm. (Section 3.3 of the paper
 * on load awareness asks for that history.) src/load/index.h makes an index of two records.
 */
#ifndef RESEX_LOAD_ABI_H
#define RESEX_LOAD_ABI_H

#include "resex/region_abi.h"

/* Where the figures are from. */
enum load_source {
	LOAD_NONE, /* there are none */
	LOAD_ULM,  /* user level: a process reads /proc of the node */
	LOAD_KLM,  /* kernel level: a module of the node writes them */
	LOAD_HV,   /* the hypervisor: dom0 asks Xen, and not the guest */
	LOAD_SIM,  /* a simulated node */
	LOAD_SOURCES,
};

enum load_flags {
	LOAD_SIMULATED = 1u << 0,     /* the node is not real */
	LOAD_OVERRUN = 1u << 1,	      /* the sample before was late by a period or more */
	LOAD_NO_WAIT = 1u << 2,	      /* wait_ns is not known, and 0 */
	LOAD_IDLE_REPAIRED = 1u << 3, /* idle times of sleeping CPUs are up to date */
	LOAD_DISAGREES = 1u << 4,     /* the hypervisor counted another CPU time */
	LOAD_NO_RUNNING = 1u << 5,    /* running is not known, and 0 */
};

/* A record of kind REGION_LOAD. Times are sums over the node's CPUs, but for wait_ns. */
struct load_record {
	struct region_record head;
	uint32_t node;	    /* its number */
	uint32_t source;    /* enum load_source */
	uint32_t flags;	    /* enum load_flags */
	uint32_t cpus;	    /* that are online */
	uint64_t beat;	    /* + 1 at each sample */
	int64_t sampled_ns; /* when, by CLOCK_BOOTTIME of the machine that sampled */
	uint64_t period_ns; /* between two samples, as configured */
	/* Since some time that does not change while sampled_ns grows. */
	uint64_t busy_ns; /* user, nice and system; not irq and softirq */
	uint64_t irq_ns, softirq_ns;
	uint64_t iowait_ns;
	uint64_t steal_ns; /* the CPUs were the hypervisor's */
	/*
	 * At least one task was runnable and had no CPU. HV: a VCPU was runnable and had no CPU,
	 * which the guest itself counts as steal.
	 */
	uint64_t wait_ns;
	/* As they are at sampled_ns. */
	uint32_t running;	  /* tasks that run or are runnable; not the one that samples */
	uint32_t softirq_pending; /* CPUs that have a softirq pending; KLM alone */
	uint32_t load_avg[3];	  /* of 1, 5 and 15 minutes, in 1/1000 */
	/*
	 * By the HAProxy of the host that publishes the record, if the host balances the node's
	 * service by weights, and HAProxy answered within load.stale. All 0: not known, as in each
	 * record that the kernel module of that host writes. HAProxy counts from 0 when it starts.
	 */
	uint32_t queued;     /* requests that wait in HAProxy for this node: qcur */
	uint64_t served;     /* requests sent to it in all: stot */
	uint64_t latency_ns; /* mean response time of the last 1024: rtime, in whole ms */
	uint64_t reserved[14];
};

static_assert(sizeof(struct load_record) == 256, "a load record");

#endif
