/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard_priv: what guard.c, the calls, and guard_open.c, what allocates, share. See guard.h. */
#ifndef RESEX_UTIL_GUARD_PRIV_H
#define RESEX_UTIL_GUARD_PRIV_H

#include <setjmp.h>
#include <signal.h>
#include <time.h>

#include "src/util/guard.h"

struct guard {
	sigjmp_buf back;
	volatile sig_atomic_t active; /* a call is under way */
	struct guard_limits limits;
	timer_t timer;
	volatile int64_t began_ns; /* CPU time of the thread when the call began */
	volatile int64_t looks;	   /* of the timer, at this call */
	volatile struct guard_result left;
	void *stack;	     /* of the signals */
	stack_t former;	     /* what they used before */
	sigset_t unblocked;  /* what this guard unblocked, to be blocked again */
	struct guard *outer; /* the guard of this thread before this one */
};

/*
 * The guard of this thread. A signal's handler gets no argument from its thread: this is its only
 * way to it.
 */
extern __thread struct guard *guard_here;

enum { GUARD_FAULTS = 5 };
extern const int guard_faults[GUARD_FAULTS];
/* Actions of signals are the process's: those of before there was a guard. By guard_open(). */
extern struct sigaction guard_former[GUARD_FAULTS];

/* The handler of faults and of the timer. */
void guard_on_signal(int signo, siginfo_t *si, void *context);

#endif
