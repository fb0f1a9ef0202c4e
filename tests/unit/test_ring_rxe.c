// SPDX-License-Identifier: GPL-2.0-or-later
/* ring_rxe: what is counted on a send queue of soft-RoCE, case by case. */
#include "resex/guest_abi.h"
#include "tests/unit/ring_rig.h"
#include "tests/unit/unit.h"

/* --- opening --- */

static int try_open(struct fixture *x)
{
	struct ring *r = NULL;
	int ret = ring_open(&r, &x->f.desc, x->f.mem, x->f.len);

	if (ret == 0)
		ring_close(r);
	else
		assert_null(r); /* written only on success */
	return ret;
}

TEST(open__valid_rings__open)
{
	struct fixture *x;

	for (uint32_t slots = 2; slots <= 4096; slots *= 2) {
		x = sq(slots, FAKE_RC, 1024);
		assert_int_equal(try_open(x), 0);
		done(x);
		x = calloc(1, sizeof(*x));
		fake_cq_open(&x->f, slots);
		assert_int_equal(try_open(x), 0);
		done(x);
	}
}

TEST(open__provider_or_kind_not_known__is_refused)
{
	struct fixture *x = sq(16, FAKE_RC, 1024);

	x->f.desc.provider = GUEST_PROVIDER_MLX5 + 40;
	assert_int_equal(try_open(x), -EPROTONOSUPPORT);
	x->f.desc.provider = GUEST_PROVIDER_RXE;
	x->f.desc.kind = 9;
	assert_int_equal(try_open(x), -EPROTONOSUPPORT);
	done(x);
}

TEST(open__header_and_descriptor_disagree__is_refused)
{
	struct fixture *x = sq(16, FAKE_RC, 1024);

	fake_put(&x->f, FAKE_LOG2_ELEM, 9);
	assert_int_equal(try_open(x), -EBADMSG);
	fake_put(&x->f, FAKE_LOG2_ELEM, 8);
	fake_put(&x->f, FAKE_MASK, 31);
	assert_int_equal(try_open(x), -EBADMSG);
	fake_put(&x->f, FAKE_MASK, 14);
	assert_int_equal(try_open(x), -EBADMSG);
	fake_put(&x->f, FAKE_MASK, 15);
	assert_int_equal(try_open(x), 0);
	done(x);
}

TEST(open__ring_longer_than_the_mapping__is_refused)
{
	struct fixture *x = sq(16, FAKE_RC, 1024);
	size_t len = x->f.len;

	x->f.len = len - 1;
	assert_int_equal(try_open(x), -EBADMSG);
	x->f.len = 384;
	assert_int_equal(try_open(x), -EBADMSG);
	x->f.len = 100;
	assert_int_equal(try_open(x), -EBADMSG);
	x->f.len = 0;
	assert_int_equal(try_open(x), -EBADMSG);
	x->f.len = len;
	x->f.desc.offset = 4095;
	assert_int_equal(try_open(x), -EBADMSG);
	x->f.desc.offset = 0;
	x->f.desc.entries = 1u << 20;
	fake_put(&x->f, FAKE_MASK, (1u << 20) - 1);
	assert_int_equal(try_open(x), -EBADMSG);
	done(x);
}

TEST(open__send_entries_too_small_for_one__is_refused)
{
	struct fixture *x = sq(16, FAKE_RC, 1024);

	x->f.desc.elem_size = 128; /* a send entry has 208 bytes and more */
	fake_put(&x->f, FAKE_LOG2_ELEM, 7);
	assert_true(try_open(x) < 0);
	done(x);
}

/* --- history --- */

TEST(first_sample__work_already_done__is_history)
{
	struct fixture *x = sq(16, FAKE_RC, 1024);

	for (int i = 0; i < 5; i++)
		fake_do(&x->f, FAKE_WRITE, 3000);
	start(x);
	assert_true(x->s.flags & SAMPLE_HISTORY);
	assert_int_equal(x->s.wrs, 5);
	assert_int_equal(x->s.mtus_sent, 15);
	assert_int_equal(x->s.bytes_sent, 15000);
	fake_do(&x->f, FAKE_SEND, 10);
	sample(x);
	assert_false(x->s.flags & SAMPLE_HISTORY);
	assert_int_equal(x->s.wrs, 1);
	done(x);
}

