// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mlx5: rings that no honest library writes, and edges that it reaches late. What libmlx5 itself
 * writes is in test_golden_mlx5.c. These need no verbs.
 */
#include "tests/unit/prop.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ibmon/ring/mlx5.h"
#include "ibmon/ring/ring_priv.h"
#include "resex/guest_abi.h"
#include "tests/unit/unit.h"

#define MS 1000000LL

enum { BLOCKS = 64, ENTRIES = 16, QPN = 0x51, MTU = 1024, RING_PAGES = 1, DB_AT = 192 };

struct queue {
	struct ring_desc d;
	uint8_t *mem; /* a page of the ring, and one of its doorbell record */
	struct ring *r;
	struct sample s;
};

struct rig {
	struct queue sq, cq;
	struct ring_peers *peers;
	uint32_t posted; /* blocks */
	uint32_t produced;
};

static void queue_init(struct queue *q, uint32_t kind, uint32_t elem, uint32_t entries)
{
	q->d = (struct ring_desc){ .id = kind,
				   .kind = kind,
				   .provider = GUEST_PROVIDER_MLX5,
				   .number = QPN,
				   .elem_size = elem,
				   .entries = entries,
				   .path_mtu = MTU,
				   .qp_type = GUEST_QP_RC,
				   .frames = RING_PAGES,
				   .db_offset = DB_AT };
	q->mem = aligned_alloc(GUEST_PAGE, (RING_PAGES + 1) * GUEST_PAGE);
	assert_non_null(q->mem);
	memset(q->mem, 0, (RING_PAGES + 1) * GUEST_PAGE);
}

static int queue_open(struct queue *q)
{
	return ring_open(&q->r, &q->d, q->mem, (RING_PAGES + 1) * GUEST_PAGE);
}

static void put_be32(uint8_t *at, uint32_t v)
{
	v = htobe32(v);
	memcpy(at, &v, sizeof(v));
}

static void set_db(struct queue *q, uint32_t word, uint32_t v)
{
	put_be32(q->mem + RING_PAGES * GUEST_PAGE + DB_AT + 4 * word, v);
}

static int look(struct rig *x, struct queue *q)
{
	return ring_sample_among(q->r, x->peers, MS, &q->s);
}

static void sample(struct rig *x)
{
	assert_int_equal(look(x, &x->cq), 0);
	assert_int_equal(look(x, &x->sq), 0);
}

static struct rig *start_at(uint32_t type, uint32_t mtu, uint32_t index)
{
	struct rig *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	queue_init(&x->sq, RING_SQ, 64, BLOCKS);
	queue_init(&x->cq, RING_CQ, 64, ENTRIES);
	x->sq.d.qp_type = type;
	x->sq.d.path_mtu = mtu;
	for (uint32_t i = 0; i < ENTRIES; i++)
		x->cq.mem[i * 64 + 63] = RING_MLX5_CQE_INVALID << 4;
	x->posted = index;
	assert_int_equal(queue_open(&x->sq), 0);
	assert_int_equal(queue_open(&x->cq), 0);
	x->peers = ring_peers_new(&x->sq.r, 1);
	assert_non_null(x->peers);
	return x;
}

static struct rig *start(void)
{
	struct rig *x = start_at(GUEST_QP_RC, MTU, 0);

	sample(x);
	return x;
}

static void done(struct rig *x)
{
	ring_close(x->sq.r);
	ring_close(x->cq.r);
	free(x->sq.mem);
	free(x->cq.mem);
	free(x->peers);
	free(x);
}

/* A word of a segment of the request that is built next. */
static uint8_t *word(struct rig *x, uint32_t segment, uint32_t offset)
{
	return x->sq.mem + (x->posted % BLOCKS * 64 + segment * 16) % (BLOCKS * 64) + offset;
}

/* So many blocks are said to be posted; what was built is one of them. */
static void post(struct rig *x, uint32_t opcode, uint32_t segments)
{
	put_be32(word(x, 0, 0), (x->posted & 0xffff) << 8 | opcode);
	put_be32(word(x, 0, 4), QPN << 8 | segments);
	x->posted += (segments + 3) / 4;
	set_db(&x->sq, RING_MLX5_DB_POSTED, x->posted & 0xffff);
}

