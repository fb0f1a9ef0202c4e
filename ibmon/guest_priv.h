/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_priv: private to guest*.c. For callers: guest.h. */
#ifndef RESEX_IBMON_GUEST_PRIV_H
#define RESEX_IBMON_GUEST_PRIV_H

#include "ibmon/guest.h"
#include "ibmon/guest_missed.h"

enum {
	GUEST_PAGES_MAX = GUEST_DIRECTORIES_MAX + GUEST_FRAME_PAGES_MAX,
	GUEST_WALK_BURST = 400, /* walks at once */
	GUEST_WALK_RATE = 200,	/* and then each second */
	GUEST_WALK_PAGES = 8,	/* so many pages of the agent cost as much as a walk */
	GUEST_MAP_BURST = 512,	/* map calls at once */
	GUEST_MAP_RATE = 128,	/* and then each second */
	GUEST_MAP_FRAMES = 24,	/* so many frames of a ring cost as much as a call */
	GUEST_BACKOFF_MAX_MS = 1000,
	GUEST_KEPT_S = 10, /* a ring that left is kept in mind for so long */
};

/* A token bucket: it bounds the work that a guest can cause. */
struct budget {
	int64_t tokens_ns; /* worth of time; one token is NS_PER_S / rate */
	struct mono filled;
	uint32_t rate, burst;
};

/* A page of the agent that only walks read: directory or frame list. */
struct agent_page {
	struct guest_ref ref;
	const volatile void *addr;
	bool used; /* by the current walk */
};

/* An accepted descriptor: mapped and read, or kept with its fault. */
struct ring_slot {
	struct ring_desc desc;
	struct ring *ring; /* NULL when at fault */
	const volatile void *addr;
	enum ring_fault fault;
	bool old;		/* found by the first walk after attaching */
	bool seen;		/* in the registry, by the current walk */
	struct ring_slot *next; /* in guest_mon.leaving */
	struct mono due;	/* at fault: when to map it again; 0: never */
	struct mono since;	/* first at fault, and never read for long since; 0: never was */
	uint64_t beat;		/* the agent's heartbeat then */
	uint32_t frames;	/* of frame[]: the ring's, then that of its doorbell record */
	struct mono opened;	/* not at fault: since when */
	int64_t wait_ns;	/* back-off of due */
	struct mono left;	/* kept: since when */
	uint64_t frame[];
};

/* A send queue that was counted and is kept no longer. created 0: none. */
struct forgotten {
	uint64_t created;
	uint32_t number, pid;
};

/* A mapped latency page; its state outlives the sets that contain it. */
struct latency_slot {
	struct guest_ref ref;
	struct latency_page page;
	bool seen;		   /* in the registry, by the current walk */
	struct latency_slot *next; /* in guest_mon.leaving_latencies */
};

/* A mapping the sampler may still read. */
struct leaving_page {
	const volatile void *addr;
	struct leaving_page *next;
};

struct guest_mon {
	const struct hv_mem_ops *ops;
	struct hv_mem *m;
	uint32_t domid;
	struct registry_limits lim;

	struct guest_ref ref;
	const volatile void *registry; /* NULL: not attached */
	uint32_t generation;	       /* of the last walk that succeeded */
	bool walked;		       /* all was mapped once since attaching */
	bool more;		       /* walk again although the generation is unchanged */
	bool rest_waits;	       /* likewise, for releases and completion queues */
	struct mono next_walk;
	int64_t backoff_ns;
	bool torn; /* walks find it half-written */
	struct mono torn_since;
	struct budget walk_budget, map_budget;
	uint32_t calls; /* map calls of the current guest_refresh */

	struct registry *reg;
	struct agent_page page[GUEST_PAGES_MAX];
	struct ring_slot *ring[GUEST_RINGS_MAX];
	uint32_t rings;
	struct ring_slot *leaving;
	struct leaving_page *leaving_pages;
	struct ring_slot *kept[GUEST_RINGS_MAX]; /* send queues that left, the oldest first */
	uint32_t kepts, kept_frames;
	struct forgotten forgotten[GUEST_RINGS_MAX]; /* the newest */
	uint32_t forgotten_next;
	struct ring_totals gone;
	struct latency_slot *latency[GUEST_LATENCIES_MAX];
	uint32_t latencies;
	struct latency_slot *leaving_latencies;
	const volatile void *load; /* the load page; NULL: none */
	struct guest_ref load_ref; /* as the registry named it last */

