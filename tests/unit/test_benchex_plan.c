// SPDX-License-Identifier: GPL-2.0-or-later
/* benchex/plan, fifo and work: what is sent next and when, the counts, and the queue. */
#include "src/benchex/fifo.h"
#include "src/benchex/plan.h"
#include "src/benchex/work.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

#define SECOND 1000000000LL

/* --- sizes and operations --- */

TEST(size__of_a_range__is_in_it_and_reaches_both_ends)
{
	struct bx_random r = { 7 };
	bool low = false, high = false;

	for (int i = 0; i < 1000; i++) {
		uint32_t size = bx_random_size(&r, (struct bx_range){ 10, 13 });

		assert_in_range(size, 10, 13);
		low = low || size == 10;
		high = high || size == 13;
	}
	assert_true(low && high);
}

TEST(size__of_one_value__is_it)
{
	struct bx_random r = { 1 };

	assert_int_equal(bx_random_size(&r, (struct bx_range){ BX_SIZE_MAX, BX_SIZE_MAX }),
			 BX_SIZE_MAX);
}

TEST(op__without_weights__is_write)
{
	const uint32_t none[BX_OPS] = { 0 };
	struct bx_random r = { 1 };

	assert_int_equal(bx_random_op(&r, none), BX_WRITE);
}

TEST(op__by_weight__comes_as_often_and_never_at_0)
{
	const uint32_t weight[BX_OPS] = { [BX_SEND] = 1, [BX_READ] = 3, [BX_CMP_SWAP] = 4 };
	struct bx_random r = { 1 };
	int n[BX_OPS] = { 0 };

	for (int i = 0; i < 8000; i++)
		n[bx_random_op(&r, weight)]++;
	assert_in_range(n[BX_SEND], 850, 1150);
	assert_in_range(n[BX_READ], 2800, 3200);
	assert_in_range(n[BX_CMP_SWAP], 3800, 4200);
	assert_int_equal(n[BX_SEND] + n[BX_READ] + n[BX_CMP_SWAP], 8000);
}

TEST(random__of_the_same_seed__is_the_same)
{
	struct bx_random a = { 5 }, b = { 5 }, c = { 6 };

	assert_true(bx_random(&a) == bx_random(&b));
	assert_true(bx_random(&a) != bx_random(&c));
}

/* --- pacing --- */

TEST(pace__of_three_a_second__does_not_drift)
{
	struct bx_pace p;

	bx_pace_start(&p, 3, 1, 100);
	assert_true(bx_pace_due(&p) == 100);
	bx_pace_next(&p, 0);
	assert_true(bx_pace_due(&p) == 100 + SECOND / 3);
	for (int i = 1; i < 3 * 3600; i++)
		bx_pace_next(&p, 0);
	assert_true(bx_pace_due(&p) == 100 + 3600 * SECOND);
}

TEST(pace__in_bursts__keeps_the_rate)
{
	struct bx_pace p;

	bx_pace_start(&p, 10, 4, 0);
	bx_pace_next(&p, 0);
	assert_true(bx_pace_due(&p) == SECOND * 4 / 10);
	for (int i = 1; i < 5; i++)
		bx_pace_next(&p, 0);
	assert_true(bx_pace_due(&p) == 2 * SECOND);
}

TEST(pace__without_a_rate__follows_gaps)
{
	struct bx_pace p;

	bx_pace_start(&p, 0, 1, 50);
	bx_pace_next(&p, 0);
	assert_true(bx_pace_due(&p) == 50);
	bx_pace_next(&p, 1000);
	bx_pace_next(&p, 1);
	assert_true(bx_pace_due(&p) == 1051);
}

TEST(pace__of_any_rate__is_never_early_and_never_goes_back)
{
	struct prop p;

	prop_start(&p);
	for (int step = 0; step < 2000; step++) {
		uint64_t rate = prop_range(&p, 1, 100000000), sent = 0;
		uint32_t burst = (uint32_t)prop_range(&p, 1, BX_DEPTH_MAX);
		int64_t last = 0;
		struct bx_pace pace;

		bx_pace_start(&pace, rate, burst, 0);
		for (int i = 0; i < 200; i++) {
			int64_t due = bx_pace_due(&pace);
			__int128 exact = (__int128)sent * SECOND / (__int128)rate;

			prop_assert(&p, step, due >= last && due == (int64_t)exact);
			last = due;
			sent += burst;
			bx_pace_next(&pace, 0);
		}
	}
}

