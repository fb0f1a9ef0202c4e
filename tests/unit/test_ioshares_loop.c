// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ioshares in a closed loop, and under random input.
 *
 * The loop is a toy, not the simulator: one link shared by the byte, a server
 * whose next request comes when the last is answered, and a bulk sender that
 * needs CPU to post and gets it by credit2's letter (budgets each 10 ms, 500 us
 * at a time, debt). A step is 1 us, a tick 1 ms; a cap is in force one tick
 * after it was planned.
 */
#include "tests/unit/ioshares_rig.h"
#include "tests/unit/unit.h"

enum { LINK_US = 1074 /* bytes */, COMPUTE_US = 148, PIECE_US = 500, REFILL_US = 10000 };

struct bulk {
	uint32_t depth, bytes; /* of a message */
	uint32_t every_us;     /* between two messages; 0: at once */
	int64_t next_us;
	int64_t budget, piece; /* us */
	bool parked;
	uint32_t posted;
	int64_t left; /* bytes of the message on the wire */
};

struct server {
	int64_t left, began, compute;
	uint32_t bytes;
};

struct loop {
	struct rig g;
	struct server server[2];
	uint32_t servers;
	struct bulk bulk;
	bool has_bulk;
	int64_t us;
	uint64_t done, whole_us; /* of the first server, since last asked */
};

static struct policy_guest *of_bulk(struct loop *l)
{
	return &l->g.in.guest[l->servers];
}

static void open_loop(struct loop *l, uint32_t servers, const struct bulk *b)
{
	memset(l, 0, sizeof(*l));
	ios_open_empty(&l->g);
	l->servers = servers;
	for (uint32_t i = 0; i < servers; i++) {
		struct policy_guest *p = rig_guest(&l->g, i);

		p->sla = (struct sla){ 209000, 61000, 1000, 0, 0 };
		l->server[i] = (struct server){ .compute = COMPUTE_US + 40 * i, .bytes = 65536 };
	}
	l->has_bulk = b != NULL;
	if (b) {
		rig_guest(&l->g, servers);
		l->bulk = *b;
		l->bulk.left = b->bytes;
	}
}

/* Does the sender run in this microsecond? */
static bool bulk_runs(struct loop *l, int64_t per_refill)
{
	struct bulk *b = &l->bulk;

	if (l->us % REFILL_US == 0) {
		b->budget += per_refill;
		if (b->budget > per_refill)
			b->budget = per_refill;
		if (b->budget > 0)
			b->parked = false;
	}
	if (b->piece <= 0 && b->budget <= 0 && per_refill < REFILL_US)
		b->parked = true;
	if (b->parked)
		return false;
	if (b->piece <= 0)
		b->piece = PIECE_US;
	b->piece--;
	b->budget--;
	return true;
}

static void bulk_us(struct loop *l, int64_t bytes)
{
	struct policy_guest *p = of_bulk(l);
	struct bulk *b = &l->bulk;
	uint32_t percent = cap_to_percent(p->cap);

	if (bulk_runs(l, (percent ? percent : 100) * REFILL_US / 100)) {
		p->usage.cpu_ns += 1000;
		if (b->posted < b->depth && l->us >= b->next_us) {
			b->posted++;
			b->next_us = l->us + b->every_us;
		}
	}
	if (!b->posted)
		return;
	b->left -= bytes;
	if (b->left <= 0) {
		b->posted--;
		b->left = b->bytes;
		p->usage.mtus_sent += b->bytes / 1024;
	}
}

static void server_us(struct loop *l, uint32_t i, int64_t bytes)
{
	struct policy_guest *p = &l->g.in.guest[i];
	struct server *s = &l->server[i];
	uint64_t io;

	p->usage.cpu_ns += 1000;
	if (s->left <= 0) {
		if (--s->compute > 0)
			return;
		s->left = s->bytes;
		s->began = l->us;
		return;
	}
	s->left -= bytes;
	if (s->left > 0)
		return;
	io = (uint64_t)(l->us - s->began);
	p->report.n++;
	p->report.io_sum_ns += io * 1000;
	p->report.sum_ns += (io + COMPUTE_US) * 1000;
	p->report.io_sumsq_lo += io * 1000 * io * 1000;
	p->usage.mtus_sent += s->bytes / 1024;
	s->compute = COMPUTE_US;
	if (i)
		return;
	l->done++;
	l->whole_us += io + COMPUTE_US;
}

