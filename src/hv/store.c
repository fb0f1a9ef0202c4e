// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * store: requests in a table, and the thread that carries them out. See store.h.
 *
 * Bounds: a row for each domain, at most STORE_DOMS_MAX; in a row at most one request and one
 * answer of each kind, and one event of each type. Events of the store beyond that are merged: a
 * guest that writes its node all the time, or 10,000 nodes below it, gets one event until the
 * reader has taken it. The thread serves the rows in turn, one call each, so that no guest
 * delays another by more than one call.
 *
 * The lock protects the table and is never held during a call to the store.
 */
#include "src/hv/store.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
	DRAIN_MAX = 1024, /* events taken from the store between two calls */
	REOPEN_MS = 1000, /* after the connection was lost */
};

enum ask_kind { ASK_NAME, ASK_WATCH, ASK_READ, ASK_WANT, ASK_ANSWER, ASK_KINDS };
enum ask_state { NOT_ASKED, ASKED, ANSWERED };

struct ask {
	enum ask_state state;
	int rc;
	char value[STORE_VALUE_MAX];
};

/* What is asked and known about one domain. */
struct row {
	bool used;
	bool in_call;  /* the thread makes a call for it: the row must stay */
	bool wanted;   /* its node shall be watched */
	bool watched;  /* its node is watched */
	bool changed;  /* HV_EVENT_NODE is due */
	bool answered; /* HV_EVENT_ANSWER is due */
	uint32_t domid;
	uint32_t life;	/* counts unwatch(): an answer to an earlier request is dropped */
	uint32_t wants; /* counts values of want[], the same */
	char want[STORE_VALUE_MAX];
	struct ask ask[ASK_KINDS];
};

struct store {
	struct store_conf c;
	pthread_t thread;
	int wake_fd;   /* for the thread: a request or the end */
	int events_fd; /* for the reader: store_next() has an event */
	int state_fd;  /* for store_open() and store_close(): opened or ended */

	pthread_mutex_t lock; /* for all below */
	bool stop;
	bool opened, ended;
	bool left_behind;    /* the thread frees the store */
	int open_rc;	     /* of the first open */
	bool domains;	     /* HV_EVENT_DOMAINS is due */
	uint32_t next_call;  /* the row to be served next */
	uint32_t next_event; /* the row whose event is taken next */
	struct row row[STORE_DOMS_MAX];
};

static void signal_fd(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return; /* its counter is full: it is readable already */
}

static void clear_fd(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) < 0)
		return; /* it was not readable, as wanted */
}

