// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * act_haproxy: the connection to HAProxy's socket, and its turns: a turn is some commands, a line
 * each, sent at once, and as many replies.
 *
 *	hello	prompt; show servers state B	  once a connection: are the prompt and B there?
 *	read	show info; show servers state B; show stat ID 4 -1
 *	set	set server B/S state ready; ...; then weight N; ...; then state drain or maint; ...
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/reconf/act_haproxy.h"
#include "src/reconf/haproxy_text.h"

enum turn { TURN_NONE, TURN_HELLO, TURN_READ, TURN_SET };

enum {
	/* "set server BACKEND/SERVER state ready\n" */
	COMMAND_MAX = 24 + 2 * HAPROXY_NAME_MAX,
	SETS_MAX = 2 * HAPROXY_SERVERS_MAX, /* of each server its weight and its state */
	RECEIVE_MAX = 16384,
	RECEIVES_MAX = 4, /* in one haproxy_work(): the caller has other things to do */
};

static const int64_t pause_min_ns = 100 * NS_PER_MS, pause_max_ns = 5 * NS_PER_S;

/* What a command of a set is for. */
struct set {
	uint16_t server;
	enum act_want want; /* ACT_KEEP: its weight */
};

static const char *const want_word[] = {
	[ACT_SERVE] = "ready",
	[ACT_DRAIN] = "drain",
	[ACT_OUT] = "maint",
};

struct act {
	struct act_conf conf;
	int epoll, fd;
	uint32_t watched; /* events; 0: fd is not in epoll */
	enum turn turn;
	struct mono began; /* the turn */
	uint32_t replies, replied;
	struct mono again;	  /* not connected: when to try */
	int64_t pause_ns;	  /* after the next failure */
	bool known;		  /* read on this connection */
	uint32_t backend;	  /* its number in this HAProxy */
	struct set set[SETS_MAX]; /* as commands were sent */
	uint32_t set_good;
	struct act_server now[HAPROXY_SERVERS_MAX], next[HAPROXY_SERVERS_MAX];
	uint64_t connections, reads, sets, failures;
	struct mono read;
	/* What is wrong: with the connection, with the newest set, with conf. "": nothing. */
	char broken[HAPROXY_NOTE_MAX], refused[HAPROXY_NOTE_MAX], missing[HAPROXY_NOTE_MAX];
	struct haproxy_text text;
	size_t out_at, out_len;
	char out[SETS_MAX * COMMAND_MAX];
};

/* --- what is wrong ------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void say(char *note, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(note, HAPROXY_NOTE_MAX, fmt, ap);
	va_end(ap);
}

static void disconnect(struct act *h)
{
	if (h->fd < 0)
		return;
	/* A forked child may still hold the descriptor: closing alone does not remove it. */
	if (h->watched)
		epoll_ctl(h->epoll, EPOLL_CTL_DEL, h->fd, NULL);
	close(h->fd);
	h->fd = -1;
	h->watched = 0;
}

/* The connection is of no use; h->broken says why. */
static void fail(struct act *h, struct mono now)
{
	disconnect(h);
	h->turn = TURN_NONE;
	h->known = false;
	h->failures++;
	h->again.ns = now.ns + h->pause_ns;
	h->pause_ns = h->pause_ns < pause_max_ns / 2 ? h->pause_ns * 2 : pause_max_ns;
}

static void say_unconnected(struct act *h, int error)
{
	const char *path = h->conf.socket;

	switch (error) {
	case ENOENT:
		say(h->broken,
		    "there is no %s: start HAProxy, with \"stats socket\" of this path and \"level "
		    "admin\" in section global of haproxy.cfg",
		    path);
		break;
	case ECONNREFUSED:
		say(h->broken, "no HAProxy listens at %s: start it", path);
		break;
	case EACCES:
	case EPERM:
		say(h->broken,
		    "no right to connect to %s: let this user in, by \"user\", \"group\" or "
		    "\"mode\" of \"stats socket\" in haproxy.cfg",
		    path);
		break;
	case EAGAIN:
		say(h->broken,
		    "%s is full: HAProxy hangs, or other programs wait there: end them, or raise "
		    "\"stats maxconn\" in haproxy.cfg",
		    path);
		break;
	case ENOTSOCK:
	case EPROTOTYPE:
		say(h->broken, "%s is no socket of HAProxy's Runtime API: correct \"socket\"",
		    path);
		break;
	default:
		say(h->broken, "cannot connect to HAProxy at %s: %s", path, strerror(error));
		break;
	}
}

