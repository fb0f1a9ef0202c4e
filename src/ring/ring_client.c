// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ring_client: threads that ask, and one that keeps the connection. See ring_client.h.
 *
 * The memory of a connection goes when its server does, while others use it. So a caller says that
 * it is in (users), and then looks whether the ring is still open. The thread closes it, and then
 * waits until nobody is in. Both do it in the one order of all sequentially consistent operations:
 * one of the two sees the other. Nobody stays in for long: the thread wakes all that wait for an
 * answer.
 *
 * All that is read of the server's memory is read once, and checked after that.
 */
#include "config.h"

#include "src/ring/ring_client.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "resex/region_abi.h"
#include "src/ring/connect.h"
#include "src/ring/direct.h"
#include "src/util/clock.h"

enum {
	LOOK_MS = 100, /* from one look at the header to the next */
	HELLO_MS = 1000,
	PAUSE_MIN_MS = 10, /* before the next attempt to connect; doubled by each that failed */
	PAUSE_MAX_MS = 1000,
};

struct ring_client {
	struct direct direct;
	struct ring_connection r; /* while it is open, unchanged */
	struct clock clock;
	pthread_t thread;
	int stop; /* an eventfd */
	/* Written by the thread alone. */
	int state;
	bool open;
	struct sockaddr_un address;
	/* Written by callers. */
	uint32_t users __attribute__((aligned(64)));
	uint64_t count[RING_COUNTS] __attribute__((aligned(64)));
};

/* --- the memory that is shared: futexes between processes --- */

static void futex_wait(const uint32_t *word, uint32_t is, int64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };

	syscall(SYS_futex, word, FUTEX_WAIT, is, &t, NULL, 0);
}

