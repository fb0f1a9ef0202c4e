/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conn: one connection that is kept, with one request at a time. It connects again by itself, 20 ms
 * after a failure.
 *
 *	DOWN -> CONNECTS -> IDLE -> BUSY -> (reply) IDLE
 *
 * What becomes of it is said by ops; each may call conn_send.
 */
#ifndef RESEX_CACHELOAD_CONN_H
#define RESEX_CACHELOAD_CONN_H

#include "src/cacheload/net.h"
#include "src/core/units.h"

enum { CONN_REQUEST_MAX = 640 };

enum conn_state { CONN_DOWN, CONN_CONNECTS, CONN_IDLE, CONN_BUSY };

struct conn;

struct conn_ops {
	/* The reader has the whole answer. The connection is IDLE, or, if it was closed, DOWN. */
	void (*reply)(void *owner, struct conn *c);
	/*
	 * There will be no answer. left: a part of the request has left. kept: it was written to
	 * a connection that had been kept, and that the other side has closed.
	 */
	void (*lost)(void *owner, struct conn *c, const char *why, bool left, bool kept);
	/* It could not connect. */
	void (*refused)(void *owner, struct conn *c, const char *why);
};

struct conn {
	const struct conn_ops *ops;
	void *owner;
	const struct net_address *to;
	int epoll, fd;
	enum conn_state state;
	bool wants_write; /* what epoll was told */
	bool served;	  /* this connection has given an answer */
	struct mono due;  /* DOWN: connect; CONNECTS, BUSY: give up */
	int64_t timeout_ns;
	struct http_reader reader;
	char request[CONN_REQUEST_MAX];
	size_t len, sent;
};

void conn_init(struct conn *c, const struct conn_ops *ops, void *owner, int epoll,
	       const struct net_address *to, int64_t timeout_ns);
void conn_free(struct conn *c);
/* IDLE: c->request, of c->len bytes, goes out. Its end may be told before this returns. */
void conn_send(struct conn *c, struct mono now);
/* epoll found events. */
void conn_event(struct conn *c, uint32_t events, struct mono now);
/* Connects when it is due, and gives up what is late. */
void conn_tick(struct conn *c, struct mono now);

#endif
