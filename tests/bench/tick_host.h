/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tick_host: a host whose guests' memory is synthetic, for bench.c: its rings are written, ticks
 * and raw passes over the same lines are timed.
 *
 * The raw pass is the yardstick: one volatile 8-byte load of each line of guest memory that the
 * scan reads for the same messages, each once:
 *
 *	a guest		the line of its registry with the generation
 *	a ring		producer; unless it worked and has nothing in flight, the ssn of the newest
 *			entry counted before; if it worked, or one time in 16: slots and mask,
 *			consumer
 *	an entry	opcode, status to length, num_sge: three lines; one that is completed
 *			now, or posted now, or both
 *	of mlx5		doorbell record, work requests; doorbell record of the completion queue,
 *			completions, and the entry that comes next
 *	of mlx4		work requests, and the slot that comes next; of the completion queue the
 *			same as of mlx5, two entries a line
 *	a rested ring	as a ring, in each seventh pass
 *	a latency page	magic and count, and the line of each new sample
 *
 * All ticks and passes of a regime find the lines at the same place:
 *
 *	near	in this CPU's caches: it wrote them just before
 *	far	in memory: they were evicted from all caches after they were written
 *	cold	in memory, as are the daemon's own: 40 MB were read in between
 */
#ifndef RESEX_BENCH_TICK_HOST_H
#define RESEX_BENCH_TICK_HOST_H

#include <stdbool.h>
#include <stdint.h>

enum load {
	LOAD_IDLE,   /* nothing is posted; each ring worked within the last 30 ticks */
	LOAD_RESTED, /* nothing was posted for long */
	LOAD_BUSY,   /* 4 messages a ring and tick: WRITE, 4096 bytes, completed at once */
	LOAD_FLIGHT, /* the same, and 3 more are in flight */
	LOAD_MIXED,  /* the same, of different operations and sizes */
	LOAD_MANY,   /* 32 as LOAD_BUSY */
	LOAD_MLX5,   /* as LOAD_BUSY, of mlx5: each has a completion, in a queue a queue pair */
	LOAD_MLX4,   /* the same, of mlx4 */
	LOADS,
};

enum regime { NEAR, FAR, COLD, REGIMES };

extern const char *const load_name[LOADS];
extern const char *const regime_name[REGIMES];

struct size {
	uint32_t guests, queues, pages; /* queue pairs and latency pages a guest */
	enum load load;
	bool recorded; /* as by resex trace-start; the writer's work is in no tick */
};

enum { ROUND_TICKS = 2 };

/* Each followed by its own messages: a raw pass, and ticks. */
struct round {
	int64_t raw_ns, tick_ns[ROUND_TICKS];
};

struct tick_host;

/* Exits with a sentence on stderr, as all of these do. */
struct tick_host *tick_host_open(const struct size *size);

/*
 * Fill r with n rounds. A round in which this process lost its CPU, or was moved to another, is
 * made again.
 */
void tick_host_run(struct tick_host *h, enum regime regime, struct round *r, int n);

/* Lines of guest memory in a raw pass. */
uint64_t tick_host_lines(const struct tick_host *h);

/* Not counted exactly what was sent and reported: exit. */
void tick_host_close(struct tick_host *h);

/* Can lines be evicted on this CPU? */
int regime_possible(enum regime regime);

/* Run the sampler's own loop over an idle host for some seconds: how late its ticks began. */
struct lateness {
	uint64_t ticks, late_ticks, median_ns, p99_ns, max_ns;
};
void tick_host_lateness(const struct size *size, int seconds, struct lateness *l);

int64_t ns_now(void);
void die(const char *what, int rc);

#endif
