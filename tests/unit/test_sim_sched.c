// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sim: the two schedulers: what share of CPU a cap gives and how it comes in
 * time (credit2's details are in test_sim.c); and what a cap can do to a
 * neighbour's latency, which follows from that, depth and link alone.
 */
#include "tests/unit/sim_rig.h"
#include "tests/unit/unit.h"

#define SLICE (30 * MS) /* credit */

static const char *const names[] = { [SIM_CREDIT2] = "credit2", [SIM_CREDIT] = "credit" };

static struct sim_conf burners(enum sim_sched_kind sched, uint32_t vcpus, uint32_t n)
{
	struct sim_conf c;

	sim_conf_demo(&c);
	c.sched = sched;
	c.guests = 1;
	c.guest[0].vcpus = vcpus;
	c.guest[0].apps = n;
	for (uint32_t i = 0; i < n; i++)
		c.guest[0].app[i].kind = SIM_APP_BURNER;
	return c;
}

/* --- shares --- */

TEST(share__of_a_cap__is_kept_in_the_long_run)
{
	static const uint32_t caps[] = { 1, 2, 3, 4, 5, 7, 10, 25, 33, 50, 75, 99, 100 };

	for (int sched = SIM_CREDIT2; sched <= SIM_CREDIT; sched++)
		for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
			struct sim_conf c = burners((enum sim_sched_kind)sched, 1, 1);
			struct sim_host *h;
			uint64_t ran;

			c.guest[0].cap = caps[i];
			h = host_open(&c);
			ran = did(h, 0, 30 * S, 60 * S).cpu_ns;
			print_message("%s cap %u: %.3f %%\n", names[sched], caps[i],
				      (double)ran / (0.3 * (double)S));
			/* An overrun of half a ms, or of a slice, at either end. */
			assert_near(ran, 30 * S / 100 * caps[i],
				    (uint64_t)(sched == SIM_CREDIT ? SLICE : MS / 2));
			sim_close(h);
		}
}

TEST(share__over_a_second__is_off_by_an_overrun_at_most)
{
	static const uint32_t caps[] = { 1, 3, 10, 25, 50, 90 };

	for (int sched = SIM_CREDIT2; sched <= SIM_CREDIT; sched++)
		for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
			struct sim_conf c = burners((enum sim_sched_kind)sched, 1, 1);
			struct sim_host *h;

			c.guest[0].cap = caps[i];
			h = host_open(&c);
			for (int64_t s = 1; s < 20; s++)
				assert_near(did(h, 0, s * S, (s + 1) * S).cpu_ns,
					    1 * S / 100 * caps[i],
					    (uint64_t)(sched == SIM_CREDIT ? 2 * SLICE : MS / 2));
			sim_close(h);
		}
}

TEST(share__of_several_vcpus__is_of_all_together)
{
	static const uint32_t caps[] = { 5, 40, 100, 150, 300 };

	for (int sched = SIM_CREDIT2; sched <= SIM_CREDIT; sched++)
		for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
			struct sim_conf c = burners((enum sim_sched_kind)sched, 4, 3);
			struct sim_host *h;

			c.guest[0].cap = caps[i];
			h = host_open(&c);
			assert_near(did(h, 0, 30 * S, 60 * S).cpu_ns, 30 * S / 100 * caps[i],
				    (uint64_t)(sched == SIM_CREDIT ? 3 * SLICE : 3 * MS));
			sim_close(h);
		}
}

TEST(cap__on_one_guest__leaves_others_alone)
{
	for (int sched = SIM_CREDIT2; sched <= SIM_CREDIT; sched++) {
		struct sim_conf c = burners((enum sim_sched_kind)sched, 1, 1);
		struct sim_host *h;

		c.guests = 2;
		c.guest[1] = c.guest[0];
		c.guest[0].cap = 10;
		h = host_open(&c);
		run_to(h, 2 * S);
		assert_int_equal(truth(h, 1).cpu_ns, 2 * S);
		sim_close(h);
	}
}

