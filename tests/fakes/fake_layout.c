// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fake_layout: a layout whose ring says what it does. test_layout links it, and also builds it as a
 * shared object; with -DFAKE_... that is one which must be refused.
 *
 *	the ring's memory	struct fake_layout_ring
 */
#include "tests/fakes/fake_layout.h"

#include <errno.h>

static const struct fake_layout_ring *ring_of(const struct ibmon_mem *m)
{
	return (const struct fake_layout_ring *)(uintptr_t)m->ring;
}

static size_t state_size(const struct ibmon_desc *d)
{
	return d->path_mtu == FAKE_LAYOUT_HUGE ? (size_t)IBMON_STATE_MAX + 1
					       : sizeof(struct fake_layout_state);
}

#ifdef FAKE_CALLS
extern void FAKE_CALLS(void);
#endif

static int open_ring(const struct ibmon_desc *d, const struct ibmon_mem *m, void *state)
{
	struct fake_layout_state *s = state;

	(void)d;
	s->aligned = (uintptr_t)state % 64 == 0;
	s->db_len = m->db ? m->db_len : 0;
#ifdef FAKE_CALLS
	FAKE_CALLS();
#endif
	return ring_of(m)->open_rc;
}

static int sample(const struct ibmon_desc *d, const struct ibmon_mem *m, void *state,
		  const struct ibmon_told *told, int64_t elapsed_ns, struct ibmon_counts *out,
		  enum ibmon_fault *fault)
{
	const struct fake_layout_ring *r = ring_of(m);
	struct fake_layout_state *s = state;

	s->elapsed_ns = elapsed_ns;
	*out = r->counts;
	if (r->fault >= 0)
		*fault = (enum ibmon_fault)r->fault;
	if (d->kind == IBMON_CQ && r->tell)
		told->completed(told, r->tell, r->counter, true);
	if (d->kind == IBMON_SQ && s->told) {
		*out = (struct ibmon_counts){ .wrs = 1, .seen = 1, .errors = s->failed };
		out->ops[0] = 1;
		out->msg_bytes = s->told;
	}
	return r->rc;
}

static bool header_same(const struct ibmon_desc *d, const struct ibmon_mem *m)
{
	(void)d;
	return !ring_of(m)->header_differs;
}

static void quiet(const struct ibmon_desc *d, const struct ibmon_mem *m, const void *state,
		  struct ibmon_quiet *q)
{
	const struct fake_layout_ring *r = ring_of(m);

	(void)d;
	(void)state;
	for (int i = 0; i < 3; i++) {
		const volatile uint8_t *at = (const volatile uint8_t *)m->ring + r->watch[i];

		q->at[i] = r->watch[i] == FAKE_LAYOUT_NONE
				   ? NULL
				   : (const volatile uint32_t *)(uintptr_t)at;
	}
	q->backlog = r->backlog;
}

static void completed(void *state, uint32_t counter, bool failed)
{
	struct fake_layout_state *s = state;

	s->told = counter;
	s->failed = failed;
}

#ifdef FAKE_SYMBOL
#define ibmon_layout_v1 another
extern const struct ibmon_layout another __attribute__((visibility("default")));
#endif
#ifndef FAKE_ABI
#define FAKE_ABI 0
#endif

const struct ibmon_layout ibmon_layout_v1 = {
	.abi = IBMON_ABI + FAKE_ABI,
	.size = sizeof(struct ibmon_layout),
	.provider = FAKE_LAYOUT_PROVIDER,
	.kind = IBMON_SQ,
	.name = "fake",
	.state_size = state_size,
	.open = open_ring,
	.sample = sample,
	.header_same = header_same,
	.quiet = quiet,
	.completed = completed,
};
