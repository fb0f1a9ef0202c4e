/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request: what every verb does: check its arguments, call a method of resexd (client.h) and
 * print the reply as a table (table.h) or as JSON.
 */
#ifndef RESEX_CLI_REQUEST_H
#define RESEX_CLI_REQUEST_H

#include "src/cli/cmdtable.h"
#include "src/cli/table.h"

/* RESEX_USAGE, with what is wrong and where to read what is right. */
int usage_error(struct cli *c, const char *what);
/* word is not of this form, such as "NAME=NUMBER". RESEX_USAGE. */
int word_error(struct cli *c, const char *word, const char *form);
/* The argument names a key that an earlier one named, too. RESEX_USAGE. */
int given_twice(struct cli *c, const char *key);

/* RESEX_OK when the verb has no argument, else RESEX_USAGE. */
int no_arguments(struct cli *c);

/* The parameters of a verb whose only argument is a guest; without one, all guests are meant. */
int guest_argument(struct cli *c, bool required, json_t **params);

/*
 * A word as the JSON type that resexd.json and cluster.json have: a number, true or false, or else
 * a string. NULL: it is not in UTF-8.
 */
json_t *setting_value(const char *word);
/*
 * The parameters { what: name, settings: { KEY: VALUE } } of a verb whose arguments are a name and
 * settings. form: of a setting, as in word_error.
 */
int settings_argument(struct cli *c, const char *what, const char *form, json_t **params);

/* With --json the reply is printed, and *result becomes NULL; else it is made fit to print. */
int request_print(const struct cli *c, json_t **result);
/*
 * Call a method; params are taken over. With --json the reply is printed at once, and
 * *result is NULL.
 */
int request_reply(struct cli *c, const char *method, json_t *params, json_t **result);

/* Call a method and print the array that is the reply's member, a row an element. */
int request_rows(struct cli *c, const char *method, json_t *params, const char *member,
		 const struct column *cols);

/*
 * A verb whose only argument is a name: call the method with the parameters { what: name,
 * flag: set } and print the reply as one row.
 */
int request_row(struct cli *c, const char *method, const char *what, const char *flag, bool set,
		const struct column *cols);

enum { REQUEST_TIME_MAX = 32 };
/*
 * Write the wall clock's time, ns, to text: in local time and whole seconds. journalctl(1) and
 * xl(1) show local time, too, and operators compare with both. Returns text.
 */
const char *local_time(json_int_t ns, char text[static REQUEST_TIME_MAX]);
/* The same of an event, with milliseconds and the zone: 2026-11-28 10:00:00.000+01:00 */
const char *event_time(json_int_t ns, char text[static REQUEST_TIME_MAX]);

#endif
