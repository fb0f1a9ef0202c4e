/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf: strict reading of JSON configuration with a place for every error.
 *
 * A document is loaded whole (jansson, duplicates refused, a regular file of
 * at most 1 MiB, nested at most 32 deep) and then bound by tables: unknown keys,
 * wrong types and values out of range are errors that name file, line, column, the
 * value and the remedy. jansson keeps no positions of values, so conf scans the
 * text for the place of a path. Lines and columns count from 1, columns in
 * characters. The place of a value is its start, that of an unknown key the key,
 * that of a syntax error where jansson stopped.
 */
#ifndef RESEX_UTIL_CONF_H
#define RESEX_UTIL_CONF_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "resex/exit.h"

enum { CONF_ERROR_MAX = 512, CONF_BYTES_MAX = 1 << 20 };

/*
 * "FILE:LINE:COLUMN: sentence with the value and the remedy", one line. For an
 * error of the file as a whole "FILE: sentence", line and column 0.
 */
struct conf_error {
	char text[CONF_ERROR_MAX];
	int line, column;
	int unknown_key;      /* 1: the error is a key that is not known */
	enum resex_exit exit; /* what a program that ends with this error exits with */
};

/* Fill e for an error that has no place in a file. */
void conf_error_set(struct conf_error *e, enum resex_exit code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The exit code for rc, -errno of a file, directory or socket that a configuration names. */
enum resex_exit conf_exit(int rc);

struct conf_doc {
	json_t *root;
	char *text; /* without comments; every place is that of the file */
	size_t len;
	char *file; /* name for messages */
};

/*
 * Comments are taken out: from // to the end of the line, and lines whose first character that is
 * no blank is a #. In a string both are text.
 *
 * 0; -ENOENT, -EACCES, ... from the file; -EINVAL: not a regular file, syntax,
 * nesting; -EFBIG. On error e is filled and d is empty (conf_free may be called).
 */
int conf_load(struct conf_doc *d, const char *file, struct conf_error *e);
int conf_parse(struct conf_doc *d, const char *name, const char *text, size_t len,
	       struct conf_error *e);
/* The same for a text that is not from a file: up to max bytes, and comments are refused. */
int conf_parse_long(struct conf_doc *d, const char *name, const char *text, size_t len, size_t max,
		    struct conf_error *e);
void conf_free(struct conf_doc *d);

enum conf_type {
	CONF_BOOL,     /* bool */
	CONF_UINT,     /* uint64_t: integer within min..max */
	CONF_STRING,   /* char[max + 1]: min..max bytes, no control characters */
	CONF_PATH,     /* as CONF_STRING: a whole path, from "/" on; empty, if min is 0 */
	CONF_ENUM,     /* uint32_t: index into names[] */
	CONF_DURATION, /* int64_t ns: digits and ns, us, ms or s, as "10ms"; min..max */
	/*
	 * uint64_t bytes/s, min..max: an integer, or digits and a unit, as
	 * "1GiB/s": B/s or bit/s, with k, M, G, T (powers of 1000), bytes also
	 * with Ki, Mi, Gi, Ti. Bits must make whole bytes.
	 */
	CONF_RATE,
	CONF_SIZE, /* uint64_t bytes, min..max: an integer, or as "64KiB": B, kB, KiB, ... GiB */
	CONF_NS,   /* uint64_t ns, min..max: an integer, or as CONF_DURATION */
	/*
	 * uint64_t, min..max: an integer in the unit of the type, or a percentage, as "5%" or
	 * "5 %". Units are percents, 1/1000 (so "2.5%" has one decimal at most), and 1/1000 of a
	 * percent (up to three).
	 */
	CONF_PERCENT,
	CONF_PERMILLE,
	CONF_MPCT,
};

struct conf_key {
	const char *name;
	enum conf_type type;
	size_t offset; /* in the bound struct */
	uint64_t min, max;
	const char *const *names; /* CONF_ENUM: ended by NULL */
	int required;
};

/* Keys, and a struct with what holds where a file has none of them; NULL: that is not known. */
struct conf_table {
	const struct conf_key *keys;
	const void *defaults;
};

/*
 * The first members of a row that binds key to member of type T, as in
 * { CONF_KEY(struct thing, "count", UINT, count), .max = 9 }
 */
#define CONF_KEY(T, key, kind, member)                                                             \
	.name = (key), .type = CONF_##kind, .offset = offsetof(T, member)

/*
 * Bind an object at path (as "links[0]"; "" is the root) of d to *out.
 * Members of absent keys are unchanged; after an error all members are. Keys not
 * in the table (ended by name NULL) are errors, except those in also[] (ended
 * by NULL; may be NULL), which the caller reads. 0, or -EINVAL and e has the first
 * error: unknown keys first, then in the order of the table.
 */
int conf_bind(const struct conf_doc *d, const char *path, const json_t *obj,
	      const struct conf_key *keys, const char *const *also, void *out,
	      struct conf_error *e);

/*
 * Read v as a value of k, outside of a document; name and offset of k are not used. Returns 0,
 * -ERANGE (not within min..max) or -EINVAL (not of k's type). On an error want is a sentence that
 * says what k takes, as in conf_bind().
 */
int conf_number(const struct conf_key *k, const json_t *v, uint64_t *out, char *want, size_t size);
/* The type of numbers that are counted in unit: ns, bytes, permille, mpct; of others CONF_UINT. */
enum conf_type conf_type_of(const char *unit);
/* v as a file has it, such as "10ms", "64KiB" or "2.5%"; of types without units the number. */
void conf_text(enum conf_type type, uint64_t v, char *buf, size_t size);

/*
 * Fill e for the value at path (as "links[0].rate"; of a path that does not exist,
 * the longest part that does): place, then the sentence. Always -EINVAL.
 */
int conf_fail(const struct conf_doc *d, const char *path, struct conf_error *e, const char *fmt,
	      ...) __attribute__((format(printf, 4, 5)));
/* The same for the value of key in the object at path. */
int conf_fail_key(const struct conf_doc *d, const char *path, const char *key, struct conf_error *e,
		  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* A key whose value is a list: [{...}, {...}]. */
struct conf_list {
	const char *key;
	size_t min, max;     /* elements; if min is 0, the key may be missing */
	const char *what;    /* the elements are, in the plural */
	const char *example; /* of a whole list, for the message */
	/* Read the element v at path. 0, or -EINVAL with e filled; then no further one is read. */
	int (*read)(void *to, const struct conf_doc *d, const char *path, const json_t *v,
		    struct conf_error *e);
};

/* Read each element of the list l of obj, which is at path of d. 0, or -EINVAL with e filled. */
int conf_read_list(const struct conf_doc *d, const char *path, const json_t *obj,
		   const struct conf_list *l, void *to, struct conf_error *e);

#endif
