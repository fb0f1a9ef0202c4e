/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qpns: the queue pairs of one rxe device that came and went and whose ring was never published,
 * from lists of those that live.
 *
 * rxe gives numbers in turn: of those between two that live, the others were given
 * and are gone. The last ones are noticed only when a later queue pair is listed.
 * A number that a failed creation used up is counted, too.
 */
#ifndef RESEX_AGENT_QPNS_H
#define RESEX_AGENT_QPNS_H

#include <stdbool.h>

#include "ibmon/agent/nldev.h"

enum {
	QPNS_LIVE_MAX = 2 * NLDEV_OBJECTS_MAX, /* of programs and of the kernel */
	QPNS_FIRST = 17,		       /* the kernel's own, of the GSI, used up 16 */
};

struct qpns_live {
	uint32_t qpn;
	bool done; /* published, or not to be counted */
};

struct qpns {
	bool listed;	 /* a list was read */
	bool known;	 /* newest is */
	uint32_t newest; /* the number given last */
	uint64_t gone;	 /* were not done */
	uint64_t spare;	 /* rings published whose queue pair was not found by its number */
	uint64_t unseen; /* the highest that qpns_unseen() said */
	uint32_t n;
	struct qpns_live live[QPNS_LIVE_MAX]; /* by ascending number */
	struct qpns_live next[QPNS_LIVE_MAX]; /* scratch */
};

/* fresh: the device is newer than the agent, so that all its queue pairs count. */
void qpns_init(struct qpns *q, bool fresh);

/* A new list, as nldev_qps() reads it. */
void qpns_list(struct qpns *q, const struct nldev_list *l);

/* The ring of this queue pair was published. False: it is not in the newest list. */
bool qpns_ring(struct qpns *q, uint32_t qpn);
/* A ring was published, of a queue pair that no list named. */
void qpns_ring_unnamed(struct qpns *q);

/* The device is gone, with all its queue pairs. */
void qpns_end(struct qpns *q);

/* Never falls. */
uint64_t qpns_unseen(struct qpns *q);

#endif
