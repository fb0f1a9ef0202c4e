/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * version_text: a page's version word as text, in headers between Varnish and the application:
 *
 *	resex-page: HOME.WORD
 *	resex-version: HOME.WORD.VERSION
 *
 * HOME and WORD are decimal, VERSION is hexadecimal.
 */
#ifndef RESEX_RING_VERSION_TEXT_H
#define RESEX_RING_VERSION_TEXT_H

#include <stdbool.h>
#include <stdint.h>

enum { VERSION_TEXT_MAX = 32, VERSION_PAGE_MAX = 16 }; /* bytes with the NUL */

struct version_text {
	uint32_t home;	  /* 1 .. REGION_HOSTS_MAX */
	uint32_t word;	  /* < RING_WORDS_MAX */
	uint64_t version; /* not 0 */
};

void version_text_write(const struct version_text *v, char text[static VERSION_TEXT_MAX]);
/* HOME.WORD */
void version_text_page(const struct version_text *v, char text[static VERSION_PAGE_MAX]);
/* false: text (perhaps NULL) is none. Leading zeros and capitals are allowed. */
bool version_text_read(struct version_text *v, const char *text);
bool version_text_same(const struct version_text *a, const struct version_text *b);

#endif
