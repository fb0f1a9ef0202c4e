// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * server: HTTP by libevent's evhttp, all in one thread; requests are answered by the pool. See
 * auction.h.
 *
 * While a request is answered, its client may go. libevent frees the request then, so the job
 * forgets it: on_close. Headers and bodies are bounded; so is the number of connections, by that of
 * descriptors: without one, nothing is accepted for a while.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "resex/exit.h"
#include "src/auction/pool.h"

enum { HEADERS_MAX = 16384, IDLE_S = 60, CONNECTIONS = 1024, PAUSE_MS = 100 };

struct server {
	const struct auction_options *o;
	const struct log *log;
	struct event_base *base;
	struct evhttp *http;
	struct pool *pool;
	struct event *done, *stop[2], *again;
	struct evconnlistener *listener;
	uint16_t port;
};

static void free_job(struct job *j)
{
	free(j->request.body);
	free(j->reply.text);
	free(j);
}

static void free_text(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	free(arg);
}

/* --- requests --- */

/* The client has gone, and libevent frees the request. */
static void on_close(struct evhttp_connection *c, void *arg)
{
	struct job *j = arg;

	(void)c;
	j->owner = NULL;
}

static void send_answer(struct evhttp_request *q, struct auction_reply *r)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(q);
	struct evbuffer *body = evbuffer_new();

	evhttp_add_header(headers, "Content-Type",
			  r->status == 200 && r->len && *r->text == '<'
				  ? "text/html; charset=utf-8"
				  : "text/plain; charset=utf-8");
	if (*r->version)
		evhttp_add_header(headers, "resex-version", r->version);
	if (body && r->text && !evbuffer_add_reference(body, r->text, r->len, free_text, r->text))
		r->text = NULL; /* the buffer frees it */
	evhttp_send_reply(q, r->status, NULL, body);
	if (body)
		evbuffer_free(body);
}

static void on_done(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	struct job *j = pool_take(s->pool);

	(void)fd;
	(void)what;
	while (j) {
		struct job *next = j->next;
		struct evhttp_request *q = j->owner;

		if (q) {
			evhttp_connection_set_closecb(evhttp_request_get_connection(q), NULL, NULL);
			send_answer(q, &j->reply);
		}
		free_job(j);
		j = next;
	}
}

static char *copy_body(struct evhttp_request *q)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(q);
	size_t len = evbuffer_get_length(in);
	char *body = malloc(len + 1);

	if (!body)
		return NULL;
	evbuffer_copyout(in, body, len);
	body[len] = 0;
	return body;
}

/* Texts of a request, as far as they have room; what is cut names no page. */
static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

static void on_request(struct evhttp_request *q, void *arg)
{
	struct server *s = arg;
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(q));
	struct job *j = calloc(1, sizeof(*j));

	if (!j) {
		evhttp_send_error(q, HTTP_SERVUNAVAIL, "no memory");
		return;
	}
	j->owner = q;
	j->request.post = evhttp_request_get_command(q) == EVHTTP_REQ_POST;
	copy_text(j->request.path, sizeof(j->request.path), path);
	copy_text(j->request.page, sizeof(j->request.page),
		  evhttp_find_header(evhttp_request_get_input_headers(q), "resex-page"));
	j->request.body = copy_body(q);
	evhttp_connection_set_closecb(evhttp_request_get_connection(q), on_close, j);
	if (j->request.body && pool_give(s->pool, j))
		return;
	evhttp_connection_set_closecb(evhttp_request_get_connection(q), NULL, NULL);
	free_job(j);
	evhttp_send_error(q, HTTP_SERVUNAVAIL, "too many requests wait");
}

/* --- listening --- */

static void listen_again(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	evconnlistener_enable(s->listener);
}

static void on_accept_error(struct evconnlistener *l, void *arg)
{
	struct server *s = arg;
	struct timeval pause = { .tv_usec = PAUSE_MS * 1000 };

	evconnlistener_disable(l);
	event_add(s->again, &pause);
}

