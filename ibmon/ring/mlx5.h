/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx5: the memory layout of queues of ConnectX-4 and later, as libmlx5 writes them.
 * Own definitions, because ibmon is built where RDMA headers are missing; a test
 * that is built with verbs compares them with libmlx5's.
 *
 * All fields are big-endian. A send queue is an array of blocks of 64 bytes. A work
 * request is a control segment and others of 16 bytes each, in as many blocks as
 * they need; it may begin in the last blocks and go on in the first. Indices count
 * blocks, modulo 2^16.
 *
 * A doorbell record is two words in memory of the process. It has the only counters
 * that run freely: blocks posted, and completions polled.
 */
#ifndef RESEX_IBMON_RING_MLX5_H
#define RESEX_IBMON_RING_MLX5_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>

#include "ibmon/ring/ops.h"

enum {
	RING_MLX5_BLOCK = 64,
	RING_MLX5_CQE = 64, /* in an entry of 128 bytes, its second half */
	RING_MLX5_SEGMENT = 16,
	RING_MLX5_WQE_BLOCKS_MAX = 16,	 /* of a work request: 63 segments */
	RING_MLX5_SQ_BLOCKS_MAX = 32768, /* more, and an index would be ambiguous */
	RING_MLX5_DB_BYTES = 8,
};

/* Words of a doorbell record. */
enum {
	RING_MLX5_DB_POLLED = 0, /* completion queue: entries polled, modulo 2^24 */
	RING_MLX5_DB_POSTED = 1, /* queue pair: blocks posted, modulo 2^16 */
};

enum ring_mlx5_opcode {
	RING_MLX5_NOP = 0x00,
	RING_MLX5_SEND_INVAL = 0x01,
	RING_MLX5_WRITE = 0x08,
	RING_MLX5_WRITE_IMM = 0x09,
	RING_MLX5_SEND = 0x0a,
	RING_MLX5_SEND_IMM = 0x0b,
	RING_MLX5_TSO = 0x0e,
	RING_MLX5_READ = 0x10,
	RING_MLX5_CMP_SWAP = 0x11,
	RING_MLX5_FETCH_ADD = 0x12,
	RING_MLX5_CMP_SWAP_MASKED = 0x14,
	RING_MLX5_FETCH_ADD_MASKED = 0x15,
	RING_MLX5_LOCAL_INVAL = 0x1b,
	RING_MLX5_SET_PSV = 0x20,
	RING_MLX5_UMR = 0x25,
	RING_MLX5_MMO = 0x2f,
};

/* Offsets in a work request. */
enum {
	RING_MLX5_WQE_OPCODE = 0, /* modifier 8 bits, index of the first block 16, opcode 8 */
	RING_MLX5_WQE_QPN = 4,	  /* number of the queue pair 24 bits, segments 8 */
	RING_MLX5_DATA_BYTES = 0, /* of a data segment; with bit 31: the data follow */
	RING_MLX5_AV_EXT = 8,	  /* of a datagram segment; with bit 31: it has 48 bytes */
};

#define RING_MLX5_INLINE     0x80000000u
#define RING_MLX5_AV_IS_LONG 0x80000000u

/* The last 8 bytes of a completion; of an entry of 128 bytes, too. */
enum { RING_MLX5_CQE_TAIL = 8 };

enum ring_mlx5_cqe_opcode {
	RING_MLX5_CQE_REQ = 0,
	RING_MLX5_CQE_RESP_WRITE_IMM = 1,
	RING_MLX5_CQE_RESP_SEND_INV = 4, /* 1 to 4: of receives */
	RING_MLX5_CQE_RESIZED = 5,
	RING_MLX5_CQE_NO_PACKET = 6,
	RING_MLX5_CQE_SIG_ERR = 12,
	RING_MLX5_CQE_REQ_ERR = 13,
	RING_MLX5_CQE_RESP_ERR = 14,
	RING_MLX5_CQE_INVALID = 15,
};

enum { RING_MLX5_CQE_COMPRESSED = 3 }; /* format, bits 3 and 2 of the last byte */

/* The tail of a completion, taken apart. */
struct ring_mlx5_tail {
	uint32_t qpn;
	uint16_t counter; /* index of the first block of the request */
	uint8_t opcode;	  /* enum ring_mlx5_cqe_opcode */
	uint8_t format;
	uint8_t owner;
};

static inline struct ring_mlx5_tail ring_mlx5_tail(uint64_t raw)
{
	uint64_t v = be64toh(raw);

	return (struct ring_mlx5_tail){
		.qpn = (uint32_t)(v >> 32) & 0xffffff,
		.counter = (uint16_t)(v >> 16),
		.opcode = (uint8_t)(v >> 4 & 0xf),
		.format = (uint8_t)(v >> 2 & 3),
		.owner = v & 1,
	};
}

static inline uint32_t ring_mlx5_read32(const volatile void *at)
{
	return be32toh(*(const volatile uint32_t *)at);
}

#endif
