// SPDX-License-Identifier: GPL-2.0-or-later
/* ring_rxe: rings that are not, or no longer, what they were; and completion queues. */
#include "ibmon/ring/ops.h"
#include "tests/unit/ring_rig.h"
#include "tests/unit/unit.h"

/* --- faults --- */

TEST(fault__header_changes__once_and_for_good)
{
	static const size_t fields[] = { FAKE_LOG2_ELEM, FAKE_MASK };

	for (int i = 0; i < 2; i++) {
		struct fixture *x = started(16, FAKE_RC, 1024);
		uint32_t good = fake_get(&x->f, fields[i]);

		fake_do(&x->f, FAKE_WRITE, 1);
		fake_put(&x->f, fields[i], good ^ 16);
		assert_fault(x, RING_FAULT_HEADER);
		fake_put(&x->f, fields[i], good);
		assert_fault(x, RING_FAULT_HEADER); /* it stays so */
		done(x);
	}
}

TEST(fault__pages_zeroed_after_the_process__is_header)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	for (int i = 0; i < 9; i++)
		fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	memset(x->f.mem, 0, x->f.len);
	assert_fault(x, RING_FAULT_HEADER);
	assert_int_equal(x->s.wrs, 0); /* no phantom work */
	done(x);
}

/* With queue pairs of short life, pages of a freed ring return as a ring of the same size. */
TEST(fault__pages_reused_by_a_new_ring__counts_nothing_that_never_was)
{
	struct fixture *x = started(16, FAKE_RC, 1024);
	struct ring_totals t;

	for (int i = 0; i < 7; i++)
		fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	fake_reset(&x->f, 0);
	fake_put(&x->f, FAKE_PRODUCER, 0);
	fake_put(&x->f, FAKE_CONSUMER, 0);
	sample(x); /* it could be a RESET */
	assert_int_equal(x->s.wrs, 0);
	x->f.ssn = 0;
	x->f.posted = x->f.sent = x->f.done = 0;
	fake_do(&x->f, FAKE_WRITE, 1);
	assert_fault(x, RING_FAULT_HEADER);
	ring_totals(x->r, &t);
	assert_int_equal(t.wrs, 7);
	done(x);
}

/* Only the first pages are those of the new ring; the others hold something else. */
TEST(fault__some_pages_reused_by_a_new_ring__counts_nothing_that_never_was)
{
	struct fixture *x = started(16, FAKE_RC, 1024);
	struct ring_totals t;

	for (int i = 0; i < 7; i++)
		fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	fake_reset(&x->f, 0);
	fake_put(&x->f, FAKE_PRODUCER, 0);
	fake_put(&x->f, FAKE_CONSUMER, 0);
	fake_put_entry(&x->f, 12, FAKE_WQE_SSN, 77);
	fake_put_entry(&x->f, 12, FAKE_WQE_OPCODE, 1);
	for (int ms = 0; ms < 2999; ms++) {
		sample(x);
		assert_int_equal(x->s.wrs, 0);
	}
	assert_fault(x, RING_FAULT_HEADER);
	ring_totals(x->r, &t);
	assert_int_equal(t.wrs, 7);
	done(x);
}

/* It is in use when it is sampled first: its posts are in flight, or the first is in the making. */
TEST(fault__pages_reused_by_a_ring_in_use__counts_nothing_that_never_was)
{
	for (int posts = 0; posts <= 3; posts++) {
		struct fixture *x = started(16, FAKE_RC, 1024);
		struct ring_totals t;

		for (int i = 0; i < 7; i++)
			fake_do(&x->f, FAKE_WRITE, 1);
		sample(x);
		fake_reset(&x->f, 0);
		fake_put(&x->f, FAKE_PRODUCER, 0);
		fake_put(&x->f, FAKE_CONSUMER, 0);
		x->f.posted = x->f.sent = x->f.done = x->f.ssn = 0;
		if (!posts) {
			fake_refuse(&x->f, FAKE_WRITE, 1);
			sample(x);
			assert_int_equal(x->s.wrs, 0);
			fake_post(&x->f, FAKE_WRITE, 1);
		}
		for (int i = 0; i < posts; i++)
			fake_post(&x->f, FAKE_WRITE, 1);
		assert_fault(x, RING_FAULT_HEADER);
		ring_totals(x->r, &t);
		assert_int_equal(t.wrs, 7);
		done(x);
	}
}

