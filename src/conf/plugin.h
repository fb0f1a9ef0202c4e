/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin: policies from shared objects in a directory (resex-policy(7)), on the control thread.
 *
 *	NAME -> DIR/NAME.so: owner, mode -> copy -> imports -> loaded -> table -> sealed
 *
 * A file is read once into memory of its own and loaded from there: a file that is overwritten
 * while its policy decides changes nothing. What is loaded stays so until plugins_close(), because
 * snapshots refer to its texts; PLUGINS_MAX bounds it.
 */
#ifndef RESEX_CONF_PLUGIN_H
#define RESEX_CONF_PLUGIN_H

#include "policies/policies.h"
#include "src/util/conf.h"

enum {
	PLUGINS_MAX = 64,	    /* loaded by one process; a file that changed counts again */
	PLUGIN_BYTES_MAX = 1 << 24, /* of a file */
	PLUGIN_WHY_MAX = 256,
};

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

/* --- parts, which are pure ------------------------------------------------------------ */

/*
 * Is the file a shared object for this machine that exports POLICY_SYMBOL, needs no library but
 * libc, calls only what a policy may, and runs no code when it is loaded? 0 or -EINVAL with why.
 * Any bytes may be given.
 */
int plugin_elf_check(const uint8_t *file, size_t size, char why[static PLUGIN_WHY_MAX]);

/*
 * Is the table right, with this name? 0 or -EINVAL with why. Follows the table's pointers: call it
 * under guard.
 */
int plugin_table_check(const struct policy_ops *ops, const char *name,
		       char why[static PLUGIN_WHY_MAX]);

/*
 * sealed: the variables of a loaded object can only be read from now on, else also written. 0 or
 * -errno.
 */
int plugin_seal(void *dl, bool sealed);

/* What plugins_find() and policy_start() give a plug-in's code on the control thread. */
#define PLUGIN_LOAD_NS (100 * NS_PER_MS)

/*
 * Call fn(arg), code of a plug-in, under guard (util/guard.h). 0, or -errno with why, which begins
 * with what: "its table".
 */
int plugin_call(void (*fn)(void *), void *arg, const char *what, char why[static PLUGIN_WHY_MAX]);

#endif
