// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5: rings that no honest library writes, and edges that it reaches late. What libmlx5 itself
 * writes is in test_golden_mlx5.c. These need no verbs.
 */
#include "tests/unit/ring_mlx5_rig.h"

#include "tests/unit/ring_mlx_both.h"

/* --- opening ----------------------------------------------------------- */

TEST(open__what_is_not_such_a_queue__is_refused)
{
	static const struct open_row rows[] = {
		{ RING_SQ, 64, 64, GUEST_QP_DC, 1, 0, 0, 1, 0 },
		{ RING_SQ, 128, 32, GUEST_QP_RC, 1, 0, 0, 1, -EPROTONOSUPPORT },
		{ RING_SQ, 64, 65536, GUEST_QP_RC, 1, 0, 0, 1, -EPROTONOSUPPORT },
		{ RING_SQ, 64, 64, GUEST_QP_RAW, 1, 0, 0, 1, -EPROTONOSUPPORT },
		{ RING_SQ, 64, 128, GUEST_QP_RC, 1, 0, 0, 1, -EBADMSG },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 0, 0, 0, 1, -EBADMSG },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 0x1000000, 0, 0, 1, -EBADMSG },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 1, 4088, 0, 1, 0 },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 1, 4096, 0, 1, -EBADMSG },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 1, 4, 0, 1, -EBADMSG },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 1, 0, 0, 2, -EBADMSG }, /* no page of the record */
		{ RING_CQ, 128, 32, 0, 1, 0, 0, 1, 0 },
		{ RING_CQ, 256, 16, 0, 1, 0, 0, 1, -EPROTONOSUPPORT },
		{ RING_CQ, 64, 128, 0, 1, 0, 0, 1, -EBADMSG },
	};

	assert_opens(rows, sizeof(rows) / sizeof(rows[0]));
}

/* --- what a request costs ---------------------------------------------- */

TEST(cost__datagram_above_the_mtu__is_one_mtu)
{
	struct rig *x = start_at(GUEST_QP_UD, MTU, 0);

	put_be32(word(x, 1, 8), RING_MLX5_AV_IS_LONG | 9);
	put_be32(word(x, 4, 0), 3000);
	post(x, RING_MLX5_SEND, 5);
	sample(x);
	assert_int_equal(x->sq.s.mtus_sent, 1);
	assert_int_equal(x->sq.s.bytes_sent, 3000);
	done(x);
}

TEST(cost__xrc_and_dc__have_an_address_before_the_data)
{
	static const uint32_t types[] = { GUEST_QP_XRC, GUEST_QP_DC };

	for (int i = 0; i < 2; i++) {
		struct rig *x = start_at(types[i], MTU, 0);

		put_be32(word(x, 1, 0), 0x7777);
		put_be32(word(x, 3, 0), 3000);
		post(x, RING_MLX5_WRITE, 4);
		sample(x);
		assert_int_equal(x->sq.s.bytes_sent, 3000);
		done(x);
	}
}

/* Runs of requests that are alike are charged at once: only what is alike. */
TEST(cost__requests_of_one_form__are_told_apart)
{
	struct rig *x = start();

	post_write(x, 1000);
	post_write(x, 1000);
	post_write(x, 2000);
	post_write(x, 2000);
	put_be32(word(x, 2, 0), 2000);
	post(x, RING_MLX5_READ, 3);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 5);
	assert_int_equal(x->sq.s.bytes_sent, 6000);
	assert_int_equal(x->sq.s.bytes_recv, 2000);
	post_write(x, 0);
	post_write(x, 0);
	sample(x);
	assert_int_equal(x->sq.s.mtus_sent, 2);
	done(x);
}

/* --- forged requests --------------------------------------------------- */

