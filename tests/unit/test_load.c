// SPDX-License-Identifier: GPL-2.0-or-later
/* load: the index of two records, texts of /proc, and records of files that change. */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "src/load/index.h"
#include "src/load/load.h"
#include "tests/unit/prop.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

#define MS NS_PER_MS

/* --- the index ------------------------------------------------------------------- */

static struct load_record record_at(int64_t sampled_ns, uint64_t beat)
{
	return (struct load_record){
		.node = 1, .source = LOAD_ULM, .cpus = 2, .beat = beat, .sampled_ns = sampled_ns
	};
}

TEST(index__of_50_ms_of_two_cpus__is_used_and_waiting)
{
	static const struct {
		uint64_t busy, irq, softirq, iowait, steal, wait; /* ms */
		int index;
	} row[] = {
		{ 0, 0, 0, 0, 0, 0, 0 },
		{ 100, 0, 0, 0, 0, 0, 1000 },
		{ 80, 0, 10, 0, 0, 20, 1100 }, /* the example of resex-region(7) */
		{ 25, 25, 0, 0, 0, 0, 500 },
		{ 0, 0, 0, 100, 0, 0, 0 }, /* a device, not a CPU */
		{ 0, 0, 0, 0, 100, 0, 1000 },
		{ 90, 90, 90, 0, 90, 0, 1000 }, /* no more than there is */
		{ 100, 0, 0, 0, 0, 50, 1500 },
		{ 1, 0, 0, 0, 0, 0, 10 },
		{ 0, 0, 0, 0, 0, 1000000, LOAD_INDEX_MAX },
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct load_record a = record_at(5, 1), b = record_at(5 + 50 * MS, 6);

		a.busy_ns = a.irq_ns = a.softirq_ns = a.steal_ns = a.wait_ns = 7;
		b.busy_ns = 7 + row[i].busy * MS;
		b.irq_ns = 7 + row[i].irq * MS;
		b.softirq_ns = 7 + row[i].softirq * MS;
		b.iowait_ns = row[i].iowait * MS;
		b.steal_ns = 7 + row[i].steal * MS;
		b.wait_ns = 7 + row[i].wait * MS;
		if (load_index(&a, &b) != row[i].index)
			fail_msg("row %u: %d", i, load_index(&a, &b));
	}
}

TEST(index__of_times_that_went_back__counts_them_as_0)
{
	struct load_record a = record_at(0, 1), b = record_at(50 * MS, 2);

	a.irq_ns = a.softirq_ns = a.steal_ns = a.wait_ns = UINT64_MAX;
	b.busy_ns = 50 * MS;
	assert_int_equal(load_index(&a, &b), 500);
	a.busy_ns = b.busy_ns + 1;
	assert_int_equal(load_index(&a, &b), 0);
}

TEST(index__of_records_that_do_not_follow__is_refused)
{
	struct load_record a = record_at(100, 5), b;

#define GIVES(rc, change)                                                                          \
	do {                                                                                       \
		b = record_at(100 + LOAD_INTERVAL_MAX_NS, 6);                                      \
		change;                                                                            \
		assert_int_equal(load_index(&a, &b), rc);                                          \
	} while (0)
	GIVES(0, (void)0);
	GIVES(-EINVAL, b.node++);
	GIVES(-EINVAL, b.source++);
	GIVES(-EINVAL, b.cpus++);
	GIVES(-EINVAL, b.beat = 5);
	GIVES(-EINVAL, b.sampled_ns++);
	GIVES(-EINVAL, b.sampled_ns = 100);
	GIVES(-EINVAL, b.sampled_ns = 99);
	a.cpus = 0;
	GIVES(-EINVAL, b.cpus = 0);
	a.cpus = LOAD_CPUS_MAX + 1;
	GIVES(-EINVAL, b.cpus = LOAD_CPUS_MAX + 1);
	a.cpus = LOAD_CPUS_MAX;
	GIVES(0, b.cpus = LOAD_CPUS_MAX);
	a.sampled_ns = -1;
	GIVES(-EINVAL, (b.cpus = LOAD_CPUS_MAX, b.sampled_ns = 5));
#undef GIVES
}

