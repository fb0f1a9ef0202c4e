// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx4: rings that no honest library writes, and edges that it reaches late. What libmlx4 itself
 * writes is in test_golden_mlx4.c. These need no verbs.
 */
#include "tests/unit/ring_mlx4_rig.h"

#include "tests/unit/ring_mlx_both.h"

/* --- opening ----------------------------------------------------------- */

TEST(open__what_is_not_such_a_queue__is_refused)
{
	static const struct open_row rows[] = {
		{ RING_SQ, 64, 64, GUEST_QP_XRC, 1, DB_AT, 0, 1, 0 },
		{ RING_SQ, 32, 64, GUEST_QP_RC, 1, DB_AT, 0, 1, -EPROTONOSUPPORT },
		{ RING_SQ, 64, 65536, GUEST_QP_RC, 1, DB_AT, 0, 1, -EPROTONOSUPPORT },
		{ RING_SQ, 64, 64, GUEST_QP_DC, 1, DB_AT, 0, 1, -EPROTONOSUPPORT },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 0, DB_AT, 0, 1, -EBADMSG },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 0x1000000, DB_AT, 0, 1, -EBADMSG },
		{ RING_SQ, 64, 256, GUEST_QP_RC, 1, DB_AT, 0, 1, -EBADMSG }, /* too short */
		{ RING_SQ, 64, 64, GUEST_QP_RC, 1, DB_AT, 0x01000008, 1,
		  -EBADMSG }, /* other data */
		{ RING_CQ, 32, 128, 0, 1, DB_AT, 0, 1, 0 },
		{ RING_CQ, 64, 64, 0, 1, DB_AT, 0, 1, 0 },
		{ RING_CQ, 128, 32, 0, 1, DB_AT, 0, 1, -EPROTONOSUPPORT },
		{ RING_CQ, 16, 32, 0, 1, DB_AT, 0, 1, -EBADMSG },
		{ RING_CQ, 32, 256, 0, 1, DB_AT, 0, 1, -EBADMSG },
		{ RING_CQ, 32, 128, 0, 1, DB_AT, 0, 2, -EBADMSG }, /* no page of the record */
	};

	assert_opens(rows, sizeof(rows) / sizeof(rows[0]));
}

/* Before the queue pair is made ready, its slots are 0. */
TEST(open__never_made_ready__has_nothing)
{
	struct rig *x = start();

	memset(x->sq.mem, 0, UNITS * UNIT);
	ring_close(x->sq.r);
	assert_int_equal(queue_open(&x->sq), 0);
	assert_int_equal(look(x, &x->sq), 0);
	assert_int_equal(x->sq.s.wrs, 0);
	make_ready(x);
	assert_int_equal(look(x, &x->sq), 0);
	assert_int_equal(x->sq.s.wrs, 0);
	writes(x, 3);
	assert_int_equal(look(x, &x->sq), 0);
	assert_int_equal(x->sq.s.wrs, 3);
	assert_int_equal(x->sq.s.flags, 0);
	done(x);
}

