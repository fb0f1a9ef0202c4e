// SPDX-License-Identifier: GPL-2.0-or-later
/* clock: the simulated one goes where its user moves it; the real one goes on, and never back. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>

#include "src/util/clock.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

/* A time for which the machine slept. */
#define SLEPT_S	 36000
#define SLEPT	 "boottime 36000 0\n"
#define SLEPT_NS (SLEPT_S * NS_PER_S)

TEST(sim__starts_where_it_is_told_and_stands_still)
{
	struct clock c;

	clock_sim(&c, (struct mono){ 1234 });
	assert_int_equal(c.now(&c).ns, 1234);
	assert_int_equal(c.now(&c).ns, 1234);
}

TEST(sim__sleeping__advances_to_the_time_slept_until)
{
	struct clock c;

	clock_sim(&c, (struct mono){ 1000 });
	assert_int_equal(c.sleep_until(&c, (struct mono){ 5000 }), 0);
	assert_int_equal(c.now(&c).ns, 5000);
}

TEST(sim__sleeping_until_the_past__does_not_go_back)
{
	struct clock c;

	clock_sim(&c, (struct mono){ 1000 });
	assert_int_equal(c.sleep_until(&c, (struct mono){ 999 }), 0);
	assert_int_equal(c.now(&c).ns, 1000);
}

TEST(sim__two_clocks__are_independent)
{
	struct clock a, b;

	clock_sim(&a, (struct mono){ 1 });
	clock_sim(&b, (struct mono){ 2 });
	a.sleep_until(&a, (struct mono){ 100 });
	assert_int_equal(b.now(&b).ns, 2);
}

TEST(real__never_goes_back)
{
	struct clock c;
	struct mono last;

	clock_real(&c);
	last = c.now(&c);
	assert_true(last.ns >= 0);
	for (int i = 0; i < 1000; i++) {
		struct mono now = c.now(&c);

		assert_true(now.ns >= last.ns);
		last = now;
	}
}

TEST(real__sleeping__ends_at_or_after_the_time)
{
	struct clock c;
	struct mono t;

	clock_real(&c);
	t = mono_add(c.now(&c), 2 * NS_PER_MS);
	assert_int_equal(c.sleep_until(&c, t), 0);
	assert_true(c.now(&c).ns >= t.ns);
}

TEST(real__sleeping_until_the_past__returns)
{
	struct clock c;

	clock_real(&c);
	assert_int_equal(c.sleep_until(&c, (struct mono){ 0 }), 0);
	assert_int_equal(c.sleep_until(&c, c.now(&c)), 0);
}

/* What a suspend does to the kernel's clocks, in a time namespace; -EPERM where none can be had. */
static int sleep_as_machine(void)
{
	int fd, rc = unshare(CLONE_NEWTIME) ? -errno : 0;

	if (rc)
		return rc;
	fd = open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = write(fd, SLEPT, strlen(SLEPT)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

/* In the namespace: NULL, or what is wrong. */
static const char *after_sleep(struct mono before)
{
	struct clock c;
	struct mono now, until;

	clock_real(&c);
	now = c.now(&c);
	if (mono_sub(now, before) < SLEPT_NS)
		return "the clock stood still";
	if (now.ns - clock_monotonic_ns() < SLEPT_NS - NS_PER_S)
		return "CLOCK_MONOTONIC went on";
	/* A sleep due during the suspend ends at once; the next is not hours away. */
	if (c.sleep_until(&c, mono_add(before, NS_PER_S)))
		return "a sleep that was over failed";
	until = mono_add(now, 2 * NS_PER_MS);
	if (c.sleep_until(&c, until) || mono_sub(c.now(&c), until) < 0)
		return "a sleep ended before its time";
	return NULL;
}

/* Only children are in the namespace. 0, 1: something is wrong; 77: there is no namespace. */
static int in_its_child(struct mono before)
{
	const char *wrong;
	int status;
	pid_t pid;

	if (sleep_as_machine())
		return 77;
	pid = fork();
	if (pid)
		return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
									    : 1;
	alarm(30); /* else it sleeps for hours */
	wrong = after_sleep(before);
	if (wrong)
		print_error("%s\n", wrong);
	_exit(wrong != NULL);
}

TEST(real__machine_slept_for_hours__has_counted_them)
{
	struct mono before;
	struct clock c;
	int status;
	pid_t pid;

	clock_real(&c);
	before = c.now(&c);
	pid = fork();
	if (pid == 0)
		_exit(in_its_child(before));
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip(); /* not root, or an old kernel */
	assert_int_equal(WEXITSTATUS(status), 0);
}
