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

/* Read to the end or until size is full. 0 or -errno. */
static int read_all(int fd, char *buf, size_t size, size_t *len)
{
	size_t n = 0;

	while (n < size) {
		ssize_t got = read(fd, buf + n, size - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		n += (size_t)got;
	}
	*len = n;
	return 0;
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
	size_t space = 0, n = 0, got = 0;
	char *buf = NULL;
	int rc = check_regular(fd);

	while (!rc && n == space) {
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
		rc = read_all(fd, buf + n, space - n, &got);
		if (!rc)
			n += got;
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
