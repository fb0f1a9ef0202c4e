// SPDX-License-Identifier: GPL-2.0-or-later
/* conn: a connection of a client. See conn.h. It never blocks. */
#include "src/cacheload/conn.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define RETRY_NS   (20 * NS_PER_MS)
#define CONNECT_NS (5 * NS_PER_S)

void conn_init(struct conn *c, const struct conn_ops *ops, void *owner, int epoll,
	       const struct net_address *to, int64_t timeout_ns)
{
	*c = (struct conn){ .ops = ops,
			    .owner = owner,
			    .to = to,
			    .epoll = epoll,
			    .fd = -1,
			    .timeout_ns = timeout_ns,
			    .reader.max = 1 << 20 };
}

void conn_free(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	http_free(&c->reader);
}

static int watch(struct conn *c, int op, bool write)
{
	struct epoll_event ev = { .events = EPOLLIN | (write ? EPOLLOUT : 0u), .data.ptr = c };

	c->wants_write = write;
	return epoll_ctl(c->epoll, op, c->fd, &ev) ? -errno : 0;
}

/* Closes it, to connect again at `due`. */
static void down(struct conn *c, struct mono due)
{
	close(c->fd); /* epoll forgets it */
	c->fd = -1;
	c->state = CONN_DOWN;
	c->due = due;
}

static void refuse(struct conn *c, int error, struct mono now)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->state = CONN_DOWN;
	c->due = mono_add(now, RETRY_NS);
	c->ops->refused(c->owner, c, strerror(error));
}

/* The request under way has no answer. */
static void lose(struct conn *c, const char *why, struct mono now)
{
	bool kept = c->served && !c->reader.len;

	down(c, kept ? now : mono_add(now, RETRY_NS));
	c->ops->lost(c->owner, c, why, c->sent > 0, kept);
}

static void start_connecting(struct conn *c, struct mono now)
{
	int rc;

	c->fd = net_connect(c->to, 0);
	c->served = false;
	rc = c->fd < 0 ? c->fd : watch(c, EPOLL_CTL_ADD, true);
	if (rc) {
		refuse(c, -rc, now);
		return;
	}
	c->state = CONN_CONNECTS;
	c->due = mono_add(now, CONNECT_NS);
}

static void finish_connecting(struct conn *c, struct mono now)
{
	int error = 0, rc;
	socklen_t len = sizeof(error);

	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	rc = error ? -error : watch(c, EPOLL_CTL_MOD, false);
	if (rc)
		refuse(c, -rc, now);
	else
		c->state = CONN_IDLE;
}

static void write_more(struct conn *c, struct mono now)
{
	ssize_t n = send(c->fd, c->request + c->sent, c->len - c->sent, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		lose(c, strerror(errno), now);
		return;
	}
	c->sent += n > 0 ? (size_t)n : 0;
	if ((c->sent < c->len) != c->wants_write && watch(c, EPOLL_CTL_MOD, c->sent < c->len))
		lose(c, strerror(errno), now);
}

void conn_send(struct conn *c, struct mono now)
{
	http_reset(&c->reader);
	c->sent = 0;
	c->state = CONN_BUSY;
	c->due = mono_add(now, c->timeout_ns);
	write_more(c, now);
}

static void take(struct conn *c, size_t n, struct mono now)
{
	switch (http_took(&c->reader, n)) {
	case HTTP_MORE:
		break;
	case HTTP_BAD:
		lose(c, "its answer is none of HTTP/1.1, or too long", now);
		break;
	case HTTP_DONE:
		c->state = CONN_IDLE;
		c->served = true;
		/* Answered before the whole request has left: the rest would be the next one. */
		if (!c->reader.keep || c->sent < c->len)
			down(c, now);
		c->ops->reply(c->owner, c);
	}
}

static void read_more(struct conn *c, struct mono now)
{
	size_t room;
	char *at = http_room(&c->reader, &room);
	ssize_t n = at ? recv(c->fd, at, room, 0) : -1;

	if (!at)
		lose(c, "its answer is too long", now);
	else if (n > 0)
		take(c, (size_t)n, now);
	else if (!n)
		lose(c, "it closed the connection", now);
	else if (errno != EAGAIN && errno != EINTR)
		lose(c, strerror(errno), now);
}

/* Nothing was asked: the other side has closed it, or says something by itself. */
static void unasked(struct conn *c, struct mono now)
{
	down(c, now);
}

void conn_event(struct conn *c, uint32_t events, struct mono now)
{
	switch (c->state) {
	case CONN_DOWN:
		break;
	case CONN_CONNECTS:
		finish_connecting(c, now);
		break;
	case CONN_IDLE:
		unasked(c, now);
		break;
	case CONN_BUSY:
		if (events & EPOLLOUT)
			write_more(c, now);
		if (c->state == CONN_BUSY && events & ~(uint32_t)EPOLLOUT)
			read_more(c, now);
	}
}

void conn_tick(struct conn *c, struct mono now)
{
	if (c->state == CONN_IDLE || mono_sub(now, c->due) < 0)
		return;
	if (c->state == CONN_DOWN)
		start_connecting(c, now);
	else if (c->state == CONN_CONNECTS)
		refuse(c, ETIMEDOUT, now);
	else
		lose(c, "there was no answer in time", now);
}
