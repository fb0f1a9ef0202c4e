// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * still: guests that are left out of a tick. Two samplers on equal hosts, whose policy is
 * freemarket: in one its plans stand as it says, in the other only for an interval. All that
 * others see of the two must be equal to the byte.
 */
#include <errno.h>

#include "tests/unit/sampler_rig.h"
#include "tests/unit/unit.h"

enum { GUESTS = 8, STEPS = 40000 };

static const uint32_t slots[GUESTS] = { 0, 3, 63, 64, 65, 130, 200, 255 };

static void plain_decide(const struct policy_in *in, const void *params, void *global, void *guests,
			 struct plan *plan)
{
	for (uint32_t i = 0; i < in->guests; i++)
		assert_false(policy_stands(in, i));
	policy_freemarket.decide(in, params, global, guests, plan);
	for (uint32_t i = 0; i < in->guests; i++)
		plan->guest[in->guest[i].slot].stands.m = 0;
}

struct twins {
	struct prop p;
	uint64_t step, left_out;
	struct sampler_rig *g[2];
	uint64_t cpu_ns[GUESTS]; /* that each uses in an interval, at most */
	const struct snapshot *shown;
	struct policy_guest before[FLOW_GUESTS_MAX]; /* by slot: entries of the last tick */
};

static uint32_t domid_of(uint32_t i)
{
	return 5 + 3 * ((i * 5) % GUESTS); /* in another order than the slots */
}

static void open_twins(struct twins *t)
{
	static struct policy_ops plain;

	plain = policy_freemarket;
	plain.decide = plain_decide;
	memset(t, 0, sizeof(*t));
	for (int k = 0; k < 2; k++) {
		t->g[k] = malloc(sizeof(*t->g[k]));
		assert_non_null(t->g[k]);
		rig_open_with(t->g[k], k ? &plain : &policy_freemarket);
		t->g[k]->ho.loads.period_ns = 7 * MS;
		for (int i = 0; i < 4; i++)
			atomic_store(&t->g[k]->ho.loads.wanted[i], UINT64_MAX);
		for (uint32_t i = 0; i < GUESTS; i++)
			rig_join(t->g[k], slots[i], domid_of(i));
		rig_publish(t->g[k]);
	}
}

static void close_twins(struct twins *t)
{
	for (int k = 0; k < 2; k++) {
		rig_teardown((void **)&t->g[k]);
		t->g[k] = NULL;
	}
}

static struct set_guest *settings_of(struct sampler_rig *g, uint32_t slot)
{
	for (uint32_t i = 0; i < g->guests; i++)
		if (g->guest[i].slot == slot)
			return &g->guest[i];
	return NULL;
}

/* --- what happens, to both ------------------------------------------------------- */

static void change_set(struct twins *t, uint32_t slot)
{
	struct prop *p = &t->p;
	uint32_t flags = prop_one_in(p, 4) ? (uint32_t)prop_range(p, 0, 3) : POLICY_CAPPABLE;
	uint32_t vcpus = (uint32_t)prop_range(p, 1, 4), unreadable = prop_one_in(p, 4);
	struct cap ceiling = prop_one_in(p, 3) ? CAP_PERCENT(prop_range(p, 1, 90)) : CAP_NONE;
	bool rested = prop_one_in(p, 2);

	for (int k = 0; k < 2; k++) {
		struct set_guest *e = settings_of(t->g[k], slot);

		if (!e)
			return;
		e->flags = flags;
		e->vcpus = e->bounds.vcpus = vcpus;
		e->bounds.ceiling = ceiling;
		e->unreadable = unreadable;
		e->unreadable_mtus_s = 3000;
		t->g[k]->scan[slot].rested_mtus = rested ? 5 : 0;
		rig_publish(t->g[k]);
	}
}

static void leave_or_join(struct twins *t, uint32_t i)
{
	for (int k = 0; k < 2; k++) {
		if (settings_of(t->g[k], slots[i]))
			rig_leave(t->g[k], domid_of(i));
		else
			rig_join(t->g[k], slots[i], domid_of(i));
		rig_publish(t->g[k]);
	}
}

