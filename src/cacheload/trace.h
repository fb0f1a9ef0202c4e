/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace: which pages are asked for, and what is changed: traces 1 to 6 of the paper, drawn from a
 * seed.
 *
 *	1       reads alone
 *	2 to 5  1, 5, 20 and 50 updates of 1000 requests; each page is as likely as any other
 *	6       5 of 1000; the page of rank r is drawn with a weight of 1 / r^alpha (Zipf)
 *
 * The pages are those of resex-auction(1), of the things that it had at the start: the front page,
 * and of each 20 others 12 items, 5 categories, and 3 users. Updates bid for items that the pages
 * show (16 of 20), give users another name (2), and put up new items (2).
 */
#ifndef RESEX_CACHELOAD_TRACE_H
#define RESEX_CACHELOAD_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "src/cacheload/history.h"

enum {
	TRACE_TRACES = 6,
	TRACE_PATH_MAX = 48,
	TRACE_FORM_MAX = 192,
	TRACE_PAGES_MAX = 1 << 20,
};

struct trace_conf {
	uint64_t trace; /* 1 .. TRACE_TRACES */
	uint64_t seed;
	uint64_t pages;	     /* 1 .. TRACE_PAGES_MAX; at most so many pages are asked for */
	double alpha;	     /* of trace 6 */
	uint64_t first_item; /* ids of new items begin above */
};

struct trace_update {
	const char *path; /* "/bid", "/user" or "/item" */
	char form[TRACE_FORM_MAX];
	char thing[HISTORY_CHANGES_MAX][HISTORY_NAME_MAX + 1];
	size_t things;
};

struct trace;

/* 0; -ENODATA: there is no item, category or user; -ENOMEM. */
int trace_open(struct trace **t, const struct trace_conf *c, const struct history *h);
void trace_close(struct trace *t);

/* Of 1000 requests, so many are updates. */
uint32_t trace_updates(uint64_t trace);
size_t trace_pages(const struct trace *t);

/* The next page, by the generator of src/core/random.h. */
void trace_read(const struct trace *t, uint64_t *random, char path[static TRACE_PATH_MAX]);
/* The next update. It will have this number. */
void trace_update(struct trace *t, uint64_t *random, uint64_t number, struct trace_update *u);

#endif
