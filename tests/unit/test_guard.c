// SPDX-License-Identifier: GPL-2.0-or-later
/* guard: calls that crash, hang or return; what happens beside them. */
#include "src/util/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/util/clock.h"
#include "tests/unit/prop.h"
#include "tests/unit/timers.h"
#include "tests/unit/unit.h"

static const struct guard_limits limits = { .cpu_ns = 10000000, .wall_ns = 50000000 };

static void count(void *arg)
{
	++*(int *)arg;
}

static void raise_it(void *arg)
{
	raise(*(int *)arg);
}

static void crash(void *arg)
{
	*(volatile int *)arg = 1;
}

static void sleep_on(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

static void spin_on(void *arg)
{
	for (;;)
		++*(volatile int *)arg;
}

static void *nowhere(void)
{
	return (void *)(uintptr_t)0x1230;
}

static struct guard_result call(struct guard *g, void (*fn)(void *), void *arg)
{
	struct guard_result r;

	guard_call(g, fn, arg, &r);
	return r;
}

TEST(no_guard__the_function_is_not_called)
{
	int n = 0;

	assert_int_equal(call(NULL, count, &n).how, GUARD_MISSING);
	assert_int_equal(n, 0);
	guard_close(NULL);
}

/* One after the other: each leaves the guard as it was. */
TEST(returns_crashes_and_hangs__in_turn__each_is_seen)
{
	struct guard_result r;
	struct guard *g = NULL;
	int n = 0;

	if (!TIMERS_COME)
		skip();
	assert_int_equal(guard_open(&g, &limits), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(call(g, count, &n).how, GUARD_RETURNED);
		r = call(g, crash, nowhere());
		assert_int_equal(r.how, GUARD_FAULT);
		assert_int_equal(r.signal, SIGSEGV);
		assert_int_equal(r.address, 0x1230);
		r = call(g, spin_on, &n);
		assert_int_equal(r.how, GUARD_TIME);
		assert_true(r.cpu_ns >= limits.cpu_ns);
		r = call(g, sleep_on, NULL);
		assert_int_equal(r.how, GUARD_TIME);
		assert_true(r.cpu_ns < limits.cpu_ns);
		n = i + 1;
	}
	assert_int_equal(n, 3);
	guard_close(g);
}

/* abort() has no lock of its own to release. */
TEST(aborts__is_seen)
{
	int signo = SIGABRT;
	struct guard *g = NULL;

	assert_int_equal(guard_open(&g, &limits), 0);
	assert_int_equal(call(g, raise_it, &signo).signal, SIGABRT);
	guard_close(g);
}

/* As the thread of the sampler: all signals were blocked. */
static void *call_on_a_thread(void *arg)
{
	struct guard_result *r = arg;
	struct guard *g = NULL;
	sigset_t all, after;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	if (!guard_open(&g, &limits))
		r[0] = call(g, crash, nowhere());
	r[1] = call(g, spin_on, &(int){ 0 });
	guard_close(g);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	r[1].signal = sigismember(&after, SIGSEGV) && sigismember(&after, SIGRTMIN + 5);
	return NULL;
}

TEST(thread_that_blocks_all_signals__is_guarded_and_blocks_them_again)
{
	struct guard_result r[2] = { 0 };
	pthread_t t;

	if (!TIMERS_COME)
		skip();
	assert_int_equal(pthread_create(&t, NULL, call_on_a_thread, r), 0);
	pthread_join(t, NULL);
	assert_int_equal(r[0].how, GUARD_FAULT);
	assert_int_equal(r[1].how, GUARD_TIME);
	assert_true(r[1].signal);
}

TEST(second_guard_of_a_thread__the_first_works_again_after_it)
{
	struct guard *a = NULL, *b = NULL;

	if (!TIMERS_COME)
		skip();
	assert_int_equal(guard_open(&a, &limits), 0);
	assert_int_equal(guard_open(&b, &limits), 0);
	assert_int_equal(call(b, crash, nowhere()).how, GUARD_FAULT);
	guard_close(b);
	assert_int_equal(call(a, crash, nowhere()).how, GUARD_FAULT);
	assert_int_equal(call(a, spin_on, &(int){ 0 }).how, GUARD_TIME);
	guard_close(a);
}

/*
 * The signal by which a child ends that does fn(arg) with an open guard, outside of a call; 0: it
 * does not. A sanitizer has a handler of its own, and exits with 1.
 */
static int end_of(void (*fn)(void *), void *arg)
{
	struct guard *g = NULL;
	int status;
	pid_t pid = fork();

	if (!pid) {
		alarm(20);
		if (guard_open(&g, &limits))
			_exit(3);
		fn(arg);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		return SIGSEGV;
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void time_passes(void *arg)
{
	(void)arg;
	raise(SIGRTMIN + 5); /* of nobody: it ends nothing */
}

/* Within a call, but sent as another process would: it says nothing about the function. */
static void is_sent_a_signal(void *arg)
{
	struct guard *g = NULL;

	if (!guard_open(&g, &limits))
		call(g, raise_it, arg);
}

TEST(fault_outside_of_a_call__ends_the_process_as_before)
{
	int signo = SIGSEGV;

	/* The test library's handler would go on with the next test in the child. */
	signal(SIGSEGV, SIG_DFL);
	assert_int_equal(end_of(raise_it, &signo), SIGSEGV);
	assert_int_equal(end_of(is_sent_a_signal, &signo), SIGSEGV);
	assert_int_equal(end_of(crash, nowhere()), SIGSEGV);
	assert_int_equal(end_of(time_passes, NULL), 0);
}
