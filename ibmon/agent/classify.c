// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * classify: the kinds of rings by counting, and by the content of entries. track_kinds.c
 * calls it; the search over orders is in classify_order.c. See classify.h.
 */
#include "config.h"

#include <string.h>

#include "ibmon/agent/classify.h"
#include "ibmon/agent/classify_order.h"

enum {
	/*
	 * Offsets and sizes of rings are those of struct rxe_queue_buf, rxe_send_wqe and
	 * rxe_recv_wqe in the kernel's include/uapi/rdma/rdma_user_rxe.h, of Linux 6.1.
	 */
	RXE_DATA = 384, /* header before the first element */
	RXE_SQ_MIN = 256,
	RXE_CQ_ELEM = 128,
	RXE_SGE_MAX = 32,
};

/*
 * rxe rounds elements up to a power of two from 64 bytes on, and the number of slots too
 * (rxe_queue_init); the mapping is what this needs, in whole pages. A process can write any
 * header into its ring.
 */
bool classify_header(uint32_t log2_elem, uint32_t index_mask, uint64_t bytes)
{
	uint64_t need;

	if (log2_elem < 6 || log2_elem > 12)
		return false;
	/* At most 2^20 slots: RXE_MAX_QP_WR of the kernel. */
	if (index_mask == 0 || index_mask >= 1u << 20 || (index_mask & (index_mask + 1)))
		return false;
	need = RXE_DATA + ((uint64_t)index_mask + 1) * (1u << log2_elem);
	return need <= bytes && bytes - need < 4096;
}

/* Known kinds stay: only an entry may correct them (track_kinds.c). */
static size_t set_unknown(struct class_ring *ring, size_t n, bool (*is)(const struct class_ring *),
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

/* The number of rings of a size (is) that have this kind. */
static uint32_t count_rings(const struct class_ring *ring, size_t n,
			    bool (*is)(const struct class_ring *), enum ring_class kind)
{
	uint32_t c = 0;

	for (size_t i = 0; i < n; i++)
		c += is(&ring[i]) && ring[i].kind == kind;
	return c;
}

/*
 * As many candidates as objects: every candidate is one of them. All objects found:
 * the other candidates are receive queues. Every send queue and every completion queue
 * is among the candidates of its size.
 */
static size_t classify_by_count(struct class_ring *ring, size_t n,
				bool (*is)(const struct class_ring *), enum ring_class kind,
				uint32_t objects)
{
	uint32_t known = count_rings(ring, n, is, kind);
	uint32_t open = count_rings(ring, n, is, CLASS_UNKNOWN);

	if (open == 0 || known > objects)
		return 0;
	if (known == objects)
		return set_unknown(ring, n, is, CLASS_RECV);
	if (known + open == objects)
		return set_unknown(ring, n, is, kind);
	return 0;
}

/* The same for completion queues with one number of slots. */
static size_t classify_cqs_by_slots(struct class_ring *ring, size_t n,
				    const struct class_objects *obj, uint32_t slots)
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

/*
 * A completion queue has one ring, so has a shared receive queue. A queue pair has two, or
 * one when its receive queue is shared.
 */
static uint64_t rings_expected(const struct class_objects *obj)
{
	uint64_t n = (uint64_t)obj->cqs + obj->srqs;

	for (uint32_t i = 0; i < obj->qps; i++)
		n += obj->qp[i].shared ? 1 : 2;
	return n;
}

size_t classify(struct class_ring *ring, size_t n, const struct class_objects *obj)
{
	size_t found = set_unknown(ring, n, is_small, CLASS_RECV);

	/*
	 * Some object's ring is not seen, or a ring's object is gone: counting would prove
	 * wrong things.
	 */
	if (rings_expected(obj) != n)
		return found;
	found += classify_by_count(ring, n, is_sq_sized, CLASS_SQ, obj->qps);
	found += classify_by_count(ring, n, is_cq_sized, CLASS_CQ, obj->cqs);
	for (size_t i = 0; i < n; i++)
		if (is_cq_sized(&ring[i]) && ring[i].kind == CLASS_UNKNOWN)
			found += classify_cqs_by_slots(ring, n, obj, ring[i].slots);
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

/* Do the n lengths of a scatter list add up to length? */
static bool sges_add_up(const uint8_t *sge, uint32_t n, uint32_t length)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += get32(sge + 16 * i + 8);
	return sum == length;
}

/*
 * Could it be a send work request (struct rxe_send_wqe)? Fields: opcode 12, send_flags 16,
 * state 148, dma.length 184, dma.resid 188, num_sge 196, scatter list 208. Each is checked
 * against the values that rxe can write.
 */
static bool fits_send_wqe(const uint8_t *e, uint32_t elem)
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

/*
 * Could it be a receive work request (struct rxe_recv_wqe)? Fields: padding 12, dma.length
 * 16, dma.resid 20, cur_sge 24, num_sge 28, scatter list 40.
 */
static bool fits_recv_wqe(const uint8_t *e, uint32_t elem)
{
	uint32_t length = get32(e + 16), num_sge = get32(e + 28);

	if (get32(e + 12) != 0 || get32(e + 20) > length)
		return false;
	if (num_sge > RXE_SGE_MAX || num_sge > (elem - 40) / 16 || get32(e + 24) > num_sge)
		return false;
	return sges_add_up(e + 40, num_sge, length);
}

/*
 * Could it be a completion (struct ib_uverbs_wc)? rxe numbers queue pairs from 16. Fields:
 * status 8, opcode 12 (bit 7: a receive), qp_num 28. Queue pairs of the kernel have another
 * layout, but their rings are not in a process.
 */
static bool fits_completion(const uint8_t *e, uint32_t elem)
{
	uint32_t opcode = get32(e + 12), qpn = get32(e + 28);

	return elem == RXE_CQ_ELEM && get32(e + 8) <= 23 && (opcode & ~0x80u) <= 10 && qpn >= 16 &&
	       qpn < 1u << 24;
}

/* An entry that fits two kinds proves none. */
enum ring_class classify_entry(const uint8_t *entry, uint32_t elem)
{
	unsigned int could = 0;

	if (elem == RXE_CQ_ELEM && fits_completion(entry, elem))
		could |= CLASS_CQ;
	if (elem >= RXE_SQ_MIN && fits_send_wqe(entry, elem))
		could |= CLASS_SQ;
	if (fits_recv_wqe(entry, elem))
		could |= CLASS_RECV;
	return could & (could - 1) ? CLASS_UNKNOWN : (enum ring_class)could;
}
