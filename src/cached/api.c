// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * api: the HTTP server: connections, their limits, and what is no good HTTP. See api.h.
 *
 *	evhttp -> on_request: framing -> api_serve (api_call.c) -> api_reply
 *
 * evhttp limits neither connections nor how long one takes for a request. It tells nobody of a new
 * connection, but asks for a bufferevent for each (on_bufferevent). So this file keeps a reference
 * to each bufferevent: by it connections are counted, and closed as after a timeout. When evhttp
 * has let it go, its callbacks are gone (sweep).
 *
 * A connection serves one request after another. While a call is under way evhttp does not read
 * from it; so a client that hangs up is noticed when it is answered, and its update goes on.
 */
#define _GNU_SOURCE
#include "src/cached/api.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/cached/api_priv.h"

enum { READ_ONCE = 64 << 10 }; /* bytes, in one turn of the loop */

/* What follows on the connection may be anything: it is closed. */
static void refuse_framing(struct evhttp_request *req, const char *text)
{
	api_reply(req, 400, api_error("http", text), true);
}

/* --- connections --------------------------------------------------------- */

static bool is_gone(const struct api_conn *k)
{
	bufferevent_event_cb on_event = NULL;

	bufferevent_getcb(k->bev, NULL, NULL, &on_event, NULL);
	return !on_event;
}

static void forget_conn(struct api_conn *k)
{
	TAILQ_REMOVE(&k->a->conns, k, all);
	api_wire_forget(k);
	bufferevent_decref(k->bev); /* closes the descriptor */
	free(k);
}

/* Those that evhttp has let go. */
static void sweep(struct api *a)
{
	for (struct api_conn *k = TAILQ_FIRST(&a->conns), *next; k; k = next) {
		next = TAILQ_NEXT(k, all);
		if (is_gone(k))
			forget_conn(k);
	}
}

/* evhttp closes it as after a timeout, without a reply. It has no call under way. */
static void hang_up(struct api_conn *k)
{
	bufferevent_trigger_event(k->bev, BEV_EVENT_READING | BEV_EVENT_TIMEOUT, 0);
}

static struct bufferevent *on_bufferevent(struct event_base *base, void *arg)
{
	struct api *a = arg;
	struct api_conn *k = calloc(1, sizeof(*k));
	struct bufferevent *bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);

	if (k && bev) {
		k->a = a;
		k->bev = bev;
	}
	if (!k || !bev || !api_wire_watch(k)) {
		if (k && bev)
			api_wire_forget(k);
		free(k);
		return bev;
	}
	k->since = a->clock.now(&a->clock);
	bufferevent_incref(bev);
	bufferevent_set_max_single_read(bev, READ_ONCE);
	/* Also of what nobody reads any more. */
	bufferevent_setwatermark(bev, EV_READ, 0, API_BODY_MAX + API_HEADERS_MAX);
	TAILQ_INSERT_TAIL(&a->conns, k, all);
	event_active(a->came, EV_TIMEOUT, 0);
	return bev;
}

/* Clients can cause refusals at any rate: log one a minute. */
static bool may_log(struct api *a)
{
	struct mono now = a->clock.now(&a->clock);

	if (a->logged.ns && mono_sub(now, a->logged) < 60 * NS_PER_S)
		return false;
	a->logged = now;
	return true;
}

