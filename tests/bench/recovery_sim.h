/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recovery_sim: how long nobody has a lock after its holder's death, by a simulated time.
 *
 * One process, hosts of "shm": host 1 is the home, the others want the lock always,
 * each by a clock of its own that is wrong by up to drift. When all that do not have
 * it wait at the holder's word, the holder makes a fresh lease (release, acquire; who
 * is faster has it), and at a random moment of that lease it dies, or hangs
 * until somebody else has the lock, and goes on as if nothing had been. A run repeats by
 * its seed.
 *
 * The bound, by the clock of the next holder, from the death:
 *	break + check + check / 8 + 3 round trips
 * for its word was seen one look after it was written, at the latest; the round trips
 * are of that look, of the last one before the break, and of the break itself.
 * That is so while deadline >= 2 1/8 checks + a round trip. A waiter looks no more for
 * as long before it would break a word; with a shorter deadline its holder may
 * release, acquire and die within that pause, and the new word is seen by up to 1 1/8
 * checks later.
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
	/* For the tests: the others see nothing for so long after each death: a late wake-up. */
	int64_t asleep_ns;
};

struct recovery_result {
	uint32_t deaths; /* that were followed by an acquisition */
	uint32_t hangs;	 /* of them */
	uint32_t beyond; /* of them: beyond the bound */
	/* What must not be. */
	uint32_t overlaps; /* two hosts at once that may act */
	uint32_t fences;   /* not above the one before */
	uint32_t cleans;   /* had as released clean, from a dead holder */
	int64_t simulated_ns;
};

/* The longest after a death, but for the round trips. */
int64_t recovery_bound_ns(const struct lock_conf *c);
struct lock_conf recovery_lock_conf(const struct recovery_conf *c, uint16_t host);

/*
 * took: c->deaths of them, by the next holder's clock. 0, or -errno with a sentence;
 * -ETIME: no acquisition came for a minute of simulated time.
 */
int recovery_run(const struct recovery_conf *c, int64_t *took, struct recovery_result *res,
		 char text[static 256]);

#endif
