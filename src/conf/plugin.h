/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin: policies from shared objects in a directory (resex-policy(7)), on the control thread.
 *
 *	NAME -> DIR/NAME.so: owner, mode -> copy -> imports -> loaded -> table -> sealed
 *
 * util/plugin_file.h does all but the table. What is loaded stays so until plugins_close(), because
 * snapshots refer to its texts; PLUGINS_MAX bounds it.
 */
#ifndef RESEX_CONF_PLUGIN_H
#define RESEX_CONF_PLUGIN_H

#include "policies/policies.h"
#include "src/util/conf.h"
#include "src/util/plugin_file.h"

enum { PLUGINS_MAX = 64 }; /* loaded by one process; a file that changed counts again */

struct plugins;

/* Nothing is read yet: the directory need not exist. 0 or -ENOMEM. */
int plugins_open(struct plugins **ps, const char *dir);
/* No policy of it is in use any more. NULL is fine. */
void plugins_close(struct plugins *ps);
const char *plugins_dir(const struct plugins *ps);

/*
 * The plug-in called name, loaded if it is not yet, or if its file has changed. ps NULL: there are
 * none. 0; -ENOENT: no file; -EACCES, -EINVAL, -ENOSPC, ...: it is refused. why: the reason and
 * the remedy in one sentence, without the file's name.
 */
int plugins_find(struct plugins *ps, const char *name, const struct policy_ops **ops,
		 char why[static PLUGIN_WHY_MAX]);

/*
 * The names of all files NAME.so of the directory, in order. Returns their number, at most max, or
 * -errno of opening the directory. -ENOENT: the directory does not exist, which is allowed.
 */
int plugins_names(const struct plugins *ps, char (*name)[FLOW_NAME_MAX], int max);

/* Is name one that a policy may have: lower-case letters, digits and '-', a letter first? */
bool plugin_name_fits(const char *name);

/* What a shared object must be to be a policy: for plugin_file_load(). */
extern const struct plugin_kind plugin_policy_kind;

/* --- parts ---------------------------------------------------------------------------- */

/*
 * Is the table right, with this name? 0 or -EINVAL with why. Follows the table's pointers: call it
 * under guard.
 */
int plugin_table_check(const struct policy_ops *ops, const char *name,
		       char why[static PLUGIN_WHY_MAX]);

/* What plugins_find() and policy_start() give a plug-in's code on the control thread. */
#define PLUGIN_LOAD_NS (100 * NS_PER_MS)

/*
 * Call fn(arg), code of a plug-in, under guard (util/guard.h). 0, or -errno with why, which begins
 * with what: "its table".
 */
int plugin_call(void (*fn)(void *), void *arg, const char *what, char why[static PLUGIN_WHY_MAX]);

#endif
