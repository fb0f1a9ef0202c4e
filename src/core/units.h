/* SPDX-License-Identifier: GPL-2.0-or-later */
/* units: the types of resex/units.h, and arithmetic that stops at the greatest value. */
#ifndef RESEX_CORE_UNITS_H
#define RESEX_CORE_UNITS_H

#include "resex/units.h"

/* Saturating arithmetic: what does not fit is UINT64_MAX. */
static inline uint64_t sat_add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline uint64_t sat_mul(uint64_t a, uint64_t b)
{
	unsigned __int128 x = (unsigned __int128)a * b;

	return x > UINT64_MAX ? UINT64_MAX : (uint64_t)x;
}

/* a * b / c, c not 0. */
static inline uint64_t sat_muldiv(uint64_t a, uint64_t b, uint64_t c)
{
	unsigned __int128 x = (unsigned __int128)a * b / c;

	return x > UINT64_MAX ? UINT64_MAX : (uint64_t)x;
}

#endif