/* One sentence fits the empty buffer of a socket. If it does not, do not wait. */
static void refuse_connection(struct api_conn *k, const char *status, const char *word,
			      const char *why)
{
	char text[512], body[256];
	int n = snprintf(body, sizeof(body), "{\"error\":\"%s\",\"why\":\"%s\"}", why, word);

	n = snprintf(text, sizeof(text),
		     "HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
		     "Content-Length: %d\r\nConnection: close\r\n\r\n%s",
		     status, n, body);
	if (send(bufferevent_getfd(k->bev), text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		errno = 0; /* the client is gone already */
	if (may_log(k->a))
		log_msg(k->a->log, LOG_LVL_WARNING, "HTTP: process %d of user %u: %s",
			(int)k->peer.pid, k->peer.uid, why);
	hang_up(k);
	api_wire_is_read(k);
}

static void refuse_newest(struct api_conn *k, const char *why)
{
	k->a->conns_refused++;
	refuse_connection(k, "503 Service Unavailable", "busy", why);
}

/* It grew. Perhaps its request is read by now, or others have gone. */
static void refuse_excess(struct api_conn *k)
{
	k->grew = false;
	if (k->call || is_gone(k) || !api_wire_excess(k))
		return;
	k->a->bodies_refused++;
	if (api_may_write(k))
		refuse_connection(k, "503 Service Unavailable", "busy",
				  "all requests that are under way are too large together: send "
				  "fewer at once, and try again");
	else
		refuse_connection(k, "403 Forbidden", "not_allowed",
				  "this user may send at most 16 KiB: do it as root, or in the "
				  "group of \\\"socket_group\\\"");
}

/* Whether there is room for the newest connection. Some places are for root alone. */
static void admit(struct api_conn *k)
{
	uint32_t all = 0, others = 0;
	struct api_conn *i;

	k->known = !listen_peer(bufferevent_getfd(k->bev), k->a->gid, &k->peer);
	TAILQ_FOREACH(i, &k->a->conns, all)
	{
		if ((!i->known && i != k) || is_gone(i))
			continue; /* it came behind this one, or was refused before it */
		all++;
		others += !i->peer.root;
	}
	if (!k->known)
		hang_up(k);
	else if (all > API_CONNS_MAX)
		refuse_newest(k, "too many connections are open: close some, and try again");
	else if (!k->peer.root && others > API_CONNS_MAX - API_CONNS_ROOT)
		refuse_newest(k, "too many connections of users other than root are open: "
				 "close some, and try again");
}

static void on_came(evutil_socket_t fd, short what, void *arg)
{
	struct api *a = arg;

	(void)fd;
	(void)what;
	sweep(a);
	for (struct api_conn *k = TAILQ_FIRST(&a->conns), *next; k; k = next) {
		next = TAILQ_NEXT(k, all);
		if (!k->known)
			admit(k);
		else if (k->grew)
			refuse_excess(k);
	}
	sweep(a);
}

void api_second(struct api *a, struct mono now)
{
	sweep(a);
	for (struct api_conn *k = TAILQ_FIRST(&a->conns), *next; k; k = next) {
		next = TAILQ_NEXT(k, all);
		if (!k->call && mono_sub(now, k->since) > API_IDLE_S * NS_PER_S)
			hang_up(k);
	}
	sweep(a);
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct api *a = arg;

	(void)fd;
	(void)what;
	evconnlistener_enable(evhttp_bound_socket_get_listener(a->bound));
	api_second(a, a->clock.now(&a->clock));
}

/* Such as no descriptors: the listener would call again and again. A second later it is enabled. */
static void on_accept_error(struct evconnlistener *l, void *arg)
{
	(void)arg;
	evconnlistener_disable(l);
}

/* --- requests --------------------------------------------------------- */

static bool is_token(const char *s)
{
	return s[0] && !s[strspn(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ")];
}

/*
 * Where a request ends must be clear to anyone. evhttp takes the first of two lengths, also "+5",
 * and a header whose name ends with a space is none to it. It is too late to read no body, but the
 * connection is closed, so what follows is no request. A sentence; NULL: it is clear.
 */
static const char *why_unclear(struct evhttp_request *req)
{
	const struct evkeyval *h;
	uint32_t lengths = 0;

	TAILQ_FOREACH(h, evhttp_request_get_input_headers(req), next)
	{
		if (!is_token(h->key))
			return "a header has no good name: write NAME: VALUE";
		if (!strcasecmp(h->key, "Transfer-Encoding"))
			return "Transfer-Encoding is not served: send Content-Length";
		if (strcasecmp(h->key, "Content-Length") != 0)
			continue;
		if (lengths++)
			return "there are two Content-Length: send one";
		if (!h->value[0] || h->value[strspn(h->value, "0123456789")])
			return "Content-Length is no number: send the body's bytes, in decimal";
	}
	if (!lengths && evhttp_request_get_command(req) == EVHTTP_REQ_POST)
		return "there is no Content-Length: send the body's bytes, in decimal";
	return NULL;
}

static struct api_conn *conn_of(const struct api *a, struct evhttp_request *req)
{
	const struct bufferevent *bev =
		evhttp_connection_get_bufferevent(evhttp_request_get_connection(req));
	struct api_conn *k;

	TAILQ_FOREACH(k, &a->conns, all)
	if (k->bev == bev)
		break;
	return k;
}

/* Of all others, evhttp does not read a body, and what follows may be one. */
static bool has_good_method(const struct evhttp_request *req)
{
	enum evhttp_cmd_type method = evhttp_request_get_command(req);

	return method == EVHTTP_REQ_GET || method == EVHTTP_REQ_POST || method == EVHTTP_REQ_DELETE;
}

static void on_request(struct evhttp_request *req, void *arg)
{
	struct api *a = arg;
	struct api_conn *k = conn_of(a, req);
	const char *unclear = why_unclear(req);

	if (!k || !k->known) {
		api_reply(req, 500, NULL, true); /* there was no memory to know whose it is */
		return;
	}
	k->since = a->clock.now(&a->clock);
	k->served = true;
	api_wire_is_read(k);
	if (!has_good_method(req))
		api_reply(req, 405,
			  api_error("method", "no path is served with this method: use GET, POST "
					      "or DELETE"),
			  true);
	else if (unclear)
		refuse_framing(req, unclear);
	else
		api_serve(k, req);
}

/* --- the whole --------------------------------------------------------- */

/* Owns fd. */
static int start_http(struct api *a, int fd)
{
	const struct timeval second = { .tv_sec = 1 };

	a->http = evhttp_new(a->base);
	a->came = event_new(a->base, -1, 0, on_came, a);
	a->second = event_new(a->base, -1, EV_PERSIST, on_second, a);
	if (a->http && a->came && a->second)
		a->bound = evhttp_accept_socket_with_handle(a->http, fd);
	if (!a->bound) {
		close(fd);
		return -ENOMEM;
	}
	evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(a->bound), on_accept_error);
	evhttp_set_default_content_type(a->http, NULL);
	evhttp_set_max_headers_size(a->http, API_HEADERS_MAX);
	evhttp_set_max_body_size(a->http, API_BODY_MAX);
	evhttp_set_allowed_methods(a->http, UINT16_MAX); /* api_serve says what it does not know */
	evhttp_set_timeout(a->http, API_IDLE_S);
	evhttp_set_bevcb(a->http, on_bufferevent, a);
	evhttp_set_gencb(a->http, on_request, a);
	return event_add(a->second, &second);
}

int api_open(struct api **out, const struct cached_conf *c, const struct api_parts *parts,
	     struct event_base *base, struct log *log, struct conf_error *e)
{
	const struct listen_conf to = { .setting = "socket",
					.path = c->socket,
					.group_setting = "socket_group",
					.group = c->socket_group,
					.type = SOCK_STREAM };
	struct api *a = calloc(1, sizeof(*a));
	int fd, rc;

	if (!a) {
		conf_error_set(e, RESEX_FAILURE, "no memory for the HTTP API");
		return -ENOMEM;
	}
	a->parts = *parts;
	a->cluster = &c->cluster;
	a->base = base;
	a->log = log;
	clock_real(&a->clock);
	TAILQ_INIT(&a->conns);
	TAILQ_INIT(&a->calls);
	strcpy(a->path, c->socket);
	strcpy(a->group_name, c->socket_group);
	fd = listen_unix(&to, &a->gid, e);
	if (fd < 0) {
		free(a);
		return fd;
	}
	a->listens = true;
	rc = start_http(a, fd);
	if (rc) {
		conf_error_set(e, RESEX_FAILURE, "no memory for the HTTP API");
		api_close(a);
	} else {
		*out = a;
	}
	return rc;
}

void api_close(struct api *a)
{
	if (!a)
		return;
	if (a->http)
		evhttp_free(a->http); /* closes all connections: on_close */
	for (struct api_call *c = TAILQ_FIRST(&a->calls), *next; c; c = next) {
		next = TAILQ_NEXT(c, all);
		if (c->req)
			evhttp_request_free(c->req);
		api_call_forget(c);
	}
	for (struct api_conn *k = TAILQ_FIRST(&a->conns), *next; k; k = next) {
		next = TAILQ_NEXT(k, all);
		forget_conn(k);
	}
	if (a->came)
		event_free(a->came);
	if (a->second)
		event_free(a->second);
	if (a->listens)
		unlink(a->path);
	free(a);
}
