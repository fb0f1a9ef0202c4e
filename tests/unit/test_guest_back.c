// SPDX-License-Identifier: GPL-2.0-or-later
/* guest_back: rings at fault come back, and are forged when they stay at fault. */
#include "tests/unit/prop.h"

#include "tests/unit/guest_rig.h"
#include "tests/unit/unit.h"

/* A ring that is read, until its header is spoiled; it stays so. */
static void one_at_fault(struct fixture *x)
{
	add(x, 1, 16);
	attach(x);
	settle(x);
	*(uint8_t *)fake_ring_mem(&x->g, 0) ^= 1;
	assert_int_equal(guest_drop_faulty(x->mon, 1, RING_FAULT_HEADER, x->now), 1);
	guest_reap(x->mon);
}

/* Not for ever: a guest that forges one word once must not send for nothing from then on. */
RIG_TEST(faults__ring_still_published__comes_back_and_its_history_is_not_counted)
{
	struct fixture *x = *state;
	struct guest_forged f;
	struct ring_totals t;
	struct sample s;

	add(x, 1, 16);
	attach(x);
	settle(x);
	assert_int_equal(guest_drop_faulty(x->mon, 1, RING_FAULT_INDEX, x->now), 1);
	guest_reap(x->mon);
	assert_int_equal(look(x)->unreadable, 1);
	x->now.ns += (GUEST_RETRY_MIN_MS - 1) * MS;
	assert_false(guest_due(x->mon, x->now));
	x->now.ns += MS;
	assert_int_equal(guest_refresh(x->mon, x->now), 1);
	assert_int_equal(rings(x), 1);
	assert_int_equal(x->ring[0].old, 1);
	assert_int_equal(look(x)->unreadable, 0);
	assert_false(guest_forged_next(x->mon, &f) || look(x)->forged);
	assert_int_equal(ring_sample(x->ring[0].ring, MS, &s), 0);
	ring_totals(x->ring[0].ring, &t);
	assert_int_equal(s.wrs | t.wrs | t.mtus_sent, 0);
	assert_true(s.flags & SAMPLE_UNCHARGED);
}

RIG_TEST(faults__ring_that_stays_at_fault__is_forged_and_tried_ever_more_seldom)
{
	struct fixture *x = *state;
	struct guest_forged f;
	uint64_t calls;

	one_at_fault(x);
	calls = x->g.m.calls;
	fake_registry(&x->g)->heartbeat += 2;
	x->now.ns += 100 * MS;
	guest_refresh(x->mon, x->now);
	assert_false(guest_forged_next(x->mon, &f)); /* its owner may just have destroyed it */
	x->now.ns += 200 * MS;
	guest_refresh(x->mon, x->now);
	assert_true(guest_forged_next(x->mon, &f));
	assert_int_equal(f.id, 1);
	assert_int_equal(f.why, RING_FAULT_HEADER);
	assert_int_equal(f.times, 1);
	assert_false(guest_forged_next(x->mon, &f));
	assert_true(look(x)->forged);
	for (int i = 0; i < 1000; i++) {
		x->now.ns += 100 * MS;
		guest_refresh(x->mon, x->now);
	}
	/* at 0.1, 0.3, 0.7, 1.5, 3.1, 6.3, 12.7 s, then each 10 s */
	assert_in_range(x->g.m.calls - calls, 14, 16);
	*(uint8_t *)fake_ring_mem(&x->g, 0) ^= 1;
	x->now.ns += 10000 * MS;
	guest_refresh(x->mon, x->now);
	assert_int_equal(rings(x), 1);
	assert_true(look(x)->forged); /* for a while after */
	x->now.ns += GUEST_FORGED_S * 1000LL * MS;
	assert_false(look(x)->forged);
	assert_in_range(x->st.forged_times, 13, 16);
}

RIG_TEST(faults__ring_withdrawn_in_time__is_not_forged)
{
	struct fixture *x = *state;
	struct guest_forged f;

	add(x, 1, 16);
	add(x, 2, 16);
	attach(x);
	settle(x);
	assert_int_equal(guest_drop_faulty(x->mon, 1, RING_FAULT_HEADER, x->now), 1);
	guest_reap(x->mon);
	drop(x, 0);
	x->now.ns += 400 * MS;
	settle(x);
	assert_int_equal(rings(x), 1);
	assert_int_equal(x->ring[0].id, 2);
	assert_false(guest_forged_next(x->mon, &f) || look(x)->forged);
}

/* Of a guest that is capped hard, the agent may have had no time to withdraw the ring. */
RIG_TEST(faults__agent_does_not_run__is_not_forged_for_10_s_and_unreadable_meanwhile)
{
	struct fixture *x = *state;
	struct guest_forged f;

	one_at_fault(x);
	fake_registry(&x->g)->heartbeat++; /* it may have looked before the fault */
	for (int i = 0; i < 99; i++) {
		x->now.ns += 100 * MS;
		guest_refresh(x->mon, x->now);
		assert_int_equal(look(x)->unreadable, 1);
		assert_false(x->st.forged || guest_forged_next(x->mon, &f));
	}
	for (int i = 0; i < 30; i++) { /* the next try is 12.7 s after the fault */
		x->now.ns += 100 * MS;
		guest_refresh(x->mon, x->now);
	}
	assert_true(look(x)->forged && guest_forged_next(x->mon, &f));
	assert_int_equal(x->st.unreadable, 1);
}

RIG_TEST(faults__agent_runs_again_and_withdraws_the_ring__is_not_forged)
{
	struct fixture *x = *state;
	struct guest_forged f;

	one_at_fault(x);
	for (int i = 0; i < 50; i++) {
		x->now.ns += 100 * MS;
		guest_refresh(x->mon, x->now);
	}
	drop(x, 0);
	fake_registry(&x->g)->heartbeat += 2;
	settle(x);
	x->now.ns += 10000 * MS;
	settle(x);
	assert_int_equal(look(x)->unreadable, 0);
	assert_false(x->st.forged || guest_forged_next(x->mon, &f));
}

RIG_TEST(faults__agent_runs_and_publishes_the_ring__is_forged_at_the_next_try)
{
	struct fixture *x = *state;
	struct guest_forged f;

	one_at_fault(x);
	for (int i = 0; i < 15; i++) {
		fake_registry(&x->g)->heartbeat += i % 5 == 4;
		x->now.ns += 100 * MS;
		guest_refresh(x->mon, x->now);
		assert_int_equal(guest_forged_next(x->mon, &f), i == 14);
	}
}
