/* SPDX-License-Identifier: GPL-2.0-or-later */
/* classify_order: kinds and numbers from the order of creation. For classify.c. */
#ifndef RESEX_AGENT_CLASSIFY_ORDER_H
#define RESEX_AGENT_CLASSIFY_ORDER_H

#include "ibmon/agent/classify.h"

/*
 * The objects account for all rings, and one thread created them. Each ring on which
 * all possible orders agree gets its kind, and its number where they agree on that,
 * too. Returns the number of kinds found; 0 also when the search would be too large.
 */
size_t classify_order(struct class_ring *ring, size_t n, const struct class_objects *obj);

#endif
