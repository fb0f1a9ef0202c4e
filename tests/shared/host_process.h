/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host_process: a process that is one host of several: its transport, runner, signals. For
 * lock_hosts and move_hosts.
 *
 * SIGTERM: end in order; a second SIGTERM: end at once. SIGUSR1: print the counts so far. SIGUSR2:
 * begin nothing new.
 */
#ifndef RESEX_TESTS_HOST_PROCESS_H
#define RESEX_TESTS_HOST_PROCESS_H

#include "src/reconf/runner.h"
#include "src/util/clock.h"

struct host_process {
	struct transport *t;
	struct runner *r;
	struct clock clock;
	uint16_t self;
	uint64_t ups, downs, alarms;
};

struct host_process_conf {
	const char *name;    /* of the program, and of the cluster */
	const char *backend; /* "verbs", "tcp", "shm" */
	char **address;	     /* of the hosts, from 1 */
	int hosts;
	uint16_t self, port; /* the port of host n is port + n */
	uint64_t generation;
	uint64_t *words; /* REGION_WORDS_BYTES: the first values */
	int64_t deadline_ns;
	uint32_t prefix;
};

/*
 * PROGRAM BACKEND NUMBER GENERATION ADDRESS-1 ADDRESS-2 ...: into backend, self, generation,
 * address, hosts. false: wrong, and the usage was printed.
 */
bool host_process_args(struct host_process_conf *c, int argc, char **argv);

/* 0 or -errno, and a sentence on stderr. Close it also after an error. */
int host_process_open(struct host_process *p, const struct host_process_conf *c);
void host_process_close(struct host_process *p);

/* Take what the transport has. Then run the protocols that are due. */
void host_process_turn(struct host_process *p);
/* Until an event, or the next due time; 10 ms at most. */
void host_process_sleep(struct host_process *p);
struct mono host_process_now(struct host_process *p);

/* Signals so far: SIGTERMs; a SIGUSR1 since the last call. */
int host_process_stops(void);
bool host_process_is_asked(void);
bool host_process_is_quiet(void);

#endif