static void change_domain(struct twins *t, uint32_t domid)
{
	uint64_t what = prop_range(&t->p, 0, 9), cpu_ns = prop_hostile(&t->p);

	for (int k = 0; k < 2; k++) {
		struct fake_dom *d = fake_dom(&t->g[k]->host, domid);

		if (what == 0)
			d->dom.flags |= HV_DOM_DYING;
		else if (what == 1)
			d->dom.uuid[3] = 0xee;
		else if (what == 2)
			d->dom.cpu_ns = cpu_ns;
		else if (what == 3)
			d->set_rc = -EBUSY;
		else if (what == 4)
			d->dom.flags ^= HV_DOM_BLOCKED;
		if (what < 4)
			continue;
		d->dom.flags &= ~(uint32_t)HV_DOM_DYING; /* it is well again */
		d->dom.uuid[3] = d->dom.uuid[2];
		d->set_rc = 0;
	}
}

static void change_scan(struct twins *t, uint32_t slot)
{
	uint64_t what = prop_range(&t->p, 0, 11), n = prop_range(&t->p, 0, 40000);

	for (int k = 0; k < 2; k++) {
		struct rig_scan *sc = &t->g[k]->scan[slot];

		switch (what) {
		case 0:
			sc->add.mtus_sent = sc->add.wrs = n;
			sc->add.msg_bytes = 1024;
			break;
		case 1:
			sc->add.backlog = n % 3;
			sc->add.queues = sc->add.backlog ? n / 3 % 3 : 0;
			break;
		case 2:
			sc->report = (struct report){ .n = n % 4,
						      .sum_ns = n % 4 * n,
						      .io_sum_ns = n % 4 * (n / 2) };
			sc->latency_ns = n / 4;
			break;
		case 3:
			sc->res.refresh = n % 2;
			sc->res.faults = (uint32_t)(n % 3);
			break;
		default: /* it does nothing any more */
			*sc = (struct rig_scan){ 0 };
		}
	}
}

static int64_t random_time(struct twins *t)
{
	if (prop_one_in(&t->p, 300))
		return -(int64_t)prop_range(&t->p, 0, 3 * (uint64_t)MS);
	if (prop_one_in(&t->p, 100))
		return (int64_t)prop_range(&t->p, 0, 30 * (uint64_t)MS);
	return prop_one_in(&t->p, 1000) ? 2 * S : MS;
}

static void change_something(struct twins *t)
{
	struct prop *p = &t->p;
	uint32_t i = (uint32_t)prop_range(p, 0, GUESTS - 1);
	bool list_fails = prop_one_in(p, 200), again = prop_one_in(p, 150);

	if (prop_one_in(p, 10))
		change_scan(t, slots[i]);
	if (prop_one_in(p, 80))
		change_domain(t, domid_of(i));
	if (prop_one_in(p, 250))
		change_set(t, slots[i]);
	if (prop_one_in(p, 500))
		leave_or_join(t, i);
	if (prop_one_in(p, 40))
		t->cpu_ns[i] = prop_one_in(p, 3) ? 0 : 1ull << prop_range(p, 1, 24);
	for (int k = 0; k < 2; k++) {
		t->g[k]->host.list_rc = list_fails ? -EIO : 0;
		if (again)
			atomic_fetch_or(&t->g[k]->ho.send_again[slots[i] / 64],
					1ull << (slots[i] % 64));
	}
}

static void use_cpu(struct twins *t)
{
	for (uint32_t i = 0; i < GUESTS; i++) {
		uint64_t ns = t->cpu_ns[i] ? prop_range(&t->p, 0, t->cpu_ns[i]) : 0;

		for (int k = 0; k < 2; k++)
			fake_dom(&t->g[k]->host, domid_of(i))->dom.cpu_ns += ns;
	}
}

/* --- what others see -------------------------------------------------------------- */

#define SAME(cond) prop_assert(&t->p, t->step, cond)

static bool equal(const void *a, const void *b, size_t size)
{
	return !memcmp(a, b, size);
}

