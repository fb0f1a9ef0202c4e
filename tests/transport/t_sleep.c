// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * t_sleep: a user that sleeps as the header says wakes up for everything that there is to do, and
 * only then.
 *
 * A strict rig sleeps only by transport_arm and transport_fd, so it hangs if something fails to
 * wake it. Hosts in processes of their own always sleep in this way.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/transport/suite.h"

static void sleep__up_results_messages_down_and_up_again__all_wake(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2);
	struct host *a, *b;

	s->rig.strict = true;
	rig_pair(&s->rig, &a, &b);
	for (uint64_t round = 0; round < 5; round++) {
		for (uint64_t i = 0; i < 50; i++) {
			assert_int_equal(host_faa(a, 2, 0, 1), i);
			host_word(b, 1, 0);
		}
		host_post1(b, op_send(1, "x", 1));
		UNTIL(&s->rig, a->ref.messages == round + 1);
		host_close(b);
		UNTIL(&s->rig, !a->ref.up[2]);
		two.generation++;
		host_open(b, &two);
		host_add(b, 1);
		UNTIL(&s->rig, both_up(a, b));
	}
}

/* No other host exists whose calls would wake it. */
static void sleep__alone_with_oneself__all_wake(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1);
	struct host *a = rig_open(&s->rig, &one);

	s->rig.strict = true;
	for (uint32_t round = 1; round <= 5; round++) {
		host_add(a, 1);
		UNTIL(&s->rig, host_up(a, 1));
		for (uint64_t i = 0; i < 50; i++)
			host_faa(a, 1, 0, 1);
		host_post1(a, op_send(1, "x", 1));
		UNTIL(&s->rig, a->ref.messages == round);
		assert_int_equal(transport_remove(a->t, 1, rig_now(&s->rig)), 0);
		UNTIL(&s->rig, !a->ref.up[1]);
	}
}

static void sleep__peers_in_other_processes__all_wake(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1);
	struct host *a = rig_open(&s->rig, &one);
	struct proc *p = proc_new(&s->procs, 2);

	s->rig.strict = true;
	p->o->friends = bit(1);
	p->o->work = WORK_CHAT;
	p->o->target = 1;
	p->o->times = 40;
	host_add(a, 2);
	for (uint64_t round = 1; round <= 4; round++) {
		int rc;

		s->rig.strict = false; /* its UP wakes no other host */
		proc_start_rc(&s->procs, p, &rc);
		assert_int_equal(rc, 0);
		s->rig.strict = true;
		UNTIL(&s->rig, host_up(a, 2));
		for (uint64_t i = 0; i < 100; i++)
			assert_int_equal(host_faa(a, 2, 0, 1), i);
		proc_go(p);
		UNTIL(&s->rig, a->ref.messages == 40 * round);
		proc_kill(p);
		UNTIL(&s->rig, !a->ref.up[2]);
		p->o->conf.generation++;
	}
}

/* Poll until arm allows to sleep. Returns until when. */
static struct mono asleep_until(struct host *h)
{
	struct mono due;
	int turns = 0;

	do {
		if (turns++ == 100000)
			broken("100000 polls, and arm still forbids to sleep");
		host_poll(h, 32);
		due.ns = INT64_MAX;
	} while (transport_arm(h->t, rig_now(h->rig), &due));
	return due;
}

static void sleep__a_deadline__wakes(void **state)
{
	struct suite *s = *state;
	struct transport_op op = op_faa(2, 0, 1);
	struct host *a, *b;
	uint64_t tag;

	rig_pair(&s->rig, &a, &b);
	b->paused = true;
	s->rig.strict = true;
	op.deadline = mono_add(rig_now(&s->rig), 400 * NS_PER_MS);
	tag = host_post1(a, op);
	assert_true(asleep_until(a).ns <= op.deadline.ns);
	UNTIL(&s->rig, host_result(a, tag));
	s->rig.strict = false;
	b->paused = false;
}

static void arm__events_are_left__one_must_not_sleep(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 4; i++)
			host_post1(a, op_faa(2, 0, 1));
		/* The answers come, and the user takes none. */
		for (int i = 0; i < 20; i++) {
			host_poll(a, 0);
			rig_turn_for(&s->rig, 0);
			host_poll(b, 32);
		}
		b->paused = true;
		while (a->ref.n) {
			if (!rig_sleep(&s->rig, s->rig.patience_ns))
				broken("slept although results were left");
			host_poll(a, 1);
			if (!s->is->one_sided && a->ref.n == 4)
				host_poll(b, 32);
		}
		b->paused = false;
	}
}

static void sleep__nothing_to_do__does_not_spin(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;
	struct mono end;
	int turns = 0;

	rig_pair(&s->rig, &a, &b);
	rig_turn_for(&s->rig, 100 * NS_PER_MS);
	end = mono_add(rig_now(&s->rig), 300 * NS_PER_MS);
	while (mono_sub(end, rig_now(&s->rig)) > 0) {
		rig_poll(&s->rig);
		rig_sleep(&s->rig, mono_sub(end, rig_now(&s->rig)));
		turns++;
	}
	print_message("%d turns in a time of nothing\n", turns);
	assert_true(turns < 150);
}

