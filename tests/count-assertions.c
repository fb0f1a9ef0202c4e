/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * count-assertions: loaded before libcmocka (LD_PRELOAD), counts the tests that a program runs
 * and the assertions that they execute, also those of its child processes, and appends
 * "PROGRAM TESTS ASSERTIONS" to the file COUNT_ASSERTIONS. See count-assertions.sh.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct counts {
	uint64_t tests, assertions;
};

static struct counts *counts; /* shared with the children */

static void *next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		abort();
	return found;
}

__attribute__((constructor)) static void open_counts(void)
{
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (counts == MAP_FAILED)
		abort();
}

static void write_counts(void)
{
	const char *file = getenv("COUNT_ASSERTIONS");
	int fd = file ? open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;

	if (fd < 0)
		abort();
	dprintf(fd, "%s %ju %ju\n", program_invocation_short_name, (uintmax_t)counts->tests,
		(uintmax_t)counts->assertions);
	close(fd);
}

int _cmocka_run_group_tests(const char *name, const void *tests, size_t n, void *setup,
			    void *teardown);

int _cmocka_run_group_tests(const char *name, const void *tests, size_t n, void *setup,
			    void *teardown)
{
	int (*real)(const char *, const void *, size_t, void *,
		    void *) = next("_cmocka_run_group_tests");
	int failed;

	__atomic_add_fetch(&counts->tests, n, __ATOMIC_RELAXED);
	failed = real(name, tests, n, setup, teardown);
	write_counts();
	return failed;
}

/* All arguments of cmocka's assertions are integers or pointers, at most six. */
typedef uintmax_t word;

#define COUNTED(name)                                                                              \
	void name(word a, word b, word c, word d, word e, word f);                                 \
	void name(word a, word b, word c, word d, word e, word f)                                  \
	{                                                                                          \
		static void (*real)(word, word, word, word, word, word);                           \
                                                                                                   \
		if (!real)                                                                         \
			real = next(#name);                                                        \
		__atomic_add_fetch(&counts->assertions, 1, __ATOMIC_RELAXED);                      \
		real(a, b, c, d, e, f);                                                            \
	}

COUNTED(_assert_true)
COUNTED(_assert_return_code)
COUNTED(_assert_int_equal)
COUNTED(_assert_int_not_equal)
COUNTED(_assert_string_equal)
COUNTED(_assert_string_not_equal)
COUNTED(_assert_memory_equal)
COUNTED(_assert_memory_not_equal)
COUNTED(_assert_in_range)
COUNTED(_assert_not_in_range)
COUNTED(_assert_in_set)
COUNTED(_assert_not_in_set)
