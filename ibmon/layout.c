// SPDX-License-Identifier: GPL-2.0-or-later
/* layout: loads layouts of rings from shared objects. See layout.h. */
#include "ibmon/layout.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

static const struct plugin_kind layout_kind = {
	.symbol = IBMON_LAYOUT_SYMBOL,
	.define = "define const struct ibmon_layout " IBMON_LAYOUT_SYMBOL ", not static",
	.may_call = "a layout allocates, prints, and waits for nothing, and calls no library: "
		    "libibmon(3) lists what it may call",
	.once = "do in open() what is to be done once",
};

int layouts_open(struct layouts **ls)
{
	struct layouts *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	*ls = n;
	return 0;
}

void layouts_close(struct layouts *ls)
{
	if (!ls)
		return;
	while (ls->found.n)
		plugin_file_unload(&ls->file[--ls->found.n]);
	free(ls);
}

/* --- the table --------------------------------------------------------------------- */

static int refuse(char why[static PLUGIN_WHY_MAX], int rc, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(char why[static PLUGIN_WHY_MAX], int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, PLUGIN_WHY_MAX, fmt, ap);
	va_end(ap);
	return rc;
}

/* The table cannot be written by now, but its author may have left out the NUL. */
static bool is_name(const char name[static IBMON_NAME_MAX])
{
	size_t n = strnlen(name, IBMON_NAME_MAX);

	for (size_t i = 0; i < n; i++)
		if (name[i] < 0x20 || name[i] > 0x7e)
			return false;
	return n && n < IBMON_NAME_MAX;
}

int layout_check(const struct ibmon_layout *l, char why[static PLUGIN_WHY_MAX])
{
	if (l->abi != IBMON_ABI)
		return refuse(why, -EINVAL,
			      "it was built for version %u of resex/ibmon.h, and this program has "
			      "%u: build it again with the header of this version",
			      l->abi, IBMON_ABI);
	if (l->size != sizeof(*l))
		return refuse(why, -EINVAL,
			      "size is %u: write .size = sizeof(struct ibmon_layout), which is %zu",
			      l->size, sizeof(*l));
	if (l->provider < IBMON_PROVIDER_OTHERS || l->provider > UINT16_MAX)
		return refuse(why, -EINVAL, "provider is %u: use a number from %d to %d",
			      l->provider, IBMON_PROVIDER_OTHERS, UINT16_MAX);
	if (l->kind != IBMON_SQ && l->kind != IBMON_CQ)
		return refuse(why, -EINVAL, "kind is %u: use IBMON_SQ or IBMON_CQ", l->kind);
	if (!is_name(l->name))
		return refuse(why, -EINVAL, "its name is not 1 to %d printable characters of ASCII",
			      IBMON_NAME_MAX - 1);
	if (l->db_bytes > 64 || l->db_bytes % 4 || (l->db_bytes & (l->db_bytes - 1)))
		return refuse(why, -EINVAL, "db_bytes is %u: use 0, 4, 8, 16, 32 or 64",
			      l->db_bytes);
	if (l->reserved)
		return refuse(why, -EINVAL, "reserved is %u: leave it 0", l->reserved);
	if (!l->state_size || !l->open || !l->sample || !l->header_same)
		return refuse(why, -EINVAL,
			      "a function is missing: set .state_size, .open, .sample and "
			      ".header_same");
	if (l->completed && l->kind != IBMON_SQ)
		return refuse(
			why, -EINVAL,
			"it is a completion queue with completed(): only send queues are told "
			"of completions");
	return 0;
}

/* --- load --------------------------------------------------------------------------- */

/* The folder of a path, and the file in it. */
static int split(const char *path, char dir[static PATH_BYTES], const char **file,
		 char why[static PLUGIN_WHY_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	if (n >= PATH_BYTES)
		return refuse(why, -ENAMETOOLONG, "its path is longer than %d bytes: shorten it",
			      PATH_BYTES - 1);
	if (!slash)
		snprintf(dir, PATH_BYTES, ".");
	else
		snprintf(dir, PATH_BYTES, "%.*s", (int)(n ? n : 1), path);
	*file = slash ? slash + 1 : path;
	if (!**file)
		return refuse(why, -EINVAL, "\"%.100s\" names no file: name a shared object", path);
	return 0;
}

static int check_loaded(const struct layouts *ls, const struct plugin_file *f,
			char why[static PLUGIN_WHY_MAX])
{
	const struct ibmon_layout *l = f->table;
	const struct ring_ops *ops;
	int rc = layout_check(l, why);

	if (rc)
		return rc;
	ops = ring_ops_find(&ls->found, l->provider, l->kind);
	if (ops)
		return refuse(
			why, -EEXIST,
			"provider %u and kind %u have a layout already, \"%.31s\": use another "
			"number, or leave one of the two out",
			l->provider, l->kind, ops->name);
	return plugin_seal(f->dl, true);
}

int layouts_load(struct layouts *ls, const char *path, char why[static PLUGIN_WHY_MAX])
{
	struct plugin_file f = { .fd = -1 };
	char dir[PATH_BYTES];
	const char *file = NULL;
	struct stat st = { 0 };
	int fd = -1, rc;

	why[0] = 0;
	if (ls->found.n == IBMON_LAYOUTS_MAX)
		return refuse(why, -ENOSPC, "%d layouts are loaded already: load fewer",
			      IBMON_LAYOUTS_MAX);
	rc = split(path, dir, &file, why);
	if (!rc)
		rc = plugin_file_open(dir, file, &fd, &st, why);
	if (!rc)
		rc = plugin_file_load(&f, &layout_kind, fd, &st, file, why);
	if (fd >= 0)
		close(fd);
	if (!rc) {
		rc = check_loaded(ls, &f, why);
		if (rc)
			plugin_file_unload(&f);
	}
	if (!rc) {
		ls->found.ops[ls->found.n] = ring_plug_ops(f.table);
		ls->file[ls->found.n++] = f;
	} else if (!why[0]) {
		refuse(why, rc, "it cannot be read: %s", strerror(-rc));
	}
	return rc;
}

static int is_shared_object(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 3 && d->d_name[0] != '.' && !strcmp(d->d_name + n - 3, ".so");
}

int layouts_load_all(struct layouts *ls, const char *dir, char why[static LAYOUT_WHY_MAX])
{
	struct dirent **file = NULL;
	int n = *dir ? scandir(dir, &file, is_shared_object, alphasort) : 0, rc = 0;

	if (n < 0) {
		rc = -errno;
		snprintf(why, LAYOUT_WHY_MAX, "%.400s: it cannot be read: %s", dir, strerror(-rc));
		return rc;
	}
	for (int i = 0; i < n; i++) {
		char path[PATH_BYTES], text[PLUGIN_WHY_MAX];

		if (!rc) {
			snprintf(path, sizeof(path), "%s/%s", dir, file[i]->d_name);
			rc = layouts_load(ls, path, text);
			if (rc)
				snprintf(why, LAYOUT_WHY_MAX, "%.400s: %s", path, text);
		}
		free(file[i]);
	}
	free(file);
	return rc;
}
