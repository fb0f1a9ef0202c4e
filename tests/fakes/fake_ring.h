/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_ring: a send or completion queue written as the rxe provider does.
 *
 * The provider builds entries and counts them (ssn), its kernel half stamps
 * packet numbers when it sends and moves the consumer index when it
 * completes. Each half is a call here, so that a test can sample between any
 * two. The memory is allocated to the byte: a read beyond it is an error
 * under the address sanitizer.
 */
#ifndef RESEX_TESTS_FAKE_RING_H
#define RESEX_TESTS_FAKE_RING_H

#include <stdbool.h>

#include "ibmon/ring/ring.h"

enum fake_type {
	FAKE_RC,
	FAKE_UC,
	FAKE_UD,
};

/* Values of the work request's opcode (rdma/ib_user_verbs.h). */
enum fake_opcode {
	FAKE_WRITE = 0,
	FAKE_WRITE_IMM = 1,
	FAKE_SEND = 2,
	FAKE_SEND_IMM = 3,
	FAKE_READ = 4,
	FAKE_CMP_SWAP = 5,
	FAKE_FETCH_ADD = 6,
	FAKE_LOCAL_INV = 7,
	FAKE_BIND_MW = 8,
	FAKE_SEND_INV = 9,
};

enum fake_status {
	FAKE_OK = 0,
	FAKE_LOCAL_ERROR = 4,
	FAKE_FLUSHED = 5,
	FAKE_REMOTE_ERROR = 10,
};

/* Offsets in a ring, a send entry and a completion entry (rdma/rdma_user_rxe.h). */
enum fake_offset {
	FAKE_LOG2_ELEM = 0,
	FAKE_MASK = 4,
	FAKE_PRODUCER = 128,
	FAKE_CONSUMER = 256,
	FAKE_DATA = 384,
	FAKE_WQE_OPCODE = 12,
	FAKE_WQE_FLAGS = 16,
	FAKE_WQE_UD_QPN = 24,
	FAKE_WQE_STATUS = 144,
	FAKE_WQE_STATE = 148,
	FAKE_WQE_FIRST_PSN = 164,
	FAKE_WQE_LAST_PSN = 168,
	FAKE_WQE_SSN = 176,
	FAKE_WQE_LENGTH = 184,
	FAKE_WQE_RESID = 188,
	FAKE_WQE_NUM_SGE = 196,
	FAKE_CQE_STATUS = 8,
	FAKE_CQE_OPCODE = 12,
	FAKE_CQE_BYTES = 20,
	FAKE_CQE_QPN = 28,
};

/* What really happened, by the charging rule of flow.h. */
struct fake_truth {
	uint64_t wrs, errors, mtus_sent, mtus_recv, bytes_sent, bytes_recv;
	uint64_t ops[OP_KINDS];
};

struct fake_ring {
	struct ring_desc desc;
	uint8_t *mem;
	size_t len;
	enum fake_type type;
	uint32_t mtu; /* the true one; desc.path_mtu may be 0 */
	uint32_t mask, ssn, psn;
	uint64_t posted, sent, done; /* entries, never masked */
	bool failed;		     /* all that follows is flushed, until a reset */
	struct fake_entry {
		uint32_t opcode, bytes;
	} * entry; /* by posted, the fake's own notes */
	struct fake_truth truth;
	uint64_t largest; /* message so far */
};

/* RC of elem_size 256; change the fields of r->desc before ring_open as the case needs. */
void fake_sq_open(struct fake_ring *r, uint32_t slots, enum fake_type type, uint32_t mtu);
void fake_cq_open(struct fake_ring *r, uint32_t slots);
void fake_close(struct fake_ring *r);

uint32_t fake_room(const struct fake_ring *r);
void fake_post(struct fake_ring *r, uint32_t opcode, uint32_t bytes);	/* needs room */
void fake_refuse(struct fake_ring *r, uint32_t opcode, uint32_t bytes); /* built, not posted */
void fake_send(struct fake_ring *r);					/* the oldest unsent */
void fake_complete(struct fake_ring *r, uint32_t status);		/* the oldest */
void fake_do(struct fake_ring *r, uint32_t opcode, uint32_t bytes);	/* all three */
void fake_reset(struct fake_ring *r, uint32_t psn); /* waiting entries are zeroed and passed */

/* A completion entry; polled: the consumer index has passed it, too. */
void fake_cqe(struct fake_ring *r, uint32_t qpn, uint32_t opcode, uint32_t bytes, uint32_t status);
void fake_poll(struct fake_ring *r, uint32_t n);

void fake_put(struct fake_ring *r, size_t at, uint32_t v); /* forge a field of the header */
uint32_t fake_get(const struct fake_ring *r, size_t at);
/* The same for a field of the entry in a slot. */
void fake_put_entry(struct fake_ring *r, uint64_t slot, size_t at, uint32_t v);

#endif