static void loop_us(struct loop *l)
{
	uint32_t busy = l->has_bulk && l->bulk.posted > 0;

	for (uint32_t i = 0; i < l->servers; i++)
		busy += l->server[i].left > 0;
	for (uint32_t i = 0; i < l->servers; i++)
		server_us(l, i, LINK_US / (busy ? busy : 1));
	if (l->has_bulk)
		bulk_us(l, LINK_US / (busy ? busy : 1));
	l->us++;
}

static void loop_ms(struct loop *l)
{
	obey(&l->g);
	for (uint32_t i = 0; i < l->g.in.guests; i++) {
		l->g.in.guest[i].usage = (struct usage){
			.slot = i,
			.msg_bytes = i < l->servers ? l->server[i].bytes : l->bulk.bytes,
		};
		memset(&l->g.in.guest[i].report, 0, sizeof(struct report));
	}
	for (int i = 0; i < 1000; i++)
		loop_us(l);
	l->g.in.now.ns += MS;
	rig_decide(&l->g);
}

/* Runs until ms since the begin; the mean of the first server's latency meanwhile, us. */
static uint64_t loop_until(struct loop *l, int64_t ms)
{
	uint64_t mean;

	while (l->us < ms * 1000)
		loop_ms(l);
	mean = l->done ? l->whole_us / l->done : 0;
	l->done = 0;
	l->whole_us = 0;
	return mean;
}

static uint32_t bulk_cap(const struct loop *l)
{
	return cap_to_percent(l->g.plan.guest[l->servers].cap);
}

/* The first ms at which the sender's cap is so low. */
static int64_t ms_of_cap(struct loop *l, uint32_t percent)
{
	while (!bulk_cap(l) || bulk_cap(l) > percent) {
		assert_true(l->us < 120 * 1000000);
		loop_ms(l);
	}
	return l->us / 1000;
}

static const struct bulk paper = { .depth = 1, .bytes = 2u << 20 };

TEST(paper__64_kb_beside_2_mb__cap_50_in_one_window_and_25_in_two)
{
	static struct loop l;
	int64_t ms;

	open_loop(&l, 1, &paper);
	assert_in_range(loop_until(&l, 50), 260, 280); /* 209 alone, 270 beside it */
	ms = ms_of_cap(&l, 50);
	print_message("cap 50 after %lld ms\n", (long long)ms);
	assert_in_range(ms, 50, 55);
	ms = ms_of_cap(&l, 25);
	print_message("cap 25 after %lld ms\n", (long long)ms);
	assert_in_range(ms, 100, 130);
	assert_int_equal(reason(&l.g, 0), HURT);
	assert_int_equal(reason(&l.g, 1), TAXED);
	loop_until(&l, 3000);
	assert_in_range(loop_until(&l, 4000), 209, 220); /* 5 % */
	assert_int_equal(reason(&l.g, 1), HELD);
	rig_close(&l.g);
}

TEST(paper__in_the_end__cap_stays_at_a_few_percent)
{
	static struct loop l;
	uint32_t low = 100, high = 0;
	uint64_t mean;

	open_loop(&l, 1, &paper);
	loop_until(&l, 40000);
	for (int i = 0; i < 20000; i++) {
		loop_ms(&l);
		low = bulk_cap(&l) < low ? bulk_cap(&l) : low;
		high = bulk_cap(&l) > high ? bulk_cap(&l) : high;
	}
	mean = loop_until(&l, 60001);
	print_message("caps %u to %u, mean %llu us\n", low, high, (unsigned long long)mean);
	assert_in_range(low, 3, 4);
	assert_in_range(high, low, 4);
	assert_in_range(mean, 209, 220);
	rig_close(&l.g);
}

TEST(paper__sender_stops__back_to_no_cap)
{
	static struct loop l;
	int64_t stopped = 3000;

	open_loop(&l, 1, &paper);
	loop_until(&l, stopped);
	assert_in_range(bulk_cap(&l), 1, 30);
	l.bulk.next_us = INT64_MAX;
	while (bulk_cap(&l)) {
		assert_true(l.us < 20 * 1000000);
		loop_ms(&l);
	}
	print_message("no cap after %lld ms\n", (long long)(l.us / 1000 - stopped));
	assert_in_range(l.us / 1000 - stopped, 1000, 6000);
	loop_until(&l, 25000);
	assert_int_equal(reason(&l.g, 0), UNHEARD); /* the other one reports nothing */
	assert_int_equal(reason(&l.g, 1), FREE);
	rig_close(&l.g);
}

