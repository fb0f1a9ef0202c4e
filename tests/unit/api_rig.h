/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * api_rig: the HTTP API in the test's own libevent loop, real connections to it, and a fake app
 * behind it. Hosts of cluster.json: app1 (1), app2 (2), front (9), a proxy.
 */
#ifndef RESEX_TESTS_API_RIG_H
#define RESEX_TESTS_API_RIG_H

#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "src/cached/api.h"
#include "src/util/clock.h"
#include "tests/fakes/fake_app.h"
#include "tests/unit/tmpdir.h"

enum { REPLY_MAX = 4 << 20 };

struct rig {
	struct tmpdir dir;
	struct event_base *base;
	struct log log;
	struct cached_conf *conf;
	struct app app;
	struct proxy proxy;
	struct events *events;
	struct api *api;
	struct conf_error e;
	/* Of the newest reply. */
	char buf[REPLY_MAX];
	size_t len;
	int status;	  /* 0: none came */
	const char *body; /* "" of none */
	char error[1024]; /* of assert_refused: the sentence */
};

static inline void add_host(struct cluster_conf *c, const char *name, uint16_t number,
			    uint32_t role)
{
	struct cluster_cached *h = &c->cached[c->caches++];

	strcpy(h->name, name);
	h->number = number;
	h->role = role;
}

static inline void open_api(struct rig *r, bool is_proxy)
{
	struct api_parts parts = { .app = is_proxy ? NULL : &r->app,
				   .proxy = is_proxy ? &r->proxy : NULL,
				   .events = r->events };

	if (api_open(&r->api, r->conf, &parts, r->base, &r->log, &r->e))
		fail_msg("%s", r->e.text);
}

static inline int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	signal(SIGPIPE, SIG_IGN); /* as main does */
	r->conf = calloc(1, sizeof(*r->conf));
	assert_non_null(r->conf);
	tmp_open(&r->dir);
	strcpy(r->conf->socket, tmp_at(&r->dir, "api.sock"));
	add_host(&r->conf->cluster, "app1", 1, CLUSTER_APP);
	add_host(&r->conf->cluster, "app2", 2, CLUSTER_APP);
	add_host(&r->conf->cluster, "front", 9, CLUSTER_PROXY);
	log_init(&r->log, "test", LOG_LVL_ERROR);
	r->base = event_base_new();
	r->events = events_new();
	fake_app_open(&r->app);
	open_api(r, false);
	*state = r;
	return 0;
}

static inline int teardown(void **state)
{
	struct rig *r = *state;

	api_close(r->api);
	assert_false(tmp_exists(&r->dir, "api.sock"));
	events_free(r->events);
	event_base_free(r->base);
	tmp_close(&r->dir);
	free(r->conf);
	free(r);
	return 0;
}

static inline void loop(struct rig *r)
{
	for (int i = 0; i < 10; i++)
		event_base_loop(r->base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
}

/* Serve until a child has written a number to this pipe. -1: it has not. */
static inline int served_number(struct rig *r, int fd)
{
	int n = -1;

	for (int i = 0; i < 20000 && n < 0; i++) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		loop(r);
		if (poll(&p, 1, 1) > 0)
			assert_int_equal(read(fd, &n, sizeof(n)), sizeof(n));
	}
	return n;
}

static inline int dial_quietly(struct rig *r)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	strcpy(a.sun_path, r->conf->socket);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static inline int dial(struct rig *r)
{
	int fd = dial_quietly(r);

	loop(r);
	return fd;
}

/* All of it, if the server reads it; it may have closed the connection. */
static inline void say_bytes(struct rig *r, int fd, const char *p, size_t n)
{
	for (int idle = 0; n && idle < 100; idle++) {
		ssize_t w = send(fd, p, n, MSG_NOSIGNAL);

		if (w < 0 && errno != EAGAIN)
			break;
		if (w > 0) {
			p += w;
			n -= (size_t)w;
			idle = 0;
		}
		loop(r);
	}
	loop(r);
}

static inline void say(struct rig *r, int fd, const char *text)
{
	say_bytes(r, fd, text, strlen(text));
}

static inline void read_status(struct rig *r)
{
	const char *end = strstr(r->buf, "\r\n\r\n");

	r->status = 0;
	r->body = "";
	if (!end || sscanf(r->buf, "HTTP/1.%*d %d", &r->status) != 1)
		return;
	r->body = end + 4;
}

/* What has come until now, or comes soon. */
static inline int hear(struct rig *r, int fd)
{
	r->len = 0;
	for (int idle = 0; idle < 50 && r->len < REPLY_MAX - 1; idle++) {
		ssize_t n;

		loop(r);
		n = recv(fd, r->buf + r->len, REPLY_MAX - 1 - r->len, 0);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		if (n > 0) {
			r->len += (size_t)n;
			idle = 40; /* there may be more */
		}
	}
	r->buf[r->len] = 0;
	read_status(r);
	return r->status;
}

static inline bool is_closed(struct rig *r, int fd)
{
	char c;
	ssize_t n;

	loop(r);
	n = recv(fd, &c, 1, 0);
	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static inline void say_request(struct rig *r, int fd, const char *method, const char *path,
			       const char *body, size_t len)
{
	size_t room = strlen(path) + len + 200;
	char *text = malloc(room);
	int n;

	assert_non_null(text);
	n = snprintf(text, room, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", method,
		     path, len);
	if (len)
		memcpy(text + n, body, len);
	say_bytes(r, fd, text, (size_t)n + len);
	free(text);
}

/* On a connection of its own. Returns the status; the body is in r->body. */
static inline int ask_bytes(struct rig *r, const char *method, const char *path, const char *body,
			    size_t len)
{
	int fd = dial(r);

	say_request(r, fd, method, path, body, len);
	hear(r, fd);
	close(fd);
	loop(r);
	return r->status;
}

static inline int ask(struct rig *r, const char *method, const char *path, const char *body)
{
	return ask_bytes(r, method, path, body, strlen(body));
}

/* The body is {"error": a sentence, "why": this word}. */
static inline void assert_refused(struct rig *r, int status, const char *why)
{
	json_t *o = json_loads(r->body, JSON_REJECT_DUPLICATES, NULL);
	const char *error = json_string_value(json_object_get(o, "error"));
	const char *word = json_string_value(json_object_get(o, "why"));

	if (r->status != status || !error || !error[0] || !word)
		print_error("%d %s\n", r->status, r->body);
	assert_int_equal(r->status, status);
	assert_true(error && error[0]);
	assert_non_null(word);
	assert_string_equal(word, why);
	assert_null(strchr(error, '\n'));
	snprintf(r->error, sizeof(r->error), "%s", error);
	json_decref(o);
}

/* A good update. */
#define GOOD_BODY "{\"tags\":[\"item/5\"],\"statements\":[\"UPDATE xy\"]}"
#define POST	  "POST /v1/update HTTP/1.1\r\nHost: x\r\n"
#define GOOD	  POST "Content-Length: 46\r\n\r\n" GOOD_BODY

static_assert(sizeof(GOOD_BODY) - 1 == 46, "its length");

/* It is served. */
static inline void assert_alive(struct rig *r)
{
	uint32_t calls = r->app.calls;
	int fd = dial(r);

	say(r, fd, GOOD);
	assert_int_equal(hear(r, fd), 200);
	assert_int_equal(r->app.calls, calls + 1);
	close(fd);
	loop(r);
}

#endif
