// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * server: the control socket, its connections and their limits. See server.h.
 *
 *	resex --line--> conn.bev --one line a turn--> method_call() --line--> conn.bev --> resex
 *
 * A connection with a whole line is queued, and each turn of the loop serves one of the queue
 * (on_turn). A method that has to wait returns CALL_LATER; its line is kept, and the method is
 * called again when what it waits for has come (on_poll).
 *
 * Any member of socket_group may connect, so clients are hostile: they send without end, or not
 * at all, and do not read. None of them may delay the guests, the watchdog or another client,
 * or make resexd hold much memory.
 */
#include "src/control/server.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <grp.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/cluster/cluster.h"
#include "src/control/methods.h"
#include "src/util/clock.h"

/*
 * SECURITY.md and resex-control(7) state these. Why unread replies are limited:
 * resexd's memory is locked, and 60 clients that requested events and read nothing made it hold
 * 1 GB.
 */
enum {
	CONNS_OF_ONE = 16,   /* of one user other than root */
	OUT_MAX = 256 << 10, /* unread replies of one client, above which it is not served */
	OUT_TOTAL = 8 << 20, /* of all clients, above which the one with most is closed */
	OUT_ONCE = 64 << 10, /* of a client, written in one turn of the loop */
	OUT_TRIM = 1 << 20,  /* after so much was unread, free memory goes back to the system */
};

/* What a connection does; each has a time limit (is_timed_out). */
enum conn_state {
	CONN_IDLE,  /* it sends nothing */
	CONN_SENDS, /* it has sent part of a line */
	CONN_READS, /* it has replies to read */
	CONN_WAITS, /* for its reply: the time is ours */
};

struct conn {
	struct control *c;
	struct bufferevent *bev;
	char *line; /* the request that is being answered, or NULL */
	size_t len;
	struct rings_ask ask; /* what that request waits for: one of these six (struct call) */
	struct policy_ask policy;
	struct caps_ask caps;
	uint64_t ticket;
	uint64_t reload;
	bool trace;
	json_t *reply;
	uid_t uid;
	bool root;
	bool waits;	      /* not served until it has read its replies */
	bool ended;	      /* it sends no more, but may still read replies */
	bool queued;	      /* in control.queue: one request is served soon */
	uint64_t served;      /* requests answered */
	uint64_t served_then; /* its value at the last is_timed_out() */
	enum conn_state then; /* its state at the last is_timed_out() */
	struct mono since;    /* state and served are unchanged since */
	TAILQ_ENTRY(conn) all, queue;
};

TAILQ_HEAD(conn_list, conn);

struct control {
	struct guests *guests;
	struct cluster *cluster; /* NULL: this host is alone */
	struct event_base *base;
	struct evconnlistener *listener;
	char path[CONFIG_PATH_MAX + 1];
	bool bound;
	uint32_t conns;
	struct conn_list all, queue;
	struct event *turn; /* the queue is not empty: serve at the loop's next turn */
	struct event *poll; /* a request waits for the sampler, or for another host */
	struct event *second;
	size_t out_most;    /* most unread bytes since memory was given back */
	struct mono logged; /* when a refusal was last logged */
	struct clock clock;
};

static void conn_close(struct conn *k)
{
	struct control *c = k->c;

	TAILQ_REMOVE(&c->all, k, all);
	if (k->queued)
		TAILQ_REMOVE(&c->queue, k, queue);
	c->conns--;
	/* Else the next ring-list would wait for this reader of the sampler's totals for ever. */
	guests_rings_end(c->guests, &k->ask);
	json_decref(k->reply);
	bufferevent_free(k->bev);
	free(k->line);
	free(k);
}

static bool waits_for_policy(const struct conn *k)
{
	return k->policy.waits || k->policy.number;
}

/* Was its request begun, and not answered yet (CALL_LATER)? */
static bool is_pending(const struct conn *k)
{
	return k->ask.serial || waits_for_policy(k) || k->caps.waits || k->ticket || k->reload ||
	       k->trace;
}

