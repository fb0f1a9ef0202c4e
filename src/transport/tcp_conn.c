// SPDX-License-Identifier: GPL-2.0-or-later
/* tcp_conn: sockets and addresses of the two-sided backend. See tcp.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/transport/tcp.h"

static bool names_a_host(const struct sockaddr *a)
{
	struct sockaddr_in6 six;
	struct sockaddr_in four;

	if (a->sa_family == AF_INET) {
		memcpy(&four, a, sizeof(four));
		return ntohl(four.sin_addr.s_addr) != INADDR_ANY &&
		       !IN_MULTICAST(ntohl(four.sin_addr.s_addr)) &&
		       ntohl(four.sin_addr.s_addr) != INADDR_BROADCAST;
	}
	memcpy(&six, a, sizeof(six));
	return !IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr) && !IN6_IS_ADDR_MULTICAST(&six.sin6_addr) &&
	       !IN6_IS_ADDR_V4MAPPED(&six.sin6_addr);
}

int tcp_address(const char *text, uint16_t port, struct sockaddr_storage *a, socklen_t *len)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	struct in_addr four;
	char service[8];
	bool good;

	/* getaddrinfo would take 127.1 and 0x7f000001 as well. */
	if (!port || (!strchr(text, ':') && inet_pton(AF_INET, text, &four) != 1))
		return -EINVAL;
	hints.ai_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(text, service, &hints, &list))
		return -EINVAL;
	good = list->ai_addrlen <= sizeof(*a) && names_a_host(list->ai_addr);
	if (good) {
		memset(a, 0, sizeof(*a));
		memcpy(a, list->ai_addr, list->ai_addrlen);
		*len = list->ai_addrlen;
	}
	freeaddrinfo(list);
	return good ? 0 : -EINVAL;
}

void tcp_conn_options(int fd)
{
	/* What fails leaves a link that is slower, or notices later; it works. */
	static const int on = 1, idle_s = 2, probe_s = 1, probes = 3;
	static const unsigned int unacked_ms = 5000;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &probe_s, sizeof(probe_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_ms, sizeof(unacked_ms));
}

int tcp_conn_fill(const struct tcp_conn *c, struct tcp_buf *b)
{
	size_t room;
	uint8_t *at = tcp_buf_space(b, &room);
	ssize_t n;

	if (!room)
		return 0;
	n = recv(c->fd, at, room, 0);
	if (n == 0)
		return -ECONNRESET;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	tcp_buf_add(b, (size_t)n);
	return 0;
}

int tcp_conn_flush(const struct tcp_conn *c, struct tcp_buf *b)
{
	while (tcp_buf_used(b)) {
		ssize_t n = send(c->fd, b->at + b->head, tcp_buf_used(b), MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		tcp_buf_drop(b, (size_t)n);
	}
	b->head = b->tail = 0;
	return 0;
}

int tcp_conn_watch(struct tcp_conn *c, const struct tcp_buf *in, const struct tcp_buf *out)
{
	struct epoll_event ev = { .data = { .ptr = c } };

	/* Errors come unasked; here they only say that it is watched. */
	ev.events = EPOLLERR | (tcp_buf_left(in) ? EPOLLIN : 0) |
		    (tcp_buf_used(out) ? EPOLLOUT : 0);
	if (c->want == ev.events)
		return 0;
	if (epoll_ctl(c->epoll, c->want ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &ev))
		return -errno;
	c->want = ev.events;
	return 0;
}

void tcp_conn_close(struct tcp_conn *c)
{
	if (c->fd < 0)
		return;
	/* Closing is not enough while a child that was just forked holds it too. */
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	c->fd = -1;
	c->want = 0;
}
