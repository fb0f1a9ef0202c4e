// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load: see load.h. What a file says of its size is not relied upon: it may grow,
 * or be of /proc.
 */
#include "src/util/load.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPACE_MIN = 1 << 16 };

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

static int check_regular(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

int file_load(int fd, size_t max, char **data, size_t *len)
{
	size_t space = 0, n = 0;
	char *buf = NULL;
	int rc = check_regular(fd);

	while (!rc && n == space) {
		ssize_t got;
		char *more;

		space = space ? 2 * space : SPACE_MIN;
		if (space > max)
			space = max + 1; /* one more, to see that it is too long */
		more = realloc(buf, space);
		if (!more) {
			rc = -ENOMEM;
			break;
		}
		buf = more;
		got = file_read(fd, buf + n, space - n);
		if (got < 0)
			rc = (int)got;
		else
			n += (size_t)got;
		if (!rc && n > max)
			rc = -EFBIG;
	}
	if (rc) {
		free(buf);
		return rc;
	}
	*data = buf;
	*len = n;
	return 0;
}
