/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rxe: the memory layout of soft-RoCE's rings (rdma_rxe, Linux 4.8 to at least 6.1).
 * Own definitions, because ibmon is built where RDMA headers are missing; a test
 * that is built with verbs compares them with the kernel's.
 *
 * All fields are in the host's order. Both indices are always masked; the
 * free-running count of a send queue is ssn, from 0, kept in each entry.
 */
#ifndef RESEX_IBMON_RING_RXE_H
#define RESEX_IBMON_RING_RXE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "ibmon/ring/ops.h"

/* Three cache lines, so that producer and consumer do not share one. */
struct ring_rxe_header {
	uint32_t log2_elem_size;
	uint32_t index_mask; /* slots - 1 */
	uint32_t pad0[30];
	uint32_t producer; /* next slot to be filled */
	uint32_t pad1[31];
	uint32_t consumer; /* send queue: first slot that is not completed */
	uint32_t pad2[31];
};

enum ring_rxe_opcode {
	RING_RXE_WRITE = 0,
	RING_RXE_WRITE_IMM = 1,
	RING_RXE_SEND = 2,
	RING_RXE_SEND_IMM = 3,
	RING_RXE_READ = 4,
	RING_RXE_CMP_SWAP = 5,
	RING_RXE_FETCH_ADD = 6,
	RING_RXE_LOCAL_INV = 7,
	RING_RXE_BIND_MW = 8,
	RING_RXE_SEND_INV = 9,
	RING_RXE_OPCODES,
};

enum {
	RING_RXE_FLUSHED = 5,
	RING_RXE_STATE_ERROR = 4
};			      /* status; state of an entry that failed by itself */
enum { RING_RXE_INLINE = 8 }; /* send_flags: the entry itself contains the data */

enum {
	RING_RXE_SGE_BYTES = 16,
	RING_RXE_PSN_MASK = 0xffffff,
	RING_RXE_SQ_ELEM_MIN = 256,
	RING_RXE_CQ_ELEM_MIN = 64,
};

/* One work request; scatter list or inline data follow. */
struct ring_rxe_wqe {
	uint64_t wr_id;
	uint32_t reserved;
	uint32_t opcode; /* enum ring_rxe_opcode */
	uint32_t send_flags;
	uint32_t imm;
	uint32_t ud_remote_qpn; /* of a union: 0 in SENDs of connected queue pairs */
	uint32_t wr_rest[29];
	uint32_t status; /* 0, or how it failed; valid when completed */
	uint32_t state;	 /* 0 until the kernel processes it */
	uint64_t iova;
	uint32_t mask;
	uint32_t first_psn; /* valid once sent; last_psn means nothing on UD */
	uint32_t last_psn;
	uint32_t ack_length;
	uint32_t ssn; /* entries posted before this one; written after the fields above */
	uint32_t has_rd_atomic;
	uint32_t length; /* bytes of the whole message */
	uint32_t resid;
	uint32_t cur_sge;
	uint32_t num_sge;
	uint32_t sge_offset;
	uint32_t reserved2;
};

/* A completion, as written for queue pairs of user programs. */
struct ring_rxe_cqe {
	uint64_t wr_id;
	uint32_t status;
	uint32_t opcode; /* 0 SEND ... 9; from 128: receives */
	uint32_t vendor_err;
	uint32_t byte_len;
	uint32_t ex;
	uint32_t qp_num;
	uint32_t rest[4];
};

static inline const volatile struct ring_rxe_header *ring_rxe_header(const struct ring_mem *m)
{
	return (const volatile struct ring_rxe_header *)m->base;
}

static_assert(offsetof(struct ring_rxe_header, index_mask) == 4, "rxe");
static_assert(offsetof(struct ring_rxe_header, producer) == 0x80, "rxe");
static_assert(offsetof(struct ring_rxe_header, consumer) == 0x100, "rxe");
static_assert(sizeof(struct ring_rxe_header) == 0x180, "rxe");
static_assert(offsetof(struct ring_rxe_wqe, opcode) == 12, "rxe");
static_assert(offsetof(struct ring_rxe_wqe, send_flags) == 16, "rxe");
static_assert(offsetof(struct ring_rxe_wqe, ud_remote_qpn) == 24, "rxe");
static_assert(offsetof(struct ring_rxe_wqe, status) == 144, "rxe");
static_assert(offsetof(struct ring_rxe_wqe, state) == 148, "rxe");
static_assert(offsetof(struct ring_rxe_wqe, first_psn) == 164, "rxe");
static_assert(offsetof(struct ring_rxe_wqe, last_psn) == 168, "rxe");
static_assert(offsetof(struct ring_rxe_wqe, ssn) == 176, "rxe");
static_assert(offsetof(struct ring_rxe_wqe, length) == 184, "rxe");
static_assert(offsetof(struct ring_rxe_wqe, num_sge) == 196, "rxe");
static_assert(sizeof(struct ring_rxe_wqe) == 208, "rxe");
static_assert(offsetof(struct ring_rxe_cqe, status) == 8, "rxe");
static_assert(offsetof(struct ring_rxe_cqe, opcode) == 12, "rxe");
static_assert(offsetof(struct ring_rxe_cqe, byte_len) == 20, "rxe");
static_assert(offsetof(struct ring_rxe_cqe, qp_num) == 28, "rxe");
static_assert(sizeof(struct ring_rxe_cqe) == 48, "rxe");

/* As ring_open, for a descriptor whose elements have at least elem_min bytes. */
int ring_rxe_open(const struct ring_desc *d, const struct ring_mem *m, uint32_t elem_min);

/* Is the header still that of the descriptor? To be called after the indices were read. */
bool ring_rxe_header_same(const struct ring_desc *d, const struct ring_mem *m);

#endif