/* What no cap controls: 64 MB outstanding are sent while the sender is parked. */
TEST(deep_queue__lowest_cap_is_in_vain__is_lifted_and_let_alone)
{
	const struct bulk deep = { .depth = 32, .bytes = 2u << 20 };
	static struct loop l;

	open_loop(&l, 1, &deep);
	ms_of_cap(&l, 1);
	while (reason(&l.g, 1) != FUTILE) {
		assert_true(l.us < 60 * 1000000);
		loop_ms(&l);
	}
	assert_false(l.g.plan.guest[1].cap.limited);
	loop_until(&l, l.us / 1000 + 10000);
	assert_int_equal(reason(&l.g, 0), NOBODY);
	assert_false(l.g.plan.guest[1].cap.limited);
	rig_close(&l.g);
}

/* Paper VII-C: the same amount of I/O is not penalized, though both are slower. */
TEST(paper__two_equal_reporters__are_never_capped)
{
	static struct loop l;

	open_loop(&l, 2, NULL);
	for (int i = 0; i < 10000; i++) {
		loop_ms(&l);
		assert_false(l.g.plan.guest[0].cap.limited);
		assert_false(l.g.plan.guest[1].cap.limited);
	}
	rig_close(&l.g);
}

/* Paper VII-C: 2 MB, 10 times in an epoch. */
TEST(paper__ten_large_messages_an_epoch__are_never_capped)
{
	const struct bulk seldom = { .depth = 1, .bytes = 2u << 20, .every_us = 100000 };
	static struct loop l;

	open_loop(&l, 1, &seldom);
	for (int i = 0; i < 10000; i++) {
		loop_ms(&l);
		assert_false(l.g.plan.guest[1].cap.limited);
	}
	rig_close(&l.g);
}

/* Without word from the server nobody is capped, whatever is sent. */
TEST(nobody_reports__nobody_is_capped)
{
	static struct loop l;

	open_loop(&l, 1, &paper);
	for (int i = 0; i < 3000; i++) {
		loop_ms(&l);
		assert_int_equal(state_of(&l.g, 1)->rate, ONE);
		l.g.in.guest[0].sla = (struct sla){ 0 }; /* and none is learned beside it */
		assert_false(l.g.plan.guest[1].cap.limited);
	}
	assert_int_equal(reason(&l.g, 0), NO_BASE);
	rig_close(&l.g);
}

/* --- random input -------------------------------------------------------------------------- */

enum { GUESTS = 6 };

static const uint32_t slots[GUESTS] = { 0, 1, 17, 128, 254, 255 };

static uint64_t some(struct prop *r, uint64_t usual)
{
	return prop_one_in(r, 30) ? prop_hostile(r) : prop_range(r, 0, usual);
}

static void random_params(struct prop *r, struct rig *g)
{
	for (const struct policy_param *p = g->ops->params; p->name; p++) {
		uint64_t low = p->min, high = p->max;

		if (prop_one_in(r, 2))
			continue;
		if (prop_one_in(r, 3))
			rig_param(g, p->name, prop_one_in(r, 2) ? low : high);
		else if (p->def > low && p->def * 4 < high)
			rig_param(g, p->name, prop_range(r, low, p->def * 4));
		else
			rig_param(g, p->name, prop_range(r, low, high));
	}
	if (prop_one_in(r, 2)) { /* so that much happens */
		rig_param(g, "window", prop_range(r, 1000000, 5000000));
		rig_param(g, "min_samples", prop_range(r, 1, 8));
		rig_param(g, "bite", prop_range(r, 0, 2000000));
		rig_param(g, "futile", prop_range(r, 0, 30000000));
		rig_param(g, "stale", prop_range(r, 10000000, 50000000));
	}
}

static void random_bounds(struct prop *r, struct policy_guest *p)
{
	p->bounds.vcpus = (uint32_t)(prop_one_in(r, 9) ? prop_range(r, 1, UINT32_MAX)
						       : prop_range(r, 1, 8));
	p->bounds.min_mpct = (uint32_t)prop_range(r, 1, 30) * 1000;
	p->bounds.ceiling = CAP_NONE;
	if (prop_one_in(r, 4))
		p->bounds.ceiling = CAP_PERCENT(prop_range(r, 1, 100 * p->bounds.vcpus % 9999 + 1));
}

static void random_report(struct prop *r, struct policy_guest *p)
{
	uint64_t io = prop_range(r, 0, 1u << prop_range(r, 10, 30));

	say(p, prop_range(r, 0, 5), io + prop_range(r, 0, 300000), io);
	if (prop_one_in(r, 20)) {
		p->report.n = some(r, 1u << 21);
		p->report.sum_ns = some(r, 1ull << 55);
		p->report.io_sum_ns = some(r, 1ull << 54);
		p->report.io_sumsq_hi = some(r, 1u << 25);
		p->report.io_sumsq_lo = prop_hostile(r);
	}
}

