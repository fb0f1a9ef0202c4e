// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * freemarket: the paper's rule (VI-B), its figures, and a second statement of
 * it in plain words against which random epochs are checked.
 */
#include "src/core/resos.h"
#include "tests/unit/policy_rig.h"
#include "tests/unit/unit.h"

#define MS	 NS_PER_MS
#define RESOS(n) ((int64_t)(n)*RESO_MILLI)

/* One guest with an allocation of 1000 Resos, at 0 of epoch 0. */
static struct policy_guest *open_one(struct rig *g)
{
	struct policy_guest *p;

	rig_open(g, &policy_freemarket);
	p = rig_guest(g, 5);
	p->allocated.m = RESOS(1000);
	p->balance.m = RESOS(1000);
	return p;
}

static struct cap decide_at(struct rig *g, int64_t ms, int64_t balance)
{
	g->in.now.ns = ms * MS;
	g->in.guest[0].balance.m = balance;
	rig_decide(g);
	return g->plan.guest[5].cap;
}

TEST(decide__much_left__no_cap)
{
	static struct rig g;

	open_one(&g);
	assert_false(decide_at(&g, 1, RESOS(1000)).limited);
	assert_false(decide_at(&g, 500, RESOS(101)).limited);
	assert_int_equal(g.plan.guest[5].reason, 0);
	assert_int_equal(g.plan.guest[5].rate.q16, 65536);
	rig_close(&g);
}

TEST(decide__exactly_a_tenth_left__no_cap_yet)
{
	static struct rig g;

	open_one(&g);
	assert_false(decide_at(&g, 500, RESOS(100)).limited);
	assert_int_equal(decide_at(&g, 501, RESOS(100) - 1).mpct, 90000);
	rig_close(&g);
}

TEST(decide__a_tenth_of_the_epoch_or_less_remains__no_cut)
{
	static struct rig g;

	open_one(&g);
	assert_false(decide_at(&g, 900, RESOS(1)).limited);
	assert_false(decide_at(&g, 950, RESOS(1)).limited);
	rig_close(&g);
	open_one(&g);
	g.in.now.ns = 900 * MS - 1;
	g.in.guest[0].balance.m = RESOS(1);
	rig_decide(&g);
	assert_true(g.plan.guest[5].cap.limited);
	rig_close(&g);
}

TEST(decide__low__cuts_a_tenth_once_a_step)
{
	static struct rig g;

	open_one(&g);
	assert_int_equal(decide_at(&g, 500, RESOS(90)).mpct, 90000);
	assert_int_equal(decide_at(&g, 501, RESOS(89)).mpct, 90000);
	assert_int_equal(decide_at(&g, 509, RESOS(88)).mpct, 90000);
	assert_int_equal(decide_at(&g, 510, RESOS(87)).mpct, 81000);
	assert_int_equal(decide_at(&g, 525, RESOS(86)).mpct, 72900);
	assert_int_equal(decide_at(&g, 534, RESOS(85)).mpct, 72900);
	assert_int_equal(decide_at(&g, 535, RESOS(84)).mpct, 65610);
	rig_close(&g);
}

TEST(decide__step_of_1_ms__is_the_paper_to_the_letter)
{
	static struct rig g;
	uint32_t want = 100000;

	open_one(&g);
	rig_param(&g, "step", (uint64_t)MS);
	for (int ms = 500; ms < 520; ms++) {
		want = want * 900 / 1000;
		assert_int_equal(decide_at(&g, ms, RESOS(90)).mpct, want);
	}
	rig_close(&g);
}

TEST(decide__four_vcpus__cuts_start_at_400_percent)
{
	static struct rig g;

	open_one(&g)->bounds.vcpus = 4;
	assert_int_equal(decide_at(&g, 500, RESOS(90)).mpct, 360000);
	rig_close(&g);
}

TEST(decide__operator_had_a_cap__cuts_start_there)
{
	static struct rig g;

	open_one(&g)->bounds.ceiling = CAP_PERCENT(40);
	assert_int_equal(decide_at(&g, 500, RESOS(90)).mpct, 36000);
	rig_close(&g);
}

