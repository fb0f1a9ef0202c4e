// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * connect: from the path of a socket to a ring in memory. All that the server sends is checked: its
 * hello, the number of descriptors, and that the memory is as large as it says. Else a read behind
 * its end would be the end of the process.
 */
#include "config.h"

#include "src/ring/connect.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 2 }; /* the memory, and the eventfd */

int ring_address(struct sockaddr_un *a, const char *path)
{
	size_t len = strlen(path);

	if (!len)
		return -EINVAL;
	if (len >= sizeof(a->sun_path))
		return -ENAMETOOLONG;
	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	memcpy(a->sun_path, path, len);
	return 0;
}

static void close_all(const int *fd, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/* The kernel has opened the files that had room. If they are not `files`, close them. */
static void take_files(struct msghdr *m, int *file, size_t files)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fd[FILES + 1];

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || n > FILES + 1)
			continue;
		memcpy(fd, CMSG_DATA(c), n * sizeof(int));
		if (n == files && file[0] < 0)
			memcpy(file, fd, sizeof(fd[0]) * files);
		else
			close_all(fd, n);
	}
}

/* A message as it came; file: -1 where none did. 0 or -errno. */
static int receive(int sock, void *message, size_t len, int *file, size_t files)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE((FILES + 1) * sizeof(int))]; /* one too many is seen */
	} control;
	struct iovec iov = { .iov_base = message, .iov_len = len };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.room,
			    .msg_controllen = sizeof(control.room) };
	ssize_t n = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return -errno;
	if (n == 0 && !m.msg_controllen)
		return -ECONNRESET;
	take_files(&m, file, files);
	if (n != (ssize_t)len || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || file[0] < 0)
		return -EPROTO;
	return 0;
}

static int wait_for(int sock, int stop, int wait_ms)
{
	struct pollfd p[] = { { .fd = sock, .events = POLLIN }, { .fd = stop, .events = POLLIN } };
	int n = poll(p, 2, wait_ms);

	if (n < 0)
		return -errno;
	if (n == 0)
		return -ETIMEDOUT;
	return p[1].revents ? -ECANCELED : 0;
}

static bool is_good_hello(const struct cache_ring_hello *h, const struct stat *st)
{
	uint32_t slots = (h->bytes - CACHE_RING_HEADER) / sizeof(struct cache_ring_slot);

	return h->magic == CACHE_RING_MAGIC && h->version == CACHE_RING_VERSION &&
	       h->bytes > CACHE_RING_HEADER && slots <= CACHE_RING_SLOTS_MAX && slots % 64 == 0 &&
	       h->bytes == CACHE_RING_HEADER + slots * sizeof(struct cache_ring_slot) &&
	       S_ISREG(st->st_mode) && st->st_size >= (off_t)h->bytes;
}

static int map(struct ring_connection *r, const struct cache_ring_hello *hello, int memory)
{
	struct cache_ring_header *h;
	struct stat st;

	if (fstat(memory, &st))
		return -errno;
	if (!is_good_hello(hello, &st))
		return -EPROTO;
	h = mmap(NULL, hello->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (h == MAP_FAILED)
		return -errno;
	r->header = h;
	r->bytes = hello->bytes;
	r->slots = (hello->bytes - CACHE_RING_HEADER) / (uint32_t)sizeof(*r->slot);
	r->slot = (struct cache_ring_slot *)(void *)((char *)h + CACHE_RING_HEADER);
	return h->magic == CACHE_RING_MAGIC && h->version == CACHE_RING_VERSION &&
			       h->slots == r->slots
		       ? 0
		       : -EPROTO;
}

int ring_connect(struct ring_connection *r, const struct sockaddr_un *a, int stop, int wait_ms)
{
	struct cache_ring_hello hello;
	int file[FILES] = { -1, -1 };
	int rc;

	*r = (struct ring_connection){ .sock = -1, .event = -1 };
	r->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	rc = r->sock < 0 || connect(r->sock, (const struct sockaddr *)a, sizeof(*a)) ? -errno : 0;
	if (!rc)
		rc = wait_for(r->sock, stop, wait_ms);
	if (!rc)
		rc = receive(r->sock, &hello, sizeof(hello), file, FILES);
	if (!rc)
		rc = map(r, &hello, file[0]);
	if (file[0] >= 0)
		close(file[0]); /* the mapping keeps the memory */
	r->event = file[1];
	if (rc)
		ring_disconnect(r);
	return rc;
}

int ring_receive(const struct ring_connection *r, struct cache_ring_file *f, int *fd)
{
	int rc;

	*fd = -1;
	rc = receive(r->sock, f, sizeof(*f), fd, 1);
	if (rc && *fd >= 0)
		close(*fd);
	return rc;
}

void ring_disconnect(struct ring_connection *r)
{
	if (r->header)
		munmap(r->header, r->bytes);
	close_all((const int[]){ r->sock, r->event }, 2);
	*r = (struct ring_connection){ .sock = -1, .event = -1 };
}