/* An expired wait counts, too: the method then ends with its error. */
static bool is_ready(struct conn *k, struct mono now)
{
	struct cluster *cl = k->c->cluster;

	if (k->trace) /* each poll is a step of it */
		return true;
	if (k->reload)
		return !cl || cluster_reload_result(cl, k->reload) != -EINPROGRESS;
	if (k->ticket)
		return !cl || cluster_result(cl, k->ticket) != -EINPROGRESS;
	if (waits_for_policy(k))
		return guests_policy_wait(k->c->guests, &k->policy, guests_snapshot(k->c->guests),
					  now) != -EAGAIN;
	if (k->caps.waits)
		return guests_caps_wait(k->c->guests, &k->caps, guests_snapshot(k->c->guests),
					now) != -EAGAIN;
	return guests_rings(k->c->guests, &k->ask, now) != -EAGAIN;
}

/* Append to the queue, unless it is queued already or waits for its reply. */
static void conn_queue(struct conn *k)
{
	const struct timeval now = { 0 };

	if (k->queued || is_pending(k))
		return;
	k->queued = true;
	TAILQ_INSERT_TAIL(&k->c->queue, k, queue);
	event_add(k->c->turn, &now);
}

/*
 * Look at the methods that wait four times a tick: the sampler answers once a tick, so a reply
 * is late by at most a quarter of one. Not below 1 ms, since short intervals must not make this
 * thread spin; not above 50 ms, since a lock-break waits for another host, not for a tick.
 */
static void poll_soon(struct control *c)
{
	int64_t us = guests_view(c->guests).conf->interval_ns / 4 / NS_PER_US;
	const struct timeval tv = { .tv_usec = us < 1000 ? 1000 : us > 50000 ? 50000 : us };

	if (!event_pending(c->poll, EV_TIMEOUT, NULL))
		event_add(c->poll, &tv);
}

static void on_poll(evutil_socket_t fd, short what, void *arg)
{
	struct control *c = arg;
	struct mono now = c->clock.now(&c->clock);
	bool waiting = false;
	struct conn *k;

	(void)fd;
	(void)what;
	TAILQ_FOREACH(k, &c->all, all)
	{
		if (!is_pending(k) || k->queued)
			continue;
		if (!is_ready(k, now)) {
			waiting = true;
			continue;
		}
		k->queued = true;
		TAILQ_INSERT_TAIL(&c->queue, k, queue);
	}
	if (!TAILQ_EMPTY(&c->queue))
		event_active(c->turn, EV_TIMEOUT, 0);
	if (waiting)
		poll_soon(c);
}

/*
 * One request line -> one reply line; false: CALL_LATER. The call is made anew each time, with
 * the newest snapshot: what a method waits for is kept in the connection. Without memory for a
 * reply none is sent, and the client's own time limit ends its wait.
 */
static bool answer_line(struct conn *k, struct evbuffer *out)
{
	struct control *c = k->c;
	struct call call = { .guests = c->guests,
			     .cluster = c->cluster,
			     .now = c->clock.now(&c->clock),
			     .wall_ns = clock_wall_ns(),
			     .root = k->root,
			     .ask = k->ask,
			     .policy = k->policy,
			     .caps = k->caps,
			     .ticket = k->ticket,
			     .reload = k->reload,
			     .trace = k->trace,
			     .reply = k->reply };
	json_t *result = NULL;
	char *text = NULL;
	struct request r;
	int rc;

	call.sn = guests_snapshot(c->guests);
	rc = request_parse(k->line, k->len, &r, &call.error);
	if (!rc)
		rc = method_call(&call, &r, &result);
	k->ask = call.ask;
	k->policy = call.policy;
	k->caps = call.caps;
	k->ticket = call.ticket;
	k->reload = call.reload;
	k->trace = call.trace;
	k->reply = call.reply;
	if (rc != CALL_LATER)
		text = rc ? reply_error(r.id, &call.error) : reply_result(r.id, result);
	if (text)
		evbuffer_add(out, text, strlen(text));
	free(text);
	request_free(&r);
	return rc != CALL_LATER;
}

static bool has_line(struct evbuffer *in)
{
	return evbuffer_search_eol(in, NULL, NULL, EVBUFFER_EOL_LF).pos >= 0;
}

/*
 * Answer with an error after the replies before it, and read no more: what follows is the rest of
 * the same line, which would be parsed as a request.
 */
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

static size_t unread_bytes(struct conn *k)
{
	return evbuffer_get_length(bufferevent_get_output(k->bev));
}

/* A client can cause refusals at any rate: log one a minute. */
static bool may_log(struct control *c)
{
	struct mono now = c->clock.now(&c->clock);

	if (c->logged.ns && mono_sub(now, c->logged) < 60 * NS_PER_S)
		return false;
	c->logged = now;
	return true;
}

