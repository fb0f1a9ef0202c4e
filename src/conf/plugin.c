// SPDX-License-Identifier: GPL-2.0-or-later
/* plugin: finds, checks and loads policies of a directory. See plugin.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/conf/plugin.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/util/guard.h"

enum { DIR_MAX = 4096, DIR_SHOWN = 100 };

/* A file as it was when it was loaded. */
struct plugin {
	char name[FLOW_NAME_MAX];
	struct stat st;
	void *dl;
	/* The copy. It stays open: the dynamic linker knows an object by its path. */
	int fd;
	const struct policy_ops *ops;
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

static void unload(struct plugin *p)
{
	if (p->dl) {
		/* The compiler's own code at the end writes there. */
		(void)plugin_seal(p->dl, false);
		dlclose(p->dl);
	}
	if (p->fd >= 0)
		close(p->fd);
}

void plugins_close(struct plugins *ps)
{
	if (!ps)
		return;
	while (ps->n)
		unload(&ps->plugin[--ps->n]);
	free(ps);
}

const char *plugins_dir(const struct plugins *ps)
{
	return ps->dir;
}

/* --- who may have written it --------------------------------------------------------- */

static int refuse(char why[static PLUGIN_WHY_MAX], int rc, const char *text)
{
	snprintf(why, PLUGIN_WHY_MAX, "%s", text);
	return rc;
}

/*
 * Its code runs with the rights of this process: root, or this process's own user, is the only one
 * that may have written it.
 */
static int check_owner(const struct stat *st, const char *what, char why[static PLUGIN_WHY_MAX])
{
	if (st->st_uid && st->st_uid != geteuid()) {
		snprintf(why, PLUGIN_WHY_MAX,
			 "%s is owned by the user %u, who could run code as root: give it to root "
			 "(chown root)",
			 what, st->st_uid);
		return -EACCES;
	}
	if (st->st_mode & (S_IWGRP | S_IWOTH)) {
		snprintf(why, PLUGIN_WHY_MAX,
			 "others than its owner can write %s (mode %o): take that away (chmod "
			 "go-w)",
			 what, st->st_mode & 07777);
		return -EACCES;
	}
	return 0;
}

/* In a directory with the sticky bit each user changes only own files. */
static int check_above(const char *path, char why[static PLUGIN_WHY_MAX])
{
	char what[DIR_SHOWN + 32];
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (st.st_mode & S_ISVTX)
		st.st_mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
	snprintf(what, sizeof(what), "the directory %.*s", DIR_SHOWN, path);
	return check_owner(&st, what, why);
}

/*
 * The directory, and all above it: a user who can change one of them can put another directory in
 * its place.
 */
static int check_dir(int dir, const char *path, char why[static PLUGIN_WHY_MAX])
{
	char real[PATH_MAX];
	struct stat st, is;
	int rc;

	if (!realpath(path, real) || fstat(dir, &st) || stat(real, &is))
		return -errno;
	if (st.st_dev != is.st_dev || st.st_ino != is.st_ino)
		return -EAGAIN; /* it was replaced just now */
	rc = check_owner(&st, "the directory", why);
	while (!rc && real[1]) {
		char *slash = strrchr(real, '/');

		slash[slash == real] = 0;
		rc = check_above(real, why);
	}
	return rc;
}

static int check_file(int fd, struct stat *st, char why[static PLUGIN_WHY_MAX])
{
	if (fstat(fd, st))
		return -errno;
	if (!S_ISREG(st->st_mode))
		return refuse(why, -EINVAL,
			      "it is not a regular file: put the shared object there");
	if (st->st_size > PLUGIN_BYTES_MAX)
		return refuse(why, -EFBIG,
			      "it is larger than 16 MiB: build it without -g, or strip it");
	return check_owner(st, "it", why);
}

/* *fd is to be closed, also after an error, when it is not below 0. */
static int open_file(const struct plugins *ps, const char *name, int *fd, struct stat *st,
		     char why[static PLUGIN_WHY_MAX])
{
	int dir = open(ps->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
	char file[FLOW_NAME_MAX + 4];

	if (dir < 0)
		return -errno;
	snprintf(file, sizeof(file), "%.63s.so", name);
	/* NONBLOCK: a FIFO would have the daemon wait for a writer. */
	*fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	rc = *fd < 0 ? -errno : check_dir(dir, ps->dir, why);
	close(dir);
	if (rc == -ELOOP)
		return refuse(why, rc, "it is a symbolic link: put the shared object itself there");
	return rc ? rc : check_file(*fd, st, why);
}

/* --- load ------------------------------------------------------------------------------ */

/* A copy of the file that no other process can change. */
static int copy_file(int from, off_t size, struct plugin *p)
{
	off_t at = 0;

	p->fd = memfd_create(p->name, MFD_CLOEXEC);
	if (p->fd < 0)
		return -errno;
	while (at < size) {
		char buf[65536];
		ssize_t n = pread(from, buf, sizeof(buf), at);

		if (n < 0)
			return -errno;
		if (!n || n > size - at)
			return -EAGAIN; /* another program is writing it */
		if (write(p->fd, buf, (size_t)n) != n)
			return errno ? -errno : -EIO;
		at += n;
	}
	return 0;
}

static int check_copy(const struct plugin *p, off_t size, char why[static PLUGIN_WHY_MAX])
{
	void *at;
	int rc;

	if (!size)
		return refuse(why, -EINVAL, "it is empty: build it again");
	at = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, p->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	rc = plugin_elf_check(at, (size_t)size, why);
	munmap(at, (size_t)size);
	return rc;
}

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

static int load_copy(struct plugin *p, char why[static PLUGIN_WHY_MAX])
{
	char path[64];
	struct table_call c = { .name = p->name, .why = why };
	int rc;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->fd);
	p->dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!p->dl) {
		snprintf(why, PLUGIN_WHY_MAX, "it cannot be loaded: %.180s", dlerror());
		return -EINVAL;
	}
	p->ops = c.ops = dlsym(p->dl, POLICY_SYMBOL);
	if (!c.ops)
		return refuse(why, -EINVAL, "it exports no symbol " POLICY_SYMBOL);
	rc = plugin_call(call_table_check, &c, "its table has a pointer that leads nowhere", why);
	if (!rc)
		rc = c.rc;
	return rc ? rc : plugin_seal(p->dl, true);
}