TEST(first_sample__ring_already_lapped__tells_the_count)
{
	struct fixture *x = sq(16, FAKE_RC, 1024);

	for (int i = 0; i < 100; i++)
		fake_do(&x->f, FAKE_WRITE, 100);
	start(x);
	assert_true(x->s.flags & SAMPLE_HISTORY);
	assert_int_equal(x->s.wrs, 100);
	assert_int_equal(x->s.seen + x->s.lost, 100);
	assert_in_range(x->s.seen, 14, 16);
	assert_int_equal(x->s.bytes_sent, x->s.seen * 100);
	done(x);
}

TEST(first_sample__no_work_yet__is_empty)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	assert_int_equal(x->s.wrs, 0);
	assert_int_equal(x->s.mtus_sent + x->s.mtus_recv + x->s.backlog, 0);
	done(x);
}

/* --- counting --- */

TEST(sample__each_opcode__is_charged_by_the_rule)
{
	static const struct {
		uint32_t opcode;
		enum sample_op op;
		uint32_t bytes;
		uint64_t sent, recv;
	} rows[] = {
		{ FAKE_WRITE, OP_WRITE, 5000, 5, 0 },	 { FAKE_WRITE_IMM, OP_WRITE, 5000, 5, 0 },
		{ FAKE_SEND, OP_SEND, 5000, 5, 0 },	 { FAKE_SEND_IMM, OP_SEND, 5000, 5, 0 },
		{ FAKE_SEND_INV, OP_SEND, 5000, 5, 0 },	 { FAKE_READ, OP_READ, 5000, 0, 5 },
		{ FAKE_CMP_SWAP, OP_CMP_SWAP, 8, 1, 0 }, { FAKE_FETCH_ADD, OP_FETCH_ADD, 8, 1, 0 },
		{ FAKE_LOCAL_INV, OP_LOCAL, 0, 0, 0 },	 { FAKE_BIND_MW, OP_LOCAL, 0, 0, 0 },
		{ FAKE_WRITE, OP_WRITE, 0, 1, 0 },	 { FAKE_READ, OP_READ, 0, 0, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture *x = started(16, FAKE_RC, 1024);

		fake_do(&x->f, FAKE_SEND, 1); /* a neighbour on each side */
		fake_do(&x->f, rows[i].opcode, rows[i].bytes);
		fake_do(&x->f, FAKE_SEND, 1);
		sample(x);
		assert_int_equal(x->s.flags, 0);
		assert_int_equal(x->s.wrs, 3);
		assert_int_equal(x->s.seen, 3);
		assert_int_equal(x->s.lost, 0);
		assert_int_equal(x->s.ops[rows[i].op], 1 + 2 * (rows[i].op == OP_SEND));
		assert_int_equal(x->s.mtus_sent, 2 + rows[i].sent);
		assert_int_equal(x->s.mtus_recv, rows[i].recv);
		done(x);
	}
}

TEST(sample__edges_of_the_path_mtu__are_exact)
{
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
		const uint32_t sizes[] = { 0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu, 2 * mtu + 1 };
		const uint32_t mtus[] = { 1, 1, 1, 1, 2, 2, 3 };

		for (int i = 0; i < 7; i++) {
			struct fixture *x = started(2, FAKE_RC, mtu);

			fake_do(&x->f, FAKE_WRITE, sizes[i]);
			sample(x);
			assert_int_equal(x->s.mtus_sent, mtus[i]);
			assert_int_equal(x->s.bytes_sent, sizes[i]);
			assert_int_equal(x->s.msg_bytes, sizes[i]);
			done(x);
		}
	}
}