/*
 * Unread replies are in locked memory: bound them over all clients. k itself is not closed, since
 * its caller goes on to use it.
 */
static void bound_output(struct conn *k)
{
	struct control *c = k->c;
	struct conn *i, *most = NULL;
	size_t total = 0;

	TAILQ_FOREACH(i, &c->all, all)
	{
		total += unread_bytes(i);
		if (i != k && (!most || unread_bytes(i) > unread_bytes(most)))
			most = i;
	}
	if (total > c->out_most)
		c->out_most = total;
	/* OUT_MAX alone does not suffice: it is checked before a reply, which may be far longer. */
	if (total <= OUT_TOTAL || !most || !unread_bytes(most))
		return;
	if (may_log(c))
		log_msg(guests_view(c->guests).log, LOG_LVL_WARNING,
			"control socket: user %u does not read %zu bytes of replies: connection "
			"closed",
			most->uid, unread_bytes(most));
	conn_close(most);
}

/*
 * A client that sends requests without reading the replies is not served until it has read
 * them. Its input is not read meanwhile: libevent would call on_read for ever while the input
 * is at its limit.
 */
static bool must_read_first(struct conn *k, const struct evbuffer *out)
{
	bool full = evbuffer_get_length(out) >= OUT_MAX;

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
 * Answer one request of this connection. A line that waits for its reply (k->line) is called
 * again; further lines stay in the input until then, so replies come in the order of requests.
 */
static void serve_one(struct conn *k)
{
	struct evbuffer *in = bufferevent_get_input(k->bev);
	struct evbuffer *out = bufferevent_get_output(k->bev);

	if (!k->line) {
		if (must_read_first(k, out))
			return;
		k->line = evbuffer_readln(in, &k->len, EVBUFFER_EOL_LF);
	}
	if (k->line && !answer_line(k, out)) {
		poll_soon(k->c);
		return;
	}
	k->served += k->line != NULL;
	free(k->line);
	k->line = NULL;
	bound_output(k);
	/* To the back of the queue: the other connections come first. */
	if (has_line(in))
		conn_queue(k);
	else if (evbuffer_get_length(in) > PROTO_LINE_MAX)
		refuse_long(k, in, out);
	else if (k->ended && !evbuffer_get_length(out))
		conn_close(k);
}

/*
 * One request a turn of the loop, from one connection after the other: however many requests
 * come, guests and the watchdog wait for one of them at most.
 */
static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval now = { 0 };
	struct control *c = arg;
	struct conn *k = TAILQ_FIRST(&c->queue);

	(void)fd;
	(void)what;
	if (!k)
		return;
	TAILQ_REMOVE(&c->queue, k, queue);
	k->queued = false;
	serve_one(k);
	if (!TAILQ_EMPTY(&c->queue))
		event_add(c->turn, &now);
}

/* Also called for a part of a line: serve_one then finds none, and looks at the length. */
static void on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	conn_queue(arg);
}

/* All replies are sent: go on with a client that had to read first, or close an ended one. */
static void on_written(struct bufferevent *bev, void *arg)
{
	struct conn *k = arg;

	if (k->ended || evbuffer_get_length(bufferevent_get_input(bev)))
		conn_queue(k);
}

/* At the end of file the requests before it are still answered; after an error, none. */
static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct conn *k = arg;

	k->ended = true;
	if (!(what & BEV_EVENT_EOF)) {
		conn_close(k);
		return;
	}
	bufferevent_disable(bev, EV_READ);
	conn_queue(k);
}

static struct conn *conn_new(struct control *c, evutil_socket_t fd)
{
	struct conn *k = calloc(1, sizeof(*k));