/* Records are hostile: whatever is in them, the index is in its range. */
TEST(index__of_any_records__is_in_its_range)
{
	uint64_t taken = 0;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 100000; i++) {
		struct load_record a, b;
		uint64_t *word[] = { (uint64_t *)(void *)&a, (uint64_t *)(void *)&b };
		int rc;

		for (size_t k = 0; k < sizeof(a) / 8; k++) {
			word[0][k] = prop_u64(&p) >> prop_range(&p, 0, 63);
			word[1][k] = prop_u64(&p) >> prop_range(&p, 0, 63);
		}
		if (!prop_one_in(&p, 4)) {
			b.node = a.node;
			b.source = a.source;
			b.cpus = a.cpus %= 2 * LOAD_CPUS_MAX;
			b.beat = a.beat + 1;
			a.sampled_ns >>= 2;
			b.sampled_ns = a.sampled_ns +
				       (int64_t)prop_range(&p, 0, 61 * (uint64_t)NS_PER_S);
		}
		rc = load_index(&a, &b);
		assert_true(rc == -EINVAL || (rc >= 0 && rc <= LOAD_INDEX_MAX));
		taken += rc >= 0;
	}
	assert_in_range(taken, 1000, 100000);
}

TEST(source__has_the_name_that_operators_read)
{
	static const char *const name[LOAD_SOURCES] = { "none", "ulm", "klm", "hv", "sim" };

	for (uint32_t i = 0; i < LOAD_SOURCES; i++)
		assert_string_equal(load_source_name(i), name[i]);
}

/* --- a series of records ------------------------------------------------------------ */

static int sample_rc;

static int sample_one(struct load *l, struct load_record *r)
{
	assert_null(l);
	r->cpus = 3;
	r->flags |= LOAD_SIMULATED;
	return sample_rc;
}

static const struct load_ops one = { .source = LOAD_SIM, .sample = sample_one };

TEST(sample__of_a_node__has_its_number_time_and_beat)
{
	struct load_series s = { .node = 7 };
	struct load_record r;

	for (uint32_t i = 1; i <= 3; i++) {
		struct mono at = { 50 * MS * i };

		memset(&r, 0xff, sizeof(r));
		assert_int_equal(load_sample(&s, &one, NULL, 50 * MS, at, &r), 0);
		assert_int_equal(r.node, 7);
		assert_int_equal(r.source, LOAD_SIM);
		assert_int_equal(r.beat, i);
		assert_int_equal(r.sampled_ns, at.ns);
		assert_int_equal(r.period_ns, 50 * MS);
		assert_int_equal(r.cpus, 3);
		assert_int_equal(r.busy_ns, 0);
		assert_int_equal(r.flags, LOAD_SIMULATED);
	}
}

TEST(sample__two_periods_after_the_one_before__says_so)
{
	static const struct {
		int64_t after_ns; /* the one before; of the first: after 0 */
		bool late;
	} row[] = {
		{ 500 * MS, false }, { 50 * MS, false },      { 100 * MS - 1, false },
		{ 100 * MS, true },  { 100 * MS - 1, false }, { 900 * MS, true },
	};
	struct load_series s = { .node = 1 };
	struct mono at = { 0 };
	struct load_record r;

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		at.ns += row[i].after_ns;
		assert_int_equal(load_sample(&s, &one, NULL, 50 * MS, at, &r), 0);
		if (!(r.flags & LOAD_OVERRUN) == row[i].late)
			fail_msg("row %u", i);
	}
}

TEST(sample__that_fails__changes_nothing)
{
	struct load_series s = { .node = 1 };
	struct load_record r;

	assert_int_equal(load_sample(&s, &one, NULL, 50 * MS, (struct mono){ 1 }, &r), 0);
	sample_rc = -EPROTO;
	assert_int_equal(load_sample(&s, &one, NULL, 50 * MS, (struct mono){ 200 * MS }, &r),
			 -EPROTO);
	sample_rc = 0;
	assert_true(r.beat == 1 && r.sampled_ns == 1);
	assert_true(s.beat == 1 && s.sampled.ns == 1);
	assert_int_equal(load_sample(&s, &one, NULL, 50 * MS, (struct mono){ 300 * MS }, &r), 0);
	assert_int_equal(r.beat, 2);
	assert_true(r.flags & LOAD_OVERRUN);
}

/* --- a guest, as the hypervisor counts it -------------------------------------------- */

static struct load *hv_opened(struct load_guest *g)
{
	char text[128];
	struct load *l = NULL;

