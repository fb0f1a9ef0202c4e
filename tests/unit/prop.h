/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prop: what property tests share: a seeded generator whose seed is printed
 * (RESEX_SEED=N repeats a run), sizes that hurt, and cmocka's includes.
 */
#ifndef RESEX_TESTS_PROP_H
#define RESEX_TESTS_PROP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "src/core/random.h"
#include "tests/unit/unit.h"

struct prop {
	uint64_t state;
	uint64_t seed;
};

static inline uint64_t prop_u64(struct prop *p)
{
	return random_next(&p->state);
}

static inline void prop_start(struct prop *p)
{
	const char *env = getenv("RESEX_SEED");

	p->seed = env ? strtoull(env, NULL, 0)
		      : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
	p->state = p->seed;
	print_message("RESEX_SEED=%llu\n", (unsigned long long)p->seed);
}

/* lo .. hi, both included. */
static inline uint64_t prop_range(struct prop *p, uint64_t lo, uint64_t hi)
{
	uint64_t span = hi - lo + 1;

	return span ? lo + prop_u64(p) % span : prop_u64(p);
}

static inline bool prop_one_in(struct prop *p, uint64_t n)
{
	return prop_u64(p) % n == 0;
}

/* Any magnitude is as likely as any other; the ends of the range are common. */
static inline uint64_t prop_hostile(struct prop *p)
{
	switch (prop_u64(p) % 8) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX - prop_u64(p) % 3;
	case 2:
		return (uint64_t)INT64_MAX + prop_u64(p) % 3 - 1;
	default:
		return prop_u64(p) >> (prop_u64(p) % 64);
	}
}

/* Says where a property failed and how to see it again. */
#define prop_assert(p, step, cond)                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			print_error("step %llu of RESEX_SEED=%llu: ", (unsigned long long)(step),  \
				    (unsigned long long)(p)->seed);                                \
			fail_msg("%s", #cond);                                                     \
		}                                                                                  \
	} while (0)

#endif
