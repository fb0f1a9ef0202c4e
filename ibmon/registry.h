/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registry: copy and check what a guest's agent publishes.
 *
 * Pure but for the pages it is handed: fit for fuzzing. Hostile input; see
 * include/resex/guest_abi.h for the layout.
 */
#ifndef RESEX_IBMON_REGISTRY_H
#define RESEX_IBMON_REGISTRY_H

#include "ibmon/ring/ring.h"
#include "resex/guest_abi.h"

/* A descriptor that was refused, kept so that ring-list can show it. */
struct registry_fault {
	uint32_t id;
	enum ring_fault fault;
};

struct registry {
	uint32_t generation;
	uint32_t agent_pid;
	uint64_t heartbeat;
	uint32_t rings;
	uint32_t faults; /* entries of fault[]; further ones are only counted */
	uint32_t faults_more;
	uint32_t latencies;
	struct guest_ref latency[GUEST_LATENCIES_MAX];
	struct ring_desc ring[GUEST_RINGS_MAX];
	struct registry_fault fault[GUEST_RINGS_MAX];
	uint32_t frames; /* entries of frame[] in use */
	uint64_t frame[GUEST_FRAME_PAGES_MAX * GUEST_FRAMES_PER_PAGE];
};

struct registry_limits {
	uint32_t rings; /* per guest, <= GUEST_RINGS_MAX */
	uint32_t pages; /* frames over all rings of a guest */
};

/* Parse the xenstore node. 0; -EBADMSG: not of the form; -EPROTONOSUPPORT: version. */
int registry_node_parse(const char *value, struct guest_ref *ref);

/*
 * Get a readable page for a reference. 0 and an address that stays valid
 * until the walk returns, or -errno (the page is then a fault of its own).
 */
typedef int registry_page_fn(void *ctx, const struct guest_ref *ref, const volatile void **page);

/*
 * Copy, check and decode into out. The registry page itself is given; other
 * pages come from get. Ring descriptors out of their ranges become faults,
 * the others are taken. Duplicate ids: the first is taken.
 * 0; -EAGAIN: being written or changed meanwhile, try later; -EBADMSG: not a
 * registry (magic, counts); -EPROTONOSUPPORT: version.
 */
int registry_walk(const volatile void *page, const struct registry_limits *lim,
		  registry_page_fn *get, void *ctx, struct registry *out);

/* One cache line: has the generation moved away from gen, or the heartbeat from *beat? */
bool registry_changed(const volatile void *page, uint32_t gen);
uint64_t registry_heartbeat(const volatile void *page);

#endif
