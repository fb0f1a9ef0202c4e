/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decide_rig: a small cluster for test_decide and its like.
 *
 *	service  nodes: load of each	low 500, high 900, minimum and guarantee 1, share 2
 *	A	 0, 1: 2000
 *	B	 2, 3, 4: 300, 200, 400
 *	C	 5, 6, 7: 600
 */
#ifndef RESEX_TESTS_DECIDE_RIG_H
#define RESEX_TESTS_DECIDE_RIG_H

#include <string.h>

#include "src/reconf/decide.h"
#include "tests/unit/prop.h"

#define SEC INT64_C(1000000000)

enum { A, B, C, D, E, ALL = 0xff };

struct rig {
	struct decide d;
	struct decide_view v;
	struct mono now;
	struct decide_plan p;
};

static inline uint32_t put_node(struct rig *r, uint32_t service, uint32_t load)
{
	uint32_t i = r->v.nodes++;

	r->v.node[i] = (struct decide_node){ .service = (uint16_t)service,
					     .home = (uint16_t)service,
					     .alive = true,
					     .known = true,
					     .load = load,
					     .capacity = 1000,
					     .may = ALL };
	return i;
}

static inline void put_nodes(struct rig *r, uint32_t service, uint32_t n, uint32_t load)
{
	while (n--)
		put_node(r, service, load);
}

static inline struct decide_service *put_service(struct rig *r)
{
	struct decide_service *s = &r->v.service[r->v.services++];

	*s = (struct decide_service){
		.minimum = 1, .guarantee = 1, .share = 2, .maximum = 100, .high = 900, .low = 500
	};
	return s;
}

static inline void begin_empty(struct rig *r, uint32_t off)
{
	static const struct decide_conf conf = { .margin = 200,
						 .rest_ns = 60 * SEC,
						 .freeze_ns = 200 * SEC,
						 .check_ns = SEC,
						 .budget = 4,
						 .budget_ns = 40 * SEC };

	memset(r, 0, sizeof(*r));
	decide_init(&r->d, &conf);
	r->d.conf.off = off;
	r->now.ns = 1000 * SEC;
}

static inline void begin(struct rig *r, uint32_t off)
{
	begin_empty(r, off);
	for (int i = A; i <= C; i++)
		put_service(r);
	put_nodes(r, A, 2, 2000);
	put_node(r, B, 300);
	put_node(r, B, 200);
	put_node(r, B, 400);
	put_nodes(r, C, 3, 600);
	decide_seen(&r->d, &r->v, r->now);
}

static inline enum decide_why ask(struct rig *r, uint32_t service)
{
	assert_int_equal(decide(&r->d, &r->v, service, true, r->now, &r->p), 0);
	return r->p.why;
}

static inline void pass(struct rig *r, int64_t ns)
{
	r->now = mono_add(r->now, ns);
}

/* Somebody moves a node, and a scan shows it. */
static inline void moves(struct rig *r, uint32_t node, uint32_t to)
{
	r->v.node[node].service = (uint16_t)to;
	decide_seen(&r->d, &r->v, r->now);
}

/* Node 5 goes to and fro: C gives it and takes it again, n times. */
static inline void reverses(struct rig *r, int n)
{
	while (n--) {
		moves(r, 5, B);
		pass(r, SEC);
		moves(r, 5, C);
		pass(r, SEC);
	}
}

static inline void assert_step(const struct rig *r, uint32_t i, uint32_t taker, uint32_t donor,
			       uint32_t node)
{
	assert_int_equal(r->p.step[i].taker, taker);
	assert_int_equal(r->p.step[i].donor, donor);
	assert_int_equal(r->p.step[i].node, node);
}

/* A move of one step. */
static inline void assert_moves(struct rig *r, uint32_t taker, enum decide_why why, uint32_t donor,
				uint32_t node)
{
	assert_int_equal(ask(r, taker), why);
	assert_int_equal(r->p.steps, 1);
	assert_int_equal(r->p.donor, donor);
	assert_step(r, 0, taker, donor, node);
	assert_true(r->p.wait_ns == 0);
}

/* No move. */
static inline void assert_none(struct rig *r, uint32_t taker, enum decide_why why, uint32_t donor,
			       int64_t wait_ns)
{
	assert_int_equal(ask(r, taker), why);
	assert_int_equal(r->p.steps, 0);
	assert_int_equal(r->p.donor, donor);
	assert_true(r->p.wait_ns == wait_ns);
}

#endif
