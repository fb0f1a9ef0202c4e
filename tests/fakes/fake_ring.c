// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fake_ring: writes queues as rxe's provider and kernel do, for the tests of ibmon/ring.
 * Written from the uapi header, not from ibmon: both must agree. See fake_ring.h.
 */
#include "tests/fakes/fake_ring.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "resex/guest_abi.h"

enum { STATE_POSTED = 0, STATE_PENDING = 2, STATE_DONE = 3, PSN_MASK = 0xffffff, UD_MTU = 256 };

static uint8_t *ring_at(const struct fake_ring *r, size_t at)
{
	assert(r->desc.offset + at + 4 <= r->len);
	return r->mem + r->desc.offset + at;
}

void fake_put(struct fake_ring *r, size_t at, uint32_t v)
{
	uint8_t *p = ring_at(r, at);

	__atomic_store_n((uint32_t *)(void *)p, v, __ATOMIC_RELEASE);
}

uint32_t fake_get(const struct fake_ring *r, size_t at)
{
	return __atomic_load_n((uint32_t *)(void *)ring_at(r, at), __ATOMIC_RELAXED);
}

static size_t entry_at(const struct fake_ring *r, uint64_t n)
{
	return FAKE_DATA + (size_t)(n & r->mask) * r->desc.elem_size;
}

void fake_put_entry(struct fake_ring *r, uint64_t slot, size_t at, uint32_t v)
{
	fake_put(r, entry_at(r, slot) + at, v);
}

static void open_ring(struct fake_ring *r, uint32_t kind, uint32_t slots, uint32_t elem)
{
	uint32_t log2 = 0;

	memset(r, 0, sizeof(*r));
	while ((1u << log2) < elem)
		log2++;
	r->mask = slots - 1;
	r->len = FAKE_DATA + (size_t)slots * elem;
	r->mem = calloc(1, r->len);
	r->entry = calloc(slots, sizeof(*r->entry));
	assert(r->mem && r->entry);
	r->desc = (struct ring_desc){
		.id = 1,
		.kind = kind,
		.provider = GUEST_PROVIDER_RXE,
		.number = 17,
		.pid = 4711,
		.elem_size = elem,
		.entries = slots,
		.frames = (uint32_t)((r->len + 4095) / 4096),
		.comm = "fake",
	};
	fake_put(r, FAKE_LOG2_ELEM, log2);
	fake_put(r, FAKE_MASK, r->mask);
}

void fake_sq_open(struct fake_ring *r, uint32_t slots, enum fake_type type, uint32_t mtu)
{
	open_ring(r, RING_SQ, slots, 256);
	r->type = type;
	r->mtu = mtu;
	r->desc.path_mtu = mtu;
	r->psn = 0xfffff0; /* soon wraps */
}

void fake_cq_open(struct fake_ring *r, uint32_t slots)
{
	open_ring(r, RING_CQ, slots, 128);
}

void fake_close(struct fake_ring *r)
{
	free(r->mem);
	free(r->entry);
	memset(r, 0, sizeof(*r));
}

uint32_t fake_room(const struct fake_ring *r)
{
	return r->mask - (uint32_t)(r->posted - r->done);
}

static void build(struct fake_ring *r, uint32_t opcode, uint32_t bytes)
{
	uint64_t n = r->posted;

	fake_put_entry(r, n, FAKE_WQE_OPCODE, opcode);
	fake_put_entry(r, n, FAKE_WQE_FLAGS, 2);
	if (r->type == FAKE_UD)
		fake_put_entry(r, n, FAKE_WQE_UD_QPN, 18);
	fake_put_entry(r, n, FAKE_WQE_LENGTH, bytes);
	fake_put_entry(r, n, FAKE_WQE_RESID, bytes);
	fake_put_entry(r, n, FAKE_WQE_NUM_SGE, bytes ? 1 : 0);
	fake_put_entry(r, n, FAKE_WQE_STATE, STATE_POSTED);
	fake_put_entry(r, n, FAKE_WQE_SSN, r->ssn++);
}

void fake_post(struct fake_ring *r, uint32_t opcode, uint32_t bytes)
{
	assert(fake_room(r) > 0);
	build(r, opcode, bytes);
	r->entry[r->posted & r->mask] = (struct fake_entry){ opcode, bytes };
	r->posted++;
	fake_put(r, FAKE_PRODUCER, (uint32_t)r->posted & r->mask);
	if (bytes > r->largest)
		r->largest = bytes;
}

void fake_refuse(struct fake_ring *r, uint32_t opcode, uint32_t bytes)
{
	build(r, opcode, bytes);
}

static bool is_local(uint32_t opcode)
{
	return opcode == FAKE_LOCAL_INV || opcode == FAKE_BIND_MW;
}