TEST(sample__path_mtu_not_known__packet_numbers_tell)
{
	struct fixture *x = sq(16, FAKE_RC, 256);

	x->f.desc.path_mtu = 0;
	start(x);
	fake_do(&x->f, FAKE_WRITE, 2560);
	fake_do(&x->f, FAKE_READ, 2561);
	sample(x);
	assert_int_equal(x->s.mtus_sent, 10);
	assert_int_equal(x->s.mtus_recv, 11);
	done(x);
}

/* A guest that says its path MTU is 4096 while it sends 256: the packets count. */
TEST(sample__path_mtu_stated_too_large__packet_numbers_tell)
{
	struct fixture *x = sq(16, FAKE_RC, 256);

	x->f.desc.path_mtu = 4096;
	start(x);
	for (int i = 0; i < 3; i++)
		fake_do(&x->f, FAKE_WRITE, 25600);
	sample(x);
	assert_int_equal(x->s.mtus_sent, 300);
	done(x);
}

/* Length forged to 1 before the doorbell, as a liar would: the packets count. */
TEST(sample__length_forged__packet_numbers_tell)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	for (int i = 0; i < 4; i++) {
		fake_do(&x->f, FAKE_WRITE, 65536);
		fake_put_entry(&x->f, x->f.posted - 1, FAKE_WQE_LENGTH, 1);
	}
	sample(x);
	assert_int_equal(x->s.mtus_sent, 256);
	done(x);
}

TEST(sample__datagrams__are_one_mtu_each)
{
	struct fixture *x = started(16, FAKE_UD, 4096);

	for (uint32_t i = 0; i < 10; i++) {
		uint32_t n = i * 400; /* the kernel stamps a range of up to 15 numbers for these */

		fake_do(&x->f, i % 2 ? FAKE_SEND : FAKE_SEND_IMM, n);
		sample(x);
		assert_int_equal(x->s.wrs, 1);
		assert_int_equal(x->s.mtus_sent, 1);
		assert_int_equal(x->s.bytes_sent, n);
	}
	done(x);
}

TEST(sample__unreliable_connection__counts_as_reliable)
{
	struct fixture *x = started(16, FAKE_UC, 512);

	fake_do(&x->f, FAKE_WRITE, 5000);
	fake_do(&x->f, FAKE_SEND, 0);
	sample(x);
	assert_int_equal(x->s.mtus_sent, 11);
	assert_int_equal(x->s.wrs, 2);
	done(x);
}

TEST(sample__posted_and_not_completed__is_backlog_and_not_charged)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	for (int i = 0; i < 5; i++)
		fake_post(&x->f, FAKE_WRITE, 1000);
	fake_send(&x->f);
	fake_send(&x->f);
	fake_complete(&x->f, FAKE_OK);
	sample(x);
	assert_int_equal(x->s.wrs, 1);
	assert_int_equal(x->s.backlog, 4);
	assert_int_equal(x->s.bytes_sent, 1000);
	sample(x);
	assert_int_equal(x->s.wrs, 0);
	assert_int_equal(x->s.mtus_sent, 0);
	assert_int_equal(x->s.backlog, 4);
	done(x);
}

/* The numbers in a slot before it is sent are those of the lap before. */
TEST(sample__posted_slot_with_an_old_range__is_charged_when_sent)
{
	struct fixture *x = started(4, FAKE_RC, 256);

	for (int i = 0; i < 4; i++) {
		fake_do(&x->f, FAKE_WRITE, 256 * 50);
		sample(x);
		assert_int_equal(x->s.mtus_sent, 50);
	}
	for (int i = 0; i < 3; i++)
		fake_post(&x->f, FAKE_WRITE, 1);
	sample(x);
	assert_int_equal(x->s.mtus_sent, 0);
	for (int i = 0; i < 3; i++)
		fake_send(&x->f);
	sample(x);
	for (int i = 0; i < 3; i++)
		fake_complete(&x->f, FAKE_OK);
	sample(x);
	assert_int_equal(x->s.wrs, 3);
	assert_int_equal(x->s.mtus_sent, 3);
	done(x);
}

