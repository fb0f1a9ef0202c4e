// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * report: the samples that an application reports arrive at a socket like the agent's.
 * The sockets are real; the coarse clock is the test's own.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ibmon/agent/latency_socket.h"
#include "resex/report.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

enum { MAX = AGENT_SOCKET_SAMPLES_MAX, MS = 1000000 };

/* Longer than any test: only a full buffer, flush and close send. */
#define NEVER UINT64_MAX

static int64_t coarse_ns;
static uint64_t connects;

/* In place of libc's, for this program. */
int clock_gettime(clockid_t id, struct timespec *t)
{
	if (id != CLOCK_MONOTONIC_COARSE)
		return (int)syscall(SYS_clock_gettime, id, t);
	*t = (struct timespec){ coarse_ns / 1000000000, coarse_ns % 1000000000 };
	return 0;
}

int connect(int fd, const struct sockaddr *to, socklen_t len)
{
	connects++;
	return (int)syscall(SYS_connect, fd, to, len);
}

struct rig {
	struct tmpdir dir;
	char path[160];
	int fd; /* the agent's; -1: there is none */
	struct resex_report *r;
	uint64_t reported; /* the next sample's number */
	uint64_t taken;	   /* the number that must arrive next */
	uint64_t datagrams;
	uint64_t told; /* drops that the agent was told of */
};

static void agent_comes(struct rig *g)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	g->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_true(g->fd >= 0);
	strcpy(at.sun_path, g->path);
	assert_int_equal(bind(g->fd, (const struct sockaddr *)&at, sizeof(at)), 0);
}

static void agent_goes(struct rig *g)
{
	close(g->fd);
	g->fd = -1;
	unlink(g->path);
}

static int rig_open(void **state)
{
	struct rig *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	coarse_ns = 777LL * 1000000000 + 999999999;
	tmp_open(&g->dir);
	strcpy(g->path, tmp_at(&g->dir, "sock"));
	agent_comes(g);
	*state = g;
	return 0;
}

static int rig_close(void **state)
{
	struct rig *g = *state;

	resex_report_close(g->r);
	if (g->fd >= 0)
		close(g->fd);
	tmp_close(&g->dir);
	free(g);
	return 0;
}

/* A handle whose first sample goes at once, as any handle's does, and all others wait. */
static void begin(struct rig *g)
{
	assert_int_equal(resex_report_open(&g->r, g->path), 0);
	resex_report_period(g->r, NEVER);
}

static struct agent_latency numbered(uint64_t i)
{
	return (struct agent_latency){ (uint32_t)i, (uint32_t)(i * 3), (uint32_t)(i * 7 + 1) };
}

static void report(struct rig *g, uint64_t n)
{
	while (n--) {
		struct agent_latency l = numbered(g->reported++);

		resex_report(g->r, l.ctime_ns, l.wtime_ns, l.ptime_ns);
	}
}

/* Take one datagram as the agent does; its samples are the next but for those it owns to. */
static int take(struct rig *g)
{
	uint8_t buf[2 * sizeof(struct agent_latencies) + MAX * sizeof(struct agent_latency)];
	struct agent_latency got[MAX];
	ssize_t len = recv(g->fd, buf, sizeof(buf), 0);
	uint32_t dropped;
	int n;

	if (len < 0)
		return -errno;
	n = latency_parse(buf, (size_t)len, got, &dropped);
	g->told += dropped;
	g->taken += dropped;
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		struct agent_latency want = numbered(g->taken++);

		assert_memory_equal(&got[i], &want, sizeof(want));
	}
	g->datagrams++;
	return n;
}

static void take_all(struct rig *g)
{
	while (take(g) > 0)
		;
}

static struct resex_report_counts counts(const struct rig *g)
{
	struct resex_report_counts c;

	resex_report_count(g->r, &c);
	assert_int_equal(c.sent + c.dropped + c.waiting, g->reported);
	return c;
}

TEST_WITH(first_sample__goes_at_once__more_wait_until_they_are_64, rig_open, rig_close)
{
	struct rig *g = *state;

	begin(g);
	report(g, 1);
	assert_int_equal(take(g), 1);
	report(g, MAX - 1);
	assert_int_equal(take(g), -EAGAIN);
	assert_int_equal(counts(g).waiting, MAX - 1);
	report(g, 1);
	assert_int_equal(take(g), MAX);
	assert_int_equal(counts(g).waiting, 0);
}