static void random_guest(struct prop *r, struct policy_guest *p)
{
	p->usage.mtus_sent = some(r, 1000);
	p->usage.mtus_recv = some(r, 100);
	p->usage.cpu_ns = some(r, 1000000);
	if (prop_one_in(r, 50))
		p->usage.msg_bytes = (uint32_t)some(r, 1u << prop_range(r, 10, 22));
	random_report(r, p);
	if (prop_one_in(r, 200))
		p->flags = (uint32_t)prop_range(r, 0, 3);
	else if (prop_one_in(r, 50))
		p->flags = POLICY_CAPPABLE;
	if (prop_one_in(r, 500))
		random_bounds(r, p);
	if (prop_one_in(r, 500))
		p->link = (uint32_t)prop_range(r, 0, FLOW_LINKS_MAX - 1);
	if (prop_one_in(r, 100))
		p->sla = (struct sla){ prop_one_in(r, 2) ? 0 : some(r, 400000), some(r, 90000),
				       some(r, 9000), (uint32_t)some(r, 200), 0 };
	p->allocated.m = prop_one_in(r, 5) ? 0 : 1000;
	p->balance.m = prop_one_in(r, 5) ? 0 : 1000;
}

/* Time goes on, guests come and go, caps are answered sooner or later. */
static void random_step(struct prop *r, struct rig *g)
{
	g->in.now.ns += (int64_t)(prop_one_in(r, 1000) ? prop_range(r, 0, 40 * NS_PER_S)
						       : prop_range(r, 0, 2 * NS_PER_MS));
	for (uint32_t i = 0; i < g->in.guests; i++) {
		struct policy_guest *p = &g->in.guest[i];
		struct cap c = cap_clamp(g->plan.guest[p->slot].cap, &p->bounds);

		p->flags &= ~(uint32_t)POLICY_NEW;
		random_guest(r, p);
		if (!cap_equal(p->cap, c) && prop_one_in(r, 3)) {
			p->cap = cap_from_percent(cap_to_percent(c));
			p->cap_time = g->in.now;
		}
		if (prop_one_in(r, 2))
			p->rate = g->plan.guest[p->slot].rate;
		if (prop_one_in(r, 2000)) {
			memset(state_of(g, p->slot), 0, sizeof(struct ios_guest));
			p->flags |= POLICY_NEW;
			p->rate = RATE_ONE;
			p->cap = CAP_NONE;
			p->cap_time.ns = 0;
		}
	}
	if (prop_one_in(r, 1000))
		g->in.link[0].mtu = (uint32_t)some(r, 4096);
	if (prop_one_in(r, 1000))
		g->in.link[0].bytes_s = some(r, 1ull << 31);
	if (prop_one_in(r, 5000))
		random_params(r, g);
}

static void open_random(struct prop *r, struct rig *g)
{
	ios_open_empty(g);
	for (uint32_t l = 2; l < FLOW_LINKS_MAX; l++)
		g->in.link[l] = g->in.link[0];
	for (uint32_t i = 0; i < GUESTS; i++) {
		struct policy_guest *p = rig_guest(g, slots[i]);

		random_bounds(r, p);
		p->link = i % 2;
		p->flags |= POLICY_NEW;
		g->plan.guest[slots[i]] = (struct plan_guest){ .rate = RATE_ONE };
	}
	random_params(r, g);
}

static bool within(uint64_t low, uint64_t v, uint64_t high)
{
	return low <= v && v <= high;
}

static uint64_t most_of_rate(const struct rig *g, const struct policy_guest *p)
{
	return ios_rate_max((const struct ios_params *)(const void *)g->params, p);
}

static void check_state(struct prop *r, uint64_t step, struct rig *g, const struct policy_guest *p)
{
	const struct ios_guest *s = state_of(g, p->slot);

	prop_assert(r, step, within(ONE, s->rate, most_of_rate(g, p)));
	prop_assert(r, step, s->cum_w <= 1ull << 62 && s->cum_raw <= 1ull << 62);
	prop_assert(r, step, s->w.n <= IOS_SAMPLES_MAX && s->w.cpu_ns <= 1ull << 62);
	prop_assert(r, step, s->w.io_sum <= s->w.sum && s->w.sum <= s->w.n << 34);
	prop_assert(r, step, s->verdict <= IOS_OVER && s->intf <= UINT32_MAX);
	prop_assert(r, step, s->excess <= 1ull << 42);
	prop_assert(r, step,
		    s->reports ||
			    (!s->w.open && !s->verdict && !s->intf && !s->excess && !s->holds));
	prop_assert(r, step, within(0, (uint64_t)s->pause, 100ull * NS_PER_S));
	prop_assert(r, step, within(0, s->before, UINT32_MAX) && s->next_rate <= UINT32_MAX);
	prop_assert(r, step, s->base.io <= 1ull << 34 && s->base.mean <= 1ull << 34);
	prop_assert(r, step, s->accuser < FLOW_GUESTS_MAX);
	prop_assert(r, step, s->blamed.most < FLOW_GUESTS_MAX && s->blamed.guests < GUESTS);
	prop_assert(r, step, s->rest_last.ns >= 0 && s->wait_since.ns <= g->in.now.ns);
}

