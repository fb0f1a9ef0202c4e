/* SPDX-License-Identifier: GPL-2.0-or-later */
/* golden: reading the recorded rings of tests/golden (format: the README of rxe, and of mlx). */
#ifndef RESEX_TESTS_GOLDEN_H
#define RESEX_TESTS_GOLDEN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ibmon/ring/ring.h"

enum { GOLDEN_RINGS_MAX = 3 };

struct golden_ring {
	struct ring_desc desc;
	uint8_t *mem; /* as of the record read last; allocated to the byte */
	size_t len;
};

struct golden {
	FILE *f;
	char name[64];
	bool datagrams;
	uint32_t provider, qp_type; /* enum guest_ring_provider, guest_qp_type */
	uint32_t mtu, snaps, dead_from, rings;
	struct golden_ring ring[GOLDEN_RINGS_MAX];
	struct golden_ring *sq; /* one of them */
	/* The truth. */
	uint64_t wrs, errors, unknown, unknown_mtus, signalled;
	uint64_t mtus_sent, mtus_recv, bytes_sent, bytes_recv;
	uint64_t ops[OP_KINDS];
	/* The record read last. */
	uint32_t snap; /* its number, from 1 */
	int64_t elapsed_ns;
	uint64_t done, posted;
};

/* 0 or -1: not such a file. */
int golden_open(struct golden *g, const char *path);
void golden_close(struct golden *g);
/* The next record: 1; 0 at the end; -1 when the file is broken. */
int golden_next(struct golden *g);

#endif
