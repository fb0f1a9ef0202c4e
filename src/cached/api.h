/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api: HTTP with JSON bodies on a UNIX socket: fills, updates, and what people see and steer
 * (man resex-cached(8), HTTP API). By libevent's evhttp, in the loop's thread.
 *
 * Any user who may open the socket may read. The kernel gives the user of each connection: fills,
 * updates and invalidations are for root, this process's user and the socket's group; removals for
 * root alone. Clients are hostile: connections, headers, bodies and times are bounded.
 */
#ifndef RESEX_CACHED_API_H
#define RESEX_CACHED_API_H

#include "src/cached/app.h"
#include "src/cached/events.h"
#include "src/cached/proxy.h"

enum {
	API_CONNS_MAX = 128, /* at once */
	API_CONNS_ROOT = 16, /* of these, for root alone */
	API_BODY_MAX = 2 << 20,
	API_BODIES_MAX = 16 << 20, /* of all requests that are not read to their end */
	API_HEADERS_MAX = 16 << 10,
	API_IDLE_S = 60, /* a connection must have made a request, or read its reply, within */
};

struct api;

/* What the paths are about. One of app and proxy is NULL. All outlive the API; see api_close. */
struct api_parts {
	struct app *app;
	struct proxy *proxy;
	const struct events *events;
};

/* Listens at c->socket. The process ignores SIGPIPE. 0, or -errno with e filled. */
int api_open(struct api **a, const struct cached_conf *c, const struct api_parts *parts,
	     struct event_base *base, struct log *log, struct conf_error *e);
/*
 * Closes all connections and removes the socket. Requests under way are not answered: call it after
 * app_close, which calls no done any more. NULL: does nothing.
 */
void api_close(struct api *a);

/* Closes connections that idle, trickle or do not read. It calls itself once a second. */
void api_second(struct api *a, struct mono now);

#endif