TEST(sample__errors_and_flush__are_counted_and_not_charged)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	fake_do(&x->f, FAKE_WRITE, 4096);
	for (int i = 0; i < 5; i++)
		fake_post(&x->f, i == 2 ? FAKE_READ : FAKE_WRITE, 8192);
	fake_send(&x->f);
	fake_complete(&x->f, FAKE_REMOTE_ERROR);
	for (int i = 0; i < 4; i++)
		fake_complete(&x->f, FAKE_FLUSHED); /* never sent */
	sample(x);
	assert_int_equal(x->s.wrs, 6);
	assert_int_equal(x->s.errors, 5);
	assert_int_equal(x->s.ops[OP_WRITE], 5);
	assert_int_equal(x->s.ops[OP_READ], 1);
	assert_int_equal(x->s.mtus_sent, 4);
	assert_int_equal(x->s.bytes_sent, 4096);
	assert_int_equal(x->s.mtus_recv, 0);
	done(x);
}

/* Each refused or aborted post uses up an ssn and leaves an entry that looks posted. */
TEST(sample__refused_and_aborted_posts__are_not_work)
{
	struct fixture *x = started(4, FAKE_RC, 1024);

	for (int i = 0; i < 3; i++)
		fake_post(&x->f, FAKE_WRITE, 100);
	fake_refuse(&x->f, FAKE_WRITE, 60000);
	for (int i = 0; i < 3; i++) {
		fake_send(&x->f);
		fake_complete(&x->f, FAKE_OK);
	}
	fake_refuse(&x->f, FAKE_READ, 60000); /* aborted */
	fake_refuse(&x->f, FAKE_READ, 60000);
	sample(x);
	assert_int_equal(x->s.seen, 3);
	assert_int_equal(x->s.bytes_sent, 300);
	assert_int_equal(x->s.mtus_sent, 3);
	assert_int_equal(x->s.bytes_recv, 0);
	assert_int_equal(x->s.backlog, 0);
	assert_int_equal(x->s.wrs, 3);
	fake_do(&x->f, FAKE_WRITE, 7);
	sample(x);
	assert_int_equal(x->s.seen, 1);
	assert_true(x->s.wrs == 1 || (x->s.wrs > 1 && x->s.flags & SAMPLE_WRS_BOUNDED));
	assert_int_equal(x->s.bytes_sent, 7);
	done(x);
}

TEST(sample__indices_wrap__nothing_is_missed)
{
	struct fixture *x = started(8, FAKE_RC, 1024);
	uint64_t wrs = 0, bytes = 0;

	for (uint32_t i = 0; i < 100; i++) {
		for (uint32_t k = 0; k < i % 7; k++)
			fake_do(&x->f, FAKE_WRITE, i);
		sample(x);
		assert_int_equal(x->s.lost, 0);
		wrs += x->s.wrs;
		bytes += x->s.bytes_sent;
	}
	assert_int_equal(wrs, x->f.truth.wrs);
	assert_int_equal(bytes, x->f.truth.bytes_sent);
	done(x);
}

/* --- laps --- */

/* A packet number is known: one work request was seen. */
static struct fixture *known(uint32_t slots)
{
	struct fixture *x = started(slots, FAKE_RC, 1024);

	fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	return x;
}