	assert_int_equal(load_hv.open(&l, g, text), 0);
	return l;
}

static struct load_record hv_sampled(struct load *l)
{
	struct load_record r = { .node = 3, .beat = 5 };

	assert_int_equal(load_hv.sample(l, &r), 0);
	assert_true(r.node == 3 && r.beat == 5 && !r.source);
	return r;
}

/* It has run for some time before it is first seen, and was then seen runnable for another. */
TEST(hv__of_one_vcpu__busy_is_its_cpu_time_and_wait_what_is_left)
{
	struct load_guest g = {
		.cpu_ns = 700 * MS, .runnable_ns = 60 * MS, .vcpus = 1, .look_ns = MS
	};
	struct load *l = hv_opened(&g);
	struct load_record r = hv_sampled(l);

	assert_int_equal(load_hv.source, LOAD_HV);
	assert_int_equal(r.cpus, 1);
	assert_int_equal(r.busy_ns, 700 * MS);
	assert_int_equal(r.wait_ns, 0);
	assert_int_equal(r.flags, LOAD_NO_RUNNING);
	g.cpu_ns += 3 * MS;
	g.runnable_ns += 10 * MS;
	r = hv_sampled(l);
	assert_int_equal(r.busy_ns, 703 * MS);
	assert_int_equal(r.wait_ns, 7 * MS);
	/* It ran between two looks, and waits later: the sums count. */
	g.cpu_ns += 5 * MS;
	g.runnable_ns += 1 * MS;
	assert_int_equal(hv_sampled(l).wait_ns, 7 * MS);
	g.runnable_ns += 3 * MS;
	assert_int_equal(hv_sampled(l).wait_ns, 7 * MS);
	g.runnable_ns += 3 * MS;
	assert_int_equal(hv_sampled(l).wait_ns, 9 * MS);
	g.simulated = true;
	assert_int_equal(hv_sampled(l).flags, LOAD_NO_RUNNING | LOAD_SIMULATED);
	load_hv.close(l);
}

TEST(hv__that_ran_unseen_for_long__is_owed_50_looks_at_most)
{
	struct load_guest g = { .vcpus = 1, .look_ns = MS };
	struct load *l = hv_opened(&g);

	hv_sampled(l);
	g.cpu_ns = 10 * NS_PER_S;
	assert_int_equal(hv_sampled(l).wait_ns, 0);
	g.runnable_ns += 50 * MS;
	assert_int_equal(hv_sampled(l).wait_ns, 0);
	g.runnable_ns += 1;
	assert_int_equal(hv_sampled(l).wait_ns, 1);
	/* Its slot in the sampler was given up and taken again: that time begins anew. */
	g.runnable_ns = 7;
	assert_int_equal(hv_sampled(l).wait_ns, 1);
	g.runnable_ns += 5;
	assert_int_equal(hv_sampled(l).wait_ns, 6);
	load_hv.close(l);
}

TEST(hv__of_several_vcpus__knows_who_waits_by_looks_at_each)
{
	struct load_guest g = { .vcpus = 2 };
	struct load *l = hv_opened(&g);
	struct load_record r = hv_sampled(l);

	g.runnable_ns = 10 * MS;
	r = hv_sampled(l);
	assert_int_equal(r.cpus, 2);
	assert_int_equal(r.wait_ns, 0);
	assert_int_equal(r.flags, LOAD_NO_RUNNING | LOAD_NO_WAIT);
	g.waits_known = true;
	g.waits_ns = 7 * MS;
	r = hv_sampled(l);
	assert_int_equal(r.wait_ns, 7 * MS);
	assert_int_equal(r.flags, LOAD_NO_RUNNING);
	g.vcpus = LOAD_CPUS_MAX;
	hv_sampled(l);
	g.vcpus++;
	assert_int_equal(load_hv.sample(l, &r), -EPROTO);
	g.vcpus = 0;
	assert_int_equal(load_hv.sample(l, &r), -EPROTO);
	load_hv.close(l);
}

