/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_quorum: replaces libquorum, so that a test sets what corosync does: whether it
 * runs or hangs, which views it reports, when it dies. One connection at a time, which
 * any thread may make.
 */
#ifndef RESEX_TESTS_FAKE_QUORUM_H
#define RESEX_TESTS_FAKE_QUORUM_H

#include <corosync/corotypes.h>
#include <corosync/quorum.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { FAKE_QUORUM_REPORTS_MAX = 16, FAKE_QUORUM_NODES_MAX = 8 };

struct fake_report {
	bool ring; /* a new ring; else a vote */
	uint32_t quorate;
	struct quorum_ring_id id;
	uint32_t n, node[FAKE_QUORUM_NODES_MAX];
};

struct fake_quorum {
	/* Atomic: the test changes them while a thread of the member connects. */
	_Atomic cs_error_t refuses; /* CS_OK: it runs */
	_Atomic cs_error_t track;   /* what trackstart says */
	_Atomic uint32_t type;
	atomic_bool connected, tracked;
	atomic_int connects, finalizes;
	atomic_bool hangs; /* a connect waits until it is false */
	struct fake_report reported[FAKE_QUORUM_REPORTS_MAX]; /* to be dispatched */
	uint32_t n;
};

extern struct fake_quorum fake_quorum;

void fake_quorum_reset(void);
/* Queue what the next dispatch tells; nodes ends with 0. */
void fake_quorum_ring(uint32_t rep, uint64_t seq, const uint32_t *nodes);
void fake_quorum_vote(uint32_t rep, uint64_t seq, const uint32_t *nodes, bool quorate);
/* Corosync is gone: refuses all from now on. */
void fake_quorum_die(void);

#endif