TEST_WITH(any_number_of_samples__arrives_whole_and_in_order, rig_open, rig_close)
{
	struct rig *g = *state;
	struct prop p;

	prop_start(&p);
	begin(g);
	for (uint64_t i = 0; i < 500; i++) {
		uint64_t n = prop_range(&p, 0, 3 * MAX), before = g->datagrams;

		coarse_ns += (int64_t)prop_range(&p, 0, 3 * MS);
		report(g, n);
		prop_assert(&p, i, resex_report_flush(g->r) == 0);
		take_all(g);
		prop_assert(&p, i, g->taken == g->reported);
		prop_assert(&p, i, g->datagrams - before <= n / MAX + 2);
	}
	assert_int_equal(counts(g).sent, g->reported);
}

TEST_WITH(low_rate__each_sample_goes_at_once, rig_open, rig_close)
{
	struct rig *g = *state;

	assert_int_equal(resex_report_open(&g->r, g->path), 0);
	for (int i = 0; i < 5; i++) {
		report(g, 1);
		assert_int_equal(take(g), 1);
		coarse_ns += MS;
	}
}

TEST_WITH(burst__leaves_with_the_first_report_after_the_period, rig_open, rig_close)
{
	struct rig *g = *state;

	assert_int_equal(resex_report_open(&g->r, g->path), 0);
	report(g, 5);
	assert_int_equal(take(g), 1);
	coarse_ns += MS - 1;
	report(g, 5);
	assert_int_equal(take(g), -EAGAIN);
	coarse_ns += 1;
	report(g, 1);
	assert_int_equal(take(g), 10);
}

TEST_WITH(full_buffer__begins_a_new_period, rig_open, rig_close)
{
	struct rig *g = *state;

	assert_int_equal(resex_report_open(&g->r, g->path), 0);
	report(g, 1);
	coarse_ns += MS - 1;
	report(g, MAX);
	coarse_ns += MS - 1;
	report(g, 3);
	take_all(g);
	assert_int_equal(g->taken, 1 + MAX);
	coarse_ns += 1;
	report(g, 1);
	assert_int_equal(take(g), 4);
}

TEST_WITH(period_made_shorter__holds_for_what_waits, rig_open, rig_close)
{
	struct rig *g = *state;

	begin(g);
	report(g, 2);
	assert_int_equal(take(g), 1);
	resex_report_period(g->r, 5 * MS);
	coarse_ns += 5 * MS;
	report(g, 1);
	assert_int_equal(take(g), 2);
}

TEST_WITH(period_of_zero__every_sample_is_a_datagram, rig_open, rig_close)
{
	struct rig *g = *state;

	begin(g);
	report(g, 3);
	resex_report_period(g->r, 0);
	report(g, 4);
	take_all(g);
	assert_int_equal(g->taken, 7);
	assert_int_equal(g->datagrams, 5); /* the first, the next three together, three more */
}

TEST_WITH(longer_than_a_field__is_the_longest, rig_open, rig_close)
{
	struct rig *g = *state;
	union {
		struct agent_latencies head;
		uint8_t bytes[64];
	} d;

	assert_int_equal(resex_report_open(&g->r, g->path), 0);
	resex_report(g->r, UINT32_MAX, UINT64_MAX, 1ull << 32);
	assert_int_equal(recv(g->fd, &d, sizeof(d), 0), sizeof(d.head) + 12);
	assert_int_equal(d.head.sample[0].ctime_ns, UINT32_MAX);
	assert_int_equal(d.head.sample[0].wtime_ns, UINT32_MAX);
	assert_int_equal(d.head.sample[0].ptime_ns, UINT32_MAX);
}

TEST_WITH(close__sends_what_waits, rig_open, rig_close)
{
	struct rig *g = *state;

	begin(g);
	report(g, 10);
	resex_report_close(g->r);
	g->r = NULL;
	take_all(g);
	assert_int_equal(g->taken, 10);
}

TEST_WITH(nothing_waits__flush_sends_nothing, rig_open, rig_close)
{
	struct rig *g = *state;

	begin(g);
	assert_int_equal(resex_report_flush(g->r), 0);
	assert_int_equal(take(g), -EAGAIN);
}

TEST_WITH(nothing_waits__flush_says_what_became_of_the_last, rig_open, rig_close)
{
	struct rig *g = *state;

	begin(g);
	agent_goes(g);
	report(g, 1); /* went by itself */
	assert_int_equal(resex_report_flush(g->r), -ECONNREFUSED);
	agent_comes(g);
	coarse_ns += 100 * MS;
	report(g, MAX);
	assert_int_equal(resex_report_flush(g->r), 0);
}

