// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * act_agent: see act_agent.h. A connection is served when its line is there, mostly at once, and
 * closed. Of those that are silent the oldest is closed when there are too many.
 */
#define _GNU_SOURCE
#include "src/reconf/act_agent.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CONNECTIONS_MAX = 64,
	ACCEPTS_MAX = 64, /* in one work() */
	BACKLOG = 512,	  /* each server may ask at once */
	INITIAL = HAPROXY_WEIGHT_MAX,
};

static const int64_t pause_min_ns = 100 * NS_PER_MS, pause_max_ns = 5 * NS_PER_S;
/* Five times the interval at which HAProxy asks, if it is not told another. */
static const int64_t gone_ns = 10 * NS_PER_S;

struct connection {
	int fd; /* -1: the place is free */
	uint32_t len;
	struct mono began;
	char text[AGENT_LINE_MAX];
};

struct asked {
	bool ever;
	struct mono at;	     /* the newest time */
	uint16_t told;	     /* the newest weight that it was told; INITIAL: none */
	enum act_want admin; /* the newest state that it was told; ACT_KEEP: none */
};

struct act {
	struct act_conf conf;
	int epoll, fd;
	struct mono again; /* not listening: when to try; 0: at once */
	int64_t pause_ns;
	struct mono now; /* of the newest work, read or put */
	struct connection connection[CONNECTIONS_MAX];
	struct asked asked[HAPROXY_SERVERS_MAX];
	struct act_server server[HAPROXY_SERVERS_MAX];
	uint16_t put[HAPROXY_SERVERS_MAX];
	enum act_want want[HAPROXY_SERVERS_MAX];
	struct mono put_until; /* answered until then; 0: nothing was put */
	bool heard;	       /* HAProxy asks */
	uint64_t connections, reads, sets, failures;
	struct mono read;
	char broken[HAPROXY_NOTE_MAX]; /* it cannot listen; "" */
	struct mono wrong_at;
	char wrong[HAPROXY_NOTE_MAX]; /* the newest request that got no answer; "" */
};

/* --- a request --------------------------------------------------------------------------- */

/* Does text begin with name? The rest is after it; NULL: it does not. */
static const char *after(const char *text, const char *end, const char *name)
{
	size_t n = strlen(name);

	return (size_t)(end - text) >= n && !memcmp(text, name, n) ? text + n : NULL;
}

int agent_find(const struct act_conf *c, const char *text, size_t len)
{
	const char *end = memchr(text, '\n', len), *name;

	if (!end)
		return len < AGENT_LINE_MAX ? -EAGAIN : -EMSGSIZE;
	if (end > text && end[-1] == '\r')
		end--;
	name = after(text, end, c->backend);
	if (!name || name == end || *name++ != '/')
		return -ENOENT;
	for (uint32_t i = 0; i < c->servers; i++)
		if (after(name, end, c->server[i]) == end)
			return (int)i;
	return -ENOENT;
}

/* What came, as far as it can be shown. */
static void show(char *to, size_t size, const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && n + 1 < size && n < 40 && text[n] != '\n') {
		to[n] = isprint((unsigned char)text[n]) ? text[n] : '?';
		n++;
	}
	to[n] = '\0';
}

static void note_wrong(struct act *a, const struct connection *c)
{
	char shown[48];

	show(shown, sizeof(shown), c->text, c->len);
	a->wrong_at = a->now;
	snprintf(
		a->wrong, sizeof(a->wrong),
		c->len ? "a request at 127.0.0.1:%u says \"%s\", which names no server here: write "
			 "agent-send \"%s/%s\\n\", with its own name, at each server in haproxy.cfg"
		       : "a request at 127.0.0.1:%u says nothing%s: write agent-send \"%s/%s\\n\", "
			 "with its own name, at each server in haproxy.cfg",
		a->conf.port, shown, a->conf.backend, a->conf.server[0]);
}

static uint32_t percent(uint16_t weight)
{
	uint32_t p = (weight * 100u + INITIAL / 2) / INITIAL;

	return weight && !p ? 1 : p;
}

static void answer(struct act *a, int fd, uint32_t server)
{
	static const char *const word[] = {
		[ACT_KEEP] = "",
		[ACT_SERVE] = "ready ",
		[ACT_DRAIN] = "drain ",
		[ACT_OUT] = "maint ",
	};
	struct asked *s = &a->asked[server];
	enum act_want want = a->want[server];
	char line[16] = "\n";

	if (mono_sub(a->put_until, a->now) > 0)
		snprintf(line, sizeof(line), "%s%u%%\n", word[want], percent(a->put[server]));
	s->ever = true;
	s->at = a->now;
	if (send(fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)strlen(line) ||
	    line[0] == '\n')
		return;
	a->sets += s->told != a->put[server];
	s->told = a->put[server];
	if (want == ACT_KEEP)
		return;
	a->sets += s->admin != want;
	s->admin = want;
}

