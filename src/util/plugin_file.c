// SPDX-License-Identifier: GPL-2.0-or-later
/* plugin_file: finds, checks and loads a shared object. See plugin_file.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "src/util/plugin_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DIR_SHOWN = 100 };

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

int plugin_file_open(const char *dir, const char *file, int *fd, struct stat *st,
		     char why[static PLUGIN_WHY_MAX])
{
	int in = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	*fd = -1;
	if (in < 0)
		return -errno;
	/* NONBLOCK: a FIFO would have the caller wait for a writer. */
	*fd = openat(in, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	rc = *fd < 0 ? -errno : check_dir(in, dir, why);
	close(in);
	if (rc == -ELOOP)
		return refuse(why, rc, "it is a symbolic link: put the shared object itself there");
	return rc ? rc : check_file(*fd, st, why);
}

/* --- load ------------------------------------------------------------------------------ */

/* A copy of the file that no other process can change. */
static int copy_file(int from, off_t size, const char *name, int *fd)
{
	off_t at = 0;

	*fd = memfd_create(name, MFD_CLOEXEC);
	if (*fd < 0)
		return -errno;
	while (at < size) {
		char buf[65536];
		ssize_t n = pread(from, buf, sizeof(buf), at);

		if (n < 0)
			return -errno;
		if (!n || n > size - at)
			return -EAGAIN; /* another program is writing it */
		if (write(*fd, buf, (size_t)n) != n)
			return errno ? -errno : -EIO;
		at += n;
	}
	return 0;
}

static int check_copy(const struct plugin_kind *k, int fd, off_t size,
		      char why[static PLUGIN_WHY_MAX])
{
	void *at;
	int rc;

	if (!size)
		return refuse(why, -EINVAL, "it is empty: build it again");
	at = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	rc = plugin_elf_check(at, (size_t)size, k, why);
	munmap(at, (size_t)size);
	return rc;
}

static int load_copy(struct plugin_file *p, const struct plugin_kind *k,
		     char why[static PLUGIN_WHY_MAX])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->fd);
	p->dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!p->dl) {
		snprintf(why, PLUGIN_WHY_MAX, "it cannot be loaded: %.180s", dlerror());
		return -EINVAL;
	}
	p->table = dlsym(p->dl, k->symbol);
	if (!p->table) {
		snprintf(why, PLUGIN_WHY_MAX, "it exports no symbol %s: %s", k->symbol, k->define);
		return -EINVAL;
	}
	return 0;
}

int plugin_file_load(struct plugin_file *p, const struct plugin_kind *k, int fd,
		     const struct stat *st, const char *name, char why[static PLUGIN_WHY_MAX])
{
	int rc;

	*p = (struct plugin_file){ .st = *st, .fd = -1 };
	rc = copy_file(fd, st->st_size, name, &p->fd);
	if (!rc)
		rc = check_copy(k, p->fd, st->st_size, why);
	if (!rc)
		rc = load_copy(p, k, why);
	if (rc)
		plugin_file_unload(p);
	return rc;
}

void plugin_file_unload(struct plugin_file *p)
{
	if (p->dl) {
		/* The compiler's own code at the end writes there. */
		(void)plugin_seal(p->dl, false);
		dlclose(p->dl);
	}
	if (p->fd >= 0)
		close(p->fd);
	p->dl = NULL;
	p->fd = -1;
}

bool plugin_file_same(const struct plugin_file *p, const struct stat *st)
{
	const struct stat *was = &p->st;

	return was->st_dev == st->st_dev && was->st_ino == st->st_ino &&
	       was->st_size == st->st_size && was->st_mtim.tv_sec == st->st_mtim.tv_sec &&
	       was->st_mtim.tv_nsec == st->st_mtim.tv_nsec &&
	       was->st_ctim.tv_sec == st->st_ctim.tv_sec &&
	       was->st_ctim.tv_nsec == st->st_ctim.tv_nsec;
}