TEST(cap__on_a_host_that_ignores_caps__is_shown_and_limits_nothing)
{
	for (int sched = SIM_CREDIT2; sched <= SIM_CREDIT; sched++) {
		struct sim_conf c = burners((enum sim_sched_kind)sched, 1, 1);
		struct sim_hyp_dom d;
		struct sim_host *h;

		c.ignore_caps = true;
		c.guest[0].cap = 10;
		h = host_open(&c);
		run_to(h, 2 * S);
		assert_int_equal(truth(h, 0).cpu_ns, 2 * S);
		assert_int_equal(sim_hyp_set_cap(h, 1, SIM_CAP_ANY, 20, &d), 0);
		run_to(h, 4 * S);
		assert_int_equal(truth(h, 0).cpu_ns, 4 * S);
		assert_int_equal(sim_hyp_dom(h, 1, &d), 0);
		assert_int_equal(d.cap, 20);
		sim_close(h);
	}
}

/* --- credit: how it comes in time --- */

TEST(credit__small_cap__runs_a_slice_and_pauses_long)
{
	struct sim_conf c = burners(SIM_CREDIT, 1, 1);
	struct sim_host *h;

	c.guest[0].cap = 3; /* 0.9 ms each 30 ms */
	h = host_open(&c);
	assert_int_equal(did(h, 0, 0, 30 * MS).cpu_ns, 30 * MS);
	assert_int_equal(did(h, 0, 30 * MS, 990 * MS).cpu_ns, 0);
	assert_int_equal(did(h, 0, 1020 * MS, 1050 * MS).cpu_ns, 30 * MS);
	sim_close(h);
}

TEST(credit__cap_of_half__runs_two_slices_and_pauses_two)
{
	struct sim_conf c = burners(SIM_CREDIT, 1, 1);
	struct sim_host *h;

	c.guest[0].cap = 50;
	h = host_open(&c);
	assert_int_equal(did(h, 0, 0, 60 * MS).cpu_ns, 60 * MS);
	assert_int_equal(did(h, 0, 60 * MS, 120 * MS).cpu_ns, 0);
	assert_int_equal(did(h, 0, 120 * MS, 180 * MS).cpu_ns, 60 * MS);
	assert_int_equal(did(h, 0, 180 * MS, 240 * MS).cpu_ns, 0);
	sim_close(h);
}

TEST(credit__cap_set__acts_at_the_next_accounting)
{
	struct sim_conf c = burners(SIM_CREDIT, 1, 1);
	struct sim_host *h = host_open(&c);

	run_to(h, 101 * MS); /* accountings at 120, 150, ... */
	set_cap(h, 0, 10);
	assert_int_equal(did(h, 0, 101 * MS, 120 * MS).cpu_ns, 19 * MS);
	assert_int_equal(did(h, 0, 120 * MS, 130 * MS).cpu_ns, 0);
	sim_close(h);
}

TEST(credit__cap_taken_away__unparks_at_the_next_accounting)
{
	struct sim_conf c = burners(SIM_CREDIT, 1, 1);
	struct sim_host *h;

	c.guest[0].cap = 5;
	h = host_open(&c);
	run_to(h, 101 * MS);
	set_cap(h, 0, 0);
	assert_int_equal(did(h, 0, 101 * MS, 120 * MS).cpu_ns, 0);
	assert_int_equal(did(h, 0, 120 * MS, 1 * S).cpu_ns, 880 * MS);
	sim_close(h);
}

/* A new one begins without debt or savings. */
TEST(credit__cap_taken_away_and_set_again__begins_anew)
{
	struct sim_conf c = burners(SIM_CREDIT, 1, 1);
	struct sim_host *h;

	c.guest[0].cap = 5;
	h = host_open(&c);
	run_to(h, 45 * MS);
	set_cap(h, 0, 0);
	run_to(h, 300 * MS);
	set_cap(h, 0, 50);
	assert_int_equal(did(h, 0, 300 * MS, 360 * MS).cpu_ns, 60 * MS);
	assert_int_equal(did(h, 0, 360 * MS, 420 * MS).cpu_ns, 0);
	sim_close(h);
}

/* It keeps its debt, and is not forgotten. */
TEST(credit__cap_changed__is_the_share_from_then_on)
{
	struct sim_conf c = burners(SIM_CREDIT, 1, 1);
	struct sim_host *h;

	c.guest[0].cap = 10; /* at 60 ms it owes 24 of them */
	h = host_open(&c);
	run_to(h, 61 * MS);
	set_cap(h, 0, 5);
	assert_int_equal(did(h, 0, 61 * MS, 540 * MS).cpu_ns, 0); /* 16 x 1.5 ms */
	assert_int_equal(did(h, 0, 540 * MS, 570 * MS).cpu_ns, 30 * MS);
	set_cap(h, 0, 50);
	assert_near(did(h, 0, 570 * MS, 10570 * MS).cpu_ns, 5 * S, 2 * SLICE);
	sim_close(h);
}

