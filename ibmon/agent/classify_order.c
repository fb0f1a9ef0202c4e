// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * classify_order: search all ways to merge three ordered lists (completion queues,
 * shared receive queues, queue pairs) into the order of the rings' page offsets.
 *
 * A state is the number of objects placed from each list; their sum is the place in
 * the rings. A step places the next object of one list. Steps between states that are
 * reachable both from the start and from the end belong to a complete way. A ring gets
 * the kind on which all complete ways agree.
 */
#include "config.h"

#include <stdlib.h>

#include "ibmon/agent/classify_order.h"

/*
 * 2^20 states are 2 MiB of marks. A process with more objects waits for entries to prove
 * its rings.
 */
enum { STATES_MAX = 1 << 20, NUMBER_MANY = -1 };

struct order {
	const struct class_ring *ring;
	size_t n;
	const struct class_objects *obj;
	bool cq_moved; /* a completion queue was resized and got a new ring: their order is void */
	uint32_t *qp_at;  /* number of rings that the first q queue pairs have */
	uint32_t *qp_srq; /* shared receive queues to place before it; UINT32_MAX: never fits */
	uint8_t *fwd, *bwd;
	uint8_t *kinds;	 /* of each ring, over all ways: a set of enum ring_class */
	int64_t *number; /* of each ring; 0: none; NUMBER_MANY: the ways differ */
};

struct state {
	uint32_t c, x, q;
};

static size_t index_of(const struct order *o, struct state s)
{
	return ((size_t)s.c * (o->obj->srqs + 1) + s.x) * (o->obj->qps + 1) + s.q;
}

/*
 * The number of states; 0: too many to search. The first product is compared before the
 * second is formed: nothing overflows.
 */
static size_t count_states(const struct class_objects *obj)
{
	uint64_t n = ((uint64_t)obj->cqs + 1) * ((uint64_t)obj->srqs + 1);

	if (n > STATES_MAX || n * ((uint64_t)obj->qps + 1) > STATES_MAX)
		return 0;
	return (size_t)(n * (obj->qps + 1));
}

/* Kinds known before the search limit it. */
static bool may_be(const struct class_ring *r, enum ring_class kind)
{
	return r->kind == CLASS_UNKNOWN || r->kind == kind;
}

/*
 * A resize gives a completion queue a new ring with a new page offset
 * (rxe_create_mmap_info), so its place in the order is lost.
 */
static bool cq_fits(const struct order *o, size_t i, uint32_t c)
{
	const struct class_ring *r = &o->ring[i];

	if (c >= o->obj->cqs || i >= o->n || r->elem != 128 || !may_be(r, CLASS_CQ))
		return false;
	if (!o->cq_moved)
		return r->slots == o->obj->cq[c].slots;
	for (uint32_t k = 0; k < o->obj->cqs; k++)
		if (r->slots == o->obj->cq[k].slots)
			return true;
	return false;
}

static bool srq_fits(const struct order *o, size_t i, uint32_t x)
{
	return x < o->obj->srqs && i < o->n && may_be(&o->ring[i], CLASS_RECV);
}

/* Ring i as a send queue; unless its receive queue is shared, that must follow directly. */
static bool qp_fits(const struct order *o, size_t i, uint32_t q, uint32_t x)
{
	const struct class_ring *r = &o->ring[i];

	if (q >= o->obj->qps || i >= o->n || r->elem < 256 || !may_be(r, CLASS_SQ))
		return false;
	if (o->qp_srq[q] > x)
		return false;
	if (o->obj->qp[q].shared)
		return true;
	return i + 1 < o->n && r[1].pgoff == r->pgoff + r->bytes && may_be(&r[1], CLASS_RECV);
}

/* The steps from s, by the list that each takes an object from: 0 cq, 1 srq, 2 qp. */
static void next_states(const struct order *o, struct state s, bool fits[3], struct state next[3])
{
	size_t i = (size_t)s.c + s.x + o->qp_at[s.q];

	fits[0] = cq_fits(o, i, s.c);
	next[0] = (struct state){ s.c + 1, s.x, s.q };
	fits[1] = srq_fits(o, i, s.x);
	next[1] = (struct state){ s.c, s.x + 1, s.q };
	fits[2] = qp_fits(o, i, s.q, s.x);
	next[2] = (struct state){ s.c, s.x, s.q + 1 };
}

/*
 * The kind may be certain where the number is not: two queue pairs that fit the same place,
 * for example.
 */
static void record_kind(struct order *o, size_t i, enum ring_class kind, uint32_t number)
{
	o->kinds[i] |= (uint8_t)kind;
	if (o->number[i] == 0)
		o->number[i] = number;
	else if (o->number[i] != number)
		o->number[i] = NUMBER_MANY;
}

/* Record the kinds that the step from s with list k gives to rings. */
static void record_step(struct order *o, struct state s, int k)
{
	size_t i = (size_t)s.c + s.x + o->qp_at[s.q];

	if (k == 0) {
		record_kind(o, i, CLASS_CQ, o->cq_moved ? 0 : o->obj->cq[s.c].cqn);
	} else if (k == 1) {
		record_kind(o, i, CLASS_RECV, 0);
	} else {
		record_kind(o, i, CLASS_SQ, o->obj->qp[s.q].qpn);
		if (!o->obj->qp[s.q].shared)
			record_kind(o, i + 1, CLASS_RECV, 0);
	}
}

