// SPDX-License-Identifier: GPL-2.0-or-later
/* period: intervals, epochs, late ticks, clocks that jump. */
#include <errno.h>
#include <string.h>

#include "src/core/period.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

#define MS NS_PER_MS
#define S  NS_PER_S

static struct mono at(int64_t ns)
{
	return (struct mono){ ns };
}

static struct period begun(int64_t now)
{
	struct period p;

	assert_int_equal(period_init(&p, 1 * MS, 1 * S, at(now)), 0);
	return p;
}

TEST(init__interval_or_epoch_out_of_range__is_refused)
{
	static const struct {
		int64_t interval, epoch;
		int rc;
	} rows[] = {
		{ 1 * MS, 1 * S, 0 },
		{ 100000, 100000, 0 },
		{ 3600 * S, 3600 * S, 0 },
		{ 100000, 3600 * S, 0 },
		{ 99999, 99999, -EINVAL },
		{ 99999, 1 * S, -EINVAL },
		{ 0, 1 * S, -EINVAL },
		{ -1 * MS, 1 * S, -EINVAL },
		{ 1 * MS, 0, -EINVAL },
		{ 1 * MS, -1 * S, -EINVAL },
		{ 2 * MS, 1 * MS, -EINVAL },
		{ 3 * MS, 1 * S, -EINVAL },
		{ 1 * MS, 1 * S + 1, -EINVAL },
		{ 1 * S, 3601 * S, -EINVAL },
		{ INT64_MAX, INT64_MAX, -EINVAL },
		{ INT64_MIN, INT64_MIN, -EINVAL },
	};
	struct period p;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(period_init(&p, rows[i].interval, rows[i].epoch, at(5)),
				 rows[i].rc);
}

TEST(init__refused__leaves_the_old_one_alone)
{
	struct period p = begun(7), before = p;

	assert_int_equal(period_init(&p, 0, 1 * S, at(9)), -EINVAL);
	assert_memory_equal(&p, &before, sizeof(p));
}

TEST(tick__on_time__is_one_interval_and_not_late)
{
	struct period p = begun(5 * S);
	struct period_tick t = period_tick(&p, at(5 * S + 1 * MS));

	assert_int_equal(t.elapsed_ns, 1 * MS);
	assert_int_equal(t.new_epochs, 0);
	assert_int_equal(t.late_ns, 0);
	assert_int_equal(p.ticks, 1);
	assert_int_equal(p.late, 0);
	assert_int_equal(p.last.ns, 5 * S + 1 * MS);
}

TEST(tick__late__counts_the_time_that_elapsed)
{
	struct period p = begun(0);
	struct period_tick t = period_tick(&p, at(5 * MS + 3));

	assert_int_equal(t.elapsed_ns, 5 * MS + 3);
	assert_int_equal(t.late_ns, 4 * MS + 3);
	assert_int_equal(p.late, 1);
}

TEST(tick__less_than_one_interval_behind__is_no_late_tick)
{
	struct period p = begun(0);
	struct period_tick t = period_tick(&p, at(2 * MS - 1));

	assert_int_equal(t.late_ns, 1 * MS - 1);
	assert_int_equal(p.late, 0);
	period_tick(&p, at(2 * MS - 1 + 2 * MS));
	assert_int_equal(p.late, 1);
}

TEST(tick__50_ms_behind__is_starved)
{
	struct period p = begun(0);

	period_tick(&p, at(51 * MS - 1));
	assert_int_equal(p.starved, 0);
	period_tick(&p, at(51 * MS - 1 + 51 * MS));
	assert_int_equal(p.starved, 1);
	assert_int_equal(p.late, 2);
}

TEST(tick__early__is_the_time_that_elapsed)
{
	struct period p = begun(0);
	struct period_tick t = period_tick(&p, at(1));

	assert_int_equal(t.elapsed_ns, 1);
	assert_int_equal(t.late_ns, 0);
	t = period_tick(&p, at(1));
	assert_int_equal(t.elapsed_ns, 0);
	assert_int_equal(p.back, 0);
}

