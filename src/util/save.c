// SPDX-License-Identifier: GPL-2.0-or-later
/* save: write beside it, sync, rename, sync the folder. See save.h. */
#include "src/util/save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return fsync(fd) ? -errno : 0;
}

static int sync_dir(const char *file)
{
	char dir[PATH_MAX];
	char *slash;
	int fd, rc = 0;

	snprintf(dir, sizeof(dir), "%s", file);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = 0;
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fsync(fd))
		rc = -errno;
	close(fd);
	return rc;
}

int file_save(const char *file, const char *text, size_t len)
{
	char tmp[PATH_MAX];
	int fd, rc;

	if (snprintf(tmp, sizeof(tmp), "%s.new", file) >= (int)sizeof(tmp))
		return -ENAMETOOLONG;
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	rc = write_all(fd, text, len);
	close(fd);
	if (!rc && rename(tmp, file))
		rc = -errno;
	if (!rc)
		rc = sync_dir(file);
	if (rc)
		unlink(tmp);
	return rc;
}

int file_remove(const char *file)
{
	if (unlink(file) && errno != ENOENT)
		return -errno;
	return sync_dir(file);
}
