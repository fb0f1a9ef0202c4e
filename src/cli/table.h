/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table: rows of a reply, JSON, as aligned text. */
#ifndef RESEX_CLI_TABLE_H
#define RESEX_CLI_TABLE_H

#include <jansson.h>
#include <stdio.h>

struct column {
	const char *head;
	const char *key;
	int left; /* align left; else right */
};

/* Names and texts come from guests: remove all that a terminal would obey from the strings of v. */
void table_tame(json_t *v);

/*
 * Print rows in columns (ended by head NULL), under a heading. Rows are an array of objects, or one
 * object with an array for each column, of which the first one says how many rows there are.
 */
void table_print(FILE *f, const json_t *rows, const struct column *cols);

/*
 * The same within width columns of the terminal. rank: for each column, in which order they are
 * left out where there is no room, the highest first; 0: never. If that is not enough, the first
 * column is cut to what is left, at least to TABLE_NAME_MIN, and a cut text ends with '+'.
 */
enum { TABLE_NAME_MIN = 8 };
void table_print_fit(FILE *f, const json_t *rows, const struct column *cols, const int *rank,
		     size_t width);

/*
 * The columns of f: $COLUMNS, else those of the terminal, else 80. Whoever wants all of a table
 * in a pipe sets COLUMNS.
 */
size_t table_width(FILE *f);

/* One "key  value" line a member, in the order given (ended by head NULL). */
void table_card(FILE *f, const json_t *obj, const struct column *fields);

#endif