/* Looks that are farther apart are owed for longer. */
TEST(wait__of_looks_each_20_ms__is_owed_a_second_at_most)
{
	struct load_wait w = { .began = false };

	load_wait_add(&w, 3 * NS_PER_S, 9 * NS_PER_S, 20 * MS);
	load_wait_add(&w, 10 * NS_PER_S, 9 * NS_PER_S, 20 * MS);
	load_wait_add(&w, 10 * NS_PER_S, 10 * NS_PER_S, 20 * MS);
	assert_int_equal(w.ns, 0);
	load_wait_add(&w, 10 * NS_PER_S, 10 * NS_PER_S + 5, 20 * MS);
	assert_int_equal(w.ns, 5);
}

/* What a guest does next: for how long it runs, waits and sleeps; of about these means. */
struct hv_model {
	int64_t mean[3];
};

enum { RUNS, WAITS, SLEEPS };

static int64_t next_ns(struct prop *p, int64_t mean)
{
	return mean ? (int64_t)prop_range(p, 0, 2 * (uint64_t)mean) : 0;
}

/* One look each ms, for 20 s, of which each 10th is a sample. */
static void hv_follow(struct prop *p, const struct hv_model *m)
{
	struct load_guest g = { .vcpus = 1, .look_ns = MS };
	struct load *l = hv_opened(&g);
	struct load_record r = hv_sampled(l), last = r;
	int64_t in[3] = { 0, 0, 0 }, left = 0;
	int state = SLEEPS;

	for (int look = 1; look <= 20000; look++) {
		for (int64_t ms = MS; ms > 0;) {
			int64_t step;

			if (!left) {
				state = (state + 1) % 3;
				left = next_ns(p, m->mean[state]);
			}
			step = left < ms ? left : ms;
			in[state] += step;
			left -= step;
			ms -= step;
		}
		g.cpu_ns = (uint64_t)in[RUNS];
		g.runnable_ns += state == SLEEPS ? 0 : (uint64_t)MS;
		if (look % 10)
			continue;
		r = hv_sampled(l);
		assert_true(r.wait_ns >= last.wait_ns);
		last = r;
	}
	assert_int_equal(r.busy_ns, in[RUNS]);
	if ((int64_t)r.wait_ns < in[WAITS] - 400 * MS || (int64_t)r.wait_ns > in[WAITS] + 400 * MS)
		fail_msg("waited for %lld ms, and %lld are said; means of %lld, %lld, %lld us",
			 (long long)(in[WAITS] / MS), (long long)(r.wait_ns / (uint64_t)MS),
			 (long long)(m->mean[0] / 1000), (long long)(m->mean[1] / 1000),
			 (long long)(m->mean[2] / 1000));
	load_hv.close(l);
}

/* Within 2 % of the time, whatever a guest does: also if it does it between two looks. */
TEST(hv__of_guests_that_run_wait_and_sleep_at_random__is_near_the_truth)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 30; i++) {
		struct hv_model m;

		for (int k = 0; k < 3; k++)
			m.mean[k] = (int64_t)prop_range(&p, 0, 1ull << prop_range(&p, 14, 26));
		m.mean[SLEEPS] += 100 * NS_PER_US;
		hv_follow(&p, &m);
	}
}

/* --- the window ------------------------------------------------------------------ */

/* A sample each 10 ms since ms 0; from_ms on, one of two CPUs is busy. */
static struct load_record sampled(int ms, int from_ms)
{
	struct load_record r = record_at(ms * MS, (uint64_t)(ms / 10 + 1));

	r.busy_ns = ms > from_ms ? (uint64_t)((ms - from_ms) * MS) : 0;
	return r;
}

TEST(window__of_samples__is_its_length_to_twice_that)
{
	struct load_window w = { .base = { .beat = 0 } };
	struct load_record r = sampled(0, 1000);

	load_window_add(&w, &r, 200 * MS);
	assert_int_equal(load_window_index(&w), -EAGAIN);
	load_window_add(&w, &r, 200 * MS); /* read again */
	assert_int_equal(load_window_index(&w), -EAGAIN);
	for (int ms = 10; ms <= 2000; ms += 10) {
		int64_t interval;

		r = sampled(ms, 1000);
		load_window_add(&w, &r, 200 * MS);
		interval = w.newest.sampled_ns - w.base.sampled_ns;
		assert_in_range(interval, ms < 200 ? ms * MS : 200 * MS, 390 * MS);
		assert_int_equal(load_window_index(&w), load_index(&w.base, &r));
		if (ms <= 1000)
			assert_int_equal(load_window_index(&w), 0);
		if (ms >= 1390)
			assert_int_equal(load_window_index(&w), 500);
	}
}

