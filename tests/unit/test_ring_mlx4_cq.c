// SPDX-License-Identifier: GPL-2.0-or-later
/* mlx4: completion queues that no honest library writes. See test_ring_mlx4.c. */
#include "tests/unit/ring_mlx4_rig.h"

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

TEST(completions__forged__are_faults)
{
	static const struct forged_cqe rows[] = {
		{ 0x04, 0, RING_FAULT_ENTRY },
		{ RING_MLX4_CQE_IS_SEND | 0x02, 0, RING_FAULT_ENTRY },
		{ 1, 0x1000000, RING_FAULT_HEADER },
		{ 1, 0xffffff - ENTRIES, RING_FAULT_INDEX },
	};

	assert_forged_cqes(rows, sizeof(rows) / sizeof(rows[0]));
}
