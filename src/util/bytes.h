/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bytes: numbers in messages, little-endian, at any alignment. The size is 1 to 8
 * bytes; higher bytes of the number are cut off, and read as 0.
 */
#ifndef RESEX_UTIL_BYTES_H
#define RESEX_UTIL_BYTES_H

#include <stddef.h>
#include <stdint.h>

static inline void bytes_put_le(uint8_t *at, uint64_t v, size_t size)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(v >> (8 * i));
}

static inline uint64_t bytes_get_le(const uint8_t *at, size_t size)
{
	uint64_t v = 0;

	for (size_t i = 0; i < size; i++)
		v |= (uint64_t)at[i] << (8 * i);
	return v;
}

#endif