static void store_free(struct store *s)
{
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	if (s->events_fd >= 0)
		close(s->events_fd);
	if (s->state_fd >= 0)
		close(s->state_fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static struct row *find_row(struct store *s, uint32_t domid)
{
	for (uint32_t i = 0; i < STORE_DOMS_MAX; i++)
		if (s->row[i].used && s->row[i].domid == domid)
			return &s->row[i];
	return NULL;
}

/* NULL: the table is full. */
static struct row *get_row(struct store *s, uint32_t domid)
{
	struct row *r = find_row(s, domid);

	for (uint32_t i = 0; !r && i < STORE_DOMS_MAX; i++)
		if (!s->row[i].used) {
			r = &s->row[i];
			*r = (struct row){ .used = true, .domid = domid };
		}
	return r;
}

static void free_if_unused(struct row *r)
{
	for (int k = 0; k < ASK_KINDS; k++)
		if (r->ask[k].state != NOT_ASKED)
			return;
	if (!r->in_call && !r->wanted && !r->watched)
		r->used = false;
}

/* --- the thread -------------------------------------------------------------- */

/* A call to the store that is due. */
struct call {
	struct row *row;
	uint32_t domid, life, wants;
	bool unwatch;
	enum ask_kind kind; /* unless unwatch */
	char want[STORE_VALUE_MAX];
};

static bool row_call(struct row *r, struct call *call)
{
	if (!r->used)
		return false;
	call->row = r;
	call->domid = r->domid;
	call->life = r->life;
	call->wants = r->wants;
	call->unwatch = r->watched && !r->wanted;
	if (call->unwatch) {
		/* Now, not after the call: a store_watch() meanwhile must ask for a new watch. */
		r->watched = false;
		return true;
	}
	for (int k = 0; k < ASK_KINDS; k++)
		if (r->ask[k].state == ASKED) {
			call->kind = (enum ask_kind)k;
			if (k == ASK_WANT)
				memcpy(call->want, r->want, sizeof(call->want));
			return true;
		}
	return false;
}

/* The next row in turn that has a call due. */
static bool take_call(struct store *s, struct call *call)
{
	bool found = false;

	pthread_mutex_lock(&s->lock);
	for (uint32_t n = 0; !s->stop && !found && n < STORE_DOMS_MAX; n++) {
		struct row *r = &s->row[s->next_call];

		s->next_call = (s->next_call + 1) % STORE_DOMS_MAX;
		found = row_call(r, call);
		r->in_call = found;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* Another value came meanwhile: it is still to be written. */
static bool is_replaced(const struct row *r, const struct call *call)
{
	return !call->unwatch && call->kind == ASK_WANT && call->wants != r->wants;
}

static void put_answer(struct store *s, const struct call *call, int rc, const char *value)
{
	struct row *r = call->row;
	struct ask *a = &r->ask[call->kind];

	pthread_mutex_lock(&s->lock);
	r->in_call = false;
	if (!call->unwatch && call->kind == ASK_WATCH && rc == 0)
		r->watched = true;
	if (!call->unwatch && call->life == r->life && !is_replaced(r, call)) {
		a->state = ANSWERED;
		a->rc = rc;
		if (rc >= 0)
			memcpy(a->value, value, sizeof(a->value));
		r->answered = true;
		signal_fd(s->events_fd);
	}
	free_if_unused(r);
	pthread_mutex_unlock(&s->lock);
}

static void put_event(struct store *s, const struct hv_event *ev)
{
	struct row *r;

	pthread_mutex_lock(&s->lock);
	r = ev->type == HV_EVENT_NODE ? find_row(s, ev->domid) : NULL;
	if (r && r->wanted)
		r->changed = true;
	if (ev->type == HV_EVENT_DOMAINS)
		s->domains = true;
	if (s->domains || (r && r->changed))
		signal_fd(s->events_fd);
	pthread_mutex_unlock(&s->lock);
}

/* 0: there are no more; 1: there may be; -errno: the connection is lost. */
static int drain_events(struct store *s, void *h)
{
	struct hv_event ev;
	int rc = 1;

	for (int i = 0; rc == 1 && i < DRAIN_MAX; i++) {
		rc = s->c.calls->next(h, &ev);
		if (rc == 1)
			put_event(s, &ev);
	}
	return rc;
}

/* The connection was lost: the request is made again on the next one. */
static void put_back(struct store *s, const struct call *call)
{
	pthread_mutex_lock(&s->lock);
	call->row->in_call = false;
	free_if_unused(call->row);
	pthread_mutex_unlock(&s->lock);
}

/* -errno: the connection is lost. */
static int make_call(struct store *s, void *h, const struct call *call)
{
	char value[STORE_VALUE_MAX] = "";
	int rc = 0, lost = 0;

	if (call->unwatch)
		s->c.calls->unwatch(h, call->domid);
	else if (call->kind == ASK_NAME)
		rc = s->c.calls->name(h, call->domid, value, sizeof(value));
	else if (call->kind == ASK_READ)
		rc = s->c.calls->read(h, call->domid, value, sizeof(value));
	else if (call->kind == ASK_WANT)
		rc = s->c.calls->want(h, call->domid, call->want);
	else if (call->kind == ASK_ANSWER)
		rc = s->c.calls->answer(h, call->domid, value, sizeof(value));
	else
		rc = s->c.calls->watch(h, call->domid);
	/* Was it the store that refused, or did the call fail with its connection? */
	if (rc < 0)
		lost = drain_events(s, h);
	if (lost < 0)
		put_back(s, call);
	else
		put_answer(s, call, rc, value);
	return lost < 0 ? lost : 0;
}

static bool stopped(struct store *s)
{
	bool stop;

	pthread_mutex_lock(&s->lock);
	stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	return stop;
}

/* Until the end or until the connection is lost. */
static void serve(struct store *s, void *h)
{
	struct pollfd p[2] = {
		{ .fd = s->wake_fd, .events = POLLIN },
		{ .fd = s->c.calls->fd(h), .events = POLLIN },
	};
	struct call call = { 0 };

	while (!stopped(s)) {
		int more = drain_events(s, h);

		if (more < 0)
			return;
		if (take_call(s, &call)) {
			if (make_call(s, h, &call))
				return;
		} else if (!more) {
			poll(p, 2, -1);
			clear_fd(s->wake_fd);
		}
	}
}

/* A new connection has no watches; each new watch causes an event. */
static void watch_again(struct store *s)
{
	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < STORE_DOMS_MAX; i++) {
		struct row *r = &s->row[i];

		if (r->used && r->watched && r->wanted)
			r->ask[ASK_WATCH].state = ASKED;
		r->watched = false;
		if (r->used)
			free_if_unused(r);
	}
	pthread_mutex_unlock(&s->lock);
}

static void put_opened(struct store *s, int rc)
{
	pthread_mutex_lock(&s->lock);
	if (!s->opened) {
		s->opened = true;
		s->open_rc = rc;
		s->stop |= rc != 0;
		signal_fd(s->state_fd);
	}
	pthread_mutex_unlock(&s->lock);
}

static void *store_main(void *arg)
{
	struct store *s = arg;
	struct pollfd p = { .fd = s->wake_fd, .events = POLLIN };
	bool left_behind;

	do {
		void *h = NULL;
		int rc = s->c.calls->open(&h, s->c.arg);

		put_opened(s, rc);
		if (!rc) {
			serve(s, h);
			s->c.calls->close(h);
			watch_again(s);
		}
		/* A request ends the wait too soon: the store is tried once for each then. */
		if (!stopped(s) && poll(&p, 1, REOPEN_MS) > 0)
			clear_fd(s->wake_fd);
	} while (!stopped(s));
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	left_behind = s->left_behind;
	if (!left_behind)
		signal_fd(s->state_fd);
	pthread_mutex_unlock(&s->lock);
	if (left_behind)
		store_free(s);
	return NULL;
}

/* --- for the reader ------------------------------------------------------------ */

static int start_thread(struct store *s)
{
	sigset_t all, old;
	int rc;

	/* Signals are for the thread of the loop. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&s->thread, NULL, store_main, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -rc;
}

/* False: not within ms. */
static bool wait_state(struct store *s, int ms)
{
	struct pollfd p = { .fd = s->state_fd, .events = POLLIN };
	int n;

	do
		n = poll(&p, 1, ms);
	while (n < 0 && errno == EINTR);
	clear_fd(s->state_fd);
	return n > 0;
}

int store_open(struct store **out, const struct store_conf *c)
{
	struct store *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->c = *c;
	pthread_mutex_init(&s->lock, NULL);
	s->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	s->events_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	s->state_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	rc = s->wake_fd < 0 || s->events_fd < 0 || s->state_fd < 0 ? -errno : start_thread(s);
	if (rc) {
		store_free(s);
		return rc;
	}
	wait_state(s, c->open_ms);
	pthread_mutex_lock(&s->lock);
	rc = s->opened ? s->open_rc : -ETIMEDOUT;
	pthread_mutex_unlock(&s->lock);
	if (rc)
		store_close(s);
	else
		*out = s;
	return rc;
}

static bool has_ended(struct store *s)
{
	bool ended;

	pthread_mutex_lock(&s->lock);
	ended = s->ended;
	pthread_mutex_unlock(&s->lock);
	return ended;
}

void store_close(struct store *s)
{
	bool ended;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_mutex_unlock(&s->lock);
	signal_fd(s->wake_fd);
	if (!has_ended(s))
		wait_state(s, s->c.close_ms);
	pthread_mutex_lock(&s->lock);
	ended = s->ended;
	s->left_behind = !ended;
	if (!ended)
		pthread_detach(s->thread);
	pthread_mutex_unlock(&s->lock);
	if (!ended)
		return; /* the store is the thread's now */
	pthread_join(s->thread, NULL);
	store_free(s);
}

int store_fd(const struct store *s)
{
	return s->events_fd;
}

static bool row_event(struct row *r, struct hv_event *ev)
{
	if (!r->used || (!r->changed && !r->answered))
		return false;
	*ev = (struct hv_event){ .type = r->changed ? HV_EVENT_NODE : HV_EVENT_ANSWER,
				 .domid = r->domid };
	*(r->changed ? &r->changed : &r->answered) = false;
	return true;
}

int store_next(struct store *s, struct hv_event *ev)
{
	bool found;

	pthread_mutex_lock(&s->lock);
	found = s->domains;
	s->domains = false;
	if (found)
		*ev = (struct hv_event){ .type = HV_EVENT_DOMAINS };
	for (uint32_t n = 0; !found && n < STORE_DOMS_MAX; n++) {
		found = row_event(&s->row[s->next_event], ev);
		s->next_event = (s->next_event + 1) % STORE_DOMS_MAX;
	}
	if (!found)
		clear_fd(s->events_fd);
	pthread_mutex_unlock(&s->lock);
	return found;
}

/* With the lock: the answer, which is given once, or a request. */
static int ask_row(struct store *s, struct row *r, enum ask_kind kind, char *buf, size_t size)
{
	struct ask *a = &r->ask[kind];
	int rc = a->rc;

	if (a->state != ANSWERED) {
		if (a->state == NOT_ASKED)
			signal_fd(s->wake_fd);
		a->state = ASKED;
		return -EAGAIN;
	}
	a->state = NOT_ASKED;
	if (rc >= 0 && (size_t)rc >= size)
		rc = -EMSGSIZE;
	if (rc >= 0)
		memcpy(buf, a->value, (size_t)rc + 1);
	free_if_unused(r);
	return rc;
}

static int ask(struct store *s, uint32_t domid, enum ask_kind kind, char *buf, size_t size)
{
	struct row *r;
	int rc;

	pthread_mutex_lock(&s->lock);
	r = get_row(s, domid);
	rc = r ? ask_row(s, r, kind, buf, size) : -ENOSPC;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int store_read(struct store *s, uint32_t domid, char *buf, size_t size)
{
	return ask(s, domid, ASK_READ, buf, size);
}

int store_name(struct store *s, uint32_t domid, char *buf, size_t size)
{
	return ask(s, domid, ASK_NAME, buf, size);
}

int store_answer(struct store *s, uint32_t domid, char *buf, size_t size)
{
	return ask(s, domid, ASK_ANSWER, buf, size);
}

int store_want(struct store *s, uint32_t domid, const char *value)
{
	struct row *r;
	char none[1];
	int rc = -ENOSPC;

	if (strlen(value) >= STORE_VALUE_MAX)
		return -EMSGSIZE;
	pthread_mutex_lock(&s->lock);
	r = get_row(s, domid);
	if (r) {
		if (strcmp(r->want, value) != 0) {
			strcpy(r->want, value);
			r->wants++;
			r->ask[ASK_WANT].state = NOT_ASKED;
		}
		rc = ask_row(s, r, ASK_WANT, none, sizeof(none));
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int store_watch(struct store *s, uint32_t domid)
{
	struct row *r;
	char none[1];
	int rc = -ENOSPC;

	pthread_mutex_lock(&s->lock);
	r = get_row(s, domid);
	if (r) {
		r->wanted = true;
		/* A watch that is set already needs no call; its answer is not read any more. */
		if (r->watched)
			r->ask[ASK_WATCH].state = NOT_ASKED;
		rc = r->watched ? 0 : ask_row(s, r, ASK_WATCH, none, sizeof(none));
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void store_unwatch(struct store *s, uint32_t domid)
{
	struct row *r;

	pthread_mutex_lock(&s->lock);
	r = find_row(s, domid);
	if (r) {
		r->wanted = r->changed = r->answered = false;
		r->life++;
		for (int k = 0; k < ASK_KINDS; k++)
			r->ask[k].state = NOT_ASKED;
		free_if_unused(r);
		signal_fd(s->wake_fd);
	}
	pthread_mutex_unlock(&s->lock);
}
