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

/* One "key  value" line a member, in the order given (ended by head NULL). */
void table_card(FILE *f, const json_t *obj, const struct column *fields);

#endif
