// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jobs: the database is asked in threads, and the loop waits for none of them. Over the fake
 * database (tests/fakes/fake_sql.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/cached/jobs.h"
#include "src/util/clock.h"
#include "tests/fakes/fake_sql.h"
#include "tests/unit/unit.h"

enum { SELF = 3, LANES = 4, BACK_OFF = 250 /* ms */ };

struct asked {
	struct job job;
	struct fake_db *db;
	struct sql_look look;
	uint32_t done;
	pthread_t in; /* run was called in this thread */
	int end;      /* what run returns, if the database was asked */
};

struct rig {
	struct fake_db db;
	struct event_base *base;
	struct jobs *jobs;
	struct asked asked[LANES];
};

static int run(struct job *j, struct sql *s, struct sql_error *e)
{
	struct asked *a = (struct asked *)j;
	int rc = fake_sql.look(s, &a->look, e);

	a->in = pthread_self();
	return rc ? rc : a->end;
}

static void done(struct job *j)
{
	((struct asked *)j)->done++;
}

static int setup(void **state)
{
	static const struct jobs_conf c = { .sql = &fake_sql,
					    .to = { .where = "", .self = SELF },
					    .lanes = LANES,
					    .backoff_min_ns = BACK_OFF * NS_PER_MS,
					    .backoff_max_ns = 2 * BACK_OFF * NS_PER_MS };
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	fake_db_open(&r->db);
	r->base = event_base_new();
	assert_int_equal(jobs_open(&r->jobs, &c, r->base), 0);
	for (uint32_t i = 0; i < LANES; i++)
		r->asked[i].job = (struct job){ .run = run, .done = done };
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	jobs_close(r->jobs);
	assert_int_equal(fake_handles(&r->db, SELF), 0);
	event_base_free(r->base);
	fake_db_close(&r->db);
	free(r);
	return 0;
}

static void sleep_ms(int ms)
{
	struct clock c;

	clock_real(&c);
	c.sleep_until(&c, mono_add(c.now(&c), ms * NS_PER_MS));
}

#define UNTIL(r, condition)                                                                        \
	do {                                                                                       \
		for (int i_ = 0; !(condition) && i_ < 20000; i_++) {                               \
			event_base_loop((r)->base, EVLOOP_NONBLOCK);                               \
			sleep_ms(1);                                                               \
		}                                                                                  \
		if (!(condition))                                                                  \
			fail_msg("never: %s", #condition);                                         \
	} while (0)

/* Lane `lane` does its job, and its end is seen. */
static void ask(struct rig *r, uint32_t lane)
{
	uint32_t before = r->asked[lane].done;

	assert_true(jobs_start(r->jobs, lane, &r->asked[lane].job));
	assert_true(jobs_busy(r->jobs, lane));
	UNTIL(r, r->asked[lane].done > before);
	assert_false(jobs_busy(r->jobs, lane));
}

RIG_TEST(job__runs_in_another_thread__and_ends_in_the_loop)
{
	struct rig *r = *state;
	struct asked *a = &r->asked[0];

	r->db.epoch = 9;
	ask(r, 0);
	assert_int_equal(a->done, 1);
	assert_true(a->job.ran);
	assert_int_equal(a->job.rc, 0);
	assert_int_equal(a->look.epoch, 9);
	assert_false(pthread_equal(a->in, pthread_self()));
}

RIG_TEST(job__one_waits_for_the_database__others_do_not)
{
	struct rig *r = *state;

	ask(r, 1); /* it has its connection */
	fake_hold(&r->db, SELF, FAKE_OPEN, true);
	assert_true(jobs_start(r->jobs, 0, &r->asked[0].job));
	UNTIL(r, fake_waits(&r->db, SELF) == 1);
	ask(r, 1);
	assert_int_equal(r->asked[0].done, 0);
	fake_hold(&r->db, SELF, FAKE_OPEN, false);
	UNTIL(r, r->asked[0].done == 1);
	assert_false(pthread_equal(r->asked[0].in, r->asked[1].in));
}

RIG_TEST(job__the_lane_has_one__takes_no_second)
{
	struct rig *r = *state;

	fake_hold(&r->db, SELF, FAKE_LOOK, true);
	assert_true(jobs_start(r->jobs, 0, &r->asked[0].job));
	assert_false(jobs_start(r->jobs, 0, &r->asked[1].job));
	fake_hold(&r->db, SELF, FAKE_LOOK, false);
	UNTIL(r, r->asked[0].done == 1);
	assert_int_equal(r->asked[1].done, 0);
}

RIG_TEST(connection__of_a_lane__is_kept)
{
	struct rig *r = *state;

	ask(r, 0);
	ask(r, 0);
	ask(r, 1);
	assert_int_equal(fake_called(&r->db, SELF, FAKE_OPEN), 2);
	assert_int_equal(fake_handles(&r->db, SELF), 2);
}

RIG_TEST(connection__is_lost__the_next_job_has_another)
{
	struct rig *r = *state;

	r->asked[0].end = -ENOTCONN;
	ask(r, 0);
	assert_int_equal(r->asked[0].job.rc, -ENOTCONN);
	assert_true(r->asked[0].job.ran);
	assert_int_equal(fake_handles(&r->db, SELF), 0);
	r->asked[0].end = -EIO; /* any other error keeps it */
	ask(r, 0);
	ask(r, 0);
	assert_int_equal(r->asked[0].job.rc, -EIO);
	assert_int_equal(fake_called(&r->db, SELF, FAKE_OPEN), 2);
}

RIG_TEST(connection__a_job_wants_a_new_one__the_old_one_is_closed)
{
	struct rig *r = *state;

	ask(r, 0);
	r->asked[0].job.anew = true;
	ask(r, 0);
	assert_int_equal(fake_called(&r->db, SELF, FAKE_OPEN), 2);
	assert_int_equal(fake_handles(&r->db, SELF), 1);
}

RIG_TEST(connection__a_job_leaves_none__it_is_closed_behind_it)
{
	struct rig *r = *state;

	r->asked[0].job.leave = true;
	ask(r, 0);
	assert_int_equal(fake_handles(&r->db, SELF), 0);
}

/* Without the back-off, a database that is down would be called without end. */
RIG_TEST(connection__cannot_be_made__jobs_end_at_once_until_it_is_tried_again)
{
	struct rig *r = *state;

	fake_down(&r->db, SELF, true);
	for (int i = 0; i < 3; i++) {
		ask(r, 0);
		assert_false(r->asked[0].job.ran);
		assert_int_equal(r->asked[0].job.rc, -ENOTCONN);
		assert_string_equal(r->asked[0].job.e.text, "no connection to the fake database");
	}
	assert_in_range(fake_called(&r->db, SELF, FAKE_OPEN), 1, 2);
	sleep_ms(BACK_OFF + 1);
	ask(r, 0);
	assert_in_range(fake_called(&r->db, SELF, FAKE_OPEN), 2, 3);
	fake_down(&r->db, SELF, false);
	sleep_ms(2 * BACK_OFF + 1);
	ask(r, 0);
	assert_true(r->asked[0].job.ran);
	assert_int_equal(r->asked[0].job.e.text[0], 0);
}

RIG_TEST(wait__a_job_is_under_way__waits_for_its_end)
{
	struct rig *r = *state;

	fake_hold(&r->db, SELF, FAKE_LOOK, true);
	assert_true(jobs_wait(r->jobs, 0, 0)); /* there is none */
	assert_true(jobs_start(r->jobs, 0, &r->asked[0].job));
	assert_false(jobs_wait(r->jobs, 0, 5 * NS_PER_MS));
	assert_int_equal(r->asked[0].done, 0);
	fake_hold(&r->db, SELF, FAKE_LOOK, false);
	assert_true(jobs_wait(r->jobs, 0, 60 * NS_PER_S));
	assert_int_equal(r->asked[0].done, 1);
}

static void *release(void *arg)
{
	sleep_ms(20);
	fake_hold(arg, SELF, FAKE_LOOK, false);
	return NULL;
}

RIG_TEST(close__a_job_is_under_way__waits_for_its_thread_and_calls_nobody)
{
	struct rig *r = *state;
	pthread_t t;

	fake_hold(&r->db, SELF, FAKE_LOOK, true);
	assert_true(jobs_start(r->jobs, 0, &r->asked[0].job));
	UNTIL(r, fake_waits(&r->db, SELF) == 1);
	assert_int_equal(pthread_create(&t, NULL, release, &r->db), 0);
	jobs_close(r->jobs);
	r->jobs = NULL;
	assert_int_equal(fake_handles(&r->db, SELF), 0);
	event_base_loop(r->base, EVLOOP_NONBLOCK);
	assert_int_equal(r->asked[0].done, 0);
	pthread_join(t, NULL);
}

TEST(open__lanes_out_of_range__is_refused)
{
	struct jobs_conf c = { .sql = &fake_sql };
	struct jobs *jobs;

	assert_int_equal(jobs_open(&jobs, &c, NULL), -EINVAL);
	c.lanes = JOBS_LANES_MAX + 1;
	assert_int_equal(jobs_open(&jobs, &c, NULL), -EINVAL);
}
