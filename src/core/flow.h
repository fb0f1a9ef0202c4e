/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flow.h: every record that passes between the stages of the chain
 *
 *	observe -> count -> account -> decide -> act
 *
 *	guest rings --ibmon/scan--> sample
 *	sample      --ring/mtu----> usage
 *	usage       --core/resos--> account
 *	latencies   --ibmon/scan--> report
 *	account, report --policies> plan
 *	plan        --hv----------> the scheduler's cap
 *
 * A stage knows nothing of the stages after it. The records that a policy sees (usage,
 * report, sla, plan) are in include/resex/flow.h.
 *
 * All records are of fixed width and hold no pointers, so that they can be
 * recorded, compared, and passed between threads.
 */
#ifndef RESEX_CORE_FLOW_H
#define RESEX_CORE_FLOW_H

#include "resex/flow.h"
#include "src/core/units.h"

enum { FLOW_RINGS_MAX = 256 }; /* send queues of one guest */

/*
 * Identifies a guest for as long as it lives. Xen reuses domain ids, so state is
 * keyed by all three: created counts the guests that this daemon has seen and
 * never repeats within one run.
 */
struct guest_key {
	uint8_t uuid[16];
	uint64_t created;
	uint32_t domid;
	uint32_t reserved;
};

/* --- observe: what one send queue completed since its previous sample --- */

enum sample_flags {
	SAMPLE_LAPPED = 1u << 0,	 /* entries were overwritten before they were seen */
	SAMPLE_WRS_BOUNDED = 1u << 1,	 /* wrs is an upper bound, not exact */
	SAMPLE_MTUS_ESTIMATED = 1u << 2, /* sent or received: estimated for lost entries */
	SAMPLE_HISTORY = 1u << 3,	 /* work done before the ring was first mapped */
	SAMPLE_UNCHARGED = 1u << 4,	 /* history older than this daemon: count, do not charge */
	SAMPLE_MTUS_GUESSED = 1u << 5,	 /* so is their sum; always with MTUS_ESTIMATED */
};

enum sample_op {
	OP_SEND,  /* SEND, with immediate, with invalidate */
	OP_WRITE, /* RDMA WRITE, with immediate */
	OP_READ,
	OP_CMP_SWAP,
	OP_FETCH_ADD,
	OP_LOCAL, /* local invalidate, memory window bind: 0 MTUs */
	OP_KINDS,
};

struct sample {
	uint32_t slot;	      /* of the guest, 0 .. FLOW_GUESTS_MAX-1 */
	uint32_t ring;	      /* descriptor id in the guest's registry */
	uint32_t flags;	      /* enum sample_flags */
	uint32_t msg_bytes;   /* largest message seen in this sample */
	uint64_t wrs;	      /* work requests completed: seen + lost */
	uint64_t seen;	      /* of these, entries that were read */
	uint64_t lost;	      /* of these, entries overwritten unseen */
	uint64_t errors;      /* seen entries that completed in error (not in mtus, bytes) */
	uint64_t mtus_sent;   /* SEND, WRITE: max(1, ceil(bytes / path MTU)); atomics 1 */
	uint64_t mtus_recv;   /* READ: the response's MTUs, charged to the requester */
	uint64_t bytes_sent;  /* of seen entries */
	uint64_t bytes_recv;  /* of seen entries */
	uint64_t bytes_bound; /* upper bound of bytes in lost entries; 0 when lost is 0 */
	uint64_t likely_sent; /* bytes of lost entries, if their MTUs are as full as those seen */
	uint64_t likely_recv;
	uint64_t backlog;	/* posted and not completed at the end of the sample */
	uint64_t ops[OP_KINDS]; /* seen entries by kind, errors included */
};

/* --- account: one guest's Resos in the current epoch --- */

enum account_flags {
	ACCOUNT_ACTIVE = 1u << 0,
	ACCOUNT_LATE = 1u << 1,	    /* joined within the epoch: allocation is overcommit */
	ACCOUNT_UNISSUED = 1u << 2, /* joined, and nothing was allocated yet */
};

struct account {
	uint32_t flags;
	uint32_t link;
	uint32_t vcpus;
	uint32_t weight;  /* share of the link's pool, 1 .. 65535 */
	struct rate rate; /* in force for charges */
	uint32_t reserved;
	struct resos allocated;	 /* issued for this epoch */
	struct resos balance;	 /* left; >= 0 */
	struct resos spent;	 /* allocated - balance */
	struct resos overdraft;	 /* charged beyond the balance */
	struct resos charged_io; /* this epoch; charged_io + charged_cpu == spent + overdraft */
	struct resos charged_cpu;
	uint64_t rem_io; /* fraction of a milli-Reso carried over, see resos.c */
	uint64_t rem_cpu;
};

#endif
