// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * loadcost: what a sample of load costs a CPU (sc_kmod.py): by the kernel module, from its timer
 * interrupt, and by a process that reads /proc.
 *
 *	loadcost PERIOD_US
 *
 * Bound to one CPU, it counts loops for a while without and with the module's timer, by turns: what
 * the loops lose is the cost of the fills. Then it samples /proc as resexd does. It prints one JSON
 * object, times in ns. To be run alone on the machine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/load/kmod.h"
#include "src/load/load.h"

enum { ROUNDS = 15, SAMPLES = 200, LOOPS_AT_ONCE = 2000 };

#define TURN_NS (200 * NS_PER_MS)

static struct load_record record __attribute__((aligned(4096)));

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Loops in a second. */
static double speed(void)
{
	int64_t began = now_ns(), at;
	uint64_t loops = 0;

	do {
		for (volatile int i = 0; i < LOOPS_AT_ONCE; i++)
			;
		loops++;
		at = now_ns();
	} while (at - began < TURN_NS);
	return (double)loops * 1e9 / (double)(at - began);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ns of a CPU that one fill takes, the median of all rounds; < 0: the module did not fill. */
static double fill_cost(const struct loadmon_fill *f)
{
	double cost[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		double without = speed(), with;
		uint64_t beat;
		int handle = load_kmod.begin(f);

		if (handle < 0) {
			fprintf(stderr, "loadcost: the module: %s\n", strerror(-handle));
			return -1;
		}
		beat = record.beat;
		with = speed();
		beat = record.beat - beat;
		load_kmod.end(handle);
		without = (without + speed()) / 2; /* before and after */
		/* The lost part of the time is that of the loops. */
		cost[i] = beat ? (without - with) / without * (double)TURN_NS / (double)beat : -1;
	}
	qsort(cost, ROUNDS, sizeof(cost[0]), by_value);
	return cost[ROUNDS / 2];
}

static double sample_cost(void)
{
	struct load_record r;
	struct load *l;
	char text[128];
	int64_t began;
	int rc = load_proc.open(&l, "/proc", text);

	if (rc) {
		fprintf(stderr, "loadcost: %s: %s\n", text, strerror(-rc));
		return -1;
	}
	began = now_ns();
	for (int i = 0; !rc && i < SAMPLES; i++) {
		memset(&r, 0, sizeof(r));
		rc = load_proc.sample(l, &r);
	}
	load_proc.close(l);
	return rc ? -1 : (double)(now_ns() - began) / SAMPLES;
}

int main(int argc, char **argv)
{
	struct loadmon_fill f = { .record = (uintptr_t)&record };
	double fill, sample;
	cpu_set_t set;

	f.period_ns = (uint64_t)((argc == 2 ? atoi(argv[1]) : 0) * NS_PER_US);
	if (!f.period_ns) {
		fprintf(stderr, "usage: loadcost PERIOD_US\n");
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	f.running_offset = load_running_offset("/sys/kernel/btf/vmlinux");
	fill = fill_cost(&f);
	sample = sample_cost();
	printf("{\"cpus\": %ld, \"fill_ns\": %.0f, \"sample_ns\": %.0f, \"no_running\": %s}\n",
	       sysconf(_SC_NPROCESSORS_ONLN), fill, sample,
	       f.running_offset == LOADMON_NO_OFFSET ? "true" : "false");
	return fill < 0 || sample < 0;
}
