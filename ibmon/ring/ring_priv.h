/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_priv: private to open.c and ring.c. For callers: ring.h. */
#ifndef RESEX_IBMON_RING_PRIV_H
#define RESEX_IBMON_RING_PRIV_H

#include "ibmon/ring/ops.h"
#include "ibmon/ring/ring.h"

struct ring {
	const struct ring_ops *ops; /* first the fields that an idle ring needs: one cache line */
	struct ring_mem mem;
	enum ring_fault fault;
	bool fault_delivered;
	bool skip_history;
	bool read;	/* at least once without a fault; atomic */
	bool bounded;	/* part of wrs may be counted by another ring, too; atomic */
	int64_t gap_ns; /* not read for so long, when it was resumed */
	struct ring_desc desc;
	struct ring_totals totals;
	struct ring_totals shown; /* a copy of totals for another thread */
	bool is_shown;
	uint64_t state[]; /* the layout's */
};

#endif