static int load(struct plugins *ps, int fd, const struct stat *st, const char *name,
		char why[static PLUGIN_WHY_MAX])
{
	struct plugin p = { .st = *st, .fd = -1 };
	int rc;

	if (ps->n == PLUGINS_MAX)
		return refuse(why, -ENOSPC,
			      "64 plug-ins were loaded since the start, or files that changed: "
			      "restart resexd");
	snprintf(p.name, sizeof(p.name), "%s", name);
	rc = copy_file(fd, st->st_size, &p);
	if (!rc)
		rc = check_copy(&p, st->st_size, why);
	if (!rc)
		rc = load_copy(&p, why);
	if (rc)
		unload(&p);
	else
		ps->plugin[ps->n++] = p;
	return rc;
}

static bool is_loaded(const struct plugin *p, const char *name, const struct stat *st)
{
	const struct stat *was = &p->st;

	return !strcmp(p->name, name) && was->st_dev == st->st_dev && was->st_ino == st->st_ino &&
	       was->st_size == st->st_size && was->st_mtim.tv_sec == st->st_mtim.tv_sec &&
	       was->st_mtim.tv_nsec == st->st_mtim.tv_nsec &&
	       was->st_ctim.tv_sec == st->st_ctim.tv_sec &&
	       was->st_ctim.tv_nsec == st->st_ctim.tv_nsec;
}

int plugins_find(struct plugins *ps, const char *name, const struct policy_ops **ops,
		 char why[static PLUGIN_WHY_MAX])
{
	struct stat st = { 0 };
	int fd = -1, rc;

	why[0] = 0;
	if (!ps || !plugin_name_fits(name))
		return -ENOENT;
	rc = open_file(ps, name, &fd, &st, why);
	for (int i = 0; !rc && i < ps->n; i++)
		if (is_loaded(&ps->plugin[i], name, &st)) {
			*ops = ps->plugin[i].ops;
			goto out;
		}
	if (!rc)
		rc = load(ps, fd, &st, name, why);
	if (!rc)
		*ops = ps->plugin[ps->n - 1].ops;
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
