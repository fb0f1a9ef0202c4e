/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * suite: what the files of tests (t_*.c) share, and how contract.c finds the tests.
 *
 * Each file ends with its list of tests. A test gets a new rig without hosts; the backend is
 * rig->is.
 */
#ifndef RESEX_TESTS_TRANSPORT_SUITE_H
#define RESEX_TESTS_TRANSPORT_SUITE_H

#include "tests/transport/proc.h"
#include "tests/unit/prop.h"

struct suite {
	struct rig rig;
	struct procs procs;
	struct transport_event ev[64]; /* for tests that poll by themselves */
	const struct traits *is;
	const char *address[2]; /* NULL: a new directory for each test */
	uint16_t far_port;	/* of far_serve at the second of them; 0: all hosts are here */
	char dir[64];
};

enum only { ALL, ONE_SIDED, TWO_SIDED, IP, NUMBERED, STREAM };

struct entry {
	const char *name;
	void (*fn)(void **state);
	enum only only;
};

/* clang-format off */
#define ENTRY(fn, only) { #fn, fn, only }
/* clang-format on */

extern const struct entry open_tests[], link_tests[], ops_tests[], send_tests[], fail_tests[],
	trust_tests[], client_tests[], many_tests[], sleep_tests[], stats_tests[], part_tests[];

#endif