static uint32_t packets(uint32_t bytes, uint32_t mtu)
{
	return bytes == 0 ? 1 : bytes / mtu + (bytes % mtu != 0);
}

static uint32_t mtus(const struct fake_ring *r, const struct fake_entry *e)
{
	if (is_local(e->opcode))
		return 0;
	if (r->type == FAKE_UD || e->opcode == FAKE_CMP_SWAP || e->opcode == FAKE_FETCH_ADD)
		return 1;
	return packets(e->bytes, r->mtu);
}

void fake_send(struct fake_ring *r)
{
	const struct fake_entry *e = &r->entry[r->sent & r->mask];
	uint32_t n = mtus(r, e), last;

	assert(r->sent < r->posted && !r->failed);
	if (n > 0) {
		/* For UD the kernel takes the MTU as 256, yet uses one number. */
		last = r->psn + (r->type == FAKE_UD ? packets(e->bytes, UD_MTU) : n) - 1;
		fake_put_entry(r, r->sent, FAKE_WQE_FIRST_PSN, r->psn & PSN_MASK);
		fake_put_entry(r, r->sent, FAKE_WQE_LAST_PSN, last & PSN_MASK);
		r->psn = (r->psn + n) & PSN_MASK;
	}
	fake_put_entry(r, r->sent, FAKE_WQE_RESID, e->opcode == FAKE_READ ? e->bytes : 0);
	fake_put_entry(r, r->sent, FAKE_WQE_STATE,
		       r->type == FAKE_RC && !is_local(e->opcode) ? STATE_PENDING : STATE_DONE);
	r->sent++;
}

static enum sample_op kind_of(uint32_t opcode)
{
	switch (opcode) {
	case FAKE_WRITE:
	case FAKE_WRITE_IMM:
		return OP_WRITE;
	case FAKE_READ:
		return OP_READ;
	case FAKE_CMP_SWAP:
		return OP_CMP_SWAP;
	case FAKE_FETCH_ADD:
		return OP_FETCH_ADD;
	case FAKE_LOCAL_INV:
	case FAKE_BIND_MW:
		return OP_LOCAL;
	default:
		return OP_SEND;
	}
}

void fake_complete(struct fake_ring *r, uint32_t status)
{
	const struct fake_entry *e = &r->entry[r->done & r->mask];
	struct fake_truth *t = &r->truth;

	assert(r->done < r->posted && (status != FAKE_OK || (r->done < r->sent && !r->failed)));
	fake_put_entry(r, r->done, FAKE_WQE_STATUS, status);
	t->wrs++;
	t->ops[kind_of(e->opcode)]++;
	if (status == FAKE_OK)
		fake_put_entry(r, r->done, FAKE_WQE_RESID, 0);
	if (status != FAKE_OK) {
		r->failed = true;
		t->errors++;
	} else if (e->opcode == FAKE_READ) {
		t->mtus_recv += mtus(r, e);
		t->bytes_recv += e->bytes;
	} else if (!is_local(e->opcode)) {
		t->mtus_sent += mtus(r, e);
		t->bytes_sent += e->bytes;
	}
	r->done++;
	if (r->sent < r->done)
		r->sent = r->done;
	fake_put(r, FAKE_CONSUMER, (uint32_t)r->done & r->mask);
}

void fake_do(struct fake_ring *r, uint32_t opcode, uint32_t bytes)
{
	fake_post(r, opcode, bytes);
	fake_send(r);
	fake_complete(r, FAKE_OK);
}

void fake_reset(struct fake_ring *r, uint32_t psn)
{
	memset(ring_at(r, FAKE_DATA), 0, r->len - r->desc.offset - FAKE_DATA);
	r->psn = psn;
	r->failed = false;
	r->done = r->sent = r->posted;
	fake_put(r, FAKE_CONSUMER, (uint32_t)r->done & r->mask);
}

void fake_cqe(struct fake_ring *r, uint32_t qpn, uint32_t opcode, uint32_t bytes, uint32_t status)
{
	assert(fake_room(r) > 0);
	fake_put_entry(r, r->posted, FAKE_CQE_STATUS, status);
	fake_put_entry(r, r->posted, FAKE_CQE_OPCODE, status == FAKE_OK ? opcode : 0);
	fake_put_entry(r, r->posted, FAKE_CQE_BYTES, status == FAKE_OK ? bytes : 0);
	fake_put_entry(r, r->posted, FAKE_CQE_QPN, qpn);
	r->posted++;
	fake_put(r, FAKE_PRODUCER, (uint32_t)r->posted & r->mask);
}

void fake_poll(struct fake_ring *r, uint32_t n)
{
	assert(n <= r->posted - r->done);
	r->done += n;
	fake_put(r, FAKE_CONSUMER, (uint32_t)r->done & r->mask);
}
