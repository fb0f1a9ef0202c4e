// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5_cq: completion queues of ConnectX-4 and later: which requests are completed.
 *
 * The adapter writes entries in turn, and the owner bit of an entry, which changes with each lap,
 * says that it is new. The doorbell record counts the entries that the process has polled, modulo
 * 2^24: it says where the first sample begins, and whether entries were overwritten since the last.
 * All that is needed of an entry is in its last 8 bytes, which are read at once: queue pair, index
 * of the request, opcode and owner. Its byte count is not valid for requests that send.
 *
 * This file notifies the send queues of completions; they count the work (mlx5.c). Entries in a
 * compressed form have no counters: a queue with such entries is refused.
 */
#include <errno.h>
#include <string.h>

#include "ibmon/ring/mlx5.h"
#include "resex/guest_abi.h"
#include "src/util/seqread.h"

enum {
	INDEX_MASK = 0xffffff,
	BEHIND = 0x800000,
	QPN_MASK = 0xffffff,
	PLAIN_MASK = 0xfd, /* opcode, format and owner: of a success, owner alone */
	FETCH = 5,	   /* entries prefetched early */
	FETCH_MAX = 32,	   /* and at all */
};

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

static const volatile uint8_t *tail_at(const struct ring_desc *d, const struct ring_mem *m,
				       uint32_t n)
{
	return m->base + (size_t)(n & (d->entries - 1)) * d->elem_size + d->elem_size -
	       RING_MLX5_CQE_TAIL;
}

/* Did the adapter write this entry in the lap of n? */
static bool is_valid(const struct ring_desc *d, const struct ring_mlx5_tail *t, uint32_t n)
{
	return t->opcode != RING_MLX5_CQE_INVALID && t->owner == ((n & d->entries) != 0);
}

static enum ring_fault take(const struct cq_ring *r, const struct ring_mlx5_tail *t)
{
	if (t->format == RING_MLX5_CQE_COMPRESSED)
		return RING_FAULT_LAYOUT;
	if (t->opcode == RING_MLX5_CQE_RESIZED) {
		r->q->moved = true;
		return RING_OK;
	}
	if (t->opcode > RING_MLX5_CQE_NO_PACKET && t->opcode < RING_MLX5_CQE_SIG_ERR)
		return RING_FAULT_ENTRY;
	r->out->seen++;
	if (t->opcode >= RING_MLX5_CQE_SIG_ERR)
		r->out->errors++;
	if (t->opcode == RING_MLX5_CQE_REQ || t->opcode == RING_MLX5_CQE_REQ_ERR)
		ring_peers_completed(r->peers, GUEST_PROVIDER_MLX5, t->qpn, t->counter,
				     t->opcode == RING_MLX5_CQE_REQ_ERR);
	if (t->qpn)
		*r->qpn = t->qpn;
	return RING_OK;
}

/*
 * How many entries from next on, at most max, are successes of one queue pair, as most are? It is
 * told of the newest, which says all of the others.
 */
static uint32_t take_run(const struct cq_ring *r, uint32_t max)
{
	uint32_t next = r->q->next, n = 0, qpn = 0, counter = 0;

	for (; n < max; n++, next++) {
		uint64_t v = be64toh(guest_read64(tail_at(r->d, r->m, next)));
		uint32_t named = (uint32_t)(v >> 32) & QPN_MASK;

		if ((v & PLAIN_MASK) != ((next & r->d->entries) != 0) || (n && named != qpn))
			break;
		qpn = named;
		counter = (uint32_t)(v >> 16) & 0xffff;
	}
	if (!n)
		return 0;
	ring_peers_completed(r->peers, GUEST_PROVIDER_MLX5, qpn, counter, false);
	r->out->seen += n;
	*r->qpn = qpn ? qpn : *r->qpn;
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
		struct ring_mlx5_tail t;
		enum ring_fault fault;
		uint32_t passed;
		uint64_t raw;

		n += take_run(r, RING_WALK_MAX - 1 - n);
		raw = guest_read64(tail_at(r->d, r->m, q->next));
		t = ring_mlx5_tail(raw);
		passed = (polled - q->next) & INDEX_MASK;
		if (is_valid(r->d, &t, q->next)) {
			fault = take(r, &t);
			if (fault)
				return fault;
		} else if (passed && passed < BEHIND) {
			r->out->lost += t.opcode != RING_MLX5_CQE_INVALID;
		} else {
			memcpy(&q->tail_raw, (const uint8_t *)&raw + 4, sizeof(q->tail_raw));
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
	uint32_t raw = ring_db(m)[RING_MLX5_DB_POLLED], polled = be32toh(raw);

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
	if ((d->elem_size != 64 && d->elem_size != 128) || d->entries > RING_MLX5_CQ_ENTRIES_MAX)
		return -EPROTONOSUPPORT;
	return (size_t)d->entries * d->elem_size > m->len ? -EBADMSG : 0;
}

/* The doorbell record has 32 bits, of which the library uses 24. */
static bool cq_header_same(const struct ring_desc *d, const struct ring_mem *m)
{
	(void)d;
	return be32toh(ring_db(m)[RING_MLX5_DB_POLLED]) <= INDEX_MASK;
}

/* The entry that the adapter writes next, and what was polled, which tells of whole laps. */
static void cq_quiet(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		     struct ring_quiet *quiet)
{
	const struct cq *q = (const struct cq *)state;

	if (!q->opened || (q->more && !q->moved))
		return;
	quiet->at[0] = quiet->at[1] = &ring_db(m)[RING_MLX5_DB_POLLED];
	quiet->value[0] = quiet->value[1] = q->polled_raw;
	if (q->moved)
		return;
	quiet->at[0] = (const volatile uint32_t *)(tail_at(d, m, q->next) + 4);
	quiet->value[0] = q->tail_raw;
}

static void cq_prefetch(const struct ring_desc *d, const struct ring_mem *m, const void *state,
			bool rest)
{
	const struct cq *q = (const struct cq *)state;
	uint32_t max = rest ? FETCH_MAX : FETCH;

	if (!rest)
		ring_prefetch_line(&ring_db(m)[RING_MLX5_DB_POLLED]);
	/* With the one after them, which is not valid. */
	for (uint32_t i = rest ? FETCH : 0; i <= q->fresh && i < max; i++)
		ring_prefetch_line(tail_at(d, m, q->next + i));
}

const struct ring_ops ring_mlx5_cq = {
	.provider = GUEST_PROVIDER_MLX5,
	.kind = RING_CQ,
	.name = "mlx5 completion queue",
	.db_bytes = RING_MLX5_DB_BYTES,
	.state_size = cq_state_size,
	.open = cq_open,
	.header_same = cq_header_same,
	.quiet = cq_quiet,
	.prefetch = cq_prefetch,
	.sample = cq_sample,
};
