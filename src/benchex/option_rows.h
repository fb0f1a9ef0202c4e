/* SPDX-License-Identifier: GPL-2.0-or-later */
/* option_rows: the table of all options; only option_rows.c and options.c include this. */
#ifndef RESEX_BENCHEX_OPTION_ROWS_H
#define RESEX_BENCHEX_OPTION_ROWS_H

#include "src/benchex/parts.h"

enum value {
	VALUE_FLAG,    /* bool */
	VALUE_TEXT,    /* const char * */
	VALUE_U16,     /* uint16_t */
	VALUE_U32,     /* uint32_t */
	VALUE_U64,     /* uint64_t */
	VALUE_SIZE,    /* uint32_t, as 64K */
	VALUE_RANGE,   /* struct bx_range, as 64K or 4K-64K */
	VALUE_SECONDS, /* uint64_t ns, a plain number is of seconds */
	VALUE_NS,      /* uint64_t ns, a plain number is of ns */
	VALUE_PER_KIB, /* the same, for each KiB */
	VALUE_MIX,     /* uint32_t[BX_OPS], as write=3,read */
	VALUE_PROFILE, /* const char *, and all that the profile sets */
	VALUE_REPORT,  /* const char *: the usual socket */
	VALUE_HELP,
	VALUE_VERSION,
};

enum {
	FOR_SERVER = 1 << BX_SERVER,
	FOR_CLIENT = 1 << BX_CLIENT,
	FOR_BULK = 1 << BX_BULK,
	FOR_ANY = FOR_SERVER | FOR_CLIENT | FOR_BULK,
};

struct row {
	const char *name;
	char letter;
	unsigned roles;
	enum value value;
	size_t offset;
	uint64_t min, max;
	const char *arg, *text;
};

enum { ROWS = 29 };

extern const struct row bx_rows[ROWS];

/* On stdout: how a role is used, its options a line each. */
void bx_help_role(enum bx_role role);

#endif
