/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uuid: the usual text of a UUID, both ways. */
#ifndef RESEX_UTIL_UUID_H
#define RESEX_UTIL_UUID_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

static inline void uuid_format(const uint8_t u[16], char out[37])
{
	snprintf(out, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
}

static inline int uuid_nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* 0, or -EINVAL and u is spoilt. */
static inline int uuid_parse(const char *s, uint8_t u[16])
{
	for (int i = 0; i < 16; i++) {
		int hi, lo;

		if ((i == 4 || i == 6 || i == 8 || i == 10) && *s++ != '-')
			return -EINVAL;
		hi = uuid_nibble(s[0]);
		lo = hi < 0 ? -1 : uuid_nibble(s[1]);
		if (lo < 0)
			return -EINVAL;
		u[i] = (uint8_t)(hi << 4 | lo);
		s += 2;
	}
	return *s ? -EINVAL : 0;
}

#endif