static void sleep__a_peer_that_is_not_there__is_called_again_without_spinning(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1);
	struct host *a;
	struct mono end;
	int turns = 0;

	one.connect_ns = one.backoff_max_ns;
	a = rig_open(&s->rig, &one);
	host_add(a, 2);
	for (int i = 0; i < 5; i++) {
		assert_true(asleep_until(a).ns <= rig_now(&s->rig).ns + one.backoff_max_ns);
		rig_turn_for(&s->rig, 10 * NS_PER_MS);
	}
	end = mono_add(rig_now(&s->rig), 300 * NS_PER_MS);
	while (mono_sub(end, rig_now(&s->rig)) > 0) {
		rig_poll(&s->rig);
		rig_sleep(&s->rig, mono_sub(end, rig_now(&s->rig)));
		turns++;
	}
	print_message("%d turns\n", turns);
	assert_true(turns < 600);
}

static void fd__of_a_handle__stays_the_same(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2);
	struct host *a, *b;
	int fd;

	rig_pair(&s->rig, &a, &b);
	fd = transport_fd(a->t);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	host_faa(a, 2, 0, 1);
	assert_int_equal(transport_fd(a->t), fd);
	host_close(b);
	UNTIL(&s->rig, !a->ref.up[2]);
	assert_int_equal(transport_fd(a->t), fd);
	two.generation++;
	host_open(b, &two);
	host_add(b, 1);
	UNTIL(&s->rig, both_up(a, b));
	assert_int_equal(transport_fd(a->t), fd);
}

/* --- time, as the user passes it --------------------------------------------------------- */

static void time__stands_still__links_and_operations_work(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;

	rig_simulate(&s->rig);
	rig_pair(&s->rig, &a, &b);
	assert_int_equal(host_faa(a, 2, 0, 1), 0);
	host_do(a, op_send(2, "x", 1));
	UNTIL(&s->rig, b->ref.messages == 1);
}

/* As UNTIL, but never asleep: arm is not called either. */
#define AWAKE_UNTIL(r, ...)                                                                        \
	do {                                                                                       \
		struct mono end_ = mono_add((r)->clock.now(&(r)->clock), (r)->patience_ns);        \
		while (!(__VA_ARGS__)) {                                                           \
			if (mono_sub((r)->clock.now(&(r)->clock), end_) > 0)                       \
				broken("polled without a pause for: %s", #__VA_ARGS__);            \
			rig_poll(r);                                                               \
		}                                                                                  \
	} while (0)

static void poll__without_a_pause__all_events_come(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct host *a = rig_open(&s->rig, &one), *b = rig_open(&s->rig, &two);

	host_meet(a, b);
	AWAKE_UNTIL(&s->rig, both_up(a, b));
	host_post1(b, op_send(1, "x", 1));
	AWAKE_UNTIL(&s->rig, a->ref.messages == 1);
	host_close(b);
	AWAKE_UNTIL(&s->rig, !a->ref.up[2]);
}

/* The time that the user passes need not be new for results. */
static void poll__without_a_pause_and_the_time_stands_still__results_come(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;
	uint64_t tag;

	rig_pair(&s->rig, &a, &b);
	rig_simulate(&s->rig);
	rig_poll(&s->rig); /* over verbs, the last look at all else */
	for (uint64_t i = 0; i < 10; i++) {
		tag = host_post1(a, op_faa(2, 0, 1));
		AWAKE_UNTIL(&s->rig, host_result(a, tag));
		assert_int_equal(host_result(a, tag)->ev.old, i);
	}
}

/* In 20 simulated seconds, with 20 ms to 2 s between calls: not hundreds. */
static void backoff__a_peer_that_refuses__is_called_more_and_more_seldom(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	struct transport_stats st;
	struct host *a, *b;

	one.backoff_min_ns = one.backoff_max_ns = 0; /* the defaults */
	rig_simulate(&s->rig);
	a = rig_open(&s->rig, &one);
	b = rig_open(&s->rig, &two);
	host_add(a, 2);
	for (int ms = 0; ms < 20000; ms += 5) {
		for (int i = 0; i < 6; i++)
			rig_poll(&s->rig);
		/* The kernel makes these connections in real time. */
		if (s->rig.is->one_sided && s->rig.is->ip)
			usleep(1000);
		rig_pass(&s->rig, 5 * NS_PER_MS);
	}
	transport_stats(b->t, &st);
	print_message("%llu calls\n", (unsigned long long)st.refused_callers);
	assert_true(st.refused_callers >= 4);
	assert_true(st.refused_callers <= 80);
}

const struct entry sleep_tests[] = {
	ENTRY(sleep__up_results_messages_down_and_up_again__all_wake, ALL),
	ENTRY(sleep__alone_with_oneself__all_wake, ALL),
	ENTRY(sleep__peers_in_other_processes__all_wake, ALL),
	ENTRY(sleep__a_deadline__wakes, TWO_SIDED),
	ENTRY(arm__events_are_left__one_must_not_sleep, ALL),
	ENTRY(sleep__nothing_to_do__does_not_spin, ALL),
	ENTRY(sleep__a_peer_that_is_not_there__is_called_again_without_spinning, ALL),
	ENTRY(fd__of_a_handle__stays_the_same, ALL),
	ENTRY(time__stands_still__links_and_operations_work, ALL),
	ENTRY(poll__without_a_pause__all_events_come, ALL),
	ENTRY(poll__without_a_pause_and_the_time_stands_still__results_come, ALL),
	ENTRY(backoff__a_peer_that_refuses__is_called_more_and_more_seldom, ALL),
	{ NULL, NULL, ALL },
};