/* What the reply is to that h->text reads. */
static const char *command_of(const struct act *h)
{
	if (h->text.kind == HAPROXY_REPLY_INFO)
		return "show info";
	if (h->text.kind == HAPROXY_REPLY_STATE)
		return "show servers state";
	if (h->text.kind == HAPROXY_REPLY_STAT)
		return "show stat";
	return h->turn == TURN_HELLO ? "prompt" : "set server";
}

/* What is wrong with the reply in h->text. */
static void say_fault(struct act *h, char *note)
{
	const char *path = h->conf.socket, *words = h->text.words, *command = command_of(h);

	switch (h->text.fault) {
	case HAPROXY_SAID:
		if (!strcmp(words, "Permission denied"))
			say(note,
			    "HAProxy denies \"%s\" at %s: add \"level admin\" to its \"stats "
			    "socket\" in haproxy.cfg",
			    command, path);
		else if (!strcmp(words, "Can't find backend."))
			say(note,
			    "HAProxy at %s has no backend \"%s\": correct \"backend\", or "
			    "haproxy.cfg",
			    path, h->conf.backend);
		else
			say(note,
			    "HAProxy at %s answered \"%s\" by \"%s\": is \"socket\" that of its "
			    "Runtime API?",
			    path, command, words);
		break;
	case HAPROXY_LINE:
	case HAPROXY_REPLY:
		say(note,
		    "what %s answered to \"%s\" is too long: correct \"socket\", or use a backend "
		    "of fewer servers",
		    path, command);
		break;
	case HAPROXY_COLUMN:
		say(note,
		    "HAProxy's answer to \"%s\" has no column \"%s\": use HAProxy 2.6 or newer",
		    command, words);
		break;
	case HAPROXY_NUMBER:
		say(note,
		    "HAProxy's answer to \"%s\" has no good number in column \"%s\": use HAProxy "
		    "2.6 or newer",
		    command, words);
		break;
	case HAPROXY_TWICE:
		say(note,
		    "HAProxy's backend \"%s\" has two servers \"%s\": give each a name of its own "
		    "in haproxy.cfg",
		    h->conf.backend, words);
		break;
	case HAPROXY_STOPPING:
		say(note,
		    "this HAProxy of %s was told to stop, perhaps by a reload: the next connection "
		    "is to its successor",
		    path);
		break;
	case HAPROXY_NO_STOPPING:
		say(note,
		    "HAProxy's answer to \"%s\" does not have \"Stopping\": use HAProxy 2.6 or "
		    "newer",
		    command);
		break;
	default:
		say(note,
		    "HAProxy's answer to \"%s\" has a row that does not fit its header: \"%s\": "
		    "use HAProxy 2.6 or newer",
		    command, words);
		break;
	}
}

static void say_missing(struct act *h)
{
	const char *first = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->conf.servers; i++)
		if (!h->now[i].there && !n++)
			first = h->conf.server[i];
	h->missing[0] = '\0';
	if (n)
		say(h->missing,
		    "HAProxy's backend \"%s\" has no server \"%s\"%s: correct \"server\", or "
		    "haproxy.cfg",
		    h->conf.backend, first, n > 1 ? " (and others)" : "");
}

/* --- turns --------------------------------------------------------------------------------- */

static void expect_reply(struct act *h)
{
	static const enum haproxy_reply hello[] = { HAPROXY_REPLY_EMPTY, HAPROXY_REPLY_STATE };
	static const enum haproxy_reply read[] = { HAPROXY_REPLY_INFO, HAPROXY_REPLY_STATE,
						   HAPROXY_REPLY_STAT };
	enum haproxy_reply kind = HAPROXY_REPLY_EMPTY;

	if (h->turn == TURN_HELLO)
		kind = hello[h->replied];
	else if (h->turn == TURN_READ)
		kind = read[h->replied];
	haproxy_text_begin(&h->text, &h->conf, kind, h->next);
}

