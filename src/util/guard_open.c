// SPDX-License-Identifier: GPL-2.0-or-later
/* guard_open: guards made and freed; the actions of signals. See guard.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/util/guard_priv.h"

enum { STACK_SIZE = 65536, TIMER_SIGNAL = 5 /* of the real-time signals */ };

static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;

static int install_one(int signo, const struct sigaction *sa, struct sigaction *former)
{
	struct sigaction was;

	if (sigaction(signo, NULL, &was))
		return -errno;
	/* Ours already, or another part of the process has set its own since. */
	if (was.sa_flags & SA_SIGINFO && was.sa_sigaction == guard_on_signal)
		return 0;
	*former = was;
	return sigaction(signo, sa, NULL) ? -errno : 0;
}

/* Actions of signals are the process's: guards of all threads share them. */
static int install(void)
{
	/*
	 * NODEFER and an empty mask: the handler may be left by a jump, and the mask is right
	 * then.
	 */
	struct sigaction sa = { .sa_sigaction = guard_on_signal,
				.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	struct sigaction unused;
	int rc;

	sigemptyset(&sa.sa_mask);
	pthread_mutex_lock(&install_lock);
	rc = install_one(SIGRTMIN + TIMER_SIGNAL, &sa, &unused);
	for (int i = 0; !rc && i < GUARD_FAULTS; i++)
		rc = install_one(guard_faults[i], &sa, &guard_former[i]);
	pthread_mutex_unlock(&install_lock);
	return rc;
}

static int open_stack(struct guard *g)
{
	stack_t st = { .ss_size = STACK_SIZE };

	g->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (g->stack == MAP_FAILED) {
		g->stack = NULL;
		return -errno;
	}
	st.ss_sp = g->stack;
	return sigaltstack(&st, &g->former) ? -errno : 0;
}

static int open_timer(struct guard *g)
{
	struct sigevent se = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGRTMIN + TIMER_SIGNAL };

	se._sigev_un._tid = gettid();
	return timer_create(CLOCK_MONOTONIC, &se, &g->timer) ? -errno : 0;
}

/* A fault while its signal is blocked ends the process. */
static void unblock(struct guard *g)
{
	sigset_t want, before;

	sigemptyset(&want);
	sigemptyset(&g->unblocked);
	sigaddset(&want, SIGRTMIN + TIMER_SIGNAL);
	for (int i = 0; i < GUARD_FAULTS; i++)
		sigaddset(&want, guard_faults[i]);
	pthread_sigmask(SIG_UNBLOCK, &want, &before);
	sigandset(&g->unblocked, &want, &before);
}

int guard_open(struct guard **out, const struct guard_limits *l)
{
	struct guard *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return -ENOMEM;
	g->limits = *l;
	rc = install();
	if (!rc)
		rc = open_timer(g);
	if (rc)
		goto out;
	rc = open_stack(g);
	if (rc) {
		timer_delete(g->timer);
		goto out;
	}
	unblock(g);
	g->outer = guard_here;
	guard_here = g;
	*out = g;
	return 0;
out:
	if (g->stack)
		munmap(g->stack, STACK_SIZE);
	free(g);
	return rc;
}

void guard_close(struct guard *g)
{
	if (!g)
		return;
	timer_delete(g->timer);
	pthread_sigmask(SIG_BLOCK, &g->unblocked, NULL);
	guard_here = g->outer;
	sigaltstack(&g->former, NULL);
	munmap(g->stack, STACK_SIZE);
	free(g);
}
