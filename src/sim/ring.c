// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: the bytes of a send queue, as soft-RoCE (rdma_rxe) leaves them.
/*
 * A header of 384 bytes (log2 of the element size, index mask, producer and
 * consumer index on cache lines of their own), then slots of 256 bytes. The
 * provider fills a slot and moves the producer index; the requester writes
 * packet sequence numbers and state when it takes a message up; completion
 * is the consumer index passing the slot. Both indices are masked. A slot may
 * lie across two frames, but none of its fields does.
 */
#include "src/sim/model.h"

enum {
	/* struct rxe_queue_buf of the kernel (include/uapi/rdma/rdma_user_rxe.h). */
	RING_LOG2_SIZE = 0x00,
	RING_MASK = 0x04,
	RING_PRODUCER = 0x80,
	RING_CONSUMER = 0x100,
	RING_ELEMENTS = 0x180,

	/* struct rxe_send_wqe of the same header; its slot has room for the scatter list. */
	WQE_LOG2_SIZE = 8,
	WQE_WR_ID = 0,
	WQE_OPCODE = 12,
	WQE_FLAGS = 16,
	WQE_REMOTE_ADDR = 24,
	WQE_RKEY = 32,
	WQE_STATUS = 144,
	WQE_STATE = 148,
	WQE_IOVA = 152,
	WQE_FIRST_PSN = 164,
	WQE_LAST_PSN = 168,
	WQE_SSN = 176,
	WQE_LENGTH = 184,
	WQE_RESID = 188,
	WQE_NUM_SGE = 196,
	WQE_SGE = 208,

	/* IBV_SEND_SIGNALED of libibverbs, and enum wqe_state of the kernel's rxe. */
	SEND_SIGNALED = 2,
	STATE_POSTED = 0,
	STATE_PROCESSING = 1,
	STATE_PENDING = 2,
	PSN_MASK = 0xffffff,
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "rings and pages are little-endian");

/* Applications ask for more than they keep outstanding (perftest: 128). */
uint32_t sim_ring_slots(uint32_t depth)
{
	uint32_t slots = 64;

	while (slots < depth + 1) /* one stays empty: full is not empty */
		slots *= 2;
	return slots;
}

uint32_t sim_ring_frames(uint32_t slots)
{
	uint32_t bytes = RING_ELEMENTS + (slots << WQE_LOG2_SIZE);

	return (bytes + GUEST_PAGE - 1) / GUEST_PAGE;
}

static uint8_t *byte_at(const struct sim_ring *r, uint32_t off)
{
	return (uint8_t *)sim_mem_page(r->mem, r->frame[off / GUEST_PAGE]) + off % GUEST_PAGE;
}

/* Release, so that a reader which sees an index also sees the slots before it. */
static void put32(const struct sim_ring *r, uint32_t off, uint32_t v)
{
	__atomic_store_n((uint32_t *)(void *)byte_at(r, off), v, __ATOMIC_RELEASE);
}

static void put64(const struct sim_ring *r, uint32_t off, uint64_t v)
{
	__atomic_store_n((uint64_t *)(void *)byte_at(r, off), v, __ATOMIC_RELEASE);
}

static uint32_t slot_of(const struct sim_ring *r, uint64_t n)
{
	return (uint32_t)(n & (r->slots - 1));
}

static uint32_t wqe_offset(const struct sim_ring *r, uint64_t n)
{
	return RING_ELEMENTS + (slot_of(r, n) << WQE_LOG2_SIZE);
}

void sim_ring_init(struct sim_ring *r)
{
	put32(r, RING_LOG2_SIZE, WQE_LOG2_SIZE);
	put32(r, RING_MASK, r->slots - 1);
	put32(r, RING_PRODUCER, 0);
	put32(r, RING_CONSUMER, 0);
}

void sim_ring_post(struct sim_ring *r, uint64_t n, const struct sim_ring_wr *wr)
{
	bool remote = wr->opcode != SIM_RDMA_SEND;
	uint32_t e = wqe_offset(r, n);

	put64(r, e + WQE_WR_ID, n);
	put32(r, e + WQE_OPCODE, wr->opcode);
	put32(r, e + WQE_FLAGS, SEND_SIGNALED);
	put64(r, e + WQE_REMOTE_ADDR, remote ? 0x7f0000000000 : 0);
	put32(r, e + WQE_RKEY, remote ? 0x1234 : 0);
	put32(r, e + WQE_STATUS, 0);
	put32(r, e + WQE_STATE, STATE_POSTED);
	put64(r, e + WQE_IOVA, remote ? 0x7f0000000000 : 0);
	put32(r, e + WQE_SSN, (uint32_t)n);
	put32(r, e + WQE_LENGTH, wr->bytes);
	put32(r, e + WQE_RESID, wr->bytes);
	put32(r, e + WQE_NUM_SGE, 1);
	put64(r, e + WQE_SGE, 0x550000000000);
	put32(r, e + WQE_SGE + 8, wr->bytes);
	put32(r, e + WQE_SGE + 12, 0x4321);
	put32(r, RING_PRODUCER, slot_of(r, n + 1));
}

void sim_ring_begin(struct sim_ring *r, uint64_t n, const struct sim_ring_wr *wr, uint32_t packets)
{
	/* A READ sends only its request, and that at once. */
	uint32_t state = wr->opcode == SIM_RDMA_READ ? STATE_PENDING : STATE_PROCESSING;
	uint32_t e = wqe_offset(r, n);

	put32(r, e + WQE_FIRST_PSN, r->psn);
	put32(r, e + WQE_LAST_PSN, (r->psn + packets - 1) & PSN_MASK);
	put32(r, e + WQE_STATE, state);
	r->psn = (r->psn + packets) & PSN_MASK;
}

void sim_ring_left(struct sim_ring *r, uint64_t n, uint32_t bytes)
{
	put32(r, wqe_offset(r, n) + WQE_RESID, bytes);
}

void sim_ring_complete(struct sim_ring *r, uint64_t n)
{
	sim_ring_left(r, n, 0);
	put32(r, wqe_offset(r, n) + WQE_STATE, STATE_PENDING); /* rxe leaves it so on RC */
	put32(r, RING_CONSUMER, slot_of(r, n + 1));
}
