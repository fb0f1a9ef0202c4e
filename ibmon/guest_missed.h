/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest_missed: how many queue pairs of a guest were read, and how many came and went uncounted.
 *
 * Three ways to be missed: the agent never saw it (qps_unseen); it was published and
 * withdrawn between two walks (sqs_published); it was in a walk, but its ring could not be
 * read in time. All of it is the guest's claim: a lie spoils its own figures alone.
 */
#ifndef RESEX_IBMON_GUEST_MISSED_H
#define RESEX_IBMON_GUEST_MISSED_H

#include "ibmon/registry.h"

/* A send queue that was in the registry. */
struct missed_ring {
	uint32_t id;
	bool read;  /* its ring was sampled */
	bool here;  /* in the newest walk; else it is decided by missed_settle() */
	bool again; /* of a queue pair that is counted under a former id */
};

struct missed {
	bool walked;	    /* since the agent was attached */
	uint32_t agent_pid; /* of the newest walk: another one counts from 0 again */
	uint64_t published; /* sqs_published of the newest walk */
	uint64_t unseen;    /* qps_unseen, newest */
	uint64_t read, missed, resumed;
	uint32_t rings;
	struct missed_ring ring[2 * GUEST_RINGS_MAX];
};

/* The agent is another from now on, or none. */
void missed_detach(struct missed *m);

/* A walk succeeded. unseen is qps_unseen of the page. */
void missed_walk(struct missed *m, const struct registry *reg, uint64_t unseen);

/* qps_unseen as it is now; it may change without a walk. */
void missed_unseen(struct missed *m, uint64_t unseen);

/* The sampler read this ring. */
void missed_read(struct missed *m, uint32_t id);

/* This ring, if it was not read yet under its id, is one that was read under another. */
void missed_again(struct missed *m, uint32_t id);

/* This ring is still mapped: missed_settle() does not decide it. */
void missed_hold(struct missed *m, uint32_t id);

/* No ring waits to be reaped: those that left were read, or never will be. */
void missed_settle(struct missed *m);

/* Queue pairs read up to now, the present ones too. */
uint64_t missed_count_read(const struct missed *m);

/*
 * Ids under which a ring was counted on that another id had before: of the same queue pair; or of
 * the next one in its memory, if neither had a number and that one worked before the ring of the
 * former was withdrawn. Then it is neither read nor missed, and its work is counted.
 */
uint64_t missed_count_resumed(const struct missed *m);

#endif