static void begin_turn(struct act *h, enum turn turn, uint32_t replies, struct mono now)
{
	h->turn = turn;
	h->began = now;
	h->replies = replies;
	h->replied = 0;
	expect_reply(h);
}

/* One command; there is room for those of any turn. */
__attribute__((format(printf, 2, 3))) static void command(struct act *h, const char *fmt, ...)
{
	size_t room = sizeof(h->out) - h->out_len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(h->out + h->out_len, room, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < room)
		h->out_len += (size_t)n;
}

static void end_set(struct act *h)
{
	h->sets += h->set_good;
	if (h->set_good == h->replies)
		h->refused[0] = '\0';
	else
		h->failures++;
}

static void end_read(struct act *h)
{
	memcpy(h->now, h->next, sizeof(h->now));
	h->known = true;
	h->reads++;
	h->read = h->began;
	h->pause_ns = pause_min_ns;
	h->broken[0] = '\0';
	say_missing(h);
}

/* HAProxy refused a command, and said why. */
static void say_refused(struct act *h, const struct set *s)
{
	const char *server = h->conf.server[s->server], *words = h->text.words;

	if (!strcmp(words, "Permission denied"))
		say_fault(h, h->refused);
	else if (s->want == ACT_KEEP)
		say(h->refused,
		    "HAProxy refused a weight of server \"%s/%s\": \"%s\": correct haproxy.cfg",
		    h->conf.backend, server, words);
	else
		say(h->refused,
		    "HAProxy refused \"state %s\" of server \"%s/%s\": \"%s\": correct "
		    "haproxy.cfg",
		    want_word[s->want], h->conf.backend, server, words);
}

/* A reply of a set: HAProxy may have refused one command, and taken the others. */
static void take_set(struct act *h)
{
	if (!h->text.fault) {
		h->set_good++;
	} else if (h->set_good == h->replied) { /* the first that was refused */
		say_refused(h, &h->set[h->replied]);
	}
}

/* h->text holds a reply, from its first to its last byte. False: the connection is of no use. */
static bool take_reply(struct act *h)
{
	if (h->turn == TURN_SET) {
		take_set(h);
	} else if (h->text.fault) {
		say_fault(h, h->broken);
		return false;
	} else if (h->text.kind == HAPROXY_REPLY_STATE) {
		h->backend = h->text.backend;
		if (!h->backend) {
			say(h->broken,
			    "HAProxy's backend \"%s\" at %s has no servers: add them in "
			    "haproxy.cfg",
			    h->conf.backend, h->conf.socket);
			return false;
		}
	}
	if (++h->replied < h->replies) {
		expect_reply(h);
		return true;
	}
	if (h->turn == TURN_SET)
		end_set(h);
	else if (h->turn == TURN_READ)
		end_read(h);
	else
		h->connections++;
	h->turn = TURN_NONE;
	return true;
}

/* --- the socket ---------------------------------------------------------------------------- */

static bool watch(struct act *h)
{
	struct epoll_event ev = { .data = { .ptr = h } };

	ev.events = EPOLLIN | (h->out_at < h->out_len ? EPOLLOUT : 0);
	if (h->watched == ev.events)
		return true;
	if (epoll_ctl(h->epoll, h->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, h->fd, &ev)) {
		say(h->broken, "cannot wait for HAProxy at %s: %s", h->conf.socket,
		    strerror(errno));
		return false;
	}
	h->watched = ev.events;
	return true;
}

static void say_closed(struct act *h)
{
	if (h->turn == TURN_HELLO)
		say(h->broken,
		    "%s closed the connection without an answer: is it the socket of HAProxy's "
		    "Runtime API?",
		    h->conf.socket);
	else
		say(h->broken,
		    "HAProxy closed the connection at %s: it ended, or \"stats timeout\" in "
		    "haproxy.cfg is shorter than the time between two readings",
		    h->conf.socket);
}