/* But for CPU time, and what is left after it. */
static bool same_entry(struct policy_guest a, const struct policy_guest *b)
{
	a.usage.cpu_ns = b->usage.cpu_ns;
	a.balance = b->balance;
	return equal(&a, b, sizeof(a));
}

static void check_policy(struct twins *t)
{
	const struct sampler *a = &t->g[0]->s, *b = &t->g[1]->s;
	const struct policy_inst *pa = t->g[0]->policy, *pb = t->g[1]->policy;

	SAME(equal(pa->guests, pb->guests, FLOW_GUESTS_MAX * pa->ops->guest_size));
	SAME(a->in.guests == b->in.guests);
	for (uint32_t i = 0; i < a->in.guests; i++) {
		uint32_t slot = a->in.guest[i].slot;
		struct plan_guest x = a->plan.guest[slot], y = b->plan.guest[slot];

		y.stands = x.stands;
		if (policy_stands(&a->in, i)) {
			SAME(same_entry(a->in.guest[i], &b->in.guest[i]));
			SAME(same_entry(t->before[slot], &b->in.guest[i]));
			memcpy(x.why, y.why, sizeof(x.why));
			t->left_out++;
		} else {
			SAME(equal(&a->in.guest[i], &b->in.guest[i], sizeof(a->in.guest[i])));
			SAME(equal(&a->ledger.acc[slot], &b->ledger.acc[slot],
				   sizeof(a->ledger.acc[slot])));
		}
		SAME(equal(&x, &y, sizeof(x)));
		t->before[slot] = b->in.guest[i];
	}
}

static void check_snapshot(struct twins *t)
{
	const struct snapshot *a = snap_latest(&t->g[0]->ho), *b = snap_latest(&t->g[1]->ho);

	SAME(!a == !b);
	if (!a || a == t->shown)
		return;
	t->shown = a;
	SAME(a->time.ns == b->time.ns && a->guests == b->guests && a->supply.m == b->supply.m &&
	     a->overcommit.m == b->overcommit.m && a->dropped.m == b->dropped.m);
	for (uint32_t i = 0; i < a->guests; i++) {
		struct snap_guest x = a->guest[i], y = b->guest[i];

		y.plan.stands = x.plan.stands;
		SAME(equal(&x, &y, sizeof(x)));
	}
}

static void check_loads(struct twins *t)
{
	struct load_buffers *a = &t->g[0]->ho.loads, *b = &t->g[1]->ho.loads;
	bool shown = spsc_latest_get(&a->at);

	SAME(shown == spsc_latest_get(&b->at));
	if (!shown)
		return;
	SAME(a->buf[a->at.front].guests == b->buf[b->at.front].guests);
	for (uint32_t i = 0; i < a->buf[a->at.front].guests; i++)
		SAME(equal(&a->buf[a->at.front].guest[i], &b->buf[b->at.front].guest[i],
			   offsetof(struct guest_load, page)));
}

static void check(struct twins *t)
{
	struct sampler_rig *a = t->g[0], *b = t->g[1];

	SAME(a->events == b->events);
	SAME(equal(a->event, b->event, a->events * sizeof(a->event[0])));
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		SAME(atomic_load(&a->ho.mail[i].want) == atomic_load(&b->ho.mail[i].want) &&
		     atomic_load(&a->ho.mail[i].expect) == atomic_load(&b->ho.mail[i].expect));
	check_policy(t);
	check_snapshot(t);
	check_loads(t);
	SAME(rig_take_foreign(a) == rig_take_foreign(b));
	for (int k = 0; k < 2; k++)
		t->g[k]->host.calls = 0;
}

TEST(still__guests_left_out_of_ticks__change_nothing_that_others_see)
{
	static struct twins t;

	open_twins(&t);
	prop_start(&t.p);
	for (t.step = 0; t.step < STEPS; t.step++) {
		int64_t ns = random_time(&t);
		bool acts = !prop_one_in(&t.p, 3);

		change_something(&t);
		use_cpu(&t);
		for (int k = 0; k < 2; k++)
			rig_tick(t.g[k], ns);
		check(&t);
		for (int k = 0; acts && k < 2; k++)
			rig_actor(t.g[k]);
	}
	print_message("left out: %llu of %d\n", (unsigned long long)t.left_out, STEPS * GUESTS);
	prop_assert(&t.p, t.step, t.left_out > STEPS / 2);
	close_twins(&t);
}