TEST_WITH(no_handle__is_no_harm, rig_open, rig_close)
{
	struct resex_report_counts c = { 1, 1, 1 };

	resex_report(NULL, 1, 2, 3);
	resex_report_period(NULL, 1);
	assert_int_equal(resex_report_flush(NULL), 0);
	resex_report_count(NULL, &c);
	assert_int_equal(c.sent + c.dropped + c.waiting, 0);
	resex_report_close(NULL);
}

TEST_WITH(no_agent__opens_and_counts_what_is_dropped, rig_open, rig_close)
{
	struct rig *g = *state;

	agent_goes(g);
	begin(g);
	assert_int_equal(resex_report_flush(g->r), -ENOENT);
	report(g, 3 * MAX + 5);
	assert_int_equal(counts(g).sent, 0);
	assert_int_equal(resex_report_flush(g->r), -ENOENT);
	assert_int_equal(counts(g).dropped, 3 * MAX + 5);
}

TEST_WITH(path_too_long__is_refused, rig_open, rig_close)
{
	struct rig *g = *state;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	assert_int_equal(resex_report_open(&g->r, path), -ENAMETOOLONG);
	assert_null(g->r);
}

TEST_WITH(no_path__the_environment_names_the_socket, rig_open, rig_close)
{
	struct rig *g = *state;

	setenv("RESEX_AGENT_SOCKET", g->path, 1);
	assert_int_equal(resex_report_open(&g->r, NULL), 0);
	unsetenv("RESEX_AGENT_SOCKET");
	report(g, 1);
	assert_int_equal(take(g), 1);
}

/* Where no agent runs, and where one does: both times the same is found. */
TEST_WITH(empty_in_the_environment__is_as_if_it_was_not_set, rig_open, rig_close)
{
	struct rig *g = *state;
	int usual;

	unsetenv("RESEX_AGENT_SOCKET");
	assert_int_equal(resex_report_open(&g->r, NULL), 0);
	usual = resex_report_flush(g->r);
	resex_report_close(g->r);
	setenv("RESEX_AGENT_SOCKET", "", 1);
	assert_int_equal(resex_report_open(&g->r, NULL), 0);
	unsetenv("RESEX_AGENT_SOCKET");
	assert_int_equal(resex_report_flush(g->r), usual);
}

TEST_WITH(agent_restarts__reports_arrive_again, rig_open, rig_close)
{
	struct rig *g = *state;

	begin(g);
	for (int i = 0; i < 3; i++) {
		coarse_ns += 100 * MS;
		report(g, MAX);
		resex_report_flush(g->r);
		take_all(g);
		assert_int_equal(g->taken, g->reported);
		agent_goes(g);
		report(g, MAX);
		assert_int_equal(counts(g).dropped, (i + 1) * MAX);
		agent_comes(g);
	}
}

/* One that listens again before anybody noticed loses nothing. */
TEST_WITH(agent_restarts_between_two_datagrams__nothing_is_dropped, rig_open, rig_close)
{
	struct rig *g = *state;

	begin(g);
	report(g, 1);
	assert_int_equal(take(g), 1);
	agent_goes(g);
	agent_comes(g);
	coarse_ns += 100 * MS;
	report(g, MAX);
	assert_int_equal(take(g), MAX);
	assert_int_equal(counts(g).dropped, 0);
}

TEST_WITH(agent_comes_late__is_found_within_a_tenth_of_a_second, rig_open, rig_close)
{
	struct rig *g = *state;

	agent_goes(g);
	begin(g);
	agent_comes(g);
	coarse_ns += 100 * MS - 1;
	report(g, 1);
	assert_int_equal(take(g), -EAGAIN);
	coarse_ns += 1;
	report(g, MAX);
	assert_int_equal(take(g), MAX);
	assert_int_equal(g->told, 1);
}

/* 15,625 datagrams in a second that nobody takes. */
TEST_WITH(agent_that_is_gone__is_looked_for_ten_times_a_second, rig_open, rig_close)
{
	struct rig *g = *state;

	agent_goes(g);
	connects = 0;
	begin(g);
	assert_int_equal(connects, 1);
	for (int i = 0; i < 15625; i++) {
		report(g, 64);
		coarse_ns += 64000;
	}
	assert_int_equal(connects, 10);
	resex_report_flush(g->r);
	assert_int_equal(counts(g).dropped, 1000000);
}

