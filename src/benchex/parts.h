/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parts: shared by options, trace, result and merge. The roles include only benchex.h. */
#ifndef RESEX_BENCHEX_PARTS_H
#define RESEX_BENCHEX_PARTS_H

#include <jansson.h>

#include "src/benchex/benchex.h"

/* "server", "client", "bulk", as on the command line and in results. */
extern const char *const bx_role_names[BX_ROLES];

/*
 * Parse a number of len bytes at s. 0, or -EINVAL: not of this form, or not within
 * min .. max.
 */
struct bx_bounds {
	uint64_t min, max;
};

int bx_number(const char *s, size_t len, struct bx_bounds b, uint64_t *out); /* 123 */
int bx_size(const char *s, size_t len, struct bx_bounds b, uint64_t *out);   /* 64K, 2M: binary */

/* 1.5, 20ms, 3us: into nanoseconds; a number without a unit counts unit_ns. */
int bx_time(const char *s, size_t len, uint64_t unit_ns, struct bx_bounds b, uint64_t *out);

/* Format bytes as bx_size() reads them: 65536 is "64K". */
void bx_size_show(uint64_t bytes, char buf[static 24]);

/* conf as an object, by the names of options with _ for -. NULL: no memory. */
json_t *bx_conf_json(const struct bx_conf *conf);

/* A JSON string of any bytes; a text that is not UTF-8 has \xNN for the wrong bytes. */
json_t *bx_text_json(const char *s);

/* benchex profiles. 0 or -errno of writing. */
int bx_profiles_print(FILE *stream, bool json);

/* The object that bx_result_print() prints. NULL: no memory. */
json_t *bx_result_json(const struct bx_result *r);

/* The two forms of bx_result_print(). 0 or -errno of writing. */
int bx_result_text(FILE *stream, const struct bx_result *r);
int bx_json_line(FILE *stream, const json_t *o);

/* Flush stream. 0, or -errno of any write to it before. */
int bx_flush(FILE *stream);

#endif
