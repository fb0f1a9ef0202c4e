/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * told: what the operator knows of a thing that comes and goes, such as a host's link: at most a
 * few events in a row, then none until there was none for some time. What changed meanwhile is
 * told then.
 */
#ifndef RESEX_CLUSTER_TOLD_H
#define RESEX_CLUSTER_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "src/core/units.h"

enum { TOLD_MAX = 4 };
#define TOLD_REST_NS (10 * NS_PER_S)

/* Zeros: it is not so, as the operator knows. */
struct told {
	bool is;
	uint32_t events; /* in a row */
	struct mono newest;
};

/* Must the operator be told that the thing is so now? Then it counts as told. */
static inline bool told_is_news(struct told *t, bool is, struct mono now)
{
	if (t->is == is)
		return false;
	if (mono_sub(now, t->newest) >= TOLD_REST_NS)
		t->events = 0;
	if (t->events == TOLD_MAX)
		return false;
	t->is = is;
	t->events++;
	t->newest = now;
	return true;
}

#endif
