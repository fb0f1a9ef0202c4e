/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proc: hosts in processes of their own, which tests can stop, kill and restart.
 *
 * Each is a new execution of this program, so it has none of our memory and files, and may use
 * verbs. It maps the arena with its orders and reports. It serves, sleeps only as transport.h says,
 * and begins its work at each order to go.
 */
#ifndef RESEX_TESTS_TRANSPORT_PROC_H
#define RESEX_TESTS_TRANSPORT_PROC_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

#include "tests/transport/rig.h"

enum { PROCS = 16 };

enum proc_work {
	WORK_NONE,    /* serve */
	WORK_ADD,     /* `times`: FAA64 of 1 on target's word at offset, several at once */
	WORK_RAISE,   /* `times`: add 1 by READ and CAS64, until it succeeds */
	WORK_EXCLUDE, /* `times`: lock by CAS64, check that it is alone, unlock */
	WORK_ONE,     /* post op[0 .. ops - 1] before anything else is done, at each go */
	WORK_CHAT,    /* `times`: send a message to target, in order */
};

struct orders {
	/* Set before it starts. */
	struct transport_conf conf; /* key and words: see below */
	uint8_t key[TRANSPORT_KEY_MAX];
	uint64_t first_word; /* word i begins as this + i; 0: all 0 */
	uint64_t friends;    /* bit h - 1: hosts to add */
	enum proc_work work;
	uint16_t target;
	uint32_t offset;
	uint64_t times;
	struct transport_op op[TRANSPORT_DEPTH];
	uint32_t ops;
	/* Set while it runs, each with proc_nudge. */
	_Atomic uint32_t go; /* counts up */
	_Atomic uint32_t quit;
	/* Its reports. */
	_Atomic uint32_t opened;
	_Atomic int open_rc;
	_Atomic uint32_t over; /* the newest go whose work is done */
	_Atomic uint64_t up;   /* bit h - 1: link to it is up */
	_Atomic uint64_t ups, downs, alarms, messages;
	_Atomic uint64_t outcomes[4];
	_Atomic uint64_t served;
	_Atomic uint64_t turns; /* of its loop */
	_Atomic uint32_t closed;
	_Atomic uint32_t wrong;
	char error[512];
};

enum { ORDERS_SENT = offsetof(struct orders, opened) }; /* bytes: the orders come first */

/* Memory that all processes of a machine share without a transport: it shows two at once. */
struct arena {
	_Atomic uint32_t inside;
	volatile uint64_t plain; /* written by the one process that holds the lock */
	struct orders orders[PROCS];
};

struct proc {
	struct orders *o;
	uint32_t index;
	pid_t pid; /* 0: does not run */
	int nudge; /* write end */
	bool far;  /* on the other machine (far.h) */
	int64_t pulled_ns;
};

struct procs {
	struct rig *rig;
	struct arena *arena;
	int fd;
	char address[2][TRANSPORT_ADDRESS_MAX];
	struct proc proc[PROCS];
	uint32_t n;
};

/* Once for all tests; and after each test. */
void procs_init(struct procs *ps, struct rig *r);
void procs_fini(struct procs *ps);

enum { PROC_HOSTS = 64 }; /* the hosts of these tests have bits in one word */

/* A new one with rig_conf's conf; change its orders, then start it. */
struct proc *proc_new(struct procs *ps, uint16_t number);
void proc_start(struct procs *ps, struct proc *p); /* returns when it is open */
void proc_start_rc(struct procs *ps, struct proc *p, int *rc);
void proc_go(struct proc *p);
bool proc_over(const struct proc *p);
void proc_nudge(struct proc *p);
void proc_quit(struct procs *ps, struct proc *p); /* order it to close and to end */
void proc_kill(struct proc *p);			  /* SIGKILL, and wait for its end */
void proc_freeze(struct proc *p);		  /* SIGSTOP, and wait until it is stopped */
void proc_thaw(struct proc *p);
/* How often one of them held the lock alone. */
uint64_t procs_plain(const struct procs *ps);
uint64_t bit(uint16_t number);

/* The parts of these that far_serve uses. */
void proc_spawn(struct procs *ps, struct proc *p);
void proc_signal(struct proc *p, int signal);
bool proc_ended(const struct proc *p, int *status);
int proc_reap(struct proc *p);

/* The main function of such a process. */
int proc_main(int argc, char **argv, const struct traits *table, size_t n);

#endif