TEST(sample__lapped__count_and_mtus_are_exact)
{
	struct fixture *x = known(16);
	struct fake_truth before = x->f.truth;
	struct ring_totals t;

	for (int i = 0; i < 1000; i++)
		fake_do(&x->f, FAKE_WRITE, (uint32_t)(i % 7) * 1000);
	sample(x);
	assert_false(x->s.flags & SAMPLE_MTUS_GUESSED);
	assert_int_equal(x->s.wrs, 1000);
	assert_int_equal(x->s.seen + x->s.lost, 1000);
	assert_true(x->s.flags & SAMPLE_LAPPED);
	assert_true(x->s.lost >= 984);
	assert_int_equal(x->s.mtus_sent, x->f.truth.mtus_sent - before.mtus_sent);
	assert_true(x->s.bytes_sent <= x->f.truth.bytes_sent - before.bytes_sent);
	assert_true(x->s.bytes_sent + x->s.bytes_bound >=
		    x->f.truth.bytes_sent - before.bytes_sent);
	ring_totals(x->r, &t);
	assert_int_equal(t.laps, 1);
	assert_int_equal(t.wrs, 1001);
	assert_true(t.flags & SAMPLE_LAPPED);
	done(x);
}

/* Of large messages that nobody saw no packet number tells, if none came before. */
TEST(sample__lapped_before_any_packet_number__says_that_it_guesses)
{
	struct fixture *x = started(8, FAKE_RC, 1024);

	for (int i = 0; i < 40; i++)
		fake_do(&x->f, FAKE_WRITE, i < 20 ? 10240 : 1024);
	sample(x);
	assert_int_equal(x->s.wrs, 40);
	assert_int_equal(x->s.mtus_sent, 40); /* by the mean of what is seen; the truth is 220 */
	assert_true(x->s.flags & SAMPLE_MTUS_GUESSED && x->s.flags & SAMPLE_MTUS_ESTIMATED);
	for (int i = 0; i < 40; i++)
		fake_do(&x->f, FAKE_WRITE, i < 20 ? 10240 : 1024);
	sample(x);
	assert_true(x->s.lost > 0 && !(x->s.flags & SAMPLE_MTUS_GUESSED));
	assert_int_equal(x->s.mtus_sent, 220);
	done(x);
}

TEST(sample__lapped_behind_a_reset__says_that_it_guesses)
{
	struct fixture *x = known(8);

	fake_reset(&x->f, 12345);
	sample(x);
	for (int i = 0; i < 40; i++)
		fake_do(&x->f, FAKE_WRITE, i < 20 ? 10240 : 1024);
	sample(x);
	assert_int_equal(x->s.wrs, 40);
	assert_true(x->s.lost > 0 && x->s.flags & SAMPLE_MTUS_GUESSED);
	done(x);
}

/* perftest's latency rings have two slots: the indices alone tell next to nothing. */
TEST(sample__two_slots_lapped_an_even_number_of_times__is_not_idle)
{
	struct fixture *x = started(2, FAKE_RC, 1024);

	for (int i = 0; i < 1000; i++)
		fake_do(&x->f, FAKE_WRITE, 8);
	sample(x);
	assert_int_equal(x->s.wrs, 1000);
	assert_int_equal(x->s.mtus_sent, 1000);
	done(x);
}

TEST(sample__lapped_with_reads_among_the_lost__says_it_estimates)
{
	struct fixture *x = known(8);

	for (int i = 0; i < 500; i++)
		fake_do(&x->f, i % 2 ? FAKE_READ : FAKE_WRITE, 2048);
	sample(x);
	assert_int_equal(x->s.wrs, 500);
	/* The sum is known from the packet numbers, how it divides is not. */
	assert_int_equal(x->s.mtus_sent + x->s.mtus_recv, 1000);
	assert_false(x->s.flags & SAMPLE_MTUS_GUESSED);
	if (x->s.mtus_sent != 500)
		assert_true(x->s.flags & SAMPLE_MTUS_ESTIMATED);
	done(x);
}

TEST(sample__lapped_datagrams__are_one_mtu_each)
{
	struct fixture *x = started(8, FAKE_UD, 4096);

	for (int i = 0; i < 500; i++)
		fake_do(&x->f, FAKE_SEND, 1500);
	sample(x);
	assert_int_equal(x->s.wrs, 500);
	assert_int_equal(x->s.mtus_sent, 500);
	done(x);
}

