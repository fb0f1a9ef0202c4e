// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * utf8: check and clean UTF-8 text byte by byte. See utf8.h.
 *
 * Names of guests, hosts and files come from outside and appear in JSON, which must be UTF-8,
 * and on terminals, which execute some characters. What is well-formed is in table 3-7 of the
 * Unicode standard; iconv and the locale are not used, since they depend on the machine.
 */
#include "src/util/utf8.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the character at s, which ends with a NUL; 0: not a character. */
static size_t char_len(const unsigned char *s)
{
	/*
	 * 0x80 .. 0xbf continue a character; 0xc0 and 0xc1 could only begin over-long ASCII; from
	 * 0xf5 on all would be beyond U+10FFFF.
	 */
	size_t n = *s < 0x80   ? 1
		   : *s < 0xc2 ? 0
		   : *s < 0xe0 ? 2
		   : *s < 0xf0 ? 3
		   : *s < 0xf5 ? 4
			       : 0;

	/* Stops at the NUL that ends s, which does not continue a character. */
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xf0 && s[1] < 0x90)) /* over-long */
		return 0;
	if ((*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf4 && s[1] > 0x8f)) /* surrogates; beyond U+10FFFF */
		return 0;
	return n;
}

bool utf8_good(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n = 1;

	while (*p && n) {
		n = char_len(p);
		p += n;
	}
	return n != 0;
}

void utf8_mend(char *s)
{
	char *to = s;

	while (*s) {
		size_t n = char_len((const unsigned char *)s);

		memmove(to, s, n);
		to += n;
		s += n ? n : 1;
	}
	*to = 0;
}

void utf8_escape(const char *s, char *out, size_t size)
{
	/* 4: the longest piece, \xNN or a character, and then the NUL has its place. */
	while (*s && size > 4) {
		size_t n = char_len((const unsigned char *)s);

		if (!n || (unsigned char)*s < 0x20 || *s == 0x7f) {
			snprintf(out, size, "\\x%02x", (unsigned char)*s);
			n = 4;
			s++;
		} else {
			memcpy(out, s, n);
			s += n;
		}
		out += n;
		size -= n;
	}
	*out = 0;
}

/*
 * Bytes of the character at s if utf8_tame replaces it, else 0. Characters that turn the
 * direction of text could make "guest-a" look like another name in a table.
 */
static size_t unsafe_len(const char *s)
{
	unsigned char c = (unsigned char)s[0], next = (unsigned char)s[1];

	if (c < 0x20 || c == 0x7f)
		return 1;
	if (c == 0xc2 && next >= 0x80 && next < 0xa0)
		return 2;
	if (c != 0xe2 || (next != 0x80 && next != 0x81))
		return 0;
	c = (unsigned char)s[2];
	if (next == 0x81) /* U+2066 .. 2069: isolates */
		return c >= 0xa6 && c <= 0xa9 ? 3 : 0;
	/* U+200E, 200F: marks; 2028, 2029: ends of lines; 202A .. 202E: direction of text */
	return c == 0x8e || c == 0x8f || (c >= 0xa8 && c <= 0xae) ? 3 : 0;
}

void utf8_tame(char *s)
{
	char *to = s;

	while (*s) {
		size_t n = unsafe_len(s);

		*to++ = n ? '?' : *s;
		s += n ? n : 1;
	}
	*to = 0;
}
