/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * registry: copy and check what a guest's agent publishes.
 *
 * Hostile input: nothing in the pages is trusted, and all of it is fuzzed. The
 * layout is in include/resex/guest_abi.h. Pure except for the pages it is given.
 */
#ifndef RESEX_IBMON_REGISTRY_H
#define RESEX_IBMON_REGISTRY_H

#include "ibmon/ring/ring.h"
#include "resex/guest_abi.h"
#include "src/util/seqread.h"

/* A refused descriptor, kept for ring-list. */
struct registry_fault {
	uint32_t id;
	enum ring_fault fault;
};

struct registry {
	uint32_t generation;
	uint32_t agent_pid;
	uint64_t heartbeat;
	uint64_t sqs_published; /* 0: an agent that does not count them */
	uint32_t rings;
	uint32_t faults; /* entries of fault[]; further ones are only counted */
	uint32_t faults_more;
	uint32_t latencies;
	struct guest_ref latency[GUEST_LATENCIES_MAX];
	struct guest_ref load; /* type GUEST_REF_NONE: none */
	struct ring_desc ring[GUEST_RINGS_MAX];
	struct registry_fault fault[GUEST_RINGS_MAX];
	uint32_t frames; /* entries of frame[] in use */
	uint64_t frame[GUEST_FRAME_PAGES_MAX * GUEST_FRAMES_PER_PAGE];
};

struct registry_limits {
	uint32_t rings; /* per guest, <= GUEST_RINGS_MAX */
	uint32_t pages; /* frames over all rings of a guest */
	/* Whose rings are accepted beside those that are built in; NULL: none. */
	const struct ring_layouts *layouts;
};

/* Parse the xenstore node. 0; -EBADMSG: not of the form; -EPROTONOSUPPORT: version. */
int registry_node_parse(const char *value, struct guest_ref *ref);

/*
 * Get a readable page for a reference. 0 and an address that stays valid
 * until the walk returns, or -errno: a fault of this page, not of the registry.
 */
typedef int registry_page_fn(void *ctx, const struct guest_ref *ref, const volatile void **page);

/*
 * Copy, check and decode into out. The caller gives the registry page; other
 * pages come from get. Ring descriptors out of their ranges become faults, the
 * others are accepted; of duplicate ids the first is accepted.
 * 0; -EAGAIN: being written, or changed meanwhile, try later; -EBADMSG: not a
 * registry (magic, counts); -EPROTONOSUPPORT: version.
 */
int registry_walk(const volatile void *page, const struct registry_limits *lim,
		  registry_page_fn *get, void *ctx, struct registry *out);

static inline uint32_t registry_generation(const volatile void *page)
{
	const volatile uint8_t *p = (const volatile uint8_t *)page;

	return guest_read32(p + offsetof(struct guest_registry, generation));
}

/* Each reads one cache line: is the generation different from gen? The heartbeat. */
static inline bool registry_changed(const volatile void *page, uint32_t gen)
{
	return registry_generation(page) != gen;
}
uint64_t registry_heartbeat(const volatile void *page);

/* As in struct guest_registry. */
struct registry_qps {
	uint64_t unseen;
	uint32_t unpublished;
};

/*
 * It reads one cache line, too. 0; -EBADMSG: the page holds no registry: its agent was killed, for
 * example, and the guest uses the page for something else.
 */
int registry_qps(const volatile void *page, struct registry_qps *out);

#endif
