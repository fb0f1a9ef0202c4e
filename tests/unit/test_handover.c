// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shared: events, snapshots and mail between the daemon's threads. The tests
 * with two threads are what the thread sanitizer is to look at.
 */
#include "src/tick/handover.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum { TWO_THREADS_ROUNDS = 20000, BACKLOG = 3 };

static int open_shared(void **state)
{
	struct handover *ho = malloc(sizeof(*ho));

	if (!ho || handover_open(ho))
		return -1;
	*state = ho;
	return 0;
}

static int close_shared(void **state)
{
	handover_close(*state);
	free(*state);
	return 0;
}

/* --- events ------------------------------------------------------------ */

static struct event numbered(int64_t n)
{
	return (struct event){
		.type = EVENT_CAP,
		.slot = (uint32_t)n % FLOW_GUESTS_MAX,
		.created = (uint64_t)n + 1,
		.time = { n * 2 },
		.a = n,
		.b = -n,
		.c = n * 3,
	};
}

static void assert_numbered(const struct event *ev, int64_t n)
{
	struct event want = numbered(n);

	assert_int_equal(ev->type, want.type);
	assert_int_equal(ev->slot, want.slot);
	assert_int_equal(ev->created, want.created);
	assert_int_equal(ev->time.ns, want.time.ns);
	assert_int_equal(ev->a, want.a);
	assert_int_equal(ev->b, want.b);
	assert_int_equal(ev->c, want.c);
}

TEST_WITH(events__none_put__none_got, open_shared, close_shared)
{
	struct event ev;

	assert_false(event_get(*state, &ev));
}

TEST_WITH(events__are_got_in_the_order_they_were_put, open_shared, close_shared)
{
	struct event ev;

	for (int64_t n = 0; n < 5; n++) {
		ev = numbered(n);
		assert_true(event_put(*state, &ev));
	}
	for (int64_t n = 0; n < 5; n++) {
		assert_true(event_get(*state, &ev));
		assert_numbered(&ev, n);
	}
	assert_false(event_get(*state, &ev));
}

TEST_WITH(events__full__newest_is_dropped_and_counted, open_shared, close_shared)
{
	struct handover *ho = *state;
	struct event ev;

	for (int64_t n = 0; n < EVENTS_MAX; n++) {
		ev = numbered(n);
		assert_true(event_put(ho, &ev));
	}
	for (int64_t n = 0; n < 3; n++) {
		ev = numbered(-1);
		assert_false(event_put(ho, &ev));
	}
	assert_int_equal(atomic_load(&ho->events.at.overflow), 3);
	for (int64_t n = 0; n < EVENTS_MAX; n++) {
		assert_true(event_get(ho, &ev));
		assert_numbered(&ev, n);
	}
	assert_false(event_get(ho, &ev));
}

TEST_WITH(events__one_got_from_a_full_ring__one_more_fits, open_shared, close_shared)
{
	struct event ev = numbered(0);

	while (event_put(*state, &ev))
		;
	assert_true(event_get(*state, &ev));
	ev = numbered(7);
	assert_true(event_put(*state, &ev));
	assert_false(event_put(*state, &ev));
}

TEST_WITH(events__counters_wrap_at_2_32__nothing_is_lost, open_shared, close_shared)
{
	struct handover *ho = *state;
	struct event ev;

	atomic_store(&ho->events.at.head, UINT32_MAX - 2);
	atomic_store(&ho->events.at.tail, UINT32_MAX - 2);
	for (int64_t n = 0; n < EVENTS_MAX; n++) {
		ev = numbered(n);
		assert_true(event_put(ho, &ev));
	}
	ev = numbered(0);
	assert_false(event_put(ho, &ev));
	for (int64_t n = 0; n < EVENTS_MAX; n++) {
		assert_true(event_get(ho, &ev));
		assert_numbered(&ev, n);
	}
	assert_false(event_get(ho, &ev));
}

static void *put_events(void *arg)
{
	struct handover *ho = arg;

	for (int64_t n = 0; n < TWO_THREADS_ROUNDS; n++) {
		const struct event ev = numbered(n);

		event_put(ho, &ev);
		if (n % 64 == 0)
			sched_yield();
	}
	atomic_store_explicit(&ho->stop, 1, memory_order_release);
	return NULL;
}

TEST_WITH(events__two_threads__each_is_whole_in_order_got_or_counted, open_shared, close_shared)
{
	struct handover *ho = *state;
	int64_t got = 0, last = -1;
	struct event ev;
	pthread_t putter;
	bool stopped;

	assert_int_equal(pthread_create(&putter, NULL, put_events, ho), 0);
	do {
		stopped = atomic_load_explicit(&ho->stop, memory_order_acquire);
		while (event_get(ho, &ev)) {
			assert_true(ev.a > last);
			last = ev.a;
			assert_numbered(&ev, last);
			got++;
		}
	} while (!stopped);
	pthread_join(putter, NULL);
	assert_int_equal(got + (int64_t)atomic_load(&ho->events.at.overflow), TWO_THREADS_ROUNDS);
	assert_true(got > 0);
}

/* --- snapshots --------------------------------------------------------- */

