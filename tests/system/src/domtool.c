// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * domtool: what the system scenarios must see or do in dom0 beside resexd.
 *
 *	domtool list			each domain: id, state, CPU time; dying ones too
 *	domtool hold DOMID FRAME S	keep a frame of a guest mapped for S seconds: a
 *					domain destroyed meanwhile cannot go, which
 *					proves that list would show such a one
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/hv/hv_backends.h"

enum { DOMAINS_MAX = 1024 };

static int fail(const char *what, int rc)
{
	fprintf(stderr, "domtool: %s: %s\n", what, strerror(-rc));
	return 1;
}

static const char *state(uint32_t flags)
{
	if (flags & HV_DOM_DYING)
		return "dying";
	if (flags & HV_DOM_SHUTDOWN)
		return "shutdown";
	return flags & HV_DOM_PAUSED ? "paused" : "live";
}

static int list(void)
{
	struct hv_dom *doms = calloc(DOMAINS_MAX, sizeof(*doms));
	struct hv_sched *s;
	int n, rc;

	if (!doms)
		return fail("list", -ENOMEM);
	rc = hv_xen.sched->open(&s, NULL);
	if (rc) {
		free(doms);
		return fail("open", rc);
	}
	n = hv_xen.sched->list(s, doms, DOMAINS_MAX);
	for (int i = 0; i < n; i++)
		printf("%u %s %llu\n", doms[i].domid, state(doms[i].flags),
		       (unsigned long long)doms[i].cpu_ns);
	hv_xen.sched->close(s);
	free(doms);
	return n < 0 ? fail("list", n) : 0;
}

static int hold(uint32_t domid, uint64_t frame, unsigned int seconds)
{
	const volatile void *page;
	struct hv_mem *m;
	size_t bad;
	int rc;

	rc = hv_xen.mem->open(&m, NULL);
	if (rc)
		return fail("open", rc);
	rc = hv_xen.mem->map(m, domid, 1, &frame, &page, &bad);
	if (rc) {
		hv_xen.mem->close(m);
		return fail("map", rc);
	}
	puts("HELD");
	fflush(stdout);
	sleep(seconds);
	hv_xen.mem->unmap(m, page, 1);
	hv_xen.mem->close(m);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "list"))
		return list();
	if (argc == 5 && !strcmp(argv[1], "hold"))
		return hold((uint32_t)strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 0),
			    (unsigned int)strtoul(argv[4], NULL, 10));
	fputs("usage: domtool list | domtool hold DOMID FRAME SECONDS\n", stderr);
	return 2;
}