static bool flush(struct act *h)
{
	while (h->out_at < h->out_len) {
		/* MSG_NOSIGNAL: a HAProxy that is gone is not the end of this process. */
		ssize_t n = send(h->fd, h->out + h->out_at, h->out_len - h->out_at, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n < 0) {
			say_closed(h);
			return false;
		}
		h->out_at += (size_t)n;
	}
	h->out_at = h->out_len = 0;
	return true;
}

/* What was received. False: it is none of HAProxy's replies to what was asked. */
static bool take(struct act *h, const char *data, size_t len)
{
	while (len) {
		size_t used;

		if (h->turn == TURN_NONE) {
			say(h->broken,
			    "%s spoke without being asked: is it the socket of HAProxy's Runtime "
			    "API?",
			    h->conf.socket);
			return false;
		}
		if (haproxy_text_feed(&h->text, data, len, &used)) {
			if (!take_reply(h))
				return false;
		} else if (h->text.lost) {
			say_fault(h, h->broken);
			return false;
		}
		data += used;
		len -= used;
	}
	return true;
}

/* False: the connection is of no use. *more: there may be something left to receive. */
static bool receive(struct act *h, bool *more)
{
	char data[RECEIVE_MAX];

	for (int i = 0; i < RECEIVES_MAX; i++) {
		ssize_t n = recv(h->fd, data, sizeof(data), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0) {
			say_closed(h);
			return false;
		}
		if (!take(h, data, (size_t)n))
			return false;
	}
	*more = true;
	return true;
}

static void connect_now(struct act *h, struct mono now)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	_Static_assert(sizeof(to.sun_path) == HAPROXY_SOCKET_MAX, "a path that fits");
	memcpy(to.sun_path, h->conf.socket, sizeof(to.sun_path));
	h->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (h->fd < 0 || connect(h->fd, (const struct sockaddr *)&to, sizeof(to))) {
		say_unconnected(h, errno);
		fail(h, now);
		return;
	}
	h->out_at = h->out_len = 0;
	begin_turn(h, TURN_HELLO, 2, now);
	command(h, "prompt\n");
	command(h, "show servers state %s\n", h->conf.backend);
}

/* --- the interface ------------------------------------------------------------------------- */

static bool conf_good(const struct act_conf *c)
{
	if (!c->servers || c->servers > HAPROXY_SERVERS_MAX || c->timeout_ns <= 0)
		return false;
	if (!c->socket[0] || !memchr(c->socket, '\0', sizeof(c->socket)))
		return false;
	for (uint32_t i = 0; i < c->servers; i++)
		if (!haproxy_name_good(c->server[i]))
			return false;
	return haproxy_name_good(c->backend);
}

static int haproxy_open(struct act **out, const struct act_conf *c)
{
	struct act *h;
	int rc;

	if (!conf_good(c))
		return -EINVAL;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->conf = *c;
	h->fd = -1;
	h->pause_ns = pause_min_ns;
	h->again.ns = INT64_MIN;
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (h->epoll < 0) {
		rc = -errno;
		free(h);
		return rc;
	}
	*out = h;
	return 0;
}

static void haproxy_close(struct act *h)
{
	if (!h)
		return;
	disconnect(h);
	close(h->epoll);
	free(h);
}

static int haproxy_fd(const struct act *h)
{
	return h->epoll;
}

static int64_t haproxy_work(struct act *h, struct mono now)
{
	bool more = false;
	int64_t left;

	if (h->fd < 0 && now.ns >= h->again.ns)
		connect_now(h, now);
	if (h->fd >= 0 && !(flush(h) && receive(h, &more) && watch(h)))
		fail(h, now);
	if (h->fd < 0)
		return h->again.ns - now.ns;
	if (more)
		return 0;
	if (h->turn == TURN_NONE)
		return INT64_MAX;
	left = h->conf.timeout_ns - (now.ns - h->began.ns);
	if (left > 0)
		return left;
	say(h->broken,
	    "HAProxy at %s did not answer for %" PRId64
	    " ms: it hangs, or other programs have all its \"stats maxconn\" connections",
	    h->conf.socket, h->conf.timeout_ns / (int64_t)NS_PER_MS);
	fail(h, now);
	return h->again.ns - now.ns;
}