/* Everything in it says n: whole, or the reader sees two numbers. */
static void fill(struct snapshot *sn, uint64_t n)
{
	sn->ticks = n;
	sn->time.ns = (int64_t)n;
	sn->guests = FLOW_GUESTS_MAX;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		sn->guest[i].key.created = n;
		sn->guest[i].cap_changes = n;
	}
	sn->epoch = n;
}

static uint64_t number_of(const struct snapshot *sn)
{
	uint64_t n = sn->ticks;

	assert_int_equal(sn->time.ns, n);
	for (uint32_t i = 0; i < sn->guests; i++) {
		assert_int_equal(sn->guest[i].key.created, n);
		assert_int_equal(sn->guest[i].cap_changes, n);
	}
	assert_int_equal(sn->epoch, n);
	return n;
}

static void put_snapshot(struct handover *ho, uint64_t n)
{
	fill(snap_begin(ho), n);
	snap_publish(ho);
}

TEST_WITH(snapshots__none_published__the_reader_gets_an_empty_one, open_shared, close_shared)
{
	const struct snapshot *sn = snap_latest(*state);

	assert_int_equal(sn->ticks, 0);
	assert_int_equal(sn->guests, 0);
}

TEST_WITH(snapshots__several_published__the_reader_gets_the_newest, open_shared, close_shared)
{
	for (uint64_t n = 1; n <= 5; n++)
		put_snapshot(*state, n);
	assert_int_equal(number_of(snap_latest(*state)), 5);
}

TEST_WITH(snapshots__none_since__the_reader_keeps_what_it_had, open_shared, close_shared)
{
	const struct snapshot *first;

	put_snapshot(*state, 1);
	first = snap_latest(*state);
	assert_ptr_equal(snap_latest(*state), first);
	assert_int_equal(number_of(first), 1);
}

TEST_WITH(snapshots__begun_and_not_published__are_not_seen, open_shared, close_shared)
{
	put_snapshot(*state, 1);
	fill(snap_begin(*state), 2);
	assert_int_equal(number_of(snap_latest(*state)), 1);
}

TEST_WITH(snapshots__the_one_being_read_is_never_written, open_shared, close_shared)
{
	const struct snapshot *held;

	put_snapshot(*state, 1);
	held = snap_latest(*state);
	for (uint64_t n = 2; n < 20; n++) {
		assert_ptr_not_equal(snap_begin(*state), held);
		put_snapshot(*state, n);
		assert_int_equal(number_of(held), 1);
	}
}

static void *put_snapshots(void *arg)
{
	struct handover *ho = arg;

	for (uint64_t n = 1; n <= TWO_THREADS_ROUNDS / 10; n++)
		put_snapshot(ho, n);
	atomic_store_explicit(&ho->stop, 1, memory_order_release);
	return NULL;
}

TEST_WITH(snapshots__two_threads__each_is_whole_and_none_older_than_the_last, open_shared,
	  close_shared)
{
	struct handover *ho = *state;
	uint64_t last = 0;
	pthread_t writer;
	bool stopped;

	assert_int_equal(pthread_create(&writer, NULL, put_snapshots, ho), 0);
	do {
		uint64_t n;

		stopped = atomic_load_explicit(&ho->stop, memory_order_acquire);
		n = number_of(snap_latest(ho));
		assert_true(n >= last);
		last = n;
	} while (!stopped);
	pthread_join(writer, NULL);
	assert_int_equal(number_of(snap_latest(ho)), TWO_THREADS_ROUNDS / 10);
}

/* --- mail and wake-ups -------------------------------------------------- */

TEST(mail__fields_come_back_as_they_were_packed)
{
	static const struct {
		uint32_t serial;
		uint16_t domid, percent;
	} rows[] = {
		{ 0, 0, 0 },	      { UINT32_MAX, UINT16_MAX, UINT16_MAX },
		{ 1, 0, 0 },	      { 0, 1, 0 },
		{ 0, 0, 1 },	      { 0x12345678, 0x7ff0, 6400 },
		{ UINT32_MAX, 0, 0 }, { 0, UINT16_MAX, 0 },
		{ 0, 0, UINT16_MAX }, { 0x80000000u, 0x8000, 0x8000 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t w = mail_pack(rows[i].serial, rows[i].domid, rows[i].percent);

		assert_int_equal(mail_serial(w), rows[i].serial);
		assert_int_equal(mail_domid(w), rows[i].domid);
		assert_int_equal(mail_errno(w), rows[i].domid); /* an answer has it there */
		assert_int_equal(mail_percent(w), rows[i].percent);
	}
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

TEST_WITH(wake__makes_the_eventfd_readable_and_no_other, open_shared, close_shared)
{
	struct handover *ho = *state;

	assert_false(readable(ho->actor_fd));
	assert_false(readable(ho->control_fd));
	handover_wake(ho->actor_fd);
	assert_true(readable(ho->actor_fd));
	assert_false(readable(ho->control_fd));
}

TEST_WITH(wake__many_times__one_read_takes_them_all, open_shared, close_shared)
{
	struct handover *ho = *state;
	uint64_t n = 0;

	for (int i = 0; i < BACKLOG; i++)
		handover_wake(ho->control_fd);
	assert_int_equal(read(ho->control_fd, &n, sizeof(n)), sizeof(n));
	assert_int_equal(n, BACKLOG);
	assert_false(readable(ho->control_fd));
}
