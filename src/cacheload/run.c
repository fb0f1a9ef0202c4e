// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run: readers and updaters, until it is over; each reply is checked as it comes. See load.h.
 *
 * What the checker may conclude hangs on the order of two stamps. A request's begin is taken before
 * its first byte is written, and an end after the last byte of the answer was read. All stamps are
 * of one thread and differ, so "ended before it began" is what the servers could know, too.
 *
 * An update without an answer is undone if no byte of it has left; else its end is unknown, for
 * ever: it may take effect at any time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* memmem */
#endif
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "src/cacheload/conn.h"
#include "src/cacheload/load.h"
#include "src/cacheload/trace.h"
#include "src/core/random.h"
#include "src/util/clock.h"
#include "src/util/utf8.h"

#define TICK_NS	   (10 * NS_PER_MS)
#define FETCH_NS   (30 * NS_PER_S)
#define STATES_MAX ((size_t)256 << 20)
enum { EVENTS = 256 };

struct run;

struct client {
	struct conn conn; /* first: epoll's pointer is this */
	struct run *run;
	bool updates;
	uint64_t random;
	int64_t begin; /* of the request under way */
	uint32_t update;
	uint32_t from;
	char path[TRACE_PATH_MAX];
};

struct run {
	const struct load_options *o;
	struct load_result *r;
	struct clock clock;
	struct history *h;
	struct trace *trace;
	struct load_log *log;
	struct net_address proxy[LOAD_TARGETS_MAX], app[LOAD_TARGETS_MAX];
	struct client *client;
	size_t clients;
	size_t turn; /* whose turn it is to begin */
	int epoll, signals;
	int64_t stamp;
	struct mono started, stopped;
	bool over, cut; /* cut: by a signal */
	uint64_t reading, updating;
	uint64_t updates; /* begun */
	struct history_state *state;
	size_t space;
	int rc; /* memory */
};

/* A time, and no two are the same. */
static int64_t stamp(struct run *u)
{
	int64_t now = u->clock.now(&u->clock).ns;

	u->stamp = now > u->stamp ? now : u->stamp + 1;
	return u->stamp;
}

static struct mono now_of(const struct run *u)
{
	return (struct mono){ u->stamp };
}

static void count_error(struct run *u, const struct client *c, const char *asked, const char *why)
{
	u->r->errors++;
	if (!*u->r->error)
		snprintf(u->r->error, sizeof(u->r->error), "%s: %s: %s", c->conn.to->text, asked,
			 why);
}

/* --- what a page says --- */

struct said {
	const char *states;
	size_t len;
};

/* "<!-- page: /item/5 state: item/5=17:3 -->" anywhere in the body. NULL: fine; else why not. */
static const char *read_page(const struct http_reader *r, const char *asked, struct said *s)
{
	static const char open[] = "<!-- page: ", middle[] = " state: ", close[] = " -->";
	const char *body = r->buf + r->head, *end = body + r->body;
	const char *at = r->body ? memmem(body, r->body, open, sizeof(open) - 1) : NULL;
	const char *state, *stop;

	if (!at)
		return "it has no \"<!-- page: \"";
	at += sizeof(open) - 1;
	state = memmem(at, (size_t)(end - at), middle, sizeof(middle) - 1);
	if (!state)
		return "it has no \" state: \"";
	if ((size_t)(state - at) != strlen(asked) || memcmp(at, asked, strlen(asked)) != 0)
		return "it is another page";
	state += sizeof(middle) - 1;
	stop = memmem(state, (size_t)(end - state), close, sizeof(close) - 1);
	if (!stop)
		return "it has no \" -->\"";
	*s = (struct said){ state, (size_t)(stop - state) };
	return NULL;
}

/* A page that was read at u->stamp. */
static void check_page(struct run *u, const struct http_reader *r, const char *asked, int64_t begin,
		       uint32_t from)
{
	struct history_reply reply = { .begin = begin, .end = u->stamp };
	struct said s = { NULL, 0 };
	const char *why = read_page(r, asked, &s);
	int n = why ? 0 : history_read(u->h, s.states, s.len, &u->state, &u->space);

	if (n < 0) {
		why = n == -EINVAL ? "its states cannot be read" : "there is no memory";
		s.states = NULL;
	}
	load_log_reply(u->log, begin, u->stamp, asked, r->hit, from, s.states, s.len);
	if (why) {
		load_judge_wrong(u->r, asked, why);
		return;
	}
	reply.state = u->state;
	reply.states = (size_t)n;
	if (load_judge(u->h, u->r, &reply, asked))
		u->rc = -ENOMEM;
}

/* --- readers --- */

static bool is_behind(const struct run *u);