typedef void visit_fn(struct order *o, struct state s);

/* Mark the states that can be reached from the start. */
static void visit_fwd(struct order *o, struct state s)
{
	struct state next[3];
	bool fits[3];

	if (!o->fwd[index_of(o, s)])
		return;
	next_states(o, s, fits, next);
	for (int k = 0; k < 3; k++)
		if (fits[k])
			o->fwd[index_of(o, next[k])] = 1;
}

/* Mark the states from which the end can be reached. */
static void visit_bwd(struct order *o, struct state s)
{
	struct state next[3];
	bool fits[3];

	next_states(o, s, fits, next);
	for (int k = 0; k < 3; k++)
		if (fits[k] && o->bwd[index_of(o, next[k])])
			o->bwd[index_of(o, s)] = 1;
}

static void visit_record(struct order *o, struct state s)
{
	struct state next[3];
	bool fits[3];

	if (!o->fwd[index_of(o, s)])
		return;
	next_states(o, s, fits, next);
	for (int k = 0; k < 3; k++)
		if (fits[k] && o->bwd[index_of(o, next[k])])
			record_step(o, s, k);
}

/* Visit all states in an order in which every step leads forward (reverse: backward). */
static void each_state(struct order *o, visit_fn *fn, bool reverse)
{
	uint32_t nc = o->obj->cqs, nx = o->obj->srqs, nq = o->obj->qps;

	for (uint32_t c = 0; c <= nc; c++)
		for (uint32_t x = 0; x <= nx; x++)
			for (uint32_t q = 0; q <= nq; q++)
				fn(o, reverse ? (struct state){ nc - c, nx - x, nq - q }
					      : (struct state){ c, x, q });
}

/*
 * Three passes over the states instead of a walk over all ways, whose number grows
 * exponentially.
 */
static bool search_orders(struct order *o)
{
	struct state end = { o->obj->cqs, o->obj->srqs, o->obj->qps };
	size_t n = count_states(o->obj);

	for (size_t i = 0; i < n; i++)
		o->fwd[i] = o->bwd[i] = 0;
	for (size_t i = 0; i < o->n; i++) {
		o->kinds[i] = 0;
		o->number[i] = 0;
	}
	o->fwd[0] = 1;
	each_state(o, visit_fwd, false);
	if (!o->fwd[index_of(o, end)])
		return false;
	o->bwd[index_of(o, end)] = 1;
	each_state(o, visit_bwd, true);
	each_state(o, visit_record, false);
	return true;
}

/* Precompute the number of rings before each queue pair, and the shared queues it needs. */
static void place_qps(struct order *o)
{
	const struct class_objects *obj = o->obj;

	o->qp_at[0] = 0;
	for (uint32_t q = 0; q < obj->qps; q++) {
		bool shared = obj->qp[q].shared;
		uint32_t x = 0;

		o->qp_at[q + 1] = o->qp_at[q] + (shared ? 1 : 2);
		while (shared && x < obj->srqs && obj->srq[x] != obj->qp[q].srqn)
			x++;
		o->qp_srq[q] = !shared ? 0 : x < obj->srqs ? x + 1 : UINT32_MAX;
	}
}

/* A ring with exactly one recorded kind gets it. */
static size_t apply_agreed(const struct order *o, struct class_ring *ring)
{
	size_t found = 0;

	for (size_t i = 0; i < o->n; i++) {
		unsigned int k = o->kinds[i];

		if (k == 0 || (k & (k - 1)))
			continue;
		if (o->number[i] > 0)
			ring[i].number = (uint32_t)o->number[i];
		if (ring[i].kind != CLASS_UNKNOWN)
			continue;
		ring[i].kind = (enum ring_class)k;
		ring[i].proof = PROOF_ORDER;
		found++;
	}
	return found;
}

size_t classify_order(struct class_ring *ring, size_t n, const struct class_objects *obj)
{
	struct order o = { .ring = ring, .n = n, .obj = obj };
	size_t found = 0, size = count_states(obj);

	if (!size || !n)
		return 0;
	o.qp_at = calloc(obj->qps + 1u, sizeof(*o.qp_at));
	o.qp_srq = calloc(obj->qps + 1u, sizeof(*o.qp_srq));
	o.fwd = calloc(size, 1);
	o.bwd = calloc(size, 1);
	o.kinds = calloc(n, 1);
	o.number = calloc(n, sizeof(*o.number));
	if (!o.qp_at || !o.qp_srq || !o.fwd || !o.bwd || !o.kinds || !o.number)
		goto out;
	place_qps(&o);
	/* first by creation order; if nothing fits, a completion queue was resized */
	o.cq_moved = false;
	if (!search_orders(&o)) {
		o.cq_moved = true;
		if (!search_orders(&o))
			goto out;
	}
	found = apply_agreed(&o, ring);
out:
	free(o.qp_at);
	free(o.qp_srq);
	free(o.fwd);
	free(o.bwd);
	free(o.kinds);
	free(o.number);
	return found;
}