/* An element of 256 bytes has room for 3. Inline, the field means nothing. */
TEST(fault__more_scatter_entries_than_fit__is_an_entry_that_cannot_be)
{
	for (uint32_t n = 3; n <= 4; n++)
		for (uint32_t place = 0; place < 3; place++) { /* among the entries of a sample */
			struct fixture *x = started(16, FAKE_RC, 1024);

			for (int i = 0; i < 3; i++)
				fake_do(&x->f, FAKE_WRITE, 1);
			fake_put_entry(&x->f, place, FAKE_WQE_NUM_SGE, n);
			if (n > 3) {
				assert_fault(x, RING_FAULT_ENTRY);
			} else {
				sample(x);
				assert_int_equal(x->s.wrs, 3);
			}
			done(x);
			x = started(16, FAKE_RC, 1024);
			for (int i = 0; i < 3; i++)
				fake_do(&x->f, FAKE_WRITE, 1);
			fake_put_entry(&x->f, place, FAKE_WQE_NUM_SGE, 4000);
			fake_put_entry(&x->f, place, FAKE_WQE_FLAGS, 8);
			sample(x);
			assert_int_equal(x->s.wrs, 3);
			done(x);
		}
}

/* The indices of a queue pair that is RESET may be 0; its sequence numbers go on. */
TEST(fault__queue_pair_reset_at_index_0_and_in_use__is_not_one)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	for (int i = 0; i < 15; i++)
		fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	fake_do(&x->f, FAKE_WRITE, 1);
	fake_reset(&x->f, 0);
	fake_post(&x->f, FAKE_WRITE, 1);
	sample(x);
	assert_int_equal(x->s.wrs, 1);
	fake_send(&x->f);
	fake_complete(&x->f, FAKE_OK);
	sample(x);
	assert_int_equal(x->s.wrs, 1);
	done(x);
}

/* The producer index is read before the posts, and their entries after them. */
TEST(fault__queue_pair_reset_and_posting_while_it_is_read__is_not_one)
{
	struct fixture *x = started(8, FAKE_RC, 1024);

	fake_do(&x->f, FAKE_WRITE, 1);
	fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	fake_reset(&x->f, 0);
	fake_put_entry(&x->f, 4, FAKE_WQE_SSN, 4);
	fake_put_entry(&x->f, 4, FAKE_WQE_OPCODE, 1);
	sample(x);
	assert_int_equal(x->s.wrs, 0);
	for (int i = 0; i < 4; i++)
		fake_post(&x->f, FAKE_WRITE, 1);
	sample(x);
	assert_int_equal(x->s.wrs, 0);
	for (int i = 0; i < 4; i++) {
		fake_send(&x->f);
		fake_complete(&x->f, 0);
	}
	sample(x);
	assert_int_equal(x->s.wrs, 4);
	done(x);
}

/* A refused post leaves its mark in the next slot of a queue pair that was RESET. */
TEST(fault__queue_pair_reset_and_a_post_refused__is_not_one)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	for (int i = 0; i < 5; i++)
		fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	fake_do(&x->f, FAKE_WRITE, 1);
	fake_reset(&x->f, 0);
	fake_refuse(&x->f, FAKE_WRITE, 1);
	sample(x);
	assert_int_equal(x->s.wrs, 1);
	done(x);
}

/* Within a lap of the newest entry counted, and further. */
TEST(fault__sequence_number_beyond_what_time_allows__is_one)
{
	for (int n = 1; n <= 20; n += 19) {
		struct fixture *x = started(16, FAKE_RC, 1024);

		fake_do(&x->f, FAKE_WRITE, 1);
		sample(x);
		for (int i = 0; i < n; i++)
			fake_do(&x->f, FAKE_WRITE, 1);
		fake_put_entry(&x->f, (uint64_t)n, FAKE_WQE_SSN, 10 * 1000 * 1000);
		assert_fault(x, RING_FAULT_JUMP);
		done(x);
	}
}

/* RESET keeps the indices: what waited may have been done, and the ring is read on. */
TEST(fault__queue_pair_reset__is_not_one)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	for (int i = 0; i < 7; i++)
		fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	for (int i = 0; i < 3; i++)
		fake_post(&x->f, FAKE_WRITE, 1);
	fake_reset(&x->f, 0);
	sample(x);
	assert_int_equal(x->s.wrs, 3);
	assert_true(x->s.flags & SAMPLE_WRS_BOUNDED);
	done(x);
}

TEST(fault__index_beyond_the_ring__is_index)
{
	static const uint32_t values[] = { 16, 17, 1u << 20, UINT32_MAX };

	for (int i = 0; i < 8; i++) {
		struct fixture *x = started(16, FAKE_RC, 1024);

		fake_put(&x->f, i < 4 ? FAKE_CONSUMER : FAKE_PRODUCER, values[i % 4]);
		assert_fault(x, RING_FAULT_INDEX);
		done(x);
	}
}