/* Each number of requests before it: the oldest of two laps that look the same. */
TEST(open__in_use__history_is_what_is_visible)
{
	static const struct {
		int posted;
		uint32_t wrs;
	} rows[] = {
		{ 1, 1 },     { 63, 63 },   { 64, 64 },	      { 65, 65 },	{ 127, 127 },
		{ 128, 128 }, { 129, 129 }, { 64 + 128, 64 }, { 65 + 128, 65 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t lost = rows[i].wrs > UNITS ? rows[i].wrs - UNITS : 0;
		struct rig *x = start();

		writes(x, rows[i].posted);
		ring_close(x->sq.r);
		assert_int_equal(queue_open(&x->sq), 0);
		assert_int_equal(look(x, &x->sq), 0);
		assert_int_equal(x->sq.s.wrs, rows[i].wrs);
		assert_int_equal(x->sq.s.lost, lost);
		assert_int_equal(x->sq.s.flags & SAMPLE_HISTORY, SAMPLE_HISTORY);
		assert_int_equal(!(x->sq.s.flags & SAMPLE_WRS_BOUNDED), !lost);
		writes(x, 3);
		assert_int_equal(look(x, &x->sq), 0);
		assert_int_equal(x->sq.s.wrs, 3);
		assert_int_equal(x->sq.s.flags, 0);
		done(x);
	}
}

/* --- what a request costs ---------------------------------------------- */

TEST(cost__datagram_above_the_mtu__is_one_mtu)
{
	struct rig *x = start_of(GUEST_QP_UD, 128, 32);

	put_be32(word(x, 0, 4, 0), 3000);
	post(x, RING_MLX4_SEND, 5);
	sample(x);
	assert_int_equal(x->sq.s.mtus_sent, 1);
	assert_int_equal(x->sq.s.bytes_sent, 3000);
	done(x);
}

/* The number of the receive queue is in the control segment. */
TEST(cost__xrc__is_as_rc)
{
	struct rig *x = start_of(GUEST_QP_XRC, UNIT, UNITS);

	writes(x, 2);
	sample(x);
	assert_int_equal(x->sq.s.bytes_sent, 6000);
	done(x);
}

/* Of 16 MB and more, a length looks like the port of an address. */
TEST(cost__unknown_transport__an_address_is_told_from_data)
{
	static const struct {
		uint32_t port, second, gid, mtus;
	} rows[] = {
		{ 0x01000007, 0x00000002, 0, 1 },	   /* port 1 */
		{ 0x02000007, 0x00800002, 0xfe80, 1 },	   /* port 2, with a global address */
		{ 0x81000007, 0x00000002, 0, 1 },	   /* Ethernet's */
		{ 0x03000000, 0x00000002, 0, 49152 },	   /* no adapter has so many */
		{ 0x01000000, 0x02000002, 0, 16384 },	   /* a key */
		{ 0x01000000, 0x00000002, 0x7f00, 16384 }, /* the length of another segment */
		{ 0x00001000, 0x00000002, 0, 4 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig *x = start_of(GUEST_QP_UNKNOWN, 128, 32);

		put_be32(word(x, 0, 1, 0), rows[i].port);
		put_be32(word(x, 0, 1, 4), rows[i].second);
		put_be32(word(x, 0, 2, 12), rows[i].gid);
		put_be32(word(x, 0, 2, 0), rows[i].gid == 0x7f00 ? 0x80000000 : 0);
		put_be32(word(x, 0, 3, 0), 0);
		post(x, RING_MLX4_SEND, 4);
		sample(x);
		assert_int_equal(x->sq.s.mtus_sent, rows[i].mtus);
		done(x);
	}
}

/* Its remote address begins as an address of a datagram does. */
TEST(cost__unknown_transport__a_write_is_no_datagram)
{
	struct rig *x = start_of(GUEST_QP_UNKNOWN, 128, 32);

	put_be32(word(x, 0, 1, 0), 0x01000007);
	put_be32(word(x, 0, 3, 0), 3000);
	post(x, RING_MLX4_WRITE, 4);
	sample(x);
	assert_int_equal(x->sq.s.mtus_sent, 3);
	done(x);
}

/* Runs of requests that are alike are charged at once: only what is alike. */
TEST(cost__requests_of_one_form__are_told_apart)
{
	struct rig *x = start();

	post_write(x, 1000);
	post_write(x, 1000);
	post_write(x, 2000);
	post_write(x, 2000);
	put_be32(word(x, x->posted, 2, 0), 2000);
	post(x, RING_MLX4_READ, 3);
	put_be32(word(x, x->posted, 2, 0), 2000);
	post(x, RING_MLX4_READ, 3 | 0x40); /* fenced */
	sample(x);
	assert_int_equal(x->sq.s.wrs, 6);
	assert_int_equal(x->sq.s.bytes_sent, 6000);
	assert_int_equal(x->sq.s.bytes_recv, 4000);
	post_write(x, 0);
	post_write(x, 0);
	sample(x);
	assert_int_equal(x->sq.s.mtus_sent, 2);
	done(x);
}

/* Of a whole slot it is what the library writes into slots that are not used. */
TEST(cost__nop__is_local)
{
	struct rig *x = start();

	for (uint32_t i = 0; i < 2 * UNITS; i++) {
		post(x, RING_MLX4_NOP, 1);
		sample(x);
		assert_int_equal(x->sq.s.wrs, 1);
		assert_int_equal(x->sq.s.ops[OP_LOCAL], 1);
	}
	assert_int_equal(x->sq.s.mtus_sent, 0);
	done(x);
}

/* --- forged requests --------------------------------------------------- */

TEST(forged__request_that_no_adapter_accepts__is_entry)
{
	static const struct {
		uint32_t opcode, segments, data[2];
	} rows[] = {
		{ RING_MLX4_BIND_MW, 0, { 0, 0 } },		      /* of no length */
		{ RING_MLX4_WRITE, 1, { 0, 0 } },		      /* without an address */
		{ RING_MLX4_WRITE, 9, { 0, 0 } },		      /* longer than its slot */
		{ RING_MLX4_WRITE, 5, { RING_MLX4_INLINE | 29, 0 } }, /* in two chunks */
		{ RING_MLX4_WRITE, 3, { RING_MLX4_INLINE | 13, 0 } },
		{ RING_MLX4_WRITE, 4, { 0x7fffffff, 2 } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig *x = start_of(GUEST_QP_RC, 128, 32);

		put_be32(word(x, 0, 2, 0), rows[i].data[0]);
		put_be32(word(x, 0, 3, 0), rows[i].data[1]);
		post(x, rows[i].opcode, rows[i].segments);
		assert_fault(x, &x->sq, RING_FAULT_ENTRY);
	}
}

TEST(forged__operation_that_is_not_known__is_layout)
{
	static const uint32_t opcodes[] = { RING_MLX4_LSO, 0x02, 0x1f };

	for (int i = 0; i < 3; i++) {
		struct rig *x = start();

		post(x, opcodes[i], 4);
		assert_fault(x, &x->sq, RING_FAULT_LAYOUT);
	}
}

/* Memory of something else, or of another queue pair. */
TEST(forged__requests_are_not_there__is_header)
{
	static const uint32_t rows[][2] = {
		{ RING_MLX4_WRITE | 0x20, 3 },
		{ RING_MLX4_WRITE | 0x40000000, 3 },
		{ RING_MLX4_WRITE, (QPN + 1) << 8 | 3 },
		{ RING_MLX4_WRITE | 2 << 8, 3 }, /* the index of another */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig *x = start();

		post_write(x, 1000);
		post_write(x, 1000);
		put_be32(word(x, 1, 0, 0), rows[i][0]);
		put_be32(word(x, 1, 0, 4), rows[i][1]);
		assert_fault(x, &x->sq, RING_FAULT_HEADER);
	}
}

/* The process ends, and its pages become those of another. */
TEST(freed__memory_of_something_else__counts_nothing)
{
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 300; i++) {
		struct rig *x = followed();
		int rc = 0;

		if (i % 2)
			writes(x, UNITS + 7);
		complete(x, x->posted - 1);
		sample(x);
		for (size_t k = 0; k < UNITS * UNIT; k++)
			x->sq.mem[k] = i < 2 ? 0 : (uint8_t)prop_range(&p, 0, 255);
		for (int again = 0; again < 3 && !rc; again++) {
			rc = look(x, &x->sq);
			assert_int_equal(x->sq.s.wrs | x->sq.s.mtus_sent, 0);
		}
		assert_true(!rc || ring_fault(x->sq.r) == RING_FAULT_HEADER);
		done(x);
	}
}

/* The index and queue pair that the library adds to some. */
TEST(written__with_its_index__is_that_request)
{
	struct rig *x = start();

	writes(x, 3);
	put_be32(word(x, 2, 0, 0), RING_MLX4_WRITE | 2 << 8);
	put_be32(word(x, 2, 0, 4), QPN << 8 | 3);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 3);
	writes(x, 1 + 6 * UNITS);
	put_be32(word(x, 3, 0, 0), RING_MLX4_WRITE | (3 + 6 * UNITS) << 8);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 1 + 6 * UNITS);
	assert_int_equal(x->sq.s.lost, 1 + 5 * UNITS);
	writes(x, 1);
	put_be32(word(x, 4, 0, 0), RING_MLX4_WRITE | 4 << 8); /* older than the one before it */
	sample(x);
	assert_int_equal(x->sq.s.wrs, 1);
	done(x);
}

