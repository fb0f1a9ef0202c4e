/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_priv: what open.c and ring.c share. For callers: ring.h. */
#ifndef RESEX_IBMON_RING_PRIV_H
#define RESEX_IBMON_RING_PRIV_H

#include "ibmon/ring/ops.h"
#include "ibmon/ring/ring.h"

struct ring {
	const struct ring_ops *ops; /* what an idle ring needs comes first */
	struct ring_mem mem;
	enum ring_fault fault;
	bool told;
	struct ring_desc desc;
	struct ring_totals totals;
	struct ring_totals shown; /* as they were when another thread asked for them */
	bool is_shown;
	uint64_t state[]; /* the layout's */
};

#endif
