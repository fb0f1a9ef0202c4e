// SPDX-License-Identifier: GPL-2.0-or-later
/* pool: threads that answer requests. See pool.h. */
#include "src/auction/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct queue {
	struct job *first, **last;
	size_t n;
	pthread_cond_t more;
};

struct thread {
	pthread_t id;
	bool runs;
	struct pool *pool;
	struct queue *from;
	struct auction_worker worker;
};

struct pool {
	pthread_mutex_t lock; /* of all below but threads */
	struct queue pages, changes;
	struct job *done;
	bool stop;
	int fd;
	struct auction_counts counts;
	size_t threads;
	struct thread *thread;
};

/* The next job of the queue; NULL: stop. */
static struct job *wait_for_job(struct pool *p, struct queue *q)
{
	struct job *j;

	pthread_mutex_lock(&p->lock);
	while (!q->first && !p->stop)
		pthread_cond_wait(&q->more, &p->lock);
	j = p->stop ? NULL : q->first;
	if (j) {
		q->first = j->next;
		if (!q->first)
			q->last = &q->first;
		q->n--;
	}
	pthread_mutex_unlock(&p->lock);
	return j;
}

static void put_done(struct pool *p, struct job *j)
{
	bool first;

	pthread_mutex_lock(&p->lock);
	first = !p->done;
	j->next = p->done;
	p->done = j;
	pthread_mutex_unlock(&p->lock);
	if (first)
		(void)eventfd_write(p->fd, 1); /* it cannot overflow: it is read each time */
}

static void *answer_jobs(void *arg)
{
	struct thread *t = arg;
	struct job *j;

	while ((j = wait_for_job(t->pool, t->from))) {
		auction_answer(&t->worker, &j->request, &j->reply);
		put_done(t->pool, j);
	}
	return NULL;
}

static int start_thread(struct pool *p, const struct auction_options *o, const struct log *log,
			size_t i)
{
	struct thread *t = &p->thread[i];
	sigset_t all, old;
	int rc;

	t->pool = p;
	t->from = i < o->threads ? &p->pages : &p->changes;
	rc = auction_worker_open(&t->worker, o, log, &p->counts, i);
	if (rc)
		return rc;
	sigfillset(&all); /* signals are for the loop's thread */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = -pthread_create(&t->id, NULL, answer_jobs, t);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	t->runs = !rc;
	return rc;
}

int pool_open(struct pool **out, const struct auction_options *o, const struct log *log)
{
	struct pool *p = calloc(1, sizeof(*p));
	int rc = 0;

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->pages.more, NULL);
	pthread_cond_init(&p->changes.more, NULL);
	p->pages.last = &p->pages.first;
	p->changes.last = &p->changes.first;
	p->threads = (size_t)(o->threads + o->updaters);
	p->thread = calloc(p->threads, sizeof(*p->thread));
	p->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!p->thread || p->fd < 0)
		rc = p->thread ? -errno : -ENOMEM;
	for (size_t i = 0; !rc && i < p->threads; i++)
		rc = start_thread(p, o, log, i);
	if (rc)
		pool_close(p);
	else
		*out = p;
	return rc;
}

void pool_stop(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->pages.more);
	pthread_cond_broadcast(&p->changes.more);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; p->thread && i < p->threads; i++)
		if (p->thread[i].runs) {
			pthread_join(p->thread[i].id, NULL);
			p->thread[i].runs = false;
		}
	/* No thread is left: these are not answered. */
	*p->pages.last = p->changes.first;
	while (p->pages.first) {
		struct job *j = p->pages.first;

		p->pages.first = j->next;
		j->reply = (struct auction_reply){ .status = 503 };
		j->next = p->done;
		p->done = j;
	}
	p->pages.last = &p->pages.first;
	p->changes = (struct queue){ .more = p->changes.more };
	p->changes.last = &p->changes.first;
}

void pool_close(struct pool *p)
{
	if (!p)
		return;
	pool_stop(p);
	for (size_t i = 0; p->thread && i < p->threads; i++)
		auction_worker_close(&p->thread[i].worker);
	free(p->thread);
	if (p->fd >= 0)
		close(p->fd);
	pthread_cond_destroy(&p->pages.more);
	pthread_cond_destroy(&p->changes.more);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

bool pool_give(struct pool *p, struct job *j)
{
	struct queue *q = j->request.post ? &p->changes : &p->pages;
	bool room;

	j->next = NULL;
	pthread_mutex_lock(&p->lock);
	room = q->n < POOL_WAITING_MAX;
	if (room) {
		*q->last = j;
		q->last = &j->next;
		q->n++;
		pthread_cond_signal(&q->more);
	}
	pthread_mutex_unlock(&p->lock);
	return room;
}

int pool_fd(const struct pool *p)
{
	return p->fd;
}

struct job *pool_take(struct pool *p)
{
	struct job *j;
	eventfd_t n;

	(void)eventfd_read(p->fd, &n);
	pthread_mutex_lock(&p->lock);
	j = p->done;
	p->done = NULL;
	pthread_mutex_unlock(&p->lock);
	return j;
}
