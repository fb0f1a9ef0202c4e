// SPDX-License-Identifier: GPL-2.0-or-later
/* guard: the guarded call, and the handler that leaves it. See guard.h. */
#include "src/util/guard_priv.h"

#include <string.h>

#include "src/util/clock.h"

enum { ROOM = 65536 }; /* bytes of stack that a function may overwrite beyond its own frames */

__thread struct guard *guard_here;
const int guard_faults[GUARD_FAULTS] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
struct sigaction guard_former[GUARD_FAULTS];

/*
 * Jump back into guard_call(), which returns what is in g->left. The caller has cleared g->active
 * before: the address sanitizer takes a lock in siglongjmp(), and the next timer must not come
 * into it.
 */
static void leave(struct guard *g, enum guard_how how, int signo, const siginfo_t *si)
{
	g->left.how = how;
	g->left.signal = signo;
	g->left.address = (uint64_t)(uintptr_t)si->si_addr;
	siglongjmp(g->back, 1);
}

static bool time_is_over(struct guard *g)
{
	g->looks = g->looks + 1;
	return clock_thread_ns() - g->began_ns >= g->limits.cpu_ns ||
	       g->looks * g->limits.cpu_ns >= g->limits.wall_ns;
}

/* GUARD_FAULTS: it is none. */
static int index_of(int signo)
{
	int i = 0;

	while (i < GUARD_FAULTS && guard_faults[i] != signo)
		i++;
	return i;
}

/*
 * Only a fault of the thread's own code, or abort(), ends a call: a signal that another process
 * sent says nothing about the function.
 */
void guard_on_signal(int signo, siginfo_t *si, void *context)
{
	struct guard *g = guard_here;
	const bool own = si->si_code > 0 || signo == SIGABRT;
	const int i = index_of(signo);

	(void)context;
	if (i == GUARD_FAULTS) {
		if (g && g->active && si->si_code == SI_TIMER && time_is_over(g)) {
			g->active = 0;
			leave(g, GUARD_TIME, 0, &(siginfo_t){ 0 });
		}
		return;
	}
	if (g && g->active && own) {
		g->active = 0;
		leave(g, GUARD_FAULT, signo, si);
	}
	(void)sigaction(signo, &guard_former[i], NULL);
	if (si->si_code <= 0) /* no instruction is run again */
		raise(signo);
}

/*
 * An array that runs over upwards meets this room, and not the frames of the callers. The
 * compiler must take the whole of it for used: clang keeps only the bytes of an array that are.
 */
static __attribute__((noinline)) void call_with_room(void (*fn)(void *), void *arg)
{
	char room[ROOM];

	__asm__ volatile("" : : "r"(room) : "memory");
	fn(arg);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static void set_timer(struct guard *g, int64_t ns)
{
	const struct timespec t = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
	const struct itimerspec it = { .it_interval = t, .it_value = t };

	/* Fails for no value of guard_limits. */
	(void)timer_settime(g->timer, 0, &it, NULL);
}

void guard_call(struct guard *g, void (*fn)(void *), void *arg, struct guard_result *r)
{
	*r = (struct guard_result){ .how = GUARD_MISSING };
	if (!g)
		return;
	g->left.how = GUARD_RETURNED;
	g->left.signal = 0;
	g->left.address = 0;
	g->looks = 0;
	g->began_ns = clock_thread_ns();
	set_timer(g, g->limits.cpu_ns);
	/*
	 * The mask of signals is not saved, which costs a call: the handler runs with the same
	 * mask.
	 */
	if (!sigsetjmp(g->back, 0)) {
		g->active = 1;
		call_with_room(fn, arg);
		g->active = 0;
	}
	set_timer(g, 0);
	r->how = g->left.how;
	r->signal = g->left.signal;
	r->address = g->left.address;
	r->cpu_ns = clock_thread_ns() - g->began_ns;
}