TEST(tick__at_the_end_of_an_epoch__begins_the_next)
{
	struct period p = begun(100);
	struct period_tick t = period_tick(&p, at(100 + 1 * S - 1));

	assert_int_equal(t.new_epochs, 0);
	assert_int_equal(p.epoch, 0);
	t = period_tick(&p, at(100 + 1 * S));
	assert_int_equal(t.new_epochs, 1);
	assert_int_equal(t.elapsed_ns, 1);
	assert_int_equal(p.epoch, 1);
	assert_int_equal(p.epoch_start.ns, 100 + 1 * S);
}

TEST(tick__over_several_epochs__skips_them_and_keeps_the_phase)
{
	struct period p = begun(100);
	struct period_tick t = period_tick(&p, at(100 + 3 * S + 250 * MS));

	assert_int_equal(t.new_epochs, 3);
	assert_int_equal(t.elapsed_ns, 3 * S + 250 * MS);
	assert_int_equal(p.epoch, 3);
	assert_int_equal(p.epoch_start.ns, 100 + 3 * S);
}

TEST(tick__clock_goes_back__is_no_time)
{
	struct period p = begun(10 * S);
	struct period_tick t;

	period_tick(&p, at(10 * S + 700 * MS));
	t = period_tick(&p, at(10 * S + 200 * MS));
	assert_int_equal(t.elapsed_ns, 0);
	assert_int_equal(t.late_ns, 0);
	assert_int_equal(t.new_epochs, 0);
	assert_int_equal(p.back, 1);
	assert_int_equal(p.epoch, 0);
	assert_int_equal(p.epoch_start.ns, 10 * S);
}

TEST(tick__clock_comes_back_after_a_jump__only_new_time_counts)
{
	struct period p = begun(10 * S);
	struct period_tick t;

	period_tick(&p, at(10 * S + 700 * MS));
	period_tick(&p, at(10 * S + 200 * MS));
	t = period_tick(&p, at(10 * S + 500 * MS));
	assert_int_equal(t.elapsed_ns, 0);
	t = period_tick(&p, at(10 * S + 701 * MS));
	assert_int_equal(t.elapsed_ns, 1 * MS);
	assert_int_equal(p.last.ns, 10 * S + 701 * MS);
}

TEST(init__negative_time__is_refused)
{
	struct period p;

	assert_int_equal(period_init(&p, 1 * MS, 1 * S, at(-1)), -EINVAL);
}

TEST(tick__clock_goes_back_before_the_epoch__does_not_undo_it)
{
	struct period p = begun(10 * S);
	struct period_tick t;

	period_tick(&p, at(11 * S + 5));
	t = period_tick(&p, at(3));
	assert_int_equal(t.elapsed_ns, 0);
	assert_int_equal(p.epoch, 1);
	assert_int_equal(p.epoch_start.ns, 11 * S);
	assert_int_equal(period_remaining(&p, at(3)), 1 * S);
}

TEST(remaining__counts_down_to_zero_and_stays_within_the_epoch)
{
	struct period p = begun(10 * S);

	assert_int_equal(period_remaining(&p, at(10 * S)), 1 * S);
	assert_int_equal(period_remaining(&p, at(10 * S + 1)), 1 * S - 1);
	assert_int_equal(period_remaining(&p, at(11 * S - 1)), 1);
	assert_int_equal(period_remaining(&p, at(11 * S)), 0);
	assert_int_equal(period_remaining(&p, at(INT64_MAX)), 0);
	assert_int_equal(period_remaining(&p, at(0)), 1 * S);
}

/* What the header says, computed in the simplest way. */
struct model {
	int64_t start, interval, epoch_ns;
	int64_t now;  /* wherever the clock was at the last tick */
	int64_t last; /* latest time seen: an earlier one does not count */
	uint64_t epoch, ticks, late, back;
};

