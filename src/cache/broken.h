/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * broken: a build that breaks one rule of cache.h on purpose, for tests of tests.
 *
 * IS_BROKEN(RULE) is false. Compiled with -DBROKEN_RULE it is true at each place of that rule: in
 * src/cache, and where a test plays the owner or the database (tests/cache). tests/cache/broken.sh
 * builds each, and the virtual-time test must find what goes wrong. No product is built so.
 */
#ifndef RESEX_CACHE_BROKEN_H
#define RESEX_CACHE_BROKEN_H

/* -DBROKEN_RULE defines BROKEN_RULE as 1; BROKEN_IF_1 then makes true the second argument. */
#define BROKEN_IF_1		      0, true
#define BROKEN_SECOND(a, b, ...)      b
#define BROKEN_CHOOSE(defined_to_one) BROKEN_SECOND(defined_to_one, false, 0)
#define BROKEN_PASTE(value)	      BROKEN_CHOOSE(BROKEN_IF_##value)
#define BROKEN_VALUE(value)	      BROKEN_PASTE(value)
#define IS_BROKEN(RULE)		      BROKEN_VALUE(BROKEN_##RULE)

#endif
