// SPDX-License-Identifier: GPL-2.0-or-later
/* notify: one datagram; libsystemd would be much for that in every guest. See notify.h. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ibmon/agent/notify.h"

static void tell(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (len < 2 || len >= sizeof(addr.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(addr.sun_path, path, len);
	if (*path == '@') /* an abstract name */
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

void notify_ready(void)
{
	tell("READY=1\nSTATUS=publishing");
}

void notify_alive(void)
{
	tell("WATCHDOG=1");
}

void notify_stopping(void)
{
	tell("STOPPING=1");
}