static void model_tick(struct model *m, int64_t now, struct period_tick *want)
{
	uint64_t epoch;

	m->ticks++;
	want->elapsed_ns = now > m->last ? now - m->last : 0;
	want->late_ns = want->elapsed_ns > m->interval ? want->elapsed_ns - m->interval : 0;
	m->back += now < m->last;
	m->late += want->late_ns >= m->interval;
	m->now = now;
	m->last += want->elapsed_ns;
	epoch = (uint64_t)((m->last - m->start) / m->epoch_ns);
	want->new_epochs = epoch - m->epoch;
	m->epoch = epoch;
}

static int64_t next_time(struct prop *r, const struct model *m)
{
	int64_t edge = m->start + (int64_t)(m->epoch + 1) * m->epoch_ns;

	switch (prop_range(r, 0, 15)) {
	case 0: /* the epoch's edge, to the nanosecond */
		return edge + (int64_t)prop_range(r, 0, 2) - 1;
	case 1: /* back */
		return m->now - (int64_t)prop_range(r, 0, (uint64_t)m->now);
	case 2: /* far ahead */
		return m->last + (int64_t)prop_range(r, 0, (uint64_t)m->epoch_ns * 5);
	case 3: /* does not move, or catches up after a jump back */
		return prop_one_in(r, 2) ? m->now : m->last;
	case 4: /* late */
		return m->last + m->interval * (int64_t)prop_range(r, 1, 9);
	default:
		return m->now + m->interval + (int64_t)prop_range(r, 0, 20000) - 10000;
	}
}

static void check_state(struct prop *r, uint64_t step, const struct period *p,
			const struct model *m)
{
	int64_t left = period_remaining(p, at(m->now));

	prop_assert(r, step, p->epoch == m->epoch);
	prop_assert(r, step, p->epoch_start.ns == m->start + (int64_t)m->epoch * m->epoch_ns);
	prop_assert(r, step, p->last.ns == m->last);
	prop_assert(r, step, p->ticks == m->ticks);
	prop_assert(r, step, p->late == m->late);
	prop_assert(r, step, p->back == m->back);
	prop_assert(r, step, left >= 0 && left <= m->epoch_ns);
	if (m->now >= p->epoch_start.ns)
		prop_assert(r, step, left == p->epoch_start.ns + m->epoch_ns - m->now);
	else
		prop_assert(r, step, left == m->epoch_ns);
}

static void run(struct prop *r, uint64_t steps)
{
	int64_t interval = (int64_t)prop_range(r, 100000, 20000000);
	struct model m = {
		.interval = interval,
		.epoch_ns = interval * (int64_t)prop_range(r, 1, 2000),
		.start = (int64_t)prop_range(r, 0, 1000000ULL * NS_PER_S),
	};
	struct period p;

	if (m.epoch_ns > 3600 * S)
		m.epoch_ns = interval;
	m.last = m.now = m.start;
	assert_int_equal(period_init(&p, m.interval, m.epoch_ns, at(m.start)), 0);
	for (uint64_t i = 0; i < steps; i++) {
		int64_t now = next_time(r, &m);
		struct period_tick want, got;

		if (now < 0)
			now = 0;
		got = period_tick(&p, at(now));
		model_tick(&m, now, &want);
		prop_assert(r, i, got.elapsed_ns == want.elapsed_ns);
		prop_assert(r, i, got.new_epochs == want.new_epochs);
		prop_assert(r, i, got.late_ns == want.late_ns);
		check_state(r, i, &p, &m);
	}
}

TEST(any_sequence_of_ticks__agrees_with_the_model)
{
	struct prop r;

	prop_start(&r);
	for (int i = 0; i < 2000; i++)
		run(&r, 500);
}

TEST(tick__at_the_end_of_time__does_not_overflow)
{
	struct period p;
	struct period_tick t;

	assert_int_equal(period_init(&p, 100000, 100000, at(0)), 0);
	t = period_tick(&p, at(INT64_MAX));
	assert_int_equal(t.elapsed_ns, INT64_MAX);
	assert_int_equal(t.new_epochs, INT64_MAX / 100000);
	assert_true(period_remaining(&p, at(INT64_MAX)) > 0);
	t = period_tick(&p, at(INT64_MAX));
	assert_int_equal(t.elapsed_ns, 0);
	assert_int_equal(t.new_epochs, 0);
}