	if (k)
		k->bev = bufferevent_socket_new(c->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (k && k->bev)
		return k;
	free(k);
	return NULL;
}

static enum conn_state conn_state_of(struct conn *k)
{
	if (is_pending(k) || k->queued)
		return CONN_WAITS;
	if (unread_bytes(k))
		return CONN_READS;
	return evbuffer_get_length(bufferevent_get_input(k->bev)) ? CONN_SENDS : CONN_IDLE;
}

/*
 * Is it in its state for too long? Progress is an answered request, not bytes: a client that sends
 * or reads one byte a second would hold its connection for ever. A method that waits has a limit
 * of its own, with an error for the client.
 */
static bool is_timed_out(struct conn *k, struct mono now)
{
	static const int64_t limit[] = {
		[CONN_IDLE] = 60 * NS_PER_S,
		[CONN_SENDS] = 10 * NS_PER_S,
		[CONN_READS] = 60 * NS_PER_S,
		[CONN_WAITS] = INT64_MAX,
	};
	enum conn_state is = conn_state_of(k);

	if (is != k->then || k->served != k->served_then || !k->since.ns)
		k->since = now;
	k->then = is;
	k->served_then = k->served;
	return mono_sub(now, k->since) > limit[is];
}

void control_second(struct control *c, struct mono now)
{
	struct conn *k, *next;
	size_t total = 0;

	for (k = TAILQ_FIRST(&c->all); k; k = next) {
		next = TAILQ_NEXT(k, all);
		if (is_timed_out(k, now))
			conn_close(k);
		else
			total += unread_bytes(k);
	}
	/* free() keeps the pages, and they stay locked: after a burst, give them back once. */
	if (c->out_most > OUT_TRIM && total < OUT_TRIM) {
		malloc_trim(0);
		c->out_most = 0;
	}
}

static void on_second(evutil_socket_t fd, short what, void *arg)
{
	struct control *c = arg;

	(void)fd;
	(void)what;
	control_second(c, c->clock.now(&c->clock));
}

/*
 * Why this user may not open one more connection; "": it may. Some are for root alone, so that
 * the idle connections of others cannot lock the operator out.
 */
static void why_refused(const struct control *c, uid_t uid, bool root, char *why, size_t size)
{
	uint32_t own = 0, others = 0;
	struct conn *k;

	TAILQ_FOREACH(k, &c->all, all)
	{
		own += k->uid == uid;
		others += !k->root;
	}
	why[0] = 0;
	if (c->conns >= CONTROL_CONNS_MAX)
		snprintf(why, size, "%u connections are open, which is the most: close some",
			 c->conns);
	else if (!root && own >= CONNS_OF_ONE)
		snprintf(why, size,
			 "user %u has %u connections open, which is the most for one user: "
			 "close some",
			 uid, own);
	else if (!root && others >= CONTROL_CONNS_MAX - CONTROL_CONNS_ROOT)
		snprintf(why, size,
			 "%u connections of users other than root are open, which is the most: "
			 "close some",
			 others);
}

static void refuse_connection(struct control *c, int fd, const char *why)
{
	struct proto_error e = { .code = PROTO_E_SERVER - RESEX_BUSY };
	char *text;

	snprintf(e.text, sizeof(e.text), "%s", why);
	text = reply_error(NULL, &e);
	/* One sentence fits the empty buffer of a new socket. If it does not, do not wait. */
	if (text && send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		errno = 0; /* the client is gone already */
	free(text);
	close(fd);
	if (may_log(c))
		log_msg(guests_view(c->guests).log, LOG_LVL_WARNING, "control socket: %s", why);
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *a, int len,
		      void *arg)
{
	struct control *c = arg;
	struct ucred cred = { 0 };
	socklen_t n = sizeof(cred);
	char why[128];
	struct conn *k;
	bool root;

	(void)l;
	(void)a;
	(void)len;
	/* The kernel recorded this at connect(2): a client cannot forge it. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n)) {
		close(fd);
		return;
	}
	/* resexd on a simulated host need not run as root: its own user has root's rights then. */
	root = cred.uid == 0 || cred.uid == geteuid();
	why_refused(c, cred.uid, root, why, sizeof(why));
	if (why[0]) {
		refuse_connection(c, fd, why);
		return;
	}
	k = conn_new(c, fd);
	if (!k) {
		close(fd);
		return;
	}
	k->c = c;
	k->uid = cred.uid;
	k->root = root;
	TAILQ_INSERT_TAIL(&c->all, k, all);
	c->conns++;
	bufferevent_setcb(k->bev, on_read, on_written, on_event, k);
	bufferevent_set_max_single_write(k->bev, OUT_ONCE);
	/* One byte more than a line may have: with it, the line is known to be too long. */
	bufferevent_setwatermark(k->bev, EV_READ, 0, PROTO_LINE_MAX + 1);
	bufferevent_enable(k->bev, EV_READ | EV_WRITE);
}

/* Does a process listen there? Only connect(2) shows it: a killed one leaves its file behind. */
static bool is_served(const struct sockaddr_un *a)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool served = fd >= 0 && (!connect(fd, (const struct sockaddr *)a, sizeof(*a)) ||
				  errno == EAGAIN); /* its queue is full */

	if (fd >= 0)
		close(fd);
	return served;
}

/* A killed daemon leaves its socket file behind: replace it, unless a process listens there. */
static int bind_socket(struct control *c, int fd, struct conf_error *e)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;
	mode_t old;
	int r;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", c->path);
	if (!lstat(c->path, &st) && S_ISSOCK(st.st_mode)) {
		if (is_served(&a)) {
			conf_error_set(
				e, RESEX_RUNNING,
				"control socket %s: another resexd listens there: stop it first, "
				"or name another socket",
				c->path);
			return -EADDRINUSE;
		}
		unlink(c->path);
	}
	if (!lstat(c->path, &st) && !S_ISSOCK(st.st_mode)) {
		conf_error_set(e, RESEX_BAD_CONFIG,
			       "control socket %s: there is a %s of that name: remove it, or name "
			       "another socket in the configuration",
			       c->path, S_ISDIR(st.st_mode) ? "directory" : "file");
		return -EINVAL;
	}
	/* With a chmod after bind, any user could connect in between. */
	old = umask(0177);
	r = bind(fd, (struct sockaddr *)&a, sizeof(a)) ? -errno : 0;
	umask(old);
	c->bound = !r; /* only then is the file ours to remove */
	if (!r && listen(fd, 16))
		r = -errno;
	if (r)
		conf_error_set(e, conf_exit(r), "control socket %s: %s", c->path, strerror(-r));
	return r;
}