/* 0: a turn may begin. */
static int may_begin(const struct act *h)
{
	if (h->fd < 0 || h->turn == TURN_HELLO)
		return -ENOTCONN;
	return h->turn == TURN_NONE ? 0 : -EBUSY;
}

/* What was sent is all in h->out: the rest is sent, and failures are noticed, by haproxy_work(). */
static void send_turn(struct act *h, struct mono now)
{
	if (!flush(h) || !watch(h))
		fail(h, now);
}

static int haproxy_read(struct act *h, struct mono now)
{
	int rc = may_begin(h);

	if (rc)
		return rc;
	begin_turn(h, TURN_READ, 3, now);
	command(h, "show info\n");
	command(h, "show servers state %s\n", h->conf.backend);
	command(h, "show stat %" PRIu32 " 4 -1\n", h->backend); /* 4: servers, -1: all of them */
	send_turn(h, now);
	return 0;
}

/* The weights that differ; their commands are n and following. Returns n after them. */
static uint32_t set_weights(struct act *h, const uint16_t *weight, uint32_t n)
{
	for (uint32_t i = 0; i < h->conf.servers; i++) {
		if (!h->now[i].there || h->now[i].weight == weight[i])
			continue;
		h->set[n++] = (struct set){ (uint16_t)i, ACT_KEEP };
		command(h, "set server %s/%s weight %u\n", h->conf.backend, h->conf.server[i],
			weight[i]);
	}
	return n;
}

/* The same of states: of those servers that are to serve, or of the others. */
static uint32_t set_states(struct act *h, const enum act_want *want, bool serve, uint32_t n)
{
	for (uint32_t i = 0; want && i < h->conf.servers; i++) {
		const struct act_server *s = &h->now[i];

		if (!s->there || want[i] == ACT_KEEP || want[i] == s->admin ||
		    (want[i] == ACT_SERVE) != serve)
			continue;
		h->set[n++] = (struct set){ (uint16_t)i, want[i] };
		command(h, "set server %s/%s state %s\n", h->conf.backend, h->conf.server[i],
			want_word[want[i]]);
	}
	return n;
}

static int haproxy_put(struct act *h, const uint16_t *weight, const enum act_want *want,
		       struct mono now)
{
	int rc = may_begin(h);
	uint32_t n;

	if (!rc && !act_put_good(weight, want, h->conf.servers))
		rc = -EINVAL;
	if (rc)
		return rc;
	if (!h->known)
		return -ENOTCONN;
	/* A server takes over before another one ends. */
	n = set_states(h, want, true, 0);
	n = set_weights(h, weight, n);
	n = set_states(h, want, false, n);
	if (!n) {
		h->refused[0] = '\0';
		return 0;
	}
	h->set_good = 0;
	begin_turn(h, TURN_SET, n, now);
	send_turn(h, now);
	return 0;
}

static void haproxy_see(const struct act *h, struct act_seen *s)
{
	static const enum act_state state[] = {
		[TURN_NONE] = ACT_READY,
		[TURN_HELLO] = ACT_DOWN,
		[TURN_READ] = ACT_READING,
		[TURN_SET] = ACT_SETTING,
	};
	const char *note = h->broken[0] ? h->broken : h->refused[0] ? h->refused : h->missing;

	*s = (struct act_seen){
		.state = h->fd < 0 ? ACT_DOWN : state[h->turn],
		.connections = h->connections,
		.reads = h->reads,
		.read = h->read,
		.sets = h->sets,
		.failures = h->failures,
		.server = h->now,
	};
	memcpy(s->note, note, sizeof(s->note));
}

const struct act_ops act_haproxy = {
	.shared = true,
	.leave_ns = NS_PER_S,
	.open = haproxy_open,
	.close = haproxy_close,
	.fd = haproxy_fd,
	.work = haproxy_work,
	.read = haproxy_read,
	.put = haproxy_put,
	.see = haproxy_see,
};