/* --- when a guest is left out ------------------------------------------------------ */

/* A guest in slot 3, whose plan stands for a balance of this and more. No snapshot is due. */
static const struct policy_in *standing(struct sampler_rig *g, uint32_t flags, int64_t to)
{
	rig_wish(g)->stands[3].m = to;
	rig_join(g, 3, 7)->flags = flags;
	rig_publish(g);
	g->s.snap_at = UINT64_MAX;
	rig_tick(g, MS);
	rig_next_epoch(g);
	rig_tick(g, MS);
	return &g->s.in;
}

static void use_ns(struct sampler_rig *g, uint64_t ns)
{
	fake_dom(&g->host, 7)->dom.cpu_ns += ns;
	rig_tick(g, MS);
}

WITH_RIG(still__plan_does_not_stand__is_asked_in_each_tick)
{
	struct sampler_rig *g = *state;

	assert_int_equal(standing(g, POLICY_CAPPABLE, 0)->still[0], 0);
}

WITH_RIG(still__plan_stands__is_not_asked)
{
	struct sampler_rig *g = *state;

	assert_int_equal(standing(g, POLICY_CAPPABLE, 1)->still[0], 1);
}

WITH_RIG(still__may_not_be_capped__is_not_asked)
{
	struct sampler_rig *g = *state;

	assert_int_equal(standing(g, 0, 1)->still[0], 1);
}

WITH_RIG(still__nobody_is_capped__is_not_asked)
{
	struct sampler_rig *g = *state;

	g->ho.observe = 1;
	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	assert_int_equal(standing(g, POLICY_CAPPABLE, 1)->still[0], 1);
}

WITH_RIG(still__cap_is_not_in_force_yet__is_asked_in_each_tick)
{
	struct sampler_rig *g = *state;
	const struct policy_in *in;

	rig_wish(g)->cap[3] = CAP_PERCENT(30);
	in = standing(g, POLICY_CAPPABLE, 1);
	assert_int_equal(in->still[0], 0);
	rig_actor(g);
	rig_tick(g, MS);
	assert_int_equal(in->still[0], 0);
	rig_tick(g, MS);
	assert_int_equal(in->still[0], 1);
}

WITH_RIG(still__what_is_under_way_changes__is_asked_at_once)
{
	static const struct usage adds[] = {
		{ .backlog = 4 }, { .backlog = 5 }, { .backlog = 5, .queues = 2 }, { .backlog = 0 }
	};
	struct sampler_rig *g = *state;
	const struct policy_in *in = standing(g, POLICY_CAPPABLE, 1);

	for (size_t i = 0; i < sizeof(adds) / sizeof(adds[0]); i++) {
		g->scan[3].add = adds[i];
		rig_tick(g, MS);
		assert_int_equal(in->still[0], 0);
		rig_tick(g, MS);
		assert_int_equal(in->still[0], 1);
	}
}

/* Also when the guest's rings are those of the former set. */
WITH_RIG(still__set_changes__is_asked_at_once)
{
	struct sampler_rig *g = *state;
	const struct policy_in *in = standing(g, POLICY_CAPPABLE, 1);
	struct guest_set *former = g->s.set, *set;

	g->guest[0].flags |= POLICY_EXEMPT;
	set = rig_publish(g);
	free(set->guest[0].scan);
	set->guest[0].scan = former->guest[0].scan;
	g->now.ns += MS;
	tick(&g->s, g->now);
	former->guest[0].scan = NULL;
	assert_int_equal(in->still[0], 0);
	assert_int_equal(in->guest[0].flags, POLICY_CAPPABLE | POLICY_EXEMPT);
}

