/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table: JSON objects of a reply as aligned text, a row an object. */
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

/* Print rows (an array of objects) in columns (ended by head NULL), under a heading. */
void table_print(FILE *f, const json_t *rows, const struct column *cols);

/* One "key  value" line a member, in the order given (ended by head NULL). */
void table_card(FILE *f, const json_t *obj, const struct column *fields);

#endif
