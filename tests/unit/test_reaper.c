// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reaper: what is given is destroyed on another thread, in order, and comes back once. A destroy
 * that takes long is played by a gate, which a test opens: a function of reaper.h that waited for
 * it would hang this program.
 */
#include "src/transport/verbs/reaper.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "tests/unit/unit.h"

enum { MANY = 5000, LONG_MS = 20000, PENDING = 64 };

struct thing {
	struct reap reap;
	struct gate *gate;
	uint32_t serial; /* when it was destroyed, from 1 */
};

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool closed, waiting; /* waiting: a destroy waits for it to be opened */
	uint32_t destroyed;
	bool signals; /* the thread takes them */
	bool slow;    /* set before the first is given */
};

struct fixture {
	struct gate gate;
	struct reaper *reaper;
	struct thing thing[MANY];
};

static struct thing *thing_of(struct reap *item)
{
	return (struct thing *)((char *)item - offsetof(struct thing, reap));
}

static void destroy(struct reap *item)
{
	struct thing *t = thing_of(item);
	struct gate *g = t->gate;
	sigset_t blocked;

	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	pthread_mutex_lock(&g->lock);
	g->signals = g->signals || !sigismember(&blocked, SIGTERM);
	while (g->closed) {
		g->waiting = true;
		pthread_cond_broadcast(&g->change);
		pthread_cond_wait(&g->change, &g->lock);
	}
	g->waiting = false;
	g->destroyed++;
	pthread_mutex_unlock(&g->lock);
	if (g->slow)
		usleep(1000);
	t->serial = g->destroyed; /* without the lock: the reaper must order it before take */
}

static void set_gate(struct gate *g, bool closed)
{
	pthread_mutex_lock(&g->lock);
	g->closed = closed;
	pthread_cond_broadcast(&g->change);
	pthread_mutex_unlock(&g->lock);
}

static void wait_until_stuck(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	while (!g->waiting)
		pthread_cond_wait(&g->change, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .gate = { .lock = PTHREAD_MUTEX_INITIALIZER,
					.change = PTHREAD_COND_INITIALIZER } };
	for (int i = 0; i < MANY; i++)
		f.thing[i].gate = &f.gate;
	*state = &f;
	return reaper_open(&f.reaper, destroy);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	set_gate(&f->gate, false);
	reaper_close(f->reaper);
	return 0;
}

static bool is_readable(const struct fixture *f, int ms)
{
	struct pollfd p = { .fd = reaper_fd(f->reaper), .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

/* The next one, which comes within LONG_MS. */
static struct thing *next(struct fixture *f)
{
	struct reap *item = NULL;

	while (!item) {
		assert_true(is_readable(f, LONG_MS));
		item = reaper_take(f->reaper);
	}
	return thing_of(item);
}

RIG_TEST(give__many_while_others_are_taken__each_comes_back_once_in_order)
{
	struct fixture *f = *state;
	uint32_t given = 0, taken = 0;

	while (taken < MANY) {
		struct reap *item;

		for (int i = 0; i < 3 && given < MANY; i++)
			reaper_give(f->reaper, &f->thing[given++].reap);
		item = given < MANY ? reaper_take(f->reaper) : &next(f)->reap;
		if (!item)
			continue;
		assert_ptr_equal(thing_of(item), &f->thing[taken]);
		assert_int_equal(thing_of(item)->serial, ++taken);
	}
	assert_null(reaper_take(f->reaper));
	assert_int_equal(f->gate.destroyed, MANY);
	assert_false(f->gate.signals);
}

RIG_TEST(give__a_destroy_takes_long__neither_give_nor_take_waits)
{
	struct fixture *f = *state;

	set_gate(&f->gate, true);
	reaper_give(f->reaper, &f->thing[0].reap);
	wait_until_stuck(&f->gate);
	reaper_give(f->reaper, &f->thing[1].reap);
	assert_null(reaper_take(f->reaper));
	assert_false(is_readable(f, 0));
	set_gate(&f->gate, false);
	assert_ptr_equal(next(f), &f->thing[0]);
	assert_ptr_equal(next(f), &f->thing[1]);
}

RIG_TEST(take__all_were_taken__the_descriptor_is_quiet)
{
	struct fixture *f = *state;

	for (int i = 0; i < 3; i++)
		reaper_give(f->reaper, &f->thing[i].reap);
	for (int i = 0; i < 3; i++)
		next(f);
	/* A write behind the last item may still come: it makes one take more, not a busy loop. */
	while (is_readable(f, 10))
		assert_null(reaper_take(f->reaper));
	reaper_give(f->reaper, &f->thing[3].reap);
	assert_ptr_equal(next(f), &f->thing[3]);
}

RIG_TEST(close__items_are_pending__waits_until_all_are_destroyed)
{
	struct fixture *f = *state;

	f->gate.slow = true; /* so that most are pending when it is closed */
	for (int i = 0; i < PENDING; i++)
		reaper_give(f->reaper, &f->thing[i].reap);
	reaper_close(f->reaper);
	f->reaper = NULL;
	assert_int_equal(f->gate.destroyed, PENDING);
	for (int i = 0; i < PENDING; i++)
		assert_int_equal(f->thing[i].serial, i + 1);
}

RIG_TEST(close__nothing_was_given__ends)
{
	struct fixture *f = *state;

	reaper_close(f->reaper);
	f->reaper = NULL;
	reaper_close(NULL);
}
