/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf: strict reading of JSON configuration with a place for every error.
 *
 * A document is loaded whole (jansson, duplicates refused, at most 1 MiB)
 * and then bound against tables: unknown keys, wrong types and values out
 * of range are errors that name file, line, column, the value and what
 * would be right. jansson keeps no positions of values, so conf finds the
 * place of a path by a scan of the text.
 */
#ifndef RESEX_UTIL_CONF_H
#define RESEX_UTIL_CONF_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { CONF_ERROR_MAX = 512, CONF_BYTES_MAX = 1 << 20 };

/* "FILE:LINE:COLUMN: sentence with the value and the remedy" */
struct conf_error {
	char text[CONF_ERROR_MAX];
	int line, column;
};

struct conf_doc {
	json_t *root;
	char *text;
	size_t len;
	char *file; /* name for messages */
};

/* 0; -ENOENT, -EACCES, ... from the file; -EINVAL: syntax; -EFBIG. e is filled on error. */
int conf_load(struct conf_doc *d, const char *file, struct conf_error *e);
int conf_parse(struct conf_doc *d, const char *name, const char *text, size_t len,
	       struct conf_error *e);
void conf_free(struct conf_doc *d);

enum conf_type {
	CONF_BOOL,     /* bool */
	CONF_UINT,     /* uint64_t: integer within min..max */
	CONF_STRING,   /* char[max + 1] */
	CONF_ENUM,     /* uint32_t: index into names[] */
	CONF_DURATION, /* int64_t ns: "10ms", "1s", "500us"; within min..max */
	CONF_RATE,     /* uint64_t bytes/s: "1GiB/s", "10Gbit/s", integer; min..max */
};

struct conf_key {
	const char *name;
	enum conf_type type;
	size_t offset; /* into the struct bound */
	uint64_t min, max;
	const char *const *names; /* CONF_ENUM: ended by NULL */
	int required;
};

/*
 * Bind an object at path (as "links[0]"; "" is the root) of d to *out.
 * Keys absent keep what out held. Keys not in the table are errors, except
 * those named in also[] (ended by NULL; may be NULL), which the caller reads.
 */
int conf_bind(const struct conf_doc *d, const char *path, const json_t *obj,
	      const struct conf_key *keys, const char *const *also, void *out,
	      struct conf_error *e);

/* Fill e for a value at path: place, then the sentence. Always returns -EINVAL. */
int conf_fail(const struct conf_doc *d, const char *path, struct conf_error *e, const char *fmt,
	      ...) __attribute__((format(printf, 4, 5)));

#endif
