/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmds_priv: what the verbs' files share. cmds.c: one host; cmds_cluster.c: many. */
#ifndef RESEX_CLI_CMDS_PRIV_H
#define RESEX_CLI_CMDS_PRIV_H

#include "src/cli/cmdtable.h"
#include "src/cli/table.h"

/* RESEX_USAGE, with what is wrong and where to read what is right. */
int usage_error(struct cli *c, const char *what);

/* RESEX_OK when no word follows the verb, else RESEX_USAGE. */
int no_words(struct cli *c);

/* Call; in JSON mode print at once and return NULL in *result. params are taken over. */
int ask(struct cli *c, const char *method, json_t *params, json_t **result);

/* Ask, and print the rows that are the reply's member. */
int print_rows(struct cli *c, const char *method, json_t *params, const char *member,
	       const struct column *cols);

/*
 * A verb of one name and perhaps --FLAG: the method with the parameters what: name and
 * flag: was it said? The reply is one row.
 */
int act_on_one(struct cli *c, const char *method, const char *flag, const char *what,
	       const struct column *cols);

/* Verbs of a cluster of hosts: as verb.run. */
int run_host_list(struct cli *c);
int run_lock_list(struct cli *c);
int run_lock_break(struct cli *c);
/* "list --all-hosts" */
int run_list_all(struct cli *c);

#endif
