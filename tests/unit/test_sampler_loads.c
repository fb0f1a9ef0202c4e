// SPDX-License-Identifier: GPL-2.0-or-later
/* sampler: what guests used of CPUs, as it is handed over. See src/tick/loads.h. */
#include <errno.h>

#include "tests/unit/sampler_rig.h"
#include "tests/unit/unit.h"

/* The newest figures; NULL: none since the last call. */
static const struct guest_loads *loads(struct sampler_rig *g)
{
	struct load_buffers *b = &g->ho.loads;

	return spsc_latest_get(&b->at) ? &b->buf[b->at.front] : NULL;
}

static void want(struct sampler_rig *g, uint32_t slot)
{
	g->ho.loads.wanted[slot / 64] |= 1ull << (slot % 64);
}

/* Slot 3, which has guest 7 in most tests, and each 10 ms. */
static void begin(struct sampler_rig *g)
{
	g->ho.loads.period_ns = 10 * MS;
	want(g, 3);
}

WITH_RIG(loads__read_by_nobody__are_not_counted)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	rig_tick(g, 100 * MS);
	assert_null(loads(g));
	assert_int_equal(g->s.slot[3].runnable_ns, 0);
}

WITH_RIG(loads__each_period__have_what_each_guest_used)
{
	struct sampler_rig *g = *state;
	const struct guest_loads *l;
	uint64_t lists;

	begin(g);
	want(g, 200);
	rig_join(g, 3, 9);
	rig_settled(g, 200, 7);
	fake_dom(&g->host, 9)->dom.vcpus = 4;
	fake_dom(&g->host, 9)->dom.flags = HV_DOM_BLOCKED;
	rig_tick(g, 10 * MS);
	l = loads(g);
	assert_non_null(l);
	assert_int_equal(l->time.ns, g->now.ns);
	assert_int_equal(l->guests, 2);
	assert_memory_equal(&l->guest[0].key, &g->guest[0].key, sizeof(l->guest[0].key));
	assert_int_equal(l->guest[0].key.domid, 7);
	assert_int_equal(l->guest[1].vcpus, 4);
	assert_int_equal(l->guest[1].flags, HV_DOM_BLOCKED);
	lists = g->host.lists;
	for (int i = 0; i < 9; i++) {
		fake_dom(&g->host, 7)->dom.cpu_ns += MS / 2;
		rig_tick(g, MS);
		assert_null(loads(g));
	}
	rig_tick(g, MS);
	assert_int_equal(g->host.lists, lists + 10); /* no further hypercall */
	l = loads(g);
	assert_non_null(l);
	assert_int_equal(l->guest[0].cpu_ns, 9 * MS / 2);
	assert_int_equal(g->s.slot[3].runnable_ns, l->guest[1].runnable_ns);
}

WITH_RIG(loads__of_guests_that_are_no_nodes__are_not_copied)
{
	struct sampler_rig *g = *state;
	const struct guest_loads *l;

	g->ho.loads.period_ns = 10 * MS;
	rig_join(g, 3, 9);
	rig_join(g, 67, 11);
	rig_settled(g, 200, 7);
	rig_tick(g, 10 * MS);
	l = loads(g);
	assert_non_null(l);
	assert_int_equal(l->guests, 0);
	want(g, 67);
	want(g, 68);
	rig_tick(g, 10 * MS);
	l = loads(g);
	assert_non_null(l);
	assert_int_equal(l->guests, 1);
	assert_int_equal(l->guest[0].key.domid, 11);
	g->ho.loads.wanted[1] = 0;
	rig_tick(g, 10 * MS);
	assert_int_equal(loads(g)->guests, 0);
}

/* A copy: what the guest writes later is not in it. */
WITH_RIG(loads__of_a_guest_with_a_load_page__have_a_copy_of_it)
{
	struct guest_load_page page = { .magic = 5, .record = { .beat = 6 } };
	struct sampler_rig *g = *state;
	const struct guest_loads *l;

	begin(g);
	rig_settled(g, 3, 7);
	rig_tick(g, 10 * MS);
	l = loads(g);
	assert_non_null(l);
	assert_false(l->guest[0].claims);
	((struct set_guest *)g->s.slot[3].guest)->scan->load = &page;
	rig_tick(g, 10 * MS);
	page.magic = 7;
	l = loads(g);
	assert_non_null(l);
	assert_true(l->guest[0].claims);
	assert_int_equal(l->guest[0].page.magic, 5);
	assert_int_equal(l->guest[0].page.record.beat, 6);
}

WITH_RIG(loads__of_guests_that_rest__count_no_time)
{
	static const struct {
		uint32_t flags;
		int64_t ms;
	} rows[] = {
		{ 0, 10 }, /* it waits: it is neither running nor blocked */
		{ HV_DOM_RUNNING, 10 },
		{ HV_DOM_RUNNING | HV_DOM_PV, 10 },
		{ HV_DOM_BLOCKED, 0 },
		{ HV_DOM_PAUSED, 0 },
		{ HV_DOM_SHUTDOWN, 0 },
	};
	struct sampler_rig *g = *state;
	uint64_t before;

	begin(g);
	rig_settled(g, 3, 7);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		before = g->s.slot[3].runnable_ns;
		fake_dom(&g->host, 7)->dom.flags = rows[i].flags;
		rig_tick(g, 4 * MS);
		rig_tick(g, 6 * MS);
		if (g->s.slot[3].runnable_ns - before != (uint64_t)(rows[i].ms * MS))
			fail_msg("row %u: %llu ns", i,
				 (unsigned long long)(g->s.slot[3].runnable_ns - before));
	}
}

WITH_RIG(loads__of_a_sampler_that_was_held_up__count_some_intervals)
{
	struct sampler_rig *g = *state;
	uint64_t before;

	begin(g);
	rig_settled(g, 3, 7);
	before = g->s.slot[3].runnable_ns;
	rig_tick(g, 7 * MS);
	assert_int_equal(g->s.slot[3].runnable_ns - before, 7 * MS);
	rig_tick(g, 500 * MS);
	assert_int_equal(g->s.slot[3].runnable_ns - before, 15 * MS);
}

WITH_RIG(loads__without_a_list_or_of_a_guest_that_is_gone__are_none)
{
	struct sampler_rig *g = *state;

	begin(g);
	rig_settled(g, 3, 7);
	rig_tick(g, 10 * MS);
	assert_int_equal(loads(g)->guests, 1);
	g->host.list_rc = -EIO;
	rig_tick(g, 10 * MS);
	assert_null(loads(g));
	g->host.list_rc = 0;
	rig_tick(g, MS); /* at once */
	assert_int_equal(loads(g)->guests, 1);
	fake_dom(&g->host, 7)->dom.flags = HV_DOM_DYING;
	rig_tick(g, 10 * MS);
	assert_int_equal(loads(g)->guests, 0);
	fake_dom_remove(&g->host, 7);
	rig_tick(g, 10 * MS);
	assert_int_equal(loads(g)->guests, 0);
}

/* Longer ticks than periods: one each tick. */
WITH_RIG(loads__after_a_late_tick__are_not_made_up_for)
{
	struct sampler_rig *g = *state;

	begin(g);
	rig_settled(g, 3, 7);
	rig_tick(g, 35 * MS);
	assert_non_null(loads(g));
	rig_tick(g, MS);
	assert_null(loads(g));
	rig_tick(g, 9 * MS);
	assert_non_null(loads(g));
}
