// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Owners of memory over "shm" that are processes of their own: they are stopped, killed, come back,
 * or die between a look at their socket and the copy of a READ.
 */
#include "config.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/unit/shm_rig.h"
#include "tests/unit/unit.h"

/* Host 2 as a process of its own; it polls until it is killed. */
static pid_t owner(struct rig *r, uint64_t generation)
{
	struct transport_event ev[16];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (try_open(r, 2, generation))
		_exit(1);
	add(r, 2, 1);
	for (;;) {
		struct pollfd p = { .fd = transport_fd(r->host[2].t), .events = POLLIN };

		r->now.ns += NS_PER_MS;
		transport_poll(r->host[2].t, r->now, ev, 16);
		poll(&p, 1, 1);
	}
}

/* Until host 1 has this event of host 2: waits in real time, and advances the simulated time. */
static int await(struct rig *r, enum transport_event_type type, size_t from)
{
	struct pollfd p = { .fd = transport_fd(r->host[1].t), .events = POLLIN };

	for (int k = 0; k < 20000 && find(r, 1, type, 2, from) < 0; k++) {
		r->now.ns += NS_PER_MS;
		turn(r);
		if (find(r, 1, type, 2, from) < 0)
			poll(&p, 1, 1);
	}
	return find(r, 1, type, 2, from);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(owner_stopped__still_answers)
{
	struct rig *r = rig_new();
	pid_t pid = owner(r, 1);
	int status;

	assert_int_equal(try_open(r, 1, 1), 0);
	add(r, 1, 2);
	assert_true(await(r, TRANSPORT_UP, 0) >= 0);
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	post(r, 1, op_faa(2, 2, 5, 1));
	post(r, 1, op_read(2, TRANSPORT_WORDS, 3, 2));
	turn(r);
	assert_int_equal(result(r, 1, 1)->old, 42);
	assert_int_equal(((const uint64_t *)result(r, 1, 2)->data)[2], 47);
	end(pid);
	rig_free(r);
}

TEST(owner_killed__down__and_up_when_it_is_back)
{
	struct rig *r = rig_new();
	pid_t pid = owner(r, 1);
	int down, up;

	assert_int_equal(try_open(r, 1, 1), 0);
	add(r, 1, 2);
	assert_true(await(r, TRANSPORT_UP, 0) >= 0);
	post(r, 1, op_faa(2, 0, 1, 1));
	end(pid);
	down = await(r, TRANSPORT_DOWN, 0);
	assert_true(down >= 0);
	pid = owner(r, 2); /* over the dead one's socket */
	up = await(r, TRANSPORT_UP, (size_t)down);
	assert_true(up > down);
	assert_int_equal(r->host[1].log[up].link, 2);
	assert_int_equal(r->host[1].log[up].generation, 2);
	post(r, 1, op_faa(2, 0, 1, 2));
	turn(r);
	assert_int_equal(result(r, 1, 2)->old, 40); /* a new region */
	end(pid);
	rig_free(r);
}

/* --- owners that die between a look at their socket and the copy --------------------------- */

/* Host 2 as a process that is killed, and host 1, which has not looked at its socket since. */
static struct rig *rig_with_dead(struct shm_faults f)
{
	struct rig *r = rig_new();
	pid_t pid = owner(r, 1);

	assert_int_equal(try_open(r, 1, 1), 0);
	add(r, 1, 2);
	assert_true(await(r, TRANSPORT_UP, 0) >= 0);
	post(r, 1, op_read(2, TRANSPORT_WORDS, 2, 1)); /* it lives */
	assert_true(await(r, TRANSPORT_RESULT, 0) >= 0);
	assert_int_equal(result(r, 1, 1)->outcome, TRANSPORT_DONE);
	faults(r, 1, f);
	post(r, 1, op_read(2, TRANSPORT_WORDS, 4, 2));
	end(pid);
	return r;
}

static void assert_lost(struct rig *r, uint64_t tag)
{
	turn(r);
	assert_non_null(result(r, 1, tag));
	assert_int_equal(result(r, 1, tag)->outcome, TRANSPORT_LOST);
	assert_null(result(r, 1, tag)->data);
	assert_true(find(r, 1, TRANSPORT_DOWN, 2, 0) > 0);
	assert_int_equal(transport_link(r->host[1].t, 2), 0);
	rig_free(r);
}

TEST(owner_dead__read_before_its_down__is_lost)
{
	struct rig *r = rig_with_dead((struct shm_faults){ 0 });

	post(r, 1, op_read(2, TRANSPORT_TABLE, 1, 3));
	assert_int_equal(transport_link(r->host[1].t, 2), 0);
	/* That of before was executed while the owner lived. Its link has ended in the meantime. */
	assert_lost(r, 3);
}

TEST(owner_dies__between_post_and_copy__read_is_lost)
{
	struct rig *r = rig_with_dead((struct shm_faults){ .out_min_ns = 5, .out_max_ns = 5 });

	r->now.ns += 5;
	shm_run(shm_of(r->host[1].t), 1, r->now);
	assert_lost(r, 2);
}

TEST(owner_dies__between_the_halves_of_a_torn_read__it_is_lost)
{
	struct rig *r = rig_with_dead(
		(struct shm_faults){ .back_min_ns = 5, .back_max_ns = 5, .tear_permille = 1000 });

	r->now.ns += 5;
	shm_run(shm_of(r->host[1].t), 1, r->now);
	assert_lost(r, 2);
}

TEST(owner_died__after_the_copy__read_is_done)
{
	struct rig *r = rig_with_dead((struct shm_faults){ .back_min_ns = 5, .back_max_ns = 5 });

	r->now.ns += 5;
	shm_run(shm_of(r->host[1].t), 1, r->now);
	turn(r);
	assert_int_equal(result(r, 1, 2)->outcome, TRANSPORT_DONE);
	assert_int_equal(((const uint64_t *)result(r, 1, 2)->data)[1], 41);
	rig_free(r);
}

/* It has left in order: as one that has died. */
TEST(owner_closed__read_before_its_down__is_lost)
{
	struct rig *r = rig_pair();

	transport_close(r->host[2].t);
	r->host[2].t = NULL;
	post(r, 1, op_read(2, TRANSPORT_WORDS, 1, 1));
	assert_lost(r, 1);
}

/* What host 3 does in its process: add 1 to word 0 of host 2, again and again. */
static void add_often(struct rig *r, uint16_t self, int times)
{
	struct transport *t;
	struct transport_event ev[16];

	if (try_open(r, self, 1))
		_exit(1);
	add(r, self, 2);
	t = r->host[self].t;
	for (int k = 0; !transport_link(t, 2); k++) {
		struct pollfd p = { .fd = transport_fd(t), .events = POLLIN };

		if (k == 20000)
			_exit(2);
		r->now.ns += NS_PER_MS;
		transport_poll(t, r->now, ev, 16);
		poll(&p, 1, 1);
	}
	for (int k = 0; k < times; k++) {
		post(r, self, op_faa(2, 0, 1, 0));
		transport_poll(t, r->now, ev, 16);
	}
}

TEST(two_callers__every_addition_counts)
{
	enum { TIMES = 20000 };
	struct rig *r = rig_new();
	int status;
	pid_t other = fork();

	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		add_often(r, 3, TIMES);
		_exit(0);
	}
	assert_int_equal(try_open(r, 2, 1), 0);
	add(r, 2, 2);
	add(r, 2, 3);
	while (!transport_link(r->host[2].t, 2))
		pass(r, NS_PER_MS);
	/* The owner adds through its own transport, while the other does through its. */
	for (int k = 0; k < TIMES || !waitpid(other, &status, WNOHANG); k++) {
		if (k < TIMES)
			post(r, 2, op_faa(2, 0, 1, 0));
		turn(r);
		r->host[2].n = 0;
	}
	assert_int_equal(status, 0);
	assert_int_equal(word_of(r, 2, 0), 40 + 2 * TIMES);
	rig_free(r);
}
