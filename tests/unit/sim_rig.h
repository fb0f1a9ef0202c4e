/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sim_rig: a simulated host under test: open it, let time pass, see what was done. */
#ifndef RESEX_TESTS_SIM_RIG_H
#define RESEX_TESTS_SIM_RIG_H

#include "src/sim/hyp.h"
#include "src/sim/sim.h"
#include "tests/unit/prop.h"

#define MS NS_PER_MS
#define S  NS_PER_S

enum { SERVER, BULK }; /* the demo's guests */

static inline struct sim_host *host_open(const struct sim_conf *c)
{
	struct sim_host *h = NULL;

	assert_int_equal(sim_open(&h, c, (struct mono){ 0 }), 0);
	return h;
}

static inline void run_to(struct sim_host *h, int64_t ns)
{
	sim_advance(h, (struct mono){ ns });
}

static inline struct sim_truth truth(struct sim_host *h, uint32_t guest)
{
	struct sim_truth t;

	assert_int_equal(sim_truth(h, guest, &t), 0);
	return t;
}

static inline struct sim_app_truth app_truth(struct sim_host *h, uint32_t guest, uint32_t app)
{
	struct sim_app_truth t;

	assert_int_equal(sim_app_truth(h, guest, app, &t), 0);
	return t;
}

/* What a guest did from one moment to another, in steps of a tick. */
static inline struct sim_truth did(struct sim_host *h, uint32_t guest, int64_t from, int64_t to)
{
	struct sim_truth a, b;

	run_to(h, from);
	a = truth(h, guest);
	for (int64_t t = from; t < to; t += MS)
		run_to(h, t);
	run_to(h, to);
	b = truth(h, guest);
	b.wrs -= a.wrs;
	b.bytes -= a.bytes;
	b.mtus -= a.mtus;
	b.bytes_recv -= a.bytes_recv;
	b.mtus_recv -= a.mtus_recv;
	b.cpu_ns -= a.cpu_ns;
	b.requests -= a.requests;
	b.latency_sum_ns -= a.latency_sum_ns;
	return b;
}

static inline uint64_t mean_latency(const struct sim_truth *t)
{
	return t->requests ? t->latency_sum_ns / t->requests : 0;
}

static inline void set_cap(struct sim_host *h, uint32_t guest, uint32_t percent)
{
	assert_int_equal(sim_hyp_set_cap(h, sim_domid(h, guest), SIM_CAP_ANY, percent, NULL), 0);
}

static inline void assert_near(uint64_t v, uint64_t want, uint64_t tolerance)
{
	assert_in_range(v, want > tolerance ? want - tolerance : 0, want + tolerance);
}

#endif
