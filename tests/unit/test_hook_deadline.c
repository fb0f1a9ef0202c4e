// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hook_exec: programs that do not end: they are killed at the deadline, which passes when the test
 * says so, and by close().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "tests/unit/hook_rig.h"

RIG_TEST(want__one_runs__is_busy)
{
	struct rig *r = *state;

	begin(r, ": >$d/ready; while [ ! -e $d/go ]; do sleep 0.01; done");
	assert_int_equal(want(r, "n2"), -EBUSY);
	tmp_write(&r->d, "go", "");
	assert_int_equal(ended(r).state, HOOK_DONE);
	assert_int_equal(want(r, "n2"), 0);
	assert_int_equal(ended(r).state, HOOK_DONE);
}

RIG_TEST(deadline__program_hangs__is_ended_by_sigterm)
{
	struct rig *r = *state;
	struct hook_seen s;

	begin(r, "echo waits; trap 'echo told; exit 0' TERM; : >$d/ready\n"
		 "while :; do sleep 0.01; done");
	pass(r, DEADLINE_NS - 1);
	assert_true(poll_hook(r) <= NS_PER_MS);
	assert_int_equal(seen(r).state, HOOK_RUNS);
	pass(r, 1);
	poll_hook(r);
	s = ended(r);
	assert_failed(&s, "did not end within 5000 ms, and was killed: \"waits");
	assert_says(&s, "told\": make it faster, or raise its deadline");
}

RIG_TEST(deadline__program_ignores_sigterm__is_ended_by_sigkill)
{
	struct rig *r = *state;
	struct hook_seen s;

	begin(r, "trap 'echo told' TERM; : >$d/ready; while :; do sleep 0.01; done");
	pass(r, DEADLINE_NS);
	poll_hook(r);
	pass(r, 2 * NS_PER_S - 1);
	for (int i = 0; i < 50; i++, nap())
		poll_hook(r);
	assert_int_equal(seen(r).state, HOOK_RUNS);
	pass(r, 1);
	s = ended(r);
	assert_failed(&s, "told\": make it faster");
}

RIG_TEST(deadline__program_is_stopped__is_ended_all_the_same)
{
	struct rig *r = *state;
	struct hook_seen s;

	begin(r, ": >$d/ready; kill -STOP $$");
	pass(r, DEADLINE_NS);
	poll_hook(r);
	pass(r, 2 * NS_PER_S);
	s = ended(r);
	assert_failed(&s, "and was killed");
}

/* The shell ends by SIGTERM, and its child does not. */
RIG_TEST(deadline__program_has_children__they_end_too)
{
	struct rig *r = *state;
	pid_t child;

	begin(r, "(trap '' TERM; exec sleep 1000) & echo $! >$d/child; sleep 0.05; : >$d/ready\n"
		 "wait");
	child = pid_in(r, "child");
	assert_true(lives(child));
	pass(r, DEADLINE_NS);
	assert_int_equal(ended(r).state, HOOK_FAILED);
	await_death(child);
}

RIG_TEST(deadline__a_child_left_the_group__it_stays)
{
	struct rig *r = *state;
	pid_t child;

	begin(r, "setsid sh -c 'echo $$ >$0/child; : >$0/ready; exec sleep 1000' $d; wait");
	child = pid_in(r, "child");
	pass(r, DEADLINE_NS);
	poll_hook(r);
	pass(r, 2 * NS_PER_S);
	assert_int_equal(ended(r).state, HOOK_FAILED);
	assert_true(lives(child));
	kill(child, SIGKILL);
	await_death(child);
}

RIG_TEST(deadline__flood_without_end__is_killed)
{
	struct rig *r = *state;
	struct hook_seen s;

	begin(r, "yes | { head -c 1000; : >$d/ready; cat; }");
	pass(r, DEADLINE_NS);
	s = ended(r);
	assert_failed(&s, "was killed: \"y y");
}