static void post_write(struct rig *x, uint32_t bytes)
{
	put_be32(word(x, 2, 0), bytes);
	post(x, RING_MLX5_WRITE, 3);
}

static void writes(struct rig *x, int n)
{
	for (int i = 0; i < n; i++)
		post_write(x, 3000);
}

static void put_cqe(struct rig *x, uint32_t opcode, uint32_t qpn, uint32_t counter)
{
	uint32_t owner = (x->produced & ENTRIES) != 0;
	uint64_t v = htobe64((uint64_t)qpn << 32 | (uint64_t)(counter & 0xffff) << 16 |
			     opcode << 4 | owner);

	memcpy(x->cq.mem + x->produced % ENTRIES * 64 + 56, &v, sizeof(v));
	x->produced++;
}

static void complete(struct rig *x, uint32_t counter)
{
	put_cqe(x, RING_MLX5_CQE_REQ, QPN, counter);
}

static void assert_fault(struct rig *x, struct queue *q, enum ring_fault why)
{
	assert_int_equal(look(x, q), -EBADMSG);
	assert_int_equal(ring_fault(q->r), why);
	done(x);
}

/* --- opening ----------------------------------------------------------- */

TEST(open__what_is_not_such_a_queue__is_refused)
{
	static const struct {
		uint32_t kind, elem, entries, type, number, db_offset, frames;
		int rc;
	} rows[] = {
		{ RING_SQ, 64, 64, GUEST_QP_DC, 1, 0, 1, 0 },
		{ RING_SQ, 128, 32, GUEST_QP_RC, 1, 0, 1, -EPROTONOSUPPORT },
		{ RING_SQ, 64, 65536, GUEST_QP_RC, 1, 0, 1, -EPROTONOSUPPORT },
		{ RING_SQ, 64, 64, GUEST_QP_RAW, 1, 0, 1, -EPROTONOSUPPORT },
		{ RING_SQ, 64, 128, GUEST_QP_RC, 1, 0, 1, -EBADMSG },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 0, 0, 1, -EBADMSG },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 0x1000000, 0, 1, -EBADMSG },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 1, 4088, 1, 0 },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 1, 4096, 1, -EBADMSG },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 1, 4, 1, -EBADMSG },
		{ RING_SQ, 64, 64, GUEST_QP_RC, 1, 0, 2, -EBADMSG }, /* no page of the record */
		{ RING_CQ, 128, 32, 0, 1, 0, 1, 0 },
		{ RING_CQ, 256, 16, 0, 1, 0, 1, -EPROTONOSUPPORT },
		{ RING_CQ, 64, 128, 0, 1, 0, 1, -EBADMSG },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct queue q = { .r = NULL };

		queue_init(&q, rows[i].kind, rows[i].elem, rows[i].entries);
		q.d.qp_type = rows[i].type;
		q.d.number = rows[i].number;
		q.d.db_offset = rows[i].db_offset;
		q.d.frames = rows[i].frames;
		assert_int_equal(queue_open(&q), rows[i].rc);
		if (q.r)
			ring_close(q.r);
		free(q.mem);
	}
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

TEST(cost__path_mtu_unknown__is_a_guess_if_it_matters)
{
	struct rig *x = start_at(GUEST_QP_RC, 0, 0);

	sample(x);
	post_write(x, 256);
	sample(x);
	assert_int_equal(x->sq.s.flags, 0);
	post_write(x, 257);
	sample(x);
	assert_int_equal(x->sq.s.flags, SAMPLE_MTUS_ESTIMATED | SAMPLE_MTUS_GUESSED);
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

	writes(x, BLOCKS + 36);
	put_be32(x->sq.mem + 20 * 64 + 4, 0); /* block 84 of 100 */
	sample(x);
	assert_int_equal(x->sq.s.seen, 15);
	assert_int_equal(x->sq.s.lost, 85);
	done(x);
}

