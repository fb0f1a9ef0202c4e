/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * budget: a share of a CPU that a thread may use, and bursts of it. Pure.
 *
 * Time that passes adds the share to what is left, up to most_ns. Time that was used is taken from
 * it. Below 0 the budget is over, until all of most_ns is left again: so it does not change with
 * each use.
 */
#ifndef RESEX_CORE_BUDGET_H
#define RESEX_CORE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
	int64_t percent; /* 1 to 100, of one CPU */
	int64_t most_ns;
	int64_t left_ns; /* begin with most_ns; below 0: over */
	bool over;
};

/* passed_ns, used_ns: since the last call; >= 0. Is the budget not over? */
bool budget_use(struct budget *b, int64_t passed_ns, int64_t used_ns);

#endif