TEST(credit__debt__is_a_slice_at_most)
{
	struct sim_conf c = burners(SIM_CREDIT, 1, 1);
	struct sim_host *h;

	c.guest[0].cap = 90; /* 27 ms: at 240 ms it owes 24 and is let run */
	h = host_open(&c);
	assert_int_equal(did(h, 0, 0, 241 * MS).cpu_ns, 241 * MS);
	set_cap(h, 0, 10); /* at 270 ms it would owe 51 */
	run_to(h, 270 * MS);
	assert_int_equal(did(h, 0, 270 * MS, 570 * MS).cpu_ns, 0);
	assert_int_equal(did(h, 0, 570 * MS, 600 * MS).cpu_ns, 30 * MS);
	sim_close(h);
}

/*
 * With 37.5 ms saved, which is more than a slice, it keeps 18.75 and earns no
 * more. Begun in the middle of a slice, and found running, it has 11.25 left
 * at the first accounting and owes as much at the second: more than its share
 * of 7.5.
 */
TEST(credit__idle_guest__saves_less_than_a_slice)
{
	for (int64_t begin = 9015; begin <= 9105; begin += 30) {
		struct sim_conf c = burners(SIM_CREDIT, 1, 2);
		struct sim_host *h;

		c.guest[0].cap = 25;
		c.guest[0].app[0].stop_ns = 100 * MS;
		c.guest[0].app[1].start_ns = begin * MS;
		h = host_open(&c);
		assert_int_equal(did(h, 0, begin * MS, (begin + 75) * MS).cpu_ns, 45 * MS);
		sim_close(h);
	}
}

/* --- what a cap can do --- */

struct effect {
	uint64_t latency, bulk_bytes;
};

static struct effect effect_of(uint32_t cap, uint32_t depth, enum sim_sched_kind sched)
{
	struct sim_truth server, bulk;
	struct sim_conf c;
	struct sim_host *h;

	sim_conf_demo(&c);
	c.sched = sched;
	c.guest[BULK].cap = cap;
	c.guest[BULK].app[0].depth = depth;
	h = host_open(&c);
	server = did(h, SERVER, 0, 6 * S);
	bulk = truth(h, BULK);
	sim_close(h);
	return (struct effect){ mean_latency(&server), bulk.bytes / 6 };
}

static void assert_over_base(struct effect e, uint64_t least, uint64_t most)
{
	uint64_t permille = e.latency * 1000 / 209000 - 1000;

	print_message("+%llu.%llu %%, bulk %llu MiB/s\n", (unsigned long long)(permille / 10),
		      (unsigned long long)(permille % 10),
		      (unsigned long long)(e.bulk_bytes >> 20));
	assert_in_range(permille, least, most);
}

TEST(interference__of_2_mb_messages__is_more_than_a_quarter)
{
	assert_over_base(effect_of(0, 1, SIM_CREDIT2), 250, 320);
}

TEST(cap__of_3_on_one_outstanding__leaves_a_few_percent)
{
	assert_over_base(effect_of(3, 1, SIM_CREDIT2), 20, 45);
	assert_over_base(effect_of(25, 1, SIM_CREDIT2), 50, 80);
	assert_over_base(effect_of(50, 1, SIM_CREDIT2), 100, 150);
}

/* 16 x 2 MiB are 32 ms of the link, and budgets come each 10 ms. */
TEST(cap__on_16_outstanding__does_nothing_at_all)
{
	static const uint32_t caps[] = { 2, 3, 10, 50 };
	struct effect free_one = effect_of(0, 16, SIM_CREDIT2);

	for (int i = 0; i < 4; i++) {
		struct effect e = effect_of(caps[i], 16, SIM_CREDIT2);

		assert_over_base(e, 250, 320);
		assert_near(e.bulk_bytes, free_one.bulk_bytes, free_one.bulk_bytes / 100);
	}
}

/* Its pauses are longer than even a deep queue lasts. */
TEST(cap__under_credit__holds_a_deep_queue_too)
{
	assert_over_base(effect_of(3, 1, SIM_CREDIT), 0, 20);
	assert_over_base(effect_of(3, 16, SIM_CREDIT), 0, 30);
	assert_over_base(effect_of(50, 16, SIM_CREDIT), 150, 300);
}