/* --- laps -------------------------------------------------------------- */

TEST(lapped__with_requests_noted__counts_them_too)
{
	struct rig *x = followed();

	writes(x, 5);
	sample(x);
	assert_int_equal(x->sq.s.backlog, 5);
	writes(x, 100);
	complete(x, 50);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 5 + 36 + 9);
	assert_int_equal(x->sq.s.lost, 36);
	assert_int_equal(x->sq.s.backlog, UNITS - 9);
	done(x);
}

/* Nothing more is told, and two laps make it look as if it were of these requests. */
TEST(lapped__twice_with_requests_noted__counts_them_once)
{
	struct rig *x = followed();

	writes(x, 5);
	sample(x);
	writes(x, 126);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 5 + 62);
	assert_int_equal(x->sq.s.lost, 62);
	assert_int_equal(x->sq.s.backlog, UNITS);
	done(x);
}

/* The send queue gets no notice of completions, and new requests overwrite the old ones. */
TEST(noted__overwritten__is_completed)
{
	struct rig *x = followed();

	writes(x, UNITS - 1);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 0);
	writes(x, 10);
	sample(x);
	assert_int_equal(x->sq.s.wrs, UNITS + 9); /* what was told is of another time */
	assert_int_equal(x->sq.s.mtus_sent, 3 * (UNITS + 9));
	assert_int_equal(x->sq.s.flags, 0);
	done(x);
}

