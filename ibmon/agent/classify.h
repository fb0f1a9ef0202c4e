/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classify: which of a process's rings are send queues, which completion
 * queues, which only receive. No I/O; time plays no part.
 *
 * Nothing in a fresh ring tells what it is: all kinds have the same header,
 * and receive queues come in every element size. What is known:
 *
 *  - the kernel's list of objects (queue pairs with the shared receive queue
 *    they use, completion queues with their size), by rdma netlink;
 *  - page offsets: a counter of the device that only grows. So rings stand
 *    in the order in which they were made; a send queue comes directly
 *    before the receive queue of its own queue pair; a shared receive queue
 *    before every queue pair that uses it;
 *  - sizes: elements of a send queue have 256 bytes or more, those of a
 *    completion queue 128, with as many slots as its object says.
 *
 * Three ways to a kind, and each says how it got there (enum ring_proof):
 * counting needs no order at all; order holds where one thread made all
 * rings; content looks at entries that were really written. A ring is given
 * a kind only when every assignment that fits agrees on it.
 */
#ifndef RESEX_AGENT_CLASSIFY_H
#define RESEX_AGENT_CLASSIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ring_class {
	CLASS_UNKNOWN = 0,
	CLASS_SQ = 1,
	CLASS_CQ = 2,
	CLASS_RECV = 4, /* receive queue, shared or not: never published */
};

enum ring_proof {
	PROOF_NONE = 0,
	PROOF_ORDER,   /* the only order in which the objects fit */
	PROOF_COUNT,   /* as many candidates as objects */
	PROOF_CONTENT, /* an entry that can be nothing else */
};

struct class_ring {
	uint64_t pgoff;
	uint64_t bytes; /* of its mapping */
	uint32_t elem;	/* bytes of an element */
	uint32_t slots;
	uint32_t number;       /* QPN or CQN where sure, else 0 */
	enum ring_class kind;  /* CLASS_UNKNOWN on input where not known yet */
	enum ring_proof proof; /* of kind */
};

struct class_qp {
	uint32_t qpn;
	bool shared;   /* has no receive queue of its own, but uses */
	uint32_t srqn; /* this shared one */
};

struct class_cq {
	uint32_t cqn;
	uint32_t slots;
};

/* The objects behind the rings; each list in ascending number, which is the order of creation. */
struct class_objects {
	const struct class_qp *qp;
	const struct class_cq *cq;
	const uint32_t *srq; /* SRQNs */
	uint32_t qps, cqs, srqs;
	bool one_thread; /* order can be relied upon */
};

/*
 * Find kinds for rings (ascending pgoff) that have none yet. A list that
 * does not account for all rings teaches nothing but what elements of 64
 * bytes say by themselves. Returns how many were found.
 */
size_t classify(struct class_ring *ring, size_t n, const struct class_objects *obj);

/* True when elem is that of a ring, and slots and bytes agree with it. */
bool classify_header(uint32_t log2_elem, uint32_t index_mask, uint64_t bytes);

/*
 * What one written entry of elem bytes says: a kind, or CLASS_UNKNOWN where
 * it could be more than one.
 */
enum ring_class classify_entry(const uint8_t *entry, uint32_t elem);

#endif