static bool may_read(const struct run *u)
{
	return !u->over && (!u->o->requests || u->r->replies + u->reading < u->o->requests) &&
	       !(u->o->keep_share && is_behind(u));
}

static void begin_read(struct run *u, struct client *c)
{
	struct conn *conn = &c->conn;
	int len;

	trace_read(u->trace, &c->random, c->path);
	len = snprintf(conn->request, sizeof(conn->request), "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n",
		       c->path, conn->to->text);
	conn->len = (size_t)len; /* a target has at most 127 bytes */
	u->reading++;
	c->begin = stamp(u);
	conn_send(conn, now_of(u));
}

static void end_read(struct run *u, struct client *c)
{
	const struct http_reader *r = &c->conn.reader;
	char why[32];

	u->reading--;
	if (r->status != 200) {
		snprintf(why, sizeof(why), "status %d", r->status);
		count_error(u, c, c->path, why);
		return;
	}
	u->r->replies++;
	u->r->hits += r->hit;
	u->r->misses += r->passed && !r->hit;
	hist_add(r->hit ? &u->r->hit : &u->r->miss, (uint64_t)(u->stamp - c->begin));
	check_page(u, r, c->path, c->begin, c->from);
}

/* --- updaters --- */

/* How many updates may have begun by now. */
static uint64_t updates_due(const struct run *u)
{
	uint64_t share = u->o->updates;

	if (u->o->rate)
		return sat_muldiv((uint64_t)(u->stamp - u->started.ns), u->o->rate, NS_PER_S) + 1;
	return sat_muldiv(u->r->replies, share, 1000 - share);
}

static bool is_behind(const struct run *u)
{
	return updates_due(u) > u->updates + u->o->updaters;
}

static bool may_update(const struct run *u)
{
	return !u->over && u->updates < updates_due(u) && u->updates < HISTORY_UPDATES_MAX - 1;
}

static void begin_update(struct run *u, struct client *c)
{
	struct conn *conn = &c->conn;
	struct trace_update t;
	uint32_t thing[HISTORY_CHANGES_MAX];
	int len;

	trace_update(u->trace, &c->random, u->updates + 1, &t);
	for (size_t i = 0; i < t.things; i++) {
		int32_t id = history_thing(u->h, t.thing[i], strlen(t.thing[i]));

		if (id < 0) {
			u->rc = -ENOMEM;
			return;
		}
		thing[i] = (uint32_t)id;
	}
	len = snprintf(conn->request, sizeof(conn->request),
		       "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: "
		       "application/x-www-form-urlencoded\r\nContent-Length: %zu\r\n\r\n%s",
		       t.path, conn->to->text, strlen(t.form), t.form);
	conn->len = (size_t)len;
	strcpy(c->path, t.path);
	c->begin = stamp(u);
	c->update = history_begin(u->h, c->begin, thing, t.things);
	if (!c->update) {
		u->rc = -ENOMEM;
		return;
	}
	u->updates++;
	u->updating++;
	u->turn = (size_t)(c - u->client + 1) % u->clients;
	u->r->begun++;
	load_log_begin(u->log, c->begin, c->update, t.thing, t.things);
	conn_send(conn, now_of(u));
}

static void end_update(struct run *u, struct client *c, enum history_end how)
{
	u->updating--;
	history_end(u->h, c->update, u->stamp, how);
	load_log_end(u->log, u->stamp, c->update, how);
	if (how == HISTORY_DONE) {
		u->r->done++;
		hist_add(&u->r->update, (uint64_t)(u->stamp - c->begin));
	} else if (how == HISTORY_NOT_DONE) {
		u->r->not_done++;
	} else {
		u->r->unknown++;
	}
}

/* By the status of resex-auction(1). */
static enum history_end end_by_status(int status)
{
	if (status == 200)
		return HISTORY_DONE;
	return (status >= 400 && status < 500) || status == 503 ? HISTORY_NOT_DONE
								: HISTORY_UNKNOWN;
}

/* --- what connections say --- */

static void begin_next(struct run *u, struct client *c)
{
	if (c->conn.state != CONN_IDLE || u->rc)
		return;
	if (c->updates && may_update(u))
		begin_update(u, c);
	else if (!c->updates && may_read(u))
		begin_read(u, c);
}

static void on_reply(void *owner, struct conn *conn)
{
	struct client *c = owner;
	struct run *u = c->run;
	char why[32];

	stamp(u);
	if (!c->updates) {
		end_read(u, c);
	} else {
		enum history_end how = end_by_status(conn->reader.status);

		end_update(u, c, how);
		if (how != HISTORY_DONE) {
			snprintf(why, sizeof(why), "status %d", conn->reader.status);
			count_error(u, c, c->path, why);
		}
	}
	begin_next(u, c);
}

