// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster_thread: clusters with threads of their own, in real time; this thread is their control.
 * For the thread sanitizer, too.
 */
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "src/util/clock.h"
#include "tests/unit/cluster_rig.h"
#include "tests/unit/unit.h"

#define FAST_BEAT   (5 * MS) /* of these hosts */
#define FAST_TIMES  "\"heartbeat\": \"5ms\", \"scan\": \"10ms\", \"timeout\": \"2s\""
#define PATIENCE_NS (60 * NS_PER_S)

static int open_two(void **state)
{
	struct sites *s = sites_new();

	for (int n = 1; n <= 2; n++)
		site_write(s, n, "test", FAST_TIMES);
	*state = s;
	return 0;
}

static int finish(void **state)
{
	sites_free(*state);
	return 0;
}

static struct mono now(void)
{
	return (struct mono){ clock_monotonic_ns() };
}

static void control(struct sites *s, int n)
{
	cluster_work(s->at[n].c, snap_latest(&s->at[n].g->ho), now(), WALL);
}

/* Its thread runs, and control publishes once. */
static void start(struct sites *s, int n)
{
	s->now = now();
	site_open(s, n);
	control(s, n);
	assert_int_equal(cluster_start(s->at[n].c), 0);
}

static struct cluster_seen sees(struct sites *s, int n, int other)
{
	struct cluster_seen x;

	cluster_see(s->at[n].c, (uint32_t)(other - 1), now(), &x);
	return x;
}

/* Let real time pass until the condition holds. */
#define wait_until(what)                                                                           \
	do {                                                                                       \
		struct mono began_ = now();                                                        \
                                                                                                   \
		while (!(what)) {                                                                  \
			nanosleep(&(struct timespec){ .tv_nsec = MS }, NULL);                      \
			if (mono_sub(now(), began_) > PATIENCE_NS)                                 \
				fail_msg("not within a minute: %s", #what);                        \
		}                                                                                  \
	} while (0)

TEST_WITH(heartbeats__control_does_nothing__go_on_at_their_pace, open_two, finish)
{
	enum { BEATS = 200 };
	struct sites *s = *state;
	uint64_t beat, beats;
	int64_t age, took;

	start(s, 1);
	start(s, 2);
	wait_until(sees(s, 2, 1).host);
	beat = sees(s, 2, 1).host->beat;
	age = (int64_t)sees(s, 2, 1).host->figures_age_ns;
	wait_until(sees(s, 2, 1).host->beat >= beat + BEATS);
	/*
	 * Control has published once: the age of the figures grows from beat to beat by the time
	 * between them. Two calls may see two readings: the second is not older.
	 */
	took = (int64_t)sees(s, 2, 1).host->figures_age_ns - age;
	beats = sees(s, 2, 1).host->beat - beat;
	print_message("%llu heartbeats of %lld ms in %lld ms, without control\n",
		      (unsigned long long)beats, FAST_BEAT / MS, (long long)(took / MS));
	assert_true(took > (BEATS - 2) * FAST_BEAT); /* missed ones are not made up for */
	assert_int_equal(sees(s, 2, 1).state, CLUSTER_UP);
	wait_until(strstr(sees(s, 2, 1).note, "its heartbeat goes on, but its figures are "));
	s->at[1].g->hv.simulated = true;
	control(s, 1);
	wait_until(!sees(s, 2, 1).note[0] && sees(s, 2, 1).host->flags == REGION_HOST_SIMULATED);
}

/* All figures of this guest are n. */
static void publish_figures(struct sites *s, uint64_t n)
{
	struct snap_guest *g = &site_snap(s, 1)->guest[0];

	g->total_usage.mtus_sent = g->total_usage.mtus_recv = g->total_usage.cpu_ns = n;
	g->latency.mean_ns = n;
	snap_publish(&s->at[1].g->ho);
	s->at[1].c->publish_due = now(); /* at once */
	control(s, 1);
}

static uint64_t seen_figures(struct sites *s)
{
	const struct region_guest *g;
	struct cluster_seen x = sees(s, 2, 1);

	if (!x.guests)
		return 0;
	g = x.guest;
	assert_int_equal(x.guests, 1);
	assert_int_equal(g->mtus_recv, g->mtus_sent);
	assert_int_equal(g->cpu_ns, g->mtus_sent);
	assert_int_equal(g->latency_ns, g->mtus_sent);
	return g->mtus_sent;
}

TEST_WITH(publications__faster_than_heartbeats__the_newest_arrives_and_none_is_torn, open_two,
	  finish)
{
	struct sites *s = *state;
	uint64_t n = 0, seen, last = 0;

	rig_create(s->at[1].g, 7, 7);
	site_settle(s, 1);
	start(s, 1);
	start(s, 2);
	for (int i = 0; i < 20; i++) {
		uint64_t begun = n;

		do {
			publish_figures(s, ++n);
			seen = seen_figures(s);
			assert_in_range(seen, last, n);
			last = seen;
		} while (seen <= begun && n < 10000000);
	}
	wait_until(seen_figures(s) == n);
}

TEST_WITH(requests__while_hosts_come_and_go__all_get_a_result, open_two, finish)
{
	struct sites *s = *state;
	struct cluster_lock l;
	uint64_t ticket;

	start(s, 1);
	for (int i = 0; i < 10; i++) {
		start(s, 2);
		for (int k = 0; k < 20; k++) {
			int rc;

			assert_int_equal(cluster_break(s->at[1].c, 0, true, &ticket), 0);
			wait_until((rc = cluster_result(s->at[1].c, ticket)) != -EINPROGRESS);
			/* nobody holds it; its home is host 1 */
			assert_true(rc == -EALREADY || rc == -ENOENT || rc == -ENOTCONN);
			cluster_lock_see(s->at[1].c, 0, now(), &l);
			assert_true(!l.known || region_word_id(l.word) == 0);
			control(s, 1);
		}
		wait_until(sees(s, 1, 2).state == CLUSTER_UP);
		site_kill(s, 2);
		wait_until(sees(s, 1, 2).state == CLUSTER_DOWN);
	}
	wait_until((control(s, 1), site_has_event(s, 1, "host", "xen2: its memory can be read")));
}

static bool agrees(struct sites *s, int n, int other)
{
	struct cluster_lock l;

	cluster_lock_see(s->at[n].c, 0, now(), &l); /* as an operator may ask at any time */
	return sees(s, n, other).agree == CLUSTER_AGREE_SAME;
}

/* The third host is added and left out in turns; a service changes each time. */
TEST_WITH(reload__on_both_hosts_in_turns__ends_in_agreement, open_two, finish)
{
	struct sites *s = *state;

	start(s, 1);
	start(s, 2);
	for (int i = 0; i < 20; i++) {
		char services[64];

		snprintf(services, sizeof(services),
			 "{\"name\": \"web\", \"number\": 1, \"minimum\": %d}", i + 2);
		for (int n = 1; n <= 2; n++) {
			uint64_t ticket;

			assert_int_equal(
				site_reload(s, n, 2 + i % 2, FAST_TIMES, services, &ticket), 0);
			wait_until(cluster_reload_result(s->at[n].c, ticket) == 0);
			assert_int_equal(cluster_conf(s->at[n].c)->service[0].minimum, i + 2);
			control(s, n);
		}
		wait_until(agrees(s, 1, 2) && agrees(s, 2, 1));
	}
}

static bool is_real_time(struct sites *s, int n)
{
	struct sched_param p;
	int policy;

	assert_int_equal(pthread_getschedparam(s->at[n].c->thread, &policy, &p), 0);
	return policy == SCHED_FIFO && p.sched_priority == 1;
}

/* This thread wakes it all the time, as peers could. */
TEST_WITH(priority__is_real_time__but_not_while_it_is_always_busy, open_two, finish)
{
	const struct sched_param lowest = { .sched_priority = 1 }, none = { 0 };
	struct sites *s = *state;
	struct mono began;

	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest))
		skip(); /* it needs the right, as resexd does */
	assert_int_equal(pthread_setschedparam(pthread_self(), SCHED_OTHER, &none), 0);
	start(s, 1);
	wait_until(is_real_time(s, 1));
	began = now();
	while (is_real_time(s, 1)) {
		exchange_wake(s->at[1].c->x->worker_fd);
		assert_true(mono_sub(now(), began) < PATIENCE_NS);
	}
	wait_until(is_real_time(s, 1));
}