int control_group(const struct daemon_conf *conf, gid_t *gid, struct conf_error *e)
{
	const struct group *g = getgrnam(conf->socket_group);

	if (g) {
		*gid = g->gr_gid;
		return 0;
	}
	conf_error_set(e, RESEX_BAD_CONFIG,
		       "socket_group \"%s\" is not a group of this host: create it or leave it out",
		       conf->socket_group);
	return -EINVAL;
}

/* chown before chmod: the other way, the group that the file had at first could connect. */
static int set_group(const struct control *c, struct conf_error *e)
{
	gid_t gid;
	int rc = control_group(guests_view(c->guests).conf, &gid, e);

	if (rc)
		return rc;
	if (chown(c->path, (uid_t)-1, gid) || chmod(c->path, 0660)) {
		rc = -errno;
		conf_error_set(e, conf_exit(rc), "control socket %s: %s", c->path, strerror(-rc));
		return rc;
	}
	return 0;
}

int control_open(struct control **out, struct event_base *base, struct guests *gs,
		 struct cluster *cluster, struct conf_error *e)
{
	const struct timeval second = { .tv_sec = 1 };
	struct control *c = calloc(1, sizeof(*c));
	int fd = -1, rc = -ENOMEM;

	if (!c)
		return rc;
	c->guests = gs;
	c->cluster = cluster;
	c->base = base;
	TAILQ_INIT(&c->all);
	TAILQ_INIT(&c->queue);
	clock_real(&c->clock);
	snprintf(c->path, sizeof(c->path), "%s", guests_view(gs).conf->socket);
	c->turn = evtimer_new(base, on_turn, c);
	c->poll = evtimer_new(base, on_poll, c);
	c->second = event_new(base, -1, EV_PERSIST, on_second, c);
	if (!c->turn || !c->poll || !c->second)
		goto out;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		rc = -errno;
		goto out;
	}
	rc = bind_socket(c, fd, e);
	if (!rc && guests_view(gs).conf->socket_group[0])
		rc = set_group(c, e);
	if (rc)
		goto out;
	c->listener = evconnlistener_new(base, on_accept, c, LEV_OPT_CLOSE_ON_FREE, 0, fd);
	rc = c->listener ? 0 : -ENOMEM; /* the listener owns fd now */
	event_add(c->second, &second);
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
	for (struct conn *k = TAILQ_FIRST(&c->all), *next; k; k = next) {
		next = TAILQ_NEXT(k, all);
		conn_close(k);
	}
	if (c->turn)
		event_free(c->turn);
	if (c->poll)
		event_free(c->poll);
	if (c->second)
		event_free(c->second);
	if (c->listener)
		evconnlistener_free(c->listener);
	if (c->bound)
		unlink(c->path);
	free(c);
}