static void on_lost(void *owner, struct conn *conn, const char *why, bool left, bool kept)
{
	struct client *c = owner;
	struct run *u = c->run;

	(void)conn;
	stamp(u);
	if (!c->updates)
		u->reading--;
	else
		end_update(u, c, left ? HISTORY_UNKNOWN : HISTORY_NOT_DONE);
	/* A server may close a connection that waits, just when a request comes. */
	if (c->updates || !kept)
		count_error(u, c, c->path, why);
}

static void on_refused(void *owner, struct conn *conn, const char *why)
{
	struct client *c = owner;

	(void)conn;
	count_error(c->run, c, "connect", why);
}

static const struct conn_ops conn_ops = { on_reply, on_lost, on_refused };

/* --- the loop --- */

static void look_whether_over(struct run *u)
{
	const struct load_options *o = u->o;
	bool over = u->cut || u->rc || (o->requests && u->r->replies >= o->requests) ||
		    (o->seconds && u->stamp - u->started.ns >= (int64_t)o->seconds * NS_PER_S);

	if (over && !u->over) {
		u->over = true;
		u->stopped.ns = u->stamp;
	}
}

static void handle_events(struct run *u, const struct epoll_event *ev, int n)
{
	struct signalfd_siginfo info;

	for (int i = 0; i < n; i++) {
		if (ev[i].data.ptr)
			conn_event(ev[i].data.ptr, ev[i].events, now_of(u));
		else if (read(u->signals, &info, sizeof(info)) > 0)
			u->cut = true;
	}
}

static void loop(struct run *u)
{
	struct epoll_event ev[EVENTS];
	int64_t tick = 0;

	for (;;) {
		int n = epoll_wait(u->epoll, ev, EVENTS, 1);

		stamp(u);
		handle_events(u, ev, n > 0 ? n : 0);
		look_whether_over(u);
		if (u->over && !u->reading && !u->updating)
			return;
		/* In turn: else the first updaters would do all, when few updates are due. */
		for (size_t i = u->turn, left = u->clients; left; left--, i = (i + 1) % u->clients)
			begin_next(u, &u->client[i]);
		if (u->stamp - tick < TICK_NS)
			continue;
		tick = u->stamp;
		for (size_t i = 0; i < u->clients; i++)
			conn_tick(&u->client[i].conn, now_of(u));
	}
}

/* --- begin and end --- */

/* The counters of all things, from the first application that answers. */
static int read_states(struct run *u, struct http_reader *r, struct said *s, size_t *from,
		       char text[static LOAD_TEXT_MAX])
{
	int rc = -ENODATA;

	for (size_t i = 0; i < u->o->apps; i++) {
		const char *why = NULL;

		http_reset(r);
		rc = net_fetch(&u->app[i], "/states", FETCH_NS, r);
		if (!rc && r->status != 200)
			why = "it does not say /states: is it resex-auction?";
		else if (!rc)
			why = read_page(r, "/states", s);
		*from = i;
		if (!rc && !why)
			return 0;
		snprintf(text, LOAD_TEXT_MAX, "%s: %s: check that resex-auction(1) listens there",
			 u->app[i].text, why ? why : strerror(-rc));
	}
	return rc ? rc : -EPROTO;
}

static int read_base(struct run *u, char text[static LOAD_TEXT_MAX])
{
	struct http_reader r = { .max = STATES_MAX };
	struct said s = { NULL, 0 };
	size_t from = 0;
	int rc = read_states(u, &r, &s, &from, text), n = 0;

	if (!rc)
		n = history_read(u->h, s.states, s.len, &u->state, &u->space);
	if (n < 0) {
		snprintf(text, LOAD_TEXT_MAX, "%s: /states cannot be read: is it resex-auction?",
			 u->app[from].text);
		rc = n;
	}
	for (int i = 0; i < n; i++)
		history_base(u->h, &u->state[i]);
	if (!rc)
		load_log_base(u->log, stamp(u), s.states, s.len);
	http_free(&r);
	return rc;
}

/* All updates have ended: what was acknowledged must be there. */
static void read_end(struct run *u)
{
	struct http_reader r = { .max = STATES_MAX };
	char text[LOAD_TEXT_MAX];
	int64_t begin = stamp(u);
	struct said s = { NULL, 0 };
	size_t from = 0;

	u->r->ended_known = !read_states(u, &r, &s, &from, text);
	stamp(u);
	if (u->r->ended_known)
		check_page(u, &r, "/states", begin, (uint32_t)from);
	http_free(&r);
}