TEST(decide__nothing_left__lowest_cap_until_the_next_epoch)
{
	static struct rig g;

	open_one(&g);
	assert_int_equal(decide_at(&g, 100, 0).mpct, 1000);
	assert_int_equal(decide_at(&g, 950, 0).mpct, 1000);
	g.in.epoch = 1;
	g.in.epoch_start.ns = 1000 * MS;
	assert_false(decide_at(&g, 1000, RESOS(1000)).limited);
	rig_close(&g);
}

TEST(decide__nothing_left_at_the_end__is_capped_all_the_same)
{
	static struct rig g;

	open_one(&g);
	assert_int_equal(decide_at(&g, 999, 0).mpct, 1000);
	rig_close(&g);
}

TEST(decide__nothing_was_issued__is_not_nothing_left)
{
	static struct rig g;

	open_one(&g)->allocated.m = 0; /* joined at the epoch's very end */
	assert_false(decide_at(&g, 999, 0).limited);
	rig_close(&g);
}

TEST(decide__min_cap_given__is_the_lowest)
{
	static struct rig g;

	open_one(&g);
	rig_param(&g, "min_cap", 7000);
	assert_int_equal(decide_at(&g, 100, 0).mpct, 7000);
	rig_close(&g);
}

TEST(decide__next_epoch__lifts_the_cuts)
{
	static struct rig g;

	open_one(&g);
	assert_int_equal(decide_at(&g, 500, RESOS(90)).mpct, 90000);
	assert_int_equal(decide_at(&g, 999, RESOS(10)).mpct, 90000);
	g.in.epoch = 1;
	g.in.epoch_start.ns = 1000 * MS;
	assert_false(decide_at(&g, 1001, RESOS(990)).limited);
	assert_int_equal(decide_at(&g, 1002, RESOS(90)).mpct, 90000); /* no step to wait for */
	rig_close(&g);
}

TEST(decide__exempt_or_not_cappable__never)
{
	static const uint32_t flags[] = { 0, POLICY_EXEMPT, POLICY_EXEMPT | POLICY_CAPPABLE };
	static struct rig g;

	for (size_t i = 0; i < 3; i++) {
		open_one(&g)->flags = flags[i];
		assert_false(decide_at(&g, 500, RESOS(1)).limited);
		assert_false(decide_at(&g, 600, 0).limited);
		rig_close(&g);
	}
}

TEST(why__says_what_is_left_of_what)
{
	static struct rig g;
	const struct plan_guest *p = &g.plan.guest[5];

	open_one(&g);
	decide_at(&g, 1, RESOS(900));
	assert_int_equal(p->why[0], RESOS(900));
	assert_int_equal(p->why[1], RESOS(1000));
	decide_at(&g, 500, RESOS(90));
	assert_non_null(strstr(g.ops->reasons[p->reason], "%2c"));
	assert_int_equal(p->why[0], RESOS(90));
	assert_int_equal(p->why[1], RESOS(1000));
	assert_int_equal(p->why[2], 90000);
	decide_at(&g, 600, 0);
	assert_int_equal(p->why[1], RESOS(1000));
	assert_int_equal(p->why[2], 1000);
	assert_int_equal(p->why[3], RESOS(100));
	g.in.guest[0].allocated.m = INT64_MAX; /* a hundred times that takes more than 64 bits */
	decide_at(&g, 700, 0);
	assert_int_equal(p->why[3], INT64_MAX / 10);
	rig_close(&g);
}

TEST(plan__stands_until_the_balance_is_low)
{
	static struct rig g;
	const struct plan_guest *p = &g.plan.guest[5];

	open_one(&g);
	decide_at(&g, 1, RESOS(900));
	assert_int_equal(p->stands.m, RESOS(100) + 1);
	decide_at(&g, 500, RESOS(90)); /* it is: from now on each interval counts */
	assert_true(p->stands.m > RESOS(90));
	decide_at(&g, 600, 0);
	assert_true(p->stands.m > 0);
	g.in.guest[0].allocated.m = INT64_MAX;
	rig_param(&g, "low", 1000);
	decide_at(&g, 700, INT64_MAX);
	assert_int_equal(p->stands.m, 0);
	rig_close(&g);
}

/* --- the paper's figures, ledger and policy together -------------------- */

struct load {
	uint64_t mtus_ms, cpu_ns_ms; /* in every millisecond */
	int first_cut;		     /* ms of the epoch, or -1 */
};

