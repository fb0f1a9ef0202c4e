// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rings of guests that forge what they show, and what a scan makes of the
 * honest ones beside them: cases that mutants of ring_rxe and scan showed to
 * be missing.
 */
#include "tests/unit/ring_rig.h"

#include "ibmon/scan.h"
#include "tests/unit/unit.h"

TEST(sq__length_beyond_2_gib__is_entry)
{
	static const uint32_t lengths[] = { 0x80000001, UINT32_MAX };

	for (int i = 0; i < 2; i++) {
		struct fixture *x = started(16, FAKE_RC, 1024);

		fake_do(&x->f, FAKE_SEND, 100);
		fake_put_entry(&x->f, 0, FAKE_WQE_LENGTH, lengths[i]);
		assert_fault(x, RING_FAULT_ENTRY);
		done(x);
	}
}

TEST(sq__length_of_2_gib__is_none)
{
	struct fixture *x = started(16, FAKE_RC, 4096);

	fake_do(&x->f, FAKE_SEND, 100);
	fake_put_entry(&x->f, 0, FAKE_WQE_LENGTH, 0x80000000);
	sample(x);
	assert_int_equal(x->s.bytes_sent, 0x80000000);
	done(x);
}

/* Packet numbers of seconds of traffic, in a millisecond and for one small message. */
TEST(sq__psn_forged_far_ahead__is_jump)
{
	struct fixture *x = started(16, FAKE_RC, 1024);
	uint32_t psn;

	fake_do(&x->f, FAKE_SEND, 100);
	sample(x);
	psn = x->f.psn;
	fake_do(&x->f, FAKE_SEND, 100);
	fake_put_entry(&x->f, 1, FAKE_WQE_LAST_PSN, (psn + 0x700000) & 0xffffff);
	assert_fault(x, RING_FAULT_JUMP);
	assert_int_equal(x->s.mtus_sent, 0);
	done(x);
}

TEST(cq__entry_that_is_no_completion__is_entry)
{
	static const struct {
		size_t at;
		uint32_t v;
	} forged[] = {
		{ FAKE_CQE_STATUS, 99 },  { FAKE_CQE_STATUS, UINT32_MAX }, { FAKE_CQE_OPCODE, 77 },
		{ FAKE_CQE_OPCODE, 136 }, { FAKE_CQE_QPN, 0x01000000 },
	};

	for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
		struct fixture *x = calloc(1, sizeof(*x));

		assert_non_null(x);
		fake_cq_open(&x->f, 16);
		start(x);
		fake_cqe(&x->f, 17, 0, 64, 0);
		fake_put_entry(&x->f, 0, forged[i].at, forged[i].v);
		assert_fault(x, RING_FAULT_ENTRY);
		done(x);
	}
}

/* A completion queue repeats what the send queues say: it must not be charged twice. */
TEST(scan__send_and_completion_queue__counts_work_once)
{
	struct scan_guest *g = calloc(1, sizeof(*g) + 2 * sizeof(g->ring[0]));
	struct fake_ring sq, cq;
	struct usage u = { .slot = 3 };
	struct scan_result res;
	struct report rep;

	assert_non_null(g);
	fake_sq_open(&sq, 16, FAKE_RC, 1024);
	fake_cq_open(&cq, 16);
	sq.desc.id = 1;
	cq.desc.id = 2;
	g->slot = 3;
	g->rings = 2;
	g->ring[0].id = 1;
	g->ring[1].id = 2;
	assert_int_equal(ring_open(&g->ring[0].ring, &sq.desc, sq.mem, sq.len), 0);
	assert_int_equal(ring_open(&g->ring[1].ring, &cq.desc, cq.mem, cq.len), 0);
	scan_guest(g, MS, &u, &rep, NULL, &res);
	for (int i = 0; i < 5; i++) {
		fake_do(&sq, FAKE_SEND, 3000);
		fake_cqe(&cq, 17, 0, 3000, 0);
	}
	u = (struct usage){ .slot = 3 };
	scan_guest(g, MS, &u, &rep, NULL, &res);
	assert_int_equal(u.wrs, 5);
	assert_int_equal(u.mtus_sent, 15);
	assert_int_equal(u.bytes_sent, 15000);
	for (int i = 0; i < 2; i++)
		ring_close(g->ring[i].ring);
	fake_close(&sq);
	fake_close(&cq);
	free(g);
}
