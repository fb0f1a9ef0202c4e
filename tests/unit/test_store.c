// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * store: requests to a store that blocks. The store is played by `struct slow`: a test stops it,
 * lets it go on, and makes its events. A function of store.h that waited for a stopped store
 * would hang this program.
 */
#include "src/hv/store.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/core/flow.h"
#include "tests/unit/unit.h"

enum { NODES = 10000, ORDER_MAX = 2048, LONG_MS = 20000, SHORT_MS = 50 };

struct slow {
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool stopped; /* each call waits until it is not */
	bool waiting; /* a call does */
	bool lost;    /* the connection is: next() fails */
	int open_rc, read_rc, watch_rc;
	int opens, closes, names, reads, watches, unwatches, wants, answers;
	char want[64]; /* the newest that was written */
	int events_fd;
	uint32_t events; /* NODE events of domain event_domid that are due */
	uint32_t event_domid;
	uint32_t order[ORDER_MAX]; /* the domains that calls were about */
	uint32_t calls;
};

struct fixture {
	struct slow slow;
	struct store *store;
};

/* --- the store that blocks ---------------------------------------------------- */

static void enter(struct slow *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->stopped) {
		w->waiting = true;
		pthread_cond_broadcast(&w->change);
		pthread_cond_wait(&w->change, &w->lock);
	}
	w->waiting = false;
}

static int leave(struct slow *w, int rc)
{
	pthread_cond_broadcast(&w->change);
	pthread_mutex_unlock(&w->lock);
	return rc;
}

static void note(struct slow *w, uint32_t domid)
{
	if (w->calls < ORDER_MAX)
		w->order[w->calls++] = domid;
}

static int slow_open(void **h, void *arg)
{
	struct slow *w = arg;

	enter(w);
	if (!w->open_rc) {
		w->opens++;
		w->lost = false;
		w->read_rc = 0;
		*h = w;
	}
	return leave(w, w->open_rc);
}

static void slow_close(void *h)
{
	struct slow *w = h;

	enter(w);
	w->closes++;
	leave(w, 0);
}

static int slow_fd(void *h)
{
	return ((struct slow *)h)->events_fd;
}

static int slow_next(void *h, struct hv_event *ev)
{
	struct slow *w = h;
	uint64_t n;
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	if (w->lost) {
		rc = -EIO;
	} else if (w->events) {
		w->events--;
		*ev = (struct hv_event){ .type = HV_EVENT_NODE, .domid = w->event_domid };
		rc = 1;
	}
	if (rc != 1 && read(w->events_fd, &n, sizeof(n)) < 0)
		n = 0;
	return leave(w, rc);
}

static int slow_watch(void *h, uint32_t domid)
{
	struct slow *w = h;

	enter(w);
	w->watches++;
	note(w, domid);
	return leave(w, w->watch_rc);
}

static void slow_unwatch(void *h, uint32_t domid)
{
	struct slow *w = h;

	enter(w);
	w->unwatches++;
	note(w, domid);
	leave(w, 0);
}

/* Each reading has another value, so that a test sees which one it got. */
static int slow_read(void *h, uint32_t domid, char *buf, size_t size)
{
	struct slow *w = h;

	enter(w);
	note(w, domid);
	w->reads++;
	return leave(w, w->read_rc ? w->read_rc : snprintf(buf, size, "node %d", w->reads));
}

static int slow_name(void *h, uint32_t domid, char *buf, size_t size)
{
	struct slow *w = h;

	enter(w);
	note(w, domid);
	w->names++;
	return leave(w, snprintf(buf, size, "guest-%u", domid));
}

static int slow_want(void *h, uint32_t domid, const char *value)
{
	struct slow *w = h;

	enter(w);
	note(w, domid);
	w->wants++;
	snprintf(w->want, sizeof(w->want), "%s", value);
	return leave(w, 0);
}

static int slow_answer(void *h, uint32_t domid, char *buf, size_t size)
{
	struct slow *w = h;

	enter(w);
	note(w, domid);
	w->answers++;
	return leave(w, snprintf(buf, size, "answer %d", w->answers));
}

