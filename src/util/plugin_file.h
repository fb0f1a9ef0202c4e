/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plugin_file: a shared object with a table of operations, checked before it is loaded. The caller
 * checks the table: src/conf/plugin.h for policies, ibmon/layout.h for layouts of rings.
 *
 *	DIR/FILE: owner, mode -> copy -> imports -> loaded, its table -> sealed
 *
 * A file is read once into memory of its own and loaded from there: a file that is overwritten
 * while its code is in use changes nothing.
 */
#ifndef RESEX_UTIL_PLUGIN_FILE_H
#define RESEX_UTIL_PLUGIN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum {
	PLUGIN_BYTES_MAX = 1 << 24, /* of a file */
	PLUGIN_WHY_MAX = 256,
};

/* A kind of plug-in, and what a refusal says of it. */
struct plugin_kind {
	const char *symbol;   /* that it must export, a table */
	const char *define;   /* how */
	const char *may_call; /* what its code may do, and which page lists it */
	const char *once;     /* where to do what a constructor would do */
};

/* A file that was loaded, as it was then. */
struct plugin_file {
	struct stat st;
	void *dl;
	/* The copy. It stays open: the dynamic linker knows an object by its path. */
	int fd;
	const void *table; /* where symbol is */
};

/*
 * Open dir/file for plugin_file_load(). 0; -ENOENT, or another -errno, why empty; -EACCES, -EINVAL,
 * -EFBIG, -ELOOP: refused, why has the reason and the remedy. *fd is to be closed, also after an
 * error, when it is not below 0.
 */
int plugin_file_open(const char *dir, const char *file, int *fd, struct stat *st,
		     char why[static PLUGIN_WHY_MAX]);

/*
 * Load what is open as fd; name is for people. 0; -errno, with why or without: nothing is loaded.
 * The table's contents are not checked, and its object can still be written: plugin_seal().
 */
int plugin_file_load(struct plugin_file *p, const struct plugin_kind *k, int fd,
		     const struct stat *st, const char *name, char why[static PLUGIN_WHY_MAX]);
void plugin_file_unload(struct plugin_file *p);

/* Is st that of the file which was loaded as p, unchanged? */
bool plugin_file_same(const struct plugin_file *p, const struct stat *st);

/* --- parts ---------------------------------------------------------------------------- */

/*
 * Is the file a shared object for this machine that exports the kind's symbol, needs no library but
 * libc, calls only what a plug-in may, and runs no code when it is loaded? 0 or -EINVAL with why.
 * Any bytes may be given. Pure.
 */
int plugin_elf_check(const uint8_t *file, size_t size, const struct plugin_kind *k,
		     char why[static PLUGIN_WHY_MAX]);

/*
 * sealed: the variables of a loaded object can only be read from now on, else also written. 0 or
 * -errno.
 */
int plugin_seal(void *dl, bool sealed);

#endif
