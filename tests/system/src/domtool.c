// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * domtool: what the system scenarios must see or do in dom0 beside resexd.
 *
 *	domtool list			each domain: id, state, CPU time; dying ones too
 *	domtool caps S			each change of a guest's cap for S seconds: time
 *					in ms, id, percent (0: none)
 *	domtool hold DOMID FRAME S	keep a frame of a guest mapped for S seconds: a
 *					domain destroyed meanwhile cannot go, which
 *					proves that list would show such a one
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/hv/backends.h"

enum { DOMAINS_MAX = 1024, CAPS_MAX = 64, CAPS_EVERY_US = 10000 };

struct caps {
	struct hv_sched *sched;
	struct hv_dom dom[CAPS_MAX];
	uint32_t shown[CAPS_MAX]; /* by place in dom, percent + 1; 0: none yet */
	int doms;
};

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

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void show_changes(struct caps *c)
{
	for (int i = 0; i < c->doms; i++) {
		struct hv_sched_params p;
		uint32_t percent;

		if ((c->dom[i].flags & HV_DOM_PRIVILEGED) ||
		    hv_xen.sched->get(c->sched, c->dom[i].domid, &p))
			continue;
		percent = p.cap.limited ? p.cap.mpct / 1000 : 0;
		if (c->shown[i] == percent + 1)
			continue;
		c->shown[i] = percent + 1;
		printf("%lld %u %u\n", (long long)now_ms(), c->dom[i].domid, percent);
	}
}

static int caps(unsigned int seconds)
{
	int64_t end = now_ms() + seconds * 1000LL;
	struct caps c = { 0 };
	int rc;

	rc = hv_xen.sched->open(&c.sched, NULL);
	if (rc)
		return fail("open", rc);
	setvbuf(stdout, NULL, _IOLBF, 0); /* it may be killed */
	c.doms = hv_xen.sched->list(c.sched, c.dom, CAPS_MAX);
	while (now_ms() < end) {
		show_changes(&c);
		usleep(CAPS_EVERY_US);
	}
	hv_xen.sched->close(c.sched);
	return 0;
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
	if (argc == 3 && !strcmp(argv[1], "caps"))
		return caps((unsigned int)strtoul(argv[2], NULL, 10));
	if (argc == 5 && !strcmp(argv[1], "hold"))
		return hold((uint32_t)strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 0),
			    (unsigned int)strtoul(argv[4], NULL, 10));
	fputs("usage: domtool list | domtool caps SECONDS | domtool hold DOMID FRAME SECONDS\n",
	      stderr);
	return 2;
}