TEST(window__of_a_node_that_starts_again_or_changes__begins_anew)
{
	static const struct load_record row[] = {
		{ .node = 1, .source = LOAD_ULM, .cpus = 2, .beat = 1, .sampled_ns = 5 },
		{ .node = 1, .source = LOAD_ULM, .cpus = 2, .beat = 12, .sampled_ns = 5 },
		{ .node = 1, .source = LOAD_ULM, .cpus = 4, .beat = 12, .sampled_ns = 110 * MS },
		{ .node = 1, .source = LOAD_KLM, .cpus = 2, .beat = 12, .sampled_ns = 110 * MS },
		{ .node = 1, .source = LOAD_KLM, .cpus = 2, .beat = 11, .sampled_ns = 100 * MS },
		{ .node = 1,
		  .source = LOAD_ULM,
		  .cpus = 2,
		  .beat = 12,
		  .sampled_ns = 61 * NS_PER_S },
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct load_window w = { .base = { .beat = 0 } };
		struct load_record r = row[i];

		for (int ms = 0; ms <= 100; ms += 10) {
			struct load_record was = sampled(ms, 0);

			load_window_add(&w, &was, 50 * MS);
		}
		assert_int_equal(load_window_index(&w), 500);
		load_window_add(&w, &r, 50 * MS);
		assert_int_equal(load_window_index(&w), -EAGAIN);
		r.beat++;
		r.sampled_ns += 10 * MS;
		load_window_add(&w, &r, 50 * MS);
		assert_int_equal(load_window_index(&w), 0);
	}
}

/* --- texts of the kernel ------------------------------------------------------------ */

#define CPU  "cpu  10 20 30 40 50 60 70 80 90 100\n"
#define CPU0 "cpu0 1 2 3 4 5 6 7 8 9 10\n"

TEST(stat__of_each_form__is_taken_or_refused)
{
	static const struct {
		const char *text;
		int rc;
	} row[] = {
		{ CPU CPU0 CPU0 "intr 5\n", 0 },
		{ "cpu  10 20 30 40 50 60 70 80\n" CPU0 CPU0, 0 },
		{ CPU CPU0 "cpu1 1", 0 }, /* cut: the line of a CPU began */
		{ "", -EPROTO },
		{ "cpu", -EPROTO },
		{ CPU0 CPU0, -EPROTO },
		{ CPU "intr 5\n", -EPROTO }, /* no CPU */
		{ "cpu  10 20 30 40 50 60 70\n" CPU0, -EPROTO },
		{ "cpu  10 20 30 -40 50 60 70 80\n" CPU0, -EPROTO },
		{ "cpu  10 20 x 40 50 60 70 80\n" CPU0, -EPROTO },
		{ "cpu  99999999999999999999 20 30 40 50 60 70 80\n" CPU0, -EPROTO },
		{ "cpu  1000000000000 20 30 40 50 60 70 80\n" CPU0, -EPROTO }, /* in ns */
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct load_record r = { .node = 3 };
		int rc = load_parse_stat(row[i].text, strlen(row[i].text), 10 * MS, &r);

		if (rc != row[i].rc)
			fail_msg("row %u: %d", i, rc);
		if (rc)
			continue;
		assert_int_equal(r.cpus, 2);
		assert_int_equal(r.busy_ns, 600 * MS);
		assert_int_equal(r.iowait_ns, 500 * MS);
		assert_int_equal(r.irq_ns, 600 * MS);
		assert_int_equal(r.softirq_ns, 700 * MS);
		assert_int_equal(r.steal_ns, 800 * MS);
		assert_int_equal(r.flags, LOAD_IDLE_REPAIRED);
	}
}

TEST(stat__of_more_cpus_than_an_index_can_be_of__is_refused)
{
	static char text[64 + 16 * (LOAD_CPUS_MAX + 1)];
	struct load_record r = { .node = 3 };
	size_t n = (size_t)sprintf(text, "%s", CPU);

	for (uint32_t i = 0; i < LOAD_CPUS_MAX; i++)
		n += (size_t)sprintf(text + n, "cpu%u 1\n", i);
	assert_int_equal(load_parse_stat(text, n, 1, &r), 0);
	assert_int_equal(r.cpus, LOAD_CPUS_MAX);
	n += (size_t)sprintf(text + n, "cpu9 1\n");
	assert_int_equal(load_parse_stat(text, n, 1, &r), -EPROTO);
}

