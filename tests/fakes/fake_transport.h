/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_transport: accepts operations, and executes a READ when the test says so, with
 * the outcome that the test sets. Only transport_post exists.
 */
#ifndef RESEX_TESTS_FAKE_TRANSPORT_H
#define RESEX_TESTS_FAKE_TRANSPORT_H

#include "src/transport/transport.h"

enum { FAKE_OPS_MAX = TRANSPORT_HOSTS_MAX * TRANSPORT_DEPTH };

/* Hosts are at their numbers. */
struct transport {
	const uint8_t *table[TRANSPORT_HOSTS_MAX + 1];
	size_t bytes[TRANSPORT_HOSTS_MAX + 1];
	const uint8_t *loads[TRANSPORT_HOSTS_MAX + 1]; /* REGION_LOADS_BYTES; NULL: none */
	uint32_t link[TRANSPORT_HOSTS_MAX + 1];	       /* 0: down */
	uint32_t depth;
	uint32_t out[TRANSPORT_HOSTS_MAX + 1]; /* outstanding */
	struct transport_op op[FAKE_OPS_MAX];  /* in the order posted */
	uint32_t n;
	uint64_t posted;
	uint8_t data[TRANSPORT_READ_MAX] __attribute__((aligned(8)));
};

/* End operation i: its event. A READ that is DONE reads now, into data. */
void fake_transport_end(struct transport *t, uint32_t i, enum transport_outcome outcome,
			struct transport_event *ev);

#endif
