// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * socket: the sockets of the backend "shm": their paths, and messages with files.
 *
 * SOCK_SEQPACKET keeps the bounds and the order of messages, so a hello or a SEND needs no frame.
 * The files of a region go with the last message of the hello (SCM_RIGHTS): only a proven caller
 * ever gets a descriptor of our memory.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/transport/shm/shm.h"

/* Room for the memory files of a region in a message. */
enum { FILES = sizeof(int) * TRANSPORT_PARTS };

int shm_address(char *path, size_t size, const char *dir, uint16_t host)
{
	/* sun_path has 108 bytes: a longer path would be cut, and would name another socket. */
	struct sockaddr_un *unused;
	int n = snprintf(path, size, "%s/host-%u.sock", dir, host);

	return n < 0 || (size_t)n >= size || (size_t)n >= sizeof(unused->sun_path) ? -ENAMETOOLONG
										   : 0;
}

void shm_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void fill_address(struct sockaddr_un *a, const char *path)
{
	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	snprintf(a->sun_path, sizeof(a->sun_path), "%s", path);
}

int shm_connect(const char *path, int *fd)
{
	struct sockaddr_un a;
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc = 0;

	if (sock < 0)
		return -errno;
	fill_address(&a, path);
	if (connect(sock, (struct sockaddr *)&a, sizeof(a))) {
		rc = -errno;
		close(sock);
		return rc;
	}
	*fd = sock;
	return 0;
}

/* Does a process listen there, even if it is too busy to accept us? */
static bool has_listener(const char *path)
{
	int fd = -1, rc = shm_connect(path, &fd);

	shm_close(&fd);
	return rc != -ECONNREFUSED && rc != -ENOENT;
}

static int bind_here(int sock, const char *path)
{
	struct sockaddr_un a;

	fill_address(&a, path);
	if (!bind(sock, (struct sockaddr *)&a, sizeof(a)))
		return 0;
	if (errno != EADDRINUSE)
		return -errno;
	/*
	 * A process that was killed leaves its path behind. The folder is locked, so no other
	 * process can begin to listen between the test and the unlink.
	 */
	if (has_listener(path))
		return -EADDRINUSE;
	if (unlink(path) && errno != ENOENT)
		return -errno;
	return bind(sock, (struct sockaddr *)&a, sizeof(a)) ? -errno : 0;
}

/* The folder is locked while this runs, against two processes that start at once. */
int shm_listen(const char *dir, const char *path, int *fd)
{
	/* The lock ends with its descriptor, also when this process is killed. */
	int lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int rc = 0;

	/*
	 * Linux creates the path with the mode of the socket: with fchmod before bind there is no
	 * moment at which other users may connect.
	 */
	if (lock < 0 || sock < 0 || flock(lock, LOCK_EX) || fchmod(sock, 0600))
		rc = -errno;
	if (!rc)
		rc = bind_here(sock, path);
	if (!rc && listen(sock, TRANSPORT_HOSTS_MAX)) {
		rc = -errno;
		unlink(path);
	}
	shm_close(&lock);
	if (rc)
		shm_close(&sock);
	else
		*fd = sock;
	return rc;
}

int shm_check_peer(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return -errno;
	return peer.uid && peer.uid != geteuid() ? -EACCES : 0;
}

int shm_watch(int epoll, int op, int fd, uint32_t events, uint32_t id)
{
	struct epoll_event ev = { .events = events, .data.u32 = id };

	return epoll_ctl(epoll, op, fd, &ev) ? -errno : 0;
}

int shm_send(int fd, const void *data, size_t len, const int *file)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(FILES)];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (file) {
		m.msg_control = control.room;
		m.msg_controllen = sizeof(control.room);
		CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(FILES);
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), file, FILES);
	}
	/*
	 * MSG_NOSIGNAL: a peer that is gone is an error of this link, not the end of the process.
	 */
	while (sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		if (errno != EINTR)
			return errno == EPIPE ? -ECONNRESET : -errno;
	return 0;
}

/* The kernel has opened the files that had room. If their number is wrong, close them. */
static void receive_files(struct msghdr *m, int file[TRANSPORT_PARTS])
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t len = c->cmsg_len - CMSG_LEN(0);
		int fd;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		if (len == FILES && file[0] < 0) {
			memcpy(file, CMSG_DATA(c), FILES);
			continue;
		}
		for (size_t at = 0; at + sizeof(fd) <= len; at += sizeof(fd)) {
			memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
			close(fd);
		}
	}
}

ssize_t shm_recv(int fd, void *buf, size_t size, int file[TRANSPORT_PARTS])
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(FILES)];
	} control;
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (file) {
		for (int i = 0; i < TRANSPORT_PARTS; i++)
			file[i] = -1;
		m.msg_control = control.room;
		m.msg_controllen = sizeof(control.room);
	}
	do
		n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (file)
		receive_files(&m, file);
	/*
	 * After receive_files: the files of a message that is too long are open as well, and the
	 * caller closes them.
	 */
	if (m.msg_flags & MSG_TRUNC)
		return -EMSGSIZE;
	/* SEQPACKET gives 0 for the end, and for an empty message, which no host sends. */
	return n ? n : -ECONNRESET;
}
