// SPDX-License-Identifier: GPL-2.0-or-later
/* version_text: see version_text.h. What is read is an application's word: all is checked. */
#include "config.h"

#include "src/ring/version_text.h"

#include <stddef.h>

#include "resex/region_abi.h"
#include "src/ring/ring_client.h"

/* Without leading zeros; the end of it. By hand: printf would be a part of a hit that is seen. */
static char *write_number(char *to, uint64_t n, unsigned base)
{
	char digits[20];
	int i = 0;

	do
		digits[i++] = "0123456789abcdef"[n % base];
	while (n /= base);
	while (i)
		*to++ = digits[--i];
	return to;
}

/* HOME.WORD; the end of it, without a NUL. */
static char *write_page(char *to, const struct version_text *v)
{
	to = write_number(to, v->home % 1000, 10);
	*to++ = '.';
	return write_number(to, v->word % RING_WORDS_MAX, 10);
}

void version_text_write(const struct version_text *v, char text[static VERSION_TEXT_MAX])
{
	char *end = write_page(text, v);

	*end++ = '.';
	*write_number(end, v->version, 16) = '\0';
}

void version_text_page(const struct version_text *v, char text[static VERSION_PAGE_MAX])
{
	*write_page(text, v) = '\0';
}

static unsigned digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A') + 10;
	return 16;
}

/* 1 to 16 digits, then end. The text behind it; NULL: that is not what stands there. */
static const char *read_number(uint64_t *n, const char *text, unsigned base, char end)
{
	int digits = 0;

	for (*n = 0; digit(*text) < base; text++) {
		if (++digits > 16)
			return NULL;
		*n = *n * base + digit(*text);
	}
	return digits && *text == end ? text + (end != '\0') : NULL;
}

bool version_text_read(struct version_text *v, const char *text)
{
	uint64_t home = 0, word = 0, version = 0;

	if (text)
		text = read_number(&home, text, 10, '.');
	if (text)
		text = read_number(&word, text, 10, '.');
	if (text)
		text = read_number(&version, text, 16, '\0');
	if (!text || !home || home > REGION_HOSTS_MAX || word >= RING_WORDS_MAX || !version)
		return false;
	*v = (struct version_text){ (uint32_t)home, (uint32_t)word, version };
	return true;
}

bool version_text_same(const struct version_text *a, const struct version_text *b)
{
	return a->home == b->home && a->word == b->word && a->version == b->version;
}
