/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_layout: a layout that does what the memory of its ring says. */
#ifndef RESEX_TESTS_FAKE_LAYOUT_H
#define RESEX_TESTS_FAKE_LAYOUT_H

#include "resex/ibmon.h"

enum {
	FAKE_LAYOUT_PROVIDER = 65535,
	FAKE_LAYOUT_HUGE = 4096, /* a path MTU: it wants more state than it may have */
	FAKE_LAYOUT_NONE = -1,
};

struct fake_layout_ring {
	struct ibmon_counts counts;
	int32_t open_rc, rc, fault; /* fault below 0: none is set */
	uint32_t header_differs;
	uint32_t tell, counter; /* of a completion queue: tell this queue pair; 0: none */
	int32_t watch[3];	/* offsets of words, or FAKE_LAYOUT_NONE */
	uint32_t backlog;
	uint32_t word;
};

struct fake_layout_state {
	int64_t elapsed_ns;
	uint32_t told; /* a counter: the next sample has one request of so many bytes */
	uint32_t db_len;
	bool failed, aligned;
};

#endif