TEST(loadavg_and_pressure__of_each_form__are_taken_or_refused)
{
	static const struct {
		const char *text;
		int loadavg, pressure;
	} row[] = {
		{ "1.05 0.42 12.00 3/300 17\n", 0, -EPROTO },
		{ "some avg10=0.00 avg60=1.00 avg300=0.00 total=1234\nfull total=9\n", -EPROTO, 0 },
		{ "", -EPROTO, -EPROTO },
		{ "1.05 0.42 12.0 3/300 17\n", -EPROTO, -EPROTO },
		{ "1.05 0.42 12.000 3/300 17\n", -EPROTO, -EPROTO },
		{ "1.05 0.42 3/300 17\n", -EPROTO, -EPROTO },
		{ "1.05 0.42 12.00 3 17\n", -EPROTO, -EPROTO },
		{ "9999999.05 0.42 12.00 3/300 17\n", -EPROTO, -EPROTO },
		{ "some avg10=0.00\n", -EPROTO, -EPROTO },
		{ "some avg10=0.00 total=\n", -EPROTO, -EPROTO },
		{ "some avg10=0.00 total=18446744073709552\n", -EPROTO, -EPROTO }, /* in ns */
		{ "full avg10=0.00 total=5\n", -EPROTO, -EPROTO },
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct load_record r = { .node = 3 };
		size_t len = strlen(row[i].text);

		if (load_parse_loadavg(row[i].text, len, &r) != row[i].loadavg ||
		    load_parse_pressure(row[i].text, len, &r) != row[i].pressure)
			fail_msg("row %u", i);
		if (!row[i].loadavg) {
			assert_int_equal(r.load_avg[0], 1050);
			assert_int_equal(r.load_avg[1], 420);
			assert_int_equal(r.load_avg[2], 12000);
			assert_int_equal(r.running, 3);
		}
		if (!row[i].pressure)
			assert_int_equal(r.wait_ns, 1234000);
	}
}

/* --- files ---------------------------------------------------------------------------- */

static void write_files(struct tmpdir *dir, const char *stat)
{
	tmp_write(dir, "stat", stat);
	tmp_write(dir, "loadavg", "0.50 0.00 0.00 4/9 9\n");
}

TEST(proc__files_that_change__are_read_again)
{
	struct load_record r = { .node = 3 }, empty = { .node = 3 };
	struct tmpdir dir;
	char text[128] = "";
	struct load *l;

	tmp_open(&dir);
	assert_int_equal(load_proc.open(&l, dir.path, text), -ENOENT);
	assert_non_null(strstr(text, "/stat: No such file"));
	write_files(&dir, CPU CPU0);
	assert_int_equal(load_proc.open(&l, dir.path, text), 0);
	assert_int_equal(load_proc.sample(l, &r), 0);
	assert_int_equal(r.flags, LOAD_IDLE_REPAIRED | LOAD_NO_WAIT); /* no pressure */
	assert_int_equal(r.load_avg[0], 500);
	assert_int_equal(r.running, 3);
	assert_int_equal(r.irq_ns, 60 * (NS_PER_S / sysconf(_SC_CLK_TCK)));
	write_files(&dir, CPU CPU0 CPU0);
	assert_int_equal(load_proc.sample(l, &r), 0);
	assert_int_equal(r.cpus, 2);
	write_files(&dir, "rubbish");
	assert_int_equal(load_proc.sample(l, &empty), -EPROTO);
	load_proc.close(l);
	tmp_close(&dir);
}

TEST(proc__of_this_machine__is_sampled)
{
	struct load_record a = { .node = 1, .source = LOAD_ULM, .beat = 1, .sampled_ns = 1 };
	struct load_record b = { .node = 1, .source = LOAD_ULM, .beat = 2, .sampled_ns = 2 };
	char text[128] = "";
	struct load *l;

	if (load_proc.open(&l, "/proc", text))
		fail_msg("%s", text);
	assert_int_equal(load_proc.sample(l, &a), 0);
	assert_int_equal(load_proc.sample(l, &b), 0);
	assert_true(a.cpus && a.busy_ns && b.busy_ns >= a.busy_ns);
	load_proc.close(l);
}