TEST(fault__opcode_that_is_none__is_entry)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	fake_do(&x->f, FAKE_WRITE, 1);
	fake_put_entry(&x->f, 0, FAKE_WQE_OPCODE, 0x77777777);
	assert_fault(x, RING_FAULT_ENTRY);
	done(x);
}

TEST(fault__reported_sample__is_empty)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	for (int i = 0; i < 3; i++)
		fake_do(&x->f, FAKE_WRITE, 1);
	fake_put(&x->f, FAKE_MASK, 1);
	memset(&x->s, 0xee, sizeof(x->s));
	assert_int_equal(ring_sample(x->r, MS, &x->s), -EBADMSG);
	assert_int_equal(x->s.wrs | x->s.mtus_sent | x->s.mtus_recv | x->s.bytes_sent, 0);
	done(x);
}

TEST(fault__every_reason__has_its_sentence)
{
	for (int i = RING_OK; i <= RING_FAULT_PLUGIN; i++) {
		const char *text = ring_fault_text((enum ring_fault)i);

		assert_non_null(text);
		for (int k = RING_OK; k < i; k++)
			assert_string_not_equal(text, ring_fault_text((enum ring_fault)k));
	}
	assert_non_null(ring_fault_text((enum ring_fault)99));
}

/* Time allows more for one sample after a ring was resumed. */
TEST(fault__number_jumps_after_it_was_resumed__is_one_but_at_once)
{
	for (int samples = 0; samples <= 1; samples++) {
		struct fixture *x = started(16, FAKE_RC, 1024);

		fake_do(&x->f, FAKE_WRITE, 1);
		sample(x);
		assert_int_equal(ring_resume(x->r, &x->f.desc, x->f.mem, x->f.len, 200 * MS, false),
				 1);
		for (int i = 0; i < samples; i++)
			sample(x);
		fake_do(&x->f, FAKE_WRITE, 1);
		fake_put_entry(&x->f, 1, FAKE_WQE_SSN, 10 * 1000 * 1000);
		if (samples)
			assert_fault(x, RING_FAULT_JUMP);
		else
			sample(x);
		done(x);
	}
}

/* A forged ssn must not charge four thousand million work requests for one millisecond. */
TEST(fault__ssn_jumps_further_than_time_allows__is_never_believed)
{
	struct fixture *x = started(16, FAKE_RC, 1024);
	int ret;

	fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	x->f.ssn += 1u << 31;
	fake_do(&x->f, FAKE_WRITE, 1);
	ret = ring_sample(x->r, MS, &x->s);
	if (ret)
		assert_int_equal(ring_fault(x->r), RING_FAULT_JUMP);
	else
		assert_true(x->s.wrs < 1u << 24);
	done(x);
}

/* --- completion queues --- */

TEST(cq__completions__are_counted_and_charge_nothing)
{
	struct fixture *x = calloc(1, sizeof(*x));
	struct ring_totals t;

	fake_cq_open(&x->f, 32);
	x->f.desc.number = 3;
	start(x);
	for (int i = 0; i < 10; i++)
		fake_cqe(&x->f, 77, i % 2 ? 0 : 128, 4000, FAKE_OK);
	sample(x);
	assert_int_equal(x->s.mtus_sent, 0); /* the send queue has them already */
	assert_int_equal(x->s.mtus_recv, 0);
	fake_poll(&x->f, 10);
	for (int i = 0; i < 25; i++)
		fake_cqe(&x->f, 78, 0, 4000, FAKE_OK);
	sample(x);
	ring_totals(x->r, &t);
	assert_int_equal(t.completions, 35);
	assert_int_equal(t.seen, 35);
	assert_int_equal(t.qpn, 78);
	fake_poll(&x->f, 25);
	fake_cqe(&x->f, 0, 0, 4000, FAKE_REMOTE_ERROR);
	sample(x);
	ring_totals(x->r, &t);
	assert_int_equal(t.completions, 36);
	assert_int_equal(t.errors, 1);
	assert_int_equal(t.qpn, 78); /* the last one named none */
	done(x);
}

TEST(cq__index_or_header_forged__is_a_fault)
{
	struct fixture *x = calloc(1, sizeof(*x));

	fake_cq_open(&x->f, 32);
	start(x);
	fake_put(&x->f, FAKE_PRODUCER, 32);
	assert_fault(x, RING_FAULT_INDEX);
	ring_close(x->r);
	fake_put(&x->f, FAKE_PRODUCER, 0);
	start(x);
	fake_put(&x->f, FAKE_LOG2_ELEM, 6);
	assert_fault(x, RING_FAULT_HEADER);
	done(x);
}
