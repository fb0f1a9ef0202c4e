/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * track: the processes that use RDMA and their rings, kept up to date by
 * scans. What is a send or completion queue is handed to a sink, and taken
 * back from it when no process maps it any more.
 *
 * A ring is one (device, page offset) with its frames: a child that inherits
 * it adds a mapping, not a ring. Looking is cheap where nothing changed: one
 * read of the maps of each user.
 */
#ifndef RESEX_AGENT_TRACK_H
#define RESEX_AGENT_TRACK_H

#include <sys/types.h>

#include "ibmon/agent/classify.h"
#include "src/core/units.h"
#include "src/util/log.h"

enum { TRACK_RINGS_MAX = 1024, TRACK_USERS_MAX = 256, TRACK_USER_RINGS_MAX = 1024 };

struct track_ring {
	struct class_ring what; /* element size, slots, kind, how it is known */
	uint32_t uverbs;
	uint32_t id;   /* the sink's, 0: not published */
	pid_t owner;   /* in whom it was found first */
	pid_t pid;     /* one that maps it now, */
	uint64_t addr; /* at this address */
	char comm[16]; /* of the owner */
	struct mono found;
	uint32_t frames;
	uint64_t *frame;
	uint64_t seen;	/* number of the scan */
	bool too_large; /* for the ABI */
	bool refused;	/* the sink had no room for it; tried again when some is made */
};

/* Where rings go. All required. */
struct track_sink {
	void (*begin)(void *ctx);
	void (*end)(void *ctx);
	int (*publish)(void *ctx, const struct track_ring *r, uint32_t *id);
	void (*withdraw)(void *ctx, uint32_t id);
	/* A process joined; its exit must be told by track_gone. 0 or -errno. */
	int (*join)(void *ctx, pid_t pid);
};

struct track;

/* 0 or -ENOMEM. RDMA may be loaded later. */
int track_open(struct track **t, const struct track_sink *sink, void *ctx, const struct log *log);
void track_close(struct track *t); /* withdraws nothing */

enum track_walk {
	TRACK_OPENED, /* processes that hold a context of a device */
	TRACK_NEW,    /* by files and mappings, all processes that the last walk has not seen */
};

/* Look for new users; how many were found, or -errno. */
int track_walk(struct track *t, enum track_walk how);

/* A user exited: look for heirs of its rings, then scan. */
void track_gone(struct track *t, pid_t pid, struct mono now);

/* Nodes of devices came or went. */
void track_devices(struct track *t);

/*
 * Look at all users: new rings, rings gone, kinds. Where neither the size of
 * a user nor frames of its rings changed it is not looked at any further,
 * unless full. How many rings were found, published or withdrawn: 0 where
 * nothing changed.
 */
unsigned int track_scan(struct track *t, struct mono now, bool full);

/* Forget users that have neither rings nor the device open; call now and then. */
void track_tidy(struct track *t);

size_t track_users(const struct track *t);
size_t track_unknown(const struct track *t); /* rings without a kind */
size_t track_rings(const struct track *t);
const struct track_ring *track_ring(const struct track *t, size_t i);

#endif
