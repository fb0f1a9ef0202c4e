// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx4_cq: completion queues of ConnectX-2 and ConnectX-3: which requests are completed.
 *
 * The adapter writes entries in turn, and the owner bit of an entry, which changes with each lap,
 * says that it is new. The doorbell record counts the entries that the process has polled, modulo
 * 2^24: it says where the first sample begins, and whether entries were overwritten since the last.
 * Of an entry, the last 8 bytes are read at once, and then the queue pair. Its byte count is not
 * valid for requests that send.
 *
 * An entry that was never written is 0, as the library leaves it, or 0xcc, as the kernel does. The
 * owner bit of zeroes is that of the first lap: such an entry has no queue pair.
 *
 * This file notifies the send queues of completions; they count the work (mlx4.c).
 */
#include <errno.h>
#include <string.h>

#include "ibmon/ring/mlx4.h"
#include "resex/guest_abi.h"
#include "src/util/seqread.h"

enum {
	INDEX_MASK = 0xffffff,
	BEHIND = 0x800000,
	QPN_MASK = 0xffffff,
	INDEX_SHIFT = 48, /* in the tail */
	PLAIN_MASK = RING_MLX4_CQE_OWNER | RING_MLX4_CQE_IS_SEND,
	FETCH = 5,	/* lines prefetched early */
	FETCH_MAX = 32, /* and at all */
	LINE = 64,
	/* Operations of sends that are completed; one bit each. */
	SENDS = 1 << RING_MLX4_NOP | 1 << RING_MLX4_SEND_INVAL | 1 << RING_MLX4_WRITE |
		1 << RING_MLX4_WRITE_IMM | 1 << RING_MLX4_SEND | 1 << RING_MLX4_SEND_IMM |
		1 << RING_MLX4_LSO | 1 << RING_MLX4_READ | 1 << RING_MLX4_CMP_SWAP |
		1 << RING_MLX4_FETCH_ADD | 1 << RING_MLX4_CMP_SWAP_MASKED |
		1 << RING_MLX4_FETCH_ADD_MASKED | 1 << RING_MLX4_BIND_MW | 1 << RING_MLX4_FMR |
		1 << RING_MLX4_LOCAL_INVAL,
};
#define UNWRITTEN 0xccccccccccccccccu

struct cq {
	uint32_t next; /* entries before this one are counted; modulo 2^24 */
	uint32_t polled_raw;
	uint32_t tail_raw; /* last word of entry next, when it was not valid */
	uint32_t fresh;	   /* entries that the last sample read */
	bool opened;	   /* the history was counted */
	bool more;	   /* entry next was not looked at */
	bool moved;	   /* the queue goes on in another buffer */
};

/* One queue during one sample. */
struct cq_ring {
	const struct ring_desc *d;
	const struct ring_mem *m;
	struct cq *q;
	const struct ring_peers *peers;
	struct sample *out;
	uint32_t *qpn;
};

/* What is needed of an entry. */
struct cqe {
	uint64_t raw; /* its tail */
	uint32_t qpn;
	uint16_t index; /* of the request */
	uint8_t opcode; /* of sends enum ring_mlx4_opcode, or enum ring_mlx4_cqe_opcode */
	bool send, owner;
};

static const volatile uint8_t *entry_at(const struct ring_desc *d, const struct ring_mem *m,
					uint32_t n)
{
	return m->base + (size_t)(n & (d->entries - 1)) * d->elem_size + d->elem_size -
	       RING_MLX4_CQE;
}

static struct cqe read_entry(const struct cq_ring *r, uint32_t n)
{
	const volatile uint8_t *at = entry_at(r->d, r->m, n);
	struct cqe e = { .raw = guest_read64(at + RING_MLX4_CQE_TAIL) };
	uint64_t v = be64toh(e.raw);

	guest_copy_barrier(); /* the rest is valid if the tail is */
	e.qpn = ring_mlx4_read32(at + RING_MLX4_CQE_QPN) & QPN_MASK;
	e.index = (uint16_t)(v >> INDEX_SHIFT);
	e.opcode = v & RING_MLX4_CQE_OPCODE;
	e.send = v & RING_MLX4_CQE_IS_SEND;
	e.owner = v & RING_MLX4_CQE_OWNER;
	return e;
}

