// SPDX-License-Identifier: GPL-2.0-or-later
/* control: connections of the control socket. See control.h. */
#include "src/daemon/control.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/daemon/control_cmds.h"
#include "src/util/clock.h"

enum { CONTROL_CONNS_MAX = 64, CONTROL_IDLE_S = 60, CONTROL_OUT_MAX = 16 << 20 };

struct conn {
	struct control *c;
	struct bufferevent *bev;
	struct event *more; /* further lines are there: serve them at the loop's next turn */
	bool root;
	bool waits;		   /* until it has read what it was sent */
	bool ended;		   /* it sends no more, but may wait for replies */
	struct conn *next, **link; /* link: what points at this one */
};

struct control {
	struct manager *m;
	struct event_base *base;
	struct evconnlistener *listener;
	char path[CONFIG_PATH_MAX + 1];
	bool bound;
	uint32_t conns;
	struct conn *first;
};

static void conn_close(struct conn *k)
{
	struct control *c = k->c;

	*k->link = k->next;
	if (k->next)
		k->next->link = k->link;
	c->conns--;
	event_free(k->more);
	bufferevent_free(k->bev);
	free(k);
}

/* One request line -> one reply line; NULL: no memory. */
static char *answer(struct conn *k, const char *line, size_t len)
{
	struct call call = { .m = k->c->m, .wall_ns = clock_wall_ns(), .root = k->root };
	json_t *result = NULL;
	struct request r;
	char *out;

	call.sn = snap_latest(call.m->sh);
	if (request_parse(line, len, &r, &call.error) || method_call(&call, &r, &result))
		out = reply_error(r.id, &call.error);
	else
		out = reply_result(r.id, result);
	request_free(&r);
	return out;
}

static void serve_line(struct conn *k, struct evbuffer *in, struct evbuffer *out)
{
	size_t len;
	char *line = evbuffer_readln(in, &len, EVBUFFER_EOL_LF), *text;

	text = line ? answer(k, line, len) : NULL;
	if (text)
		evbuffer_add(out, text, strlen(text));
	free(line);
	free(text);
}

static bool has_line(struct evbuffer *in)
{
	return evbuffer_search_eol(in, NULL, NULL, EVBUFFER_EOL_LF).pos >= 0;
}

/* Behind the replies that are still to be written. */
static void refuse_long(struct conn *k, struct evbuffer *in, struct evbuffer *out)
{
	const struct proto_error e = { PROTO_E_REQUEST, "the request is over 64 KiB long" };
	char *text = reply_error(NULL, &e);

	if (text)
		evbuffer_add(out, text, strlen(text));
	free(text);
	k->ended = true;
	bufferevent_disable(k->bev, EV_READ);
	evbuffer_drain(in, evbuffer_get_length(in));
}

/*
 * A peer that asks without reading the answers waits until it has read, and is
 * not read meanwhile: libevent calls on_read for ever while the input is as
 * long as it may be.
 */
static bool must_wait(struct conn *k, const struct evbuffer *out)
{
	bool full = evbuffer_get_length(out) >= CONTROL_OUT_MAX;

	if (full != k->waits && !k->ended) {
		if (full)
			bufferevent_disable(k->bev, EV_READ);
		else
			bufferevent_enable(k->bev, EV_READ);
	}
	k->waits = full;
	return full;
}

/*
 * One request a turn of the loop: who sends many at once delays neither other
 * connections nor the care for guests.
 */
static void serve(struct conn *k)
{
	const struct timeval now = { 0 };
	struct evbuffer *in = bufferevent_get_input(k->bev);
	struct evbuffer *out = bufferevent_get_output(k->bev);

	if (must_wait(k, out) || event_pending(k->more, EV_TIMEOUT, NULL))
		return;
	serve_line(k, in, out);
	if (has_line(in))
		event_add(k->more, &now);
	else if (evbuffer_get_length(in) > PROTO_LINE_MAX)
		refuse_long(k, in, out);
	else if (k->ended && !evbuffer_get_length(out))
		conn_close(k);
}

static void on_more(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	serve(arg);
}

static void on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	serve(arg);
}

static void on_written(struct bufferevent *bev, void *arg)
{
	struct conn *k = arg;

	if (k->ended || evbuffer_get_length(bufferevent_get_input(bev)))
		serve(k);
}

/* What was asked before the end of file is answered yet; errors and idlers are let go. */
static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct conn *k = arg;

	k->ended = true;
	if (!(what & BEV_EVENT_EOF)) {
		conn_close(k);
		return;
	}
	bufferevent_disable(bev, EV_READ);
	serve(k);
}

