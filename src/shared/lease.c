// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lease: the arithmetic of leases, for src/reconf/lock.c and for hosts that only show locks.
 * See lease.h.
 */
#include "src/shared/lease.h"

enum { PPM = 1000000 };

int64_t lease_break_ns(int64_t hold_ns, int64_t deadline_ns, uint32_t drift_ppm)
{
	int64_t act = hold_ns + deadline_ns;

	/*
	 * In the holder's true time it acts for act / (1 - drift); the waiter's clock may run fast
	 * by drift: act x (1 + drift) / (1 - drift), without fractions. + 1: the division rounds
	 * down.
	 */
	return act + act * 2 * drift_ppm / (PPM - (int64_t)drift_ppm) + 1;
}

uint64_t lease_broken_word(uint64_t word)
{
	/*
	 * seq + 1, so that no word comes back: a release by the old holder must fail. Not free,
	 * because the old holder does not know, and may act until its lease ends.
	 */
	return region_word(REGION_LOCK_BROKEN, region_seq_next(region_word_seq(word)));
}
