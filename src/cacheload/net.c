// SPDX-License-Identifier: GPL-2.0-or-later
/* net: sockets to servers. See net.h. */
#include "src/cacheload/net.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "src/core/units.h"
#include "src/util/utf8.h"

int net_resolve(const char *text, struct net_address *a, char *why, size_t size)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char host[128], shown[128];
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	int rc;

	utf8_escape(text, shown, sizeof(shown));
	if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	if (!len || len >= sizeof(host)) {
		snprintf(why, size, "%s: give ADDRESS:PORT, as 127.0.0.1:8080", shown);
		return -EINVAL;
	}
	memcpy(host, text, len);
	host[len] = 0;
	rc = getaddrinfo(host, colon + 1, &hints, &found);
	if (rc) {
		snprintf(why, size, "%s: %s: give ADDRESS:PORT, as 127.0.0.1:8080", shown,
			 gai_strerror(rc));
		return -EINVAL;
	}
	memcpy(&a->at, found->ai_addr, found->ai_addrlen);
	a->len = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

static void set_time(int fd, int64_t ns)
{
	struct timeval t = { .tv_sec = ns / NS_PER_S, .tv_usec = ns % NS_PER_S / NS_PER_US };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

int net_connect(const struct net_address *a, int64_t block_ns)
{
	int type = SOCK_STREAM | SOCK_CLOEXEC | (block_ns ? 0 : SOCK_NONBLOCK);
	int fd = socket(a->at.ss_family, type, 0), one = 1, rc;

	if (fd < 0)
		return -errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (block_ns)
		set_time(fd, block_ns);
	if (!connect(fd, (const struct sockaddr *)&a->at, a->len) || errno == EINPROGRESS)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static int send_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static int read_answer(int fd, struct http_reader *r)
{
	enum http_progress p = HTTP_MORE;

	while (p == HTTP_MORE) {
		size_t room;
		char *at = http_room(r, &room);
		ssize_t n = at ? recv(fd, at, room, 0) : -1;

		if (!at)
			return -EMSGSIZE;
		if (n < 0)
			return -errno;
		p = n ? http_took(r, (size_t)n) : HTTP_BAD;
	}
	return p == HTTP_DONE ? 0 : -EPROTO;
}

int net_fetch(const struct net_address *a, const char *path, int64_t timeout_ns,
	      struct http_reader *r)
{
	char request[256];
	int len = snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path,
			   a->text);
	int fd = net_connect(a, timeout_ns), rc;

	if (fd < 0)
		return fd;
	rc = len < (int)sizeof(request) ? send_all(fd, request, (size_t)len) : -ENAMETOOLONG;
	if (!rc)
		rc = read_answer(fd, r);
	close(fd);
	return rc;
}