/* More than a sample reads: the rest the next time, and nothing is lost. */
TEST(read__longer_than_a_sample__goes_on)
{
	enum { MANY = 8192 };
	struct rig *x = start_of(GUEST_QP_RC, UNIT, MANY);
	struct ring_quiet q;

	writes(x, MANY);
	sample(x);
	assert_int_equal(x->sq.s.wrs, RING_WALK_MAX);
	sample(x);
	assert_int_equal(x->sq.s.wrs, MANY - RING_WALK_MAX);
	writes(x, 100);
	sample(x);
	writes(x, 2 * MANY - 100);
	sample(x);
	assert_int_equal(x->sq.s.lost, MANY - 100);
	assert_int_equal(x->sq.s.seen, RING_WALK_MAX);
	assert_int_equal(x->sq.s.backlog, MANY - RING_WALK_MAX);
	ring_watch(x->sq.r, &q);
	assert_false(ring_is_quiet(&q));
	sample(x);
	assert_int_equal(x->sq.s.seen, MANY - RING_WALK_MAX);
	assert_int_equal(x->sq.s.lost, 0);
	done(x);
}

/* --- RESET ------------------------------------------------------------- */

TEST(reset__after_a_failure__forgets_it)
{
	struct rig *x = followed();

	writes(x, 1);
	put_cqe(x, RING_MLX4_CQE_IS_SEND | RING_MLX4_CQE_ERROR, QPN, 1);
	sample(x);
	assert_int_equal(x->sq.s.errors, 1);
	make_ready(x);
	writes(x, 1);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 1);
	assert_int_equal(x->sq.s.errors, 0);
	writes(x, 2);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 2);
	assert_int_equal(x->sq.s.mtus_sent, 6);
	done(x);
}