/* One epoch of n guests of one VCPU each on the paper's link. */
static void run_epoch(struct load *load, uint32_t n)
{
	static struct rig g;
	static struct ledger l;
	struct link_conf link = { .bytes_s = 1u << 30, .mtu = 1024, .profile = PRICE_PAPER_2011 };

	rig_open(&g, &policy_freemarket);
	assert_int_equal(resos_init(&l, NS_PER_S, &link, 1), 0);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(resos_join(&l, i, 0, 1, 1), 0);
		rig_guest(&g, i);
		load[i].first_cut = -1;
	}
	resos_replenish(&l, 0);
	for (int ms = 1; ms <= 1000; ms++) {
		for (uint32_t i = 0; i < n; i++) {
			struct usage u = { .mtus_sent = load[i].mtus_ms,
					   .cpu_ns = load[i].cpu_ns_ms };

			assert_int_equal(resos_charge(&l, i, &u), 0);
			g.in.guest[i].allocated = l.acc[i].allocated;
			g.in.guest[i].balance = l.acc[i].balance;
		}
		g.in.now.ns = ms * MS;
		rig_decide(&g);
		for (uint32_t i = 0; i < n; i++)
			if (g.plan.guest[i].cap.limited && load[i].first_cut < 0)
				load[i].first_cut = ms;
	}
	rig_close(&g);
}

/*
 * 2^30 B/s carry 1048 MTUs a ms: the 2 MB sender has 811 of them, the 64 KB
 * server 237; both burn a whole VCPU polling.
 */
TEST(paper__2_mb_sender__burns_911_a_ms_and_is_first_cut_at_617_ms)
{
	struct load load[2] = { { 811, 1000000, 0 }, { 237, 1000000, 0 } };

	run_epoch(load, 2);
	assert_int_equal(load[0].first_cut, 617);
	assert_int_equal(load[1].first_cut, -1);
}

/* 64 MTUs in 209 us (paper, figure 1) are 306 a ms: too many for a quarter of the link. */
TEST(paper__lone_64_kb_server_beside_three_idle_guests__is_cut)
{
	struct load load[4] = { { 306, 1000000, 0 } };

	run_epoch(load, 4);
	assert_int_equal(load[0].first_cut, 803);
	assert_int_equal(load[1].first_cut, -1);
	run_epoch(load, 2);
	assert_int_equal(load[0].first_cut, -1);
}

TEST(any_number_of_guests__one_that_only_burns_cpu__is_never_cut)
{
	static struct load load[FLOW_GUESTS_MAX];

	for (uint32_t n = 1; n <= FLOW_GUESTS_MAX; n += n < 8 ? 1 : 31) {
		memset(load, 0, sizeof(load));
		for (uint32_t i = 0; i < n; i++)
			load[i].cpu_ns_ms = 1000000;
		run_epoch(load, n);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(load[i].first_cut, -1);
	}
}

/* --- the rule again, in other words -------------------------------------- */

struct restated {
	bool cut, broke; /* this epoch */
	int64_t cut_at;
	uint32_t mpct;
};

struct figures {
	uint64_t low, guard, cut, step, min_cap;
};

static struct cap restate(struct restated *s, const struct figures *f, const struct policy_in *in,
			  const struct policy_guest *g, bool epoch_began)
{
	int64_t left = in->epoch_start.ns + in->epoch_ns - in->now.ns;
	__int128 part = (__int128)g->balance.m * 1000, low = (__int128)g->allocated.m * f->low;

	if (epoch_began)
		*s = (struct restated){ 0 };
	if (g->balance.m == 0 && g->allocated.m > 0)
		s->broke = true;
	if (s->broke)
		return (struct cap){ 1, (uint32_t)f->min_cap };
	if (part < low && (__int128)left * 1000 > (__int128)in->epoch_ns * f->guard &&
	    (!s->cut || in->now.ns - s->cut_at >= (int64_t)f->step)) {
		uint32_t from = s->cut ? s->mpct : cap_full(&g->bounds).mpct;

		s->mpct = (uint32_t)((uint64_t)from * (1000 - f->cut) / 1000);
		if (s->mpct < f->min_cap)
			s->mpct = (uint32_t)f->min_cap;
		s->mpct = cap_clamp((struct cap){ 1, s->mpct }, &g->bounds).mpct;
		s->cut = true;
		s->cut_at = in->now.ns;
	}
	return s->cut ? (struct cap){ 1, s->mpct } : CAP_NONE;
}

