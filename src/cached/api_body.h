/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api_body: the bodies of requests: JSON -> structs. Hostile input: what api.c gets from here is
 * whole and in its ranges. Nothing else is looked up, so that it can be fuzzed alone.
 *
 * Each function returns 0, or -errno with e filled; then there is nothing to free. The texts
 * are those of the document b->d: call api_body_free when they were used.
 */
#ifndef RESEX_CACHED_API_BODY_H
#define RESEX_CACHED_API_BODY_H

#include <stdbool.h>

#include "src/sql/sql.h"
#include "src/util/conf.h"

enum { API_TAGS_MAX = 64 /* of one page, of one update */ };

/* What was read: only what the path has is there. */
struct api_body {
	struct conf_doc d;
	/* fill */
	uint64_t home, word;
	/* end of a fill, update, invalidation */
	uint32_t tags;
	const char *tag[API_TAGS_MAX];
	const char *snapshot; /* NULL: none */
	uint32_t statements;
	struct sql_statement statement[SQL_STATEMENTS_MAX];
	const char **param; /* of all statements */
	/* invalidation */
	bool all;
	const char *page; /* its key, as text; NULL: none */
	/* removal */
	const char *host; /* its name; NULL: it is a number */
	uint64_t number;
	bool force;
};

/* {"home": 2, "word": 17} */
int api_body_fill(struct api_body *b, const char *text, size_t len, struct conf_error *e);
/* {"tags": ["item/5"], "snapshot": "10:20:10,14"} */
int api_body_end(struct api_body *b, const char *text, size_t len, struct conf_error *e);
/* {"tags": ["item/5"], "statements": ["...", {"sql": "... $1", "params": ["a", null]}]} */
int api_body_update(struct api_body *b, const char *text, size_t len, struct conf_error *e);
/* {"tag": "item/5"} or {"page": "KEY"} or {"all": true} */
int api_body_invalidate(struct api_body *b, const char *text, size_t len, struct conf_error *e);
/* {"host": "app2", "force": false}; the host by name or number */
int api_body_remove(struct api_body *b, const char *text, size_t len, struct conf_error *e);
void api_body_free(struct api_body *b);

/* A tag of a query. 0, or -EINVAL with e filled. */
int api_check_tag(const char *tag, const char *name, struct conf_error *e);
/* 1 .. 16 hexadecimal digits, and no more. */
bool api_read_hex(const char *text, uint64_t *n);

#endif
