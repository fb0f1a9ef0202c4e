/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timers: do signals of a timer come into a loop? The thread sanitizer's runtime keeps signals that
 * are no fault back until the thread calls a function that it intercepts. A loop that calls none
 * never gets the signal, and a guard (src/util/guard.h) cannot leave it. The runtime also calls
 * handlers with all signals blocked, so that a thread that left one by a jump takes no second
 * fault.
 */
#ifndef RESEX_TESTS_TIMERS_H
#define RESEX_TESTS_TIMERS_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TIMERS_COME 0
#endif
#elif defined(__SANITIZE_THREAD__)
#define TIMERS_COME 0
#endif
#ifndef TIMERS_COME
#define TIMERS_COME 1
#endif

#endif
