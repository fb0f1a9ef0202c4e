// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * notify: the protocol of sd_notify(3), one datagram. libsystemd would be much for that, and the
 * agent in each guest would need it as well. src/engine/loop.c and resex-agent tell systemd with
 * it that they are ready, reload, stop, and are alive. A failure is never fatal: without systemd
 * all works the same.
 */
#include "src/util/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int notify_send(const char *path, const char *bytes, size_t len)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = strlen(path);
	ssize_t w;
	int fd;

	if (n >= sizeof(a.sun_path) || (path[0] != '/' && path[0] != '@'))
		return -EINVAL;
	memcpy(a.sun_path, path, n);
	if (path[0] == '@') /* an abstract address */
		a.sun_path[0] = 0;
	/* without waiting: a systemd that hangs must not stop us */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	w = sendto(fd, bytes, len, MSG_NOSIGNAL, (struct sockaddr *)&a,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	n = w < 0 ? (size_t)errno : 0;
	close(fd);
	return -(int)n;
}

int notify_systemd(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");

	if (!path || !path[0])
		return -ENOTCONN;
	return notify_send(path, state, strlen(state));
}

uint64_t notify_watchdog_us(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	/*
	 * systemd passes the variables on to children too; only the process that it named must
	 * answer.
	 */
	if (!usec || (pid && strtoll(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10);
}
