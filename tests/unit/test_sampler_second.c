// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sampler: what a guest did in the last whole second, as snapshots show it. The rest of snapshots
 * is test_sampler's.
 */
#include "tests/unit/sampler_rig.h"
#include "tests/unit/unit.h"

/* What an epoch brings: of one VCPU, and of the paper's link. */
#define SHARE (RESOS(100000) + RESOS(1048576))

static void ticks(struct sampler_rig *g, int n)
{
	while (n--)
		rig_tick(g, MS);
}

static void use_cpu(struct sampler_rig *g, uint32_t domid, uint64_t ns)
{
	fake_dom(&g->host, domid)->dom.cpu_ns += ns;
}

/* As control sees it after one more tick: of the first guest of the newest snapshot. */
static struct span seen(struct sampler_rig *g)
{
	g->s.snap_at = 0;
	rig_tick(g, MS);
	return snap_latest(&g->ho)->guest[0].second;
}

/* Before any guest is there. */
static void open_with_epoch(struct sampler_rig *g, int64_t epoch_ns)
{
	g->s.period.epoch_ns = epoch_ns;
	g->s.ledger.epoch_ns = epoch_ns;
}

WITH_RIG(second__guest_that_saw_no_whole_one__has_none)
{
	struct sampler_rig *g = *state;

	rig_tick(g, 300 * MS);
	rig_join(g, 3, 7);
	rig_publish(g);
	g->scan[3].add = (struct usage){ .mtus_sent = 1 };
	ticks(g, 700); /* also not of the part of an epoch in which it came */
	assert_int_equal(seen(g).ns, 0);
	ticks(g, 997);
	assert_int_equal(seen(g).ns, 0);
	assert_int_equal(seen(g).ns, S);
}

WITH_RIG(second__counts_what_was_added_in_it_and_no_more)
{
	struct sampler_rig *g = *state;
	struct span d;

	rig_settled(g, 3, 7);
	g->scan[3].add = (struct usage){
		.mtus_sent = 2, .mtus_recv = 1, .bytes_sent = 2000, .bytes_recv = 900
	};
	for (int i = 0; i < 1000; i++) {
		use_cpu(g, 7, 250000);
		rig_tick(g, MS);
	}
	d = seen(g); /* what came after the second is not part of it */
	assert_int_equal(d.ns, S);
	assert_int_equal(d.mtus_sent, 2000);
	assert_int_equal(d.mtus_recv, 1000);
	assert_int_equal(d.bytes_sent, 2000000);
	assert_int_equal(d.bytes_recv, 900000);
	assert_int_equal(d.cpu_ns, 250 * MS);
	assert_int_equal(d.allocated.m, SHARE);
	assert_int_equal(d.spent.m, RESOS(3000) + RESOS(25000));
	assert_int_equal(d.capped_ns, 0);
	g->scan[3].add = (struct usage){ 0 };
	ticks(g, 2000);
	d = seen(g);
	assert_int_equal(d.mtus_sent + d.cpu_ns, 0);
	assert_int_equal(d.allocated.m, SHARE);
	assert_int_equal(d.spent.m, 0);
}

/* CPU time of a guest that is still is charged later: it counts in the second that it was used. */
WITH_RIG(second__still_guest__has_all_of_its_cpu_time)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	rig_wish(g)->stands[3].m = 1;
	for (int i = 0; i < 1000; i++) {
		use_cpu(g, 7, 1000);
		rig_tick(g, MS);
	}
	assert_true(g->s.slot[3].still);
	assert_int_equal(seen(g).cpu_ns, MS);
}

WITH_RIG(second__late_tick__is_as_long_as_it_was)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	ticks(g, 700);
	use_cpu(g, 7, 30 * MS);
	rig_tick(g, 2500 * MS);
	assert_int_equal(seen(g).ns, 3200 * MS);
	assert_int_equal(seen(g).cpu_ns, 30 * MS);
	ticks(g, 800);
	assert_int_equal(seen(g).ns,
			 800 * MS); /* to the end of the epoch: epochs stay where they are */
}

static void assert_second(struct sampler_rig *g, int64_t epoch_ns, int64_t ns)
{
	open_with_epoch(g, epoch_ns);
	rig_settled(g, 3, 7);
	ticks(g, (int)(ns / MS) - 2);
	assert_int_equal(seen(g).ns, 0);
	assert_int_equal(seen(g).ns, ns);
}

