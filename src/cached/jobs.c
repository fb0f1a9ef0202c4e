// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jobs: threads that ask the database, and a loop that never waits for them.
 *
 * A lane's job is in its mailbox, which has room for one. The lock covers mailboxes alone: nobody
 * holds it while the database works. When a job is done, an eventfd wakes the loop, which looks at
 * all mailboxes.
 */
#include "src/cached/jobs.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/util/clock.h"

enum mailbox { EMPTY, GIVEN, DONE };

struct lane {
	struct jobs *jobs;
	pthread_t thread;
	bool runs; /* the loop's: there is a thread */
	/* under the lock */
	pthread_cond_t given;
	enum mailbox box;
	struct job *job;
	/* the thread's */
	struct sql *sql;
	struct mono next_open;
	int64_t wait_ns;
	int why; /* the connection could not be made: as sql_ops.open said */
	struct sql_error e;
};

struct jobs {
	struct jobs_conf conf;
	struct event *wake;
	int fd;
	pthread_mutex_t lock;
	bool stop; /* under the lock */
	struct lane lane[];
};

/* --- a lane's thread --------------------------------------------------------------- */

static void drop_connection(struct lane *l)
{
	l->jobs->conf.sql->close(l->sql);
	l->sql = NULL;
}

static void back_off(struct lane *l, struct mono now)
{
	const struct jobs_conf *c = &l->jobs->conf;

	l->wait_ns = l->wait_ns ? 2 * l->wait_ns : c->backoff_min_ns;
	if (l->wait_ns > c->backoff_max_ns)
		l->wait_ns = c->backoff_max_ns;
	l->next_open = mono_add(now, l->wait_ns);
}

/* Has it a connection? If not, l->why and l->e say why not. */
static bool connect_lane(struct lane *l)
{
	const struct jobs_conf *c = &l->jobs->conf;
	struct clock clock;

	if (l->sql)
		return true;
	clock_real(&clock);
	if (clock.now(&clock).ns < l->next_open.ns)
		return false;
	memset(&l->e, 0, sizeof(l->e));
	l->why = c->sql->open(&l->sql, &c->to, &l->e);
	if (!l->why) {
		l->wait_ns = 0;
		return true;
	}
	l->sql = NULL;
	back_off(l, clock.now(&clock));
	return false;
}

static void do_job(struct lane *l, struct job *j)
{
	if (j->anew)
		drop_connection(l);
	memset(&j->e, 0, sizeof(j->e));
	j->ran = connect_lane(l);
	if (!j->ran) {
		j->rc = l->why;
		j->e = l->e;
		return;
	}
	j->rc = j->run(j, l->sql, &j->e);
	if (j->rc == -ENOTCONN || j->leave)
		drop_connection(l);
}

static void wake(const struct jobs *js)
{
	const uint64_t one = 1;

	/* It can only fail when the count is so high that the loop wakes anyway. */
	if (write(js->fd, &one, sizeof(one)) < 0)
		return;
}

static void *lane_main(void *arg)
{
	struct lane *l = arg;
	struct jobs *js = l->jobs;

	pthread_mutex_lock(&js->lock);
	while (!js->stop) {
		struct job *j = l->job;

		if (l->box != GIVEN) {
			pthread_cond_wait(&l->given, &js->lock);
			continue;
		}
		pthread_mutex_unlock(&js->lock);
		do_job(l, j);
		pthread_mutex_lock(&js->lock);
		l->box = DONE;
		wake(js);
	}
	pthread_mutex_unlock(&js->lock);
	drop_connection(l);
	return NULL;
}

/* The thread blocks all signals: those are for the loop. */
static bool start_thread(struct lane *l)
{
	sigset_t all, old;

	if (l->runs)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	l->runs = !pthread_create(&l->thread, NULL, lane_main, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return l->runs;
}

/* --- the loop ---------------------------------------------------------------------- */

/* The job of this lane, if it is done. The mailbox is empty then, and takes another. */
static struct job *take_done(struct jobs *js, uint32_t lane)
{
	struct lane *l = &js->lane[lane];
	struct job *j = NULL;

	pthread_mutex_lock(&js->lock);
	if (l->box == DONE) {
		j = l->job;
		l->job = NULL;
		l->box = EMPTY;
	}
	pthread_mutex_unlock(&js->lock);
	return j;
}

static void on_done(evutil_socket_t fd, short what, void *arg)
{
	struct jobs *js = arg;
	uint64_t n;

	(void)what;
	/* It only wakes: what is done is in the mailboxes. */
	if (read(fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return;
	for (uint32_t i = 0; i < js->conf.lanes; i++) {
		struct job *j = take_done(js, i);

		if (j)
			j->done(j);
	}
}

bool jobs_busy(const struct jobs *js, uint32_t lane)
{
	/* The loop alone fills a mailbox, and empties it. */
	return js->lane[lane].job != NULL;
}

bool jobs_start(struct jobs *js, uint32_t lane, struct job *j)
{
	struct lane *l = &js->lane[lane];

	if (jobs_busy(js, lane) || !start_thread(l))
		return false;
	pthread_mutex_lock(&js->lock);
	l->job = j;
	l->box = GIVEN;
	pthread_cond_signal(&l->given);
	pthread_mutex_unlock(&js->lock);
	return true;
}

bool jobs_wait(struct jobs *js, uint32_t lane, int64_t ns)
{
	struct pollfd p = { .fd = js->fd, .events = POLLIN };
	struct clock clock;
	struct mono end;

	clock_real(&clock);
	end = mono_add(clock.now(&clock), ns);
	while (jobs_busy(js, lane)) {
		int64_t left = mono_sub(end, clock.now(&clock));

		if (left <= 0)
			return false;
		if (poll(&p, 1, (int)((left + NS_PER_MS - 1) / NS_PER_MS)) > 0)
			on_done(js->fd, EV_READ, js);
	}
	return true;
}

int jobs_open(struct jobs **out, const struct jobs_conf *c, struct event_base *base)
{
	struct jobs *js;
	int rc = 0;

	if (c->lanes < 1 || c->lanes > JOBS_LANES_MAX)
		return -EINVAL;
	js = calloc(1, sizeof(*js) + c->lanes * sizeof(js->lane[0]));
	if (!js)
		return -ENOMEM;
	js->conf = *c;
	pthread_mutex_init(&js->lock, NULL);
	for (uint32_t i = 0; i < c->lanes; i++) {
		js->lane[i].jobs = js;
		pthread_cond_init(&js->lane[i].given, NULL);
	}
	js->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (js->fd < 0)
		rc = -errno;
	else
		js->wake = event_new(base, js->fd, EV_READ | EV_PERSIST, on_done, js);
	if (!rc && (!js->wake || event_add(js->wake, NULL)))
		rc = -ENOMEM;
	if (rc)
		jobs_close(js);
	else
		*out = js;
	return rc;
}

void jobs_close(struct jobs *js)
{
	if (!js)
		return;
	pthread_mutex_lock(&js->lock);
	js->stop = true;
	for (uint32_t i = 0; i < js->conf.lanes; i++)
		pthread_cond_signal(&js->lane[i].given);
	pthread_mutex_unlock(&js->lock);
	for (uint32_t i = 0; i < js->conf.lanes; i++) {
		if (js->lane[i].runs)
			pthread_join(js->lane[i].thread, NULL);
		pthread_cond_destroy(&js->lane[i].given);
	}
	if (js->wake)
		event_free(js->wake);
	if (js->fd >= 0)
		close(js->fd);
	pthread_mutex_destroy(&js->lock);
	free(js);
}