static void futex_wake_all(const uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static bool swap(uint32_t *word, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* --- callers --- */

static bool is_open(const struct ring_client *c)
{
	return __atomic_load_n(&c->open, __ATOMIC_SEQ_CST);
}

static void leave(struct ring_client *c)
{
	__atomic_sub_fetch(&c->users, 1, __ATOMIC_SEQ_CST);
}

static bool enter(struct ring_client *c)
{
	if (!is_open(c)) /* a cheap look: so that the thread finds a moment without users */
		return false;
	__atomic_add_fetch(&c->users, 1, __ATOMIC_SEQ_CST);
	if (is_open(c))
		return true;
	leave(c);
	return false;
}

/* A slot; NULL: all are taken. Threads begin to look in different places. */
static struct cache_ring_slot *take(const struct ring_client *c, uint32_t *number)
{
	uint64_t hint = (uint64_t)pthread_self() >> 6;
	uint32_t from = (uint32_t)(hint * 0x9e3779b97f4a7c15ull >> 32);

	for (uint32_t i = 0; i < c->r.slots; i++) {
		uint32_t n = (from + i) % c->r.slots;
		uint32_t *state = &c->r.slot[n].state;

		if (__atomic_load_n(state, __ATOMIC_RELAXED) == CACHE_RING_FREE &&
		    swap(state, CACHE_RING_FREE, CACHE_RING_TAKEN)) {
			*number = n;
			return &c->r.slot[n];
		}
	}
	return NULL;
}

static void put(const struct ring_client *c, struct cache_ring_slot *s, uint32_t number,
		uint64_t key, uint32_t flags)
{
	struct cache_ring_header *h = c->r.header;
	const uint64_t one = 1;

	__atomic_store_n(&s->key, key, __ATOMIC_RELAXED);
	__atomic_store_n(&s->flags, flags, __ATOMIC_RELAXED);
	__atomic_store_n(&s->state, CACHE_RING_ASKED, __ATOMIC_RELEASE);
	__atomic_fetch_or(&h->asked[number / 64], 1ull << number % 64, __ATOMIC_SEQ_CST);
	/* The server sets sleeps, then looks at asked: one of the two sees the other's store. */
	if (__atomic_load_n(&h->sleeps, __ATOMIC_SEQ_CST) == 1 &&
	    write(c->r.event, &one, sizeof(one)) < 0) {
		/* Nothing: without the server's wake-up the caller has its timeout. */
	}
}

static bool is_why(uint32_t why)
{
	return why >= CACHE_RING_VERIFIED && why <= CACHE_RING_BAD;
}

static void read_answer(const struct cache_ring_slot *s, uint32_t flags, struct ring_answer *a)
{
	a->why = __atomic_load_n(&s->why, __ATOMIC_RELAXED);
	a->home = __atomic_load_n(&s->home, __ATOMIC_RELAXED);
	a->word = __atomic_load_n(&s->word, __ATOMIC_RELAXED);
	a->version = __atomic_load_n(&s->version, __ATOMIC_RELAXED);
	if (!is_why(a->why) ||
	    (a->why == CACHE_RING_VERIFIED &&
	     (!a->home || a->home > REGION_HOSTS_MAX || a->word >= RING_WORDS_MAX || !a->version ||
	      (flags & CACHE_RING_ALL && a->word))))
		a->why = RING_RUBBISH;
	if (a->why != CACHE_RING_VERIFIED)
		*a = (struct ring_answer){ .why = a->why };
}

/* Returns why not, or 0: the state is no longer ASKED. */
static uint32_t wait_for_answer(const struct ring_client *c, struct cache_ring_slot *s,
				int64_t timeout_ns)
{
	struct clock clock = c->clock;
	int64_t until = clock.now(&clock).ns + timeout_ns, left = timeout_ns;

	while (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) == CACHE_RING_ASKED) {
		if (left <= 0 || !is_open(c)) {
			/* If this fails, the answer is there. */
			if (swap(&s->state, CACHE_RING_ASKED, CACHE_RING_LEFT))
				return left <= 0 ? RING_TIMEOUT : RING_NO_SERVER;
			continue;
		}
		futex_wait(&s->state, CACHE_RING_ASKED, left);
		left = until - clock.now(&clock).ns;
	}
	return 0;
}

static void ask(const struct ring_client *c, uint64_t key, uint32_t flags, int64_t timeout_ns,
		struct ring_answer *a)
{
	uint32_t number = 0;
	struct cache_ring_slot *s;

	if (__atomic_load_n(&c->r.header->ended, __ATOMIC_ACQUIRE))
		return;
	s = take(c, &number);
	if (!s) {
		a->why = RING_FULL;
		return;
	}
	put(c, s, number, key, flags);
	a->why = wait_for_answer(c, s, timeout_ns);
	if (a->why)
		return;
	/* A state that is none: the slot stays as it is. Nobody knows to whom it belongs. */
	if (__atomic_load_n(&s->state, __ATOMIC_ACQUIRE) != CACHE_RING_ANSWERED) {
		a->why = RING_RUBBISH;
		return;
	}
	read_answer(s, flags, a);
	__atomic_store_n(&s->state, CACHE_RING_FREE, __ATOMIC_RELEASE);
}

static bool read_directly(struct ring_client *c, uint64_t key, uint32_t flags,
			  struct ring_answer *a)
{
	struct clock clock = c->clock;
	struct direct_answer d;

	if (__atomic_load_n(&c->r.header->ended, __ATOMIC_ACQUIRE) ||
	    !direct_ask(&c->direct, &clock, key, flags & CACHE_RING_ALL, &d))
		return false;
	*a = (struct ring_answer){
		.why = CACHE_RING_VERIFIED, .home = d.home, .word = d.word, .version = d.version
	};
	ring_client_count(c, RING_DIRECT);
	return true;
}

struct ring_answer ring_client_ask(struct ring_client *c, uint64_t key, uint32_t flags,
				   int64_t timeout_ns)
{
	struct ring_answer a = { .why = RING_NO_SERVER };

	if (timeout_ns < RING_TIMEOUT_MIN_NS)
		timeout_ns = RING_TIMEOUT_MIN_NS;
	if (timeout_ns > RING_TIMEOUT_MAX_NS)
		timeout_ns = RING_TIMEOUT_MAX_NS;
	if (!enter(c))
		return a;
	if (!read_directly(c, key, flags, &a))
		ask(c, key, flags, timeout_ns, &a);
	leave(c);
	return a;
}

void ring_client_count(struct ring_client *c, enum ring_count what)
{
	__atomic_add_fetch(&c->count[what], 1, __ATOMIC_RELAXED);
}

int ring_client_state(const struct ring_client *c)
{
	return __atomic_load_n(&c->state, __ATOMIC_RELAXED);
}

void ring_client_settle(const struct ring_client *c)
{
	for (int ms = 0; ms < 2 * HELLO_MS && ring_client_state(c) == -ENOTCONN; ms++)
		poll(NULL, 0, 1);
}

const char *ring_why_text(uint32_t why)
{
	switch (why) {
	case CACHE_RING_VERIFIED:
		return "verified";
	case CACHE_RING_NO_HOME:
		return "no home";
	case CACHE_RING_CLOSED:
		return "closed";
	case CACHE_RING_STALE:
		return "stale";
	case CACHE_RING_LOST:
		return "lost";
	case CACHE_RING_BAD:
		return "bad";
	case RING_NO_SERVER:
		return "no server";
	case RING_TIMEOUT:
		return "timeout";
	case RING_FULL:
		return "full";
	case RING_RUBBISH:
		return "rubbish";
	default:
		return "?";
	}
}

/* --- the thread --- */

static void publish(struct ring_client *c)
{
	uint64_t *to[RING_COUNTS] = {
		[RING_HITS] = &c->r.header->hits,	    [RING_MISSES] = &c->r.header->misses,
		[RING_PASSES] = &c->r.header->passes,	    [RING_STORED] = &c->r.header->stored,
		[RING_REFUSED] = &c->r.header->refused,	    [RING_DIRECT] = &c->r.header->direct,
		[RING_UNOFFERED] = &c->r.header->unoffered,
	};

	for (int i = 0; i < RING_COUNTS; i++)
		__atomic_store_n(to[i], __atomic_load_n(&c->count[i], __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
}

static bool is_stopped(const struct ring_client *c, int wait_ms)
{
	struct pollfd p = { .fd = c->stop, .events = POLLIN };

	return poll(&p, 1, wait_ms) > 0;
}

/* Files of homes, until there are no more now. -errno: the connection has ended. */
static int take_files(struct ring_client *c)
{
	struct cache_ring_file f;
	int fd, rc;

	do {
		rc = ring_receive(&c->r, &f, &fd);
		if (!rc)
			rc = direct_take(&c->direct, &f, fd);
	} while (!rc);
	return rc == -EAGAIN ? 0 : rc;
}

/* Until the server ends, or stop. Returns how: -errno. */
static int keep(struct ring_client *c)
{
	struct pollfd p[] = { { .fd = c->r.sock, .events = POLLIN },
			      { .fd = c->stop, .events = POLLIN } };
	int rc;

	for (;;) {
		publish(c);
		if (poll(p, 2, LOOK_MS) < 0 && errno != EINTR)
			return -errno;
		if (p[1].revents)
			return -ECANCELED;
		rc = p[0].revents ? take_files(c) : 0;
		if (rc)
			return rc;
		if (__atomic_load_n(&c->r.header->ended, __ATOMIC_ACQUIRE))
			return -ECONNRESET;
	}
}

/* No caller uses the memory any more when it returns. */
static void close_ring(struct ring_client *c)
{
	__atomic_store_n(&c->open, false, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&c->users, __ATOMIC_SEQ_CST)) {
		/* Again and again: one may have looked at open just before it began to wait. */
		for (uint32_t i = 0; i < c->r.slots; i++)
			futex_wake_all(&c->r.slot[i].state);
		poll(NULL, 0, 1);
	}
	direct_close(&c->direct);
	ring_disconnect(&c->r);
}

static void set_state(struct ring_client *c, int state)
{
	__atomic_store_n(&c->state, state, __ATOMIC_RELAXED);
}

/* One connection, from its begin to its end. Returns whether it lasted. */
static bool connect_once(struct ring_client *c)
{
	struct mono began = c->clock.now(&c->clock);
	int rc = ring_connect(&c->r, &c->address, c->stop, HELLO_MS);

	if (!rc) {
		__atomic_store_n(&c->open, true, __ATOMIC_SEQ_CST);
		set_state(c, 0);
		rc = keep(c);
		close_ring(c);
	}
	set_state(c, rc);
	return c->clock.now(&c->clock).ns - began.ns > PAUSE_MAX_MS * NS_PER_MS &&
	       rc == -ECONNRESET;
}

static void *run(void *arg)
{
	struct ring_client *c = arg;
	int pause_ms = PAUSE_MIN_MS;

	do {
		if (connect_once(c))
			pause_ms = PAUSE_MIN_MS;
		else
			pause_ms = 2 * pause_ms < PAUSE_MAX_MS ? 2 * pause_ms : PAUSE_MAX_MS;
	} while (!is_stopped(c, pause_ms));
	return NULL;
}

/* Signals are for the threads of the program. */
static int start(struct ring_client *c)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&c->thread, NULL, run, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

int ring_client_check(const char *path)
{
	struct sockaddr_un unused;

	return ring_address(&unused, path);
}

int ring_client_open(struct ring_client **out, const char *path)
{
	struct ring_client *c = aligned_alloc(64, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	*c = (struct ring_client){ .state = -ENOTCONN,
				   .stop = -1,
				   .r = { .sock = -1, .event = -1 } };
	clock_real(&c->clock);
	rc = ring_address(&c->address, path);
	if (rc)
		goto out;
	c->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = c->stop < 0 ? -errno : start(c);
	if (rc)
		goto out;
	*out = c;
	c = NULL;
out:
	if (c && c->stop >= 0)
		close(c->stop);
	free(c);
	return rc;
}

void ring_client_close(struct ring_client *c)
{
	const uint64_t one = 1;

	if (!c)
		return;
	/* It cannot fail: the count is 0. */
	if (write(c->stop, &one, sizeof(one)) == (ssize_t)sizeof(one))
		pthread_join(c->thread, NULL);
	close(c->stop);
	free(c);
}