/* --- truth --- */

TEST(mtus__of_a_message__are_at_least_one)
{
	assert_int_equal(bx_mtus(0, 1024), 1);
	assert_int_equal(bx_mtus(1, 1024), 1);
	assert_int_equal(bx_mtus(1024, 1024), 1);
	assert_int_equal(bx_mtus(1025, 1024), 2);
	assert_int_equal(bx_mtus(BX_SIZE_MAX, 256), 65536);
}

TEST(truth__of_each_operation__is_charged_by_the_rule)
{
	for (int op = 0; op < BX_OPS; op++) {
		bool atomic = op == BX_FETCH_ADD || op == BX_CMP_SWAP, read = op == BX_READ;
		uint32_t bytes = atomic ? 8 : 3000;
		struct bx_qp q = { .path_mtu = 1024 };

		bx_truth_posted(&q);
		bx_truth_posted(&q);
		bx_truth_ended(&q, (enum bx_op)op, bytes, true);
		assert_int_equal(q.outstanding, 1);
		assert_int_equal(q.completed[op], 1);
		assert_int_equal(q.errors, 0);
		assert_int_equal(q.bytes_sent, read ? 0 : bytes);
		assert_int_equal(q.bytes_recv, read ? bytes : 0);
		assert_int_equal(q.mtus_sent, read ? 0 : atomic ? 1 : 3);
		assert_int_equal(q.mtus_recv, read ? 3 : 0);
	}
}

TEST(truth__of_a_failure__is_an_error_and_moved_nothing)
{
	struct bx_qp q = { .path_mtu = 1024 };

	bx_truth_posted(&q);
	bx_truth_ended(&q, BX_WRITE, 5000, false);
	assert_int_equal(q.errors, 1);
	assert_int_equal(q.outstanding, 0);
	assert_int_equal(q.completed[BX_WRITE], 0);
	assert_int_equal(q.bytes_sent + q.mtus_sent, 0);
}

/* --- names of work requests --- */

static void same_tag(struct bx_tag want)
{
	struct bx_tag got = bx_tag_get(bx_tag_put(want));

	assert_int_equal(got.conn, want.conn);
	assert_int_equal(got.gen, want.gen);
	assert_int_equal(got.slot, want.slot);
	assert_int_equal(got.op, want.op);
	assert_int_equal(got.bytes, want.bytes);
}

TEST(tag__with_one_part_at_its_largest__comes_back)
{
	same_tag((struct bx_tag){ .conn = 4095 });
	same_tag((struct bx_tag){ .gen = 4095 });
	same_tag((struct bx_tag){ .slot = 2047 });
	same_tag((struct bx_tag){ .op = BX_RECV });
	same_tag((struct bx_tag){ .bytes = BX_SIZE_MAX });
	same_tag((struct bx_tag){ 4095, 4095, 2047, BX_RECV, BX_SIZE_MAX });
	same_tag((struct bx_tag){ 0 });
}

/* --- the queue --- */

static bool anybody(const void *arg, const struct bx_waiting *w)
{
	(void)arg;
	(void)w;
	return true;
}

static bool other_than(const void *arg, const struct bx_waiting *w)
{
	return w->conn != *(const uint32_t *)arg;
}

/* Round the end of the ring, too. */
TEST(fifo__of_some_who_may_not_go__lets_the_oldest_other_go)
{
	static const uint32_t order[] = { 2, 4, 5, 1, 3 };
	const uint32_t stuck = 1;
	struct bx_fifo f = { 0 };
	struct bx_waiting w = { 0 };

	assert_int_equal(bx_fifo_room(&f, 5), 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(bx_fifo_push(&f, &w), 0);
		assert_true(bx_fifo_pop(&f, anybody, NULL, &w));
	}
	for (uint32_t i = 1; i <= 5; i++) {
		w = (struct bx_waiting){ .conn = i == 1 || i == 3, .slot = i };
		assert_int_equal(bx_fifo_push(&f, &w), 0);
	}
	for (size_t i = 0; i < 3; i++) {
		assert_true(bx_fifo_pop(&f, other_than, &stuck, &w));
		assert_int_equal(w.slot, order[i]);
	}
	assert_false(bx_fifo_pop(&f, other_than, &stuck, &w));
	for (size_t i = 3; i < 5; i++) {
		assert_true(bx_fifo_pop(&f, anybody, NULL, &w));
		assert_int_equal(w.slot, order[i]);
	}
	bx_fifo_free(&f);
}

