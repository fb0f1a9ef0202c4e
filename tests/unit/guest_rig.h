/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guest_rig: a guest_mon over a fake guest, for tests. Each test file is a program of its own. */
#ifndef RESEX_TESTS_GUEST_RIG_H
#define RESEX_TESTS_GUEST_RIG_H

#include <stdlib.h>

#include "ibmon/guest.h"
#include "tests/fakes/fake_guest.h"
#include "tests/unit/unit.h"

#define MS 1000000LL

static const struct registry_limits limits = { .rings = 64, .pages = 512 };

struct fixture {
	struct fake_guest g;
	struct guest_mon *mon;
	struct mono now;
	struct scan_ring ring[GUEST_RINGS_MAX];
	struct guest_state st;
};

static inline int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x)
		return -1;
	fake_guest_open(&x->g);
	x->now.ns = 1000 * MS;
	assert_int_equal(guest_open(&x->mon, &fake_mem_ops, &x->g.m, FAKE_DOMID, &limits), 0);
	*state = x;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *x = *state;

	guest_close(x->mon);
	fake_guest_close(&x->g); /* asserts that nothing stayed mapped */
	free(x);
	return 0;
}

static inline void attach(struct fixture *x)
{
	struct guest_ref ref = fake_guest_ref();

	assert_int_equal(guest_attach(x->mon, &ref), 0);
}

/* As the control thread does: refresh until it is done, ten milliseconds apart. */
static inline int settle(struct fixture *x)
{
	int changed = 0, ret;

	for (int i = 0; i < 100; i++) {
		x->now.ns += 11 * MS;
		ret = guest_refresh(x->mon, x->now);
		if (ret < 0 && ret != -EAGAIN)
			return ret;
		changed |= ret == 1;
		if (ret == 0)
			return changed;
	}
	fail_msg("refresh does not come to an end");
	return 0;
}

static inline uint32_t rings(struct fixture *x)
{
	return guest_rings(x->mon, x->ring, GUEST_RINGS_MAX);
}

/* All that was counted: of the rings there are, and of those that left. */
static inline struct ring_totals totals(struct fixture *x)
{
	struct ring_totals sum, t;

	guest_gone(x->mon, &sum);
	for (uint32_t i = rings(x); i-- > 0;) {
		ring_totals(x->ring[i].ring, &t);
		ring_totals_add(&sum, &t);
	}
	return sum;
}

static inline struct guest_state *look(struct fixture *x)
{
	guest_state(x->mon, x->now, &x->st);
	return &x->st;
}

static inline const struct guest_ring_info *info_of(struct fixture *x, uint32_t id)
{
	static struct guest_ring_info info;

	for (uint32_t i = 0; guest_ring_info(x->mon, i, &info); i++)
		if (info.desc.id == id)
			return &info;
	return NULL;
}

static inline void add(struct fixture *x, uint32_t id, uint32_t slots)
{
	fake_write_begin(&x->g);
	fake_add_sq(&x->g, id, slots);
	fake_write_end(&x->g);
}

static inline void drop(struct fixture *x, uint32_t i)
{
	fake_write_begin(&x->g);
	fake_ring_at(&x->g, i)->kind = GUEST_RING_FREE;
	fake_write_end(&x->g);
}

#endif
