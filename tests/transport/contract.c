// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * contract: check a backend against the promises of src/transport/transport.h.
 *
 *	contract shm|tcp|verbs [ADDRESS-A ADDRESS-B [PORT]]
 *	contract serve ADDRESS-B PORT
 *
 * Hosts with odd numbers serve at B, the others at A. Without addresses: shm uses a new directory
 * for each test, tcp 127.0.0.1 and 127.0.0.2; verbs needs the addresses of RDMA devices. Free ports
 * are found. With PORT the hosts at B are on the machine where the second form runs (far.h).
 * RESEX_TEST=PATTERN runs the tests whose name matches. RESEX_PATIENCE is the number of seconds to
 * wait for an event that must come (30; more on emulated machines).
 *
 * The tests are written from the header alone. All differences between backends are in the table
 * below.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/transport/far.h"
#include "tests/transport/suite.h"

/* clang-format off */
static const struct traits traits[] = {
	{ .name = "shm",   .address = { NULL, NULL },
	  .one_sided = true,  .ip = false, .numbered = false, .stream = false },
	{ .name = "tcp",   .address = { "127.0.0.1", "127.0.0.2" },
	  .one_sided = false, .ip = true,  .numbered = true,  .stream = true },
	{ .name = "verbs", .address = { NULL, NULL },
	  .one_sided = true,  .ip = true,  .numbered = true,  .stream = false },
};
/* clang-format on */

enum { TRAITS = sizeof(traits) / sizeof(traits[0]), TESTS_MAX = 128 };

static int setup(void **state)
{
	struct suite *s = *state;
	const char *a = s->address[0], *b = s->address[1];

	alarm(600); /* ends the test also when a call never returns */
	if (!a) {
		snprintf(s->dir, sizeof(s->dir), "/tmp/resex-contract-XXXXXX");
		assert_non_null(mkdtemp(s->dir));
		a = b = s->dir;
	}
	rig_init(&s->rig, s->is, a, b);
	rig_ports(&s->rig, s->far_port ? 1 : 2);
	if (s->far_port)
		far_begin(&s->rig, s->far_port);
	procs_init(&s->procs, &s->rig);
	return 0;
}

static int drop(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	struct suite *s = *state;

	procs_fini(&s->procs);
	s->rig.watch = NULL;
	rig_fini(&s->rig);
	far_end(&s->rig);
	if (!s->address[0])
		nftw(s->dir, drop, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}

static bool applies(const struct traits *is, enum only only)
{
	switch (only) {
	case ALL:
		return true;
	case ONE_SIDED:
		return is->one_sided;
	case TWO_SIDED:
		return !is->one_sided;
	case IP:
		return is->ip;
	case NUMBERED:
		return is->numbered;
	case STREAM:
		return is->stream;
	}
	return false;
}

static size_t collect(struct suite *s, struct CMUnitTest *test)
{
	const struct entry *const all[] = { open_tests,	 link_tests,  ops_tests,    send_tests,
					    fail_tests,	 trust_tests, client_tests, many_tests,
					    sleep_tests, stats_tests, part_tests };
	size_t n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct entry *e = all[i]; e->name; e++)
			if (applies(s->is, e->only) && n < TESTS_MAX)
				test[n++] = (struct CMUnitTest){ e->name, e->fn, setup, teardown,
								 s };
	return n;
}

static int usage(void)
{
	fprintf(stderr, "usage: contract shm|tcp|verbs [ADDRESS-A ADDRESS-B [PORT]]\n"
			"       contract serve ADDRESS-B PORT\n");
	return 2;
}

int main(int argc, char **argv)
{
	static struct suite s;
	static struct CMUnitTest test[TESTS_MAX];
	int rc;

	if (argc > 1 && !strcmp(argv[1], "--child"))
		return proc_main(argc, argv, traits, TRAITS);
	if (argc == 4 && !strcmp(argv[1], "serve"))
		return far_serve(argv[2], (uint16_t)atoi(argv[3]), traits, TRAITS);
	if (argc != 2 && argc != 4 && argc != 5)
		return usage();
	for (size_t i = 0; i < TRAITS; i++)
		if (!strcmp(traits[i].name, argv[1]))
			s.is = &traits[i];
	if (!s.is || (argc == 2 && !s.is->address[0] && s.is->ip) || (argc == 5 && !s.is->ip))
		return usage();
	if (!transport_find(argv[1])) {
		fprintf(stderr, "contract: %s is not built in: skipped\n", argv[1]);
		return 77;
	}
	for (int i = 0; i < 2; i++)
		s.address[i] = argc > 2 ? argv[2 + i] : s.is->address[i];
	s.far_port = argc == 5 ? (uint16_t)atoi(argv[4]) : 0;
	if (getenv("RESEX_TEST"))
		cmocka_set_test_filter(getenv("RESEX_TEST"));
	rc = _cmocka_run_group_tests(argv[1], test, collect(&s, test), NULL, NULL);
	if (s.far_port && !far_used() && !rc && !getenv("RESEX_TEST"))
		rc = 1;
	return rc;
}
