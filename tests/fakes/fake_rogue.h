/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_rogue: what the policy rogue of fake_rogue.c does wrong. */
#ifndef RESEX_TESTS_FAKE_ROGUE_H
#define RESEX_TESTS_FAKE_ROGUE_H

#include <resex/policy.h>

enum rogue {
	ROGUE_BEHAVES,
	ROGUE_HANGS, /* an endless loop */
	ROGUE_READS_NULL,
	ROGUE_BEYOND_GUESTS, /* writes one byte behind the guests' blocks */
	ROGUE_BEFORE_GLOBAL, /* and before the page of the global one */
	ROGUE_BEYOND_PLAN,
	ROGUE_WRITES_PARAMS,
	ROGUE_WRITES_INPUT,
	ROGUE_DIVIDES,	/* by zero */
	ROGUE_RECURSES, /* without end */
	ROGUE_SMASHES,	/* its own stack, upwards */
	ROGUE_TRAPS,
	ROGUE_JUMPS,	 /* into no code */
	ROGUE_ODD_CAP,	 /* limited is 7 */
	ROGUE_NO_CAP_OF, /* no cap, of 5 % */
	ROGUE_LOW_RATE,
	ROGUE_ODD_REASON,
	ROGUE_RESERVED,
	ROGUE_NO_PLAN,	     /* for any guest */
	ROGUE_HUGE_CAP,	     /* far above the guest's bounds: clamped, and no fault */
	ROGUE_TINY_CAP,	     /* 0 % */
	ROGUE_BURNS,	     /* CPU time: 2 ms a call */
	ROGUE_WAITS,	     /* for ever, in the kernel */
	ROGUE_FORGETS,	     /* that its guests stand, at 30 %, and then hangs */
	ROGUE_WRITES_STATIC, /* a static variable */
	ROGUE_EXTREMES,	     /* the highest rate, figures and stands at the ends of their types */
};

/* Values of "how" at which init() misbehaves: it does not return, refuses, crashes. */
enum { ROGUE_INIT_HANGS = 98, ROGUE_INIT_REFUSES, ROGUE_INIT_CRASHES };

#endif
