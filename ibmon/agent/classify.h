/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classify: decide which of a process's rings are send queues, completion queues and
 * receive queues. Pure: no I/O, no clock.
 *
 * A fresh ring does not show its kind: all kinds have the same header, and receive
 * queues have any element size. What is known:
 *
 *  - the kernel's list of objects, by rdma netlink: queue pairs with the shared
 *    receive queue they use, completion queues with their size;
 *  - page offsets: they come from a counter of the device that only grows, so they
 *    give the order of creation. A send queue is created directly before the receive
 *    queue of its queue pair, a shared receive queue before every queue pair that
 *    uses it;
 *  - sizes: elements of a send queue have 256 bytes or more, those of a completion
 *    queue 128, and its object gives the number of slots.
 *
 * A kind has one of three proofs (enum ring_proof). Counting needs no order. Order
 * holds where one thread created all rings. Content needs an entry that was written.
 * A ring gets a kind only when every assignment that fits agrees on it.
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
	PROOF_ORDER,   /* all orders in which the objects fit agree */
	PROOF_COUNT,   /* as many candidates as objects */
	PROOF_CONTENT, /* an entry that fits no other kind */
};

struct class_ring {
	uint64_t pgoff;
	uint64_t bytes; /* of its mapping */
	uint32_t elem;	/* bytes of an element */
	uint32_t slots;
	uint32_t number;       /* QPN or CQN where certain, else 0 */
	enum ring_class kind;  /* on input CLASS_UNKNOWN where not known yet */
	enum ring_proof proof; /* of kind */
};

struct class_qp {
	uint32_t qpn;
	bool shared;   /* uses a shared receive queue instead of its own: */
	uint32_t srqn; /* this one */
};

struct class_cq {
	uint32_t cqn;
	uint32_t slots;
};

/* The objects that own the rings, each list by ascending number: the order of creation. */
struct class_objects {
	const struct class_qp *qp;
	const struct class_cq *cq;
	const uint32_t *srq; /* SRQNs */
	uint32_t qps, cqs, srqs;
	bool one_thread; /* created all: the order is reliable */
};

/*
 * Find kinds for the rings (ascending pgoff) that have none yet. When the objects do
 * not account for all rings, only those with elements under 128 bytes get one: they
 * are receive queues. Returns the number of kinds found.
 */
size_t classify(struct class_ring *ring, size_t n, const struct class_objects *obj);

/* True for the header of a ring: a valid element size, and slots that fill its bytes. */
bool classify_header(uint32_t log2_elem, uint32_t index_mask, uint64_t bytes);

/* The kind of a ring by one written entry of elem bytes; CLASS_UNKNOWN: several fit, or none. */
enum ring_class classify_entry(const uint8_t *entry, uint32_t elem);

#endif
