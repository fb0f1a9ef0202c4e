// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rxe_cq: completion queues of soft-RoCE: the status of completions and their
 * queue pair. The work itself is counted on the send queues (rxe.c).
 *
 * Only the masked producer index shows what is new, so whole laps are not seen;
 * but rxe never overwrites a completion that was not polled.
 */
#include <errno.h>

#include "ibmon/ring/rxe.h"
#include "resex/guest_abi.h"
#include "src/util/seqread.h"

enum {
	STATUS_MAX = 31,
	SEND_OPCODE_MAX = 31,
	RECV_OPCODE = 128,
	RECV_OPCODE_MAX = 135,
	QPN_MAX = 0xffffff,
};

struct cq {
	uint32_t producer; /* completions before this slot are counted */
	bool opened;	   /* the history was counted */
};

struct cq_entry {
	uint32_t status, opcode, byte_len, qpn;
};

int ring_rxe_open(const struct ring_desc *d, const struct ring_mem *m, uint32_t elem_min)
{
	uint64_t bytes = sizeof(struct ring_rxe_header) + (uint64_t)d->entries * d->elem_size;

	if (d->elem_size < elem_min)
		return -EPROTONOSUPPORT;
	if (bytes > m->len || !ring_rxe_header_same(d, m))
		return -EBADMSG;
	return 0;
}

bool ring_rxe_header_same(const struct ring_desc *d, const struct ring_mem *m)
{
	const volatile struct ring_rxe_header *h = (const volatile struct ring_rxe_header *)m->base;
	uint32_t log2 = h->log2_elem_size, mask = h->index_mask;

	guest_copy_barrier();
	return log2 < 32 && 1u << log2 == d->elem_size && mask == d->entries - 1;
}

static size_t cq_state_size(const struct ring_desc *d)
{
	(void)d;
	return sizeof(struct cq);
}

static int cq_open(const struct ring_desc *d, const struct ring_mem *m, void *state)
{
	(void)state;
	return ring_rxe_open(d, m, RING_RXE_CQ_ELEM_MIN);
}

static void cq_quiet(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		     struct ring_quiet *quiet)
{
	(void)d;
	quiet->at[0] = quiet->at[1] = &ring_rxe_header(m)->producer;
	quiet->value[0] = quiet->value[1] = ((const struct cq *)state)->producer;
}

static void cq_prefetch(const struct ring_desc *d, const struct ring_mem *m, const void *state,
			bool rest)
{
	(void)d;
	(void)state;
	(void)rest;
	ring_prefetch_line(m->base);
}

static void cq_load(const struct ring_desc *d, const struct ring_mem *m, uint32_t slot,
		    struct cq_entry *e)
{
	const volatile struct ring_rxe_cqe *c =
		(const volatile struct ring_rxe_cqe *)(m->base + sizeof(struct ring_rxe_header) +
						       (size_t)slot * d->elem_size);

	e->status = c->status;
	e->opcode = c->opcode;
	e->byte_len = c->byte_len;
	e->qpn = c->qp_num;
	guest_copy_barrier();
}

static bool cq_plausible(const struct cq_entry *e)
{
	if (e->status > STATUS_MAX || e->qpn > QPN_MAX)
		return false;
	return e->opcode <= SEND_OPCODE_MAX ||
	       (e->opcode >= RECV_OPCODE && e->opcode <= RECV_OPCODE_MAX);
}

static int cq_sample(const struct ring_desc *d, const struct ring_mem *m, void *state,
		     const struct ring_peers *peers, int64_t elapsed_ns, struct sample *out,
		     enum ring_fault *fault, uint32_t *qpn)
{
	const volatile struct ring_rxe_header *h = (const volatile struct ring_rxe_header *)m->base;
	struct cq *q = (struct cq *)state;
	uint32_t mask = d->entries - 1, producer = h->producer, n, take;

	(void)elapsed_ns;
	(void)peers; /* a send queue has its own consumer index */
	guest_copy_barrier();
	if (!ring_rxe_header_same(d, m)) {
		*fault = RING_FAULT_HEADER;
		return -EBADMSG;
	}
	if (producer > mask) {
		*fault = RING_FAULT_INDEX;
		return -EBADMSG;
	}
	n = (producer - q->producer) & mask;
	take = n < RING_WALK_MAX ? n : RING_WALK_MAX;
	for (uint32_t i = take; i > 0; i--) {
		struct cq_entry e;

		cq_load(d, m, (producer - i) & mask, &e);
		if (!cq_plausible(&e)) {
			*fault = RING_FAULT_ENTRY;
			return -EBADMSG;
		}
		if (e.status)
			out->errors++;
		else if (e.byte_len > out->msg_bytes)
			out->msg_bytes = e.byte_len;
		if (e.qpn)
			*qpn = e.qpn;
	}
	q->producer = producer;
	if (!q->opened)
		out->flags |= SAMPLE_HISTORY;
	q->opened = true;
	out->wrs = n;
	out->seen = take;
	out->lost = n - take;
	if (out->lost)
		out->flags |= SAMPLE_LAPPED;
	return 0;
}

const struct ring_ops ring_rxe_cq = {
	.provider = GUEST_PROVIDER_RXE,
	.kind = RING_CQ,
	.name = "rxe completion queue",
	.state_size = cq_state_size,
	.open = cq_open,
	.header_same = ring_rxe_header_same,
	.quiet = cq_quiet,
	.prefetch = cq_prefetch,
	.sample = cq_sample,
};