static atomic_int steps; /* that are in slow_update now */

static int slow_update(struct member *m, struct mono at, struct member_view *v)
{
	int rc;

	atomic_fetch_add(&steps, 1);
	nanosleep(&(struct timespec){ .tv_nsec = 20 * MS }, NULL);
	rc = member_static.update(m, at, v);
	atomic_fetch_sub(&steps, 1);
	return rc;
}

TEST_WITH(stop__in_a_step__waits_for_its_end, open_two, finish)
{
	struct member_ops slow = member_static;
	struct sites *s = *state;

	slow.update = slow_update;
	s->now = now();
	site_open(s, 1);
	s->at[1].c->worker.member_ops = &slow;
	assert_int_equal(cluster_start(s->at[1].c), 0);
	wait_until(atomic_load(&steps));
	cluster_stop(s->at[1].c);
	assert_int_equal(atomic_load(&steps), 0);
	site_kill(s, 1);
}

TEST_WITH(stop__at_any_time__ends_the_thread, open_two, finish)
{
	struct sites *s = *state;

	for (int i = 0; i < 20; i++) {
		uint32_t alive;

		start(s, 1);
		alive = cluster_alive(s->at[1].c);
		for (int k = 0; k < i && i % 2; k++)
			wait_until(cluster_alive(s->at[1].c) != alive);
		cluster_stop(s->at[1].c);
		alive = cluster_alive(s->at[1].c);
		cluster_stop(s->at[1].c); /* nothing is left to stop */
		assert_int_equal(cluster_alive(s->at[1].c), alive);
		site_kill(s, 1);
	}
}