TEST(fifo__gives_back_in_the_order_of_arrival)
{
	struct bx_fifo f = { 0 };
	struct bx_waiting w = { 0 };

	assert_int_equal(bx_fifo_room(&f, 3), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(bx_fifo_push(&f, &(struct bx_waiting){ .conn = i }), 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(bx_fifo_pop(&f, anybody, NULL, &w));
		assert_int_equal(w.conn, i);
	}
	assert_false(bx_fifo_pop(&f, anybody, NULL, &w));
	bx_fifo_free(&f);
}

TEST(fifo__that_is_full__says_so)
{
	struct bx_fifo f = { 0 };
	struct bx_waiting w = { 0 };

	assert_true(bx_fifo_push(&f, &w) < 0);
	assert_int_equal(bx_fifo_room(&f, 1), 0);
	assert_int_equal(bx_fifo_push(&f, &w), 0);
	assert_true(bx_fifo_push(&f, &w) < 0);
	bx_fifo_free(&f);
}

/* Round the end of the ring, too. */
TEST(fifo__that_forgets_a_connection__keeps_the_others_in_order)
{
	struct bx_fifo f = { 0 };
	struct bx_waiting w;

	bx_fifo_forget(&f, 0, 0);
	assert_int_equal(bx_fifo_room(&f, 6), 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(bx_fifo_push(&f, &(struct bx_waiting){ .slot = i }), 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(bx_fifo_pop(&f, anybody, NULL, &w));
	for (uint32_t i = 0; i < 6; i++) {
		w = (struct bx_waiting){ .conn = i % 2, .gen = i / 4, .slot = i };
		assert_int_equal(bx_fifo_push(&f, &w), 0);
	}
	bx_fifo_forget(&f, 1, 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(bx_fifo_push(&f, &(struct bx_waiting){ .slot = 6 + i }), 0);
	assert_true(bx_fifo_push(&f, &w) < 0);
	for (size_t i = 0; i < 6; i++) {
		static const uint32_t left[] = { 0, 2, 4, 5, 6, 7 };

		assert_true(bx_fifo_pop(&f, anybody, NULL, &w));
		assert_int_equal(w.slot, left[i]);
	}
	assert_false(bx_fifo_pop(&f, anybody, NULL, &w));
	bx_fifo_free(&f);
}

/* Against a plain counter: the n-th that came is the n-th that goes, growing or not. */
TEST(fifo__of_any_use__keeps_the_order)
{
	struct bx_fifo f = { 0 };
	struct bx_waiting w;
	uint64_t in = 0, out = 0;
	size_t room = 0;
	struct prop p;

	prop_start(&p);
	for (int step = 0; step < 20000; step++) {
		switch (prop_u64(&p) % 20) {
		case 0:
			if (room < 500)
				room += prop_range(&p, 0, 9);
			assert_int_equal(bx_fifo_room(&f, room), 0);
			break;
		case 1 ... 10:
			w = (struct bx_waiting){ .ask.seq = in };
			if (bx_fifo_push(&f, &w) == 0)
				in++;
			else
				prop_assert(&p, step, in - out == room);
			break;
		default:
			if (bx_fifo_pop(&f, anybody, NULL, &w))
				prop_assert(&p, step, w.ask.seq == out++);
			else
				prop_assert(&p, step, in == out);
		}
	}
	bx_fifo_free(&f);
}

/* --- computing --- */

static struct mono frozen(struct clock *c)
{
	c->sim_ns += 1000000;
	return (struct mono){ c->sim_ns };
}

TEST(work__measured__is_in_proportion_to_bytes_and_changes_the_data)
{
	uint8_t data[1000] = { 0 };
	struct clock clock = { .now = frozen }; /* each measure takes 1 ms */
	struct bx_work w;
	bool changed = false;

	bx_work_start(&w, &clock, 0, data, sizeof(data));
	assert_int_equal(w.bytes_per_kib, 0);
	bx_work_start(&w, &clock, 500000, data, sizeof(data));
	assert_int_equal(w.bytes_per_kib, 32768); /* half of 64 KiB a KiB: half a millisecond */
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = 1;
	w.at = 0;
	bx_work_do(&w, data, sizeof(data), 10);
	assert_int_equal(w.at, 320);
	for (size_t i = 0; i < 320; i++)
		changed = changed || data[i] != 1;
	assert_true(changed);
	assert_int_equal(data[320], 1);
}
