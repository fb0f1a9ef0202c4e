/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guard: call a function of others, and come back from it when it crashes or does not return.
 *
 * The call runs on the caller's thread. A fault (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) within
 * it, and a timer of the guard, jump back to the caller. That is sound for functions that hold
 * nothing which others wait for: no lock, no half-written heap. So the function must not call
 * libc, but for functions such as memcpy(); plugin_elf.c refuses plug-ins that do. What
 * the function wrote before it was left is as it is.
 *
 * Faults outside of a guarded call do what they did before: their former action is put back, and
 * the instruction is run again.
 */
#ifndef RESEX_UTIL_GUARD_H
#define RESEX_UTIL_GUARD_H

#include <stdint.h>

struct guard;

/* A call is left when it has used so much CPU time, or when so much time has passed. */
struct guard_limits {
	int64_t cpu_ns;	 /* looked at as often */
	int64_t wall_ns; /* a whole number of cpu_ns: for a function that waits */
};

enum guard_how {
	GUARD_RETURNED,
	GUARD_FAULT,   /* signal, address */
	GUARD_TIME,    /* a limit was reached */
	GUARD_MISSING, /* there is no guard: the function was not called */
};

struct guard_result {
	enum guard_how how;
	int signal;
	uint64_t address; /* of the access; for SIGFPE, SIGILL and SIGABRT of the instruction */
	int64_t cpu_ns;	  /* CPU time of the call */
};

/*
 * A guard for calls on this thread alone. The thread then takes the signals named above and
 * SIGRTMIN + 5, on a stack of their own. A second guard of a thread is used, and closed, before the
 * first is again. 0 or -errno.
 */
int guard_open(struct guard **g, const struct guard_limits *l);
/* On the same thread. NULL is fine. */
void guard_close(struct guard *g);

/* Call fn(arg). g NULL: GUARD_MISSING. */
void guard_call(struct guard *g, void (*fn)(void *), void *arg, struct guard_result *r);

#endif
