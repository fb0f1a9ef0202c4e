/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * utf8: text from outside, for JSON and for terminals. Names of guests, hosts and files are
 * cleaned where they leave a program: the control protocol's answers, tables and messages.
 */
#ifndef RESEX_UTIL_UTF8_H
#define RESEX_UTIL_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Is s valid UTF-8? */
bool utf8_good(const char *s);

/* Drop bytes that are not part of a character, such as one that a %.64s cut in two. */
void utf8_mend(char *s);

/*
 * Replace by '?' control characters (C0, DEL, C1), which a terminal would execute,
 * and characters that change the direction of text or end a line.
 */
void utf8_tame(char *s);

/* Copy s with invalid bytes and control characters as \xNN; cut when it does not fit. */
void utf8_escape(const char *s, char *out, size_t size);

#endif