static bool is_written(const struct cqe *e)
{
	return e->raw != UNWRITTEN && (e->qpn || e->opcode == RING_MLX4_CQE_RESIZED);
}

/* Did the adapter write this entry in the lap of n? */
static bool is_valid(const struct ring_desc *d, const struct cqe *e, uint32_t n)
{
	return e->owner == ((n & d->entries) != 0) && is_written(e);
}

/* Is the operation one of sends? The kernel's 0xcc is none. */
static bool is_send(uint64_t opcode)
{
	return SENDS >> (opcode & RING_MLX4_CQE_OPCODE) & 1;
}

static enum ring_fault take(const struct cq_ring *r, const struct cqe *e)
{
	bool error = e->opcode == RING_MLX4_CQE_ERROR;

	if (e->opcode == RING_MLX4_CQE_RESIZED) {
		r->q->moved = true;
		return RING_OK;
	}
	if (!error && !(e->send ? is_send(e->opcode) : e->opcode <= RING_MLX4_CQE_RECV_SEND_INV))
		return RING_FAULT_ENTRY;
	r->out->seen++;
	r->out->errors += error;
	if (e->send)
		ring_peers_completed(r->peers, GUEST_PROVIDER_MLX4, e->qpn, e->index, error);
	*r->qpn = e->qpn;
	return RING_OK;
}

/*
 * How many entries from next on, at most max, are successes of one queue pair, as most are? It is
 * told of the newest, which says all of the others.
 */
static uint32_t take_run(const struct cq_ring *r, uint32_t max)
{
	uint32_t next = r->q->next, n = 0, qpn = 0, index = 0;

	for (; n < max; n++, next++) {
		const volatile uint8_t *at = entry_at(r->d, r->m, next);
		uint64_t v = be64toh(guest_read64(at + RING_MLX4_CQE_TAIL));
		uint32_t lap = next & r->d->entries ? RING_MLX4_CQE_OWNER : 0, named;

		guest_copy_barrier();
		named = ring_mlx4_read32(at + RING_MLX4_CQE_QPN) & QPN_MASK;
		if ((v & PLAIN_MASK) != (lap | RING_MLX4_CQE_IS_SEND) || !is_send(v) || !named ||
		    (n && named != qpn))
			break;
		qpn = named;
		index = (uint32_t)(v >> INDEX_SHIFT);
	}
	if (!n)
		return 0;
	ring_peers_completed(r->peers, GUEST_PROVIDER_MLX4, qpn, index, false);
	r->out->seen += n;
	*r->qpn = qpn;
	r->q->next = next & INDEX_MASK;
	return n;
}

/* Entries that were polled since, and more than the ring holds, are overwritten. */
static enum ring_fault find_begin(const struct cq_ring *r, uint32_t polled)
{
	struct cq *q = r->q;
	uint32_t passed;

	if (!q->opened)
		q->next = polled;
	passed = (polled - q->next) & INDEX_MASK;
	if (passed >= BEHIND) /* the process polls later than this code reads */
		return INDEX_MASK + 1 - passed <= r->d->entries ? RING_OK : RING_FAULT_INDEX;
	if (passed > r->d->entries) {
		r->out->lost = passed - r->d->entries;
		q->next = (polled - r->d->entries) & INDEX_MASK;
	}
	return RING_OK;
}

/* An entry that was polled, and is not of its lap any more, is lost; one never written is not. */
static enum ring_fault read_new(const struct cq_ring *r, uint32_t polled)
{
	struct cq *q = r->q;

	q->more = true;
	for (uint32_t n = 0; n < RING_WALK_MAX && !q->moved; n++) {
		enum ring_fault fault;
		uint32_t passed;
		struct cqe e;

		n += take_run(r, RING_WALK_MAX - 1 - n);
		e = read_entry(r, q->next);
		passed = (polled - q->next) & INDEX_MASK;
		if (is_valid(r->d, &e, q->next)) {
			fault = take(r, &e);
			if (fault)
				return fault;
		} else if (passed && passed < BEHIND) {
			r->out->lost += is_written(&e);
		} else {
			memcpy(&q->tail_raw, (const uint8_t *)&e.raw + 4, sizeof(q->tail_raw));
			q->more = false;
			return RING_OK;
		}
		q->next = (q->next + 1) & INDEX_MASK;
	}
	return RING_OK;
}