TEST(lapped__newest_request_ends_beyond_what_was_posted__is_header)
{
	struct rig *x = start();

	writes(x, BLOCKS + 36);
	sample(x); /* what it found is not believed the next time */
	writes(x, BLOCKS + 36);
	put_be32(x->sq.mem + 199 % BLOCKS * 64 + 4, QPN << 8 | 8);
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
	assert_int_equal(x->sq.s.backlog, BLOCKS);
	done(x);
}

/* The send queue gets no notice of completions, and new requests overwrite the old ones. */
TEST(noted__overwritten__is_completed)
{
	struct rig *x = start();

	writes(x, 1);
	complete(x, 0);
	sample(x);
	writes(x, BLOCKS);
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

/* A copy that libmlx5 moved when it compacted the queue. */
TEST(told__an_older_completion_again__changes_nothing)
{
	struct rig *x = start();

	writes(x, 1);
	complete(x, 0);
	sample(x);
	writes(x, 3);
	put_cqe(x, RING_MLX5_CQE_REQ_ERR, QPN, 2);
	complete(x, 1);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 2);
	assert_int_equal(x->sq.s.errors, 1);
	done(x);
}

TEST(told__again_and_again_in_a_second__is_not_silent)
{
	struct rig *x = start();

	writes(x, 2);
	complete(x, 0);
	sample(x);
	for (uint32_t i = 1; i < 1500; i++) {
		writes(x, 1);
		complete(x, i);
		sample(x);
		set_db(&x->cq, RING_MLX5_DB_POLLED, x->produced);
		assert_int_equal(x->sq.s.backlog, 1);
	}
	done(x);
}

/* Counters of receives are those of another queue. */
TEST(told__of_a_receive__is_nothing)
{
	struct rig *x = start();

	put_cqe(x, 2, QPN, 0xffff);
	sample(x);
	writes(x, 2);
	sample(x);
	assert_int_equal(x->sq.s.wrs, 2); /* charged when posted: nothing is told */
	done(x);
}

TEST(told__several_queue_pairs__each_its_own)
{
	struct queue q[3] = { { .r = NULL } };
	struct rig *x = start();
	struct ring *ring[4];

	for (uint32_t i = 0; i < 3; i++) {
		queue_init(&q[i], RING_SQ, 64, BLOCKS);
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

TEST(completions__before_it_was_mapped__are_not_told)
{
	struct rig *x = start_at(GUEST_QP_RC, MTU, 0);

	for (uint32_t i = 0; i < 20; i++)
		complete(x, i);
	set_db(&x->cq, RING_MLX5_DB_POLLED, 18);
	sample(x);
	assert_int_equal(x->cq.s.wrs, 2);
	assert_int_equal(x->cq.s.lost, 0);
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
	set_db(&x->cq, RING_MLX5_DB_POLLED, 2);
	sample(x);
	assert_int_equal(x->cq.s.seen, 1);
	assert_int_equal(x->cq.s.lost, 0);
	done(x);
}

TEST(completions__after_the_last_of_a_buffer__are_not_read)
{
	struct rig *x = start();

	put_cqe(x, RING_MLX5_CQE_RESIZED, 0, 0);
	complete(x, 0);
	sample(x);
	assert_int_equal(x->cq.s.seen, 0);
	sample(x);
	assert_int_equal(x->cq.s.seen, 0);
	done(x);
}

TEST(completions__forged__are_faults)
{
	static const struct {
		uint32_t opcode, polled;
		enum ring_fault why;
	} rows[] = {
		{ 7, 0, RING_FAULT_ENTRY },
		{ 11, 0, RING_FAULT_ENTRY },
		{ RING_MLX5_CQE_INVALID, 0x1000000, RING_FAULT_HEADER },
		{ RING_MLX5_CQE_INVALID, 0xffffff - ENTRIES, RING_FAULT_INDEX },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rig *x = start();

		put_cqe(x, rows[i].opcode, QPN, 0);
		set_db(&x->cq, RING_MLX5_DB_POLLED, rows[i].polled);
		assert_fault(x, &x->cq, rows[i].why);
	}
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
	const size_t len = (RING_PAGES + 1) * GUEST_PAGE;

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
