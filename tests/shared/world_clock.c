// SPDX-License-Identifier: GPL-2.0-or-later
/* world_clock: the clock of a host, which runs at another rate than the world's time. */
#include "tests/shared/world_priv.h"

int64_t world_local_at(const struct world_host *h, int64_t t)
{
	return h->offset + t + t * h->drift / (1 << 20);
}

struct mono world_clock(const struct world *w, uint16_t host)
{
	return (struct mono){ world_local_at(&w->host[host], w->now) };
}

/* The true time at which the host's clock shows this, or very little more. */
int64_t world_true_at(const struct world_host *h, int64_t local)
{
	int64_t t = local - h->offset, behind;

	t -= t * h->drift / (1 << 20);
	for (behind = local - world_local_at(h, t); behind > 0;
	     behind = local - world_local_at(h, t))
		t += behind;
	return t;
}
