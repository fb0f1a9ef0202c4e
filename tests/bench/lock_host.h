/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock_host: a host of the backend "shm" with one lock in a runner: what bench_lock.c,
 * bench_recovery.c and recovery_sim.c have in common. Time is an argument.
 */
#ifndef RESEX_BENCH_LOCK_HOST_H
#define RESEX_BENCH_LOCK_HOST_H

#include "src/reconf/lock.h"
#include "src/reconf/runner.h"
#include "src/shared/peers.h"
#include "src/shared/region.h"

enum { LOCK_HOST_PREFIX = 0x10c };

struct lock_host_conf {
	const char *dir;
	uint64_t generation;
	struct hostset peers; /* a link to each is kept, and it may call */
	uint32_t guests;
	/* 0: calls are hardly limited. Otherwise limits and back-off are resexd's. */
	uint32_t callers;
	struct lock_conf lock; /* its self is the host's number */
};

struct lock_host {
	struct transport *t; /* NULL: closed */
	struct runner *r;
	struct lock lock;
	struct region region;
	uint16_t number;
	struct peers *peers; /* the user's, told of all events; or NULL */
};

/* The region is published, home is told as the only member. 0 or -errno with a sentence. */
int lock_host_open(struct lock_host *h, const struct lock_host_conf *c, uint16_t home,
		   struct mono now, char text[static 256]);
void lock_host_close(struct lock_host *h);

/* Take what the transport has, step what is due. How many events there were. */
size_t lock_host_turn(struct lock_host *h, struct mono now);
/* When there is something to do, unless the transport's descriptor says so before. */
struct mono lock_host_due(struct lock_host *h, struct mono now);

/* One more heartbeat. */
void lock_host_beat(struct lock_host *h);

void lock_host_ask(struct lock_host *h, enum lock_ask what, struct mono now);
/* HELD: released, and wanted again: a fresh lease, if nobody else is faster. */
void lock_host_renew(struct lock_host *h, struct mono now);

#endif
