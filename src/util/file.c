// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * file: reads small files whole, and replaces them whole or not at all.
 *
 * src/util/conf.c reads configurations with it, benchex traces; src/guests/restore.c and
 * src/conf/cluster_file.c keep with it what must survive a crash of the host: the guests'
 * own caps, and how many times resexd was started.
 */
#include "src/util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Most files fit at once; longer ones double the space, so that each byte is copied a few times
 * at most.
 */
enum { SPACE_MIN = 1 << 16 };

void file_keep_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		/* open(2) takes the lowest number that is free. */
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
}

/* read() may return less than was asked for: at a signal, and from files in /proc. */
ssize_t file_read(int fd, void *buf, size_t size)
{
	size_t n = 0;

	while (n < size) {
		ssize_t got = read(fd, (char *)buf + n, size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

/* Does not rely on the size that the file claims: it may grow, and is 0 in /proc. */
static int read_all(int fd, size_t max, char **data, size_t *len)
{
	size_t space = 0;

	while (*len == space) {
		ssize_t got;
		char *more;

		space = space ? 2 * space : SPACE_MIN;
		if (space > max)
			space = max + 1; /* the extra byte shows that the file is too long */
		more = realloc(*data, space);
		if (!more)
			return -ENOMEM;
		*data = more;
		got = file_read(fd, more + *len, space - *len);
		if (got < 0)
			return (int)got;
		*len += (size_t)got;
		if (*len > max)
			return -EFBIG;
	}
	return 0;
}

int file_load(const char *file, size_t max, char **data, size_t *len)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not block us */
	struct stat st;
	char *buf = NULL;
	size_t n = 0;
	int rc;

	if (fd < 0)
		return -errno;
	/* Of the open file: the name may mean another file a moment later. */
	if (fstat(fd, &st))
		rc = -errno;
	else
		rc = S_ISREG(st.st_mode) ? read_all(fd, max, &buf, &n) : -EINVAL;
	close(fd);
	if (rc) {
		free(buf);
		return rc;
	}
	*data = buf;
	*len = n;
	return 0;
}

/*
 * Without fsync() a crash of the host after the rename could leave an empty file under the
 * good name. fsync() also reports errors that write() did not see, so close() is not checked.
 */
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

/* A rename or removal is on disk only once the folder is. */
static int sync_folder_of(const char *file)
{
	char dir[PATH_MAX];
	char *slash;
	int fd, rc = 0;

	snprintf(dir, sizeof(dir), "%s", file);
	/* The folder of "/file" is "/", of "/a/file" it is "/a", of "file" ".". */
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
	/*
	 * A crash may have left FILE.new: it is written over. O_NOFOLLOW: resexd runs as root,
	 * and a link there must not lead it to another file.
	 */
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	rc = write_all(fd, text, len);
	close(fd);
	if (!rc && rename(tmp, file))
		rc = -errno;
	if (!rc)
		rc = sync_folder_of(file);
	if (rc)
		unlink(tmp);
	return rc;
}

int file_remove(const char *file)
{
	/*
	 * A file that is gone may have been removed just before a crash: the folder is synced
	 * again.
	 */
	if (unlink(file) && errno != ENOENT)
		return -errno;
	return sync_folder_of(file);
}
