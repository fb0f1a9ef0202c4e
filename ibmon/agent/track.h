/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * track: the processes that use RDMA ("users") and their rings, kept up to date by
 * scans. Send and completion queues are published to a sink, and withdrawn when no
 * process maps them any more.
 *
 * A ring is one (device, page offset) with its frames: a child that inherits it adds a
 * mapping, not a ring. A scan is cheap where nothing changed: it compares the size of
 * each user's address space and a few frame numbers.
 */
#ifndef RESEX_AGENT_TRACK_H
#define RESEX_AGENT_TRACK_H

#include <sys/types.h>

#include "ibmon/agent/classify.h"
#include "src/core/units.h"
#include "src/util/log.h"

enum {
	TRACK_RINGS_MAX = 1024,
	TRACK_USERS_MAX = 256,
	TRACK_USER_RINGS_MAX = 1024,
	TRACK_PROCESS_FILES = 8, /* what its maps and its folder cost, in open files */
	TRACK_LOOK_FILES = 1024, /* of one look: some 10 ms */
};

struct track_ring {
	struct class_ring what; /* element size, slots, kind and its proof */
	uint32_t uverbs;
	uint32_t id;		   /* the sink's, 0: not published */
	enum ring_class published; /* as this kind, when id is set */
	pid_t owner;		   /* the process in which it was found first */
	pid_t pid;		   /* a process that maps it now, */
	uint64_t addr;		   /* at this address */
	char comm[16];		   /* of the owner */
	struct mono found;
	uint32_t frames;
	uint64_t *frame;
	uint64_t seen;	/* number of the last scan that found it */
	bool too_large; /* for the ABI */
	bool refused;	/* the sink had no room; tried again when a ring is withdrawn */
	bool counted;	/* track_unseen() knows that it was published */
};

/* Where rings go. All required. */
struct track_sink {
	void (*begin)(void *ctx);
	void (*end)(void *ctx);
	int (*publish)(void *ctx, const struct track_ring *r, uint32_t *id);
	void (*withdraw)(void *ctx, uint32_t id);
	/* So many send queues live and are not published, for lack of room. */
	void (*unpublished)(void *ctx, uint32_t queue_pairs);
	/* A process became a user; call track_gone() when it exits. 0 or -errno. */
	int (*join)(void *ctx, pid_t pid);
};

struct track;

/* 0 or -ENOMEM. RDMA may be loaded later. */
int track_open(struct track **t, const struct track_sink *sink, void *ctx, const struct log *log);
void track_close(struct track *t); /* withdraws nothing */

/*
 * Ask the kernel for processes that hold a context of a device. The number of new users, or
 * -errno; then, as on an old kernel, track_look() will look at all processes.
 */
int track_opened(struct track *t);
/* List the processes: track_look() will look at those that are new. 0 or -errno. */
int track_list(struct track *t);
/*
 * Look at files and mappings of the processes of the list (procs.h), until about so many files were
 * read; a process counts for TRACK_PROCESS_FILES and its open files. The number of new users.
 */
int track_look(struct track *t, uint32_t files);
/* Are there processes that track_look() would look at? */
bool track_looks(const struct track *t);

/* A user exited: look for children that inherited its rings, then scan. */
void track_gone(struct track *t, pid_t pid, struct mono now);

/*
 * More is known of a queue pair: its send queue, if it was published, is withdrawn and published
 * again by the next scan. The host goes on counting. True: it was published.
 */
bool track_again(struct track *t, pid_t owner, uint32_t qpn);

/* Device nodes appeared or disappeared. */
void track_devices(struct track *t);

/*
 * Scan all users for new rings, rings gone, and kinds. Unless full, stop early when no
 * user's size and none of the compared frames changed. The number of changes: rings
 * found, lost, published, withdrawn or given another kind.
 */
unsigned int track_scan(struct track *t, struct mono now, bool full);

/*
 * Ask the kernel which queue pairs there are. How many came and went since track_open and were
 * never published, as far as later queue pairs show: see qpns.h.
 */
uint64_t track_unseen(struct track *t);

/* Forget users without rings and without an open device. Call it every few seconds. */
void track_tidy(struct track *t);

size_t track_users(const struct track *t);
size_t track_unknown(const struct track *t); /* rings without a kind */
size_t track_rings(const struct track *t);
const struct track_ring *track_ring(const struct track *t, size_t i);

#endif
