// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * agentbeat: how late the heartbeats of resex-agent are in a guest of many processes.
 *
 *	agentbeat PROCESSES FILES SECONDS PAGES AGENT [ARGUMENT...]
 *
 * It makes the processes, with so many open files each, and then runs the agent, which publishes
 * to the file PAGES (--no-xen PAGES is added). After half of the time it replaces a tenth of the
 * processes by new ones. It prints one JSON object: the beats seen, the longest time between two,
 * the one that 99 of 100 do not exceed, and the agent's CPU time.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "resex/guest_abi.h"

enum { BEATS_MAX = 4096 };

struct beats {
	double gap_ms[BEATS_MAX];
	int n;
};

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* A process with open files; the pipe says when it has them. */
static pid_t make_process(int files, int ready)
{
	pid_t pid = fork();

	if (pid < 0)
		die("agentbeat: fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 3; i < files; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			_exit(1);
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void make_processes(pid_t *pid, int n, int files)
{
	int ready[2];
	char c;

	if (pipe(ready))
		die("agentbeat: pipe");
	for (int i = 0; i < n; i++)
		pid[i] = make_process(files, ready[1]);
	for (int i = 0; i < n; i++)
		if (read(ready[0], &c, 1) != 1)
			die("agentbeat: a process did not start");
	close(ready[0]);
	close(ready[1]);
}

static void end_processes(const pid_t *pid, int n)
{
	for (int i = 0; i < n; i++)
		kill(pid[i], SIGKILL);
	for (int i = 0; i < n; i++)
		waitpid(pid[i], NULL, 0);
}

static pid_t run_agent(char **argv, int argc, const char *pages)
{
	char **args = calloc((size_t)argc + 3, sizeof(*args));
	pid_t pid;

	if (!args)
		die("agentbeat");
	memcpy(args, argv, (size_t)argc * sizeof(*args));
	args[argc] = strdup("--no-xen");
	args[argc + 1] = strdup(pages);
	unlink(pages);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		execvp(args[0], args);
		_exit(127);
	}
	free(args[argc]);
	free(args[argc + 1]);
	free(args);
	return pid;
}

static const volatile struct guest_registry *map_pages(const char *pages, pid_t agent)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (;; nanosleep(&ms, NULL)) {
		int fd = open(pages, O_RDONLY | O_CLOEXEC);
		const volatile struct guest_registry *r;

		if (waitpid(agent, NULL, WNOHANG) > 0)
			die("agentbeat: the agent ended");
		if (fd < 0)
			continue;
		r = lseek(fd, 0, SEEK_END) < (off_t)sizeof(*r)
			    ? MAP_FAILED
			    : mmap(NULL, sizeof(*r), PROT_READ, MAP_SHARED, fd, 0);
		close(fd);
		if (r == MAP_FAILED)
			continue;
		if (r->magic == GUEST_REGISTRY_MAGIC && r->heartbeat)
			return r;
		munmap((void *)(uintptr_t)r, sizeof(*r));
	}
}

static double cpu_ms(pid_t pid)
{
	char path[64], buf[1024] = "";
	unsigned long user = 0, kernel = 0;
	const char *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f || !fgets(buf, sizeof(buf), f))
		die(path);
	fclose(f);
	at = strrchr(buf, ')');
	if (!at || sscanf(at, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
			  &kernel) != 2)
		die(path);
	return (double)(user + kernel) * 1e3 / (double)sysconf(_SC_CLK_TCK);
}

static void watch_beats(const volatile struct guest_registry *r, double until_ms, struct beats *b)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	uint64_t seen = r->heartbeat;
	double last = 0;

	while (now_ms() < until_ms && b->n < BEATS_MAX) {
		uint64_t is = r->heartbeat;

		if (is != seen) {
			double at = now_ms();

			if (last > 0)
				b->gap_ms[b->n++] = at - last;
			last = at;
			seen = is;
		}
		nanosleep(&ms, NULL);
	}
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	int n = argc > 5 ? atoi(argv[1]) : 0, files = argc > 5 ? atoi(argv[2]) : 0;
	double seconds = argc > 5 ? atof(argv[3]) : 0, began, cpu;
	pid_t *pid = calloc((size_t)n + 1, sizeof(*pid)), agent;
	const volatile struct guest_registry *r;
	static struct beats b;

	if (argc < 6 || n < 0 || !pid || seconds <= 0) {
		fputs("usage: agentbeat PROCESSES FILES SECONDS PAGES AGENT [ARGUMENT...]\n",
		      stderr);
		return 2;
	}
	make_processes(pid, n, files);
	agent = run_agent(argv + 5, argc - 5, argv[4]);
	r = map_pages(argv[4], agent);
	began = now_ms();
	cpu = cpu_ms(agent);
	watch_beats(r, began + seconds * 500, &b);
	end_processes(pid, n / 10);
	make_processes(pid, n / 10, files);
	watch_beats(r, began + seconds * 1000, &b);
	seconds = (now_ms() - began) / 1e3;
	cpu = cpu_ms(agent) - cpu;
	qsort(b.gap_ms, (size_t)b.n, sizeof(b.gap_ms[0]), by_value);
	printf("{\"processes\": %d, \"files\": %d, \"beats\": %d, \"longest_ms\": %.0f, "
	       "\"p99_ms\": %.0f, \"seconds\": %.1f, \"cpu_ms_per_second\": %.1f}\n",
	       n, files, b.n, b.n ? b.gap_ms[b.n - 1] : 0, b.n ? b.gap_ms[b.n * 99 / 100] : 0,
	       seconds, cpu / seconds);
	kill(agent, SIGTERM);
	waitpid(agent, NULL, 0);
	end_processes(pid, n);
	return 0;
}