static const struct store_calls calls = {
	.open = slow_open,
	.close = slow_close,
	.fd = slow_fd,
	.next = slow_next,
	.watch = slow_watch,
	.unwatch = slow_unwatch,
	.read = slow_read,
	.name = slow_name,
	.want = slow_want,
	.answer = slow_answer,
};

static void set_stopped(struct slow *w, bool stopped)
{
	pthread_mutex_lock(&w->lock);
	w->stopped = stopped;
	leave(w, 0);
}

/* Until the thread hangs in a call of the stopped store. */
static void await_blocked(struct slow *w)
{
	pthread_mutex_lock(&w->lock);
	while (!w->waiting)
		pthread_cond_wait(&w->change, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

static void await_count(struct slow *w, const int *count, int n)
{
	pthread_mutex_lock(&w->lock);
	while (*count < n)
		pthread_cond_wait(&w->change, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

static void await_no_events(struct slow *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->events)
		pthread_cond_wait(&w->change, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

static void make_events(struct slow *w, uint32_t domid, uint32_t n)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&w->lock);
	w->event_domid = domid;
	w->events = n;
	assert_int_equal(write(w->events_fd, &one, sizeof(one)), sizeof(one));
	pthread_mutex_unlock(&w->lock);
}

/* --- rig ------------------------------------------------------------------------ */

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct store_conf c = { .calls = &calls, .open_ms = LONG_MS, .close_ms = LONG_MS };

	if (!f)
		return -1;
	*state = f;
	c.arg = &f->slow;
	pthread_mutex_init(&f->slow.lock, NULL);
	pthread_cond_init(&f->slow.change, NULL);
	f->slow.events_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return store_open(&f->store, &c);
}

/* A thread that was left behind still uses the store: wait for its last call. */
static int teardown(void **state)
{
	struct fixture *f = *state;

	set_stopped(&f->slow, false);
	store_close(f->store);
	await_count(&f->slow, &f->slow.closes, f->slow.opens);
	close(f->slow.events_fd);
	free(f);
	return 0;
}

/* The next event; false: none comes. */
static bool next_event(struct store *s, struct hv_event *ev, int ms)
{
	struct pollfd p = { .fd = store_fd(s), .events = POLLIN };

	for (;;) {
		int rc = store_next(s, ev);

		assert_true(rc >= 0);
		if (rc)
			return true;
		if (poll(&p, 1, ms) <= 0)
			return false;
	}
}

static void await_answer(struct store *s, uint32_t domid)
{
	struct hv_event ev;

	do
		assert_true(next_event(s, &ev, LONG_MS));
	while (ev.type != HV_EVENT_ANSWER || ev.domid != domid);
}

static void watch_now(struct store *s, uint32_t domid)
{
	assert_int_equal(store_watch(s, domid), -EAGAIN);
	await_answer(s, domid);
	assert_int_equal(store_watch(s, domid), 0);
}

/* --- requests and answers --------------------------------------------------------- */

RIG_TEST(request__gets_an_event_and_then_its_answer_once)
{
	struct fixture *f = *state;
	char buf[64];

	assert_int_equal(store_name(f->store, 5, buf, sizeof(buf)), -EAGAIN);
	await_answer(f->store, 5);
	assert_int_equal(store_name(f->store, 5, buf, sizeof(buf)), 7);
	assert_string_equal(buf, "guest-5");
	assert_int_equal(store_name(f->store, 5, buf, sizeof(buf)), -EAGAIN);
	assert_int_equal(store_read(f->store, 6, buf, sizeof(buf)), -EAGAIN);
	await_answer(f->store, 6);
	assert_int_equal(store_read(f->store, 6, buf, sizeof(buf)), 6);
	assert_string_equal(buf, "node 1");
}

RIG_TEST(answer__error_or_too_long__is_given)
{
	struct fixture *f = *state;
	char buf[6];

	f->slow.read_rc = -ENOENT;
	assert_int_equal(store_read(f->store, 6, buf, sizeof(buf)), -EAGAIN);
	await_answer(f->store, 6);
	assert_int_equal(store_read(f->store, 6, buf, sizeof(buf)), -ENOENT);
	f->slow.read_rc = 0;
	assert_int_equal(store_read(f->store, 6, buf, sizeof(buf)), -EAGAIN);
	await_answer(f->store, 6);
	assert_int_equal(store_read(f->store, 6, buf, sizeof(buf)), -EMSGSIZE);
}

RIG_TEST(watch__fails_or_succeeds__is_the_answer)
{
	struct fixture *f = *state;

	f->slow.watch_rc = -ENOSPC;
	assert_int_equal(store_watch(f->store, 6), -EAGAIN);
	await_answer(f->store, 6);
	assert_int_equal(store_watch(f->store, 6), -ENOSPC);
	f->slow.watch_rc = 0;
	watch_now(f->store, 6);
	assert_int_equal(store_watch(f->store, 6), 0);
	store_unwatch(f->store, 6);
	await_count(&f->slow, &f->slow.unwatches, 1);
	watch_now(f->store, 6);
	assert_int_equal(f->slow.watches, 3);
}

RIG_TEST(want__is_written_and_answer_is_read)
{
	struct fixture *f = *state;
	char buf[64], value[STORE_VALUE_MAX + 1];

	assert_int_equal(store_want(f->store, 6, "serve"), -EAGAIN);
	await_answer(f->store, 6);
	assert_int_equal(store_want(f->store, 6, "serve"), 0);
	assert_string_equal(f->slow.want, "serve");
	assert_int_equal(store_answer(f->store, 6, buf, sizeof(buf)), -EAGAIN);
	await_answer(f->store, 6);
	assert_int_equal(store_answer(f->store, 6, buf, sizeof(buf)), 8);
	assert_string_equal(buf, "answer 1");
	/* The same one again is written again. */
	assert_int_equal(store_want(f->store, 6, "serve"), -EAGAIN);
	await_count(&f->slow, &f->slow.wants, 2);
	memset(value, 'x', sizeof(value));
	value[STORE_VALUE_MAX] = '\0';
	assert_int_equal(store_want(f->store, 6, value), -EMSGSIZE);
}

RIG_TEST(want__another_value_before_the_answer_is_taken__is_written_too)
{
	struct fixture *f = *state;

	assert_int_equal(store_want(f->store, 6, "one"), -EAGAIN);
	await_answer(f->store, 6);
	assert_int_equal(store_want(f->store, 6, "two"), -EAGAIN);
	await_answer(f->store, 6);
	assert_int_equal(store_want(f->store, 6, "two"), 0);
	assert_string_equal(f->slow.want, "two");
}

/* --- a store that is stopped ---------------------------------------------------------- */

RIG_TEST(stopped__all_requests_return_at_once_and_are_made_once)
{
	struct fixture *f = *state;
	struct hv_event ev;
	char buf[64];

	set_stopped(&f->slow, true);
	for (int i = 0; i < 100; i++)
		for (uint32_t domid = 1; domid <= 20; domid++) {
			assert_int_equal(store_name(f->store, domid, buf, sizeof(buf)), -EAGAIN);
			assert_int_equal(store_watch(f->store, domid), -EAGAIN);
			assert_int_equal(store_read(f->store, domid, buf, sizeof(buf)), -EAGAIN);
		}
	await_blocked(&f->slow);
	assert_false(next_event(f->store, &ev, SHORT_MS));
	set_stopped(&f->slow, false);
	await_count(&f->slow, &f->slow.reads, 20);
	assert_int_equal(f->slow.names, 20);
	assert_int_equal(f->slow.watches, 20);
	assert_int_equal(f->slow.reads, 20);
}

/* Domain ids are used again: what was asked of the former domain is not of this one. */
RIG_TEST(unwatch__answer_under_way__is_dropped)
{
	struct fixture *f = *state;
	char buf[64];

	set_stopped(&f->slow, true);
	assert_int_equal(store_read(f->store, 6, buf, sizeof(buf)), -EAGAIN);
	await_blocked(&f->slow);
	store_unwatch(f->store, 6);
	assert_int_equal(store_read(f->store, 6, buf, sizeof(buf)), -EAGAIN);
	set_stopped(&f->slow, false);
	await_answer(f->store, 6);
	assert_int_equal(store_read(f->store, 6, buf, sizeof(buf)), 6);
	assert_string_equal(buf, "node 2");
}

/* The call for the first value has begun, and is not the answer to the second. */
RIG_TEST(want__another_value_during_the_call__is_written_too)
{
	struct fixture *f = *state;

	set_stopped(&f->slow, true);
	assert_int_equal(store_want(f->store, 6, "one"), -EAGAIN);
	await_blocked(&f->slow);
	assert_int_equal(store_want(f->store, 6, "two"), -EAGAIN);
	set_stopped(&f->slow, false);
	await_answer(f->store, 6);
	assert_int_equal(f->slow.wants, 2);
	assert_int_equal(store_want(f->store, 6, "two"), 0);
	assert_string_equal(f->slow.want, "two");
}

RIG_TEST(unwatch__watch_under_way__is_undone)
{
	struct fixture *f = *state;
	struct hv_event ev;

	set_stopped(&f->slow, true);
	assert_int_equal(store_watch(f->store, 6), -EAGAIN);
	await_blocked(&f->slow);
	store_unwatch(f->store, 6);
	set_stopped(&f->slow, false);
	await_count(&f->slow, &f->slow.unwatches, 1);
	assert_false(next_event(f->store, &ev, SHORT_MS));
}

RIG_TEST(table__full__refuses_and_recovers)
{
	struct fixture *f = *state;
	struct hv_event ev;
	char buf[64];

	set_stopped(&f->slow, true);
	for (uint32_t domid = 1; domid <= STORE_DOMS_MAX; domid++)
		assert_int_equal(store_name(f->store, domid, buf, sizeof(buf)), -EAGAIN);
	assert_int_equal(store_name(f->store, 9999, buf, sizeof(buf)), -ENOSPC);
	assert_int_equal(store_watch(f->store, 9999), -ENOSPC);
	set_stopped(&f->slow, false);
	for (uint32_t domid = 1; domid <= STORE_DOMS_MAX; domid++) {
		assert_true(next_event(f->store, &ev, LONG_MS));
		assert_int_equal(ev.type, HV_EVENT_ANSWER);
		assert_true(store_name(f->store, ev.domid, buf, sizeof(buf)) > 0);
	}
	assert_int_equal(store_name(f->store, 9999, buf, sizeof(buf)), -EAGAIN);
}

RIG_TEST(close__thread_is_blocked__returns_and_the_thread_ends_later)
{
	struct fixture *f = *state;
	const struct store_conf c = {
		.calls = &calls, .arg = &f->slow, .open_ms = LONG_MS, .close_ms = SHORT_MS
	};
	struct store *s;
	char buf[64];

	assert_int_equal(store_open(&s, &c), 0);
	set_stopped(&f->slow, true);
	assert_int_equal(store_read(s, 6, buf, sizeof(buf)), -EAGAIN);
	await_blocked(&f->slow);
	store_close(s);
	assert_int_equal(f->slow.closes, 0);
	set_stopped(&f->slow, false);
	await_count(&f->slow, &f->slow.closes, 1);
}

RIG_TEST(open__no_answer__is_an_error_in_time)
{
	struct fixture *f = *state;
	const struct store_conf c = {
		.calls = &calls, .arg = &f->slow, .open_ms = SHORT_MS, .close_ms = SHORT_MS
	};
	struct store *s = NULL;

	set_stopped(&f->slow, true);
	assert_int_equal(store_open(&s, &c), -ETIMEDOUT);
	assert_null(s);
	set_stopped(&f->slow, false);
	await_count(&f->slow, &f->slow.closes, 1);
}

RIG_TEST(open__fails__gives_the_error)
{
	struct fixture *f = *state;
	const struct store_conf c = {
		.calls = &calls, .arg = &f->slow, .open_ms = LONG_MS, .close_ms = LONG_MS
	};
	struct store *s = NULL;

	f->slow.open_rc = -EACCES;
	assert_int_equal(store_open(&s, &c), -EACCES);
	assert_null(s);
}

RIG_TEST(connection__lost__is_opened_again_with_its_watches)
{
	struct fixture *f = *state;
	const uint64_t one = 1;
	char buf[64];

	watch_now(f->store, 6);
	pthread_mutex_lock(&f->slow.lock);
	f->slow.lost = true;
	pthread_mutex_unlock(&f->slow.lock);
	assert_int_equal(write(f->slow.events_fd, &one, sizeof(one)), sizeof(one));
	await_count(&f->slow, &f->slow.opens, 2);
	await_count(&f->slow, &f->slow.watches, 2);
	assert_int_equal(f->slow.closes, 1);
	assert_int_equal(store_name(f->store, 7, buf, sizeof(buf)), -EAGAIN);
	await_answer(f->store, 7);
	assert_int_equal(store_name(f->store, 7, buf, sizeof(buf)), 7);
}

RIG_TEST(connection__lost_in_a_call__the_call_is_made_again)
{
	struct fixture *f = *state;
	char buf[64];

	set_stopped(&f->slow, true);
	assert_int_equal(store_read(f->store, 6, buf, sizeof(buf)), -EAGAIN);
	await_blocked(&f->slow);
	pthread_mutex_lock(&f->slow.lock);
	f->slow.lost = true;
	f->slow.read_rc = -EIO;
	pthread_mutex_unlock(&f->slow.lock);
	set_stopped(&f->slow, false);
	await_answer(f->store, 6);
	assert_int_equal(store_read(f->store, 6, buf, sizeof(buf)), 6);
	assert_string_equal(buf, "node 2");
}

/* --- many ------------------------------------------------------------------------------- */

RIG_TEST(events__10000_of_one_guest__are_few)
{
	struct fixture *f = *state;
	struct hv_event ev;
	uint32_t n = 0;
	char buf[64];

	watch_now(f->store, 6);
	make_events(&f->slow, 6, NODES);
	await_no_events(&f->slow);
	assert_int_equal(store_name(f->store, 7, buf, sizeof(buf)), -EAGAIN);
	do {
		assert_true(next_event(f->store, &ev, LONG_MS));
		n += ev.type == HV_EVENT_NODE;
	} while (ev.type != HV_EVENT_ANSWER);
	assert_int_equal(ev.domid, 7);
	/* The last one may come while the first is read, and be taken after the answer. */
	for (; next_event(f->store, &ev, 0); n++)
		assert_int_equal(ev.type, HV_EVENT_NODE);
	assert_in_range(n, 1, 2);
	/* Domains that are not watched: one is in the table, the other is not. */
	assert_int_equal(store_name(f->store, 8, buf, sizeof(buf)), -EAGAIN);
	await_answer(f->store, 8);
	make_events(&f->slow, 8, 1);
	assert_false(next_event(f->store, &ev, SHORT_MS));
	make_events(&f->slow, 9, 1);
	assert_false(next_event(f->store, &ev, SHORT_MS));
}

/* One kind of answer of one domain. False: it is not there yet. */
static bool take(struct store *s, uint32_t domid, int kind)
{
	char buf[64];

	if (kind == 0)
		return store_name(s, domid, buf, sizeof(buf)) > 0;
	if (kind == 1)
		return store_read(s, domid, buf, sizeof(buf)) > 0;
	return store_watch(s, domid) == 0;
}

RIG_TEST(guests__256_at_once__are_served_in_turn)
{
	struct fixture *f = *state;
	bool got[FLOW_GUESTS_MAX + 1][3] = { { false } };
	int left = 3 * FLOW_GUESTS_MAX;
	struct hv_event ev;

	set_stopped(&f->slow, true);
	for (uint32_t domid = 1; domid <= FLOW_GUESTS_MAX; domid++)
		for (int kind = 0; kind < 3; kind++)
			assert_false(take(f->store, domid, kind));
	set_stopped(&f->slow, false);
	while (left) {
		assert_true(next_event(f->store, &ev, LONG_MS));
		for (int kind = 0; kind < 3; kind++)
			if (!got[ev.domid][kind] && take(f->store, ev.domid, kind)) {
				got[ev.domid][kind] = true;
				left--;
			}
	}
	assert_int_equal(f->slow.calls, 3 * FLOW_GUESTS_MAX);
	/* One call for each guest before the second for any. */
	for (uint32_t i = 1; i < FLOW_GUESTS_MAX; i++)
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(f->slow.order[i], f->slow.order[k]);
}
