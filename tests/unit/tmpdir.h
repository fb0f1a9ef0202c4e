/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tmpdir: a directory of the test's own, its files read and written whole. */
#ifndef RESEX_TESTS_TMPDIR_H
#define RESEX_TESTS_TMPDIR_H

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/prop.h"

struct tmpdir {
	char path[64];
	char at[160]; /* what tmp_at last gave */
};

static inline void tmp_open(struct tmpdir *d)
{
	strcpy(d->path, "/tmp/resex-test-XXXXXX");
	assert_non_null(mkdtemp(d->path));
}

static inline const char *tmp_at(struct tmpdir *d, const char *name)
{
	snprintf(d->at, sizeof(d->at), "%s/%s", d->path, name);
	return d->at;
}

/* One level deep: that is all the tests make. */
static inline void tmp_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *de;
	char at[320];

	while (dir && (de = readdir(dir))) {
		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		assert_true(snprintf(at, sizeof(at), "%s/%s", path, de->d_name) < (int)sizeof(at));
		if (unlink(at) && rmdir(at)) {
			tmp_empty(at);
			rmdir(at);
		}
	}
	if (dir)
		closedir(dir);
}

static inline void tmp_close(struct tmpdir *d)
{
	tmp_empty(d->path);
	assert_int_equal(rmdir(d->path), 0);
}

static inline void tmp_write(struct tmpdir *d, const char *name, const char *text)
{
	FILE *f = fopen(tmp_at(d, name), "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* "" when there is no such file. */
static inline const char *tmp_read(struct tmpdir *d, const char *name, char *buf, size_t size)
{
	FILE *f = fopen(tmp_at(d, name), "r");
	size_t n = f ? fread(buf, 1, size - 1, f) : 0;

	buf[n] = 0;
	if (f)
		fclose(f);
	return buf;
}

static inline bool tmp_exists(struct tmpdir *d, const char *name)
{
	struct stat st;

	return !lstat(tmp_at(d, name), &st);
}

#endif
