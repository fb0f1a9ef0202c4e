/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_rig: a fake send queue and a reader over it, for the tests of ring_rxe. */
#ifndef RESEX_TESTS_RING_RIG_H
#define RESEX_TESTS_RING_RIG_H

#include "tests/unit/prop.h"

#include <errno.h>
#include <string.h>

#include "tests/fakes/fake_ring.h"

#define MS 1000000LL

struct fixture {
	struct fake_ring f;
	struct ring *r;
	struct sample s;
};

/* Open the reader and take the first sample, the history, away. */
static inline void start(struct fixture *x)
{
	assert_int_equal(ring_open(&x->r, &x->f.desc, x->f.mem, x->f.len), 0);
	assert_int_equal(ring_sample(x->r, MS, &x->s), 0);
}

static inline struct fixture *sq(uint32_t slots, enum fake_type type, uint32_t mtu)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	fake_sq_open(&x->f, slots, type, mtu);
	return x;
}

static inline struct fixture *started(uint32_t slots, enum fake_type type, uint32_t mtu)
{
	struct fixture *x = sq(slots, type, mtu);

	start(x);
	return x;
}

static inline void done(struct fixture *x)
{
	if (x->r)
		ring_close(x->r);
	fake_close(&x->f);
	free(x);
}

static inline void sample(struct fixture *x)
{
	memset(&x->s, 0xee, sizeof(x->s));
	assert_int_equal(ring_sample(x->r, MS, &x->s), 0);
}

static inline void assert_fault(struct fixture *x, enum ring_fault why)
{
	assert_int_equal(ring_sample(x->r, MS, &x->s), -EBADMSG);
	assert_int_equal(ring_fault(x->r), why);
	assert_true(strlen(ring_fault_text(why)) > 10);
}

#endif