RIG_TEST(deadline__program_ended_before_it_was_looked_at__is_done)
{
	struct rig *r = *state;

	make_hook(r, "echo $$ >$d/pid; : >$d/ready");
	assert_int_equal(want(r, "n1"), 0);
	await_file(r, "ready");
	await_death(pid_in(r, "pid"));
	pass(r, 2 * DEADLINE_NS);
	assert_int_equal(ended(r).state, HOOK_DONE);
}

RIG_TEST(close__program_runs__is_killed_with_its_children)
{
	struct rig *r = *state;
	pid_t child, pid;

	begin(r, "trap '' TERM; echo $$ >$d/pid; sleep 1000 & echo $! >$d/child; : >$d/ready\n"
		 "while :; do sleep 0.01; done");
	child = pid_in(r, "child");
	pid = pid_in(r, "pid");
	hook_exec.close(r->h);
	r->h = NULL;
	await_death(child);
	/* Not even a zombie is left. */
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

RIG_TEST(close__program_ended__leaves_no_zombie)
{
	struct rig *r = *state;
	pid_t pid;

	make_hook(r, "echo $$ >$d/pid; : >$d/ready");
	assert_int_equal(want(r, "n1"), 0);
	await_file(r, "ready");
	pid = pid_in(r, "pid");
	await_death(pid);
	hook_exec.close(r->h);
	r->h = NULL;
	assert_int_equal(kill(pid, 0), -1);
}

/*
 * This program as a hook: a child outside of its group traces it, so that after SIGKILL its end is
 * not seen, as if it waited for a device. NODE is a file for the child's process id.
 */
static __attribute__((constructor)) void hang_traced(int argc, char **argv)
{
	pid_t parent = getpid();
	FILE *f;

	if (argc != 5 || strcmp(argv[1], "switch") != 0)
		return;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	if (fork() > 0)
		for (;;)
			pause();
	setsid();
	f = ptrace(PTRACE_SEIZE, parent, NULL, NULL) ? NULL : fopen(argv[2], "w");
	if (!f)
		_exit(1);
	fprintf(f, "%d", (int)getpid());
	fclose(f);
	rename(argv[2], argv[4]);
	for (;;)
		pause();
}

static void copy_self(struct rig *r)
{
	FILE *from = fopen("/proc/self/exe", "r"), *to = fopen(at(r, "hook"), "w");
	char data[4096];
	size_t n;

	assert_non_null(from);
	assert_non_null(to);
	while ((n = fread(data, 1, sizeof(data), from)) > 0)
		assert_int_equal(fwrite(data, 1, n, to), n);
	fclose(from);
	assert_int_equal(fclose(to), 0);
	assert_int_equal(chmod(at(r, "hook"), 0755), 0);
}

RIG_TEST(deadline__not_even_sigkill_ends_it__fails_and_stays_busy)
{
	struct rig *r = *state;
	char part[160], whole[160];
	const struct hook_want w = { "switch", part, "-", whole };
	struct hook_seen s;
	pid_t tracer;

	copy_self(r);
	strcpy(part, at(r, "part"));
	strcpy(whole, at(r, "whole"));
	open_hook(r, at(r, "hook"));
	assert_int_equal(hook_exec.want(r->h, &w, r->now), 0);
	await_file(r, "whole");
	tracer = pid_in(r, "whole");
	pass(r, DEADLINE_NS);
	poll_hook(r);
	pass(r, 2 * NS_PER_S);
	poll_hook(r);
	pass(r, NS_PER_S - 1);
	poll_hook(r);
	assert_int_equal(seen(r).state, HOOK_RUNS);
	pass(r, 1);
	assert_true(poll_hook(r) < INT64_MAX);
	s = seen(r);
	assert_failed(&s, "did not end within 5000 ms: not even SIGKILL ends it");
	assert_int_equal(hook_exec.want(r->h, &w, r->now), -EBUSY);
	kill(tracer, SIGKILL);
	for (int i = 0; poll_hook(r) != INT64_MAX; i++, nap())
		assert_true(i < WAIT_MS);
	s = seen(r);
	assert_failed(&s, "and was killed");
}
