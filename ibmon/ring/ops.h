/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ops: what a provider's ring layout must know. For layouts, not callers.
 *
 * One layout is one file (rxe.c). A layout sees a window onto mapped
 * guest memory and its own state block; ring.c does the rest (totals,
 * bounds, faults).
 */
#ifndef RESEX_IBMON_RING_OPS_H
#define RESEX_IBMON_RING_OPS_H

#include "ibmon/ring/ring.h"

struct ring_mem {
	const volatile uint8_t *base; /* first byte of the ring itself */
	size_t len;		      /* bytes that may be read from base */
};

struct ring_ops {
	uint32_t provider;
	uint32_t kind;
	const char *name;
	/* Bytes of state this layout needs for this ring; the state is zeroed. */
	size_t (*state_size)(const struct ring_desc *d);
	/* Check header against descriptor; take the starting position. */
	int (*open)(const struct ring_desc *d, const struct ring_mem *m, void *state);
	/*
	 * Has nothing moved since the last sample, as far as sample() would
	 * look? Then *backlog is what it would say. Most rings are idle in
	 * most intervals: this is the fast path, and may always say false.
	 */
	bool (*idle)(const struct ring_desc *d, const struct ring_mem *m, const void *state,
		     uint64_t *backlog);
	/* As ring_sample, SAMPLE_HISTORY included; on -EBADMSG *fault says why. */
	int (*sample)(const struct ring_desc *d, const struct ring_mem *m, void *state,
		      int64_t elapsed_ns, struct sample *out, enum ring_fault *fault,
		      uint32_t *qpn);
};

extern const struct ring_ops ring_rxe_sq;
extern const struct ring_ops ring_rxe_cq;

/* NULL: no code here knows this ring. */
const struct ring_ops *ring_ops_find(uint32_t provider, uint32_t kind);

/* For scan: nothing happened on this ring, and *backlog still waits. Never for one at fault. */
bool ring_idle(const struct ring *r, uint64_t *backlog);

/* For scan: was this ring's fault reported? It is reported until told. */
bool ring_fault_told(const struct ring *r);
void ring_fault_tell(struct ring *r);

#endif
