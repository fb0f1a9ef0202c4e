// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench_report: what a report costs the application, beside a look at the clock
 * and beside one datagram a sample, all in turn in the same run.
 *
 * The receiver is a process on another CPU that sleeps until a datagram
 * comes: to wake it is part of the price. The next datagram waits, outside the
 * time that is taken, until the last one arrived: none is dropped. Costs are
 * taken over batches, so that the clock that takes them is not in them.
 * Prints ratios; judges nothing.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
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

enum { ROUNDS = 200, BATCHES = 20, FULL = AGENT_SOCKET_SAMPLES_MAX };

struct bench {
	char dir[32], path[64];
	struct resex_report *batched; /* sends when it is full, or flushed */
	struct resex_report *single;  /* sends each sample */
	struct resex_report *lost;    /* has no agent */
	int fd;			      /* sends by itself */
	pid_t receiver;
	_Atomic uint64_t *taken; /* samples that arrived; shared with the receiver */
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

/* In a process of its own, as the agent is; also to be ended from outside. */
static void receive(const struct bench *b, int fd)
{
	union {
		struct agent_latencies head;
		uint8_t bytes[sizeof(struct agent_latencies) + FULL * sizeof(struct agent_latency)];
	} d;

	pin(1);
	while (recv(fd, &d, sizeof(d), 0) > 0)
		*b->taken += d.head.samples;
	_exit(1);
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

	b->taken = mmap(NULL, sizeof(*b->taken), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (b->taken == MAP_FAILED || fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)))
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

	while (*b->taken != b->sent) {
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
	} d = { .head = { AGENT_SOCKET_MAGIC, AGENT_SOCKET_VERSION, 1 } };

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
	{ "resex_report, 64 a datagram", reports_full, FULL },
	{ "resex_report, 10 a datagram", reports_ten, 10 },
	{ "resex_report, 1 a datagram", reports_alone, 1 },
	{ "resex_report, no agent", reports_lost, FULL },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

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

static void print(double ns[KINDS][ROUNDS])
{
	double median[KINDS];

	for (int k = 0; k < KINDS; k++) {
		qsort(ns[k], ROUNDS, sizeof(double), by_value);
		median[k] = ns[k][ROUNDS / 2];
	}
	printf("What a report costs its application, over a live receiver on another CPU "
	       "(%d rounds; ns).\nx clock: / clock_gettime(CLOCK_MONOTONIC). x send: / one "
	       "send(2) a sample.\n\n",
	       ROUNDS);
	printf("%-38s %9s %9s %9s %9s\n", "what", "median", "90 %", "x clock", "x send");
	for (int k = 0; k < KINDS; k++)
		printf("%-38s %9.1f %9.1f %9.2f %9.3f\n", kinds[k].text, median[k],
		       ns[k][ROUNDS * 9 / 10], median[k] / median[0], median[k] / median[2]);
}

int main(void)
{
	static double ns[KINDS][ROUNDS];
	struct bench b = { 0 };
	struct resex_report_counts c;

	bench_open(&b);
	settle(&b);
	for (int r = 0; r < ROUNDS; r++)
		for (int k = 0; k < KINDS; k++)
			ns[k][r] = round_of(&b, &kinds[k]);
	/* A library that drops would be fast: settle() saw all arrive, and so must it say. */
	resex_report_count(b.batched, &c);
	if (c.dropped || c.waiting)
		die("reports were dropped", EAGAIN);
	print(ns);
	bench_close(&b);
	return 0;
}
