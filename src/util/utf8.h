/* SPDX-License-Identifier: GPL-2.0-or-later */
/* utf8: text from outside, for JSON and for terminals. */
#ifndef RESEX_UTIL_UTF8_H
#define RESEX_UTIL_UTF8_H

#include <stdbool.h>
#include <stddef.h>

bool utf8_good(const char *s);

/* Drop the bytes that are no part of a character, such as one that a %.64s cut through. */
void utf8_mend(char *s);

/*
 * Put '?' in place of control characters (C0, DEL, C1), which a terminal would obey, and
 * of those that turn the direction of text, or end a line.
 */
void utf8_tame(char *s);

/* As s, but what is no character, or a control character, as \xNN; cut when it does not fit. */
void utf8_escape(const char *s, char *out, size_t size);

#endif