static void random_figures(struct prop *r, struct rig *g, struct figures *f)
{
	f->low = prop_one_in(r, 2) ? 100 : prop_range(r, 0, 1000);
	f->guard = prop_one_in(r, 2) ? 100 : prop_range(r, 0, 1000);
	f->cut = prop_one_in(r, 2) ? 100 : prop_range(r, 1, 1000);
	f->step = prop_one_in(r, 2) ? 10000000 : prop_range(r, 100000, 100000000);
	f->min_cap = prop_one_in(r, 2) ? 1000 : prop_range(r, 1000, 100000);
	rig_param(g, "low", f->low);
	rig_param(g, "guard", f->guard);
	rig_param(g, "cut", f->cut);
	rig_param(g, "step", f->step);
	rig_param(g, "min_cap", f->min_cap);
}

static void random_guests(struct prop *r, struct rig *g, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct policy_guest *p = rig_guest(g, i * 50 + 3);

		p->bounds.vcpus = (uint32_t)prop_range(r, 1, 4);
		p->bounds.min_mpct = (uint32_t)prop_range(r, 1, 20) * 1000;
		if (prop_one_in(r, 4))
			p->bounds.ceiling = CAP_PERCENT(prop_range(r, 1, 400));
	}
}

static void spend(struct prop *r, struct policy_guest *p, bool epoch_began)
{
	if (epoch_began) {
		p->allocated.m = (int64_t)(prop_one_in(r, 9) ? prop_hostile(r) >> 1
							     : prop_range(r, 1, 1ULL << 40));
		p->balance.m = p->allocated.m;
	} else if (prop_one_in(r, 200)) {
		p->balance.m = 0;
	} else if (prop_one_in(r, 3)) {
		p->balance.m -= p->balance.m / (int64_t)prop_range(r, 2, 60);
	}
	if (prop_one_in(r, 50)) /* about the edge, to a milli-Reso */
		if (p->balance.m > p->allocated.m / 10 + 1)
			p->balance.m = p->allocated.m / 10 + (int64_t)prop_range(r, 0, 1);
}

static void run_restated(struct prop *r)
{
	static struct rig g;
	struct restated s[4] = { 0 };
	struct figures f;

	rig_open(&g, &policy_freemarket);
	random_figures(r, &g, &f);
	random_guests(r, &g, 4);
	g.in.epoch_ns = (int64_t)prop_range(r, 1, 3000) * MS;
	for (uint64_t i = 0; i < 1500; i++) {
		bool epoch_began = i == 0 || g.in.now.ns >= g.in.epoch_start.ns + g.in.epoch_ns;

		while (g.in.now.ns >= g.in.epoch_start.ns + g.in.epoch_ns) {
			g.in.epoch++;
			g.in.epoch_start.ns += g.in.epoch_ns;
		}
		for (uint32_t k = 0; k < 4; k++)
			spend(r, &g.in.guest[k], epoch_began);
		rig_decide(&g);
		for (uint32_t k = 0; k < 4; k++) {
			const struct policy_guest *p = &g.in.guest[k];
			struct cap want = restate(&s[k], &f, &g.in, p, epoch_began);
			struct plan_guest *got = &g.plan.guest[p->slot];

			prop_assert(r, i,
				    cap_equal(cap_clamp(got->cap, &p->bounds),
					      cap_clamp(want, &p->bounds)));
			prop_assert(r, i, got->rate.q16 == 65536);
			prop_assert(r, i, got->cap.limited || got->reason == 0);
			prop_assert(r, i, !got->cap.limited || got->reason != 0);
		}
		g.in.now.ns += (int64_t)prop_range(r, 0, prop_one_in(r, 50) ? 1000000000 : 3000000);
	}
	rig_close(&g);
}

TEST(any_epochs__agree_with_the_rule_restated)
{
	struct prop r;

	prop_start(&r);
	for (int i = 0; i < 200; i++)
		run_restated(&r);
}
