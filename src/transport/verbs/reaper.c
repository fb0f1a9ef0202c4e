// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reaper: two queues, of items given and of items destroyed, and the thread between them. See
 * reaper.h. The lock protects the queues, and is not held while an item is destroyed.
 */
#include "src/transport/verbs/reaper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct queue {
	struct reap *first, **last; /* last: where the next item goes */
};

struct reaper {
	void (*destroy)(struct reap *item);
	pthread_t thread;
	int fd; /* readable: an item was destroyed */

	pthread_mutex_t lock; /* for all below */
	pthread_cond_t work;  /* an item was given, or stop */
	struct queue given, destroyed;
	bool stop;
};

static void queue_init(struct queue *q)
{
	q->first = NULL;
	q->last = &q->first;
}

static void queue_put(struct queue *q, struct reap *item)
{
	item->next = NULL;
	*q->last = item;
	q->last = &item->next;
}

static struct reap *queue_take(struct queue *q)
{
	struct reap *item = q->first;

	if (!item)
		return NULL;
	q->first = item->next;
	if (!q->first)
		q->last = &q->first;
	return item;
}

/* NULL: all that was given is destroyed, and the end is wanted. */
static struct reap *next_given(struct reaper *r)
{
	struct reap *item;

	pthread_mutex_lock(&r->lock);
	while (!r->given.first && !r->stop)
		pthread_cond_wait(&r->work, &r->lock);
	item = queue_take(&r->given);
	pthread_mutex_unlock(&r->lock);
	return item;
}

static void *reaper_main(void *arg)
{
	const uint64_t one = 1;
	struct reaper *r = arg;
	struct reap *item;

	while ((item = next_given(r))) {
		r->destroy(item);
		pthread_mutex_lock(&r->lock);
		queue_put(&r->destroyed, item);
		pthread_mutex_unlock(&r->lock);
		if (write(r->fd, &one, sizeof(one)) < 0)
			continue; /* its counter is full: it is readable already */
	}
	return NULL;
}

static void reaper_free(struct reaper *r)
{
	if (r->fd >= 0)
		close(r->fd);
	pthread_cond_destroy(&r->work);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static int start_thread(struct reaper *r)
{
	sigset_t all, old;
	int rc;

	/* Signals are for the threads that the program made. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&r->thread, NULL, reaper_main, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -rc;
}

int reaper_open(struct reaper **out, void (*destroy)(struct reap *item))
{
	struct reaper *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	r->destroy = destroy;
	queue_init(&r->given);
	queue_init(&r->destroyed);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, NULL);
	r->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	rc = r->fd < 0 ? -errno : start_thread(r);
	if (rc)
		reaper_free(r);
	else
		*out = r;
	return rc;
}

void reaper_close(struct reaper *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_signal(&r->work);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	reaper_free(r);
}

void reaper_give(struct reaper *r, struct reap *item)
{
	pthread_mutex_lock(&r->lock);
	queue_put(&r->given, item);
	pthread_cond_signal(&r->work);
	pthread_mutex_unlock(&r->lock);
}

struct reap *reaper_take(struct reaper *r)
{
	struct reap *item;
	uint64_t n;

	pthread_mutex_lock(&r->lock);
	item = queue_take(&r->destroyed);
	pthread_mutex_unlock(&r->lock);
	if (item)
		return item;
	/*
	 * Clear the descriptor, then look again: the thread puts an item before it writes, so one
	 * that came before the read may have no write behind it.
	 */
	if (read(r->fd, &n, sizeof(n)) < 0)
		return NULL; /* it was not readable: nothing came */
	pthread_mutex_lock(&r->lock);
	item = queue_take(&r->destroyed);
	pthread_mutex_unlock(&r->lock);
	return item;
}

int reaper_fd(const struct reaper *r)
{
	return r->fd;
}
