/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world_priv: between world.c, world_queue.c, world_faults.c, world_clock.c. */
#ifndef RESEX_TESTS_WORLD_PRIV_H
#define RESEX_TESTS_WORLD_PRIV_H

#include "tests/shared/world.h"

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

#endif