TEST(forged__request_that_no_adapter_accepts__is_entry)
{
	static const struct {
		uint32_t opcode, segments, data[2];
	} rows[] = {
		{ RING_MLX5_NOP, 0, { 0, 0 } },	   /* of no length */
		{ RING_MLX5_WRITE, 1, { 0, 0 } },  /* without an address */
		{ RING_MLX5_WRITE, 63, { 0, 0 } }, /* beyond what was posted */
		{ RING_MLX5_WRITE, 3, { RING_MLX5_INLINE | 13, 0 } },
		{ RING_MLX5_WRITE, 4, { 0x7fffffff, 2 } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig *x = start();

		put_be32(word(x, 2, 0), rows[i].data[0]);
		put_be32(word(x, 3, 0), rows[i].data[1]);
		post(x, rows[i].opcode, rows[i].segments);
		set_db(&x->sq, RING_MLX5_DB_POSTED, 1);
		assert_fault(x, &x->sq, RING_FAULT_ENTRY);
	}
}

TEST(forged__operation_that_is_not_known__is_layout)
{
	static const uint32_t opcodes[] = { RING_MLX5_TSO, 0x28, 0x30, 0xff };

	for (int i = 0; i < 4; i++) {
		struct rig *x = start();

		post(x, opcodes[i], 4);
		assert_fault(x, &x->sq, RING_FAULT_LAYOUT);
	}
}

/* Memory of something else, or of another queue pair. */
TEST(forged__requests_are_not_there__is_header)
{
	static const uint32_t heads[] = { 1 << 8 | RING_MLX5_WRITE, 0xffc000 | RING_MLX5_WRITE };

	for (int i = 0; i < 4; i++) {
		struct rig *x = start();

		post_write(x, 1000);
		post_write(x, 1000);
		if (i < 2)
			put_be32(x->sq.mem + 64, heads[i] + (i == 0 ? 0x100u : 0));
		else if (i == 2)
			put_be32(x->sq.mem + 64 + 4, (QPN + 1) << 8 | 3);
		else
			set_db(&x->sq, RING_MLX5_DB_POSTED, 0x10002);
		assert_fault(x, &x->sq, RING_FAULT_HEADER);
	}
}

/* --- laps -------------------------------------------------------------- */

TEST(lapped__hole_in_the_ring__reading_begins_after_it)
{
	struct rig *x = start();

	writes(x, UNITS + 36);
	put_be32(x->sq.mem + 20 * 64 + 4, 0); /* block 84 of 100 */
	sample(x);
	assert_int_equal(x->sq.s.seen, 15);
	assert_int_equal(x->sq.s.lost, 85);
	done(x);
}

TEST(lapped__newest_request_ends_beyond_what_was_posted__is_header)
{
	struct rig *x = start();

	writes(x, UNITS + 36);
	sample(x); /* what it found is not believed the next time */
	writes(x, UNITS + 36);
	put_be32(x->sq.mem + 199 % UNITS * 64 + 4, QPN << 8 | 8);
	assert_fault(x, &x->sq, RING_FAULT_HEADER);
}

TEST(lapped__with_requests_noted__counts_them_too)
{
	struct rig *x = start();

	writes(x, 1);
	complete(x, 0);
	sample(x);
	writes(x, 5);
	sample(x);
	assert_int_equal(x->sq.s.backlog, 5);
	writes(x, 100);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 5 + 36);
	assert_int_equal(x->sq.s.lost, 36);
	assert_int_equal(x->sq.s.backlog, UNITS);
	done(x);
}

/* The send queue gets no notice of completions, and new requests overwrite the old ones. */
TEST(noted__overwritten__is_completed)
{
	struct rig *x = start();

	writes(x, 1);
	complete(x, 0);
	sample(x);
	writes(x, UNITS);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 0);
	writes(x, 10);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 10);
	assert_int_equal(x->sq.s.mtus_sent, 30);
	assert_int_equal(x->sq.s.flags, 0);
	done(x);
}

/* --- RESET ------------------------------------------------------------- */

/* Far ahead: an old completion, compared as a number, would be of the new ones, or not. */
TEST(reset__from_high_indices__forgets_what_was_told)
{
	struct rig *x = start_at(GUEST_QP_RC, MTU, 40000);

	writes(x, 1);
	sample(x);
	writes(x, 1);
	put_cqe(x, RING_MLX5_CQE_REQ_ERR, QPN, 40001);
	sample(x);
	assert_int_equal(x->sq.s.errors, 1);
	x->posted = 0;
	writes(x, 3);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 3);
	assert_int_equal(x->sq.s.errors, 0);
	assert_int_equal(x->sq.s.mtus_sent, 9);
	done(x);
}

