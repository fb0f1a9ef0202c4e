// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plug: layouts that are not built in (resex/ibmon.h), called as struct ring_ops. ring.c calls it,
 * ibmon/layout.c loads them.
 *
 *	struct ring_desc, ring_mem --once--> struct ibmon_desc, ibmon_mem
 *	struct ibmon_counts --checked--> struct sample
 *
 * A layout may have faults, and its ring's memory is a guest's: counts that cannot be are a fault
 * of the ring, and words outside of its memory are not watched.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>

#include "ibmon/ring/ring_priv.h"
#include "resex/guest_abi.h"
#include "resex/ibmon.h"

/* What a work request can be at most: InfiniBand's longest message, and that in smallest MTUs. */
#define BYTES_MAX (1ull << 31)
#define MTUS_MAX  (BYTES_MAX / 256)

enum {
	FLAGS = IBMON_LAPPED | IBMON_WRS_BOUNDED | IBMON_MTUS_ESTIMATED | IBMON_HISTORY |
		IBMON_MTUS_GUESSED
};

static_assert((int)IBMON_LAPPED == SAMPLE_LAPPED && (int)IBMON_WRS_BOUNDED == SAMPLE_WRS_BOUNDED &&
		      (int)IBMON_MTUS_ESTIMATED == SAMPLE_MTUS_ESTIMATED &&
		      (int)IBMON_HISTORY == SAMPLE_HISTORY &&
		      (int)IBMON_MTUS_GUESSED == SAMPLE_MTUS_GUESSED,
	      "flags are passed on");
static_assert((int)IBMON_OPS == OP_KINDS && (int)IBMON_OP_LOCAL == OP_LOCAL &&
		      (int)IBMON_OP_READ == OP_READ && (int)IBMON_OP_WRITE == OP_WRITE &&
		      (int)IBMON_OP_CMP_SWAP == OP_CMP_SWAP,
	      "kinds of operations are passed on");
static_assert((int)IBMON_FAULT_HEADER == RING_FAULT_HEADER &&
		      (int)IBMON_FAULT_INDEX == RING_FAULT_INDEX &&
		      (int)IBMON_FAULT_ENTRY == RING_FAULT_ENTRY &&
		      (int)IBMON_FAULT_JUMP == RING_FAULT_JUMP &&
		      (int)IBMON_FAULT_LAYOUT == RING_FAULT_LAYOUT,
	      "faults are passed on");
static_assert((int)IBMON_SQ == RING_SQ && (int)IBMON_CQ == RING_CQ, "kinds are passed on");
static_assert((int)IBMON_WALK_MAX == RING_WALK_MAX && (int)IBMON_LAYOUTS_MAX == RING_LAYOUTS_MAX,
	      "the same bounds");
static_assert((int)IBMON_RXE == GUEST_PROVIDER_RXE && (int)IBMON_MLX5 == GUEST_PROVIDER_MLX5 &&
		      (int)IBMON_MLX4 == GUEST_PROVIDER_MLX4 && (int)IBMON_QP_RC == GUEST_QP_RC &&
		      (int)IBMON_QP_RAW == GUEST_QP_RAW && (int)IBMON_QP_UD == GUEST_QP_UD,
	      "numbers are those of the guest's pages");

/* The state of a ring whose layout is a plug-in. */
struct plug {
	const struct ibmon_layout *layout;
	struct ibmon_desc desc;
	struct ibmon_mem mem;
	_Alignas(RING_LINE) uint64_t own[]; /* the layout's */
};

static struct ibmon_desc desc_of(const struct ring_desc *d)
{
	return (struct ibmon_desc){
		.provider = d->provider,
		.kind = d->kind,
		.number = d->number,
		.elem_size = d->elem_size,
		.entries = d->entries,
		.path_mtu = d->path_mtu,
		.qp_type = d->qp_type,
	};
}

/* Of the ring that has this descriptor: ring.c passes no other. */
static const struct plug *plug_of(const struct ring_desc *d)
{
	const uint8_t *r = (const uint8_t *)d - offsetof(struct ring, desc);

	return (const struct plug *)((const struct ring *)(const void *)r)->state;
}

size_t ring_plug_state_size(const struct ibmon_layout *l, const struct ring_desc *d)
{
	struct ibmon_desc desc = desc_of(d);
	size_t own = l->state_size(&desc);

	return own <= IBMON_STATE_MAX ? sizeof(struct plug) + own : 0;
}

int ring_plug_open(const struct ibmon_layout *l, const struct ring_desc *d,
		   const struct ring_mem *m, void *state)
{
	struct plug *p = state;
	int rc;

	p->layout = l;
	p->desc = desc_of(d);
	p->mem = (struct ibmon_mem){ .ring = m->base, .ring_len = m->len };
	if (l->db_bytes) {
		p->mem.db = ring_db(m);
		p->mem.db_len = l->db_bytes;
	}
	rc = l->open(&p->desc, &p->mem, p->own);
	return !rc || rc == -EPROTONOSUPPORT ? rc : -EBADMSG;
}

static bool plug_header_same(const struct ring_desc *d, const struct ring_mem *m)
{
	const struct plug *p = plug_of(d);

	(void)m;
	return p->layout->header_same(&p->desc, &p->mem);
}

/* --- samples ------------------------------------------------------------------------ */

struct told {
	struct ibmon_told to;
	const struct ring_peers *peers;
	uint32_t provider;
};

static void tell(const struct ibmon_told *to, uint32_t qpn, uint32_t counter, bool failed)
{
	const struct told *t = (const struct told *)(const void *)to;

	ring_peers_completed(t->peers, t->provider, qpn, counter, failed);
}

