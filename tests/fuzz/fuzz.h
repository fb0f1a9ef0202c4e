/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz: what the libFuzzer targets share. A target feeds hostile bytes to one
 * parser and demands what its header promises; sanitizers watch the rest.
 */
#ifndef RESEX_TESTS_FUZZ_H
#define RESEX_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_REQUIRE(cond)                                                                         \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The input, taken piece by piece; zeros when it is used up. */
struct bytes {
	const uint8_t *at;
	size_t left;
};

static inline void take(struct bytes *b, void *dst, size_t n)
{
	size_t have = b->left < n ? b->left : n;

	memset(dst, 0, n);
	if (have)
		memcpy(dst, b->at, have);
	b->at += have;
	b->left -= have;
}

static inline uint8_t take8(struct bytes *b)
{
	uint8_t v;

	take(b, &v, sizeof(v));
	return v;
}

static inline uint16_t take16(struct bytes *b)
{
	uint16_t v;

	take(b, &v, sizeof(v));
	return v;
}

static inline uint32_t take32(struct bytes *b)
{
	uint32_t v;

	take(b, &v, sizeof(v));
	return v;
}

static inline uint64_t take64(struct bytes *b)
{
	uint64_t v;

	take(b, &v, sizeof(v));
	return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
