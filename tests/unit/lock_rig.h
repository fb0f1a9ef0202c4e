/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lock_rig: a home's word of one lock, and two hosts that want it; operations by hand. */
#ifndef RESEX_TESTS_LOCK_RIG_H
#define RESEX_TESTS_LOCK_RIG_H

#include "src/reconf/lock.h"
#include "src/shared/lease.h"
#include "tests/unit/shared_rig.h"

enum { HOME = 1, A = 2, B = 3, SERVICE = 7, HOLD = 200 * MS, DEADLINE = 50 * MS, CHECK = 10 * MS };
enum { BREAK_AT_MOST = 2 * (HOLD + DEADLINE) };

#define START (5ull << REGION_COUNT_BITS) /* the home's fifth start */

struct host {
	struct lock lock;
	struct step_out out;
	uint32_t ops, link;
};

struct rig {
	struct words w;
	struct host a, b;
	struct mono now;
};

static inline void tell(struct rig *r, struct host *h, struct step_event ev)
{
	uint32_t before = h->out.n;

	lock_step(&h->lock, &ev, r->now, &h->out);
	h->ops += h->out.n - before;
}

static inline void setup_host(struct rig *r, struct host *h, uint16_t self)
{
	struct lock_conf c = {
		.self = self,
		.service = SERVICE,
		.tag = 1000,
		.hold_ns = HOLD,
		.deadline_ns = DEADLINE,
		.drift_ppm = 1000,
		.check_ns = CHECK,
		.seed = self,
	};

	lock_init(&h->lock, &c);
	h->link = 1;
	tell(r, h, rig_link(HOME, 1));
	tell(r, h, rig_view(0, 0xf, true));
}

static inline uint64_t *word(struct rig *r)
{
	return rig_word(&r->w, HOME, region_lock_offset(SERVICE));
}

static inline int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->now.ns = 1000 * (int64_t)MS;
	*word(r) = region_word(0, START + 1); /* released once */
	setup_host(r, &r->a, A);
	setup_host(r, &r->b, B);
	*state = r;
	return 0;
}

static inline int teardown(void **state)
{
	free(*state);
	return 0;
}

/* The one operation that h has put out. */
static inline struct step_op only(struct host *h)
{
	assert_int_equal(h->out.n, 1);
	h->out.n = 0;
	return h->out.op[0];
}

static inline void give(struct rig *r, struct host *h, const struct step_op *op,
			enum step_outcome o, uint64_t old)
{
	tell(r, h, rig_result(op, o, old, h->link));
}

/* Execute what h puts out, until it puts out nothing. */
static inline void run(struct rig *r, struct host *h)
{
	while (h->out.n) {
		struct step_op op = only(h);

		give(r, h, &op, STEP_DONE, rig_execute(&r->w, &op));
	}
}

static inline void ask(struct rig *r, struct host *h, uint32_t what)
{
	tell(r, h, rig_ask(what));
	run(r, h);
}

static inline void tick_until(struct rig *r, struct host *h, struct mono until)
{
	while (lock_due(&h->lock).ns <= until.ns) {
		if (lock_due(&h->lock).ns > r->now.ns)
			r->now = lock_due(&h->lock);
		tell(r, h, (struct step_event){ .type = STEP_TICK });
		run(r, h);
	}
	r->now = until;
}

static inline void new_link(struct rig *r, struct host *h)
{
	tell(r, h, rig_link(HOME, ++h->link));
}

static inline void hold(struct rig *r, struct host *h)
{
	ask(r, h, LOCK_ACQUIRE);
	assert_int_equal(lock_state(&h->lock), LOCK_HELD);
}

#endif
