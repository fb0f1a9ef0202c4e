/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * parts: what options, trace and result share among themselves; the roles
 * include benchex.h alone.
 */
#ifndef RESEX_BENCHEX_PARTS_H
#define RESEX_BENCHEX_PARTS_H

#include <jansson.h>

#include "src/benchex/benchex.h"

/* "server", "client", "bulk": on the command line and in results. */
extern const char *const bx_role_names[BX_ROLES];

/*
 * Numbers as people write them, the len bytes at s. 0, or -EINVAL: not of this
 * form, or not within min .. max.
 */
struct bx_bounds {
	uint64_t min, max;
};

int bx_number(const char *s, size_t len, struct bx_bounds b, uint64_t *out); /* 123 */
int bx_size(const char *s, size_t len, struct bx_bounds b, uint64_t *out);   /* 64K, 2M: binary */

/* 1.5, 20ms, 3us: nanoseconds, of a plain number times unit_ns. */
int bx_time(const char *s, size_t len, uint64_t unit_ns, struct bx_bounds b, uint64_t *out);

/* Written so that bx_size() reads it: 65536 is "64K". */
void bx_size_show(uint64_t bytes, char buf[static 24]);

/* What was asked for, by the names of options with _ for -; NULL: no memory. */
json_t *bx_conf_json(const struct bx_conf *conf);

/* A string of JSON for any bytes; those that are no UTF-8 as \xNN. */
json_t *bx_text_json(const char *s);

/* benchex profiles. 0 or -errno of writing. */
int bx_profiles_print(FILE *stream, bool json);

/* The object that bx_result_print() prints; NULL: no memory. */
json_t *bx_result_json(const struct bx_result *r);

/* What bx_result_print() prints, one way and the other. 0 or -errno of writing. */
int bx_result_text(FILE *stream, const struct bx_result *r);
int bx_json_line(FILE *stream, const json_t *o);

/* 0, or -errno: what was printed did not arrive. */
int bx_flush(FILE *stream);

#endif
