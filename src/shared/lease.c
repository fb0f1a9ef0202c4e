// SPDX-License-Identifier: GPL-2.0-or-later
/* lease: the arithmetic of leases. See lease.h. */
#include "src/shared/lease.h"

enum { PPM = 1000000 };

int64_t lease_break_ns(int64_t hold_ns, int64_t deadline_ns, uint32_t drift_ppm)
{
	int64_t act = hold_ns + deadline_ns;

	return act + act * 2 * drift_ppm / (PPM - (int64_t)drift_ppm) + 1;
}

uint64_t lease_broken_word(uint64_t word)
{
	return region_word(REGION_LOCK_BROKEN, region_word_seq(word) + 1);
}