WITH_RIG(second__short_epochs__is_of_as_many_as_make_one)
{
	assert_second(*state, 300 * MS, 1200 * MS);
}

WITH_RIG(second__long_epoch__is_one)
{
	assert_second(*state, 3 * S, 3 * S);
}

/* From when it was set, not from when it was wanted or seen. */
WITH_RIG(second__cap_in_part_of_it__counts_that_part)
{
	struct sampler_rig *g = *state;
	struct mono set;

	rig_settled(g, 3, 7);
	ticks(g, 99);
	rig_wish(g)->cap[3] = CAP_PERCENT(20);
	rig_tick(g, MS);
	set = g->a.clock.now(&g->a.clock);
	rig_actor(g);
	ticks(g, 300);
	rig_wish(g)->cap[3] = CAP_PERCENT(50); /* another cap is a cap all the same */
	rig_tick(g, MS);
	rig_actor(g);
	ticks(g, 99);
	rig_wish(g)->cap[3] = CAP_NONE;
	rig_tick(g, MS);
	rig_actor(g);
	ticks(g, 499);
	assert_int_equal(seen(g).capped_ns, g->s.slot[3].cap_time.ns - set.ns);
	assert_in_range(seen(g).capped_ns, 400 * MS, 402 * MS);
	ticks(g, 1000);
	assert_int_equal(seen(g).capped_ns, 0);
}

WITH_RIG(second__cap_over_its_end__counts_in_both)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	rig_wish(g)->cap[3] = CAP_PERCENT(20);
	ticks(g, 750);
	rig_actor(g);
	ticks(g, 250);
	assert_int_equal(seen(g).capped_ns, 250 * MS);
	ticks(g, 1000);
	assert_int_equal(seen(g).capped_ns, S);
}

/* It is the operator's will, and no policy's. */
WITH_RIG(second__guests_own_cap__is_none_that_counts)
{
	struct sampler_rig *g = *state;
	struct set_guest *e = rig_join(g, 3, 7);

	e->own = e->bounds.ceiling = CAP_PERCENT(40);
	fake_dom(&g->host, 7)->params.cap = CAP_PERCENT(40);
	rig_publish(g);
	rig_tick(g, MS);
	rig_next_epoch(g);
	ticks(g, 999);
	assert_int_equal(seen(g).ns, S);
	assert_int_equal(seen(g).capped_ns, 0);
	rig_wish(g)->cap[3] = CAP_PERCENT(39);
	ticks(g, 499); /* two more: seen() */
	rig_actor(g);  /* at 500 ms */
	ticks(g, 498);
	assert_int_equal(seen(g).capped_ns, 0);
	assert_int_equal(seen(g).capped_ns, 500 * MS);
	e->own = CAP_PERCENT(39); /* the operator has lowered it to the same */
	ticks(g, 299);
	rig_publish(g);
	ticks(g, 700);
	assert_int_equal(seen(g).capped_ns, 300 * MS);
	ticks(g, 1000);
	assert_int_equal(seen(g).capped_ns, 0);
}

WITH_RIG(second__slot_taken_by_another__begins_anew)
{
	struct sampler_rig *g = *state;

	rig_settled(g, 3, 7);
	rig_wish(g)->cap[3] = CAP_PERCENT(20);
	ticks(g, 10);
	rig_actor(g);
	ticks(g, 1000);
	assert_true(seen(g).ns);
	rig_leave(g, 7);
	rig_wish(g)->cap[3] = CAP_NONE;
	rig_join(g, 3, 8);
	rig_publish(g);
	rig_tick(g, MS);
	for (int i = 0; i < 3; i++) /* each of the three buffers was the former's */
		assert_int_equal(seen(g).ns, 0);
	ticks(g, 2000);
	assert_int_equal(seen(g).capped_ns, 0);
}

TEST(span__rates_and_percents__are_of_its_length_and_rounded)
{
	const struct span d = { .ns = 2 * S }, none = { 0 };

	assert_int_equal(span_rate(&d, 3001), 1500);
	assert_int_equal(span_rate(&none, 3001), 0);
	assert_true(span_rate(&d, UINT64_MAX) == UINT64_MAX / 2);
	assert_int_equal(span_mpct(1, 3), 33333);
	assert_int_equal(span_mpct(2, 3), 66667);
	assert_int_equal(span_mpct(INT64_MAX, INT64_MAX), 100000);
	assert_int_equal(span_mpct(7, 0), 0);
	assert_int_equal(span_mpct(0, 7), 0);
}