static int open_trace(struct run *u, char text[static LOAD_TEXT_MAX])
{
	struct trace_conf c = { .trace = u->o->trace,
				.seed = u->o->seed,
				.pages = u->o->pages,
				.alpha = u->o->alpha,
				/* Ids of other runs are below: there are not so many a ms. */
				.first_item = (uint64_t)(clock_wall_ns() / NS_PER_MS) << 18 };
	int rc = trace_open(&u->trace, &c, u->h);

	if (rc == -ENODATA)
		snprintf(text, LOAD_TEXT_MAX,
			 "the application has no items, categories or users: make some with "
			 "resex-auction --init");
	else if (!rc)
		u->r->pages = trace_pages(u->trace);
	return rc;
}

static int resolve(struct run *u, char text[static LOAD_TEXT_MAX])
{
	int rc = 0;

	for (size_t i = 0; !rc && i < u->o->proxies; i++) {
		u->proxy[i].text = u->o->proxy[i];
		rc = net_resolve(u->o->proxy[i], &u->proxy[i], text, LOAD_TEXT_MAX);
	}
	for (size_t i = 0; !rc && i < u->o->apps; i++) {
		u->app[i].text = u->o->app[i];
		rc = net_resolve(u->o->app[i], &u->app[i], text, LOAD_TEXT_MAX);
	}
	return rc;
}

/* SIGINT and SIGTERM end the run; what was seen is printed. */
static int open_loop(struct run *u)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = NULL };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	u->epoll = epoll_create1(EPOLL_CLOEXEC);
	u->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (u->epoll < 0 || u->signals < 0 || sigprocmask(SIG_BLOCK, &set, NULL) ||
	    epoll_ctl(u->epoll, EPOLL_CTL_ADD, u->signals, &ev))
		return -errno;
	return 0;
}

static int open_clients(struct run *u)
{
	uint64_t seed = u->o->seed;

	u->clients = (size_t)(u->o->readers + u->o->updaters);
	u->client = calloc(u->clients, sizeof(*u->client));
	if (!u->client) {
		u->clients = 0;
		return -ENOMEM;
	}
	for (size_t i = 0; i < u->clients; i++) {
		struct client *c = &u->client[i];

		c->run = u;
		c->updates = i >= u->o->readers;
		c->random = random_next(&seed);
		c->from = (uint32_t)(c->updates ? (i - u->o->readers) % u->o->apps
						: i % u->o->proxies);
		conn_init(&c->conn, &conn_ops, c, u->epoll,
			  c->updates ? &u->app[c->from] : &u->proxy[c->from],
			  c->updates ? u->o->update_timeout_ns : u->o->timeout_ns);
	}
	return 0;
}

static int open_run(struct run *u, char text[static LOAD_TEXT_MAX])
{
	char shown[128];
	int rc = history_open(&u->h);

	if (!rc)
		rc = resolve(u, text);
	if (!rc && u->o->log) {
		rc = load_log_open(&u->log, u->o->log);
		utf8_escape(u->o->log, shown, sizeof(shown));
		if (rc)
			snprintf(text, LOAD_TEXT_MAX,
				 "--log %s: %s: name a file that can be written", shown,
				 strerror(-rc));
	}
	if (!rc)
		rc = read_base(u, text);
	if (!rc)
		rc = open_trace(u, text);
	if (!rc)
		rc = open_loop(u);
	return rc ? rc : open_clients(u);
}

static int close_run(struct run *u, int rc, char text[static LOAD_TEXT_MAX])
{
	int written = load_log_close(u->log);

	for (size_t i = 0; i < u->clients; i++)
		conn_free(&u->client[i].conn);
	free(u->client);
	trace_close(u->trace);
	history_close(u->h);
	free(u->state);
	if (u->epoll >= 0)
		close(u->epoll);
	if (u->signals >= 0)
		close(u->signals);
	if (!rc && written)
		snprintf(text, LOAD_TEXT_MAX, "--log: %s: the log is not whole",
			 strerror(-written));
	return rc ? rc : written;
}

int load_run(const struct load_options *o, struct load_result *r, char text[static LOAD_TEXT_MAX])
{
	struct run *u = calloc(1, sizeof(*u));
	int64_t cpu;
	int rc;

	if (!u)
		return -ENOMEM;
	u->o = o;
	u->r = r;
	u->epoll = u->signals = -1;
	clock_real(&u->clock);
	rc = open_run(u, text);
	if (!rc) {
		cpu = clock_thread_ns();
		u->started.ns = stamp(u);
		loop(u);
		r->elapsed_ns = (uint64_t)(u->stopped.ns - u->started.ns);
		r->cpu_ns = (uint64_t)(clock_thread_ns() - cpu);
		rc = u->rc;
		if (!rc)
			read_end(u);
	}
	rc = close_run(u, rc, text);
	free(u);
	return rc;
}