/* An old completion, compared as a number, would be of the new requests. */
TEST(reset__after_many__forgets_what_was_told)
{
	struct rig *x = followed();

	for (uint32_t i = 0; i < 100; i += 50) {
		writes(x, 50);
		complete(x, i + 50);
		sample(x);
	}
	make_ready(x);
	writes(x, 3);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 3);
	writes(x, 2);
	complete(x, 3);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 1);
	assert_int_equal(x->sq.s.backlog, 1);
	assert_int_equal(x->sq.s.flags, 0);
	done(x);
}

/* --- completions ------------------------------------------------------- */

TEST(told__two_queue_pairs__each_its_own)
{
	enum { OTHER = 0x99 };
	struct rig *x = start();
	struct rig other = { .sq.d.id = 0 };
	struct ring *rings[2];

	queue_init(&other.sq, RING_SQ, UNIT, UNITS);
	other.sq.d.number = OTHER;
	make_ready(&other);
	assert_int_equal(queue_open(&other.sq), 0);
	assert_int_equal(look(x, &other.sq), 0);
	rings[0] = other.sq.r;
	rings[1] = x->sq.r;
	free(x->peers);
	x->peers = ring_peers_new(rings, 2);
	complete(x, 0);
	put_cqe(x, RING_MLX4_CQE_IS_SEND | RING_MLX4_WRITE, OTHER, 1);
	put_cqe(x, RING_MLX4_CQE_IS_SEND | RING_MLX4_WRITE, 0x80, 2); /* of none of them */
	writes(x, 3);
	writes(&other, 3);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 1);
	assert_int_equal(look(x, &other.sq), 0);
	assert_int_equal(other.sq.s.wrs, 2);
	ring_close(other.sq.r);
	free(other.sq.mem);
	done(x);
}

/* Completions that are read late are no laps. */
TEST(told__of_two_laps_before__is_no_lap)
{
	struct rig *x = followed();

	for (int i = 0; i < 3; i++) {
		writes(x, 50);
		assert_int_equal(look(x, &x->sq), 0);
	}
	complete(x, 3);
	writes(x, 1);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 0);
	assert_int_equal(x->sq.s.backlog, 1);
	complete(x, 151);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 1);
	assert_int_equal(x->sq.s.flags, 0);
	done(x);
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
	writes(x, UNITS + 1); /* the next slot looks as before, and the one before it does not */
	assert_false(ring_is_quiet(&q));
	complete(x, 2);
	sample(x);
	ring_watch(x->sq.r, &q);
	assert_false(ring_is_quiet(&q));
	ring_watch(x->cq.r, &q);
	assert_true(ring_is_quiet(&q));
	complete(x, UNITS + 1);
	assert_false(ring_is_quiet(&q));
	done(x);
}

TEST(resume__same_requests_there__goes_on)
{
	struct rig *x = start();
	struct queue *q = &x->sq;

	assert_int_equal(ring_resume(q->r, &q->d, q->mem, q->len, 0, false), 1);
	assert_int_equal(ring_resume(q->r, &q->d, q->mem, q->len, 0, true), -EAGAIN);
	writes(x, 3);
	sample(x);
	assert_int_equal(ring_resume(q->r, &q->d, q->mem, q->len, 0, true), 1);
	writes(x, 2);
	put_be32(word(x, 4, 0, 0), RING_MLX4_WRITE | 4 << 8);
	sample(x);
	assert_int_equal(q->s.wrs, 2);
	put_be32(word(x, 4, 0, 0), RING_MLX4_WRITE); /* as before the library added the index */
	assert_int_equal(ring_resume(q->r, &q->d, q->mem, q->len, 0, true), 1);
	put_be32(word(x, 4, 1, 0), 1); /* another address */
	assert_int_equal(ring_resume(q->r, &q->d, q->mem, q->len, 0, false), 0);
	done(x);
}
