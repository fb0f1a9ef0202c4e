// SPDX-License-Identifier: GPL-2.0-or-later
/* apart_open: the guard of the thread that ticks. See sampler.h. */
#include "src/tick/apart.h"

int sampler_guard(struct sampler *s)
{
	const struct guard_limits limits = { .cpu_ns = APART_HANG_NS, .wall_ns = APART_WAIT_NS };

	return guard_open(&s->guard, &limits);
}

void sampler_unguard(struct sampler *s)
{
	guard_close(s->guard);
	s->guard = NULL;
}