static void check_plan(struct prop *r, uint64_t step, struct rig *g, const struct policy_guest *p)
{
	const struct plan_guest *out = &g->plan.guest[p->slot];

	prop_assert(r, step, out->rate.q16 == state_of(g, p->slot)->rate);
	prop_assert(r, step, cap_equal(out->cap, state_of(g, p->slot)->wanted));
	prop_assert(r, step, out->reason < REASONS && out->vf_bytes_s == 0);
	prop_assert(r, step, out->cap.limited || out->cap.mpct == 0);
	prop_assert(r, step,
		    cap_equal(out->cap, cap_clamp(out->cap, &p->bounds)) || !out->cap.limited);
	if (!(p->flags & POLICY_CAPPABLE) || (p->flags & POLICY_EXEMPT))
		prop_assert(r, step, !out->cap.limited);
	if (p->flags & POLICY_EXEMPT)
		prop_assert(r, step, out->rate.q16 == ONE && !state_of(g, p->slot)->next_rate);
	prop_assert(r, step,
		    out->cap.limited == (out->reason == TAXED || out->reason == EMPTY ||
					 out->reason == FADING || out->reason == FLOOR ||
					 out->reason == HELD));
	for (int i = 0; i < 4; i++)
		prop_assert(r, step, out->why[i] >= 0 && out->why[i] <= UINT32_MAX);
}

TEST(any_input__a_million_steps__all_stays_within_its_range)
{
	uint64_t seen[REASONS] = { 0 };
	static struct rig g;
	struct prop r;

	prop_start(&r);
	open_random(&r, &g);
	for (uint64_t i = 0; i < 1000000; i++) {
		random_step(&r, &g);
		g.ops->decide(&g.in, g.params, g.global, g.guests, &g.plan);
		for (uint32_t k = 0; k < GUESTS; k++) {
			check_state(&r, i, &g, &g.in.guest[k]);
			check_plan(&r, i, &g, &g.in.guest[k]);
			seen[g.plan.guest[slots[k]].reason]++;
		}
	}
	for (uint32_t i = 0; i < REASONS; i++)
		prop_assert(&r, i, seen[i] > 0); /* or the steps are not random enough */
	assert_true(rig_guarded(g.guests, g.ops->guest_size * FLOW_GUESTS_MAX));
	assert_true(rig_guarded(g.global, g.ops->global_size));
	rig_close(&g);
}

/* Two engines with the same input agree in every byte of plan and state. */
TEST(any_input__same_input__same_bytes)
{
	static struct rig a, b;
	struct prop r;

	prop_start(&r);
	open_random(&r, &a);
	rig_open(&b, a.ops);
	for (int i = 0; i < 3000; i++) {
		random_step(&r, &a);
		memcpy(&b.in, &a.in, sizeof(a.in));
		memcpy(b.params, a.params, a.ops->params_size);
		for (uint32_t k = 0; k < GUESTS; k++)
			if (a.in.guest[k].flags & POLICY_NEW)
				memset(state_of(&b, slots[k]), 0, sizeof(struct ios_guest));
		rig_decide(&a);
		memset(&b.plan, i & 0xff, sizeof(b.plan));
		b.ops->decide(&b.in, b.params, b.global, b.guests, &b.plan);
		for (uint32_t k = 0; k < GUESTS; k++)
			assert_memory_equal(&a.plan.guest[slots[k]], &b.plan.guest[slots[k]],
					    sizeof(a.plan.guest[0]));
		assert_memory_equal(a.global, b.global, a.ops->global_size);
		for (uint32_t k = 0; k < GUESTS; k++)
			assert_memory_equal(state_of(&a, slots[k]), state_of(&b, slots[k]),
					    sizeof(struct ios_guest));
	}
	rig_close(&a);
	rig_close(&b);
}
