/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest: one guest's registry, rings, latency and load pages, mapped and kept up to date.
 *
 * Control thread only. The sampler reads the rings, latency and load pages through
 * a guest_set (src/tick/handover.h) that the control thread builds from here; the
 * sampler adopts it at the start of a tick. A ring or page that disappears is first left
 * out of the next set, and unmapped only after the sampler has acknowledged a
 * later tick (guest_reap): never under a reader, but soon, because a mapping keeps
 * a destroyed domain alive.
 */
#ifndef RESEX_IBMON_GUEST_H
#define RESEX_IBMON_GUEST_H

#include "ibmon/registry.h"
#include "ibmon/scan.h"
#include "src/hv/hv.h"

struct guest_mon;

/* Nothing is mapped yet. 0 or -ENOMEM. ops and m outlive the guest_mon. */
int guest_open(struct guest_mon **g, const struct hv_mem_ops *ops, struct hv_mem *m, uint32_t domid,
	       const struct registry_limits *lim);

/* Unmap and free all. No set that the sampler may still read may contain its rings. */
void guest_close(struct guest_mon *g);

/*
 * The guest's node names ref: map its registry page, after withdrawing the pages
 * of an earlier one. NULL only withdraws; the reference already attached changes
 * nothing. Errors as hv_mem_ops.map.
 */
int guest_attach(struct guest_mon *g, const struct guest_ref *ref);

/*
 * Walk the registry if its generation changed; open new rings, release those
 * that are no longer in it. At most one walk per GUEST_WALK_MIN_MS and, per call,
 * at most GUEST_MAPS_MAX map calls (the rest at the next call), whatever the guest
 * does. A ring whose map failed is not tried again until its descriptor (id or
 * frames) changes; one whose memory is at fault comes back (guest_back.c).
 * 1: the set of rings, latency or load pages changed and must be published; 0: no change;
 * -EAGAIN: not now, call again later; -errno: the registry as a whole is at fault
 * (guest_state says why). A registry that stays half-written for GUEST_TORN_MS is at
 * fault, too.
 */
enum { GUEST_WALK_MIN_MS = 2, GUEST_MAPS_MAX = 16, GUEST_TORN_MS = 2000 };
int guest_refresh(struct guest_mon *g, struct mono now);

/* Is a refresh due (cheap; also after -EAGAIN)? */
bool guest_due(const struct guest_mon *g, struct mono now);
/* How long until it is; INT64_MAX: not before the registry changes. */
int64_t guest_wait(const struct guest_mon *g, struct mono now);

/*
 * Check that the mapped frames still belong to the guest (one ring a call, in
 * turn; call about once a second). Rings that moved are released and mapped
 * again. Returns as guest_refresh.
 */
int guest_verify(struct guest_mon *g, struct mono now);

/* Release a ring that the sampler found at fault, until it comes back. */
enum {
	GUEST_RETRY_MIN_MS = 100,
	GUEST_RETRY_MAX_MS = 10000,
	GUEST_FORGED_MS = 300,
	GUEST_FOLLOW_MS = 10000, /* for an agent that does not run */
};
int guest_drop_faulty(struct guest_mon *g, uint32_t ring_id, enum ring_fault why, struct mono now);

/* The newest ring that came back at fault, and is still published. */
struct guest_forged {
	uint32_t id;
	enum ring_fault why;
	uint64_t times; /* since guest_open, of all rings */
	struct mono time;
};
/* False: none since the last call. */
bool guest_forged_next(struct guest_mon *g, struct guest_forged *f);

/* The rings to read now. A pointer stays valid until the guest_reap after its ring left. */
uint32_t guest_rings(const struct guest_mon *g, struct scan_ring *out, uint32_t max);

/* Published send queues that are not read. A change of it is a change for guest_refresh, too. */
uint32_t guest_unreadable(const struct guest_mon *g);

/* The latency pages likewise. */
uint32_t guest_latency_pages(const struct guest_mon *g, struct latency_page **out, uint32_t max);

/* The load page; NULL: none. */
const volatile void *guest_load_page(const struct guest_mon *g);

/*
 * What a set needs besides its rings: the mapped registry page (NULL when not
 * attached) and the generation of the walk that found the rings. The page stays
 * mapped, like a leaving ring, until guest_reap.
 */
void guest_scan_view(const struct guest_mon *g, const volatile void **registry,
		     uint32_t *generation);

/*
 * Sums over the send queues that left: of those reaped (guest_reap adds them
 * before freeing), and of the others as they were shown last.
 */
void guest_gone(const struct guest_mon *g, struct ring_totals *t);

/* Unmap and free the rings that left before the set now acknowledged. */
void guest_reap(struct guest_mon *g);
bool guest_reap_pending(const struct guest_mon *g);

enum { GUEST_FORGED_S = 60 };
struct guest_state {
	bool attached;
	uint32_t generation, agent_pid;
	uint64_t heartbeat;	    /* newest value seen */
	struct mono heartbeat_time; /* when it last changed */
	uint32_t rings, faults;	    /* rings read; rings refused, failed or dropped */
	uint32_t faults_more, latencies;
	uint32_t unreadable; /* published send queues that are not read */
	bool forged;	     /* one came back at fault: now, or GUEST_FORGED_S ago or less */
	uint64_t forged_times;
	uint64_t pages;	      /* mapped for this guest */
	uint64_t walks, maps; /* done since guest_open */
	uint64_t qps_read;    /* queue pairs whose send queue was read, gone ones too */
	uint64_t qps_missed;  /* that came and went uncounted: guest_missed.h */
	uint64_t qps_resumed; /* rings counted on under another id: guest_missed.h */
	uint32_t unpublished; /* that live, and have no room in the guest ABI, as the agent says */
	char fault[128];      /* of the registry as a whole; "" if none */
};
void guest_state(struct guest_mon *g, struct mono now, struct guest_state *st);

/* The i-th ring or refused descriptor, for ring-list. false past the end. */
struct guest_ring_info {
	struct ring_desc desc; /* only id is set for refused descriptors */
	enum ring_fault fault;
	bool active;
};
bool guest_ring_info(const struct guest_mon *g, uint32_t i, struct guest_ring_info *info);
/* Its totals, as the sampler saved them (ring_show). false: not read, or not saved yet. */
bool guest_ring_shown(const struct guest_mon *g, uint32_t i, struct ring_totals *t);

#endif
