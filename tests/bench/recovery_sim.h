/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recovery_sim: the time from a lock holder's death to the next acquire, in simulated time.
 *
 * All hosts are in one process, over "shm". Host 1 is the home. The others always want the
 * lock; each has its own clock, wrong by up to drift. When all others wait at the holder's
 * word, the holder starts a new lease (it releases and acquires; the fastest host gets the
 * lock). At a random moment of that lease the holder dies, or it hangs until another host
 * has the lock, and then goes on without noticing. A run repeats by its seed.
 *
 * The bound, from the death, by the clock of the next holder:
 *	break + check + check / 8 + 3 round trips
 * The waiter sees the holder's word at most one look after it was written. The round trips
 * are those of that look, of the last look before the break, and of the break itself. The
 * bound needs deadline >= 2 1/8 checks + a round trip: a waiter does not look for so long
 * before it would break a word. With a shorter deadline, the holder may release, acquire and
 * die within that pause, and the waiter sees the new word up to 1 1/8 checks later.
 */
#ifndef RESEX_BENCH_RECOVERY_SIM_H
#define RESEX_BENCH_RECOVERY_SIM_H

#include "src/reconf/lock.h"

struct recovery_conf {
	const char *dir; /* for the sockets; empty */
	uint64_t seed;
	uint32_t deaths;	/* and hangs */
	uint32_t hang_permille; /* of them: not a death */
	uint16_t contenders;	/* 2 .. 16 */
	int64_t hold_ns, deadline_ns, check_ns;
	uint32_t drift_ppm;
	int64_t way_ns; /* one way, at most */
	/* For tests: after each death the others wake up this late. */
	int64_t asleep_ns;
};

struct recovery_result {
	uint32_t deaths; /* that were followed by an acquisition */
	uint32_t hangs;	 /* of them */
	uint32_t beyond; /* of them: beyond the bound */
	/* These must be 0. */
	uint32_t overlaps; /* two hosts could act at once */
	uint32_t fences;   /* a fence was not above the one before */
	uint32_t cleans;   /* a dead holder's lock was acquired as released clean */
	int64_t simulated_ns;
};

/* The bound, without the round trips. */
int64_t recovery_bound_ns(const struct lock_conf *c);
struct lock_conf recovery_lock_conf(const struct recovery_conf *c, uint16_t host);

/*
 * took: gets c->deaths times, by the next holder's clock. 0, or -errno with a sentence;
 * -ETIME: no acquire for a minute of simulated time.
 */
int recovery_run(const struct recovery_conf *c, int64_t *took, struct recovery_result *res,
		 char text[static 256]);

#endif
