/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf_parts: what conf.c is made of; nobody else includes this.
 *
 * conf_place finds where a path stands in the text; conf_value turns one JSON
 * value into what a key asks for, and says what would be right when it is not.
 */
#ifndef RESEX_UTIL_CONF_PARTS_H
#define RESEX_UTIL_CONF_PARTS_H

#include <stdbool.h>

#include "src/util/conf.h"

enum { CONF_DEPTH_MAX = 32 };

/* Offset of the first bracket nested deeper than CONF_DEPTH_MAX, or len. */
size_t conf_too_deep(const char *text, size_t len);

/*
 * Offset of the value at path in text that parses as JSON; of the key itself
 * when key is set. A path that is not there gives what there is of it, at
 * last the root. Keys may hold any character: all ways to read path are tried.
 */
size_t conf_find(const char *text, size_t len, const char *path, bool key);

/* Line and column of an offset, from 1; columns count characters. */
void conf_line_column(const char *text, size_t offset, int *line, int *column);

/* One value, not stored yet. */
struct conf_value {
	uint64_t u;    /* all but CONF_STRING */
	const char *s; /* CONF_STRING; belongs to the document */
};

/* Is v what k asks for? 0, or -EINVAL. */
int conf_read(const struct conf_key *k, const json_t *v, struct conf_value *out);

/* Write a value to its place in the struct bound. */
void conf_store(const struct conf_key *k, const struct conf_value *v, void *out);

/* For a person: a value as it was written, shortened; what k wants instead. */
void conf_show(const json_t *v, char *buf, size_t size);
void conf_want(const struct conf_key *k, char *buf, size_t size);

/* Append to the string in buf, cut off at size. */
void conf_append(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
