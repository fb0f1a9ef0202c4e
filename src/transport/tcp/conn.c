// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conn: one socket: receive into a buffer, send from one, watch, close.
 *
 * Both directions use it: call.c for our links, tcp.c for peers' links to us. All sockets are
 * non-blocking, so no function here waits.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/transport/tcp/tcp.h"

void tcp_conn_options(int fd)
{
	/*
	 * If one fails, the link is slower, or notices a dead peer later; it works. A silent peer
	 * is noticed after 2 + 3 x 1 s. Keepalive does not probe while sent bytes are not
	 * acknowledged: there TCP_USER_TIMEOUT counts, with the same 5 s.
	 */
	static const int on = 1, idle_s = 2, probe_s = 1, probes = 3;
	static const unsigned int unacked_ms = 5000;

	/*
	 * An operation is one small frame, and the next one may depend on its answer: Nagle's
	 * algorithm would hold it back until earlier bytes are acknowledged.
	 */
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

	/* A full buffer: the bytes stay in the kernel, and TCP stops the sender. */
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
		/*
		 * MSG_NOSIGNAL: a peer that is gone is an error of this link, not the end of the
		 * process.
		 */
		ssize_t n = send(c->fd, b->at + b->head, tcp_buf_used(b), MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		tcp_buf_drop(b, (size_t)n);
	}
	/* Empty: begin at the front again, so that the next frame needs no memmove. */
	b->head = b->tail = 0;
	return 0;
}

int tcp_conn_watch(struct tcp_conn *c, const struct tcp_buf *in, const struct tcp_buf *out)
{
	struct epoll_event ev = { .data = { .ptr = c } };

	/* epoll always reports errors; EPOLLERR here makes the mask nonzero. */
	ev.events = EPOLLERR | (tcp_buf_left(in) ? EPOLLIN | EPOLLRDHUP : 0) |
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
	/* A forked child may still hold the descriptor: closing alone does not remove it. */
	epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	c->fd = -1;
	c->want = 0;
}