/* Nor one that dies again and again. */
TEST_WITH(agent_that_dies_at_once__is_looked_for_no_oftener, rig_open, rig_close)
{
	struct rig *g = *state;

	connects = 0;
	begin(g);
	for (int i = 0; i < 1000; i++) {
		agent_goes(g);
		agent_comes(g);
		report(g, MAX);
		coarse_ns += MS;
	}
	assert_in_range(connects, 9, 11);
	assert_true(counts(g).sent > 0);
}

TEST_WITH(agent_that_does_not_read__never_blocks__drops_are_exact, rig_open, rig_close)
{
	struct rig *g = *state;
	struct resex_report_counts c;

	begin(g);
	report(g, 1);
	report(g, 100000); /* more than any queue of datagrams holds */
	c = counts(g);
	assert_true(c.dropped > 0);
	assert_int_equal(c.dropped % MAX, 0);
	take_all(g);
	assert_int_equal(g->taken, c.sent);
	report(g, MAX);
	assert_int_equal(take(g), MAX);
	assert_int_equal(counts(g).dropped, c.dropped);
	assert_int_equal(g->told, c.dropped);
}

TEST_WITH(agent_that_lags__flush_says_so, rig_open, rig_close)
{
	struct rig *g = *state;

	int rc = 0;

	begin(g);
	report(g, 1); /* goes by itself */
	for (int i = 0; rc == 0 && i < 100000; i++) {
		report(g, 1);
		rc = resex_report_flush(g->r);
	}
	assert_int_equal(rc, -EAGAIN);
	assert_int_equal(counts(g).dropped, 1);
	assert_int_equal(counts(g).waiting, 0);
}

/* The parent's samples arrive once, and the child's are the child's. */
TEST_WITH(after_fork__what_waited_is_sent_once, rig_open, rig_close)
{
	struct rig *g = *state;
	int status;
	pid_t pid;

	begin(g);
	report(g, 1 + 10);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int lost = resex_report_flush(g->r);

		report(g, 5);
		_exit(lost == -ECHILD && resex_report_flush(g->r) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(take(g), 1);
	g->taken = 11;
	assert_int_equal(take(g), 5);
	assert_int_equal(take(g), -EAGAIN);
	g->taken = 1;
	assert_int_equal(resex_report_flush(g->r), 0);
	assert_int_equal(take(g), 10);
}

TEST_WITH(errno__is_left_alone, rig_open, rig_close)
{
	struct rig *g = *state;

	agent_goes(g);
	errno = EDOM;
	begin(g);
	report(g, 3 * MAX + 1);
	resex_report_flush(g->r);
	assert_int_equal(errno, EDOM);
}

static int join(void *ctx, pid_t pid)
{
	(void)ctx;
	(void)pid;
	return 0;
}

TEST_WITH(agent__puts_what_is_reported_on_the_page, rig_open, rig_close)
{
	struct rig *g = *state;
	struct latency_socket *s;
	struct guest_latency l[3];
	struct pages *pages;
	struct book *book;
	struct log log;
	char file[160];
	FILE *f;

	agent_goes(g);
	strcpy(file, tmp_at(&g->dir, "pages"));
	log_init(&log, "test", LOG_LVL_ERROR);
	assert_int_equal(pages_file.open(&pages, file), 0);
	assert_int_equal(book_open(&book, &pages_file, pages, 1), 0);
	assert_int_equal(latency_open(&s, g->path, book, join, NULL, &log), 0);
	begin(g);
	report(g, 300);
	assert_int_equal(resex_report_flush(g->r), 0);
	assert_int_equal(latency_read(s, 10, (struct mono){ 1 }), 3);
	f = fopen(file, "r");
	assert_non_null(f);
	assert_true(fread(l, sizeof(l[0]), 3, f) >= 2);
	fclose(f);
	assert_int_equal(l[1].magic, GUEST_LATENCY_MAGIC);
	assert_int_equal(l[1].pid, getpid());
	assert_int_equal(l[1].written, 300);
	for (uint32_t i = 0; i < 300; i++) {
		assert_int_equal(l[1].sample[i].ctime_ns, numbered(i).ctime_ns);
		assert_int_equal(l[1].sample[i].wtime_ns, numbered(i).wtime_ns);
		assert_int_equal(l[1].sample[i].ptime_ns, numbered(i).ptime_ns);
	}
	latency_close(s);
	book_close(book);
	pages_file.close(pages);
}
