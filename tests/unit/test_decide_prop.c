// SPDX-License-Identifier: GPL-2.0-or-later
/* decide: properties of plans in random clusters, and of clusters that carry them out. */
#include "tests/unit/decide_rig.h"
#include "tests/unit/unit.h"

enum { VIEWS = 2000, TURNS = 1500 };

static uint32_t small(struct prop *p, uint32_t most)
{
	return (uint32_t)prop_range(p, 0, most);
}

static void draw_service(struct prop *p, struct decide_service *s)
{
	s->minimum = small(p, 3);
	s->guarantee = s->minimum + (prop_one_in(p, 2) ? 0 : small(p, 3));
	s->maximum = s->guarantee + small(p, 8);
	s->share = s->minimum + small(p, s->maximum - s->minimum);
	s->priority = prop_one_in(p, 2) ? 0 : small(p, DECIDE_PRIORITY_MAX);
	s->low = (uint32_t)prop_range(p, 1, 900);
	s->high = s->low + (uint32_t)prop_range(p, 1, 500);
}

static void draw_node(struct prop *p, struct decide_node *n, uint32_t services)
{
	*n = (struct decide_node){ .service = (uint16_t)small(p, services - 1),
				   .home = (uint16_t)small(p, services),
				   .alive = !prop_one_in(p, 12),
				   .fixed = prop_one_in(p, 12),
				   .pending = prop_one_in(p, 12),
				   .known = !prop_one_in(p, 8),
				   .load = small(p, 2000),
				   .capacity = 1000,
				   .may = prop_one_in(p, 2) ? UINT64_MAX : prop_u64(p) };
	if (prop_one_in(p, 20))
		n->service = DECIDE_NO_SERVICE;
	if (prop_one_in(p, 4))
		n->capacity = (uint32_t)prop_hostile(p);
	if (prop_one_in(p, 20))
		n->load = (uint32_t)prop_hostile(p);
}

static void draw(struct prop *p, struct rig *r)
{
	begin_empty(r, prop_one_in(p, 2) ? 0 : (uint32_t)prop_u64(p) & DECIDE_RULES);
	r->d.conf.margin = small(p, 400);
	r->v.services = prop_one_in(p, 40) ? DECIDE_SERVICES_MAX : 2 + small(p, 5);
	r->v.nodes = prop_one_in(p, 40) ? DECIDE_NODES_MAX : small(p, 30);
	for (uint32_t i = 0; i < r->v.services; i++)
		draw_service(p, &r->v.service[i]);
	for (uint32_t i = 0; i < r->v.nodes; i++)
		draw_node(p, &r->v.node[i], r->v.services);
	decide_seen(&r->d, &r->v, r->now);
	for (uint32_t k = small(p, 6); k > 0 && r->v.nodes; k--) {
		uint32_t node = small(p, r->v.nodes - 1);

		pass(r, SEC * small(p, 20));
		moves(r, node, small(p, r->v.services - 1));
	}
	pass(r, SEC * small(p, 70));
}

static uint32_t nodes_of(const struct rig *r, uint32_t service)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->v.nodes; i++)
		n += r->v.node[i].alive && r->v.node[i].service == service;
	return n;
}

/* In nodes of capacity 1000. */
static uint32_t capacity_of(const struct rig *r, uint32_t service)
{
	uint32_t capacity = 0;

	for (uint32_t i = 0; i < r->v.nodes; i++)
		if (r->v.node[i].alive && r->v.node[i].service == service)
			capacity += r->v.node[i].capacity / 1000;
	return capacity;
}

/* Is this step one that may be made, as the cluster is now, by what no switch leaves out? */
static void check_step(struct prop *p, uint64_t at, const struct rig *r,
		       const struct decide_step *s)
{
	const struct decide_node *n = &r->v.node[s->node];
	const struct decide_service *taker = &r->v.service[s->taker];
	const struct decide_service *donor = &r->v.service[s->donor];
	uint32_t nodes = nodes_of(r, s->donor);

	prop_assert(p, at, s->node < r->v.nodes && s->taker < r->v.services);
	prop_assert(p, at, s->taker != s->donor && n->service == s->donor);
	prop_assert(p, at, n->alive && !n->fixed && !n->pending);
	prop_assert(p, at, n->may >> s->taker & 1);
	prop_assert(p, at, nodes > donor->minimum);
	prop_assert(p, at, nodes_of(r, s->taker) < taker->maximum);
	prop_assert(p, at, nodes > donor->guarantee || taker->priority > donor->priority);
}

