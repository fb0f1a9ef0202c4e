/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conf_schema: JSON Schemas (draft 2020-12) of tables of keys, for editors and other programs.
 * They are made from the tables by which conf_bind() checks, so that they say what it takes. What
 * no table says, such as unique names, is in no schema either: resexd --check has the last word.
 *
 * Each function returns NULL without memory, and takes over the values that it is given; one that
 * is given NULL returns NULL. So only the last of them must be checked.
 */
#ifndef RESEX_UTIL_CONF_SCHEMA_H
#define RESEX_UTIL_CONF_SCHEMA_H

#include "src/util/conf.h"

/* What a key does, in one sentence. */
struct conf_says {
	const char *key; /* NULL: the end */
	const char *text;
};

/*
 * An object with the keys of t, and no others. says has each of them; keys that are in says alone
 * are for schema_put().
 */
json_t *schema_object(const struct conf_table *t, const struct conf_says *says);
/* Add the keys of t to an object: conf_bind() is called for it with two tables. */
json_t *schema_more(json_t *object, const struct conf_table *t, const struct conf_says *says);
/* Add a key that is in no table. */
json_t *schema_put(json_t *object, const char *key, json_t *schema, const struct conf_says *says);
/* The same, and the key must be there. */
json_t *schema_must(json_t *object, const char *key, json_t *schema, const struct conf_says *says);
/* Take out a key that the caller does not take. */
json_t *schema_drop(json_t *object, const char *key);
/* Add to the schema of a key what its row in the table does not say, such as a pattern. */
json_t *schema_narrow(json_t *object, const char *key, json_t *more);
/* A list of such elements. */
json_t *schema_list(const struct conf_list *l, json_t *element);
/* One of two. */
json_t *schema_either(json_t *a, json_t *b);
/* Any string, one that matches, or one of these words (ended by NULL). */
json_t *schema_string(const char *pattern);
json_t *schema_words(const char *const *words);
/* The value of one key, without its text. */
json_t *schema_value(const struct conf_key *k);
/* The whole: with the version of the draft, and a title. */
json_t *schema_top(json_t *object, const char *title);

#endif
