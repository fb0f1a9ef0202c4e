/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world_priv: between world.c, world_post.c, world_queue.c, world_faults.c, world_clock.c. */
#ifndef RESEX_TESTS_WORLD_PRIV_H
#define RESEX_TESTS_WORLD_PRIV_H

#include "tests/shared/world.h"

/* The types of events. */
enum {
	EV_TICK,
	EV_LOST,
	EV_POST,
	EV_EXEC,
	EV_RESULT,
	EV_LATE,
	EV_FAIL,
	EV_CALL,
	EV_UP,
	EV_VIEW,
	EV_RESTART,
	EV_CRASH,
	EV_TIMER,
	EV_ASK,
	EV_MESSAGE,
};

/* Events of one time come in the order in which they were pushed. */
void world_push(struct world *w, int64_t t, uint16_t type, uint16_t a, uint32_t value,
		uint32_t more);
struct world_event world_pop(struct world *w);

/* What the host's clock shows at this true time, and the reverse. */
int64_t world_local_at(const struct world_host *h, int64_t t);
int64_t world_true_at(const struct world_host *h, int64_t local);

static inline bool world_one_in(struct world *w, uint32_t n)
{
	return n != 0 && world_random(w) % n == 0;
}

/* The fault of an operation that is posted now; FAULTS: none. */
enum world_fault world_draw_fault(struct world *w, const struct step_op *op);
/* For how long a host that crashes now is down; -1: for good. */
int64_t world_down_time(struct world *w);

/* --- world_post.c ---------------------------------------------------------- */

#define WORLD_NONE UINT32_MAX /* no operation */

/* The word at this place, for an operation; NULL: there is none. */
uint64_t *world_place(struct world *w, const struct step_op *op, uint32_t offset);
/* Post an operation of a step of host a, or return its result. */
void world_post(struct world *w, uint16_t a, const struct step_op *op, int64_t deadline);
/* Post operation i, which has waited for room on its link, at time t with fault f. */
void world_post_now(struct world *w, uint32_t i, int64_t t, enum world_fault f);
/* Drop one reference to operation i; the last one frees its place. */
void world_op_put(struct world *w, uint32_t i);
/* The result of operation i arrives at time t. */
void world_come_back(struct world *w, uint32_t i, enum step_outcome outcome, int64_t t);
/*
 * The caller will see the link of operation i fail: at its deadline or earlier. A READ that is late
 * is REFUSED at its deadline, and its link fails long after it.
 */
void world_will_fail(struct world *w, uint32_t i);
/* Remove operation i from the outstanding operations of link l, if it is one of them. */
void world_link_forget(struct world *w, struct world_link *l, uint32_t i);
/*
 * Link l is up anew. Return LOST for each waiting operation that was for an older link of l
 * (step_op.link). Call it before the process gets its STEP_LINK.
 */
void world_forget_waiting(struct world *w, struct world_link *l);

#endif