static struct conn *conn_new(struct control *c, evutil_socket_t fd)
{
	struct conn *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->more = evtimer_new(c->base, on_more, k);
	if (k->more)
		k->bev = bufferevent_socket_new(c->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (k->bev)
		return k;
	if (k->more)
		event_free(k->more);
	free(k);
	return NULL;
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *a, int len,
		      void *arg)
{
	const struct timeval idle = { .tv_sec = CONTROL_IDLE_S };
	struct control *c = arg;
	struct ucred cred = { 0 };
	socklen_t n = sizeof(cred);
	struct conn *k;

	(void)l;
	(void)a;
	(void)len;
	if (c->conns >= CONTROL_CONNS_MAX || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n)) {
		close(fd);
		return;
	}
	k = conn_new(c, fd);
	if (!k) {
		close(fd);
		return;
	}
	k->c = c;
	k->root = cred.uid == 0 || cred.uid == geteuid();
	k->next = c->first;
	k->link = &c->first;
	if (k->next)
		k->next->link = &k->next;
	c->first = k;
	c->conns++;
	bufferevent_setcb(k->bev, on_read, on_written, on_event, k);
	bufferevent_setwatermark(k->bev, EV_READ, 0, PROTO_LINE_MAX + 1);
	bufferevent_set_timeouts(k->bev, &idle, &idle);
	bufferevent_enable(k->bev, EV_READ | EV_WRITE);
}

/* Does anybody listen there? */
static bool is_served(const struct sockaddr_un *a)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool served = fd >= 0 && (!connect(fd, (const struct sockaddr *)a, sizeof(*a)) ||
				  errno == EAGAIN); /* its queue is full */

	if (fd >= 0)
		close(fd);
	return served;
}

/* A socket file is left behind by a killed daemon; one that is served is another's. */
static int bind_socket(struct control *c, int fd, struct conf_error *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;
	mode_t old;
	int r;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", c->path);
	if (!lstat(c->path, &st) && S_ISSOCK(st.st_mode)) {
		if (is_served(&a)) {
			snprintf(e->text, sizeof(e->text),
				 "control socket %s: another resexd listens there: stop it first, "
				 "or name another socket",
				 c->path);
			return -EADDRINUSE;
		}
		unlink(c->path);
	}
	old = umask(0177);
	r = bind(fd, (struct sockaddr *)&a, sizeof(a)) ? -errno : 0;
	umask(old);
	c->bound = !r;
	if (!r && listen(fd, 16))
		r = -errno;
	if (r)
		snprintf(e->text, sizeof(e->text), "control socket %s: %s", c->path, strerror(-r));
	return r;
}

static int set_group(const struct control *c, const char *group, struct conf_error *e)
{
	const struct group *g = getgrnam(group);

	if (!g) {
		snprintf(e->text, sizeof(e->text),
			 "socket_group \"%s\" is no group of this host: create it or leave it out",
			 group);
		return -EINVAL;
	}
	if (chown(c->path, (uid_t)-1, g->gr_gid) || chmod(c->path, 0660)) {
		int rc = -errno;

		snprintf(e->text, sizeof(e->text), "control socket %s: %s", c->path, strerror(-rc));
		return rc;
	}
	return 0;
}

int control_open(struct control **out, struct event_base *base, struct manager *m,
		 struct conf_error *e)
{
	struct control *c = calloc(1, sizeof(*c));
	int fd = -1, rc = -ENOMEM;

	if (!c)
		return rc;
	c->m = m;
	c->base = base;
	snprintf(c->path, sizeof(c->path), "%s", m->conf->socket);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		rc = -errno;
		goto out;
	}
	rc = bind_socket(c, fd, e);
	if (!rc && m->conf->socket_group[0])
		rc = set_group(c, m->conf->socket_group, e);
	if (rc)
		goto out;
	c->listener = evconnlistener_new(base, on_accept, c, LEV_OPT_CLOSE_ON_FREE, 0, fd);
	rc = c->listener ? 0 : -ENOMEM;
out:
	if (rc) {
		if (fd >= 0)
			close(fd);
		control_close(c);
	} else {
		*out = c;
	}
	return rc;
}

void control_close(struct control *c)
{
	for (struct conn *k = c->first, *next; k; k = next) {
		next = k->next;
		conn_close(k);
	}
	if (c->listener)
		evconnlistener_free(c->listener);
	if (c->bound)
		unlink(c->path);
	free(c);
}