/* It did nothing else: only what the set left out says that it worked. */
WITH_RIG(still__set_leaves_out_a_ring_that_worked__work_is_counted_once)
{
	struct sampler_rig *g = *state;
	const struct policy_in *in = standing(g, POLICY_CAPPABLE, 1);

	g->scan[3].rested_mtus = 500;
	rig_publish(g);
	rig_tick(g, MS);
	assert_int_equal(in->still[0], 0);
	assert_int_equal(in->guest[0].usage.mtus_sent, 500);
	rig_tick(g, MS);
	assert_int_equal(in->guest[0].usage.mtus_sent, 0);
	assert_int_equal(slot_total(&g->s.slot[3]).mtus_sent, 500);
	assert_int_equal(rig_account(g, 3)->charged_io.m, RESOS(500));
}

WITH_RIG(still__cpu_time__is_charged_before_it_is_shown)
{
	struct sampler_rig *g = *state;
	const struct policy_in *in = standing(g, POLICY_CAPPABLE, 1);
	int64_t had = rig_account(g, 3)->balance.m;

	for (int i = 0; i < 5; i++) {
		use_ns(g, 1000);
		assert_int_equal(in->still[0], 1);
	}
	g->s.snap_at = 0;
	use_ns(g, 1000);
	assert_int_equal(in->still[0], 0);
	assert_int_equal(snap_latest(&g->ho)->guest[0].account.balance.m, had - 600);
	assert_int_equal(snap_latest(&g->ho)->guest[0].epoch_usage.cpu_ns, 6000);
	assert_int_equal(in->guest[0].usage.cpu_ns, 1000); /* of this interval alone */
}

/* To the last nanosecond: the fraction of a milli-Reso that was carried over counts, too. */
WITH_RIG(still__balance_is_spent_down_to_what_the_plan_stands_for)
{
	struct sampler_rig *g = *state;
	const struct policy_in *in = standing(g, POLICY_CAPPABLE, 1);
	int64_t had;

	g->s.snap_at = 0;
	use_ns(g, 9);
	g->s.snap_at = 0;
	had = rig_account(g, 3)->balance.m;
	rig_wish(g)->stands[3].m = had - 3;
	use_ns(g, 0);
	g->s.snap_at = UINT64_MAX;
	use_ns(g, 13);
	use_ns(g, 17);
	assert_int_equal(in->still[0], 1);
	use_ns(g, 1);
	assert_int_equal(in->still[0], 0);
	assert_int_equal(rig_account(g, 3)->balance.m, had - 4);
}

/* The rate is part of what a policy is told, and of how long the CPU time left lasts. */
WITH_RIG(still__rate_changes__is_asked_at_each_rate)
{
	struct sampler_rig *g = *state;
	const struct policy_in *in;

	rig_wish(g)->rate[3] = (struct rate){ 2 * 65536 };
	in = standing(g, POLICY_CAPPABLE, 1);
	for (int i = 0; i < 3; i++) { /* the cap is as it was: the rate is in force at once */
		rig_tick(g, MS);
		assert_int_equal(in->still[0], 0);
	}
	rig_wish(g)->rate[3] = RATE_ONE;
	for (int i = 0; i < 2; i++) {
		rig_tick(g, MS);
		assert_int_equal(in->still[0], 0);
	}
	rig_tick(g, MS);
	assert_int_equal(in->still[0], 1);
	assert_int_equal(in->guest[0].rate.q16, 65536);
}

/* A rate that is in force from this tick on. */
WITH_RIG(still__rate_rises__is_asked_in_the_next_tick)
{
	struct sampler_rig *g = *state;
	const struct policy_in *in = standing(g, POLICY_CAPPABLE, 1);

	rig_wish(g)->rate[3] = (struct rate){ 2 * 65536 };
	g->scan[3].add.backlog = 1;
	rig_tick(g, MS);
	rig_tick(g, MS);
	assert_int_equal(in->still[0], 0);
	assert_int_equal(in->guest[0].rate.q16, 2 * 65536);
}

WITH_RIG(still__policy_without_guests__is_asked_in_each_tick)
{
	struct sampler_rig *g = *state;
	const struct rig_block *all = g->policy->global;

	for (int i = 0; i < 3; i++)
		rig_tick(g, MS);
	assert_int_equal(all->decisions, 3);
}
