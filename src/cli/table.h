/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table: rows of a reply, JSON, as aligned text. */
#ifndef RESEX_CLI_TABLE_H
#define RESEX_CLI_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "src/cli/quantity.h"

struct column {
	const char *head;
	const char *key;
	int how; /* LEFT and one of the others, or 0 */
};

enum column_how {
	LEFT = 1, /* align left; else right */
	/* With a unit, for people: quantity.h. The number is in ns, us, ... */
	AS_NS = QUANTITY_NS << 1,
	AS_US = QUANTITY_US << 1,
	AS_MS = QUANTITY_MS << 1,
	AS_BYTES = QUANTITY_BYTES << 1,
	AS_RATE = QUANTITY_RATE << 1,
	AS_PERCENT = QUANTITY_PERCENT << 1,
	AS_PERMILLE = QUANTITY_PERMILLE << 1,
};

/* Names and texts come from guests: remove all that a terminal would obey from the strings of v. */
void table_tame(json_t *v);

/*
 * Print rows in columns (ended by head NULL), under a heading. Rows are an array of objects, or one
 * object with an array for each column, of which the first one says how many rows there are.
 */
void table_print(FILE *f, const json_t *rows, const struct column *cols);

/*
 * Print the rows within width columns of the terminal. rank has a number for each column. If the
 * rows do not fit, columns are left out, the highest rank first; rank 0 is never left out. If the
 * rest is still too wide, texts of the first column are cut, to TABLE_NAME_MIN or more, and a cut
 * text ends with '+'.
 */
enum { TABLE_NAME_MIN = 8 };
void table_print_fit(FILE *f, const json_t *rows, const struct column *cols, const int *rank,
		     size_t width);
/* Beside such tables: they differ in length by the end of the columns alone. */
#define TABLE_RANKED(cols, rank)                                                                   \
	_Static_assert(sizeof(cols) / sizeof((cols)[0]) == sizeof(rank) / sizeof((rank)[0]) + 1,   \
		       "each column has a rank")

/*
 * The same, but the last column, a text, is folded between words: beside the others, if they leave
 * TABLE_FOLD_MIN columns for it, else on lines of its own below each row, indented by
 * TABLE_BELOW. Its rank counts for nothing.
 */
enum { TABLE_FOLD_MIN = 30, TABLE_BELOW = 4 };
void table_print_fold(FILE *f, const json_t *rows, const struct column *cols, const int *rank,
		      size_t width);
/* One such text, and an end of line: at is where the line stands now, indent where others begin. */
void table_text(FILE *f, const char *text, size_t at, size_t indent, size_t width);

/* How wide table_print() would print them. */
size_t table_whole_width(const json_t *rows, const struct column *cols);

/*
 * How many columns f has: $COLUMNS, else those of the terminal, else 80. Set COLUMNS to get a
 * whole table through a pipe.
 */
size_t table_width(FILE *f);

/* One "key  value" line a member, in the order given (ended by head NULL). */
void table_card(FILE *f, const json_t *obj, const struct column *fields);

#endif
