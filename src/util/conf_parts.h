/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf_parts: private to conf*.c.
 *
 * conf_place finds the place of a path in the text; conf_value converts one JSON
 * value to the type of its key, and words the remedy when it does not fit.
 */
#ifndef RESEX_UTIL_CONF_PARTS_H
#define RESEX_UTIL_CONF_PARTS_H

#include <stdbool.h>

#include "src/util/conf.h"

enum { CONF_DEPTH_MAX = 32 };

/*
 * Take comments out of text: its new length. What is left keeps its line and column, since a
 * comment is the last of its line, whose end stays.
 */
size_t conf_cut_comments(char *text, size_t len);

/* Offset of the first bracket nested deeper than CONF_DEPTH_MAX, or len. */
size_t conf_too_deep(const char *text, size_t len);

/*
 * Offset of the value at path in text that parses as JSON; of the key itself
 * when key is set. Of a path that does not exist, the longest part that does, or
 * the root. Keys may contain any character: all ways to read path are tried.
 */
size_t conf_find(const char *text, size_t len, const char *path, bool key);

/* Line and column of an offset, from 1; columns count characters. */
void conf_line_column(const char *text, size_t offset, int *line, int *column);

/* A value that was read and not stored yet. */
struct conf_value {
	uint64_t u;    /* all but CONF_STRING */
	const char *s; /* CONF_STRING; belongs to the document */
};

/* Convert v to the type and range of k. 0, or -EINVAL. */
int conf_read(const struct conf_key *k, const json_t *v, struct conf_value *out);

/* Write a value to its place in the bound struct. */
void conf_store(const struct conf_key *k, const struct conf_value *v, void *out);

/* For messages: a value as it was written, shortened; a sentence with what k accepts. */
void conf_show(const json_t *v, char *buf, size_t size);
void conf_want(const struct conf_key *k, char *buf, size_t size);

/* Append to the string in buf, cut off at size. */
void conf_append(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
