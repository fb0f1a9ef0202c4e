// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * loadtruth: how near the loads that are READ are to the truth (sc_kmod.py): figure 4 of the paper
 * on load awareness, section 5.1, on a real node.
 *
 *	loadtruth CLUSTER.JSON CLIENT POINTS PID...
 *
 * It is a client of the cluster, on the machine of all its hosts. A process that it forks burns CPU
 * for 130 ms and sleeps for 170 ms. Each 10 ms, with the priority of a real-time process, loadtruth
 * asks the kernel how long that process, itself, and the other tasks of the machine (PID...) ran
 * since the last time, which is the truth, and READs the record of each node. What is believed of a
 * node is the index of the newest interval of at least 5 ms, as in the simulation
 * (src/lab/load_accuracy.c). At the end it prints one JSON object.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/load/index.h"
#include "tests/system/src/load_reader.h"

enum { NODES = 4, POINTS_MAX = 2000, WARM = 50, PROCESSES = 512 };

#define BURNS_NS    (130 * NS_PER_MS)
#define SLEEPS_NS   (170 * NS_PER_MS)
#define INTERVAL_NS (10 * NS_PER_MS)

struct node {
	struct load_window window;
	uint64_t error; /* sum over all points, in 1/1000 */
	uint32_t unread;
	uint32_t source;
	int shown[POINTS_MAX];
};

static struct {
	struct load_reader reader;
	struct node node[NODES];
	int truth[POINTS_MAX];
	uint32_t processes;
	clockid_t process[PROCESSES];  /* the clocks of their CPU times */
	int64_t process_ns[PROCESSES]; /* when they were last read */
} all;

static volatile sig_atomic_t never;

static int64_t clock_ns(clockid_t id)
{
	struct timespec t;

	return clock_gettime(id, &t) ? -1 : t.tv_sec * NS_PER_S + t.tv_nsec;
}

static int64_t ran_ns(void)
{
	int64_t ns = 0;

	for (uint32_t i = 0; i < all.processes; i++) {
		int64_t now = clock_ns(all.process[i]);

		if (now >= 0) /* it has not ended */
			all.process_ns[i] = now;
		ns += all.process_ns[i];
	}
	return ns;
}

/* One that has ended meanwhile is left out. */
static void add_process(pid_t pid)
{
	if (all.processes < PROCESSES && !clock_getcpuclockid(pid, &all.process[all.processes]))
		all.processes++;
}

static void burn_and_sleep(void)
{
	const struct timespec pause = { .tv_nsec = SLEEPS_NS };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int64_t until = clock_ns(CLOCK_MONOTONIC) + BURNS_NS;

		while (clock_ns(CLOCK_MONOTONIC) < until)
			;
		nanosleep(&pause, NULL);
	}
}

static void look(uint32_t i, int point)
{
	struct node *n = &all.node[i];
	struct load_record r;
	struct mono at;
	int index, truth = point < 0 ? 0 : all.truth[point];

	if (load_reader_read(&all.reader, i, &never, &r, &at)) {
		n->unread++;
		return;
	}
	n->source = r.source;
	load_window_add(&n->window, &r, INTERVAL_NS / 2);
	if (point < 0)
		return;
	index = load_window_index(&n->window);
	n->shown[point] = index > 0 ? index : 0;
	n->error += (uint64_t)abs(n->shown[point] - truth);
}

static void print(int points)
{
	uint64_t sum = 0;

	for (int i = 0; i < points; i++)
		sum += (uint64_t)all.truth[i];
	printf("{\"points\": %d, \"truth\": %" PRIu64 ", \"nodes\": {", points,
	       sum / (uint64_t)points);
	for (uint32_t i = 0; i < all.reader.conf.nodes; i++) {
		uint64_t shown = 0;

		for (int k = 0; k < points; k++)
			shown += (uint64_t)all.node[i].shown[k];
		printf("%s\"%s\": {\"source\": %u, \"error\": %.1f, \"shown\": %" PRIu64
		       ", \"unread\": %u}",
		       i ? ", " : "", all.reader.conf.node[i].name, all.node[i].source,
		       (double)all.node[i].error / points, shown / (uint64_t)points,
		       all.node[i].unread);
	}
	printf("}}\n");
}

static pid_t begin_burner(void)
{
	pid_t pid = fork();

	if (!pid)
		burn_and_sleep();
	if (pid < 0)
		perror("loadtruth: fork");
	return pid;
}

static void measure(int points)
{
	int64_t cpus = sysconf(_SC_NPROCESSORS_ONLN), before = ran_ns();
	int64_t before_at = clock_ns(CLOCK_MONOTONIC), due = before_at;

	for (int point = -WARM; point < points; point++) {
		struct timespec t;
		int64_t ran, at;

		due += INTERVAL_NS;
		t = (struct timespec){ due / NS_PER_S, due % NS_PER_S };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		ran = ran_ns();
		at = clock_ns(CLOCK_MONOTONIC);
		if (point >= 0)
			all.truth[point] = (int)(1000 * (ran - before) / (cpus * (at - before_at)));
		before = ran;
		before_at = at;
		for (uint32_t i = 0; i < all.reader.conf.nodes; i++)
			look(i, point);
	}
}

int main(int argc, char **argv)
{
	const struct sched_param fifo = { .sched_priority = 2 };
	int points = argc >= 4 ? atoi(argv[3]) : 0;
	pid_t burner;

	if (points < 1 || points > POINTS_MAX) {
		fprintf(stderr,
			"usage: loadtruth CLUSTER.JSON CLIENT POINTS PID..., 1 to %d points\n",
			POINTS_MAX);
		return 2;
	}
	if (load_reader_open(&all.reader, "loadtruth", argv[1], argv[2]))
		return 1;
	if (!all.reader.conf.nodes || all.reader.conf.nodes > NODES)
		return 2;
	burner = begin_burner();
	if (burner < 0)
		return 1;
	add_process(burner);
	add_process(getpid());
	for (int i = 4; i < argc; i++)
		add_process(atoi(argv[i]));
	sched_setscheduler(0, SCHED_FIFO, &fifo);
	measure(points);
	print(points);
	kill(burner, SIGKILL);
	waitpid(burner, NULL, 0);
	transport_close(all.reader.t);
	return 0;
}
