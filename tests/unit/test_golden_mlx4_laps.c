// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx4: queues of libmlx4 that are lapped, mapped late, RESET in later laps, or forged. See
 * test_golden_mlx4.c; what mlx5 has, too, is in mlx_laps.h.
 */
#include "tests/unit/mlx4_rig.h"
/* After the rig. */
#include "tests/unit/mlx_laps.h"

static const struct wanted inline_100 = {
	IBV_WR_RDMA_WRITE, { 100 }, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE
};
static const uint32_t lapped_flags = SAMPLE_LAPPED | SAMPLE_MTUS_ESTIMATED | SAMPLE_MTUS_GUESSED;

/* Requests of one chunk are whole until they are overwritten: n laps, and how many are lost. */
TEST(golden__lapped__is_counted_and_marked)
{
	static const uint32_t laps[] = { 1, 2, 3, 5 };

	for (int i = 0; i < 4; i++) {
		uint64_t newest[RIG_QPS] = { 0 };
		struct provider_rig *x = followed(newest);
		struct rig_qp *q = &x->qp[0];
		uint32_t n = q->fake->blocks, lost = n * laps[i] - n + 30;

		pass_by(x, q, &write_3, (int)(n + lost), newest);
		look(x);
		assert_int_equal(q->sq.s.seen, n);
		assert_int_equal(q->sq.s.lost, lost);
		assert_int_equal(q->sq.s.mtus_sent, 3 * (n + lost)); /* all are alike */
		assert_int_equal(q->sq.s.bytes_sent, 3000 * n);
		assert_true(q->sq.s.bytes_bound >= lost * 3000);
		assert_int_equal(q->sq.s.flags, lapped_flags);
		pass_by(x, q, &write_3, 5, newest);
		look(x);
		assert_int_equal(q->sq.s.wrs, 5);
		assert_int_equal(q->sq.s.flags, 0);
		rig_close(x);
	}
}

/* Longer ones are stamped in as many slots as libmlx4 keeps unused. */
TEST(golden__stamped__is_lost_and_counted)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = followed(newest);
	struct rig_qp *q = &x->qp[0];
	uint32_t n = q->fake->blocks, spare = 2048 / q->fake->block_bytes + 1;

	pass_by(x, q, &inline_100, (int)(n - spare), newest);
	look(x);
	assert_int_equal(q->sq.s.seen, n - spare);
	assert_int_equal(q->sq.s.flags, 0);
	assert_int_equal(q->sq.s.bytes_sent, 100 * (n - spare));
	pass_by(x, q, &inline_100, (int)n, newest);
	look(x);
	assert_int_equal(q->sq.s.wrs, n);
	assert_int_equal(q->sq.s.lost, spare);
	assert_int_equal(q->sq.s.bytes_sent, 100 * (n - spare));
	assert_int_equal(q->sq.s.mtus_sent, n);
	assert_int_equal(q->sq.s.flags, lapped_flags);
	rig_close(x);
}

/* Nobody reads the completion queue: laps modulo 2 are known, and that they are not more is not. */
TEST(golden__lapped_without_completions__is_marked_as_bounded)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = start(ENTRIES);
	struct rig_qp *q = add(x, IBV_QPT_RC, true);
	uint32_t n = q->fake->blocks;

	pass_by(x, q, &write_3, (int)n + 30, newest);
	copy_sample(x, &q->sq);
	assert_int_equal(q->sq.s.wrs, n + 30);
	assert_int_equal(q->sq.s.lost, 30);
	assert_int_equal(q->sq.s.flags, lapped_flags | SAMPLE_WRS_BOUNDED);
	rig_close(x);
}

/* But libmlx4 writes the index into small requests that it posts one at a time. */
TEST(golden__lapped_by_requests_with_an_index__is_counted)
{
	uint64_t newest[RIG_QPS] = { 0 };
	struct provider_rig *x = start(ENTRIES);
	struct rig_qp *q = add(x, IBV_QPT_RC, true);
	uint32_t n = q->fake->blocks;

	pass_by(x, q, &inline_100, 7 * (int)n + 30, newest);
	copy_sample(x, &q->sq);
	assert_int_equal(q->sq.s.wrs, 7 * n + 30);
	rig_close(x);
}

/* Mapped while it is in use: laps modulo 2 are visible, and completions tell the rest. */
TEST(golden__mapped_late__begins_with_history)
{
	for (int told = 0; told < 2; told++) {
		uint64_t newest[RIG_QPS] = { 0 };
		struct provider_rig *x = followed(newest);
		struct rig_qp *q = &x->qp[0];
		uint32_t n = q->fake->blocks;

		pass_by(x, q, &write_3, 5 * (int)n - 1, newest);
		ring_close(q->sq.r);
		copy_again(&q->sq);
		assert_int_equal(ring_open(&q->sq.r, &q->sq.desc, q->sq.mem, q->sq.len), 0);
		rig_peers(x);
		if (told)
			copy_sample(x, &x->cqc);
		copy_sample(x, &q->sq);
		assert_true(q->sq.s.flags & SAMPLE_HISTORY);
		assert_int_equal(q->sq.s.wrs, told ? 5 * n : n);
		assert_int_equal(q->sq.s.seen, n);
		copy_sample(x, &x->cqc);
		pass_by(x, q, &write_3, 5, newest);
		look(x);
		assert_int_equal(q->sq.s.wrs, 5);
		assert_int_equal(q->sq.s.flags, 0);
		rig_close(x);
	}
}

/* In any lap, after any number of requests, which may be fewer or more than before. */
TEST(golden__reset_in_any_lap__counts_what_was_posted_since)
{
	static const struct {
		int before, after;
	} rows[] = {
		{ 128, 1 },   { 130, 1 },   { 130, 2 },	  { 130, 3 },	{ 130, 100 },
		{ 255, 1 },   { 255, 100 }, { 256, 1 },	  { 256, 100 }, { 300, 0 },
		{ 300, 100 }, { 385, 1 },   { 385, 100 }, { 20, 7 },	{ 20, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t newest[RIG_QPS] = { 0 };
		struct provider_rig *x = followed(newest);
		struct rig_qp *q = &x->qp[0];

		assert_int_equal(q->fake->blocks, 128);
		for (int k = 1; k < rows[i].before; k++) {
			pass_by(x, q, &write_3, 1, newest);
			look(x);
		}
		rig_modify(q, IBV_QPS_RESET);
		rig_ready(q);
		post_n(x, q, &write_3, rows[i].after);
		look(x);
		assert_int_equal(q->sq.s.wrs, rows[i].after);
		assert_int_equal(q->sq.s.lost, 0);
		assert_int_equal(q->sq.s.mtus_sent, 3 * rows[i].after);
		assert_true(q->sq.s.flags & SAMPLE_WRS_BOUNDED);
		rig_close(x);
	}
}