/* Makes the steps of the plan on a copy: each must be sound when it is made. */
static void check_plan(struct prop *p, uint64_t at, const struct rig *r, uint32_t service)
{
	static struct rig copy;

	copy = *r;
	prop_assert(p, at, decide_is_move(r->p.why) == (r->p.steps > 0));
	prop_assert(p, at, r->p.steps <= DECIDE_STEPS_MAX);
	prop_assert(p, at, (r->p.why == DECIDE_MOVE_CHAIN) == (r->p.steps > 1));
	prop_assert(p, at, r->p.wait_ns >= 0);
	for (uint32_t i = 0; i < r->p.steps; i++) {
		const struct decide_step *s = &r->p.step[i];

		check_step(p, at, &copy, s);
		prop_assert(p, at, i == 0 || s->donor == r->p.step[i - 1].taker);
		prop_assert(p, at,
			    r->p.why == DECIDE_MOVE_HOME || r->d.conf.off & DECIDE_REST ||
				    !r->d.node[s->node].moved ||
				    mono_sub(r->now, r->d.node[s->node].moved_at) >= 60 * SEC);
		copy.v.node[s->node].service = s->taker;
	}
	prop_assert(p, at, !r->p.steps || r->p.step[r->p.steps - 1].taker == service);
	prop_assert(p, at, !r->p.steps || r->p.donor == r->p.step[0].donor);
}

TEST(plans__random_clusters__break_no_promise)
{
	uint32_t whys[DECIDE_WHYS] = { 0 };
	static struct rig r, before;
	struct prop p;

	prop_start(&p);
	for (uint64_t i = 0; i < VIEWS; i++) {
		draw(&p, &r);
		before = r;
		for (uint32_t s = 0; s < r.v.services && s < 8; s++) {
			bool high = !prop_one_in(&p, 4);

			assert_int_equal(decide(&r.d, &r.v, s, high, r.now, &r.p), 0);
			check_plan(&p, i, &r, s);
			prop_assert(&p, i,
				    high || r.p.why == DECIDE_CALM || r.p.why == DECIDE_MOVE_HOME);
			prop_assert(&p, i, !memcmp(&r.d, &before.d, sizeof(r.d)));
			whys[r.p.why]++;
		}
	}
	/* Not all of one kind; chains, and nodes that go home, are rare. */
	for (int w = DECIDE_MOVE; w <= DECIDE_MOVE_PREEMPTS; w++)
		prop_assert(&p, w, whys[w] > 0);
	for (int w = DECIDE_NO_SPARE; w <= DECIDE_STUCK; w++)
		prop_assert(&p, w, whys[w] > 0);
}

/* Whatever the number of nodes and their capacities: there is nothing to gain. */
TEST(equal_loads__with_any_margin__never_move)
{
	static struct rig r;
	struct prop p;

	prop_start(&p);
	for (uint64_t i = 0; i < VIEWS; i++) {
		uint32_t load = small(&p, 3000);

		draw(&p, &r);
		r.d.conf.off &= ~(uint32_t)DECIDE_GAIN;
		r.d.conf.off |= DECIDE_REVERSAL;
		r.d.conf.margin = prop_one_in(&p, 2) ? 0 : r.d.conf.margin;
		for (uint32_t s = 0; s < r.v.services; s++) {
			r.v.service[s].priority = 3;
			r.v.service[s].guarantee = r.v.service[s].minimum = 0;
		}
		for (uint32_t n = 0; n < r.v.nodes; n++) {
			r.v.node[n].load = load;
			/* A service without nodes may take one: it has none here. */
			if (n < r.v.services)
				r.v.node[n].service = (uint16_t)n, r.v.node[n].alive = true;
		}
		for (uint32_t s = 0; s < r.v.services && s < r.v.nodes && s < 4; s++)
			prop_assert(&p, i, !decide_is_move(ask(&r, s)));
	}
}

/* One cluster that carries out each first step: load only follows the nodes. */
TEST(clusters__that_do_what_is_decided__keep_minima_and_come_to_rest)
{
	static struct rig r;
	struct prop p;

	prop_start(&p);
	for (uint64_t i = 0; i < 60; i++) {
		uint64_t work[8] = { 0 };
		uint32_t moved = 0;

		struct decide_conf conf;

		draw(&p, &r);
		conf = r.d.conf;
		conf.off = 0;
		decide_init(&r.d, &conf);
		r.v.services = 2 + small(&p, 5);
		for (uint32_t s = 0; s < r.v.services; s++) {
			r.v.service[s].priority = 0;
			work[s] = small(&p, 6000);
		}
		for (uint32_t n = 0; n < r.v.nodes; n++) {
			r.v.node[n].service = (uint16_t)small(&p, r.v.services - 1);
			r.v.node[n].alive = r.v.node[n].known = true;
			r.v.node[n].capacity = prop_one_in(&p, 2) ? 1000 : 4000;
		}
		for (uint32_t t = 0; t < TURNS; t++) {
			uint32_t s = t % r.v.services;

			for (uint32_t n = 0; n < r.v.nodes; n++)
				r.v.node[n].load = (uint32_t)(work[r.v.node[n].service] /
							      capacity_of(&r, r.v.node[n].service));
			pass(&r, SEC);
			decide_seen(&r.d, &r.v, r.now);
			assert_int_equal(
				decide(&r.d, &r.v, s, decide_high(&r.d, &r.v, s), r.now, &r.p), 0);
			check_plan(&p, i, &r, s);
			decide_asked(&r.d, s, &r.p, r.now);
			if (!r.p.steps)
				continue;
			moved += t >= TURNS / 2;
			r.v.node[r.p.step[0].node].service = r.p.step[0].taker;
		}
		prop_assert(&p, i, moved == 0);
	}
}
