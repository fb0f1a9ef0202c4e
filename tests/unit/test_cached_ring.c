// SPDX-License-Identifier: GPL-2.0-or-later
/* ring, the server's side: requests, answers, clients that end, and those that write rubbish. */
#include "src/cached/ring.h"

#include <event2/event.h>
#include <signal.h>
#include <sys/wait.h>

#include "tests/unit/cached_ring_rig.h"

enum { SLOTS = 128, CLIENTS = 3, KEPT = 4096, NOBODY = 65534 };

struct rig {
	struct tmpdir dir;
	char path[160];
	struct event_base *base;
	struct log log;
	struct cached_ring *ring;
	struct conf_error e;
	struct cached_ring_request request[KEPT]; /* as they came */
	uint32_t requests;
	bool answers;		     /* each at once */
	void (*more)(struct rig *r); /* called within a request */
	struct ring_dial d;	     /* the client of most tests */
	bool slept;		     /* header.sleeps within the newest request */
	struct event *tick;
	uint32_t ticks;
};

static struct cached_ring_answer answer_to(const struct cached_ring_request *q)
{
	return (struct cached_ring_answer){ .why = CACHE_RING_VERIFIED,
					    .version = q->key * 3 + 1,
					    .home = (uint32_t)(q->key % 100),
					    .word = (uint32_t)(q->key % 1000) };
}

static void answers(struct rig *r, const struct cached_ring_request *q)
{
	struct cached_ring_answer a = answer_to(q);

	cached_ring_answer(r->ring, q->id, &a);
}

static void asked(void *owner, const struct cached_ring_request *q)
{
	struct rig *r = owner;

	r->request[r->requests++ % KEPT] = *q;
	r->slept = r->d.header && r->d.header->sleeps;
	if (r->more)
		r->more(r);
	if (r->answers)
		answers(r, q);
}

