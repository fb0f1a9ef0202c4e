// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * part: memory that the owner gives for an optional part of its region, by descriptor
 * (transport_conf.fd). Every backend maps it with these functions.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/transport/front/front.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

int front_populate(void *mem, size_t len)
{
	/* Other errors: an older kernel, or memory of a device that is not made of pages. */
	return madvise(mem, len, MADV_POPULATE_READ) && errno == EFAULT ? -EFAULT : 0;
}

/* NULL, or what is wrong. A file must keep its size: where it ends, a read would kill us. */
static const char *file_wrong(int fd, const struct stat *st, size_t len, char why[static 96])
{
	int seals;

	fcntl(fd, F_ADD_SEALS, SEALS);
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS)
		return "its size may change: make it by memfd_create with MFD_ALLOW_SEALING";
	if ((uint64_t)st->st_size >= len)
		return NULL;
	snprintf(why, 96, "it has %lld bytes", (long long)st->st_size);
	return why;
}

/* NULL, or what is wrong; the part is mapped at *mem then, or at MAP_FAILED. */
static const char *map_checked(int fd, size_t len, void **mem, char why[static 96])
{
	struct stat st;

	*mem = MAP_FAILED;
	if (fd < 0 || fstat(fd, &st))
		return "it is not open";
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return "it is neither a memory file (memfd_create) nor a device";
	/* Writable: an RDMA device takes no other shared mapping, and the owner may write to it. */
	*mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*mem == MAP_FAILED && (errno == EACCES || errno == EPERM))
		return "it must be open for reading and writing, and not be sealed against writes";
	if (*mem == MAP_FAILED) {
		snprintf(why, 96, "it cannot be mapped: %s", strerror(errno));
		return why;
	}
	if (S_ISREG(st.st_mode))
		return file_wrong(fd, &st, len, why);
	return front_populate(*mem, len) ? "its memory ends before" : NULL;
}

int front_map_part(const struct transport_conf *c, enum transport_part part, void **mem,
		   char text[static 256])
{
	size_t len = c->bytes[part];
	char room[96];
	void *at;
	const char *why = map_checked(c->fd[part], len, &at, room);

	if (!why) {
		*mem = at;
		return 0;
	}
	if (at != MAP_FAILED)
		munmap(at, len);
	snprintf(text, 256, "descriptor %d cannot serve the %zu bytes of part %d: %s", c->fd[part],
		 len, part, why);
	return -EBADF;
}
