// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * notify: a changed table -> a datagram to resex-agent. preload.c calls it. See notify.h.
 *
 * Each datagram has a socket of its own: the application may close descriptors that it did not
 * open, and get the same numbers for others. All this happens where a queue pair is made ready or
 * destroyed, never where work is posted.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* secure_getenv */
#endif
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "ibmon/rings/notify.h"
#include "resex/agent_socket.h"

enum { WAIT_US = 100000 };

static const char *socket_path(void)
{
	const char *path = secure_getenv("RESEX_AGENT_SOCKET");

	return path && *path ? path : AGENT_SOCKET;
}

static int send_to(const char *path, const struct agent_queues *q, bool wait)
{
	const struct timeval most = { .tv_usec = WAIT_US };
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd, rc;

	if (strlen(path) >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	memcpy(to.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (wait && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most)))
		wait = false;
	rc = sendto(fd, q, sizeof(*q), (wait ? 0 : MSG_DONTWAIT) | MSG_NOSIGNAL,
		    (const struct sockaddr *)&to, sizeof(to)) < 0
		     ? -errno
		     : 0;
	close(fd);
	return rc;
}

static void warn(struct notify *n, const char *path, int rc)
{
	if (__atomic_exchange_n(&n->warned, 1, __ATOMIC_RELAXED))
		return;
	fprintf(stderr,
		"libresex-rings: the host does not read this program's queues: %s: %s; start "
		"resex-agent in this guest, and in a container mount /run/resex, or name the "
		"socket in RESEX_AGENT_SOCKET\n",
		path, strerror(-rc));
}

/* A thread that is to be canceled is not canceled here. */
void notify_send(struct notify *n, uint64_t address, uint64_t nonce, bool wait)
{
	const struct agent_queues q = { .magic = AGENT_QUEUES_MAGIC,
					.version = AGENT_QUEUES_VERSION,
					.address = address,
					.nonce = nonce };
	const char *path = socket_path();
	int cancel, rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rc = send_to(path, &q, wait);
	if (rc && rc != -EAGAIN)
		warn(n, path, rc);
	pthread_setcancelstate(cancel, NULL);
}