static int listen_at(struct server *s, char *host, const char *port)
{
	struct evhttp_bound_socket *bound;
	struct sockaddr_storage at = { 0 };
	socklen_t len = sizeof(at);
	char *end;
	unsigned long n = strtoul(port, &end, 10);

	if (!*port || *end || n > 65535)
		return -EINVAL;
	bound = evhttp_bind_socket_with_handle(s->http, host, (uint16_t)n);
	if (!bound)
		return errno ? -errno : -EADDRNOTAVAIL;
	s->listener = evhttp_bound_socket_get_listener(bound);
	evconnlistener_set_error_cb(s->listener, on_accept_error);
	if (getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&at, &len))
		return -errno;
	s->port = ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
						 : ((struct sockaddr_in *)&at)->sin_port);
	return 0;
}

/* "127.0.0.1:8080", "[::1]:8080"; port 0: any. */
static int open_listener(struct server *s)
{
	char host[128], *colon, *from = host;
	size_t len;
	int rc;

	copy_text(host, sizeof(host), s->o->listen);
	colon = strrchr(host, ':');
	if (colon)
		*colon = 0;
	len = strlen(host);
	if (len > 2 && *host == '[' && host[len - 1] == ']') {
		host[len - 1] = 0;
		from++;
	}
	rc = colon && len ? listen_at(s, from, colon + 1) : -EINVAL;
	if (rc)
		log_msg(s->log, LOG_LVL_ERROR,
			"--listen %s: %s: give ADDRESS:PORT of this machine, as 127.0.0.1:8080",
			s->o->listen, strerror(-rc));
	return rc;
}

static void limit_connections(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	r.rlim_cur = 4 * AUCTION_THREADS_MAX + CONNECTIONS;
	if (r.rlim_cur > r.rlim_max)
		r.rlim_cur = r.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &r);
}

/* --- begin and end --- */

static void on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	event_base_loopbreak(s->base);
}

static int add_events(struct server *s)
{
	static const int signals[] = { SIGINT, SIGTERM };

	s->done = event_new(s->base, pool_fd(s->pool), EV_READ | EV_PERSIST, on_done, s);
	s->again = event_new(s->base, -1, 0, listen_again, s);
	if (!s->done || !s->again || event_add(s->done, NULL))
		return -ENOMEM;
	for (size_t i = 0; i < 2; i++) {
		s->stop[i] = evsignal_new(s->base, signals[i], on_signal, s);
		if (!s->stop[i] || event_add(s->stop[i], NULL))
			return -ENOMEM;
	}
	return 0;
}

static int open_server(struct server *s)
{
	int rc;

	s->base = event_base_new();
	s->http = s->base ? evhttp_new(s->base) : NULL;
	if (!s->http)
		return -ENOMEM;
	evhttp_set_allowed_methods(s->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST);
	evhttp_set_max_headers_size(s->http, HEADERS_MAX);
	evhttp_set_max_body_size(s->http, AUCTION_BODY_MAX);
	evhttp_set_timeout(s->http, IDLE_S);
	evhttp_set_gencb(s->http, on_request, s);
	rc = pool_open(&s->pool, s->o, s->log);
	if (!rc)
		rc = add_events(s);
	if (rc)
		log_msg(s->log, LOG_LVL_ERROR, "cannot start: %s", strerror(-rc));
	return rc ? rc : open_listener(s);
}

static void close_server(struct server *s)
{
	if (s->pool) {
		pool_stop(s->pool);
		on_done(-1, 0, s); /* what was answered goes out, as far as it does at once */
		event_base_loop(s->base, EVLOOP_NONBLOCK);
	}
	if (s->http)
		evhttp_free(s->http);
	for (size_t i = 0; i < 2; i++)
		if (s->stop[i])
			event_free(s->stop[i]);
	if (s->done)
		event_free(s->done);
	if (s->again)
		event_free(s->again);
	if (s->base)
		event_base_free(s->base);
	pool_close(s->pool);
}

int auction_serve(const struct auction_options *o, const struct log *log)
{
	struct server s = { .o = o, .log = log };
	int rc;

	signal(SIGPIPE, SIG_IGN);
	limit_connections();
	rc = open_server(&s);
	if (!rc) {
		printf("resex-auction: listens at port %u\n", s.port);
		fflush(stdout);
		event_base_dispatch(s.base);
	}
	close_server(&s);
	return rc ? RESEX_FAILURE : RESEX_OK;
}
