/* SPDX-License-Identifier: GPL-2.0-or-later */
/* world_priv: between world.c and world_queue.c. */
#ifndef RESEX_TESTS_WORLD_PRIV_H
#define RESEX_TESTS_WORLD_PRIV_H

#include "tests/shared/world.h"

/* Events of one time come in the order in which they were pushed. */
void world_push(struct world *w, int64_t t, uint16_t type, uint16_t a, uint32_t value,
		uint32_t more);
struct world_event world_pop(struct world *w);

#endif