TEST(sample__packet_numbers_wrap__mtus_are_exact)
{
	struct fixture *x = started(16, FAKE_RC, 256);

	x->f.psn = 0xfffffe;
	fake_do(&x->f, FAKE_WRITE, 1); /* a reset or new connection could do this; not a wrap */
	sample(x);
	fake_do(&x->f, FAKE_WRITE, 256 * 10);
	sample(x);
	assert_int_equal(x->s.mtus_sent, 10);
	for (int i = 0; i < 100; i++)
		fake_do(&x->f, FAKE_WRITE, 256 * 10);
	sample(x);
	assert_int_equal(x->s.mtus_sent, 1000);
	done(x);
}

TEST(sample__ssn_wraps__count_is_exact)
{
	struct fixture *x = sq(16, FAKE_RC, 1024);

	x->f.ssn = UINT32_MAX - 20;
	fake_do(&x->f, FAKE_WRITE, 1);
	start(x);
	for (int i = 0; i < 100; i++)
		fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	assert_int_equal(x->s.wrs, 100);
	done(x);
}

TEST(sample__deep_ring__reads_at_most_the_walk)
{
	struct fixture *x = started(16384, FAKE_RC, 1024);
	uint64_t wrs = 0;

	for (int i = 0; i < 16000; i++)
		fake_do(&x->f, FAKE_WRITE, 8);
	for (int i = 0; i < 8; i++) {
		sample(x);
		assert_true(x->s.seen <= RING_WALK_MAX);
		wrs += x->s.wrs;
	}
	assert_int_equal(wrs, 16000);
	done(x);
}

TEST(sample__queue_pair_reset__goes_on_counting)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	for (int i = 0; i < 5; i++)
		fake_do(&x->f, FAKE_WRITE, 100);
	for (int i = 0; i < 3; i++)
		fake_post(&x->f, FAKE_WRITE, 100);
	sample(x);
	assert_int_equal(x->s.wrs, 5);
	fake_reset(&x->f, 12345);
	sample(x);
	assert_true(x->s.wrs <= 3); /* dropped by the reset: at most what was waiting */
	assert_true(x->s.mtus_sent <= 3);
	for (int i = 0; i < 4; i++)
		fake_do(&x->f, FAKE_WRITE, 3000);
	sample(x);
	assert_int_equal(x->s.wrs, 4);
	assert_int_equal(x->s.bytes_sent, 12000);
	assert_int_equal(x->s.mtus_sent, 12);
	done(x);
}

/* A RESET wipes the entries: what the index passed is counted all the same. */
TEST(sample__reset_before_each_sample__hides_no_work)
{
	struct fixture *x = started(64, FAKE_RC, 1024);
	uint64_t wrs = 0;

	for (uint32_t i = 0; i < 20; i++) {
		for (int k = 0; k < 50; k++)
			fake_do(&x->f, FAKE_WRITE, 4096);
		fake_reset(&x->f, i * 1000);
		sample(x);
		assert_true(x->s.flags & SAMPLE_WRS_BOUNDED && x->s.flags & SAMPLE_MTUS_ESTIMATED);
		wrs += x->s.wrs;
		assert_int_equal(wrs, x->f.truth.wrs);
		assert_true(x->s.mtus_sent >= 50);
	}
	done(x);
}

/* After a whole lap only the packet numbers show that there was a RESET. */
TEST(sample__reset_behind_a_lap__is_no_fault)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	fake_reset(&x->f, 0x800000);
	for (int i = 0; i < 40; i++)
		fake_do(&x->f, i % 4 ? FAKE_WRITE : FAKE_READ, 2000);
	sample(x);
	assert_int_equal(x->s.wrs, 40);
	assert_true(x->s.flags & SAMPLE_MTUS_ESTIMATED);
	assert_in_range(x->s.mtus_sent + x->s.mtus_recv, 40, 120);
	for (int i = 0; i < 10; i++)
		fake_do(&x->f, FAKE_WRITE, 2000);
	sample(x);
	assert_int_equal(x->s.flags, 0);
	assert_int_equal(x->s.mtus_sent, 20);
	done(x);
}

