/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page: the text of a page while it is made, and the things it depends on.
 *
 * A page that ran out of memory, or that depends on more than AUCTION_THINGS_MAX things, is marked;
 * nothing else needs to be looked at on the way.
 */
#ifndef RESEX_AUCTION_PAGE_H
#define RESEX_AUCTION_PAGE_H

#include <stdbool.h>
#include <stddef.h>

enum { PAGE_NAME_MAX = 47 };

struct page {
	char *text;
	size_t len, space;
	char *state; /* "item/5=17:3 user/3=2:0" */
	size_t state_len, state_space;
	bool no_memory, too_many;
	size_t things;
	size_t things_max; /* 0: only counted, as for /states */
	char thing[64][PAGE_NAME_MAX + 1];
};

void page_free(struct page *p);
void page_put(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As it is shown in HTML. */
void page_put_text(struct page *p, const char *text);
/* The page depends on KIND/ID/PART ("" none); the counters are texts of numbers. Once is enough. */
void page_depends(struct page *p, const char *kind, const char *id, const char *part,
		  const char *value, const char *last);
/* The whole page: a head, what the page is, and its states, before the text. NULL: no memory. */
char *page_whole(const struct page *p, const char *path, size_t *len);

#endif
