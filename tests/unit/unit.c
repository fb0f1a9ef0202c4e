// SPDX-License-Identifier: GPL-2.0-or-later
/* unit: main() of the unit tests. See unit.h. */
#include "config.h"

#include <errno.h>

#include "tests/unit/unit.h"

enum { TESTS_MAX = 256 };

static struct CMUnitTest tests[TESTS_MAX];
static size_t count;

void unit_add(const char *name, CMUnitTestFunction run, CMFixtureFunction setup,
	      CMFixtureFunction teardown)
{
	assert_true(count < TESTS_MAX);
	tests[count++] = (struct CMUnitTest){
		.name = name, .test_func = run, .setup_func = setup, .teardown_func = teardown
	};
}

void unit_add_row(const char *name, CMUnitTestFunction run, const void *row)
{
	unit_add(name, run, NULL, NULL);
	tests[count - 1].initial_state = (void *)(uintptr_t)row;
}

int main(int argc, char **argv)
{
	if (argc > 2) {
		print_error("usage: %s [PATTERN]\n", argv[0]);
		return 2;
	}
	if (unit_begin)
		unit_begin();
	if (argc == 2)
		cmocka_set_test_filter(argv[1]);
	/* The base name tells programs apart; cmocka_run_group_tests() would say "tests". */
	return _cmocka_run_group_tests(program_invocation_short_name, tests, count, NULL, NULL);
}
