/* SPDX-License-Identifier: GPL-2.0-or-later */
/* classify_order: kinds and numbers from the order of creation. For classify.c. */
#ifndef RESEX_AGENT_CLASSIFY_ORDER_H
#define RESEX_AGENT_CLASSIFY_ORDER_H

#include "ibmon/agent/classify.h"

/*
 * Given that the objects account for all rings and that one thread made
 * them: every ring on which all possible orders agree gets its kind, and its
 * number when they agree on that. Returns how many kinds were found.
 */
size_t classify_order(struct class_ring *ring, size_t n, const struct class_objects *obj);

#endif
