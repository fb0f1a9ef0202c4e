/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flow.h: the records of the chain that a policy reads and writes. Installed; the
 * other records of the chain are in src/core/flow.h.
 *
 *	usage, report, sla --policy's decide()--> plan
 *
 * All are of fixed width and hold no pointers, so that they can be recorded,
 * compared, and passed between threads. POLICY_ABI (resex/policy.h) changes
 * whenever one of them does.
 */
#ifndef RESEX_FLOW_H
#define RESEX_FLOW_H

#include "resex/units.h"

enum {
	FLOW_GUESTS_MAX = 256, /* guests of one host */
	FLOW_LINKS_MAX = 8,    /* links (ports) of one host */
	FLOW_NAME_MAX = 64,    /* names of guests and links, with the NUL */
};

/* --- count: use of one guest in one interval --- */

enum usage_flags {
	USAGE_ESTIMATED = 1u << 0, /* at least one sample was estimated or bounded */
	USAGE_LOST = 1u << 1,	   /* at least one entry was lost */
};

struct usage {
	uint32_t slot;
	uint32_t link;	    /* 0 .. FLOW_LINKS_MAX-1 */
	uint32_t flags;	    /* enum usage_flags */
	uint32_t msg_bytes; /* largest message seen */
	uint64_t cpu_ns;    /* CPU time in the interval, all VCPUs */
	uint64_t mtus_sent;
	uint64_t mtus_recv;
	uint64_t bytes_sent; /* of lost entries as if their MTUs were as full as those seen */
	uint64_t bytes_recv;
	uint64_t wrs;
	uint64_t lost;
	uint64_t backlog; /* requests under way at the end of the interval */
	uint64_t queues;  /* send queues that had some then */
};

/* --- observe: latencies that a guest's applications reported in one interval --- */

enum report_flags {
	REPORT_LOST = 1u << 0, /* samples were overwritten before they were read */
};

/*
 * Latencies of requests, each sample counted once: the whole, CTime + WTime +
 * PTime, and apart from it WTime + PTime, the part that a neighbour's I/O can
 * change (paper IV). A sample's parts are below 2^32, its sums below 2^34.
 */
struct report {
	uint32_t slot;
	uint32_t flags;			   /* enum report_flags */
	uint64_t n;			   /* samples */
	uint64_t sum_ns;		   /* of whole latencies */
	uint64_t io_sum_ns;		   /* of WTime + PTime */
	uint64_t io_sumsq_hi, io_sumsq_lo; /* 128-bit sum of squares of WTime + PTime */
};

/* The latency promised to a guest, from its settings. */
struct sla {
	uint64_t base_ns;     /* mean of whole latencies when alone; 0: to be learned */
	uint64_t base_io_ns;  /* mean of WTime + PTime when alone */
	uint64_t base_dev_ns; /* deviation of WTime + PTime when alone */
	uint32_t tolerance;   /* permille that latency may exceed base; 0: the policy's */
	uint32_t reserved;
};

/* --- decide: the cap and the rate that a policy wants for one guest --- */

struct plan_guest {
	struct cap cap;
	struct rate rate;    /* in force once the cap is set, not before */
	uint32_t reason;     /* index into policy_ops.reasons */
	uint64_t vf_bytes_s; /* reserved for a VF rate actuator; 0: leave alone */
	int64_t why[4];	     /* figures for the text of the reason, in its order */
	struct resos stands; /* how long this plan stands: policy.h; 0: for this interval */
};

struct plan {
	struct plan_guest guest[FLOW_GUESTS_MAX]; /* by slot; valid for the guests of policy_in */
};

_Static_assert(sizeof(struct usage) == 88, "no padding");
_Static_assert(sizeof(struct report) == 48, "no padding");
_Static_assert(sizeof(struct sla) == 32, "no padding");
_Static_assert(sizeof(struct plan_guest) == 64, "no padding");
_Static_assert(sizeof(struct plan) == FLOW_GUESTS_MAX * sizeof(struct plan_guest), "no padding");

#endif
