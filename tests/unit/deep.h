/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deep: how much a test of many seeds does: few in each check, all with RESEX_DEEP=1. */
#ifndef RESEX_TESTS_DEEP_H
#define RESEX_TESTS_DEEP_H

#include <stdint.h>
#include <stdlib.h>

static inline uint32_t deep(uint32_t few, uint32_t all)
{
	const char *given = getenv("RESEX_DEEP");

	return given && given[0] ? all : few;
}

#endif
