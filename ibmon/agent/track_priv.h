/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track_priv: the inside of track, for track.c and track_kinds.c. */
#ifndef RESEX_AGENT_TRACK_PRIV_H
#define RESEX_AGENT_TRACK_PRIV_H

#include "ibmon/agent/devices.h"
#include "ibmon/agent/maps.h"
#include "ibmon/agent/nldev.h"
#include "ibmon/agent/track.h"

enum {
	HEADER_PAGE = 4096,
	TRACK_WALKS_FULL = 32, /* of so many walks for new processes one looks at all */
};

struct track {
	const struct track_sink *sink;
	void *ctx;
	const struct log *log;
	struct devices devices;
	uint64_t scan;
	unsigned int changes; /* in this scan */
	bool writing;	      /* begin was called */
	bool warned_users, warned_rings;
	size_t users, rings;
	pid_t user[TRACK_USERS_MAX];
	struct track_ring *ring[TRACK_RINGS_MAX]; /* by device and offset */
	unsigned int tries;			  /* scans in a row that asked for kinds */
	uint64_t walks;
	pid_t *looked; /* ascending */
	size_t n_looked;
	/* scratch */
	struct maps_ring found[TRACK_USER_RINGS_MAX];
	struct class_ring group[TRACK_RINGS_MAX];
	struct track_ring *member[TRACK_RINGS_MAX];
	struct nldev_list objects;
	struct class_qp qp[NLDEV_OBJECTS_MAX];
	struct class_cq cq[NLDEV_OBJECTS_MAX];
	uint32_t srq[NLDEV_OBJECTS_MAX];
};

void track_begin(struct track *t);

/* Find kinds for rings that have none, and look whether written entries agree. */
void track_kinds(struct track *t);

#endif
