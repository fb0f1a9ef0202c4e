// SPDX-License-Identifier: GPL-2.0-or-later
/* budget: see budget.h. The cluster's thread has one (src/cluster/thread.c). */
#include "src/core/budget.h"

bool budget_use(struct budget *b, int64_t passed_ns, int64_t used_ns)
{
	/* Longer ones change nothing more, and could overflow. */
	int64_t passed = passed_ns < 100 * b->most_ns ? passed_ns : 100 * b->most_ns;
	int64_t used = used_ns < 200 * b->most_ns ? used_ns : 200 * b->most_ns;

	b->left_ns += passed * b->percent / 100 - used;
	if (b->left_ns > b->most_ns)
		b->left_ns = b->most_ns;
	/* What was used beyond that is forgotten. */
	if (b->left_ns < -b->most_ns)
		b->left_ns = -b->most_ns;
	if (b->left_ns < 0)
		b->over = true;
	else if (b->left_ns == b->most_ns)
		b->over = false;
	return !b->over;
}
