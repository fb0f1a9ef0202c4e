/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unit: what a unit test is written with: cmocka, and tests that list themselves.
 *
 *	TEST(charge__balance_exhausted__goes_to_overdraft)
 *	{
 *		...
 *	}
 *
 * main() is in unit.c. It runs all tests of the program in the order of the file, or
 * with an argument those whose names match it (wildcards * and ?).
 */
#ifndef RESEX_TESTS_UNIT_H
#define RESEX_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Append a test to the program's list. Called before main(). */
void unit_add(const char *name, CMUnitTestFunction run, CMFixtureFunction setup,
	      CMFixtureFunction teardown);

/* The same for a row of a table: run() finds it at *state. */
void unit_add_row(const char *name, CMUnitTestFunction run, const void *row);

/* A test between two fixture functions, which pass it *state. */
#define TEST_WITH(name, setup, teardown)                                                           \
	static void name(void **state);                                                            \
	static __attribute__((constructor)) void unit_add_##name(void)                             \
	{                                                                                          \
		unit_add(#name, name, setup, teardown);                                            \
	}                                                                                          \
	static void name(__attribute__((unused)) void **state)

/* A test without a fixture. */
#define TEST(name) TEST_WITH(name, NULL, NULL)

/* A test between setup() and teardown() of its file or rig. */
#define RIG_TEST(name) TEST_WITH(name, setup, teardown)

/* Each row of a table is a test with the row's name: run(state) finds the row at *state. */
#define TEST_ROWS(rows, run)                                                                       \
	static __attribute__((constructor)) void unit_add_##rows(void)                             \
	{                                                                                          \
		for (size_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++)                      \
			unit_add_row((rows)[i].name, run, &(rows)[i]);                             \
	}

/* For a program that needs something before its first test: main() calls it. */
__attribute__((weak)) void unit_begin(void);

#endif
