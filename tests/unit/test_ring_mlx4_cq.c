// SPDX-License-Identifier: GPL-2.0-or-later
/* mlx4: completion queues that no honest library writes. See test_ring_mlx4.c. */
#include "tests/unit/ring_mlx4_rig.h"

TEST(completions__before_it_was_mapped__are_not_told)
{
	struct rig *x = start();

	for (uint32_t i = 0; i < 20; i++)
		complete(x, i);
	set_polled(x, 18);
	ring_close(x->cq.r);
	assert_int_equal(queue_open(&x->cq), 0);
	assert_int_equal(look(x, &x->cq), 0);
	assert_int_equal(x->cq.s.wrs, 2);
	assert_int_equal(x->cq.s.lost, 0);
	done(x);
}

/* The owner bit of zeroes is that of the first lap; of 0xcc, that of the second. */
TEST(completions__never_written__are_none)
{
	static const uint8_t bytes[] = { 0, 0xcc };

	for (uint32_t i = 0; i < 2; i++) {
		struct rig *x = start();

		x->produced = i * ENTRIES;
		set_polled(x, x->produced);
		ring_close(x->cq.r);
		memset(x->cq.mem, bytes[i], ENTRIES * 32);
		assert_int_equal(queue_open(&x->cq), 0);
		assert_int_equal(look(x, &x->cq), 0);
		assert_int_equal(x->cq.s.wrs, 0);
		x->produced += 1; /* libmlx4 leaves a place unused when it resizes a queue */
		complete(x, 0);
		set_polled(x, x->produced);
		assert_int_equal(look(x, &x->cq), 0);
		assert_int_equal(x->cq.s.seen, 1);
		assert_int_equal(x->cq.s.lost, 0);
		done(x);
	}
}

TEST(completions__overwritten_while_they_are_read__are_lost)
{
	struct rig *x = start();

	complete(x, 0);
	complete(x, 1);
	x->cq.mem[31] ^= RING_MLX4_CQE_OWNER;
	set_polled(x, 2);
	assert_int_equal(look(x, &x->cq), 0);
	assert_int_equal(x->cq.s.seen, 1);
	assert_int_equal(x->cq.s.lost, 1);
	done(x);
}

TEST(completions__after_the_last_of_a_buffer__are_not_read)
{
	struct rig *x = start();

	put_cqe(x, RING_MLX4_CQE_RESIZED, 0, 0);
	complete(x, 0);
	for (uint32_t i = 0; i < 2; i++) {
		sample(x);
		assert_int_equal(x->cq.s.seen, 0);
		set_polled(x, 2);
	}
	done(x);
}

TEST(completions__forged__are_faults)
{
	static const struct {
		uint32_t op, polled;
		enum ring_fault why;
	} rows[] = {
		{ 0x04, 0, RING_FAULT_ENTRY },
		{ RING_MLX4_CQE_IS_SEND | 0x02, 0, RING_FAULT_ENTRY },
		{ 1, 0x1000000, RING_FAULT_HEADER },
		{ 1, 0xffffff - ENTRIES, RING_FAULT_INDEX },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig *x = start();

		put_cqe(x, rows[i].op, QPN, 0);
		set_polled(x, rows[i].polled);
		assert_fault(x, &x->cq, rows[i].why);
	}
}
