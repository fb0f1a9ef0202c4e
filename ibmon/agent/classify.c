// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * classify: see classify.h. Counting, and what entries say; the search over
 * orders is in classify_order.c.
 */
#include "config.h"

#include <string.h>

#include "ibmon/agent/classify.h"
#include "ibmon/agent/classify_order.h"

enum {
	RXE_DATA = 384, /* header before the first element */
	RXE_SQ_MIN = 256,
	RXE_CQ_ELEM = 128,
	RXE_SGE_MAX = 32,
};

bool classify_header(uint32_t log2_elem, uint32_t index_mask, uint64_t bytes)
{
	uint64_t need;

	if (log2_elem < 6 || log2_elem > 12)
		return false;
	if (index_mask == 0 || index_mask >= 1u << 20 || (index_mask & (index_mask + 1)))
		return false;
	need = RXE_DATA + ((uint64_t)index_mask + 1) * (1u << log2_elem);
	return need <= bytes && bytes - need < 4096;
}

static size_t set_all(struct class_ring *ring, size_t n, bool (*is)(const struct class_ring *),
		      enum ring_class kind)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (ring[i].kind != CLASS_UNKNOWN || !is(&ring[i]))
			continue;
		ring[i].kind = kind;
		ring[i].proof = PROOF_COUNT;
		found++;
	}
	return found;
}

static bool is_small(const struct class_ring *r)
{
	return r->elem < RXE_CQ_ELEM;
}

static bool is_cq_sized(const struct class_ring *r)
{
	return r->elem == RXE_CQ_ELEM;
}

static bool is_sq_sized(const struct class_ring *r)
{
	return r->elem >= RXE_SQ_MIN;
}

/* Rings of a size that are still unknown, and those already of a kind. */
static uint32_t count(const struct class_ring *ring, size_t n,
		      bool (*is)(const struct class_ring *), enum ring_class kind)
{
	uint32_t c = 0;

	for (size_t i = 0; i < n; i++)
		c += is(&ring[i]) && ring[i].kind == kind;
	return c;
}

/*
 * As many candidates as objects: all are. All objects found: the others are
 * not. (Every send queue is big and every completion queue has 128 bytes.)
 */
static size_t by_count(struct class_ring *ring, size_t n, bool (*is)(const struct class_ring *),
		       enum ring_class kind, uint32_t objects)
{
	uint32_t known = count(ring, n, is, kind);
	uint32_t open = count(ring, n, is, CLASS_UNKNOWN);

	if (open == 0 || known > objects)
		return 0;
	if (known == objects)
		return set_all(ring, n, is, CLASS_RECV);
	if (known + open == objects)
		return set_all(ring, n, is, kind);
	return 0;
}

/* The same for completion queues of one size: slots tell them apart. */
static size_t cqs_by_slots(struct class_ring *ring, size_t n, const struct class_objects *obj,
			   uint32_t slots)
{
	uint32_t objects = 0, known = 0, open = 0;
	size_t found = 0;

	for (uint32_t i = 0; i < obj->cqs; i++)
		objects += obj->cq[i].slots == slots;
	for (size_t i = 0; i < n; i++) {
		if (ring[i].elem != RXE_CQ_ELEM || ring[i].slots != slots)
			continue;
		known += ring[i].kind == CLASS_CQ;
		open += ring[i].kind == CLASS_UNKNOWN;
	}
	if (known > objects || (known != objects && known + open != objects))
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (ring[i].elem != RXE_CQ_ELEM || ring[i].slots != slots ||
		    ring[i].kind != CLASS_UNKNOWN)
			continue;
		ring[i].kind = known == objects ? CLASS_RECV : CLASS_CQ;
		ring[i].proof = PROOF_COUNT;
		found++;
	}
	return found;
}

static uint64_t rings_of(const struct class_objects *obj)
{
	uint64_t n = (uint64_t)obj->cqs + obj->srqs;

	for (uint32_t i = 0; i < obj->qps; i++)
		n += obj->qp[i].shared ? 1 : 2;
	return n;
}

size_t classify(struct class_ring *ring, size_t n, const struct class_objects *obj)
{
	size_t found = set_all(ring, n, is_small, CLASS_RECV);

	if (rings_of(obj) != n)
		return found;
	found += by_count(ring, n, is_sq_sized, CLASS_SQ, obj->qps);
	found += by_count(ring, n, is_cq_sized, CLASS_CQ, obj->cqs);
	for (size_t i = 0; i < n; i++)
		if (is_cq_sized(&ring[i]) && ring[i].kind == CLASS_UNKNOWN)
			found += cqs_by_slots(ring, n, obj, ring[i].slots);
	if (obj->one_thread)
		found += classify_order(ring, n, obj);
	return found;
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Does the sum of the first n lengths of a scatter list agree with length? */
static bool sges_add_up(const uint8_t *sge, uint32_t n, uint32_t length)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += get32(sge + 16 * i + 8);
	return sum == length;
}

/* Could it be a work request to send (struct rxe_send_wqe)? */
static bool sends(const uint8_t *e, uint32_t elem)
{
	uint32_t opcode = get32(e + 12), flags = get32(e + 16), length = get32(e + 184);
	uint32_t num_sge = get32(e + 196);

	if (elem < RXE_SQ_MIN || opcode > 15 || flags > 31 || get32(e + 148) > 4)
		return false;
	if (num_sge > RXE_SGE_MAX || num_sge > (elem - 208) / 16 || get32(e + 188) > length)
		return false;
	if (flags & 8 || num_sge == 0) /* inline data, or nothing to add up */
		return true;
	return sges_add_up(e + 208, num_sge, length);
}

/* Could it be a work request to receive (struct rxe_recv_wqe)? */
static bool receives(const uint8_t *e, uint32_t elem)
{
	uint32_t length = get32(e + 16), num_sge = get32(e + 28);

	if (get32(e + 12) != 0 || get32(e + 20) > length)
		return false;
	if (num_sge > RXE_SGE_MAX || num_sge > (elem - 40) / 16 || get32(e + 24) > num_sge)
		return false;
	return sges_add_up(e + 40, num_sge, length);
}

/* Could it be a completion (struct ib_uverbs_wc)? rxe numbers queue pairs from 16. */
static bool completes(const uint8_t *e, uint32_t elem)
{
	uint32_t opcode = get32(e + 12), qpn = get32(e + 28);

	return elem == RXE_CQ_ELEM && get32(e + 8) <= 23 && (opcode & ~0x80u) <= 10 && qpn >= 16 &&
	       qpn < 1u << 24;
}

enum ring_class classify_entry(const uint8_t *entry, uint32_t elem)
{
	unsigned int could = 0;

	if (elem == RXE_CQ_ELEM && completes(entry, elem))
		could |= CLASS_CQ;
	if (elem >= RXE_SQ_MIN && sends(entry, elem))
		could |= CLASS_SQ;
	if (receives(entry, elem))
		could |= CLASS_RECV;
	return could & (could - 1) ? CLASS_UNKNOWN : (enum ring_class)could;
}
