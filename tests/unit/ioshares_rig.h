/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ioshares_rig: two guests on the paper's link for tests of ioshares, and an
 * engine that writes each cap as soon as it is planned.
 *
 * The reporter, in slot 3, is promised a mean of 200 us, of which 60 us are
 * WTime + PTime. The offender is in slot 7.
 */
#ifndef RESEX_TESTS_IOSHARES_RIG_H
#define RESEX_TESTS_IOSHARES_RIG_H

#include "policies/ioshares.h"
#include "tests/unit/policy_rig.h"

#define MS NS_PER_MS
#define US NS_PER_US

enum { REP = 3, OFF = 7 };
enum {
	FREE,
	TAXED,
	EMPTY,
	EXEMPT,
	NOT_CAPPABLE,
	FUTILE,
	SELF,
	HURT,
	NOBODY,
	NO_BASE,
	FADING,
	FLOOR,
	UNHEARD,
	UNKNOWN,
	SPARED,
	SOON,
	HELD,
	LEAST,
	REASONS,
};
enum { ONE = 65536, BASE = 200000, BASE_IO = 60000 };

/* n requests that took the same time each, in ns, of which io for WTime + PTime. */
static inline void say(struct policy_guest *p, uint64_t n, uint64_t whole, uint64_t io)
{
	unsigned __int128 sumsq = (unsigned __int128)(io * io) * n;

	p->report = (struct report){
		.n = n,
		.sum_ns = n * whole,
		.io_sum_ns = n * io,
		.io_sumsq_hi = (uint64_t)(sumsq >> 64),
		.io_sumsq_lo = (uint64_t)sumsq,
	};
}

/* Four requests a tick that are this much above the base in their I/O. */
static inline void say_over(struct policy_guest *p, uint64_t ns)
{
	say(p, 4, BASE + ns, BASE_IO + ns);
}

static inline struct policy_guest *reporter(struct rig *g, uint32_t slot)
{
	struct policy_guest *p = rig_guest(g, slot);

	p->sla = (struct sla){ .base_ns = BASE, .base_io_ns = BASE_IO };
	p->usage.cpu_ns = 1000000;
	p->usage.mtus_sent = 237;
	say_over(p, 0);
	return p;
}

/*
 * An offender of 811 MTUs a tick: with the reporter's 237 the paper's link is full. It has so many
 * queue pairs that it can have caused any harm.
 */
static inline struct policy_guest *offender(struct rig *g, uint32_t slot)
{
	struct policy_guest *p = rig_guest(g, slot);

	p->usage.mtus_sent = 811;
	p->usage.queues = 1000;
	return p;
}

static inline void ios_open_empty(struct rig *g)
{
	rig_open(g, &policy_ioshares);
	g->in.links = 2;
	g->in.link[0] = (struct policy_link){ .bytes_s = 1u << 30, .mtu = 1024 };
	g->in.link[1] = g->in.link[0];
	g->in.now.ns = 100 * NS_PER_S;
}

static inline void ios_open(struct rig *g)
{
	ios_open_empty(g);
	reporter(g, REP);
	offender(g, OFF);
}

/* A window is one interval then: opened in a tick, judged in the next. */
static inline void quick(struct rig *g)
{
	rig_param(g, "window", (uint64_t)MS);
	rig_param(g, "min_samples", 1);
	rig_param(g, "bite", 0);
}

static inline struct policy_guest *guest(struct rig *g, uint32_t slot)
{
	for (uint32_t i = 0; i < g->in.guests; i++)
		if (g->in.guest[i].slot == slot)
			return &g->in.guest[i];
	fail_msg("no guest in slot %u", slot);
	return &g->in.guest[0];
}

/* What the engine does with a plan: the cap is in force at once. */
static inline void obey(struct rig *g)
{
	for (uint32_t i = 0; i < g->in.guests; i++) {
		struct policy_guest *p = &g->in.guest[i];
		struct cap c = cap_clamp(g->plan.guest[p->slot].cap, &p->bounds);

		c = cap_from_percent(cap_to_percent(c));
		if (!cap_equal(c, p->cap)) {
			p->cap = c;
			p->cap_time = g->in.now;
		}
		p->rate = g->plan.guest[p->slot].rate;
		p->flags &= ~(uint32_t)POLICY_NEW;
	}
}

static inline void tick(struct rig *g, int64_t ns)
{
	g->in.now.ns += ns;
	rig_decide(g);
	obey(g);
}

static inline void run(struct rig *g, int ticks)
{
	for (int i = 0; i < ticks; i++)
		tick(g, MS);
}

/* With quick(): a window is opened, lasts four intervals without gross harm, and is judged. */
static inline void judge(struct rig *g)
{
	run(g, 5);
}

static inline uint32_t rate(const struct rig *g, uint32_t slot)
{
	return g->plan.guest[slot].rate.q16;
}

static inline uint32_t reason(const struct rig *g, uint32_t slot)
{
	return g->plan.guest[slot].reason;
}

static inline struct ios_guest *state_of(struct rig *g, uint32_t slot)
{
	return (struct ios_guest *)(void *)g->guests + slot;
}

static inline void assert_why(const struct rig *g, uint32_t slot, uint32_t why, int64_t a,
			      int64_t b, int64_t c, int64_t d)
{
	const struct plan_guest *p = &g->plan.guest[slot];

	assert_int_equal(p->reason, why);
	assert_int_equal(p->why[0], a);
	assert_int_equal(p->why[1], b);
	assert_int_equal(p->why[2], c);
	assert_int_equal(p->why[3], d);
}

#endif
