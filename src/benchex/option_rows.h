/* SPDX-License-Identifier: GPL-2.0-or-later */
/* option_rows: the table of all options, for option_rows.c and options.c only. */
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
	VALUE_SECONDS, /* uint64_t ns; a number without a unit is in seconds */
	VALUE_NS,      /* uint64_t ns; a number without a unit is in ns */
	VALUE_PER_KIB, /* like VALUE_NS, for each KiB */
	VALUE_MIX,     /* uint32_t[BX_OPS], as write=3,read */
	VALUE_PROFILE, /* const char *, and all members that the profile sets */
	VALUE_REPORT,  /* const char *: the default socket */
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

/* Print the help of a role on stdout: its use, and its options, one on a line. */
void bx_help_role(enum bx_role role);

#endif