static int cq_sample(const struct ring_desc *d, const struct ring_mem *m, void *state,
		     const struct ring_peers *peers, int64_t elapsed_ns, struct sample *out,
		     enum ring_fault *fault, uint32_t *qpn)
{
	const struct cq_ring r = { d, m, (struct cq *)state, peers, out, qpn };
	struct cq *q = r.q;
	uint32_t raw = ring_db(m)[RING_MLX4_DB_POLLED], polled = be32toh(raw);

	(void)elapsed_ns;
	guest_copy_barrier();
	*fault = polled > INDEX_MASK ? RING_FAULT_HEADER : RING_OK;
	if (!*fault && !q->moved)
		*fault = find_begin(&r, polled);
	if (!*fault)
		*fault = read_new(&r, polled);
	if (*fault)
		return -EBADMSG;
	q->polled_raw = raw;
	q->fresh = (uint32_t)out->seen;
	if (!q->opened)
		out->flags |= SAMPLE_HISTORY;
	q->opened = true;
	if (out->lost)
		out->flags |= SAMPLE_LAPPED;
	out->wrs = out->seen + out->lost;
	return 0;
}

static size_t cq_state_size(const struct ring_desc *d)
{
	(void)d;
	return sizeof(struct cq);
}

static int cq_open(const struct ring_desc *d, const struct ring_mem *m, void *state)
{
	(void)state;
	if ((d->elem_size != RING_MLX4_CQE && d->elem_size != 2 * RING_MLX4_CQE) ||
	    d->entries > RING_MLX4_CQ_ENTRIES_MAX)
		return -EPROTONOSUPPORT;
	return (size_t)d->entries * d->elem_size > m->len ? -EBADMSG : 0;
}

/* The doorbell record has 32 bits, of which the library uses 24. */
static bool cq_header_same(const struct ring_desc *d, const struct ring_mem *m)
{
	(void)d;
	return be32toh(ring_db(m)[RING_MLX4_DB_POLLED]) <= INDEX_MASK;
}

/* The entry that the adapter writes next, and what was polled, which tells of whole laps. */
static void cq_quiet(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		     struct ring_quiet *quiet)
{
	const struct cq *q = (const struct cq *)state;

	if (!q->opened || (q->more && !q->moved))
		return;
	quiet->at[0] = quiet->at[1] = &ring_db(m)[RING_MLX4_DB_POLLED];
	quiet->value[0] = quiet->value[1] = q->polled_raw;
	if (q->moved)
		return;
	quiet->at[0] =
		(const volatile uint32_t *)(entry_at(d, m, q->next) + RING_MLX4_CQE_TAIL + 4);
	quiet->value[0] = q->tail_raw;
}

/* The lines of as many entries as were read before, and of the one after them. */
static void cq_prefetch(const struct ring_desc *d, const struct ring_mem *m, const void *state,
			bool rest)
{
	const struct cq *q = (const struct cq *)state;
	uint32_t a_line = LINE / d->elem_size, max = rest ? FETCH_MAX : FETCH;

	if (!rest)
		ring_prefetch_line(&ring_db(m)[RING_MLX4_DB_POLLED]);
	for (uint32_t i = rest ? FETCH : 0; i * a_line < q->fresh + a_line && i < max; i++)
		ring_prefetch_line(entry_at(d, m, q->next + i * a_line));
}

const struct ring_ops ring_mlx4_cq = {
	.provider = GUEST_PROVIDER_MLX4,
	.kind = RING_CQ,
	.name = "mlx4 completion queue",
	.db_bytes = RING_MLX4_DB_BYTES,
	.state_size = cq_state_size,
	.open = cq_open,
	.header_same = cq_header_same,
	.quiet = cq_quiet,
	.prefetch = cq_prefetch,
	.sample = cq_sample,
};