	struct missed missed;

	struct guest_forged forged;
	bool forged_told;     /* by guest_forged_next */
	struct mono back_due; /* of the first ring that comes back; 0: none does */
	uint32_t verify_next;
	struct mono now; /* when it was last looked at */
	uint32_t moved;	 /* id of the ring that guest_verify released last; 0: none */
	uint64_t pages, walks, maps;
	uint64_t heartbeat;
	struct mono heartbeat_time;
	char fault[128];
};

/* guest_map.c: mapping within the guest's budgets. */
void budget_init(struct budget *b, uint32_t rate, uint32_t burst);
bool budget_has(const struct budget *b, struct mono now, uint32_t tokens);
bool budget_take(struct budget *b, struct mono now, uint32_t tokens);
/* Take them even if that leaves less than none. */
void budget_spend(struct budget *b, struct mono now, uint32_t tokens);
/* Nanoseconds until it has so many. */
int64_t budget_wait(const struct budget *b, struct mono now, uint32_t tokens);
/* The tokens of map_budget for mapping or checking a ring of so many frames. */
uint32_t map_tokens(uint32_t frames);
/* Map a page by reference within the budget. -EAGAIN: not now. */
int map_ref(struct guest_mon *g, const struct guest_ref *ref, struct mono now,
	    const volatile void **addr);
void unmap_page(struct guest_mon *g, const volatile void *addr);
/* Map and open one ring. 0, -EAGAIN (budget), or 1: a slot with its fault. -ENOMEM. */
int ring_slot_new(struct guest_mon *g, const struct ring_desc *d, struct mono now,
		  struct ring_slot **out);
void ring_slot_unmap(struct guest_mon *g, struct ring_slot *s);
void ring_slot_free(struct guest_mon *g, struct ring_slot *s);

/* guest_kept.c: is d over the memory of s, in the same form? The kind, too. */
bool same_memory(const struct guest_mon *g, const struct ring_slot *s, const struct ring_desc *d);
/* s left and is not read any more. It is kept, or freed. */
void kept_add(struct guest_mon *g, struct ring_slot *s);
/*
 * s was mapped anew. If it is a ring that left lately, under any id, go on counting from there: its
 * history was counted.
 */
void kept_resume(struct guest_mon *g, struct ring_slot *s, struct mono now);
/* A ring of this descriptor waits to be reaped: it is mapped again only after that. */
bool kept_soon(const struct guest_mon *g, const struct ring_desc *d);
/* All are forgotten, the totals are in g->gone. */
void kept_close(struct guest_mon *g);

/* guest_back.c: s was found at fault: is it to come back, and is it forged? */
void back_later(struct guest_mon *g, struct ring_slot *s, struct mono now);
/* The i-th ring is named by d and due: map it again. 1: it is read; 0: not; -errno: not now. */
int back_now(struct guest_mon *g, uint32_t i, const struct ring_desc *d, struct mono now);
bool back_is_due(const struct ring_slot *s, struct mono now);
/* It was at fault for so long that an honest agent would have withdrawn it. */
bool back_is_forged(const struct guest_mon *g, const struct ring_slot *s, struct mono now);
/* Find when the next ring comes back. */
void back_plan(struct guest_mon *g);

/* guest_latency.c: map the pages that the registry names, release the others. True: changed. */
bool latencies_reconcile(struct guest_mon *g, struct mono now, bool *later);
void latencies_leave(struct guest_mon *g);
void latencies_reap(struct guest_mon *g);

/* guest_map.c: a page that the sampler reads: guest_reap unmaps it. *page is NULL then. -ENOMEM. */
int page_leave(struct guest_mon *g, const volatile void **page);

/* guest_load.c: as with latency pages; *later is only set, never cleared. */
bool load_reconcile(struct guest_mon *g, struct mono now, bool *later);
int load_leave(struct guest_mon *g);

#endif
