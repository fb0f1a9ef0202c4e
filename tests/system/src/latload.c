// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * latload: latencies for resex-agent that are made up, for tests of policies.
 *
 *	latload FILE SAMPLES-A-SECOND
 *
 * FILE holds three numbers, CTime, WTime and PTime in ns, and is read again
 * before each datagram: whoever writes it decides what this guest complains of.
 * One datagram a sample, each WTime varied by up to one part in 128 so that
 * the deviation is not zero. Runs until it is killed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "resex/agent_socket.h"

union datagram {
	struct agent_latencies head;
	uint8_t bytes[sizeof(struct agent_latencies) + sizeof(struct agent_latency)];
};

static int read_figures(const char *file, struct agent_latency *l)
{
	FILE *f = fopen(file, "r");
	int n;

	if (!f)
		return -1;
	n = fscanf(f, "%u %u %u", &l->ctime_ns, &l->wtime_ns, &l->ptime_ns);
	fclose(f);
	return n == 3 ? 0 : -1;
}

static int open_socket(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", AGENT_SOCKET);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		fprintf(stderr, "latload: %s: %s: start resex-agent first\n", AGENT_SOCKET,
			strerror(errno));
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	struct agent_latency l = { 0 };
	union datagram d = { .head = { AGENT_SOCKET_MAGIC, AGENT_SOCKET_VERSION, 1 } };
	struct timespec due;
	long rate = argc == 3 ? atol(argv[2]) : 0;
	uint32_t count = 0;
	int fd;

	if (rate < 1 || rate > 10000) {
		fprintf(stderr, "usage: latload FILE SAMPLES-A-SECOND (1 .. 10000)\n");
		return 2;
	}
	fd = open_socket();
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (;;) {
		struct agent_latency now = l;

		if (read_figures(argv[1], &l) == 0)
			now = l; /* half a file is no reason to stop: the former figures count */
		now.wtime_ns += now.wtime_ns / 128 * (count++ % 2);
		memcpy(d.head.sample, &now, sizeof(now));
		if (now.ctime_ns)
			send(fd, &d, sizeof(d.bytes), MSG_DONTWAIT);
		due.tv_nsec += 1000000000 / rate;
		due.tv_sec += due.tv_nsec / 1000000000;
		due.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	}
}
