// SPDX-License-Identifier: GPL-2.0-or-later
/* budget: what is left after time has passed, and been used. */
#include "src/core/budget.h"
#include "tests/unit/unit.h"

TEST(use__in_turns__is_over_below_zero_and_until_all_is_left_again)
{
	static const struct {
		int64_t passed, used, left;
		bool within;
	} row[] = {
		{ 0, 0, 1000, true },
		{ 5000, 0, 1000, true },    /* no more than most */
		{ 5000, 1000, 1000, true }, /* its share, all the time */
		{ 5000, 2000, 0, true },
		{ 0, 0, 0, true },
		{ 0, 1, -1, false },
		{ 500, 0, 99, false }, /* not yet */
		{ 4500, 0, 999, false },
		{ 4, 0, 999, false },
		{ 5, 0, 1000, true },
		{ 5, 1001, 0, true },
		{ INT64_MAX, INT64_MAX, -1000, false }, /* a use is not paid for without end */
		{ 9999, 0, 999, false },
		{ INT64_MAX, 0, 1000, true },
		{ 99999, 3001, 1000, true }, /* its share of a long time */
		{ 0, 3001, -1000, false },
		{ 0, INT64_MAX, -1000, false },
	};
	struct budget b = { 20, 1000, 1000, false };

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (budget_use(&b, row[i].passed, row[i].used) != row[i].within ||
		    b.left_ns != row[i].left)
			fail_msg("row %u: %d, left %lld", i, !b.over, (long long)b.left_ns);
}
