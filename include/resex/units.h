/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * units.h: the quantities that must not be mixed up, as types. Installed: a
 * policy sees them (resex/policy.h).
 *
 * All arithmetic on them is integer arithmetic, so that every compiler and every
 * run gives the same result to the byte.
 */
#ifndef RESEX_UNITS_H
#define RESEX_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL
#define NS_PER_S  1000000000LL

/*
 * A point in time, nanoseconds, by a clock that never goes back and counts the
 * time for which the machine was suspended (CLOCK_BOOTTIME). Never negative.
 */
struct mono {
	int64_t ns;
};

/* An amount of money: milli-Resos. One Reso is 10 us of one VCPU (paper VI-A). */
struct resos {
	int64_t m;
};

#define RESO_MILLI 1000LL
/* One milli-Reso is this many nanoseconds of CPU time. */
#define CPU_NS_PER_MILLI 10LL

/* A charging rate, fixed point with 16 fraction bits: 65536 is 1. */
struct rate {
	uint32_t q16;
};

#define RATE_ONE ((struct rate){ 65536u })

/*
 * A CPU cap in milli-percent of one physical CPU (25,000 = 25 %).
 * "No cap" is its own value, which no arithmetic on caps can reach.
 */
struct cap {
	uint32_t limited; /* 0: no cap, and mpct is 0 */
	uint32_t mpct;
};

#define CAP_NONE       ((struct cap){ 0, 0 })
#define CAP_PERCENT(p) ((struct cap){ 1, (uint32_t)(p)*1000u })

/* What bounds a guest's cap. */
struct cap_bounds {
	struct cap ceiling; /* the cap that the operator set, or CAP_NONE */
	uint32_t min_mpct;  /* lowest cap, >= 1000 (1 %) */
	uint32_t vcpus;	    /* >= 1 */
};

static inline struct mono mono_add(struct mono t, int64_t ns)
{
	return (struct mono){ t.ns + ns };
}

/* a - b in nanoseconds; positive when a is later. */
static inline int64_t mono_sub(struct mono a, struct mono b)
{
	return a.ns - b.ns;
}

static inline struct mono mono_earlier(struct mono a, struct mono b)
{
	return a.ns < b.ns ? a : b;
}

static inline bool cap_equal(struct cap a, struct cap b)
{
	return a.limited == b.limited && (!a.limited || a.mpct == b.mpct);
}

_Static_assert(sizeof(struct mono) == 8 && sizeof(struct resos) == 8, "8 bytes each");
_Static_assert(sizeof(struct rate) == 4 && sizeof(struct cap) == 8, "no padding");
_Static_assert(sizeof(struct cap_bounds) == 16, "no padding");

#endif
