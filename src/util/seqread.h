/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seqread: read memory that a guest may write at any moment.
 *
 * Guest memory is read once, through volatile, into a copy; a barrier then
 * keeps the compiler from reading it again; only the copy is validated and used.
 */
#ifndef RESEX_UTIL_SEQREAD_H
#define RESEX_UTIL_SEQREAD_H

#include <stddef.h>
#include <stdint.h>

/* Between reading guest memory and using the copy; orders loads as well. */
#define guest_copy_barrier() __atomic_thread_fence(__ATOMIC_ACQUIRE)

static inline uint32_t guest_read32(const volatile void *p)
{
	return *(const volatile uint32_t *)p;
}

static inline uint64_t guest_read64(const volatile void *p)
{
	return *(const volatile uint64_t *)p;
}

/* Copy n bytes (p and n multiples of 8) once each, then barrier. */
static inline void guest_copy(void *dst, const volatile void *p, size_t n)
{
	uint64_t *d = (uint64_t *)dst;
	const volatile uint64_t *s = (const volatile uint64_t *)p;

	for (size_t i = 0; i < n / 8; i++)
		d[i] = s[i];
	guest_copy_barrier();
}

#endif