/* --- completions ------------------------------------------------------- */

TEST(told__several_queue_pairs__each_its_own)
{
	struct queue q[3] = { { .r = NULL } };
	struct rig *x = start();
	struct ring *ring[4];

	for (uint32_t i = 0; i < 3; i++) {
		queue_init(&q[i], RING_SQ, 64, UNITS);
		q[i].d.number = 90 - i * 10; /* 90, 80, 70; and 0x51 is 81 */
		assert_int_equal(queue_open(&q[i]), 0);
		assert_int_equal(look(x, &q[i]), 0);
		ring[i] = q[i].r;
	}
	ring[3] = x->sq.r;
	free(x->peers);
	x->peers = ring_peers_new(ring, 4);
	for (uint32_t i = 0; i < 3; i++)
		put_cqe(x, RING_MLX5_CQE_REQ, q[i].d.number, 0);
	put_cqe(x, RING_MLX5_CQE_REQ, 85, 0); /* of none of them */
	sample(x);
	for (uint32_t i = 0; i < 3; i++) {
		for (uint32_t k = 0; k < 2; k++) {
			put_be32(q[i].mem + k * 64, k << 8 | RING_MLX5_WRITE);
			put_be32(q[i].mem + k * 64 + 4, q[i].d.number << 8 | 3);
		}
		set_db(&q[i], RING_MLX5_DB_POSTED, 2);
		assert_int_equal(look(x, &q[i]), 0);
		assert_int_equal(q[i].s.wrs, 1);
		assert_int_equal(q[i].s.backlog, 1);
		ring_close(q[i].r);
		free(q[i].mem);
	}
	done(x);
}

/* libmlx5 copies what was not polled to the place after it, and leaves one that was never used. */
TEST(completions__of_a_new_buffer__the_unused_place_is_not_lost)
{
	struct rig *x = start();

	x->produced = 1;
	complete(x, 0);
	sample(x);
	assert_int_equal(x->cq.s.wrs, 0);
	set_polled(x, 2);
	sample(x);
	assert_int_equal(x->cq.s.seen, 1);
	assert_int_equal(x->cq.s.lost, 0);
	done(x);
}

TEST(completions__forged__are_faults)
{
	static const struct forged_cqe rows[] = {
		{ 7, 0, RING_FAULT_ENTRY },
		{ 11, 0, RING_FAULT_ENTRY },
		{ RING_MLX5_CQE_INVALID, 0x1000000, RING_FAULT_HEADER },
		{ RING_MLX5_CQE_INVALID, 0xffffff - ENTRIES, RING_FAULT_INDEX },
	};

	assert_forged_cqes(rows, sizeof(rows) / sizeof(rows[0]));
}

/* --- ops --------------------------------------------------------------- */

TEST(quiet__until_something_is_posted__and_never_with_work_in_flight)
{
	struct ring_quiet q;
	struct rig *x = start();

	ring_watch(x->sq.r, &q);
	assert_true(ring_is_quiet(&q));
	writes(x, 1);
	assert_false(ring_is_quiet(&q));
	complete(x, 0);
	sample(x);
	ring_watch(x->sq.r, &q);
	assert_true(ring_is_quiet(&q));
	writes(x, 1);
	sample(x);
	ring_watch(x->sq.r, &q);
	assert_false(ring_is_quiet(&q));
	ring_watch(x->cq.r, &q);
	assert_true(ring_is_quiet(&q));
	complete(x, 1);
	assert_false(ring_is_quiet(&q));
	done(x);
}

TEST(resume__same_requests_there__goes_on)
{
	struct rig *x = start_at(GUEST_QP_RC, MTU, 0);
	const size_t len = x->sq.len;

	assert_int_equal(ring_resume(x->sq.r, &x->sq.d, x->sq.mem, len, 0, false), 0);
	sample(x);
	writes(x, 3);
	sample(x);
	assert_int_equal(ring_resume(x->sq.r, &x->sq.d, x->sq.mem, len, 0, true), 1);
	writes(x, 2);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 2);
	put_be32(x->sq.mem + 4 * 64, 0);
	assert_int_equal(ring_resume(x->sq.r, &x->sq.d, x->sq.mem, len, 0, false), 0);
	done(x);
}