/* --- connections ------------------------------------------------------------------------- */

static void drop(struct act *a, struct connection *c)
{
	/* A forked child may still hold the descriptor: closing alone does not remove it. */
	epoll_ctl(a->epoll, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	c->fd = -1;
}

/* False: it is served, or of no use, and closed. */
static bool serve(struct act *a, struct connection *c)
{
	ssize_t n = recv(c->fd, c->text + c->len, sizeof(c->text) - c->len, MSG_DONTWAIT);
	int server;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	c->len += n > 0 ? (uint32_t)n : 0;
	server = agent_find(&a->conf, c->text, c->len);
	if (server == -EAGAIN && n > 0)
		return true;
	if (server >= 0)
		answer(a, c->fd, (uint32_t)server);
	else if (c->len)
		note_wrong(a, c);
	drop(a, c);
	return false;
}

/* A place that is free, if need be that of the oldest. */
static struct connection *place(struct act *a)
{
	struct connection *oldest = a->connection;

	for (uint32_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &a->connection[i];

		if (c->fd < 0)
			return c;
		if (mono_sub(c->began, oldest->began) < 0)
			oldest = c;
	}
	drop(a, oldest);
	return oldest;
}

/* It is tried again after a pause, which grows. */
static void stop_listening(struct act *a)
{
	if (a->fd >= 0) {
		epoll_ctl(a->epoll, EPOLL_CTL_DEL, a->fd, NULL);
		close(a->fd);
		a->fd = -1;
	}
	a->failures++;
	a->again = mono_add(a->now, a->pause_ns);
	a->pause_ns = a->pause_ns < pause_max_ns / 2 ? a->pause_ns * 2 : pause_max_ns;
}

/* Connections would wait there for ever, and the listener be readable. */
static void fail_to_accept(struct act *a)
{
	snprintf(a->broken, sizeof(a->broken),
		 "cannot take connections at port %u of 127.0.0.1: %s: see the limits of resexd",
		 a->conf.port, strerror(errno));
	stop_listening(a);
}

/* True: there may be more. */
static bool accept_all(struct act *a)
{
	for (uint32_t i = 0; i < ACCEPTS_MAX; i++) {
		int fd = accept4(a->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct epoll_event ev = { .events = EPOLLIN };
		struct connection *c;

		if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			fail_to_accept(a);
		if (fd < 0)
			return a->fd >= 0 && errno != EAGAIN;
		c = place(a);
		*c = (struct connection){ .fd = fd, .began = a->now };
		if (!serve(a, c))
			continue;
		if (epoll_ctl(a->epoll, EPOLL_CTL_ADD, fd, &ev))
			drop(a, c);
	}
	return true;
}

/* Those that were silent for too long. Returns ns until the next one is. */
static int64_t expire(struct act *a)
{
	int64_t ns = INT64_MAX;

	for (uint32_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &a->connection[i];
		int64_t left = a->conf.timeout_ns - mono_sub(a->now, c->began);

		if (c->fd < 0)
			continue;
		if (left > 0) {
			ns = left < ns ? left : ns;
			continue;
		}
		note_wrong(a, c);
		drop(a, c);
	}
	return ns;
}

/* --- the listener -------------------------------------------------------------------------- */

static int try_listen(struct act *a)
{
	const struct sockaddr_in at = { .sin_family = AF_INET,
					.sin_port = htons(a->conf.port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event ev = { .events = EPOLLIN };
	int one = 1;

	a->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (a->fd < 0)
		return errno;
	setsockopt(a->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(a->fd, (const struct sockaddr *)&at, sizeof(at)) || listen(a->fd, BACKLOG) ||
	    epoll_ctl(a->epoll, EPOLL_CTL_ADD, a->fd, &ev))
		return errno;
	return 0;
}

static void listen_now(struct act *a)
{
	int error = try_listen(a);

	a->broken[0] = '\0';
	if (!error) {
		a->pause_ns = pause_min_ns;
		return;
	}
	stop_listening(a);
	snprintf(a->broken, sizeof(a->broken),
		 error == EADDRINUSE
			 ? "port %u of 127.0.0.1 is in use (%s): end that program, or give another "
			   "\"port\", also as agent-port in haproxy.cfg"
			 : "cannot listen at port %u of 127.0.0.1: %s: give another \"port\", "
			   "also as agent-port in haproxy.cfg",
		 a->conf.port, strerror(error));
}

/* --- the interface ------------------------------------------------------------------------- */

static bool conf_good(const struct act_conf *c)
{
	if (!c->servers || c->servers > HAPROXY_SERVERS_MAX || c->timeout_ns <= 0 || !c->port)
		return false;
	for (uint32_t i = 0; i < c->servers; i++)
		if (!haproxy_name_good(c->server[i]))
			return false;
	return haproxy_name_good(c->backend);
}

static int agent_open(struct act **out, const struct act_conf *c)
{
	struct act *a;
	int rc;

	if (!conf_good(c))
		return -EINVAL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->conf = *c;
	a->fd = -1;
	a->pause_ns = pause_min_ns;
	for (uint32_t i = 0; i < CONNECTIONS_MAX; i++)
		a->connection[i].fd = -1;
	for (uint32_t i = 0; i < c->servers; i++)
		a->asked[i].told = INITIAL;
	a->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (a->epoll < 0) {
		rc = -errno;
		free(a);
		return rc;
	}
	*out = a;
	return 0;
}

static void agent_close(struct act *a)
{
	if (!a)
		return;
	for (uint32_t i = 0; i < CONNECTIONS_MAX; i++)
		if (a->connection[i].fd >= 0)
			drop(a, &a->connection[i]);
	stop_listening(a);
	close(a->epoll);
	free(a);
}

static int agent_fd(const struct act *a)
{
	return a->epoll;
}

static bool is_asked(const struct act *a, uint32_t i)
{
	return a->asked[i].ever && mono_sub(a->now, a->asked[i].at) < gone_ns;
}

static void look_whether_heard(struct act *a)
{
	bool heard = false;

	for (uint32_t i = 0; i < a->conf.servers; i++)
		heard |= is_asked(a, i);
	a->connections += heard && !a->heard;
	a->heard = heard;
}

static int64_t agent_work(struct act *a, struct mono now)
{
	bool more = false;
	int64_t ns;

	a->now = now;
	if (a->fd < 0 && mono_sub(now, a->again) >= 0)
		listen_now(a);
	for (uint32_t i = 0; i < CONNECTIONS_MAX; i++)
		if (a->connection[i].fd >= 0)
			serve(a, &a->connection[i]);
	if (a->fd >= 0)
		more = accept_all(a);
	ns = expire(a);
	look_whether_heard(a);
	if (more)
		return 0;
	if (a->fd < 0 && mono_sub(a->again, now) < ns)
		ns = mono_sub(a->again, now);
	return ns;
}

static int agent_read(struct act *a, struct mono now)
{
	a->now = now;
	look_whether_heard(a);
	if (!a->heard)
		return -ENOTCONN;
	for (uint32_t i = 0; i < a->conf.servers; i++) {
		bool asked = is_asked(a, i);

		a->server[i] = (struct act_server){
			.there = asked,
			.up = asked,
			.admin = asked ? a->asked[i].admin : ACT_KEEP,
			.weight = a->asked[i].told,
			.initial = INITIAL,
		};
	}
	a->reads++;
	a->read = now;
	return 0;
}

static int agent_put(struct act *a, const uint16_t *weight, const enum act_want *want,
		     struct mono now)
{
	a->now = now;
	if (!act_put_good(weight, want, a->conf.servers))
		return -EINVAL;
	if (!a->reads || !a->heard)
		return -ENOTCONN;
	memcpy(a->put, weight, a->conf.servers * sizeof(*weight));
	for (uint32_t i = 0; i < a->conf.servers; i++)
		a->want[i] = want ? want[i] : ACT_KEEP;
	a->put_until = mono_add(now, a->conf.hold_ns);
	return 0;
}

static void agent_hold(struct act *a, int64_t hold_ns)
{
	a->conf.hold_ns = hold_ns;
}

static void note(const struct act *a, char *text, size_t size)
{
	bool wrong = a->wrong[0] && mono_sub(a->now, a->wrong_at) < gone_ns;

	text[0] = '\0';
	if (a->broken[0] || wrong) {
		snprintf(text, size, "%s", a->broken[0] ? a->broken : a->wrong);
		return;
	}
	for (uint32_t i = 0; i < a->conf.servers && !text[0]; i++)
		if (!is_asked(a, i))
			snprintf(text, size,
				 "HAProxy does not ask for server %s: write agent-check agent-addr "
				 "127.0.0.1 agent-port %u agent-send \"%s/%s\\n\" there in "
				 "haproxy.cfg",
				 a->conf.server[i], a->conf.port, a->conf.backend,
				 a->conf.server[i]);
}

static void agent_see(const struct act *a, struct act_seen *s)
{
	*s = (struct act_seen){
		.state = a->fd >= 0 && a->heard ? ACT_READY : ACT_DOWN,
		.connections = a->connections,
		.reads = a->reads,
		.read = a->read,
		.sets = a->sets,
		.failures = a->failures,
		.server = a->server,
	};
	note(a, s->note, sizeof(s->note));
}

const struct act_ops act_agent = {
	.shared = false,
	.leave_ns = 3 * NS_PER_S, /* HAProxy asks each 2 s, if it is not told otherwise */
	.open = agent_open,
	.close = agent_close,
	.fd = agent_fd,
	.work = agent_work,
	.read = agent_read,
	.put = agent_put,
	.see = agent_see,
	.hold = agent_hold,
};
