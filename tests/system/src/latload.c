// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * latload: latencies for resex-agent that are made up, for tests of policies.
 *
 *	latload FILE SAMPLES-A-SECOND
 *
 * FILE holds three numbers, CTime, WTime and PTime in ns, and is read again
 * for each sample: whoever writes it decides what this guest complains of.
 * Each sample is sent at once, its WTime varied by up to one part in 128 so
 * that the deviation is not zero. Runs until it is killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "resex/report.h"

struct figures {
	uint32_t ctime_ns, wtime_ns, ptime_ns;
};

static int read_figures(const char *file, struct figures *l)
{
	FILE *f = fopen(file, "r");
	int n;

	if (!f)
		return -1;
	n = fscanf(f, "%u %u %u", &l->ctime_ns, &l->wtime_ns, &l->ptime_ns);
	fclose(f);
	return n == 3 ? 0 : -1;
}

static struct resex_report *open_report(void)
{
	struct resex_report *r = NULL;
	int rc = resex_report_open(&r, NULL);

	if (!rc)
		rc = resex_report_flush(r);
	if (rc) {
		fprintf(stderr, "latload: %s: start resex-agent first\n", strerror(-rc));
		exit(1);
	}
	resex_report_period(r, 0);
	return r;
}

int main(int argc, char **argv)
{
	struct figures now = { 0 };
	struct resex_report *r;
	struct timespec due;
	long rate = argc == 3 ? atol(argv[2]) : 0;
	uint32_t count = 0;

	if (rate < 1 || rate > 10000) {
		fprintf(stderr, "usage: latload FILE SAMPLES-A-SECOND (1 .. 10000)\n");
		return 2;
	}
	r = open_report();
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (;;) {
		struct figures l = { 0 };

		if (read_figures(argv[1], &l) == 0)
			now = l; /* half a file is no reason to stop: the former figures count */
		if (now.ctime_ns)
			resex_report(r, now.ctime_ns,
				     now.wtime_ns + now.wtime_ns / 128 * (count++ % 2),
				     now.ptime_ns);
		due.tv_nsec += 1000000000 / rate;
		due.tv_sec += due.tv_nsec / 1000000000;
		due.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	}
}