/* Each sum stays below 2^64, since its parts are bounded first. */
static bool are_possible(const struct ibmon_desc *d, const struct ibmon_counts *c)
{
	uint64_t ops = 0;

	if (c->seen > IBMON_WALK_MAX || c->lost > UINT32_MAX || c->wrs != c->seen + c->lost ||
	    c->errors > c->seen || c->flags & ~(uint32_t)FLAGS || c->msg_bytes > BYTES_MAX)
		return false;
	for (int i = 0; i < IBMON_OPS; i++) {
		if (c->ops[i] > c->seen)
			return false;
		ops += c->ops[i];
	}
	if (d->kind == IBMON_CQ)
		return !(ops | c->mtus_sent | c->mtus_recv | c->bytes_sent | c->bytes_recv |
			 c->bytes_bound | c->likely_sent | c->likely_recv | c->backlog);
	return ops == c->seen && c->backlog <= d->entries && c->mtus_sent <= c->wrs * MTUS_MAX &&
	       c->mtus_recv <= c->wrs * MTUS_MAX && c->bytes_sent <= c->seen * BYTES_MAX &&
	       c->bytes_recv <= c->seen * BYTES_MAX && c->bytes_bound <= c->lost * BYTES_MAX &&
	       c->likely_sent <= c->lost * BYTES_MAX && c->likely_recv <= c->lost * BYTES_MAX;
}

/* All but slot and ring. */
static void fill(struct sample *s, const struct ibmon_counts *c)
{
	s->flags = c->flags;
	s->msg_bytes = c->msg_bytes;
	s->wrs = c->wrs;
	s->seen = c->seen;
	s->lost = c->lost;
	s->errors = c->errors;
	s->mtus_sent = c->mtus_sent;
	s->mtus_recv = c->mtus_recv;
	s->bytes_sent = c->bytes_sent;
	s->bytes_recv = c->bytes_recv;
	s->bytes_bound = c->bytes_bound;
	s->likely_sent = c->likely_sent;
	s->likely_recv = c->likely_recv;
	s->backlog = c->backlog;
	for (int i = 0; i < OP_KINDS; i++)
		s->ops[i] = c->ops[i];
}

static int plug_sample(const struct ring_desc *d, const struct ring_mem *m, void *state,
		       const struct ring_peers *peers, int64_t elapsed_ns, struct sample *out,
		       enum ring_fault *fault, uint32_t *qpn)
{
	struct plug *p = state;
	const struct told t = { { tell }, peers, d->provider };
	enum ibmon_fault why = IBMON_FAULT_PLUGIN;
	struct ibmon_counts c = { 0 };

	(void)m;
	*fault = RING_FAULT_PLUGIN;
	if (p->layout->sample(&p->desc, &p->mem, p->own, &t.to, elapsed_ns, &c, &why)) {
		if (why >= IBMON_FAULT_HEADER && why <= IBMON_FAULT_LAYOUT)
			*fault = (enum ring_fault)why;
		return -EBADMSG;
	}
	if (!are_possible(&p->desc, &c))
		return -EBADMSG;
	fill(out, &c);
	if (c.qpn)
		*qpn = c.qpn;
	return 0;
}

static void plug_completed(void *state, uint32_t counter, bool failed)
{
	struct plug *p = state;

	p->layout->completed(p->own, counter, failed);
}

/* --- the words that are watched, and prefetches -------------------------------------- */

static bool is_within(const volatile void *at, const volatile void *base, uint32_t len)
{
	uintptr_t off = (uintptr_t)at - (uintptr_t)base;

	return off % sizeof(uint32_t) == 0 && len >= sizeof(uint32_t) &&
	       off <= len - sizeof(uint32_t);
}

static bool can_watch(const struct ibmon_mem *m, const volatile uint32_t *at)
{
	return is_within(at, m->ring, m->ring_len) || (m->db && is_within(at, m->db, m->db_len));
}

static void plug_quiet(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		       struct ring_quiet *quiet)
{
	const struct plug *p = state;
	struct ibmon_quiet q = { { NULL }, { 0 }, 0 };

	(void)m;
	if (p->layout->quiet)
		p->layout->quiet(&p->desc, &p->mem, p->own, &q);
	if (!can_watch(&p->mem, q.at[0]) || !can_watch(&p->mem, q.at[1]) ||
	    (q.at[2] && !can_watch(&p->mem, q.at[2])) || (q.backlog && !q.at[2]) ||
	    q.backlog > d->entries)
		return;
	for (int i = 0; i < 3; i++) {
		quiet->at[i] = q.at[i];
		quiet->value[i] = q.value[i];
	}
	quiet->backlog = q.backlog;
}

static void plug_prefetch(const struct ring_desc *d, const struct ring_mem *m, const void *state,
			  bool rest)
{
	const struct plug *p = state;

	(void)d;
	(void)m;
	if (p->layout->prefetch)
		p->layout->prefetch(&p->desc, &p->mem, p->own, rest);
}

const struct ring_ops ring_plug_sq = {
	.kind = RING_SQ,
	.header_same = plug_header_same,
	.quiet = plug_quiet,
	.prefetch = plug_prefetch,
	.sample = plug_sample,
	.completed = plug_completed,
};

struct ring_ops ring_plug_ops(const struct ibmon_layout *l)
{
	struct ring_ops ops = ring_plug_sq;

	ops.provider = l->provider;
	ops.kind = l->kind;
	ops.name = l->name;
	ops.db_bytes = l->db_bytes;
	if (!l->completed)
		ops.completed = NULL;
	ops.layout = l;
	return ops;
}
