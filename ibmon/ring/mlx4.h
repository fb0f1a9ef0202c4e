/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx4: the memory layout of queues of ConnectX-2 and ConnectX-3, as libmlx4 writes them.
 * Own definitions, because ibmon is built where RDMA headers are missing; a test that is built
 * with verbs compares them with libmlx4's.
 *
 * All fields are big-endian. A send queue is an array of slots of one size, a power of two of at
 * least 64 bytes. A work request has a slot of its own: a control segment and others of 16 bytes
 * each. Indices count requests, modulo 2^16; a slot is the index modulo the slots.
 *
 * A send queue has no doorbell record: the library writes the number of the queue pair into a
 * register. The owner bit of a slot, which changes with each lap, says that it was posted.
 */
#ifndef RESEX_IBMON_RING_MLX4_H
#define RESEX_IBMON_RING_MLX4_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>

#include "ibmon/ring/ops.h"

enum {
	RING_MLX4_SEGMENT = 16,
	RING_MLX4_CHUNK = 64,		/* data that follow do not cross such a boundary */
	RING_MLX4_SQ_SLOTS_MAX = 32768, /* more, and an index would be ambiguous */
	RING_MLX4_CQE = 32,		/* in an entry of 64 bytes, its second half */
	RING_MLX4_DB_BYTES = 8,
};

enum { RING_MLX4_DB_POLLED = 0 }; /* of a completion queue: entries polled, modulo 2^24 */

enum ring_mlx4_opcode {
	RING_MLX4_NOP = 0x00,
	RING_MLX4_SEND_INVAL = 0x01,
	RING_MLX4_WRITE = 0x08,
	RING_MLX4_WRITE_IMM = 0x09,
	RING_MLX4_SEND = 0x0a,
	RING_MLX4_SEND_IMM = 0x0b,
	RING_MLX4_LSO = 0x0e,
	RING_MLX4_READ = 0x10,
	RING_MLX4_CMP_SWAP = 0x11,
	RING_MLX4_FETCH_ADD = 0x12,
	RING_MLX4_CMP_SWAP_MASKED = 0x14,
	RING_MLX4_FETCH_ADD_MASKED = 0x15,
	RING_MLX4_BIND_MW = 0x18,
	RING_MLX4_FMR = 0x19,
	RING_MLX4_LOCAL_INVAL = 0x1b,
};

/* Offsets in a work request. */
enum {
	RING_MLX4_WQE_HEAD = 0,	  /* owner 1 bit, 7 bits 0, index 16 or 0, 3 bits 0, opcode 5 */
	RING_MLX4_WQE_SIZE = 4,	  /* number of the queue pair or 0: 24 bits; fence; segments 6 */
	RING_MLX4_DATA_BYTES = 0, /* of a data segment; with bit 31: the data follow */
	RING_MLX4_AV_BYTES = 48,  /* of a datagram's address */
};

#define RING_MLX4_OWNER	      0x80000000u
#define RING_MLX4_INDEX_SHIFT 8
#define RING_MLX4_INLINE      0x80000000u
#define RING_MLX4_STAMP	      0xffffffffu /* the library's, over each chunk but the first */

/* Offsets in a completion. */
enum {
	RING_MLX4_CQE_QPN = 0, /* in the low 24 bits */
	RING_MLX4_CQE_TAIL = 24,
};

/* The last byte of a completion. */
enum {
	RING_MLX4_CQE_OWNER = 0x80,
	RING_MLX4_CQE_IS_SEND = 0x40,
	RING_MLX4_CQE_OPCODE = 0x1f,
};

enum ring_mlx4_cqe_opcode {
	RING_MLX4_CQE_RECV_SEND_INV = 0x03, /* 0 to 3: of receives */
	RING_MLX4_CQE_RESIZED = 0x16,
	RING_MLX4_CQE_ERROR = 0x1e,
};

static inline uint32_t ring_mlx4_read32(const volatile void *at)
{
	return be32toh(*(const volatile uint32_t *)at);
}

#endif