static void loop(struct rig *r)
{
	/* ONCE: also if there is always something to do. */
	for (int i = 0; i < 5; i++)
		event_base_loop(r->base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
}

static void dial(struct rig *r, struct ring_dial *d)
{
	ring_dial_connect(d, r->path);
	loop(r);
	ring_dial_hello(d);
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct cached_ring_conf c = { .group = "", .slots = SLOTS, .clients = CLIENTS };

	assert_non_null(r);
	tmp_open(&r->dir);
	strcpy(r->path, tmp_at(&r->dir, "ring"));
	c.path = r->path;
	log_init(&r->log, "test", LOG_LVL_ERROR);
	r->base = event_base_new();
	r->d.fd = r->d.memory = r->d.wake = -1;
	if (cached_ring_open(&r->ring, &c, r->base, &r->log, asked, r, &r->e))
		fail_msg("%s", r->e.text);
	dial(r, &r->d);
	assert_non_null(r->d.header);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	cached_ring_close(r->ring);
	ring_dial_end(&r->d);
	assert_false(tmp_exists(&r->dir, "ring"));
	event_base_free(r->base);
	tmp_close(&r->dir);
	free(r);
	return 0;
}

static struct cached_ring_seen seen(struct rig *r)
{
	struct cached_ring_seen s[CACHED_RING_CLIENTS_MAX];

	assert_true(cached_ring_clients(r->ring, s) >= 1);
	return s[0];
}

/* --- connecting ------------------------------------------------------------------- */

RIG_TEST(connect__hello__describes_the_memory)
{
	struct rig *r = *state;
	struct stat st;

	assert_true(r->d.hello.magic == CACHE_RING_MAGIC);
	assert_int_equal(r->d.hello.version, CACHE_RING_VERSION);
	assert_int_equal(r->d.hello.bytes, CACHE_RING_HEADER + 64 * SLOTS);
	assert_int_equal(fstat(r->d.memory, &st), 0);
	assert_int_equal(st.st_size, r->d.hello.bytes);
	assert_true(r->d.header->magic == CACHE_RING_MAGIC);
	assert_int_equal(r->d.header->version, CACHE_RING_VERSION);
	assert_int_equal(r->d.header->slots, SLOTS);
	assert_int_equal(r->d.header->sleeps, 1);
	assert_int_equal(r->d.header->ended, 0);
	assert_int_equal(seen(r).pid, getpid());
	assert_int_equal(seen(r).uid, getuid());
}

RIG_TEST(connect__memory__keeps_its_size)
{
	struct rig *r = *state;

	assert_int_equal(ftruncate(r->d.memory, 4096), -1);
	assert_int_equal(ftruncate(r->d.memory, 1 << 20), -1);
	assert_int_equal(fcntl(r->d.memory, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

RIG_TEST(connect__two_clients__have_memory_of_their_own)
{
	struct rig *r = *state;
	struct ring_dial other;

	dial(r, &other);
	r->d.slot[0].key = 77;
	assert_int_equal(other.slot[0].key, 0);
	ring_dial_ask(&other, 5, 8, 0);
	loop(r);
	assert_int_equal(r->requests, 1);
	answers(r, &r->request[0]);
	assert_int_equal(ring_dial_state(&other, 5), CACHE_RING_ANSWERED);
	assert_int_equal(ring_dial_state(&r->d, 5), CACHE_RING_FREE);
	ring_dial_end(&other);
	loop(r);
}

RIG_TEST(connect__too_many__are_refused_until_one_ends)
{
	struct rig *r = *state;
	struct ring_dial d[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		dial(r, &d[i]);
	assert_non_null(d[CLIENTS - 2].header);
	assert_null(d[CLIENTS - 1].header);
	assert_int_equal(recv(d[CLIENTS - 1].fd, &(char){ 0 }, 1, MSG_DONTWAIT), 0); /* its end */
	assert_int_equal(cached_ring_refused(r->ring), 1);
	ring_dial_end(&d[CLIENTS - 1]);
	ring_dial_end(&d[0]);
	loop(r);
	dial(r, &d[0]);
	assert_non_null(d[0].header);
	for (int i = 0; i < CLIENTS - 1; i++)
		ring_dial_end(&d[i]);
}

RIG_TEST(connect__many_that_end_at_once__leave_nothing)
{
	struct rig *r = *state;
	struct cached_ring_seen s[CACHED_RING_CLIENTS_MAX];
	int before = dup(0), after;

	for (int i = 0; i < 500; i++) {
		struct ring_dial d;

		ring_dial_connect(&d, r->path);
		if (i % 2) {
			loop(r);
			ring_dial_hello(&d);
		}
		ring_dial_end(&d);
		loop(r);
	}
	assert_int_equal(cached_ring_clients(r->ring, s), 1);
	after = dup(0);
	assert_int_equal(after, before + 1); /* no descriptor is left open */
	close(before);
	close(after);
}

/* Another user connects: its exit code is 0 if it got a hello. */
static int hello_as(struct rig *r, gid_t gid)
{
	int status;
	pid_t child;

	assert_int_equal(chmod(r->dir.path, 0755), 0);
	assert_int_equal(chmod(r->path, 0666), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct ring_dial d;
		struct pollfd p = { .events = POLLIN };

		if (setgid(gid) || setuid(NOBODY))
			_exit(9);
		ring_dial_connect(&d, r->path);
		p.fd = d.fd;
		poll(&p, 1, 60000);
		_exit(!ring_dial_hello(&d));
	}
	while (waitpid(child, &status, WNOHANG) != child)
		loop(r);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

RIG_TEST(connect__another_user__is_refused)
{
	struct rig *r = *state;

	if (getuid())
		skip();
	assert_int_equal(hello_as(r, NOBODY), 1);
	assert_int_equal(cached_ring_refused(r->ring), 1);
}

TEST(connect__another_user_of_the_group__is_served)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct cached_ring_conf c = { .group = "daemon", .slots = 64, .clients = 1 };

	if (getuid()) {
		free(r);
		skip();
	}
	tmp_open(&r->dir);
	strcpy(r->path, tmp_at(&r->dir, "ring"));
	c.path = r->path;
	log_init(&r->log, "test", LOG_LVL_ERROR);
	r->base = event_base_new();
	assert_int_equal(cached_ring_open(&r->ring, &c, r->base, &r->log, asked, r, &r->e), 0);
	assert_int_equal(hello_as(r, 1), 0); /* daemon */
	assert_int_equal(hello_as(r, 2), 1);
	cached_ring_close(r->ring);
	event_base_free(r->base);
	tmp_close(&r->dir);
	free(r);
}

RIG_TEST(open__group_that_is_none__is_refused)
{
	struct rig *r = *state;
	struct cached_ring_conf c = { .path = r->path, .group = "none-such", .slots = 64 };
	struct cached_ring *other = NULL;

	assert_int_equal(cached_ring_open(&other, &c, r->base, &r->log, asked, r, &r->e), -EINVAL);
	assert_non_null(strstr(r->e.text, "ring_group"));
	c.group = "";
	assert_int_equal(cached_ring_open(&other, &c, r->base, &r->log, asked, r, &r->e),
			 -EADDRINUSE);
	assert_null(other);
}

RIG_TEST(connect__client_that_says_something__is_ended)
{
	struct rig *r = *state;
	struct cached_ring_seen s[CACHED_RING_CLIENTS_MAX];

	assert_int_equal(send(r->d.fd, "x", 1, 0), 1);
	loop(r);
	assert_int_equal(cached_ring_clients(r->ring, s), 0);
	assert_true(recv(r->d.fd, &(char){ 0 }, 1, MSG_DONTWAIT) <= 0);
}

/* --- requests ------------------------------------------------------------------------ */

RIG_TEST(ask__one__is_told_and_answered)
{
	struct rig *r = *state;

	assert_true(ring_dial_ask(&r->d, 70, 12345, 0)); /* the server slept */
	loop(r);
	assert_int_equal(r->requests, 1);
	assert_int_equal(r->request[0].key, 12345);
	assert_false(r->request[0].all);
	assert_int_equal(ring_dial_state(&r->d, 70), CACHE_RING_ASKED);
	assert_int_equal(seen(r).waiting, 1);
	answers(r, &r->request[0]);
	assert_int_equal(ring_dial_state(&r->d, 70), CACHE_RING_ANSWERED);
	assert_int_equal(r->d.slot[70].why, CACHE_RING_VERIFIED);
	assert_int_equal(r->d.slot[70].version, 12345 * 3 + 1);
	assert_int_equal(r->d.slot[70].home, 45);
	assert_int_equal(r->d.slot[70].word, 345);
	assert_int_equal(seen(r).waiting, 0);
	assert_int_equal(seen(r).asked, 1);
	assert_int_equal(seen(r).answered, 1);
	ring_dial_set(&r->d, 70, CACHE_RING_FREE);
	ring_dial_ask(&r->d, 70, 6, CACHE_RING_ALL);
	loop(r);
	assert_int_equal(r->requests, 2);
	assert_true(r->request[1].all);
	assert_true(r->request[1].id != 0);
}

RIG_TEST(ask__every_slot__is_told)
{
	struct rig *r = *state;

	r->answers = true;
	for (uint32_t i = 0; i < SLOTS; i++)
		ring_dial_ask(&r->d, i, i + 1000, 0);
	loop(r);
	assert_int_equal(r->requests, SLOTS);
	for (uint32_t i = 0; i < SLOTS; i++) {
		assert_int_equal(ring_dial_state(&r->d, i), CACHE_RING_ANSWERED);
		assert_int_equal(r->d.slot[i].version, (i + 1000) * 3 + 1);
	}
}

RIG_TEST(ask__answered__wakes_the_futex)
{
	struct rig *r = *state;
	int status;
	pid_t child = fork();

	if (!child) { /* shares the memory */
		ring_dial_ask(&r->d, 3, 5, 0);
		_exit(ring_dial_wait(&r->d, 3, 20000) ||
		      ring_dial_state(&r->d, 3) != CACHE_RING_ANSWERED);
	}
	r->answers = true;
	while (waitpid(child, &status, WNOHANG) != child)
		loop(r);
	assert_int_equal(status, 0);
}

RIG_TEST(ask__flags_that_are_none__are_bad)
{
	struct rig *r = *state;

	ring_dial_ask(&r->d, 0, 5, 2);
	ring_dial_ask(&r->d, 1, 5, CACHE_RING_ALL | 1u << 31);
	loop(r);
	assert_int_equal(r->requests, 0);
	assert_int_equal(ring_dial_state(&r->d, 0), CACHE_RING_ANSWERED);
	assert_int_equal(r->d.slot[0].why, CACHE_RING_BAD);
	assert_int_equal(r->d.slot[1].why, CACHE_RING_BAD);
	assert_int_equal(seen(r).bad, 2);
}

RIG_TEST(ask__twice_before_the_answer__is_one_request)
{
	struct rig *r = *state;

	ring_dial_ask(&r->d, 9, 5, 0);
	loop(r);
	ring_dial_knock(&r->d, 9);
	loop(r);
	assert_int_equal(r->requests, 1);
	answers(r, &r->request[0]);
	answers(r, &r->request[0]); /* and has one answer */
	assert_int_equal(seen(r).answered, 1);
	ring_dial_set(&r->d, 9, CACHE_RING_FREE);
	ring_dial_ask(&r->d, 9, 6, 0);
	loop(r);
	assert_int_equal(r->requests, 2);
}

RIG_TEST(ask__bit_of_a_slot_without_a_request__is_ignored)
{
	struct rig *r = *state;
	const uint32_t states[] = { CACHE_RING_FREE, CACHE_RING_TAKEN, CACHE_RING_ANSWERED, 5,
				    UINT32_MAX };

	for (uint32_t i = 0; i < 5; i++) {
		ring_dial_set(&r->d, i, states[i]);
		ring_dial_knock(&r->d, i);
	}
	loop(r);
	assert_int_equal(r->requests, 0);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(ring_dial_state(&r->d, i), states[i]);
	assert_int_equal(seen(r).bad, 5);
}

RIG_TEST(ask__bits_beyond_the_last_slot__are_not_looked_at)
{
	struct rig *r = *state;

	for (uint32_t i = SLOTS / 64; i < CACHE_RING_SLOTS_MAX / 64; i++)
		r->d.header->asked[i] = UINT64_MAX;
	ring_dial_ask(&r->d, 0, 5, 0);
	loop(r);
	assert_int_equal(r->requests, 1);
	assert_int_equal(seen(r).bad, 0);
}

/* --- sleeping ----------------------------------------------------------------------------- */

static void asks_one_more(struct rig *r)
{
	r->more = NULL;
	assert_false(ring_dial_ask(&r->d, 1, 6, 0)); /* it needs no system call */
}

RIG_TEST(ask__while_the_server_serves__needs_no_wake_up)
{
	struct rig *r = *state;

	r->more = asks_one_more;
	ring_dial_ask(&r->d, 0, 5, 0);
	event_base_loop(r->base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
	assert_int_equal(r->requests, 2);
	assert_false(r->slept);
	assert_int_equal(r->d.header->sleeps, 1);
}

RIG_TEST(ask__without_a_wake_up__is_not_seen)
{
	struct rig *r = *state;

	r->d.header->sleeps = 0; /* the client deceives itself */
	ring_dial_ask(&r->d, 0, 5, 0);
	loop(r);
	assert_int_equal(r->requests, 0);
	ring_dial_wake(&r->d);
	loop(r);
	assert_int_equal(r->requests, 1);
}

/* Within each request of a client, its other slot asks. */
static void asks_again(struct rig *r)
{
	uint32_t slot = r->request[(r->requests - 1) % KEPT].key == 0;

	if (r->request[(r->requests - 1) % KEPT].key > 1)
		return;
	r->d.slot[slot].key = slot;
	ring_dial_set(&r->d, slot, CACHE_RING_ASKED);
	__atomic_fetch_or(&r->d.header->asked[0], 1u << slot, __ATOMIC_SEQ_CST);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval soon = { 0 };
	struct rig *r = arg;

	(void)fd;
	(void)what;
	r->ticks++;
	event_add(r->tick, &soon);
}

RIG_TEST(ask__without_end__lets_others_have_their_turn)
{
	struct rig *r = *state;
	struct ring_dial other;

	r->tick = evtimer_new(r->base, on_tick, r);
	on_tick(-1, 0, r);
	dial(r, &other);
	r->more = asks_again;
	r->answers = true;
	ring_dial_ask(&r->d, 1, 1, 0);
	for (int i = 0; i < 20; i++) {
		ring_dial_ask(&other, 2, 99, 0);
		loop(r);
		assert_int_equal(ring_dial_state(&other, 2), CACHE_RING_ANSWERED);
		ring_dial_set(&other, 2, CACHE_RING_FREE);
	}
	assert_true(r->ticks >= 20);
	assert_true(r->requests > 100); /* the other asked on */
	event_free(r->tick);
	ring_dial_end(&other);
}

/* --- clients that go ----------------------------------------------------------------------- */

RIG_TEST(leave__before_the_server_looked__frees_the_slot)
{
	struct rig *r = *state;

	ring_dial_ask(&r->d, 4, 5, 0);
	assert_true(ring_dial_leave(&r->d, 4));
	loop(r);
	assert_int_equal(r->requests, 0);
	assert_int_equal(ring_dial_state(&r->d, 4), CACHE_RING_FREE);
	assert_int_equal(seen(r).left, 1);
}

RIG_TEST(leave__before_the_answer__frees_the_slot)
{
	struct rig *r = *state;

	ring_dial_ask(&r->d, 4, 5, 0);
	loop(r);
	assert_true(ring_dial_leave(&r->d, 4));
	ring_dial_knock(&r->d, 4);
	loop(r);
	assert_int_equal(ring_dial_state(&r->d, 4), CACHE_RING_LEFT); /* its answer will come */
	answers(r, &r->request[0]);
	assert_int_equal(ring_dial_state(&r->d, 4), CACHE_RING_FREE);
	assert_int_equal(seen(r).left, 1);
	ring_dial_ask(&r->d, 4, 6, 0);
	loop(r);
	assert_int_equal(r->requests, 2);
}

RIG_TEST(leave__after_the_answer__finds_it)
{
	struct rig *r = *state;

	r->answers = true;
	ring_dial_ask(&r->d, 4, 5, 0);
	loop(r);
	assert_false(ring_dial_leave(&r->d, 4));
}

RIG_TEST(answer__the_slot_holds_rubbish__stays_as_it_is)
{
	struct rig *r = *state;

	ring_dial_ask(&r->d, 4, 5, 0);
	loop(r);
	ring_dial_set(&r->d, 4, 99);
	answers(r, &r->request[0]);
	assert_int_equal(ring_dial_state(&r->d, 4), 99);
	assert_int_equal(seen(r).left, 0);
	assert_int_equal(seen(r).waiting, 0);
}

RIG_TEST(end__with_requests_under_way__their_answers_go_nowhere)
{
	struct rig *r = *state;
	struct cached_ring_seen s[CACHED_RING_CLIENTS_MAX];
	struct ring_dial next;

	ring_dial_ask(&r->d, 4, 5, 0);
	ring_dial_ask(&r->d, 5, 6, 0);
	loop(r);
	ring_dial_end(&r->d);
	loop(r);
	assert_int_equal(cached_ring_clients(r->ring, s), 0);
	dial(r, &next);
	ring_dial_ask(&next, 4, 7, 0);
	loop(r);
	answers(r, &r->request[0]);
	assert_int_equal(ring_dial_state(&next, 4), CACHE_RING_ASKED);
	answers(r, &r->request[1]);
	answers(r, &r->request[2]);
	assert_int_equal(next.slot[4].version, 22);
	ring_dial_end(&next);
}

/* So all requests that the owner has are bounded, however often clients come and go. */
RIG_TEST(end__with_requests_under_way__keeps_its_place_until_they_are_answered)
{
	struct rig *r = *state;
	struct ring_dial d;

	for (int i = 0; i < CLIENTS - 1; i++) {
		dial(r, &d);
		assert_non_null(d.header);
		ring_dial_ask(&d, 4, 5, 0);
		loop(r);
		ring_dial_end(&d);
		loop(r);
	}
	dial(r, &d);
	assert_null(d.header);
	ring_dial_end(&d);
	answers(r, &r->request[1]);
	dial(r, &d);
	assert_non_null(d.header);
	ring_dial_ask(&d, 4, 8, 0);
	loop(r);
	answers(r, &r->request[1]); /* that of the client before: it is none any more */
	assert_int_equal(ring_dial_state(&d, 4), CACHE_RING_ASKED);
	ring_dial_end(&d);
}

RIG_TEST(answer__id_that_is_none__is_ignored)
{
	struct rig *r = *state;
	struct cached_ring_request q;

	ring_dial_ask(&r->d, 4, 5, 0);
	loop(r);
	q = r->request[0];
	for (int bit = 0; bit < 64; bit++) {
		q.id = r->request[0].id ^ 1ull << bit;
		answers(r, &q);
	}
	q.id = UINT64_MAX;
	answers(r, &q);
	q.id = 0;
	answers(r, &q);
	assert_int_equal(ring_dial_state(&r->d, 4), CACHE_RING_ASKED);
	answers(r, &r->request[0]);
	assert_int_equal(ring_dial_state(&r->d, 4), CACHE_RING_ANSWERED);
}

RIG_TEST(close__requests_under_way__are_lost)
{
	struct rig *r = *state;

	ring_dial_ask(&r->d, 4, 5, 0);
	loop(r);
	cached_ring_close(r->ring);
	r->ring = NULL;
	assert_int_equal(r->d.header->ended, 1);
	assert_int_equal(ring_dial_state(&r->d, 4), CACHE_RING_ANSWERED);
	assert_int_equal(r->d.slot[4].why, CACHE_RING_LOST);
	assert_int_equal(recv(r->d.fd, &(char){ 0 }, 1, MSG_DONTWAIT), 0);
}

RIG_TEST(close__a_client_has_left__is_forgotten)
{
	struct rig *r = *state;

	ring_dial_ask(&r->d, 4, 5, 0);
	loop(r);
	ring_dial_end(&r->d);
	loop(r); /* its place is kept; teardown frees it */
}

/* --- hostile clients -------------------------------------------------------------------------- */

static void write_rubbish(struct ring_dial *d, uint64_t *seed)
{
	uint64_t x = random_next(seed), *at = (uint64_t *)(void *)d->header;
	uint32_t words = d->hello.bytes / 8, slot = (uint32_t)(x >> 8) % SLOTS;

	switch (x % 128) {
	case 0:
		for (uint32_t i = 0; i < words; i++)
			at[i] = random_next(seed);
		break;
	case 1: /* its pages are zeros again */
		fallocate(d->memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, d->hello.bytes);
		break;
	case 2 ... 9:
		at[(x >> 8) % words] = random_next(seed);
		break;
	case 10 ... 17:
		d->header->sleeps = (uint32_t)(x >> 40) % 3;
		break;
	case 18 ... 70: /* it is a state, most often */
		d->slot[slot].flags = (uint32_t)(x >> 50) % 3;
		d->slot[slot].state = (uint32_t)(x >> 40) % 6;
		break;
	default:
		d->header->asked[slot / 64] = random_next(seed);
	}
}

/* Writes anything anywhere, and wakes, for ever. */
static void be_hostile(const char *path, uint64_t seed)
{
	const uint64_t one = 1;
	struct ring_dial d;
	struct pollfd p = { .events = POLLIN };

	alarm(120);
	ring_dial_connect(&d, path);
	p.fd = d.fd;
	poll(&p, 1, 60000);
	if (!ring_dial_hello(&d))
		_exit(0);
	for (uint64_t left = 200 + random_next(&seed) % 20000; left; left--) {
		write_rubbish(&d, &seed);
		if (left % 64)
			continue;
		if (write(d.wake, &one, sizeof(one)) < 0)
			break;
		usleep(random_next(&seed) % 64); /* else the server sees the last of it alone */
	}
	_exit(0);
}

/* One request of a client that keeps to the rules. */
static void ask_well(struct rig *r, struct prop *p, uint32_t good)
{
	uint32_t slot = (uint32_t)prop_range(p, 0, SLOTS - 1);
	uint64_t key = prop_u64(p);

	ring_dial_ask(&r->d, slot, key, 0);
	for (int i = 0; i < 1000 && ring_dial_state(&r->d, slot) == CACHE_RING_ASKED; i++)
		loop(r);
	prop_assert(p, good, ring_dial_state(&r->d, slot) == CACHE_RING_ANSWERED);
	prop_assert(p, good, r->d.slot[slot].why == CACHE_RING_VERIFIED);
	prop_assert(p, good, r->d.slot[slot].version == key * 3 + 1);
	ring_dial_set(&r->d, slot, CACHE_RING_FREE);
}

RIG_TEST(hostile__clients_that_write_rubbish_and_end__harm_no_other)
{
	enum { HOSTILES = CLIENTS - 1, BORN = 30, RUBBISH = 3000 };
	struct rig *r = *state;
	struct cached_ring_seen s[CACHED_RING_CLIENTS_MAX];
	pid_t child[HOSTILES] = { 0 };
	uint32_t good = 0, born = 0;
	uint64_t rubbish = 0;
	struct prop p;

	prop_start(&p);
	r->answers = true;
	for (; born < BORN || rubbish < RUBBISH; good++) {
		uint64_t before = r->requests;

		for (int i = 0; i < HOSTILES; i++) {
			if (child[i] && prop_one_in(&p, 20000))
				kill(child[i], SIGKILL);
			if (child[i] && waitpid(child[i], NULL, WNOHANG) != child[i])
				continue;
			child[i] = fork();
			assert_true(child[i] >= 0); /* kill(-1) would end all processes */
			if (!child[i])
				be_hostile(r->path, prop_u64(&p) + (uint64_t)i);
			born++;
		}
		ask_well(r, &p, good);
		rubbish += r->requests - before - 1;
	}
	for (int i = 0; i < HOSTILES; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	loop(r);
	assert_int_equal(cached_ring_clients(r->ring, s), 1);
	assert_int_equal(s[0].bad, 0);
	assert_int_equal(s[0].answered, good);
	print_message("%u good requests beside %ju of %u hostile clients\n", good,
		      (uintmax_t)rubbish, born);
}
