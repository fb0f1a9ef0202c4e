// SPDX-License-Identifier: GPL-2.0-or-later
/* plugin: finds, checks and loads policies of a directory. See plugin.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/conf/plugin.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/util/guard.h"

enum { DIR_MAX = 4096 };

struct plugin {
	char name[FLOW_NAME_MAX];
	struct plugin_file file;
};

struct plugins {
	char dir[DIR_MAX];
	int n;
	struct plugin plugin[PLUGINS_MAX];
};

int plugins_open(struct plugins **out, const char *dir)
{
	struct plugins *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return -ENOMEM;
	snprintf(ps->dir, sizeof(ps->dir), "%s", dir);
	*out = ps;
	return 0;
}

void plugins_close(struct plugins *ps)
{
	if (!ps)
		return;
	while (ps->n)
		plugin_file_unload(&ps->plugin[--ps->n].file);
	free(ps);
}

const char *plugins_dir(const struct plugins *ps)
{
	return ps->dir;
}

/* --- load ------------------------------------------------------------------------------ */

const struct plugin_kind plugin_policy_kind = {
	.symbol = POLICY_SYMBOL,
	.define = "define const struct policy_ops " POLICY_SYMBOL ", not static",
	.may_call =
		"a policy allocates, prints, reads and waits for nothing, and calls no library: "
		"resex-policy(7) lists what it may call",
	.once = "do at the first decide(), or in init(), what is to be done once",
};

int plugin_call(void (*fn)(void *), void *arg, const char *what, char why[static PLUGIN_WHY_MAX])
{
	const struct guard_limits l = { .cpu_ns = PLUGIN_LOAD_NS, .wall_ns = 10 * PLUGIN_LOAD_NS };
	struct guard_result r;
	struct guard *g;
	int rc = guard_open(&g, &l);

	if (rc)
		return rc;
	guard_call(g, fn, arg, &r);
	guard_close(g);
	if (r.how == GUARD_RETURNED)
		return 0;
	if (r.how == GUARD_TIME)
		snprintf(why, PLUGIN_WHY_MAX, "%s: it did not return within %lld ms: mend it", what,
			 (long long)(PLUGIN_LOAD_NS / NS_PER_MS));
	else
		snprintf(why, PLUGIN_WHY_MAX, "%s: it crashed (SIG%s at 0x%llx): mend it", what,
			 sigabbrev_np(r.signal), (unsigned long long)r.address);
	return -EFAULT;
}

struct table_call {
	const struct policy_ops *ops;
	const char *name;
	char *why;
	int rc;
};

static void call_table_check(void *arg)
{
	struct table_call *c = arg;

	c->rc = plugin_table_check(c->ops, c->name, c->why);
}

static int check_table(const struct plugin *p, char why[static PLUGIN_WHY_MAX])
{
	struct table_call c = { .ops = p->file.table, .name = p->name, .why = why };
	int rc = plugin_call(call_table_check, &c, "its table has a pointer that leads nowhere",
			     why);

	return rc ? rc : c.rc;
}

static int load(struct plugins *ps, int fd, const struct stat *st, const char *name,
		char why[static PLUGIN_WHY_MAX])
{
	struct plugin p = { 0 };
	int rc;

	if (ps->n == PLUGINS_MAX) {
		snprintf(why, PLUGIN_WHY_MAX,
			 "64 plug-ins were loaded since the start, or files that changed: restart "
			 "resexd");
		return -ENOSPC;
	}
	snprintf(p.name, sizeof(p.name), "%s", name);
	rc = plugin_file_load(&p.file, &plugin_policy_kind, fd, st, name, why);
	if (rc)
		return rc;
	rc = check_table(&p, why);
	if (!rc)
		rc = plugin_seal(p.file.dl, true);
	if (rc)
		plugin_file_unload(&p.file);
	else
		ps->plugin[ps->n++] = p;
	return rc;
}

static bool is_loaded(const struct plugin *p, const char *name, const struct stat *st)
{
	return !strcmp(p->name, name) && plugin_file_same(&p->file, st);
}

int plugins_find(struct plugins *ps, const char *name, const struct policy_ops **ops,
		 char why[static PLUGIN_WHY_MAX])
{
	char file[FLOW_NAME_MAX + 4];
	struct stat st = { 0 };
	int fd = -1, rc;

	why[0] = 0;
	if (!ps || !plugin_name_fits(name))
		return -ENOENT;
	snprintf(file, sizeof(file), "%.63s.so", name);
	rc = plugin_file_open(ps->dir, file, &fd, &st, why);
	for (int i = 0; !rc && i < ps->n; i++)
		if (is_loaded(&ps->plugin[i], name, &st)) {
			*ops = ps->plugin[i].file.table;
			goto out;
		}
	if (!rc)
		rc = load(ps, fd, &st, name, why);
	if (!rc)
		*ops = ps->plugin[ps->n - 1].file.table;
	else if (!why[0] && rc != -ENOENT)
		snprintf(why, PLUGIN_WHY_MAX, "it cannot be read: %s", strerror(-rc));
out:
	if (fd >= 0)
		close(fd);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

int plugins_names(const struct plugins *ps, char (*name)[FLOW_NAME_MAX], int max)
{
	DIR *d = opendir(ps->dir);
	const struct dirent *f;
	int n = 0;

	if (!d)
		return -errno;
	while (n < max && (f = readdir(d)) != NULL) {
		size_t len = strlen(f->d_name);

		if (len < 4 || strcmp(f->d_name + len - 3, ".so") != 0 || len - 3 >= FLOW_NAME_MAX)
			continue;
		snprintf(name[n], FLOW_NAME_MAX, "%.*s", (int)(len - 3), f->d_name);
		n += plugin_name_fits(name[n]);
	}
	closedir(d);
	qsort(name, (size_t)n, FLOW_NAME_MAX, by_name);
	return n;
}
