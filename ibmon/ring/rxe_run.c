// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rxe_run: send queues of soft-RoCE: runs of entries that are alike, counted at once.
 *
 * Most busy rings have nothing in flight when they are read, and all that was completed is alike:
 * rxe_sample_run counts these without the general steps of rxe.c, and leaves all others to them.
 * It finds exactly what they would find.
 */
#include "ibmon/ring/rxe_sq.h"

enum { CHUNK = 16 }; /* entries looked at before their numbers are read again */

static uint32_t count_chunk(const struct rxe_ring *r, uint32_t slot, uint32_t max,
			    const struct rxe_entry *like, uint32_t ssn, uint32_t first,
			    uint32_t packets)
{
	uint32_t n = 0;

	for (; n < max; n++) {
		const volatile struct ring_rxe_wqe *p = rxe_wqe(r, slot - n);
		uint32_t last = (first - 1) & RING_RXE_PSN_MASK;
		uint32_t other = p->ssn ^ (ssn - 1 - n);

		first = (first - packets) & RING_RXE_PSN_MASK;
		other |= (p->status ^ like->status) | (p->state ^ like->state);
		other |= (p->first_psn ^ first) | (p->last_psn ^ last);
		other |= (p->length ^ like->length) | (p->opcode ^ like->opcode);
		other |= (p->send_flags ^ like->flags) | (p->num_sge ^ like->num_sge);
		if (other | p->ud_remote_qpn)
			break;
	}
	guest_copy_barrier();
	for (uint32_t i = 0; i < n; i++)
		if (rxe_wqe(r, slot - i)->ssn != ssn - 1 - i)
			return i;
	return n;
}

uint32_t rxe_count_alike(const struct rxe_ring *r, uint32_t slot, uint32_t max,
			 const struct rxe_entry *like, uint32_t packets)
{
	uint32_t n = 0, k;

	do {
		uint32_t first = (like->first - n * packets) & RING_RXE_PSN_MASK;
		uint32_t todo = max - n < CHUNK ? max - n : CHUNK;

		k = count_chunk(r, slot - n, todo, like, like->ssn - n, first, packets);
		n += k;
	} while (k == CHUNK);
	return n;
}

/*
 * All that was posted before the last sample was completed and charged then. A known PSN says that
 * there was such a sample, and that the newest entry was numbered.
 */
static bool is_settled(const struct rxe_sq *q)
{
	return q->psn_known && !q->failed && !q->blank && !q->ud && q->noted_to == q->cons &&
	       !(q->owed | q->advanced) && !(q->zeroed_ns | q->partly_ns);
}

bool rxe_sample_run(const struct rxe_ring *r)
{
	const volatile struct ring_rxe_header *h = ring_rxe_header(r->m);
	uint32_t cons = h->consumer, prod = h->producer, n = (cons - r->q->cons) & r->mask;
	struct rxe_sq *q = r->q;
	struct rxe_entry newest;
	uint32_t packets;

	if (!n || cons != prod || cons > r->mask || !is_settled(q))
		return false;
	guest_copy_barrier();
	rxe_entry_load(r, cons - 1, &newest);
	packets = ((newest.last - newest.first) & RING_RXE_PSN_MASK) + 1;
	if (n > RING_WALK_MAX || newest.ssn != q->ssn + n || newest.ud_qpn ||
	    newest.last != ((q->psn + n * packets) & RING_RXE_PSN_MASK) ||
	    newest.first > RING_RXE_PSN_MASK || !rxe_is_explained(r, &newest, packets))
		return false;
	if (rxe_count_alike(r, cons - 2, n - 1, &newest, packets) != n - 1 || h->consumer != cons ||
	    !ring_rxe_header_same(r->d, r->m))
		return false;
	rxe_charge_run(r, &newest, n, packets);
	q->posted = n;
	q->cons = q->noted_to = q->base_idx = cons;
	q->ssn = q->raw_ssn = q->base_ssn = newest.ssn;
	q->psn = newest.last;
	q->unstable = 0;
	return true;
}
