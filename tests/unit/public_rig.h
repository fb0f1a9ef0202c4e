/* SPDX-License-Identifier: GPL-2.0-or-later */
/* public_rig: recorded rings (tests/golden), read as a program does: resex/ibmon.h. */
#ifndef RESEX_TESTS_PUBLIC_RIG_H
#define RESEX_TESTS_PUBLIC_RIG_H

#include <errno.h>
#include <string.h>

#include "resex/guest_abi.h"
#include "resex/ibmon.h"
#include "tests/fakes/golden.h"
#include "tests/unit/unit.h"

struct public_rig {
	struct golden g;
	struct ibmon *m;
	struct ibmon_ring *sq, *cq;
	struct ibmon_counts c, sum, completions;
};

static inline struct ibmon_desc public_desc(const struct golden_ring *r)
{
	const struct ring_desc *d = &r->desc;

	return (struct ibmon_desc){ .provider = d->provider,
				    .kind = d->kind,
				    .number = d->number,
				    .elem_size = d->elem_size,
				    .entries = d->entries,
				    .path_mtu = d->kind == RING_SQ ? d->path_mtu : 0,
				    .qp_type = d->kind == RING_SQ ? d->qp_type : 0 };
}

/* A recording has the doorbell record behind whole pages of the ring, where there is one. */
static inline struct ibmon_mem public_mem(const struct golden_ring *r)
{
	size_t own = (size_t)r->desc.frames * GUEST_PAGE;

	if (r->len <= own)
		return (struct ibmon_mem){ r->mem, NULL, (uint32_t)r->len, 0 };
	return (struct ibmon_mem){ r->mem, r->mem + own, (uint32_t)own, (uint32_t)(r->len - own) };
}

static inline struct golden_ring *public_cq(struct public_rig *x)
{
	return &x->g.ring[x->g.sq == x->g.ring];
}

/* provider: of the layout that reads it; 0: that of the recording. */
static inline struct ibmon_ring *public_ring(struct public_rig *x, const struct golden_ring *r,
					     uint32_t provider)
{
	struct ibmon_desc d = public_desc(r);
	struct ibmon_mem mem = public_mem(r);
	struct ibmon_ring *out;

	if (provider)
		d.provider = provider;
	assert_int_equal(ibmon_ring_open(x->m, &out, &d, &mem), 0);
	return out;
}

/* The first record, and an empty handle. */
static inline void public_begin(struct public_rig *x, const char *path)
{
	memset(x, 0, sizeof(*x));
	assert_int_equal(golden_open(&x->g, path), 0);
	assert_int_equal(golden_next(&x->g), 1);
	assert_int_equal(ibmon_open(&x->m, IBMON_ABI), 0);
}

static inline void public_end(struct public_rig *x)
{
	ibmon_close(x->m);
	golden_close(&x->g);
}

static inline void public_add(struct ibmon_counts *sum, const struct ibmon_counts *c)
{
	sum->wrs += c->wrs;
	sum->lost += c->lost;
	sum->errors += c->errors;
	sum->mtus_sent += c->mtus_sent;
	sum->mtus_recv += c->mtus_recv;
	sum->bytes_sent += c->bytes_sent;
	sum->bytes_recv += c->bytes_recv;
	for (int i = 0; i < IBMON_OPS; i++)
		sum->ops[i] += c->ops[i];
	sum->flags |= c->flags;
}

static inline void public_sample(struct public_rig *x)
{
	if (x->cq) {
		assert_int_equal(ibmon_ring_sample(x->cq, x->g.elapsed_ns, &x->c), 0);
		public_add(&x->completions, &x->c);
	}
	assert_int_equal(ibmon_ring_sample(x->sq, x->g.elapsed_ns, &x->c), 0);
	assert_int_equal(x->c.wrs, x->c.seen + x->c.lost);
	public_add(&x->sum, &x->c);
}

/* Of a recording in which nothing is lost. */
static inline void public_all(struct public_rig *x)
{
	const struct golden *g = &x->g;

	do
		public_sample(x);
	while (golden_next(&x->g) == 1);
	assert_int_equal(g->snap, g->snaps);
	assert_true(g->wrs > 0);
	assert_int_equal(x->sum.wrs, g->wrs);
	assert_int_equal(x->sum.lost, 0);
	assert_int_equal(x->sum.errors, g->errors);
	assert_int_equal(x->sum.mtus_sent, g->mtus_sent);
	assert_int_equal(x->sum.mtus_recv, g->mtus_recv);
	assert_int_equal(x->sum.bytes_sent, g->bytes_sent);
	assert_int_equal(x->sum.bytes_recv, g->bytes_recv);
	assert_memory_equal(x->sum.ops, g->ops, sizeof(g->ops));
	assert_int_equal(x->sum.flags, IBMON_HISTORY);
}

#endif
