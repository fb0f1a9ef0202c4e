/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guests_priv: what the manager's own files share. For callers: guests.h. */
#ifndef RESEX_GUESTS_GUESTS_PRIV_H
#define RESEX_GUESTS_GUESTS_PRIV_H

#include "src/guests/guests.h"

enum {
	NODE_MIN_MS = 100,  /* a guest's node is read at most this often */
	AGENT_SILENT_S = 3, /* guest_abi.h promises a beat a second */
};

#define FAULT_EVENTS_NS (200 * NS_PER_MS) /* at least between two ring-fault events of a guest */

/* guest.c: one guest. */
int managed_new(struct manager *m, const struct hv_dom *d, struct mono now, int64_t wall_ns);
void managed_free(struct manager *m, struct managed *g);
void managed_leave(struct manager *m, struct managed *g, int64_t wall_ns);
/* Write the old caps of all that are saving at once: many guests come together at a boot. */
void managed_save_caps(struct manager *m);
/* Node, refresh, verify: whatever is due. */
void managed_work(struct manager *m, struct managed *g, struct mono now, int64_t wall_ns);
void managed_second(struct manager *m, struct managed *g, struct mono now, int64_t wall_ns);
bool managed_wants_soon(const struct managed *g, struct mono now);

/* conf.c: settings and who is left alone. */
void managed_settings(const struct manager *m, struct managed *g); /* those of resexd.json */

/* guests.c: at the loop's next turn, and that soon. */
void manager_publish_soon(struct manager *m);

/* set.c: sets published and acknowledged. */
void sets_publish(struct manager *m);
void sets_acknowledged(struct manager *m, uint64_t acked);
void sets_free_all(struct manager *m);

/* events.c: the sampler's events into words. */
void events_drain(struct manager *m, int64_t wall_ns);

#endif