/* --- the ring at the top of rxe_psn.c --- */

/* History up to slot 0, PSN 100; then slots 1 to 5 are posted. */
static struct fixture *worked_ring(void)
{
	struct fixture *x = sq(8, FAKE_RC, 1024);

	for (int i = 0; i < 8; i++)
		fake_do(&x->f, FAKE_SEND, 64);
	x->f.psn = 100;
	fake_do(&x->f, FAKE_SEND, 64);
	start(x);
	fake_post(&x->f, FAKE_WRITE, 2048);
	fake_post(&x->f, FAKE_READ, 4096);
	fake_post(&x->f, FAKE_LOCAL_INV, 0);
	fake_post(&x->f, FAKE_SEND, 100);
	fake_post(&x->f, FAKE_SEND, 3000);
	return x;
}

/* All five are sent, the first four completed. */
static void complete_worked_ring(struct fixture *x)
{
	for (int i = 0; i < 5; i++)
		fake_send(&x->f);
	for (int i = 0; i < 4; i++)
		fake_complete(&x->f, FAKE_OK);
}

TEST(worked_ring__all_read__is_charged_as_documented)
{
	struct fixture *x = worked_ring();

	complete_worked_ring(x);
	sample(x);
	assert_int_equal(x->s.wrs, 4);
	assert_int_equal(x->s.seen, 4);
	assert_int_equal(x->s.mtus_sent, 3);
	assert_int_equal(x->s.mtus_recv, 4);
	assert_int_equal(x->s.backlog, 1);
	assert_int_equal(x->s.flags, 0);
	done(x);
}

TEST(worked_ring__noted_entries_overwritten__are_divided_by_length)
{
	struct fixture *x = worked_ring();

	sample(x); /* notes what was posted */
	assert_int_equal(x->s.wrs, 0);
	complete_worked_ring(x);
	fake_put_entry(&x->f, 2, FAKE_WQE_SSN, 99);
	sample(x);
	assert_int_equal(x->s.wrs, 4);
	assert_int_equal(x->s.lost, 0);
	assert_int_equal(x->s.mtus_sent, 3);
	assert_int_equal(x->s.mtus_recv, 4);
	assert_int_equal(x->s.flags, 0);
	done(x);
}

TEST(worked_ring__entries_overwritten_unseen__are_divided_like_the_others)
{
	struct fixture *x = worked_ring();

	complete_worked_ring(x);
	fake_put_entry(&x->f, 2, FAKE_WQE_SSN, 99);
	sample(x);
	assert_int_equal(x->s.wrs, 4);
	assert_int_equal(x->s.lost, 2);
	assert_int_equal(x->s.mtus_sent + x->s.mtus_recv, 7);
	assert_int_equal(x->s.mtus_sent, 7); /* slot 4, a SEND, is all that was read */
	assert_int_equal(x->s.flags, SAMPLE_LAPPED | SAMPLE_MTUS_ESTIMATED);
	done(x);
}

/* --- totals --- */

TEST(totals__after_many_samples__are_their_sums)
{
	struct fixture *x = started(16, FAKE_RC, 1024);
	struct ring_totals t;

	for (int i = 0; i < 50; i++) {
		fake_do(&x->f, FAKE_READ, 5000);
		fake_do(&x->f, FAKE_FETCH_ADD, 8);
		sample(x);
	}
	ring_totals(x->r, &t);
	assert_int_equal(t.wrs, 100);
	assert_int_equal(t.seen, 100);
	assert_int_equal(t.lost, 0);
	assert_int_equal(t.mtus_recv, 250);
	assert_int_equal(t.mtus_sent, 50);
	assert_int_equal(t.bytes_recv, 250000);
	assert_int_equal(t.ops[OP_READ], 50);
	assert_int_equal(t.ops[OP_FETCH_ADD], 50);
	assert_int_equal(t.qpn, 17);
	assert_int_equal(ring_desc(x->r)->number, 17);
	done(x);
}
