// SPDX-License-Identifier: GPL-2.0-or-later
/* mtu: from what one queue pair completed to what its guest used. See flow.h. */
#include "ibmon/ring/mtu.h"

#include "src/core/units.h"

enum { PATH_MTU_DEFAULT = 1024 };

uint64_t mtu_of(uint64_t bytes, uint32_t path_mtu)
{
	uint64_t mtu = path_mtu ? path_mtu : PATH_MTU_DEFAULT;

	if (!bytes)
		return 1;
	return bytes / mtu + (bytes % mtu != 0);
}

void mtu_add(struct usage *u, const struct sample *s)
{
	if (s->flags & SAMPLE_UNCHARGED)
		return;
	if (s->flags & (SAMPLE_WRS_BOUNDED | SAMPLE_MTUS_ESTIMATED))
		u->flags |= USAGE_ESTIMATED;
	if (s->lost || (s->flags & SAMPLE_LAPPED))
		u->flags |= USAGE_LOST;
	if (s->msg_bytes > u->msg_bytes)
		u->msg_bytes = s->msg_bytes;
	u->mtus_sent = sat_add(u->mtus_sent, s->mtus_sent);
	u->mtus_recv = sat_add(u->mtus_recv, s->mtus_recv);
	u->bytes_sent = sat_add(u->bytes_sent, sat_add(s->bytes_sent, s->likely_sent));
	u->bytes_recv = sat_add(u->bytes_recv, sat_add(s->bytes_recv, s->likely_recv));
	u->wrs = sat_add(u->wrs, s->wrs);
	u->lost = sat_add(u->lost, s->lost);
	u->backlog = sat_add(u->backlog, s->backlog);
	u->queues += s->backlog > 0;
}
