// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_run: a run of load_all.c for a person: progress on a terminal, and what went wrong. main.c
 * and load_figures.c call it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/lab/load_cmd.h"

static void show(uint32_t done, uint32_t runs)
{
	fprintf(stderr, "\r%u of %u runs ", done, runs);
}

int load_run(const struct load_plan *plan, uint32_t seeds, int policies, struct load_sums *s)
{
	struct load_plan p = *plan;
	int rc;

	if (isatty(STDERR_FILENO))
		p.progress = show;
	rc = load_run_all(&p, seeds, policies, s);
	if (p.progress)
		fprintf(stderr, "\r%30s\r", "");
	/* The options were checked: what is left can be known only when a request's time is. */
	if (rc == -EINVAL)
		fprintf(stderr,
			"resex-lab: a READ takes %.0f us, and scans would come sooner one after "
			"the "
			"other: give a larger --scan than %u\n",
			(double)p.read_ns / 1000, p.scan);
	else if (rc)
		fprintf(stderr, "resex-lab: the cluster cannot be simulated: %s\n", strerror(-rc));
	return rc ? RESEX_FAILURE : RESEX_OK;
}
