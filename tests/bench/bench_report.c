// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_report: what a report costs the application, beside a look at the clock
 * and beside one datagram a sample, all in turn in the same run.
 *
 * The receiver is a process on another CPU and does as resex-agent does: it is
 * woken by a datagram while they are few, and looks each millisecond while
 * they are many. Both are measured, for to wake it is the sender's work. The
 * next datagram waits, outside the time that is taken, until the last one
 * arrived: none is dropped. Costs are taken over batches, so that the clock
 * that takes them is hardly in them. Prints ratios; judges nothing.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "resex/agent_socket.h"
#include "resex/report.h"

enum { ROUNDS = 50, BATCHES = 20, FULL = AGENT_SOCKET_SAMPLES_MAX };
static_assert(FULL == 256, "as the text says");

/* What the two processes share. */
struct common {
	_Atomic uint64_t taken; /* samples that arrived */
	_Atomic int looks;	/* the receiver looks each millisecond, and is not woken */
};

struct bench {
	char dir[32], path[64];
	struct resex_report *batched; /* sends when it is full, or flushed */
	struct resex_report *single;  /* sends each sample */
	struct resex_report *lost;    /* has no agent */
	int fd;			      /* sends by itself */
	pid_t receiver;
	struct common *common;
	uint64_t sent;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "resex-bench-report: %s: %s\n", what, strerror(err));
	exit(1);
}

static int64_t ns_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set); /* as best it can */
}

/* In a process of its own, as the agent is; ended from outside. */
static void receive(const struct bench *b, int fd)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	union {
		struct agent_latencies head;
		uint8_t bytes[sizeof(struct agent_latencies) + FULL * sizeof(struct agent_latency)];
	} d;

	pin(1);
	for (;;) {
		if (recv(fd, &d, sizeof(d), b->common->looks ? MSG_DONTWAIT : 0) > 0)
			b->common->taken += d.head.samples;
		else
			nanosleep(&ms, NULL);
	}
}

static struct sockaddr_un address(const struct bench *b)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	strcpy(at.sun_path, b->path);
	return at;
}

static void start_receiver(struct bench *b)
{
	struct sockaddr_un at = address(b);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	b->common = mmap(NULL, sizeof(*b->common), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b->common == MAP_FAILED || fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)))
		die("a socket for the receiver", errno);
	b->receiver = fork();
	if (b->receiver < 0)
		die("fork", errno);
	if (b->receiver == 0)
		receive(b, fd);
	close(fd);
}

static struct resex_report *open_report(const char *path, uint64_t period)
{
	struct resex_report *r = NULL;
	int rc = resex_report_open(&r, path);

	if (rc)
		die(path, -rc);
	resex_report_period(r, period);
	resex_report(r, 1, 2, 3); /* goes by itself: not measured */
	return r;
}

static void bench_open(struct bench *b)
{
	struct sockaddr_un at;

	strcpy(b->dir, "/tmp/resex-bench-XXXXXX");
	if (!mkdtemp(b->dir))
		die(b->dir, errno);
	snprintf(b->path, sizeof(b->path), "%s/sock", b->dir);
	start_receiver(b);
	at = address(b);
	b->batched = open_report(b->path, UINT64_MAX);
	b->single = open_report(b->path, 0);
	b->sent = 2;
	b->lost = open_report("/nonexistent/sock", UINT64_MAX);
	b->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (b->fd < 0 || connect(b->fd, (const struct sockaddr *)&at, sizeof(at)))
		die("a socket for the sender", errno);
	pin(0);
}

static void bench_close(struct bench *b)
{
	kill(b->receiver, SIGKILL);
	waitpid(b->receiver, NULL, 0);
	resex_report_close(b->batched);
	resex_report_close(b->single);
	resex_report_close(b->lost);
	close(b->fd);
	unlink(b->path);
	rmdir(b->dir);
}

/* Until all that was sent arrived, and the receiver sleeps again. */
static void settle(const struct bench *b)
{
	const struct timespec moment = { .tv_nsec = 20000 };

	while (b->common->taken != b->sent) {
		if (waitpid(b->receiver, NULL, WNOHANG))
			die("the receiver ended", EPIPE);
		sched_yield();
	}
	nanosleep(&moment, NULL);
}

