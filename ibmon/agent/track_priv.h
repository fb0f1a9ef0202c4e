/* SPDX-License-Identifier: GPL-2.0-or-later */
/* track_priv: shared by track.c, track_users.c and track_kinds.c only. */
#ifndef RESEX_AGENT_TRACK_PRIV_H
#define RESEX_AGENT_TRACK_PRIV_H

#include "ibmon/agent/devices.h"
#include "ibmon/agent/maps.h"
#include "ibmon/agent/nldev.h"
#include "ibmon/agent/pagemap.h"
#include "ibmon/agent/procs.h"
#include "ibmon/agent/qpns.h"
#include "ibmon/agent/track.h"

enum { HEADER_PAGE = 4096 };

/* A process that uses RDMA. Files that every scan reads stay open. */
struct track_user {
	pid_t pid;
	int statm, pagemap;
	uint64_t size; /* pages of address space at the last full scan; 0: none yet */
	size_t next;   /* first ring to compare at the next quick scan */
};

/* The queue pairs of one device. */
struct track_qpns {
	uint32_t index; /* rdma netlink's */
	struct qpns qpns;
};

struct track {
	const struct track_sink *sink;
	void *ctx;
	const struct log *log;
	struct devices devices;
	uint64_t scan;
	unsigned int changes; /* in this scan */
	bool writing;	      /* the sink's begin() was called */
	size_t withdraws;     /* ids to be withdrawn */
	uint32_t withdraw[TRACK_RINGS_MAX];
	bool room;	      /* a ring was withdrawn: a refused one may fit now */
	uint32_t unpublished; /* send queues without room, as the sink knows them */
	bool warned_users, warned_rings, warned_full;
	size_t users, rings;
	struct track_user user[TRACK_USERS_MAX];
	struct track_ring *ring[TRACK_RINGS_MAX]; /* by device and offset */
	unsigned int tries;			  /* scans in a row with rings of unknown kind */
	struct procs procs;			  /* processes to look at */
	uint32_t again_files;			  /* read of those looked at again since the list */
	size_t counters;
	struct track_qpns *counter[DEVICES_MAX];
	uint64_t unseen_ended; /* queue pairs of devices that are gone */
	bool counted;	       /* track_unseen() was called before */
	/* scratch */
	struct maps_ring found[TRACK_USER_RINGS_MAX];
	struct pagemap pagemap; /* of the user that is looked at */
	struct class_ring group[TRACK_RINGS_MAX];
	struct track_ring *member[TRACK_RINGS_MAX];
	struct nldev_list objects;
	struct class_qp qp[NLDEV_OBJECTS_MAX];
	struct class_cq cq[NLDEV_OBJECTS_MAX];
	uint32_t srq[NLDEV_OBJECTS_MAX];
};

/* Find kinds for rings that have none, and check kinds against entries (full: of all rings). */
void track_kinds(struct track *t, bool full);

/* Has the ring that is mapped at addr the same first frame? t->pagemap is of a user of it. */
bool track_same_frame(struct track *t, const struct track_ring *r, uint64_t addr);

/* A ring is about to be dropped: its queue pair was seen if it was published. */
void track_qpns_drop(struct track *t, struct track_ring *r);
void track_qpns_close(struct track *t);

/* Note the user's size. Called before its maps are read, so that no change is missed. */
void track_user_look(struct track_user *u);
/* Has no user changed since? By its size and some of its frames. */
bool track_users_quiet(struct track *t);
/*
 * Are the user's rings still where the scan found them? By its maps: the kernel may give a new ring
 * the address and the frames of the one before. If not, the next scan is not quiet.
 */
bool track_user_same(struct track *t, struct track_user *u);
void track_user_remove(struct track *t, pid_t pid);
void track_users_close(struct track *t);

#endif