/* One batch of each kind. Nothing that is called here waits. */
static void clock_precise(struct bench *b)
{
	struct timespec t;

	(void)b;
	for (int i = 0; i < FULL; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
}

static void clock_coarse(struct bench *b)
{
	struct timespec t;

	(void)b;
	for (int i = 0; i < FULL; i++)
		clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
}

static void report(struct resex_report *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		resex_report(r, 100000 + i, 120000 + i, 5000 + i);
}

static void reports_full(struct bench *b)
{
	report(b->batched, FULL);
	b->sent += FULL;
}

static void reports_ten(struct bench *b)
{
	report(b->batched, 10);
	resex_report_flush(b->batched);
	b->sent += 10;
}

static void reports_alone(struct bench *b)
{
	report(b->single, 1);
	b->sent++;
}

static void reports_lost(struct bench *b)
{
	report(b->lost, FULL);
}

static void by_hand(struct bench *b)
{
	union {
		struct agent_latencies head;
		uint8_t bytes[sizeof(struct agent_latencies) + sizeof(struct agent_latency)];
	} d = { .head = { AGENT_SOCKET_MAGIC, AGENT_SOCKET_VERSION, 1, 0, 0 } };

	d.head.sample[0] = (struct agent_latency){ 100000, 120000, 5000 };
	if (send(b->fd, &d, sizeof(d), MSG_DONTWAIT) != sizeof(d))
		die("send", errno);
	b->sent++;
}

static const struct kind {
	const char *text;
	void (*batch)(struct bench *b);
	int size;
} kinds[] = {
	{ "clock_gettime(CLOCK_MONOTONIC)", clock_precise, FULL },
	{ "clock_gettime(CLOCK_MONOTONIC_COARSE)", clock_coarse, FULL },
	{ "send(2), one sample a datagram", by_hand, 1 },
	{ "resex_report, 256 a datagram", reports_full, FULL },
	{ "resex_report, 10 a datagram", reports_ten, 10 },
	{ "resex_report, 1 a datagram", reports_alone, 1 },
	{ "resex_report, no agent", reports_lost, FULL },
};

enum { CLOCK = 0, SEND = 2, KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Time of some batches, ns a report; the waiting between them is not in it. */
static double round_of(struct bench *b, const struct kind *k)
{
	int64_t total = 0;

	for (int i = 0; i < BATCHES; i++) {
		int64_t began = ns_now();

		k->batch(b);
		total += ns_now() - began;
		settle(b);
	}
	return (double)total / BATCHES / k->size;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void measure(struct bench *b, double median[KINDS])
{
	static double ns[KINDS][ROUNDS];

	for (int r = 0; r < ROUNDS; r++)
		for (int k = 0; k < KINDS; k++)
			ns[k][r] = round_of(b, &kinds[k]);
	for (int k = 0; k < KINDS; k++) {
		qsort(ns[k], ROUNDS, sizeof(double), by_value);
		median[k] = ns[k][ROUNDS / 2];
	}
}

static void print(const double woken[KINDS], const double looks[KINDS])
{
	printf("What a report costs its application (medians, ns). Agent woken: by each datagram, "
	       "as while they\nare few. Agent looks: each millisecond, as while they are many.\n"
	       "x clock: / clock_gettime(CLOCK_MONOTONIC). x send: / one send(2) a sample.\n\n");
	printf("%-38s %11s %8s %7s %11s %8s %7s\n", "what", "agent woken", "x clock", "x send",
	       "agent looks", "x clock", "x send");
	for (int k = 0; k < KINDS; k++)
		printf("%-38s %11.1f %8.2f %7.3f %11.1f %8.2f %7.3f\n", kinds[k].text, woken[k],
		       woken[k] / woken[CLOCK], woken[k] / woken[SEND], looks[k],
		       looks[k] / looks[CLOCK], looks[k] / looks[SEND]);
}

int main(void)
{
	double woken[KINDS], looks[KINDS];
	struct bench b = { 0 };
	struct resex_report_counts c;

	bench_open(&b);
	settle(&b);
	measure(&b, woken);
	b.common->looks = 1;
	by_hand(&b); /* wakes it for the last time */
	settle(&b);
	measure(&b, looks);
	/* A library that drops would be fast: settle() saw all arrive, and so must it say. */
	resex_report_count(b.batched, &c);
	if (c.dropped || c.waiting)
		die("reports were dropped", EAGAIN);
	print(woken, looks);
	bench_close(&b);
	return 0;
}
